//! What the harness needs of a leader's core.

use consort_proto::{Cx, Life, NodeId, Protocol};

/// A core in the harness.
pub trait Actor: for<'a> Protocol<View<'a> = ()> {
    /// The process starts.
    fn start(&mut self, cx: &mut Cx<'_, Self>);
    /// Who leads, as this node sees it.
    fn leader(&mut self, me: NodeId) -> NodeId;
    /// Neighbours that it names to others.
    fn named(&self, me: NodeId) -> impl Iterator<Item = NodeId> + '_;
    /// Whether its detector takes a node for a neighbour.
    fn hears(&self, id: NodeId) -> bool;
    /// The neighbour that an event says is gone.
    fn missed(event: &Self::Event) -> Option<NodeId>;
    /// Whether a message only says that its sender is there.
    fn is_beacon(msg: &Self::Msg) -> bool;
    /// Bytes of a message.
    fn encoded_len(msg: &Self::Msg) -> usize;
}

/// Which life a node is in that started so often.
pub(super) fn life(starts: u32) -> Life {
    Life(u64::from(starts) << 16)
}
