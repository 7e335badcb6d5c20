//! Chapter 4.3: what loss does to a message, by formula.

use crate::claim::{Check, Claim, Experiment, Outcome, Verdict};
use crate::stat::Estimate;

/// The values of the thesis's plots: six hops of 50 ms, a timeout of 500 ms.
const HOPS: i32 = 6;
const HOP: f64 = 50.0;
const TIMEOUT: f64 = 500.0;

/// Loss of a hop; then, as recomputed: loss of a message, its delay by the published formula, with the
/// chance of a loss at each hop multiplied instead of added (C1), and with a timer of the sender.
const TABLE: [[f64; 5]; 7] = [
    [0.05, 0.265, 751.0, 523.0, 480.0],
    [0.10, 0.469, 1403.0, 838.0, 741.0],
    [0.15, 0.623, 2365.0, 1294.0, 1126.0],
    [0.20, 0.738, 3820.0, 1970.0, 1707.0],
    [0.25, 0.822, 6077.0, 3002.0, 2609.0],
    [0.35, 0.925, 15635.0, 7268.0, 6430.0],
    [0.50, 0.984, 79112.0, 34650.0, 31800.0],
];

/// The claims of this section.
pub(super) const CLAIMS: &[Claim] = &[
    Claim {
        id: "mutex.fig4.4",
        source: "Thesis, Fig. 4.4",
        title: "Loss of a message by loss of a hop",
        metric: "1 - (1-r)^c",
        configuration: "c = 6 hops, r = 0.05 to 0.95",
        published: ".265 .469 .623 .738 .822 .925 .984 at r = .05 .1 .15 .2 .25 .35 .5",
        rule: "exact to 0.1 %",
        expected: Verdict::Reproduced,
        cause: None,
        experiment: Some(Experiment {
            cells: |_| Vec::new(),
            judge: |_| {
                let mut out = Outcome::new("loss of a hop", "loss of a message");
                out.curve(
                    "1 - (1-r)^6",
                    sweep().map(|r| (r, Estimate::exact(loss(r)))),
                );
                for row in TABLE {
                    check(&mut out, "d", row[0], row[1], loss(row[0]));
                }
                out
            },
        }),
    },
    Claim {
        id: "mutex.fig4.5",
        source: "Thesis, Fig. 4.5",
        title: "Expected delay of a message by loss of a hop",
        metric: "milliseconds from the first sending to the arrival",
        configuration: "c = 6 hops of 50 ms, a timeout of 500 ms: the plot's values, absent from the text",
        published: "751 1403 2365 3820 6077 15635 79112 ms; it adds a probability to milliseconds (C1): \
            multiplied it is 523 838 1294 1970 3002 7268 34650, with a sender's timer 480 to 31800",
        rule: "exact to 0.1 % for the published formula and the two corrected ones",
        expected: Verdict::Reproduced,
        cause: None,
        experiment: Some(Experiment {
            cells: |_| Vec::new(),
            judge: |_| {
                let mut out = Outcome::new("loss of a hop", "ms");
                for (name, waste) in WASTES {
                    let at = |r| (r, Estimate::exact(delay(r, waste(r))));
                    out.curve(name, sweep().filter(|&r| r <= 0.5).map(at));
                }
                for row in TABLE {
                    for (n, (name, waste)) in WASTES.into_iter().enumerate() {
                        check(
                            &mut out,
                            name,
                            row[0],
                            row[2 + n],
                            delay(row[0], waste(row[0])),
                        );
                    }
                }
                out
            },
        }),
    },
];

/// What a loss costs in milliseconds (lambda).
type Waste = fn(f64) -> f64;

const WASTES: [(&str, Waste); 3] = [
    ("as published", published),
    ("multiplied", multiplied),
    ("sender's timer", |_| TIMEOUT),
];

fn sweep() -> impl Iterator<Item = f64> {
    (1..=19).map(|n| f64::from(n) * 0.05)
}

fn loss(r: f64) -> f64 {
    1.0 - (1.0 - r).powi(HOPS)
}

/// The sum of probability and milliseconds that is printed, with the exponent of the plot, not of the
/// text (C3).
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

fn check(out: &mut Outcome, what: &str, r: f64, published: f64, ours: f64) {
    let (low, high) = (published * 0.999, published * 1.001);
    let what = format!("{what}, r={r}");
    let published = format!("{published}");
    out.checks.push(Check::within(
        what,
        published,
        Estimate::exact(ours),
        (low, high),
    ));
}

#[cfg(test)]
mod tests {
    use super::*;

    /// C1: what is added is nearly the same for every loss.
    #[test]
    fn the_published_waste_does_not_depend_on_loss() {
        for r in sweep() {
            assert!((1247.0..1252.0).contains(&published(r)), "{}", published(r));
        }
        assert!(
            multiplied(0.05) > multiplied(0.9),
            "early hops lose most then"
        );
    }
}
