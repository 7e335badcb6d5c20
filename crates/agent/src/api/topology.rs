//! Bodies about who hears whom.

use consort::{ComponentMember, LinkState, Neighbour, Scope, TopologyStatus};
use core::time::Duration;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// For whom a leader was chosen in an election by component.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct ScopeView {
    /// The smallest id in the component: tells components apart.
    pub component: String,
    /// How many nodes are in it, the answering one included.
    pub size: u64,
    /// The share of the members known that are in it, rounded down. Little in a small part of a partition.
    pub share_percent: u8,
    /// Hash of what its nodes say of their links: 16 hexadecimal digits.
    pub digest: String,
    /// For how long it has had this leader.
    pub since_ms: u64,
    /// Whether that has been so for long enough to be told.
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

/// A neighbour, or one that was of late.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct NeighbourView {
    /// Announced name; empty while its record is not known.
    pub name: String,
    /// 16 hexadecimal digits.
    pub id: String,
    /// Where it was heard from last (UDP).
    pub address: String,
    /// `two_way`, `one_way` (heard, but not hearing this node, or too badly, or held down) or `down`.
    pub state: String,
    /// For how long.
    pub state_for_ms: u64,
    /// Share of its latest hellos that arrived.
    pub quality_percent: u32,
    /// How long ago it was heard last.
    pub heard_ago_ms: u64,
    /// How much longer the link is held down because it came and went too often, `null` when it is not.
    pub held_for_ms: Option<u64>,
    /// Hellos in a row by which it had other records than this node.
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
    /// Sum of its distances to the others in hops, `null` for a moment after it came.
    pub farness: Option<u32>,
    /// One by the mean distance: 1 is next to all others, 0 alone.
    pub closeness: f64,
    /// Ids of those that it hears and that hear it.
    pub neighbours: Vec<String>,
    /// Elections by component that it leads, by name or by id.
    pub leads: Vec<String>,
}

/// A member that is out of reach over links.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct ApartView {
    /// Announced name.
    pub name: String,
    /// 16 hexadecimal digits.
    pub id: String,
}

/// Who hears whom, as the answering node sees it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct TopologyView {
    /// Id of the answering node.
    pub node: String,
    /// Its name.
    pub node_name: String,
    /// Interfaces on which it looks for neighbours.
    pub interfaces: Vec<String>,
    /// Peers to whom it says hello one by one.
    pub peers: Vec<String>,
    /// Neighbours, and those that were of late.
    pub neighbours: Vec<NeighbourView>,
    /// The smallest id in its component.
    pub component: String,
    /// Hash of what the nodes of it say of their links: 16 hexadecimal digits.
    pub digest: String,
    /// The nodes of its component, itself included, in order of id.
    pub members: Vec<ComponentMemberView>,
    /// Every link of the component once: two ids.
    pub links: Vec<[String; 2]>,
    /// Members of the group in other components.
    pub apart: Vec<ApartView>,
    /// How central the answering node is: 0 is next to all others, 15 far from most, or alone.
    pub centrality: u8,
    /// Records kept of nodes out of reach.
    pub records_apart: u64,
    /// Links that it tells of and does not have, or the other way round: 0 but for a moment.
    pub phantoms: u64,
    /// Counts since start.
    pub stats: serde_json::Value,
}

impl TopologyView {
    /// `leaders` are the elections by component, with who leads them.
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
            // Plain numbers: they always serialise.
            stats: serde_json::to_value(status.stats).unwrap_or_default(),
        }
    }
}

fn millis(span: Duration) -> u64 {
    span.as_millis() as u64
}
