//! Once everything arrives and nobody comes or goes, lists become right: they name those that are there, and
//! nobody else, and they stay so.

use super::group::{Group, NODES, State};
use super::host::{Host, id};
use alloc::collections::BTreeSet;
use consort_proto::membership::Phase;
use consort_proto::{Life, NodeId};
use core::time::Duration;

/// How long it may take, and for how long it has to last.
const PATIENCE: Duration = Duration::from_secs(300);
const STAYS: Duration = Duration::from_secs(5);
/// Datagrams that arrive between two timers, at most.
const DATAGRAMS_MAX: u32 = 1000;

/// Lets time pass at all nodes alike, with everything arriving at once, until lists are right. How long that
/// takes, or what is wrong in the end.
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
        // Clocks need not show the same; they go at the same pace.
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
        // Whom to probe, and whom of the departed to try, is drawn anew each time.
        let draw = state.hosts[n].clock.as_micros();
        group.fire(&mut state, n, draw);
    }
}

/// Whether every node that is here lists the others that are here, in their lives, and nobody else.
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
