//! Settings of what protects a group.

use super::ConfigError;
use consort::key::{Identity, PublicId};
use core::net::{Ipv4Addr, SocketAddr};
use core::time::Duration;
use serde::Deserialize;
use std::path::PathBuf;
use std::time::SystemTime;
use utoipa::ToSchema;

/// The longest time in which a group changes from open to sealed.
const MIGRATION_MAX: Duration = Duration::from_secs(30 * 86_400);

/// Settings of what protects a group; docs/SECURING.md.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct RawSecurity {
    /// File of the group's keys, 64 hexadecimal digits a line, as `consort keygen` makes it. The first one seals, all open.
    /// Only its owner may read it. Default: none; then the node listens on loopback only, unless `insecure` is set.
    #[schema(value_type = Option<String>)]
    pub key_file: Option<PathBuf>,
    /// File of this node's secret, as `consort keygen --identity` makes it: the group is identified, and only those are members
    /// whose certificate one of `operators` has signed. Default: none; then whoever has the group's key is a member.
    #[schema(value_type = Option<String>)]
    pub identity: Option<PathBuf>,
    /// File of this node's certificate, as `consort certify` makes it. Default: the file of `identity` with the ending `cert`.
    #[schema(value_type = Option<String>)]
    pub certificate: Option<PathBuf>,
    /// Public keys of those who say who is a member, 1 to 4, as `consort keygen --operator` shows them. Use the same
    /// everywhere.
    #[serde(default)]
    pub operators: Vec<String>,
    /// Listen beyond loopback without a key: whoever can send to this node is a member.
    pub insecure: Option<bool>,
    /// Until this date, like 2030-06-01, members without a key are heard as well, so that an open group gets one member by
    /// member without an outage. It ends sooner when all have sealed for an hour. At most 30 days after the start.
    pub migrate_until: Option<String>,
}

/// Checked settings of what protects a group.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SecurityConfig {
    /// File of the group's keys; without one its datagrams are not sealed.
    pub key_file: Option<PathBuf>,
    /// How the node proves who it is.
    pub identity: Option<IdentityFiles>,
    /// The node may listen beyond loopback without a key.
    pub insecure: bool,
    /// How long members without a key are heard as well.
    pub migrate_for: Option<Duration>,
}

/// Where the identity of a node is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct IdentityFiles {
    /// File of its secret.
    pub secret: PathBuf,
    /// File of its certificate.
    pub certificate: PathBuf,
    /// The operators whose certificates hold.
    pub operators: Vec<PublicId>,
}

impl RawSecurity {
    /// These settings where given, else those of `file`.
    pub(super) fn over(self, file: RawSecurity) -> RawSecurity {
        RawSecurity {
            key_file: self.key_file.or(file.key_file),
            identity: self.identity.or(file.identity),
            certificate: self.certificate.or(file.certificate),
            operators: match self.operators.is_empty() {
                true => file.operators,
                false => self.operators,
            },
            insecure: self.insecure.or(file.insecure),
            migrate_until: self.migrate_until.or(file.migrate_until),
        }
    }

    pub(super) fn check(self) -> Result<SecurityConfig, ConfigError> {
        let until = self.migrate_until.as_deref();
        if until.is_some() && self.key_file.is_none() {
            return Err(ConfigError::Value {
                key: "security.migrate_until",
                value: until.unwrap_or_default().to_owned(),
                expected: "there is no key to change to; name one with security.key_file"
                    .to_owned(),
            });
        }
        Ok(SecurityConfig {
            identity: self.identity_files()?,
            key_file: self.key_file,
            insecure: self.insecure.unwrap_or_default(),
            migrate_for: until.map(time_until).transpose()?.flatten(),
        })
    }
}

impl RawSecurity {
    /// Where the identity is, if the node has one.
    fn identity_files(&self) -> Result<Option<IdentityFiles>, ConfigError> {
        let wrong = |key, value: &str, expected: &str| ConfigError::Value {
            key,
            value: value.to_owned(),
            expected: expected.to_owned(),
        };
        let Some(secret) = &self.identity else {
            let alone = "it says nothing without security.identity, the file of this node's secret";
            if let Some(path) = &self.certificate {
                let path = path.display().to_string();
                return Err(wrong("security.certificate", &path, alone));
            }
            if let Some(operator) = self.operators.first() {
                return Err(wrong("security.operators", operator, alone));
            }
            return Ok(None);
        };
        let path = secret.display().to_string();
        if self.key_file.is_none() {
            let expected =
                "members prove who they are in a group with a key; name it with security.key_file";
            return Err(wrong("security.identity", &path, expected));
        }
        if self.migrate_until.is_some() {
            let expected =
                "change the group from open to sealed first; take out security.migrate_until";
            return Err(wrong("security.identity", &path, expected));
        }
        if !(1..=Identity::OPERATORS_MAX).contains(&self.operators.len()) {
            let expected = "name 1 to 4 public keys of those who make certificates, as consort keygen --operator shows them";
            let given = self.operators.join(", ");
            return Err(wrong("security.operators", &given, expected));
        }
        let mut operators = Vec::new();
        for text in &self.operators {
            let key = text.parse().map_err(|_| {
                let expected =
                    "a public key is 64 hexadecimal digits, as consort keygen --operator shows it";
                wrong("security.operators", text, expected)
            })?;
            operators.push(key);
        }
        let beside = || secret.with_extension("cert");
        Ok(Some(IdentityFiles {
            secret: secret.clone(),
            certificate: self.certificate.clone().unwrap_or_else(beside),
            operators,
        }))
    }
}

impl IdentityFiles {
    /// Reads the files.
    pub(crate) fn read(&self) -> Result<Identity, consort::key::KeyError> {
        Ok(Identity {
            secret: consort::key::SecretKey::read(&self.secret)?,
            certificate: consort::key::Certificate::read(&self.certificate)?,
            operators: self.operators.clone(),
            revocations: Some(self.secret.with_extension("revoked")),
        })
    }
}

/// The time until a date; `None` if it is over.
fn time_until(text: &str) -> Result<Option<Duration>, ConfigError> {
    let full = match text.len() {
        10 => format!("{text}T00:00:00Z"),
        _ => text.to_owned(),
    };
    let date = humantime_serde::re::humantime::parse_rfc3339_weak(&full);
    let date = date.map_err(|_| ConfigError::Value {
        key: "security.migrate_until",
        value: text.to_owned(),
        expected: "write a date like 2030-06-01, or 2030-06-01T12:00:00Z".to_owned(),
    })?;
    // A device whose clock is far behind waits no longer than the others.
    let left = date.duration_since(SystemTime::now()).ok();
    Ok(left.map(|left| left.min(MIGRATION_MAX)))
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
