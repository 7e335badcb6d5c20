//! Every order of events of a few nodes.

use super::flaws::Flaws;
use super::schedule::{Outcome, Schedule, judge};
use super::world::{Action, Core, World};
use core::hash::{Hash, Hasher};
use stateright::{Checker, Expectation, HasDiscoveries, Model, Property};

/// A few nodes with correct initial knowledge, and the events that may follow in any order.
#[derive(Clone, Debug)]
pub struct Small<C: Core> {
    /// Settings of all nodes.
    pub settings: C::Settings,
    /// Number of nodes.
    pub nodes: usize,
    /// Links that exist, and are known, at the start.
    pub linked: Vec<(u8, u8)>,
    /// Number of changes of links.
    pub links: u8,
    /// Number of crashes and restarts.
    pub crashes: u8,
    /// Number of messages that may be lost.
    pub losses: u8,
    /// Flaws that must be found alone; if empty, every state must lead to a correct result.
    pub wants: Vec<Flaws>,
}

/// A state of the model.
#[derive(Clone, Debug)]
pub struct State<C: Core> {
    world: World<C>,
    links: u8,
    crashes: u8,
    losses: u8,
}

impl<C: Core> State<C> {
    fn left(&self) -> [u8; 3] {
        [self.links, self.crashes, self.losses]
    }
}

impl<C: Core> PartialEq for State<C> {
    fn eq(&self, other: &State<C>) -> bool {
        self.left() == other.left() && self.world == other.world
    }
}

impl<C: Core> Hash for State<C> {
    fn hash<H: Hasher>(&self, hasher: &mut H) {
        (self.left(), &self.world).hash(hasher);
    }
}

/// Result of a search.
#[derive(Clone, Debug)]
pub struct Searched {
    /// Number of states examined.
    pub states: usize,
    /// Length of the longest path to one of them.
    pub depth: usize,
    /// Whether all states were examined.
    pub complete: bool,
    /// Flaws that showed alone, with the shortest path to each.
    pub found: Vec<(Flaws, Schedule)>,
    /// The path to a state with an unclassified wrong result.
    pub unknown: Option<Schedule>,
}

impl<C: Core> Small<C> {
    fn start(&self) -> World<C> {
        let mut world = World::new(self.settings.clone(), self.nodes, 0);
        for (a, b) in &self.linked {
            world.act(Action::Link(*a, *b));
            world.act(Action::Rest);
        }
        world
    }

    /// The schedule, including the steps that lead to the initial state.
    fn schedule(&self, actions: Vec<Action>) -> Schedule {
        let linked = self.linked.iter();
        let linked = linked.flat_map(|(a, b)| [Action::Link(*a, *b), Action::Rest]);
        Schedule {
            nodes: self.nodes,
            seed: 0,
            actions: linked.chain(actions).collect(),
        }
    }

    /// Examines every state, or those up to a depth, or the first `most` that are generated.
    pub fn search(self, most: usize, depth: Option<usize>, threads: usize) -> Searched
    where
        C: Send + Sync + 'static,
        C::Settings: Send + Sync + 'static,
        C::Msg: Send + Sync + 'static,
        C::Timer: Send + Sync + 'static,
    {
        let builder = self.clone().checker().threads(threads);
        let builder = builder.finish_when(HasDiscoveries::AnyFailures);
        let builder = builder.target_state_count(most);
        let builder = match depth {
            Some(depth) => builder.target_max_depth(depth),
            None => builder,
        };
        let checker = builder.spawn_bfs().join();
        let way = |name: &'static str| Some(checker.discovery(name)?.into_actions());
        let mut found = Vec::new();
        for property in self.properties() {
            let flaw = Flaws::ALL.iter().find(|f| f.1 == property.name);
            if let (Some(flaw), Expectation::Sometimes) = (flaw, property.expectation) {
                found.extend(way(property.name).map(|w| (flaw.0, self.schedule(w))));
            }
        }
        Searched {
            states: checker.unique_state_count(),
            depth: checker.max_depth(),
            complete: depth.is_none() && checker.state_count() < most,
            found,
            unknown: way(KNOWN).map(|w| self.schedule(w)),
        }
    }
}

/// A property of a state.
type Condition<C> = fn(&Small<C>, &State<C>) -> bool;

const KNOWN: &str = "what is wrong at rest is known";

impl<C> Model for Small<C>
where
    C: Core + Send + Sync + 'static,
    C::Settings: Send + Sync + 'static,
    C::Msg: Send + Sync + 'static,
    C::Timer: Send + Sync + 'static,
{
    type State = State<C>;
    type Action = Action;

    fn init_states(&self) -> Vec<State<C>> {
        vec![State {
            world: self.start(),
            links: self.links,
            crashes: self.crashes,
            losses: self.losses,
        }]
    }

    fn actions(&self, state: &State<C>, out: &mut Vec<Action>) {
        state.world.choices(out);
        if state.losses > 0 {
            let lost = out.iter().filter_map(|action| match *action {
                Action::Deliver(from, to, nth) => Some(Action::Lose(from, to, nth)),
                _ => None,
            });
            let lost: Vec<Action> = lost.collect();
            out.extend(lost);
        }
        let nodes = self.nodes as u8;
        for a in 0..nodes {
            if state.links > 0 {
                out.extend((a + 1..nodes).map(|b| Action::Link(a, b)));
            }
            if !state.world.scene.runs(a.into()) {
                out.push(Action::Start(a));
            } else if state.crashes > 0 {
                out.push(Action::Crash(a));
            }
        }
    }

    fn next_state(&self, last: &State<C>, action: Action) -> Option<State<C>> {
        let mut state = last.clone();
        match action {
            Action::Link(..) => state.links -= 1,
            Action::Crash(_) => state.crashes -= 1,
            Action::Lose(..) => state.losses -= 1,
            _ => {}
        }
        state.world.act(action).then_some(state)
    }

    fn properties(&self) -> Vec<Property<Self>> {
        let mut properties =
            vec![Property::always(
                KNOWN,
                |model: &Self, state: &State<C>| match outcome(model, state) {
                    Outcome::Wrong(_, flaws) => flaws != Flaws::NONE,
                    Outcome::Right => true,
                },
            )];
        let alone: [(Flaws, Condition<C>); 9] = [
            (Flaws::E1, |m, s| shows(m, s, Flaws::E1)),
            (Flaws::E2, |m, s| shows(m, s, Flaws::E2)),
            (Flaws::E4, |m, s| shows(m, s, Flaws::E4)),
            (Flaws::E7, |m, s| shows(m, s, Flaws::E7)),
            (Flaws::E9, |m, s| shows(m, s, Flaws::E9)),
            (Flaws::E19, |m, s| shows(m, s, Flaws::E19)),
            (Flaws::E20, |m, s| shows(m, s, Flaws::E20)),
            (Flaws::E21, |m, s| shows(m, s, Flaws::E21)),
            (Flaws::E22, |m, s| shows(m, s, Flaws::E22)),
        ];
        for (flaw, condition) in alone {
            let name = Flaws::ALL.iter().find(|f| f.0 == flaw).map(|f| f.1);
            if let Some(name) = name.filter(|_| self.wants.contains(&flaw)) {
                properties.push(Property::sometimes(name, condition));
            }
        }
        properties
    }
}

/// The result of a state: of one at rest or, for protocols that never rest, of what follows without faults.
fn outcome<C: Core>(_: &Small<C>, state: &State<C>) -> Outcome {
    match C::PATIENCE {
        None if !state.world.is_quiet() => Outcome::Right,
        None => judge(&state.world),
        Some(patience) => {
            let mut world = state.world.clone();
            world.come_to_rest(0, patience);
            judge(&world)
        }
    }
}

fn shows<C: Core>(model: &Small<C>, state: &State<C>, flaws: Flaws) -> bool {
    match outcome(model, state) {
        Outcome::Wrong(_, shown) => shown == flaws,
        Outcome::Right => false,
    }
}
