//! State files: any contents are refused or restored, and a node works with what was restored.
//!
//! The first byte of an input chooses the file; the rest is its text, without the line of the checksum.

use crate::net::{BIRTH_SECS, addr, config, id};
use consort::fuzz::{FILES, Told, checked, told};
use consort_proto::wire::Datagram;
use consort_proto::{Identity, Instant, Life, Node, membership};
use std::time::Duration;

/// One file in a directory that has no others.
pub fn state(data: &[u8]) {
    let Some((&file, rest)) = data.split_first() else {
        return;
    };
    let name = FILES[usize::from(file) % FILES.len()];
    if let Some(told) = told(name, rest, BIRTH_SECS) {
        begin(told);
    }
    // With the right checksum, so that values are not refused for want of it.
    let Ok(text) = core::str::from_utf8(rest) else {
        return;
    };
    if let Some(told) = told(name, checked(text).as_bytes(), BIRTH_SECS) {
        begin(told);
    }
}

/// Starts a node with what was stored, and lets it run for a while.
fn begin(told: Told) {
    let life = Life::starting(BIRTH_SECS, 7, told.life);
    let identity = Identity {
        id: id(0),
        life,
        addr: addr(0),
        meta: membership::Meta::named("node"),
        memory: told.memory.unwrap_or(life),
        wall: Some(BIRTH_SECS),
    };
    let mut now = Instant::ZERO;
    let mut node = Node::new(config(false), identity, 1, now).expect("the settings are good");
    drain(&mut node);
    for command in told.commands {
        node.handle_command(now, command);
        drain(&mut node);
    }
    for _ in 0..8 {
        now = now + Duration::from_millis(900);
        node.handle_timeout(now);
        drain(&mut node);
    }
}

fn drain(node: &mut Node) {
    while node.poll_fact().is_some() {}
    while node.poll_event().is_some() {}
    let mut out = Datagram::default();
    while let Some((_, len)) = node.poll_transmit(&mut out) {
        assert!(len <= 1200);
    }
}
