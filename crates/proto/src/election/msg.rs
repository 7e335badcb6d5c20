//! Bodies of election frames. Every one names its election, so any number share a group.

use super::claim::{Claim, Key, Token};
use super::ranking::Ranking;
use super::score::{Entry, Score};
use crate::id::{ElectionId, Life, NodeId, Term};
use crate::lease;
use alloc::boxed::Box;
use alloc::vec::Vec;
use core::time::Duration;
use serde::{Deserialize, Serialize};

/// Most entries of any list in a message.
pub const LIST_MAX: usize = 32;

/// What members say to each other about elections.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Msg {
    /// Rides on pings and acks: a hash of all claims the sender holds. Who holds others answers with
    /// them.
    Digest(#[serde(with = "postcard::fixint::le")] u32),
    /// The sender holds this claim.
    Claim(ElectionId, Claim),
    /// The same from a leader to one that may not have heard. Answered by [`Msg::Held`].
    Leader(ElectionId, Claim),
    /// The sender holds a claim with this key.
    Held(ElectionId, Key),
    /// Do you still lead? Answered by [`Msg::Incumbent`].
    Probe(ElectionId, u32),
    /// The answer: whether it still leads.
    Incumbent {
        /// In which election.
        election: ElectionId,
        /// Of the question: a late answer without it proves nothing.
        nonce: u32,
        /// Whether the sender leads by the claim it holds.
        leads: bool,
    },
    /// Whom do you find best?
    Query(Query),
    /// The answer.
    Response(Response),
    /// You lead, by this claim. Answered by [`Msg::Accept`] or [`Msg::Decline`].
    Notify {
        /// In which election.
        election: ElectionId,
        /// The claim.
        claim: Claim,
        /// Whom the initiator has ruled out.
        skip: Vec<(NodeId, Life)>,
    },
    /// I lead, by the claim with this key; and this is how I am now.
    Accept {
        /// In which election.
        election: ElectionId,
        /// Of the claim.
        key: Key,
        /// How the sender stands now: what others know may be older.
        entry: Entry,
    },
    /// I do not lead.
    Decline {
        /// In which election.
        election: ElectionId,
        /// Of the claim.
        key: Key,
        /// Why.
        why: Refusal,
    },
    /// The sender no longer leads.
    Resign {
        /// In which election.
        election: ElectionId,
        /// Of the claim by which it led.
        key: Key,
        /// Who should hold an election at once.
        successor: Option<NodeId>,
    },
    /// Which of these do you not list?
    Sample {
        /// In which election.
        election: ElectionId,
        /// Repeated in the answer.
        nonce: u32,
        /// Candidates.
        candidates: Vec<(NodeId, Life)>,
    },
    /// The answer.
    Sampled {
        /// In which election.
        election: ElectionId,
        /// Of the question.
        nonce: u32,
        /// A bit for each candidate that the sender does not list.
        missing: u32,
    },
    /// The greatest set of watchers that the sender knows; goes beside a claim.
    Watchers(ElectionId, Box<lease::Known>),
    /// The sender asks for a lease, or renews it. Answered by [`Msg::Granted`] or [`Msg::Refused`].
    Renew {
        /// In which election.
        election: ElectionId,
        /// By which token it acts.
        token: Token,
        /// Who watches, and for how long.
        known: Box<lease::Known>,
        /// Another number for every sending.
        seq: u64,
    },
    /// The sender promises the lease.
    Granted {
        /// In which election.
        election: ElectionId,
        /// The sender's memory: see [`lease::Watcher`].
        memory: Life,
        /// The holder's life.
        life: Life,
        /// Of the renewal.
        seq: u64,
    },
    /// The sender does not promise the lease, or does not close.
    Refused {
        /// In which election.
        election: ElectionId,
        /// The sender's memory.
        memory: Life,
        /// Why, and what it knows.
        refusal: Box<lease::Refusal>,
    },
    /// The sender acts no longer by this token and smaller ones.
    Release {
        /// In which election.
        election: ElectionId,
        /// By which it led.
        token: Token,
    },
    /// The sender can have no quorum of the watchers, and wants all lines below its token closed. Answered by
    /// [`Msg::Closed`] or [`Msg::Refused`].
    Close {
        /// In which election.
        election: ElectionId,
        /// The sender's.
        token: Token,
        /// The greatest set it knows.
        set: Option<lease::Rank>,
    },
    /// The sender closed them.
    Closed {
        /// In which election.
        election: ElectionId,
        /// Of the question.
        token: Token,
        /// The sender's memory.
        memory: Life,
        /// The longest lease that the sender may have promised.
        span: Duration,
    },
    /// Is your promise over? Answered by [`Msg::Notice`].
    Look(ElectionId),
    /// How long the sender grants nobody but the leader. Also sent unasked when its promise is over.
    Notice {
        /// In which election.
        election: ElectionId,
        /// The sender's memory.
        memory: Life,
        /// How long; zero is not at all.
        left: Duration,
    },
    /// What a restarted member recorded, and what the one it asks did.
    Told {
        /// In which election.
        election: ElectionId,
        /// The greatest token granted or closed for.
        token: Option<Token>,
        /// The greatest set.
        set: Option<Box<lease::Set>>,
        /// Below which lines are closed.
        closed: Option<Token>,
        /// At least as long as any lease on that set.
        span: Duration,
        /// The sender wants to be told as well.
        asks: bool,
    },
}

/// A question of an initiator.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Query {
    /// In which election.
    pub election: ElectionId,
    /// The round it would decide.
    pub term: Term,
    /// Tells the attempts of one initiator apart (ER-5).
    pub attempt: u32,
    /// How many best candidates to name (x).
    pub best: u8,
    /// How many unhealthy ones to name (y); 0 without regard to health.
    pub worst: u8,
    /// What to compare candidates by.
    pub ranking: Ranking,
    /// A better candidate asks, not one that misses its leader.
    pub objection: bool,
    /// The claim the initiator holds.
    pub claim: Option<Claim>,
    /// Whom not to name: the leader that is gone, and who did not answer (ER-1).
    pub skip: Vec<(NodeId, Life)>,
}

/// What a member finds.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Response {
    /// In which election.
    pub election: ElectionId,
    /// Of the question.
    pub term: Term,
    /// Of the question.
    pub attempt: u32,
    /// The best candidates by what they announce, whatever their health and reliability, the best first.
    pub best: Vec<Entry>,
    /// The best outside the sender's own worst, by its own view of their reliability where that counts,
    /// the best first; those in `best` left out.
    pub favoured: Vec<Entry>,
    /// Unhealthy members, with suspicions in quarters.
    pub worst: Vec<(NodeId, u8)>,
    /// There are more candidates than `best` could hold.
    pub truncated: bool,
    /// The sender had direct contact with the incumbent, in the life of its claim, a moment ago.
    pub incumbent_seen: bool,
    /// How many members the sender lists, itself included.
    pub size: u32,
}

impl Response {
    /// Everybody it names, once.
    pub(super) fn named(&self) -> impl Iterator<Item = &Entry> + Clone {
        self.best.iter().chain(&self.favoured)
    }

    /// Whom the sender does not name comes after this, if it lists more than it names (ER-15): the last of
    /// the candidates that it finds best, as many as `best` holds.
    pub(super) fn horizon(&self, score: impl Fn(&Entry) -> Score) -> Option<Score> {
        let mut named: Vec<Score> = self.named().map(score).collect();
        named.sort_unstable();
        let last = self.best.len().checked_sub(1).filter(|_| self.truncated);
        last.map(|last| named[last])
    }
}

/// Why a node does not accept leadership.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Refusal {
    /// It is in another life than the claim says.
    Life,
    /// It does not stand in this election, or is leaving.
    NoCandidate,
    /// It knows better ones, and had contact with them a moment ago.
    Better(Vec<Entry>),
}

impl Msg {
    /// Whether this may be sent only when the facts of its step are stored.
    pub(crate) fn rests_on_fact(&self) -> bool {
        matches!(self, Msg::Granted { .. } | Msg::Closed { .. })
    }

    /// Whether every list is short enough to be taken.
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

    /// The greatest term that it names.
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

    /// Of which election, or of all.
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
            | Msg::Granted { election, .. }
            | Msg::Refused { election, .. }
            | Msg::Release { election, .. }
            | Msg::Close { election, .. }
            | Msg::Closed { election, .. }
            | Msg::Look(election)
            | Msg::Notice { election, .. }
            | Msg::Told { election, .. } => Some(*election),
            Msg::Query(q) => Some(q.election),
            Msg::Response(r) => Some(r.election),
        }
    }
}
