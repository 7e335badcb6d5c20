//! Random walks: longer executions of larger groups, with more faults, than can be searched exhaustively. A seed
//! determines a group and everything that happens to it.

use super::group::{Action, Budget, Flaw, Group, State, Watch};
use crate::draw::by_weight;
use crate::walk::{Log, Violation, first_violation, wander};
use consort_proto::Rng;
use consort_proto::mutex::Mode;

/// Parameters of a set of walks.
#[derive(Clone, Debug)]
pub struct Walk {
    /// The first seed.
    pub seed: u64,
    /// Number of walks.
    pub walks: u64,
    /// Most steps of each.
    pub steps: u32,
    /// The planted mistake, if any.
    pub flaw: Option<Flaw>,
    /// Which violations to search for.
    pub watch: Watch,
    /// The group of every other walk; the remaining walks, or all, have a random group.
    pub group: Option<Group>,
}

/// Statistics of walks.
#[derive(Clone, Debug, Default)]
pub struct Walked {
    /// Walks taken.
    pub walks: u64,
    /// Steps taken.
    pub steps: u64,
    /// Grants.
    pub grants: u64,
    /// The violation that was found.
    pub broken: Option<Violation<&'static str>>,
}

/// Runs walks until one violates an invariant.
pub fn walk(walk: &Walk) -> Walked {
    let mut walked = Walked::default();
    let seeds = walk.seed..walk.seed + walk.walks;
    let judge = |(state, steps): (State, u32)| {
        walked.walks += 1;
        walked.steps += u64::from(steps);
        walked.grants += u64::from(state.grants);
        state.broken
    };
    walked.broken = first_violation(seeds, |seed, log| run(walk, seed, log), judge);
    walked
}

fn run(walk: &Walk, seed: u64, log: &mut Log) -> (State, u32) {
    let mut rng = Rng::seed(seed, 17);
    let group = match &walk.group {
        Some(group) if seed % 2 == 1 => group.clone(),
        _ => Group {
            // The violation of this flaw needs five nodes, or a clock that was read from nodes outside the model.
            told: walk.flaw == Some(Flaw::LifelessReplies),
            ..random_group(&mut rng)
        },
    };
    let group = Group {
        flaw: walk.flaw,
        watch: walk.watch,
        ..group
    };
    wander(&group, walk.steps, log, |_, choices| {
        choose(&mut rng, choices)
    })
}

/// Three to five nodes whose lists are majorities, some of which crash, restart or join late.
fn random_group(rng: &mut Rng) -> Group {
    let n = [3, 3, 4, 5][rng.below(4) as usize];
    let joins = rng.below(4) == 0;
    let lists_min = n / 2 + 1;
    let mut views = Vec::new();
    let mut requests = Vec::new();
    let shares = rng.below(3) == 0;
    for node in 0..n {
        let mut others: Vec<usize> = (0..n).filter(|o| *o != node).collect();
        let size = lists_min + rng.below((n - lists_min + 1) as u32) as usize - 1;
        while others.len() > size.max(1) {
            others.remove(rng.below(others.len() as u32) as usize);
        }
        views.push(others);
        let times = rng.below(4);
        let mode = |rng: &mut Rng| match shares && rng.below(2) == 0 {
            true => Mode::Shared,
            false => Mode::Exclusive,
        };
        requests.push((0..times).map(|_| mode(rng)).collect());
    }
    let joiners = match joins {
        true => (vec![n - 1], n as u16),
        false => (Vec::new(), 0),
    };
    let mortal = (0..n).filter(|_| rng.below(2) == 0).collect();
    // Much of one fault finds violations that a little of every fault does not.
    let (leases, lives) = [(true, false), (false, true), (true, true)][rng.below(3) as usize];
    let mut up_to = |most: u32, wanted: bool| rng.below(most + 1) as u8 * u8::from(wanted);
    let budget = Budget {
        lapses: up_to(7, leases),
        retries: up_to(7, leases),
        repeats: up_to(3, leases),
        cancels: up_to(2, true),
        oblivions: up_to(2, true),
        leaves: up_to(1, true),
        ends: up_to(2, leases),
        crashes: up_to(2, lives),
        restarts: up_to(2, lives),
        verdicts: up_to(2, lives),
    };
    Group {
        views,
        requests,
        nodes: if joins { n as u16 - 1 } else { n as u16 },
        joiners,
        mortal,
        budget,
        expiry: true,
        apart: rng.below(2) == 0,
        queues: rng.below(2) == 0,
        elevator: rng.below(4) == 0,
        // Simultaneous joins and departures are left to the simulator.
        shrinks: !joins && rng.below(2) == 0,
        ..Group::default()
    }
}

/// Usually a message arrives; now and then another action is chosen.
fn choose(rng: &mut Rng, choices: &[Action]) -> Option<Action> {
    let weight = |action: &Action| match action {
        Action::Deliver(_) => 8,
        Action::Acquire(_) | Action::Release(_) | Action::Restart(_) => 8,
        Action::Mature(_) | Action::Bury(_) | Action::Retry(_) | Action::Resize(_) => 4,
        Action::Lapse(..) | Action::Expire(..) | Action::Stop(_) | Action::EndGrace(_) => 2,
        Action::EndStopping(_) | Action::EndWork(_) | Action::EndHold(_) | Action::Leave(_) => 1,
        Action::Repeat(_) | Action::Cancel(_) | Action::Crash(_) => 1,
        Action::Verdict(..) | Action::Learn(..) | Action::ForgetDone(..) => 1,
    };
    by_weight(rng, choices, weight).cloned()
}
