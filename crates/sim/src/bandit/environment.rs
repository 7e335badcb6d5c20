//! The environment: takes nodes down and brings them back.

use super::rates::Rates;
use crate::stream;
use consort_papers::bandit::draw;
use consort_proto::{Instant, Rng};
use core::fmt;
use core::str::FromStr;
use core::time::Duration;

/// Interval between two ticks of the paper's environment: a week of its world.
pub(super) const TICK: Duration = Duration::from_secs(30);

/// How nodes fail and recover.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Failures {
    /// As in the program: every 30 s different nodes are down, for 30 s; repair times have no effect (B-11).
    Slot,
    /// Down for a log-normal time (σ 2.07) of 7 to 30 s.
    Repair,
    /// Down for a log-normal time (σ² 2.07) in hours, a week of them in 30 s.
    Scaled,
    /// Each node independently, at any time; down for a log-normal time of 1 to 300 s.
    Async,
}

impl Failures {
    /// All kinds.
    pub const ALL: [Failures; 4] = [
        Failures::Slot,
        Failures::Repair,
        Failures::Scaled,
        Failures::Async,
    ];

    /// Its name on the command line.
    pub const fn name(self) -> &'static str {
        match self {
            Failures::Slot => "slot",
            Failures::Repair => "repair",
            Failures::Scaled => "scaled",
            Failures::Async => "async",
        }
    }
}

impl fmt::Display for Failures {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl FromStr for Failures {
    type Err = &'static str;

    fn from_str(s: &str) -> Result<Failures, &'static str> {
        let found = Failures::ALL.into_iter().find(|f| f.name() == s);
        found.ok_or("failures are one of slot, repair, scaled, async")
    }
}

/// Nodes that go down and come back.
#[derive(Clone, Debug)]
pub(super) struct Environment {
    failures: Failures,
    rates_of: Rates,
    /// Probability of each node to fail in a tick.
    pub(super) rates: Vec<f64>,
    /// Whether each node is down, and until when.
    pub(super) down: Vec<Option<Instant>>,
    /// When each node fails, unless something prevents it.
    fails_at: Vec<Instant>,
    tick_at: Instant,
    span: u64,
    types: Rng,
    rng: Rng,
    /// Ticks after which fewer than 0.8 f or more than f are down (P5).
    pub(super) out_of_bounds: u64,
}

impl Environment {
    pub(super) fn new(failures: Failures, rates: Rates, nodes: usize, seed: u64) -> Environment {
        let mut types = Rng::seed(seed, stream::BANDIT_TYPES);
        let mut environment = Environment {
            failures,
            rates_of: rates,
            rates: rates.of_span(nodes, 0, &mut types),
            down: vec![None; nodes],
            fails_at: vec![Instant::MAX; nodes],
            tick_at: match failures {
                Failures::Async => Instant::MAX,
                // At once: otherwise the first leader, an unreliable one, would be observed at work for half a
                // minute.
                _ => Instant::ZERO,
            },
            span: 0,
            types,
            rng: Rng::seed(seed, stream::BANDIT_FAULTS),
            out_of_bounds: 0,
        };
        (0..nodes).for_each(|n| environment.plan(n, Instant::ZERO));
        environment
    }

    fn most(&self) -> usize {
        (self.down.len() - 1) / 2
    }

    fn count_down(&self) -> usize {
        self.down.iter().filter(|d| d.is_some()).count()
    }

    fn respan_at(&self) -> Instant {
        match self.rates_of.hold() {
            Some(hold) => Instant::ZERO + hold * (self.span as u32 + 1),
            None => Instant::MAX,
        }
    }

    /// Time of the next event.
    pub(super) fn next(&self) -> Instant {
        let repaired = self.down.iter().flatten().min();
        let fails = self.fails_at.iter().min();
        let times = [repaired, fails].map(|t| t.copied().unwrap_or(Instant::MAX));
        times
            .into_iter()
            .fold(self.respan_at().min(self.tick_at), Instant::min)
    }

    /// Performs what is due. Returns whether rates changed.
    pub(super) fn step(&mut self, now: Instant) -> bool {
        let respans = self.respan_at() <= now;
        if respans {
            self.span += 1;
            let nodes = self.rates.len();
            self.rates = self.rates_of.of_span(nodes, self.span, &mut self.types);
            (0..nodes).for_each(|n| self.plan(n, now));
        }
        for node in 0..self.down.len() {
            if self.down[node].is_some_and(|until| until <= now) {
                self.down[node] = None;
                self.plan(node, now);
            }
        }
        if self.tick_at <= now {
            self.tick_at = now + TICK;
            self.tick(now);
        }
        for node in 0..self.fails_at.len() {
            if self.fails_at[node] <= now {
                if self.count_down() < self.most() {
                    self.down[node] = Some(now + self.repair());
                }
                self.plan(node, now);
            }
        }
        respans
    }

    /// Every 30 s: passes over the nodes in order of ids, repeatedly, until at least 0.8 f are down.
    fn tick(&mut self, now: Instant) {
        if self.failures == Failures::Slot {
            self.down.fill(None);
        }
        let (most, before) = (self.most(), self.count_down());
        let least = most * 4;
        let mut new: Vec<usize> = Vec::new();
        while (new.len() + before) * 5 < least {
            for node in 0..self.down.len() {
                if self.down[node].is_none()
                    && !new.contains(&node)
                    && self.rng.chance(self.rates[node])
                {
                    new.push(node);
                }
            }
        }
        if new.len() + before > most {
            self.rng.shuffle(&mut new);
            new.truncate(most - before);
        }
        for node in new {
            let until = match self.failures {
                Failures::Slot => now + TICK,
                _ => now + self.repair(),
            };
            self.down[node] = Some(until);
        }
        let down = self.count_down();
        self.out_of_bounds += u64::from(down * 5 < least || down > most);
    }

    fn plan(&mut self, node: usize, now: Instant) {
        if self.failures != Failures::Async {
            return;
        }
        self.fails_at[node] = match self.down[node] {
            Some(_) => Instant::MAX,
            None => {
                let hazard = -(1.0 - self.rates[node]).ln() / TICK.as_secs_f64();
                let wait = -(1.0 - self.rng.unit()).ln() / hazard;
                now + Duration::from_secs_f64(wait.min(1e9))
            }
        };
    }

    fn repair(&mut self) -> Duration {
        let sigma = match self.failures {
            Failures::Repair => 2.07,
            _ => 2.07_f64.sqrt(),
        };
        let drawn = (1.80 + sigma * draw::normal(&mut self.rng)).exp();
        Duration::from_secs_f64(match self.failures {
            Failures::Slot => TICK.as_secs_f64(),
            Failures::Repair => drawn.clamp(7.0, 30.0),
            // Hours of a week, scaled to a tick.
            Failures::Scaled => (drawn * TICK.as_secs_f64() / 168.0).clamp(1e-3, 1e6),
            Failures::Async => drawn.clamp(1.0, 300.0),
        })
    }
}
