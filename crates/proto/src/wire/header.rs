//! The fixed start of every datagram.

use super::WireError;
use crate::id::{Incarnation, Life, NodeId};
use crate::membership::{Coordinate, DIGEST_LEN};
use alloc::vec::Vec;

/// The version of the wire format. It changes whenever the golden bytes change.
pub const VERSION: u8 = 3;

/// The size of the smallest header: of a sender in its first incarnation, without a coordinate.
pub const HEADER_LEN: usize = DIGEST_AT + DIGEST_LEN;

/// The size of the largest header.
pub const HEADER_MAX: usize = HEADER_LEN + (8 - LIFE_LEN) + INCARNATION_LEN + COORDINATE_LEN;

/// The offset after the sender, where the encrypted part of a header continues after the flags.
const AFTER_SENDER: usize = 14;
/// A life that begins before the year 2106 needs no more.
const LIFE_LEN: usize = 6;
const DIGEST_AT: usize = AFTER_SENDER + LIFE_LEN;
const INCARNATION_LEN: usize = 4;
const COORDINATE_LEN: usize = 20;

const LEAVING: u8 = 1;
const UNLUCKY: u8 = 2;
const ISOLATED: u8 = 4;
const COORDINATE: u8 = 8;
const HOLDS: u8 = 16;
const INCARNATION: u8 = 32;
const LONG_LIFE: u8 = 64;

/// The size of a header with these flags.
fn len_of(flags: u8) -> usize {
    let part = |flag: u8, len: usize| if flags & flag != 0 { len } else { 0 };
    HEADER_LEN
        + part(LONG_LIFE, 8 - LIFE_LEN)
        + part(INCARNATION, INCARNATION_LEN)
        + part(COORDINATE, COORDINATE_LEN)
}

/// The header of a datagram: its group, its sender, and the state of the sender.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Header {
    /// The tag of the group.
    pub group: u32,
    /// The sender.
    pub id: NodeId,
    /// The life of the sender.
    pub life: Life,
    /// The incarnation of the sender.
    pub incarnation: Incarnation,
    /// The digest of the sender's member list, of 24 bits.
    pub digest: u32,
    /// Whether the sender is leaving the group.
    pub leaving: bool,
    /// Whether the sender is probed too rarely.
    pub unlucky: bool,
    /// Whether the sender has heard nobody for a while.
    pub isolated: bool,
    /// Whether the sender has proof that the receiver has the address that this datagram is sent to, so that the
    /// receiver's messages count there.
    pub holds: bool,
    /// The network coordinate or position of the sender.
    pub coordinate: Option<Coordinate>,
}

impl Default for Header {
    fn default() -> Self {
        Header {
            group: 0,
            id: NodeId(0),
            life: Life(0),
            incarnation: Incarnation(0),
            digest: 0,
            leaving: false,
            unlucky: false,
            isolated: false,
            holds: false,
            coordinate: None,
        }
    }
}

impl Header {
    /// Which optional parts there are, and what the sender thinks of itself.
    fn flags(&self) -> u8 {
        let flag = |set: bool, bit: u8| if set { bit } else { 0 };
        flag(self.leaving, LEAVING)
            | flag(self.unlucky, UNLUCKY)
            | flag(self.isolated, ISOLATED)
            | flag(self.holds, HOLDS)
            | flag(self.coordinate.is_some(), COORDINATE)
            | flag(self.incarnation != Incarnation(0), INCARNATION)
            | flag(self.life.0 >> (8 * LIFE_LEN) != 0, LONG_LIFE)
    }

    pub(crate) fn encoded_len(&self) -> usize {
        len_of(self.flags())
    }

    pub(super) fn encode(&self, out: &mut Vec<u8>) {
        // Assembled in an array and appended once, because a vector checks its capacity with every addition.
        let mut bytes = [0; HEADER_MAX];
        let flags = self.flags();
        (bytes[0], bytes[1]) = (VERSION, flags);
        bytes[2..6].copy_from_slice(&self.group.to_le_bytes());
        bytes[6..AFTER_SENDER].copy_from_slice(&self.id.0.to_le_bytes());
        let mut end = AFTER_SENDER;
        let mut put = |part: &[u8]| {
            bytes[end..end + part.len()].copy_from_slice(part);
            end += part.len();
        };
        let life = if flags & LONG_LIFE != 0 { 8 } else { LIFE_LEN };
        put(&self.life.0.to_le_bytes()[..life]);
        put(&self.digest.to_le_bytes()[..DIGEST_LEN]);
        if flags & INCARNATION != 0 {
            put(&self.incarnation.0.to_le_bytes());
        }
        if let Some(place) = self.coordinate {
            let [x, y, z] = place.position;
            for part in [x, y, z, place.height, place.error] {
                put(&part.to_le_bytes());
            }
        }
        out.extend_from_slice(&bytes[..end]);
    }

    /// Appends the part of the header that is encrypted in a sealed datagram: everything except version, group and
    /// sender.
    pub(super) fn encode_inner(&self, out: &mut Vec<u8>) {
        let start = out.len();
        self.encode(out);
        // The flags, then everything after the sender.
        out[start] = out[start + 1];
        let end = out.len();
        out.copy_within(start + AFTER_SENDER..end, start + 1);
        out.truncate(end - AFTER_SENDER + 1);
    }

    /// Decodes the encrypted part, and returns the header with the remaining bytes.
    pub(super) fn decode_inner(
        sender: NodeId,
        group: u32,
        bytes: &[u8],
    ) -> Option<(Header, &[u8])> {
        let flags = *bytes.first()?;
        let whole = len_of(flags);
        let (inner, rest) = bytes.split_at_checked(whole - AFTER_SENDER + 1)?;
        let mut plain = [0; HEADER_MAX];
        (plain[0], plain[1]) = (VERSION, flags);
        plain[2..6].copy_from_slice(&group.to_le_bytes());
        plain[6..AFTER_SENDER].copy_from_slice(&sender.0.to_le_bytes());
        plain[AFTER_SENDER..whole].copy_from_slice(&inner[1..]);
        let (header, _) = Header::decode(&plain[..whole]).ok()?;
        Some((header, rest))
    }

    /// Decodes a header, and returns it with the remaining bytes.
    pub(crate) fn decode(bytes: &[u8]) -> Result<(Header, &[u8]), WireError> {
        let version = *bytes.first().ok_or(WireError::Short)?;
        if version != VERSION {
            return Err(WireError::Version(version));
        }
        let flags = *bytes.get(1).ok_or(WireError::Short)?;
        let (fixed, rest) = bytes
            .split_at_checked(len_of(flags))
            .ok_or(WireError::Short)?;
        let mut at = 2;
        let mut take = |len: usize| {
            let mut eight = [0; 8];
            eight[..len].copy_from_slice(&fixed[at..at + len]);
            at += len;
            u64::from_le_bytes(eight)
        };
        let (group, id) = (take(4) as u32, NodeId(take(8)));
        let life = take(if flags & LONG_LIFE != 0 { 8 } else { LIFE_LEN });
        let digest = take(DIGEST_LEN) as u32;
        let incarnation = match flags & INCARNATION {
            0 => 0,
            _ => take(INCARNATION_LEN) as u32,
        };
        let coordinate = (flags & COORDINATE != 0).then(|| {
            let mut part = || f32::from_bits(take(4) as u32);
            Coordinate {
                position: [part(), part(), part()],
                height: part(),
                error: part(),
            }
        });
        let header = Header {
            leaving: flags & LEAVING != 0,
            unlucky: flags & UNLUCKY != 0,
            isolated: flags & ISOLATED != 0,
            holds: flags & HOLDS != 0,
            coordinate,
            group,
            id,
            life: Life(life),
            incarnation: Incarnation(incarnation),
            digest,
        };
        Ok((header, rest))
    }
}
