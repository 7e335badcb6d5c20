//! Golden bytes, lossless round trips, and arbitrary bytes.

mod election;
mod message;
mod mutex;
mod omega;

use super::*;
use crate::command::Command;
use crate::config::Config;
use crate::id::{Incarnation, Life, NodeId};
use crate::membership::{
    Accusation, Coordinate, Meta, Msg, Precedence, Record, SharedMeta, Status,
};
use crate::node::{Identity, Node};
use crate::reliability::{Counted, Report};
use crate::time::Instant;
use alloc::string::String;
use alloc::vec;
use core::net::SocketAddr;
use proptest::prelude::*;

fn header() -> impl Strategy<Value = Header> {
    (
        any::<u32>(),
        any::<u64>(),
        any::<u64>(),
        any::<u32>(),
        any::<u32>(),
        any::<bool>(),
        any::<bool>(),
    )
        .prop_map(
            |(group, id, life, incarnation, digest, leaving, unchanged)| Header {
                group,
                id: NodeId(id),
                // Of any length, and often in the first incarnation.
                life: Life(life >> (digest % 64)),
                incarnation: Incarnation(if unchanged { 0 } else { incarnation }),
                digest: digest & 0xff_ffff,
                leaving,
                unlucky: digest & 1 != 0,
                isolated: digest & 2 != 0,
                holds: digest & 8 != 0,
                coordinate: (digest & 4 != 0).then(|| Coordinate::at([digest as f32, 1.5, -2.0])),
            },
        )
}

fn precedence() -> impl Strategy<Value = Precedence> {
    (any::<u64>(), any::<u32>(), 0..4_usize).prop_map(|(life, incarnation, status)| Precedence {
        life: Life(life),
        incarnation: Incarnation(incarnation),
        status: [Status::Alive, Status::Suspect, Status::Dead, Status::Left][status],
    })
}

fn addr() -> impl Strategy<Value = SocketAddr> {
    prop_oneof![
        (any::<[u8; 4]>(), any::<u16>()).prop_map(SocketAddr::from),
        (any::<[u8; 16]>(), any::<u16>()).prop_map(SocketAddr::from),
    ]
}

fn meta() -> impl Strategy<Value = SharedMeta> {
    (
        ".{0,20}",
        proptest::collection::btree_map(".{1,8}", ".{0,8}", 0..4),
    )
        .prop_map(|(name, tags)| {
            SharedMeta::from(Meta {
                name,
                tags,
                ..Meta::default()
            })
        })
}

fn msg() -> impl Strategy<Value = Msg> {
    let id = || any::<u64>().prop_map(NodeId);
    let life = || any::<u64>().prop_map(Life);
    prop_oneof![
        (any::<u32>(), any::<bool>()).prop_map(|(seq, want_record)| Msg::Ping { seq, want_record }),
        any::<u32>().prop_map(|seq| Msg::Ack { seq }),
        (any::<u32>(), id(), life(), addr(), any::<u32>()).prop_map(
            |(seq, target, life, addr, budget_ms)| Msg::PingReq {
                seq,
                target,
                life,
                addr,
                budget_ms
            }
        ),
        (any::<u32>(), id(), life(), any::<u32>()).prop_map(|(seq, target, life, inc)| {
            Msg::IndirectAck {
                seq,
                target,
                life,
                incarnation: Incarnation(inc),
            }
        }),
        any::<u32>().prop_map(|seq| Msg::Nack { seq }),
        Just(Msg::Join),
        id().prop_map(|after| Msg::Pull { after }),
        (proptest::option::of(id()), any::<u32>())
            .prop_map(|(next, options)| Msg::Page { next, options }),
        (any::<[u32; 16]>(), any::<bool>())
            .prop_map(|(buckets, reply)| Msg::Digest { buckets, reply }),
        (id(), precedence(), id(), addr(), meta(), any::<bool>()).prop_map(
            |(id, precedence, accuser, addr, meta, current)| {
                Msg::Record(Record {
                    id,
                    precedence,
                    accuser,
                    addr,
                    meta,
                    coordinate: current.then(Coordinate::default),
                    nap_ms: precedence.incarnation.0,
                    current,
                })
            }
        ),
        (id(), precedence(), id()).prop_map(|(id, precedence, accuser)| {
            Msg::Accusation(Accusation {
                id,
                precedence,
                accuser,
            })
        }),
    ]
}

fn report() -> impl Strategy<Value = Report> {
    let life = prop_oneof![9..12_u64, any::<u64>()].prop_map(Life);
    (0..5_u64, life, any::<u32>(), any::<u64>(), any::<u64>()).prop_map(
        |(id, life, incarnation, failures, exposure_ms)| Report {
            id: NodeId(id),
            counted: Counted {
                life,
                incarnation: Incarnation(incarnation),
            },
            failures,
            exposure_ms,
        },
    )
}

fn frame() -> impl Strategy<Value = Frame> {
    prop_oneof![
        msg().prop_map(Frame::Membership),
        election::msg().prop_map(Frame::Election),
        mutex::msg().prop_map(Frame::Mutex),
        omega::msg().prop_map(Frame::Omega),
        report().prop_map(Frame::Reliability),
        message::msg().prop_map(Frame::Message),
    ]
}

fn datagram() -> impl Strategy<Value = Datagram> {
    (header(), proptest::collection::vec(frame(), 0..8)).prop_map(|(header, frames)| Datagram {
        header,
        frames,
        ..Datagram::default()
    })
}

fn node() -> Node {
    let identity = Identity {
        id: NodeId(1),
        life: Life(10),
        addr: SocketAddr::from(([10, 0, 0, 1], 7000)),
        meta: Meta::named("me"),
        memory: Life(10),
        wall: None,
    };
    let mut config = Config::default();
    (config.mutex.bootstrap, config.mutex.walks) = (true, true);
    config.omega.enabled = true;
    let mut node = Node::new(config, identity, 7, Instant::ZERO).unwrap();
    node.handle_command(Instant::ZERO, Command::Restore(vec![record(2)]));
    for order in election::orders() {
        node.handle_command(Instant::ZERO, Command::Election(order));
    }
    for order in mutex::orders() {
        node.handle_command(Instant::ZERO, Command::Lock(order));
    }
    node
}

fn record(id: u64) -> Record {
    Record {
        id: NodeId(id),
        precedence: Precedence::alive(Life(10), Incarnation(0)),
        accuser: NodeId(id),
        addr: SocketAddr::from(([10, 0, 0, id as u8], 7000)),
        meta: Meta::named("robot").into(),
        coordinate: None,
        nap_ms: 0,
        current: true,
    }
}

/// The sender of node 2's datagrams in its own words.
fn from_two(frames: Vec<Frame>) -> Vec<u8> {
    let header = Header {
        group: Config::default().group_tag(),
        id: NodeId(2),
        life: Life(10),
        ..Header::default()
    };
    let mut bytes = Vec::new();
    Datagram {
        header,
        frames,
        ..Datagram::default()
    }
    .encode(&mut bytes);
    bytes
}

proptest! {
    #[test]
    fn what_is_written_is_read_back_and_as_long_as_was_said(sent in datagram()) {
        let mut bytes = Vec::new();
        sent.encode(&mut bytes);
        prop_assert_eq!(bytes.len(), sent.encoded_len());
        let mut got = Datagram::default();
        prop_assert_eq!(got.decode(&bytes), Ok(Read::default()));
        prop_assert_eq!(got, sent);
    }

    /// Every prefix of a datagram is read as far as its frames are whole.
    #[test]
    fn a_torn_datagram_keeps_its_whole_frames(sent in datagram(), cut in any::<prop::sample::Index>()) {
        let mut bytes = Vec::new();
        sent.encode(&mut bytes);
        bytes.truncate(cut.index(bytes.len()));
        let mut got = Datagram::default();
        match got.decode(&bytes) {
            Ok(_) => prop_assert_eq!(&sent.frames[..got.frames.len()], &got.frames[..]),
            Err(error) => {
                prop_assert_eq!(error, WireError::Short);
                prop_assert!(bytes.len() < HEADER_MAX);
            }
        }
    }

    /// Arbitrary bytes, with and without a good header, never panic and never unseat a member.
    #[test]
    fn arbitrary_bytes_do_a_node_no_harm(
        junk in proptest::collection::vec(any::<u8>(), 0..200),
        good_header in any::<bool>(),
    ) {
        let mut node = node();
        let mut bytes = if good_header { from_two(Vec::new()) } else { Vec::new() };
        bytes.extend_from_slice(&junk);
        node.handle_bytes(Instant::ZERO, SocketAddr::from(([10, 0, 0, 2], 7000)), &bytes);
        let mut out = Datagram::default();
        while let Some((_, len)) = node.poll_transmit(&mut out) {
            prop_assert!(len <= 1200);
            prop_assert_eq!(len, out.encoded_len());
        }
        prop_assert!(node.membership().table().get(NodeId(2)).is_some());
    }

    /// Any sequence of well-formed messages keeps the bounds and the invariants of one node.
    #[test]
    fn any_messages_keep_a_node_within_its_bounds(
        msgs in proptest::collection::vec((frame(), 0..2_000_000_u64), 0..60),
    ) {
        let mut node = node();
        let mut now = Instant::ZERO;
        for (frame, wait_us) in msgs {
            now = now + core::time::Duration::from_micros(wait_us);
            let mut dg = Datagram::default();
            dg.decode(&from_two(vec![frame])).unwrap();
            node.handle_datagram(now, SocketAddr::from(([10, 0, 0, 2], 7000)), &mut dg);
            node.handle_timeout(now);
            let mut out = Datagram::default();
            while let Some((_, len)) = node.poll_transmit(&mut out) {
                prop_assert!(len <= 1200);
            }
            while node.poll_event().is_some() {}
            while node.poll_fact().is_some() {}
            prop_assert!(node.membership().table().get(NodeId(1)).is_none(), "I3");
            let own = node.omega().own_record(NodeId(1)).unwrap();
            prop_assert!(own.neighbours.iter().all(|&n| n == NodeId(2)), "S2: nobody writes for others");
            prop_assert!(own.version.life >= Life(10) && own.version.life == node.omega().life());
        }
    }
}

#[test]
fn the_bytes_on_the_wire_are_pinned() {
    let accusation = Accusation {
        id: NodeId(3),
        precedence: Precedence::alive(Life(10), Incarnation(300)).with(Status::Suspect),
        accuser: NodeId(4),
    };
    let frames = vec![
        Frame::Membership(Msg::Ping {
            seq: 5,

            want_record: false,
        }),
        Frame::Membership(Msg::Accusation(accusation)),
        Frame::Membership(Msg::Record(record(2))),
    ];
    let hex: String = from_two(frames)
        .iter()
        .map(|b| alloc::format!("{b:02x}"))
        .collect();
    assert_eq!(
        hex,
        concat!(
            "0300",
            "5ad02303",
            "0200000000000000",
            "0a0000000000",
            "000000",
            "0003",
            "00",
            "05",
            "00",
            "001c",
            "0a",
            "0300000000000000",
            "0a00000000000000",
            "ac02",
            "01",
            "0400000000000000",
            "002e",
            "09",
            "0200000000000000",
            "0a00000000000000",
            "00",
            "00",
            "0200000000000000",
            "000a000002d836",
            "05726f626f74",
            "00",
            "00",
            "00",
            "00",
            "00",
            "01",
        )
    );
}

#[test]
fn the_bytes_of_first_contact_are_pinned() {
    use crate::seal::{Cookie, Msg};
    let cookie = Cookie(0x0102_0304_0506_0708);
    let frames = [Msg::Challenge(cookie), Msg::Echo(cookie)].map(Frame::Session);
    let bytes = from_two(frames.to_vec());
    let mut expected = vec![7, 9, 0, 8, 7, 6, 5, 4, 3, 2, 1];
    expected.extend([7, 9, 1, 8, 7, 6, 5, 4, 3, 2, 1]);
    assert_eq!(bytes[HEADER_LEN..], expected);
    let mut got = Datagram::default();
    assert_eq!(got.decode(&bytes), Ok(Read::default()));
    assert_eq!(got.frames, frames);
}

#[test]
fn a_frame_of_a_later_version_is_skipped() {
    let mut bytes = from_two(Vec::new());
    bytes.extend_from_slice(&[9, 3, 1, 2, 3]);
    let tail = from_two(vec![Frame::Membership(Msg::Ack { seq: 1 })]);
    bytes.extend_from_slice(&tail[HEADER_LEN..]);
    let mut got = Datagram::default();
    assert_eq!(
        got.decode(&bytes),
        Ok(Read {
            unreadable: 1,
            ..Read::default()
        })
    );
    assert_eq!(got.frames, [Frame::Membership(Msg::Ack { seq: 1 })]);
}

#[test]
fn other_groups_and_versions_are_counted_and_dropped() {
    let mut node = node();
    let from = SocketAddr::from(([10, 0, 0, 9], 7000));
    let mut foreign = from_two(Vec::new());
    foreign[2] ^= 1;
    node.handle_bytes(Instant::ZERO, from, &foreign);
    let mut other_version = from_two(Vec::new());
    other_version[0] = 200;
    node.handle_bytes(Instant::ZERO, from, &other_version);
    node.handle_bytes(Instant::ZERO, from, &[]);
    let stats = node.stats();
    assert_eq!(
        (
            stats.datagrams_foreign,
            stats.datagrams_malformed,
            stats.datagrams_in
        ),
        (1, 2, 0)
    );
}
