//! The frames of elections: any message, and their golden bytes.

use super::*;
use crate::churn::Beta;
use crate::election::{
    Candidacy, Claim, Entry, Key, Msg, Order, Policy, Query, Ranking, Refusal, Remarks, Response,
    Stage, Token,
};
use crate::id::{ElectionId, Term};

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

pub(super) fn msg() -> impl Strategy<Value = Msg> {
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
