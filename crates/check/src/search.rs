//! Every state of a model, or as many as there is time for, breadth first.

use core::fmt::Debug;
use core::hash::Hash;
use stateright::{Checker, HasDiscoveries, Model};

/// Nothing is broken.
pub(crate) const SAFE: &str = "safe";
/// What should happen in the end can still happen. Models without it need not name it.
pub(crate) const LIVE: &str = "nobody waits in vain";
/// What makes the rest worth something.
pub(crate) const REACHED: &str = "reached";

/// What came out of a search.
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
    /// Whether what the model is about has happened at all.
    pub reached: bool,
}

/// Looks at every state of a model, or at the first `most` that are generated. `broken` says what is wrong
/// with a state that is not [`SAFE`].
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
