//! Elections by component, for networks that split and merge: one leader for each connected component, at its centre.
//!
//! Every node describes its links in a record that only it writes. Records spread over the links, and neighbours whose
//! digests differ compare their records. The component and its leader are a pure function of the records, so nodes with
//! equal records choose the same leader.
//!
//! This module keeps these guarantees: once links no longer change, all nodes of a component hold the same records of
//! it and name the same leader (G1), which is running (G2); equal records give equal leaders (G3); departed nodes are
//! not electable once their absence was detected and spread (G4). The assumption is that a link delivers some of the
//! messages that are sent over it repeatedly; messages may be lost, duplicated, delayed and reordered.
//!
//! Exclusive leadership is not provided (G5). During changes there may be several leaders, and every side of a
//! partition has one. The term of a claim does not order leaders. Use a lock for actions that must not happen twice.

mod config;
mod event;
mod graph;
mod hello;
mod io;
mod judge;
mod links;
mod msg;
mod publish;
mod race;
mod record;
mod spread;
mod store;
#[cfg(test)]
mod tests;

pub use config::Config;
pub use event::Event;
pub use graph::Graph;
pub use io::{Input, Stats, Timer};
pub use judge::{Chosen, leader};
pub use links::{Link, LinkState};
pub use msg::{Delta, Hello, Msg, Packed, Summary};
pub use race::Standing;
pub use record::{NEIGHBOURS_MAX, Record, SEATS_MAX, Seat, Version};

use crate::bucket::Bucket;
use crate::id::{ElectionId, Life, NodeId};
use crate::protocol::{Cx, Protocol, Sender};
use crate::rng::Rng;
use crate::time::{Instant, micros};
use alloc::vec::Vec;
use core::time::Duration;
use links::Links;
use race::{Claims, Race};
use store::Store;

type OmegaCx<'a> = Cx<'a, Omega>;

/// The least time between two computations of centrality.
const JUDGE_EVERY: Duration = Duration::from_millis(20);

/// The centrality of a node that is far from most others, or alone.
pub const CENTRALITY_WORST: u8 = 15;

/// The topology layer of one node.
#[derive(Clone, Debug)]
pub struct Omega {
    config: Config,
    frames_max: usize,
    life: Life,
    /// The life that was asked for.
    awaited: Option<Life>,
    seq: u32,
    links: Links,
    store: Store,
    races: Vec<Race>,
    beat: u16,
    /// The id at which the next hello continues to name neighbours.
    page: NodeId,
    /// The links that were reported to the application.
    told: Vec<NodeId>,
    published_at: Option<Instant>,
    /// Whether the record must be published again even if its content is unchanged.
    refute: bool,
    flush_at: Option<Instant>,
    links_at: Option<Instant>,
    judged_at: Option<Instant>,
    /// Whether records changed since the last computation of centrality.
    unjudged: bool,
    /// The centrality level of this node, when last computed.
    centrality: u8,
    /// The time at which records of the component last changed.
    changed_at: Instant,
    summary_at: Option<Instant>,
    /// The time at which a neighbour sent the summary that this node would have sent.
    overheard_at: Option<Instant>,
    bucket: Bucket,
    claims: Claims,
    /// The number of goodbyes left to send.
    goodbyes: Option<u8>,
    stats: Stats,
}

impl Omega {
    /// Creates the layer of a node in `life`. `frames_max` is the space in a datagram after its header.
    pub fn new(config: Config, frames_max: usize, life: Life) -> Omega {
        Omega {
            bucket: Bucket::new(config.messages_max),
            config,
            frames_max,
            life,
            awaited: None,
            seq: 0,
            links: Links::default(),
            store: Store::default(),
            races: Vec::new(),
            beat: 0,
            page: NodeId(0),
            told: Vec::new(),
            published_at: None,
            refute: false,
            flush_at: None,
            links_at: None,
            judged_at: None,
            unjudged: false,
            centrality: CENTRALITY_WORST,
            changed_at: Instant::ZERO,
            summary_at: None,
            overheard_at: None,
            claims: Claims::default(),
            goodbyes: None,
            stats: Stats::default(),
        }
    }

    /// Counters since the start.
    pub fn stats(&self) -> &Stats {
        &self.stats
    }

    /// The settings.
    pub fn config(&self) -> &Config {
        &self.config
    }

    /// The life of this node's record.
    pub fn life(&self) -> Life {
        self.life
    }

    /// Current and recent neighbours, ordered by id.
    pub fn links(&self) -> impl Iterator<Item = &Link> {
        self.links.iter()
    }

    /// All known records, including those of unreachable nodes, ordered by id. Records of this node's component come
    /// with the sum of their distances to the rest of it.
    pub fn records(&self) -> impl Iterator<Item = (&Record, Option<u32>)> {
        let farness = |e: &store::Entry| e.member.then_some(e.farness);
        self.store.iter().map(move |e| (&e.record, farness(e)))
    }

    /// The nodes of this node's component, including itself, ordered by id.
    pub fn component(&self) -> impl Iterator<Item = NodeId> + Clone + '_ {
        self.store.members().map(|e| e.record.id)
    }

    /// The number of nodes in the component.
    pub fn component_size(&self) -> usize {
        self.store.size()
    }

    /// A hash of the records of this node's component.
    pub fn digest(&self) -> u64 {
        self.store.digest()
    }

    /// The component as a graph, with its nodes ordered by id.
    pub fn graph(&self, me: NodeId) -> (Vec<NodeId>, Graph) {
        self.store.graph(me)
    }

    /// How near this node is to the others of its component, in 16 levels: 0 means adjacent to all of them,
    /// [`CENTRALITY_WORST`] far from most, or alone. With a mean distance of d to the other nodes it is 16 (1 - 1/d),
    /// rounded down.
    pub fn centrality(&self) -> u8 {
        self.centrality
    }

    /// This node's record, as it is sent to neighbours.
    pub fn own_record(&self, me: NodeId) -> Option<&Record> {
        self.store.get(me).map(|e| &e.record)
    }

    /// The leader of an election in this node's component, whether or not this node takes part in it. The distances may
    /// lag slightly behind the records.
    pub fn leader(&self, election: ElectionId) -> Option<Chosen> {
        let records = self.store.members().map(|e| (&e.record, e.farness));
        let config = &self.config;
        leader(
            records,
            election,
            config.hysteresis,
            config.attribute_margin,
        )
    }

    /// Updates this node's record and its component after links or records changed.
    fn refresh(&mut self, cx: &mut OmegaCx<'_>) {
        self.publish(cx);
        self.tell_links(cx);
        if self.store.is_stale() {
            let digest = self.store.digest();
            self.store
                .find_component(cx.me, cx.now, self.links.two_way());
            if self.store.digest() != digest {
                self.changed_at = cx.now;
                self.unjudged = true;
            }
        }
    }

    /// Ends every step: updates the component and the leaders, and schedules what has to be sent.
    fn conclude(&mut self, cx: &mut OmegaCx<'_>) {
        self.refresh(cx);
        if self.unjudged {
            let due = self.judged_at.map_or(cx.now, |at| at + JUDGE_EVERY);
            if due > cx.now {
                cx.set_timer(Timer::Judge, due);
            } else {
                self.judge(cx);
            }
        }
        self.schedule_flush(cx);
        let links_at = self.links.deadline(&self.config);
        if links_at != self.links_at {
            self.links_at = links_at;
            match links_at {
                Some(at) => cx.set_timer(Timer::Links, at),
                None => cx.cancel_timer(Timer::Links),
            }
        }
    }

    fn is_off(&mut self) -> bool {
        let off = !self.config.enabled || self.goodbyes.is_some();
        self.stats.ignored += u64::from(off);
        off
    }
}

impl Protocol for Omega {
    type Input = Input;
    type Msg = Msg;
    type Timer = Timer;
    type Event = Event;
    type View<'a> = ();

    fn on_input(&mut self, cx: &mut Cx<'_, Self>, (): (), input: Input) {
        if let Input::Life(life) = input {
            if life > self.life {
                self.life = life;
                self.seq = 0;
            }
            self.awaited = self.awaited.filter(|awaited| *awaited > life);
            self.refute = self.published_at.is_some();
        }
        if self.is_off() {
            return;
        }
        match input {
            Input::Start => {
                let first = cx.rng.below64(micros(self.config.hello_period) / 4 + 1);
                cx.set_timer(Timer::Hello, cx.now + Duration::from_micros(first));
            }
            Input::Life(_) => {}
            Input::Open(election) => self.open(cx, election),
            Input::Campaign(election, class, attribute) => {
                self.campaign(election, Some((class, attribute)));
            }
            Input::Withdraw(election) => self.campaign(election, None),
            Input::Resign(election) => self.resign(election),
            Input::Close(election) => self.close(cx, election),
            Input::Leave => return self.leave(cx),
        }
        self.conclude(cx);
    }

    fn on_msg(&mut self, cx: &mut Cx<'_, Self>, (): (), from: Sender, msg: Msg) {
        if self.is_off() {
            return;
        }
        self.links.on_sign(cx.now, &from);
        if from.leaving {
            self.links.on_goodbye(cx.now, from.id);
        }
        match msg {
            Msg::Hello(hello) if !from.leaving => self.on_hello(cx, from, &hello),
            Msg::Hello(_) | Msg::Pong => {}
            Msg::Delta(delta) => {
                for record in delta.unpack() {
                    match record {
                        Some(record) => self.on_record(cx, from.id, record),
                        None => self.stats.records_malformed += 1,
                    }
                }
            }
            Msg::Summary(summary) => self.on_summary(cx, from, &summary),
            Msg::Want(ids) => {
                for id in ids {
                    self.store.owe(id);
                }
            }
            Msg::Ping => cx.send(from.reply_to(), Msg::Pong),
        }
        self.conclude(cx);
    }

    fn on_timer(&mut self, cx: &mut Cx<'_, Self>, (): (), timer: Timer) {
        match timer {
            Timer::Hello => self.on_hello_due(cx),
            Timer::Links => self.on_silence(cx),
            Timer::Publish => {}
            Timer::Flush => self.flush(cx),
            Timer::Judge | Timer::Race => self.judge(cx),
            Timer::Goodbye => return self.say_goodbye(cx),
        }
        self.conclude(cx);
    }
}

/// The random stream of this layer at a node.
pub(crate) fn stream(seed: u64, id: NodeId) -> Rng {
    Rng::seed(crate::membership::node_seed(seed, id), 4)
}
