//! Bodies about the topology.

use consort::{ComponentMember, LinkState, Neighbour, Scope, TopologyStatus};
use core::time::Duration;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// The component that a leader was chosen for, in an election by component.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct ScopeView {
    /// The smallest id in the component, which identifies it.
    pub component: String,
    /// The number of nodes in it, including the answering one.
    pub size: u64,
    /// The share of the known members that are in it, rounded down. It is small on a small side of a partition.
    pub share_percent: u8,
    /// A hash of its nodes' link records: 16 hexadecimal digits.
    pub digest: String,
    /// How long it has had this leader.
    pub since_ms: u64,
    /// Whether the leader has been the same for long enough to be reported.
    pub settled: bool,
}

impl From<&Scope> for ScopeView {
    fn from(scope: &Scope) -> ScopeView {
        ScopeView {
            component: scope.component.to_string(),
            size: scope.size as u64,
            share_percent: (scope.share * 100.0) as u8,
            digest: format!("{:016x}", scope.digest),
            since_ms: millis(scope.since.elapsed()),
            settled: scope.settled,
        }
    }
}

/// A current or recent neighbour.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct NeighbourView {
    /// Announced name; empty while its record is not known.
    pub name: String,
    /// 16 hexadecimal digits.
    pub id: String,
    /// The source address of its last message (UDP).
    pub address: String,
    /// `two_way`, `one_way` (heard, but it does not hear this node, is heard too badly, or the link is held down) or
    /// `down`.
    pub state: String,
    /// How long the link has been in that state.
    pub state_for_ms: u64,
    /// The share of its latest hellos that arrived.
    pub quality_percent: u32,
    /// The time since it was last heard.
    pub heard_ago_ms: u64,
    /// How much longer the link is held down because it came and went too often; `null` if it is not.
    pub held_for_ms: Option<u64>,
    /// The number of consecutive hellos whose records differed from this node's.
    pub mismatches: u8,
}

impl From<&Neighbour> for NeighbourView {
    fn from(n: &Neighbour) -> NeighbourView {
        NeighbourView {
            name: n.name.clone(),
            id: n.id.to_string(),
            address: n.addr.to_string(),
            state: match n.state {
                LinkState::TwoWay => "two_way",
                LinkState::OneWay => "one_way",
                LinkState::Down => "down",
            }
            .to_owned(),
            state_for_ms: millis(n.state_for),
            quality_percent: n.quality_percent,
            heard_ago_ms: millis(n.heard_ago),
            held_for_ms: n.held_for.map(millis),
            mismatches: n.mismatches,
        }
    }
}

/// A node of the component.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct ComponentMemberView {
    /// Announced name; empty while its record is not known.
    pub name: String,
    /// 16 hexadecimal digits.
    pub id: String,
    /// The sum of its distances to the others in hops; `null` for a moment after it appeared.
    pub farness: Option<u32>,
    /// The inverse of the mean distance to the others: 1 means adjacent to all of them, 0 alone.
    pub closeness: f64,
    /// The ids of the nodes with which it has a link in both directions.
    pub neighbours: Vec<String>,
    /// The elections by component that it leads, by name or id.
    pub leads: Vec<String>,
}

/// A member that cannot be reached over links.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct ApartView {
    /// Announced name.
    pub name: String,
    /// 16 hexadecimal digits.
    pub id: String,
}

/// The topology of the network, as the answering node sees it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct TopologyView {
    /// The id of the answering node.
    pub node: String,
    /// The name of the answering node.
    pub node_name: String,
    /// The interfaces on which it looks for neighbours.
    pub interfaces: Vec<String>,
    /// The peers that receive hellos by unicast.
    pub peers: Vec<String>,
    /// Current and recent neighbours.
    pub neighbours: Vec<NeighbourView>,
    /// The smallest id in its component.
    pub component: String,
    /// A hash of the link records of the component's nodes: 16 hexadecimal digits.
    pub digest: String,
    /// The nodes of its component, including itself, ordered by id.
    pub members: Vec<ComponentMemberView>,
    /// Every link of the component once, as two ids.
    pub links: Vec<[String; 2]>,
    /// The members of the group in other components.
    pub apart: Vec<ApartView>,
    /// The centrality level of the answering node: 0 means adjacent to all others, 15 far from most, or alone.
    pub centrality: u8,
    /// The number of records of unreachable nodes.
    pub records_apart: u64,
    /// The number of links in which its own record differs from its actual links; 0 except for a moment.
    pub phantoms: u64,
    /// Counters since the start.
    pub stats: serde_json::Value,
}

impl TopologyView {
    /// `leaders` are the elections by component, with their leaders.
    pub(crate) fn new(
        status: &TopologyStatus,
        node_name: &str,
        leaders: &[(String, consort::NodeId)],
    ) -> TopologyView {
        let member = |m: &ComponentMember| ComponentMemberView {
            name: m.name.clone(),
            id: m.id.to_string(),
            farness: m.farness,
            closeness: m.closeness,
            neighbours: m.neighbours.iter().map(ToString::to_string).collect(),
            leads: (leaders.iter().filter(|(_, id)| *id == m.id))
                .map(|(name, _)| name.clone())
                .collect(),
        };
        let component = &status.component;
        let links = component
            .links()
            .map(|(a, b)| [a.to_string(), b.to_string()]);
        TopologyView {
            node: status.id.to_string(),
            node_name: node_name.to_owned(),
            interfaces: status.interfaces.clone(),
            peers: status.peers.iter().map(ToString::to_string).collect(),
            neighbours: status.neighbours.iter().map(NeighbourView::from).collect(),
            component: component.id.to_string(),
            digest: format!("{:016x}", component.digest),
            members: component.members.iter().map(member).collect(),
            links: links.collect(),
            apart: (status.apart.iter())
                .map(|(id, name)| ApartView {
                    name: name.clone(),
                    id: id.to_string(),
                })
                .collect(),
            centrality: status.centrality,
            records_apart: status.records_apart as u64,
            phantoms: status.phantoms as u64,
            // Plain numbers always serialise.
            stats: serde_json::to_value(status.stats).unwrap_or_default(),
        }
    }
}

fn millis(span: Duration) -> u64 {
    span.as_millis() as u64
}
