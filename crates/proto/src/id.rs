//! Who a node is, which life it is in, and how often it had to defend that life.

use crate::hash::hash_bytes;
use core::fmt;
use core::str::FromStr;
use serde::{Deserialize, Serialize};

/// Stable identity of a device. Its address, name and tags are attributes and may change.
///
/// Written and parsed as up to 16 hexadecimal digits.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct NodeId(#[serde(with = "postcard::fixint::le")] pub u64);

/// One process life of a node: `unix seconds << 16 | 16 random bits`, larger after every restart.
///
/// The membership literature calls this an epoch, or (address, start time).
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize,
)]
pub struct Life(#[serde(with = "postcard::fixint::le")] pub u64);

/// Refutation counter inside one [`Life`], raised only by its owner.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize,
)]
pub struct Incarnation(pub u32);

/// An election by its name: what members call it on the wire.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct ElectionId(#[serde(with = "postcard::fixint::le")] pub u32);

/// Number of an election round; every later leader has a larger one.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize,
)]
pub struct Term(pub u64);

impl ElectionId {
    /// The election called `name`.
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
    /// A life that starts at `unix_secs`, told apart from others of that second by `random`.
    /// Never at or below `floor`, the last life known of this device: a clock may have gone backwards.
    pub const fn starting(unix_secs: u64, random: u16, floor: Option<Life>) -> Life {
        let fresh = Life(unix_secs << 16 | random as u64);
        match floor {
            Some(last) if last.0 >= fresh.0 => last.next(random),
            _ => fresh,
        }
    }

    /// The life that repairs a collision: one second past this one, told apart by `random`. At [`Life::END`] it stays in
    /// that second.
    pub const fn next(self, random: u16) -> Life {
        let secs = self.secs();
        let secs = if secs < Life::END { secs + 1 } else { secs };
        Life(secs << 16 | random as u64)
    }

    /// Lives up to here are plain: any clock may show such a time (seconds of the year 2106).
    pub const CEILING: u64 = 1 << 32;
    /// How many seconds one message may put a life above the ceiling ahead of the one that is known.
    pub const STEP: u64 = 1 << 10;
    /// No life begins after this second.
    pub const END: u64 = 1 << 47;

    /// The second in which it began, by its own clock.
    pub const fn secs(self) -> u64 {
        self.0 >> 16
    }

    /// Whether a message may say that a node is in this life, of which `known` is the latest known life.
    ///
    /// A forged life would outbid every later one of its node. Up to the ceiling the node can outbid it; above, lives
    /// grow so slowly that they are never used up. No clock of the receiver is asked: it may be wrong.
    pub fn may_follow(self, known: Option<Life>) -> bool {
        let known = known.map_or(0, Life::secs);
        self.secs() <= Life::CEILING.max(known.saturating_add(Life::STEP))
            && self.secs() <= Life::END
    }
}

impl Incarnation {
    /// How far one message may raise the incarnation of a life.
    pub const STEP: u32 = 1 << 16;

    /// Whether a message may say this of a life in which `known` is the latest known incarnation.
    pub const fn may_follow(self, known: Incarnation) -> bool {
        self.0 <= known.0.saturating_add(Incarnation::STEP)
    }

    /// The next incarnation, or `None` when the counter is used up and a new life is due.
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
