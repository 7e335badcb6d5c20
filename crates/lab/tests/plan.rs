//! Splitting the work does not change the result.

use consort_lab::cell::{BOTH, Cell, NONE};
use consort_lab::claim::{Check, Claim, Experiment, Foil, Outcome, Verdict};
use consort_lab::output;
use consort_lab::{Budget, Judged, LabError, Plan, Shard, registry};
use rayon::ThreadPoolBuilder;

/// A small group and short runs.
fn cell(m: f64, both: bool) -> Cell {
    let mode = if both { BOTH } else { NONE };
    let cell = Cell::b().nodes(12).area(6.0, 4.0).m(m).feedback(mode);
    cell.spans(400.0, 1_000.0)
}

/// A claim that holds for every sample: detection takes at least a period and a suspicion.
const SMALL: Claim = Claim {
    id: "test.small",
    source: "test",
    title: "small",
    metric: "time",
    configuration: "twelve nodes",
    published: "140",
    rule: "at least 139",
    foil: Foil::NoEffect,
    cause: None,
    experiment: Some(Experiment {
        cells: |_| vec![cell(0.0, false).runs(12), cell(3.0, true).runs(7)],
        judge: |data| {
            let mut out = Outcome::new("m", "time");
            let swim = data.one(&cell(0.0, false), |v| v.detection());
            let both = data.one(&cell(3.0, true), |v| v.detection());
            out.curve("detection", [(0.0, swim), (3.0, both)]);
            out.checks
                .push(Check::at_least("detection", "140", swim, 139.0));
            out
        },
    }),
};

/// Shares a cell with the other claim, with fewer runs.
const OTHER: Claim = Claim {
    id: "test.other",
    experiment: Some(Experiment {
        cells: |_| vec![cell(3.0, true).runs(11)],
        judge: |data| {
            let mut out = Outcome::new("m", "metres");
            let metres = data.one(&cell(3.0, true), |v| v.metres());
            out.curve("metres", [(3.0, metres)]);
            out.checks.push(Check::at_most("metres", "", metres, 0.0));
            out
        },
    }),
    ..SMALL
};

fn whole(claims: Vec<&'static Claim>, threads: usize) -> Vec<Judged> {
    let plan = Plan::new(claims, Budget::Quick, 3);
    let pool = ThreadPoolBuilder::new()
        .num_threads(threads)
        .build()
        .unwrap();
    let partial = pool.install(|| plan.run(Shard::ALL, &|_| ())).unwrap();
    plan.judge(vec![partial]).unwrap()
}

#[test]
fn threads_and_company_do_not_change_a_result() {
    let both = whole(vec![&SMALL, &OTHER], 1);
    assert_eq!(both, whole(vec![&SMALL, &OTHER], 2));
    assert_eq!(both[0], whole(vec![&SMALL], 2)[0]);
    assert_eq!(both[1], whole(vec![&OTHER], 2)[0]);
}

#[test]
fn a_broken_rule_is_seen() {
    let judged = whole(vec![&SMALL, &OTHER], 2);
    assert_eq!(judged[0].verdict, Verdict::Direction);
    assert_eq!(judged[1].verdict, Verdict::Differs);
    // Neither is recorded, so there is no regression; for a recorded positive result there is.
    assert!(!judged[0].is_regression() && !judged[1].is_regression());
    let shown = Judged {
        expected: Verdict::Direction,
        ..judged[1].clone()
    };
    assert!(shown.is_regression());
}

#[test]
fn shards_through_files_equal_the_whole() {
    let plan = Plan::new(vec![&SMALL, &OTHER], Budget::Quick, 3);
    let dir = std::env::temp_dir().join(format!("consort-lab-{}", std::process::id()));
    let mut partials = Vec::new();
    for index in 1..=3 {
        let share = Shard { index, count: 3 };
        let partial = plan.run(share, &|_| ()).unwrap();
        let part = dir.join(index.to_string());
        output::write_partial(&part, &partial).unwrap();
        partials.push(output::read_partial(&part).unwrap());
    }
    let missing = plan.judge(partials[..2].to_vec()).unwrap_err();
    assert!(matches!(missing, LabError::Missing { .. }), "{missing}");
    let twice = vec![partials[0].clone(), partials[0].clone()];
    assert!(matches!(plan.judge(twice), Err(LabError::Twice(_))));
    let mut foreign = partials.clone();
    foreign[1].order.seed += 1;
    assert!(matches!(plan.judge(foreign), Err(LabError::OtherOrder)));
    partials.reverse();
    let judged = plan.judge(partials).unwrap();
    assert_eq!(judged, whole(vec![&SMALL, &OTHER], 1));
    output::write_all(&dir.join("all"), plan.order(), &[&SMALL, &OTHER], &judged).unwrap();
    for file in [
        "test.small.csv",
        "test.small.svg",
        "results.json",
        "report.html",
    ] {
        let text = std::fs::read_to_string(dir.join("all").join(file)).unwrap();
        assert!(!text.is_empty(), "{file}");
    }
    std::fs::remove_dir_all(&dir).unwrap();
}

/// Undecided with the runs of the budget: the bound is just below the measured value.
const CLOSE: Claim = Claim {
    id: "test.close",
    experiment: Some(Experiment {
        cells: |_| vec![noise().runs(5)],
        judge: |data| {
            let mut out = Outcome::new("", "");
            let level = data.one(&noise(), |v| v.value("x"));
            out.checks
                .push(Check::above("mean", "above 0.4", level, 0.4));
            out
        },
    }),
    ..SMALL
};

/// A number between 0 and 1, 0.5 on average.
fn noise() -> Cell {
    Cell::numbers("noise", &[], |_, seed| {
        let x = consort_proto::Rng::seed(seed, 1).unit();
        [("x".to_owned(), x)].into()
    })
}

#[test]
fn an_undecided_claim_grows_until_it_is_decided_and_keeps_its_runs() {
    let mut plan = Plan::new(vec![&CLOSE, &SMALL], Budget::Quick, 3);
    let mut partial = plan.run(Shard::ALL, &|_| ()).unwrap();
    let mut judged = plan.judge(vec![partial.clone()]).unwrap();
    assert_eq!(judged[0].verdict, Verdict::Undecided);
    assert!(plan.grown(&judged, 1).is_none(), "the limit is kept");
    let small = judged[1].clone();
    while let Some(grown) = plan.grown(&judged, 400) {
        partial = grown.extend(&plan, partial, &|_| ()).unwrap();
        judged = grown.judge(vec![partial.clone()]).unwrap();
        plan = grown;
    }
    assert_eq!(judged[0].verdict, Verdict::Direction);
    assert_eq!(judged[1], small, "others keep the runs of the budget");
    let factor = plan.order().factors["test.close"];
    assert!(factor > 1 && factor < 400, "{factor}");
    // The same runs, whether grown step by step or at once.
    assert_eq!(plan.run(Shard::ALL, &|_| ()).unwrap(), partial);
}

#[test]
fn shards_are_parsed_strictly() {
    assert_eq!(
        "2/3".parse::<Shard>().unwrap(),
        Shard { index: 2, count: 3 }
    );
    for bad in ["", "1", "0/3", "4/3", "1/0", "a/b", "1/2/3", "-1/2"] {
        assert!(bad.parse::<Shard>().is_err(), "{bad}");
    }
}

#[test]
fn exact_claims_hold_as_recorded() {
    let ids = ["fig2", "fig3", "tab1", "thm1", "thm3"].map(|id| format!("medley.{id}"));
    let claims = registry::find(&ids).unwrap();
    for judged in whole(claims, 2) {
        assert_eq!(judged.verdict, judged.expected, "{}", judged.id);
    }
}
