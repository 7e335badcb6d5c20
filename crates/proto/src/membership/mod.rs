//! Membership: who is here. SWIM's probing and suspicion with lives, refutable verdicts, pursuit,
//! witnesses, local health, anti-entropy and healing.
//!
//! Every node keeps a full list of the others. Once a period it probes one of them; a silent target
//! is probed through helpers, then accused; an accused member that does not answer for itself in time
//! is declared down. All of it spreads on the probes and their answers. Two claims about a member are
//! merged by [`Precedence`], so that connected nodes converge whatever the order of messages.
//!
//! Kept here: records never go backwards until their tombstone expires (I1); only its owner raises a
//! node's life and incarnation (I2); no node lists, probes or suspects itself (I3); a goodbye is final
//! for its life (I4); every list is bounded (I14). Left out: ordered or agreed views, and Byzantine
//! members.

mod clearing;
mod config;
mod distance;
mod event;
mod feedback;
mod isolation;
mod join;
mod member;
mod merge;
mod msg;
mod probe;
mod record;
mod rumor;
mod select;
mod suspicion;
mod table;
#[cfg(test)]
mod tests;
mod vicinity;

pub use clearing::Clearing;
pub use config::{Config, ProbeTimeout, SuspicionTimeout};
pub use distance::{Coordinate, DistanceSource, Proximity};
pub use event::{Arrival, Departure, Event};
pub use feedback::ActiveFeedback;
pub use join::JoinState;
pub use member::{Member, Phase, Rtt};
pub use msg::{BUCKETS, Msg};
pub use record::{Accusation, Campaign, Meta, MetaError, Precedence, Record, SharedMeta, Status};
pub use select::{HelperPolicy, ProbeFloor, TargetPolicy};
pub use table::Table;

use crate::hash::hash_pair;
use crate::id::{Incarnation, Life, NodeId};
use crate::protocol::{Cx, Fact, Protocol, Sender};
use crate::rng::Rng;
use crate::time::{Instant, micros};
use crate::wire::frame_len;
use alloc::collections::VecDeque;
use alloc::vec::Vec;
use core::net::SocketAddr;
use core::time::Duration;
use feedback::Luck;
use join::Joining;
use probe::Probes;
use rumor::{RumorBuffer, Take, Urgency};
use select::{Selection, Selector};
use serde::Serialize;
use suspicion::log_periods;
use table::digest_key;

type MembershipCx<'a> = Cx<'a, Membership>;

/// Orders to membership.
#[derive(Clone, Debug, PartialEq)]
pub enum Input {
    /// The node starts.
    Start,
    /// Find a group through these addresses.
    Join(Vec<SocketAddr>),
    /// Take a stored list.
    Restore(Vec<Record>),
    /// Say goodbye.
    Leave,
    /// Another layer found records of a later life of this node, and took this one above it.
    Outlive(Life),
    /// Announce another name or other tags.
    SetMeta(Meta),
    /// Announce in which elections this node stands.
    SetCampaigns(Vec<Campaign>),
    /// A layer above doubts this member: probe it.
    Probe(NodeId),
    /// Announce another address.
    SetAddr(SocketAddr),
    /// How far members are.
    SetProximity(Vec<Proximity>),
    /// Announce where this node is.
    SetPosition([f32; 3]),
    /// Announce a silence.
    Nap(Duration),
}

/// Deadlines of membership.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Timer {
    /// The next period.
    Tick,
    /// A probe's direct or final deadline.
    Probe(u32),
    /// A probe for another node.
    Relay(u32),
    /// A suspect's time is up.
    Suspicion(NodeId),
    /// Time to check a suspicion heard of.
    Witness(NodeId),
    /// Time to check a silent member near a suspect.
    Sweep(NodeId),
    /// Try the next seed.
    Join,
    /// Stop waiting for confirmations of the goodbye.
    Leave,
}

/// Counts since start.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Stats {
    /// Regular probes sent.
    pub probes: u64,
    /// Probes that needed helpers.
    pub probes_indirect: u64,
    /// Probes that nobody answered.
    pub probes_failed: u64,
    /// Accusations this node made.
    pub accusations: u64,
    /// Accusations this node refuted.
    pub refutations: u64,
    /// Unasked-for pings to suspects and to nodes that do not know what is said of them.
    pub pursuits: u64,
    /// Times this process did not run for two periods.
    pub pauses: u64,
    /// Times this node heard nobody for so long that it kept its verdicts to itself.
    pub isolations: u64,
    /// Comparisons of member lists started.
    pub syncs: u64,
    /// Lives taken because another claim to this node's id was ahead.
    pub life_repairs: u64,
    /// Members ignored because the list is full.
    pub members_dropped: u64,
    /// Requests to probe refused because too many are under way.
    pub relays_dropped: u64,
    /// Seeds ignored because enough are known.
    pub seeds_dropped: u64,
    /// Naps longer than allowed, of this node or of others.
    pub naps_refused: u64,
    /// Records or settings with a name or tags that are not allowed.
    pub meta_refused: u64,
    /// Accusations of nodes that this one does not know.
    pub accusations_unknown: u64,
}

/// The membership protocol of one node.
#[derive(Clone, Debug)]
pub struct Membership {
    config: Config,
    frames_max: usize,
    life: Life,
    incarnation: Incarnation,
    addr: SocketAddr,
    meta: SharedMeta,
    table: Table,
    rumors: RumorBuffer,
    probes: Probes,
    selector: Selector,
    joining: Joining,
    /// Suspects that this node itself accused.
    pursued: Vec<NodeId>,
    /// Local health multiplier: 0 is well.
    health: u8,
    tick_due: Instant,
    coordinate: Option<Coordinate>,
    luck: Luck,
    unlucky: bool,
    last_heard: Instant,
    naps_until: Instant,
    /// This node heard nobody for a while; until then it may not have heard what it missed.
    missing_until: Instant,
    isolated_since: Option<Instant>,
    /// Members of whom there was news lately, the latest last.
    news: VecDeque<(Instant, NodeId)>,
    /// Times of recent life repairs, for telling a second process with this id.
    repairs: [Option<Instant>; 3],
    stats: Stats,
}

impl Membership {
    /// Membership of a node in `life` that listens at `addr`. `frames_max` is what a datagram can
    /// hold besides its header.
    pub(crate) fn new(
        config: Config,
        frames_max: usize,
        life: Life,
        addr: SocketAddr,
        meta: Meta,
    ) -> Membership {
        Membership {
            selector: Selector::new(Selection {
                policy: config.probe_policy,
                exponent: config.distance_exponent,
                floor: config.probe_floor,
                helpers: config.helper_policy,
                boosts_stay: config.feedback_active == ActiveFeedback::Report,
            }),
            coordinate: match config.distance_source {
                DistanceSource::Coordinate => Some(Coordinate::default()),
                _ => None,
            },
            config,
            frames_max,
            life,
            incarnation: Incarnation(0),
            addr,
            meta: meta.into(),
            table: Table::default(),
            rumors: RumorBuffer::default(),
            probes: Probes::default(),
            joining: Joining::default(),
            pursued: Vec::new(),
            health: 0,
            tick_due: Instant::MAX,
            luck: Luck::default(),
            unlucky: false,
            last_heard: Instant::ZERO,
            naps_until: Instant::ZERO,
            missing_until: Instant::ZERO,
            isolated_since: None,
            news: VecDeque::new(),
            repairs: [None; 3],
            stats: Stats::default(),
        }
    }

    /// The other members.
    pub fn table(&self) -> &Table {
        &self.table
    }

    /// The life this node is in.
    pub fn life(&self) -> Life {
        self.life
    }

    /// How often it had to raise its claim in this life.
    pub fn incarnation(&self) -> Incarnation {
        self.incarnation
    }

    /// Where this node says it listens.
    pub fn addr(&self) -> SocketAddr {
        self.addr
    }

    /// What this node says of itself.
    pub fn meta(&self) -> &SharedMeta {
        &self.meta
    }

    /// Where this node stands with its group.
    pub fn join_state(&self) -> JoinState {
        self.joining.state
    }

    /// How this node itself does: 0 is well, up to [`Config::health_max`].
    pub fn health(&self) -> u8 {
        self.health
    }

    /// Counts since start.
    pub fn stats(&self) -> &Stats {
        &self.stats
    }

    /// How healthy a member was of late, in percent: 100 without a suspicion, 50 with one a moment ago.
    /// Suspicions fade with [`Config::trouble_periods`].
    pub fn health_percent(&self, member: &Member, now: Instant) -> u8 {
        let half_life = self.config.probe_period * self.config.trouble_periods;
        libm::roundf(100.0 / (1.0 + member.trouble(now, half_life))) as u8
    }

    /// Most ticks between two regular probes of a member that stays, under the plan in force (I6).
    /// `None` when the policy gives no such bound or does not know the member yet.
    pub fn probe_gap_bound(&self, id: NodeId) -> Option<u64> {
        self.selector.gap_bound(id)
    }

    /// Settings.
    pub fn config(&self) -> &Config {
        &self.config
    }

    /// The least time a suspect has to defend itself, in a group of this size: nobody is declared
    /// down sooner after its last answer.
    pub fn suspicion_min(&self) -> Duration {
        self.config.suspicion_min(self.size())
    }

    /// Until when this node takes part in its group without hearing from anybody: half of the time that
    /// passes at least before others declare it down. Alone it is its whole group. After a longer silence
    /// it takes as long to be sure of having heard what it missed: the first datagram may be old news.
    pub fn in_touch_until(&self, now: Instant) -> Instant {
        let span = self.suspicion_min() / 2;
        if now < self.missing_until {
            return Instant::ZERO;
        }
        if self.table.live() == 0 {
            return now + span;
        }
        self.last_heard + span
    }

    /// The plan in force: members with the life they are planned in, and how many of the sum of all
    /// probes each gets; 0 where draws are independent. Empty while nothing is planned.
    pub fn probe_plan(&self) -> impl Iterator<Item = (NodeId, Life, u64)> + '_ {
        self.selector.plan_entries()
    }

    /// Whom the regular probe under way is about.
    pub fn probing(&self) -> Option<NodeId> {
        self.probes.regular()
    }

    /// Digest of the list, this node included; equal lists have equal digests.
    pub fn digest(&self, me: NodeId) -> u32 {
        (self.table.digest() ^ digest_key(me, self.life, self.incarnation)) as u32
    }

    /// Whether every datagram should say that this node is leaving.
    pub(crate) fn is_leaving(&self) -> bool {
        self.own_precedence().status == Status::Left
    }

    /// Members with this node (N).
    fn size(&self) -> usize {
        self.table.live() + 1
    }

    /// The period, stretched while this node is not well.
    fn period(&self) -> Duration {
        self.config.probe_period * (u32::from(self.health) + 1)
    }

    fn rumors_max(&self) -> usize {
        self.size().max(64)
    }

    fn raise_health(&mut self, by: u8) {
        self.health = self.health.saturating_add(by).min(self.config.health_max);
    }

    fn lower_health(&mut self) {
        self.health = self.health.saturating_sub(1);
    }

    fn set_meta(&mut self, cx: &mut MembershipCx<'_>, meta: Meta) {
        if meta.check(usize::from(self.config.meta_max)).is_err() {
            self.stats.meta_refused += 1;
        } else if *self.meta != meta {
            self.meta = meta.into();
            self.announce(cx);
        }
    }

    fn on_tick(&mut self, cx: &mut MembershipCx<'_>) {
        self.set_next_tick(cx);
        self.table.expire(cx.now);
        match self.joining.state {
            JoinState::Left => return,
            JoinState::Leaving => return self.say_goodbye(cx),
            JoinState::Joined if self.table.live() == 0 => {
                // Alone again: look for the group as at the start.
                self.join(cx, Vec::new());
            }
            _ => {}
        }
        self.check_isolation(cx);
        self.check_luck(cx);
        self.probe_regular(cx, self.tick_due);
        for at in 0..self.pursued.len() {
            self.pursue(cx, self.pursued[at]);
        }
        self.heal(cx);
    }

    fn set_next_tick(&mut self, cx: &mut MembershipCx<'_>) {
        let period = micros(self.period());
        let spread = period / 1000 * u64::from(self.config.probe_jitter_per_mille);
        let us = period - spread + cx.rng.below64(2 * spread + 1);
        let from = if self.tick_due > cx.now {
            cx.now
        } else {
            self.tick_due
        };
        self.tick_due = (from + Duration::from_micros(us)).max(cx.now);
        cx.set_timer(Timer::Tick, self.tick_due);
    }

    /// When the period is overdue by more than two, the process did not run: what was not answered
    /// meanwhile proves nothing.
    fn notice_pause(&mut self, cx: &mut MembershipCx<'_>) {
        // Every input comes by here: the common case is one comparison.
        if cx.now <= self.tick_due || cx.now.since(self.tick_due) <= self.config.probe_period * 2 {
            return;
        }
        let paused = cx.now.since(self.tick_due);
        self.stats.pauses += 1;
        self.drop_probes(cx);
        self.postpone_suspicions(cx, paused);
        self.raise_health(2);
        self.tick_due = cx.now;
        self.set_next_tick(cx);
    }

    /// Appends rumors for `to` to a datagram that has `room` bytes left.
    pub(crate) fn piggyback(
        &mut self,
        me: NodeId,
        now: Instant,
        to: Option<NodeId>,
        mut room: usize,
        mut push: impl FnMut(Msg),
    ) {
        let mut told = None;
        if let Some(member) = to.and_then(|id| self.table.get(id))
            && member.precedence.status != Status::Alive
        {
            // The recipient learns what is said of it, so that it can answer for itself.
            let msg = Msg::Accusation(member.accusation());
            let len = frame_len(&msg);
            if len <= room {
                room -= len;
                told = to;
                push(msg);
            }
        }
        if self.rumors.len() > 0 {
            self.offer_rumors(me, now, told, &mut room, &mut push);
        }
        if !self.news.is_empty() {
            self.offer_news(now, to, room, push);
        }
    }

    fn offer_rumors(
        &mut self,
        me: NodeId,
        now: Instant,
        told: Option<NodeId>,
        room: &mut usize,
        push: &mut impl FnMut(Msg),
    ) {
        let limit = self.config.rumor_factor * log_periods(self.size());
        let most = usize::from(self.config.rumors_max);
        let own = self.own_record(me, now);
        let own_accusation = self.own_accusation(me);
        let table = &self.table;
        let mut misfits = 0;
        self.rumors.offer(most, limit, |rumor| {
            if told == Some(rumor.subject) {
                return Take::No;
            }
            let msg = if rumor.subject == me && own.precedence.status == Status::Alive {
                Msg::Record(own.clone())
            } else if rumor.subject == me {
                Msg::Accusation(own_accusation)
            } else {
                match table.get(rumor.subject) {
                    None => return Take::Gone,
                    Some(m) if m.precedence.status == Status::Alive => Msg::Record(m.record(now)),
                    Some(m) => Msg::Accusation(Accusation {
                        accuser: rumor.accuser,
                        ..m.accusation()
                    }),
                }
            };
            let len = frame_len(&msg);
            if len > *room {
                misfits += 1;
                return if misfits > 4 { Take::Full } else { Take::No };
            }
            *room -= len;
            push(msg);
            Take::Yes
        });
    }
}

impl Membership {
    /// Starts to pass on news about `subject`.
    fn spread(&mut self, now: Instant, subject: NodeId, accuser: NodeId, urgency: Urgency) {
        let max = self.rumors_max();
        self.rumors.replace(subject, accuser, urgency, max);
        if self.config.rumor_ring > 0 {
            self.news.retain(|n| n.1 != subject);
            self.news.push_back((now, subject));
            if self.news.len() > usize::from(self.config.rumor_ring) {
                self.news.pop_front();
            }
        }
    }

    /// Long links are rare under spatial probing: they carry what is recent, told before or not (E16).
    fn offer_news(
        &mut self,
        now: Instant,
        to: Option<NodeId>,
        mut room: usize,
        mut push: impl FnMut(Msg),
    ) {
        let lasting = 2 * self.config.rumor_factor * log_periods(self.size());
        let span = self.config.probe_period * lasting;
        while self
            .news
            .front()
            .is_some_and(|&(at, _)| now.since(at) > span)
        {
            self.news.pop_front();
        }
        let far = to
            .and_then(|id| self.table.get(id))
            .is_some_and(|m| self.selector.is_far(m.distance));
        if !far {
            return;
        }
        for &(_, subject) in self.news.iter().rev() {
            let Some(member) = self.table.get(subject) else {
                continue;
            };
            let msg = match member.precedence.status {
                Status::Alive => Msg::Record(member.record(now)),
                _ => Msg::Accusation(member.accusation()),
            };
            let len = frame_len(&msg);
            if len > room {
                break;
            }
            room -= len;
            push(msg);
        }
    }
}

#[cfg(feature = "_check")]
impl Membership {
    /// A node that lists these others, outside of a node: whether each is up, and when it was heard.
    pub fn listing(
        config: Config,
        life: Life,
        meta: Meta,
        others: &[(Record, Phase, Instant)],
    ) -> Membership {
        let addr = SocketAddr::from(([127, 0, 0, 1], 1));
        let mut membership = Membership::new(config, 1150, life, addr, meta);
        for (record, phase, heard) in others {
            membership.table.insert(record.clone(), *phase, *heard);
        }
        membership
    }
}

#[cfg(test)]
impl Membership {
    /// Sets what this node holds of a member, for tests of layers above.
    pub(crate) fn pretend(&mut self, id: NodeId, change: impl FnOnce(&mut Member)) {
        self.table.update(id, change);
    }

    /// Forgets a member, for tests of layers above.
    pub(crate) fn pretend_unknown(&mut self, id: NodeId) {
        self.pretend(id, |m| {
            m.phase = Phase::Down;
            m.precedence.status = Status::Dead;
        });
        self.table.bury(id, Instant::ZERO, usize::MAX);
        self.table.expire(Instant::MAX);
    }
}

impl Protocol for Membership {
    type Input = Input;
    type Msg = Msg;
    type Timer = Timer;
    type Event = Event;
    type View<'a> = ();

    fn on_input(&mut self, cx: &mut Cx<'_, Self>, (): (), input: Input) {
        self.notice_pause(cx);
        match input {
            Input::Start => {
                cx.persist(Fact::Life(self.life));
                // A random first phase, so that nodes started together do not probe together.
                let first = cx.rng.below64(micros(self.config.probe_period));
                self.tick_due = cx.now + Duration::from_micros(first);
                cx.set_timer(Timer::Tick, self.tick_due);
                self.start_luck(cx.now);
                self.last_heard = cx.now;
            }
            Input::Join(seeds) => self.join(cx, seeds),
            Input::Restore(records) => self.restore(cx, records),
            Input::Leave => self.leave(cx),
            Input::Outlive(life) => self.outlive(cx, life),
            Input::SetMeta(meta) => {
                let campaigns = self.meta.campaigns.clone();
                self.set_meta(cx, Meta { campaigns, ..meta });
            }
            Input::SetCampaigns(campaigns) => {
                let meta = Meta {
                    campaigns,
                    ..(*self.meta).clone()
                };
                self.set_meta(cx, meta);
            }
            Input::Probe(id) => self.probe_on_request(cx, id),
            Input::SetAddr(addr) => {
                if self.addr != addr {
                    self.addr = addr;
                    self.announce(cx);
                }
            }
            Input::SetProximity(proximities) => {
                for Proximity {
                    id,
                    distance,
                    neighbor,
                } in proximities
                {
                    if let Some(member) = self.table.touch(id)
                        && distance.is_finite()
                    {
                        member.distance = distance.max(0.0);
                        member.set_neighbor(neighbor);
                    }
                }
                self.selector.replan();
            }
            Input::Nap(span) => {
                if span > self.config.nap_max {
                    self.stats.naps_refused += 1;
                } else if !span.is_zero() || self.naps_until > cx.now {
                    self.naps_until = cx.now + span;
                    self.announce(cx);
                }
            }
            Input::SetPosition(position) => {
                let place = Coordinate::at(position);
                if place.is_sane() {
                    self.coordinate = Some(place);
                }
            }
        }
    }

    fn on_msg(&mut self, cx: &mut Cx<'_, Self>, (): (), from: Sender, msg: Msg) {
        match msg {
            Msg::Ping {
                seq, want_record, ..
            } => self.on_ping(cx, from, seq, want_record),
            Msg::Ack { seq } => self.on_ack(cx, from, seq),
            Msg::PingReq {
                seq,
                target,
                life,
                addr,
                budget_ms,
            } => {
                let budget = Duration::from_millis(u64::from(budget_ms));
                self.on_ping_req(cx, from, seq, target, addr, life, budget);
            }
            Msg::IndirectAck {
                seq,
                target,
                life,
                incarnation,
            } => {
                self.on_indirect_ack(cx, seq, target, life, incarnation);
            }
            Msg::Nack { seq } => self.on_nack(seq),
            Msg::Join => self.on_join(cx, from),
            Msg::Pull { after } => self.on_pull(cx, from, after),
            Msg::Page { next, options } => self.on_page(cx, from, next, options),
            Msg::Digest { buckets, reply } => self.on_digest(cx, from, buckets, reply),
            Msg::Unlucky => self.on_unlucky(cx, from),
            Msg::Record(record) => self.on_record(cx, record),
            Msg::Accusation(accusation) => self.on_accusation(cx, accusation),
        }
    }

    fn on_timer(&mut self, cx: &mut Cx<'_, Self>, (): (), timer: Timer) {
        self.notice_pause(cx);
        match timer {
            // A pause has moved the tick.
            Timer::Tick if self.tick_due > cx.now => {}
            Timer::Tick => self.on_tick(cx),
            Timer::Probe(seq) => self.on_probe_due(cx, seq),
            Timer::Relay(seq) => self.on_relay_due(cx, seq),
            Timer::Suspicion(id) => self.on_suspicion_due(cx, id),
            Timer::Witness(id) => self.on_witness_due(cx, id),
            Timer::Sweep(id) => self.on_sweep_due(cx, id),
            Timer::Join => self.try_join(cx),
            Timer::Leave => self.depart(cx),
        }
    }
}

/// Seed of a node's random streams, from a seed that a whole group may share.
pub(crate) fn node_seed(seed: u64, id: NodeId) -> u64 {
    hash_pair(seed, id.0)
}

/// The random stream of membership.
pub(crate) fn stream(seed: u64, id: NodeId) -> Rng {
    Rng::seed(node_seed(seed, id), 1)
}
