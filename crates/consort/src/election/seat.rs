//! The state of an election that the task shares with all handles, and the leadership of this node.

use super::status::{self, Leader};
use crate::clock::{Clock, Deadline};
use consort_proto::ElectionId;
use consort_proto::election::Token;
use core::time::Duration;
use std::sync::Arc;
use tokio::sync::watch;
use tokio::time::Instant;

/// The least time between two refreshes that are only due to the passage of time.
const REFRESH_MIN: Duration = Duration::from_millis(10);

/// The longest time between two refreshes.
const DAY: Duration = Duration::from_secs(86_400);

/// The state of an election, as its handles see it.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Seat {
    pub(crate) leader: Option<Leader>,
    pub(crate) acting: Option<Acting>,
}

/// The leadership of this node.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Acting {
    pub(crate) token: Token,
    pub(crate) until: Deadline,
}

impl Acting {
    pub(crate) fn is_valid(&self) -> bool {
        !self.until.is_past()
    }
}

/// The place where the task publishes the state of one election.
#[derive(Debug)]
pub(crate) struct Board {
    id: ElectionId,
    name: Arc<str>,
    seat: watch::Sender<Seat>,
    /// The time of the next refresh if nothing happens before.
    refresh_at: Option<Instant>,
}

impl Board {
    pub(crate) fn new(name: Arc<str>) -> Board {
        Board {
            id: ElectionId::of(&name),
            name,
            seat: watch::Sender::default(),
            refresh_at: None,
        }
    }

    /// The time of the next refresh if nothing happens before; only a leader needs one.
    pub(crate) fn refresh_at(&self) -> Option<Instant> {
        self.refresh_at
    }

    pub(crate) fn id(&self) -> ElectionId {
        self.id
    }

    pub(crate) fn name(&self) -> &Arc<str> {
        &self.name
    }

    pub(crate) fn subscribe(&self) -> watch::Receiver<Seat> {
        self.seat.subscribe()
    }

    /// The token by which this node may act, and the remaining time.
    pub(crate) fn acting(&self) -> Option<(Token, Duration)> {
        let acting = self.seat.borrow().acting.filter(Acting::is_valid)?;
        Some((acting.token, acting.until.left()))
    }

    /// Reads the state of the node again, at `now`. Handles are notified if anything except the time changed.
    pub(crate) fn refresh(
        &mut self,
        node: &consort_proto::Node,
        clock: Clock,
        now: consort_proto::Instant,
    ) {
        let Some(standing) = node.standing(now, self.id) else {
            return;
        };
        let left = standing.valid_until.since(now);
        let acting = standing.acting.map(|token| Acting {
            token,
            until: clock.deadline(standing.valid_until),
        });
        self.refresh_at = acting.map(|_| Instant::now() + (left / 2).min(DAY).max(REFRESH_MIN));
        let seat = Seat {
            leader: status::leader(node, &standing, clock),
            acting: acting.filter(|_| !left.is_zero()),
        };
        self.seat.send_if_modified(|held| {
            let token = |seat: &Seat| seat.acting.map(|a| a.token);
            let same = super::is_same(&held.leader, &seat.leader);
            let changed = token(held) != token(&seat) || !same;
            *held = seat;
            changed
        });
    }
}

/// The leadership of this node, which may act while [`is_valid`](Leadership::is_valid).
///
/// It is based on a lease that a few other members grant and that is renewed several times per second. Work may start
/// and continue until [`valid_until`](Leadership::valid_until), and then has a grace period in which to stop. Nobody
/// else acts before the grace period is over, as long as clocks run within a tenth of real time and the group is not
/// partitioned in a way that docs/ELECTION.md describes. Outside of these limits leadership is not exclusive, so a
/// resource that must not be used twice has to check the [`token`](Leadership::token).
#[derive(Clone, Debug)]
pub struct Leadership {
    pub(crate) token: Token,
    pub(crate) seat: watch::Receiver<Seat>,
}

impl Leadership {
    /// The fencing token, greater than that of every earlier leader. Tokens can be compared directly or as text.
    pub fn token(&self) -> Token {
        self.token
    }

    /// The time until which this node may act, which moves on as the lease is renewed. It is in the past when the
    /// leadership is over.
    pub fn valid_until(&self) -> std::time::Instant {
        let held = self.seat.borrow().acting.filter(|a| a.token == self.token);
        held.map_or_else(std::time::Instant::now, |a| a.until.into_std())
    }

    /// Whether this node may act now. Check this right before any action that only a leader may do.
    pub fn is_valid(&self) -> bool {
        let gone = self.seat.has_changed().is_err();
        !gone
            && self
                .seat
                .borrow()
                .acting
                .is_some_and(|a| a.token == self.token && a.is_valid())
    }

    /// Waits until this leadership is over: another node leads, this node resigned, withdrew or stopped, or the lease
    /// expired by this process's clock, even if the task that owns the node is not running. A lost leadership does not
    /// come back; wait for the next one with [`Election::lead`](super::Election::lead).
    pub async fn lost(&self) {
        let mut seat = self.seat.clone();
        loop {
            let acting = seat.borrow_and_update().acting;
            let Some(acting) = acting.filter(|a| a.token == self.token && a.is_valid()) else {
                return;
            };
            tokio::select! {
                // The lease may have been renewed without a notification: check again.
                () = acting.until.passed() => {}
                changed = seat.changed() => if changed.is_err() {
                    return;
                },
            }
        }
    }
}
