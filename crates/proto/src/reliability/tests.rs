//! Tests of R1 to R7 and R10.

use super::ranks::{EDGE, bucket_of};
use super::*;
use crate::id::Incarnation;
use crate::rng::Rng;
use alloc::vec;

const ME: NodeId = NodeId(1);
const PERIOD: Duration = Duration::from_secs(1);
const PATIENCE: Duration = Duration::from_secs(5);
const HOUR: Duration = Duration::from_secs(3600);

fn ledger() -> Ledger {
    let config = Config {
        half_life: HOUR * 24,
        ..Config::default()
    };
    Ledger::new(config, ME, PERIOD, PATIENCE, Instant::ZERO)
}

fn at(secs: u64) -> Instant {
    Instant::ZERO + Duration::from_secs(secs)
}

fn down(life: u64, incarnation: u32) -> Counted {
    Counted {
        life: Life(life),
        incarnation: Incarnation(incarnation),
    }
}

/// Lets `id` and a bystander be heard every second of a time span.
fn hear(ledger: &mut Ledger, id: u64, life: u64, from: u64, to: u64) {
    for t in from..=to {
        ledger.learn(at(t), 20, Evidence::Heard(NodeId(id), Life(life)));
        ledger.learn(at(t), 20, Evidence::Heard(NodeId(99), Life(1)));
    }
}

fn failures(ledger: &Ledger, id: u64, t: u64) -> f64 {
    ledger.reliability(at(t), NodeId(id)).unwrap().failures
}

fn exposure(ledger: &Ledger, id: u64, t: u64) -> u64 {
    ledger
        .reliability(at(t), NodeId(id))
        .unwrap()
        .exposure
        .as_secs()
}

#[test]
fn time_counts_not_messages() {
    let mut often = ledger();
    let mut rarely = ledger();
    for tick in 0..=100_000_u64 {
        let now = Instant::ZERO + Duration::from_micros(tick * 1900);
        often.learn(now, 5, Evidence::Heard(NodeId(2), Life(1)));
        if tick % 1000 == 0 {
            rarely.learn(now, 5, Evidence::Heard(NodeId(2), Life(1)));
        }
    }
    let exposures = [&often, &rarely].map(|l| exposure(l, 2, 190));
    assert_eq!(exposures, [190, 190]);
}

#[test]
fn a_failure_is_counted_once_however_often_it_is_told() {
    let mut l = ledger();
    hear(&mut l, 2, 1, 0, 100);
    for t in 101..110 {
        l.learn(at(t), 20, Evidence::Down(NodeId(2), down(1, 0)));
        l.learn(at(t), 20, Evidence::Heard(NodeId(99), Life(1)));
    }
    hear(&mut l, 3, 1, 110, 120);
    assert_eq!(failures(&l, 2, 120), 1.0);
    // The node was not gone, but its absence would have cost an election anyway.
    l.learn(at(121), 20, Evidence::Returned(NodeId(2)));
    hear(&mut l, 2, 1, 121, 130);
    // An old verdict and a new one.
    l.learn(at(130), 20, Evidence::Down(NodeId(2), down(1, 0)));
    hear(&mut l, 3, 1, 131, 140);
    assert_eq!(failures(&l, 2, 140), 1.0);
    l.learn(at(140), 20, Evidence::Down(NodeId(2), down(1, 1)));
    hear(&mut l, 3, 1, 141, 150);
    assert_eq!(failures(&l, 2, 150), 2.0, "R3");
}

#[test]
fn a_failure_that_another_has_counted_meanwhile_is_not_counted_again() {
    let mut l = ledger();
    hear(&mut l, 2, 1, 0, 100);
    hear(&mut l, 3, 1, 101, 104);
    l.learn(at(104), 20, Evidence::Down(NodeId(2), down(1, 0)));
    assert_eq!(
        exposure(&l, 2, 104),
        102,
        "it ran for half of the time since"
    );
    let report = Report {
        id: NodeId(2),
        counted: down(1, 0),
        failures: ONE,
        exposure_ms: 200_000,
    };
    l.import(at(105), NodeId(5), &report, Life(1));
    hear(&mut l, 3, 1, 105, 120);
    assert_eq!(failures(&l, 2, 120), 1.0, "R3");
}

#[test]
fn a_restart_that_nobody_noticed_is_a_failure_and_a_goodbye_is_none() {
    let mut l = ledger();
    hear(&mut l, 2, 1, 0, 10);
    hear(&mut l, 2, 2, 11, 20);
    assert_eq!(failures(&l, 2, 20), 1.0);
    // Its end is reported later, and is the same failure.
    l.learn(at(21), 20, Evidence::Down(NodeId(2), down(1, 3)));
    hear(&mut l, 2, 2, 21, 30);
    assert_eq!(failures(&l, 2, 30), 1.0);
    l.learn(at(31), 20, Evidence::Left(NodeId(2), Life(2)));
    hear(&mut l, 3, 1, 31, 90);
    hear(&mut l, 2, 3, 91, 100);
    assert_eq!(failures(&l, 2, 100), 1.0);
    assert!(
        (38..=39).contains(&exposure(&l, 2, 100)),
        "{}",
        exposure(&l, 2, 100)
    );
}

#[test]
fn who_is_suspected_often_is_a_little_worse() {
    let mut l = ledger();
    hear(&mut l, 2, 1, 0, 10);
    for t in [11, 12, 13, 17] {
        l.learn(at(t), 20, Evidence::Refuted(NodeId(2)));
        l.learn(at(t), 20, Evidence::Heard(NodeId(2), Life(1)));
    }
    assert_eq!(failures(&l, 2, 20), 0.5, "once in a suspicion timeout");
}

#[test]
fn a_deaf_observer_learns_nothing() {
    let mut l = ledger();
    hear(&mut l, 2, 1, 0, 100);
    let before = l.report(at(100), NodeId(2)).unwrap();
    // Nothing is heard for a minute; verdicts come from the node's own detector.
    for id in [2, 99] {
        l.learn(at(130), 20, Evidence::Down(NodeId(id), down(1, 0)));
    }
    l.learn(at(160), 20, Evidence::Heard(NodeId(99), Life(1)));
    l.learn(at(161), 20, Evidence::Heard(NodeId(2), Life(1)));
    let after = l.report(at(161), NodeId(2)).unwrap();
    assert_eq!(before, after, "R5");
    hear(&mut l, 2, 1, 162, 171);
    assert_eq!(exposure(&l, 2, 171), 110);
}

#[test]
fn a_partition_that_heals_is_no_failure_and_one_that_lasts_is() {
    for heals in [true, false] {
        let mut l = ledger();
        for t in 0..=100 {
            for id in 2..12 {
                l.learn(at(t), 20, Evidence::Heard(NodeId(id), Life(1)));
            }
        }
        let buckets = |l: &Ledger| (2..12).map(|id| l.bucket(NodeId(id))).collect::<Vec<_>>();
        let before = buckets(&l);
        for id in 2..9 {
            l.learn(at(102), 20, Evidence::Down(NodeId(id), down(1, 0)));
        }
        for t in 102..=130 {
            for id in 2..12 {
                if heals && t == 110 && id < 9 {
                    l.learn(at(t), 20, Evidence::Returned(NodeId(id)));
                }
                if id >= 9 || heals && t >= 110 {
                    l.learn(at(t), 20, Evidence::Heard(NodeId(id), Life(1)));
                }
            }
        }
        let counted = if heals { 0.0 } else { 1.0 };
        assert_eq!(failures(&l, 2, 130), counted, "R6");
        if heals {
            assert_eq!(buckets(&l), before, "R6");
        }
    }
}

#[test]
fn evidence_fades_and_good_nodes_rank_above_bad_ones() {
    let mut l = ledger();
    // Over two days, one node fails every hour and the other never.
    let mut life = 1;
    for t in 0..48 * 900 {
        let now = at(t * 4);
        l.learn(now, 20, Evidence::Heard(NodeId(2), Life(1)));
        if t % 900 == 899 {
            life += 1;
        }
        l.learn(now, 20, Evidence::Heard(NodeId(3), Life(life)));
        // Other nodes are heard all the time.
        for s in 0..4 {
            l.learn(now + PERIOD * s, 20, Evidence::Heard(NodeId(99), Life(1)));
        }
    }
    let end = 48 * 3600;
    let [good, bad] = [2, 3].map(|id| l.reliability(at(end), NodeId(id)).unwrap());
    assert!(bad.bucket >= good.bucket + 4, "{good:?} {bad:?}");
    // The weight halves every day: of 48 failures and as many hours 26 are left. Most well-known nodes have not failed:
    // half a failure in that time is usual, and the prior has the weight of twice that time.
    assert!((25.0..27.0).contains(&bad.failures), "{bad:?}");
    let hours = bad.exposure.as_secs_f64() / 3600.0;
    assert!((25.5..26.5).contains(&hours), "{bad:?}");
    let expected = (1.0 + bad.failures) / (2.0 * hours + hours) * 168.0;
    assert!(
        (bad.per_week / expected - 1.0).abs() < 0.05,
        "{expected} {bad:?}"
    );
    let faded = l.reliability(at(end + 24 * 3600), NodeId(3)).unwrap();
    assert!((faded.failures / bad.failures - 0.5).abs() < 0.01);
}

/// In a large group members rarely hear from each other, in a small one often; the observed time is the same.
#[test]
fn time_counts_in_full_however_seldom_a_member_is_heard() {
    let mut l = ledger();
    for t in 0..=7200 {
        l.learn(at(t), 20, Evidence::Heard(NodeId(2), Life(1)));
        if t % 600 == 0 {
            l.learn(at(t), 20, Evidence::Heard(NodeId(3), Life(1)));
        }
        // It restarts unnoticed: the time in between counts for neither life.
        if t % 600 == 0 && t != 3600 {
            l.learn(at(t), 20, Evidence::Heard(NodeId(4), Life(1 + t / 3601)));
        }
    }
    let [often, seldom, restarted] = [2, 3, 4].map(|id| exposure(&l, id, 7200));
    assert!(often > 6_500, "two hours, some of it faded: {often}");
    assert!(often.abs_diff(seldom) < often / 50, "{often} {seldom}");
    assert!(restarted + 1000 < often, "{restarted}");
}

#[test]
fn ranks_change_only_clearly_beyond_an_edge() {
    let mut l = ledger();
    let mut rng = Rng::seed(4, 4);
    let mut t = 0;
    for _ in 0..3000 {
        t += 1;
        l.learn(at(t), 20, Evidence::Heard(NodeId(2), Life(1 + t / 400)));
        if rng.chance(0.02) {
            l.learn(at(t), 20, Evidence::Refuted(NodeId(2)));
        }
        let report = l.report(at(t), NodeId(2)).unwrap();
        let rate = l.rate(report.failures, report.exposure_ms);
        let (low, high) = (bucket_of(rate / EDGE / 1.1), bucket_of(rate * EDGE * 1.1));
        let held = l.bucket(NodeId(2));
        assert!(
            (low..=high).contains(&held),
            "R7: {held} not in {low}..={high}"
        );
    }
}

fn random_report(rng: &mut Rng) -> (NodeId, Report) {
    let report = Report {
        id: NodeId(2 + u64::from(rng.below(4))),
        counted: down(u64::from(rng.below(3)), rng.below(3)),
        failures: u64::from(rng.below(5)) * ONE / 2,
        exposure_ms: u64::from(rng.below(4)) * 1_000_000,
    };
    (NodeId(10 + u64::from(rng.below(5))), report)
}

#[test]
fn reports_merge_alike_in_any_order() {
    let mut rng = Rng::seed(8, 8);
    for _ in 0..200 {
        let mut reports: Vec<_> = (0..12).map(|_| random_report(&mut rng)).collect();
        let merged = |reports: &[(NodeId, Report)]| {
            let mut l = ledger();
            for (reporter, report) in reports {
                l.import(at(50), *reporter, report, Life(9));
            }
            l.reports(at(50))
        };
        let once = merged(&reports);
        reports.extend_from_within(..5);
        rng.shuffle(&mut reports);
        assert_eq!(merged(&reports), once, "R2");
        for report in &once {
            let same = reports.iter().filter(|(_, r)| r.id == report.id);
            let latest = same.map(|(_, r)| r.counted).max();
            assert_eq!(Some(report.counted), latest, "R2: no failure is forgotten");
        }
    }
}

#[test]
fn nobody_testifies_about_itself_or_about_lives_to_come() {
    let mut l = ledger();
    hear(&mut l, 2, 1, 0, 10);
    let before = l.reports(at(10));
    let report = Report {
        id: NodeId(2),
        counted: down(1, 0),
        failures: 0,
        exposure_ms: u64::MAX,
    };
    l.import(at(10), NodeId(2), &report, Life(9));
    let ahead = Report {
        counted: down(10, 0),
        ..report
    };
    l.import(at(10), NodeId(3), &ahead, Life(9));
    assert_eq!(l.reports(at(10)), before, "R4");
    l.import(at(10), NodeId(3), &report, Life(9));
    let most = l.exposure_max_ms;
    assert_eq!(l.report(at(10), NodeId(2)).unwrap().exposure_ms, most);
}

#[test]
fn of_itself_a_node_believes_the_median_of_the_others() {
    let mut l = ledger();
    let prior = l.bucket(ME);
    let report = |failures: u64| Report {
        id: ME,
        counted: down(1, 0),
        failures: failures * ONE,
        exposure_ms: 3_600_000,
    };
    for (reporter, said) in [(5, 0), (6, 60), (7, 0)] {
        l.import(at(1), NodeId(reporter), &report(said), Life(9));
    }
    // A rate slightly below the prior's does not give a better rank (R7).
    assert!(bucket_of(l.rate(0, 3_600_000)) < prior);
    assert_eq!(l.bucket(ME), prior);
    // One liar does not change the rank; two do.
    l.import(at(1), NodeId(7), &report(60), Life(9));
    assert!(l.bucket(ME) > prior);
    for reporter in 100..200 {
        l.import(at(1), NodeId(reporter), &report(1), Life(9));
    }
    assert!(l.about_me.len() <= REPORTS_MAX);
    assert!(l.reports(at(1)).is_empty());
}

#[test]
fn tables_are_bounded_and_those_who_are_gone_go_first() {
    let config = Config {
        subjects_max: 3,
        ..Config::default()
    };
    let mut l = Ledger::new(config, ME, PERIOD, PATIENCE, Instant::ZERO);
    for id in 2..5 {
        l.learn(at(0), 9, Evidence::Heard(NodeId(id), Life(1)));
    }
    l.learn(at(1), 9, Evidence::Heard(NodeId(9), Life(1)));
    let ids = |l: &Ledger| l.reports(at(1)).iter().map(|r| r.id.0).collect::<Vec<_>>();
    assert_eq!(
        ids(&l),
        [2, 3, 4],
        "R10: nobody there is forgotten for a newcomer"
    );
    l.learn(at(1), 9, Evidence::Left(NodeId(3), Life(1)));
    l.learn(at(1), 9, Evidence::Heard(NodeId(9), Life(1)));
    assert_eq!(ids(&l), vec![2, 4, 9]);
    let next = (0..1000).find_map(|_| l.next_report(at(1)));
    assert_eq!(next.unwrap().id, NodeId(4));
}

#[test]
fn one_ping_in_eight_carries_a_report_about_each_node_in_turn() {
    let mut l = Ledger::new(Config::default(), ME, PERIOD, PATIENCE, Instant::ZERO);
    for id in 2..6 {
        l.learn(at(0), 9, Evidence::Heard(NodeId(id), Life(1)));
    }
    let told: Vec<u64> = (0..8000)
        .filter_map(|_| l.next_report(at(1)))
        .map(|r| r.id.0)
        .collect();
    assert!((900..1100).contains(&told.len()), "{}", told.len());
    assert!(
        told.windows(2)
            .all(|w| w[1] == w[0] % 5 + if w[0] == 5 { 2 } else { 1 })
    );
}

mod node {
    //! Observations in whole nodes: what is heard, reported and announced.

    use super::*;
    use crate::command::Command;
    use crate::config::Config as NodeConfig;
    use crate::election::{Candidacy, Criterion, Order, Policy, Ranking};
    use crate::id::ElectionId;
    use crate::membership::{Meta, Precedence, Record, SharedMeta};
    use crate::node::{Identity, Node};
    use crate::wire::{Datagram, Frame, Header};
    use core::net::SocketAddr;

    const E: ElectionId = ElectionId(5);

    fn addr(id: u64) -> SocketAddr {
        SocketAddr::from(([10, 0, 0, id as u8], 7000))
    }

    fn node() -> Node {
        let identity = Identity {
            id: ME,
            life: Life(7),
            addr: addr(1),
            meta: Meta::default(),
            memory: Life(7),
            wall: None,
        };
        let mut node = Node::new(NodeConfig::default(), identity, 1, Instant::ZERO).unwrap();
        let record = |id: u64| Record {
            id: NodeId(id),
            precedence: Precedence::alive(Life(3), Incarnation(0)),
            accuser: NodeId(id),
            addr: addr(id),
            meta: SharedMeta::default(),
            coordinate: None,
            nap_ms: 0,
            current: true,
        };
        let known = (2..6).map(record).collect();
        node.handle_command(Instant::ZERO, Command::Restore(known));
        node
    }

    fn hear(node: &mut Node, from: u64, now: Instant, frames: Vec<Frame>) {
        let header = Header {
            group: NodeConfig::default().group_tag(),
            id: NodeId(from),
            life: Life(3),
            ..Header::default()
        };
        let mut datagram = Datagram {
            header,
            frames,
            ..Datagram::default()
        };
        node.handle_datagram(now, addr(from), &mut datagram);
    }

    #[test]
    fn members_are_observed_told_of_and_remembered() {
        let mut node = node();
        let mut told = Vec::new();
        let mut out = Datagram::default();
        for t in 0..=300 {
            for from in 2..6 {
                hear(&mut node, from, at(t), Vec::new());
            }
            node.handle_timeout(at(t));
            while node.poll_fact().is_some() {}
            while node.poll_transmit(&mut out).is_some() {
                let pings = out
                    .frames
                    .iter()
                    .filter(|f| crate::node::is_ping(f))
                    .count();
                let mut reports = 0;
                for frame in &out.frames {
                    if let Frame::Reliability(report) = frame {
                        reports += 1;
                        told.push(report.id.0);
                    }
                }
                assert!(reports <= pings, "pings carry one each");
            }
        }
        told.sort_unstable();
        told.dedup();
        assert_eq!(told, [2, 3, 4, 5]);
        let seen = node.reliability().reliability(at(300), NodeId(3)).unwrap();
        assert!(seen.exposure >= Duration::from_secs(299), "{seen:?}");
        // Its next life restores it.
        let mut next = self::node();
        let stored = node.reliability().reports(at(300));
        next.handle_command(at(0), Command::RestoreReliability(stored.clone()));
        assert_eq!(next.reliability().reports(at(0)), stored);
    }

    /// The node's opinion about a candidate and about itself.
    #[test]
    fn candidates_are_ranked_by_what_is_known_of_them_and_this_node_by_what_others_say() {
        let mut node = node();
        let ranking = Ranking::new(&[Criterion::Reliability]).unwrap();
        let policy = Policy {
            ranking,
            ..Policy::default()
        };
        let order = |order| Command::Election(order);
        node.handle_command(at(0), order(Order::Open(E, policy)));
        node.handle_command(at(0), order(Order::Campaign(E, Candidacy::default())));
        let own = |node: &Node| node.candidates(at(20), E)[0].reliability;
        assert_eq!(
            own(&node),
            4,
            "one failure a week, until something is known"
        );
        let bad = Report {
            id: ME,
            counted: down(7, 0),
            failures: 50 * ONE,
            exposure_ms: 3_600_000,
        };
        // A report about a life that this node never had is ignored.
        let ahead = Report {
            counted: down(8, 0),
            ..bad
        };
        hear(&mut node, 2, at(1), vec![Frame::Reliability(ahead)]);
        assert_eq!(own(&node), 4);
        for from in 2..5 {
            hear(&mut node, from, at(1), vec![Frame::Reliability(bad)]);
        }
        assert!(own(&node) >= 8, "{}", own(&node));
        assert_eq!(own(&node), node.reliability().bucket(ME));
    }
}
