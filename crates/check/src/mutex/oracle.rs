//! Invariants of the lock.

use super::group::{Action, Group, State, Watch};
use super::host::{Host, index};
use super::work;
use crate::search::World;
use consort_proto::Life;
use consort_proto::mutex::{Answer, Fence, Mine, Mode, Remembered, Ticket};

/// Checks a group after a step of node `n`.
pub(super) fn judge(
    group: &Group,
    state: &mut State,
    n: usize,
    before: &Host,
    granted: &[(Ticket, Fence, Mode)],
) {
    let mut broken = state.broken;
    let mut note = |holds: bool, name: &'static str| {
        if !holds && broken.is_none() {
            broken = Some(name);
        }
    };
    if group.watch != Watch::Tokens {
        note(is_exclusive(state), "I1: two hold the lock");
        note(
            work::is_exclusive(state),
            "I10: another is still at work under the lock",
        );
    }
    let now = state.hosts[n].clone();
    for &(_, token, mode) in granted {
        let grows = match mode {
            Mode::Exclusive => token > state.last_token,
            // Shared holders are told a floor that may be above the tokens used; it binds nobody.
            Mode::Shared => token >= state.last_token,
        };
        // All nodes that knew of a token may be gone for good; as in a partition, tokens then have no basis.
        let forgotten = state.hosts.iter().any(|h| h.buried > 0);
        let exempt = forgotten || group.watch == Watch::Holders;
        note(grows || exempt, "I2: a token does not grow");
        if mode == Mode::Exclusive {
            state.last_token = state.last_token.max(token);
        }
        state.grants += 1;
    }
    if group.watch == Watch::All {
        if let Some(own) = &now.facts.own {
            note(stands(own), "I3: held but not ready");
            note(
                lets_pass(&now, own),
                "I4: a request was consented to that does not come first",
            );
            note(own.stamp >= own.prio, "I9: a token below its place");
            let last = before.facts.own.as_ref();
            if let Some(last) = last.filter(|last| last.req == own.req) {
                note(own.stamp >= last.stamp, "I9: a stamp falls");
            } else {
                let above = own.prio > before.facts.heard && own.prio > before.last_prio;
                note(above, "I7: a place that is not behind all heard of");
            }
        }
        for host in state.hosts.iter().filter(|h| h.up) {
            let answers = host.facts.own.iter().flat_map(|own| &own.answers);
            for answer in answers {
                note(
                    remembers(state, host, answer),
                    "I5: forgotten by its witness first",
                );
                note(
                    tells(state, host, answer),
                    "I6: the later is not told of the earlier",
                );
                note(
                    is_grown(state, answer),
                    "I8: a young witness, or a former life, counts",
                );
            }
        }
    }
    if let Some(own) = &now.facts.own {
        alloc::sync::Arc::make_mut(&mut state.hosts[n]).last_prio = own.prio;
    }
    state.broken = broken;
}

/// I1: one holder, or several that share.
fn is_exclusive(state: &State) -> bool {
    let holders = state.hosts.iter().filter(|h| h.holds());
    let modes = holders.filter_map(|h| h.facts.own.as_ref().map(|own| own.mode));
    let modes: Vec<Mode> = modes.collect();
    modes.len() < 2 || modes.iter().all(|m| *m == Mode::Shared)
}

/// I3: a holder fulfils the condition for a grant, or did so for the group as it was until recently.
fn stands(own: &Mine) -> bool {
    own.held.is_none() || own.ready || own.grace
}

/// I4: a request that this node consented to while it waits comes before its own, or is known to be finished.
fn lets_pass(host: &Host, own: &Mine) -> bool {
    let in_front = |e: &Remembered| own.selfblock.contains(&e.req) || e.done;
    let share = |e: &Remembered| e.mode == Mode::Shared && own.mode == Mode::Shared;
    let passes = host
        .facts
        .entries
        .iter()
        .filter(|e| !e.deferred && !share(e));
    own.held.is_some() || own.stopping || passes.into_iter().all(in_front)
}

fn entry_of<'a>(state: &'a State, host: &Host, answer: &Answer) -> Option<&'a Remembered> {
    let req = host.facts.own.as_ref()?.req;
    let witness = &state.hosts[index(answer.from)];
    witness.facts.entries.iter().find(|e| e.req == req)
}

/// I5: a witness remembers what an owner relies on, as long as it lives in that life.
fn remembers(state: &State, host: &Host, answer: &Answer) -> bool {
    let witness = &state.hosts[index(answer.from)];
    let attempt = answer.witness.as_ref().map(|w| (w.0, w.1));
    let Some((life, attempt)) = attempt else {
        return true;
    };
    if !witness.up || life != Life(witness.life) {
        return true;
    }
    entry_of(state, host, answer).is_some_and(|e| e.attempt >= attempt)
}

/// I6: of two requests that a witness remembers, the later was told of the earlier.
fn tells(state: &State, host: &Host, answer: &Answer) -> bool {
    let witness = &state.hosts[index(answer.from)];
    let (Some(own), Some((life, _, grant_no, _, names))) = (&host.facts.own, &answer.witness)
    else {
        return true;
    };
    let later = entry_of(state, host, answer).filter(|e| e.grant_no == *grant_no);
    if later.is_none() || *life != Life(witness.life) {
        return true;
    }
    let share = |e: &Remembered| e.mode == Mode::Shared && own.mode == Mode::Shared;
    let mut earlier = (witness.facts.entries.iter())
        .filter(|e| e.req != own.req && e.grant_no < *grant_no)
        .filter(|e| !share(e) && goes_on(state, e));
    earlier.all(|e| names.contains(&e.req))
}

/// Whether the owner of a request still pursues it.
fn goes_on(state: &State, entry: &Remembered) -> bool {
    let owner = &state.hosts[index(entry.req.node)];
    let own = owner.facts.own.as_ref();
    owner.up && own.is_some_and(|own| own.req == entry.req)
}

/// I8: a witness that is said to be mature is mature, and no former life counts next to a mature one.
fn is_grown(state: &State, answer: &Answer) -> bool {
    let witness = &state.hosts[index(answer.from)];
    let Some((life, _, _, mature, _)) = answer.witness else {
        return true;
    };
    match life == Life(witness.life) {
        true => !mature || witness.facts.mature,
        false => !(witness.up && witness.facts.mature),
    }
}

/// Whether all messages have arrived, nobody holds the lock, and a request waits for it.
pub(super) fn is_stuck(group: &Group, state: &State) -> bool {
    let waits = state.hosts.iter().any(|h| h.waits() || h.facts.queued > 0);
    let mut choices = Vec::new();
    if waits {
        group.choices(state, &mut choices);
    }
    let idle = |a: &Action| matches!(a, Action::Cancel(_) | Action::Retry(_));
    waits && state.broken.is_none() && choices.iter().all(idle)
}
