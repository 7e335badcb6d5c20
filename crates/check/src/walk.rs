//! Random walks through a world: longer executions than can be searched exhaustively. A seed determines a walk.

use crate::search::World;
use core::ops::Range;

/// The steps of a walk, if they are wanted.
pub(crate) type Log = Option<Vec<String>>;

/// A violation that a walk found: its name, the seed of the walk, and the steps.
pub type Violation<T> = (T, u64, Vec<String>);

/// Walks with one seed after the other until `judge` names a violation. The walk with that seed is repeated to learn its
/// steps.
pub(crate) fn first_violation<R, T>(
    seeds: Range<u64>,
    walk: impl Fn(u64, &mut Log) -> R,
    mut judge: impl FnMut(R) -> Option<T>,
) -> Option<Violation<T>> {
    for seed in seeds {
        if let Some(violation) = judge(walk(seed, &mut None)) {
            let mut log = Some(Vec::new());
            walk(seed, &mut log);
            return Some((violation, seed, log.unwrap_or_default()));
        }
    }
    None
}

/// Performs the actions that `choose` selects, given the number of the step, until it selects none, or `steps` of them.
/// Returns the last state and the number of steps.
pub(crate) fn wander<W: World>(
    world: &W,
    steps: u32,
    log: &mut Log,
    mut choose: impl FnMut(u32, &[W::Action]) -> Option<W::Action>,
) -> (W::State, u32) {
    let mut state = world.start();
    let mut choices = Vec::new();
    for step in 0..steps {
        choices.clear();
        world.choices(&state, &mut choices);
        let Some(action) = choose(step, &choices) else {
            return (state, step);
        };
        if let Some(log) = log {
            log.push(format!("{action:?}"));
        }
        world.act(&mut state, action);
    }
    (state, steps)
}
