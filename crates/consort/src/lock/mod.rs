//! Locks, semaphores and shared locks: handles, guards and their tokens.

mod changes;
mod guard;
mod name;
mod quorum;
mod status;

pub use changes::LockChanges;
pub use guard::{LockGuard, LostReason};
pub(crate) use name::check;
pub use name::{LockName, LockNameError};
pub use quorum::Quorum;
pub use status::{Contender, LockStatus, Readiness};

pub use crate::error::AcquireError;
pub use consort_fence::Token as LockToken;
pub use consort_proto::mutex::{Bound, Config, FanOut, LockId, Mode, Service, Source};

pub(crate) use guard::{End, Hold};
pub(crate) use status::{Look, Words};

use crate::driver::{LockOrder, Order};
use crate::error::Stopped;
use crate::handle::Node;
use consort_proto::mutex::{Policy, Refusal, Ticket};
use core::future::poll_fn;
use core::pin::Pin;
use core::sync::atomic::Ordering;
use core::task::Poll;
use core::time::Duration;
use guard::Ending;
use std::sync::Arc;
use tokio::sync::{oneshot, watch};

/// The greatest number of permits of a semaphore; each is a lock of its own.
pub const PERMITS_MAX: u16 = 64;

/// A handle to a lock of a group, with the options of requests. Nothing happens until the lock is requested; clones are
/// handles to the same lock.
///
/// Members of one group that use the same name request the same lock. All of them must use the same
/// [`bound`](Lock::bound), [`permits`](Lock::permits) and [`service`](Lock::service).
///
/// ```
/// use consort::Node;
/// use consort::lock::Bound;
/// use std::time::Duration;
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let node = Node::builder().bind(([127, 0, 0, 1], 0));
/// // A new group, so there is nothing to wait for, and of one node, which would look for others first.
/// let node = node.bootstrap(true).lock_bound(Bound::Floor(1)).start().await?;
/// let guard = node.lock("nightly").ttl(Duration::from_secs(5)).acquire().await?;
/// println!("{guard}");
/// tokio::select! {
///     () = async { /* the work, with guard.token() */ } => {}
///     loss = guard.lost() => println!("stopped: {loss}"),
/// }
/// guard.release().await;
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Debug)]
pub struct Lock {
    node: Node,
    name: Arc<str>,
    mode: Mode,
    permits: Option<u16>,
    policy: Policy,
}

/// How long a request waits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Patience {
    Forever,
    None,
    For(Duration),
}

/// A request on its way to the task that owns the node.
#[derive(Debug)]
pub(crate) struct Asked {
    pub(crate) name: Arc<str>,
    pub(crate) ticket: Ticket,
    pub(crate) mode: Mode,
    pub(crate) patience: Patience,
    pub(crate) policy: Arc<Policy>,
    pub(crate) reply: Reply,
}

pub(crate) type Reply = oneshot::Sender<Result<watch::Receiver<Hold>, Refusal>>;

/// A request that waits. Dropping it cancels it: the receiver is dropped first, so a request that the task has not seen
/// yet is not made.
struct Pending {
    answer: oneshot::Receiver<Result<watch::Receiver<Hold>, Refusal>>,
    ending: Ending,
    full_name: Arc<str>,
}

impl Lock {
    pub(crate) fn new(node: Node, name: &str) -> Lock {
        Lock {
            node,
            name: name.into(),
            mode: Mode::Exclusive,
            permits: None,
            policy: Policy::default(),
        }
    }

    /// The name of the lock.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// How long a grant lasts without renewal, and therefore how long a dead holder blocks others. It must be between
    /// ten times `guard` and `ttl_max` of [`lock::Config`](crate::lock::Config). Default: the node's setting, 10 s.
    #[must_use]
    pub fn ttl(mut self, ttl: Duration) -> Lock {
        self.policy.ttl = Some(ttl);
        self
    }

    /// Whether to hold the lock together with others that share it. Default: false.
    #[must_use]
    pub fn shared(mut self, shared: bool) -> Lock {
        self.mode = match shared {
            true => Mode::Shared,
            false => Mode::Exclusive,
        };
        self
    }

    /// Makes the lock a semaphore that up to `permits` holders hold at a time, at most [`PERMITS_MAX`]. Tokens of
    /// different slots are not ordered; [`LockName::slot`] is the slot of a guard.
    #[must_use]
    pub fn permits(mut self, permits: u16) -> Lock {
        self.permits = Some(permits);
        self
    }

    /// The number of nodes that a majority is counted from: more than half of them have to support a grant. In a
    /// partition,
    ///
    /// - with [`Bound::Members`], the default, only a side with more than half of all members grants locks, however
    ///   long the partition lasts: failed members count until they are forgotten (after a day) or removed;
    /// - with [`Bound::Available`] each side may grant locks once the other has been gone for a lease: exclusion holds
    ///   per side, and tokens of both sides may collide;
    /// - with [`Bound::Floor`] a side with at most half of that number of nodes never grants locks;
    /// - with [`Bound::Voters`] a side without more than half of these nodes never grants locks, whatever other nodes
    ///   there are.
    #[must_use]
    pub fn bound(mut self, bound: Bound) -> Lock {
        self.policy.bound = Some(bound);
        self
    }

    /// The progress of the node after its start, and whether enough members are present for this lock.
    /// [`Readiness::obstacle`] says what a request waits for apart from other requests.
    pub async fn readiness(&self) -> Result<Readiness, Stopped> {
        let of = (LockId::of(&self.name), self.policy.bound.clone());
        let ask = |reply| Order::Lock(LockOrder::Readiness(Some(of), reply));
        self.node.ask(ask).await
    }

    /// The members that are asked first. Default: all members in groups of up to 64.
    #[must_use]
    pub fn fan_out(mut self, fan_out: FanOut) -> Lock {
        self.policy.fan_out = fan_out;
        self
    }

    /// The order in which waiting nodes are served. Default: the order of their requests.
    #[must_use]
    pub fn service(mut self, service: Service) -> Lock {
        self.policy.service = service;
        self
    }

    /// The longest time that one holder keeps the lock, even if it is renewed. Default: no limit.
    #[must_use]
    pub fn hold_max(mut self, span: Duration) -> Lock {
        self.policy.hold_max = Some(span);
        self
    }

    /// The greatest number of waiters of this node that may follow one another while other nodes wait. Default: 8.
    #[must_use]
    pub fn cohort(mut self, waiters: u8) -> Lock {
        self.policy.cohort = waiters;
        self
    }

    /// Waits for the lock without a time limit. Dropping the future cancels the request.
    pub async fn acquire(&self) -> Result<LockGuard, AcquireError> {
        self.any(Patience::Forever).await
    }

    /// Requests the lock and waits for answers, but not for other requests. If another one holds the lock or comes
    /// first, the error is [`AcquireError::Busy`].
    pub async fn try_acquire(&self) -> Result<LockGuard, AcquireError> {
        let Some(permits) = self.permits else {
            return self.any(Patience::None).await;
        };
        // The slots are tried one after the other: if all were requested at once, two callers could block each other in
        // all of them.
        self.check()?;
        let ticket = self.node.inner.tickets.load(Ordering::Relaxed);
        let first = (self.node.id().0 ^ ticket) % u64::from(permits);
        let mut refused = AcquireError::Busy;
        for n in 0..permits {
            let slot = (first as u16 + n) % permits;
            match self.one(name::slot(&self.name, slot)).await {
                Err(AcquireError::Busy) => {}
                Err(error) => refused = error,
                granted => return granted,
            }
        }
        Err(refused)
    }

    async fn one(&self, full_name: Arc<str>) -> Result<LockGuard, AcquireError> {
        let mut pending = self.ask(full_name, Patience::None).await?;
        let answer = (&mut pending.answer).await;
        self.take(pending, answer)
    }

    /// Waits for the lock for at most `patience`.
    pub async fn acquire_timeout(&self, patience: Duration) -> Result<LockGuard, AcquireError> {
        let asked = self.any(Patience::For(patience));
        // The timeout also applies if the node is paused.
        match tokio::time::timeout(patience, asked).await {
            Ok(answer) => answer,
            Err(_) => Err(AcquireError::Timeout),
        }
    }

    /// Takes the lock from its holder, on behalf of an operator. The holder loses the lock and has to stop; the next
    /// waiter gets it when the holder has stopped, or when its lease has expired. Tokens advance by a large step.
    pub async fn force_release(&self) -> Result<(), AcquireError> {
        self.check()?;
        let ids = self.full_names().iter().map(|n| LockId::of(n)).collect();
        let order = |reply| Order::Lock(LockOrder::Break(ids, reply));
        self.node.ask(order).await?
    }

    fn check(&self) -> Result<(), AcquireError> {
        name::check(&self.name)?;
        match self.permits {
            Some(permits) if !(1..=PERMITS_MAX).contains(&permits) => Err(AcquireError::Permits),
            _ => Ok(()),
        }
    }

    fn full_names(&self) -> Vec<Arc<str>> {
        match self.permits {
            None => vec![Arc::clone(&self.name)],
            Some(permits) => (0..permits).map(|n| name::slot(&self.name, n)).collect(),
        }
    }

    /// Requests the lock, or all slots at once, and takes the first one that is granted.
    async fn any(&self, patience: Patience) -> Result<LockGuard, AcquireError> {
        self.check()?;
        let mut pending = Vec::new();
        for full_name in self.full_names() {
            pending.push(self.ask(full_name, patience).await?);
        }
        loop {
            let (at, answer) = poll_fn(|cx| {
                for (at, request) in pending.iter_mut().enumerate() {
                    if let Poll::Ready(answer) = Pin::new(&mut request.answer).poll(cx) {
                        return Poll::Ready((at, answer));
                    }
                }
                Poll::Pending
            })
            .await;
            // The remaining requests are dropped, and thus cancelled.
            let taken = self.take(pending.swap_remove(at), answer);
            if taken.is_ok() || pending.is_empty() {
                return taken;
            }
        }
    }

    async fn ask(&self, full_name: Arc<str>, patience: Patience) -> Result<Pending, AcquireError> {
        let ticket = Ticket(self.node.inner.tickets.fetch_add(1, Ordering::Relaxed));
        let (reply, answer) = oneshot::channel();
        let asked = Asked {
            name: Arc::clone(&full_name),
            ticket,
            mode: self.mode,
            patience,
            policy: Arc::new(Policy {
                permits: self.permits,
                ..self.policy.clone()
            }),
            reply,
        };
        let order = Order::Lock(LockOrder::Acquire(asked));
        let sent = self.node.inner.orders.send(order).await;
        sent.map_err(|_| Stopped)?;
        Ok(Pending {
            answer,
            ending: Ending::new(&self.node, LockId::of(&full_name), ticket),
            full_name,
        })
    }

    fn take(
        &self,
        pending: Pending,
        answer: Result<Result<watch::Receiver<Hold>, Refusal>, oneshot::error::RecvError>,
    ) -> Result<LockGuard, AcquireError> {
        let Pending {
            mut ending,
            full_name,
            ..
        } = pending;
        let hold = match answer {
            Ok(Ok(hold)) => hold,
            Ok(Err(refusal)) => {
                ending.disarm();
                return Err(refusal.into());
            }
            Err(_) => {
                ending.disarm();
                return Err(Stopped.into());
            }
        };
        let config = &self.node.inner.locks;
        let ttl = self.policy.ttl.unwrap_or(config.ttl);
        let notice = config.notice(ttl);
        let core = hold.borrow().quorum;
        let quorum = Quorum::new(core, self.policy.bound.as_ref(), config);
        let name = LockName::of_full(LockId::of(&full_name), Some(&full_name));
        let node = self.node.clone();
        Ok(LockGuard::new(node, name, notice, quorum, ending, hold))
    }
}

/// Acquires several locks one after the other, in an order that is the same on all nodes, so that callers never wait
/// for each other in a cycle. The guards are in the order of `names`.
pub(crate) async fn acquire_many<S: AsRef<str>>(
    node: &Node,
    names: impl IntoIterator<Item = S>,
) -> Result<Vec<LockGuard>, AcquireError> {
    let locks = names.into_iter().map(|name| node.lock(name.as_ref()));
    let mut locks: Vec<(usize, Lock)> = locks.enumerate().collect();
    locks.sort_by_key(|(_, lock)| LockId::of(&lock.name));
    if locks
        .windows(2)
        .any(|pair| pair[0].1.name == pair[1].1.name)
    {
        return Err(AcquireError::Twice);
    }
    let mut guards = Vec::new();
    for (at, lock) in locks {
        guards.push((at, lock.acquire().await?));
    }
    guards.sort_by_key(|(at, _)| *at);
    let guards: Vec<LockGuard> = guards.into_iter().map(|(_, guard)| guard).collect();
    match guards.iter().find_map(LockGuard::loss) {
        Some(loss) => Err(AcquireError::Lost(loss)),
        None => Ok(guards),
    }
}
