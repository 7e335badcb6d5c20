//! The product's lock in the harness.

use super::actor::{Actor, Birth, Change, Happened};
use super::run::{index, sender};
use crate::world::addr_of;
use alloc::sync::Arc;
use consort_proto::membership::{Arrival, Departure, Event as Membership};
use consort_proto::mutex::{
    Acquire, Event, Input, LockId, Mode, Msg, Mutex, Order, PLACES, Peers, Policy, Ticket, Wait,
};
use consort_proto::wire::{Frame, HEADER_LEN};
use consort_proto::{Cx, NodeId, Protocol};
use core::net::SocketAddr;
use core::time::Duration;

/// The one lock of an experiment.
const NAME: &str = "lock";

/// Every address is known, and all nodes are equally far: requests go to all listed nodes.
struct Everywhere;

impl Peers for Everywhere {
    fn addr(&self, id: NodeId) -> Option<SocketAddr> {
        Some(addr_of(index(id)))
    }

    fn distance(&self, _: NodeId) -> f32 {
        0.0
    }

    fn own_addr(&self) -> Option<SocketAddr> {
        None
    }
}

impl Actor for Mutex {
    type Terms = Arc<Policy>;
    const QUEUES: bool = true;
    /// Nodes read each other's clocks first.
    const WARMUP: Duration = Duration::from_secs(10);

    fn view(_: &[NodeId], _: u32) -> &dyn Peers {
        &Everywhere
    }

    fn start(&mut self, cx: &mut Cx<'_, Self>, peers: &dyn Peers, birth: Birth<'_>) {
        let place = (birth.place * f64::from(PLACES)) as u16;
        let order = Order::SetPlace(place.min(PLACES - 1));
        self.on_input(cx, peers, Input::Order(order));
        for &(id, life) in birth.members {
            let how = Arrival::Joined;
            self.on_input(cx, peers, Input::Member(Membership::Up { id, life, how }));
        }
        // The lock clock that is piggybacked on membership traffic where locks are in use.
        if let Some(&(id, life)) = birth.members.first() {
            self.on_msg(cx, peers, sender(id, life), Msg::Clock(0));
        }
    }

    fn acquire(
        &mut self,
        cx: &mut Cx<'_, Self>,
        peers: &dyn Peers,
        terms: &Arc<Policy>,
        ticket: u64,
    ) {
        let acquire = Acquire {
            name: NAME.into(),
            ticket: Ticket(ticket),
            mode: Mode::Exclusive,
            wait: Wait::Forever,
            policy: terms.clone(),
        };
        self.on_input(cx, peers, Input::Order(Order::Acquire(acquire)));
    }

    fn release(&mut self, cx: &mut Cx<'_, Self>, peers: &dyn Peers, ticket: u64) {
        let order = Order::Release(LockId::of(NAME), Ticket(ticket));
        self.on_input(cx, peers, Input::Order(order));
    }

    fn change(&mut self, cx: &mut Cx<'_, Self>, peers: &dyn Peers, change: Change) {
        let event = match change {
            Change::Added(id, life) => Membership::Up {
                id,
                life,
                how: Arrival::Joined,
            },
            Change::Removed(id, life) => Membership::Down {
                id,
                life,
                why: Departure::Failed,
                by: cx.me,
            },
            Change::Size => return,
        };
        self.on_input(cx, peers, Input::Member(event));
        if let Change::Removed(id, _) = change {
            // These lists keep no failed members.
            self.on_input(cx, peers, Input::Member(Membership::Forgotten { id }));
        }
        // As at the start: a node that began with an empty list learns of it now.
        if let Change::Added(id, life) = change {
            self.on_msg(cx, peers, sender(id, life), Msg::Clock(0));
        }
    }

    fn happened(event: &Event) -> Happened {
        match *event {
            Event::Granted { ticket, token, .. } => Happened::Entered {
                ticket: Some(ticket.0),
                token: token.0,
            },
            Event::Lost { ticket, .. } => Happened::Lost(ticket.0),
            Event::Refused { ticket, .. } => Happened::Refused(ticket.0),
            _ => Happened::Nothing,
        }
    }

    fn takes_phantom_hop(_: &Msg) -> bool {
        false
    }

    fn encoded_len(msg: &Msg) -> usize {
        HEADER_LEN + Frame::Mutex(msg.clone()).encoded_len()
    }

    fn counts(&self) -> [u64; 3] {
        let stats = self.stats();
        [stats.lapses, stats.fresh_rounds, stats.claims]
    }
}
