//! Once all messages arrive and no node joins or leaves, lists become correct: they name the running nodes and
//! nobody else, and remain so.

use super::group::{Group, NODES, State};
use super::host::{Host, id};
use alloc::collections::BTreeSet;
use consort_proto::membership::Phase;
use consort_proto::{Life, NodeId};
use core::time::Duration;

/// How long convergence may take, and how long it has to last.
const PATIENCE: Duration = Duration::from_secs(300);
const STAYS: Duration = Duration::from_secs(5);
/// Most datagrams that arrive between two timers.
const DATAGRAMS_MAX: u32 = 1000;

/// Advances time at all nodes alike, with all messages arriving at once, until lists are correct. Returns how long
/// that took, or what is wrong in the end.
pub(super) fn settle(group: &Group, from: &State) -> Result<Duration, String> {
    let mut state = from.clone();
    if group.partition {
        state.wire.clear();
    }
    let mut passed = Duration::ZERO;
    let mut right_since = None;
    loop {
        let mut arrivals = 0;
        while let Some(envelope) = state.wire.first().cloned() {
            state.take(&envelope);
            group.deliver(&mut state, &envelope);
            arrivals += 1;
            if arrivals > DATAGRAMS_MAX {
                return Err("datagrams follow each other without end".into());
            }
        }
        if let Some(broken) = state.broken {
            return Err(broken.into());
        }
        match agreed(&state) {
            Ok(()) => {
                let since = *right_since.get_or_insert(passed);
                if passed - since >= STAYS {
                    return Ok(since);
                }
            }
            Err(wrong) if passed > PATIENCE => return Err(wrong),
            Err(_) => right_since = None,
        }
        // Clocks may show different times; they advance at the same rate.
        let wait = |h: &Host| h.due().map(|due| due.since(h.clock));
        let waits = (0..NODES).filter_map(|n| Some((wait(&state.hosts[n])?, n)));
        let Some((wait, n)) = waits.min() else {
            return agreed(&state).map(|()| passed);
        };
        passed += wait;
        for (other, host) in state.hosts.iter_mut().enumerate() {
            if host.up && other != n {
                let host = alloc::sync::Arc::make_mut(host);
                host.clock = host.clock + wait;
            }
        }
        // Probe targets, and departed members to try, are drawn anew each time.
        let draw = state.hosts[n].clock.as_micros();
        group.fire(&mut state, n, draw);
    }
}

/// Whether every running node lists exactly the other running nodes, in their lives.
fn agreed(state: &State) -> Result<(), String> {
    let here = |n: &usize| state.hosts[*n].is_here();
    let mut digests = BTreeSet::new();
    for n in (0..NODES).filter(here) {
        let membership = state.hosts[n].node.membership();
        let up = membership.table().iter().filter(|m| m.phase != Phase::Down);
        let listed: BTreeSet<(NodeId, Life, Phase)> =
            up.map(|m| (m.id, m.precedence.life, m.phase)).collect();
        let others = (0..NODES).filter(|o| *o != n).filter(here);
        let life = |o: usize| state.hosts[o].node.membership().life();
        let wanted = others.map(|o| (id(o), life(o), Phase::Up)).collect();
        if listed != wanted {
            return Err(format!("{n} lists {listed:?}, not {wanted:?}"));
        }
        digests.insert(membership.digest(id(n)));
    }
    match digests.len() > 1 {
        true => Err("equal lists have different digests".into()),
        false => Ok(()),
    }
}
