//! Medley under many simultaneous crashes, and under loss.

use super::medley::{SETUP_A, random};
use super::{Statistic, each};
use crate::cell::{Cell, Data};
use crate::check::TOLERANCE;
use crate::claim::{Check, Claim, Experiment, Foil, Outcome};
use consort_proto::membership::Clearing;
use consort_sim::topology::Topology;

pub(super) const FIG5: Claim = Claim {
    id: "medley.fig5",
    source: "Medley, Fig. 5",
    title: "Several nodes crash at once",
    metric: "mean time to the first verdict, with the earliest and latest of a run",
    configuration: SETUP_A,
    published: "12 against 1: m=0 stable, +15 % at m=1.5, about +60 % at m=3",
    rule: "within 15 % of +15 % at m=1.5 and of +60 % at m=3; more at m=1.5 than at m=0, at m=3 than at m=1.5; at m=0 \
        12 crashes take at most 1.15 times as long as one",
    foil: Foil::NoEffect,
    cause: None,
    experiment: Some(Experiment {
        cells: |budget| {
            let crashes = |m| CRASHES.map(|f| several(m, f));
            each(
                [0.0, 1.5, 3.0].into_iter().flat_map(crashes),
                budget.pick(200, 1000),
            )
        },
        judge: fig5,
    }),
};

pub(super) const FIG6: Claim = Claim {
    id: "medley.fig6",
    source: "Medley, Fig. 6",
    title: "One of three clusters crashes",
    metric: "mean time to the first verdict beyond the minimum, over the crashed nodes",
    configuration: "Setup A with clusters of 6, 9 and 10 nodes in boxes of 30 % of the side, a \
        layout per run; not noticed within 4000 tu counts as 4000",
    published: "low below m=2, then rising; dissemination stable",
    rule: "mean rises with m from 2 on; m=0 below a fifth of m=3, m=1 below a quarter; from m=0 to 5 dissemination grows by \
        a smaller factor than the mean. Beside it our pre-study: at most 40 at m=0, and a mean that rises from each m to the next",
    foil: Foil::NoEffect,
    cause: None,
    experiment: Some(Experiment {
        cells: |budget| {
            each(
                (0..=5).map(|m| domain(f64::from(m))),
                budget.pick(200, 1000),
            )
        },
        judge: fig6,
    }),
};

pub(super) const TAB2: Claim = Claim {
    id: "medley.tab2",
    source: "Medley, Tab. 2",
    title: "Wrong verdicts under loss",
    metric: "share of the time in which some running node is held down by another",
    configuration: "Setup A, 10 and 20 % loss per hop, 3000 tu, nobody crashes; the whole list \
        rides on every message; whoever hears from a suspect clears it, in order of one clock's time, \
        and only who got no answer itself gives a verdict, as in the released code; beside it the owner alone \
        clears, and a grid",
    published: "10 %: 1.07 .43 .69 .08 .08 .00; 20 %: 2.32 2.35 2.05 1.49 1.36 1.39 % at m=0..5",
    rule: "20 % loss above 10 % at m=0, 2 and 5; m=5 below m=0 at either loss; each share within 15 % of the published \
        one, or within 0.1 where that is less. Beside it our reading: m raises the share on random layouts, where some nodes \
        are far from all others and seldom probed, by more than on a grid",
    foil: Foil::NoEffect,
    cause: Some(
        "The paper's shares fall with m, ours rise: 0, 0, 0.25, 0.60, 0.58, 0.51 % at 10 % loss, with spreads up to 0.33. Why is open; with \
             30 runs the trend is not told from none.",
    ),
    experiment: Some(Experiment {
        cells: |budget| each(tab2_cells(), budget.pick(30, 200)),
        judge: tab2,
    }),
};

const EXPONENTS: [f64; 6] = [0.0, 1.0, 2.0, 3.0, 4.0, 5.0];
const CRASHES: [usize; 5] = [1, 2, 4, 8, 12];

fn several(m: f64, crashes: usize) -> Cell {
    random(m).crashes(crashes)
}

fn domain(m: f64) -> Cell {
    let cell = Cell::a().topology("cluster", Topology::cluster_a());
    cell.cluster_crash().m(m)
}

fn lossy(m: f64, loss: f64) -> Cell {
    let cell = Cell::a().m(m).loss(loss).crashes(0).spans(1_500.0, 3_000.0);
    cell.adjust("whole-list", |c| {
        c.rumors_max = 64;
        c.rumor_factor = 100;
    })
}

/// The paper's form: any node that reaches a suspect clears it.
fn witnessed(m: f64, loss: f64) -> Cell {
    let cell = Cell::a().m(m).loss(loss).crashes(0).spans(1_500.0, 3_000.0);
    cell.adjust("whole-list/anybody-clears", |c| {
        c.rumors_max = 64;
        c.rumor_factor = 100;
        c.clearing = Clearing::Anybody;
    })
}

/// The same on a grid, where no node is far from the others.
fn gridded(m: f64, loss: f64) -> Cell {
    witnessed(m, loss).topology("grid", Topology::Grid)
}

/// A name, and a cell for an exponent and a loss.
type Form = (&'static str, fn(f64, f64) -> Cell);

/// Both forms, the paper's first, for comparison.
const FORMS: [Form; 2] = [("anybody clears", witnessed), ("the owner clears", lossy)];

fn tab2_cells() -> Vec<Cell> {
    let mut cells = Vec::new();
    for loss in [0.1, 0.2] {
        for (_, cell) in FORMS {
            cells.extend(EXPONENTS.map(|m| cell(m, loss)));
        }
        cells.extend([0.0, 5.0].map(|m| gridded(m, loss)));
    }
    cells
}

fn fig5(data: &Data<'_>) -> Outcome {
    let mut out = Outcome::new("crashes", "time to the first verdict");
    let mut rises = Vec::new();
    for m in [0.0, 1.5, 3.0] {
        let all = CRASHES.map(|f| (f as f64, several(m, f)));
        for (name, statistic) in [
            ("", (|v| v.detection()) as Statistic),
            (", earliest", |v| v.detection_first()),
            (", latest", |v| v.detection_last()),
        ] {
            let points = all.iter().map(|(f, cell)| (*f, data.one(cell, statistic)));
            out.curve(format!("m={m}{name}"), points);
        }
        let rise = data.estimate(&[&several(m, 12), &several(m, 1)], |v| {
            100.0 * (v[0].detection() / v[1].detection() - 1.0)
        });
        rises.push(rise);
    }
    out.checks = vec![
        Check::at_most("m=0, % later", "stable", rises[0], 15.0),
        Check::near("m=1.5, % later", 15.0, rises[1]),
        Check::near("m=3, % later", 60.0, rises[2]),
    ];
    for (low, high) in [(0.0, 1.5), (1.5, 3.0)] {
        let cells = [(low, 1), (low, 12), (high, 1), (high, 12)].map(|(m, f)| several(m, f));
        let cells: Vec<&Cell> = cells.iter().collect();
        let growth = data.estimate(&cells, |v| {
            let d = |i: usize| v[i].detection();
            100.0 * (d(3) / d(2) - d(1) / d(0))
        });
        let what = format!("growth from m={low} to {high}, points");
        out.above(what, "increases", growth, 0.0);
    }
    out
}

fn fig6(data: &Data<'_>) -> Outcome {
    let mut out = Outcome::new("exponent m", "time units");
    for (name, statistic) in [
        ("extra", (|v| v.extra()) as Statistic),
        ("dissemination", |v| v.dissemination()),
    ] {
        let points = (0..=5).map(|m| {
            let m = f64::from(m);
            (m, data.one(&domain(m), statistic))
        });
        out.curve(name, points);
    }
    let none = data.one(&domain(0.0), |v| v.extra());
    let check = Check::at_most("m=0", "", none, 40.0).own("our pre-study: 40");
    out.check(check);
    for (m, most) in [(0.0, 0.2), (1.0, 0.25)] {
        let ratio = data.estimate(&[&domain(m), &domain(3.0)], |v| v[0].extra() / v[1].extra());
        let what = format!("m={m} over m=3");
        out.below(what, "low", ratio, most);
    }
    let stabler = data.estimate(&[&domain(5.0), &domain(0.0)], |v| {
        let growth = |f: Statistic| f(&v[0]) / f(&v[1]);
        growth(|v| v.dissemination()) / growth(|v| v.extra())
    });
    let what = "growth from m=0 to 5, dissemination over mean";
    out.below(what, "much stabler", stabler, 1.0);
    for m in 0..5 {
        let (low, high) = (f64::from(m), f64::from(m + 1));
        let rise = data.estimate(&[&domain(low), &domain(high)], |v| {
            v[1].extra() - v[0].extra()
        });
        let what = format!("rise from m={low} to {high}");
        let check = Check::above(what, "rises", rise, 0.0);
        out.check(match m {
            0 | 1 => check.own("our pre-study: rises"),
            _ => check,
        });
    }
    out
}

fn tab2(data: &Data<'_>) -> Outcome {
    let mut out = Outcome::new("exponent m", "time with a wrong verdict, %");
    for (loss, published) in [
        (0.1, [1.07, 0.43, 0.69, 0.08, 0.08, 0.0]),
        (0.2, [2.32, 2.35, 2.05, 1.49, 1.36, 1.39]),
    ] {
        let [ours, _] = FORMS.map(|(form, cell)| {
            let shares = EXPONENTS.map(|m| (m, data.one(&cell(m, loss), |v| v.wronged_percent())));
            out.curve(format!("{} % loss, {form}", loss * 100.0), shares);
            shares
        });
        let name = format!("{} % loss, {}", loss * 100.0, FORMS[0].0);
        out.published(name, EXPONENTS.into_iter().zip(published));
        for ((m, share), published) in ours.into_iter().zip(published) {
            let what = format!("{} % loss, m={m}, %", loss * 100.0);
            let by = (TOLERANCE * published).max(0.1);
            out.value(what, published, by, share);
        }
        let fall = data.estimate(&[&witnessed(0.0, loss), &witnessed(5.0, loss)], |v| {
            v[0].wronged_percent() - v[1].wronged_percent()
        });
        let what = format!("{} % loss, m=0 less m=5, points", loss * 100.0);
        out.above(what, "drops with m", fall, 0.0);
        let even = [0.0, 5.0].map(|m| (m, data.one(&gridded(m, loss), |v| v.wronged_percent())));
        out.curve(format!("{} % loss, grid", loss * 100.0), even);
        let rise = data.estimate(
            &[
                &witnessed(5.0, loss),
                &witnessed(0.0, loss),
                &gridded(5.0, loss),
                &gridded(0.0, loss),
            ],
            |v| {
                let rise = |n: usize| v[n].wronged_percent() - v[n + 1].wronged_percent();
                rise(0) - rise(2)
            },
        );
        let what = format!(
            "{} % loss, m=5 less m=0, random less grid, points",
            loss * 100.0
        );
        let check = Check::above(what, "", rise, 0.0);
        out.check(check.own("our reading: rises where nodes are isolated"));
    }
    for m in [0.0, 2.0, 5.0] {
        let more = data.estimate(&[&witnessed(m, 0.2), &witnessed(m, 0.1)], |v| {
            v[0].wronged_percent() - v[1].wronged_percent()
        });
        let what = format!("m={m}, 20 less 10 % loss, points");
        out.above(what, "more with loss", more, 0.0);
    }
    out
}
