//! What every model is, and the breadth-first search of its states, or of as many as requested.

use core::fmt::Debug;
use core::hash::Hash;
use stateright::{Checker, HasDiscoveries, Model, Property};

/// A model: its start, the actions that are possible in a state, and what each of them leads to.
pub trait World: Send + Sync + 'static {
    /// A state of the model.
    type State: Clone + Debug + Hash + PartialEq + Send + Sync + 'static;
    /// An action of the model.
    type Action: Clone + Debug + PartialEq + Send + Sync;

    /// Whether liveness is checked. A search without it ends at the first violation, which has the fewest steps.
    const LIVENESS: bool = false;

    /// The state at the start.
    fn start(&self) -> Self::State;

    /// Appends the possible actions of a state.
    fn choices(&self, state: &Self::State, out: &mut Vec<Self::Action>);

    /// Performs an action. Returns false if it has no effect.
    fn act(&self, state: &mut Self::State, action: Self::Action) -> bool;

    /// The invariant that a state violates.
    fn broken(&self, state: &Self::State) -> Option<&'static str>;

    /// Whether liveness can still be reached from a state that violates no invariant. Default: yes.
    fn is_live(&self, _state: &Self::State) -> bool {
        true
    }

    /// Whether a state is what the model is about. If no such state is reached, the other results mean little.
    fn is_reached(&self, state: &Self::State) -> bool;
}

const SAFE: &str = "safe";
const LIVE: &str = "nobody waits in vain";
const REACHED: &str = "reached";

/// A world whose states are searched.
struct Space<W>(W);

impl<W: World> Model for Space<W> {
    type State = W::State;
    type Action = W::Action;

    fn init_states(&self) -> Vec<W::State> {
        vec![self.0.start()]
    }

    fn actions(&self, state: &W::State, out: &mut Vec<W::Action>) {
        self.0.choices(state, out);
    }

    fn next_state(&self, last: &W::State, action: W::Action) -> Option<W::State> {
        let mut state = last.clone();
        self.0.act(&mut state, action).then_some(state)
    }

    fn properties(&self) -> Vec<Property<Self>> {
        let live = Property::always(LIVE, |space: &Self, s| {
            space.0.broken(s).is_some() || space.0.is_live(s)
        });
        let mut properties = vec![
            Property::always(SAFE, |space: &Self, s| space.0.broken(s).is_none()),
            Property::sometimes(REACHED, |space: &Self, s| space.0.is_reached(s)),
        ];
        properties.extend(W::LIVENESS.then_some(live));
        properties
    }
}

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

/// Searches every state of a world, or the first `most` that are generated, until a violation is found.
pub(crate) fn search<W: World>(world: W, most: usize, threads: usize) -> Searched {
    let builder = Space(world).checker().threads(threads);
    let builder = builder.finish_when(HasDiscoveries::AnyFailures);
    let checker = builder.target_state_count(most).spawn_bfs().join();
    let found = checker.discoveries();
    let path = found.get(SAFE).or(found.get(LIVE)).cloned();
    let broken = path.map(|path| {
        let what = checker.model().0.broken(path.last_state()).unwrap_or(LIVE);
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
