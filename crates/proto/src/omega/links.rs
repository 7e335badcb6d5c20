//! Who is a neighbour: nodes that hear this one and that it hears, well enough and for long enough.
//!
//! Every hello names whom its sender hears, so a link that works one way only is told apart (E9). A link
//! whose hellos fail to come is looked for with pings before it is down, and one that comes and goes is
//! held down for longer each time.
//!
//! A link is one with a node, over whatever interfaces: what is broadcast goes out on all of them.

use super::config::Config;
use super::msg::Hello;
use crate::id::{Life, NodeId};
use crate::protocol::Sender;
use crate::time::Instant;
use alloc::vec::Vec;
use core::net::SocketAddr;
use core::time::Duration;

/// Hellos that the quality of a link is judged by.
const WINDOW: u32 = 16;

/// So many ends of a link within [`FLAP_SPAN`] hold it down.
const FLAPS: usize = 3;
const FLAP_SPAN: Duration = Duration::from_secs(30);
const HOLD_MIN: Duration = Duration::from_secs(2);
const HOLD_MAX: Duration = Duration::from_secs(60);

/// How long a link that is down is remembered.
const MEMORY: Duration = Duration::from_secs(120);

/// Limits of the period that a neighbour may announce.
const PERIOD_MIN_MS: u32 = 10;
const PERIOD_MAX_MS: u32 = 3_600_000;

/// How well a link works.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum LinkState {
    /// Nothing is heard.
    Down,
    /// Heard, but not hearing this node, or not well enough, or held down.
    OneWay,
    /// Both hear each other.
    TwoWay,
}

/// A neighbour, or one that was.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Link {
    /// With whom.
    pub id: NodeId,
    /// Where its last message came from.
    pub addr: SocketAddr,
    /// In which life it spoke last.
    pub life: Life,
    /// How well it works.
    pub state: LinkState,
    /// Since when.
    pub since: Instant,
    /// When it was heard last.
    pub heard_at: Instant,
    /// Hellos that ended with the same records at both ends: 0. Else how many did not.
    pub(super) mismatches: u8,
    /// Its end was not in this node's component when the link came up.
    pub(super) fresh: bool,
    period: Duration,
    pings: u8,
    beat: u16,
    /// One bit per hello expected, the latest lowest.
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

    /// Share of the latest hellos that arrived, in percent.
    pub fn quality(&self) -> u32 {
        match self.expected {
            0 => 0,
            n => self.history.count_ones().min(n) * 100 / n,
        }
    }

    /// How long it was down before it came up just now.
    pub(super) fn was_down_for(&self, now: Instant) -> Duration {
        let last = self.downs[FLAPS - 1];
        last.map_or(Duration::MAX, |at| now.since(at))
    }

    /// Until when it is held down for coming and going.
    pub fn held_until(&self, now: Instant) -> Option<Instant> {
        (self.hold_until > now).then_some(self.hold_until)
    }

    /// When to do something about its silence.
    fn deadline(&self, config: &Config) -> Instant {
        let patience = self.period * config.hello_misses;
        self.heard_at + patience + self.period / 2 * u32::from(self.pings)
    }

    /// Another life begins at the other end.
    fn reborn(&mut self, life: Life) {
        self.life = life;
        (self.history, self.expected) = (0, 0);
        (self.heard_by, self.admitted) = (false, false);
    }

    /// Counts a hello and those missed before it; false for one that is not new.
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
            // A few hellos say little.
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

    /// The link came to an end: too often lately and it is held down.
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

/// What a look at silent links found.
#[derive(Debug, Default)]
pub(super) struct Silent {
    /// To be asked whether they are there.
    pub(super) ask: Vec<(NodeId, SocketAddr)>,
    /// Links that ended.
    pub(super) down: u32,
}

/// All links of a node, in order of id.
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

    /// Whom this node hears.
    pub(super) fn heard(&self) -> impl Iterator<Item = NodeId> + '_ {
        let heard = self.links.iter().filter(|l| l.state != LinkState::Down);
        heard.map(|l| l.id)
    }

    /// Any message is a sign of life.
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

    /// Takes a hello; false when it is old, or there is no room for another neighbour.
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

    /// A neighbour says goodbye.
    pub(super) fn on_goodbye(&mut self, now: Instant, id: NodeId) {
        if let Some(link) = self.get_mut(id) {
            link.enter(LinkState::Down, now);
        }
    }

    /// Forgets the link that has been down for longest.
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

    /// When the next silent link is due.
    pub(super) fn deadline(&self, config: &Config) -> Option<Instant> {
        let heard = self.links.iter().filter(|l| l.state != LinkState::Down);
        heard.map(|l| l.deadline(config)).min()
    }

    /// Looks at links that are silent, and forgets those that have been down for long.
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
