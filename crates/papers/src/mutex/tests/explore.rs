//! Every order of messages, entries, exits and faults of a small group: safe configurations stay safe.

extern crate std;

use super::*;
use core::hash::{Hash, Hasher};
use std::collections::HashSet;
use std::hash::DefaultHasher;

/// Far more than any of these groups has.
const STATES_MAX: usize = 1_000_000;

/// Faults that may occur at any time, one after the other.
#[derive(Clone, Copy, Debug)]
enum Fault {
    Learn(u64, u64),
    Suspect(u64, u64),
    Crash(u64),
    Restart(u64),
}

/// The number of requests of each node, and the faults.
struct Schedule<'a> {
    requests: &'a [u8],
    faults: &'a [Fault],
    /// Whether every waiting node gets in at the end.
    live: bool,
}

/// A group, the requests still to be made, and the number of faults so far.
#[derive(Clone)]
struct Point {
    net: Net,
    left: Vec<u8>,
    struck: usize,
}

impl Point {
    fn fingerprint(&self) -> u64 {
        let mut hasher = DefaultHasher::new();
        let mut flights = self.net.flights.clone();
        flights.sort();
        let net = &self.net;
        (&net.nodes, &net.lists, &net.dead, flights).hash(&mut hasher);
        (&self.left, self.struck).hash(&mut hasher);
        hasher.finish()
    }

    fn next(&self, schedule: &Schedule<'_>) -> Vec<Point> {
        let mut next = Vec::new();
        let mut go = |f: &dyn Fn(&mut Point)| {
            let mut point = self.clone();
            point.net.events.clear();
            f(&mut point);
            next.push(point);
        };
        for n in 0..self.net.flights.len() {
            go(&|p| p.net.arrive(n));
        }
        for at in 0..self.net.nodes.len() {
            let id = at as u64;
            match self.net.state(id) {
                _ if self.net.dead.contains(&id) => {}
                State::Idle if self.left[at] > 0 => go(&|p| {
                    p.left[at] -= 1;
                    p.net.enter(id);
                }),
                State::Held => go(&|p| p.net.exit(id)),
                _ => {}
            }
        }
        if let Some(&fault) = schedule.faults.get(self.struck) {
            go(&|p| {
                p.struck += 1;
                match fault {
                    Fault::Learn(at, id) => p.net.learn(at, id),
                    Fault::Suspect(at, id) => p.net.suspect(at, id),
                    Fault::Crash(id) => p.net.crash(id),
                    Fault::Restart(id) => p.net.restart(id),
                }
            });
        }
        next
    }
}

/// Whether two nodes can be inside at the same time, and how many states were seen before that was known.
fn explore(net: Net, schedule: &Schedule<'_>) -> (bool, usize) {
    let start = Point {
        net,
        left: schedule.requests.to_vec(),
        struck: 0,
    };
    let mut seen = HashSet::from([start.fingerprint()]);
    let mut open = vec![start];
    while let Some(point) = open.pop() {
        assert!(seen.len() < STATES_MAX, "states without end");
        let next = point.next(schedule);
        if next.is_empty() && schedule.live {
            let waits = |n: &PaperMutex| n.state() == State::Wait;
            assert!(
                !point.net.nodes.iter().any(waits),
                "deadlock: {point:?}",
                point = point.net
            );
        }
        for point in next {
            if point.net.violated {
                return (true, seen.len());
            }
            if seen.insert(point.fingerprint()) {
                open.push(point);
            }
        }
    }
    (false, seen.len())
}

fn safe(net: Net, requests: &[u8], faults: &[Fault]) -> usize {
    let schedule = Schedule {
        requests,
        faults,
        live: faults.is_empty() && net.copies == 1,
    };
    let (violated, states) = explore(net, &schedule);
    assert!(!violated, "two inside");
    states
}

fn unsafe_(net: Net, requests: &[u8], faults: &[Fault]) {
    let schedule = Schedule {
        requests,
        faults,
        live: false,
    };
    assert!(explore(net, &schedule).0, "nothing found");
}

/// Node 0 and node 1 know only node 2, which knows both.
const FRIEND: &[&[u64]] = &[&[0, 2], &[1, 2], &[0, 1, 2]];

/// S0: full lists, three requests: safe and live in every mode.
#[test]
fn s0_full_lists_are_safe() {
    for mode in Mode::ALL {
        let states = safe(Net::full(config(mode), 3), &[1, 1, 1], &[]);
        assert!(states > 1_000, "{mode}: {states}");
    }
}

/// S1: neither knows the other. Ricart and Agrawala's algorithm admits both, a common friend's cache does not.
#[test]
fn s1_symmetric_ignorance() {
    unsafe_(Net::new(config(RicartAgrawala), FRIEND), &[1, 1, 0], &[]);
    for mode in [CameraPaper, CameraRepaired] {
        safe(Net::new(config(mode), FRIEND).bounded(3), &[1, 1, 0], &[]);
    }
}

/// S1b: the same with a request of the friend and two of node 0.
#[test]
fn s1b_symmetric_ignorance_and_more_requests() {
    let net = Net::new(config(CameraPaper), FRIEND);
    let states = safe(net, &[2, 1, 1], &[]);
    assert!(states > 10_000, "{states}");
}

/// S2, S2': one knows the other, whichever has the lower id.
#[test]
fn s2_asymmetric_ignorance() {
    let knows_0: &[&[u64]] = &[&[0, 1, 2], &[1, 2], &[0, 1, 2]];
    let knows_1: &[&[u64]] = &[&[0, 2], &[0, 1, 2], &[0, 1, 2]];
    for lists in [knows_0, knows_1] {
        unsafe_(Net::new(config(RicartAgrawala), lists), &[1, 1, 0], &[]);
        for mode in [CameraPaper, CameraRepaired] {
            safe(Net::new(config(mode), lists), &[1, 1, 0], &[]);
        }
    }
}

const LINE: &[&[u64]] = &[&[0, 1], &[0, 1, 2], &[1, 2, 3], &[2, 3]];

/// S3: without a common friend and without a bound nothing is safe; S3s: with the bound, the slow path is.
#[test]
fn s3_no_common_friend() {
    for mode in Mode::ALL {
        unsafe_(Net::new(config(mode), LINE), &[1, 0, 0, 1], &[]);
    }
    for config in [
        config(CameraPaper),
        config(CameraRepaired),
        with_tree(CameraRepaired),
    ] {
        let net = Net::new(config, LINE).bounded(4);
        safe(net, &[1, 0, 0, 1], &[]);
    }
}

/// S4 (A1): node 1 learns of node 0 during its request.
#[test]
fn s4_a_list_that_grows() {
    let learns = [Fault::Learn(1, 0)];
    let net = |mode| Net::new(config(mode), FRIEND).bounded(3);
    unsafe_(net(CameraPaper), &[1, 1, 0], &learns);
    safe(net(CameraRepaired), &[1, 1, 0], &learns);
}

/// S5 (A2): a holder is suspected: nothing that trusts the failure detector is safe.
#[test]
fn s5_a_wrong_suspicion() {
    for mode in Mode::ALL {
        let net = Net::full(config(mode), 3).bounded(3);
        unsafe_(net, &[1, 1, 0], &[Fault::Suspect(1, 0)]);
    }
}

/// S6 (A7): every message may arrive twice, node 0 requests twice.
#[test]
fn s6_repeated_messages() {
    let net = |mode| Net {
        copies: 2,
        ..Net::full(config(mode), 2).bounded(2)
    };
    unsafe_(net(RicartAgrawala), &[2, 1], &[]);
    unsafe_(net(CameraPaper), &[2, 1], &[]);
    safe(net(CameraRepaired), &[2, 1], &[]);
}

/// S7 (A6): node 1 agrees, forgets node 0, and requests.
#[test]
fn s7_the_own_cache() {
    let net = |mode| Net::full(config(mode), 2);
    let forgets = [Fault::Suspect(1, 0)];
    unsafe_(net(CameraPaper), &[1, 1], &forgets);
    // The suspicion during a request of node 1 itself is S5; here it comes before.
    let mut before = net(CameraRepaired);
    before.enter(0);
    before.round(0, 1);
    before.suspect(1, 0);
    safe(before, &[0, 1], &[]);
}

/// S8 (A3): the common friend crashes; the bound on N makes the repaired form wait.
#[test]
fn s8_the_friend_crashes() {
    let crash = [Fault::Crash(2), Fault::Suspect(1, 2)];
    let net = |config| Net::new(config, FRIEND).bounded(3);
    unsafe_(net(config(CameraPaper)), &[1, 1, 0], &crash);
    safe(net(config(CameraRepaired)), &[1, 1, 0], &crash);
    safe(net(with_tree(CameraRepaired)), &[1, 1, 0], &crash);
}

/// S9 (A5): the common friend restarts without memory.
#[test]
fn s9_the_friend_restarts() {
    for mode in [CameraPaper, CameraRepaired] {
        let net = Net::new(config(mode), FRIEND).bounded(3);
        unsafe_(net, &[1, 1, 0], &[Fault::Restart(2)]);
    }
}

/// S10 (A8): node 1 takes the slow path, node 0 joins meanwhile and knows only the friend.
#[test]
fn s10_a_joiner_meets_a_slow_request() {
    let lists: &[&[u64]] = &[&[0, 2], &[1, 2], &[1, 2]];
    let net = |config| Net {
        n_upper: vec![3, 4, 3],
        ..Net::new(config, lists)
    };
    unsafe_(net(config(CameraPaper)), &[1, 1, 1], &[]);
    // Node 1 assumes four nodes and hears of at most three: it may have to wait for ever.
    let schedule = Schedule {
        requests: &[1, 1, 1],
        faults: &[],
        live: false,
    };
    for config in [config(CameraRepaired), with_tree(CameraRepaired)] {
        assert!(!explore(net(config), &schedule).0);
    }
}
