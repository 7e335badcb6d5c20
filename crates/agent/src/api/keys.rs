//! The keys of the group.

use consort::{KeyState, KeysStatus, MemberKeys};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// The keys of the group as this node has them, and which members have the same. Keys themselves are never shown.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
pub struct KeysView {
    /// Grows with every change; 0 before the first one.
    pub version: u32,
    /// The keys, of which the first one seals and all open.
    pub keys: Vec<KeyView>,
    /// Whether the group is changing from open to sealed: this node still hears members that do not seal.
    pub migrating: bool,
    /// The other members, ordered by id, without those that left.
    pub members: Vec<MemberKeysView>,
}

/// One key of the group.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
pub struct KeyView {
    /// Eight hexadecimal digits that name the key and tell nothing about it.
    pub fingerprint: String,
    /// Whether it seals what members say; the others only open.
    pub seals: bool,
}

/// Which keys a member has.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
pub struct MemberKeysView {
    /// Its name.
    pub name: String,
    /// Its id.
    pub id: String,
    /// `current` (the same as this node), `other` (another version of the list), `silent` (no answer) or `failed`.
    pub state: String,
    /// The version of its list, if it is another one.
    pub version: Option<u32>,
    /// The fingerprint of the key under which it was last heard.
    pub heard_under: Option<String>,
}

/// A key to install.
#[derive(Clone, Debug, Default, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct InstallKeyRequest {
    /// 64 hexadecimal digits, as in a key file. Default: the agent makes a new key, which is shown to nobody.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub key: Option<String>,
}

impl From<KeysStatus> for KeysView {
    fn from(status: KeysStatus) -> KeysView {
        let keys = status.keys.into_iter().enumerate();
        KeysView {
            version: status.version,
            migrating: status.migrating,
            keys: keys
                .map(|(n, fingerprint)| KeyView {
                    fingerprint,
                    seals: n == 0,
                })
                .collect(),
            members: status.members.iter().map(MemberKeysView::from).collect(),
        }
    }
}

impl From<&MemberKeys> for MemberKeysView {
    fn from(member: &MemberKeys) -> MemberKeysView {
        let (state, version) = match member.state {
            KeyState::Current => ("current", None),
            KeyState::Other { version } => ("other", Some(version)),
            KeyState::Failed => ("failed", None),
            _ => ("silent", None),
        };
        MemberKeysView {
            name: member.name.clone(),
            id: member.id.to_string(),
            state: state.to_owned(),
            version,
            heard_under: member.heard_under.clone(),
        }
    }
}
