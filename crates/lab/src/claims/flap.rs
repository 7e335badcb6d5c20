//! Impaired nodes: they run, but lose much of what they send or receive. Healthy nodes must not suffer from them.

use super::medley_f::b;
use super::{Statistic, each};
use crate::cell::{Cell, Data, NONE};
use crate::claim::{Check, Claim, Experiment, Foil, Outcome};
use consort_sim::membership::Impaired;

pub(super) const FLAP: Claim = Claim {
    id: "product.flap",
    source: "Consort, default settings",
    title: "Healthy nodes do not flap because others are half dead",
    metric: "wrong verdicts and suspicions about healthy nodes, held by healthy nodes, per healthy \
        node and hour",
    configuration: "Setup B, 49 nodes; from 400 tu on one is deaf, one mute, and five lose 20 % of what \
        they send and of what they receive, for an hour; default settings with given and with learned \
        distances, against SWIM (m=0 and none of our additions)",
    published: "",
    rule: "default settings: no wrong verdict about a healthy node by a healthy one; SWIM's \
        numbers stand beside it",
    foil: Foil::Constant(1.0, "one wrong verdict"),
    cause: None,
    experiment: Some(Experiment {
        cells: |budget| each(kinds().map(|k| k.1), budget.pick(10, 50)),
        judge: flap,
    }),
};

fn kinds() -> [(&'static str, Cell); 3] {
    let half_dead = |cell: Cell| {
        let impaired = Impaired {
            deaf: 1,
            mute: 1,
            lossy: 5,
            loss: 0.2,
        };
        cell.impaired(impaired).spans(400.0, 72_400.0)
    };
    [
        ("SWIM", half_dead(b(0.0, NONE))),
        (
            "default, given distances",
            half_dead(b(3.0, NONE).product()),
        ),
        (
            "default, learned distances",
            half_dead(b(3.0, NONE).product().learned()),
        ),
    ]
}

fn flap(data: &Data<'_>) -> Outcome {
    let mut out = Outcome::new("", "per healthy node and hour");
    let kinds = kinds();
    out.ticks = kinds.iter().map(|k| k.0.into()).collect();
    for (name, statistic) in [
        ("wrong verdicts", (|v| v.flaps()) as Statistic),
        ("suspicions", |v| v.doubts()),
        ("transmissions per period", |v| v.hops()),
    ] {
        let points = kinds.iter().enumerate();
        out.curve(
            name,
            points.map(|(i, k)| (i as f64, data.one(&k.1, statistic))),
        );
    }
    for (name, cell) in &kinds[1..] {
        let flaps = data.one(cell, |v| v.flaps());
        let what = format!("wrong verdicts, {name}");
        out.check(Check::exactly(what, 0.0, flaps).own("our goal: 0"));
    }
    out
}
