//! Splitting the work does not change the result.

use consort_lab::cell::{BOTH, Cell, NONE};
use consort_lab::claim::{Check, Claim, Experiment, Foil, Outcome, Verdict};
use consort_lab::output::{self, Store};
use consort_lab::{Budget, Judged, LabError, Plan, Shard, Unit, Units, registry};
use core::sync::atomic::{AtomicUsize, Ordering};
use rayon::ThreadPoolBuilder;
use std::path::Path;

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

/// All units of a share.
fn run(plan: &Plan<'_>, share: Shard) -> Units {
    let mut units = Units::default();
    plan.run(share, &mut units, &|_, _| Ok(())).unwrap();
    units
}

fn whole(claims: Vec<&'static Claim>, threads: usize) -> Vec<Judged> {
    let plan = Plan::new(claims, Budget::Quick, 3);
    let pool = ThreadPoolBuilder::new()
        .num_threads(threads)
        .build()
        .unwrap();
    plan.judge(&pool.install(|| run(&plan, Shard::ALL)))
        .unwrap()
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

/// Runs what a directory lacks, at most `most` units of it, as if the program was killed then. Returns how many ran.
fn continue_in(dir: &Path, plan: &Plan<'_>, share: Shard, most: usize) -> usize {
    let (store, mut units) = Store::open(dir, plan.order(), "build").unwrap();
    let ran = AtomicUsize::new(0);
    let done = |unit: &Unit, _: u64| {
        if ran.fetch_add(1, Ordering::SeqCst) == most {
            return Err(LabError::OtherOrder);
        }
        store.add(unit)
    };
    let pool = ThreadPoolBuilder::new().num_threads(1).build().unwrap();
    let result = pool.install(|| plan.run(share, &mut units, &done));
    let ran = ran.into_inner();
    assert_eq!(result.is_err(), ran > most);
    ran.min(most)
}

#[test]
fn shards_through_files_equal_the_whole() {
    let plan = Plan::new(vec![&SMALL, &OTHER], Budget::Quick, 3);
    let dir = tempfile::tempdir().unwrap();
    let mut units = Units::default();
    for index in 1..=3 {
        let share = Shard { index, count: 3 };
        let part = dir.path().join(index.to_string());
        continue_in(&part, &plan, share, 100);
        let (order, build, read) = output::read_share(&part).unwrap();
        assert_eq!((&order, &*build), (plan.order(), "build"));
        units.merge(read);
        if index == 2 {
            let missing = plan.judge(&units).unwrap_err();
            assert!(matches!(missing, LabError::Missing { .. }), "{missing}");
        }
    }
    let judged = plan.judge(&units).unwrap();
    assert_eq!(judged, whole(vec![&SMALL, &OTHER], 1));
    let all = dir.path().join("all");
    let seconds = plan.seconds(&units);
    output::write_all(&all, plan.order(), &[&SMALL, &OTHER], &judged, &seconds).unwrap();
    for file in [
        "test.small.csv",
        "test.small.svg",
        "results.json",
        "report.html",
    ] {
        let text = std::fs::read_to_string(all.join(file)).unwrap();
        assert!(!text.is_empty(), "{file}");
    }
}

#[test]
fn a_killed_run_continues_where_it_stopped() {
    let plan = Plan::new(vec![&SMALL, &OTHER], Budget::Quick, 3);
    let (total, _) = plan.size(Shard::ALL, &Units::default());
    let dir = tempfile::tempdir().unwrap();
    assert_eq!(continue_in(dir.path(), &plan, Shard::ALL, 9), 9);
    // Killed while it wrote: the last line is cut off, and its run is made again.
    let path = dir.path().join("runs.jsonl");
    let mut text = std::fs::read_to_string(&path).unwrap();
    text.truncate(text.len() - 7);
    std::fs::write(&path, &text).unwrap();
    assert_eq!(continue_in(dir.path(), &plan, Shard::ALL, 100), total - 8);
    assert_eq!(continue_in(dir.path(), &plan, Shard::ALL, 100), 0);
    let (_, _, units) = output::read_share(dir.path()).unwrap();
    assert_eq!(units.count(), total);
    let judged = plan.judge(&units).unwrap();
    assert_eq!(judged, whole(vec![&SMALL, &OTHER], 2));
    let seconds = plan.seconds(&units);
    assert!(seconds.iter().all(|s| *s > 0.0), "{seconds:?}");
    // A single claim finds its runs, and another seed or program is refused.
    let other = Plan::new(vec![&OTHER], Budget::Quick, 3);
    assert_eq!(continue_in(dir.path(), &other, Shard::ALL, 100), 0);
    let seed = Plan::new(vec![&OTHER], Budget::Quick, 4);
    for (plan, build) in [(&seed, "build"), (&other, "another")] {
        let refused = Store::open(dir.path(), plan.order(), build);
        assert!(matches!(refused, Err(LabError::OtherRuns { .. })));
    }
}

#[test]
fn claims_with_all_runs_are_finished_while_others_are_not() {
    let plan = Plan::new(vec![&SMALL, &OTHER], Budget::Quick, 3);
    let units = run(&Plan::new(vec![&OTHER], Budget::Quick, 3), Shard::ALL);
    let finished = plan.finished(&units);
    let ids: Vec<&str> = finished.iter().map(|c| c.id).collect();
    assert_eq!(ids, ["test.other"]);
    assert_eq!(plan.finished(&Units::default()).len(), 0);
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
    let mut units = run(&plan, Shard::ALL);
    let mut judged = plan.judge(&units).unwrap();
    assert_eq!(judged[0].verdict, Verdict::Undecided);
    assert!(plan.grown(&judged, 1).is_none(), "the limit is kept");
    let small = judged[1].clone();
    while let Some(grown) = plan.grown(&judged, 400) {
        grown.run(Shard::ALL, &mut units, &|_, _| Ok(())).unwrap();
        judged = grown.judge(&units).unwrap();
        plan = grown;
    }
    assert_eq!(judged[0].verdict, Verdict::Direction);
    assert_eq!(judged[1], small, "others keep the runs of the budget");
    let factor = plan.order().factors["test.close"];
    assert!(factor > 1 && factor < 400, "{factor}");
    // The same runs, whether grown step by step or at once.
    let at_once = run(&plan, Shard::ALL);
    assert_eq!(plan.judge(&at_once).unwrap(), judged);
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
