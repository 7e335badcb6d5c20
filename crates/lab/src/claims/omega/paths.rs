//! Section 4.4.4: paths to the leader.

use super::chapter4::{curves, grid, pairs};
use super::{FD, S4, TA_C, TA_D, mean_ratio};
use crate::cell::{Cell, Data};
use crate::claim::{Claim, Experiment, Foil, Outcome};
use consort_sim::mobility::Model;

const METRIC: &str =
    "longest of the shortest ways to the leader, over the diameter, of components of two and more";
const RULE: &str = "for ranges of 100 m and more TA by closeness below Flooding Degree by 2 % and more, with a point of interest within 15 % \
    of 11 % shorter; TA by degree within 2 % of Flooding Degree";

/// The claims of this section.
pub(super) const CLAIMS: &[Claim] = &[
    Claim {
        id: "omega.fig4.20",
        source: "Thesis, Fig. 4.20",
        title: "Ways to the leader, random waypoint",
        metric: METRIC,
        configuration: S4,
        published: "TA by closeness shorter than Flooding Degree at larger ranges",
        rule: RULE,
        foil: Foil::NoEffect,
        cause: None,
        experiment: Some(Experiment {
            cells: |budget| grid(Model::Waypoint, budget),
            judge: |data| judge(data, Model::Waypoint),
        }),
    },
    Claim {
        id: "omega.fig4.21",
        source: "Thesis, Fig. 4.21",
        title: "Ways to the leader, point of interest",
        metric: METRIC,
        configuration: S4,
        published: "TA by closeness 11 % shorter than Flooding Degree, TA by degree about the same",
        rule: RULE,
        foil: Foil::NoEffect,
        cause: None,
        experiment: Some(Experiment {
            cells: |budget| grid(Model::Interest, budget),
            judge: |data| judge(data, Model::Interest),
        }),
    },
];

fn judge(data: &Data<'_>, model: Model) -> Outcome {
    let mut out = Outcome::new("range, m", "way over diameter");
    curves(&mut out, data, model, "path-ratio");
    let of = |line| {
        mean_ratio(
            data,
            &pairs(line, FD, model, 100.0, data.budget),
            "path-ratio",
        )
    };
    let what = "TA closeness over FD, from 100 m";
    out.below(what, "shorter", of(TA_C), 0.98);
    if model == Model::Interest {
        let pairs = pairs(TA_C, FD, model, 100.0, data.budget);
        let cells: Vec<&Cell> = pairs.iter().flat_map(|(a, b)| [a, b]).collect();
        let change = data.estimate(&cells, |v| {
            let ratios = v
                .chunks(2)
                .map(|v| v[0].value("path-ratio") / v[1].value("path-ratio"));
            100.0 * (ratios.sum::<f64>() / pairs.len() as f64 - 1.0)
        });
        let what = "TA closeness over FD, from 100 m, change in %";
        out.near(what, -11.0, change);
    }
    let what = "TA degree over FD, from 100 m";
    out.within(what, "similar", of(TA_D), (0.98, 1.02));
    out
}
