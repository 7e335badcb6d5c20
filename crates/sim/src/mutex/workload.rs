//! Times and nodes of requests.

use crate::stream;
use consort_proto::Rng;
use core::time::Duration;

/// When requests arrive, and at which nodes.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Workload {
    /// Some nodes make one request each at the same time.
    Burst {
        /// Number of nodes.
        requesters: usize,
        /// How they are chosen.
        who: Who,
    },
    /// Requests arrive one after the other; a node serves its own in order.
    Stream {
        /// Number of requests.
        requests: usize,
        /// How the time between two of them is distributed.
        gap: Gap,
        /// Its mean, as a multiple of the time inside (IA:D).
        ratio: f64,
        /// How requests are distributed over nodes.
        spread: Spread,
    },
}

/// Which nodes take part in a burst.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Who {
    /// The lowest ids, as in the thesis (D8).
    First,
    /// Random nodes.
    Random,
    /// The node nearest to the middle, and random others. Node 0 of the thesis is in the middle (D8).
    Central,
}

/// Distribution of the time between two requests.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Gap {
    /// A Poisson process.
    Exponential,
    /// Weibull with this shape: bursty below 1, more even than a Poisson process above (D11).
    Weibull(f64),
}

/// Distribution of requests over nodes.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Spread {
    /// All nodes are equally likely.
    Uniform,
    /// Rank k with a probability proportional to k to the power of minus the exponent.
    Zipf {
        /// The exponent.
        exponent: f64,
        /// Whether ranks are ids, as in the thesis (D10), instead of assigned at random.
        by_id: bool,
    },
}

impl Workload {
    /// Number of requests.
    pub fn requests(&self) -> usize {
        match *self {
            Workload::Burst { requesters, .. } => requesters,
            Workload::Stream { requests, .. } => requests,
        }
    }

    /// Time and node of every request, in order of time.
    pub(super) fn draw(
        &self,
        nodes: usize,
        central: usize,
        hold: Duration,
        seed: u64,
    ) -> Vec<(Duration, usize)> {
        let mut rng = Rng::seed(seed, stream::LOCK_ARRIVALS);
        let mut order: Vec<usize> = (0..nodes).collect();
        match *self {
            Workload::Burst { requesters, who } => {
                if who != Who::First {
                    rng.shuffle(&mut order);
                }
                if who == Who::Central {
                    order.retain(|&node| node != central);
                    order.insert(0, central);
                }
                let chosen = order.into_iter().take(requesters);
                chosen.map(|node| (Duration::ZERO, node)).collect()
            }
            Workload::Stream {
                requests,
                gap,
                ratio,
                spread,
            } => {
                let mean = hold.as_secs_f64() * ratio;
                if !matches!(spread, Spread::Zipf { by_id: true, .. }) {
                    rng.shuffle(&mut order);
                }
                let ranks = cumulated(spread, nodes);
                let mut at = 0.0;
                let next = |_| {
                    at += mean * gap.draw(rng.unit());
                    let drawn = rng.unit() * ranks[nodes - 1];
                    let rank = ranks.partition_point(|&c| c <= drawn);
                    (Duration::from_secs_f64(at), order[rank.min(nodes - 1)])
                };
                (0..requests).map(next).collect()
            }
        }
    }
}

impl Gap {
    /// A time of mean 1, from a uniform number.
    fn draw(self, unit: f64) -> f64 {
        let exponential = -libm::log(1.0 - unit);
        match self {
            Gap::Exponential => exponential,
            Gap::Weibull(shape) => {
                libm::pow(exponential, 1.0 / shape) / libm::tgamma(1.0 + 1.0 / shape)
            }
        }
    }
}

fn cumulated(spread: Spread, nodes: usize) -> Vec<f64> {
    let mut sum = 0.0;
    let weight = |rank: usize| match spread {
        Spread::Uniform => 1.0,
        Spread::Zipf { exponent, .. } => libm::pow(rank as f64, -exponent),
    };
    let add = |rank| {
        sum += weight(rank);
        sum
    };
    (1..=nodes).map(add).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const HOLD: Duration = Duration::from_millis(200);

    fn stream(gap: Gap, spread: Spread) -> Vec<(Duration, usize)> {
        let work = Workload::Stream {
            requests: 20_000,
            gap,
            ratio: 3.0,
            spread,
        };
        work.draw(256, 0, HOLD, 7)
    }

    /// The mean is IA:D times the time inside; Weibull 0.7 is burstier than Poisson, 2.0 less so.
    #[test]
    fn gaps_have_the_mean_and_spread_asked_for() {
        let cases = [
            (Gap::Exponential, 1.0),
            (Gap::Weibull(0.7), 1.46),
            (Gap::Weibull(2.0), 0.52),
        ];
        for (gap, variation) in cases {
            let times = stream(gap, Spread::Uniform);
            let times: Vec<f64> = times.iter().map(|t| t.0.as_secs_f64()).collect();
            let gaps: Vec<f64> = times.windows(2).map(|w| w[1] - w[0]).collect();
            let mean = gaps.iter().sum::<f64>() / gaps.len() as f64;
            let square = gaps.iter().map(|g| (g - mean) * (g - mean)).sum::<f64>();
            let cv = (square / gaps.len() as f64).sqrt() / mean;
            assert!((mean - 0.6).abs() < 0.02, "{gap:?} {mean}");
            assert!((cv - variation).abs() < 0.06, "{gap:?} {cv}");
        }
    }

    /// D10: one node makes 61 % of the requests.
    #[test]
    fn zipf_is_led_by_one_node() {
        for by_id in [true, false] {
            let exponent = 2.0;
            let requests = stream(Gap::Exponential, Spread::Zipf { exponent, by_id });
            let mut counts = vec![0; 256];
            for (_, node) in requests {
                counts[node] += 1;
            }
            let (most, &count) = counts.iter().enumerate().max_by_key(|c| c.1).unwrap();
            assert!((0.59..0.63).contains(&(f64::from(count) / 20_000.0)));
            assert_eq!(most == 0, by_id);
        }
    }
}
