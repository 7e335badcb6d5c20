//! Who a member is: certificates, by which operators say which key belongs to which id, and what its holder may do.
//!
//! ```text
//! id 8 | key 32 | serial 4 | not_after 4 | roles 1 | n 1 | n x (kind 1, scope 4) | operator 1 | signature 64
//! ```
//!
//! Numbers are little-endian. Signed are the label `consort3 cert`, the length of the group's name (1 byte), the name, and
//! all that is before the signature. Every member knows the operators' public keys; a certificate names the one that made
//! it by its first byte.
//!
//! The key is the authority, the id a name. Of two certificates for one id the one with the greater serial holds, so that a
//! lost key can be replaced.

use super::curve::{Curve, PublicKey};
use super::secret::Secret;
use crate::id::{ElectionId, NodeId};
use alloc::vec::Vec;
use core::fmt;
use serde::de::{Deserialize, Deserializer, Error, Visitor};
use serde::ser::{Serialize, Serializer};

/// Most operators that a node trusts.
pub const OPERATORS_MAX: usize = 4;
/// Most scopes of a certificate.
pub const SCOPES_MAX: usize = 8;

/// Bytes of a certificate without scopes.
const FIXED_LEN: usize = 8 + 32 + 4 + 4 + 1 + 1 + 1 + SIGNATURE_LEN;
const SIGNATURE_LEN: usize = 64;
const SCOPE_LEN: usize = 5;

const LABEL: &[u8] = b"consort3 cert";

/// What the holder of a certificate may do besides being a member.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Roles(pub u8);

impl Roles {
    /// Campaign in elections, and lead.
    pub const CAMPAIGN: Roles = Roles(1);
    /// Hold locks.
    pub const LOCK: Roles = Roles(2);
    /// Force the release of others' locks.
    pub const BREAK: Roles = Roles(4);
    /// All of these.
    pub const ALL: Roles = Roles(7);

    /// Whether all of `other` are among these.
    pub const fn has(self, other: Roles) -> bool {
        self.0 & other.0 == other.0
    }

    /// These, and others.
    pub const fn and(self, other: Roles) -> Roles {
        Roles(self.0 | other.0)
    }
}

/// What a role is limited to. A role without a scope of its kind holds everywhere.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scope {
    /// An election, by its id.
    Election(u32),
    /// The locks of a realm: the part of a lock's name before its first `/`, hashed.
    Realm(u32),
}

impl Scope {
    fn encode(self) -> [u8; SCOPE_LEN] {
        let (kind, scope) = match self {
            Scope::Election(id) => (1, id),
            Scope::Realm(hash) => (2, hash),
        };
        let mut bytes = [kind; SCOPE_LEN];
        bytes[1..].copy_from_slice(&scope.to_le_bytes());
        bytes
    }

    fn decode(bytes: &[u8]) -> Option<Scope> {
        let (&kind, scope) = bytes.split_first()?;
        let scope = u32::from_le_bytes(scope.try_into().ok()?);
        match kind {
            1 => Some(Scope::Election(scope)),
            2 => Some(Scope::Realm(scope)),
            _ => None,
        }
    }
}

/// An operator's word for a member: its id, its key, and what it may do.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Cert {
    /// The member.
    pub id: NodeId,
    /// Its public key.
    pub key: PublicKey,
    /// Of two certificates of one member the greater one holds.
    pub serial: u32,
    /// The last hour since 1970 in which it holds; 0 for ever.
    pub not_after: u32,
    /// What the member may do.
    pub roles: Roles,
    /// Where it may do that, at most [`SCOPES_MAX`].
    pub scopes: Vec<Scope>,
    /// The first byte of the operator's public key.
    pub operator: u8,
    /// The operator's signature.
    pub signature: [u8; SIGNATURE_LEN],
}

impl Cert {
    /// The public part of an id that a key has if nobody chooses another one: a hash of it.
    pub fn id_of(key: &PublicKey) -> NodeId {
        let hash = super::derive(&key.0, "consort3 id", &[]);
        let mut eight = [0; 8];
        eight.copy_from_slice(&hash[..8]);
        NodeId(u64::from_le_bytes(eight))
    }

    /// Signs the certificate as an operator, for a group.
    pub fn sign(mut self, curve: Curve, operator: &Secret, group: &str) -> Cert {
        self.operator = curve.public(operator).0[0];
        self.signature = curve.sign(operator, &self.signed(group));
        self
    }

    /// Whether one of these operators has signed it for this group.
    pub fn is_signed(&self, curve: Curve, operators: &[PublicKey], group: &str) -> bool {
        let signed = self.signed(group);
        let mut named = operators.iter().filter(|key| key.0[0] == self.operator);
        named.any(|key| curve.has_signed(key, &signed, &self.signature))
    }

    /// Whether the holder has a role there.
    pub fn may_in(&self, role: Roles, there: Scope) -> bool {
        let same_kind = |s: &&Scope| core::mem::discriminant(*s) == core::mem::discriminant(&there);
        let mut scopes = self.scopes.iter().filter(same_kind).peekable();
        self.roles.has(role) && (scopes.peek().is_none() || scopes.any(|s| *s == there))
    }

    /// Whether the holder may campaign in an election.
    pub fn may_campaign(&self, election: ElectionId) -> bool {
        self.may_in(Roles::CAMPAIGN, Scope::Election(election.0))
    }

    fn signed(&self, group: &str) -> Vec<u8> {
        let mut bytes = LABEL.to_vec();
        bytes.push(group.len() as u8);
        bytes.extend_from_slice(group.as_bytes());
        self.encode_fields(&mut bytes);
        bytes
    }

    fn encode_fields(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(&self.id.0.to_le_bytes());
        out.extend_from_slice(&self.key.0);
        out.extend_from_slice(&self.serial.to_le_bytes());
        out.extend_from_slice(&self.not_after.to_le_bytes());
        out.push(self.roles.0);
        out.push(self.scopes.len() as u8);
        for scope in &self.scopes {
            out.extend_from_slice(&scope.encode());
        }
        out.push(self.operator);
    }

    /// The encoded size.
    pub fn encoded_len(&self) -> usize {
        FIXED_LEN + self.scopes.len() * SCOPE_LEN
    }

    /// Its bytes, as in a certificate file and in datagrams.
    pub fn encode(&self) -> Vec<u8> {
        let mut bytes = Vec::with_capacity(self.encoded_len());
        self.encode_fields(&mut bytes);
        bytes.extend_from_slice(&self.signature);
        bytes
    }

    /// Reads it; `None` when these are not the bytes of a certificate.
    pub fn decode(bytes: &[u8]) -> Option<Cert> {
        let (fields, signature) = bytes.split_last_chunk::<SIGNATURE_LEN>()?;
        let (id, rest) = fields.split_first_chunk::<8>()?;
        let (key, rest) = rest.split_first_chunk::<32>()?;
        let (serial, rest) = rest.split_first_chunk::<4>()?;
        let (not_after, rest) = rest.split_first_chunk::<4>()?;
        let (&[roles, count], rest) = rest.split_first_chunk::<2>()?;
        let (&operator, scopes) = rest.split_last()?;
        let count = usize::from(count);
        if count > SCOPES_MAX || scopes.len() != count * SCOPE_LEN {
            return None;
        }
        let scopes: Option<Vec<Scope>> = scopes.chunks(SCOPE_LEN).map(Scope::decode).collect();
        Some(Cert {
            id: NodeId(u64::from_le_bytes(*id)),
            key: PublicKey(*key),
            serial: u32::from_le_bytes(*serial),
            not_after: u32::from_le_bytes(*not_after),
            roles: Roles(roles),
            scopes: scopes?,
            operator,
            signature: *signature,
        })
    }
}

impl Serialize for Cert {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_bytes(&self.encode())
    }
}

impl<'de> Deserialize<'de> for Cert {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Cert, D::Error> {
        struct Bytes;

        impl Visitor<'_> for Bytes {
            type Value = Cert;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a certificate")
            }

            fn visit_bytes<E: Error>(self, bytes: &[u8]) -> Result<Cert, E> {
                Cert::decode(bytes).ok_or_else(|| E::custom("no certificate"))
            }
        }

        deserializer.deserialize_bytes(Bytes)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::vec;

    fn cert() -> Cert {
        let key = Curve::Real.public(&Secret([1; 32]));
        Cert {
            id: Cert::id_of(&key),
            key,
            serial: 7,
            not_after: 500_000,
            roles: Roles::CAMPAIGN.and(Roles::LOCK),
            scopes: vec![Scope::Election(9), Scope::Realm(5), Scope::Realm(6)],
            operator: 0,
            signature: [0; 64],
        }
        .sign(Curve::Real, &Secret([2; 32]), "robots")
    }

    #[test]
    fn a_certificate_is_read_back_and_every_byte_of_it_is_signed() {
        let cert = cert();
        let operators = [Curve::Real.public(&Secret([2; 32]))];
        let bytes = cert.encode();
        assert_eq!(bytes.len(), cert.encoded_len());
        assert_eq!(Cert::decode(&bytes), Some(cert.clone()));
        let holds = |cert: &Cert| cert.is_signed(Curve::Real, &operators, "robots");
        assert!(holds(&cert));
        for at in 0..bytes.len() {
            let mut bad = bytes.clone();
            bad[at] ^= 1;
            assert!(!Cert::decode(&bad).is_some_and(|c| holds(&c)), "{at}");
        }
        for len in 0..bytes.len() {
            assert_eq!(Cert::decode(&bytes[..len]), None);
        }
        assert!(!cert.is_signed(Curve::Real, &operators, "robot"));
        let others = [Curve::Real.public(&Secret([3; 32]))];
        assert!(!cert.is_signed(Curve::Real, &others, "robots"));
    }

    /// The layout and the signature were made by another implementation.
    #[test]
    fn the_signed_layout_is_pinned() {
        let bytes = cert().encode();
        let hex: alloc::string::String = bytes.iter().map(|b| alloc::format!("{b:02x}")).collect();
        assert_eq!(hex, PINNED);
    }

    const PINNED: &str = concat!(
        "bb7e57eeb5e136148a88e3dd7409f195fd52db2d3cba5d72ca6709bf1d94121bf3748801b40f6f5c0700000020",
        "a10700030301090000000205000000020600000081f33268eadc28e1a6ed4a6e41229caabd65c19aadb34f954e",
        "89932318c9f53c72a7a638de81dfd8b052ced798d64047036f49cdc815205453c7f10af7f528e705"
    );

    #[test]
    fn roles_hold_in_their_scopes_and_everywhere_without_any() {
        let cert = cert();
        assert!(cert.roles.has(Roles::LOCK) && !cert.roles.has(Roles::BREAK));
        assert!(cert.may_in(Roles::CAMPAIGN, Scope::Election(9)));
        assert!(!cert.may_in(Roles::CAMPAIGN, Scope::Election(8)));
        assert!(cert.may_in(Roles::LOCK, Scope::Realm(6)));
        assert!(!cert.may_in(Roles::LOCK, Scope::Realm(7)));
        assert!(!cert.may_in(Roles::BREAK, Scope::Realm(6)));
        let anywhere = Cert {
            scopes: vec![Scope::Realm(5)],
            ..cert
        };
        assert!(anywhere.may_in(Roles::CAMPAIGN, Scope::Election(8)));
    }
}
