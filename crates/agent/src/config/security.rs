//! Settings of what protects a group.

use core::net::{Ipv4Addr, SocketAddr};
use serde::Deserialize;
use std::path::PathBuf;
use utoipa::ToSchema;

/// Settings of what protects a group; docs/SECURING.md.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct RawSecurity {
    /// File of the group's keys, 64 hexadecimal digits a line, as `consort keygen` makes it. The first one seals, all open.
    /// Only its owner may read it. Default: none; then the node listens on loopback only, unless `insecure` is set.
    #[schema(value_type = Option<String>)]
    pub key_file: Option<PathBuf>,
    /// Listen beyond loopback without a key: whoever can send to this node is a member.
    pub insecure: Option<bool>,
}

/// Checked settings of what protects a group.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SecurityConfig {
    /// File of the group's keys; without one its datagrams are not sealed.
    pub key_file: Option<PathBuf>,
    /// The node may listen beyond loopback without a key.
    pub insecure: bool,
}

impl RawSecurity {
    /// These settings where given, else those of `file`.
    pub(super) fn over(self, file: RawSecurity) -> RawSecurity {
        RawSecurity {
            key_file: self.key_file.or(file.key_file),
            insecure: self.insecure.or(file.insecure),
        }
    }

    pub(super) fn check(self) -> SecurityConfig {
        SecurityConfig {
            key_file: self.key_file,
            insecure: self.insecure.unwrap_or_default(),
        }
    }
}

impl SecurityConfig {
    /// Where a node listens that is not told where: beyond loopback only if it may.
    pub(super) fn bind(&self, port: u16) -> SocketAddr {
        let ip = match self.may_listen_anywhere() {
            true => Ipv4Addr::UNSPECIFIED,
            false => Ipv4Addr::LOCALHOST,
        };
        SocketAddr::from((ip, port))
    }

    /// Whether the node may listen beyond loopback.
    pub(crate) fn may_listen_anywhere(&self) -> bool {
        self.insecure || self.key_file.is_some()
    }
}
