//! Hand-written encoding of the frames that every period sends: a ping, its answer and a report. The bytes are the same
//! as postcard's.

use crate::id::{Incarnation, Life, NodeId};
use crate::membership::Msg;
use crate::reliability::{Counted, Report};
use alloc::vec::Vec;

/// The layer and the length, two fixed words, and three varints.
const FRAME_MAX: usize = 2 + 8 + 8 + 5 + 10 + 10;

const PING: u8 = 0;
const ACK: u8 = 1;

/// The encoded size of the body of a ping or its answer; `None` for other messages.
pub(super) fn msg_len(msg: &Msg) -> Option<usize> {
    match *msg {
        Msg::Ping { seq, .. } => Some(1 + varint_len(u64::from(seq)) + 1),
        Msg::Ack { seq } => Some(1 + varint_len(u64::from(seq))),
        _ => None,
    }
}

/// Appends the frame of a ping or its answer. Returns whether `msg` was one of these.
pub(super) fn encode_msg(layer: u8, msg: &Msg, out: &mut Vec<u8>) -> bool {
    let mut bytes = [0; FRAME_MAX];
    let end = match *msg {
        Msg::Ping { seq, want_record } => {
            bytes[2] = PING;
            let at = put_varint(&mut bytes, 3, u64::from(seq));
            bytes[at] = u8::from(want_record);
            at + 1
        }
        Msg::Ack { seq } => {
            bytes[2] = ACK;
            put_varint(&mut bytes, 3, u64::from(seq))
        }
        _ => return false,
    };
    append(layer, bytes, end, out);
    true
}

/// Decodes the body of a ping or its answer; `None` for other messages.
pub(super) fn decode_msg(body: &[u8]) -> Option<Msg> {
    let (&kind, rest) = body.split_first()?;
    if kind > ACK {
        return None;
    }
    let (seq, rest) = take_varint::<32>(rest)?;
    let seq = seq as u32;
    if kind == ACK {
        return rest.is_empty().then_some(Msg::Ack { seq });
    }
    let &[want_record @ (0 | 1)] = rest else {
        return None;
    };
    Some(Msg::Ping {
        seq,
        want_record: want_record == 1,
    })
}

/// The encoded size of the body of a report.
pub(super) fn report_len(report: &Report) -> usize {
    let incarnation = u64::from(report.counted.incarnation.0);
    let numbers = [incarnation, report.failures, report.exposure_ms];
    8 + 8 + numbers.into_iter().map(varint_len).sum::<usize>()
}

/// Appends the frame of a report.
pub(super) fn encode_report(layer: u8, report: &Report, out: &mut Vec<u8>) {
    let mut bytes = [0; FRAME_MAX];
    bytes[2..10].copy_from_slice(&report.id.0.to_le_bytes());
    bytes[10..18].copy_from_slice(&report.counted.life.0.to_le_bytes());
    let end = put_varint(&mut bytes, 18, u64::from(report.counted.incarnation.0));
    let end = put_varint(&mut bytes, end, report.failures);
    let end = put_varint(&mut bytes, end, report.exposure_ms);
    append(layer, bytes, end, out);
}

/// Decodes the body of a report.
pub(super) fn decode_report(body: &[u8]) -> Option<Report> {
    let (id, rest) = body.split_first_chunk()?;
    let (life, rest) = rest.split_first_chunk()?;
    let (incarnation, rest) = take_varint::<32>(rest)?;
    let (failures, rest) = take_varint::<64>(rest)?;
    let (exposure_ms, rest) = take_varint::<64>(rest)?;
    let report = Report {
        id: NodeId(u64::from_le_bytes(*id)),
        counted: Counted {
            life: Life(u64::from_le_bytes(*life)),
            incarnation: Incarnation(incarnation as u32),
        },
        failures,
        exposure_ms,
    };
    rest.is_empty().then_some(report)
}

/// Writes the head of the frame whose body is in `bytes[2..end]`, and appends the frame. The body is shorter than 128
/// bytes, so its length takes one byte.
fn append(layer: u8, mut bytes: [u8; FRAME_MAX], end: usize, out: &mut Vec<u8>) {
    (bytes[0], bytes[1]) = (layer, (end - 2) as u8);
    out.extend_from_slice(&bytes[..end]);
}

fn varint_len(n: u64) -> usize {
    let bits = 64 - (n | 1).leading_zeros() as usize;
    bits.div_ceil(7)
}

fn put_varint(bytes: &mut [u8], mut at: usize, mut n: u64) -> usize {
    while n >= 0x80 {
        bytes[at] = n as u8 | 0x80;
        n >>= 7;
        at += 1;
    }
    bytes[at] = n as u8;
    at + 1
}

/// Decodes a number of `BITS` bits, and returns it with the remaining bytes.
fn take_varint<const BITS: usize>(bytes: &[u8]) -> Option<(u64, &[u8])> {
    let last = BITS / 7;
    let mut n = 0;
    for (at, &byte) in bytes.iter().enumerate().take(last + 1) {
        n |= u64::from(byte & 0x7f) << (7 * at);
        if byte < 0x80 {
            // The last byte has room for only a few bits.
            return (at < last || byte < 1 << (BITS % 7)).then_some((n, &bytes[at + 1..]));
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn numbers_where_a_byte_is_added_are_written_as_postcard_does() {
        for bits in (0..64).step_by(7) {
            for n in [(1_u64 << bits) - 1, 1 << bits, (1 << bits) + 1, u64::MAX] {
                let mut bytes = [0; 10];
                let end = put_varint(&mut bytes, 0, n);
                assert_eq!(bytes[..end], postcard::to_allocvec(&n).unwrap());
                assert_eq!(varint_len(n), end);
                assert_eq!(take_varint::<64>(&bytes[..end]), Some((n, &[][..])));
            }
        }
    }

    fn number() -> impl Strategy<Value = u64> {
        (any::<u64>(), 0_u32..64).prop_map(|(n, shift)| n >> shift)
    }

    proptest! {
        #[test]
        fn reports_have_the_bytes_that_postcard_gives_them(
            id in any::<u64>(), life in any::<u64>(), incarnation in number(), failures in number(),
            exposure_ms in number(),
        ) {
            let counted = Counted {
                life: Life(life),
                incarnation: Incarnation(incarnation as u32),
            };
            let report = Report { id: NodeId(id), counted, failures, exposure_ms };
            let mut bytes = Vec::new();
            encode_report(4, &report, &mut bytes);
            let body = postcard::to_allocvec(&report).unwrap();
            prop_assert_eq!(&bytes[..2], [4, body.len() as u8]);
            prop_assert_eq!(&bytes[2..], &body);
            prop_assert_eq!(report_len(&report), body.len());
            prop_assert_eq!(decode_report(&body), Some(report));
        }

        #[test]
        fn pings_and_answers_have_them_too(
            seq in number(), want_record in any::<bool>(),
        ) {
            let seq = seq as u32;
            for msg in [Msg::Ping { seq, want_record }, Msg::Ack { seq }] {
                let mut bytes = Vec::new();
                prop_assert!(encode_msg(0, &msg, &mut bytes));
                let body = postcard::to_allocvec(&msg).unwrap();
                prop_assert_eq!(&bytes[..2], [0, body.len() as u8]);
                prop_assert_eq!(&bytes[2..], &body);
                prop_assert_eq!(msg_len(&msg), Some(body.len()));
                prop_assert_eq!(decode_msg(&body), Some(msg));
            }
        }

        #[test]
        fn what_is_no_ping_or_answer_to_postcard_is_none_here(
            kind in 0_u8..3, len in 0_usize..6, last in 0_u8..20,
            tail in proptest::collection::vec(0_u8..3, 0..3),
        ) {
            let mut bytes = alloc::vec![kind];
            bytes.extend(core::iter::repeat_n(0x80, len));
            bytes.push(last);
            bytes.extend(tail);
            let read = match postcard::take_from_bytes(&bytes) {
                Ok((msg @ (Msg::Ping { .. } | Msg::Ack { .. }), [])) => Some(msg),
                _ => None,
            };
            prop_assert_eq!(decode_msg(&bytes), read);
        }

        #[test]
        fn reports_are_read_or_refused_as_postcard_does(
            fixed in proptest::collection::vec(any::<u8>(), 15..17),
            numbers in proptest::collection::vec((0_usize..11, any::<u8>(), 0_u8..20), 2..4),
            more in 0_usize..2,
        ) {
            // Numbers of any length, of which the last byte may be too large.
            let mut bytes = fixed;
            for (len, middle, last) in numbers {
                bytes.extend(core::iter::repeat_n(middle | 0x80, len));
                bytes.push(last);
            }
            bytes.extend(core::iter::repeat_n(0, more));
            let read = match postcard::take_from_bytes(&bytes) {
                Ok((report, [])) => Some(report),
                _ => None,
            };
            prop_assert_eq!(decode_report(&bytes), read);
        }
    }
}
