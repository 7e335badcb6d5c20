//! Elections that learn: the published round, which can elect two leaders, and the variant with terms, which
//! cannot.
//!
//! A round of three nodes is small enough to examine every message order for every combination of votes. The
//! variant with terms runs without leases: promises end at once; messages are lost, delayed, reordered and
//! duplicated; a node crashes and restarts with what it had stored. One leader per term (T1) and one grant per node
//! and term (T2) must hold nevertheless.

mod round;
mod terms;

pub use round::{Pair, Rounds, pairs};
pub use terms::Terms;

/// The sender data of a node of the group.
fn sender(node: usize) -> consort_proto::Sender {
    consort_proto::kit::sender(consort_proto::NodeId(node as u64), consort_proto::Life(1))
}
