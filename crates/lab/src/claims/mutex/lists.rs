//! Chapter 2.3: how complete member lists are.

use crate::budget::Budget;
use crate::cell::{Cell, Data};
use crate::claim::{Claim, Experiment, Foil, Outcome};
use crate::sample::Values;
use consort_proto::membership::Phase;
use consort_proto::{Command, Rng};
use consort_sim::fault::Keep;
use consort_sim::membership::{Failures, Params, Profile};
use consort_sim::oracle::Oracle;
use consort_sim::routes::Routes;
use consort_sim::{Conditions, Engine, Fault, HostState, Start, Trace, World, WorldConfig};

/// The claim of this section.
pub(super) const CLAIMS: &[Claim] = &[Claim {
    id: "mutex.fig2.1",
    source: "Thesis, Fig. 2.1a and 2.1b",
    title: "Member lists are nearly complete",
    metric: "members that a node lists, itself included: mean over nodes and time; the least ever, as a mean \
        over nodes; the least of all; looked at every round, after a restart from half a minute on",
    configuration: "live membership with the papers' settings, m=3, 256 nodes, 5 % loss of a hop; also with the \
        product's settings, and with a share of the nodes that crashes each minute and comes back half a minute later. Thesis: 350 000 \
        rounds; here 300, or 20 000 in full runs",
    published: "the mean settles at 255, the mean of the nodes' least at 240 (the fit has 236.69, C10), both above the quorum of \
        129",
    rule: "without churn: the mean within 1.5 of 255.5, which is at least 254, and the mean of the nodes' least within 15 % of \
        240; both above 129; the least of all and both under churn are shown",
    foil: Foil::NoEffect,
    cause: None,
    experiment: Some(Experiment {
        cells: |budget| {
            let all = SETTINGS
                .iter()
                .flat_map(|s| CHURN.map(|churn| cell(churn, s.1, budget)));
            all.collect()
        },
        judge: fig2_1,
    }),
}];

/// Shares of the nodes that crash per minute.
const CHURN: [f64; 2] = [0.0, 0.1];

/// The settings, as an argument of [`sizes`].
const SETTINGS: [(&str, f64); 2] = [("papers'", 0.0), ("product's", 1.0)];

fn cell(churn: f64, product: f64, budget: Budget) -> Cell {
    let rounds = budget.pick(300.0, 20_000.0);
    let args = [256.0, 0.05, churn, rounds, product];
    Cell::numbers("list-sizes", &args, sizes).runs(5)
}

fn fig2_1(data: &Data<'_>) -> Outcome {
    let mut out = Outcome::new("share that crashes in a minute", "members listed");
    let of = |churn, product, name: &str| {
        data.one(&cell(churn, product, data.budget), |v| v.value(name))
    };
    for (settings, product) in SETTINGS {
        for (name, value) in [
            ("mean", "mean"),
            ("mean of the nodes' least", "least-mean"),
            ("least of all", "least"),
        ] {
            let points = CHURN.map(|churn| (churn, of(churn, product, value)));
            out.curve(format!("{name}, {settings} settings"), points);
        }
    }
    for (what, value, published, by) in [
        ("mean", "mean", 255.5, 1.5),
        ("mean of the nodes' least", "least-mean", 240.0, 36.0),
    ] {
        let measured = of(0.0, 0.0, value);
        out.value(what, published, by, measured);
        out.above(what, "far above the quorum of 129", measured, 129.0);
    }
    out
}

/// An observer without effect: lists are inspected from outside.
struct Nobody;

impl Oracle for Nobody {}

/// Members that a host lists, itself included.
fn listed(world: &World, host: usize) -> u32 {
    let table = world.host(host).node().membership().table();
    let listed = table.iter().filter(|m| m.phase != Phase::Down);
    1 + listed.count() as u32
}

/// Arguments: nodes, loss per hop, share that crashes per minute, periods, whether with the product's settings.
fn sizes(args: &[f64], seed: u64) -> Values {
    watch(args, seed).unwrap_or_default()
}

fn watch(args: &[f64], seed: u64) -> Option<Values> {
    let (nodes, churn, periods) = (args[0] as usize, args[2], args[3] as u32);
    let params = Params {
        nodes,
        conditions: Conditions {
            loss_per_hop: args[1],
            ..Conditions::default()
        },
        failures: Failures::Nodes(0),
        exponent: Some(3.0),
        profile: match args[4] > 0.0 {
            true => Profile::Product,
            false => Profile::Paper,
        },
        ..Params::default()
    };
    let (layout, _) = params.layouts(seed).ok()?;
    let config = WorldConfig {
        node: params.config(),
        layout: layout.clone(),
        conditions: params.conditions,
        seed,
        start: Start::Warm { seeds: 4 },
        sample_every: None,
        trace: Trace::default(),
    };
    let mut engine = Engine::new(config, Nobody).ok()?;
    let mut routes = Routes::new(layout);
    for host in 0..nodes {
        let known = params.proximities(&mut routes, host);
        engine.command(host, Command::SetProximity(known)).ok()?;
    }
    let period = engine.world().node_config().membership.probe_period;
    let mut rng = Rng::seed(seed, 1);
    let (mut sum, mut samples) = (0.0, 0.0);
    let mut back: Vec<(u32, usize)> = Vec::new();
    let mut least = vec![f64::MAX; nodes];
    let mut known_from = vec![0; nodes];
    for round in 0..periods {
        engine.run_for(period).ok()?;
        // A period is a second, so a minute has sixty.
        for host in 0..nodes {
            let up = engine.world().host(host).state() == HostState::Up;
            if up && rng.chance(churn / 60.0) {
                engine.strike(Fault::Crash(host)).ok()?;
                back.push((round + 30, host));
            }
        }
        while let Some(&(_, host)) = back.first().filter(|b| b.0 <= round) {
            back.remove(0);
            let keep = Keep::Life;
            engine.strike(Fault::Restart { host, keep }).ok()?;
            known_from[host] = round + 30;
        }
        let world = engine.world();
        for host in (0..nodes).filter(|&h| world.host(h).state() == HostState::Up) {
            let size = listed(world, host);
            // A node that has just returned knows nobody yet.
            if round >= known_from[host] {
                least[host] = least[host].min(f64::from(size));
            }
            sum += f64::from(size);
            samples += 1.0;
        }
    }
    Some(Values::from([
        ("mean".into(), sum / samples),
        (
            "least-mean".into(),
            least.iter().sum::<f64>() / nodes as f64,
        ),
        (
            "least".into(),
            least.iter().copied().fold(f64::MAX, f64::min),
        ),
    ]))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_are_complete_without_loss_and_suffer_from_churn() {
        let calm = sizes(&[16.0, 0.0, 0.0, 60.0, 0.0], 1);
        assert_eq!((calm["mean"], calm["least"]), (16.0, 16.0));
        let churn = sizes(&[16.0, 0.0, 0.5, 300.0, 0.0], 1);
        assert!(churn["least-mean"] < 16.0, "{churn:?}");
    }
}
