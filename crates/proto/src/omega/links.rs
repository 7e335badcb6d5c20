//! Detection of neighbours: nodes that hear this node and that it hears, well enough and for long enough.
//!
//! Every hello names the nodes that its sender hears, so a link that works in one direction only is recognised (E9). If
//! hellos stop, the neighbour is pinged before the link is considered down. A link that comes and goes is held down for
//! longer each time.
//!
//! A link connects two nodes, whatever the interfaces: broadcasts are sent on all interfaces.

use super::config::Config;
use super::msg::Hello;
use crate::id::{Life, NodeId};
use crate::protocol::Sender;
use crate::time::Instant;
use alloc::vec::Vec;
use core::net::SocketAddr;
use core::time::Duration;

/// The number of hellos by which the quality of a link is judged.
const WINDOW: u32 = 16;

/// If a link goes down this number of times within [`FLAP_SPAN`], it is held down.
const FLAPS: usize = 3;
const FLAP_SPAN: Duration = Duration::from_secs(30);
const HOLD_MIN: Duration = Duration::from_secs(2);
const HOLD_MAX: Duration = Duration::from_secs(60);

/// How long a link is remembered after it went down.
const MEMORY: Duration = Duration::from_secs(120);

/// The limits of the period that a neighbour may announce.
const PERIOD_MIN_MS: u32 = 10;
const PERIOD_MAX_MS: u32 = 3_600_000;

/// The state of a link.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum LinkState {
    /// Nothing is heard.
    Down,
    /// The neighbour is heard, but it does not hear this node, its quality is too low, or the link is held down.
    OneWay,
    /// Both nodes hear each other.
    TwoWay,
}

/// A link to a current or former neighbour.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Link {
    /// The neighbour.
    pub id: NodeId,
    /// The source address of its last message.
    pub addr: SocketAddr,
    /// The life in which it sent its last message.
    pub life: Life,
    /// The state of the link.
    pub state: LinkState,
    /// The time since which the link has this state.
    pub since: Instant,
    /// The time at which the neighbour was last heard.
    pub heard_at: Instant,
    /// The number of consecutive hellos whose digest differed from this node's.
    pub(super) mismatches: u8,
    /// Whether the neighbour was outside of this node's component when the link came up.
    pub(super) fresh: bool,
    period: Duration,
    pings: u8,
    beat: u16,
    /// One bit per expected hello, the latest in the lowest bit.
    history: u16,
    expected: u32,
    heard_by: bool,
    admitted: bool,
    downs: [Option<Instant>; FLAPS],
    hold: Duration,
    hold_until: Instant,
}

impl Link {
    fn new(from: &Sender, now: Instant, period: Duration) -> Link {
        Link {
            id: from.id,
            addr: from.addr,
            life: from.life,
            state: LinkState::Down,
            since: now,
            heard_at: now,
            mismatches: 0,
            fresh: false,
            period,
            pings: 0,
            beat: 0,
            history: 0,
            expected: 0,
            heard_by: false,
            admitted: false,
            downs: [None; FLAPS],
            hold: Duration::ZERO,
            hold_until: Instant::ZERO,
        }
    }

    /// The share of the latest hellos that arrived, in percent.
    pub fn quality(&self) -> u32 {
        match self.expected {
            0 => 0,
            n => self.history.count_ones().min(n) * 100 / n,
        }
    }

    /// The number of consecutive hellos whose digest differed from this node's.
    pub fn mismatches(&self) -> u8 {
        self.mismatches
    }

    /// How long it was down before it came up just now.
    pub(super) fn was_down_for(&self, now: Instant) -> Duration {
        let last = self.downs[FLAPS - 1];
        last.map_or(Duration::MAX, |at| now.since(at))
    }

    /// The time until which the link is held down because it came and went too often.
    pub fn held_until(&self, now: Instant) -> Option<Instant> {
        (self.hold_until > now).then_some(self.hold_until)
    }

    /// The time at which its silence has to be handled.
    fn deadline(&self, config: &Config) -> Instant {
        let patience = self.period * config.hello_misses;
        self.heard_at + patience + self.period / 2 * u32::from(self.pings)
    }

    /// Starts again for a new life of the neighbour.
    fn reborn(&mut self, life: Life) {
        self.life = life;
        (self.history, self.expected) = (0, 0);
        (self.heard_by, self.admitted) = (false, false);
    }

    /// Counts a hello and the missed ones before it. Returns false for a hello that is not new.
    fn count(&mut self, beat: u16) -> bool {
        let gap = beat.wrapping_sub(self.beat) as i16;
        if self.expected > 0 && gap <= 0 {
            return false;
        }
        let gap = if self.expected == 0 { 1 } else { gap as u32 };
        self.beat = beat;
        self.history = self.history.checked_shl(gap).unwrap_or(0) | 1;
        self.expected = (self.expected + gap).min(WINDOW);
        true
    }

    fn judge(&mut self, config: &Config, now: Instant) {
        let quality = self.quality();
        self.admitted = match self.admitted {
            // A few hellos are not enough to judge the quality.
            true => quality >= config.quality_drop || self.expected < WINDOW / 2,
            false => quality >= config.quality_admit,
        };
        let two_way = self.heard_by && self.admitted && now >= self.hold_until;
        let state = if two_way {
            LinkState::TwoWay
        } else {
            LinkState::OneWay
        };
        self.enter(state, now);
    }

    fn enter(&mut self, state: LinkState, now: Instant) {
        if state == self.state {
            return;
        }
        if self.state == LinkState::TwoWay {
            self.flap(now);
        }
        (self.state, self.since) = (state, now);
        self.mismatches = 0;
    }

    /// Records that the link went down. If that happened too often recently, the link is held down.
    fn flap(&mut self, now: Instant) {
        if self.downs[FLAPS - 1].is_none_or(|last| now.since(last) > MEMORY) {
            self.hold = Duration::ZERO;
        }
        self.downs.rotate_left(1);
        self.downs[FLAPS - 1] = Some(now);
        if self.downs[0].is_some_and(|at| now.since(at) <= FLAP_SPAN) {
            self.hold = (self.hold * 2).clamp(HOLD_MIN, HOLD_MAX);
            self.hold_until = now + self.hold;
        }
    }
}

/// The result of a check of silent links.
#[derive(Debug, Default)]
pub(super) struct Silent {
    /// The neighbours to ping.
    pub(super) ask: Vec<(NodeId, SocketAddr)>,
    /// The number of links that went down.
    pub(super) down: u32,
}

/// All links of a node, ordered by id.
#[derive(Clone, Debug, Default)]
pub(super) struct Links {
    links: Vec<Link>,
}

impl Links {
    pub(super) fn iter(&self) -> impl Iterator<Item = &Link> {
        self.links.iter()
    }

    pub(super) fn get(&self, id: NodeId) -> Option<&Link> {
        let at = self.links.binary_search_by_key(&id, |l| l.id).ok()?;
        Some(&self.links[at])
    }

    pub(super) fn get_mut(&mut self, id: NodeId) -> Option<&mut Link> {
        let at = self.links.binary_search_by_key(&id, |l| l.id).ok()?;
        Some(&mut self.links[at])
    }

    pub(super) fn is_two_way(&self, id: NodeId) -> bool {
        self.get(id).is_some_and(|l| l.state == LinkState::TwoWay)
    }

    pub(super) fn two_way(&self) -> impl Iterator<Item = NodeId> + Clone + '_ {
        let up = self.links.iter().filter(|l| l.state == LinkState::TwoWay);
        up.map(|l| l.id)
    }

    /// The nodes that this node hears.
    pub(super) fn heard(&self) -> impl Iterator<Item = NodeId> + '_ {
        let heard = self.links.iter().filter(|l| l.state != LinkState::Down);
        heard.map(|l| l.id)
    }

    /// Records that a message arrived, which is a sign of life.
    pub(super) fn on_sign(&mut self, now: Instant, from: &Sender) {
        if let Some(link) = self.get_mut(from.id)
            && link.state != LinkState::Down
            && from.life == link.life
        {
            link.heard_at = now;
            link.pings = 0;
            link.addr = from.addr;
        }
    }

    /// Handles a hello. Returns false if it is old or there is no room for another neighbour.
    pub(super) fn on_hello(
        &mut self,
        config: &Config,
        now: Instant,
        me: NodeId,
        from: &Sender,
        hello: &Hello,
    ) -> bool {
        if self.get(from.id).is_none() {
            if self.links.len() >= usize::from(config.links_max) && !self.make_room() {
                return false;
            }
            let at = self.links.partition_point(|l| l.id < from.id);
            let link = Link::new(from, now, config.hello_period);
            self.links.insert(at, link);
        }
        let Some(link) = self.get_mut(from.id) else {
            return false;
        };
        if link.state == LinkState::Down || from.life > link.life {
            link.reborn(from.life);
        } else if from.life < link.life {
            return false;
        }
        if !link.count(hello.beat) {
            return false;
        }
        link.heard_at = now;
        link.pings = 0;
        link.addr = from.addr;
        let period_ms = hello.period_ms.clamp(PERIOD_MIN_MS, PERIOD_MAX_MS);
        link.period = Duration::from_millis(u64::from(period_ms));
        if let Some(heard_by) = hello.hears(me) {
            link.heard_by = heard_by;
        }
        link.judge(config, now);
        true
    }

    /// Handles the goodbye of a neighbour.
    pub(super) fn on_goodbye(&mut self, now: Instant, id: NodeId) {
        if let Some(link) = self.get_mut(id) {
            link.enter(LinkState::Down, now);
        }
    }

    /// Forgets the link that has been down for longest. Returns whether there was one.
    fn make_room(&mut self) -> bool {
        let down = self.links.iter().enumerate();
        let down = down.filter(|(_, l)| l.state == LinkState::Down);
        match down.min_by_key(|(_, l)| l.since).map(|(at, _)| at) {
            Some(at) => {
                self.links.remove(at);
                true
            }
            None => false,
        }
    }

    /// The time at which the next silent link has to be handled.
    pub(super) fn deadline(&self, config: &Config) -> Option<Instant> {
        let heard = self.links.iter().filter(|l| l.state != LinkState::Down);
        heard.map(|l| l.deadline(config)).min()
    }

    /// Handles silent links, and forgets those that have been down for a long time.
    pub(super) fn on_silence(&mut self, config: &Config, now: Instant) -> Silent {
        let mut silent = Silent::default();
        for link in &mut self.links {
            if link.state == LinkState::Down || link.deadline(config) > now {
                continue;
            }
            if link.pings < config.hello_pings && link.state == LinkState::TwoWay {
                link.pings += 1;
                silent.ask.push((link.id, link.addr));
            } else {
                silent.down += u32::from(link.state == LinkState::TwoWay);
                link.enter(LinkState::Down, now);
            }
        }
        let remembered =
            |l: &Link| l.state != LinkState::Down || now.since(l.since) < MEMORY.max(l.hold);
        self.links.retain(remembered);
        silent
    }
}
