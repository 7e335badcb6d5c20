//! The keys of the group.

use crate::api::{KeyView, KeysView, MemberKeysView};
use consort::key::{KeyState, KeysStatus, MemberKeys};

/// The keys of the group, by their fingerprints.
pub(crate) fn keys(status: KeysStatus) -> KeysView {
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
        members: status.members.iter().map(member_keys).collect(),
    }
}

fn member_keys(member: &MemberKeys) -> MemberKeysView {
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
