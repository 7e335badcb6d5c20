//! Leaders of a group whose machines fail: the same failures for elections with different rankings.

use consort_sim::tenure::{Params, run};
use core::time::Duration;

fn hours(n: u64) -> Duration {
    Duration::from_secs(n * 3600)
}

#[test]
fn one_seed_has_one_history_with_restarts_and_partitions() {
    let params = Params {
        nodes: 9,
        lossy: 1,
        elections: 1,
        warmup: hours(1),
        span: hours(6),
        planned: hours(4),
        partitions: hours(1),
        period: Duration::from_secs(5),
        ..Params::default()
    };
    let report = run(&params, 7).unwrap();
    assert_eq!(report, run(&params, 7).unwrap());
    assert_ne!(report.trace_hash, run(&params, 8).unwrap().trace_hash);
    assert!(report.failures > 0);
    for tenures in report.tenures {
        // Leaders fail, and between two of them nobody acts.
        assert!(
            tenures.changes > 0.0 && tenures.vacant_s > 0.0,
            "{tenures:?}"
        );
        assert!(tenures.vacant_s < hours(1).as_secs_f64(), "{tenures:?}");
    }
}

/// Machines whose failure rates are known, as attributes: the choice follows them.
#[test]
fn leaders_that_are_chosen_by_true_rates_fail_less_often_than_by_hash() {
    let params = Params {
        nodes: 15,
        lossy: 0,
        elections: 6,
        warmup: hours(1),
        span: hours(8),
        period: Duration::from_secs(10),
        ..Params::default()
    };
    let [hash, _, truth] = run(&params, 3).unwrap().tenures;
    assert!(truth.failures < hash.failures, "{truth:?} against {hash:?}");
}
