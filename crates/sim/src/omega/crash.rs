//! Leaders that crash and return (Table 4.2).

use super::actor::Actor;
use super::params::Crashes;
use super::report::Report;
use super::run::Run;
use crate::stream;
use consort_proto::{Instant, Life, Rng};
use core::time::Duration;

/// Interval at which it is checked whether all nodes are correct again.
const CHECK_EVERY: Duration = Duration::from_millis(1);

/// Crashes occur up to a second later than planned, so that they do not all meet the same phase of probes.
fn spread(rng: &mut Rng) -> Duration {
    Duration::from_micros(rng.below64(1_000_000))
}

/// A scheduled action.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Phase {
    /// The leader of the largest component crashes.
    Crash,
    /// Its component is checked.
    Check,
    /// It returns.
    Return,
}

/// State of the sequence of crashes.
#[derive(Debug)]
pub(super) struct Crashing {
    crashes: Option<Crashes>,
    rng: Rng,
    phase: Phase,
    due: Instant,
    crashed_at: Instant,
    victim: usize,
    /// The nodes of its component.
    bereft: Vec<usize>,
    elections: Vec<f64>,
    unsettled: u64,
}

impl Crashing {
    pub(super) fn new(crashes: Option<Crashes>, seed: u64) -> Crashing {
        let mut rng = Rng::seed(seed, stream::OMEGA_FAULTS);
        let first = crashes.map(|c| Instant::ZERO + c.up + spread(&mut rng));
        Crashing {
            crashes,
            rng,
            phase: Phase::Crash,
            due: first.unwrap_or(Instant::MAX),
            crashed_at: Instant::ZERO,
            victim: 0,
            bereft: Vec::new(),
            elections: Vec::new(),
            unsettled: 0,
        }
    }

    pub(super) fn next(&self) -> Instant {
        self.due
    }

    pub(super) fn fill(self, report: &mut Report) {
        report.elections = self.elections;
        report.unsettled = self.unsettled;
    }
}

impl<A: Actor<Msg: Clone>, F: Fn(usize, Life) -> A> Run<'_, A, F> {
    pub(super) fn crash(&mut self) {
        let Some(crashes) = self.crashing.crashes else {
            return;
        };
        let back_at = self.crashing.crashed_at + crashes.down;
        match self.crashing.phase {
            Phase::Crash => {
                self.strike();
                self.crashing.crashed_at = self.now;
                let bereft = !self.crashing.bereft.is_empty();
                self.crashing.phase = if bereft { Phase::Check } else { Phase::Return };
                self.crashing.due = match bereft {
                    true => self.now + CHECK_EVERY,
                    false => self.now + crashes.down,
                };
            }
            Phase::Check => {
                if self.is_settled() {
                    let took = self.now.since(self.crashing.crashed_at);
                    self.crashing.elections.push(took.as_secs_f64());
                    self.crashing.phase = Phase::Return;
                    self.crashing.due = back_at;
                } else if self.now + CHECK_EVERY >= back_at {
                    self.crashing.unsettled += 1;
                    self.crashing.phase = Phase::Return;
                    self.crashing.due = back_at;
                } else {
                    self.crashing.due = self.now + CHECK_EVERY;
                }
            }
            Phase::Return => {
                if !self.crashing.bereft.is_empty() {
                    self.start(self.crashing.victim);
                }
                self.crashing.phase = Phase::Crash;
                self.crashing.due = self.now + crashes.up + spread(&mut self.crashing.rng);
            }
        }
    }

    /// The correct leader of the largest component crashes, if that has two nodes or more.
    fn strike(&mut self) {
        self.survey();
        let oracle = self.params.core.oracle();
        let largest = self.truth.components.iter().max_by_key(|c| c.members.len());
        let Some(largest) = largest.filter(|c| c.members.len() > 1) else {
            self.crashing.bereft.clear();
            return;
        };
        let victim = largest.leader(oracle);
        let others = largest.members.iter().copied().filter(|&n| n != victim);
        self.crashing.bereft = others.collect();
        self.crashing.victim = victim;
        self.stop(victim);
    }

    /// Whether all nodes that the leader left behind have the correct leader of their component.
    fn is_settled(&mut self) -> bool {
        self.survey();
        let leaders = self.leaders();
        let oracle = self.params.core.oracle();
        let right = |&n: &usize| leaders[n] == self.truth.component(n).leader(oracle);
        self.crashing.bereft.iter().all(right)
    }
}
