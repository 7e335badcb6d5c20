//! The keys of the group.

use serde::{Deserialize, Serialize};

/// The keys of the group as this node has them, and which members have the same. Keys themselves are never shown.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[cfg_attr(not(feature = "_agent"), non_exhaustive)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
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
#[derive(Clone, Debug, Serialize, Deserialize)]
#[cfg_attr(not(feature = "_agent"), non_exhaustive)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct KeyView {
    /// Eight hexadecimal digits that name the key and tell nothing about it.
    pub fingerprint: String,
    /// Whether it seals what members say; the others only open.
    pub seals: bool,
}

/// Which keys a member has.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[cfg_attr(not(feature = "_agent"), non_exhaustive)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
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
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(deny_unknown_fields)]
pub struct InstallKeyRequest {
    /// 64 hexadecimal digits, as in a key file. Default: the agent makes a new key, which is shown to nobody.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub key: Option<String>,
}

/// The certificates that no longer count.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct RevocationsView {
    /// Grows with every list; 0 before the first one.
    pub version: u32,
    /// The members that are named.
    pub revoked: Vec<RevokedView>,
    /// The list with its operator's signature, in hexadecimal digits; null before the first one.
    #[serde(default)]
    pub list: Option<String>,
}

/// A member whose certificates no longer count.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct RevokedView {
    /// Its id.
    pub id: String,
    /// The greatest serial number of its certificates that does not count.
    pub serial: u32,
}

/// A list of revoked certificates.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(deny_unknown_fields)]
pub struct RevokeRequest {
    /// The list with an operator's signature, in hexadecimal digits, as `consort keys revoke` makes it.
    pub list: String,
}
