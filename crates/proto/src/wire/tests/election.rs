//! The frames of elections: any message, and their golden bytes.

use super::*;
use crate::churn::Beta;
use crate::election::{
    Candidacy, Claim, Entry, Key, Msg, Order, Policy, Query, Ranking, Refusal, Remarks, Response,
    Stage, Token,
};
use crate::id::{ElectionId, Term};
use crate::lease;
use alloc::boxed::Box;
use core::time::Duration;

const E: ElectionId = ElectionId(7);

/// The node under test takes part, so that messages meet a running election.
pub(super) fn orders() -> [Order; 2] {
    [
        Order::Open(E, Policy::default()),
        Order::Campaign(E, Candidacy::default()),
    ]
}

fn id() -> impl Strategy<Value = NodeId> {
    (0..6_u64).prop_map(NodeId)
}

fn life() -> impl Strategy<Value = Life> {
    (9..12_u64).prop_map(Life)
}

fn election() -> impl Strategy<Value = ElectionId> {
    prop_oneof![Just(E), any::<u32>().prop_map(ElectionId)]
}

fn key() -> impl Strategy<Value = Key> {
    (0..4_u64, id(), life(), 0..3_u16, any::<bool>()).prop_map(
        |(term, initiator, life, revision, confirmed)| Key {
            token: Token {
                term: Term(term),
                initiator,
                life,
                revision,
            },
            stage: if confirmed {
                Stage::Confirmed
            } else {
                Stage::Tentative
            },
        },
    )
}

fn claim() -> impl Strategy<Value = Claim> {
    (key(), id(), life(), any::<u8>()).prop_map(|(key, leader, leader_life, remarks)| Claim {
        key,
        leader,
        leader_life,
        churn: Beta::seen(u16::from(remarks), 3),
        remarks: Remarks(remarks & 15),
    })
}

fn entry() -> impl Strategy<Value = Entry> {
    (id(), life(), any::<u8>(), any::<u32>(), any::<u8>()).prop_map(
        |(id, life, class, attribute, unhealth)| Entry {
            id,
            life,
            class,
            attribute,
            centrality: unhealth / 16,
            reliability: unhealth % 16,
            unhealth,
            settled: unhealth & 1 == 0,
            suspect: unhealth & 2 == 0,
        },
    )
}

fn some<T: core::fmt::Debug>(of: impl Strategy<Value = T>) -> impl Strategy<Value = Vec<T>> {
    proptest::collection::vec(of, 0..40)
}

fn query() -> impl Strategy<Value = Msg> {
    let claim = proptest::option::of(claim());
    (
        election(),
        0..4_u64,
        any::<u32>(),
        any::<u8>(),
        any::<bool>(),
        claim,
        some((id(), life())),
    )
        .prop_map(|(election, term, attempt, best, objection, claim, skip)| {
            Msg::Query(Query {
                election,
                term: Term(term),
                attempt,
                best,
                worst: best / 2,
                ranking: Ranking::try_from(best).unwrap_or_default(),
                objection,
                claim,
                skip,
            })
        })
}

fn response() -> impl Strategy<Value = Msg> {
    (
        election(),
        0..4_u64,
        some(entry()),
        some(entry()),
        some((id(), any::<u8>())),
        any::<u32>(),
    )
        .prop_map(|(election, term, best, favoured, worst, size)| {
            Msg::Response(Response {
                election,
                term: Term(term),
                attempt: size,
                best,
                favoured,
                worst,
                truncated: size & 1 == 0,
                incumbent_seen: size & 2 == 0,
                size,
            })
        })
}

fn refusal() -> impl Strategy<Value = Refusal> {
    prop_oneof![
        Just(Refusal::Life),
        Just(Refusal::NoCandidate),
        some(entry()).prop_map(Refusal::Better),
    ]
}

fn watchers() -> impl Strategy<Value = lease::Watchers> {
    let watcher = (id(), life()).prop_map(|(node, memory)| lease::Watcher { node, memory });
    proptest::collection::vec(watcher, 0..5).prop_map(|all| all.into_iter().collect())
}

fn token() -> impl Strategy<Value = Token> {
    key().prop_map(|key| key.token)
}

fn rank() -> impl Strategy<Value = lease::Rank> {
    let number = prop_oneof![0..4_u32, Just(u32::MAX)];
    (token(), number, token()).prop_map(|(line, number, by)| lease::Rank { line, number, by })
}

fn set() -> impl Strategy<Value = lease::Set> {
    (rank(), watchers(), watchers()).prop_map(|(rank, watchers, former)| lease::Set {
        rank,
        watchers,
        former,
    })
}

fn span() -> impl Strategy<Value = Duration> {
    prop_oneof![
        (0..5000_u64).prop_map(Duration::from_millis),
        Just(Duration::MAX)
    ]
}

fn known() -> impl Strategy<Value = Box<lease::Known>> {
    (set(), span()).prop_map(|(set, span)| Box::new(lease::Known { set, span }))
}

fn refused() -> impl Strategy<Value = Box<lease::Refusal>> {
    use lease::Why;
    let all = [Why::Promised, Why::Token, Why::Set, Why::Starting];
    let why = (0..4_usize).prop_map(move |n| all[n]);
    let token = || proptest::option::of(token());
    (why, span(), token(), proptest::option::of(set()), token()).prop_map(
        |(why, left, token, set, closed)| {
            Box::new(lease::Refusal {
                why,
                left,
                token,
                set,
                closed,
                span: left,
            })
        },
    )
}

/// What is said about leases.
fn lease_msg() -> impl Strategy<Value = Msg> {
    let some_token = || proptest::option::of(token());
    prop_oneof![
        (election(), known()).prop_map(|(e, k)| Msg::Watchers(e, k)),
        (election(), token(), known(), 0..9_u64).prop_map(|(election, token, known, seq)| {
            Msg::Renew {
                election,
                token,
                known,
                seq,
            }
        }),
        (election(), any::<u64>(), 0..9_u64).prop_map(|(election, sum, seq)| Msg::Extend {
            election,
            sum,
            seq
        }),
        (election(), life(), life(), 0..9_u64).prop_map(|(election, memory, life, seq)| {
            Msg::Granted {
                election,
                memory,
                life,
                seq,
            }
        }),
        (election(), life(), refused()).prop_map(|(election, memory, refusal)| Msg::Refused {
            election,
            memory,
            refusal
        }),
        (election(), token()).prop_map(|(election, token)| Msg::Release { election, token }),
        (election(), token(), proptest::option::of(rank())).prop_map(|(election, token, set)| {
            Msg::Close {
                election,
                token,
                set,
            }
        }),
        (election(), token(), life(), span()).prop_map(|(election, token, memory, span)| {
            Msg::Closed {
                election,
                token,
                memory,
                span,
            }
        }),
        election().prop_map(Msg::Look),
        election().prop_map(Msg::Leaving),
        (election(), life(), span()).prop_map(|(election, memory, left)| Msg::Notice {
            election,
            memory,
            left
        }),
        (
            election(),
            some_token(),
            proptest::option::of(set()),
            some_token(),
            any::<bool>()
        )
            .prop_map(|(election, token, set, closed, asks)| Msg::Told {
                election,
                token,
                set: set.map(Box::new),
                closed,
                span: Duration::from_millis(800),
                asks
            }),
    ]
}

pub(super) fn msg() -> impl Strategy<Value = Msg> {
    prop_oneof![
        3 => lease_msg(),
        4 => plain_msg(),
    ]
}

fn plain_msg() -> impl Strategy<Value = Msg> {
    prop_oneof![
        any::<u32>().prop_map(Msg::Digest),
        (election(), claim()).prop_map(|(e, c)| Msg::Claim(e, c)),
        (election(), claim()).prop_map(|(e, c)| Msg::Leader(e, c)),
        (election(), key()).prop_map(|(e, k)| Msg::Held(e, k)),
        (election(), any::<u32>()).prop_map(|(e, n)| Msg::Probe(e, n)),
        (election(), any::<u32>(), any::<bool>()).prop_map(|(election, nonce, leads)| {
            Msg::Incumbent {
                election,
                nonce,
                leads,
            }
        }),
        query(),
        response(),
        (election(), claim(), some((id(), life()))).prop_map(|(election, claim, skip)| {
            Msg::Notify {
                election,
                claim,
                skip,
            }
        }),
        (election(), key(), entry()).prop_map(|(election, key, entry)| Msg::Accept {
            election,
            key,
            entry
        }),
        (election(), key(), refusal()).prop_map(|(election, key, why)| Msg::Decline {
            election,
            key,
            why
        }),
        (election(), key(), proptest::option::of(id())).prop_map(|(election, key, successor)| {
            Msg::Resign {
                election,
                key,
                successor,
            }
        }),
        (election(), any::<u32>(), some((id(), life()))).prop_map(
            |(election, nonce, candidates)| Msg::Sample {
                election,
                nonce,
                candidates
            }
        ),
        (election(), any::<u32>(), any::<u32>()).prop_map(|(election, nonce, missing)| {
            Msg::Sampled {
                election,
                nonce,
                missing,
            }
        }),
    ]
}

#[test]
fn the_bytes_of_a_renewal_and_its_answer_are_pinned() {
    let token = Token {
        term: Term(300),
        initiator: NodeId(2),
        life: Life(10),
        revision: 1,
    };
    let watcher = |node| lease::Watcher {
        node: NodeId(node),
        memory: Life(9),
    };
    let set = lease::Set::first(token, [watcher(3), watcher(4)].into_iter().collect());
    let renew = Msg::Renew {
        election: E,
        token,
        known: Box::new(lease::Known {
            set,
            span: Duration::from_millis(800),
        }),
        seq: 5,
    };
    let granted = Msg::Granted {
        election: E,
        memory: Life(9),
        life: Life(11),
        seq: 5,
    };
    let extend = Msg::Extend {
        election: E,
        sum: 0x0102_0304_0506_0708,
        seq: 6,
    };
    let frames = [renew, granted, extend].map(Frame::Election);
    let bytes = from_two(frames.into());
    let hex: String = bytes[HEADER_LEN..]
        .iter()
        .map(|b| alloc::format!("{b:02x}"))
        .collect();
    let token = "ac0202000000000000000a0000000000000001";
    let expected = [
        "01",
        "68",
        "0f",
        "07000000",
        token,
        token,
        "00",
        token,
        "02",
        "03000000000000000900000000000000",
        "04000000000000000900000000000000",
        "00",
        "00",
        "8090bcfd02",
        "05",
        "01",
        "16",
        "10",
        "07000000",
        "0900000000000000",
        "0b00000000000000",
        "05",
        "01",
        "0e",
        "19",
        "07000000",
        "0807060504030201",
        "06",
    ];
    assert_eq!(hex, expected.concat());
}

#[test]
fn the_bytes_of_a_claim_are_pinned() {
    let claim = Claim {
        key: Key {
            token: Token {
                term: Term(300),
                initiator: NodeId(2),
                life: Life(10),
                revision: 1,
            },
            stage: Stage::Confirmed,
        },
        leader: NodeId(3),
        leader_life: Life(11),
        churn: Beta::PRIOR,
        remarks: Remarks::DEGRADED,
    };
    let bytes = from_two(vec![
        Frame::Election(Msg::Digest(0x0102_0304)),
        Frame::Election(Msg::Claim(E, claim)),
    ]);
    let hex: String = bytes[HEADER_LEN..]
        .iter()
        .map(|b| alloc::format!("{b:02x}"))
        .collect();
    assert_eq!(
        hex,
        concat!(
            "0105",
            "00",
            "04030201",
            "012d",
            "01",
            "07000000",
            "ac02",
            "0200000000000000",
            "0a00000000000000",
            "01",
            "01",
            "0300000000000000",
            "0b00000000000000",
            "40c004",
            "01",
        )
    );
}
