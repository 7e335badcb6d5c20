//! The product's lock in the thesis's network, compared with the papers'.

use consort_proto::NodeId;
use consort_proto::mutex::{Bound, Config, FanOut, Policy, Service};
use consort_sim::mutex::{
    Gap, Lists, Lock, Params, Report, Spread, Transport, Trouble, Who, Witness, Workload, run,
    run_many,
};
use core::time::Duration;

const NODES: usize = 24;

fn witness(bound: Bound, service: Service, cohort: u8) -> Lock {
    Lock::Witness(Box::new(Witness {
        config: Config {
            bound,
            ..Config::default()
        },
        policy: Policy {
            fan_out: FanOut::All,
            service,
            cohort,
            ..Policy::default()
        },
        ..Witness::default()
    }))
}

/// 40 requests, one per second, over a lossy network.
fn busy(bound: Bound, trouble: Trouble) -> Params {
    Params {
        nodes: NODES,
        lock: witness(bound, Service::Arrival, 8),
        workload: Workload::Stream {
            requests: 40,
            gap: Gap::Exponential,
            ratio: 5.0,
            spread: Spread::Uniform,
        },
        transport: Transport::BestEffort,
        trouble,
        limit: Duration::from_secs(180),
        ..Params::default()
    }
}

fn sum(reports: &[Report], of: impl Fn(&Report) -> u64) -> u64 {
    reports.iter().map(of).sum()
}

#[test]
fn one_seed_gives_one_result() {
    let params = busy(Bound::Floor(NODES as u16), Trouble::Churn(0.5));
    assert_eq!(run(&params, 3).unwrap(), run(&params, 3).unwrap());
}

/// Faults that break the papers' locks: no two nodes are inside at the same time, and tokens grow.
#[test]
fn within_its_assumptions_nobody_overlaps() {
    let troubles = [
        Trouble::FalsePositives(0.05),
        Trouble::Churn(0.5),
        Trouble::HolderCrashes(vec![10.0, 20.0]),
        Trouble::Restarts(vec![10.0, 20.0], 0.4),
        Trouble::Joins(0.4, 30.0),
        Trouble::Partition(0.5, 10.0, 35.0),
        Trouble::Partition(0.3, 10.0, 35.0),
    ];
    let voters = (1..=NODES as u64).map(NodeId).collect();
    for bound in [Bound::Floor(NODES as u16), Bound::Voters(voters)] {
        for trouble in &troubles {
            let params = busy(bound.clone(), trouble.clone());
            let reports = run_many(&params, 5, 3).unwrap();
            let broken = sum(&reports, |r| r.overlaps + r.regressions);
            assert_eq!(broken, 0, "{trouble:?}");
            assert!(sum(&reports, |r| r.entries) > 60, "{trouble:?}");
        }
    }
}

/// After a partition so many requests wait that answers in small datagrams are sent in pieces. When pieces of two
/// answers were combined, a contender that both named could be missed: 97 overlaps and falling tokens in these
/// runs.
#[test]
fn many_contenders_do_no_harm() {
    let nodes = 32;
    let mut params = Params {
        nodes,
        workload: Workload::Stream {
            requests: 60,
            gap: Gap::Exponential,
            ratio: 5.0,
            spread: Spread::Uniform,
        },
        ..busy(
            Bound::Floor(nodes as u16),
            Trouble::Partition(0.5, 15.0, 45.0),
        )
    };
    if let Lock::Witness(witness) = &mut params.lock {
        witness.frames_max = 200;
    }
    let reports = run_many(&params, 7, 40).unwrap();
    assert_eq!(sum(&reports, |r| r.overlaps + r.regressions), 0);
}

/// Lists that lack a fifth of the members are enough.
#[test]
fn incomplete_lists_do_no_harm() {
    let params = Params {
        lists: Lists::Share(0.8),
        ..busy(Bound::Floor(NODES as u16), Trouble::None)
    };
    let reports = run_many(&params, 5, 3).unwrap();
    assert_eq!(sum(&reports, |r| r.entries), 3 * 40);
    assert_eq!(sum(&reports, |r| r.overlaps + r.regressions), 0);
}

/// Without a floor each side of a partition grants locks, as configured.
#[test]
fn without_a_floor_both_sides_of_a_partition_lock() {
    let params = busy(Bound::Available, Trouble::Partition(0.5, 5.0, 60.0));
    let reports = run_many(&params, 5, 6).unwrap();
    assert!(sum(&reports, |r| r.overlaps) > 0);
}

/// All nodes are asked, answer and are told of the release: three messages for each other node.
#[test]
fn a_lone_request_costs_as_counted() {
    let params = Params {
        nodes: NODES,
        lock: witness(Bound::Available, Service::Arrival, 8),
        workload: Workload::Burst {
            requesters: 1,
            who: Who::Random,
        },
        drop: 0.0,
        hop_delay_ms: 10,
        ..Params::default()
    };
    let report = run(&params, 1).unwrap();
    assert_eq!(report.messages, 3 * (NODES as u64 - 1));
    assert_eq!((report.entries, report.claims, report.lapses), (1, 0, 0));
}

/// Requests of one node follow one another without a round over the group.
#[test]
fn a_cohort_saves_rounds() {
    let of = |cohort| {
        let params = Params {
            lock: witness(Bound::Available, Service::Arrival, cohort),
            workload: Workload::Stream {
                requests: 40,
                gap: Gap::Exponential,
                ratio: 0.5,
                spread: Spread::Zipf {
                    exponent: 2.0,
                    by_id: false,
                },
            },
            transport: Transport::Resend,
            ..busy(Bound::Available, Trouble::None)
        };
        let reports = run_many(&params, 5, 3).unwrap();
        assert_eq!(sum(&reports, |r| r.entries), 3 * 40);
        sum(&reports, |r| r.messages)
    };
    assert!(of(8) < of(0));
}
