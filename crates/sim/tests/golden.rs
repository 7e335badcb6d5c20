//! Golden hashes: fixed seeds of every simulator give the histories that are recorded in `tests/golden`.
//!
//! A change that is not meant to change behaviour must leave every line unchanged. A change that is meant to
//! rewrites its lines, selected by the beginning of their names:
//!
//! ```text
//! GOLDEN_WRITE=storms-locks/ cargo test -p consort-sim --test golden
//! ```
//!
//! Each group of runs has its own file, so that changes to one do not affect the others.

use consort_papers::election::{Config as PaperElection, Method};
use consort_papers::mutex::{Config as PaperLock, Mode as PaperMode, SlowPath};
use consort_papers::omega::Mode as PaperOmega;
use consort_proto::election::{Criterion, Policy, Preempt, Ranking};
use consort_proto::membership::{Clearing, DistanceSource, TargetPolicy};
use consort_proto::mutex::{self, FanOut, Service};
use consort_proto::{Config, ElectionId, hash_bytes};
use consort_sim::chaos::{ChaosParams, chaos};
use consort_sim::fault::Keep;
use consort_sim::mobility::Model;
use consort_sim::oracle::{Panel, agreed};
use consort_sim::topology::{Layout, Topology};
use consort_sim::units::tu;
use consort_sim::{Conditions, Engine, Fault, Start, Trace, WorldConfig};
use consort_sim::{bandit, election, membership, mutex as locks, omega, tenure};
use core::fmt::Debug;
use core::time::Duration;
use std::path::PathBuf;

/// Description of a run, and the hash of its history.
type Entry = (String, u64);

/// Compares the entries of a group with its file, or rewrites those that `GOLDEN_WRITE` names.
fn compare(group: &str, entries: Vec<Entry>) {
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join(format!("tests/golden/{group}.txt"));
    let text = std::fs::read_to_string(&path).unwrap_or_default();
    let written: Vec<(&str, &str)> = text.lines().filter_map(|l| l.split_once(' ')).collect();
    let prefix = std::env::var("GOLDEN_WRITE").ok();
    let mut lines = String::new();
    let mut wrong = Vec::new();
    for (name, hash) in &entries {
        let name = format!("{group}/{name}");
        let is = format!("{hash:016x}");
        let was = written.iter().find(|w| w.0 == name).map(|w| w.1);
        let rewrite = prefix.as_ref().is_some_and(|p| name.starts_with(p));
        if !rewrite && was != Some(&is) {
            wrong.push(format!("{name} is {is}, was {}", was.unwrap_or("absent")));
        }
        let hash = if rewrite { &is } else { was.unwrap_or(&is) };
        lines += &format!("{name} {hash}\n");
    }
    if prefix.is_some_and(|p| p.starts_with(group) || group.starts_with(&p)) {
        std::fs::write(&path, &lines).expect("the list can be written");
    } else {
        assert_eq!(written.len(), entries.len(), "{}", path.display());
    }
    assert!(
        wrong.is_empty(),
        "histories changed:\n{}\nIf that is intended: GOLDEN_WRITE={group}/ cargo test -p consort-sim --test golden",
        wrong.join("\n")
    );
}

/// The hash of a whole report.
fn shown(report: &impl Debug) -> u64 {
    hash_bytes(format!("{report:?}").as_bytes())
}

fn storms(group: &str, params: ChaosParams, seeds: &[u64]) {
    let one = |&seed: &u64| (seed.to_string(), chaos(seed, &params).unwrap().trace_hash);
    compare(group, seeds.iter().map(one).collect());
}

#[test]
fn storms_plain() {
    storms("storms-plain", ChaosParams::default(), &[0, 1, 2, 114]);
}

#[test]
fn storms_elections() {
    let params = ChaosParams::elections();
    storms("storms-elections", params, &[0, 1, 2, 3]);
}

#[test]
fn storms_locks() {
    storms("storms-locks", ChaosParams::locks(), &[0, 1, 2, 1861]);
}

/// The papers' locks in the storms of the product's.
#[test]
fn storms_baselines() {
    let params = ChaosParams {
        baselines: true,
        ..ChaosParams::locks()
    };
    let one = |seed: u64| {
        let tallies = chaos(seed, &params).unwrap().tallies;
        let papers: Vec<_> = tallies.iter().filter(|t| t.lock != "witness").collect();
        (seed.to_string(), shown(&papers))
    };
    compare("storms-baselines", (0..3).map(one).collect());
}

#[test]
fn elections() {
    let hold = Duration::from_secs(5);
    let by = |criteria: &[Criterion]| Ranking::new(criteria).unwrap();
    let plain = Policy::default();
    let policies = [
        ("default", plain),
        (
            "stream",
            Policy {
                stream: true,
                ..plain
            },
        ),
        (
            "health",
            Policy {
                health: true,
                replace_unhealthy: true,
                ..plain
            },
        ),
        (
            "strict",
            Policy {
                preempt: Preempt::Strict { hold },
                ..plain
            },
        ),
        (
            "margin",
            Policy {
                preempt: Preempt::Margin { delta: 1, hold },
                ranking: by(&[Criterion::Attribute]),
                ..plain
            },
        ),
        (
            "reliability",
            Policy {
                ranking: by(&[Criterion::Reliability, Criterion::Attribute]),
                ..plain
            },
        ),
    ];
    let one = |(name, policy): (&str, Policy)| (name.to_owned(), failover(policy, 5));
    let mut entries: Vec<Entry> = policies.into_iter().map(one).collect();
    let hours = |n: u64| Duration::from_secs(n * 3600);
    let params = tenure::Params {
        nodes: 9,
        lossy: 1,
        elections: 1,
        warmup: hours(1),
        span: hours(3),
        planned: hours(2),
        partitions: hours(1),
        period: Duration::from_secs(10),
        ..tenure::Params::default()
    };
    let report = tenure::run(&params, 7).unwrap();
    entries.push(("tenure".into(), report.trace_hash));
    compare("elections", entries);
}

/// A group that loses two leaders and gets one of them back.
fn failover(policy: Policy, seed: u64) -> u64 {
    const NAME: ElectionId = ElectionId::of("gateway");
    let secs = Duration::from_secs;
    let layout = Layout::draw(&Topology::Full, 12, 10.0, 30.0, seed).unwrap();
    let config = WorldConfig {
        node: Config::default(),
        layout,
        conditions: Conditions {
            loss_per_message: 0.05,
            ..Conditions::default()
        },
        seed,
        start: Start::Cold { seeds: 2 },
        sample_every: None,
        trace: Trace::default(),
    };
    let mut engine = Engine::new(config, Panel::default()).unwrap();
    let attributes = (0..12).map(|n| n / 4).collect();
    engine.open_election_with(NAME, policy, attributes).unwrap();
    engine.run_for(secs(40)).unwrap();
    for _ in 0..2 {
        let leader = agreed(engine.world(), NAME).map(|claim| claim.leader);
        let host = leader.ok().and_then(|id| engine.world().index_of(id));
        let host = host.unwrap_or(0);
        engine.strike(Fault::Crash(host)).unwrap();
        engine.run_for(secs(40)).unwrap();
        let keep = Keep::Life;
        engine.strike(Fault::Restart { host, keep }).unwrap();
        engine.run_for(secs(20)).unwrap();
    }
    engine.world().trace().hash()
}

#[test]
fn locks_of_the_product() {
    let witness = |config: mutex::Config, policy: mutex::Policy| {
        locks::Lock::Witness(Box::new(locks::Witness {
            config,
            policy,
            ..locks::Witness::default()
        }))
    };
    let policy = |service, cohort| mutex::Policy {
        fan_out: FanOut::All,
        service,
        cohort,
        ..mutex::Policy::default()
    };
    let floor = mutex::Config {
        bound: mutex::Bound::Floor(24),
        ..mutex::Config::default()
    };
    let params = |lock, trouble| locks::Params {
        nodes: 24,
        lock,
        workload: stream(20),
        transport: locks::Transport::BestEffort,
        trouble,
        limit: Duration::from_secs(100),
        ..locks::Params::default()
    };
    let default = mutex::Config::default();
    let arrival = policy(Service::Arrival, 8);
    let runs = [
        (
            "default",
            witness(default, mutex::Policy::default()),
            locks::Trouble::None,
        ),
        (
            "floor",
            witness(floor.clone(), arrival.clone()),
            locks::Trouble::Churn(0.2),
        ),
        (
            "partition",
            witness(floor, arrival),
            locks::Trouble::Partition(0.4, 5.0, 15.0),
        ),
    ];
    let one = |(name, lock, trouble): (&str, _, _)| {
        let report = locks::run(&params(lock, trouble), 3).unwrap();
        (name.to_owned(), shown(&report))
    };
    compare("locks", runs.into_iter().map(one).collect());
}

fn stream(requests: usize) -> locks::Workload {
    locks::Workload::Stream {
        requests,
        gap: locks::Gap::Exponential,
        ratio: 3.0,
        spread: locks::Spread::Uniform,
    }
}

#[test]
fn locks_of_the_papers() {
    let plain = |mode| locks::Params {
        nodes: 32,
        lock: locks::Lock::Paper(PaperLock {
            release: true,
            retry: None,
            ..PaperLock::new(mode)
        }),
        workload: stream(40),
        limit: Duration::from_secs(300),
        ..locks::Params::default()
    };
    let mut entries = Vec::new();
    for mode in PaperMode::ALL {
        let share = |share, trouble| locks::Params {
            lists: locks::Lists::Share(share),
            trouble,
            ..plain(mode)
        };
        let group = locks::Group {
            profile: membership::Profile::Paper,
            forming: false,
        };
        let runs = [
            ("full", plain(mode)),
            ("churn", share(0.8, locks::Trouble::Churn(0.2))),
            ("wrong", share(1.0, locks::Trouble::FalsePositives(0.1))),
            (
                "live",
                locks::Params {
                    nodes: 16,
                    lists: locks::Lists::Live(group),
                    limit: Duration::from_secs(60),
                    ..plain(mode)
                },
            ),
            (
                "best-effort",
                locks::Params {
                    lock: locks::Lock::Paper(PaperLock {
                        slow_path: SlowPath::Expand,
                        ..PaperLock::new(mode)
                    }),
                    transport: locks::Transport::BestEffort,
                    lists: locks::Lists::Share(0.5),
                    ..plain(mode)
                },
            ),
        ];
        for (name, params) in runs {
            let report = locks::run(&params, 3).unwrap();
            entries.push((format!("{mode}/{name}"), shown(&report)));
        }
    }
    compare("paper-locks", entries);
}

#[test]
fn elections_of_the_papers() {
    let params = |nodes, loss| election::Params {
        nodes,
        drop: 0.15,
        loss,
        warmup: 1_000.0,
        lanes: Method::ALL
            .map(|method| PaperElection::paper(method, 4, tu(1.0)))
            .to_vec(),
        ..election::Params::default()
    };
    let runs = [
        ("message", params(25, election::Loss::Message)),
        ("hop", params(25, election::Loss::Hop)),
    ];
    let mut entries = Vec::new();
    for (name, params) in runs {
        for seed in 0..2 {
            let report = election::run(&params, seed).unwrap();
            entries.push((format!("{name}/{seed}"), shown(&report)));
        }
    }
    compare("paper-elections", entries);
}

#[test]
fn membership_settings() {
    use membership::{Distances, Failures, Feedback, Heartbeat, Impaired, Moved, Profile, Setup};
    type Change = fn(&mut membership::Params);
    let runs: [(&str, Change); 21] = [
        ("uniform", |_| {}),
        ("setup-a", |p| (p.nodes, p.setup) = (25, Setup::A)),
        ("spatial", |p| p.exponent = Some(3.0)),
        ("nearest", |p| p.exponent = Some(f32::INFINITY)),
        ("bag-pass", |p| {
            (p.exponent, p.policy) = (Some(3.0), Some(TargetPolicy::BagPass));
        }),
        ("bag-random", |p| {
            (p.exponent, p.policy) = (Some(3.0), Some(TargetPolicy::BagRandom));
        }),
        ("stride", |p| {
            (p.exponent, p.policy) = (Some(3.0), Some(TargetPolicy::Stride));
        }),
        ("hops", |p| {
            (p.exponent, p.distances) = (Some(3.0), Distances::Hops);
        }),
        ("active", |p| {
            let active = true;
            (p.exponent, p.feedback.active) = (Some(5.0), active);
        }),
        ("passive", |p| {
            let passive = true;
            (p.exponent, p.feedback.passive) = (Some(5.0), passive);
        }),
        ("both", |p| {
            p.exponent = Some(5.0);
            p.feedback = Feedback {
                active: true,
                passive: true,
            };
        }),
        ("anybody", |p| {
            p.conditions.loss_per_hop = 0.1;
            p.adjust = Some(|c| c.clearing = Clearing::Anybody);
        }),
        ("all-to-all", |p| p.heartbeat = Some(Heartbeat::AllToAll)),
        ("gossip", |p| p.heartbeat = Some(Heartbeat::Gossip)),
        ("moved", |p| {
            p.exponent = Some(3.0);
            p.moved = Some(Moved {
                share: 0.3,
                up_to: 3.0,
                fresh: false,
            });
        }),
        ("impaired", |p| {
            p.impaired = Some(Impaired {
                deaf: 1,
                mute: 1,
                lossy: 2,
                loss: 0.3,
            });
        }),
        ("cluster", |p| {
            (p.topology, p.failures) = (Topology::cluster_b(), Failures::Cluster);
        }),
        ("product", |p| p.profile = Profile::Product),
        ("product-coordinates", |p| {
            (p.profile, p.distances) = (Profile::Product, Distances::Coordinates);
        }),
        ("product-latency", |p| {
            p.profile = Profile::Product;
            p.adjust = Some(|c| c.distance_source = DistanceSource::Latency);
        }),
        ("product-draws", |p| {
            (p.profile, p.policy) = (Profile::Product, Some(TargetPolicy::Iid));
        }),
    ];
    let one = |(name, change): (&str, Change)| {
        let mut params = membership::Params {
            duration: 1_000.0,
            warmup: 400.0,
            ..membership::Params::default()
        };
        params.conditions.loss_per_hop = 0.05;
        change(&mut params);
        let report = membership::run(&params, 7).unwrap();
        // Heartbeats keep no trace.
        let hash = match report.trace_hash {
            0 => shown(&report),
            hash => hash,
        };
        (name.to_owned(), hash)
    };
    compare("membership", runs.into_iter().map(one).collect());
}

#[test]
fn leaders_of_moving_networks() {
    let short = |params: omega::Params| omega::Params {
        nodes: 16,
        duration: Duration::from_secs(20),
        ..params
    };
    let mut entries = Vec::new();
    let mut run = |name: String, params: omega::Params| {
        let report = omega::run(&short(params), 3).unwrap();
        entries.push((name, shown(&report)));
    };
    for mode in PaperOmega::ALL {
        let chapter4 = omega::Params::chapter4(mode, Model::Waypoint, 250.0);
        run(format!("chapter4/{mode}"), chapter4);
        let mut chapter5 = omega::Params::chapter5(mode, Model::Walk, 150.0);
        chapter5.crashes = Some(omega::Crashes {
            up: Duration::from_secs(5),
            down: Duration::from_secs(3),
        });
        run(format!("chapter5/{mode}"), chapter5);
    }
    let product = |hysteresis| {
        omega::Params::chapter4(PaperOmega::TaCloseness, Model::Waypoint, 250.0).product(hysteresis)
    };
    run("product/0".into(), product(0));
    run("product/2".into(), product(2));
    compare("omega", entries);
}

#[test]
fn elections_that_learn() {
    let mut entries = Vec::new();
    for policy in bandit::Policy::TABLE {
        let report = bandit::run(&bandit::Params::stationary(policy, 5, 60), 3).unwrap();
        entries.push((format!("stationary/{policy}"), shown(&report)));
    }
    for failures in bandit::Failures::ALL {
        let policy = bandit::Policy::EpsilonGreedy;
        let mut params = bandit::Params::drawn(policy, Some(Duration::from_secs(180)), failures);
        params.client.requests = 60;
        params.links.loss = 0.05;
        let report = bandit::run(&params, 3).unwrap();
        entries.push((format!("drawn/{failures}"), shown(&report)));
    }
    let duration = Duration::from_secs(1800);
    for (name, lost_store, amnesia) in [
        ("kept", 0.0, false),
        ("lost", 0.3, false),
        ("amnesia", 0.3, true),
    ] {
        let params = bandit::TermParams {
            lost_store,
            amnesia,
            ..bandit::TermParams::new(5, bandit::Links::FIGURES, duration)
        };
        entries.push((
            format!("terms/{name}"),
            shown(&bandit::run_terms(&params, 3)),
        ));
    }
    compare("bandit", entries);
}
