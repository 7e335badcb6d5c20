//! Who leads where the network falls apart and merges: one leader per connected component, the node in
//! the middle of it.
//!
//! Every node describes its links in a record that only it writes; records spread over the links, and
//! neighbours whose digests differ compare what they have. The component and its leader are a pure
//! function of the records, so nodes that know the same choose the same.
//!
//! Kept here: once links stay as they are, all nodes of a component hold the same records of it and
//! return the same leader (G1), which is there (G2); equal records give equal leaders (G3); nodes that
//! are gone are not electable once that has been noticed and told (G4). It takes that a link delivers
//! some of what is sent over it again and again; messages may be lost, doubled, late and out of order.
//!
//! Left out: exclusive leadership (G5). While things change there may be several leaders, and there is
//! one in every part of a partition; the term of a claim orders nothing. What must not be done twice
//! takes a lock. The published protocols that this replaces, with what is wrong with them, are in
//! [`paper`].

mod bucket;
mod config;
mod event;
mod graph;
mod judge;
mod links;
mod msg;
pub mod paper;
mod race;
mod record;
mod spread;
mod store;
#[cfg(test)]
mod tests;

pub use config::Config;
pub use event::Event;
pub use graph::Graph;
pub use judge::{Chosen, leader};
pub use links::{Link, LinkState};
pub use msg::{Delta, Hello, Msg, Packed, Summary};
pub use race::Standing;
pub use record::{NEIGHBOURS_MAX, Record, SEATS_MAX, Seat, Version};

use crate::id::{ElectionId, Life, NodeId};
use crate::protocol::{Cx, Protocol, Sender, To};
use crate::rng::Rng;
use crate::time::{Instant, micros};
use alloc::vec::Vec;
use bucket::Bucket;
use core::time::Duration;
use links::Links;
use race::Race;
use serde::Serialize;
use store::{Merged, Store};

type OmegaCx<'a> = Cx<'a, Omega>;

/// Least time between two looks at who is in the middle.
const JUDGE_EVERY: Duration = Duration::from_millis(20);

/// Nothing has changed for so long: hellos may come more rarely, and twice as rarely after as long again.
const STABLE: Duration = Duration::from_secs(30);

/// How often a node that leaves says so, and how often.
const GOODBYES: u8 = 3;
const GOODBYE_EVERY: Duration = Duration::from_millis(50);

/// Most neighbours named in a hello.
const HEARD_MAX: usize = 100;

/// Inputs of the topology layer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Input {
    /// Begin to say hello.
    Start,
    /// Membership took another life.
    Life(Life),
    /// Take part in an election.
    Open(ElectionId),
    /// Stand in it, with a class and an attribute.
    Campaign(ElectionId, u8, u32),
    /// Stand in it no more.
    Withdraw(ElectionId),
    /// Stop leading; stand again when another claims the lead.
    Resign(ElectionId),
    /// Say goodbye.
    Leave,
}

/// A deadline.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Timer {
    /// The next hello.
    Hello,
    /// A silent link.
    Links,
    /// This node's own record.
    Publish,
    /// Records to pass on.
    Flush,
    /// A look at who is in the middle.
    Judge,
    /// Claims and news of leaders.
    Race,
    /// Another goodbye.
    Goodbye,
}

/// Counts since start.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Stats {
    /// Hellos sent.
    pub hellos: u64,
    /// Messages with records sent.
    pub deltas: u64,
    /// Comparisons of records started.
    pub summaries: u64,
    /// Requests for records sent.
    pub wants: u64,
    /// Links that came up.
    pub links_up: u64,
    /// Links that came to an end.
    pub links_down: u64,
    /// Links that came up again within two periods: they were not gone.
    pub links_false_down: u64,
    /// Hellos ignored because too many neighbours are watched, or because they are old.
    pub hellos_dropped: u64,
    /// Neighbours that this node does not name because its record is full.
    pub neighbours_unnamed: u64,
    /// Records of more nodes than are kept.
    pub records_dropped: u64,
    /// Records that nobody writes.
    pub records_malformed: u64,
    /// Records of this node that it did not write: of an earlier life, or of another with its id.
    pub refutations: u64,
    /// Changes of leader, in elections that this node takes part in.
    pub leader_changes: u64,
    /// Messages and orders that came while this layer is off.
    pub ignored: u64,
}

/// The topology layer of one node.
#[derive(Clone, Debug)]
pub struct Omega {
    config: Config,
    frames_max: usize,
    life: Life,
    seq: u32,
    links: Links,
    store: Store,
    races: Vec<Race>,
    beat: u16,
    /// Where the next hello goes on naming neighbours.
    page: NodeId,
    /// Links as the application knows them.
    told: Vec<NodeId>,
    published_at: Option<Instant>,
    /// The record must be written anew, whatever it says.
    refute: bool,
    flush_at: Option<Instant>,
    links_at: Option<Instant>,
    judged_at: Option<Instant>,
    /// Records changed since the last look at who is in the middle.
    unjudged: bool,
    /// When records of the component changed last.
    changed_at: Instant,
    summary_at: Option<Instant>,
    /// When a neighbour told what this node would have told.
    overheard_at: Option<Instant>,
    bucket: Bucket,
    /// Goodbyes left to say.
    goodbyes: Option<u8>,
    stats: Stats,
}

impl Omega {
    /// The layer of a node in `life`. `frames_max` is what a datagram can hold besides its header.
    pub fn new(config: Config, frames_max: usize, life: Life) -> Omega {
        Omega {
            bucket: Bucket::new(config.messages_max),
            config,
            frames_max,
            life,
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
            changed_at: Instant::ZERO,
            summary_at: None,
            overheard_at: None,
            goodbyes: None,
            stats: Stats::default(),
        }
    }

    /// Counts since start.
    pub fn stats(&self) -> &Stats {
        &self.stats
    }

    /// Settings.
    pub fn config(&self) -> &Config {
        &self.config
    }

    /// The life that this node's record is of.
    pub fn life(&self) -> Life {
        self.life
    }

    /// Neighbours, and those that were of late, in order of id.
    pub fn links(&self) -> impl Iterator<Item = &Link> {
        self.links.iter()
    }

    /// All records known, also of nodes out of reach, in order of id; whether each is of this node's
    /// component, and if so the sum of its distances to the rest of it.
    pub fn records(&self) -> impl Iterator<Item = (&Record, Option<u32>)> {
        let farness = |e: &store::Entry| e.member.then_some(e.farness);
        self.store.iter().map(move |e| (&e.record, farness(e)))
    }

    /// The nodes of this node's component, itself included, in order of id.
    pub fn component(&self) -> impl Iterator<Item = NodeId> + Clone + '_ {
        self.store.members().map(|e| e.record.id)
    }

    /// How many nodes that are.
    pub fn component_size(&self) -> usize {
        self.store.size()
    }

    /// Hash of the records of this node's component.
    pub fn digest(&self) -> u64 {
        self.store.digest()
    }

    /// The component as a graph, with its nodes in order of id.
    pub fn graph(&self, me: NodeId) -> (Vec<NodeId>, Graph) {
        self.store.graph(me)
    }

    /// This node's record, as neighbours are told.
    pub fn own_record(&self, me: NodeId) -> Option<&Record> {
        self.store.get(me).map(|e| &e.record)
    }

    /// Who leads an election in this node's component, whether or not this node takes part in it, when
    /// it last looked: a moment ago at most.
    pub fn leader(&self, election: ElectionId) -> Option<Chosen> {
        let records = self.store.members().map(|e| (&e.record, e.farness));
        leader(records, election, self.config.hysteresis)
    }

    fn on_hello_due(&mut self, cx: &mut OmegaCx<'_>) {
        self.store.forget(cx.now, self.config.forget_after);
        let quiet = cx.now.since(self.changed_at).as_secs() / STABLE.as_secs();
        let stretch = 1_u32.checked_shl(quiet.min(16) as u32).unwrap_or(1);
        let period = self.config.hello_period * stretch.min(self.config.hello_stretch.max(1));
        let (range, heard) = self.heard_page();
        let version = Version {
            life: self.life,
            seq: self.seq,
        };
        self.beat = self.beat.wrapping_add(1);
        self.stats.hellos += 1;
        cx.send(
            To::Neighbors,
            Msg::Hello(Hello {
                beat: self.beat,
                period_ms: period.as_millis() as u32,
                version,
                digest: self.store.digest(),
                range,
                heard,
            }),
        );
        let jitter = Duration::from_micros(cx.rng.below64(micros(period) / 4 + 1));
        cx.set_timer(Timer::Hello, cx.now + period - jitter);
    }

    /// Whom this node hears, as many as fit, and between which ids that is everybody.
    fn heard_page(&mut self) -> (Option<(NodeId, NodeId)>, Vec<NodeId>) {
        let fit = (self.frames_max.saturating_sub(64) / 8).clamp(1, HEARD_MAX);
        if self.links.heard().count() <= fit {
            return (None, self.links.heard().collect());
        }
        let first = self.page;
        let mut rest = self.links.heard().filter(|&id| id >= first);
        let heard: Vec<NodeId> = rest.by_ref().take(fit).collect();
        let last = rest.next().map(|next| NodeId(next.0 - 1));
        self.page = last.map_or(NodeId(0), |last| NodeId(last.0 + 1));
        (Some((first, last.unwrap_or(NodeId(u64::MAX)))), heard)
    }

    fn on_hello(&mut self, cx: &mut OmegaCx<'_>, from: Sender, hello: &Hello) {
        let was_up = self.links.is_two_way(from.id);
        if !self
            .links
            .on_hello(&self.config, cx.now, cx.me, &from, hello)
        {
            self.stats.hellos_dropped += 1;
            return;
        }
        let apart = !self.store.is_member(from.id);
        let period = self.config.hello_period;
        let Some(link) = self.links.get_mut(from.id) else {
            return;
        };
        if link.state == LinkState::TwoWay && !was_up {
            link.fresh = apart;
            self.stats.links_false_down += u64::from(link.was_down_for(cx.now) < period * 2);
        }
        self.refresh(cx);
        self.compare(cx, from, hello);
    }

    /// Writes this node's record if it is another than before.
    fn publish(&mut self, cx: &mut OmegaCx<'_>) {
        let record = self.own_content(cx.me);
        let held = self.store.get(cx.me).map(|e| &e.record);
        let same = held.is_some_and(|held| {
            held.leaving == record.leaving
                && held.seats == record.seats
                && held.neighbours == record.neighbours
        });
        if same && !self.refute {
            return;
        }
        let due = self.published_at.map(|at| at + self.config.publish_every);
        if let Some(due) = due
            && due > cx.now
            && !self.refute
            && !record.leaving
        {
            cx.set_timer(Timer::Publish, due);
            return;
        }
        self.refute = false;
        self.published_at = Some(cx.now);
        match self.seq.checked_add(1) {
            Some(seq) => self.seq = seq,
            None => self.outlive(cx, self.life),
        }
        let version = Version {
            life: self.life,
            seq: self.seq,
        };
        let record = Record { version, ..record };
        // There is always room: this node's own record is the first.
        self.store.merge(record, None, cx.now, u16::MAX);
    }

    /// What this node has to say of itself.
    fn own_content(&mut self, me: NodeId) -> Record {
        let leaving = self.goodbyes.is_some();
        let mut record = Record {
            id: me,
            version: Version::default(),
            leaving,
            seats: Vec::new(),
            neighbours: Vec::new(),
        };
        if !leaving {
            record.seats = self.races.iter().filter_map(Race::seat).collect();
            record.neighbours = self.links.two_way().collect();
            // An id takes eight bytes and its number up to two; the rest of a record and of its message
            // at most 64, a seat 16.
            let room = self.frames_max.saturating_sub(64 + record.seats.len() * 16) / 10;
            let fit = room.min(NEIGHBOURS_MAX);
            if record.neighbours.len() > fit {
                self.stats.neighbours_unnamed += (record.neighbours.len() - fit) as u64;
                record.neighbours.truncate(fit);
            }
        }
        record
    }

    /// Takes a life above `said`.
    fn outlive(&mut self, cx: &mut OmegaCx<'_>, said: Life) {
        self.life = said.next(cx.rng.bits32() as u16);
        cx.emit(Event::Outlived(self.life));
    }

    /// Somebody holds a record of this node that it did not write: an earlier life's, or that of
    /// another node with its id. What it says does not count (E7).
    fn refute(&mut self, cx: &mut OmegaCx<'_>, said: Version) {
        self.stats.refutations += 1;
        self.refute = true;
        if said.life > self.life {
            self.outlive(cx, said.life);
        } else {
            self.seq = self.seq.max(said.seq);
        }
    }

    fn on_record(&mut self, cx: &mut OmegaCx<'_>, from: NodeId, record: Record) {
        if record.id == cx.me {
            let held = self.store.get(cx.me).map(|e| &e.record);
            match held {
                Some(held) if record.version < held.version => self.store.owe(cx.me),
                Some(held) if *held == record => {}
                _ => self.refute(cx, record.version),
            }
            return;
        }
        let id = record.id;
        let max = self.config.records_max;
        match self.store.merge(record, Some(from), cx.now, max) {
            Merged::Newer => {}
            Merged::Same => self.store.relieve(id, self.links.two_way()),
            Merged::Older => self.store.owe(id),
            Merged::Full => self.stats.records_dropped += 1,
        }
    }

    /// This node's record and its component, after links or records changed.
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

    /// What every step ends with: the component, the leaders, what to tell.
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

    /// Reports links that came and went.
    fn tell_links(&mut self, cx: &mut OmegaCx<'_>) {
        if self.links.two_way().eq(self.told.iter().copied()) {
            return;
        }
        let up: Vec<NodeId> = self.links.two_way().collect();
        for &id in self.told.iter().filter(|id| up.binary_search(id).is_err()) {
            self.stats.links_down += 1;
            cx.emit(Event::LinkDown(id));
        }
        for &id in up.iter().filter(|id| self.told.binary_search(id).is_err()) {
            self.stats.links_up += 1;
            cx.emit(Event::LinkUp(id));
        }
        self.told = up;
    }

    fn on_silence(&mut self, cx: &mut OmegaCx<'_>) {
        self.links_at = None;
        let silent = self.links.on_silence(&self.config, cx.now);
        for (id, addr) in silent.ask {
            cx.send(To::At(id, addr), Msg::Ping);
        }
    }

    fn say_goodbye(&mut self, cx: &mut OmegaCx<'_>) {
        let Some(left) = self.goodbyes.filter(|&left| left > 0) else {
            return;
        };
        self.goodbyes = Some(left - 1);
        let own = self.own_record(cx.me);
        for delta in Delta::pack(own, self.frames_max) {
            cx.send(To::Neighbors, Msg::Delta(delta));
            self.stats.deltas += 1;
        }
        cx.set_timer(Timer::Goodbye, cx.now + GOODBYE_EVERY);
    }

    fn leave(&mut self, cx: &mut OmegaCx<'_>) {
        self.goodbyes = Some(GOODBYES);
        self.stop_leading(cx);
        self.publish(cx);
        for timer in [
            Timer::Hello,
            Timer::Links,
            Timer::Publish,
            Timer::Flush,
            Timer::Judge,
            Timer::Race,
        ] {
            cx.cancel_timer(timer);
        }
        self.say_goodbye(cx);
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
            self.life = self.life.max(life);
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
