//! Elections that learn: the published round, which elects two, and the variant with terms, which does not.
//!
//! A round of three is small enough to look at every order of its messages, for every way to vote. The variant
//! with terms runs without leases: promises are over at once; messages get lost, arrive late, in any order and
//! repeatedly; a node crashes and comes back with what it had stored. One leader a term (T1) and one grant of a
//! node for a term (T2) must hold all the same.

mod round;
mod terms;

pub use round::{Pair, Rounds, pairs};
pub use terms::Terms;

/// How a node of a group appears to others.
fn sender(node: usize) -> consort_proto::Sender {
    consort_proto::kit::sender(consort_proto::NodeId(node as u64), consort_proto::Life(1))
}
