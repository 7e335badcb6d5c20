//! Encoding and decoding of datagrams.
//!
//! A datagram consists of a header and frames. The header has 23 bytes, and up to 49 with what not every datagram needs;
//! numbers are little-endian:
//!
//! | bytes | what |
//! |---|---|
//! | 1 | version |
//! | 1 | flags of the sender: 1 leaving, 2 probed too rarely, 4 isolated, 8 with a coordinate, 16 the receiver is proven, 32 with an incarnation, 64 with a long life |
//! | 4 | tag of the group |
//! | 8 | sender |
//! | 6 or 8 | its life: 8 bytes if it begins after the year 2105 |
//! | 3 | digest of its member list |
//! | 0 or 4 | its incarnation, if that is not 0 |
//! | 0 or 20 | its coordinate: three of place, height, error, each a 32-bit float |
//!
//! A frame consists of a layer (1 byte), a length (varint) and a body in postcard's format. A frame that cannot be read
//! is skipped by its length, so that a later version can add frames.

mod by_hand;
mod frame;
mod header;

pub use crate::encoded::frame_len;
pub use frame::Frame;
pub use header::{HEADER_LEN, HEADER_MAX, Header, VERSION};

use crate::id::NodeId;
use crate::seal::{EXTRA_LEN, Envelope};
use alloc::vec::Vec;

/// The space that a datagram needs in addition to the largest meta: a header and one full record.
pub const DATAGRAM_MIN: usize = HEADER_MAX + 110;

/// The largest datagram that a socket can deliver.
pub const DATAGRAM_MAX: usize = 65_507;

/// Datagrams up to this size are read regardless of the configuration. It is what an Ethernet frame can hold.
pub const DATAGRAM_READ: usize = 1472;

/// The greatest number of frames in a datagram. More are neither sent nor read.
pub const FRAMES_MAX: usize = 96;

/// A decoded datagram. Drivers reuse it, because clearing it keeps the allocation.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Datagram {
    /// The header.
    pub header: Header,
    /// The frames.
    pub frames: Vec<Frame>,
    /// The protection of the datagram in a group with a key.
    pub envelope: Option<Envelope>,
}

/// The reason why bytes are not a valid datagram.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum WireError {
    /// The datagram is too short for a header.
    #[error("too short for a header")]
    Short,
    /// The datagram belongs to another version of the protocol, or to another protocol.
    #[error("version {0}, not {VERSION}")]
    Version(u8),
    /// The length of a frame exceeds the rest of the datagram.
    #[error("a frame is cut off")]
    Torn,
}

/// How much of a datagram could be read.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Read {
    /// Frames skipped because this version cannot read them.
    pub unreadable: u32,
    /// Whether the last frame was cut off.
    pub torn: bool,
    /// Whether there were more than [`FRAMES_MAX`] frames.
    pub overfull: bool,
}

impl Datagram {
    /// The encoded size.
    pub fn encoded_len(&self) -> usize {
        let sealed = self.envelope.map_or(0, |_| EXTRA_LEN);
        let frames = self.frames.iter().map(Frame::encoded_len);
        self.header.encoded_len() + sealed + frames.sum::<usize>()
    }

    /// Appends the part of a sealed datagram that is encrypted to `out`.
    pub(crate) fn encode_inner(&self, out: &mut Vec<u8>) {
        self.header.encode_inner(out);
        for frame in &self.frames {
            frame.encode(out);
        }
    }

    /// Decodes the encrypted part of a sealed datagram; `None` if it is too short for a header.
    pub(crate) fn decode_inner(
        &mut self,
        sender: NodeId,
        group: u32,
        bytes: &[u8],
    ) -> Option<Read> {
        let (header, rest) = Header::decode_inner(sender, group, bytes)?;
        self.header = header;
        Some(self.decode_frames(rest))
    }

    /// Appends the datagram to `out` without sealing, as in an open group; [`Node::encode`](crate::Node::encode) seals.
    pub fn encode(&self, out: &mut Vec<u8>) {
        self.header.encode(out);
        for frame in &self.frames {
            frame.encode(out);
        }
    }

    /// Decodes `bytes` into this datagram. Frames before a truncated one are kept.
    pub fn decode(&mut self, bytes: &[u8]) -> Result<Read, WireError> {
        let (header, rest) = Header::decode(bytes)?;
        self.header = header;
        Ok(self.decode_frames(rest))
    }

    /// Decodes the frames that follow a header. Frames before a truncated one are kept.
    pub(crate) fn decode_frames(&mut self, mut rest: &[u8]) -> Read {
        self.frames.clear();
        let mut read = Read::default();
        for n in 0.. {
            if rest.is_empty() {
                break;
            }
            if n == FRAMES_MAX {
                read.overfull = true;
                break;
            }
            let Ok((layer, body, after)) = Frame::split(rest) else {
                read.torn = true;
                break;
            };
            match Frame::decode(layer, body) {
                Some(frame) => self.frames.push(frame),
                None => read.unreadable += 1,
            }
            rest = after;
        }
        read
    }
}

#[cfg(test)]
mod tests;
