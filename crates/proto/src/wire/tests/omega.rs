//! The frames of the topology: any message, and their golden bytes.

use super::*;
use crate::id::ElectionId;
use crate::omega::{Delta, Hello, Msg, Packed, Seat, Summary, Version};

fn id() -> impl Strategy<Value = NodeId> {
    prop_oneof![0..6_u64, any::<u64>()].prop_map(NodeId)
}

fn ids() -> impl Strategy<Value = Vec<NodeId>> {
    proptest::collection::vec(id(), 0..8)
}

fn version() -> impl Strategy<Value = Version> {
    let life = prop_oneof![9..12_u64, any::<u64>()].prop_map(Life);
    let seq = prop_oneof![0..4_u32, any::<u32>()];
    (life, seq).prop_map(|(life, seq)| Version { life, seq })
}

fn seat() -> impl Strategy<Value = Seat> {
    let claim = proptest::option::of(any::<u32>());
    (0..3_u32, any::<u8>(), any::<u32>(), claim).prop_map(|(election, class, attribute, claim)| {
        Seat {
            election: ElectionId(election),
            class,
            attribute,
            claim,
        }
    })
}

fn packed() -> impl Strategy<Value = Packed> {
    let seats = proptest::collection::vec(seat(), 0..3);
    let neighbours = proptest::collection::vec(0..9_u16, 0..5);
    (0..9_u16, version(), any::<bool>(), seats, neighbours).prop_map(
        |(id, Version { life, seq }, leaving, seats, neighbours)| Packed {
            id,
            life,
            seq,
            leaving,
            seats,
            neighbours,
        },
    )
}

fn hello() -> impl Strategy<Value = Msg> {
    let range = proptest::option::of((id(), id()));
    (
        any::<u16>(),
        any::<u32>(),
        version(),
        any::<u64>(),
        range,
        ids(),
    )
        .prop_map(|(beat, period_ms, version, digest, range, heard)| {
            Msg::Hello(Hello {
                beat,
                period_ms,
                version,
                digest,
                range,
                heard,
            })
        })
}

fn summary() -> impl Strategy<Value = Msg> {
    let versions = proptest::collection::vec((id(), version()), 0..6);
    (id(), id(), any::<u64>(), versions).prop_map(|(first, last, digest, versions)| {
        Msg::Summary(Summary {
            first,
            last,
            digest,
            versions,
        })
    })
}

pub(super) fn msg() -> impl Strategy<Value = Msg> {
    let records = proptest::collection::vec(packed(), 0..4);
    prop_oneof![
        hello(),
        (ids(), records).prop_map(|(ids, records)| Msg::Delta(Delta { ids, records })),
        summary(),
        ids().prop_map(Msg::Want),
        Just(Msg::Ping),
        Just(Msg::Pong),
    ]
}

#[test]
fn the_bytes_of_hello_and_record_are_pinned() {
    let version = Version {
        life: Life(0x0102),
        seq: 300,
    };
    let hello = Msg::Hello(Hello {
        beat: 5,
        period_ms: 500,
        version,
        digest: 9,
        range: None,
        heard: vec![NodeId(2)],
    });
    let mut bytes = Vec::new();
    Frame::Omega(hello).encode(&mut bytes);
    let mut golden = vec![3, 32, 0, 5, 0xf4, 3, 2, 1, 0, 0, 0, 0, 0, 0, 0xac, 2];
    golden.extend([9, 0, 0, 0, 0, 0, 0, 0, 0, 1, 2, 0, 0, 0, 0, 0, 0, 0]);
    assert_eq!(bytes, golden);
    let record = crate::omega::Record {
        id: NodeId(1),
        version,
        leaving: false,
        seats: vec![Seat {
            election: ElectionId(7),
            class: 1,
            attribute: 2,
            claim: Some(3),
        }],
        neighbours: vec![NodeId(2)],
    };
    bytes.clear();
    let delta = Delta::pack([&record], 1000).remove(0);
    Frame::Omega(Msg::Delta(delta)).encode(&mut bytes);
    let mut golden = vec![3, 43, 1, 2, 1, 0, 0, 0, 0, 0, 0, 0, 2, 0, 0, 0, 0, 0, 0, 0];
    golden.extend([1, 0, 2, 1, 0, 0, 0, 0, 0, 0, 0xac, 2, 0]);
    golden.extend([1, 7, 0, 0, 0, 1, 2, 1, 3, 1, 1]);
    golden[1] = (golden.len() - 2) as u8;
    assert_eq!(bytes, golden);
}
