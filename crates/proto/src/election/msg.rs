//! Bodies of election frames. Every one names its election, so any number share a group.

use super::claim::{Claim, Key};
use super::ranking::Ranking;
use super::score::{Entry, Score};
use crate::id::{ElectionId, Life, NodeId, Term};
use alloc::vec::Vec;
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
    /// The sender leads no more.
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
            _ => true,
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
            | Msg::Sampled { election, .. } => Some(*election),
            Msg::Query(q) => Some(q.election),
            Msg::Response(r) => Some(r.election),
        }
    }
}
