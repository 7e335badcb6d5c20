//! Messages between holders and watchers.

use super::Token;
use super::set::{Holder, Set, Watcher};
use crate::hash::mix;
use crate::id::Life;
use core::time::Duration;
use serde::{Deserialize, Serialize};

/// A set of watchers and the duration of their promises, as members pass them on together with a claim.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Known {
    /// The set of watchers.
    pub set: Set,
    /// The duration that a renewal asks for (D).
    pub span: Duration,
}

impl Known {
    /// Whether this value may be accepted from another node.
    pub(crate) fn is_sane(&self) -> bool {
        let spans = super::SPAN_MIN..=super::SPAN_MAX;
        !self.set.watchers.is_empty() && spans.contains(&self.span)
    }
}

/// A request of a holder for a lease, or for its renewal; both are the same message.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Renew {
    /// The token the holder acts by.
    pub token: Token,
    /// The process that asks.
    pub holder: Holder,
    /// The set of watchers that the holder counts on.
    pub set: Set,
    /// The duration that the holder asks for (D).
    pub span: Duration,
    /// The sequence number, different for every transmission in one life of the holder.
    pub seq: u64,
}

impl Renew {
    /// A hash of everything except the sequence number. Two renewals with the same sum ask for the same lease.
    pub fn sum(&self) -> u64 {
        let Renew {
            token,
            holder,
            set,
            span,
            seq: _,
        } = self;
        let mut hash = 0;
        let mut add = |word: u64| hash = mix(hash ^ word);
        for token in [token, &set.rank.line, &set.rank.by] {
            for word in [token.term.0, token.initiator.0, token.life.0] {
                add(word);
            }
            add(u64::from(token.revision));
        }
        add(u64::from(set.rank.number));
        for watchers in [&set.watchers, &set.former] {
            add(watchers.len() as u64);
            for Watcher { node, memory } in watchers.iter() {
                add(node.0);
                add(memory.0);
            }
        }
        for word in [holder.node.0, holder.life.0, span.as_secs()] {
            add(word);
        }
        add(u64::from(span.subsec_nanos()));
        hash
    }

    /// The short form of this renewal.
    pub fn extend(&self) -> Extend {
        Extend {
            holder: self.holder,
            sum: self.sum(),
            seq: self.seq,
        }
    }
}

/// A renewal in its short form, for a watcher that acknowledged the same token, set and duration before. A watcher that
/// did not record exactly these refuses with [`Why::Unknown`], and is sent the whole renewal.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Extend {
    /// The process that asks.
    pub holder: Holder,
    /// [`Renew::sum`] of the renewal.
    pub sum: u64,
    /// The sequence number, different for every transmission in one life of the holder.
    pub seq: u64,
}

/// An acknowledgement: the watcher recorded a renewal and promises to grant nobody else for its span.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Ack {
    /// The life of the holder.
    pub life: Life,
    /// The sequence number of the renewal.
    pub seq: u64,
}

/// The reason of a refusal.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Why {
    /// Its promise to another holder is valid.
    Promised,
    /// It knows a greater token.
    Token,
    /// It knows a greater set, or the line of this one is closed.
    Set,
    /// The set does not name this watcher with its current memory.
    Stranger,
    /// It restarted recently and does not grant yet.
    Starting,
    /// This lease was released.
    Released,
    /// The request was in short form, and stands for nothing that this watcher recorded.
    Unknown,
}

/// A refusal, together with what the watcher recorded.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Refusal {
    /// The reason.
    pub why: Why,
    /// How long the watcher will grant nobody else.
    pub left: Duration,
    /// The greatest token it recorded.
    pub token: Option<Token>,
    /// The greatest set it recorded.
    pub set: Option<Set>,
    /// Lines below this token are closed.
    pub closed: Option<Token>,
    /// At least the length of any lease on that set.
    pub span: Duration,
}

/// The record of a member, as it sends it to a restarted one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Told {
    /// The greatest token that was granted or closed for.
    pub token: Option<Token>,
    /// The greatest set.
    pub set: Option<Set>,
    /// Lines below this token are closed.
    pub closed: Option<Token>,
    /// At least the length of any lease on that set.
    pub span: Duration,
}
