//! Orders of the application.

use super::event::{Event, Refusal, Ticket};
use super::fence::{Fence, LockId, PLACES};
use super::msg::Msg;
use super::request::{Wait, Waiter};
use super::shared::BREAK_STEP;
use super::{Mode, Mutex, MutexCx, Peers, Policy, Timer};
use crate::id::NodeId;
use crate::protocol::To;
use alloc::sync::Arc;
use alloc::vec::Vec;

/// The number of times that an order to break a lock is sent.
const BREAKS: u8 = 3;

/// A request of the application for a lock.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Acquire {
    /// The lock's name.
    pub name: Arc<str>,
    /// Identifies the request in events and in [`Order::Release`].
    pub ticket: Ticket,
    /// The mode of the request.
    pub mode: Mode,
    /// How long the request waits.
    pub wait: Wait,
    /// The options of the request.
    pub policy: Arc<Policy>,
}

/// An order to the lock layer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Order {
    /// Request a lock. [`Event::Granted`] or [`Event::Refused`] follows.
    Acquire(Acquire),
    /// Release a lock, stop waiting for it, or confirm after [`Event::Lost`] that the work has stopped.
    Release(LockId, Ticket),
    /// Stop renewing a lock without a release, because its holder may be dead while its work continues. Other nodes get
    /// the lock when the lease has expired.
    Abandon(LockId, Ticket),
    /// Take the lock from its holders. This is safe only if the resource checks tokens.
    Break(LockId),
    /// Ask all members for the contenders of one lock or of all locks. [`Event::Seen`] follows for each contender and
    /// each node that knows it.
    Look(Option<LockId>, u32),
    /// Set this node's place in space, below [`PLACES`].
    SetPlace(u16),
    /// Restore the clock that an earlier life stored. No later token is smaller.
    RestoreFence(u64),
}

impl Mutex {
    pub(super) fn on_order(&mut self, cx: &mut MutexCx<'_>, peers: &dyn Peers, order: Order) {
        match order {
            Order::Acquire(acquire) => {
                self.activate(cx, peers);
                let lock = LockId::of(&acquire.name);
                let Acquire {
                    name,
                    ticket,
                    mode,
                    wait,
                    policy,
                } = acquire;
                let waiter = Waiter {
                    ticket,
                    mode,
                    wait,
                    policy,
                    name,
                    abandoned: None,
                };
                let taken = self.with_lock(cx, peers, lock, |lock, cx, sh, peers| {
                    lock.acquire(cx, sh, peers, waiter);
                });
                if !taken {
                    let why = Refusal::Full;
                    cx.emit(Event::Refused { lock, ticket, why });
                }
            }
            Order::Release(lock, ticket) => {
                if self.locks.contains_key(&lock) {
                    self.with_lock(cx, peers, lock, |lock, cx, sh, peers| {
                        lock.release(cx, sh, peers, ticket);
                    });
                }
            }
            Order::Abandon(lock, ticket) => {
                if self.locks.contains_key(&lock) {
                    self.with_lock(cx, peers, lock, |lock, cx, sh, peers| {
                        lock.abandon(cx, sh, peers, ticket);
                    });
                }
            }
            Order::Break(lock) => {
                let seq = self.shared.clock + BREAK_STEP;
                self.shared.advance(cx, seq);
                if self.shared.is_exhausted(seq) {
                    // Others would refuse this floor, and this node's clock would be beyond all others' for ever.
                    return;
                }
                self.breaks.retain(|b| b.0 != lock);
                self.breaks.push((lock, Fence::end_of(seq), BREAKS));
                self.repeat_breaks(cx, peers);
            }
            Order::Look(lock, nonce) => {
                let members: Vec<NodeId> = self.shared.census.present().collect();
                for id in members {
                    cx.send(To::Node(id), Msg::Look { nonce, lock });
                }
                let by = cx.me;
                self.seen(cx.now, lock, nonce, |seen| {
                    cx.emit(Event::Seen { by, seen })
                });
            }
            Order::SetPlace(place) => self.shared.place = place % PLACES,
            Order::RestoreFence(seq) => {
                // A clock is stored only by a node that has read the group's clock.
                self.shared.settled |= seq > 0;
                self.shared.restore(seq);
            }
        }
    }

    pub(super) fn repeat_breaks(&mut self, cx: &mut MutexCx<'_>, peers: &dyn Peers) {
        let members: Vec<NodeId> = self.shared.census.present().collect();
        for (lock, floor, left) in core::mem::take(&mut self.breaks) {
            for id in &members {
                cx.send(To::Node(*id), Msg::Break { lock, floor });
            }
            self.with_lock(cx, peers, lock, |lock, cx, sh, peers| {
                lock.on_break(cx, sh, peers, floor)
            });
            if left > 1 {
                self.breaks.push((lock, floor, left - 1));
                cx.set_timer(Timer::Break, cx.now + self.shared.rto());
            }
        }
    }
}
