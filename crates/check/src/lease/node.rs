//! One node of the model: the product's state machines, and the state that an election would keep around them.

use consort_proto::election::Token;
use consort_proto::lease::{
    Closing, Holder, Lease, Output, Record, Rules, Set, Told, Watch, Watcher,
};
use consort_proto::{Instant, Life, NodeId, Term};
use core::time::Duration;

/// Duration of every lease (D), by the clock of the node that counts it.
pub(super) const SPAN: Duration = Duration::from_millis(600);
/// Work is told to stop this long before its lease ends, and starts only with more than this left.
pub(super) const GRACE: Duration = Duration::from_millis(150);
/// Retransmission timeout.
pub(super) const RTO: Duration = Duration::from_millis(60);

/// The greatest claim a node knows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Known {
    pub(super) token: Token,
    pub(super) set: Option<Set>,
}

/// What a node stores.
#[derive(Clone, Copy, Debug)]
pub(super) struct Disk {
    /// The life in which it was made.
    pub(super) memory: Life,
    pub(super) record: Record,
    pub(super) known: Known,
}

#[derive(Clone, Debug)]
pub(super) struct Node {
    pub(super) id: usize,
    pub(super) up: bool,
    pub(super) life: Life,
    pub(super) clock: Instant,
    pub(super) disk: Disk,
    pub(super) watch: Watch,
    pub(super) lease: Option<Lease>,
    pub(super) closing: Option<Closing>,
    /// The greatest set it knew when it started to close.
    pub(super) closes_set: Option<Set>,
    /// Members that answered its request to close, as watchers.
    pub(super) closed_by: Vec<Watcher>,
    /// The last sequence number of a renewal.
    pub(super) seq: u64,
    /// It neither campaigns nor closes before this time.
    pub(super) back_until: Instant,
    /// The nodes it considers down.
    pub(super) down: Vec<bool>,
    /// The nodes that answered its exchange after the start.
    pub(super) informed: Vec<bool>,
}

impl Node {
    pub(super) fn new(id: usize, count: usize, rules: Rules, known: Known) -> Node {
        let memory = Life(1);
        let watcher = Watcher {
            node: NodeId(id as u64),
            memory,
        };
        let mut watch = Watch::new(rules, watcher);
        watch.on_told(&told(known.set, None));
        Node {
            id,
            up: true,
            life: memory,
            // Clocks differ.
            clock: Instant::from_micros(1_000_000_000 * (id as u64 + 1)),
            disk: Disk {
                memory,
                record: *watch.record(),
                known,
            },
            watch,
            lease: None,
            closing: None,
            closes_set: None,
            closed_by: Vec::new(),
            seq: 0,
            back_until: Instant::ZERO,
            down: vec![false; count],
            informed: vec![true; count],
        }
    }

    pub(super) fn node_id(&self) -> NodeId {
        NodeId(self.id as u64)
    }

    pub(super) fn holder(&self) -> Holder {
        Holder {
            node: self.node_id(),
            life: self.life,
        }
    }

    /// Restarts in a later life.
    pub(super) fn restart(&mut self, rules: Rules, keep: bool, exchange: bool) {
        self.life = Life(self.life.0 + 1);
        self.up = true;
        if !keep {
            self.disk = Disk {
                memory: self.life,
                record: Record::default(),
                known: NOTHING,
            };
        }
        let me = Watcher {
            node: self.node_id(),
            memory: self.disk.memory,
        };
        self.watch = Watch::restore(rules, me, self.disk.record, self.clock, exchange);
        self.lease = None;
        self.closing = None;
        self.closed_by.clear();
        self.seq = 0;
        self.back_until = Instant::ZERO;
        self.down.fill(false);
        self.informed.fill(false);
    }

    /// Stores the watcher's record, in the same step and before anything is sent.
    pub(super) fn store(&mut self) {
        self.disk.record = *self.watch.record();
    }

    /// The greatest set it knows.
    pub(super) fn set(&self) -> Option<Set> {
        let recorded = self.watch.record().set;
        let told = self.disk.known.set;
        match (recorded, told) {
            (Some(a), Some(b)) => Some(if a.rank >= b.rank { a } else { b }),
            (a, b) => a.or(b),
        }
    }

    /// The greatest token it knows.
    pub(super) fn token(&self) -> Token {
        let record = self.watch.record();
        let known = Some(self.disk.known.token);
        known
            .max(record.token)
            .max(record.closed)
            .unwrap_or(NOTHING.token)
    }

    /// A token above every one it knows, and not below the wall clock if there is one.
    pub(super) fn fresh_token(&self, wall: u64) -> Token {
        Token {
            term: Term((self.token().term.0 + 1).max(wall)),
            initiator: self.node_id(),
            life: self.life,
            revision: 0,
        }
    }

    /// Merges a claim.
    pub(super) fn learn(&mut self, token: Option<Token>, set: Option<Set>, closed: Option<Token>) {
        let known = &mut self.disk.known;
        if token.is_some_and(|t| t > known.token) {
            known.token = token.unwrap_or(known.token);
        }
        if set.map(|s| s.rank) > known.set.map(|s| s.rank) {
            known.set = set;
        }
        if closed.is_some() && self.watch.on_told(&told(None, closed)) {
            self.store();
        }
    }

    /// Whether no quorum of the greatest set is available: too many watchers are down, or cannot grant because
    /// their line is closed or their memory is a different one.
    pub(super) fn has_lost_quorum(&self) -> bool {
        let Some(set) = self.set() else { return true };
        let closed = self.watch.record().closed;
        if closed.is_some_and(|c| set.rank.line < c) {
            return true;
        }
        let is_down = |id: NodeId| self.down[id.0 as usize];
        let own = self.watch.me();
        let replaced = |w: &Watcher| w.node == own.node && *w != own;
        match &self.lease {
            Some(lease) if lease.set().rank == set.rank => lease.is_lost(is_down),
            _ => set.lost(|w| is_down(w.node) || replaced(w)),
        }
    }

    /// Calls into its lease, if there is one that has not ended.
    pub(super) fn with_lease(
        &mut self,
        f: impl FnOnce(&mut Lease, Instant, &mut Vec<Output>),
    ) -> Vec<Output> {
        let mut out = Vec::new();
        if let Some(lease) = &mut self.lease {
            f(lease, self.clock, &mut out);
        }
        out
    }
}

fn told(set: Option<Set>, closed: Option<Token>) -> Told {
    Told {
        token: None,
        set,
        closed,
        span: SPAN,
    }
}

/// The knowledge of a node that has not heard of anything.
pub(super) const NOTHING: Known = Known {
    token: Token {
        term: Term(0),
        initiator: NodeId(u64::MAX),
        life: Life(0),
        revision: 0,
    },
    set: None,
};
