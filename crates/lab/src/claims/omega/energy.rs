//! Appendix A: energy.

use super::chapter5::{curves, grid};
use super::{CEL_1, CEL_07, GC, S5, above, below, mean_ratio, ranges5, ratio, s5};
use crate::budget::Budget;
use crate::cell::{Cell, Data};
use crate::claim::{Check, Claim, Experiment, Outcome, Verdict};
use consort_sim::mobility::Model;

const METRIC: &str = "joules of a node in 1800 s for sending its messages, beacons of the data link left out: what the \
    published watts can only be (E32); joules by state beside them";

/// The claims of this appendix.
pub(super) const CLAIMS: &[Claim] = &[
    Claim {
        id: "omega.figa.1",
        source: "Thesis, Fig. A.1",
        title: "Energy by range, random walk",
        metric: METRIC,
        configuration: S5,
        published: "30 m: Gómez-Calzado 16.47, CEL-1 0.46, CEL-0.7 0.39; 80 m: 9.07, 10.39, 6.41",
        rule: "CEL-0.7 over CEL-1 0.60, 0.12 more or less; Gómez-Calzado falls with the range; CEL rises",
        expected: Verdict::Reproduced,
        cause: None,
        experiment: Some(Experiment {
            cells: |budget| grid(Model::Walk, budget),
            judge: |data| judge(data, Model::Walk),
        }),
    },
    Claim {
        id: "omega.figa.2",
        source: "Thesis, Fig. A.2",
        title: "Energy by range, Lévy walk",
        metric: METRIC,
        configuration: S5,
        published: "80 m: Gómez-Calzado 9.18, CEL-1 23.72, CEL-0.7 14.27; CEL-1 above Gómez-Calzado from about 65 m on",
        rule: "CEL-0.7 over CEL-1 0.60, 0.12 more or less; CEL rises; CEL-1 passes Gómez-Calzado between 50 and 80 m",
        expected: Verdict::Reproduced,
        cause: None,
        experiment: Some(Experiment {
            cells: |budget| {
                let more = [CEL_1, GC].map(|line| s5(line, Model::LevySampled, 50.0, budget));
                let all = grid(Model::LevySampled, budget).into_iter().chain(more);
                all.collect()
            },
            judge: |data| judge(data, Model::LevySampled),
        }),
    },
];

fn judge(data: &Data<'_>, model: Model) -> Outcome {
    let mut out = Outcome::new("range, m", "J");
    let (budget, value) = (data.budget, "energy-messages");
    let states = [
        ("", value),
        (", sending in all", "energy-transmit"),
        (", receiving", "energy-receive"),
        (", listening", "energy-listen"),
        (", sending and receiving above listening", "energy-above"),
    ];
    curves(&mut out, data, model, &states);
    let of = |line, range| s5(line, model, range, budget);
    let pairs: Vec<(Cell, Cell)> = far(budget).map(|r| (of(CEL_07, r), of(CEL_1, r))).collect();
    let saved = mean_ratio(data, &pairs, value);
    let published = if model == Model::Walk {
        "0.62 at 80 m"
    } else {
        "0.60 at 80 m"
    };
    out.checks.push(Check::within(
        "CEL-0.7 over CEL-1",
        published,
        saved,
        (0.48, 0.72),
    ));
    for line in [CEL_1, CEL_07] {
        let rise = ratio(data, &of(line, 80.0), &of(line, 30.0), value);
        above(
            &mut out,
            format!("{}: 80 over 30 m", line.name()),
            "rises",
            rise,
            1.0,
        );
    }
    if model == Model::Walk {
        let fall = ratio(data, &of(GC, 80.0), &of(GC, 30.0), value);
        below(&mut out, "GC: 80 over 30 m", "0.55", fall, 1.0);
    } else {
        let before = ratio(data, &of(CEL_1, 50.0), &of(GC, 50.0), value);
        below(&mut out, "CEL-1 over GC, 50 m", "below 1", before, 1.0);
        let after = ratio(data, &of(CEL_1, 80.0), &of(GC, 80.0), value);
        above(&mut out, "CEL-1 over GC, 80 m", "2.58", after, 1.0);
    }
    out
}

/// Ranges at which there is something to pass on.
fn far(budget: Budget) -> impl Iterator<Item = f64> {
    ranges5(budget).into_iter().filter(|&r| r >= 60.0)
}
