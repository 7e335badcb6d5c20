//! Actions of a node: timers, campaigning, closing, work, changes of watchers, crash and restart.

use super::{Msg, VERDICT_LAG, World};
use crate::lease::node::{GRACE, Node, RTO, SPAN};
use crate::lease::oracle::Work;
use consort_proto::lease::{Ablation, Closing, Lease, Need, Progress, Set, Watcher, Watchers};
use consort_proto::{NodeId, Rng};

impl World {
    /// Sends what is due at one node.
    pub(super) fn run_timers(&mut self, at: usize) {
        if !self.nodes[at].up {
            return;
        }
        self.inform(at);
        self.lease(at, |l, now, out| l.on_timer(now, RTO, out));
        self.close_on(at);
    }

    /// After a start in default mode: every node that is not down has to answer.
    pub(super) fn inform(&mut self, at: usize) {
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

    /// Continues closing, or starts a new line when all have answered.
    pub(super) fn close_on(&mut self, at: usize) {
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
        match progress {
            Progress::Ready if self.nodes[at].lease.is_none() => self.begin_line(at),
            Progress::Vain => {
                let node = &mut self.nodes[at];
                node.closing = None;
                node.back_until = node.back_until.max(node.clock + SPAN * 4);
                self.tell(|| format!("{at} asks in vain"));
            }
            _ => {}
        }
    }

    pub(super) fn begin_line(&mut self, at: usize) {
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

    /// Whether a reachable node campaigns or closes: checked before campaigning in the calm phase.
    pub(super) fn others_stand(&self, at: usize) -> bool {
        let mut nodes = self.nodes.iter();
        nodes.any(|n| {
            let active = n.lease.is_some() || n.closing.is_some();
            n.id != at && n.up && self.is_linked(n.id, at) && active
        })
    }

    pub(super) fn stand(&mut self, at: usize) {
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

    pub(super) fn close(&mut self, at: usize) {
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
        let idle =
            node.up && self.deaf != Some(at) && ready && !valid && !waits && node.closing.is_none();
        // A node that lost its disk has to learn of the watchers first.
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

    pub(super) fn start_work(&mut self, at: usize) {
        let node = &self.nodes[at];
        let Some(lease) = node.lease.as_ref().filter(|_| node.up) else {
            return;
        };
        let Some((token, end)) = lease.valid(node.clock) else {
            return;
        };
        // A client that ended and campaigns again: its former work must have ended.
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

    pub(super) fn end_work(&mut self, at: usize) {
        let work = self.works.swap_remove(at);
        self.after_work(work.node);
    }

    pub(super) fn change(&mut self, at: usize, rng: &mut Rng) {
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

    /// An agent crashes; its work continues under its guard, unless the whole host crashes.
    pub(super) fn crash(&mut self, at: usize, host: bool) {
        if self.nodes[at].up {
            self.nodes[at].up = false;
            if host {
                self.works.retain(|w| w.node != at);
            }
            self.tell(|| format!("{at} crashes, with its work: {host}"));
        }
    }

    pub(in crate::lease) fn restart(&mut self, at: usize, keep: bool) {
        let exchange = !self.setup.strict;
        self.nodes[at].restart(self.setup.rules, keep, exchange);
        self.oracle.forget(at);
        self.note_lines(at);
        self.tell(|| format!("{at} starts again, with its disk: {keep}"));
    }

    /// From now on a node cannot receive: one that acts, or else a random one.
    pub(in crate::lease) fn deafen(&mut self, rng: &mut Rng) {
        let acts = |n: &&Node| n.lease.as_ref().is_some_and(|l| l.valid(n.clock).is_some());
        let leader = self.nodes.iter().find(acts).map(|n| n.id);
        let any = rng.below(self.nodes.len() as u32) as usize;
        let node = leader.unwrap_or(any);
        self.deaf = Some(node);
        self.tell(|| format!("{node} no longer receives"));
    }

    /// Whether so many watchers lost their disks, or are deaf, that only an operator can help, with fixed members.
    pub(in crate::lease) fn is_hopeless(&self) -> bool {
        let sets = self.nodes.iter().filter_map(Node::set);
        let Some(set) = sets.max_by_key(|s| s.rank) else {
            return self.setup.strict;
        };
        let lost = |w: &Watcher| {
            let node = w.node.0 as usize;
            self.nodes[node].watch.me() != *w || self.deaf == Some(node)
        };
        self.setup.strict && set.lost(lost)
    }

    pub(in crate::lease) fn heal(&mut self) {
        self.part.fill(0);
        self.cut.iter_mut().for_each(|row| row.fill(false));
    }

    pub(super) fn look(&mut self) {
        let wrong = self.oracle.look(self.now, &self.works);
        self.fail(wrong);
    }
}
