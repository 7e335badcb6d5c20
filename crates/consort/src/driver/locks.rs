//! Orders about locks, and their results.

use super::Driver;
use crate::clock::Clock;
use crate::error::AcquireError;
use crate::event::Event;
use crate::lock::{
    Asked, End, Hold, LockName, LockStatus, Look, LostReason, Patience, Readiness, Reply, Words,
};
use consort_fence::Token;
use consort_proto::Command;
use consort_proto::membership::Phase;
use consort_proto::mutex::{self, Acquire, Bound, LockId, Order, Ticket, Wait};
use core::time::Duration;
use std::collections::BTreeMap;
use std::sync::Arc;
use tokio::sync::{oneshot, watch};

/// An order of a handle about locks.
#[derive(Debug)]
pub(crate) enum LockOrder {
    Acquire(Asked),
    Break(Vec<LockId>, oneshot::Sender<Result<(), AcquireError>>),
    Look(Option<String>, oneshot::Sender<Vec<LockStatus>>),
    Known(oneshot::Sender<Vec<LockStatus>>),
    Readiness(Option<(LockId, Option<Bound>)>, oneshot::Sender<Readiness>),
}

/// The requests of this node's clients, and pending questions to other members.
#[derive(Debug, Default)]
pub(super) struct Locks {
    clients: BTreeMap<(LockId, Ticket), Client>,
    looks: Vec<Look>,
    words: Words,
    nonce: u32,
    /// The number of changes that observers were told.
    changes: watch::Sender<u64>,
}

/// The client of a request.
#[derive(Debug)]
struct Client {
    name: Arc<str>,
    stage: Stage,
}

#[derive(Debug)]
enum Stage {
    Waits(Reply),
    Holds(watch::Sender<Hold>),
}

impl Locks {
    /// Those of a node that has just started, which tells `changes` that there are news.
    pub(super) fn new(changes: watch::Sender<u64>) -> Locks {
        Locks {
            changes,
            ..Locks::default()
        }
    }

    /// Tells observers if the core counts more changes than they were told.
    pub(super) fn tell(&self, changes: u64) {
        if *self.changes.borrow() != changes {
            self.changes.send_replace(changes);
        }
    }

    /// The time at which the first pending question has to be answered.
    pub(super) fn next_look(&self) -> Option<tokio::time::Instant> {
        self.looks.iter().map(|l| l.until).min()
    }

    /// Passes a change of a lock on to the client that it concerns. Returns an event if all subscribers should know.
    pub(super) fn take(&mut self, event: mutex::Event, clock: Clock) -> Option<Event> {
        match event {
            mutex::Event::Granted {
                lock,
                ticket,
                token,
                valid_until,
                quorum,
                ..
            } => {
                let client = self.clients.get_mut(&(lock, ticket))?;
                let hold = Hold {
                    token: Token(token.0),
                    until: clock.deadline(valid_until),
                    quorum,
                    lost: None,
                };
                let (shown, held) = watch::channel(hold);
                let before = core::mem::replace(&mut client.stage, Stage::Holds(shown));
                if let Stage::Waits(reply) = before {
                    // If the client is gone, it has sent an end.
                    let _ = reply.send(Ok(held));
                }
                None
            }
            mutex::Event::Renewed { lock, valid_until } => {
                let until = clock.deadline(valid_until);
                let all = (lock, Ticket(0))..=(lock, Ticket(u64::MAX));
                for (_, client) in self.clients.range(all) {
                    if let Stage::Holds(shown) = &client.stage {
                        shown.send_modify(|hold| hold.until = until);
                    }
                }
                None
            }
            mutex::Event::Lost {
                lock,
                ticket,
                why,
                stop_by,
            } => {
                // The entry stays until the holder confirms that it stopped.
                let client = self.clients.get(&(lock, ticket))?;
                let Stage::Holds(shown) = &client.stage else {
                    return None;
                };
                let why = LostReason::from(why);
                let stop_by = clock.deadline(stop_by);
                shown.send_modify(|hold| hold.lost = Some((why, stop_by)));
                let token = shown.borrow().token;
                let lock = LockName::of_full(lock, Some(&client.name));
                Some(Event::LockLost { lock, token, why })
            }
            mutex::Event::Refused { lock, ticket, why } => {
                let client = self.clients.remove(&(lock, ticket))?;
                if let Stage::Waits(reply) = client.stage {
                    let _ = reply.send(Err(why));
                }
                None
            }
            mutex::Event::Seen { by, seen } => {
                let asked = |l: &&mut Look| l.nonce == seen.nonce;
                if let Some(look) = self.looks.iter_mut().find(asked) {
                    look.take(by, seen);
                }
                None
            }
            mutex::Event::FloorFromClock => Some(Event::TokensFromClock),
            mutex::Event::Mature => Some(Event::LockWitness),
        }
    }
}

impl Driver {
    pub(super) async fn obey_lock(&mut self, order: LockOrder) {
        match order {
            LockOrder::Acquire(asked) => self.acquire(asked).await,
            LockOrder::Break(ids, reply) => {
                if !ids.iter().all(|id| self.node.may_break(*id)) {
                    let _ = reply.send(Err(AcquireError::Role));
                    return;
                }
                for id in ids {
                    self.command(Command::Lock(Order::Break(id))).await;
                }
                let _ = reply.send(Ok(()));
            }
            LockOrder::Look(name, reply) => self.look(name, reply).await,
            LockOrder::Known(reply) => self.known(reply),
            LockOrder::Readiness(of, reply) => {
                let mutex = self.node.mutex();
                let (lock, bound) = match &of {
                    Some((lock, bound)) => (Some(*lock), bound.as_ref()),
                    None => (None, None),
                };
                let outlook = self.node.lock_outlook(self.clock.now(), lock, bound);
                let bound = bound.unwrap_or(&mutex.config().bound);
                let matures_in = match mutex.is_mature() {
                    true => Duration::ZERO,
                    false => mutex.matures_at().since(self.clock.now()),
                };
                let _ = reply.send(Readiness {
                    synced: mutex.is_synced(),
                    mature: mutex.is_mature(),
                    matures_in,
                    members: outlook.bound,
                    needed: outlook.needed,
                    here: outlook.here,
                    seeks: outlook.seeks,
                    counts_failed: matches!(bound, Bound::Members | Bound::Floor(_)),
                });
            }
        }
    }

    async fn acquire(&mut self, asked: Asked) {
        // The client gave up before the request was made; its end may have arrived already.
        if asked.reply.is_closed() {
            return;
        }
        let wait = match asked.patience {
            Patience::Forever => Wait::Forever,
            Patience::None => Wait::Try,
            Patience::For(span) => Wait::Until(self.clock.now() + span),
        };
        let client = Client {
            name: Arc::clone(&asked.name),
            stage: Stage::Waits(asked.reply),
        };
        let key = (LockId::of(&asked.name), asked.ticket);
        self.locks.clients.insert(key, client);
        let acquire = Order::Acquire(Acquire {
            name: asked.name,
            ticket: asked.ticket,
            mode: asked.mode,
            wait,
            policy: asked.policy,
        });
        self.command(Command::Lock(acquire)).await;
    }

    /// Ends a request.
    pub(super) async fn end(&mut self, end: End) {
        if self.locks.clients.remove(&(end.lock, end.ticket)).is_some() {
            let order = match end.abandon {
                true => Order::Abandon(end.lock, end.ticket),
                false => Order::Release(end.lock, end.ticket),
            };
            self.command(Command::Lock(order)).await;
        }
        if let Some(done) = end.done {
            let _ = done.send(());
        }
    }

    async fn look(&mut self, name: Option<String>, reply: oneshot::Sender<Vec<LockStatus>>) {
        self.locks.nonce = self.locks.nonce.wrapping_add(1);
        let nonce = self.locks.nonce;
        let patience = self.node.mutex().config().retry / 2;
        let id = name.as_deref().map(LockId::of);
        let until = tokio::time::Instant::now() + patience;
        let look = Look::new(nonce, until, name, reply);
        self.locks.looks.push(look);
        if id.is_some() {
            self.command(Command::Lock(Order::Look(id, nonce))).await;
        }
        // The ids of a semaphore's slots do not follow from its name alone.
        self.command(Command::Lock(Order::Look(None, nonce))).await;
    }

    /// Answers with what this node knows itself.
    fn known(&mut self, reply: oneshot::Sender<Vec<LockStatus>>) {
        let mut look = Look::new(0, tokio::time::Instant::now(), None, reply);
        let me = self.node.id();
        let mutex = self.node.mutex();
        mutex.known(self.clock.now(), |seen| look.take(me, seen));
        self.answer(look);
    }

    fn answer(&mut self, look: Look) {
        let (me, membership) = (self.node.id(), self.node.membership());
        let listed = |id| membership.table().get(id);
        let called = |id| match listed(id) {
            Some(member) => member.meta.name.clone(),
            None if id == me => membership.meta().name.clone(),
            None => String::new(),
        };
        let gone = |id| id != me && listed(id).is_none_or(|m| m.phase != Phase::Up);
        look.answer(&mut self.locks.words, called, gone);
    }

    /// Answers the questions whose time is over.
    pub(super) fn answer_looks(&mut self) {
        let now = tokio::time::Instant::now();
        while let Some(at) = self.locks.looks.iter().position(|l| l.until <= now) {
            let look = self.locks.looks.swap_remove(at);
            self.answer(look);
        }
    }
}
