//! The frames of application messages: any message, and their golden bytes.

use super::*;
use crate::message::{Filter, Msg, Payload, Post, Purpose, Reply, Verdict};

fn payload() -> impl Strategy<Value = Payload> {
    proptest::collection::vec(any::<u8>(), 0..40).prop_map(Payload)
}

fn filter() -> impl Strategy<Value = Filter> {
    let names = proptest::collection::vec("[a-z]{0,4}", 0..3);
    let tags = proptest::collection::vec(("[a-z]{0,4}", proptest::option::of("[a-z]{0,4}")), 0..3);
    (names, tags).prop_map(|(names, tags)| Filter { names, tags })
}

fn post() -> impl Strategy<Value = Post> {
    let purpose = prop_oneof![
        Just(Purpose::Event),
        filter().prop_map(Purpose::Query),
        filter().prop_map(Purpose::Ping),
    ];
    let origin = prop_oneof![0..6_u64, any::<u64>()].prop_map(NodeId);
    let life = prop_oneof![9..12_u64, any::<u64>()].prop_map(Life);
    let seq = prop_oneof![0..4_u32, any::<u32>()];
    let left = prop_oneof![0..5_u32, any::<u32>()];
    (origin, life, seq, left, purpose, "[a-z ]{0,8}", payload()).prop_map(
        |(origin, life, seq, left_ms, purpose, name, payload)| Post {
            origin,
            life,
            seq,
            left_ms,
            purpose,
            name,
            payload,
        },
    )
}

pub(super) fn msg() -> impl Strategy<Value = Msg> {
    let verdict = prop_oneof![payload().prop_map(Verdict::Answer), Just(Verdict::Declined),];
    let reply = (9..12_u64, 0..4_u32, verdict).prop_map(|(life, seq, verdict)| Reply {
        life: Life(life),
        seq,
        verdict,
    });
    prop_oneof![
        post().prop_map(Msg::Post),
        post().prop_map(Msg::Again),
        reply.prop_map(Msg::Reply),
    ]
}

#[test]
fn bytes_of_messages_are_pinned() {
    let post = Post {
        origin: NodeId(1),
        life: Life(2),
        seq: 300,
        left_ms: 5,
        purpose: Purpose::Query(Filter {
            names: vec![String::from("a")],
            tags: vec![(String::from("k"), None)],
        }),
        name: String::from("load"),
        payload: Payload(vec![255]),
    };
    let mut bytes = Vec::new();
    Frame::Message(Msg::Post(post)).encode(&mut bytes);
    let expected = [
        5, 35, 0, 1, 0, 0, 0, 0, 0, 0, 0, 2, 0, 0, 0, 0, 0, 0, 0, 172, 2, 5, 1, 1, 1, b'a', 1, 1,
        b'k', 0, 4, b'l', b'o', b'a', b'd', 1, 255,
    ];
    assert_eq!(bytes, expected);
    bytes.clear();
    let reply = Reply {
        life: Life(2),
        seq: 3,
        verdict: Verdict::Declined,
    };
    Frame::Message(Msg::Reply(reply)).encode(&mut bytes);
    assert_eq!(bytes, [5, 11, 2, 2, 0, 0, 0, 0, 0, 0, 0, 3, 1]);
}
