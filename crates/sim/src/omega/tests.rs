use super::actor::Actor;
use super::params::{Channel, Core, Crashes, Mobility, Params};
use super::run::{run, run_with};
use crate::mobility::{Model, Motion};
use crate::radio::RadioConfig;
use alloc::sync::Arc;
use consort_papers::omega::Mode;
use consort_proto::{Cx, NodeId, Protocol, Sender, To};
use core::time::Duration;

/// A trivial core: its leader never changes. It sends a beacon every second, and another message every two.
struct Stub {
    leader: NodeId,
    named: Vec<NodeId>,
    ticks: u32,
}

impl Protocol for Stub {
    type Input = ();
    /// Whether it is a beacon.
    type Msg = bool;
    type Timer = ();
    type Event = NodeId;
    type View<'a> = ();

    fn on_input(&mut self, _: &mut Cx<'_, Self>, (): (), (): ()) {}

    fn on_msg(&mut self, cx: &mut Cx<'_, Self>, (): (), from: Sender, _: bool) {
        cx.emit(from.id);
    }

    fn on_timer(&mut self, cx: &mut Cx<'_, Self>, (): (), (): ()) {
        cx.send(To::Neighbors, true);
        self.ticks += 1;
        if self.ticks.is_multiple_of(2) {
            cx.send(To::Neighbors, false);
        }
        cx.set_timer((), cx.now + Duration::from_secs(1));
    }
}

impl Actor for Stub {
    fn start(&mut self, cx: &mut Cx<'_, Self>) {
        cx.set_timer((), cx.now + Duration::from_millis(500));
    }

    fn leader(&mut self, _: NodeId) -> NodeId {
        self.leader
    }

    fn named(&self, _: NodeId) -> impl Iterator<Item = NodeId> + '_ {
        self.named.iter().copied()
    }

    fn hears(&self, _: NodeId) -> bool {
        false
    }

    fn missed(event: &NodeId) -> Option<NodeId> {
        Some(*event)
    }

    fn is_beacon(msg: &bool) -> bool {
        *msg
    }

    fn encoded_len(msg: &bool) -> usize {
        if *msg { 10 } else { 100 }
    }
}

/// Four nodes in a row; after ten seconds the last moves away within a microsecond.
fn row(seconds: u64) -> Params {
    let ways = "0 0 0\n0 10 0\n0 20 0\n0 30 0 9.999999 30 0 10 500 0\n";
    Params {
        mobility: Mobility::Trace(Arc::new(Motion::parse(ways).expect("a row"))),
        duration: Duration::from_secs(seconds),
        ..Params::chapter4(Mode::TaCloseness, Model::Static, 12.0)
    }
}

fn stub(leader: u64) -> Stub {
    Stub {
        leader: NodeId(leader),
        named: Vec::new(),
        ticks: 0,
    }
}

/// Nodes 1 to 4 with 3 as their leader: 3 is in the middle, with a higher id than 2, which is as near. Then 4
/// is alone, and 2 is in the middle.
#[test]
fn a_stubborn_leader_is_right_until_the_network_changes() {
    let before = run_with(&row(10), 1, None, |_, _| stub(3));
    assert_eq!(before.instability, 0.0);
    assert_eq!(before.disagreement, 0.0);
    assert_eq!((before.path_median, before.path_longest), (1.0, 2.0));
    assert!((before.path_ratio - 2.0 / 3.0).abs() < 1e-12);
    assert_eq!((before.components, before.diameter), (1.0, 3.0));
    assert_eq!((before.optimality, before.changes), (1.0, 0.0));
    assert_eq!((before.excess, before.floor), (0.0, 0.0));

    let after = run_with(&row(20), 1, None, |_, _| stub(3));
    assert_eq!(after.instability, 0.5);
    assert_eq!(after.instability_closeness, 0.5);
    assert_eq!(after.disagreement, 0.0);
    // 2 and 3 hops in total, of three nodes: farness 3 instead of 2; before 4 of 4. Only nodes in components of two
    // and more.
    assert_eq!(after.optimality, (400.0 + 300.0 * 1.5) / 700.0);
    assert_eq!(after.path_longest, 2.0);
    assert_eq!(after.components, 1.5);
    // A leader that was correct 100 ms before the change counts as such for 450 ms, plus 50 ms for each of two
    // hops.
    let late = 3 * (100 - 5) + (100 - 4);
    assert_eq!(after.excess, f64::from(late) / 800.0);
    // The oracle is wrong for as long as its delay: 225 ms, two samples, of all four.
    assert_eq!(after.floor, 8.0 / (4.0 * 198.0));
    assert_eq!(after.series.len(), 20);
    assert_eq!(after.series[0], (0.0, 1));
    assert_eq!(after.series[19].1, 2);
}

#[test]
fn everybody_for_itself_is_mostly_wrong() {
    let alone = run_with(&row(10), 1, None, |node, _| stub(node as u64 + 1));
    assert_eq!(alone.instability, 0.75);
    assert_eq!(alone.disagreement, 0.75);
    assert_eq!((alone.path_median, alone.path_longest), (0.0, 0.0));
    assert_eq!(alone.unreachable, 0.0);
    // 6, 4, 4 and 6 of 4.
    assert_eq!(alone.optimality, 1.25);
    let apart = run_with(&row(20), 1, None, |_, _| stub(4));
    assert_eq!(apart.unreachable, 300.0 / 700.0);
}

#[test]
fn messages_bytes_and_missing_neighbours_are_counted() {
    let report = run_with(&row(10), 1, None, |_, _| stub(3));
    assert_eq!((report.beacons, report.messages), (4.0, 2.0));
    assert_eq!((report.bytes_beacons, report.bytes), (40.0, 200.0));
    assert_eq!(report.bytes_max, 100);
    // Every message received counts as missing its sender here, which is in range.
    assert_eq!(report.missed, 15 * 6);
    assert_eq!(report.missed_wrongly, report.missed);
    assert_eq!(report.tally.arrivals, 15 * 6);
}

/// Neighbours that are named, not heard and out of range count from the second sample on.
#[test]
fn phantoms_are_neighbours_named_twice_and_not_heard() {
    let with = |named: Vec<NodeId>| {
        let report = run_with(&row(10), 1, None, |node, _| Stub {
            named: if node == 0 { named.clone() } else { Vec::new() },
            ..stub(3)
        });
        report.phantoms
    };
    assert_eq!(with(Vec::new()), 0.0);
    assert_eq!(with(vec![NodeId(2)]), 0.0);
    assert_eq!(with(vec![NodeId(4)]), 99.0 / 400.0);
}

/// No node notices that the leader is gone.
#[test]
fn crashes_that_nobody_gets_over_are_counted() {
    let params = Params {
        crashes: Some(Crashes {
            up: Duration::from_secs(2),
            down: Duration::from_secs(1),
        }),
        ..row(10)
    };
    let report = run_with(&params, 1, None, |_, _| stub(3));
    assert!((2..=3).contains(&report.unsettled), "{report:?}");
    assert!(report.elections.is_empty());
    // The rest fall apart, and some are wrong.
    assert!(report.instability > 0.05 && report.components > 1.1);
}

fn brief(mode: Mode, model: Model, range: f64, seconds: u64) -> Params {
    Params {
        duration: Duration::from_secs(seconds),
        ..Params::chapter4(mode, model, range)
    }
}

/// All cores meet the same trajectories, whatever they send; one seed gives one history.
#[test]
fn one_seed_is_one_history_and_one_world() {
    let report = |mode, seed| run(&brief(mode, Model::Waypoint, 120.0, 20), seed).unwrap();
    let first = report(Mode::TaDegree, 3);
    assert_eq!(first, report(Mode::TaDegree, 3));
    assert_ne!(first.trace_hash, report(Mode::TaDegree, 4).trace_hash);
    for mode in Mode::ALL {
        let other = report(mode, 3);
        assert_eq!(first.components, other.components, "{mode}");
        assert_eq!(first.diameter, other.diameter, "{mode}");
    }
}

/// Instability in the second half of a minute: a sum of 591 samples without the first 291.
fn later(report: &super::Report) -> f64 {
    (report.series[59].0 * 591.0 - report.series[29].0 * 291.0) / 300.0
}

/// Without movement and loss, all cores but one find the leader of their oracle. Gómez-Calzado's merges components
/// by size, whatever the ids are (E28).
#[test]
fn leaders_of_still_networks_are_found() {
    for mode in Mode::ALL.into_iter().filter(|&m| m != Mode::Gc) {
        let report = run(&brief(mode, Model::Static, 150.0, 60), 5).unwrap();
        assert!(later(&report).abs() < 1e-9, "{mode}: {}", later(&report));
        assert!(
            report.instability > 0.0 && report.components > 1.0,
            "{mode}"
        );
        assert_eq!((report.missed, report.phantoms), (0, 0.0), "{mode}");
    }
}

/// The product's core finds it even if messages are lost by chance and by collisions.
#[test]
fn leaders_of_still_networks_are_found_despite_loss() {
    let radio = RadioConfig {
        loss: 0.1,
        ..RadioConfig::default()
    };
    for channel in [Channel::Ideal(0.1), Channel::Radio(radio)] {
        let params = Params {
            channel,
            duration: Duration::from_secs(60),
            ..Params::chapter5(Mode::Cel, Model::Static, 80.0).product(0)
        };
        let report = run(&params, 5).unwrap();
        assert!(
            later(&report).abs() < 1e-9,
            "{channel:?}: {}",
            later(&report)
        );
        assert!(report.tally.lost > 1000 && report.phantoms == 0.0);
    }
}

#[test]
fn crashed_leaders_are_replaced() {
    let crashes = Some(Crashes {
        up: Duration::from_secs(5),
        down: Duration::from_secs(5),
    });
    for (mode, most) in [(Mode::FdEvent, 0.8), (Mode::TaCloseness, 1.3)] {
        let params = Params {
            crashes,
            ..brief(mode, Model::Static, 200.0, 60)
        };
        let report = run(&params, 2).unwrap();
        let times = &report.elections;
        assert!(times.len() + report.unsettled as usize >= 5, "{mode}");
        assert!(times.len() >= 4, "{mode}: {times:?}");
        let mean = times.iter().sum::<f64>() / times.len() as f64;
        assert!((0.2..most).contains(&mean), "{mode}: {mean}");
    }
    let params = Params {
        crashes,
        ..brief(Mode::Cel, Model::Static, 200.0, 60).product(0)
    };
    let report = run(&params, 2).unwrap();
    assert_eq!(report.unsettled, 0);
}

#[test]
fn settings_that_make_no_sense_are_refused() {
    let good = Params::chapter5(Mode::Cel, Model::Walk, 80.0);
    assert!(good.check().is_ok());
    let lossy = RadioConfig {
        loss: f64::NAN,
        ..RadioConfig::default()
    };
    let blind = RadioConfig {
        sense_factor: 0.5,
        ..RadioConfig::default()
    };
    let none = Crashes {
        up: Duration::ZERO,
        down: Duration::from_secs(1),
    };
    type Spoil = fn(&mut Params);
    let cases: [(Spoil, &str); 9] = [
        (|p| p.nodes = 0, "number of nodes"),
        (|p| p.nodes = 5000, "number of nodes"),
        (|p| p.side = f64::NAN, "side"),
        (|p| p.side = 0.0, "side"),
        (|p| p.range = -1.0, "range"),
        (|p| p.range = f64::INFINITY, "range"),
        (|p| p.shadowing_db = 99.0, "shadowing"),
        (|p| p.duration = Duration::ZERO, "duration"),
        (|p| p.channel = Channel::Ideal(1.5), "loss"),
    ];
    for (spoil, expected) in cases {
        let mut params = good.clone();
        spoil(&mut params);
        let error = run(&params, 1).expect_err(expected).to_string();
        assert!(error.contains(expected), "{error}");
    }
    let refused = |params: Params| run(&params, 1).is_err();
    let channel = Channel::Radio(lossy);
    assert!(refused(Params {
        channel,
        ..good.clone()
    }));
    let channel = Channel::Radio(blind);
    assert!(refused(Params {
        channel,
        ..good.clone()
    }));
    let crashes = Some(none);
    assert!(refused(Params {
        crashes,
        ..good.clone()
    }));
    let Core::Paper(mut config) = good.core.clone() else {
        panic!("chapter 5 has a paper's core");
    };
    config.rho_per_mille = 1001;
    let core = Core::Paper(config);
    assert!(refused(Params { core, ..good }));
}
