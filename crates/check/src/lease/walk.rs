//! Random walks, and what is expected of them.

use super::world::{Faults, Setup, World};
use crate::walk::{Log, Violation, first_violation};
use consort_proto::Rng;
use consort_proto::lease::{Ablation, Rules};

/// The longest calm phase, in ticks: a sixth of a lease each.
const CALM_TICKS: u32 = 90;

/// Parameters of a set of walks.
#[derive(Clone, Copy, Debug)]
pub struct Walk {
    /// The group.
    pub setup: Setup,
    /// The first seed.
    pub seed: u64,
    /// Number of walks.
    pub walks: u64,
    /// Steps per walk.
    pub steps: u32,
}

/// Statistics of walks.
#[derive(Clone, Debug, Default)]
pub struct Walked {
    /// Walks taken.
    pub walks: u64,
    /// Commands started.
    pub works: u64,
    /// New lines of watchers.
    pub lines: u64,
    /// Changes of watchers that were completed.
    pub changes: u64,
    /// Steps with overlapping work that a partition explains.
    pub overlaps: u64,
    /// The longest time until one leader acted after the calm phase began, in microseconds.
    pub longest_us: u64,
    /// The violation that was found.
    pub broken: Option<Violation<&'static str>>,
}

/// A group, and the rule that it lacks, if any.
#[derive(Clone, Copy, Debug)]
pub struct Case {
    /// Its name.
    pub name: &'static str,
    /// The group.
    pub setup: Setup,
    /// Whether walks must find something.
    pub is_flawed: bool,
}

/// Runs walks until one finds a violation.
pub fn walk(walk: &Walk) -> Walked {
    let mut walked = Walked::default();
    let seeds = walk.seed..walk.seed + walk.walks;
    let judge = |(world, pause): (World, u64)| {
        walked.walks += 1;
        walked.works += world.started;
        walked.lines += world.lines;
        walked.changes += world.changes;
        walked.overlaps += world.oracle.overlaps;
        walked.longest_us = walked.longest_us.max(pause);
        world.broken
    };
    let log_of = |seed: u64, log: &mut Log| {
        let (mut world, pause) = run(walk, seed, log.is_some());
        *log = world.log.take();
        (world, pause)
    };
    walked.broken = first_violation(seeds, log_of, judge);
    walked
}

fn run(walk: &Walk, seed: u64, log: bool) -> (World, u64) {
    let mut rng = Rng::seed(seed, 29);
    let mut world = World::new(walk.setup, &mut rng);
    let calm_every = [8, 25, 80, 1000][rng.below(4) as usize];
    world.log = log.then(Vec::new);
    for _ in 0..walk.steps {
        // Now and then nothing goes wrong for a while, so that there is leadership to break.
        if rng.below(calm_every) == 0 {
            for _ in 0..1 + rng.below(10) {
                world.calm_tick(&mut rng);
            }
        }
        world.step(&mut rng);
        if world.broken.is_some() {
            return (world, 0);
        }
    }
    let pause = calm(&mut world, &mut rng);
    (world, pause)
}

/// Ends all faults. Returns how long it took until one leader worked.
fn calm(world: &mut World, rng: &mut Rng) -> u64 {
    world.heal();
    for at in 0..world.nodes.len() {
        if !world.nodes[at].up {
            world.restart(at, true);
        }
    }
    if world.setup.faults == Faults::Deaf {
        world.deafen(rng);
    }
    let began = world.now;
    for _ in 0..CALM_TICKS {
        world.calm_tick(rng);
        let acting = world.nodes.iter().filter(|n| {
            let lease = n.lease.as_ref().filter(|_| n.up);
            lease.is_some_and(|l| l.valid(n.clock).is_some())
        });
        let mut leaders = acting.map(|n| n.id);
        // A deaf leader still acts for the rest of its lease.
        let led = leaders.next().is_some_and(|id| Some(id) != world.deaf);
        if world.broken.is_some() || led && leaders.next().is_none() && world.works.len() == 1 {
            return world.now - began;
        }
    }
    if !world.is_hopeless() {
        world.broken = Some("nobody acts although nothing is wrong");
    }
    0
}

/// Groups that must be safe, and groups without one rule each, in which a violation must be found.
pub fn cases() -> Vec<Case> {
    let strict = |nodes, faults| Setup {
        nodes,
        strict: true,
        faults,
        rules: Rules::default(),
    };
    let default = |nodes, faults| Setup {
        strict: false,
        ..strict(nodes, faults)
    };
    let safe = |name, setup| Case {
        name,
        setup,
        is_flawed: false,
    };
    let mut cases = vec![
        safe("strict-5", strict(5, Faults::OneWay)),
        safe("strict-3", strict(3, Faults::OneWay)),
        safe("strict-2", strict(2, Faults::OneWay)),
        safe("deaf-5", strict(5, Faults::Deaf)),
        safe("default-5", default(5, Faults::None)),
        safe("default-3", default(3, Faults::None)),
        safe("parts-5", default(5, Faults::Partitions)),
        safe("parts-3", default(3, Faults::Partitions)),
    ];
    let flaws = [
        (Ablation::Promise, "Promise"),
        (Ablation::Wait, "Wait"),
        (Ablation::LowerToken, "LowerToken"),
        (Ablation::Majority, "Majority"),
        (Ablation::StopFirst, "StopFirst"),
        (Ablation::HolderLife, "HolderLife"),
        (Ablation::Restart, "Restart"),
        (Ablation::Stored, "Stored"),
        (Ablation::SetOrder, "SetOrder"),
        (Ablation::BothMajorities, "BothMajorities"),
        (Ablation::FormerCounts, "FormerCounts"),
        (Ablation::DropLate, "DropLate"),
        (Ablation::FromSending, "FromSending"),
        (Ablation::FreshSeq, "FreshSeq"),
        (Ablation::Drift, "Drift"),
        (Ablation::StrictQuorum, "StrictQuorum"),
        (Ablation::StandAgain, "StandAgain"),
    ];
    let without = |setup: Setup, part| Setup {
        rules: Rules::without(part),
        ..setup
    };
    cases.extend(flaws.map(|(part, name)| Case {
        name,
        setup: without(strict(5, Faults::OneWay), part),
        is_flawed: true,
    }));
    let deaf = [
        (Ablation::Lapse, "Lapse"),
        (Ablation::DeafCandidate, "DeafCandidate"),
    ];
    cases.extend(deaf.map(|(part, name)| Case {
        name,
        setup: without(strict(5, Faults::Deaf), part),
        is_flawed: true,
    }));
    let closing = [
        (Ablation::CloseWait, "CloseWait"),
        (Ablation::CloseLine, "CloseLine"),
        (Ablation::Exchange, "Exchange"),
    ];
    cases.extend(closing.map(|(part, name)| Case {
        name,
        setup: without(default(5, Faults::None), part),
        is_flawed: true,
    }));
    cases
}
