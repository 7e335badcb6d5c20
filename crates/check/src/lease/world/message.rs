//! Messages in flight, and how a node handles them.

use super::{Msg, Packet, WIRE_MAX, World};
use crate::lease::node::{Known, SPAN};
use consort_proto::Instant;
use consort_proto::election::Token;
use consort_proto::lease::{Ack, Holder, Lease, Output, Rank, Renew, Verdict};

impl World {
    pub(super) fn send(&mut self, from: usize, to: usize, msg: Msg) {
        let node = &self.nodes[from];
        let tells = matches!(msg, Msg::Claim | Msg::Exchange(_) | Msg::Exchanged(_));
        let claim = Known {
            token: node.disk.known.token,
            set: node.set(),
        };
        let rides = tells || self.rides || self.calm;
        let packet = Packet {
            from,
            to,
            msg,
            known: rides.then_some((claim, node.watch.record().closed)),
        };
        if from == to {
            self.receive(packet);
        } else if self.wire.len() < WIRE_MAX {
            self.wire.push(packet);
        }
    }

    pub(super) fn receive(&mut self, packet: Packet) {
        let Packet {
            from,
            to,
            msg,
            known,
        } = packet;
        if !self.nodes[to].up {
            return;
        }
        if from != to {
            self.nodes[to].down[from] = false;
        }
        if let Some((claim, closed)) = known.filter(|_| from != to) {
            // A request is judged by what the node knew before it.
            let asks = matches!(msg, Msg::Renew(_) | Msg::Extend(_) | Msg::Close(..));
            let token = (!asks).then_some(claim.token);
            self.nodes[to].learn(token, claim.set, closed);
            self.note_lines(to);
            self.react(to);
        }
        let now = self.nodes[to].clock;
        match msg {
            Msg::Renew(renew) => self.on_renew(from, to, now, renew),
            Msg::Extend(extend) => match self.nodes[to].watch.expand(now, &extend) {
                Ok(renew) => self.on_renew(from, to, now, renew),
                Err(refusal) => {
                    let me = self.nodes[to].watch.me();
                    self.send(to, from, Msg::Refuse(me, extend.holder.life, *refusal));
                }
            },
            Msg::Ack(watcher, ack) => {
                self.lease(to, |l, now, out| l.on_ack(now, watcher, ack, out))
            }
            Msg::Refuse(watcher, life, refusal) => {
                self.nodes[to].learn(refusal.token, refusal.set, refusal.closed);
                self.note_lines(to);
                if life == self.nodes[to].life {
                    self.lease(to, |l, now, out| l.on_refusal(now, watcher, &refusal, out));
                }
            }
            Msg::Release(holder, token) => {
                self.nodes[to].watch.on_release(now, holder, token);
            }
            Msg::Close(holder, token, rank) => self.on_close(from, to, now, (holder, token, rank)),
            Msg::Closed(watcher, life, token, span) => {
                let node = &mut self.nodes[to];
                if let Some(closing) = node.closing.as_mut().filter(|c| c.token() == token)
                    && life == node.life
                {
                    closing.on_closed(now, watcher, span);
                    if !node.closed_by.contains(&watcher) {
                        node.closed_by.push(watcher);
                    }
                }
            }
            Msg::CloseRefused(life, token, refusal) => {
                self.nodes[to].learn(refusal.token, refusal.set, refusal.closed);
                self.note_lines(to);
                let node = &mut self.nodes[to];
                let mine = node.closing.as_ref().is_some_and(|c| c.token() == token);
                if mine && life == node.life {
                    node.closing = None;
                }
            }
            Msg::Claim => {}
            Msg::Exchange(life) => self.send(to, from, Msg::Exchanged(life)),
            Msg::Exchanged(life) => {
                if life == self.nodes[to].life {
                    self.nodes[to].informed[from] = true;
                }
            }
        }
    }

    pub(super) fn on_renew(&mut self, from: usize, to: usize, now: Instant, renew: Renew) {
        let node = &mut self.nodes[to];
        let me = node.watch.me();
        match node.watch.on_renew(now, &renew) {
            Verdict::Ack { .. } => {
                node.store();
                node.learn(Some(renew.token), Some(renew.set), None);
                self.note_lines(to);
                if from != to {
                    self.react(to);
                }
                let ack = Ack {
                    life: renew.holder.life,
                    seq: renew.seq,
                };
                self.send(to, from, Msg::Ack(me, ack));
            }
            Verdict::Refuse { refusal, tell } => {
                self.send(to, from, Msg::Refuse(me, renew.holder.life, *refusal));
                if let Some(holder) = tell {
                    // This message carries the claim of the requester.
                    self.nodes[to].learn(Some(renew.token), None, None);
                    let node = holder.node.0 as usize;
                    if node != to {
                        self.send(to, node, Msg::Claim);
                    } else {
                        self.react(to);
                    }
                }
            }
        }
    }

    pub(super) fn on_close(
        &mut self,
        from: usize,
        to: usize,
        now: Instant,
        (holder, token, rank): (Holder, Token, Option<Rank>),
    ) {
        let node = &mut self.nodes[to];
        let known = (node.disk.known.token, node.set().map(|s| s.rank));
        match node.watch.on_close(now, token, rank, Some(known)) {
            Ok(_) => {
                node.store();
                node.learn(Some(token), None, None);
                if from != to {
                    node.closing = None;
                    node.back_until = node.back_until.max(now + SPAN * 3);
                }
                let (me, span) = (node.watch.me(), node.watch.record().span);
                self.stop(to);
                self.send(to, from, Msg::Closed(me, holder.life, token, span));
            }
            Err(refusal) => self.send(to, from, Msg::CloseRefused(holder.life, token, *refusal)),
        }
    }

    pub(super) fn note_lines(&mut self, at: usize) {
        if let Some(set) = self.nodes[at].set() {
            self.oracle.note_heard(self.now, at, set.rank.line);
        }
    }

    /// A node learned of something: a leader of a lesser line, or with a smaller token, gives up.
    pub(super) fn react(&mut self, at: usize) {
        let node = &self.nodes[at];
        let (known, set) = (node.disk.known.token, node.set());
        if let Some(closing) = &node.closing
            && (known > closing.token()
                || set.is_some_and(|s| s.rank.line > closing.token())
                || self.setup.strict && set.map(|s| s.rank) > closing.set())
        {
            self.nodes[at].closing = None;
        }
        if let Some(set) = set {
            self.lease(at, |l, now, out| l.on_set(now, set, out));
        }
        if let Some(lease) = self.nodes[at].lease.as_ref()
            && known > lease.token()
        {
            self.outranked(at, known);
        }
    }

    /// A leader meets a greater token. If nobody holds that token, it claims again above it.
    pub(super) fn outranked(&mut self, at: usize, token: Token) {
        let maker = &self.nodes[token.initiator.0 as usize % self.nodes.len()];
        let alive = maker.up && maker.life == token.life && maker.lease.is_some();
        let node = &self.nodes[at];
        let in_office = node
            .lease
            .as_ref()
            .is_some_and(|l| l.valid(node.clock).is_some());
        if alive || !in_office || maker.id == at {
            self.stop(at);
        } else {
            self.nodes[at].learn(Some(token), None, None);
            let token = self.nodes[at].fresh_token(self.wall());
            self.nodes[at].learn(Some(token), None, None);
            self.lease(at, |l, now, _| l.claim_again(now, token));
        }
    }

    /// Gives up a lease: the work is told to stop, and the lease is released when the work has ended.
    pub(super) fn stop(&mut self, at: usize) {
        let life = self.nodes[at].life.0;
        for work in &mut self.works {
            work.stops |= work.node == at && work.life == life;
        }
        self.lease(at, |l, now, out| l.stop(now, out));
        self.after_work(at);
    }

    /// Releases the lease of a node that gives up, once none of its work is left.
    pub(super) fn after_work(&mut self, at: usize) {
        if !self.works_of(at) {
            self.lease(at, |l, _, out| l.on_stopped(out));
        }
    }

    pub(super) fn lease(
        &mut self,
        at: usize,
        f: impl FnOnce(&mut Lease, Instant, &mut Vec<Output>),
    ) {
        if !self.nodes[at].up {
            return;
        }
        let out = self.nodes[at].with_lease(f);
        self.outputs(at, out);
        if self.nodes[at].lease.as_ref().is_some_and(Lease::is_over) {
            let node = &mut self.nodes[at];
            node.seq = node.lease.as_ref().map_or(0, Lease::seq);
            node.lease = None;
        }
    }

    pub(super) fn outputs(&mut self, at: usize, out: Vec<Output>) {
        for output in out {
            match output {
                Output::Renew(to, renew) => self.send(at, to.0 as usize, Msg::Renew(renew)),
                Output::Extend(to, extend) => self.send(at, to.0 as usize, Msg::Extend(extend)),
                Output::Release(to, token) => {
                    let holder = self.nodes[at].holder();
                    self.send(at, to.0 as usize, Msg::Release(holder, token));
                }
                Output::Granted { end, .. } => {
                    let life = self.nodes[at].life.0;
                    let works = self.works.iter_mut();
                    for work in works.filter(|w| w.node == at && w.life == life && !w.stops) {
                        work.end = work.end.max(end);
                    }
                }
                Output::Set => {
                    let set = self.nodes[at].lease.as_ref().map(|l| *l.set());
                    let changing = set.is_some_and(|s| s.is_changing());
                    self.changes += u64::from(!changing);
                    self.nodes[at].learn(None, set, None);
                }
                Output::Outranked(token) => self.outranked(at, token),
                Output::OtherLine(set) => {
                    self.nodes[at].learn(None, Some(set), None);
                    self.note_lines(at);
                    self.stop(at);
                }
                Output::Lapsed(span) => {
                    let node = &mut self.nodes[at];
                    node.back_until = node.back_until.max(node.clock + span);
                }
            }
        }
    }
}
