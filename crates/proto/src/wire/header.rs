//! The fixed start of every datagram.

use super::WireError;
use crate::id::{Incarnation, Life, NodeId};
use alloc::vec::Vec;

/// Version of the wire format. It changes whenever the golden bytes do.
pub const VERSION: u8 = 1;

/// Size of an encoded header.
pub const HEADER_LEN: usize = 30;

const LEAVING: u8 = 1;

/// Who speaks, in which life, to which group.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Header {
    /// Tag of the group.
    pub group: u32,
    /// The sender.
    pub id: NodeId,
    /// Its life.
    pub life: Life,
    /// Its incarnation.
    pub incarnation: Incarnation,
    /// Digest of its member list.
    pub digest: u32,
    /// It is leaving the group.
    pub leaving: bool,
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
        }
    }
}

impl Header {
    pub(super) fn encode(&self, out: &mut Vec<u8>) {
        out.push(VERSION);
        out.push(if self.leaving { LEAVING } else { 0 });
        out.extend_from_slice(&self.group.to_le_bytes());
        out.extend_from_slice(&self.id.0.to_le_bytes());
        out.extend_from_slice(&self.life.0.to_le_bytes());
        out.extend_from_slice(&self.incarnation.0.to_le_bytes());
        out.extend_from_slice(&self.digest.to_le_bytes());
    }

    pub(super) fn decode(bytes: &[u8]) -> Result<Header, WireError> {
        let version = *bytes.first().ok_or(WireError::Short)?;
        if version != VERSION {
            return Err(WireError::Version(version));
        }
        let fixed: &[u8; HEADER_LEN] = bytes.first_chunk().ok_or(WireError::Short)?;
        let word = |at: usize| {
            let mut four = [0; 4];
            four.copy_from_slice(&fixed[at..at + 4]);
            u32::from_le_bytes(four)
        };
        let long = |at: usize| u64::from(word(at)) | u64::from(word(at + 4)) << 32;
        Ok(Header {
            leaving: fixed[1] & LEAVING != 0,
            group: word(2),
            id: NodeId(long(6)),
            life: Life(long(14)),
            incarnation: Incarnation(word(22)),
            digest: word(26),
        })
    }
}
