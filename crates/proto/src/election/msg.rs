//! Bodies of election frames. All except [`Msg::Digest`] name their election, so any number of elections share a group.

use super::claim::{Claim, Key, Token};
use super::ranking::Ranking;
use super::score::{Entry, Score};
use crate::id::{ElectionId, Life, NodeId, Term};
use crate::lease;
use alloc::boxed::Box;
use alloc::vec::Vec;
use core::time::Duration;
use serde::{Deserialize, Serialize};

/// The greatest number of entries in any list of a message.
pub const LIST_MAX: usize = 32;

/// A message between members about elections.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Msg {
    /// A hash of all claims that the sender holds, attached to pings and acks. A receiver that holds different claims
    /// answers with them.
    Digest(#[serde(with = "postcard::fixint::le")] u32),
    /// A claim that the sender holds.
    Claim(ElectionId, Claim),
    /// A claim that a leader sends to a member that may not know it. Answered by [`Msg::Held`].
    Leader(ElectionId, Claim),
    /// The sender holds a claim with this key.
    Held(ElectionId, Key),
    /// Asks whether the receiver still leads; carries a nonce. Answered by [`Msg::Incumbent`].
    Probe(ElectionId, u32),
    /// The answer to a probe: whether the sender still leads.
    Incumbent {
        /// The election.
        election: ElectionId,
        /// The nonce of the probe. A late answer with another nonce is ignored.
        nonce: u32,
        /// Whether the sender leads by the claim it holds.
        leads: bool,
    },
    /// Asks for the receiver's best candidates.
    Query(Query),
    /// The answer to a query.
    Response(Response),
    /// Tells the receiver that it was chosen, by this claim. Answered by [`Msg::Accept`] or [`Msg::Decline`].
    Notify {
        /// The election.
        election: ElectionId,
        /// The claim that names the receiver.
        claim: Claim,
        /// The candidates that the initiator has ruled out.
        skip: Vec<(NodeId, Life)>,
    },
    /// The sender accepts leadership by the claim with this key.
    Accept {
        /// The election.
        election: ElectionId,
        /// The key of the claim.
        key: Key,
        /// The sender's current properties, which may be newer than what others know.
        entry: Entry,
    },
    /// The sender declines leadership.
    Decline {
        /// The election.
        election: ElectionId,
        /// The key of the claim.
        key: Key,
        /// The reason.
        why: Refusal,
    },
    /// The sender has resigned.
    Resign {
        /// The election.
        election: ElectionId,
        /// The key of the claim by which it led.
        key: Key,
        /// The node that should start a round at once.
        successor: Option<NodeId>,
    },
    /// Asks which of these candidates the receiver does not list.
    Sample {
        /// The election.
        election: ElectionId,
        /// A nonce that the answer repeats.
        nonce: u32,
        /// The candidates.
        candidates: Vec<(NodeId, Life)>,
    },
    /// The answer to a sample.
    Sampled {
        /// The election.
        election: ElectionId,
        /// The nonce of the sample.
        nonce: u32,
        /// Bit `n` is set if the sender does not list candidate `n`.
        missing: u32,
    },
    /// The greatest set of watchers that the sender knows; sent together with a claim.
    Watchers(ElectionId, Box<lease::Known>),
    /// A request for a lease or its renewal. Answered by [`Msg::Granted`] or [`Msg::Refused`].
    Renew {
        /// The election.
        election: ElectionId,
        /// The token by which the sender acts or wants to act.
        token: Token,
        /// The set of watchers and the requested duration.
        known: Box<lease::Known>,
        /// The sequence number, different for every transmission.
        seq: u64,
    },
    /// The sender, a watcher, grants the lease.
    Granted {
        /// The election.
        election: ElectionId,
        /// The sender's memory; see [`lease::Watcher`].
        memory: Life,
        /// The holder's life.
        life: Life,
        /// The sequence number of the renewal.
        seq: u64,
    },
    /// The sender refuses to grant a lease or to close lines.
    Refused {
        /// The election.
        election: ElectionId,
        /// The sender's memory.
        memory: Life,
        /// The reason, and what the sender knows.
        refusal: Box<lease::Refusal>,
    },
    /// The sender no longer acts by this token or any smaller one.
    Release {
        /// The election.
        election: ElectionId,
        /// The token by which it led.
        token: Token,
    },
    /// Asks the receiver to close all lines below the sender's token, because the sender can get no quorum of the
    /// watchers. Answered by [`Msg::Closed`] or [`Msg::Refused`].
    Close {
        /// The election.
        election: ElectionId,
        /// The sender's token.
        token: Token,
        /// The rank of the greatest set that the sender knows.
        set: Option<lease::Rank>,
    },
    /// The sender closed the lines below a token.
    Closed {
        /// The election.
        election: ElectionId,
        /// The token of the request.
        token: Token,
        /// The sender's memory.
        memory: Life,
        /// The longest lease that the sender may have promised.
        span: Duration,
    },
    /// Asks whether the receiver's promise is over. Answered by [`Msg::Notice`].
    Look(ElectionId),
    /// How long the sender grants nobody but the current holder. Also sent without a request when its promise is over.
    Notice {
        /// The election.
        election: ElectionId,
        /// The sender's memory.
        memory: Life,
        /// The remaining time; zero if the sender is free.
        left: Duration,
    },
    /// The sender's record of leases. A restarted member sends it to others and asks for theirs.
    Told {
        /// The election.
        election: ElectionId,
        /// The greatest token that was granted or closed for.
        token: Option<Token>,
        /// The greatest set of watchers.
        set: Option<Box<lease::Set>>,
        /// Lines below this token are closed.
        closed: Option<Token>,
        /// At least the length of any lease on that set.
        span: Duration,
        /// Whether the sender asks for the receiver's record.
        asks: bool,
    },
    /// The sender, a watcher of the receiver's lease, is about to leave.
    Leaving(ElectionId),
    /// A renewal in short form, for a watcher that granted the same lease before. Answered by [`Msg::Granted`] or
    /// [`Msg::Refused`].
    Extend {
        /// The election.
        election: ElectionId,
        /// [`lease::Renew::sum`] of the renewal.
        #[serde(with = "postcard::fixint::le")]
        sum: u64,
        /// The sequence number, different for every transmission.
        seq: u64,
    },
}

/// A query of an initiator.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Query {
    /// The election.
    pub election: ElectionId,
    /// The number of the round.
    pub term: Term,
    /// Distinguishes the attempts of one initiator (ER-5).
    pub attempt: u32,
    /// The number of best candidates to name (x).
    pub best: u8,
    /// The number of unhealthy members to name (y); 0 if the round ignores health.
    pub worst: u8,
    /// The criteria to compare candidates by.
    pub ranking: Ranking,
    /// Whether the round is an objection of a better candidate, rather than a reaction to a lost leader.
    pub objection: bool,
    /// The claim that the initiator holds.
    pub claim: Option<Claim>,
    /// The candidates not to name: the leader that is gone, and candidates that did not answer (ER-1).
    pub skip: Vec<(NodeId, Life)>,
}

/// The answer of a member to a query.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Response {
    /// The election.
    pub election: ElectionId,
    /// The term of the query.
    pub term: Term,
    /// The attempt of the query.
    pub attempt: u32,
    /// The best candidates by their announced properties, regardless of health and reliability, best first.
    pub best: Vec<Entry>,
    /// The best candidates that are not among the sender's own `worst`, compared by its own view of their reliability
    /// where that counts, best first. Those in `best` are left out.
    pub favoured: Vec<Entry>,
    /// Unhealthy members, each with its recent suspicions in quarters.
    pub worst: Vec<(NodeId, u8)>,
    /// Whether there are more candidates than `best` holds.
    pub truncated: bool,
    /// Whether the sender recently had direct contact with the incumbent in the life that its claim names.
    pub incumbent_seen: bool,
    /// The number of members that the sender lists, including itself.
    pub size: u32,
}

impl Response {
    /// All candidates that the answer names, each once.
    pub(super) fn named(&self) -> impl Iterator<Item = &Entry> + Clone {
        self.best.iter().chain(&self.favoured)
    }

    /// The score after which every unnamed candidate ranks, if the sender lists more candidates than it names (ER-15).
    /// It is the score of the last candidate if the named ones are sorted and cut to the length of `best`.
    pub(super) fn horizon(&self, score: impl Fn(&Entry) -> Score) -> Option<Score> {
        let mut named: Vec<Score> = self.named().map(score).collect();
        named.sort_unstable();
        let last = self.best.len().checked_sub(1).filter(|_| self.truncated);
        last.map(|last| named[last])
    }
}

/// The reason why a node does not accept leadership.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Refusal {
    /// It is in another life than the claim names.
    Life,
    /// It does not campaign in this election, or it is leaving.
    NoCandidate,
    /// It knows better candidates and recently had contact with them.
    Better(Vec<Entry>),
}

impl Msg {
    /// Whether this message may be sent only after the facts of its step are stored.
    pub(crate) fn rests_on_fact(&self) -> bool {
        matches!(self, Msg::Granted { .. } | Msg::Closed { .. })
    }

    /// Whether all lists and durations are within their limits.
    pub(crate) fn is_sane(&self) -> bool {
        let short = |len: usize| len <= LIST_MAX;
        match self {
            Msg::Query(q) => short(q.skip.len()),
            Msg::Response(r) => {
                short(r.best.len()) && short(r.favoured.len()) && short(r.worst.len())
            }
            Msg::Notify { skip, .. } => short(skip.len()),
            Msg::Decline {
                why: Refusal::Better(list),
                ..
            } => short(list.len()),
            Msg::Sample { candidates, .. } => short(candidates.len()),
            Msg::Watchers(_, known) | Msg::Renew { known, .. } => known.is_sane(),
            Msg::Refused { refusal, .. } => {
                refusal.left <= lease::SPAN_MAX * 2 && refusal.span <= lease::SPAN_MAX
            }
            Msg::Told { span, .. } => *span <= lease::SPAN_MAX,
            Msg::Closed { span, .. } => *span <= lease::SPAN_MAX,
            Msg::Notice { left, .. } => *left <= lease::SPAN_MAX * 2,
            _ => true,
        }
    }

    /// The greatest term in the message.
    pub(crate) fn term(&self) -> Option<Term> {
        let known = |k: &lease::Known| k.set.rank.line.term.max(k.set.rank.by.term);
        let rank = |r: &lease::Rank| r.line.term.max(r.by.term);
        match self {
            Msg::Claim(_, claim) | Msg::Leader(_, claim) | Msg::Notify { claim, .. } => {
                Some(claim.term())
            }
            Msg::Query(q) => q.claim.map(|c| c.term()).max(Some(q.term)),
            Msg::Watchers(_, k) => Some(known(k)),
            Msg::Renew {
                token, known: k, ..
            } => Some(token.term.max(known(k))),
            Msg::Release { token, .. } | Msg::Closed { token, .. } => Some(token.term),
            Msg::Close { token, set, .. } => Some(token.term).max(set.as_ref().map(rank)),
            Msg::Refused { refusal, .. } => {
                let tokens = refusal.token.max(refusal.closed).map(|t| t.term);
                tokens.max(refusal.set.as_ref().map(|s| rank(&s.rank)))
            }
            Msg::Told {
                token, set, closed, ..
            } => {
                let tokens = (*token).max(*closed).map(|t| t.term);
                tokens.max(set.as_ref().map(|s| rank(&s.rank)))
            }
            _ => None,
        }
    }

    /// The election that the message belongs to; `None` if it concerns all of them.
    pub(crate) fn election(&self) -> Option<ElectionId> {
        match self {
            Msg::Digest(_) => None,
            Msg::Claim(election, _)
            | Msg::Leader(election, _)
            | Msg::Held(election, _)
            | Msg::Probe(election, _)
            | Msg::Incumbent { election, .. }
            | Msg::Notify { election, .. }
            | Msg::Accept { election, .. }
            | Msg::Decline { election, .. }
            | Msg::Resign { election, .. }
            | Msg::Sample { election, .. }
            | Msg::Sampled { election, .. }
            | Msg::Watchers(election, _)
            | Msg::Renew { election, .. }
            | Msg::Extend { election, .. }
            | Msg::Granted { election, .. }
            | Msg::Refused { election, .. }
            | Msg::Release { election, .. }
            | Msg::Close { election, .. }
            | Msg::Closed { election, .. }
            | Msg::Look(election)
            | Msg::Leaving(election)
            | Msg::Notice { election, .. }
            | Msg::Told { election, .. } => Some(*election),
            Msg::Query(q) => Some(q.election),
            Msg::Response(r) => Some(r.election),
        }
    }
}
