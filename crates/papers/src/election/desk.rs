//! A few nodes with lists given by hand, for tests and examples.

use super::{Config, Event, Input, Listed, Msg, PaperElection, View};
use alloc::vec::Vec;
use consort_proto::kit::{Flight, Host, Net, Scene};
use consort_proto::{NodeId, Rng};
use core::borrow::Borrow;
use core::ops::{Deref, DerefMut};

/// The list of each node, in order of id, including the node itself.
#[derive(Clone, Debug)]
pub struct Views<V>(pub Vec<V>);

impl<V: Borrow<[Listed]>> Scene<PaperElection> for Views<V> {
    fn view(&self, at: u64) -> View<'_> {
        View(self.0[at as usize].borrow())
    }

    fn multicast(event: &Event) -> Option<Msg> {
        match event {
            Event::Multicast(msg) => Some(msg.clone()),
            _ => None,
        }
    }
}

/// Nodes 0, 1, … and a network from which a test delivers.
#[derive(Clone, Debug)]
pub struct Desk<V> {
    net: Net<PaperElection, Views<V>>,
}

impl<V> Deref for Desk<V> {
    type Target = Net<PaperElection, Views<V>>;

    fn deref(&self) -> &Self::Target {
        &self.net
    }
}

impl<V> DerefMut for Desk<V> {
    fn deref_mut(&mut self) -> &mut Self::Target {
        &mut self.net
    }
}

impl<V: Borrow<[Listed]>> Desk<V> {
    /// Creates nodes of which node n has the list `views[n]`. An initiator draws from its own copy of `rng`.
    pub fn new(config: Config, views: Vec<V>, rng: &Rng) -> Desk<V> {
        let host = |n| Host::new(NodeId(n), PaperElection::new(config), rng.clone());
        Desk {
            net: Net::new((0..views.len() as u64).map(host), Views(views)),
        }
    }

    /// Starts an election at a node. Returns the receivers of queries in flight, in order of id.
    pub fn start(&mut self, at: u64) -> Vec<u64> {
        self.input(at, Input::Start);
        self.asked()
    }

    /// The receivers of queries in flight, in order of id.
    pub fn asked(&self) -> Vec<u64> {
        let mut asked: Vec<u64> = self.queries().map(|f| f.to).collect();
        asked.sort_unstable();
        asked
    }

    /// The queries in flight.
    pub fn queries(&self) -> impl Iterator<Item = &Flight<Msg>> {
        let query = |f: &&Flight<Msg>| matches!(f.msg, Msg::Query(_));
        self.flights.iter().filter(query)
    }

    /// The leader that each node follows.
    pub fn leaders(&self) -> Vec<Option<u64>> {
        let leader = |host: &Host<PaperElection>| host.core.leader().map(|id| id.0);
        self.hosts.values().map(leader).collect()
    }

    /// The nodes that `by` notified, in order.
    pub fn notified(&self, by: u64) -> Vec<u64> {
        let notified = |e: &(u64, Event)| match e {
            (at, Event::Notified(id)) if *at == by => Some(id.0),
            _ => None,
        };
        self.events.iter().filter_map(notified).collect()
    }
}
