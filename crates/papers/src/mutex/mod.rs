//! The locks of the thesis on churn-tolerant mutual exclusion (Camera), and of Ricart and Agrawala, on which it
//! builds. They reproduce its figures and show its mistakes; users get [another lock](consort_proto::mutex).
//!
//! A requester numbers its request, sends it to all nodes it lists and enters when all have agreed. A node that is
//! inside, or waits with a smaller request, agrees later. This is [`Mode::RicartAgrawala`]; it needs equal lists.
//! In [`Mode::CameraPaper`] an agreement names the requests agreed to before, so that two requesters that do not
//! list each other meet through a common friend; and a requester whose list may not be a majority asks along a
//! spanning tree of the lists (`tree`).
//!
//! Mistakes that are kept, each with a schedule in the tests: "unknown" means not listed now instead of not asked
//! (A1); a suspect need not agree (A2); a friend that crashes or restarts forgets (A3, A5); a list of only the live
//! nodes is a majority of itself (A4); a node ignores its own cache (A6); an agreement to an earlier request counts
//! (A7); caches are ignored on the slow path (A8).
//!
//! [`Mode::CameraRepaired`] changes nine rules: (1) unknown nodes are those that were not asked; (2) the origins in
//! the node's own cache are asked too; (3) agreements and releases belong to one request, old requests are ignored;
//! (4) caches count on every path; (5) waiting requests are answered in order of priority; (6) a repeated request
//! gets the same answer again; (7) nodes named by others are hints to membership, not members; (8) more than half
//! of the upper bound on N has to have agreed, checked again at every change; (9) the requester repeats unanswered
//! requests. It is still unsafe under A2, A5 and a bound that shrinks, and waits for ever for the origin of a
//! cached request that died unnoticed (B6).
//!
//! Numbers come from one counter per node, also for the first request of Ricart and Agrawala (B4). If
//! [`Config::retry`] is `None`, the transport retransmits lost messages (B8).

mod config;
pub mod desk;
mod fast;
mod msg;
#[cfg(test)]
mod tests;
mod tree;

pub use config::{Config, Mode, ParseModeError, Retry, SlowPath};
pub use msg::{Msg, News, Request, Tree};

use alloc::collections::{BTreeMap, BTreeSet};
use consort_proto::{Cx, Life, NodeId, Protocol, Sender};
use core::time::Duration;
use tree::Branch;

type MutexCx<'a> = Cx<'a, PaperMutex>;

/// What a lock may read of the layer below.
#[derive(Clone, Copy, Debug)]
pub struct View<'a> {
    /// The members that this node lists, in order; itself included or not.
    pub list: &'a [NodeId],
    /// Upper bound on the number of nodes; 0 where there is none.
    pub n_upper: u32,
}

impl View<'_> {
    fn lists(&self, id: NodeId) -> bool {
        self.list.binary_search(&id).is_ok()
    }
}

/// Orders to a node, and reports of membership.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Input {
    /// Request the lock; no effect unless the lock is idle. Requests of one node are queued above.
    Enter,
    /// Exit; no effect unless the lock is held.
    Exit,
    /// The list gained a node.
    MemberAdded(NodeId),
    /// The failure detector removed a node from the list, rightly or not.
    MemberRemoved(NodeId),
    /// The bound on the number of nodes changed.
    SizeChanged,
}

/// Deadlines.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Timer {
    /// Answers are missing.
    Retry,
}

/// Events that a node reports.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Event {
    /// The node is inside.
    Entered(Request),
    /// The node is outside again.
    Exited(Request),
    /// The request takes the slow path.
    Slow,
    /// There is a node that membership does not list (rule 7).
    Hint(NodeId),
}

/// State of a node.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum State {
    /// No request (NONE).
    Idle,
    /// Answers are missing.
    Wait,
    /// Inside the critical section.
    Held,
}

/// A request that is answered at the exit, and the ways by which it came.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct Deferred {
    req: Request,
    direct: bool,
    tree: bool,
}

/// The lock of one node.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct PaperMutex {
    config: Config,
    life: Life,
    state: State,
    max_seq_seen: u64,
    count: u32,
    mine: Option<Request>,
    /// Whether it takes the slow path.
    slow: bool,
    /// Nodes that still have to agree.
    pending: BTreeSet<NodeId>,
    /// Nodes that the request was sent to directly.
    asked: BTreeSet<NodeId>,
    /// Nodes that agreed.
    agreed: BTreeSet<NodeId>,
    deferred: BTreeMap<NodeId, Deferred>,
    /// By origin: the last request agreed to that may not have finished (RECENTLY_OKED).
    cache: BTreeMap<NodeId, Request>,
    /// Nodes that the protocol itself put on the list; as published only.
    learned: BTreeSet<NodeId>,
    /// By origin: its last request known to have finished. Repaired mode only.
    done: BTreeMap<NodeId, (Life, u32)>,
    /// By root: this node's part of the tree of its last request.
    branches: BTreeMap<NodeId, Branch>,
    /// The delay after the next repetition.
    wait: Duration,
}

impl PaperMutex {
    /// An idle lock without memory.
    pub fn new(config: Config, life: Life) -> PaperMutex {
        PaperMutex {
            config,
            life,
            state: State::Idle,
            max_seq_seen: 0,
            count: 0,
            mine: None,
            slow: false,
            pending: BTreeSet::new(),
            asked: BTreeSet::new(),
            agreed: BTreeSet::new(),
            deferred: BTreeMap::new(),
            cache: BTreeMap::new(),
            learned: BTreeSet::new(),
            done: BTreeMap::new(),
            branches: BTreeMap::new(),
            wait: Duration::ZERO,
        }
    }

    /// The state of this node.
    pub fn state(&self) -> State {
        self.state
    }

    /// The request that waits or is inside.
    pub fn request(&self) -> Option<Request> {
        self.mine
    }

    /// I10: only nodes that were asked are waited for.
    pub fn pending_were_asked(&self) -> bool {
        self.pending.is_subset(&self.asked)
    }
}

impl Protocol for PaperMutex {
    type Input = Input;
    type Msg = Msg;
    type Timer = Timer;
    type Event = Event;
    type View<'a> = View<'a>;

    fn on_input(&mut self, cx: &mut MutexCx<'_>, view: View<'_>, input: Input) {
        match input {
            Input::Enter => self.enter(cx, view),
            Input::Exit => self.exit(cx, view),
            Input::MemberAdded(_) | Input::SizeChanged => self.look_again(cx, view),
            Input::MemberRemoved(id) => {
                self.learned.remove(&id);
                self.pending.remove(&id);
                self.prune(cx, view, id);
                self.look_again(cx, view);
            }
        }
    }

    fn on_msg(&mut self, cx: &mut MutexCx<'_>, view: View<'_>, from: Sender, msg: Msg) {
        match msg {
            Msg::Request { req, asked } => self.on_request(cx, view, req, asked),
            Msg::Ok { req, cache, more } => self.on_ok(cx, view, from.id, req, &cache, &more),
            Msg::Release(req) => self.on_release(cx, req),
            other => self.on_tree(cx, view, from.id, other),
        }
    }

    fn on_timer(&mut self, cx: &mut MutexCx<'_>, _: View<'_>, Timer::Retry: Timer) {
        let Some(retry) = self.config.retry.filter(|_| self.state == State::Wait) else {
            return;
        };
        let pending = self.pending.clone();
        self.ask(cx, pending);
        self.wait = (self.wait * 3 / 2).min(retry.cap);
        cx.set_timer(Timer::Retry, cx.now + self.wait);
    }
}
