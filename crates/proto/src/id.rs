//! Identifiers and counters: nodes, their lives and incarnations, elections and terms.

use crate::hash::hash_bytes;
use core::fmt;
use core::str::FromStr;
use serde::{Deserialize, Serialize};

/// The stable identity of a device. Its address, name and tags are attributes and may change.
///
/// It is written and parsed as up to 16 hexadecimal digits.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct NodeId(#[serde(with = "postcard::fixint::le")] pub u64);

/// The life of a node's process: `unix seconds << 16 | 16 random bits`, greater after every restart.
///
/// The membership literature calls this an epoch, or (address, start time).
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize,
)]
pub struct Life(#[serde(with = "postcard::fixint::le")] pub u64);

/// The refutation counter within one [`Life`], raised only by its owner.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize,
)]
pub struct Incarnation(pub u32);

/// The id of an election on the wire, a hash of its name.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct ElectionId(#[serde(with = "postcard::fixint::le")] pub u32);

/// The number of an election round. Every later leader has a greater one.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize,
)]
pub struct Term(pub u64);

impl ElectionId {
    /// The id of the election with this `name`.
    pub const fn of(name: &str) -> ElectionId {
        ElectionId(hash_bytes(name.as_bytes()) as u32)
    }
}

impl fmt::Debug for ElectionId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:08x}", self.0)
    }
}

impl Life {
    /// A life that starts at `unix_secs`; `random` distinguishes lives of the same second. The result is always above
    /// `floor`, the last known life of this device, because the clock may have gone backwards.
    pub const fn starting(unix_secs: u64, random: u16, floor: Option<Life>) -> Life {
        let fresh = Life(unix_secs << 16 | random as u64);
        match floor {
            Some(last) if last.0 >= fresh.0 => last.next(random),
            _ => fresh,
        }
    }

    /// The life that resolves a collision: one second after this one, with `random` in the low bits. At [`Life::END`]
    /// it stays in that second.
    pub const fn next(self, random: u16) -> Life {
        let secs = self.secs();
        let secs = if secs < Life::END { secs + 1 } else { secs };
        Life(secs << 16 | random as u64)
    }

    /// Lives up to this second are accepted without limit, because any clock may show such a time (the year 2106).
    pub const CEILING: u64 = 1 << 32;
    /// How many seconds one message may advance a life above the ceiling, relative to the known life.
    pub const STEP: u64 = 1 << 10;
    /// No life begins after this second.
    pub const END: u64 = 1 << 47;

    /// The second in which it began, by its own clock.
    pub const fn secs(self) -> u64 {
        self.0 >> 16
    }

    /// Whether a message may claim that a node is in this life, if `known` is its latest known life.
    ///
    /// A forged life would take precedence over every later one of its node. Up to the ceiling the node can take an
    /// even later life; above it, lives grow so slowly that they are never used up. The receiver's clock is not used,
    /// because it may be wrong.
    pub fn may_follow(self, known: Option<Life>) -> bool {
        let known = known.map_or(0, Life::secs);
        self.secs() <= Life::CEILING.max(known.saturating_add(Life::STEP))
            && self.secs() <= Life::END
    }
}

impl Incarnation {
    /// How far one message may raise the incarnation of a life.
    pub const STEP: u32 = 1 << 16;

    /// Whether a message may claim this incarnation, if `known` is the latest known one of that life.
    pub const fn may_follow(self, known: Incarnation) -> bool {
        self.0 <= known.0.saturating_add(Incarnation::STEP)
    }

    /// The next incarnation, or `None` if the counter is used up and a new life is needed.
    pub const fn next(self) -> Option<Incarnation> {
        match self.0.checked_add(1) {
            Some(n) => Some(Incarnation(n)),
            None => None,
        }
    }
}

impl fmt::Display for NodeId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:016x}", self.0)
    }
}

impl fmt::Debug for NodeId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:x}", self.0)
    }
}

/// Why a text is not a [`NodeId`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("a node id is 1 to 16 hexadecimal digits")]
pub struct ParseIdError;

impl FromStr for NodeId {
    type Err = ParseIdError;

    fn from_str(s: &str) -> Result<Self, ParseIdError> {
        if s.is_empty() || s.len() > 16 || !s.bytes().all(|b| b.is_ascii_hexdigit()) {
            return Err(ParseIdError);
        }
        u64::from_str_radix(s, 16)
            .map(NodeId)
            .map_err(|_| ParseIdError)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::string::ToString;

    #[test]
    fn ids_read_back_what_they_print() {
        for id in [NodeId(0), NodeId(0xabc), NodeId(u64::MAX)] {
            assert_eq!(id.to_string().parse(), Ok(id));
        }
        for bad in ["", "g", "+1", "00000000000000000"] {
            assert_eq!(bad.parse::<NodeId>(), Err(ParseIdError));
        }
    }

    #[test]
    fn a_clock_that_went_backwards_still_gives_a_later_life() {
        let last = Life::starting(1_000, 7, None);
        let reborn = Life::starting(10, 9, Some(last));
        assert!(reborn > last);
        assert_eq!(Life::starting(2_000, 1, Some(last)), Life(2_000 << 16 | 1));
    }
}
