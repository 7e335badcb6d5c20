//! One frame: a layer, a length, a body.

use super::{WireError, by_hand};
use crate::encoded::{frame_len, length_len, with_head};
use crate::{election, membership, message, mutex, omega, reliability, seal};
use alloc::vec::Vec;
use serde::Serialize;
use serde::de::DeserializeOwned;

/// One message of one layer.
#[derive(Clone, Debug, PartialEq)]
pub enum Frame {
    /// A message of the membership layer.
    Membership(membership::Msg),
    /// A message of the election layer.
    Election(election::Msg),
    /// A message of the lock layer.
    Mutex(mutex::Msg),
    /// A message of the topology layer.
    Omega(omega::Msg),
    /// A report about a member's failures.
    Reliability(reliability::Report),
    /// A message of the message layer.
    Message(message::Msg),
    /// A message about first contact.
    Session(seal::Msg),
    /// A message about the group's keys.
    Keys(seal::KeyMsg),
    /// A message about who members are.
    Cert(seal::CertMsg),
}

const MEMBERSHIP: u8 = 0;
const ELECTION: u8 = 1;
const MUTEX: u8 = 2;
const OMEGA: u8 = 3;
const RELIABILITY: u8 = 4;
const MESSAGE: u8 = 5;
const SESSION: u8 = 7;
const KEYS: u8 = 8;
const CERT: u8 = 9;

impl Frame {
    /// The encoded size, including the layer and the length.
    pub fn encoded_len(&self) -> usize {
        match self {
            Frame::Membership(msg) => {
                by_hand::msg_len(msg).map_or_else(|| frame_len(msg), with_head)
            }
            Frame::Election(msg) => frame_len(msg),
            Frame::Mutex(msg) => frame_len(msg),
            Frame::Omega(msg) => frame_len(msg),
            Frame::Reliability(report) => with_head(by_hand::report_len(report)),
            Frame::Message(msg) => frame_len(msg),
            Frame::Session(msg) => frame_len(msg),
            Frame::Keys(msg) => frame_len(msg),
            Frame::Cert(msg) => frame_len(msg),
        }
    }

    pub(super) fn encode(&self, out: &mut Vec<u8>) {
        match self {
            Frame::Membership(msg) => {
                if !by_hand::encode_msg(MEMBERSHIP, msg, out) {
                    encode_body(MEMBERSHIP, msg, out);
                }
            }
            Frame::Election(msg) => encode_body(ELECTION, msg, out),
            Frame::Mutex(msg) => encode_body(MUTEX, msg, out),
            Frame::Omega(msg) => encode_body(OMEGA, msg, out),
            Frame::Reliability(report) => by_hand::encode_report(RELIABILITY, report, out),
            Frame::Message(msg) => encode_body(MESSAGE, msg, out),
            Frame::Session(msg) => encode_body(SESSION, msg, out),
            Frame::Keys(msg) => encode_body(KEYS, msg, out),
            Frame::Cert(msg) => encode_body(CERT, msg, out),
        }
    }

    /// Splits one frame off: returns its layer, its body, and the remaining bytes.
    pub(super) fn split(bytes: &[u8]) -> Result<(u8, &[u8], &[u8]), WireError> {
        let (&layer, rest) = bytes.split_first().ok_or(WireError::Torn)?;
        let (len, rest) = decode_length(rest)?;
        let (body, after) = rest.split_at_checked(len).ok_or(WireError::Torn)?;
        Ok((layer, body, after))
    }

    /// Decodes a frame that was split off; `None` if this version cannot read it.
    pub(super) fn decode(layer: u8, body: &[u8]) -> Option<Frame> {
        match layer {
            MEMBERSHIP => by_hand::decode_msg(body)
                .or_else(|| decode_body(body))
                .map(Frame::Membership),
            ELECTION => decode_body(body).map(Frame::Election),
            MUTEX => decode_body(body).map(Frame::Mutex),
            OMEGA => decode_body(body).map(Frame::Omega),
            RELIABILITY => by_hand::decode_report(body).map(Frame::Reliability),
            MESSAGE => decode_body(body).map(Frame::Message),
            SESSION => decode_body(body).map(Frame::Session),
            KEYS => decode_body(body).map(Frame::Keys),
            CERT => decode_body(body).map(Frame::Cert),
            _ => None,
        }
    }
}

fn encode_body<T: Serialize>(layer: u8, msg: &T, out: &mut Vec<u8>) {
    // The length is written when it is known; usually it takes one byte.
    out.extend_from_slice(&[layer, 0]);
    let start = out.len();
    // Writing to a growing vector cannot fail.
    if let Ok(longer) = postcard::to_extend(msg, core::mem::take(out)) {
        *out = longer;
    }
    let len = out.len() - start;
    if length_len(len) == 1 {
        out[start - 1] = len as u8;
    } else {
        out[start - 1] = len as u8 | 0x80;
        out.insert(start, (len >> 7) as u8);
    }
}

fn decode_length(bytes: &[u8]) -> Result<(usize, &[u8]), WireError> {
    let (&low, rest) = bytes.split_first().ok_or(WireError::Torn)?;
    if low & 0x80 == 0 {
        return Ok((usize::from(low), rest));
    }
    let (&high, rest) = rest.split_first().ok_or(WireError::Torn)?;
    if high & 0x80 != 0 {
        return Err(WireError::Torn);
    }
    Ok((usize::from(low & 0x7f) | usize::from(high) << 7, rest))
}

fn decode_body<T: DeserializeOwned>(body: &[u8]) -> Option<T> {
    match postcard::take_from_bytes(body) {
        Ok((msg, [])) => Some(msg),
        _ => None,
    }
}
