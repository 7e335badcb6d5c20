//! What elections read of membership.

use super::CLASS_NEVER;
use super::config::Config;
use super::msg::LIST_MAX;
use super::ranking::Ranking;
use super::score::{Entry, Score};
use crate::id::{ElectionId, Life, NodeId};
use crate::membership::{Member, Membership, Phase};
use crate::reliability::Ledger;
use crate::rng::Rng;
use crate::time::{Instant, micros};
use alloc::collections::BTreeMap;
use alloc::vec::Vec;
use core::time::Duration;

/// The member list with this node, and the settings: all that an election reads.
#[derive(Clone, Copy)]
pub struct View<'a> {
    /// Who is here.
    pub membership: &'a Membership,
    /// Who fails how often.
    pub reliability: &'a Ledger,
}

/// The same for one election.
#[derive(Clone, Copy)]
pub(super) struct Env<'a> {
    pub(super) me: NodeId,
    pub(super) now: Instant,
    pub(super) group: u32,
    /// What fits into a frame.
    pub(super) frames_max: usize,
    pub(super) config: &'a Config,
    /// What candidates are compared by.
    pub(super) ranking: Ranking,
    pub(super) storage: Storage,
    /// The wall clock in seconds, if this node has one.
    pub(super) wall: Option<u64>,
    /// This node has been here for so long that it knows whoever is.
    pub(super) settled: bool,
    /// This node was told to join a group and has found nobody of it, and has not looked for long.
    pub(super) seeks: bool,
    pub(super) view: View<'a>,
}

/// Whether terms can be stored.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Storage {
    /// A term counts as stored only when that is confirmed. Otherwise it does at the end of the step.
    pub(super) awaited: bool,
    /// The last one could not be stored.
    pub(super) failed: bool,
}

/// What has become of a member in a life.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Fate {
    /// Listed in that life.
    Here,
    /// Not listed at all.
    Unknown,
    /// Declared down.
    Failed,
    /// Said goodbye, came back in another life, or no longer stands in the election.
    Gone,
}

impl<'a> Env<'a> {
    pub(super) fn life(&self) -> Life {
        self.view.membership.life()
    }

    /// The same with candidates compared by what they announce alone.
    pub(super) fn as_announced(self) -> Env<'a> {
        let ranking = self.ranking.announced();
        Env { ranking, ..self }
    }

    pub(super) fn score(&self, election: ElectionId, entry: &Entry) -> Score {
        Score::of(self.group, election, self.ranking, entry)
    }

    /// This node as a candidate.
    pub(super) fn own_entry(&self, election: ElectionId) -> Option<Entry> {
        let campaign = self.view.membership.meta().campaign(election)?;
        let runs = campaign.class != CLASS_NEVER && !self.view.membership.is_leaving();
        runs.then(|| Entry {
            reliability: self.view.reliability.bucket(self.me),
            ..Entry::new(self.me, self.life(), campaign)
        })
    }

    /// Members that this node lists, without itself.
    pub(super) fn members(&self) -> impl Iterator<Item = &'a Member> {
        let listed = |m: &&Member| m.phase != Phase::Down;
        self.view.membership.table().iter().filter(listed)
    }

    /// How many members this node lists, itself included.
    pub(super) fn size(&self) -> usize {
        self.view.membership.table().live() + 1
    }

    /// A member as a candidate.
    pub(super) fn entry(&self, election: ElectionId, member: &Member) -> Option<Entry> {
        let campaign = member
            .meta
            .campaign(election)
            .filter(|_| member.is_current())?;
        let half_life = self.half_life();
        (campaign.class != CLASS_NEVER).then(|| Entry {
            unhealth: (member.trouble(self.now, half_life) * 4.0).min(255.0) as u8,
            suspect: member.phase == Phase::Suspected,
            reliability: self.view.reliability.bucket(member.id),
            ..Entry::new(member.id, member.precedence.life, campaign)
        })
    }

    /// All candidates that this node lists, itself included, in no order.
    pub(super) fn candidates(&self, election: ElectionId) -> impl Iterator<Item = Entry> {
        let others = self.members().filter_map(move |m| self.entry(election, m));
        self.own_entry(election).into_iter().chain(others)
    }

    /// The best candidates that pass `keep`, the best first.
    pub(super) fn best(
        &self,
        election: ElectionId,
        most: usize,
        keep: impl Fn(&Entry) -> bool,
    ) -> (Vec<Entry>, bool) {
        let mut all: Vec<(Score, Entry)> = self
            .candidates(election)
            .filter(|e| keep(e))
            .map(|e| (self.score(election, &e), e))
            .collect();
        all.sort_unstable_by_key(|c| c.0);
        let truncated = all.len() > most;
        (all.into_iter().take(most).map(|c| c.1).collect(), truncated)
    }

    /// How many candidates an answer can name: what was asked for, and what fits.
    pub(super) fn best_most(&self, asked: u8) -> usize {
        let fits = self.frames_max.saturating_sub(64) / 64;
        usize::from(asked).min(fits).clamp(1, LIST_MAX)
    }

    /// How many of those ruled out fit into a question beside its claims.
    pub(super) fn skip_most(&self) -> usize {
        (self.frames_max.saturating_sub(96) / 16).clamp(1, LIST_MAX)
    }

    /// The unhealthiest members: at most `most`, and at most a third of those known.
    pub(super) fn worst(&self, most: usize) -> Vec<(NodeId, u8)> {
        let half_life = self.half_life();
        let unhealth = |m: &Member| (m.trouble(self.now, half_life) * 4.0).min(255.0) as u8;
        let mut all: Vec<(u8, NodeId)> = self
            .members()
            .map(|m| (unhealth(m), m.id))
            .filter(|w| w.0 >= self.config.unhealth_min)
            .collect();
        all.sort_unstable_by_key(|&(u, id)| (core::cmp::Reverse(u), id));
        let most = most.min(self.size() / 3);
        all.into_iter().take(most).map(|(u, id)| (id, u)).collect()
    }

    fn half_life(&self) -> Duration {
        let m = self.view.membership.config();
        m.probe_period * m.trouble_periods
    }

    pub(super) fn period(&self) -> Duration {
        self.view.membership.config().probe_period
    }

    /// How long a member that is gone may be listed: a claim about it is looked at again after that.
    pub(super) fn fresh(&self) -> Duration {
        self.view.membership.suspicion_min()
    }

    /// Whether this node heard from that process directly a moment ago.
    pub(super) fn is_fresh(&self, id: NodeId, life: Life) -> bool {
        let fresh = self.view.membership.contact_fresh();
        let recent = |m: &Member| {
            // ★ In the same life: a restarted leader is in contact, and no longer leads.
            m.precedence.life == life && self.now.since(m.last_contact) <= fresh
        };
        self.view.membership.table().get(id).is_some_and(recent)
    }

    /// What has become of a candidate.
    pub(super) fn fate(&self, election: ElectionId, id: NodeId, life: Life) -> Fate {
        if id == self.me {
            let stands = self.own_entry(election).is_some();
            return if life == self.life() && stands {
                Fate::Here
            } else {
                Fate::Gone
            };
        }
        let Some(member) = self.view.membership.table().get(id) else {
            return Fate::Unknown;
        };
        let listed = member.precedence;
        if listed.life != life {
            // An older life is listed: the news of the newer one has not come yet.
            return if listed.life > life {
                Fate::Gone
            } else {
                Fate::Unknown
            };
        }
        match (member.phase, listed.status) {
            (Phase::Down, crate::membership::Status::Left) => Fate::Gone,
            (Phase::Down, _) => Fate::Failed,
            _ if member.is_current() && member.meta.campaign(election).is_none() => Fate::Gone,
            _ => Fate::Here,
        }
    }

    /// How long to wait for an answer of an ordinary member.
    pub(super) fn rto(&self) -> Duration {
        let waits = self.members().filter(|m| m.rtt.srtt_us > 0);
        let waits = waits.map(|m| u64::from(m.rtt.srtt_us) + 4 * u64::from(m.rtt.var_us));
        let mut waits: Vec<u64> = waits.collect();
        let most = (self.period() / 4).max(Duration::from_secs(5));
        if waits.is_empty() {
            return (self.period() / 4).clamp(Duration::from_millis(50), most);
        }
        let three_quarters = (waits.len() - 1) * 3 / 4;
        let (_, &mut wait, _) = waits.select_nth_unstable(three_quarters);
        Duration::from_micros(wait).clamp(Duration::from_millis(50), most)
    }

    /// Random members to ask, in random order: zone by zone in turn where zones are known (ER-28).
    /// Never those that observe, and those for whom `keep` does not hold.
    pub(super) fn responders(
        &self,
        rng: &mut Rng,
        count: usize,
        keep: impl Fn(&Member) -> bool,
    ) -> Vec<NodeId> {
        let mut zones: BTreeMap<&str, Vec<NodeId>> = BTreeMap::new();
        for m in self.members() {
            if m.phase == Phase::Up && !m.meta.observer && keep(m) {
                let zone = m.meta.tags.get("zone").map_or("", |z| z.as_str());
                zones.entry(zone).or_default().push(m.id);
            }
        }
        let mut zones: Vec<Vec<NodeId>> = zones.into_values().collect();
        for zone in &mut zones {
            rng.shuffle(zone);
        }
        rng.shuffle(&mut zones);
        let mut chosen = Vec::new();
        while chosen.len() < count && zones.iter().any(|z| !z.is_empty()) {
            let room = count - chosen.len();
            chosen.extend(zones.iter_mut().filter_map(Vec::pop).take(room));
        }
        chosen
    }

    /// A random part of `span`.
    pub(super) fn jitter(&self, rng: &mut Rng, span: Duration) -> Duration {
        Duration::from_micros(rng.below64(micros(span).max(1)))
    }
}
