//! The frames of locks: any message, and their golden bytes.

use super::*;
use crate::mutex::{
    Acquire, Asked, Fence, LockId, Mode, Msg, Name, Order, Policy, Reply, ReqId, Request, Sampled,
    Seen, Ticket, Wait, Walk,
};
use alloc::boxed::Box;
use alloc::string::String;
use alloc::sync::Arc;

/// The node under test takes part, so that messages meet requests under way.
pub(super) fn orders() -> [Order; 2] {
    [Mode::Exclusive, Mode::Shared].map(|mode| {
        Order::Acquire(Acquire {
            name: "l".into(),
            ticket: Ticket(mode as u64),
            mode,
            wait: Wait::Forever,
            policy: Arc::new(Policy::default()),
        })
    })
}

fn lock() -> impl Strategy<Value = LockId> {
    prop_oneof![Just(LockId::of("l")), any::<u128>().prop_map(LockId)]
}

fn seq() -> impl Strategy<Value = u64> {
    prop_oneof![0..5_u64, any::<u64>()]
}

fn fence() -> impl Strategy<Value = Fence> {
    prop_oneof![
        (0..5_u64, 0..1024_u16, 0..6_u64).prop_map(|(s, p, n)| Fence::new(s, p, NodeId(n))),
        any::<u128>().prop_map(Fence),
    ]
}

fn mode() -> impl Strategy<Value = Mode> {
    prop_oneof![Just(Mode::Exclusive), Just(Mode::Shared)]
}

fn req() -> impl Strategy<Value = ReqId> {
    (0..6_u64, 9..12_u64, 0..4_u32).prop_map(|(node, life, ctr)| ReqId {
        node: NodeId(node),
        life: Life(life),
        ctr,
    })
}

fn name() -> impl Strategy<Value = Name> {
    (req(), seq(), any::<u16>(), mode(), any::<u32>()).prop_map(
        |(req, seq, place, mode, left_ms)| Name {
            req,
            seq,
            place,
            mode,
            left_ms,
            addr: (left_ms & 1 == 0).then(|| SocketAddr::from(([10, 0, 0, 1], place))),
        },
    )
}

fn request() -> impl Strategy<Value = Msg> {
    (
        lock(),
        0..4_u32,
        (seq(), seq()),
        any::<u16>(),
        mode(),
        0..4_u32,
        (any::<u32>(), seq()),
    )
        .prop_map(
            |(lock, ctr, (prio, stamp), place, mode, attempt, (ttl_ms, clock))| {
                Msg::Request(Request {
                    lock,
                    ctr,
                    prio,
                    stamp,
                    place,
                    mode,
                    held: ttl_ms & 1 == 0,
                    attempt,
                    ttl_ms: ttl_ms % 20_000,
                    clock,
                    asked: (ttl_ms & 2 == 0).then_some(Asked(7)),
                })
            },
        )
}

fn reply() -> impl Strategy<Value = Msg> {
    let names = proptest::collection::vec(name(), 0..8);
    (
        lock(),
        0..4_u32,
        0..4_u32,
        fence(),
        (seq(), seq()),
        names,
        any::<(u8, u8, u32)>(),
    )
        .prop_map(
            |(lock, ctr, attempt, floor, (stamp, clock), names, (a, b, window))| {
                Msg::Reply(Box::new(Reply {
                    lock,
                    life: Life(10),
                    ctr,
                    attempt,
                    grant_no: window % 3,
                    forgotten: window % 2,
                    stamp,
                    floor,
                    consent: a & 1 == 0,
                    mature: a & 2 == 0,
                    window,
                    failed: window % 5,
                    clock,
                    names,
                    piece: (a & 4 == 0).then_some((a % 5, b % 5)),
                    extra: Vec::from([(
                        NodeId(u64::from(b)),
                        SocketAddr::from(([10, 0, 0, b], 1)),
                    )]),
                }))
            },
        )
}

pub(super) fn msg() -> impl Strategy<Value = Msg> {
    prop_oneof![
        request(),
        reply(),
        (lock(), 0..4_u32, fence(), seq()).prop_map(|(lock, ctr, floor, clock)| Msg::Release {
            lock,
            ctr,
            floor,
            clock
        }),
        (lock(), fence()).prop_map(|(lock, floor)| Msg::Break { lock, floor }),
        any::<u32>().prop_map(|nonce| Msg::Sync { nonce }),
        (10..12_u32, seq(), any::<bool>(), any::<u32>()).prop_map(
            |(nonce, clock, mature, window)| Msg::Synced {
                nonce,
                clock,
                mature,
                settled: window % 2 == 0,
                window,
                failed: window % 3,
            }
        ),
        seq().prop_map(Msg::Clock),
        (any::<u32>(), proptest::option::of(lock()))
            .prop_map(|(nonce, lock)| Msg::Look { nonce, lock }),
        (lock(), req(), mode(), fence(), any::<u32>()).prop_map(
            |(lock, req, mode, token, nonce)| {
                Msg::Seen(Seen {
                    nonce,
                    lock,
                    req,
                    mode,
                    held: true,
                    token,
                    left_ms: nonce,
                    behind: 3,
                    name: (nonce & 1 == 0).then(|| String::from("l")),
                })
            }
        ),
        (any::<u32>(), any::<u32>(), any::<u8>()).prop_map(|(nonce, budget, hops)| {
            Msg::Walk(Walk {
                origin: NodeId(3),
                origin_addr: SocketAddr::from(([10, 0, 0, 3], 1)),
                nonce,
                budget,
                hops,
            })
        }),
        (any::<u32>(), any::<u32>(), any::<bool>()).prop_map(|(nonce, degree, timely)| {
            Msg::Sampled(Sampled {
                nonce,
                degree,
                timely,
            })
        }),
    ]
}

#[test]
fn the_bytes_of_a_request_are_pinned() {
    let request = Msg::Request(Request {
        lock: LockId(1),
        ctr: 2,
        prio: 300,
        stamp: 301,
        place: 4,
        mode: Mode::Shared,
        held: true,
        attempt: 5,
        ttl_ms: 10_000,
        clock: 302,
        asked: None,
    });
    let mut bytes = Vec::new();
    Frame::Mutex(request).encode(&mut bytes);
    let mut golden = alloc::vec![2, 31, 0, 1];
    golden.extend([0; 15]);
    golden.extend([2, 0xac, 2, 0xad, 2, 4, 1, 1, 5, 0x90, 0x4e, 0xae, 2, 0]);
    assert_eq!(bytes, golden);
}
