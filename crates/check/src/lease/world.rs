//! The group of the model: messages under way, links, work, and everything that may happen next.

use super::node::{GRACE, Known, Node, RTO, SPAN};
use super::oracle::{Oracle, Work};
use crate::draw::by_weight;
use consort_proto::election::Token;
use consort_proto::lease::{
    Ablation, Ack, Closing, Holder, Lease, Need, Output, Progress, Rank, Refusal, Renew, Rules,
    Set, Verdict, Watcher, Watchers,
};
use consort_proto::{Instant, Life, NodeId, Rng, Term};
use core::time::Duration;

/// Real time that passes in a tick, in microseconds: a sixth of a lease.
pub(super) const TICK: u64 = 100_000;
/// Messages under way; more are lost.
const WIRE_MAX: usize = 24;
/// How long a verdict may outlast the partition that caused it.
pub(super) const VERDICT_LAG: u64 = 12 * TICK;

/// What may go wrong besides loss, repetition, delay and crashes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Faults {
    /// Links fail one way, and verdicts about members do not matter.
    OneWay,
    /// Nothing else, and verdicts are true.
    None,
    /// The group falls apart and heals, and verdicts follow with delay.
    Partitions,
}

/// A group.
#[derive(Clone, Copy, Debug)]
pub struct Setup {
    /// How many nodes.
    pub nodes: usize,
    /// Nobody acts without a quorum of watchers that stored the lease before. Otherwise lost watchers are replaced.
    pub strict: bool,
    /// What may go wrong.
    pub faults: Faults,
    /// The rules, or all but one.
    pub rules: Rules,
}

#[derive(Clone, Debug)]
enum Msg {
    Renew(Renew),
    Ack(Watcher, Ack),
    Refuse(Watcher, Life, Refusal),
    Release(Holder, Token),
    Close(Holder, Token, Option<Rank>),
    Closed(Watcher, Life, Token, Duration),
    CloseRefused(Life, Token, Refusal),
    Claim,
    Exchange(Life),
    Exchanged(Life),
}

#[derive(Clone, Debug)]
struct Packet {
    from: usize,
    to: usize,
    msg: Msg,
    /// What the sender knew: it rides on every message, or in some walks only where that is all a message says.
    known: Option<(Known, Option<Token>)>,
}

pub(super) struct World {
    pub(super) setup: Setup,
    pub(super) now: u64,
    pub(super) nodes: Vec<Node>,
    wire: Vec<Packet>,
    /// Which part of the group a node is in.
    part: Vec<u8>,
    /// Links that fail in this direction.
    cut: Vec<Vec<bool>>,
    pub(super) works: Vec<Work>,
    pub(super) oracle: Oracle,
    pub(super) broken: Option<&'static str>,
    pub(super) started: u64,
    pub(super) lines: u64,
    pub(super) changes: u64,
    /// In the calm phase candidates ask before they stand.
    pub(super) calm: bool,
    pub(super) log: Option<Vec<String>>,
    /// How often each kind of step is drawn in this walk.
    weights: Vec<(Kind, u32)>,
    /// What a node knows rides on all it sends.
    rides: bool,
    /// With fixed members, nodes close lines without a reason.
    restless: bool,
}

/// What may happen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Tick,
    Deliver,
    Lose,
    RunTimers,
    Stand,
    StartWork,
    EndWork,
    Change,
    Stop,
    Crash,
    Restart,
    Links,
    Verdict,
    Close,
    Gossip,
}

/// How often each kind of step is drawn, and whether a walk may have much more of it.
const WEIGHTS: [(Kind, u32, bool); 15] = [
    (Kind::Tick, 16, false),
    (Kind::Deliver, 40, false),
    (Kind::Lose, 2, true),
    (Kind::RunTimers, 6, false),
    (Kind::Stand, 5, true),
    (Kind::StartWork, 8, false),
    (Kind::EndWork, 2, true),
    (Kind::Change, 2, true),
    (Kind::Stop, 1, true),
    (Kind::Crash, 1, true),
    (Kind::Restart, 3, false),
    (Kind::Links, 2, true),
    (Kind::Verdict, 3, false),
    (Kind::Close, 3, false),
    (Kind::Gossip, 2, true),
];

/// Much of one thing finds what a little of everything does not.
fn draw_weights(rng: &mut Rng) -> Vec<(Kind, u32)> {
    let mut draw = |(kind, weight, varies): (Kind, u32, bool)| match varies {
        true => (kind, weight * [0, 1, 1, 4][rng.below(4) as usize]),
        false => (kind, weight),
    };
    WEIGHTS.into_iter().map(&mut draw).collect()
}

impl World {
    pub(super) fn new(setup: Setup, rng: &mut Rng) -> World {
        let count = setup.nodes;
        let watchers = (0..count.min(3)).map(|id| Watcher {
            node: NodeId(id as u64),
            memory: Life(1),
        });
        let token = Token {
            term: Term(1),
            initiator: NodeId(0),
            life: Life(1),
            revision: 0,
        };
        let set = Set::first(token, watchers.collect());
        let known = Known {
            token,
            set: Some(set),
        };
        let node = |id| Node::new(id, count, setup.rules, known);
        let partitions = setup.faults == Faults::Partitions;
        World {
            setup,
            now: 0,
            nodes: (0..count).map(node).collect(),
            wire: Vec::new(),
            part: vec![0; count],
            cut: vec![vec![false; count]; count],
            works: Vec::new(),
            oracle: Oracle::new(count, partitions, VERDICT_LAG),
            broken: None,
            started: 0,
            lines: 0,
            changes: 0,
            calm: false,
            log: None,
            weights: draw_weights(rng),
            rides: rng.below(2) == 0,
            restless: rng.below(4) == 0,
        }
    }

    fn lacks(&self, part: Ablation) -> bool {
        self.setup.rules.lack(part)
    }

    fn tell(&mut self, what: impl FnOnce() -> String) {
        let now = self.now;
        if let Some(log) = &mut self.log {
            log.push(format!("{now:>8} {}", what()));
        }
    }

    fn fail(&mut self, what: Option<&'static str>) {
        self.broken = self.broken.or(what);
    }

    /// The wall clock that terms follow. With fixed members tokens are ordered by the quorum alone.
    fn wall(&self) -> u64 {
        if self.setup.strict {
            0
        } else {
            self.now / TICK
        }
    }

    fn is_linked(&self, from: usize, to: usize) -> bool {
        self.part[from] == self.part[to] && !self.cut[from][to]
    }

    fn works_of(&self, node: usize) -> bool {
        let life = self.nodes[node].life.0;
        let mut works = self.works.iter();
        works.any(|w| w.node == node && w.life == life)
    }

    fn send(&mut self, from: usize, to: usize, msg: Msg) {
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

    fn receive(&mut self, packet: Packet) {
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
            // What is asked of a node is judged by what it knew before.
            let asks = matches!(msg, Msg::Renew(_) | Msg::Close(..));
            let token = (!asks).then_some(claim.token);
            self.nodes[to].learn(token, claim.set, closed);
            self.note_lines(to);
            self.react(to);
        }
        let now = self.nodes[to].clock;
        match msg {
            Msg::Renew(renew) => self.on_renew(from, to, now, renew),
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

    fn on_renew(&mut self, from: usize, to: usize, now: Instant, renew: Renew) {
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
                    // The claim of whoever asks rides on this message.
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

    fn on_close(
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

    fn note_lines(&mut self, at: usize) {
        if let Some(set) = self.nodes[at].set() {
            self.oracle.note_heard(self.now, at, set.rank.line);
        }
    }

    /// A node heard of something: a leader of a lesser line, or by a smaller token, gives up.
    fn react(&mut self, at: usize) {
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

    /// A leader in office meets a greater token. If nobody is behind it, it claims again above it.
    fn outranked(&mut self, at: usize, token: Token) {
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

    /// Gives up a lease: the work is told to stop, and the lease is released when it ended.
    fn stop(&mut self, at: usize) {
        let life = self.nodes[at].life.0;
        for work in &mut self.works {
            work.stops |= work.node == at && work.life == life;
        }
        self.lease(at, |l, now, out| l.stop(now, out));
        self.after_work(at);
    }

    /// If nothing is left of the work of a node that gives up, it releases.
    fn after_work(&mut self, at: usize) {
        if !self.works_of(at) {
            self.lease(at, |l, _, out| l.on_stopped(out));
        }
    }

    fn lease(&mut self, at: usize, f: impl FnOnce(&mut Lease, Instant, &mut Vec<Output>)) {
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

    fn outputs(&mut self, at: usize, out: Vec<Output>) {
        for output in out {
            match output {
                Output::Renew(to, renew) => self.send(at, to.0 as usize, Msg::Renew(renew)),
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

    /// Sends what is due at one node.
    fn run_timers(&mut self, at: usize) {
        if !self.nodes[at].up {
            return;
        }
        self.inform(at);
        self.lease(at, |l, now, out| l.on_timer(now, RTO, out));
        self.close_on(at);
    }

    /// After a start in default mode: everybody that is not down has to answer.
    fn inform(&mut self, at: usize) {
        let node = &mut self.nodes[at];
        if !node.watch.is_uninformed() {
            return;
        }
        let others = |id: &usize| *id != at && !node.down[*id] && !node.informed[*id];
        let missing: Vec<usize> = (0..node.down.len()).filter(others).collect();
        if missing.is_empty() {
            node.watch.on_informed();
        }
        let life = node.life;
        for to in missing {
            self.send(at, to, Msg::Exchange(life));
        }
    }

    /// Goes on closing, or begins a new line when all answered.
    fn close_on(&mut self, at: usize) {
        let count = self.nodes.len();
        let by_quorum = !self.lacks(Ablation::StrictQuorum);
        let node = &mut self.nodes[at];
        let Some(closing) = &mut node.closing else {
            return;
        };
        let (token, rank) = (closing.token(), closing.set());
        let mut ask = Vec::new();
        let watchers = node.closes_set.filter(|_| self.setup.strict && by_quorum);
        let progress = match watchers {
            Some(set) => {
                let ids = set.all().map(|w| w.node);
                closing.on_timer(node.clock, ids, Need::Quorum(&set), RTO, &mut ask)
            }
            None => {
                let members = (0..count).filter(|id| !node.down[*id]);
                let ids = members.map(|id| NodeId(id as u64));
                let need = match self.setup.strict {
                    true => Need::Count(count / 2 + 1),
                    false => Need::All,
                };
                closing.on_timer(node.clock, ids, need, RTO, &mut ask)
            }
        };
        let holder = node.holder();
        for to in ask {
            self.send(at, to.0 as usize, Msg::Close(holder, token, rank));
        }
        if progress == Progress::Ready && self.nodes[at].lease.is_none() {
            self.begin_line(at);
        }
    }

    fn begin_line(&mut self, at: usize) {
        let wall = self.wall();
        let by_quorum = !self.lacks(Ablation::StrictQuorum);
        let node = &mut self.nodes[at];
        let (Some(_), answered) = (node.closing.take(), core::mem::take(&mut node.closed_by))
        else {
            return;
        };
        let living = answered.iter().filter(|w| !node.down[w.node.0 as usize]);
        let watchers: Watchers = living.copied().take(3).collect();
        if watchers.is_empty() {
            return;
        }
        let token = node.fresh_token(wall);
        let set = match node.closes_set.filter(|_| self.setup.strict && by_quorum) {
            Some(set) => set.reopened(token),
            None => Set::first(token, watchers),
        };
        node.learn(Some(token), Some(set), None);
        let (holder, seq, now) = (node.holder(), node.seq, node.clock);
        node.lease = Some(Lease::new(
            self.setup.rules,
            holder,
            token,
            set,
            SPAN,
            seq,
            now,
        ));
        self.lines += 1;
        self.oracle
            .note_line(token, self.now.saturating_sub(VERDICT_LAG), at);
        self.note_lines(at);
        self.tell(|| format!("{at} begins the line of {token}"));
        self.run_timers(at);
    }

    /// Whether somebody that this node can reach stands, or closes: asked before standing in the calm phase.
    fn others_stand(&self, at: usize) -> bool {
        let mut nodes = self.nodes.iter();
        nodes.any(|n| {
            let active = n.lease.is_some() || n.closing.is_some();
            n.id != at && n.up && self.is_linked(n.id, at) && active
        })
    }

    fn stand(&mut self, at: usize) {
        let wall = self.wall();
        let waits = self.calm && self.others_stand(at);
        let node = &mut self.nodes[at];
        let busy = node.lease.is_some() || node.closing.is_some() || waits;
        let Some(set) = node.set().filter(|_| node.up && !busy) else {
            return;
        };
        if node.clock < node.back_until {
            return;
        }
        let token = node.fresh_token(wall);
        node.learn(Some(token), None, None);
        let (holder, seq, now) = (node.holder(), node.seq, node.clock);
        node.lease = Some(Lease::new(
            self.setup.rules,
            holder,
            token,
            set,
            SPAN,
            seq,
            now,
        ));
        self.tell(|| format!("{at} stands by {token}"));
        self.run_timers(at);
    }

    fn close(&mut self, at: usize) {
        let wall = self.wall();
        // Members are fixed: a quorum of the watchers may close at any time. Only calm nodes wait for a reason.
        let fixed = self.setup.strict && !self.lacks(Ablation::StrictQuorum);
        let any_time = fixed && self.restless && !self.calm;
        let waits = self.calm && self.others_stand(at);
        let node = &mut self.nodes[at];
        let valid = node
            .lease
            .as_ref()
            .is_some_and(|l| l.valid(node.clock).is_some());
        let ready = node.watch.is_ready(node.clock) && node.clock >= node.back_until;
        let idle = node.up && ready && !valid && !waits && node.closing.is_none();
        // One that lost its disk has to hear of the watchers first.
        let blind = fixed && node.set().is_none();
        if !idle || blind || !any_time && !node.has_lost_quorum() {
            return;
        }
        let token = node.fresh_token(wall);
        let rank = node.set().map(|s| s.rank);
        node.closed_by.clear();
        node.closes_set = node.set();
        node.closing = Some(Closing::new(
            self.setup.rules,
            token,
            rank,
            Some(SPAN),
            node.clock,
        ));
        self.tell(|| format!("{at} closes for {token}"));
        self.run_timers(at);
    }

    fn start_work(&mut self, at: usize) {
        let node = &self.nodes[at];
        let Some(lease) = node.lease.as_ref().filter(|_| node.up) else {
            return;
        };
        let Some((token, end)) = lease.valid(node.clock) else {
            return;
        };
        // A client that ended and stands again: its former work has to be over.
        let works = self.works_of(at) && !self.lacks(Ablation::StandAgain);
        if end.since(node.clock) <= GRACE || works {
            return;
        }
        let work = Work {
            node: at,
            life: node.life.0,
            token,
            line: lease.set().rank.line,
            end,
            stops: false,
        };
        self.tell(|| format!("{at} works by {token} until {end}"));
        self.works.push(work);
        self.started += 1;
        let wrong = self.oracle.start(&work);
        self.fail(wrong);
        self.look();
    }

    fn end_work(&mut self, at: usize) {
        let work = self.works.swap_remove(at);
        self.after_work(work.node);
    }

    fn change(&mut self, at: usize, rng: &mut Rng) {
        let mut ids: Vec<usize> = (0..self.nodes.len()).collect();
        rng.shuffle(&mut ids);
        let size = if rng.below(4) == 0 { 1 } else { 3 };
        let watchers: Watchers = ids[..size.min(ids.len())]
            .iter()
            .map(|id| self.nodes[*id].watch.me())
            .collect();
        self.lease(at, |l, now, out| {
            l.change(now, watchers, SPAN, out);
        });
    }

    /// An agent crashes; its work runs on under its guard, unless the whole host does.
    fn crash(&mut self, at: usize, host: bool) {
        if self.nodes[at].up {
            self.nodes[at].up = false;
            if host {
                self.works.retain(|w| w.node != at);
            }
            self.tell(|| format!("{at} crashes, with its work: {host}"));
        }
    }

    pub(super) fn restart(&mut self, at: usize, keep: bool) {
        let exchange = !self.setup.strict;
        self.nodes[at].restart(self.setup.rules, keep, exchange);
        self.oracle.forget(at);
        self.note_lines(at);
        self.tell(|| format!("{at} starts again, with its disk: {keep}"));
    }

    /// Whether so many watchers lost their disks that only an operator can help, where members are fixed.
    pub(super) fn is_hopeless(&self) -> bool {
        let sets = self.nodes.iter().filter_map(Node::set);
        let Some(set) = sets.max_by_key(|s| s.rank) else {
            return self.setup.strict;
        };
        let lost = |w: &Watcher| self.nodes[w.node.0 as usize].watch.me() != *w;
        self.setup.strict && set.lost(lost)
    }

    pub(super) fn heal(&mut self) {
        self.part.fill(0);
        self.cut.iter_mut().for_each(|row| row.fill(false));
    }

    fn look(&mut self) {
        let wrong = self.oracle.look(self.now, &self.works);
        self.fail(wrong);
    }

    /// Time passes, at every node by its own clock.
    pub(super) fn tick(&mut self, rng: &mut Rng) {
        self.now += TICK;
        for node in &mut self.nodes {
            let step = TICK * u64::from(9 + rng.below(3)) / 10;
            node.clock = node.clock + Duration::from_micros(step);
        }
        let count = self.nodes.len();
        for a in 0..count {
            for b in 0..count {
                if self.part[a] != self.part[b] {
                    self.oracle.note_apart(self.now, a, b);
                }
                let lag = self.oracle.apart(a, b).map_or(0, |at| at + VERDICT_LAG);
                if self.nodes[b].up && self.now > lag {
                    self.nodes[a].down[b] = false;
                }
            }
        }
        let over = |w: &Work, nodes: &[Node]| nodes[w.node].clock >= w.end;
        while let Some(at) = self.works.iter().position(|w| over(w, &self.nodes)) {
            self.end_work(at);
        }
        for at in 0..count {
            self.run_timers(at);
        }
        self.look();
    }

    fn deliver_all(&mut self) {
        for packet in core::mem::take(&mut self.wire) {
            if self.is_linked(packet.from, packet.to) {
                if !matches!(packet.msg, Msg::Claim) {
                    self.tell(|| format!("{} -> {}: {:?}", packet.from, packet.to, packet.msg));
                }
                self.receive(packet);
            }
        }
    }

    /// A tick in which all messages arrive, and everybody does what it wants to do.
    pub(super) fn calm_tick(&mut self, rng: &mut Rng) {
        self.calm = true;
        let count = self.nodes.len();
        let (at, other) = (
            rng.below(count as u32) as usize,
            rng.below(count as u32) as usize,
        );
        self.verdict(at, other);
        for at in 0..count {
            for to in (0..count).filter(|to| *to != at) {
                if self.nodes[at].up {
                    self.send(at, to, Msg::Claim);
                    self.deliver_all();
                }
            }
            self.stand(at);
            self.close(at);
            self.deliver_all();
            self.deliver_all();
        }
        for at in 0..count {
            self.run_timers(at);
            self.deliver_all();
            self.deliver_all();
            self.start_work(at);
        }
        self.tick(rng);
        self.deliver_all();
        self.calm = false;
    }

    fn verdict(&mut self, at: usize, other: usize) {
        let gone = !self.nodes[other].up || self.part[at] != self.part[other];
        if at != other && gone && self.nodes[at].up {
            // Its part of the group hears of it.
            for id in 0..self.nodes.len() {
                if id != other && self.part[id] == self.part[at] {
                    self.nodes[id].down[other] = true;
                }
            }
            self.tell(|| format!("{at} holds {other} to be down"));
        }
    }

    /// Something happens.
    pub(super) fn step(&mut self, rng: &mut Rng) {
        let count = self.nodes.len() as u32;
        let (at, other) = (rng.below(count) as usize, rng.below(count) as usize);
        let kind = by_weight(rng, &self.weights, |k| k.1).map(|k| k.0);
        match kind.unwrap_or(Kind::Tick) {
            Kind::Tick => self.tick(rng),
            Kind::Deliver => self.deliver(rng),
            Kind::Lose => {
                if !self.wire.is_empty() {
                    let lost = rng.below(self.wire.len() as u32) as usize;
                    self.wire.swap_remove(lost);
                }
            }
            Kind::RunTimers => self.run_timers(at),
            Kind::Stand => self.stand(at),
            Kind::StartWork => self.start_work(at),
            Kind::EndWork => {
                if !self.works.is_empty() {
                    let at = rng.below(self.works.len() as u32) as usize;
                    self.end_work(at);
                }
            }
            Kind::Change => self.change(at, rng),
            Kind::Stop => self.stop(at),
            Kind::Crash => self.crash(at, rng.below(2) == 0),
            Kind::Restart => {
                let keep = rng.below(4) != 0;
                if !self.nodes[at].up {
                    self.restart(at, keep);
                }
            }
            Kind::Links => self.shake_links(rng),
            Kind::Verdict => self.verdict(at, other),
            Kind::Close => self.close(at),
            Kind::Gossip => {
                if self.nodes[at].up && at != other {
                    self.send(at, other, Msg::Claim);
                }
            }
        }
        self.look();
    }

    fn deliver(&mut self, rng: &mut Rng) {
        if self.wire.is_empty() {
            return;
        }
        let at = rng.below(self.wire.len() as u32) as usize;
        let packet = match rng.below(12) {
            0 => self.wire[at].clone(),
            _ => self.wire.swap_remove(at),
        };
        if self.is_linked(packet.from, packet.to) {
            self.tell(|| format!("{} -> {}: {:?}", packet.from, packet.to, packet.msg));
            self.receive(packet);
        }
    }

    fn shake_links(&mut self, rng: &mut Rng) {
        match self.setup.faults {
            Faults::None => {}
            _ if rng.below(2) == 0 => {
                self.heal();
                self.tell(|| "links heal".into());
            }
            Faults::OneWay => {
                let count = self.nodes.len() as u32;
                let (a, b) = (rng.below(count) as usize, rng.below(count) as usize);
                self.cut[a][b] = a != b;
                self.tell(|| format!("{a} no longer reaches {b}"));
            }
            Faults::Partitions => {
                for part in &mut self.part {
                    *part = rng.below(2) as u8;
                }
                let part = self.part.clone();
                self.tell(|| format!("parts {part:?}"));
            }
        }
    }
}
