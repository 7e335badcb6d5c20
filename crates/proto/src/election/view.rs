//! What elections read from membership and reliability.

use super::CLASS_NEVER;
use super::config::Config;
use super::msg::LIST_MAX;
use super::ranking::Ranking;
use super::score::{Entry, Score};
use crate::id::{ElectionId, Life, NodeId};
use crate::membership::{Member, Membership, Phase};
use crate::reliability::Ledger;
use crate::rng::Rng;
use crate::seal::{Certs, Roles, Scope};
use crate::time::{Instant, micros};
use alloc::collections::BTreeMap;
use alloc::vec::Vec;
use core::time::Duration;

/// The layers below, as an election reads them.
#[derive(Clone, Copy)]
pub struct View<'a> {
    /// The member list.
    pub membership: &'a Membership,
    /// The record of how often members fail.
    pub reliability: &'a Ledger,
    /// Whose certificates are known, in a group whose members prove who they are.
    pub(crate) certs: Option<&'a Certs>,
}

impl<'a> View<'a> {
    /// The layers below, in a group whose members do not prove who they are.
    pub fn new(membership: &'a Membership, reliability: &'a Ledger) -> View<'a> {
        View {
            membership,
            reliability,
            certs: None,
        }
    }
}

/// The view of one election, with its settings and the current time.
#[derive(Clone, Copy)]
pub(super) struct Env<'a> {
    pub(super) me: NodeId,
    pub(super) now: Instant,
    pub(super) group: u32,
    /// The space for frames in a datagram.
    pub(super) frames_max: usize,
    pub(super) config: &'a Config,
    /// The criteria by which candidates are compared.
    pub(super) ranking: Ranking,
    pub(super) storage: Storage,
    /// The wall clock in seconds, if this node has one.
    pub(super) wall: Option<u64>,
    /// Whether this node has been in the group for long enough to know all its members.
    pub(super) settled: bool,
    /// Whether this node still looks for the group that it was told to join and has found none of its members.
    pub(super) seeks: bool,
    pub(super) view: View<'a>,
}

/// Whether terms can be stored.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Storage {
    /// Whether a term counts as stored only after that is confirmed. Otherwise it counts at the end of the step.
    pub(super) awaited: bool,
    /// Whether the last term could not be stored.
    pub(super) failed: bool,
}

/// What became of a process, that is of a node in one life.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Fate {
    /// It is listed in that life.
    Here,
    /// The node is not listed, or is listed in an earlier life.
    Unknown,
    /// It was declared failed.
    Failed,
    /// It said goodbye, restarted, or no longer campaigns in the election.
    Gone,
}

impl<'a> Env<'a> {
    pub(super) fn life(&self) -> Life {
        self.view.membership.life()
    }

    /// The same view with candidates compared only by what they announce.
    pub(super) fn as_announced(self) -> Env<'a> {
        let ranking = self.ranking.announced();
        Env { ranking, ..self }
    }

    pub(super) fn score(&self, election: ElectionId, entry: &Entry) -> Score {
        Score::of(self.group, election, self.ranking, entry)
    }

    /// This node as a candidate, if it campaigns.
    pub(super) fn own_entry(&self, election: ElectionId) -> Option<Entry> {
        let campaign = self.view.membership.meta().campaign(election)?;
        let runs = campaign.class != CLASS_NEVER && !self.view.membership.is_leaving();
        (runs && self.may_lead(election, self.me)).then(|| Entry {
            reliability: self.view.reliability.bucket(self.me),
            ..Entry::new(self.me, self.life(), campaign)
        })
    }

    /// Whether the certificate of a node allows it to lead. One whose certificate is not known remains a candidate; it is
    /// known once it accepts.
    fn may_lead(&self, election: ElectionId, id: NodeId) -> bool {
        let certs = self.view.certs;
        let known = certs.and_then(|c| c.may(id, Roles::CAMPAIGN, Scope::Election(election.0)));
        known.unwrap_or(true)
    }

    /// The members that this node lists, without itself.
    pub(super) fn members(&self) -> impl Iterator<Item = &'a Member> {
        let listed = |m: &&Member| m.phase != Phase::Down;
        self.view.membership.table().iter().filter(listed)
    }

    /// The number of members that this node lists, including itself.
    pub(super) fn size(&self) -> usize {
        self.view.membership.table().live() + 1
    }

    /// A member as a candidate, if it campaigns.
    pub(super) fn entry(&self, election: ElectionId, member: &Member) -> Option<Entry> {
        let campaign = member
            .meta
            .campaign(election)
            .filter(|_| member.is_current())?;
        let half_life = self.half_life();
        let runs = campaign.class != CLASS_NEVER && self.may_lead(election, member.id);
        runs.then(|| Entry {
            unhealth: (member.trouble(self.now, half_life) * 4.0).min(255.0) as u8,
            suspect: member.phase == Phase::Suspected,
            reliability: self.view.reliability.bucket(member.id),
            ..Entry::new(member.id, member.precedence.life, campaign)
        })
    }

    /// All candidates that this node lists, including itself, in no particular order.
    pub(super) fn candidates(&self, election: ElectionId) -> impl Iterator<Item = Entry> {
        let others = self.members().filter_map(move |m| self.entry(election, m));
        self.own_entry(election).into_iter().chain(others)
    }

    /// The best candidates that `keep` accepts, best first, and whether there were more than `most`.
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

    /// How many candidates an answer names: as many as asked for, if they fit into a datagram.
    pub(super) fn best_most(&self, asked: u8) -> usize {
        let fits = self.frames_max.saturating_sub(64) / 64;
        usize::from(asked).min(fits).clamp(1, LIST_MAX)
    }

    /// How many of the ruled-out candidates fit into a query beside its claim.
    pub(super) fn skip_most(&self) -> usize {
        (self.frames_max.saturating_sub(96) / 16).clamp(1, LIST_MAX)
    }

    /// The unhealthiest members: at most `most`, and at most a third of the known members.
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

    /// How long a departed member may still be listed. A claim about it is checked again after that time.
    pub(super) fn fresh(&self) -> Duration {
        self.view.membership.suspicion_min()
    }

    /// Whether this node recently heard from that process directly.
    pub(super) fn is_fresh(&self, id: NodeId, life: Life) -> bool {
        let fresh = self.view.membership.contact_fresh();
        let recent = |m: &Member| {
            // The life has to match: a restarted leader is in contact but no longer leads.
            m.precedence.life == life && self.now.since(m.last_contact) <= fresh
        };
        self.view.membership.table().get(id).is_some_and(recent)
    }

    /// What became of the process `id` in `life`, as a candidate of `election`.
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
            // An older life is listed: news of the newer one has not arrived yet.
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

    /// How long to wait for an answer: the upper quartile of the round-trip timeouts of all members, within limits.
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

    /// Random members to ask, in random order; zone by zone in turn if zones are known (ER-28). Observers and members
    /// that `keep` rejects are left out.
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

    /// A random duration below `span`.
    pub(super) fn jitter(&self, rng: &mut Rng, span: Duration) -> Duration {
        Duration::from_micros(rng.below64(micros(span).max(1)))
    }
}
