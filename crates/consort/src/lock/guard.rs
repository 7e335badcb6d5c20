//! A lock that is held: until when, on what grounds, and how its holder learns that it is over.

use super::grounds::seconds;
use super::{Grounds, LockName};
use crate::handle::Node;
use consort_fence::Token;
use consort_proto::mutex::{self, LockId, Ticket};
use core::fmt;
use core::time::Duration;
use std::sync::OnceLock;
use tokio::sync::{mpsc, oneshot, watch};
use tokio::time::{Instant, sleep_until};

/// Why a lock is no longer held.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, thiserror::Error)]
#[non_exhaustive]
pub enum Loss {
    /// The lease could not be renewed: too few members answered, or this process was stopped for a while.
    #[error("the lease ran out: too few members answered, or this process stood still")]
    Expired,
    /// It was held for as long as was asked for.
    #[error("it was held for as long as hold_max allows")]
    HeldTooLong,
    /// An operator broke the lock.
    #[error("an operator broke the lock")]
    Broken,
    /// Another process had this node's life, and it had to take a new one.
    #[error("this node had to take another life")]
    Reborn,
    /// The node leaves its group.
    #[error("the node leaves its group")]
    Leaving,
    /// The node was shut down: nobody renews the lease.
    #[error("the node has stopped")]
    Stopped,
}

impl From<mutex::Loss> for Loss {
    fn from(loss: mutex::Loss) -> Loss {
        match loss {
            mutex::Loss::Expired => Loss::Expired,
            mutex::Loss::HeldTooLong => Loss::HeldTooLong,
            mutex::Loss::Broken => Loss::Broken,
            mutex::Loss::Reborn => Loss::Reborn,
            mutex::Loss::Leaving => Loss::Leaving,
        }
    }
}

/// A grant as the task that owns the node shows it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Hold {
    pub(crate) token: Token,
    pub(crate) until: Instant,
    pub(crate) grounds: mutex::Grounds,
    /// Why the lock was lost, and by when its work must have stopped.
    pub(crate) lost: Option<(Loss, Instant)>,
}

/// How a request ends.
#[derive(Debug)]
pub(crate) struct End {
    pub(crate) lock: LockId,
    pub(crate) ticket: Ticket,
    /// Nobody says that the work has stopped.
    pub(crate) abandon: bool,
    pub(crate) done: Option<oneshot::Sender<()>>,
}

/// Ends a request when it is dropped. Each request sends one end at most, so the channel holds no more
/// than there are requests.
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

    /// There is nothing to end any more.
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

/// A lock that is held, while [`is_valid`](LockGuard::is_valid). Dropping it releases the lock.
///
/// The node renews the lease by itself. When it cannot, [`lost`](LockGuard::lost) returns, by this process's
/// own clock, at [`valid_until`](LockGuard::valid_until); it returns earlier when the node leaves, when the lock was
/// held for as long as was asked for, or when an operator breaks it. Stop what the lock protects, then drop the
/// guard: that tells the others that the work has stopped. Until then nobody else gets the lock, or until
/// [`stop_by`](LockGuard::stop_by), if clocks run alike.
///
/// A process can be stopped between its last look at the clock and what it does then. Where that matters,
/// the resource has to check [`token`](LockGuard::token): see the crate `consort-fence`.
#[derive(Debug)]
pub struct LockGuard {
    ending: Ending,
    name: LockName,
    notice: Duration,
    grounds: Grounds,
    token: Token,
    hold: watch::Receiver<Hold>,
    /// Once over, always over: a renewal that comes after the clock said so does not count.
    over: OnceLock<Loss>,
    /// Keeps the node.
    _node: Node,
}

impl LockGuard {
    pub(super) fn new(
        node: Node,
        name: LockName,
        notice: Duration,
        grounds: Grounds,
        ending: Ending,
        hold: watch::Receiver<Hold>,
    ) -> LockGuard {
        let token = hold.borrow().token;
        LockGuard {
            ending,
            name,
            notice,
            grounds,
            token,
            hold,
            over: OnceLock::new(),
            _node: node,
        }
    }

    /// Which lock.
    pub fn name(&self) -> &LockName {
        &self.name
    }

    /// The fencing token: greater than that of every exclusive holder before. Those who share a lock have
    /// the token of the last exclusive holder before them, or a greater one.
    pub fn token(&self) -> Token {
        self.token
    }

    /// Until when the lock is held for certain; moves on when the lease is renewed.
    pub fn valid_until(&self) -> std::time::Instant {
        self.hold.borrow().until.into_std()
    }

    /// How long after [`valid_until`](Self::valid_until) nobody else has the lock yet: the time to stop.
    pub fn notice(&self) -> Duration {
        self.notice
    }

    /// By when the work must have stopped once the lock is lost: nobody else has the lock before, unless this guard
    /// is dropped earlier. It is never earlier than [`valid_until`](Self::valid_until), as it was told at any
    /// time, and the notice.
    pub fn stop_by(&self) -> std::time::Instant {
        let hold = *self.hold.borrow();
        let by = hold.lost.map_or(hold.until + self.notice, |(_, by)| by);
        by.into_std()
    }

    /// On what grounds the lock was granted.
    pub fn grounds(&self) -> &Grounds {
        &self.grounds
    }

    /// Whether the lock is held now. Check right before anything that only a holder may do.
    pub fn is_valid(&self) -> bool {
        self.loss().is_none()
    }

    /// Why the lock is no longer held, if it is not.
    pub fn loss(&self) -> Option<Loss> {
        if let Some(loss) = self.over.get() {
            return Some(*loss);
        }
        let hold = *self.hold.borrow();
        let loss = match hold.lost {
            Some((loss, _)) => loss,
            None if self.hold.has_changed().is_err() => Loss::Stopped,
            None if Instant::now() >= hold.until => Loss::Expired,
            None => return None,
        };
        Some(*self.over.get_or_init(|| loss))
    }

    /// Waits until the lock is no longer held: it could not be renewed, an operator broke it, the node stops;
    /// or until its time is over by this process's own clock, whatever the node does meanwhile. It does not
    /// come back. The guard still has to be released or dropped, once the work has stopped.
    pub async fn lost(&self) -> Loss {
        let mut hold = self.hold.clone();
        loop {
            let until = hold.borrow_and_update().until;
            if let Some(loss) = self.loss() {
                return loss;
            }
            tokio::select! {
                () = sleep_until(until) => {}
                // An error tells that the node has stopped: seen above.
                _ = hold.changed() => {}
            }
        }
    }

    /// Waits for the next renewal, or for the end.
    pub async fn renewed(&self) -> Result<std::time::Instant, Loss> {
        let before = self.hold.borrow().until;
        let mut hold = self.hold.clone();
        tokio::select! {
            loss = self.lost() => Err(loss),
            Ok(now) = hold.wait_for(|h| h.until > before) => Ok(now.until.into_std()),
        }
    }

    /// Gives the lock back; returns when the others have been told.
    pub async fn release(mut self) {
        let (done, told) = oneshot::channel();
        self.ending.send(false, Some(done));
        // An error tells that the node has stopped.
        let _ = told.await;
    }

    /// Gives the lock up without telling the others, because what it protects may go on, as when the
    /// program that does the work cannot be reached any more. They get it when the lease is over.
    pub fn abandon(mut self) {
        self.ending.send(true, None);
    }
}

/// What is guaranteed: `token …, valid 8.9 s, 3 of at most 5 nodes stand behind it (…)`
impl fmt::Display for LockGuard {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let left = self.hold.borrow().until - Instant::now();
        let LockGuard { token, grounds, .. } = self;
        let left = match left {
            left if left > Duration::from_secs(86_400) => "without end".to_owned(),
            left => seconds(left),
        };
        write!(f, "token {token}, valid {left}, {grounds}")
    }
}
