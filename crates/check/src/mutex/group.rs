//! A group of nodes that contend for one lock, and the actions of the model.

use super::act::up;
use super::host::{Envelope, Host, LOCK, Reach, fingerprint, id, index};
use super::oracle;
use super::work::Work;
use crate::search::World;
use alloc::sync::Arc;
use consort_proto::mutex::{Ablation, Fence, Mode, Remembered};
use consort_proto::{Life, NodeId, Protocol};
use core::hash::{Hash, Hasher};

/// A planted mistake.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Flaw {
    /// A part of the protocol is left out.
    Without(Ablation),
    /// Witnesses forget while owners rely on them (P5b).
    EarlyExpiry,
    /// Answers do not name the life in which they were given (P9d).
    LifelessReplies,
    /// A node that cancels its request does not tell the floor (A12).
    CancelWithoutFloor,
}

/// How often each fault may occur.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Budget {
    /// Leases that expire.
    pub lapses: u8,
    /// Rounds of repeated requests.
    pub retries: u8,
    /// Messages that arrive twice.
    pub repeats: u8,
    /// Requests that are cancelled.
    pub cancels: u8,
    /// Finished requests that a node forgets to be finished.
    pub oblivions: u8,
    /// Nodes that leave.
    pub leaves: u8,
    /// Holders that reach their maximum hold time.
    pub ends: u8,
    /// Processes that end.
    pub crashes: u8,
    /// Processes that restart without stored state.
    pub restarts: u8,
    /// Verdicts of the failure detector, right or wrong.
    pub verdicts: u8,
}

/// A group. Nodes are numbered from 0.
#[derive(Clone, Debug, Default)]
pub struct Group {
    /// The member list of each node.
    pub views: Vec<Vec<usize>>,
    /// The modes in which each node requests the lock, one after the other.
    pub requests: Vec<Vec<Mode>>,
    /// Number of nodes.
    pub nodes: u16,
    /// Nodes that joined recently, and the resulting number of nodes, of which each node learns at some time.
    pub joiners: (Vec<usize>, u16),
    /// Pairs of a node and another that it adds to its list at some time.
    pub learns: Vec<(usize, usize)>,
    /// Nodes that may crash.
    pub mortal: Vec<usize>,
    /// How often each fault may occur.
    pub budget: Budget,
    /// Whether witnesses forget requests that expired.
    pub expiry: bool,
    /// Whether a node makes a request while an earlier one of its own is pending.
    pub queues: bool,
    /// Whether nodes that have been gone for longer than a lease stop counting.
    pub shrinks: bool,
    /// Whether nodes are served by their position in space, which is the reverse order of their numbers.
    pub elevator: bool,
    /// Whether work under the lock has its own process and continues when its node's process ends.
    pub apart: bool,
    /// Whether a restarted node has already read the group's clock from nodes outside the model.
    pub told: bool,
    /// The planted mistake, if any.
    pub flaw: Option<Flaw>,
    /// Which violations to search for.
    pub watch: Watch,
}

/// Which violations to search for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Watch {
    /// All invariants.
    #[default]
    All,
    /// Two holders at the same time.
    Holders,
    /// Tokens that do not grow.
    Tokens,
}

/// A state of a group.
#[derive(Clone, Debug)]
pub struct State {
    pub(super) hosts: Vec<Arc<Host>>,
    /// Messages in flight, by hash.
    pub(super) wire: Vec<Arc<Envelope>>,
    /// Requests made by each node.
    pub(super) made: Vec<u8>,
    pub(super) left: Budget,
    /// Work under the lock.
    pub(super) works: Vec<Work>,
    /// The greatest token that was granted exclusively.
    pub(super) last_token: Fence,
    /// Grants so far.
    pub(super) grants: u32,
    pub(super) broken: Option<&'static str>,
}

impl Hash for State {
    fn hash<H: Hasher>(&self, state: &mut H) {
        for host in &self.hosts {
            host.hash.hash(state);
        }
        for envelope in &self.wire {
            envelope.hash.hash(state);
        }
        (&self.made, self.left, self.last_token, self.broken).hash(state);
        self.works.hash(state);
    }
}

impl PartialEq for State {
    fn eq(&self, other: &State) -> bool {
        fingerprint(self) == fingerprint(other)
    }
}

/// Actions of the model.
#[derive(Clone, Debug, PartialEq)]
pub enum Action {
    /// A message arrives.
    Deliver(Arc<Envelope>),
    /// A message arrives and stays in flight.
    Repeat(Arc<Envelope>),
    /// A node requests the lock.
    Acquire(usize),
    /// A holder releases it.
    Release(usize),
    /// A node cancels its request.
    Cancel(usize),
    /// A holder that lost the lock has stopped.
    Stop(usize),
    /// The validity that was promised to former holders at a node has passed.
    EndStopping(usize),
    /// Work whose node is gone has ended, at the latest at the end of its validity.
    EndWork(usize),
    /// A holder has reached its maximum hold time.
    EndHold(usize),
    /// A node is about to leave.
    Leave(usize),
    /// A node's answers to attempts up to a number expire at an owner.
    Lapse(usize, usize, u32),
    /// A witness forgets the request of a node.
    Expire(usize, usize),
    /// A node repeats its requests to all members.
    Retry(usize),
    /// A process ends.
    Crash(usize),
    /// It restarts without stored state.
    Restart(usize),
    /// A node starts to count as a witness.
    Mature(usize),
    /// A node learns of the nodes that joined.
    Resize(usize),
    /// The time in which a holder asks newcomers has passed.
    EndGrace(usize),
    /// The failure detector of a node declares another failed.
    Verdict(usize, usize),
    /// A node adds another to its list.
    Learn(usize, usize),
    /// A node forgets which requests of another have finished.
    ForgetDone(usize, usize),
    /// A node stops counting those that have been gone for longer than a lease.
    Bury(usize),
}

impl Group {
    pub(super) fn ablation(&self) -> Option<Ablation> {
        match self.flaw {
            Some(Flaw::Without(part)) => Some(part),
            _ => None,
        }
    }

    /// Actions of a node's application and of its own leases.
    fn local_choices(&self, state: &State, n: usize, host: &Host, out: &mut Vec<Action>) {
        let left = &state.left;
        let own = host.facts.own.as_ref();
        let more = usize::from(state.made[n]) < self.requests[n].len();
        if more && (self.queues || own.is_none() && host.facts.queued == 0) {
            out.push(Action::Acquire(n));
        }
        if !host.lost.is_empty() {
            out.push(Action::Stop(n));
        }
        if left.leaves > 0 {
            out.push(Action::Leave(n));
        }
        let Some(own) = own else {
            return;
        };
        if own.stopping {
            return out.push(Action::EndStopping(n));
        }
        if own.held.is_some() {
            out.push(Action::Release(n));
            if left.ends > 0 {
                out.push(Action::EndHold(n));
            }
        } else if left.cancels > 0 {
            out.push(Action::Cancel(n));
        }
        if own.grace {
            out.push(Action::EndGrace(n));
        }
        if left.retries > 0 {
            out.push(Action::Retry(n));
        }
        if left.lapses > 0 {
            for answer in &own.answers {
                let from = index(answer.from);
                let witness = answer.witness.as_ref().map(|w| w.1);
                out.extend(witness.map(|a| Action::Lapse(n, from, a)));
                let consent = answer.consent.filter(|c| Some(*c) != witness);
                out.extend(consent.map(|a| Action::Lapse(n, from, a)));
            }
        }
    }

    /// Whether the node of some work knows of it and waits for its end.
    fn is_stopping(&self, state: &State, work: &Work) -> bool {
        let host = &state.hosts[work.host];
        let own = host.facts.own.as_ref();
        host.up && own.is_some_and(|own| own.stopping && own.req == work.req)
    }

    /// Whether a node that started counts as a witness: nobody relies on answers of a former life of it, and all
    /// nodes know of it and have adapted.
    fn may_mature(&self, state: &State, n: usize) -> bool {
        if self.flaw == Some(Flaw::LifelessReplies) {
            // Nobody knows what a former life promised.
            return false;
        }
        let rests = |w: &Work| w.rests_on(n) || w.stands.is_some() && self.joiners.1 > 0;
        if state.works.iter().any(rests) {
            return false;
        }
        let life = Life(state.hosts[n].life);
        state.hosts.iter().all(|host| {
            let own = host.facts.own.as_ref();
            let said = own.and_then(|own| own.answers.iter().find(|a| a.from == id(n)));
            let counts = said.is_some_and(|a| a.witness.is_some() || a.consent.is_some());
            let known = self.joiners.1 == 0 || host.resized;
            let stands = own.is_none_or(|own| own.held.is_none() || own.ready && !own.grace);
            !host.up || known && stands && (!counts || host.mutex.known_life(id(n)) == Some(life))
        })
    }

    /// Whether a node still counts nodes that are gone, and nobody relies on their answers.
    fn may_bury(&self, state: &State, host: &Host) -> bool {
        let gone = state.hosts.iter().filter(|h| !h.up).count();
        let counts = |h: &Arc<Host>| {
            let answers = h.facts.own.iter().flat_map(|own| &own.answers);
            let said = answers.filter(|a| a.witness.is_some() || a.consent.is_some());
            said.into_iter().any(|a| !state.hosts[index(a.from)].up)
        };
        let is_gone = |n: usize| !state.hosts[n].up;
        let rests = |w: &Work| {
            is_gone(w.host) || (0..state.hosts.len()).any(|n| is_gone(n) && w.rests_on(n))
        };
        if state.works.iter().any(rests) {
            return false;
        }
        let left = &state.left;
        left.restarts == 0 && host.buried < gone && !state.hosts.iter().any(|h| h.up && counts(h))
    }

    /// Whether the lease of what witness `n` answered about an entry has expired, or its owner is gone or has
    /// another request.
    fn may_expire(&self, state: &State, n: usize, entry: &Remembered) -> bool {
        let owner = &state.hosts[index(entry.req.node)];
        let rests = |w: &Work| w.req == entry.req && w.rests_on(n);
        if self.flaw != Some(Flaw::EarlyExpiry) && state.works.iter().any(rests) {
            return false;
        }
        let own = owner.facts.own.as_ref().filter(|own| own.req == entry.req);
        let Some(own) = own.filter(|_| owner.up && self.flaw != Some(Flaw::EarlyExpiry)) else {
            return true;
        };
        let leased = self.flaw != Some(Flaw::Without(Ablation::ConsentLease));
        let answer = own.answers.iter().find(|a| a.from == id(n));
        answer.is_none_or(|a| {
            let witness = a.witness.as_ref().is_none_or(|w| w.1 > entry.attempt);
            witness && a.consent.is_none_or(|c| c > entry.attempt || !leased)
        })
    }
}

impl World for Group {
    type State = State;
    type Action = Action;

    const LIVENESS: bool = true;

    fn start(&self) -> State {
        let hosts = (0..self.views.len()).map(|n| {
            let joins = self.joiners.0.contains(&n);
            let nodes = if joins { self.joiners.1 } else { self.nodes };
            let mut host = Host::new(n, 1, nodes, !joins, self);
            host.mutex.assume_synced();
            host.resized = joins;
            for &other in self.views[n].iter().filter(|o| **o != n) {
                host.step(n, |m, cx| m.on_input(cx, &Reach, up(other, 1)));
            }
            Arc::new(host)
        });
        State {
            hosts: hosts.collect(),
            wire: Vec::new(),
            made: vec![0; self.views.len()],
            left: self.budget,
            works: Vec::new(),
            last_token: Fence::ZERO,
            grants: 0,
            broken: None,
        }
    }

    fn choices(&self, state: &State, out: &mut Vec<Action>) {
        if state.broken.is_some() {
            return;
        }
        let left = &state.left;
        for envelope in state.wire.iter().filter(|e| state.hosts[e.to].up) {
            out.push(Action::Deliver(envelope.clone()));
            if left.repeats > 0 {
                out.push(Action::Repeat(envelope.clone()));
            }
        }
        for (at, work) in state.works.iter().enumerate() {
            if work.stands.is_some() && !self.is_stopping(state, work) {
                out.push(Action::EndWork(at));
            }
        }
        for (n, host) in state.hosts.iter().enumerate() {
            if !host.up {
                if left.restarts > 0 {
                    out.push(Action::Restart(n));
                }
                continue;
            }
            self.local_choices(state, n, host, out);
            if host.facts.synced && !host.facts.mature && self.may_mature(state, n) {
                out.push(Action::Mature(n));
            }
            if self.joiners.1 > 0 && !host.resized {
                out.push(Action::Resize(n));
            }
            let strange = |l: &&(usize, usize)| l.0 == n && !host.mutex.lists(id(l.1));
            let learns = self.learns.iter().filter(strange);
            out.extend(learns.map(|l| Action::Learn(l.0, l.1)));
            if left.crashes > 0 && self.mortal.contains(&n) {
                out.push(Action::Crash(n));
            }
            if left.verdicts > 0 {
                let listed = self.views[n].iter();
                let listed = listed.filter(|o| host.buried == 0 || state.hosts[**o].up);
                out.extend(listed.map(|o| Action::Verdict(n, *o)));
            }
            if self.shrinks && self.may_bury(state, host) {
                out.push(Action::Bury(n));
            }
            if left.oblivions > 0 {
                // Entries do not live that long.
                let entries = &host.facts.entries;
                let gone = |of: &NodeId| !entries.iter().any(|e| e.done && e.req.node == *of);
                let of = host.mutex.finished(LOCK).filter(gone).map(index);
                out.extend(of.map(|of| Action::ForgetDone(n, of)));
            }
            if self.expiry {
                let entries = host.facts.entries.iter();
                let forgotten = entries.filter(|e| self.may_expire(state, n, e));
                out.extend(forgotten.map(|e| Action::Expire(n, index(e.req.node))));
            }
        }
    }

    fn act(&self, state: &mut State, action: Action) -> bool {
        self.perform(state, action);
        true
    }

    fn broken(&self, state: &State) -> Option<&'static str> {
        state.broken
    }

    fn is_live(&self, state: &State) -> bool {
        !self.is_lossless() || !oracle::is_stuck(self, state)
    }

    fn is_reached(&self, state: &State) -> bool {
        let wanted: usize = self.requests.iter().map(Vec::len).sum();
        state.grants as usize >= wanted.min(1)
    }
}

impl Group {
    /// Whether all messages arrive in the end and all nodes answer.
    fn is_lossless(&self) -> bool {
        let b = self.budget;
        b.lapses == 0 && b.crashes == 0 && b.verdicts == 0 && !self.expiry && self.joiners.1 == 0
    }
}
