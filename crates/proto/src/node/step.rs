//! One step of a layer, and the exchange between layers after it.

use super::{Io, Key, Layer, Node};
use crate::election::{self, Election, Report, View};
use crate::event::Event;
use crate::membership::{self, Membership};
use crate::message::{Audience, Messages};
use crate::mutex::{self, Mutex, Peers};
use crate::omega::{self, Omega};
use crate::protocol::{Cx, Effect, Protocol};
use crate::reliability::{Counted, Evidence};
use crate::time::Instant;
use crate::wire::Frame;

impl Node {
    pub(super) fn step_membership(
        &mut self,
        now: Instant,
        f: impl FnOnce(&mut Membership, &mut Cx<'_, Membership>),
    ) {
        self.membership.step(
            &mut self.io,
            now,
            Frame::Membership,
            Key::Membership,
            f,
            |io, event| {
                io.events.push_back(Event::Membership(event));
                io.changes.push_back(event);
            },
        );
    }

    pub(super) fn step_election(
        &mut self,
        now: Instant,
        f: impl FnOnce(&mut Election, &mut Cx<'_, Election>, View<'_>),
    ) {
        // `election_view` would borrow all of `self`.
        let view = View {
            membership: &self.membership.state,
            reliability: &self.reliability,
            certs: self.sealer.certs.as_ref(),
        };
        self.election.step(
            &mut self.io,
            now,
            Frame::Election,
            Key::Election,
            |e, cx| f(e, cx, view),
            |io, report| match report {
                Report::Event(event) => io.events.push_back(Event::Election(event)),
                wish => io.wishes.push_back(wish),
            },
        );
    }

    pub(super) fn step_mutex(
        &mut self,
        now: Instant,
        f: impl FnOnce(&mut Mutex, &mut Cx<'_, Mutex>, &dyn Peers),
    ) {
        let peers = &self.membership.state;
        self.mutex.step(
            &mut self.io,
            now,
            Frame::Mutex,
            Key::Mutex,
            |m, cx| f(m, cx, peers),
            |io, event| io.events.push_back(Event::Lock(event)),
        );
    }

    pub(super) fn step_omega(
        &mut self,
        now: Instant,
        f: impl FnOnce(&mut Omega, &mut Cx<'_, Omega>),
    ) {
        let life = self.membership.state.life();
        self.omega.step(
            &mut self.io,
            now,
            Frame::Omega,
            Key::Omega,
            f,
            |io, event| {
                let event = match event {
                    omega::Event::LinkUp(id) => Event::Link { id, up: true },
                    omega::Event::LinkDown(id) => Event::Link { id, up: false },
                    omega::Event::Outlived(life) => {
                        io.outlived = Some(life);
                        return;
                    }
                    event => match election::Event::by_component(io.me, life, event) {
                        Some(event) => Event::Election(event),
                        None => return,
                    },
                };
                io.events.push_back(event);
            },
        );
    }

    pub(super) fn step_message(
        &mut self,
        now: Instant,
        f: impl FnOnce(&mut Messages, &mut Cx<'_, Messages>, &dyn Audience),
    ) {
        let audience = &self.membership.state;
        self.message.step(
            &mut self.io,
            now,
            Frame::Message,
            Key::Message,
            |m, cx| f(m, cx, audience),
            |io, event| io.events.push_back(Event::Message(event)),
        );
    }

    /// Passes changes from lower to upper layers and requests in the other direction, until none are left. This
    /// terminates, because a request changes the member list only through later answers of other nodes.
    pub(super) fn relay(&mut self, now: Instant) {
        while !self.is_settled() {
            self.relay_one(now);
        }
    }

    /// Whether no layer has anything to pass to another, as is the case after nearly every step.
    fn is_settled(&self) -> bool {
        let life = self.membership.state.life();
        self.io.changes.is_empty()
            && self.io.wishes.is_empty()
            && self.io.outlived.is_none()
            && self.omega.state.life() >= life
            && self.election.state.centrality() == self.omega.state.centrality()
            && self.mutex.state.life() == life
            && !self.may_leave()
    }

    /// Whether this node should leave and none of its work as a leader or under a lock is still running.
    fn may_leave(&self) -> bool {
        self.io.leaves
            && self.mutex.state.stopped_by().is_none()
            && self.election.state.is_released()
    }

    fn relay_one(&mut self, now: Instant) {
        if self.may_leave() {
            self.io.leaves = false;
            self.step_membership(now, |m, cx| m.on_input(cx, (), membership::Input::Leave));
        } else if let Some(change) = self.io.changes.pop_front() {
            self.learn_change(now, change);
            let input = election::Input::Member(change);
            self.step_election(now, |e, cx, view| e.on_input(cx, view, input));
            let input = mutex::Input::Member(change);
            self.step_mutex(now, |m, cx, peers| m.on_input(cx, peers, input));
        } else if let Some(wish) = self.io.wishes.pop_front() {
            let input = match wish {
                Report::Probe(id) => membership::Input::Probe(id),
                _ => {
                    let below = &self.membership.state;
                    membership::Input::SetCampaigns(self.election.state.campaigns(now, below))
                }
            };
            self.step_membership(now, |m, cx| m.on_input(cx, (), input));
            if self.io.wishes.is_empty() {
                let input = election::Input::Stands;
                self.step_election(now, |e, cx, view| e.on_input(cx, view, input));
            }
        } else if let Some(life) = self.io.outlived.take() {
            let input = membership::Input::Outlive(life);
            self.step_membership(now, |m, cx| m.on_input(cx, (), input));
        } else if self.omega.state.life() < self.membership.state.life() {
            let input = omega::Input::Life(self.membership.state.life());
            self.step_omega(now, |o, cx| o.on_input(cx, (), input));
        } else if self.election.state.centrality() != self.omega.state.centrality() {
            let input = election::Input::Centrality(self.omega.state.centrality());
            self.step_election(now, |e, cx, view| e.on_input(cx, view, input));
        } else {
            let input = mutex::Input::Life(self.membership.state.life());
            self.step_mutex(now, |m, cx, peers| m.on_input(cx, peers, input));
        }
    }

    pub(super) fn learn(&mut self, now: Instant, evidence: Evidence) {
        let members = self.membership.state.table().live() + 1;
        self.reliability.learn(now, members, evidence);
    }

    /// Passes on what a change of the member list says about failures.
    fn learn_change(&mut self, now: Instant, change: membership::Event) {
        use membership::{Arrival, Departure, Event};
        let evidence = match change {
            Event::Up { id, how, .. } => match how {
                Arrival::Joined => return,
                Arrival::Refuted => Evidence::Refuted(id),
                Arrival::Returned => Evidence::Returned(id),
            },
            Event::Down {
                id,
                life,
                why: Departure::Failed,
                ..
            } => {
                let member = self.membership.state.table().get(id);
                let incarnation = member.map(|m| m.precedence.incarnation).unwrap_or_default();
                Evidence::Down(id, Counted { life, incarnation })
            }
            Event::Down { id, life, .. } => Evidence::Left(id, life),
            _ => return,
        };
        self.learn(now, evidence);
    }
}

impl<P: Protocol> Layer<P> {
    /// Runs one handler and carries out its effects in program order.
    fn step(
        &mut self,
        io: &mut Io,
        now: Instant,
        frame: fn(P::Msg) -> Frame,
        key: fn(P::Timer) -> Key,
        handler: impl FnOnce(&mut P, &mut Cx<'_, P>),
        mut on_event: impl FnMut(&mut Io, P::Event),
    ) {
        io.now = now;
        let mut cx = Cx {
            me: io.me,
            now,
            rng: &mut self.rng,
            effects: &mut self.effects,
        };
        handler(&mut self.state, &mut cx);
        if self.effects.is_empty() {
            return;
        }
        for effect in self.effects.drain(..) {
            match effect {
                Effect::Send(to, msg) => io.sends.push((to, frame(msg))),
                Effect::SetTimer(timer, at) => io.timers.set(key(timer), at),
                Effect::CancelTimer(timer) => io.timers.cancel(key(timer)),
                Effect::Emit(event) => on_event(io, event),
                Effect::Persist(fact) => io.facts.push_back(fact),
            }
        }
    }
}
