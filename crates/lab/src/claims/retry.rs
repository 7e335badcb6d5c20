//! Repeated pings and reminders: the cost of a lossy network with and without them.

use super::medley_f::b;
use super::{Statistic, each};
use crate::cell::{Cell, Data, NONE};
use crate::claim::{Check, Claim, Experiment, Foil, Outcome};
use consort_proto::membership::Config;

pub(super) const RETRY: Claim = Claim {
    id: "product.retry",
    source: "Consort, repeated pings and reminders",
    title: "One more ping is cheaper than helpers, suspicion and rumors",
    metric: "suspicions per node and hour; transmissions and bytes per node and period; share of the time \
        with a wrong verdict",
    configuration: "Setup B, m=3, default settings without repeated pings and reminders, with one of them, and \
        with both; nobody crashes; 5 and 20 % loss per hop, 200 periods",
    published: "",
    rule: "with both, at 5 % loss: at most half of the suspicions, less transmissions, less bytes; at 20 % loss: at \
        most half of the time with a wrong verdict; each alone: not more of it",
    foil: Foil::NoEffect,
    cause: None,
    experiment: Some(Experiment {
        cells: |budget| {
            let cells = LOSSES.map(|loss| SETTINGS.map(|s| lossy(s, loss)));
            each(cells.into_iter().flatten(), budget.pick(100, 400))
        },
        judge: retry,
    }),
};

const LOSSES: [f64; 2] = [0.05, 0.2];

type Setting = (&'static str, fn(&mut Config));

const SETTINGS: [Setting; 4] = [
    ("neither", |c| {
        c.probe_retries = 0;
        c.rumor_reminders = 0;
    }),
    ("reminders", |c| c.probe_retries = 0),
    ("pings", |c| c.rumor_reminders = 0),
    ("both", |_| {}),
];

fn lossy((name, settings): Setting, loss: f64) -> Cell {
    let cell = b(3.0, NONE).product().adjust(name, settings);
    cell.loss(loss).crashes(0).spans(1_000.0, 5_000.0)
}

fn retry(data: &Data<'_>) -> Outcome {
    let mut out = Outcome::new("", "per node and hour, node and period, or % of the time");
    out.ticks = SETTINGS.iter().map(|s| s.0.into()).collect();
    let suspicions: Statistic = |v| v.doubts();
    let wronged: Statistic = |v| v.wronged_percent();
    for loss in LOSSES {
        for (name, statistic) in [
            ("suspicions", suspicions),
            ("transmissions", |v| v.hops()),
            ("bytes", |v| v.byte_hops()),
            ("time with a wrong verdict, %", wronged),
        ] {
            let points = SETTINGS.iter().enumerate();
            let name = format!("{name}, {} % loss", loss * 100.0);
            out.curve(
                name,
                points.map(|(i, s)| (i as f64, data.one(&lossy(*s, loss), statistic))),
            );
        }
    }
    let [neither, reminders, pings, both] = SETTINGS;
    for (what, statistic, most) in [
        ("suspicions, both over neither, 5 % loss", suspicions, 0.5),
        (
            "transmissions, both over neither, 5 % loss",
            |v| v.hops(),
            1.0,
        ),
        ("bytes, both over neither, 5 % loss", |v| v.byte_hops(), 1.0),
    ] {
        let cells = [lossy(both, 0.05), lossy(neither, 0.05)];
        let ratio = data.estimate(&[&cells[0], &cells[1]], |v| {
            statistic(&v[0]) / statistic(&v[1])
        });
        out.check(Check::at_most(what, "", ratio, most).own("our goal"));
    }
    for (setting, most) in [(both, 0.5), (reminders, 1.0), (pings, 1.0)] {
        let cells = [lossy(setting, 0.2), lossy(neither, 0.2)];
        let ratio = data.estimate(&[&cells[0], &cells[1]], |v| wronged(&v[0]) / wronged(&v[1]));
        let what = format!(
            "time with a wrong verdict, {} over neither, 20 % loss",
            setting.0
        );
        out.check(Check::at_most(what, "", ratio, most).own("our goal"));
    }
    out
}
