//! Interface between the harness and a leader's core.

use consort_proto::{Cx, Life, NodeId, Protocol};

/// A core in the harness.
pub trait Actor: for<'a> Protocol<View<'a> = ()> {
    /// The process starts.
    fn start(&mut self, cx: &mut Cx<'_, Self>);
    /// The leader according to this node.
    fn leader(&mut self, me: NodeId) -> NodeId;
    /// Neighbours that it names to others.
    fn named(&self, me: NodeId) -> impl Iterator<Item = NodeId> + '_;
    /// Whether its detector considers a node a neighbour.
    fn hears(&self, id: NodeId) -> bool;
    /// The neighbour that an event reports as gone.
    fn missed(event: &Self::Event) -> Option<NodeId>;
    /// Whether a message only announces its sender.
    fn is_beacon(msg: &Self::Msg) -> bool;
    /// Bytes of a message.
    fn encoded_len(msg: &Self::Msg) -> usize;
}

/// The life of a node that has started this often.
pub(super) fn life(starts: u32) -> Life {
    Life(u64::from(starts) << 16)
}
