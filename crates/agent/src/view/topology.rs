//! Bodies about the topology.

use crate::api::{ApartView, ComponentMemberView, NeighbourView, ScopeView, TopologyView};
use consort::topology::{ComponentMember, LinkState, Neighbour, Scope, TopologyStatus};
use core::time::Duration;

/// The component that a leader was chosen for.
pub(crate) fn scope(scope: &Scope) -> ScopeView {
    ScopeView {
        component: scope.component.to_string(),
        size: scope.size as u64,
        share_percent: (scope.share * 100.0) as u8,
        digest: format!("{:016x}", scope.digest),
        since_ms: millis(scope.since.elapsed()),
        settled: scope.settled,
    }
}

fn neighbour(n: &Neighbour) -> NeighbourView {
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

/// The topology as a node sees it; `leaders` are the elections by component, with their leaders.
pub(crate) fn topology(
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
        neighbours: status.neighbours.iter().map(neighbour).collect(),
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

fn millis(span: Duration) -> u64 {
    span.as_millis() as u64
}
