//! Faults: lists that change, detectors that are wrong, nodes that crash, restart and join, and partitions. All
//! faults are drawn before a run, from their own stream.

use crate::stream;
use consort_proto::Rng;
use core::time::Duration;

/// A kind of fault.
#[derive(Clone, Debug, Default, PartialEq)]
pub enum Trouble {
    /// None.
    #[default]
    None,
    /// At any time each node wrongly considers this share of the others gone. A mistake lasts ten seconds on
    /// average.
    FalsePositives(f64),
    /// This share of the nodes crashes each minute and returns half a minute later on average, without memory; the
    /// others notice within three to eight seconds.
    Churn(f64),
    /// At the given times (in seconds) the node that is inside crashes for good; the others notice as above.
    HolderCrashes(Vec<f64>),
    /// At the given times this share of the nodes outside crashes for good.
    Crashes(Vec<f64>, f64),
    /// At the given times this share of the nodes outside restarts without memory.
    Restarts(Vec<f64>, f64),
    /// This share of the nodes joins, each at a random time within this many seconds; the others list it three to
    /// eight seconds later.
    Joins(f64, f64),
    /// This share of the nodes, those with the lowest numbers, is separated from the others between two times (in
    /// seconds); each node notices within three to eight seconds.
    Partition(f64, f64, f64),
    /// These faults.
    Script(Vec<(Duration, Fault)>),
}

/// A single fault.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    /// A node stops.
    Crash(usize),
    /// The node that is inside stops.
    CrashHolder,
    /// A share of the nodes outside, in thousandths, stops.
    CrashShare(u16),
    /// A node starts, without memory and in a new life.
    Start(usize),
    /// A share of the nodes outside, in thousandths, restarts.
    RestartShare(u16),
    /// A node's list loses another.
    Unlist(usize, usize),
    /// A node's list gains another.
    List(usize, usize),
    /// Nodes below this number are separated from the others.
    Cut(usize),
    /// The separation ends.
    Heal,
}

/// How long a mistake of the detector lasts on average, in seconds.
const MISTAKE: f64 = 10.0;
/// How long a crashed node is away on average, in seconds.
const AWAY: f64 = 30.0;

/// When observers notice something.
pub(super) fn notice(rng: &mut Rng) -> Duration {
    Duration::from_millis(3_000 + rng.below64(5_000))
}

impl Trouble {
    /// Nodes that are absent at the start.
    pub(super) fn absent(&self, nodes: usize) -> core::ops::Range<usize> {
        match *self {
            Trouble::Joins(share, _) => nodes - (nodes as f64 * share) as usize..nodes,
            _ => nodes..nodes,
        }
    }

    /// Faults over a time, in order.
    pub(super) fn draw(&self, nodes: usize, span: Duration, seed: u64) -> Vec<(Duration, Fault)> {
        let mut rng = Rng::seed(seed, stream::LOCK_FAULTS);
        let end = span.as_secs_f64();
        let at = Duration::from_secs_f64;
        let mut faults = Vec::new();
        let exponential = |rng: &mut Rng, mean: f64| -mean * libm::log(1.0 - rng.unit());
        let thousandths = |share: f64| (share * 1000.0) as u16;
        match self {
            Trouble::None => {}
            Trouble::FalsePositives(share) => {
                if *share <= 0.0 {
                    return faults;
                }
                let right = MISTAKE * (1.0 - share) / share;
                for observer in 0..nodes {
                    for subject in (0..nodes).filter(|&s| s != observer) {
                        let mut t = match rng.chance(*share) {
                            true => 0.0,
                            false => exponential(&mut rng, right),
                        };
                        while t < end {
                            faults.push((at(t), Fault::Unlist(observer, subject)));
                            t += exponential(&mut rng, MISTAKE);
                            faults.push((at(t), Fault::List(observer, subject)));
                            t += exponential(&mut rng, right);
                        }
                    }
                }
            }
            Trouble::Churn(rate) => {
                for node in 0..nodes {
                    let mut t = exponential(&mut rng, 60.0 / rate.max(1e-9));
                    while t < end {
                        faults.push((at(t), Fault::Crash(node)));
                        t += exponential(&mut rng, AWAY);
                        faults.push((at(t), Fault::Start(node)));
                        t += exponential(&mut rng, 60.0 / rate.max(1e-9));
                    }
                }
            }
            Trouble::HolderCrashes(times) => {
                faults.extend(times.iter().map(|&t| (at(t), Fault::CrashHolder)));
            }
            Trouble::Crashes(times, share) => {
                let fault = Fault::CrashShare(thousandths(*share));
                faults.extend(times.iter().map(|&t| (at(t), fault)));
            }
            Trouble::Restarts(times, share) => {
                let fault = Fault::RestartShare(thousandths(*share));
                faults.extend(times.iter().map(|&t| (at(t), fault)));
            }
            Trouble::Joins(_, within) => {
                for node in self.absent(nodes) {
                    faults.push((at(rng.unit() * within), Fault::Start(node)));
                }
            }
            Trouble::Partition(share, from, to) => {
                let cut = (nodes as f64 * share) as usize;
                faults.extend([(at(*from), Fault::Cut(cut)), (at(*to), Fault::Heal)]);
            }
            Trouble::Script(script) => faults.clone_from(script),
        }
        faults.sort_by_key(|f| f.0);
        faults
    }
}
