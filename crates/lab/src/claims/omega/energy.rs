//! Appendix A: energy.

use super::chapter5::{curves, grid};
use super::{CEL_1, CEL_07, GC, S5, ranges5, ratio, s5};
use crate::budget::Budget;
use crate::cell::Data;
use crate::claim::{Claim, Experiment, Foil, Outcome};
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
        rule: "each value at 30 and 80 m, and CEL-0.7 over CEL-1 at 80 m, within 15 % of the published; CEL-0.7 below CEL-1 from 60 m \
            on; Gómez-Calzado falls with the range \
            and is above CEL at 30 m; CEL rises",
        foil: Foil::NoEffect,
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
        rule: "each value at 80 m, and CEL-0.7 over CEL-1, within 15 % of the published; CEL-0.7 below CEL-1 from 60 m on; CEL rises, is below \
            Gómez-Calzado at 30 m, and CEL-1 passes it between 50 and 80 m",
        foil: Foil::NoEffect,
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
    for range in far(budget) {
        let saved = ratio(data, &of(CEL_07, range), &of(CEL_1, range), value);
        let what = format!("CEL-0.7 over CEL-1, {range} m");
        out.below(what, "reduces", saved, 1.0);
    }
    let published: &[(f64, [f64; 3])] = match model {
        Model::Walk => &[(30.0, [16.47, 0.46, 0.39]), (80.0, [9.07, 10.39, 6.41])],
        _ => &[(80.0, [9.18, 23.72, 14.27])],
    };
    for (range, values) in published {
        for (line, published) in [GC, CEL_1, CEL_07].into_iter().zip(values) {
            out.published(line.name(), [(*range, *published)]);
            let ours = data.one(&of(line, *range), |v| v.value(value));
            let what = format!("{}, {range} m", line.name());
            out.near(what, *published, ours);
        }
    }
    let saved = ratio(data, &of(CEL_07, 80.0), &of(CEL_1, 80.0), value);
    let printed = if model == Model::Walk { 0.617 } else { 0.602 };
    let what = "CEL-0.7 over CEL-1, 80 m, size";
    out.near(what, printed, saved);
    for line in [CEL_1, CEL_07] {
        let less = ratio(data, &of(line, 30.0), &of(GC, 30.0), value);
        let what = format!("{} over GC, 30 m", line.name());
        out.below(what, "lower", less, 1.0);
        let rise = ratio(data, &of(line, 80.0), &of(line, 30.0), value);
        let what = format!("{}: 80 over 30 m", line.name());
        out.above(what, "increases", rise, 1.0);
    }
    if model == Model::Walk {
        let fall = ratio(data, &of(GC, 80.0), &of(GC, 30.0), value);
        out.below("GC: 80 over 30 m", "decreases", fall, 1.0);
    } else {
        let before = ratio(data, &of(CEL_1, 50.0), &of(GC, 50.0), value);
        out.below("CEL-1 over GC, 50 m", "lower", before, 1.0);
        let after = ratio(data, &of(CEL_1, 80.0), &of(GC, 80.0), value);
        out.above("CEL-1 over GC, 80 m", "higher from 65 m on", after, 1.0);
    }
    out
}

/// Ranges at which there is something to forward.
fn far(budget: Budget) -> impl Iterator<Item = f64> {
    ranges5(budget).into_iter().filter(|&r| r >= 60.0)
}
