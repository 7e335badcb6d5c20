//! The list of a node, and its answers by that list.

use super::msg::{Ask, Msg};
use alloc::vec;
use alloc::vec::Vec;
use consort_proto::NodeId;

/// A listed node.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Listed {
    /// The node. Ids are in order of hash.
    pub id: NodeId,
    /// How often it was suspected.
    pub unhealth: u32,
}

/// The nodes that a node lists, including itself (ER-14), in order of id.
#[derive(Clone, Copy, Debug)]
pub struct View<'a>(pub &'a [Listed]);

impl View<'_> {
    /// The lowest hash listed: the leader that this list alone suggests.
    pub fn lowest(&self) -> Option<NodeId> {
        self.0.first().map(|m| m.id)
    }

    /// The `count` unhealthiest other nodes, worst first. Nodes that were never suspected fill the list too
    /// (ER-13). Of equals the higher id is taken, which the thesis leaves open: taking the lower would exclude the
    /// best healthy nodes wherever few are suspected.
    pub fn worst(&self, me: NodeId, count: usize) -> Vec<NodeId> {
        let mut others: Vec<&Listed> = self.0.iter().filter(|m| m.id != me).collect();
        others.sort_by_key(|m| core::cmp::Reverse((m.unhealth, m.id)));
        others.iter().take(count).map(|m| m.id).collect()
    }

    /// The answer of node `me` to a query.
    pub fn answer(&self, me: NodeId, ask: Option<Ask>) -> Msg {
        let Some(ask) = ask else {
            let best = self.lowest().unwrap_or(me);
            return Msg::Response {
                candidates: vec![best],
                worst: Vec::new(),
            };
        };
        let worst = self.worst(me, usize::from(ask.worst));
        let healthy = self.0.iter().map(|m| m.id).filter(|id| !worst.contains(id));
        let candidates = healthy.take(usize::from(ask.candidates)).collect();
        Msg::Response { candidates, worst }
    }
}
