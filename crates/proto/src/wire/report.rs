//! Reports of reliability, one with every ping: written and read by hand, in the bytes that postcard gives
//! them.

use crate::id::{Incarnation, Life, NodeId};
use crate::reliability::{Counted, Report};
use alloc::vec::Vec;

/// Layer and length, two fixed words, three varints.
const FRAME_MAX: usize = 2 + 8 + 8 + 5 + 10 + 10;

/// Encoded size with layer and length.
pub(super) fn frame_len(report: &Report) -> usize {
    let Report {
        counted,
        failures,
        exposure_ms,
        ..
    } = report;
    let numbers = [u64::from(counted.incarnation.0), *failures, *exposure_ms];
    2 + 8 + 8 + numbers.into_iter().map(varint_len).sum::<usize>()
}

/// Appends a frame.
pub(super) fn encode(layer: u8, report: &Report, out: &mut Vec<u8>) {
    let mut bytes = [0; FRAME_MAX];
    bytes[2..10].copy_from_slice(&report.id.0.to_le_bytes());
    bytes[10..18].copy_from_slice(&report.counted.life.0.to_le_bytes());
    let mut end = put_varint(&mut bytes, 18, u64::from(report.counted.incarnation.0));
    end = put_varint(&mut bytes, end, report.failures);
    end = put_varint(&mut bytes, end, report.exposure_ms);
    // The body has less than 128 bytes, so that its length takes one.
    (bytes[0], bytes[1]) = (layer, (end - 2) as u8);
    out.extend_from_slice(&bytes[..end]);
}

/// Reads a body.
pub(super) fn decode(body: &[u8]) -> Option<Report> {
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

/// Reads a number of `BITS` bits, and says what follows it.
fn take_varint<const BITS: usize>(bytes: &[u8]) -> Option<(u64, &[u8])> {
    let last = BITS / 7;
    let mut n = 0;
    for (at, &byte) in bytes.iter().enumerate().take(last + 1) {
        n |= u64::from(byte & 0x7f) << (7 * at);
        if byte < 0x80 {
            // The last byte has room for a few bits only.
            return (at < last || byte < 1 << (BITS % 7)).then_some((n, &bytes[at + 1..]));
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

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
            encode(4, &report, &mut bytes);
            let body = postcard::to_allocvec(&report).unwrap();
            prop_assert_eq!(&bytes[..2], [4, body.len() as u8]);
            prop_assert_eq!(&bytes[2..], &body);
            prop_assert_eq!(frame_len(&report), bytes.len());
            prop_assert_eq!(decode(&body), Some(report));
        }

        #[test]
        fn bytes_are_read_or_refused_as_postcard_does(
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
            prop_assert_eq!(decode(&bytes), read);
        }
    }
}
