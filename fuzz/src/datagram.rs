//! Datagrams into a node that has members, elections, locks and messages under way.
//!
//! An input is a list of datagrams: a byte that says who sends it and how, its length in two bytes (little-endian), and its
//! bytes.

use crate::net::{NODES, Net, addr, id};
use consort_proto::wire::Datagram;
use std::time::Duration;

/// Of the first byte: who sends it. 3 is the node's own address.
const SENDER: u8 = 3;
/// The bytes are frames, after a good header.
pub const FRAMES: u8 = 4;
/// The sender seals the bytes, in a group with a key.
pub const SEALED: u8 = 8;
/// Sealed for all members, not for one.
pub const UNDIRECTED: u8 = 16;
/// The other bits say how much time passes before.
const WAITS_MS: [u64; 8] = [0, 0, 1, 50, 300, 1_000, 5_000, 60_000];

/// The most datagrams of an input.
const COUNT_MAX: usize = 64;

/// Any datagrams to a node of a group without a key.
pub fn datagram_open(data: &[u8]) {
    thread_local!(static WARM: Net = Net::warm(false, false));
    play(WARM.with(Clone::clone), data, |net, from, how, bytes| {
        let mut whole = Vec::new();
        if how & FRAMES != 0 {
            let header = net.header(from);
            let bare = Datagram {
                header,
                ..Datagram::default()
            };
            bare.encode(&mut whole);
        }
        whole.extend_from_slice(bytes);
        whole
    });
}

/// Any datagrams to a node of a group with a key, and any contents that a member has sealed.
pub fn datagram_sealed(data: &[u8]) {
    thread_local!(static WARM: Net = Net::warm(true, false));
    play(WARM.with(Clone::clone), data, |net, from, how, bytes| {
        if how & SEALED == 0 {
            return bytes.to_vec();
        }
        let header = (how & FRAMES != 0).then(|| net.header(from));
        let to = (how & UNDIRECTED == 0).then(|| id(0));
        let mut whole = Vec::new();
        let sender = &mut net.hosts[from].node;
        sender.seal_bytes(to, header.as_ref(), bytes, &mut whole);
        whole
    });
}

fn play(mut net: Net, mut data: &[u8], make: fn(&mut Net, usize, u8, &[u8]) -> Vec<u8>) {
    // Members say whatever the input says, so that only what a node owes itself is checked.
    net.trusted = false;
    for _ in 0..COUNT_MAX {
        let Some((&[how, low, high], rest)) = data.split_first_chunk() else {
            break;
        };
        let len = usize::from(u16::from_le_bytes([low, high])).min(rest.len());
        let (bytes, rest) = rest.split_at(len);
        data = rest;
        net.flying.clear();
        net.now = net.now + Duration::from_millis(WAITS_MS[usize::from(how >> 5)]);
        net.fire(0);
        // Member 1, member 2, an address that nobody has, the node's own.
        let (from, at) = match how & SENDER {
            0 => (1, 1),
            1 => (2, 2),
            2 => (1, NODES + 5),
            _ => (0, 0),
        };
        let whole = make(&mut net, from, how, bytes);
        net.receive(0, addr(at), &whole);
    }
    // What it was told must not break it later.
    for _ in 0..4 {
        net.flying.clear();
        net.now = net.now + Duration::from_millis(700);
        net.fire(0);
    }
}

/// Appends a datagram to an input.
pub fn write(input: &mut Vec<u8>, how: u8, bytes: &[u8]) {
    input.push(how);
    input.extend_from_slice(&(bytes.len() as u16).to_le_bytes());
    input.extend_from_slice(bytes);
}
