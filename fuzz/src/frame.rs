//! The codec of datagrams: what is read can be written and read again, and every body is read and written as postcard does
//! it, also where the codec is written by hand.

use consort_proto::wire::{Datagram, FRAMES_MAX, Frame, Header};
use consort_proto::{election, membership, message, mutex, omega, reliability, seal};
use serde::Serialize;
use serde::de::DeserializeOwned;

/// The bytes of a datagram, and the layer and the body of one frame.
pub fn frame(data: &[u8]) {
    let mut read = Datagram::default();
    if let Ok(how) = read.decode(data) {
        assert!(read.frames.len() <= FRAMES_MAX);
        assert!(how.unreadable as usize + read.frames.len() <= FRAMES_MAX);
        again(&read);
    }
    let Some((&layer, body)) = data.split_first() else {
        return;
    };
    match layer % 10 {
        0 => same::<membership::Msg>(0, body, Frame::Membership),
        1 => same::<election::Msg>(1, body, Frame::Election),
        2 => same::<mutex::Msg>(2, body, Frame::Mutex),
        3 => same::<omega::Msg>(3, body, Frame::Omega),
        4 => same::<reliability::Report>(4, body, Frame::Reliability),
        5 => same::<message::Msg>(5, body, Frame::Message),
        7 => same::<seal::Msg>(7, body, Frame::Session),
        8 => same::<seal::KeyMsg>(8, body, Frame::Keys),
        9 => same::<seal::CertMsg>(9, body, Frame::Cert),
        _ => {}
    }
}

/// Writes what was read, and reads it again. Bytes are compared, because a coordinate may be no number.
fn again(first: &Datagram) {
    let mut bytes = Vec::new();
    first.encode(&mut bytes);
    assert_eq!(bytes.len(), first.encoded_len(), "it is as long as it says");
    let mut second = Datagram::default();
    let read = second.decode(&bytes).expect("its own bytes");
    assert_eq!(read, Default::default(), "all of them");
    let mut more = Vec::new();
    second.encode(&mut more);
    assert_eq!(bytes, more);
}

/// Compares the codec with postcard.
fn same<T: Serialize + DeserializeOwned>(layer: u8, body: &[u8], make: fn(T) -> Frame) {
    let Ok(len) = u16::try_from(body.len()) else {
        return;
    };
    if len >= 1 << 14 {
        return;
    }
    let header = Header::default();
    let mut bytes = Vec::new();
    let bare = Datagram {
        header,
        ..Datagram::default()
    };
    bare.encode(&mut bytes);
    bytes.push(layer);
    match len < 1 << 7 {
        true => bytes.push(len as u8),
        false => bytes.extend([len as u8 | 0x80, (len >> 7) as u8]),
    }
    bytes.extend_from_slice(body);
    let mut read = Datagram::default();
    let how = read.decode(&bytes).expect("a good header and one frame");
    assert!(!how.torn && !how.overfull);
    match postcard::take_from_bytes::<T>(body) {
        Ok((value, [])) => {
            let written = postcard::to_allocvec(&value).expect("any value can be written");
            let value = Datagram {
                header,
                frames: vec![make(value)],
                envelope: None,
            };
            assert_eq!(read.frames.len(), 1, "postcard reads it");
            let (mut by_us, mut expected) = (Vec::new(), Vec::new());
            read.encode(&mut by_us);
            value.encode(&mut expected);
            assert_eq!(by_us, expected, "both are the same value");
            assert!(by_us.ends_with(&written), "and written as postcard does");
            again(&read);
        }
        _ => assert_eq!(read.frames.len(), 0, "postcard does not read it"),
    }
}
