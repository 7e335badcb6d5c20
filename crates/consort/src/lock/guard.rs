//! A held lock: its validity, its quorum, and how its holder learns that it is lost.

use super::quorum::seconds;
use super::{LockName, Quorum};
use crate::clock::Deadline;
use crate::handle::Node;
use consort_fence::Token;
use consort_proto::mutex::{self, LockId, Ticket};
use core::fmt;
use core::time::Duration;
use std::sync::OnceLock;
use tokio::sync::{mpsc, oneshot, watch};

/// Why a lock is no longer held.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, thiserror::Error)]
#[non_exhaustive]
pub enum LostReason {
    /// The lease could not be renewed: too few members answered, or this process did not run for a while.
    #[error("the lease ran out: too few members answered, or this process stood still")]
    Expired,
    /// It was held for as long as `hold_max` allows.
    #[error("it was held for as long as hold_max allows")]
    HeldTooLong,
    /// An operator broke the lock.
    #[error("an operator broke the lock")]
    Broken,
    /// Another process used this node's life, so this node had to take a new one.
    #[error("this node had to take another life")]
    Reborn,
    /// The node leaves its group.
    #[error("the node leaves its group")]
    Leaving,
    /// The node was shut down, so nobody renews the lease.
    #[error("the node has stopped")]
    Stopped,
}

impl From<mutex::LostReason> for LostReason {
    fn from(loss: mutex::LostReason) -> LostReason {
        match loss {
            mutex::LostReason::Expired => LostReason::Expired,
            mutex::LostReason::HeldTooLong => LostReason::HeldTooLong,
            mutex::LostReason::Broken => LostReason::Broken,
            mutex::LostReason::Reborn => LostReason::Reborn,
            mutex::LostReason::Leaving => LostReason::Leaving,
        }
    }
}

/// A grant, as the task that owns the node publishes it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Hold {
    pub(crate) token: Token,
    pub(crate) until: Deadline,
    pub(crate) quorum: mutex::Quorum,
    /// Why the lock was lost, and the time at which its work must have stopped.
    pub(crate) lost: Option<(LostReason, Deadline)>,
}

/// The end of a request.
#[derive(Debug)]
pub(crate) struct End {
    pub(crate) lock: LockId,
    pub(crate) ticket: Ticket,
    /// Whether nobody confirms that the work has stopped.
    pub(crate) abandon: bool,
    pub(crate) done: Option<oneshot::Sender<()>>,
}

/// Ends a request when it is dropped. Each request sends at most one end, so the channel holds no more ends than there
/// are requests.
#[derive(Debug)]
pub(crate) struct Ending {
    ends: mpsc::UnboundedSender<End>,
    lock: LockId,
    ticket: Ticket,
    armed: bool,
}

impl Ending {
    pub(crate) fn new(node: &Node, lock: LockId, ticket: Ticket) -> Ending {
        Ending {
            ends: node.inner.ends.clone(),
            lock,
            ticket,
            armed: true,
        }
    }

    /// Drops the obligation to end the request, because it is already over.
    pub(crate) fn disarm(&mut self) {
        self.armed = false;
    }

    fn send(&mut self, abandon: bool, done: Option<oneshot::Sender<()>>) {
        if core::mem::take(&mut self.armed) {
            // A stopped node holds nothing.
            let _ = self.ends.send(End {
                lock: self.lock,
                ticket: self.ticket,
                abandon,
                done,
            });
        }
    }
}

impl Drop for Ending {
    fn drop(&mut self) {
        self.send(false, None);
    }
}

/// A lock that is held while [`is_valid`](LockGuard::is_valid) returns true. Dropping the guard releases the lock.
///
/// The node renews the lease by itself. If it cannot, [`lost`](LockGuard::lost) returns at
/// [`valid_until`](LockGuard::valid_until) by this process's own clock. It returns earlier if the node leaves, if the
/// lock was held for as long as `hold_max` allows, or if an operator breaks it. Stop the work that the lock protects,
/// then drop the guard: that tells the other nodes that the work has stopped. Nobody else gets the lock until
/// that happens or [`stop_by`](LockGuard::stop_by) has passed, if clocks run within the assumed drift.
///
/// A process can be paused between its last check of the clock and its next action. Where that matters, the resource
/// has to check the [`token`](LockGuard::token): see the crate `consort-fence`.
#[derive(Debug)]
pub struct LockGuard {
    ending: Ending,
    name: LockName,
    notice: Duration,
    quorum: Quorum,
    token: Token,
    hold: watch::Receiver<Hold>,
    /// Set once the lock is lost. A renewal that arrives after the lease expired by the clock does not count.
    over: OnceLock<LostReason>,
    /// Keeps the node running.
    _node: Node,
}

impl LockGuard {
    pub(super) fn new(
        node: Node,
        name: LockName,
        notice: Duration,
        quorum: Quorum,
        ending: Ending,
        hold: watch::Receiver<Hold>,
    ) -> LockGuard {
        let token = hold.borrow().token;
        LockGuard {
            ending,
            name,
            notice,
            quorum,
            token,
            hold,
            over: OnceLock::new(),
            _node: node,
        }
    }

    /// The lock.
    pub fn name(&self) -> &LockName {
        &self.name
    }

    /// The fencing token, greater than that of every earlier exclusive holder. Shared holders have the token of the
    /// last exclusive holder before them, or a greater one.
    pub fn token(&self) -> Token {
        self.token
    }

    /// The time until which the lock is certainly held; it moves on when the lease is renewed.
    pub fn valid_until(&self) -> std::time::Instant {
        self.hold.borrow().until.into_std()
    }

    /// How long after [`valid_until`](Self::valid_until) nobody else has the lock yet: the time to stop.
    pub fn notice(&self) -> Duration {
        self.notice
    }

    /// The time at which the work must have stopped once the lock is lost. Nobody else gets the lock before, unless
    /// this guard is dropped earlier. It is never earlier than the latest [`valid_until`](Self::valid_until) plus the
    /// notice.
    pub fn stop_by(&self) -> std::time::Instant {
        let hold = *self.hold.borrow();
        let by = hold.lost.map_or(hold.until.plus(self.notice), |(_, by)| by);
        by.into_std()
    }

    /// The quorum that the grant is based on.
    pub fn quorum(&self) -> &Quorum {
        &self.quorum
    }

    /// Whether the lock is held now. Check this right before any action that only a holder may do.
    pub fn is_valid(&self) -> bool {
        self.loss().is_none()
    }

    /// Why the lock is no longer held, if it is not.
    pub fn loss(&self) -> Option<LostReason> {
        if let Some(loss) = self.over.get() {
            return Some(*loss);
        }
        let hold = *self.hold.borrow();
        let loss = match hold.lost {
            Some((loss, _)) => loss,
            None if self.hold.has_changed().is_err() => LostReason::Stopped,
            None if hold.until.is_past() => LostReason::Expired,
            None => return None,
        };
        Some(*self.over.get_or_init(|| loss))
    }

    /// Waits until the lock is no longer held: it could not be renewed, an operator broke it, the node stops, or the
    /// lease expired by this process's own clock, even if the node's task is not running. A lost lock does not come
    /// back. The guard still has to be released or dropped once the work has stopped.
    pub async fn lost(&self) -> LostReason {
        let mut hold = self.hold.clone();
        loop {
            let until = hold.borrow_and_update().until;
            if let Some(loss) = self.loss() {
                return loss;
            }
            tokio::select! {
                () = until.passed() => {}
                // An error means that the node has stopped, which `loss` reports.
                _ = hold.changed() => {}
            }
        }
    }

    /// Waits for the next renewal, or for the loss of the lock.
    pub async fn renewed(&self) -> Result<std::time::Instant, LostReason> {
        let before = self.hold.borrow().until;
        let mut hold = self.hold.clone();
        tokio::select! {
            loss = self.lost() => Err(loss),
            Ok(now) = hold.wait_for(|h| h.until > before) => Ok(now.until.into_std()),
        }
    }

    /// Releases the lock. Returns when the other nodes have been told.
    pub async fn release(mut self) {
        let (done, told) = oneshot::channel();
        self.ending.send(false, Some(done));
        // An error means that the node has stopped.
        let _ = told.await;
    }

    /// Gives the lock up without telling the other nodes, because the protected work may continue, for example if the
    /// program that does it can no longer be reached. Others get the lock when the lease has expired.
    pub fn abandon(mut self) {
        self.ending.send(true, None);
    }
}

/// Displays what is guaranteed: `token …, valid 8.9 s, 3 of at most 5 nodes support it (…)`
impl fmt::Display for LockGuard {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let left = self.hold.borrow().until.left();
        let LockGuard { token, quorum, .. } = self;
        let left = match left {
            left if left > Duration::from_secs(86_400) => "without end".to_owned(),
            left => seconds(left),
        };
        write!(f, "token {token}, valid {left}, {quorum}")
    }
}
