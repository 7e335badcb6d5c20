//! Chapter 4.3: the effect of loss on a message, by formula.

use crate::budget::Budget;
use crate::cell::Cell;
use crate::claim::{Check, Claim, Experiment, Foil, Outcome};
use crate::sample::Values;
use crate::stat::Estimate;
use consort_proto::Rng;

/// The values of the thesis's plots: six hops of 50 ms, a timeout of 500 ms.
const HOPS: i32 = 6;
const HOP: f64 = 50.0;
const TIMEOUT: f64 = 500.0;

/// Losses of a hop at which the plots are compared.
const LOSSES: [f64; 7] = [0.05, 0.10, 0.15, 0.20, 0.25, 0.35, 0.50];
/// Messages of one run.
const MESSAGES: u32 = 2_000;

/// The claims of this section.
pub(super) const CLAIMS: &[Claim] = &[
    Claim {
        id: "mutex.fig4.4",
        source: "Thesis, Fig. 4.4",
        title: "Loss of a message by loss of a hop",
        metric: "share of messages that are lost on one of six hops, hop by hop at random",
        configuration: "c = 6 hops, r = 0.05 to 0.5; 40 runs of 2000 messages",
        published: "1 - (1-r)^c",
        rule: "within .01 of the formula",
        foil: Foil::NoEffect,
        cause: None,
        experiment: Some(Experiment {
            cells: |budget| LOSSES.map(|r| cell(r, budget)).to_vec(),
            judge: |data| {
                let mut out = Outcome::new("loss of a hop", "loss of a message");
                let at = |r| data.one(&cell(r, data.budget), |v| v.value("lost"));
                out.curve("drawn", LOSSES.map(|r| (r, at(r))));
                let formula = LOSSES.map(|r| (r, Estimate::exact(loss(r))));
                out.curve("1 - (1-r)^6", formula);
                for r in LOSSES {
                    let published = (loss(r) * 1e3).round() / 1e3;
                    let what = format!("r={r}");
                    out.value(what, published, 0.01, at(r));
                }
                out
            },
        }),
    },
    Claim {
        id: "mutex.fig4.5",
        source: "Thesis, section 4.3 and Fig. 4.5",
        title: "Expected delay of a message by loss of a hop",
        metric: "milliseconds from the first sending to the arrival, drawn hop by hop as the text has it: a lost message costs the \
            timeout and the hops it made",
        configuration: "c = 6 hops of 50 ms, a timeout of 500 ms: the plot's values, absent from the text; 40 runs of 2000 \
            messages",
        published: "ch + lambda d/(1-d), in which lambda adds a probability to milliseconds: 751 1403 2365 3820 6077 15635 79112 \
            ms at r = .05 .1 .15 .2 .25 .35 .5",
        rule: "refuted if the delay that is drawn is below 85 % of the formula at every r. Beside it our reading, with the \
            probability multiplied (C1; 3 % either way), and with a timer that begins at the sending",
        foil: Foil::Wrong("delays as the formula has them", || {
            fig4_5(&|r| Estimate::exact(delay(r, published(r))))
        }),
        cause: None,
        experiment: Some(Experiment {
            cells: |budget| LOSSES.map(|r| cell(r, budget)).to_vec(),
            judge: |data| fig4_5(&|r| data.one(&cell(r, data.budget), |v| v.value("delay"))),
        }),
    },
];

/// Takes the measured mean delay by loss per hop.
fn fig4_5(measured: &dyn Fn(f64) -> Estimate) -> Outcome {
    let mut out = Outcome::new("loss of a hop", "ms");
    out.curve("drawn", LOSSES.map(|r| (r, measured(r))));
    for (name, waste) in WASTES {
        let at = |r| (r, Estimate::exact(delay(r, waste(r))));
        out.curve(name, LOSSES.map(at));
    }
    // What the printed formula gives.
    out.published("drawn", LOSSES.map(|r| (r, delay(r, published(r)))));
    for r in LOSSES {
        let formula = delay(r, published(r));
        let found = measured(r);
        let over = Estimate {
            value: found.value / formula,
            se: found.se / formula,
            ..found
        };
        let check = Check::below(format!("over the formula, r={r}"), "1", over, 0.85);
        out.check(check.refutes());
        let ours = delay(r, multiplied(r)).round();
        let what = format!("delay in ms, r={r}");
        let check = Check::value(what, ours, 0.03 * ours, found);
        out.check(check.own(format!("our reading: {ours}")));
    }
    out
}

fn cell(r: f64, budget: Budget) -> Cell {
    Cell::numbers("hops", &[r], draw).runs(budget.pick(40, 400))
}

/// Messages that are retransmitted until they arrive: the share of lost transmissions, and the mean delay.
fn draw(args: &[f64], seed: u64) -> Values {
    let mut rng = Rng::seed(seed, 1);
    let (mut sent, mut lost, mut delay) = (0_u32, 0_u32, 0.0);
    for _ in 0..MESSAGES {
        loop {
            sent += 1;
            let made = (0..HOPS).take_while(|_| !rng.chance(args[0])).count();
            delay += made as f64 * HOP;
            if made == HOPS as usize {
                break;
            }
            lost += 1;
            delay += TIMEOUT;
        }
    }
    Values::from([
        ("lost".into(), f64::from(lost) / f64::from(sent)),
        ("delay".into(), delay / f64::from(MESSAGES)),
    ])
}

/// The cost of a loss in milliseconds (lambda).
type Waste = fn(f64) -> f64;

const WASTES: [(&str, Waste); 3] = [
    ("as published", published),
    ("multiplied", multiplied),
    ("sender's timer", |_| TIMEOUT),
];

fn loss(r: f64) -> f64 {
    1.0 - (1.0 - r).powi(HOPS)
}

/// The printed sum of a probability and milliseconds, with the exponent of the plot instead of the text (C3).
fn published(r: f64) -> f64 {
    let c = f64::from(HOPS);
    let chances = r / (1.0 - r) * ((1.0 - (1.0 - r).powi(HOPS - 1)) / r - 1.0);
    TIMEOUT + chances + HOP * c * (c - 1.0) / 2.0
}

fn multiplied(r: f64) -> f64 {
    let hop = |i: i32| f64::from(i - 1) * (1.0 - r).powi(i - 1) * r;
    TIMEOUT + HOP * (1..=HOPS).map(hop).sum::<f64>() / loss(r)
}

/// C2: the last line is right.
fn delay(r: f64, waste: f64) -> f64 {
    f64::from(HOPS) * HOP + waste * loss(r) / (1.0 - loss(r))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// C1: the added delay is nearly the same for every loss.
    #[test]
    fn the_published_waste_does_not_depend_on_loss() {
        for r in (1..=19).map(|n| f64::from(n) * 0.05) {
            assert!((1247.0..1252.0).contains(&published(r)), "{}", published(r));
        }
        assert!(
            multiplied(0.05) > multiplied(0.9),
            "early hops lose most then"
        );
    }
}
