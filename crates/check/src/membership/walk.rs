//! Random walks: longer executions than can be searched exhaustively. A seed determines a walk.

use super::fair;
use super::flaw::Flaw;
use super::group::{Action, Budget, Group, NODES, State};
use crate::draw::by_weight;
use crate::walk::{Log, Violation, first_violation, wander};
use consort_proto::Rng;
use core::time::Duration;

/// Parameters of a set of walks.
#[derive(Clone, Copy, Debug)]
pub struct Walk {
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
    /// The longest time until lists were correct again.
    pub longest: Duration,
    /// The violation that was found.
    pub broken: Option<Violation<String>>,
}

/// Runs walks until one finds a violation or does not end in agreement.
pub fn walk(walk: &Walk) -> Walked {
    let mut walked = Walked::default();
    let seeds = walk.seed..walk.seed + walk.walks;
    let judge = |(group, state, steps): (Group, State, u32)| {
        walked.walks += 1;
        walked.steps += u64::from(steps);
        if let Some(broken) = state.broken {
            return Some(broken.into());
        }
        match fair::settle(&group, &state) {
            Ok(span) => {
                walked.longest = walked.longest.max(span);
                None
            }
            Err(wrong) => Some(format!("I9: {wrong}")),
        }
    };
    walked.broken = first_violation(seeds, |seed, log| run(walk, seed, log), judge);
    walked
}

/// Which node is deaf for a part of the walk, whether it can send, and which node hardly runs.
#[derive(Clone, Copy, Debug)]
struct Mood {
    deaf: usize,
    mute: bool,
    slow: usize,
    until: u32,
}

fn run(walk: &Walk, seed: u64, log: &mut Log) -> (Group, State, u32) {
    let mut rng = Rng::seed(seed, 23);
    let mut some = |most: u32| rng.below(most + 1) as u8;
    let group = Group {
        strangers: some(3) == 0,
        budget: Budget {
            crashes: some(1),
            restarts: some(1),
            leaves: some(1),
            losses: some(2),
            repeats: some(3),
            pauses: some(1),
        },
        timers: [u16::MAX; NODES],
        fair: false,
        partition: some(1) == 0,
        flaw: walk.flaw,
    };
    let mut mood = Mood {
        deaf: NODES,
        mute: false,
        slow: NODES,
        until: 0,
    };
    let (state, steps) = wander(&group, walk.steps, log, |step, choices| {
        if step == mood.until {
            // "No node" is as likely as each of the nodes.
            mood = Mood {
                deaf: rng.below(NODES as u32 + 1) as usize,
                mute: rng.below(2) == 0,
                slow: rng.below(NODES as u32 + 1) as usize,
                until: step + 20 + rng.below(300),
            };
        }
        choose(&mut rng, choices, mood)
    });
    (group, state, steps)
}

/// Usually a datagram arrives or a timer fires; now and then another action is chosen.
fn choose(rng: &mut Rng, choices: &[Action], mood: Mood) -> Option<Action> {
    let weight = |action: &Action| match action {
        Action::Deliver(e) | Action::Repeat(e) if e.to == mood.deaf => 0,
        Action::Deliver(e) | Action::Repeat(e) if mood.mute && e.from == mood.deaf => 0,
        Action::Fire(n, _) if *n == mood.slow => 1,
        Action::Deliver(_) => 16,
        Action::Fire(..) => 24,
        Action::Restart(_) => 4,
        Action::Lose(_) | Action::Repeat(_) | Action::Pause(_) => 1,
        Action::Crash(_) | Action::Leave(_) => 1,
    };
    by_weight(rng, choices, weight).cloned()
}
