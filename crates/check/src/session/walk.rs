//! Random walks: longer executions than can be searched exhaustively. A seed determines a walk.

use super::pair::{Action, Budget, Flaw, Kind, Pair, State};
use crate::draw::by_weight;
use crate::search::World;
use crate::walk::{Log, Violation, first_violation, wander};
use consort_proto::Rng;
use core::time::Duration;

/// Parameters of a set of walks.
#[derive(Clone, Copy, Debug)]
pub struct Walk {
    /// The group.
    pub kind: Kind,
    /// The first seed.
    pub seed: u64,
    /// Number of walks.
    pub walks: u64,
    /// Most steps of each.
    pub steps: u32,
    /// The planted mistake, if any.
    pub flaw: Option<Flaw>,
}

/// Statistics of walks.
#[derive(Clone, Debug, Default)]
pub struct Walked {
    /// Walks taken.
    pub walks: u64,
    /// Steps taken.
    pub steps: u64,
    /// The longest time until both had proven each other after nothing was lost any more.
    pub longest: Duration,
    /// The violation that was found.
    pub broken: Option<Violation<&'static str>>,
}

/// Runs walks until one finds a violation, or does not end with both nodes knowing each other.
pub fn walk(walk: &Walk) -> Walked {
    let mut walked = Walked::default();
    let seeds = walk.seed..walk.seed + walk.walks;
    let judge = |(pair, mut state, steps): (Pair, State, u32)| {
        walked.walks += 1;
        walked.steps += u64::from(steps);
        let broken = pair.broken(&state);
        broken.or_else(|| match state.settle() {
            Ok(span) => {
                walked.longest = walked.longest.max(span);
                None
            }
            Err(wrong) => Some(wrong),
        })
    };
    walked.broken = first_violation(seeds, |seed, log| run(walk, seed, log), judge);
    walked
}

fn run(walk: &Walk, seed: u64, log: &mut Log) -> (Pair, State, u32) {
    let mut rng = Rng::seed(seed, 29);
    let mut some = |most: u32| rng.below(most + 1) as u8;
    let pair = Pair {
        kind: walk.kind,
        met: some(1) == 0,
        budget: Budget {
            restarts: some(4),
            losses: some(1),
            timers: u16::MAX,
            replays: u8::MAX,
            deliveries: u16::MAX,
        },
        flaw: walk.flaw,
    };
    let (state, steps) = wander(&pair, walk.steps, log, |_, choices| {
        // There is more to replay with every step, which must not take the time of everything else.
        let is_attack =
            |a: &Action| matches!(a, Action::Replay(_) | Action::Move(_) | Action::Reflect(_));
        let sent = choices.iter().filter_map(|a| match a {
            Action::Deliver(at) => Some(*at),
            _ => None,
        });
        let latest = sent.max().unwrap_or_default();
        let attacks = rng.below(4) == 0 && choices.iter().any(is_attack);
        let weight = |action: &Action| match action {
            Action::Restart(_) | Action::Lose(_) => 1,
            Action::Fire(_) => 10,
            // What is late mostly never comes.
            Action::Deliver(at) => 1 + 20 * u32::from(at + 6 > latest),
            _ => 1,
        };
        let weight = |action: &Action| match attacks == is_attack(action) {
            true => weight(action),
            false => 0,
        };
        by_weight(&mut rng, choices, weight).copied()
    });
    (pair, state, steps)
}
