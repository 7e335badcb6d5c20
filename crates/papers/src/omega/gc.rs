//! The leader election of Gómez-Calzado et al. (2013) as sections 3.2.2 and 5.3.1 of the thesis describe it; its
//! listing was not available. A node alone asks to join, a leader announces the size of its component, and the
//! leader of the larger one wins. A leader counts the nodes that joined; nodes that came with their own component
//! are not among them.

use super::beacon::{jittered, phase};
use super::{Config, Msg, OmegaCx, Timer, next_seq};
use alloc::collections::{BTreeMap, BTreeSet};
use consort_proto::{NodeId, To};
use core::time::Duration;

/// The state of a node.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct Gc {
    me: NodeId,
    start_ms: u32,
    component: BTreeSet<NodeId>,
    leader: NodeId,
    /// The last size that the leader announced.
    leader_size: u32,
    /// Timeout of the leader.
    leader_timeout: Duration,
    /// Timeouts of neighbours.
    timeouts: BTreeMap<NodeId, Duration>,
    /// Sequence number of its own messages.
    seq: u32,
    /// By node: the last join, and the last message as a leader.
    joins: BTreeMap<NodeId, u32>,
    beats: BTreeMap<NodeId, u32>,
}

impl Gc {
    pub(super) fn new(me: NodeId, config: &Config) -> Gc {
        Gc {
            me,
            start_ms: 0,
            component: BTreeSet::from([me]),
            leader: me,
            leader_size: 1,
            leader_timeout: config.silence_first,
            timeouts: BTreeMap::new(),
            seq: 0,
            joins: BTreeMap::new(),
            beats: BTreeMap::new(),
        }
    }

    pub(super) fn leader(&self) -> NodeId {
        self.leader
    }

    pub(super) fn component(&self) -> &BTreeSet<NodeId> {
        &self.component
    }

    fn leads(&self) -> bool {
        self.leader == self.me
    }

    fn size(&self) -> u32 {
        match self.leads() {
            true => self.component.len() as u32,
            false => self.leader_size,
        }
    }

    pub(super) fn start(&mut self, cx: &mut OmegaCx<'_>, config: &Config) {
        self.start_ms = next_seq(cx.now, 0);
        let first = phase(cx.rng, config.beat_period);
        cx.set_timer(Timer::Tick, cx.now + first);
    }

    pub(super) fn tick(&mut self, cx: &mut OmegaCx<'_>, config: &Config) {
        let wait = jittered(cx.rng, config.beat_period, config.jitter_per_mille);
        cx.set_timer(Timer::Tick, cx.now + wait);
        if !self.leads() {
            return;
        }
        self.seq = next_seq(cx.now, self.seq);
        let (id, seq, size) = (self.me, self.seq, self.size());
        let msg = match size {
            1 => Msg::Join {
                id,
                start_ms: self.start_ms,
                nonce: seq,
            },
            _ => Msg::Leader { id, size, seq },
        };
        cx.send(To::Neighbors, msg);
    }

    pub(super) fn on_msg(
        &mut self,
        cx: &mut OmegaCx<'_>,
        config: &Config,
        links: &mut BTreeSet<NodeId>,
        from: NodeId,
        msg: Msg,
    ) {
        let missed = links.insert(from) && self.timeouts.contains_key(&from);
        if missed {
            // It was removed by mistake or has been away: it is a member again.
            self.component.insert(from);
        }
        let timeout = self.timeouts.entry(from).or_insert(config.silence_first);
        cx.set_timer(Timer::Silent(from), cx.now + *timeout);
        let (id, seen, seq) = match msg {
            Msg::Join { id, nonce, .. } => (id, &mut self.joins, nonce),
            Msg::Leader { id, seq, .. } => (id, &mut self.beats, seq),
            _ => return,
        };
        if id == self.me || seen.get(&id).is_some_and(|seen| *seen >= seq) {
            return;
        }
        seen.insert(id, seq);
        match msg {
            Msg::Join { start_ms, .. } => {
                let alone = self.leads() && self.component.len() == 1;
                self.component.insert(id);
                cx.send(To::Neighbors, msg);
                // Smaller is older.
                let theirs = (core::cmp::Reverse(start_ms), id);
                if alone && theirs > (core::cmp::Reverse(self.start_ms), self.me) {
                    self.follow(cx, id, 2);
                }
            }
            Msg::Leader { size, .. }
                if id == self.leader || (size, id) > (self.size(), self.leader) =>
            {
                self.component.insert(id);
                self.follow(cx, id, size);
                cx.send(To::Neighbors, msg);
            }
            _ => {}
        }
    }

    fn follow(&mut self, cx: &mut OmegaCx<'_>, leader: NodeId, size: u32) {
        self.leader = leader;
        self.leader_size = size;
        cx.set_timer(Timer::Leader, cx.now + self.leader_timeout);
    }

    /// The timeout was too short, or the leader is gone: the two cannot be distinguished (E29).
    pub(super) fn on_leader_silence(&mut self, config: &Config) {
        if !self.leads() {
            self.leader_timeout += config.silence_step;
            self.leader = self.me;
            self.component = BTreeSet::from([self.me]);
        }
    }

    pub(super) fn on_silence(&mut self, config: &Config, links: &mut BTreeSet<NodeId>, id: NodeId) {
        if links.remove(&id) {
            *self.timeouts.entry(id).or_insert(config.silence_first) += config.silence_step;
            self.component.remove(&id);
        }
    }

    /// The timeout of the leader.
    #[cfg(test)]
    pub(super) fn leader_timeout(&self) -> Duration {
        self.leader_timeout
    }
}
