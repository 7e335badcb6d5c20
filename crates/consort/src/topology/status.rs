//! The network around a node, as the node sees it.

use crate::clock::Clock;
use crate::topology::Radio;
use consort_proto::membership::Phase;
use consort_proto::omega::{self, LinkState};
use consort_proto::{Instant, NodeId, election};
use core::net::SocketAddr;
use core::time::Duration;

/// The component that a leader was chosen for, in an election by component.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub struct Scope {
    /// The smallest id in the component, which identifies it.
    pub component: NodeId,
    /// The number of nodes in it, including the asked one.
    pub size: usize,
    /// The share of the group's members that are in it, as the asked node counts them: 1 if all are, and little on a
    /// small side of a partition.
    pub share: f64,
    /// A hash of its nodes' link records. Nodes with the same hash choose the same leader.
    pub digest: u64,
    /// The time since which it has this leader.
    pub since: std::time::Instant,
    /// Whether the leader has been the same for long enough to be reported.
    pub settled: bool,
}

/// The scope of an election by component among `known` members.
pub(crate) fn scope(scope: &election::Scope, known: usize, clock: Clock) -> Scope {
    Scope {
        component: scope.component,
        size: scope.size,
        // Nodes that hear each other may learn of each other as members only later.
        share: scope.size as f64 / known.max(scope.size) as f64,
        digest: scope.digest,
        since: clock.when(scope.since).into_std(),
        settled: scope.settled,
    }
}

/// A node that hears this one, or that this one hears, now or recently.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Neighbour {
    /// The node's id.
    pub id: NodeId,
    /// Its announced name; empty while its record is not known.
    pub name: String,
    /// The source address of its last message.
    pub addr: SocketAddr,
    /// The state of the link.
    pub state: LinkState,
    /// How long the link has been in that state.
    pub state_for: Duration,
    /// The share of its latest hellos that arrived, in percent.
    pub quality_percent: u32,
    /// The time since it was last heard.
    pub heard_ago: Duration,
    /// How much longer the link is held down because it came and went too often.
    pub held_for: Option<Duration>,
    /// The number of consecutive hellos whose records differed from this node's. A few are normal during changes.
    pub mismatches: u8,
}

/// A node of the component.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct ComponentMember {
    /// The node's id.
    pub id: NodeId,
    /// Its announced name; empty while its record is not known.
    pub name: String,
    /// The sum of its distances to all others, in hops; `None` for a moment after it appeared.
    pub farness: Option<u32>,
    /// The inverse of the mean distance to the others: 1 means adjacent to all of them, 0 alone.
    pub closeness: f64,
    /// The nodes with which it has a link in both directions, ordered by id.
    pub neighbours: Vec<NodeId>,
}

/// The nodes that can be reached from this one over any number of links.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Component {
    /// The smallest id in it.
    pub id: NodeId,
    /// A hash of its nodes' link records.
    pub digest: u64,
    /// Its nodes, including the asked one, ordered by id.
    pub members: Vec<ComponentMember>,
}

impl Component {
    /// Every link once, with the smaller id first.
    pub fn links(&self) -> impl Iterator<Item = (NodeId, NodeId)> + '_ {
        self.members.iter().flat_map(|m| {
            let later = m.neighbours.iter().filter(move |&&n| n > m.id);
            later.map(move |&n| (m.id, n))
        })
    }
}

/// The topology of the network, as a node sees it; see [`Node::topology`](crate::Node::topology).
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct TopologyStatus {
    /// The asked node.
    pub id: NodeId,
    /// The interfaces in use.
    pub interfaces: Vec<String>,
    /// The peers that receive hellos by unicast.
    pub peers: Vec<SocketAddr>,
    /// Current and recent neighbours, ordered by id.
    pub neighbours: Vec<Neighbour>,
    /// All reachable nodes.
    pub component: Component,
    /// The members of the group that cannot be reached, with their names, ordered by id.
    pub apart: Vec<(NodeId, String)>,
    /// The number of records of unreachable nodes, members or not.
    pub records_apart: usize,
    /// The number of links in which this node's own record differs from its actual links. If it is not 0 for longer
    /// than a moment, this program has a bug.
    pub phantoms: usize,
    /// The centrality level of the asked node: 0 means adjacent to all others, 15 far from most.
    pub centrality: u8,
    /// Counters since the start.
    pub stats: omega::Stats,
}

impl TopologyStatus {
    pub(crate) fn new(node: &consort_proto::Node, radio: &Radio, now: Instant) -> TopologyStatus {
        let (me, omega) = (node.id(), node.omega());
        let members = node.membership();
        let name = |id: NodeId| match members.table().get(id) {
            Some(member) => member.meta.name.clone(),
            None if id == me => members.meta().name.clone(),
            None => String::new(),
        };
        let neighbours = omega.links().map(|link| Neighbour {
            id: link.id,
            name: name(link.id),
            addr: link.addr,
            state: link.state,
            state_for: now.since(link.since),
            quality_percent: link.quality(),
            heard_ago: now.since(link.heard_at),
            held_for: link.held_until(now).map(|until| until.since(now)),
            mismatches: link.mismatches(),
        });
        let two_way: Vec<NodeId> = (omega.links().filter(|l| l.state == LinkState::TwoWay))
            .map(|l| l.id)
            .collect();
        let said = omega.own_record(me).map_or(&[][..], |r| &r.neighbours);
        let differs = |a: &[NodeId], b: &[NodeId]| a.iter().filter(|n| !b.contains(n)).count();
        let component = component(node, name);
        let here = |id| {
            component
                .members
                .binary_search_by_key(&id, |m| m.id)
                .is_ok()
        };
        let table = members.table();
        let live = table.iter().filter(|m| m.phase != Phase::Down);
        let apart = live.filter(|m| !here(m.id));
        let apart = apart.map(|m| (m.id, m.meta.name.clone())).collect();
        TopologyStatus {
            id: me,
            interfaces: radio.interfaces().map(str::to_owned).collect(),
            peers: radio.peers().to_vec(),
            neighbours: neighbours.collect(),
            apart,
            records_apart: omega
                .records()
                .filter(|(_, farness)| farness.is_none())
                .count(),
            phantoms: differs(&two_way, said) + differs(said, &two_way),
            centrality: omega.centrality(),
            stats: *omega.stats(),
            component,
        }
    }
}

fn component(node: &consort_proto::Node, name: impl Fn(NodeId) -> String) -> Component {
    let omega = node.omega();
    let (ids, graph) = omega.graph(node.id());
    let others = ids.len().saturating_sub(1);
    let far = omega
        .records()
        .filter_map(|(r, farness)| Some((r.id, farness?)));
    let far: Vec<(NodeId, u32)> = far.collect();
    let members = ids.iter().enumerate().map(|(n, &id)| {
        let at = far.binary_search_by_key(&id, |f| f.0).ok();
        let farness = at.map(|at| far[at].1).filter(|&f| f < u32::MAX);
        let closeness = match farness {
            Some(farness) if farness > 0 => others as f64 / f64::from(farness),
            _ => 0.0,
        };
        let mut neighbours: Vec<NodeId> = graph
            .neighbours(n)
            .iter()
            .map(|&at| ids[at as usize])
            .collect();
        neighbours.sort_unstable();
        ComponentMember {
            id,
            name: name(id),
            farness,
            closeness: closeness.min(1.0),
            neighbours,
        }
    });
    Component {
        id: ids.first().copied().unwrap_or(node.id()),
        digest: omega.digest(),
        members: members.collect(),
    }
}
