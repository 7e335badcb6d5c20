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

mod chase;
mod clearing;
mod config;
mod distance;
mod event;
mod fast;
mod feedback;
mod gossip;
mod io;
mod isolation;
mod join;
mod member;
mod merge;
mod msg;
mod place;
mod press;
mod probe;
mod rare;
mod record;
mod relay;
mod rtt;
mod rumor;
mod select;
mod suspicion;
mod suspicion_log;
mod table;
#[cfg(test)]
mod tests;
mod tick;
mod told;
mod turns;
mod urgent;
mod vicinity;
mod view;

pub use crate::coordinate::Coordinate;
#[cfg(any(test, feature = "_papers"))]
pub use clearing::Clearing;
pub use config::{Config, ProbeTimeout, SuspicionTimeout};
pub use distance::{DistanceSource, Proximity};
pub use event::{Arrival, Departure, Event};
pub use fast::Fast;
pub use feedback::ActiveFeedback;
pub use io::{Input, Stats, Timer};
pub use join::JoinState;
pub use member::{Member, Phase};
pub use msg::{BUCKETS, Msg};
pub use record::{
    Accusation, CLASS_NEVER, Campaign, Meta, MetaError, Precedence, Record, SharedMeta, Status,
};
pub use rtt::Rtt;
pub use select::{HelperPolicy, ProbeFloor, TargetPolicy};
pub use suspicion_log::Case;
pub use table::Table;
pub(crate) use view::DIGEST_LEN;

use crate::hash::hash_pair;
use crate::id::{Incarnation, Life, NodeId};
use crate::protocol::{Cx, Fact, Protocol, Sender};
use crate::rng::Rng;
use crate::time::{Instant, micros};
use alloc::collections::VecDeque;
use alloc::vec::Vec;
use chase::Chase;
use core::net::SocketAddr;
use core::time::Duration;
use fast::Loss;
use feedback::Luck;
use join::Joining;
use place::Placing;
use probe::Probes;
use rumor::RumorBuffer;
use select::{Selection, Selector};
use suspicion_log::SuspicionLog;
use table::OwnKey;
use turns::Turns;
use urgent::Budget;

type MembershipCx<'a> = Cx<'a, Membership>;

/// The membership protocol of one node.
#[derive(Clone, Debug)]
pub struct Membership {
    config: Config,
    frames_max: usize,
    life: Life,
    incarnation: Incarnation,
    own_key: OwnKey,
    addr: SocketAddr,
    meta: SharedMeta,
    table: Table,
    rumors: RumorBuffer,
    probes: Probes,
    selector: Selector,
    joining: Joining,
    log: SuspicionLog,
    /// Suspects that this node itself accused.
    pursued: Vec<NodeId>,
    /// Members that are pinged often.
    chases: Vec<Chase>,
    turns: Turns,
    urgent: Budget,
    loss: Loss,
    /// Local health multiplier: 0 is well.
    health: u8,
    tick_due: Instant,
    coordinate: Option<Coordinate>,
    placing: Placing,
    luck: Luck,
    unlucky: bool,
    last_heard: Instant,
    naps_until: Instant,
    isolated_since: Option<Instant>,
    /// Members of whom there was news lately, the latest last.
    news: VecDeque<(Instant, NodeId)>,
    /// The life that begins as soon as it is stored.
    next_life: Option<Life>,
    /// Times of recent life repairs, for telling a second process with this id.
    repairs: [Option<Instant>; 3],
    /// The life in which this process began.
    born: Life,
    /// The later life that was last shown this one, and how often.
    warned: (Life, u8),
    /// New ids that others told of.
    told: told::Told,
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
                boosts_stay: config.boosts_stay(),
                turns: config.takes_turns(),
            }),
            coordinate: match config.distance_source {
                DistanceSource::Coordinate => Some(Coordinate::default()),
                _ => None,
            },
            config,
            frames_max,
            life,
            incarnation: Incarnation(0),
            own_key: OwnKey::new(NodeId(0), life, Incarnation(0)),
            addr,
            meta: meta.into(),
            table: Table::default(),
            rumors: RumorBuffer::default(),
            probes: Probes::default(),
            joining: Joining::default(),
            log: SuspicionLog::default(),
            pursued: Vec::new(),
            chases: Vec::new(),
            turns: Turns::default(),
            urgent: Budget::default(),
            loss: Loss::default(),
            health: 0,
            placing: Placing::default(),
            tick_due: Instant::MAX,
            luck: Luck::default(),
            unlucky: false,
            last_heard: Instant::ZERO,
            naps_until: Instant::ZERO,
            isolated_since: None,
            news: VecDeque::new(),
            next_life: None,
            repairs: [None; 3],
            born: life,
            warned: (life, 0),
            told: told::Told::default(),
            stats: Stats::default(),
        }
    }

    /// Whether every datagram should say that this node is leaving.
    pub(crate) fn is_leaving(&self) -> bool {
        self.own_precedence().status == Status::Left
    }

    /// Remembers that a member answered from an address in a life. Whether these are the ones that are listed.
    pub(crate) fn prove(&mut self, id: NodeId, life: Life, addr: SocketAddr) -> bool {
        let member = self.table.touch(id);
        let listed = member.filter(|m| m.precedence.life == life && m.addr() == addr);
        listed.map(|m| m.set_proven(true)).is_some()
    }

    /// Remembers whether a member knows this node's address.
    pub(crate) fn note_holds(&mut self, id: NodeId, holds: bool) {
        if let Some(member) = self.table.touch(id)
            && member.holds_this() != holds
        {
            member.set_holds(holds);
        }
    }

    /// Whether a member knows this node's address.
    pub(crate) fn holds_this(&self, id: NodeId) -> bool {
        self.table.get(id).is_some_and(Member::holds_this)
    }

    /// Members with this node (N).
    fn size(&self) -> usize {
        self.table.live() + 1
    }

    /// The period, stretched while this node is not well.
    fn period(&self) -> Duration {
        Duration::from_micros(self.period_us())
    }

    /// The same in microseconds: what every probe reckons with.
    fn period_us(&self) -> u64 {
        micros(self.config.probe_period).saturating_mul(u64::from(self.health) + 1)
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

    /// Sets the claim and verdict that this node holds of a member: a flaw.
    pub fn tamper(&mut self, id: NodeId, claim: Precedence, phase: Phase) {
        self.table.update(id, |m| {
            m.precedence = claim;
            m.phase = phase;
        });
    }

    /// Writes all that decides on the next steps, without settings, counts and the log of suspicions.
    pub fn write_state(&self, out: &mut impl core::fmt::Write) -> core::fmt::Result {
        write!(out, "{:?}", (self.life, self.incarnation))?;
        for member in self.table.iter() {
            write!(out, "{member:?}")?;
        }
        write!(out, "{:?}", self.table.contacts())?;
        write!(out, "{:?}{:?}", self.rumors, self.news)?;
        write!(out, "{:?}{:?}", self.probes, self.selector)?;
        write!(out, "{:?}{:?}", self.joining, self.pursued)?;
        write!(out, "{:?}{:?}{:?}", self.chases, self.urgent, self.loss)?;
        write!(out, "{:?}{:?}", self.turns, self.placing)?;
        write!(out, "{:?}{:?}", self.luck, (self.health, self.unlucky))?;
        let times = (self.tick_due, self.last_heard, self.naps_until);
        let silence = self.isolated_since;
        let rivals = (self.next_life, self.repairs, self.born, self.warned);
        write!(out, "{times:?}{silence:?}{rivals:?}")
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
        let (now, keep) = (Instant::ZERO, Duration::ZERO);
        self.table.bury(id, now, keep, keep, usize::MAX);
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
        self.wake(cx);
        match input {
            Input::Start => {
                cx.persist(Fact::Life(self.life));
                // A random first phase, so that nodes started together do not probe together.
                let first = cx.rng.below64(micros(self.config.probe_period));
                self.tick_due = cx.now + Duration::from_micros(first);
                cx.set_timer(Timer::Tick, self.tick_due);
                let period = micros(self.config.probe_period);
                self.turns = Turns::new(cx.me, self.life, cx.now, period);
                self.start_luck(cx.now);
                self.last_heard = cx.now;
            }
            Input::Join(seeds) => self.join(cx, seeds),
            Input::Restore(records) => self.restore(cx, records),
            Input::Leave => self.leave(cx),
            Input::Remove(id) => self.remove(cx, id),
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
                budget_ms,
                ..
            } => {
                let budget = Duration::from_millis(u64::from(budget_ms));
                self.on_ping_req(cx, from, seq, target, budget);
            }
            Msg::IndirectAck {
                seq,
                target,
                life,
                incarnation,
            } => {
                self.on_indirect_ack(cx, seq, target, life, incarnation);
            }
            Msg::Nack { seq } => self.on_nack(cx, seq),
            Msg::Join => self.on_join(cx, from),
            Msg::Pull { after } => self.on_pull(cx, from, after),
            Msg::Page { next, options } => self.on_page(cx, from, next, options),
            Msg::Digest { buckets, reply } => self.on_digest(cx, from, buckets, reply),
            Msg::Record(record) => self.on_record(cx, from, record),
            Msg::Accusation(accusation) => self.on_accusation(cx, from, accusation),
            Msg::Check(accusation) => self.on_check(cx, from, accusation),
            Msg::News => {}
            Msg::Turn { round } => self.on_turn(cx, round),
            #[cfg(any(test, feature = "_papers"))]
            Msg::Unlucky if self.config.boosts_stay() => self.on_unlucky(cx, from),
            #[cfg(any(test, feature = "_papers"))]
            Msg::Unlucky => {}
        }
    }

    fn on_timer(&mut self, cx: &mut Cx<'_, Self>, (): (), timer: Timer) {
        self.wake(cx);
        match timer {
            // A pause has moved the tick.
            Timer::Tick if self.tick_due > cx.now => {}
            Timer::Tick => self.on_tick(cx),
            Timer::Probe(seq) => self.on_probe_due(cx, seq),
            Timer::Relay(seq) => self.on_relay_due(cx, seq),
            Timer::Suspicion(id) => self.on_suspicion_due(cx, id),
            Timer::Witness(id) => self.on_witness_due(cx, id),
            Timer::Sweep(id) => self.on_sweep_due(cx, id),
            Timer::Chase(id) => self.on_chase_due(cx, id),
            Timer::News => self.on_news_due(cx),
            Timer::Turn => self.on_turn_due(cx),
            Timer::Join => self.try_join(cx),
            Timer::Leave => self.repeat_goodbye(cx),
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
