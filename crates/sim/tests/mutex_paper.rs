//! The papers' locks in the thesis's network.

use consort_papers::mutex::{Config, Mode};
use consort_sim::membership::Profile;
use consort_sim::mutex::{
    Bound, Fault, Gap, Group, Lists, Lock, Params, Report, Spread, Transport, Trouble, Who,
    Workload, run, run_many,
};
use core::time::Duration;

fn lock(mode: Mode) -> Lock {
    Lock::Paper(Config {
        release: true,
        retry: None,
        ..Config::new(mode)
    })
}

fn burst(requesters: usize) -> Workload {
    let who = Who::Random;
    Workload::Burst { requesters, who }
}

fn stream(requests: usize, ratio: f64, spread: Spread) -> Workload {
    Workload::Stream {
        requests,
        gap: Gap::Exponential,
        ratio,
        spread,
    }
}

/// 48 nodes, 80 requests that overlap now and then.
fn busy(mode: Mode) -> Params {
    Params {
        nodes: 48,
        lock: lock(mode),
        workload: stream(80, 3.0, Spread::Uniform),
        limit: Duration::from_secs(400),
        ..Params::default()
    }
}

fn sum(reports: &[Report], of: impl Fn(&Report) -> u64) -> u64 {
    reports.iter().map(of).sum()
}

fn mean(reports: &[Report], of: impl Fn(&Report) -> f64) -> f64 {
    reports.iter().map(of).sum::<f64>() / reports.len() as f64
}

#[test]
fn one_seed_gives_one_result_and_another_another() {
    let params = Params {
        trouble: Trouble::Churn(0.2),
        lists: Lists::Share(0.8),
        ..busy(Mode::CameraRepaired)
    };
    let first = run(&params, 3).unwrap();
    assert_eq!(first, run(&params, 3).unwrap());
    assert_ne!(first, run(&params, 4).unwrap());
}

/// D1: with full lists Camera behaves like Ricart and Agrawala, entry by entry, whatever its answers contain.
#[test]
fn with_full_lists_camera_is_ricart_agrawala() {
    let of = |mode| {
        let params = Params {
            lock: lock(mode),
            workload: burst(12),
            nodes: 64,
            ..Params::default()
        };
        let mut report = run(&params, 5).unwrap();
        let bytes = report.bytes;
        (report.bytes, report.byte_hops) = (0, 0);
        (report, bytes)
    };
    let (plain, least) = of(Mode::RicartAgrawala);
    for mode in [Mode::CameraPaper, Mode::CameraRepaired] {
        let (report, bytes) = of(mode);
        assert_eq!(report, plain, "{mode}");
        assert!(bytes > least, "{mode} names requests");
    }
}

/// L4 over the whole network: three messages for each other node, two without releases.
#[test]
fn without_loss_the_messages_are_as_counted() {
    for mode in Mode::ALL {
        for release in [false, true] {
            let config = Config {
                release,
                retry: None,
                ..Config::new(mode)
            };
            let params = Params {
                nodes: 40,
                lock: Lock::Paper(config),
                drop: 0.0,
                workload: burst(7),
                ..Params::default()
            };
            let report = run(&params, 1).unwrap();
            let each = if release { 3 } else { 2 };
            assert_eq!(report.messages, 7 * 39 * each, "{mode} {release}");
            assert_eq!(report.sends, report.messages);
            assert_eq!((report.entries, report.overlaps), (7, 0));
        }
    }
}

/// The thesis's profile: waits within the range of fresh layouts, transmissions as expected from the layout, and
/// the cost of an extra hop (D6).
#[test]
fn the_thesis_network_gives_its_numbers() {
    let of = |params: Params| run_many(&params, 7, 12).unwrap();
    let ten = of(Params {
        workload: burst(10),
        ..Params::paper_sim()
    });
    let wait = mean(&ten, |r| r.wait);
    assert!((5.4..7.4).contains(&wait), "{wait}");
    let sends = mean(&ten, |r| r.sends as f64 / r.sends_expected);
    assert!((sends - 1.0).abs() < 0.01, "{sends}");
    let plain = of(Params {
        workload: burst(10),
        ..Params::default()
    });
    assert!(mean(&plain, |r| r.hops as f64) < 0.95 * mean(&ten, |r| r.hops as f64));
}

/// Theorem 3 and its repair: nodes that do not know each other overlap under Ricart and Agrawala, never under
/// Camera while lists do not change and any two have a common friend.
#[test]
fn incomplete_lists_break_ricart_agrawala_alone() {
    for mode in Mode::ALL {
        let params = Params {
            lists: Lists::Share(0.7),
            ..busy(mode)
        };
        let reports = run_many(&params, 11, 8).unwrap();
        let overlaps = sum(&reports, |r| r.overlaps);
        assert_eq!(overlaps > 0, mode == Mode::RicartAgrawala, "{mode}");
        assert_eq!(sum(&reports, |r| r.entries), 8 * 80);
    }
}

/// A2: a detector that is sometimes wrong breaks every lock that trusts it.
#[test]
fn false_suspicions_break_every_mode() {
    for mode in Mode::ALL {
        let params = Params {
            trouble: Trouble::FalsePositives(0.05),
            ..busy(mode)
        };
        let reports = run_many(&params, 11, 16).unwrap();
        assert!(sum(&reports, |r| r.overlaps) > 0, "{mode}");
    }
}

fn live(profile: Profile, forming: bool) -> Lists {
    Lists::Live(Group { profile, forming })
}

/// Without loss and failures, real nodes always list all others.
#[test]
fn the_lists_of_an_untroubled_live_group_are_full() {
    let of = |lists| {
        let params = Params {
            lists,
            drop: 0.0,
            ..busy(Mode::CameraPaper)
        };
        run(&params, 5).unwrap()
    };
    let full = of(Lists::Full);
    assert_eq!((full.listed, full.entries), (1.0, 80));
    assert_eq!(of(live(Profile::Paper, false)), full);
    assert_eq!(of(live(Profile::Product, false)), full);
}

/// While a group forms its lists are incomplete and grow: requesters do not know each other then.
#[test]
fn the_lists_of_a_group_that_forms_break_the_papers_locks() {
    for mode in [Mode::RicartAgrawala, Mode::CameraPaper] {
        let params = Params {
            lists: live(Profile::Paper, true),
            workload: stream(60, 1.0, Spread::Uniform),
            nodes: 32,
            ..busy(mode)
        };
        let reports = run_many(&params, 7, 10).unwrap();
        assert!(sum(&reports, |r| r.overlaps) > 0, "{mode}");
        let listed = mean(&reports, |r| r.listed);
        assert!((0.8..0.97).contains(&listed), "{listed}");
    }
}

/// A process that restarts in a live group begins with an empty list, and finds the others.
#[test]
fn churn_of_a_live_group_is_seen_in_its_lists() {
    let params = Params {
        lists: live(Profile::Product, false),
        trouble: Trouble::Churn(0.5),
        ..busy(Mode::RicartAgrawala)
    };
    let report = run(&params, 3).unwrap();
    assert_eq!(report, run(&params, 3).unwrap());
    assert!((0.9..1.0).contains(&report.listed), "{}", report.listed);
}

/// D2: answering all nodes that ever waited admits some too early, if nodes make several requests.
#[test]
fn old_answers_break_exclusion() {
    let zipf = Spread::Zipf {
        exponent: 2.0,
        by_id: false,
    };
    for stays in [false, true] {
        let params = Params {
            lock: Lock::Paper(Config {
                deferred_stay: stays,
                release: true,
                ..Config::new(Mode::RicartAgrawala)
            }),
            ..Params {
                workload: stream(50, 1.0, zipf),
                ..Params::paper_sim()
            }
        };
        let reports = run_many(&params, 3, 20).unwrap();
        assert_eq!(sum(&reports, |r| r.overlaps) > 0, stays);
    }
}

/// D3: the node that makes most requests waits for itself.
#[test]
fn zipf_hides_its_waits_before_the_request() {
    let of = |spread| {
        let params = Params {
            workload: stream(50, 1.0, spread),
            ..Params::paper_sim()
        };
        let reports = run_many(&params, 3, 8).unwrap();
        (
            mean(&reports, |r| r.wait),
            mean(&reports, |r| r.wait_client),
        )
    };
    let uniform = of(Spread::Uniform);
    let zipf = of(Spread::Zipf {
        exponent: 2.0,
        by_id: false,
    });
    assert!(zipf.0 < 0.5 * uniform.0, "{zipf:?} {uniform:?}");
    assert!(zipf.1 > 1.5 * uniform.1, "{zipf:?} {uniform:?}");
}

/// Others wait for a crashed holder until the crash is noticed; a request that its owner repeats survives loss.
#[test]
fn crashes_are_noticed_and_losses_repaired() {
    let crash = vec![(Duration::from_millis(20), Fault::CrashHolder)];
    let params = Params {
        nodes: 16,
        trouble: Trouble::Script(crash),
        workload: burst(6),
        bound: Bound::Absent,
        limit: Duration::from_secs(100),
        ..busy(Mode::RicartAgrawala)
    };
    let report = run(&params, 2).unwrap();
    assert_eq!((report.entries, report.blocked), (6, 0), "{report:?}");
    assert!(report.wait_max > 3.0, "noticed after 3 s at least");

    let lossy = |mode| {
        let params = Params {
            nodes: 16,
            transport: Transport::BestEffort,
            drop: 0.2,
            lock: Lock::Paper(Config::new(mode)),
            workload: burst(4),
            limit: Duration::from_secs(1000),
            ..Params::default()
        };
        run(&params, 2).unwrap()
    };
    assert_eq!(lossy(Mode::CameraRepaired).entries, 4, "rule 9");
    assert!(lossy(Mode::CameraPaper).blocked > 0, "B8");
}

/// Every kind of fault occurs, and some requests are served.
#[test]
fn troubles_strike() {
    let troubles = [
        Trouble::Churn(0.5),
        Trouble::Restarts(vec![5.0, 10.0], 0.5),
        Trouble::Crashes(vec![5.0], 0.25),
        Trouble::Joins(0.5, 20.0),
        Trouble::Partition(0.5, 5.0, 20.0),
        Trouble::HolderCrashes(vec![5.0]),
    ];
    let calm = run(&busy(Mode::CameraRepaired), 9).unwrap();
    for trouble in troubles {
        let params = Params {
            trouble: trouble.clone(),
            ..busy(Mode::CameraRepaired)
        };
        let report = run(&params, 9).unwrap();
        assert_ne!(report, calm, "{trouble:?}");
        assert!(report.entries > 0, "{trouble:?}: {report:?}");
    }
}

#[test]
fn bad_settings_are_errors_that_say_what_to_do() {
    let cases: [(&str, Params); 7] = [
        (
            "between 2 and",
            Params {
                nodes: 1,
                ..Params::default()
            },
        ),
        (
            "between 0 and 0.6",
            Params {
                drop: 0.9,
                ..Params::default()
            },
        ),
        (
            "fewer nodes",
            Params {
                workload: burst(300),
                ..Params::default()
            },
        ),
        (
            "above 0",
            Params {
                workload: stream(5, 0.0, Spread::Uniform),
                ..Params::default()
            },
        ),
        (
            "between 0 and 1",
            Params {
                lists: Lists::Share(f64::NAN),
                ..Params::default()
            },
        ),
        (
            "at most an hour",
            Params {
                lists: live(Profile::Paper, false),
                ..Params::default()
            },
        ),
        (
            "churn, joins and partitions only",
            Params {
                trouble: Trouble::HolderCrashes(vec![1.0]),
                lists: live(Profile::Paper, false),
                limit: Duration::from_secs(60),
                ..Params::default()
            },
        ),
    ];
    for (expected, params) in cases {
        let error = run(&params, 1).unwrap_err().to_string();
        assert!(error.contains(expected), "{error}");
    }
}
