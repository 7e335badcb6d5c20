//! How inconsistent the lists of a live group are.

use super::group::group;
use super::params::Params;
use super::views::Views;
use crate::membership::ExperimentError;
use crate::units::{PERIOD_TU, at_tu};
use crate::world::id_of;
use consort_papers::election::View;
use consort_proto::Instant;

/// Periods of a window: about as long as an election.
const WINDOW: u32 = 50;

/// Nodes that count as unhealthy in Table 5.2.
const WORST: usize = 5;

/// Result of one run, sampled every period.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Churn {
    /// The greatest number of lists that lacked a node at one time (c).
    pub most: u32,
    /// The greatest number of lists that lacked a node at some time within 1000 time units (c^W).
    pub most_in_window: u32,
    /// Mean over time of the greatest number of lists that lack a node.
    pub mean: f64,
    /// Share of the five unhealthiest nodes that is missing from a node's own five, on average (p).
    pub unhealthy_unknown: f64,
}

/// Observes a group from the end of its warm-up, for `span` time units.
pub fn churn(params: &Params, seed: u64, span: f64) -> Result<Churn, ExperimentError> {
    params.check()?;
    let mut engine = group(params, seed)?;
    let nodes = params.nodes;
    let mut seen = Churn::default();
    let mut lacked = vec![false; nodes * nodes];
    let (mut samples, mut sum) = (0_u32, 0.0);
    let mut now = params.warmup;
    while now <= params.warmup + span {
        engine.run_until(at_tu(now))?;
        let recorder = engine.oracle();
        let most = recorder.missing().iter().copied().max().unwrap_or(0);
        seen.most = seen.most.max(most);
        sum += f64::from(most);
        samples += 1;
        for (subject, &missing) in recorder.missing().iter().enumerate() {
            for observer in (0..nodes).filter(|_| missing > 0) {
                lacked[subject * nodes + observer] |= recorder.is_missing(subject, observer);
            }
        }
        if samples % WINDOW == 0 {
            let counts = lacked
                .chunks(nodes)
                .map(|c| c.iter().filter(|&&l| l).count());
            let most = counts.max().unwrap_or(0) as u32;
            seen.most_in_window = seen.most_in_window.max(most);
            lacked.fill(false);
        }
        now += PERIOD_TU;
    }
    seen.mean = sum / f64::from(samples.max(1));
    let start = Instant::ZERO;
    let engine = Box::new(engine);
    seen.unhealthy_unknown = unknown(&Views::Live { engine, start }, nodes);
    Ok(seen)
}

fn unknown(views: &Views<'_>, nodes: usize) -> f64 {
    let unhealth = views.unhealth(nodes);
    let mut order: Vec<usize> = (0..nodes).collect();
    order.sort_by_key(|&i| core::cmp::Reverse((unhealth[i], i)));
    let (mut listed, mut missed, mut asked) = (Vec::new(), 0, 0);
    for observer in 0..nodes {
        views.list(observer, &mut listed);
        let local = View(&listed).worst(id_of(observer), WORST);
        for &i in order.iter().take(WORST).filter(|&&i| i != observer) {
            asked += 1;
            missed += u32::from(!local.contains(&id_of(i)));
        }
    }
    f64::from(missed) / f64::from(asked.max(1))
}
