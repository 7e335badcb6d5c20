//! The group of the model: nodes, messages in flight, links and work.

mod act;
mod message;
mod step;

use super::node::{Known, Node};
use super::oracle::{Oracle, Work};
use consort_proto::election::Token;
use consort_proto::lease::{
    Ablation, Ack, Extend, Holder, Rank, Refusal, Renew, Rules, Set, Watcher,
};
use consort_proto::{Life, NodeId, Rng, Term};
use core::time::Duration;

/// Real time that passes in a tick, in microseconds: a sixth of a lease.
pub(super) const TICK: u64 = 100_000;
/// Most messages in flight; more are lost.
const WIRE_MAX: usize = 24;
/// How long a verdict may outlast the partition that caused it.
pub(super) const VERDICT_LAG: u64 = 12 * TICK;

/// Faults other than loss, duplication, delay and crashes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Faults {
    /// Links fail in one direction, and verdicts about members do not matter.
    OneWay,
    /// The same, and in the calm phase one node cannot receive for good: the leader, if there is one.
    Deaf,
    /// None; verdicts are true.
    None,
    /// The group is partitioned and heals, and verdicts follow with delay.
    Partitions,
}

/// Parameters of a group.
#[derive(Clone, Copy, Debug)]
pub struct Setup {
    /// Number of nodes.
    pub nodes: usize,
    /// Nobody acts without a quorum of watchers that stored the lease. Otherwise lost watchers are replaced.
    pub strict: bool,
    /// Faults that may occur.
    pub faults: Faults,
    /// The rules, or all but one.
    pub rules: Rules,
}

#[derive(Clone, Debug)]
enum Msg {
    Renew(Renew),
    Extend(Extend),
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
    /// What the sender knew: part of every message, or in some walks only of messages that consist of nothing else.
    known: Option<(Known, Option<Token>)>,
}

pub(super) struct World {
    pub(super) setup: Setup,
    pub(super) now: u64,
    pub(super) nodes: Vec<Node>,
    wire: Vec<Packet>,
    /// The part of the partitioned group that each node is in.
    part: Vec<u8>,
    /// Links that fail in this direction.
    cut: Vec<Vec<bool>>,
    /// The node that cannot receive for good.
    pub(super) deaf: Option<usize>,
    pub(super) works: Vec<Work>,
    pub(super) oracle: Oracle,
    pub(super) broken: Option<&'static str>,
    pub(super) started: u64,
    pub(super) lines: u64,
    pub(super) changes: u64,
    /// In the calm phase candidates ask before they campaign.
    pub(super) calm: bool,
    pub(super) log: Option<Vec<String>>,
    /// How often each kind of step is drawn in this walk.
    weights: Vec<(step::Kind, u32)>,
    /// Whether everything a node sends carries its knowledge.
    rides: bool,
    /// With fixed members, whether nodes close lines without a reason.
    restless: bool,
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
            deaf: None,
            works: Vec::new(),
            oracle: Oracle::new(count, partitions, VERDICT_LAG),
            broken: None,
            started: 0,
            lines: 0,
            changes: 0,
            calm: false,
            log: None,
            weights: step::draw_weights(rng),
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
        self.part[from] == self.part[to] && !self.cut[from][to] && self.deaf != Some(to)
    }

    fn works_of(&self, node: usize) -> bool {
        let life = self.nodes[node].life.0;
        let mut works = self.works.iter();
        works.any(|w| w.node == node && w.life == life)
    }
}
