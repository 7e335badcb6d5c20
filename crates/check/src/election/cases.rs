//! The groups that are checked.

use super::Elections;
use super::host::id;
use consort_proto::churn::Beta;
use consort_proto::election::{Claim, Key, Policy, Preempt, Remarks, Stage, Token};
use consort_proto::{Life, Term};
use core::time::Duration;

/// A claim that the last node leads, made by itself.
pub(super) fn first_claim() -> Claim {
    let token = Token {
        term: Term(1),
        initiator: id(2),
        life: Life(1),
        revision: 1,
    };
    let stage = Stage::Confirmed;
    Claim {
        key: Key { token, stage },
        leader: id(2),
        leader_life: Life(1),
        churn: Beta::PRIOR,
        remarks: Remarks::default(),
    }
}

/// The models that are checked, by name.
pub fn models(timers: u8) -> Vec<(&'static str, Elections)> {
    let base = Elections {
        policy: Policy::default(),
        c: 1,
        initiators: 2,
        led: false,
        crashes: 0,
        restarts: 0,
        mistakes: 0,
        timers,
    };
    let streams = Policy {
        stream: true,
        ..Policy::default()
    };
    let strict = Policy {
        preempt: Preempt::Strict {
            hold: Duration::from_secs(1),
        },
        ..Policy::default()
    };
    let led = Elections {
        led: true,
        c: 0,
        ..base
    };
    vec![
        ("two initiators, c = 0", Elections { c: 0, ..base }),
        ("two initiators, c = 1", base),
        (
            "two initiators, streaming",
            Elections {
                policy: streams,
                ..base
            },
        ),
        (
            "a leader, a better candidate, strict",
            Elections {
                policy: strict,
                ..led
            },
        ),
        ("the leader crashes", Elections { crashes: 1, ..led }),
        (
            "somebody crashes and comes back",
            Elections {
                crashes: 1,
                restarts: 1,
                ..led
            },
        ),
        ("a wrong verdict", Elections { mistakes: 1, ..led }),
    ]
}
