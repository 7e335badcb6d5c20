//! Who a member is: secrets of members and operators, certificates, and the files that hold them.

use crate::builder::unix_secs;
use crate::key::{GroupKey, KeyError, hex, unhex};
use crate::state;
use crate::{election, lock};
use consort_proto::mutex::Realm;
use consort_proto::seal::{
    Cert, Curve, Identified, OPERATORS_MAX, PublicKey, Roles, SCOPES_MAX, Scope, Secret,
};
use consort_proto::{ElectionId, NodeId};
use core::fmt;
use core::str::FromStr;
use std::fs::{self, OpenOptions};
use std::io::{Read, Write};
use std::path::{Path, PathBuf};

/// Most bytes of a certificate file that are read.
pub(crate) const FILE_MAX: u64 = 16 * 1024;

/// How many certificates of others are verified in a second, and where bytes are dear.
const VERIFY: u32 = 500;
const VERIFY_SLOW: u32 = 2;

/// The secret of a member, by which it proves who it is, or of an operator, who says who is a member.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SecretKey(pub(crate) Secret);

/// The public half of a [`SecretKey`], written as 64 hexadecimal digits. It is no secret.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PublicId(pub(crate) PublicKey);

/// The error for a text that is no [`PublicId`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("a public key is 64 hexadecimal digits, as consort keygen shows it")]
pub struct ParsePublicIdError;

impl fmt::Display for PublicId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&hex(&self.0.0))
    }
}

impl FromStr for PublicId {
    type Err = ParsePublicIdError;

    fn from_str(text: &str) -> Result<PublicId, ParsePublicIdError> {
        let bytes = unhex(text.trim()).and_then(|bytes| bytes.try_into().ok());
        let bytes = bytes.ok_or(ParsePublicIdError)?;
        Ok(PublicId(PublicKey(bytes)))
    }
}

impl SecretKey {
    /// A new secret, from the system's randomness.
    pub fn generate() -> Result<SecretKey, KeyError> {
        Ok(SecretKey(GroupKey::generate()?.0))
    }

    /// Reads a file as [`SecretKey::write_new`] makes it, which only its owner may read.
    pub fn read(path: &Path) -> Result<SecretKey, KeyError> {
        Ok(SecretKey(GroupKey::read_first(path)?.0))
    }

    /// Writes the secret to a new file that only its owner can read; `what` says what it is.
    pub fn write_new(&self, path: &Path, what: &str) -> Result<(), KeyError> {
        let text = format!(
            "# Secret of {what} of a Consort group. Its public key:\n# {}\n{}\n",
            self.public(),
            hex(&self.0.0)
        );
        crate::key::write_new(path, &text, 0o600)
    }

    /// The public half.
    pub fn public(&self) -> PublicId {
        PublicId(Curve::Real.public(&self.0))
    }
}

/// An operator's word that the holder of a key is a member of a group. It is no secret.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Certificate(Cert);

/// What a certificate says.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct CertificateRequest {
    /// The public key of the member.
    pub key: PublicId,
    /// The group.
    pub group: String,
    /// The member's id. Default: it follows from the key.
    pub id: Option<NodeId>,
    /// Of two certificates for one id the one with the greater serial holds. Default: the present time in seconds.
    pub serial: u32,
    /// The days for which it holds; `None` for ever.
    pub days: Option<u32>,
    /// What the member may do. Default: everything.
    pub roles: Vec<Role>,
    /// The only elections in which it may campaign. Default: it may in all.
    pub elections: Vec<String>,
    /// The only realms whose locks it may hold and whose release it may force. Default: all. The realm of a lock is the part
    /// of its name before the first `/`.
    pub realms: Vec<String>,
}

/// What a member may do besides being one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    /// Campaign in elections, and lead.
    Campaign,
    /// Hold locks.
    Lock,
    /// Force the release of locks that others hold.
    Break,
}

impl Role {
    /// All roles.
    pub const ALL: [Role; 3] = [Role::Campaign, Role::Lock, Role::Break];

    /// The role's word, as in `campaign`.
    pub const fn word(self) -> &'static str {
        match self {
            Role::Campaign => "campaign",
            Role::Lock => "lock",
            Role::Break => "break",
        }
    }

    const fn to_core(self) -> Roles {
        match self {
            Role::Campaign => Roles::CAMPAIGN,
            Role::Lock => Roles::LOCK,
            Role::Break => Roles::BREAK,
        }
    }

    /// Those among the roles of a certificate.
    pub(crate) fn of(cert: &Cert) -> Vec<Role> {
        let mut all = Role::ALL.to_vec();
        all.retain(|role| cert.roles.has(role.to_core()));
        all
    }
}

/// Why a certificate cannot be made.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum IssueError {
    /// Name fewer, or give the member a certificate for all of them.
    #[error("a certificate names at most {SCOPES_MAX} elections and realms")]
    TooMany,
    /// Correct the name. Members compare hashes of names, so there are no patterns.
    #[error(
        "`{0}` names no election and no realm: write the whole name, without * (a realm is the part of a lock's name \
         before its first /)"
    )]
    Name(String),
    /// Give it the role as well.
    #[error("it is limited to {what}, but may not {role} at all")]
    Idle {
        /// What it is limited to.
        what: &'static str,
        /// The role that it lacks.
        role: &'static str,
    },
}

impl CertificateRequest {
    /// A certificate for ever, with an id that follows from the key.
    pub fn new(key: PublicId, group: impl Into<String>) -> CertificateRequest {
        CertificateRequest {
            key,
            group: group.into(),
            id: None,
            serial: unix_secs() as u32,
            days: None,
            roles: Role::ALL.to_vec(),
            elections: Vec::new(),
            realms: Vec::new(),
        }
    }

    fn roles(&self) -> Roles {
        let all = self.roles.iter().map(|role| role.to_core());
        all.fold(Roles(0), Roles::and)
    }

    fn scopes(&self) -> Result<Vec<Scope>, IssueError> {
        let idle = |what, role| Err(IssueError::Idle { what, role });
        let may = |role| self.roles.contains(&role);
        if !self.elections.is_empty() && !may(Role::Campaign) {
            return idle("elections", "campaign");
        }
        if !self.realms.is_empty() && !may(Role::Lock) && !may(Role::Break) {
            return idle("realms", "lock or break");
        }
        let mut scopes = Vec::new();
        for name in &self.elections {
            if election::check(name).is_err() || name.contains('*') {
                return Err(IssueError::Name(name.clone()));
            }
            scopes.push(Scope::Election(ElectionId::of(name).0));
        }
        for name in &self.realms {
            if lock::check(name).is_err() || name.contains(['*', '/']) {
                return Err(IssueError::Name(name.clone()));
            }
            scopes.push(Scope::Realm(Realm::of(name).0));
        }
        match scopes.len() > SCOPES_MAX {
            true => Err(IssueError::TooMany),
            false => Ok(scopes),
        }
    }
}

impl Certificate {
    /// Signs a certificate as an operator.
    pub fn issue(
        operator: &SecretKey,
        request: &CertificateRequest,
    ) -> Result<Certificate, IssueError> {
        let now = unix_secs() / 3600;
        let until = |days: u32| (now + u64::from(days) * 24).min(u64::from(u32::MAX)) as u32;
        let unsigned = Cert {
            id: request.id.unwrap_or_else(|| Cert::id_of(&request.key.0)),
            key: request.key.0,
            serial: request.serial,
            not_after: request.days.map_or(0, until),
            roles: request.roles(),
            scopes: request.scopes()?,
            operator: 0,
            signature: [0; 64],
        };
        let signed = unsigned.sign(Curve::Real, &operator.0, &request.group);
        Ok(Certificate(signed))
    }

    /// The member's id.
    pub fn id(&self) -> NodeId {
        self.0.id
    }

    /// The serial number, which the operator chose.
    pub fn serial(&self) -> u32 {
        self.0.serial
    }

    /// What the member may do, as far as the certificate does not limit it to certain elections or realms.
    pub fn roles(&self) -> Vec<Role> {
        Role::of(&self.0)
    }

    /// Writes it to a file, in place of an earlier one. `about` is a remark for people.
    pub fn write(&self, path: &Path, about: &str) -> Result<(), KeyError> {
        let text = format!(
            "# Certificate of a member of a Consort group: id {}, serial {}{about}\n{}\n",
            self.id(),
            self.serial(),
            hex(&self.0.encode())
        );
        let fault = |source| KeyError::Write {
            path: path.to_owned(),
            source,
        };
        let mut file = OpenOptions::new()
            .write(true)
            .create(true)
            .truncate(true)
            .open(path)
            .map_err(fault)?;
        file.write_all(text.as_bytes()).map_err(fault)?;
        file.sync_all().map_err(fault)
    }

    /// Reads a certificate file. Whether the certificate holds shows at the start of a node.
    pub fn read(path: &Path) -> Result<Certificate, KeyError> {
        let fault = |source| KeyError::Read {
            path: path.to_owned(),
            source,
        };
        let target = fs::canonicalize(path).map_err(fault)?;
        let file = state::open_regular(OpenOptions::new().read(true), &target).map_err(fault)?;
        let mut text = String::new();
        file.take(FILE_MAX)
            .read_to_string(&mut text)
            .map_err(fault)?;
        let lines = text.lines().map(|line| line.split('#').next());
        let mut lines = lines.flatten().map(str::trim).filter(|l| !l.is_empty());
        let cert = lines.next().and_then(unhex);
        let cert = cert.and_then(|bytes| Cert::decode(&bytes));
        let cert = cert.filter(|_| lines.next().is_none());
        cert.map(Certificate)
            .ok_or_else(|| KeyError::NotACertificate {
                path: path.to_owned(),
            })
    }
}

/// How a node of an identified group proves who it is; see [`Builder::identity`](crate::Builder::identity).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Identity {
    /// The node's secret.
    pub secret: SecretKey,
    /// The certificate for it.
    pub certificate: Certificate,
    /// The operators whose certificates hold, at most four.
    pub operators: Vec<PublicId>,
    /// Where the list of revoked certificates is stored. Default: nowhere; a restarted node learns it from others.
    pub revocations: Option<PathBuf>,
}

impl Identity {
    /// The most operators that a node can trust.
    pub const OPERATORS_MAX: usize = OPERATORS_MAX;

    pub(crate) fn to_core(&self, slow: bool) -> Identified {
        Identified {
            secret: self.secret.0.clone(),
            certificate: self.certificate.0.clone(),
            operators: self.operators.iter().map(|key| key.0).collect(),
            verify_per_second: if slow { VERIFY_SLOW } else { VERIFY },
            revoked: None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn secrets_and_certificates_are_read_back_from_their_files() {
        let dir = tempfile::tempdir().unwrap();
        let path = |name: &str| dir.path().join(name);
        let (operator, member) = (
            SecretKey::generate().unwrap(),
            SecretKey::generate().unwrap(),
        );
        member.write_new(&path("kitchen.key"), "a member").unwrap();
        assert_eq!(SecretKey::read(&path("kitchen.key")).unwrap(), member);
        let again = operator.write_new(&path("kitchen.key"), "an operator");
        assert!(matches!(again, Err(KeyError::Write { .. })));
        let public: PublicId = member.public().to_string().parse().unwrap();
        assert_eq!(public, member.public());
        let request = CertificateRequest::new(public, "robots");
        let certificate = Certificate::issue(&operator, &request).unwrap();
        certificate.write(&path("kitchen.cert"), "").unwrap();
        assert_eq!(
            Certificate::read(&path("kitchen.cert")).unwrap(),
            certificate
        );
        assert_eq!(certificate.id(), Cert::id_of(&public.0));
        for text in ["", "# nothing\n", "00ff\n", "zz\n"] {
            fs::write(path("bad"), text).unwrap();
            let error = Certificate::read(&path("bad")).unwrap_err().to_string();
            assert!(error.contains("consort certify"), "{error}");
        }
        assert!("correct horse".parse::<PublicId>().is_err());
    }
}
