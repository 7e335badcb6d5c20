//! What holders and watchers say to each other.

use super::Token;
use super::set::{Holder, Set};
use crate::id::Life;
use core::time::Duration;
use serde::{Deserialize, Serialize};

/// A set of watchers, and for how long their promises last: what members tell each other beside a claim.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Known {
    /// Who watches.
    pub set: Set,
    /// For how long a renewal asks (D).
    pub span: Duration,
}

impl Known {
    /// Whether it can be taken from others.
    pub(crate) fn is_sane(&self) -> bool {
        let spans = super::SPAN_MIN..=super::SPAN_MAX;
        !self.set.watchers.is_empty() && spans.contains(&self.span)
    }
}

/// A holder asks for a lease, or renews it: the same message.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Renew {
    /// The token the holder acts by.
    pub token: Token,
    /// Who asks.
    pub holder: Holder,
    /// Who watches.
    pub set: Set,
    /// For how long (D).
    pub span: Duration,
    /// Another number for every sending, in one life of the holder.
    pub seq: u64,
}

/// A watcher recorded a renewal and promises to grant nobody else for its span.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Ack {
    /// The life of the holder.
    pub life: Life,
    /// The number of the renewal.
    pub seq: u64,
}

/// Why a watcher refuses.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Why {
    /// Its promise to another holder runs.
    Promised,
    /// It knows a greater token.
    Token,
    /// It knows a greater set, or the line of this one is closed.
    Set,
    /// It is not in the set with its memory.
    Stranger,
    /// It restarted a short while ago.
    Starting,
    /// That lease was released.
    Released,
}

/// A refusal, with what the watcher recorded.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Refusal {
    /// The reason.
    pub why: Why,
    /// How long it grants nobody else.
    pub left: Duration,
    /// The greatest token it recorded.
    pub token: Option<Token>,
    /// The greatest set it recorded.
    pub set: Option<Set>,
    /// Below which lines are closed.
    pub closed: Option<Token>,
    /// At least as long as any lease on that set.
    pub span: Duration,
}

/// What a member recorded, as it tells one that restarted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Told {
    /// The greatest token granted or closed for.
    pub token: Option<Token>,
    /// The greatest set.
    pub set: Option<Set>,
    /// Below which lines are closed.
    pub closed: Option<Token>,
    /// At least as long as any lease on that set.
    pub span: Duration,
}
