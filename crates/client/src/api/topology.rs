//! Bodies about the topology.

use serde::{Deserialize, Serialize};

/// The component that a leader was chosen for, in an election by component.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(not(feature = "_agent"), non_exhaustive)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
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

/// A current or recent neighbour.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(not(feature = "_agent"), non_exhaustive)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
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

/// A node of the component.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(not(feature = "_agent"), non_exhaustive)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
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
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(not(feature = "_agent"), non_exhaustive)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct ApartView {
    /// Announced name.
    pub name: String,
    /// 16 hexadecimal digits.
    pub id: String,
}

/// The topology of the network, as the answering node sees it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(not(feature = "_agent"), non_exhaustive)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
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
