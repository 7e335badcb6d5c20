//! Performs actions on a group, with the handlers of the product's lock.

use super::group::{Action, Flaw, Group, State};
use super::host::{Did, Envelope, Host, LOCK, NAME, Reach, id, sender};
use super::oracle;
use super::work::{Work, counted};
use alloc::sync::Arc;
use consort_proto::membership::{self, Arrival, Departure};
use consort_proto::mutex::{
    Acquire, Fence, Input, Mine, Msg, Mutex, Order, Policy, Remembered, ReqId, Service, Ticket,
    Wait,
};
use consort_proto::{Cx, Life, Protocol};

impl Group {
    /// Performs an action.
    pub(super) fn perform(&self, state: &mut State, action: Action) {
        match action {
            Action::Deliver(envelope) => {
                if let Ok(at) = state.wire.binary_search_by_key(&envelope.hash, |e| e.hash) {
                    state.wire.remove(at);
                }
                self.deliver(state, &envelope);
            }
            Action::Repeat(envelope) => {
                state.left.repeats -= 1;
                self.deliver(state, &envelope);
            }
            Action::Acquire(n) => self.acquire(state, n),
            Action::Release(n) => {
                if let Some(own) = &state.hosts[n].facts.own {
                    let ticket = own.ticket;
                    state.works.retain(|w| (w.host, w.ticket) != (n, ticket));
                    self.order(state, n, Order::Release(LOCK, ticket));
                }
            }
            Action::Cancel(n) => {
                state.left.cancels -= 1;
                if let Some(own) = &state.hosts[n].facts.own {
                    let order = Order::Release(LOCK, own.ticket);
                    let mute = self.flaw == Some(Flaw::CancelWithoutFloor);
                    self.step(state, n, mute, |m, cx| {
                        m.on_input(cx, &Reach, Input::Order(order));
                    });
                }
            }
            Action::Stop(n) => {
                let ticket = Arc::make_mut(&mut state.hosts[n]).lost.remove(0);
                state.works.retain(|w| (w.host, w.ticket) != (n, ticket));
                self.order(state, n, Order::Release(LOCK, ticket));
            }
            Action::EndStopping(n) => {
                let req = state.hosts[n].facts.own.as_ref().map(|own| own.req);
                state.works.retain(|w| Some(w.req) != req);
                Arc::make_mut(&mut state.hosts[n]).lost.clear();
                self.step(state, n, false, |m, cx| m.end_stopping(cx, &Reach, LOCK));
            }
            Action::EndWork(at) => {
                let work = state.works.remove(at);
                let host = Arc::make_mut(&mut state.hosts[work.host]);
                host.lost.retain(|t| *t != work.ticket);
                host.settle();
            }
            Action::EndHold(n) => {
                state.left.ends -= 1;
                self.step(state, n, false, |m, cx| m.end_hold(cx, &Reach, LOCK));
            }
            Action::Leave(n) => {
                state.left.leaves -= 1;
                self.step(state, n, false, |m, cx| {
                    m.on_input(cx, &Reach, Input::Leave)
                });
            }
            Action::Lapse(n, from, attempt) => {
                state.left.lapses -= 1;
                self.step(state, n, false, |m, cx| {
                    m.lapse(cx, &Reach, LOCK, id(from), attempt);
                });
            }
            Action::Expire(n, of) => self.expire(state, n, of),
            Action::Retry(n) => {
                state.left.retries -= 1;
                self.step(state, n, false, |m, cx| m.retry(cx, &Reach, LOCK));
            }
            Action::Crash(n) => {
                state.left.crashes -= 1;
                let stands = counted(&state.hosts[n]);
                if self.apart {
                    for work in state.works.iter_mut().filter(|w| w.host == n) {
                        work.stands.get_or_insert_with(|| stands.clone());
                    }
                } else {
                    state.works.retain(|w| w.host != n);
                }
                let host = Arc::make_mut(&mut state.hosts[n]);
                host.up = false;
                host.lost.clear();
                host.settle();
                self.prune(state, n);
            }
            Action::Restart(n) => self.restart(state, n),
            Action::Mature(n) => {
                // Answers of a former life are older than a lease.
                let life = state.hosts[n].life;
                let late =
                    |e: &Envelope| e.from == n && e.life < life && matches!(e.msg, Msg::Reply(_));
                state.wire.retain(|e| !late(e));
                self.step(state, n, false, |m, cx| m.ripen(cx, &Reach));
            }
            Action::Resize(n) => {
                Arc::make_mut(&mut state.hosts[n]).resized = true;
                let nodes = self.joiners.1;
                self.step(state, n, false, |m, cx| m.resize(cx, &Reach, nodes));
            }
            Action::EndGrace(n) => {
                self.step(state, n, false, |m, cx| m.end_grace(cx, &Reach, LOCK));
            }
            Action::Learn(n, of) => {
                let event = up(of, state.hosts[of].life);
                self.step(state, n, false, |m, cx| m.on_input(cx, &Reach, event));
            }
            Action::ForgetDone(n, of) => {
                state.left.oblivions -= 1;
                self.step(state, n, false, |m, _| m.forget_done(LOCK, id(of)));
            }
            Action::Bury(n) => self.bury(state, n),
            Action::Verdict(n, of) => {
                state.left.verdicts -= 1;
                let life = state.hosts[n].mutex.known_life(id(of)).unwrap_or_default();
                let down = membership::Event::Down {
                    id: id(of),
                    life,
                    why: Departure::Failed,
                    by: id(n),
                };
                self.step(state, n, false, |m, cx| {
                    m.on_input(cx, &Reach, Input::Member(down));
                });
            }
        }
    }

    /// Answers of nodes that are gone are older than a lease.
    fn bury(&self, state: &mut State, n: usize) {
        let gone: Vec<usize> = (0..state.hosts.len())
            .filter(|m| !state.hosts[*m].up)
            .collect();
        let late = |e: &Envelope| gone.contains(&e.from) && matches!(e.msg, Msg::Reply(_));
        state.wire.retain(|e| !late(e));
        let nodes = state.hosts.len() - gone.len();
        Arc::make_mut(&mut state.hosts[n]).buried = gone.len();
        for of in gone {
            self.step(state, n, false, |m, cx| {
                m.bury(cx, &Reach, id(of), nodes as u16);
            });
        }
    }

    fn acquire(&self, state: &mut State, n: usize) {
        let mode = self.requests[n][usize::from(state.made[n])];
        state.made[n] += 1;
        let host = Arc::make_mut(&mut state.hosts[n]);
        host.tickets += 1;
        let acquire = Acquire {
            name: NAME.into(),
            ticket: Ticket(host.life * 100 + host.tickets),
            mode,
            wait: Wait::Forever,
            policy: Arc::new(self.policy()),
        };
        self.order(state, n, Order::Acquire(acquire));
    }

    fn policy(&self) -> Policy {
        let service = match self.elevator {
            true => Service::Elevator,
            false => Service::Arrival,
        };
        Policy {
            service,
            ..Policy::default()
        }
    }

    fn order(&self, state: &mut State, n: usize, order: Order) {
        self.step(state, n, false, |m, cx| {
            m.on_input(cx, &Reach, Input::Order(order))
        });
    }

    fn deliver(&self, state: &mut State, envelope: &Envelope) {
        let mut life = envelope.life;
        if self.flaw == Some(Flaw::LifelessReplies) && matches!(envelope.msg, Msg::Reply(_)) {
            let known = state.hosts[envelope.to].mutex.known_life(id(envelope.from));
            life = life.max(known.map_or(0, |l| l.0));
        }
        let from = sender(envelope.from, life);
        let msg = envelope.msg.clone();
        self.step(state, envelope.to, false, |m, cx| {
            m.on_msg(cx, &Reach, from, msg);
        });
    }

    /// A witness forgets. By then the lease of any answer it may still send has expired, too.
    fn expire(&self, state: &mut State, n: usize, of: usize) {
        let entries = &state.hosts[n].facts.entries;
        let Some(entry) = entries.iter().find(|e| e.req.node == id(of)).copied() else {
            return;
        };
        let owner = &state.hosts[of];
        let same = |own: &Mine| own.req == entry.req;
        let asks = owner.up && owner.facts.own.as_ref().is_some_and(same);
        if asks && self.flaw != Some(Flaw::EarlyExpiry) {
            self.step(state, of, false, |m, cx| {
                m.lapse(cx, &Reach, LOCK, id(n), entry.attempt);
            });
        }
        self.step(state, n, false, |m, cx| m.forget(cx, &Reach, LOCK, id(of)));
    }

    fn restart(&self, state: &mut State, n: usize) {
        state.left.restarts -= 1;
        let life = state.hosts[n].life + 1;
        let nodes = self.nodes.max(self.joiners.1);
        let mut fresh = Host::new(n, life, nodes, false, self);
        fresh.resized = true;
        if self.told {
            fresh.mutex.assume_synced();
        }
        state.hosts[n] = Arc::new(fresh);
        for &other in self.views[n].iter().filter(|o| **o != n) {
            let event = up(other, state.hosts[other].life);
            self.step(state, n, false, |m, cx| m.on_input(cx, &Reach, event));
        }
    }

    /// Runs a handler of node `n`, puts its messages on the wire, and checks the invariants.
    fn step(
        &self,
        state: &mut State,
        n: usize,
        mute: bool,
        f: impl FnOnce(&mut Mutex, &mut Cx<'_, Mutex>),
    ) {
        let before = state.hosts[n].clone();
        let host = Arc::make_mut(&mut state.hosts[n]);
        let Did { sends, granted } = host.step(n, f);
        let life = host.life;
        for work in state.works.iter_mut().filter(|w| w.host == n) {
            if host.lost.contains(&work.ticket) {
                work.stands.get_or_insert_with(|| counted(&before));
            }
        }
        for &(ticket, token, mode) in &granted {
            let ctr = host.facts.own.as_ref().map_or(0, |own| own.req.ctr);
            state.works.push(Work {
                host: n,
                req: ReqId {
                    node: id(n),
                    life: Life(life),
                    ctr,
                },
                ticket,
                mode,
                token,
                stands: None,
            });
        }
        for (to, mut msg) in sends {
            if let Msg::Release { floor, .. } = &mut msg
                && mute
            {
                *floor = Fence::ZERO;
            }
            let envelope = Envelope::new(n, life, to, msg);
            if let Err(at) = state.wire.binary_search_by_key(&envelope.hash, |e| e.hash) {
                state.wire.insert(at, Arc::new(envelope));
            }
        }
        oracle::judge(self, state, n, &before, &granted);
        self.prune(state, n);
    }

    /// Removes messages that can no longer have an effect: fewer states, the same behaviour.
    fn prune(&self, state: &mut State, n: usize) {
        let host = state.hosts[n].clone();
        let returns = state.left.restarts > 0 && (!host.up || self.mortal.contains(&n))
            || host.up && state.left.oblivions > 0;
        state
            .wire
            .retain(|e| e.to != n || !is_void(&host, e, returns));
    }
}

/// Whether a message can never have an effect; `returns` if its receiver may lose its memory.
fn is_void(host: &Host, e: &Envelope, returns: bool) -> bool {
    if !host.up {
        return !returns;
    }
    let known = host.mutex.known_life(id(e.from));
    let (facts, from) = (&host.facts, Life(e.life));
    if known < Some(from) {
        return false;
    }
    let former = known > Some(from);
    match &e.msg {
        Msg::Reply(r) => {
            let latest = r.names.iter().map(|nm| nm.seq).max().unwrap_or(0);
            let told = latest.max(r.clock).max(r.floor.seq()) <= facts.clock;
            let own = facts.own.as_ref().filter(|own| own.req.ctr == r.ctr);
            let Some(own) = own.filter(|_| r.life.0 == host.life) else {
                return told && !former || former && r.clock <= facts.clock;
            };
            let answer = own.answers.iter().find(|a| a.from == id(e.from));
            let open = answer.is_some_and(|a| a.open.contains(&r.attempt));
            told && !open && !former && r.floor <= facts.floor
        }
        Msg::Request(r) if former => !returns && r.clock <= facts.clock,
        Msg::Request(r) => {
            let req = ReqId {
                node: id(e.from),
                life: from,
                ctr: r.ctr,
            };
            !returns && r.clock.max(r.stamp) <= facts.clock && host.mutex.knows_over(LOCK, req)
        }
        Msg::Release {
            ctr, floor, clock, ..
        } => {
            let req = ReqId {
                node: id(e.from),
                life: from,
                ctr: *ctr,
            };
            let entry = |r: &Remembered| r.req.node == id(e.from) && r.req.life == from;
            let listed = facts.entries.iter().any(|r| entry(r) && r.req.ctr <= *ctr);
            let over = former || host.mutex.knows_over(LOCK, req) && !listed;
            !returns && over && *floor <= facts.floor && *clock <= facts.clock
        }
        _ => false,
    }
}

pub(super) fn up(of: usize, life: u64) -> Input {
    Input::Member(membership::Event::Up {
        id: id(of),
        life: Life(life),
        how: Arrival::Joined,
    })
}
