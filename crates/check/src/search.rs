//! Breadth-first search of every state of a model, or of as many as requested.

use core::fmt::Debug;
use core::hash::Hash;
use stateright::{Checker, HasDiscoveries, Model};

/// Nothing is broken.
pub(crate) const SAFE: &str = "safe";
/// Liveness can still be reached. Models without it need not name it.
pub(crate) const LIVE: &str = "nobody waits in vain";
/// Reachability: without it the other results mean little.
pub(crate) const REACHED: &str = "reached";

/// Result of a search.
#[derive(Clone, Debug)]
pub struct Searched {
    /// Number of distinct states.
    pub states: usize,
    /// Steps of the longest execution examined.
    pub depth: usize,
    /// Whether every state was examined.
    pub complete: bool,
    /// The violated property, and the steps that violate it.
    pub broken: Option<(&'static str, Vec<String>)>,
    /// Whether the state that the model is about was reached.
    pub reached: bool,
}

/// Searches every state of a model, or the first `most` that are generated. `broken` names the violation of a state
/// that is not [`SAFE`].
pub(crate) fn search<M>(
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
    let found = checker.discoveries();
    let path = found.get(SAFE).or(found.get(LIVE)).cloned();
    let broken = path.map(|path| {
        let what = broken(path.last_state()).unwrap_or(LIVE);
        let steps = path.into_actions().into_iter();
        (what, steps.map(|a| format!("{a:?}")).collect())
    });
    Searched {
        states: checker.unique_state_count(),
        depth: checker.max_depth(),
        complete: broken.is_none() && checker.state_count() < most,
        broken,
        reached: found.contains_key(REACHED),
    }
}
