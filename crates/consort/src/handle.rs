//! The handle that applications use.

use crate::address;
use crate::builder::Builder;
use crate::case::Case;
use crate::driver::{LockOrder, Mode, Order, TagChange};
use crate::election::{self, Election, ElectionStatus};
use crate::error::{
    AcquireError, ElectionError, ForceLeaveError, JoinError, SetTagsError, Stopped,
};
use crate::event::{Event, Events};
use crate::farewell::Farewell;
use crate::fault::Faults;
use crate::lock::{self, End, Lock, LockChanges, LockGuard, LockStatus, Readiness};
use crate::member::Member;
use crate::members::Members;
use crate::stats::Stats;
use crate::topology::TopologyStatus;
use consort_proto::{Command, NodeId, mutex};
use core::net::SocketAddr;
use core::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use core::time::Duration;
use std::collections::BTreeMap;
use std::sync::Arc;
use tokio::sync::{broadcast, mpsc, oneshot, watch};

/// A running node. Clones are handles to the same node.
///
/// When the last handle is dropped, the node stops without a goodbye, like [`Node::shutdown`]. Call [`Node::leave`] to
/// say goodbye.
#[derive(Clone, Debug)]
pub struct Node {
    pub(crate) inner: Arc<Inner>,
}

#[derive(Debug)]
pub(crate) struct Inner {
    /// Whether a process that was started earlier uses this node's identity.
    pub(crate) taken: Arc<AtomicBool>,
    pub(crate) id: NodeId,
    pub(crate) bound: SocketAddr,
    pub(crate) advertised: SocketAddr,
    pub(crate) name: String,
    pub(crate) orders: mpsc::Sender<Order>,
    /// Ends of lock requests, sent from places that cannot wait.
    pub(crate) ends: mpsc::UnboundedSender<End>,
    pub(crate) tickets: AtomicU64,
    pub(crate) locks: Arc<mutex::Config>,
    pub(crate) mode: watch::Sender<Mode>,
    pub(crate) faults: watch::Sender<Arc<Faults>>,
    pub(crate) lock_changes: watch::Receiver<u64>,
    /// Weak, so that subscribers notice when the task stops.
    pub(crate) events: broadcast::WeakSender<Event>,
}

impl Node {
    /// The settings of a node to be started.
    pub fn builder() -> Builder {
        Builder::default()
    }

    /// The stable identity of this node.
    pub fn id(&self) -> NodeId {
        self.inner.id
    }

    /// The name that it was started with.
    pub fn name(&self) -> &str {
        &self.inner.name
    }

    /// The address on which its socket listens.
    pub fn local_addr(&self) -> SocketAddr {
        self.inner.bound
    }

    /// The address that it advertised when it started.
    pub fn advertised_addr(&self) -> SocketAddr {
        self.inner.advertised
    }

    /// All members that this node knows, including itself, ordered by id. Members that failed or left stay listed for a
    /// while.
    pub async fn members(&self) -> Result<Vec<Member>, Stopped> {
        self.ask(Order::Members).await
    }

    /// Follows changes of the member list, starting with the current one. This counts as a handle of the node, which
    /// therefore does not stop by itself in the meantime. A member that is removed from the list a day after it failed
    /// disappears with the next change.
    pub fn observe_members(&self) -> Members {
        Members::new(self.clone())
    }

    /// The accusations against a member: who accused it, and when. Returns `None` if this node does not know the
    /// member, or is the member.
    pub async fn case(&self, id: NodeId) -> Result<Option<Case>, Stopped> {
        self.ask(|reply| Order::Case(id, reply)).await
    }

    /// This node as a member.
    pub async fn this(&self) -> Result<Member, Stopped> {
        self.ask(Order::This).await
    }

    /// Counters since the start.
    pub async fn stats(&self) -> Result<Stats, Stopped> {
        self.ask(Order::Stats).await
    }

    /// Subscribes to changes from now on.
    pub fn subscribe(&self) -> Events {
        match self.inner.events.upgrade() {
            Some(sender) => Events(sender.subscribe()),
            // The node has stopped: the subscription ends at once.
            None => Events(broadcast::channel(1).1),
        }
    }

    /// A handle to the election `name`, to follow it or to campaign in it. Members of one group that use the same name
    /// take part in the same election.
    pub async fn election(&self, name: &str) -> Result<Election, ElectionError> {
        election::check(name)?;
        let name: Arc<str> = name.into();
        let asked = Arc::clone(&name);
        let seat = self.ask(|reply| Order::Watch(asked, reply)).await??;
        Ok(Election::new(self.clone(), name, seat))
    }

    /// All elections that this node takes part in or knows the outcome of.
    pub async fn elections(&self) -> Result<Vec<ElectionStatus>, Stopped> {
        self.ask(Order::Elections).await
    }

    /// The state of the election `name`; `None` if this node does not know it.
    pub async fn election_status(&self, name: &str) -> Result<Option<ElectionStatus>, Stopped> {
        self.ask(|reply| Order::ElectionStatus(name.into(), reply))
            .await
    }

    /// The topology of the network as this node sees it; `None` if it was started without a
    /// [`Topology`](crate::topology::Topology).
    pub async fn topology(&self) -> Result<Option<TopologyStatus>, Stopped> {
        self.ask(Order::Topology).await
    }

    /// A handle to the lock `name`, which can then be requested: see [`Lock`].
    pub fn lock(&self, name: &str) -> Lock {
        Lock::new(self.clone(), name)
    }

    /// Acquires several locks, all or none, in an order that is the same on all nodes, so that two callers with the
    /// same locks never wait for each other. The guards are in the order of `names`. Dropping the future cancels the
    /// requests.
    pub async fn acquire_many<S: AsRef<str>>(
        &self,
        names: impl IntoIterator<Item = S>,
    ) -> Result<Vec<LockGuard>, AcquireError> {
        lock::acquire_many(self, names).await
    }

    /// The holders and waiters of the lock or semaphore `name`, or of all. Asks the members, and uses the answers that
    /// arrive within half of [`mutex::Config::retry`] (a quarter of a second).
    pub async fn locks(&self, name: Option<&str>) -> Result<Vec<LockStatus>, Stopped> {
        let name = name.map(str::to_owned);
        self.ask(|reply| Order::Lock(LockOrder::Look(name, reply)))
            .await
    }

    /// The holders and waiters of all locks, as far as this node knows without asking. It knows its own requests
    /// exactly. Of the requests that other nodes told it about, it knows at first only that they wait: that one was
    /// granted, it learns when the holder renews its lease.
    pub async fn known_locks(&self) -> Result<Vec<LockStatus>, Stopped> {
        self.ask(|reply| Order::Lock(LockOrder::Known(reply))).await
    }

    /// Follows changes of what [`known_locks`](Node::known_locks) returns.
    pub fn observe_locks(&self) -> LockChanges {
        LockChanges::new(self.inner.lock_changes.clone())
    }

    /// Takes a lock from its holder: see [`Lock::force_release`].
    pub async fn break_lock(&self, name: &str) -> Result<(), AcquireError> {
        self.lock(name).force_release().await
    }

    /// Sets the place of this node on a path through space, below [`mutex::PLACES`]. It matters for locks that are
    /// served along that path, see [`Service::Elevator`](crate::lock::Service::Elevator). Default: 0.
    pub async fn set_lock_place(&self, place: u16) -> Result<(), Stopped> {
        self.carry(Command::Lock(mutex::Order::SetPlace(place)))
            .await
    }

    /// Whether this node may request locks and counts as a witness, or has not been running for long enough.
    pub async fn lock_readiness(&self) -> Result<Readiness, Stopped> {
        self.ask(|reply| Order::Lock(LockOrder::Readiness(None, reply)))
            .await
    }

    /// The tags that this node announces.
    pub async fn tags(&self) -> Result<BTreeMap<String, String>, Stopped> {
        Ok(self.this().await?.tags().clone())
    }

    /// Replaces the announced tags. Candidacies that follow a tag
    /// ([`ElectionOptions::attribute_tag`](crate::election::ElectionOptions::attribute_tag)) change with it.
    pub async fn set_tags(&self, tags: BTreeMap<String, String>) -> Result<(), SetTagsError> {
        let change = TagChange::Replace(tags);
        self.ask(|reply| Order::Tags(change, reply)).await??;
        Ok(())
    }

    /// Sets each named tag to its value, or removes it if there is none, and keeps the other tags. On an error nothing
    /// changes. Returns the resulting tags.
    pub async fn merge_tags(
        &self,
        changes: BTreeMap<String, Option<String>>,
    ) -> Result<BTreeMap<String, String>, SetTagsError> {
        let change = TagChange::Merge(changes);
        self.ask(|reply| Order::Tags(change, reply)).await?
    }

    /// Announces another address under the same identity, for example after a change of networks. The socket stays
    /// bound as it is, so bind to an unspecified address to be reachable on a new interface.
    pub async fn set_advertised_addr(&self, addr: SocketAddr) -> Result<(), Stopped> {
        self.carry(Command::SetAddr(addr)).await
    }

    /// Announces the position of this node, in metres. It is used by
    /// [`DistanceSource::Position`](crate::membership::DistanceSource::Position), and to choose members near a suspect
    /// that check it.
    pub async fn set_position(&self, position: [f32; 3]) -> Result<(), Stopped> {
        self.carry(Command::SetPosition(position)).await
    }

    /// Announces that this node will be silent for `span`, like a device that sleeps. Nobody probes or accuses it in
    /// the meantime. Zero ends the nap. Other nodes ignore a nap longer than
    /// [`nap_max`](crate::membership::Config::nap_max).
    pub async fn nap(&self, span: Duration) -> Result<(), Stopped> {
        self.carry(Command::Nap(span)).await
    }

    /// Joins the group of one of the `seeds`. Returns once the seeds are resolved and asked. The node keeps trying
    /// until one answers.
    pub async fn join<S: ToString>(
        &self,
        seeds: impl IntoIterator<Item = S>,
    ) -> Result<(), JoinError> {
        let seeds = self.resolve(seeds).await?;
        Ok(self.ask(|reply| Order::Join(seeds, reply)).await?)
    }

    /// Joins, and waits until one of the `seeds` has answered with its member list. After `patience` the error names
    /// the silent ones; the node keeps trying.
    pub async fn join_and_wait<S: ToString>(
        &self,
        seeds: impl IntoIterator<Item = S>,
        patience: Duration,
    ) -> Result<(), JoinError> {
        let seeds = self.resolve(seeds).await?;
        self.ask(|reply| Order::JoinAndWait(seeds, patience, reply))
            .await?
            .map_err(|silent| JoinError::Silent { silent })
    }

    async fn resolve<S: ToString>(
        &self,
        seeds: impl IntoIterator<Item = S>,
    ) -> Result<Vec<address::Seed>, JoinError> {
        let mut found = Vec::new();
        for seed in seeds {
            let seed = address::resolve(&seed.to_string(), self.inner.bound).await?;
            if seed.addr != self.inner.advertised && seed.addr != self.inner.bound {
                found.push(seed);
            }
        }
        if found.is_empty() {
            return Err(JoinError::NoSeed);
        }
        Ok(found)
    }

    /// The reason why this node's state cannot be stored, as text; `None` if it can be stored, or if there is no state
    /// directory. In the meantime the node stays a member, follows leaders, and keeps its leaderships and locks, but
    /// starts no election round and requests no lock. It tries to store again by itself.
    pub async fn storage_error(&self) -> Result<Option<String>, Stopped> {
        self.ask(Order::StorageError).await
    }

    /// The reason why this node's socket is of no use, as text; `None` while it works. The port counts as lost when
    /// every datagram of the last seconds could not be sent, or every read failed; the next success ends that.
    pub async fn port_error(&self) -> Result<Option<String>, Stopped> {
        self.ask(Order::PortError).await
    }

    /// Whether this node knows at least two other live members and hears none of them. It then keeps its verdicts to
    /// itself, because its own link is the more likely cause.
    pub async fn is_isolated(&self) -> Result<bool, Stopped> {
        self.ask(Order::IsIsolated).await
    }

    /// Says goodbye and stops. Returns when enough members have confirmed it, or after a few periods if they do not;
    /// the others then see a failure.
    ///
    /// Locks that this node holds are lost at once, and it waits for their guards to be dropped, at most until
    /// [`LockGuard::stop_by`](crate::lock::LockGuard::stop_by), which is no more than a lease away. The same applies to
    /// elections that it leads. Returns what the node waited for, or [`Stopped`] if the node was stopped in the
    /// meantime.
    pub async fn leave(&self) -> Result<Farewell, Stopped> {
        let farewell = self.ask(Order::Leave).await?;
        self.stopped().await;
        Ok(farewell)
    }

    /// Removes a failed member from the lists of all members now, instead of after a day. It is listed as left, and
    /// locks no longer count it ([`Bound::Members`](crate::lock::Bound::Members)), so the majority becomes smaller. If the
    /// member is in fact alive on the other side of a partition, both sides may then hold the same lock. A removed
    /// member that returns joins as usual.
    pub async fn force_leave(&self, id: NodeId) -> Result<(), ForceLeaveError> {
        self.ask(|reply| Order::ForceLeave(id, reply)).await?
    }

    /// Stops at once without a goodbye, like a crash. The port is free when this returns.
    pub async fn shutdown(&self) {
        let _ = self.inner.mode.send(Mode::Stopped);
        self.stopped().await;
    }

    /// Waits until the node has stopped, for any reason.
    pub async fn stopped(&self) {
        self.inner.orders.closed().await;
    }

    /// Whether the node has stopped because a process that was started earlier uses its id, for example because a state
    /// directory was copied. It stopped without a goodbye; the other process continues.
    pub fn identity_taken(&self) -> bool {
        self.inner.taken.load(Ordering::Relaxed)
    }

    /// Freezes the node: until [`Node::resume`] it reads nothing, sends nothing and fires no timer, as if the process
    /// were stopped by a signal. Calls that need an answer wait in the meantime. For tests and demonstrations.
    pub fn pause(&self) {
        self.change_mode(Mode::Running, Mode::Paused);
    }

    /// Resumes a paused node.
    pub fn resume(&self) {
        self.change_mode(Mode::Paused, Mode::Running);
    }

    /// Drops or delays datagrams of this node from now on. This replaces earlier faults; [`Faults::default`] ends them.
    /// For tests and demonstrations.
    pub fn set_faults(&self, faults: Faults) {
        self.inner.faults.send_replace(Arc::new(faults));
    }

    fn change_mode(&self, from: Mode, to: Mode) {
        self.inner.mode.send_if_modified(|mode| {
            let change = *mode == from;
            if change {
                *mode = to;
            }
            change
        });
    }

    async fn carry(&self, command: Command) -> Result<(), Stopped> {
        self.ask(|reply| Order::Carry(command, reply)).await
    }

    pub(crate) async fn ask<T>(
        &self,
        order: impl FnOnce(oneshot::Sender<T>) -> Order,
    ) -> Result<T, Stopped> {
        let (reply, answer) = oneshot::channel();
        let sent = self.inner.orders.send(order(reply)).await;
        sent.map_err(|_| Stopped)?;
        answer.await.map_err(|_| Stopped)
    }
}
