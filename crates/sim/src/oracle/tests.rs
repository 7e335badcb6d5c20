//! Tests that the oracles find violations: each test plants a bug and expects the right invariant to be named.

use super::*;
use crate::engine::{Engine, Tamper};
use crate::fault::Keep;
use crate::net::Conditions;
use crate::topology::{Layout, Topology};
use crate::trace::Trace;
use crate::world::{Start, WorldConfig, id_of};
use consort_proto::membership::{
    self, Arrival, Departure, DistanceSource, Msg, Precedence, ProbeFloor, Proximity, Record,
    SuspicionTimeout, TargetPolicy,
};
use consort_proto::wire::{Frame, Header};
use consort_proto::{Command, Config, Incarnation, Life, NodeId};
use core::time::Duration;

fn config(nodes: usize) -> WorldConfig {
    WorldConfig {
        node: Config::default(),
        layout: Layout::draw(&Topology::Full, nodes, 1.0, 1.0, 1).unwrap(),
        conditions: Conditions::default(),
        seed: 1,
        start: Start::Warm { seeds: 2 },
        sample_every: Some(Duration::from_secs(1)),
        trace: Trace::default(),
    }
}

fn world(nodes: usize, oracle: Panel) -> Engine<Panel> {
    let mut engine = Engine::new(config(nodes), oracle).unwrap();
    engine.run_for(Duration::from_secs(5)).unwrap();
    engine
}

fn secs(s: u64) -> Duration {
    Duration::from_secs(s)
}

fn broken(result: Verdict) -> &'static str {
    result
        .expect_err("the planted bug goes unnoticed")
        .invariant
}

/// A datagram of `from` that contains `frames`.
fn forged(engine: &Engine<Panel>, from: usize, frames: Vec<Msg>) -> Datagram {
    let node = engine.world().host(from).node();
    let membership = node.membership();
    Datagram {
        header: Header {
            group: engine.world().node_config().group_tag(),
            id: node.id(),
            life: membership.life(),
            incarnation: membership.incarnation(),
            digest: membership.digest(node.id()),
            ..Header::default()
        },
        frames: frames.into_iter().map(Frame::Membership).collect(),
        ..Datagram::default()
    }
}

fn record(id: NodeId, life: Life, incarnation: u32) -> Msg {
    Msg::Record(Record {
        id,
        precedence: Precedence::alive(life, Incarnation(incarnation)),
        accuser: id,
        addr: crate::world::addr_of(0),
        meta: Default::default(),
        coordinate: None,
        nap_ms: 0,
        current: true,
    })
}

#[test]
fn a_healthy_group_breaks_nothing() {
    let panel = Panel::safety().with(Accuracy).with(Convergence);
    let mut engine = world(5, panel);
    engine.run_for(secs(60)).unwrap();
    engine.finish().unwrap();
}

#[test]
fn i1_bites_when_a_record_goes_back() {
    let mut engine = world(3, Panel::safety());
    engine
        .strike(Fault::Restart {
            host: 2,
            keep: Keep::Life,
        })
        .unwrap();
    engine.run_for(secs(10)).unwrap();
    // The process of host 0 loses its memory without a reported restart.
    engine.world_mut().respawn(0, true);
    engine.world_mut().rearm(0);
    assert_eq!(broken(engine.run_for(secs(10))), "I1");
}

#[test]
fn i2_bites_when_somebody_else_raises_an_incarnation() {
    let mut engine = world(4, Panel::safety());
    let life = engine.world().host(2).node().membership().life();
    let lie = forged(&engine, 1, vec![record(id_of(2), life, 9)]);
    assert_eq!(broken(engine.inject(1, 0, lie)), "I2");
}

#[test]
fn i2_bites_when_a_bug_inflates_the_senders_own_claim() {
    let mut engine = world(4, Panel::safety());
    engine.set_tamper(|_, _, datagram| {
        datagram.header.incarnation.0 += 1;
        true
    });
    assert_eq!(broken(engine.run_for(secs(5))), "I2");
}

#[test]
fn i2_bites_when_a_member_is_made_up() {
    let mut engine = world(3, Panel::safety());
    let lie = forged(&engine, 1, vec![record(NodeId(77), Life(1), 0)]);
    assert_eq!(broken(engine.inject(1, 0, lie)), "I2");
}

#[test]
fn i4_bites_when_a_finished_life_comes_back() {
    let engine = world(3, Panel::default());
    let mut finality = Finality::default();
    let id = id_of(1);
    let mut say = |event| finality.on_event(engine.world(), 0, &Event::Membership(event));
    let (life, by) = (Life(7), id);
    let how = Arrival::Joined;
    for why in [Departure::Left, Departure::Restarted] {
        say(membership::Event::Down { id, life, why, by }).unwrap();
        say(membership::Event::Up {
            id,
            life: Life(8),
            how,
        })
        .unwrap();
        let again = say(membership::Event::Up { id, life, how });
        assert_eq!(broken(again), "I4");
    }
}

#[test]
fn i5_bites_when_suspects_are_never_declared_down() {
    let crash = |config: WorldConfig| {
        let oracle = Panel::safety().with(Detection { bound: secs(120) });
        let mut engine = Engine::new(config, oracle).unwrap();
        engine.schedule(Instant::ZERO + secs(5), Fault::Crash(4));
        engine.run_for(secs(300))
    };
    crash(config(5)).unwrap();
    // A bug: a suspect has an hour to answer.
    let mut slow = config(5);
    slow.node.membership.suspicion_timeout = SuspicionTimeout::Fixed(secs(3600));
    slow.node.membership.fast = None;
    assert_eq!(broken(crash(slow)), "I5");
}

#[test]
fn i9_bites_while_a_partition_lasts_and_not_after() {
    let mut engine = world(6, Panel::safety().with(Convergence));
    engine
        .strike(Fault::Partition(vec![0, 0, 0, 1, 1, 1]))
        .unwrap();
    engine.run_for(secs(90)).unwrap();
    assert_eq!(broken(engine.finish()), "I9");
    engine.strike(Fault::Heal).unwrap();
    engine.run_for(secs(120)).unwrap();
    engine.finish().unwrap();
}

#[test]
fn i9_bites_when_refutations_are_dropped() {
    let mut engine = world(5, Panel::default().with(Convergence));
    // A bug: no node spreads or announces a raised incarnation.
    engine.set_tamper(|_, _, datagram| {
        datagram.header.incarnation.0 = 0;
        datagram.frames.retain(|frame| {
            !matches!(frame, Frame::Membership(Msg::Record(r)) if r.precedence.incarnation.0 > 0)
        });
        true
    });
    engine.strike(Fault::Mute(3)).unwrap();
    engine.run_for(secs(100)).unwrap();
    engine.strike(Fault::Heal).unwrap();
    engine.run_for(secs(300)).unwrap();
    assert_eq!(broken(engine.finish()), "I9");
}

#[test]
fn i10_bites_on_long_datagrams_and_on_answers_nobody_asked_for() {
    let mut engine = world(3, Panel::default());
    let mut messages = Messages::default();
    let long = forged(&engine, 0, vec![record(id_of(1), Life(1), 0); 60]);
    let bytes = long.encoded_len();
    let sent = messages.on_send(engine.world(), 0, &long, bytes);
    assert_eq!(broken(sent), "I10");

    let mut messages = Messages::default();
    let ack = forged(&engine, 0, vec![Msg::Ack { seq: 1 }]);
    let bytes = ack.encoded_len();
    messages.on_send(engine.world(), 0, &ack, bytes).unwrap();
    assert_eq!(broken(messages.after_step(engine.world(), 0)), "I10");
    engine.run_for(secs(1)).unwrap();
}

#[test]
fn i11_bites_when_acks_get_lost_by_a_bug() {
    let mut engine = world(4, Panel::safety().with(Accuracy));
    engine.set_tamper(|_, from, datagram| {
        let is_ack = |frame: &Frame| {
            matches!(
                frame,
                Frame::Membership(Msg::Ack { .. } | Msg::IndirectAck { .. })
            )
        };
        from != 2 || !datagram.frames.iter().any(is_ack)
    });
    assert_eq!(broken(engine.run_for(secs(60))), "I11");
}

#[test]
fn i16_bites_when_a_pair_asks_for_help() {
    let engine = world(2, Panel::default());
    let mut messages = Messages::default();
    let request = Msg::PingReq {
        seq: 1,
        target: id_of(1),
        life: Life(1),
        addr: crate::world::addr_of(1),
        budget_ms: 100,
    };
    let request = forged(&engine, 0, vec![request]);
    let bytes = request.encoded_len();
    let sent = messages.on_send(engine.world(), 0, &request, bytes);
    assert_eq!(broken(sent), "I16");
}

#[test]
fn i3_bites_when_a_node_probes_itself() {
    let engine = world(2, Panel::default());
    let ping = Msg::Ping {
        seq: 1,

        want_record: false,
    };
    let ping = forged(&engine, 0, vec![ping]);
    let mut messages = Messages::default();
    messages.on_dispatch(engine.world(), 0, 1, &ping, None);
    messages.after_step(engine.world(), 0).unwrap();
    messages.on_dispatch(engine.world(), 0, 0, &ping, None);
    assert_eq!(broken(messages.after_step(engine.world(), 0)), "I3");
}

#[test]
fn i14_bites_when_a_list_is_over_its_cap() {
    let mut config = config(6);
    config.node.membership.members_max = 3;
    let engine = Engine::new(config, Panel::default()).unwrap();
    // The node respects its limit...
    assert_eq!(engine.world().host(0).node().membership().table().len(), 3);
    let mut limits = Limits::default();
    limits.after_step(engine.world(), 0).unwrap();
    // ...and is caught if it does not.
    let mut engine = world(6, Panel::default());
    engine.world_mut().config.node.membership.members_max = 3;
    assert_eq!(broken(limits.after_step(engine.world(), 0)), "I14");
}

#[test]
fn a_violation_names_itself_and_how_to_see_it_again() {
    let violation = Violation {
        invariant: "I2",
        at: Instant::from_micros(1_500_000),
        host: Some(3),
        text: "holds too much".into(),
        rerun: "consort sim chaos --seeds 5..6".into(),
    };
    assert_eq!(
        violation.to_string(),
        "I2 violated at 1.500000s at node 3: holds too much\nrerun: consort sim chaos --seeds 5..6"
    );
}

type Adjust = fn(&mut membership::Config);

/// A group in a row whose nodes are told the distances; with or without a bug: every draw forgets the previous
/// ones.
fn row(nodes: usize, oracle: Panel, policy: Adjust, forgets: bool) -> Engine<Panel> {
    let mut config = config(nodes);
    config.node.membership.distance_source = DistanceSource::Given;
    config.node.membership.distance_exponent = 2.0;
    policy(&mut config.node.membership);
    let policy = config.node.membership.probe_policy;
    if forgets {
        config.node.membership.probe_policy = TargetPolicy::Iid;
    }
    let mut engine = Engine::new(config, oracle).unwrap();
    engine.world_mut().config.node.membership.probe_policy = policy;
    for host in 0..nodes {
        let others = (0..nodes).filter(|&o| o != host);
        let proximity = |o: usize| Proximity {
            id: id_of(o),
            distance: o.abs_diff(host) as f32,
            neighbor: o.abs_diff(host) == 1,
        };
        let command = Command::SetProximity(others.map(proximity).collect());
        engine.command(host, command).unwrap();
    }
    engine
}

#[test]
fn i6_and_i7_hold_for_every_policy_and_bite_when_draws_forget_the_plan() {
    let watch = || Panel::default().with(Gap::default()).with(Bag::default());
    let policies: [(&str, Adjust); 4] = [
        ("I7", |c| c.probe_policy = TargetPolicy::BagPass),
        ("I7", |c| {
            c.probe_policy = TargetPolicy::BagPass;
            c.probe_floor = ProbeFloor::Off;
        }),
        ("I6", |c| c.probe_policy = TargetPolicy::BagRandom),
        ("I6", |c| c.probe_policy = TargetPolicy::Stride),
    ];
    for (invariant, policy) in policies {
        let run = |forgets: bool| {
            let mut engine = row(9, watch(), policy, forgets);
            engine.run_for(secs(2000))
        };
        run(false).unwrap();
        assert_eq!(broken(run(true)), invariant);
    }
}

#[test]
fn i12_bites_when_suspects_are_not_told() {
    let silent = |tamper: Option<Tamper>| {
        let mut engine = world(6, Panel::safety());
        if let Some(tamper) = tamper {
            engine.set_tamper(tamper);
        }
        engine.strike(Fault::Mute(3)).unwrap();
        engine.run_for(secs(6)).unwrap();
        engine.strike(Fault::Heal).unwrap();
        engine.run_for(secs(60))
    };
    silent(None).unwrap();
    // A bug: pings tell of no accusations.
    let lost = silent(Some(|_, _, datagram| {
        let ping = |frame: &Frame| matches!(frame, Frame::Membership(Msg::Ping { .. }));
        if datagram.frames.iter().any(ping) {
            let said = |frame: &Frame| matches!(frame, Frame::Membership(Msg::Accusation(_)));
            datagram.frames.retain(|frame| !said(frame));
        }
        true
    }));
    assert_eq!(broken(lost), "I12");
}

#[test]
fn i13_bites_when_a_node_without_hearing_spreads_verdicts() {
    let deaf = |isolation: bool| {
        let mut config = config(6);
        config.node.membership.isolation = isolation;
        let mut engine = Engine::new(config, Panel::safety()).unwrap();
        engine.schedule(Instant::ZERO + secs(5), Fault::Deafen(2));
        engine.run_for(secs(400))
    };
    deaf(true).unwrap();
    assert_eq!(broken(deaf(false)), "I13");
}
