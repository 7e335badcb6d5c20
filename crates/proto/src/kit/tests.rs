use super::*;
use crate::id::NodeId;
use crate::protocol::{Cx, Protocol, Sender, To};
use crate::rng::Rng;
use crate::time::Instant;
use alloc::vec;
use alloc::vec::Vec;
use core::time::Duration;

/// Answers every question once, asks everybody when told to, and repeats that a second later.
struct Echo(u32);

#[derive(Clone, Debug, PartialEq)]
enum Msg {
    Ask,
    Answer,
}

impl Protocol for Echo {
    type Input = ();
    type Msg = Msg;
    type Timer = char;
    type Event = &'static str;
    type View<'a> = ();

    fn on_input(&mut self, cx: &mut Cx<'_, Self>, (): (), (): ()) {
        cx.set_timer('x', cx.now);
        cx.send(To::Neighbors, Msg::Ask);
        cx.set_timer('a', cx.now + Duration::from_secs(1));
        cx.cancel_timer('x');
        cx.emit("asked");
    }

    fn on_msg(&mut self, cx: &mut Cx<'_, Self>, (): (), from: Sender, msg: Msg) {
        match msg {
            Msg::Ask => cx.send(To::Node(from.id), Msg::Answer),
            Msg::Answer => self.0 += 1,
        }
    }

    fn on_timer(&mut self, cx: &mut Cx<'_, Self>, (): (), _: char) {
        cx.send(To::Neighbors, Msg::Ask);
    }
}

fn three() -> Net<Echo> {
    Net::new(
        (0..3).map(|n| Host::new(NodeId(n), Echo(0), Rng::seed(1, n))),
        (),
    )
}

#[test]
fn a_host_keeps_deadlines_and_passes_on_the_rest_in_order() {
    let mut host = Host::new(NodeId(0), Echo(0), Rng::seed(1, 1));
    let mut rest = Vec::new();
    for _ in 0..2 {
        host.step(&mut rest, |core, cx| core.on_input(cx, (), ()));
    }
    use crate::protocol::Effect::{Emit, Send};
    let once = || [Send(To::Neighbors, Msg::Ask), Emit("asked")];
    assert_eq!(rest, [once(), once()].concat());
    assert_eq!(host.timers.len(), 1);
    assert_eq!(host.timers.next(), Some(Instant::from_micros(1_000_000)));
}

#[test]
fn messages_wait_until_they_are_delivered_lost_or_due() {
    let mut net = three();
    net.input(0, ());
    assert_eq!(
        (net.broadcasts.len(), net.unicasts, net.flights.len()),
        (1, 0, 2)
    );
    net.deliver(0, 2);
    net.lose(|f| f.to == 1);
    net.settle();
    assert_eq!((net.hosts[&0].core.0, net.unicasts), (1, 1));
    assert_eq!(net.events, vec![(0, "asked")]);
    assert!(!net.deliver_first(|_| true));
    // The deadline comes after a second, question and answer take 10 ms each.
    net.run_for(Duration::from_millis(1019));
    assert_eq!(net.hosts[&0].core.0, 1);
    net.run_for(Duration::from_millis(1));
    assert_eq!(net.hosts[&0].core.0, 3);
    assert!(!net.fire());
}

#[test]
fn the_dead_do_nothing() {
    let mut net = three();
    net.input(0, ());
    net.dead.insert(0);
    net.settle();
    assert_eq!((net.hosts[&0].core.0, net.unicasts), (0, 2));
    assert!(!net.fire());
}

#[test]
fn an_agenda_goes_by_time_then_by_order_of_scheduling() {
    let at = Instant::from_micros;
    let mut agenda = Agenda::default();
    for (time, item) in [(9, 'c'), (5, 'a'), (5, 'b')] {
        agenda.push(at(time), item);
    }
    assert_eq!(agenda.next(), Some(at(5)));
    assert_eq!(agenda.pop(at(4)), None);
    assert_eq!(agenda.pop(at(5)), Some((at(5), 'a')));
    assert_eq!(agenda.pop(at(8)), Some((at(5), 'b')));
    assert_eq!(agenda.pop(at(8)), None);
    assert_eq!(agenda.pop(Instant::MAX), Some((at(9), 'c')));
}
