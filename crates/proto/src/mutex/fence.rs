//! The number that orders requests and that a resource checks as a fencing token.

use crate::hash::{hash_bytes, mix};
use crate::id::NodeId;
use core::fmt;
use core::str::FromStr;
use serde::{Deserialize, Serialize};

/// The id of a lock on the wire: its [`Realm`] in the first 4 bytes (the most significant ones, the first 8 digits of its
/// text), and a hash of its name in the other 12. Two names with the same id would share a lock, which costs waiting time
/// and nothing else.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct LockId(#[serde(with = "postcard::fixint::le")] pub u128);

/// The locks whose names have the same part before the first `/`, so that what a member may do can be limited to them.
///
/// It is a hash of 32 bits. Names of realms are chosen by those who also choose who may use them, so it need not withstand
/// anybody who looks for two names with the same hash, which takes only 2^16 tries with any function of this length.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Realm(#[serde(with = "postcard::fixint::le")] pub u32);

/// The place of a request in the queue of a lock, and the token of a grant. Later holders have greater tokens.
///
/// It consists of 48 bits of a logical clock, 10 bits of a place in space
/// ([`Service::Elevator`](super::Service::Elevator)), 64 bits of the node id, and 6 bits that count hand-overs within a
/// node. It is compared as one number.
#[derive(Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Fence(#[serde(with = "postcard::fixint::le")] pub u128);

/// The number of bits of a place in space.
const PLACE_BITS: u32 = 10;
/// The number of bits that count hand-overs.
const TURN_BITS: u32 = 6;
const SEQ_SHIFT: u32 = PLACE_BITS + 64 + TURN_BITS;

/// The number of places in space.
pub const PLACES: u16 = 1 << PLACE_BITS;

/// The greatest number of hand-overs of one request to local waiters.
pub(super) const TURNS_MAX: u8 = (1 << TURN_BITS) - 1;

/// Clocks at or above this value are refused, so that there is always room for later values.
pub const SEQ_MAX: u64 = (1 << 48) - (1 << 40);

/// Clocks up to this value are accepted without limit, because a wall clock may show them (milliseconds until the
/// year 2109).
pub(super) const SEQ_CEILING: u64 = 1 << 42;

/// How far other nodes may advance a clock above the ceiling per hour, so that its range is never used up.
pub(super) const SEQ_PER_HOUR: u64 = 1 << 27;

impl LockId {
    /// The id of the lock with this `name`.
    pub const fn of(name: &str) -> LockId {
        let low = hash_bytes(name.as_bytes());
        let high = mix(low ^ mix(name.len() as u64 ^ fold(name.as_bytes())));
        let Realm(realm) = Realm::of(name);
        LockId((realm as u128) << 96 | (high as u32 as u128) << 64 | low as u128)
    }

    /// The realm of this lock.
    pub const fn realm(self) -> Realm {
        Realm((self.0 >> 96) as u32)
    }
}

impl Realm {
    /// The realm of the lock with this `name`, or the realm with this name: everything before the first `/`.
    pub const fn of(name: &str) -> Realm {
        let name = name.as_bytes();
        let mut len = 0;
        while len < name.len() && name[len] != b'/' {
            len += 1;
        }
        let (realm, _) = name.split_at(len);
        // Mixed once more, so that the realm of a name without `/` says nothing about the hash of the name.
        Realm(mix(hash_bytes(realm)) as u32)
    }
}

impl fmt::Debug for Realm {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:08x}", self.0)
    }
}

/// A second, independent hash of the bytes.
const fn fold(bytes: &[u8]) -> u64 {
    let mut h = 0_u64;
    let mut i = bytes.len();
    while i > 0 {
        i -= 1;
        h = mix(h ^ bytes[i] as u64);
    }
    h
}

impl Fence {
    /// The value below every request.
    pub const ZERO: Fence = Fence(0);

    /// The value for a request of `node` at clock `seq` in `place`.
    pub const fn new(seq: u64, place: u16, node: NodeId) -> Fence {
        let place = (place % PLACES) as u128;
        Fence(
            (seq as u128) << SEQ_SHIFT | place << (64 + TURN_BITS) | (node.0 as u128) << TURN_BITS,
        )
    }

    /// The logical clock.
    pub const fn seq(self) -> u64 {
        (self.0 >> SEQ_SHIFT) as u64
    }

    /// The place in space.
    pub const fn place(self) -> u16 {
        (self.0 >> (64 + TURN_BITS)) as u16 % PLACES
    }

    /// The node.
    pub const fn node(self) -> NodeId {
        NodeId((self.0 >> TURN_BITS) as u64)
    }

    /// The token of holder number `turn` that one request serves.
    pub(super) const fn turn(self, turn: u8) -> Fence {
        Fence(self.0 & !(TURNS_MAX as u128) | turn as u128)
    }

    /// The greatest token that this request may have used.
    pub(super) const fn last_turn(self) -> Fence {
        self.turn(TURNS_MAX)
    }

    /// A value above every request with clock `seq` or earlier.
    pub(super) const fn end_of(seq: u64) -> Fence {
        Fence(((seq as u128 + 1) << SEQ_SHIFT) - 1)
    }

    /// The token as 16 bytes that sort in the order of tokens.
    pub const fn to_be_bytes(self) -> [u8; 16] {
        self.0.to_be_bytes()
    }
}

impl fmt::Display for Fence {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:032x}", self.0)
    }
}

impl fmt::Debug for Fence {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let turn = self.0 as u8 & TURNS_MAX;
        write!(
            f,
            "{}.{}.{:?}.{turn}",
            self.seq(),
            self.place(),
            self.node()
        )
    }
}

impl fmt::Debug for LockId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:032x}", self.0)
    }
}

impl fmt::Display for LockId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:032x}", self.0)
    }
}

/// Why a text is not a [`Fence`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("a lock token is 32 hexadecimal digits")]
pub struct ParseFenceError;

impl FromStr for Fence {
    type Err = ParseFenceError;

    fn from_str(s: &str) -> Result<Fence, ParseFenceError> {
        if s.len() != 32 || !s.bytes().all(|b| b.is_ascii_hexdigit()) {
            return Err(ParseFenceError);
        }
        let number = u128::from_str_radix(s, 16);
        number.map(Fence).map_err(|_| ParseFenceError)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::string::ToString;

    #[test]
    fn fences_order_by_clock_then_place_then_node_then_turn() {
        let of = |seq, place, node| Fence::new(seq, place, NodeId(node));
        let rising = [
            of(1, 1023, u64::MAX).last_turn(),
            of(2, 0, 5),
            of(2, 0, 5).turn(1),
            of(2, 0, 6),
            of(2, 1, 0),
            Fence::end_of(2),
            of(3, 0, 0),
        ];
        assert!(rising.is_sorted_by(|a, b| a < b), "{rising:?}");
        let fence = of(77, 9, 0xabc);
        assert_eq!(
            (fence.seq(), fence.place(), fence.node()),
            (77, 9, NodeId(0xabc))
        );
        assert_eq!(fence.to_string().parse(), Ok(fence));
        assert_eq!("12".parse::<Fence>(), Err(ParseFenceError));
    }

    #[test]
    fn ids_of_locks_are_pinned_because_they_reach_the_wire() {
        assert_ne!(LockId::of("a"), LockId::of("b"));
        assert_eq!(
            LockId::of("demo"),
            LockId(0x8980_4d56_33d1_1a0c_8c28_4818_951d_6be6)
        );
        assert_eq!(Realm::of("demo"), Realm(0x8980_4d56));
    }

    #[test]
    fn locks_of_a_realm_begin_alike_and_others_do_not() {
        let of = |name| LockId::of(name).realm();
        assert_eq!(of("site/door"), of("site/gate/north"));
        assert_eq!(of("site/door"), Realm::of("site"));
        assert_eq!(of("site"), Realm::of("site"));
        assert_ne!(of("site/door"), of("sites/door"));
        assert_ne!(of("/door"), of("door"));
        assert_ne!(LockId::of("site/door"), LockId::of("site/gate"));
        let text = LockId::of("site/door").to_string();
        assert!(text.starts_with(&alloc::format!("{:?}", Realm::of("site"))));
    }
}
