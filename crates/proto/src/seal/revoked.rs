//! Evicting members: which certificates no longer count, as an operator says.
//!
//! ```text
//! version 4 | n 1 | n x (id 8, serial 4) | operator 1 | signature 64
//! ```
//!
//! Signed are the label `consort3 revoked`, the length of the group's name (1 byte), the name, and all that is before the
//! signature. A list names members and the greatest serial of each that no longer counts: a device that is found again
//! gets a certificate with a greater one. Of two lists the one with the greater version holds, and of two with one version
//! the one with the greater hash, so that two operators at once end in one list. It holds everything that the one before it
//! held, or the operator has taken that back.

use super::cert::Cert;
use super::curve::{Curve, PublicKey};
use super::ring::RingStamp;
use super::secret::{Secret, derive};
use crate::id::NodeId;
use crate::time::Instant;
use alloc::vec::Vec;
use core::fmt;
use core::time::Duration;
use serde::de::{Deserialize, Deserializer, Error, Visitor};
use serde::ser::{Serialize, Serializer};

/// Most members that a list names.
pub const REVOKED_MAX: usize = 64;

const LABEL: &[u8] = b"consort3 revoked";
const SIGNATURE_LEN: usize = 64;
const ENTRY_LEN: usize = 12;

/// The least time between two requests for a list to one member, or of one.
const ASK_EVERY: Duration = Duration::from_secs(1);
/// For how long a requested list is waited for.
const ASKED_FOR: Duration = Duration::from_secs(10);

/// What was said with one member about lists.
///
/// Limits are those of one member: whoever is being evicted could use up common ones, so that nobody learns of it.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct ListTalk {
    /// It has the same list as this node.
    pub(crate) agrees: bool,
    asked: Option<Instant>,
    /// It was asked, and has not given one since.
    awaited: bool,
    gave: Option<Instant>,
}

impl ListTalk {
    /// It has the same list. Whether that is news.
    pub(crate) fn agree(&mut self) -> bool {
        !core::mem::replace(&mut self.agrees, true)
    }

    /// Whether it may be asked for its list now; then it is.
    pub(crate) fn want(&mut self, now: Instant) -> bool {
        let wants = due(&mut self.asked, now);
        self.awaited |= wants;
        wants
    }

    /// Whether it was asked for the list that it gives. It gives one for each request.
    pub(crate) fn is_wanted(&mut self, now: Instant) -> bool {
        let lately = self.asked.is_some_and(|at| now.since(at) <= ASKED_FOR);
        core::mem::take(&mut self.awaited) && lately
    }

    /// Whether it may be given this node's list now; then it is.
    pub(crate) fn give(&mut self, now: Instant) -> bool {
        due(&mut self.gave, now)
    }
}

fn due(last: &mut Option<Instant>, now: Instant) -> bool {
    let due = last.is_none_or(|at| now.since(at) >= ASK_EVERY);
    if due {
        *last = Some(now);
    }
    due
}

/// An operator's list of certificates that no longer count.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Revoked {
    /// Grows with every list.
    pub version: u32,
    /// Members, and the greatest serial of each that no longer counts; at most [`REVOKED_MAX`].
    pub entries: Vec<(NodeId, u32)>,
    /// The first byte of the operator's public key.
    pub operator: u8,
    /// The operator's signature.
    pub signature: [u8; SIGNATURE_LEN],
}

impl Revoked {
    /// Signs a list as an operator, for a group.
    pub fn sign(mut self, curve: Curve, operator: &Secret, group: &str) -> Revoked {
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

    /// Whether a certificate is on the list.
    pub fn has(&self, cert: &Cert) -> bool {
        let is = |&(id, serial): &(NodeId, u32)| id == cert.id && cert.serial <= serial;
        self.entries.iter().any(is)
    }

    /// Names this list, and orders lists.
    pub fn stamp(&self) -> RingStamp {
        let hash = derive(&[0; 32], "consort3 revoked", &[&self.encode()]);
        let mut four = [0; 4];
        four.copy_from_slice(&hash[..4]);
        RingStamp {
            version: self.version,
            hash: u32::from_be_bytes(four),
        }
    }

    fn signed(&self, group: &str) -> Vec<u8> {
        let mut bytes = LABEL.to_vec();
        bytes.push(group.len() as u8);
        bytes.extend_from_slice(group.as_bytes());
        self.encode_fields(&mut bytes);
        bytes
    }

    fn encode_fields(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(&self.version.to_le_bytes());
        out.push(self.entries.len() as u8);
        for (id, serial) in &self.entries {
            out.extend_from_slice(&id.0.to_le_bytes());
            out.extend_from_slice(&serial.to_le_bytes());
        }
        out.push(self.operator);
    }

    /// Its bytes, as in a file and in datagrams.
    pub fn encode(&self) -> Vec<u8> {
        let mut bytes = Vec::new();
        self.encode_fields(&mut bytes);
        bytes.extend_from_slice(&self.signature);
        bytes
    }

    /// Reads it; `None` when these are not the bytes of a list.
    pub fn decode(bytes: &[u8]) -> Option<Revoked> {
        let (fields, signature) = bytes.split_last_chunk::<SIGNATURE_LEN>()?;
        let (version, rest) = fields.split_first_chunk::<4>()?;
        let (&count, rest) = rest.split_first()?;
        let (&operator, entries) = rest.split_last()?;
        let count = usize::from(count);
        if count > REVOKED_MAX || entries.len() != count * ENTRY_LEN {
            return None;
        }
        let entry = |bytes: &[u8]| {
            let (id, serial) = bytes.split_first_chunk::<8>()?;
            let serial = u32::from_le_bytes(serial.try_into().ok()?);
            Some((NodeId(u64::from_le_bytes(*id)), serial))
        };
        let entries: Option<Vec<_>> = entries.chunks(ENTRY_LEN).map(entry).collect();
        Some(Revoked {
            version: u32::from_le_bytes(*version),
            entries: entries?,
            operator,
            signature: *signature,
        })
    }
}

impl Serialize for Revoked {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_bytes(&self.encode())
    }
}

impl<'de> Deserialize<'de> for Revoked {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Revoked, D::Error> {
        struct Bytes;

        impl Visitor<'_> for Bytes {
            type Value = Revoked;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a list of revoked certificates")
            }

            fn visit_bytes<E: Error>(self, bytes: &[u8]) -> Result<Revoked, E> {
                Revoked::decode(bytes).ok_or_else(|| E::custom("no list"))
            }
        }

        deserializer.deserialize_bytes(Bytes)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::vec;

    #[test]
    fn a_list_is_read_back_and_every_byte_of_it_is_signed() {
        let list = Revoked {
            version: 3,
            entries: vec![(NodeId(7), 2), (NodeId(8), u32::MAX)],
            operator: 0,
            signature: [0; 64],
        };
        let list = list.sign(Curve::Real, &Secret([2; 32]), "robots");
        let operators = [Curve::Real.public(&Secret([2; 32]))];
        let bytes = list.encode();
        assert_eq!(Revoked::decode(&bytes), Some(list.clone()));
        let holds = |list: &Revoked| list.is_signed(Curve::Real, &operators, "robots");
        assert!(holds(&list));
        for at in 0..bytes.len() {
            let mut bad = bytes.clone();
            bad[at] ^= 1;
            assert!(!Revoked::decode(&bad).is_some_and(|l| holds(&l)), "{at}");
            assert_eq!(Revoked::decode(&bytes[..at]), None);
        }
        assert!(!list.is_signed(Curve::Real, &operators, "robot"));
    }
}
