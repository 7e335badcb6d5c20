//! What a holder knows of one of its watchers.

use super::Token;
use super::set::{Rank, Watcher};
use crate::time::Instant;
use alloc::vec::Vec;

/// Renewals to one watcher that are remembered: an acknowledgement of an earlier one comes too late to count.
const SENDS_MAX: usize = 16;

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct Sent {
    seq: u64,
    at: Instant,
    /// Until when its acknowledgement counts.
    until: Instant,
    token: Token,
    rank: Rank,
}

/// One watcher, as its holder knows it.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct Peer {
    pub(super) watcher: Watcher,
    /// The number of the last renewal.
    pub(super) seq: u64,
    sent: Vec<Sent>,
    /// Until when it promised, as far as the holder may rely on it.
    pub(super) until: Option<Instant>,
    /// The greatest token it acknowledged.
    pub(super) token: Option<Token>,
    /// The greatest set it acknowledged.
    pub(super) rank: Option<Rank>,
    /// When the renewal of this round is repeated.
    pub(super) again_at: Option<Instant>,
    /// It says that the line of this set is closed.
    pub(super) closed: bool,
    /// Its node answers with another memory: this watcher is gone.
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
            again_at: None,
            closed: false,
            gone: false,
        }
    }

    pub(super) fn note_sent(&mut self, at: Instant, until: Instant, token: Token, rank: Rank) {
        let sent = Sent {
            seq: self.seq,
            at,
            until,
            token,
            rank,
        };
        self.sent.retain(|s| s.seq != sent.seq);
        if self.sent.len() >= SENDS_MAX {
            self.sent.remove(0);
        }
        self.sent.push(sent);
    }

    /// It acknowledges the renewal `seq`. Returns whether that one is remembered. `counted` replaces the end of the
    /// promise.
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
        self.closed = false;
        if sent.at >= round_began {
            self.again_at = None;
        }
        true
    }
}
