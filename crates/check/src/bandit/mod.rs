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

use core::fmt::Debug;
use core::hash::Hash;
use stateright::{Checker, HasDiscoveries, Model};

/// Nothing is broken.
const SAFE: &str = "safe";
/// What makes the rest worth something.
const REACHED: &str = "reached";

/// What came out.
#[derive(Clone, Debug)]
pub struct Searched {
    /// Different states seen.
    pub states: usize,
    /// Steps of the longest execution looked at.
    pub depth: usize,
    /// Whether every state was seen.
    pub complete: bool,
    /// What is broken, and the steps that break it.
    pub broken: Option<(&'static str, Vec<String>)>,
    /// Whether leaders were elected at all.
    pub reached: bool,
}

/// Looks at every state of a model, or at the first `most` that are generated, breadth first.
fn search<M>(
    model: M,
    most: usize,
    threads: usize,
    broken: fn(&M::State) -> Option<&'static str>,
) -> Searched
where
    M: Model + Send + Sync + 'static,
    M::State: Clone + Debug + Hash + PartialEq + Send + Sync + 'static,
    M::Action: Clone + Debug + PartialEq + Send + Sync,
{
    let builder = model.checker().threads(threads);
    let builder = builder.finish_when(HasDiscoveries::AnyFailures);
    let checker = builder.target_state_count(most).spawn_bfs().join();
    let broken = checker.discovery(SAFE).map(|path| {
        let what = broken(path.last_state()).unwrap_or(SAFE);
        let steps = path.into_actions().into_iter();
        (what, steps.map(|a| format!("{a:?}")).collect())
    });
    Searched {
        states: checker.unique_state_count(),
        depth: checker.max_depth(),
        complete: broken.is_none() && checker.state_count() < most,
        broken,
        reached: checker.discovery(REACHED).is_some(),
    }
}

/// How a node of a group appears to others.
fn sender(node: usize) -> consort_proto::Sender {
    consort_proto::Sender {
        id: consort_proto::NodeId(node as u64),
        life: consort_proto::Life(1),
        incarnation: consort_proto::Incarnation(0),
        addr: core::net::SocketAddr::from((core::net::Ipv4Addr::LOCALHOST, 1)),
        leaving: false,
        unlucky: false,
        isolated: false,
        digest: 0,
        coordinate: None,
    }
}
