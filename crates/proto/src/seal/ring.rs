//! The keys of a group, and how all members come to have the same ones.
//!
//! A ring is a short list of keys with a version. Every change makes a new version at one member; members tell those
//! whose ring they do not know to be the same what they have ([`KeyMsg::Have`]), and whoever has an older ring asks for
//! the newer one. Of two rings with one version the one with the greater hash wins everywhere, so that two changes at
//! the same time end in one ring. Nothing is sent before the first change.
//!
//! A change cuts nobody off that still has a key of the ring: a member answers under the key that its peer uses until the
//! peer says that it has the same ring. So a member that was away during a change returns under the old key and is given
//! the new ring, as long as the old key is in it. Removing a key is what locks its holders out.

use super::sealing::KEYS_MAX;
use super::secret::{Secret, derive};
use alloc::vec::Vec;
use serde::{Deserialize, Serialize};

/// How much later than the known version one told by another member may be.
const VERSION_STEP: u32 = 1 << 16;

/// The keys of a group. The first one seals, all of them open.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct KeyRing {
    /// Grows with every change; 0 for keys from a file that no command has changed.
    pub version: u32,
    /// The keys, at most [`KEYS_MAX`].
    pub keys: Vec<Secret>,
}

/// Names a ring and orders rings: the later one is greater.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct RingStamp {
    /// The version of the ring.
    pub version: u32,
    /// A hash of its keys.
    #[serde(with = "postcard::fixint::le")]
    pub hash: u32,
}

/// What members say about their keys.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum KeyMsg {
    /// The sender has this ring.
    Have(RingStamp),
    /// The sender wants the receiver's ring.
    Ask,
    /// The sender's ring.
    Give(KeyRing),
}

/// Why a ring cannot be changed. It is as before then.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum RingError {
    /// Nothing needs to be done.
    #[error("the key is installed already")]
    Installed,
    /// Remove a key that is no longer used.
    #[error("there are {KEYS_MAX} keys already; remove one that is no longer used")]
    Full,
    /// Ask for the list of keys.
    #[error("no key has this fingerprint")]
    Unknown,
    /// Use another key first.
    #[error("the key seals the group's datagrams; use another one first")]
    InUse,
    /// Make a new group: a version can be used once.
    #[error("the versions of key lists are used up")]
    Exhausted,
}

impl KeyRing {
    /// Names this ring.
    pub fn stamp(&self) -> RingStamp {
        let parts: Vec<&[u8]> = self.keys.iter().map(|key| &key.0[..]).collect();
        let hash = derive(&[0; 32], "consort3 ring", &parts);
        RingStamp {
            version: self.version,
            hash: first_four(&hash),
        }
    }

    /// Whether a node can use it.
    pub fn is_valid(&self) -> bool {
        let twice = |(n, key): (usize, &Secret)| self.keys[..n].contains(key);
        (1..=KEYS_MAX).contains(&self.keys.len()) && !self.keys.iter().enumerate().any(twice)
    }

    /// Whether a node with this ring takes another one that it was given.
    pub(crate) fn gives_way_to(&self, other: &KeyRing) -> bool {
        other.is_valid()
            && other.version <= self.version.saturating_add(VERSION_STEP)
            && other.stamp() > self.stamp()
    }

    fn place(&self, name: u32) -> Result<usize, RingError> {
        let at = self.keys.iter().position(|key| key.name() == name);
        at.ok_or(RingError::Unknown)
    }

    fn change(&self, keys: Vec<Secret>) -> Result<KeyRing, RingError> {
        let version = self.version.checked_add(1).ok_or(RingError::Exhausted)?;
        Ok(KeyRing { version, keys })
    }

    /// The next ring, with one more key, which opens and does not seal.
    pub fn install(&self, key: &Secret) -> Result<KeyRing, RingError> {
        if self.keys.contains(key) {
            return Err(RingError::Installed);
        }
        if self.keys.len() >= KEYS_MAX {
            return Err(RingError::Full);
        }
        let mut keys = self.keys.clone();
        keys.push(key.clone());
        self.change(keys)
    }

    /// The next ring, in which the key of this name seals.
    pub fn promote(&self, name: u32) -> Result<KeyRing, RingError> {
        let at = self.place(name)?;
        let mut keys = self.keys.clone();
        keys[..=at].rotate_right(1);
        self.change(keys)
    }

    /// The next ring, without the key of this name.
    pub fn remove(&self, name: u32) -> Result<KeyRing, RingError> {
        let at = self.place(name)?;
        if at == 0 {
            return Err(RingError::InUse);
        }
        let mut keys = self.keys.clone();
        keys.remove(at);
        self.change(keys)
    }
}

impl From<Vec<Secret>> for KeyRing {
    /// Keys that no command has changed.
    fn from(keys: Vec<Secret>) -> KeyRing {
        KeyRing { version: 0, keys }
    }
}

impl Secret {
    /// Names the key: the first four bytes of [`Secret::check`].
    pub fn name(&self) -> u32 {
        first_four(&self.check())
    }
}

fn first_four(bytes: &[u8]) -> u32 {
    let mut four = [0; 4];
    four.copy_from_slice(&bytes[..4]);
    u32::from_be_bytes(four)
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::vec;

    fn key(n: u8) -> Secret {
        Secret([n; 32])
    }

    fn ring(version: u32, keys: &[u8]) -> KeyRing {
        KeyRing {
            version,
            keys: keys.iter().map(|&n| key(n)).collect(),
        }
    }

    #[test]
    fn a_key_is_replaced_in_three_steps() {
        let old = ring(0, &[1]);
        let both = old.install(&key(2)).unwrap();
        assert_eq!(both, ring(1, &[1, 2]));
        let used = both.promote(key(2).name()).unwrap();
        assert_eq!(used, ring(2, &[2, 1]));
        assert_eq!(used.remove(key(1).name()).unwrap(), ring(3, &[2]));
        // The key that seals stays, and so does the order of the others.
        assert_eq!(used.remove(key(2).name()), Err(RingError::InUse));
        let four = ring(7, &[1, 2, 3, 4]);
        assert_eq!(four.promote(key(3).name()), Ok(ring(8, &[3, 1, 2, 4])));
    }

    #[test]
    fn what_cannot_be_done_is_refused() {
        let four = ring(7, &[1, 2, 3, 4]);
        assert_eq!(four.install(&key(3)), Err(RingError::Installed));
        assert_eq!(four.install(&key(5)), Err(RingError::Full));
        assert_eq!(four.remove(key(5).name()), Err(RingError::Unknown));
        assert_eq!(four.promote(key(5).name()), Err(RingError::Unknown));
        let last = ring(u32::MAX, &[1]);
        assert_eq!(last.install(&key(2)), Err(RingError::Exhausted));
    }

    #[test]
    fn the_later_ring_wins_and_a_tie_has_one_winner() {
        let old = ring(3, &[1]);
        assert!(old.gives_way_to(&ring(4, &[2])));
        assert!(!old.gives_way_to(&ring(2, &[2])));
        assert!(!old.gives_way_to(&old));
        let (a, b) = (ring(4, &[1, 2]), ring(4, &[1, 3]));
        assert_ne!(a.gives_way_to(&b), b.gives_way_to(&a));
        // No single word can use up the versions, and nonsense is not taken.
        assert!(!old.gives_way_to(&ring(u32::MAX, &[2])));
        assert!(!old.gives_way_to(&ring(4, &[])));
        assert!(!old.gives_way_to(&ring(4, &[1, 1])));
        assert!(!old.gives_way_to(&ring(4, &[1, 2, 3, 4, 5])));
        let twice = KeyRing {
            version: 5,
            keys: vec![key(1); 2],
        };
        assert!(!twice.is_valid());
    }
}
