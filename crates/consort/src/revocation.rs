//! Evicting members of an identified group: lists of revoked certificates, and the file in which a node keeps its own.

use crate::driver::Order;
use crate::error::{RevokeError, Stopped};
use crate::handle::Node;
use crate::identity::{FILE_MAX, PublicId, SecretKey};
use crate::key::{KeyError, hex, unhex};
use crate::state;
use consort_proto::NodeId;
use consort_proto::seal::{Curve, PublicKey, REVOKED_MAX, Revoked};
use std::fs::OpenOptions;
use std::io::{self, Read};
use std::path::Path;

/// An operator's list of certificates that no longer count. Each member is named with the greatest serial that does not.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Revocations {
    /// Grows with every list; 0 before the first one.
    pub version: u32,
    /// Members, and the greatest serial of each that no longer counts.
    pub entries: Vec<(NodeId, u32)>,
    /// The list with the signature of its operator, in hexadecimal digits; `None` before the first one.
    pub signed: Option<String>,
}

/// Why a list cannot be made.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "a list names at most {REVOKED_MAX} members; take out those whose certificates have ended (--forget)"
)]
pub struct TooManyRevoked;

impl Revocations {
    /// Reads a list that one of these operators has signed for this group; `None` for anything else. An operator who signs
    /// the next list reads this one here: what an agent tells may be wrong.
    pub fn read(signed: &str, operators: &[PublicId], group: &str) -> Option<Revocations> {
        let list = Revoked::decode(&unhex(signed.trim())?)?;
        let keys: Vec<PublicKey> = operators.iter().map(|key| key.0).collect();
        let is_signed = list.is_signed(Curve::Real, &keys, group);
        is_signed.then(|| Revocations::of(&list))
    }

    fn of(list: &Revoked) -> Revocations {
        Revocations {
            version: list.version,
            entries: list.entries.clone(),
            signed: Some(hex(&list.encode())),
        }
    }

    /// Whatever one of two lists says, so that an older one takes nothing back.
    #[must_use]
    pub fn and(mut self, other: &Revocations) -> Revocations {
        for &(id, serial) in &other.entries {
            self.add(id, serial);
        }
        if other.version > self.version {
            self.version = other.version;
            self.signed.clone_from(&other.signed);
        }
        self
    }

    fn add(&mut self, id: NodeId, serial: u32) {
        match self.entries.iter_mut().find(|entry| entry.0 == id) {
            Some(entry) => entry.1 = entry.1.max(serial),
            None => self.entries.push((id, serial)),
        }
    }

    /// The next list, on which certificates of this member up to this serial are as well, signed by an operator: for
    /// [`Node::revoke`].
    pub fn revoke(
        &self,
        operator: &SecretKey,
        group: &str,
        id: NodeId,
        serial: u32,
    ) -> Result<String, TooManyRevoked> {
        let mut next = self.clone();
        next.add(id, serial);
        if next.entries.len() > REVOKED_MAX {
            return Err(TooManyRevoked);
        }
        let list = Revoked {
            version: self.version.saturating_add(1),
            entries: next.entries,
            operator: 0,
            signature: [0; 64],
        };
        Ok(hex(&list.sign(Curve::Real, &operator.0, group).encode()))
    }
}

impl Node {
    /// The certificates that no longer count.
    pub async fn revocations(&self) -> Result<Revocations, Stopped> {
        let list = self.ask(Order::Revoked).await?;
        Ok(list.as_ref().map(Revocations::of).unwrap_or_default())
    }

    /// Evicts members, by a list that [`Revocations::revoke`] has made: their sessions end at once, here and, within a few
    /// periods, at all others.
    pub async fn revoke(&self, list: &str) -> Result<(), RevokeError> {
        let list = unhex(list.trim()).and_then(|bytes| Revoked::decode(&bytes));
        let list = list.ok_or(RevokeError::Refused { version: 0 })?;
        self.ask(|reply| Order::Revoke(list, reply)).await?
    }
}

/// Reads the stored list, if there is one.
pub(crate) fn read_revoked(path: &Path) -> Result<Option<Revoked>, KeyError> {
    let fault = |source| KeyError::Read {
        path: path.to_owned(),
        source,
    };
    let file = match state::open_regular(OpenOptions::new().read(true), path) {
        Err(e) if e.kind() == io::ErrorKind::NotFound => return Ok(None),
        file => file.map_err(fault)?,
    };
    let mut text = String::new();
    file.take(FILE_MAX)
        .read_to_string(&mut text)
        .map_err(fault)?;
    let list = text.lines().find(|line| !line.starts_with('#'));
    let list = list.and_then(|line| unhex(line.trim()));
    let list = list.and_then(|bytes| Revoked::decode(&bytes));
    list.map(Some).ok_or_else(|| KeyError::NotRevocations {
        path: path.to_owned(),
    })
}

/// Replaces the stored list.
pub(crate) fn store_revoked(path: &Path, list: &Revoked) -> Result<(), KeyError> {
    let text = format!(
        "# Version {} of the certificates that no longer count in a Consort group.\n{}\n",
        list.version,
        hex(&list.encode())
    );
    let replace = || {
        let dir = path.parent().filter(|dir| !dir.as_os_str().is_empty());
        let mut beside = path.as_os_str().to_owned();
        beside.push(format!(".{}.new", std::process::id()));
        let dir = dir.unwrap_or(Path::new("."));
        state::replace(dir, Path::new(&beside), path, &text)
    };
    replace().map_err(|source| KeyError::Write {
        path: path.to_owned(),
        source,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_operator_continues_only_lists_that_operators_have_signed_and_takes_nothing_back() {
        let (ours, theirs) = (
            SecretKey::generate().unwrap(),
            SecretKey::generate().unwrap(),
        );
        let next = |list: &Revocations, by: &SecretKey, id| {
            let signed = list.revoke(by, "robots", NodeId(id), 7).unwrap();
            Revocations::read(&signed, &[by.public()], "robots").unwrap()
        };
        let first = next(&Revocations::default(), &ours, 1);
        let second = next(&first, &ours, 2);
        assert_eq!(second.entries, [(NodeId(1), 7), (NodeId(2), 7)]);
        assert_eq!(second.version, 2);
        let signed = second.signed.clone().unwrap();
        let read = |by: &SecretKey, group| Revocations::read(&signed, &[by.public()], group);
        assert_eq!(read(&ours, "robots"), Some(second.clone()));
        assert_eq!(read(&theirs, "robots"), None);
        assert_eq!(read(&ours, "robot"), None);
        assert_eq!(Revocations::read("00", &[ours.public()], "robots"), None);
        // An agent that tells an older list changes nothing, in either order.
        assert_eq!(second.clone().and(&first), second);
        assert_eq!(first.and(&second), second);
        let other = next(&Revocations::default(), &ours, 3);
        let both = second.and(&other);
        assert_eq!((both.version, both.entries.len()), (2, 3));
    }
}
