//! Elections by component that this node takes part in: its claims, and its reports to the application.

use super::event::Event;
use super::judge::{Chosen, greatest_claim};
use super::record::{Record, SEATS_MAX, Seat};
use super::{CENTRALITY_WORST, Omega, OmegaCx, Timer};
use crate::id::{ElectionId, Life, NodeId};
use crate::membership::Campaign;
use crate::time::Instant;
use alloc::vec::Vec;
use core::cmp::Reverse;

/// The state of one election at this node.
#[derive(Clone, Debug)]
pub(super) struct Race {
    election: ElectionId,
    /// The class and the attribute while this node campaigns.
    candidacy: Option<(u8, u32)>,
    /// Whether this node resigned and waits for another node to lead.
    resigned: bool,
    claim: Option<u32>,
    leader: Option<Chosen>,
    /// The time since which `leader` leads.
    since: Instant,
    /// The leader that was reported to the application.
    told: Option<(NodeId, Life)>,
    /// The claim by which this node leads, as reported to the application.
    acting: Option<u32>,
}

impl Race {
    /// The entry of this election in this node's record, if it campaigns.
    pub(super) fn seat(&self) -> Option<Seat> {
        let (class, attribute) = self.candidacy.filter(|_| !self.resigned)?;
        Some(Seat {
            election: self.election,
            class,
            attribute,
            claim: self.claim,
        })
    }

    fn leads(&self, me: NodeId) -> bool {
        self.leader.is_some_and(|l| l.id == me)
    }

    /// Reports at once that this node leads or no longer leads.
    fn tell_acting(&mut self, cx: &mut OmegaCx<'_>, leads: bool) {
        let acting = self.claim.filter(|_| leads);
        if acting == self.acting {
            return;
        }
        let election = self.election;
        if let Some(term) = self.acting {
            cx.emit(Event::Stopped { election, term });
        }
        if let Some(term) = acting {
            cx.emit(Event::Leading { election, term });
        }
        self.acting = acting;
    }
}

/// Claims up to this value are accepted without limit.
const CLAIM_CEILING: u32 = 1 << 24;

/// How far the claims of others may grow above the ceiling per hour, so that their range is never used up.
const CLAIMS_PER_HOUR: u32 = 1 << 16;

/// How far claims of other nodes are followed. A forged claim must not use up the range, because then nobody could claim
/// the lead again.
#[derive(Clone, Debug)]
pub(super) struct Claims {
    /// The greatest claim that is accepted without using the allowance.
    top: u32,
    allowed: u32,
    allowed_at: Instant,
}

impl Default for Claims {
    fn default() -> Claims {
        Claims {
            top: CLAIM_CEILING,
            allowed: CLAIMS_PER_HOUR,
            allowed_at: Instant::ZERO,
        }
    }
}

impl Claims {
    /// Whether a claim is believed. One that is too great moves the limit as far as the allowance reaches, so a node that
    /// was away catches up with those that were allowed more.
    fn follow(&mut self, now: Instant, claim: u32) -> bool {
        let growth = claim.saturating_sub(self.top);
        if growth == 0 {
            return true;
        }
        let since = now.since(self.allowed_at).as_secs();
        let refill = since.saturating_mul(CLAIMS_PER_HOUR.into()) / 3600;
        if refill > 0 {
            let refill = u32::try_from(refill).unwrap_or(CLAIMS_PER_HOUR);
            self.allowed = self.allowed.saturating_add(refill).min(CLAIMS_PER_HOUR);
            self.allowed_at = now;
        }
        let taken = growth.min(self.allowed);
        self.allowed -= taken;
        self.top += taken;
        taken == growth
    }
}

/// The state of an election by component at a node.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Standing {
    /// The leader of this node's component.
    pub leader: Option<Chosen>,
    /// The time since which it leads.
    pub since: Instant,
    /// Whether the leader has been the same for long enough to be reported.
    pub settled: bool,
    /// The claim by which this node leads, if it does.
    pub acting: Option<u32>,
    /// Whether this node campaigns in the election.
    pub campaigns: bool,
    /// The smallest id in the component, which identifies it.
    pub component: NodeId,
    /// A hash of the component's records.
    pub digest: u64,
    /// The number of nodes in the component, including this one.
    pub size: usize,
}

impl Omega {
    /// Whether all claims of a record can have been reached.
    pub(super) fn believes_claims(&mut self, now: Instant, record: &Record) -> bool {
        let claims = record.seats.iter().filter_map(|seat| seat.claim);
        claims
            .max()
            .is_none_or(|claim| self.claims.follow(now, claim))
    }

    fn race_mut(&mut self, election: ElectionId) -> Option<&mut Race> {
        self.races.iter_mut().find(|r| r.election == election)
    }

    /// Whether this node takes part in an election by component.
    pub fn holds(&self, election: ElectionId) -> bool {
        self.races.iter().any(|r| r.election == election)
    }

    /// The elections by component that this node takes part in, ordered by id.
    pub fn elections(&self) -> impl Iterator<Item = ElectionId> + '_ {
        self.races.iter().map(|r| r.election)
    }

    /// All known elections by component, in which this node or another node of its component takes part, ordered by id.
    pub fn known(&self) -> Vec<ElectionId> {
        let seats = self.store.members().flat_map(|e| &e.record.seats);
        let mut known: Vec<ElectionId> =
            seats.map(|s| s.election).chain(self.elections()).collect();
        known.sort_unstable();
        known.dedup();
        known
    }

    /// The state of an election. If this node takes no part in it, the result tells the leader and how long the
    /// component has been unchanged; it is `None` if there is no leader.
    pub fn standing(&self, me: NodeId, now: Instant, election: ElectionId) -> Option<Standing> {
        let race = self.races.iter().find(|r| r.election == election);
        let leader = match race {
            Some(race) => race.leader,
            None => Some(self.leader(election)?),
        };
        let since = race.map_or(self.changed_at, |r| r.since);
        Some(Standing {
            leader,
            since,
            settled: now.since(since) >= self.config.settle,
            acting: race.and_then(|r| r.acting),
            campaigns: race.is_some_and(|r| r.candidacy.is_some()),
            component: self.component().next().unwrap_or(me),
            digest: self.digest(),
            size: self.component_size().max(1),
        })
    }

    /// All candidates of an election in this node's component, best first, regardless of claims.
    pub fn candidates(&self, election: ElectionId) -> Vec<(NodeId, Life, Campaign)> {
        let seats = self.store.members().filter_map(|e| {
            let seat = e.record.seat(election)?;
            Some((e, seat))
        });
        let mut seats: Vec<_> = seats.collect();
        seats.sort_by_key(|(e, s)| (s.class, e.farness, s.attribute, Reverse(e.record.id)));
        let candidate = |(e, seat): (&super::store::Entry, &Seat)| {
            let campaign = Campaign {
                election,
                class: seat.class,
                attribute: seat.attribute,
                centrality: self.level(e.record.id),
                settled: true,
            };
            (e.record.id, e.record.version.life, campaign)
        };
        seats.into_iter().map(candidate).collect()
    }

    pub(super) fn open(&mut self, cx: &mut OmegaCx<'_>, election: ElectionId) {
        let max = usize::from(self.config.elections_max).min(SEATS_MAX);
        if self.holds(election) || self.races.len() >= max {
            return;
        }
        let at = self.races.partition_point(|r| r.election < election);
        let race = Race {
            election,
            candidacy: None,
            resigned: false,
            claim: None,
            leader: None,
            since: cx.now,
            told: None,
            acting: None,
        };
        self.races.insert(at, race);
        self.unjudged = true;
    }

    pub(super) fn campaign(&mut self, election: ElectionId, candidacy: Option<(u8, u32)>) {
        if let Some(race) = self.race_mut(election) {
            race.candidacy = candidacy;
            race.resigned &= candidacy.is_some();
            race.claim = race.claim.filter(|_| candidacy.is_some());
            self.unjudged = true;
        }
    }

    pub(super) fn resign(&mut self, election: ElectionId) {
        if let Some(race) = self.race_mut(election) {
            race.resigned = true;
            self.unjudged = true;
        }
    }

    pub(super) fn close(&mut self, cx: &mut OmegaCx<'_>, election: ElectionId) {
        if let Some(race) = self.race_mut(election) {
            race.tell_acting(cx, false);
        }
        self.races.retain(|r| r.election != election);
    }

    /// Computes centrality and the leaders of all elections.
    pub(super) fn judge(&mut self, cx: &mut OmegaCx<'_>) {
        self.unjudged = false;
        self.judged_at = Some(cx.now);
        self.store.judge(cx.me);
        self.centrality = self.level(cx.me);
        self.follow(cx);
    }

    fn level(&self, id: NodeId) -> u8 {
        let others = self.component_size().saturating_sub(1) as u64;
        let farness = self.store.get(id).map_or(0, |e| u64::from(e.farness));
        // Closeness is others / farness, at most 1.
        match farness {
            0 => CENTRALITY_WORST,
            _ => (16 * farness.saturating_sub(others) / farness).min(CENTRALITY_WORST.into()) as u8,
        }
    }

    /// Updates every election after the records changed: its leader, this node's claim, and the reports to the
    /// application.
    pub(super) fn follow(&mut self, cx: &mut OmegaCx<'_>) {
        let mut next: Option<Instant> = None;
        let mut races = core::mem::take(&mut self.races);
        for race in &mut races {
            let due = self.follow_one(cx, race);
            next = next.into_iter().chain(due).min();
        }
        self.races = races;
        match next {
            Some(at) => cx.set_timer(Timer::Race, at),
            None => cx.cancel_timer(Timer::Race),
        }
    }

    /// Updates one election. Returns the time of the next step.
    fn follow_one(&mut self, cx: &mut OmegaCx<'_>, race: &mut Race) -> Option<Instant> {
        let election = race.election;
        let leader = self.leader(election);
        let who = |leader: Option<Chosen>| leader.map(|l| (l.id, l.life));
        if who(leader) != who(race.leader) {
            race.since = cx.now;
            self.stats.leader_changes += 1;
        }
        race.leader = leader;
        let leads = race.leads(cx.me);
        let news = who(leader) != race.told;
        let tell_at = race.since + self.config.settle;
        if news && tell_at <= cx.now {
            race.told = who(leader);
            cx.emit(Event::Leader { election, leader });
        }
        let claim_at = race.since + self.config.claim_after;
        if claim_at <= cx.now {
            let records = self.store.members().map(|e| &e.record);
            match race.claim {
                None if leads => {
                    // At the end of the range nobody acts as leader: a claim is never used twice.
                    race.claim = greatest_claim(records, election).checked_add(1);
                    self.stats.claims_exhausted += u64::from(race.claim.is_none());
                }
                Some(_) if !leads => race.claim = None,
                _ => {}
            }
            // Another node has claimed the lead, or there is no leader.
            let over = leader.is_none_or(|l| l.id != cx.me && l.claim.is_some());
            race.resigned &= !over;
        }
        // This node's claim counts here before its record contains it.
        if let Some(own) = race.leader.as_mut().filter(|l| l.id == cx.me) {
            own.claim = race.claim;
        }
        race.tell_acting(cx, leads);
        let waits_to_tell = (news && tell_at > cx.now).then_some(tell_at);
        let waits = race.claim.is_some() != leads || race.resigned;
        let waits_to_claim = (waits && claim_at > cx.now).then_some(claim_at);
        waits_to_tell.into_iter().chain(waits_to_claim).min()
    }

    /// Stops leading in all elections, because this node is about to leave.
    pub(super) fn stop_leading(&mut self, cx: &mut OmegaCx<'_>) {
        for race in &mut self.races {
            race.tell_acting(cx, false);
            (race.claim, race.leader) = (None, None);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use core::time::Duration;

    #[test]
    fn claims_above_the_ceiling_grow_by_so_much_an_hour() {
        let mut claims = Claims::default();
        let now = Instant::ZERO + Duration::from_secs(5);
        assert!(claims.follow(now, CLAIM_CEILING));
        assert!(!claims.follow(now, u32::MAX));
        // The limit went as far as an hour allows, and no further however often it is tried.
        let most = CLAIM_CEILING + CLAIMS_PER_HOUR;
        assert!(!claims.follow(now, u32::MAX));
        assert!(claims.follow(now, most) && !claims.follow(now, most + 1));
        let later = now + Duration::from_secs(1800);
        assert!(claims.follow(later, most + CLAIMS_PER_HOUR / 2));
        assert!(!claims.follow(later, most + CLAIMS_PER_HOUR / 2 + 400));
        let years = later + Duration::from_secs(1 << 30);
        assert!(!claims.follow(years, u32::MAX));
        assert!(claims.top <= most + 2 * CLAIMS_PER_HOUR);
    }
}
