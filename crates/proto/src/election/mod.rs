//! Elections: any number of named elections, each with one leader, on member lists that may disagree.
//!
//! A node that finds its election without a leader asks a few members for their best candidates and notifies the
//! winner; the winner tells all members. The outcome is a [`Claim`]. Members keep the greatest claim they hear of, so
//! one leader results from any order of messages, any number of initiators and any partition.
//!
//! This module keeps these invariants: the claim held never decreases (S1); one (term, initiator, life, revision) names
//! one leader (S2); only the named process leads (S3); the order of messages does not matter (S4); an answer counts
//! once, for its attempt (S5); a claim made with fewer lists than the quorum is marked degraded (S6); retries do not
//! raise the term (S7); a leader that its challenger can reach is not deposed (T1). The number of lists to read follows
//! from earlier answers ([`crate::churn`]).
//!
//! A leader acts only with a lease ([`crate::lease`]). Outside of strict elections the lease does not exclude a second
//! leader while the group is partitioned: a resource that must not be used twice has to check the [`Token`], which
//! orders leaders.

mod answer;
#[cfg(feature = "_check")]
mod check;
mod claim;
mod component;
mod config;
mod estimate;
mod event;
mod founding;
mod io;
mod lead;
mod leaving;

mod level;
mod msg;
mod order;
mod race;
mod ranking;
mod round;
mod score;
mod select;
mod standing;
mod tell;
mod tenure;
#[cfg(test)]
mod tests;
mod view;
mod watching;

pub use crate::membership::CLASS_NEVER;
pub use claim::{Claim, Key, ParseTokenError, Remarks, Stage, Token};
pub use component::Scope;
pub use config::{Candidacy, Config, Mode, Policy, Preempt, Quorum};
pub use estimate::Tracked;
pub use event::{Event, Report};
pub use io::{Input, Stats, Timer};
pub use msg::{LIST_MAX, Msg, Query, Refusal, Response};
pub use order::Order;
pub use ranking::{Criterion, Ranking, RankingError};
pub use score::{Decider, Entry, Score};
pub use standing::Standing;
pub use view::View;

use crate::id::{ElectionId, Life, NodeId};
use crate::lease;
use crate::membership::{self, Campaign, JoinState, Membership};
use crate::omega::CENTRALITY_WORST;
use crate::protocol::{Cx, Passenger, Protocol, Sender};
use crate::rng::Rng;
use crate::time::Instant;
use alloc::vec::Vec;
use io::TimerKind;
use race::Race;
use view::{Env, Storage};

type ElectionCx<'a> = Cx<'a, Election>;

/// The greatest number of claims sent at a time to a node that holds different ones.
const CLAIMS_PER_STEP: usize = 8;

/// All elections at one node.
#[derive(Clone, Debug)]
pub struct Election {
    config: Config,
    group: u32,
    frames_max: usize,
    started: Instant,
    /// Ordered by id.
    races: Vec<Race>,
    /// A hash of all claims held.
    digest: u32,
    /// The index of the claim to send next to a node that holds different ones.
    cursor: usize,
    /// The centrality level of this node.
    centrality: u8,
    storage: Storage,
    /// The memory that identifies this node as a watcher.
    memory: Life,
    /// The wall clock at the start, in seconds.
    wall: Option<u64>,
    /// Whether this node was told to leave. It then no longer campaigns.
    leaving: bool,
    stats: Stats,
}

impl Election {
    /// Creates the election layer without elections. `frames_max` is the space in a datagram after its header.
    pub(crate) fn new(config: Config, group: u32, frames_max: usize, now: Instant) -> Election {
        Election {
            memory: Life(0),
            wall: None,
            leaving: false,
            config,
            group,
            frames_max,
            started: now,
            races: Vec::new(),
            digest: 0,
            cursor: 0,
            centrality: CENTRALITY_WORST,
            storage: Storage::default(),
            stats: Stats::default(),
        }
    }

    /// From now on terms count as stored only after [`Input::Stored`].
    pub(crate) fn await_storage(&mut self) {
        self.storage.awaited = true;
    }

    /// Sets the life in which this node's memory begins, and the wall clock at its start in seconds, if it has one.
    pub(crate) fn remember(&mut self, memory: Life, wall: Option<u64>) {
        self.memory = memory;
        self.wall = wall;
    }

    /// Whether this node was told to leave. It then no longer campaigns.
    pub fn is_leaving(&self) -> bool {
        self.leaving
    }

    /// Whether no work of this node can still run, and no leader depends on it: every lease was released or has
    /// expired, and this node, if it leaves, was replaced as a watcher or has waited long enough.
    pub fn is_released(&self) -> bool {
        self.races
            .iter()
            .all(|r| !r.tenure.is_busy() && !r.tenure.leaving.is_waiting())
    }

    /// Counters since the start.
    pub fn stats(&self) -> &Stats {
        &self.stats
    }

    /// The known elections, ordered by id.
    pub fn elections(&self) -> impl Iterator<Item = ElectionId> + '_ {
        self.races.iter().map(|r| r.id)
    }

    /// The claim that this node holds.
    pub fn claim(&self, election: ElectionId) -> Option<&Claim> {
        self.race(election).and_then(|r| r.claim.as_ref())
    }

    /// Whether this node campaigns in an election, or will do so once another node leads.
    pub(crate) fn stands(&self, election: ElectionId) -> bool {
        self.race(election).is_some_and(|r| r.candidacy.is_some())
    }

    /// The centrality level of this node, as last reported to elections.
    pub(crate) fn centrality(&self) -> u8 {
        self.centrality
    }

    /// The token by which this node leads and may act.
    pub fn acting(&self, election: ElectionId) -> Option<Token> {
        self.race(election).and_then(|r| r.lead.acting)
    }

    /// The elections in which this node campaigns, for membership to announce.
    pub(crate) fn campaigns(&self, now: Instant, membership: &Membership) -> Vec<Campaign> {
        let settled = now >= settles_at(self.started, membership);
        let campaign = |race: &Race| {
            let candidacy = race.candidacy.filter(|_| !race.returning)?;
            Some(Campaign {
                election: race.id,
                class: candidacy.class,
                attribute: candidacy.attribute,
                centrality: race.told_centrality(),
                settled,
            })
        };
        self.races.iter().filter_map(campaign).collect()
    }

    fn race(&self, election: ElectionId) -> Option<&Race> {
        let at = self.races.binary_search_by_key(&election, |r| r.id).ok()?;
        Some(&self.races[at])
    }

    fn env<'a>(&'a self, me: NodeId, now: Instant, view: View<'a>, ranking: Ranking) -> Env<'a> {
        Env {
            ranking,
            me,
            now,
            group: self.group,
            frames_max: self.frames_max,
            config: &self.config,
            storage: self.storage,
            wall: wall_at(self.wall, self.started, now),
            settled: now >= settles_at(self.started, view.membership),
            seeks: now < seeks_until(self.started, view.membership),
            view,
        }
    }

    /// Runs `f` on one election and updates the digest. The election is added if there is room.
    fn with_race(
        &mut self,
        cx: &mut ElectionCx<'_>,
        view: View<'_>,
        election: ElectionId,
        f: impl FnOnce(&mut Race, &mut ElectionCx<'_>, Env<'_>, &mut Stats),
    ) {
        let at = match self.races.binary_search_by_key(&election, |r| r.id) {
            Ok(at) => at,
            Err(_) if self.races.len() >= usize::from(self.config.elections_max) => {
                self.stats.dropped += 1;
                return;
            }
            Err(at) => {
                let me = lease::Watcher {
                    node: cx.me,
                    memory: self.memory,
                };
                let mut race = Race::new(election, self.config.rules(), me, cx.now);
                race.note_centrality(cx, self.centrality);
                self.races.insert(at, race);
                at
            }
        };
        let Election {
            config,
            group,
            frames_max,
            races,
            digest,
            storage,
            stats,
            wall,
            started,
            ..
        } = self;
        let env = Env {
            me: cx.me,
            now: cx.now,
            group: *group,
            frames_max: *frames_max,
            config,
            ranking: races[at].ranking(),
            storage: *storage,
            wall: wall_at(*wall, *started, cx.now),
            settled: cx.now >= settles_at(*started, view.membership),
            seeks: cx.now < seeks_until(*started, view.membership),
            view,
        };
        let race = &mut races[at];
        *digest ^= race.digest();
        f(race, cx, env, stats);
        race.drive(cx, env);
        *digest ^= race.digest();
    }

    /// Handles the digest of another member. If it differs, this node sends some of its claims.
    fn on_digest(&mut self, cx: &mut ElectionCx<'_>, view: View<'_>, from: &Sender, digest: u32) {
        if digest == self.digest {
            let keys: Vec<_> = self.races.iter().map(|r| (r.id, r.claim)).collect();
            for (election, claim) in keys {
                if let Some(claim) = claim {
                    self.with_race(cx, view, election, |race, _, env, _| {
                        race.note_heard(env, from.id, claim.key);
                    });
                }
            }
            return;
        }
        let held = self.races.iter().filter_map(|r| r.claim.map(|c| (r, c)));
        let held: Vec<(&Race, Claim)> = held.collect();
        if held.is_empty() {
            cx.send(from.reply_to(), Msg::Digest(0));
            return;
        }
        let count = held.len().min(CLAIMS_PER_STEP);
        for n in 0..count {
            let (race, claim) = held[(self.cursor + n) % held.len()];
            race.tell_claim(cx, from.reply_to(), claim);
        }
        let all = held.len();
        self.cursor = (self.cursor + count) % all;
    }

    fn on_race_msg(&mut self, cx: &mut ElectionCx<'_>, view: View<'_>, from: Sender, msg: Msg) {
        let Some(election) = msg.election() else {
            return;
        };
        let far = msg.term().filter(|t| match self.race(election) {
            Some(race) => race.is_beyond(*t),
            None => t.0 > race::TERM_CEILING,
        });
        if far.is_some() {
            self.stats.number_refused += 1;
            return;
        }
        self.with_race(cx, view, election, |race, cx, env, stats| match msg {
            Msg::Digest(_) => {}
            Msg::Claim(_, claim) => race.on_claim(cx, env, &from, claim),
            Msg::Leader(_, claim) => race.on_leader(cx, env, &from, claim),
            Msg::Held(_, key) => race.note_heard(env, from.id, key),
            Msg::Probe(_, nonce) => race.on_probe(cx, env, &from, nonce),
            Msg::Incumbent { nonce, leads, .. } => race.on_incumbent(cx, env, &from, nonce, leads),
            Msg::Query(query) => race.on_query(cx, env, stats, &from, &query),
            Msg::Response(response) => race.on_response(cx, env, stats, from.id, response),
            Msg::Notify { claim, skip, .. } => race.on_notify(cx, env, &from, claim, &skip),
            Msg::Accept { key, entry, .. } => {
                race.note_heard(env, from.id, key);
                race.on_accept(cx, env, stats, key, entry);
            }
            Msg::Decline { key, why, .. } => race.on_decline(cx, env, stats, key, why),
            Msg::Resign { key, successor, .. } => race.on_resign(cx, env, &from, key, successor),
            Msg::Sample {
                nonce, candidates, ..
            } => race.on_sample_query(cx, env, &from, nonce, &candidates),
            Msg::Sampled { nonce, missing, .. } => {
                race.on_sampled(env.now, from.id, nonce, missing);
            }
            Msg::Watchers(_, known) => race.note_known(cx, env, *known),
            Msg::Renew {
                token, known, seq, ..
            } => {
                let lease::Known { set, span } = *known;
                let holder = from.holder();
                let renew = lease::Renew {
                    token,
                    holder,
                    set,
                    span,
                    seq,
                };
                race.on_renew(cx, env, &from, &renew);
            }
            Msg::Extend { sum, seq, .. } => {
                let holder = from.holder();
                race.on_extend(cx, env, &from, &lease::Extend { holder, sum, seq });
            }
            Msg::Granted {
                memory, life, seq, ..
            } => race.on_granted(cx, env, &from, memory, lease::Ack { life, seq }),
            Msg::Refused {
                memory, refusal, ..
            } => race.on_refused(cx, env, &from, memory, &refusal),
            Msg::Release { token, .. } => race.on_release(cx, env, &from, token),
            Msg::Close { token, set, .. } => race.on_close(cx, env, &from, token, set),
            Msg::Closed {
                token,
                memory,
                span,
                ..
            } => race.on_closed(env, from.id, token, memory, span),
            Msg::Look(_) => race.on_look_at(cx, env, &from),
            Msg::Leaving(_) => race.on_leaving(cx, env, &from),
            Msg::Notice { memory, left, .. } => race.on_notice(cx, env, &from, memory, left),
            Msg::Told {
                token,
                set,
                closed,
                span,
                asks,
                ..
            } => {
                let set = set.map(|s| *s);
                let told = lease::Told {
                    token,
                    set,
                    closed,
                    span,
                };
                race.on_told(cx, env, &from, told, asks);
            }
        });
    }

    fn each_race(
        &mut self,
        cx: &mut ElectionCx<'_>,
        view: View<'_>,
        f: impl Fn(&mut Race, &mut ElectionCx<'_>, Env<'_>),
    ) {
        for at in 0..self.races.len() {
            let election = self.races[at].id;
            self.with_race(cx, view, election, |race, cx, env, _| f(race, cx, env));
        }
    }
}

impl Passenger for Election {
    /// The hash of all claims.
    fn beacon(&self) -> Option<Msg> {
        (self.digest != 0).then_some(Msg::Digest(self.digest))
    }
}

impl Protocol for Election {
    type Input = Input;
    type Msg = Msg;
    type Timer = Timer;
    type Event = Report;
    type View<'a> = View<'a>;

    fn on_input(&mut self, cx: &mut Cx<'_, Self>, view: View<'_>, input: Input) {
        match input {
            Input::Order(order) => self.on_order(cx, view, order),
            // A suspected member still leads and remains a candidate.
            Input::Member(membership::Event::Suspected { .. }) => {}
            Input::Member(_) | Input::Stands => self.each_race(cx, view, Race::review),
            Input::Centrality(level) => {
                self.centrality = level;
                self.each_race(cx, view, |race, cx, _| race.note_centrality(cx, level));
            }
            Input::Leave => {
                self.leaving = true;
                self.each_race(cx, view, |race, cx, env| {
                    race.end_round(cx);
                    race.resign(cx, env);
                    race.candidacy = None;
                    race.leave_watch(env);
                });
            }
            Input::Stored(election, term) => {
                self.with_race(cx, view, election, |race, cx, env, _| {
                    race.on_stored(cx, env, term);
                });
            }
            Input::Storage(works) => {
                self.storage.failed = !works;
                let react = match works {
                    // Rounds that could not be started are due again.
                    true => Race::review,
                    false => Race::on_storage_failed,
                };
                self.each_race(cx, view, react);
            }
        }
    }

    fn on_msg(&mut self, cx: &mut Cx<'_, Self>, view: View<'_>, from: Sender, msg: Msg) {
        let here = !matches!(
            view.membership.join_state(),
            JoinState::Leaving | JoinState::Left
        );
        if !msg.is_sane() {
            self.stats.dropped += 1;
        } else if let Msg::Digest(digest) = msg {
            self.on_digest(cx, view, &from, digest);
        } else if here {
            self.on_race_msg(cx, view, from, msg);
        }
    }

    fn on_timer(&mut self, cx: &mut Cx<'_, Self>, view: View<'_>, timer: Timer) {
        let settles_at = settles_at(self.started, view.membership);
        self.with_race(cx, view, timer.election, |race, cx, env, stats| {
            match timer.kind {
                TimerKind::Start => race.on_start(cx, env, stats),
                TimerKind::Step => race.on_step(cx, env, stats),
                TimerKind::Notify => race.on_notify_due(cx, env, stats),
                // `with_race` drives the lease after every step.
                TimerKind::Lease | TimerKind::Leave => {}
                TimerKind::Promise => race.on_promise(cx, env),
                TimerKind::Push => race.on_push(cx, env),
                TimerKind::Object => race.on_objection(cx, env, stats),
                TimerKind::Look => race.on_look(cx, env, stats),
                TimerKind::Sample => race.on_sample(cx, env),
                // If the group has grown in the meantime, settling takes longer.
                TimerKind::Settle if cx.now < settles_at => cx.set_timer(timer, settles_at),
                TimerKind::Settle => cx.emit(Report::Campaigns),
                TimerKind::Level => race.on_level(cx),
            }
        });
    }
}

/// The time at which a node that started at `started` is settled: most members list it by then.
fn settles_at(started: Instant, membership: &Membership) -> Instant {
    let periods = membership.config().probe_period * 10;
    started + periods.max(membership.suspicion_min() * 3)
}

/// The time until which a node starts no first round, because it is looking for the group that it was told to join.
/// That group may have a leader.
fn seeks_until(started: Instant, membership: &Membership) -> Instant {
    let joining = membership.join_state() == JoinState::Joining;
    if !joining || membership.table().live() > 0 {
        return Instant::ZERO;
    }
    started + settles_at(started, membership).since(started) * 3
}

/// The current wall clock: its reading at the start, advanced by this node's clock.
fn wall_at(wall: Option<u64>, started: Instant, now: Instant) -> Option<u64> {
    Some(wall?.saturating_add(now.since(started).as_secs()))
}

/// The random stream of the election layer.
pub(crate) fn stream(seed: u64, id: NodeId) -> Rng {
    Rng::seed(membership::node_seed(seed, id), 2)
}
