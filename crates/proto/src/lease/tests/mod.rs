//! Handler tests of the lease: one holder or one watcher, stepped by hand.

mod closing;
mod holding;
mod watching;

use super::Token;
use super::*;
use crate::id::{Life, NodeId, Term};
use crate::time::Instant;
use alloc::vec::Vec;
use core::time::Duration;

const SPAN: Duration = Duration::from_millis(1000);
const RTO: Duration = Duration::from_millis(50);

fn ms(n: u64) -> Duration {
    Duration::from_millis(n)
}

fn at(n: u64) -> Instant {
    Instant::ZERO + ms(n)
}

fn token(term: u64) -> Token {
    Token {
        term: Term(term),
        initiator: NodeId(1),
        life: Life(1),
        revision: 1,
    }
}

fn watcher(node: u64) -> Watcher {
    Watcher {
        node: NodeId(node),
        memory: Life(1),
    }
}

fn watchers(nodes: &[u64]) -> Watchers {
    nodes.iter().map(|&n| watcher(n)).collect()
}

fn holder(node: u64) -> Holder {
    Holder {
        node: NodeId(node),
        life: Life(1),
    }
}

/// The first set of the line of term 1: nodes 2, 3 and 4.
fn first() -> Set {
    Set::first(token(1), watchers(&[2, 3, 4]))
}

/// The set after [`first`], a change in progress to 4, 5 and 6, made by the leader of `term`.
fn changing(term: u64) -> Set {
    let rank = Rank {
        number: 1,
        by: token(term),
        ..first().rank
    };
    Set {
        rank,
        watchers: watchers(&[4, 5, 6]),
        former: first().watchers,
    }
}

fn renew(term: u64, by: u64, set: Set) -> Renew {
    Renew {
        token: token(term),
        holder: holder(by),
        set,
        span: SPAN,
        seq: 1,
    }
}
