//! Elections by component that this node takes part in: claims, and what the application is told.

use super::event::Event;
use super::judge::{Chosen, greatest_claim};
use super::record::{SEATS_MAX, Seat};
use super::{CENTRALITY_WORST, Omega, OmegaCx, Timer};
use crate::id::{ElectionId, Life, NodeId};
use crate::membership::Campaign;
use crate::time::Instant;
use alloc::vec::Vec;
use core::cmp::Reverse;

/// One election at this node.
#[derive(Clone, Debug)]
pub(super) struct Race {
    election: ElectionId,
    /// Class and attribute, while this node stands.
    candidacy: Option<(u8, u32)>,
    /// This node gave up the lead and waits for another to take it.
    resigned: bool,
    claim: Option<u32>,
    leader: Option<Chosen>,
    /// Since when that one leads.
    since: Instant,
    /// Whom the application takes for the leader.
    told: Option<(NodeId, Life)>,
    /// The claim by which this node leads, as the application knows.
    acting: Option<u32>,
}

impl Race {
    /// What others are told of it.
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

    /// Tells the application that this node leads, or no longer does: at once.
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

/// How an election by component stands at a node.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Standing {
    /// Who leads this node's component.
    pub leader: Option<Chosen>,
    /// Since when.
    pub since: Instant,
    /// Whether it has been so for long enough to be told.
    pub settled: bool,
    /// This node leads and has said so: by this claim.
    pub acting: Option<u32>,
    /// Whether this node stands in it.
    pub campaigns: bool,
    /// Smallest id in the component: tells components apart.
    pub component: NodeId,
    /// Hash of the component's records.
    pub digest: u64,
    /// How many nodes are in the component, this one included.
    pub size: usize,
}

impl Omega {
    fn race_mut(&mut self, election: ElectionId) -> Option<&mut Race> {
        self.races.iter_mut().find(|r| r.election == election)
    }

    /// Whether this node takes part in an election by component.
    pub fn holds(&self, election: ElectionId) -> bool {
        self.races.iter().any(|r| r.election == election)
    }

    /// The elections by component that this node takes part in, in order of id.
    pub fn elections(&self) -> impl Iterator<Item = ElectionId> + '_ {
        self.races.iter().map(|r| r.election)
    }

    /// All elections by component of which something is known: this node takes part in them, or another
    /// of its component does. In order of id.
    pub fn known(&self) -> Vec<ElectionId> {
        let seats = self.store.members().flat_map(|e| &e.record.seats);
        let mut known: Vec<ElectionId> =
            seats.map(|s| s.election).chain(self.elections()).collect();
        known.sort_unstable();
        known.dedup();
        known
    }

    /// How an election stands. Of one that this node takes no part in it tells who leads, while somebody
    /// does, and how long the component has been as it is.
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

    /// All candidates of an election in this node's component, the best first, whatever they claim.
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

    /// Looks who is in the middle, and who leads.
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

    /// Brings every election up to date with the records: who leads, what this node claims, what the
    /// application hears.
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

    /// Returns when to look again.
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
                    let term = greatest_claim(records, election).saturating_add(1);
                    race.claim = Some(term);
                }
                Some(_) if !leads => race.claim = None,
                _ => {}
            }
            // Another has taken the lead, or there is no other.
            let over = leader.is_none_or(|l| l.id != cx.me && l.claim.is_some());
            race.resigned &= !over;
        }
        // What this node claims counts here before its record says so.
        if let Some(own) = race.leader.as_mut().filter(|l| l.id == cx.me) {
            own.claim = race.claim;
        }
        race.tell_acting(cx, leads);
        let waits_to_tell = (news && tell_at > cx.now).then_some(tell_at);
        let waits = race.claim.is_some() != leads || race.resigned;
        let waits_to_claim = (waits && claim_at > cx.now).then_some(claim_at);
        waits_to_tell.into_iter().chain(waits_to_claim).min()
    }

    /// This node is about to go: it leads nothing from now on.
    pub(super) fn stop_leading(&mut self, cx: &mut OmegaCx<'_>) {
        for race in &mut self.races {
            race.tell_acting(cx, false);
            (race.claim, race.leader) = (None, None);
        }
    }
}
