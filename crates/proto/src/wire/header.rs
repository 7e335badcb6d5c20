//! The fixed start of every datagram.

use super::WireError;
use crate::id::{Incarnation, Life, NodeId};
use crate::membership::Coordinate;
use alloc::vec::Vec;

/// The version of the wire format. It changes whenever the golden bytes change.
pub const VERSION: u8 = 3;

/// The size of an encoded header without a coordinate.
pub const HEADER_LEN: usize = 30;

/// The size of the largest header.
pub const HEADER_MAX: usize = HEADER_LEN + COORDINATE_LEN;

const COORDINATE_LEN: usize = 20;

/// The offset after the sender, where the encrypted part of a header continues after the flags.
const AFTER_SENDER: usize = 14;

const LEAVING: u8 = 1;
const UNLUCKY: u8 = 2;
const ISOLATED: u8 = 4;
const COORDINATE: u8 = 8;
const HOLDS: u8 = 16;

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
    /// The digest of the sender's member list.
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
    pub(crate) fn encoded_len(&self) -> usize {
        HEADER_LEN + self.coordinate.map_or(0, |_| COORDINATE_LEN)
    }

    pub(super) fn encode(&self, out: &mut Vec<u8>) {
        let flag = |set: bool, bit: u8| if set { bit } else { 0 };
        // Assembled in an array and appended once, because a vector checks its capacity with every addition.
        let mut bytes = [0; HEADER_MAX];
        bytes[0] = VERSION;
        bytes[1] = flag(self.leaving, LEAVING)
            | flag(self.unlucky, UNLUCKY)
            | flag(self.isolated, ISOLATED)
            | flag(self.holds, HOLDS)
            | flag(self.coordinate.is_some(), COORDINATE);
        bytes[2..6].copy_from_slice(&self.group.to_le_bytes());
        bytes[6..14].copy_from_slice(&self.id.0.to_le_bytes());
        bytes[14..22].copy_from_slice(&self.life.0.to_le_bytes());
        bytes[22..26].copy_from_slice(&self.incarnation.0.to_le_bytes());
        bytes[26..HEADER_LEN].copy_from_slice(&self.digest.to_le_bytes());
        let Some(Coordinate {
            position: [x, y, z],
            height,
            error,
        }) = self.coordinate
        else {
            return out.extend_from_slice(&bytes[..HEADER_LEN]);
        };
        let parts = bytes[HEADER_LEN..].chunks_exact_mut(4);
        for (bytes, part) in parts.zip([x, y, z, height, error]) {
            bytes.copy_from_slice(&part.to_le_bytes());
        }
        out.extend_from_slice(&bytes);
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
        let with_coordinate = flags & COORDINATE != 0;
        let whole = match with_coordinate {
            true => HEADER_MAX,
            false => HEADER_LEN,
        };
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
        let with_coordinate = flags & COORDINATE != 0;
        let len = if with_coordinate {
            HEADER_MAX
        } else {
            HEADER_LEN
        };
        let (fixed, rest) = bytes.split_at_checked(len).ok_or(WireError::Short)?;
        let word = |at: usize| {
            let mut four = [0; 4];
            four.copy_from_slice(&fixed[at..at + 4]);
            u32::from_le_bytes(four)
        };
        let long = |at: usize| u64::from(word(at)) | u64::from(word(at + 4)) << 32;
        let part = |n: usize| f32::from_bits(word(HEADER_LEN + 4 * n));
        let coordinate = with_coordinate.then(|| Coordinate {
            position: [part(0), part(1), part(2)],
            height: part(3),
            error: part(4),
        });
        let header = Header {
            leaving: flags & LEAVING != 0,
            unlucky: flags & UNLUCKY != 0,
            isolated: flags & ISOLATED != 0,
            holds: flags & HOLDS != 0,
            coordinate,
            group: word(2),
            id: NodeId(long(6)),
            life: Life(long(14)),
            incarnation: Incarnation(word(22)),
            digest: word(26),
        };
        Ok((header, rest))
    }
}
