//! Locks among simulated nodes: the effect of each bound in a partition, how long a dead holder blocks, overtaking,
//! cost, and that the oracles find planted bugs.

extern crate alloc;

use alloc::sync::Arc;
use consort_proto::mutex::{
    Ablation, Acquire, Bound, Event, Fence, LockId, Mode, Msg, Order, Policy, Ticket, Wait,
};
use consort_proto::wire::{Datagram, Frame};
use consort_proto::{Command, Config, NodeId};
use consort_sim::fault::{Fault, Keep};
use consort_sim::net::Conditions;
use consort_sim::oracle::{self, Oracle, Panel, Verdict};
use consort_sim::topology::{Layout, Topology};
use consort_sim::trace::Trace;
use consort_sim::world::{Start, World, WorldConfig, id_of};
use consort_sim::{Engine, engine};
use core::time::Duration;
use std::sync::Mutex;

const NAME: &str = "l";
const TTL: Duration = Duration::from_secs(3);

/// Every grant: when, at which host.
type Grants = Arc<Mutex<Vec<(Duration, usize)>>>;

struct Watch(Grants);

impl Oracle for Watch {
    fn on_event(&mut self, world: &World, host: usize, event: &consort_proto::Event) -> Verdict {
        if let consort_proto::Event::Lock(Event::Granted { .. }) = event {
            let at = Duration::from_micros(world.now().as_micros());
            self.0.lock().unwrap().push((at, host));
        }
        Ok(())
    }
}

fn group(nodes: usize, bound: Bound, oracles: bool) -> (Engine<Panel>, Grants) {
    group_with(1, nodes, bound, oracles)
}

fn group_with(seed: u64, nodes: usize, bound: Bound, oracles: bool) -> (Engine<Panel>, Grants) {
    group_lacking(None, seed, nodes, bound, oracles)
}

/// A group without a part of the protocol.
fn group_lacking(
    ablation: Option<Ablation>,
    seed: u64,
    nodes: usize,
    bound: Bound,
    oracles: bool,
) -> (Engine<Panel>, Grants) {
    let mut node = Config::default();
    node.mutex.ablation = ablation;
    node.mutex.ttl = TTL;
    node.mutex.ttl_max = TTL;
    node.mutex.bound = bound;
    node.mutex.bootstrap = true;
    let config = WorldConfig {
        node,
        layout: Layout::draw(&Topology::Full, nodes, 10.0, 30.0, 1).unwrap(),
        conditions: Conditions::default(),
        seed,
        start: Start::Warm { seeds: 1 },
        sample_every: Some(Duration::from_millis(500)),
        trace: Trace::default(),
    };
    let grants = Grants::default();
    let mut panel = Panel::default().with(Watch(Arc::clone(&grants)));
    if oracles {
        panel = panel
            .with(oracle::Locks::default())
            .with(oracle::Witnesses::default());
    }
    let mut engine = Engine::new(config, panel).unwrap();
    // The first lock wakes all nodes up.
    engine.command(0, acquire(0)).unwrap();
    engine.run_for(Duration::from_secs(2)).unwrap();
    assert_eq!(holders(engine.world()), [0]);
    engine.command(0, release(0)).unwrap();
    engine.run_for(Duration::from_secs(10)).unwrap();
    grants.lock().unwrap().clear();
    (engine, grants)
}

fn acquire(ticket: u64) -> Command {
    Command::Lock(Order::Acquire(Acquire {
        name: NAME.into(),
        ticket: Ticket(ticket),
        mode: Mode::Exclusive,
        wait: Wait::Forever,
        policy: Arc::new(Policy::default()),
    }))
}

fn release(ticket: u64) -> Command {
    Command::Lock(Order::Release(LockId::of(NAME), Ticket(ticket)))
}

fn holders(world: &World) -> Vec<usize> {
    let holds = |&host: &usize| {
        let held = world.host(host).node().mutex().held(LockId::of(NAME));
        held.is_some_and(|(_, until)| until > world.clock(host))
    };
    world.up().filter(holds).collect()
}

/// Node 0 holds; then `cut` nodes, including it, are cut off from the others for a minute. Returns whether the
/// small side and the large side hold a lock in the end.
fn cut_off(nodes: usize, cut: usize, bound: Bound) -> (bool, bool) {
    let (mut engine, _) = group(nodes, bound, false);
    engine.command(0, acquire(1)).unwrap();
    engine.run_for(Duration::from_secs(1)).unwrap();
    assert_eq!(holders(engine.world()), [0]);
    let sides = (0..nodes).map(|host| u8::from(host >= cut)).collect();
    engine.strike(Fault::Partition(sides)).unwrap();
    for host in 0..nodes {
        engine.command(host, acquire(2)).unwrap();
    }
    engine.run_for(Duration::from_secs(60)).unwrap();
    let held = holders(engine.world());
    (
        held.iter().any(|&h| h < cut),
        held.iter().any(|&h| h >= cut),
    )
}

#[test]
fn in_a_partition_the_bound_decides_who_locks() {
    let voters =
        |ids: &[usize]| Bound::Voters(ids.iter().map(|&i| id_of(i)).collect::<Vec<NodeId>>());
    // All members: the side with more than half of them; with exactly half, none.
    assert_eq!(cut_off(5, 2, Bound::Members), (false, true));
    assert_eq!(cut_off(4, 2, Bound::Members), (false, false));
    // Available members: each side, once the other has been gone for a lease.
    assert_eq!(cut_off(5, 2, Bound::Available), (true, true));
    assert_eq!(cut_off(4, 2, Bound::Available), (true, true));
    // A floor: at most one side; with exactly half, none.
    assert_eq!(cut_off(5, 2, Bound::Floor(5)), (false, true));
    assert_eq!(cut_off(4, 2, Bound::Floor(4)), (false, false));
    // Voters: the side with more than half of them, however small it is.
    assert_eq!(cut_off(5, 2, voters(&[0, 1, 4])), (true, false));
    assert_eq!(cut_off(5, 2, voters(&[0, 3, 4])), (false, true));
}

/// L3: after the crash of the holder, a lease, a repeated question and two round trips.
#[test]
fn a_crashed_holder_blocks_for_a_lease() {
    let (mut engine, grants) = group(5, Bound::Floor(5), true);
    engine.command(0, acquire(1)).unwrap();
    engine.run_for(Duration::from_secs(1)).unwrap();
    engine.command(1, acquire(2)).unwrap();
    engine.run_for(Duration::from_millis(1500)).unwrap();
    engine.strike(Fault::Crash(0)).unwrap();
    let crashed = Duration::from_micros(engine.world().now().as_micros());
    engine.run_for(Duration::from_secs(10)).unwrap();
    let (at, host) = grants.lock().unwrap()[1];
    assert_eq!(host, 1);
    let remembered = Config::default().mutex.remembered(TTL);
    let bound = remembered + Config::default().mutex.retry + Duration::from_millis(400);
    assert!(at - crashed <= bound, "{:?} > {bound:?}", at - crashed);
    assert!(
        at - crashed >= TTL / 3,
        "the lease was renewed shortly before: {:?}",
        at - crashed
    );
}

/// A waiter that crashes blocks those behind it as a holder would: for a lease, a repeated question and two round trips.
#[test]
fn a_crashed_first_waiter_blocks_for_a_lease_at_most() {
    let (mut engine, grants) = group(5, Bound::Floor(5), true);
    engine.command(0, acquire(1)).unwrap();
    engine.run_for(Duration::from_secs(1)).unwrap();
    for host in [1, 2] {
        engine.command(host, acquire(2)).unwrap();
        engine.run_for(Duration::from_secs(2)).unwrap();
    }
    engine.strike(Fault::Crash(1)).unwrap();
    engine.command(0, release(1)).unwrap();
    let crashed = Duration::from_micros(engine.world().now().as_micros());
    engine.run_for(Duration::from_secs(10)).unwrap();
    let (at, host) = grants.lock().unwrap()[1];
    assert_eq!(host, 2);
    let mutex = Config::default().mutex;
    let bound = mutex.remembered(TTL) + mutex.retry + Duration::from_millis(400);
    assert!(at - crashed <= bound, "{:?} > {bound:?}", at - crashed);
    assert!(
        at - crashed >= TTL / 3,
        "it might have come in: {:?}",
        at - crashed
    );
}

/// L2: once a majority knows a request, each other node overtakes it at most twice.
#[test]
fn nobody_is_overtaken_more_than_twice_by_another() {
    let (mut engine, grants) = group(6, Bound::Floor(6), true);
    for host in 1..6 {
        engine.command(host, acquire(1)).unwrap();
    }
    engine.run_for(Duration::from_secs(1)).unwrap();
    engine.command(0, acquire(99)).unwrap();
    engine.run_for(Duration::from_secs(1)).unwrap();
    let before = grants.lock().unwrap().len();
    let mut tickets = [1_u64; 6];
    for _ in 0..2000 {
        engine.run_for(Duration::from_millis(20)).unwrap();
        if let [host] = holders(engine.world())[..]
            && host > 0
        {
            engine.command(host, release(tickets[host])).unwrap();
            tickets[host] += 1;
            engine.command(host, acquire(tickets[host])).unwrap();
        }
        if holders(engine.world()) == [0] {
            break;
        }
    }
    assert_eq!(holders(engine.world()), [0]);
    let grants = grants.lock().unwrap();
    for host in 1..6 {
        let overtakes = grants[before..].iter().filter(|g| g.1 == host).count();
        assert!(overtakes <= 2, "node {host} overtook {overtakes} times");
    }
}

/// L4: two messages for each of the others, and a release to each.
#[test]
fn an_uncontended_lock_costs_three_messages_a_member() {
    struct Count(Arc<Mutex<usize>>);
    impl Oracle for Count {
        fn on_send(&mut self, _: &World, _: usize, datagram: &Datagram, _: usize) -> Verdict {
            let ours = |f: &&Frame| {
                matches!(
                    f,
                    Frame::Mutex(Msg::Request(_) | Msg::Reply(_) | Msg::Release { .. })
                )
            };
            *self.0.lock().unwrap() += datagram.frames.iter().filter(ours).count();
            Ok(())
        }
    }
    for nodes in [2, 5, 9] {
        let (mut engine, _) = group(nodes, Bound::Available, true);
        let count = Arc::new(Mutex::new(0));
        engine
            .oracle_mut()
            .0
            .push(Box::new(Count(Arc::clone(&count))));
        engine.command(0, acquire(1)).unwrap();
        engine.run_for(Duration::from_millis(400)).unwrap();
        assert_eq!(holders(engine.world()), [0]);
        assert_eq!(*count.lock().unwrap(), 2 * (nodes - 1));
        engine.command(0, release(1)).unwrap();
        engine.run_for(Duration::from_secs(30)).unwrap();
        assert_eq!(*count.lock().unwrap(), 3 * (nodes - 1));
    }
}

/// Three nodes contend in turns over a network with a planted bug; node 0 asks first and is heard last. Returns the
/// verdict of the oracle.
fn with_bug(tamper: engine::Tamper) -> Result<(), String> {
    let (mut engine, grants) = group(3, Bound::Floor(3), true);
    engine.set_tamper(tamper);
    let mut run = || -> Verdict {
        engine.strike(Fault::Partition(vec![0, 1, 1]))?;
        engine.command(0, acquire(1))?;
        for round in 1..20 {
            for host in 1..3 {
                engine.command(host, acquire(round))?;
            }
            engine.run_for(Duration::from_millis(700))?;
            for host in 1..3 {
                engine.command(host, release(round))?;
            }
        }
        engine.strike(Fault::Heal)?;
        engine.run_for(Duration::from_secs(5))
    };
    let found = run().map_err(|v| v.invariant.to_owned());
    assert!(grants.lock().unwrap().len() > 1);
    found
}

#[test]
fn the_oracles_find_planted_bugs() {
    assert_eq!(with_bug(|_, _, _| true), Ok(()));
    // Witnesses that name no contenders.
    let nameless: engine::Tamper = |_, _, datagram| {
        for frame in &mut datagram.frames {
            if let Frame::Mutex(Msg::Reply(reply)) = frame {
                reply.names.clear();
            }
        }
        true
    };
    assert_eq!(with_bug(nameless), Err("I1".into()));
    // No answer tells which tokens were used.
    let floorless: engine::Tamper = |_, _, datagram| {
        for frame in &mut datagram.frames {
            match frame {
                Frame::Mutex(Msg::Reply(reply)) => reply.floor = Fence::ZERO,
                Frame::Mutex(Msg::Release { floor, .. }) => *floor = Fence::ZERO,
                _ => {}
            }
        }
        true
    };
    assert_eq!(with_bug(floorless), Err("I2".into()));
}

/// A process that forgets its requests: the oracle is shown an earlier moment of the same process.
#[test]
fn the_oracle_finds_places_that_fall_and_requests_that_change() {
    let (mut late, _) = group(3, Bound::Floor(3), true);
    for round in 1..5 {
        late.command(1, acquire(round)).unwrap();
        late.run_for(Duration::from_secs(1)).unwrap();
        late.command(1, release(round)).unwrap();
    }
    late.command(0, acquire(1)).unwrap();
    let (mut early, _) = group(3, Bound::Floor(3), true);
    early.command(0, acquire(1)).unwrap();
    let after_late = |early: &World| {
        let mut oracle = oracle::Locks::default();
        oracle.after_step(late.world(), 0).unwrap();
        oracle.after_step(early, 0).map_err(|v| v.invariant)
    };
    assert_eq!(after_late(late.world()), Ok(()));
    // The same request with a different place.
    assert_eq!(after_late(early.world()), Err("I9"));
    // The next request, before the previous one.
    early.command(0, release(1)).unwrap();
    early.command(0, acquire(2)).unwrap();
    assert_eq!(after_late(early.world()), Err("I7"));
}

/// I5 relies on the clocks' rates: far outside the assumed limits, a witness may forget first.
#[test]
fn clocks_that_drift_too_far_are_found_out() {
    let mut found = Vec::new();
    for seed in 0..20 {
        let (mut engine, _) = group_with(seed, 3, Bound::Floor(3), true);
        engine.world_mut().set_drift(400_000);
        let mut run = || -> Verdict {
            engine.command(0, acquire(1))?;
            engine.run_for(Duration::from_secs(1))?;
            engine.strike(Fault::Mute(0))?;
            engine.run_for(Duration::from_secs(10))
        };
        found.extend(run().err().map(|v| v.invariant));
    }
    assert!(found.contains(&"I5"), "{found:?}");
}

/// The verdict of the oracles on a holder and two nodes that wait and restart, in a group without a part of the
/// protocol.
fn without(part: Option<Ablation>, tamper: engine::Tamper) -> Result<(), &'static str> {
    let (mut engine, _) = group_lacking(part, 1, 3, Bound::Floor(3), true);
    engine.set_tamper(tamper);
    let mut run = || -> Verdict {
        engine.command(0, acquire(1))?;
        engine.run_for(Duration::from_secs(1))?;
        // Both have made requests before either learns of the other.
        engine.command(1, acquire(1))?;
        engine.command(2, acquire(1))?;
        engine.run_for(Duration::from_secs(2))?;
        for host in [1, 2] {
            let keep = Keep::Life;
            engine.strike(Fault::Restart { host, keep })?;
        }
        engine.run_for(Duration::from_secs(1))?;
        engine.command(0, acquire(2))?;
        engine.run_for(Duration::from_secs(4))
    };
    run().map_err(|v| v.invariant)
}

/// I3, I4, I6, I8 and L6 are reported where they are violated, and nothing else.
#[test]
fn the_oracles_find_what_is_missing() {
    let sound: engine::Tamper = |_, _, _| true;
    assert_eq!(without(None, sound), Ok(()));
    assert_eq!(without(Some(Ablation::Review), sound), Err("I3"));
    assert_eq!(without(Some(Ablation::Selfblock), sound), Err("I4"));
    let nameless: engine::Tamper = |_, _, datagram| {
        for frame in &mut datagram.frames {
            if let Frame::Mutex(Msg::Reply(reply)) = frame
                && !reply.consent
            {
                reply.names.retain(|n| n.req.node == datagram.header.id);
            }
        }
        true
    };
    assert_eq!(without(None, nameless), Err("I6"));
    let grown: engine::Tamper = |_, _, datagram| {
        for frame in &mut datagram.frames {
            if let Frame::Mutex(Msg::Reply(reply)) = frame {
                reply.mature = true;
            }
        }
        true
    };
    assert_eq!(without(None, grown), Err("I8"));
}

/// L6: an answer that names a node twice.
#[test]
fn an_answer_that_names_too_many_is_found() {
    let (mut engine, _) = group(3, Bound::Floor(3), false);
    for host in 0..3 {
        engine.command(host, acquire(1)).unwrap();
    }
    type Sent = Arc<Mutex<Vec<(usize, Datagram)>>>;
    struct Collect(Sent);
    impl Oracle for Collect {
        fn on_send(&mut self, world: &World, host: usize, d: &Datagram, len: usize) -> Verdict {
            oracle::Witnesses::default()
                .on_send(world, host, d, len)
                .unwrap();
            let names = |f: &Frame| matches!(f, Frame::Mutex(Msg::Reply(r)) if !r.names.is_empty());
            if d.frames.iter().any(names) {
                self.0.lock().unwrap().push((host, d.clone()));
            }
            Ok(())
        }
    }
    let sent = Sent::default();
    engine
        .oracle_mut()
        .0
        .push(Box::new(Collect(Arc::clone(&sent))));
    engine.run_for(Duration::from_secs(2)).unwrap();
    let (host, mut datagram) = sent.lock().unwrap().pop().unwrap();
    for frame in &mut datagram.frames {
        if let Frame::Mutex(Msg::Reply(reply)) = frame {
            reply.names.extend(reply.names.clone());
        }
    }
    let said = oracle::Witnesses::default().on_send(engine.world(), host, &datagram, 0);
    assert_eq!(said.map_err(|v| v.invariant), Err("L6"));
}
