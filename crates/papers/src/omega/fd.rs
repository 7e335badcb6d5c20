//! Flooding Degree, the thesis's variant of Vasudevan et al. that always has a leader (section 4.3.1): the node
//! with the most neighbours floods that it leads; a node that misses the floods leads itself.

use super::beacon::phase;
use super::{Config, Mode, Msg, OmegaCx, Timer, next_seq};
use alloc::collections::{BTreeMap, BTreeSet};
use consort_proto::{Instant, NodeId, To};

/// Number of neighbours and id; the greatest leads.
type Rank = (u32, NodeId);

/// The state of a node.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct Fd {
    me: NodeId,
    leader: Rank,
    last_heard: Instant,
    /// Sequence number of its own floods.
    seq: u32,
    /// By leader: the last flood that was forwarded.
    seen: BTreeMap<NodeId, u32>,
}

impl Fd {
    pub(super) fn new(me: NodeId) -> Fd {
        Fd {
            me,
            leader: (0, me),
            last_heard: Instant::ZERO,
            seq: 0,
            seen: BTreeMap::new(),
        }
    }

    pub(super) fn leader(&self) -> NodeId {
        self.leader.1
    }

    fn rank(&self, links: &BTreeSet<NodeId>) -> Rank {
        (links.len() as u32, self.me)
    }

    pub(super) fn start(&mut self, cx: &mut OmegaCx<'_>, config: &Config) {
        let first = phase(cx.rng, config.flood_period);
        cx.set_timer(Timer::Tick, cx.now + first);
    }

    pub(super) fn tick(&mut self, cx: &mut OmegaCx<'_>, config: &Config, links: &BTreeSet<NodeId>) {
        let mine = self.rank(links);
        let silent = cx.now.since(self.last_heard) >= config.flood_timeout;
        if self.leader() == self.me || mine > self.leader || silent {
            self.lead(cx, config, mine);
        } else {
            cx.set_timer(Timer::Tick, cx.now + config.flood_period);
        }
    }

    /// Becomes the leader and announces it.
    fn lead(&mut self, cx: &mut OmegaCx<'_>, config: &Config, rank: Rank) {
        self.leader = rank;
        self.seq = next_seq(cx.now, self.seq);
        let (value, id) = rank;
        let seq = self.seq;
        cx.send(To::Neighbors, Msg::Flood { id, value, seq });
        cx.set_timer(Timer::Tick, cx.now + config.flood_period);
        if config.mode == Mode::FdEvent {
            cx.cancel_timer(Timer::Leader);
        }
    }

    /// Reconsiders its rank, on its own tick or at once.
    pub(super) fn degree_changed(
        &mut self,
        cx: &mut OmegaCx<'_>,
        config: &Config,
        links: &BTreeSet<NodeId>,
    ) {
        let mine = self.rank(links);
        if config.mode == Mode::FdEvent && (self.leader() == self.me || mine > self.leader) {
            self.lead(cx, config, mine);
        }
    }

    /// Nothing was received from the leader for too long.
    pub(super) fn on_silence(
        &mut self,
        cx: &mut OmegaCx<'_>,
        config: &Config,
        links: &BTreeSet<NodeId>,
    ) {
        if config.mode == Mode::FdEvent && self.leader() != self.me {
            self.lead(cx, config, self.rank(links));
        }
    }

    /// Every flood is forwarded once, but not back to its sender alone. A flood of the current leader counts even
    /// if its rank is lower than before.
    pub(super) fn on_flood(
        &mut self,
        cx: &mut OmegaCx<'_>,
        config: &Config,
        links: &BTreeSet<NodeId>,
        from: NodeId,
        theirs: Rank,
        seq: u32,
    ) {
        let (value, id) = theirs;
        let old = self.seen.get(&id).is_some_and(|seen| *seen >= seq);
        if id == self.me || old {
            return;
        }
        self.seen.insert(id, seq);
        if !links.iter().all(|link| *link == from) {
            cx.send(To::Neighbors, Msg::Flood { id, value, seq });
        }
        let mine = self.rank(links);
        if id == self.leader() || (theirs > self.leader && theirs > mine) {
            self.leader = theirs;
            self.last_heard = cx.now;
            if config.mode == Mode::FdEvent {
                cx.set_timer(Timer::Leader, cx.now + config.flood_timeout);
                if mine > theirs {
                    self.lead(cx, config, mine);
                }
            }
        }
    }
}
