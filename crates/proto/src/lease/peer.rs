//! What a holder knows about one of its watchers.

use super::Token;
use super::msg::Renew;
use super::set::{Rank, Watcher};
use crate::time::Instant;
use alloc::vec::Vec;

/// The number of renewals to one watcher that are remembered. An acknowledgement of an older renewal is ignored.
const SENDS_MAX: usize = 16;

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct Sent {
    seq: u64,
    at: Instant,
    /// The time until which its acknowledgement counts.
    until: Instant,
    token: Token,
    rank: Rank,
    sum: u64,
}

/// One watcher, as its holder knows it.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct Peer {
    pub(super) watcher: Watcher,
    /// The sequence number of the last renewal.
    pub(super) seq: u64,
    sent: Vec<Sent>,
    /// The end of the watcher's promise, as far as the holder may rely on it.
    pub(super) until: Option<Instant>,
    /// The greatest token it acknowledged.
    pub(super) token: Option<Token>,
    /// The greatest set it acknowledged.
    pub(super) rank: Option<Rank>,
    /// [`Renew::sum`] of what it acknowledged last, which it still has unless it restarted or learned of more.
    pub(super) recorded: Option<u64>,
    /// Whether the last renewal was sent in short form.
    pub(super) was_short: bool,
    /// The time at which the renewal of this round is sent again.
    pub(super) again_at: Option<Instant>,
    /// Whether the watcher reports that the line of this set is closed.
    pub(super) closed: bool,
    /// Whether the node answers with another memory, so that this watcher no longer exists.
    pub(super) gone: bool,
}

impl Peer {
    pub(super) fn new(watcher: Watcher) -> Peer {
        Peer {
            watcher,
            seq: 0,
            sent: Vec::new(),
            until: None,
            token: None,
            rank: None,
            recorded: None,
            was_short: false,
            again_at: None,
            closed: false,
            gone: false,
        }
    }

    /// Remembers a renewal whose acknowledgement counts until `until`. Returns whether its short form is enough.
    pub(super) fn note_sent(&mut self, at: Instant, until: Instant, renew: &Renew) -> bool {
        let sum = renew.sum();
        let sent = Sent {
            seq: renew.seq,
            at,
            until,
            token: renew.token,
            rank: renew.set.rank,
            sum,
        };
        self.sent.retain(|s| s.seq != sent.seq);
        if self.sent.len() >= SENDS_MAX {
            self.sent.remove(0);
        }
        self.sent.push(sent);
        self.was_short = self.recorded == Some(sum);
        self.was_short
    }

    /// Handles a refusal because the short form is unknown to the watcher. Returns whether the whole renewal is due.
    pub(super) fn forget_recorded(&mut self) -> bool {
        self.recorded = None;
        core::mem::take(&mut self.was_short)
    }

    /// Handles the acknowledgement of renewal `seq`. Returns whether that renewal is remembered. `counted`, if given,
    /// replaces the end of the promise.
    pub(super) fn acknowledge(
        &mut self,
        seq: u64,
        counted: Option<Instant>,
        round_began: Instant,
    ) -> bool {
        let Some(sent) = self.sent.iter().find(|s| s.seq == seq).copied() else {
            return false;
        };
        self.sent.retain(|s| s.seq > seq);
        self.until = self.until.max(Some(counted.unwrap_or(sent.until)));
        self.token = self.token.max(Some(sent.token));
        self.rank = self.rank.max(Some(sent.rank));
        self.recorded = Some(sent.sum);
        self.closed = false;
        if sent.at >= round_began {
            self.again_at = None;
        }
        true
    }
}
