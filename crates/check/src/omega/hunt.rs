//! Random schedules: a seed determines a group, its faults and their order.

use super::flaws::Flaws;
use super::schedule::{Outcome, STEPS_MAX, Schedule, judge};
use super::world::{Action, Core, World};
use alloc::collections::BTreeMap;
use consort_proto::Rng;
use core::fmt;

/// Faults that may occur in a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Chaos {
    /// Least and greatest number of nodes.
    pub nodes: (usize, usize),
    /// Most changes of links.
    pub links: u32,
    /// Most crashes and restarts of nodes.
    pub crashes: u32,
    /// Most messages that are lost.
    pub losses: u32,
    /// Whether a link may change before both ends have noticed its last change.
    pub flaps: bool,
    /// Whether a node may hear another that does not hear it.
    pub one_way: bool,
    /// Whether messages between two nodes may overtake each other.
    pub reorder: bool,
}

impl Chaos {
    /// Changes of links only.
    pub const LINKS: Chaos = Chaos {
        nodes: (2, 5),
        links: 8,
        crashes: 0,
        losses: 0,
        flaps: false,
        one_way: false,
        reorder: false,
    };
}

/// Statistics of many runs.
#[derive(Clone, Debug, Default)]
pub struct Hunted {
    /// Number of runs.
    pub runs: u64,
    /// Number of runs with a wrong leader or component, by the flaws they showed.
    pub wrong: BTreeMap<Flaws, u64>,
    /// The first seed for each set of flaws.
    pub first: BTreeMap<Flaws, u64>,
    /// Number of selected runs that are correct with the other settings, and the first of them.
    pub cured: Option<(u64, u64)>,
}

impl Hunted {
    /// Number of runs with a wrong result.
    pub fn wrong(&self) -> u64 {
        self.wrong.values().sum()
    }

    /// Number of runs that showed this flaw alone, and number of runs that showed it.
    pub fn counts(&self, flaw: Flaws) -> (u64, u64) {
        let alone = self.wrong.get(&flaw).copied().unwrap_or(0);
        let all = self.wrong.iter().filter(|(flaws, _)| flaws.has(flaw));
        (alone, all.map(|(_, count)| count).sum())
    }

    fn add(&mut self, other: Hunted) {
        self.runs += other.runs;
        for (flaws, count) in other.wrong {
            *self.wrong.entry(flaws).or_default() += count;
        }
        for (flaws, seed) in other.first {
            let first = self.first.entry(flaws).or_insert(seed);
            *first = seed.min(*first);
        }
        self.cured = match (self.cured, other.cured) {
            (Some((a, x)), Some((b, y))) => Some((a + b, x.min(y))),
            (one, two) => one.or(two),
        };
    }
}

impl fmt::Display for Hunted {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let wrong = self.wrong();
        let share = wrong as f64 * 100.0 / self.runs.max(1) as f64;
        write!(f, "{} runs, {wrong} wrong ({share:.2} %)", self.runs)
    }
}

/// Parameters of a set of runs.
#[derive(Clone, Debug)]
pub struct Hunt<C: Core> {
    /// Settings of all nodes.
    pub settings: C::Settings,
    /// Faults that may occur.
    pub chaos: Chaos,
    /// Runs that show these flaws are repeated with other settings.
    pub cure: Option<(Flaws, C::Settings)>,
    /// The first seed.
    pub seed: u64,
    /// Number of runs.
    pub runs: u64,
}

impl<C> Hunt<C>
where
    C: Core + Sync,
    C::Settings: Sync,
{
    /// Examines all runs.
    pub fn hunt(&self, threads: usize) -> Hunted {
        let mut all = Hunted::default();
        std::thread::scope(|scope| {
            let part = |part: usize| scope.spawn(move || self.part(part, threads));
            let parts: Vec<_> = (0..threads).map(part).collect();
            for part in parts {
                all.add(part.join().expect("a run does not panic"));
            }
        });
        all
    }

    fn part(&self, part: usize, parts: usize) -> Hunted {
        let mut hunted = Hunted::default();
        let seeds = self.seed..self.seed + self.runs;
        for seed in seeds.skip(part).step_by(parts) {
            hunted.runs += 1;
            let (schedule, outcome) = run::<C>(&self.settings, self.chaos, seed);
            let Outcome::Wrong(_, flaws) = outcome else {
                continue;
            };
            *hunted.wrong.entry(flaws).or_default() += 1;
            hunted.first.entry(flaws).or_insert(seed);
            if let Some((_, cure)) = self.cure.as_ref().filter(|(shown, _)| *shown == flaws)
                && schedule.play::<C>(cure) == Outcome::Right
            {
                hunted.cured.get_or_insert((0, seed)).0 += 1;
            }
        }
        hunted
    }
}

/// Remaining faults of a run.
struct Budget {
    links: u32,
    crashes: u32,
    losses: u32,
}

/// The run of a seed: its actions and its result.
pub fn run<C: Core>(settings: &C::Settings, chaos: Chaos, seed: u64) -> (Schedule, Outcome) {
    let mut rng = Rng::seed(seed, 22);
    let (fewest, most) = chaos.nodes;
    let nodes = fewest + rng.below((most - fewest + 1) as u32) as usize;
    let mut left = Budget {
        links: 1 + rng.below(chaos.links),
        crashes: rng.below(chaos.crashes + 1),
        losses: rng.below(chaos.losses + 1),
    };
    // How eagerly faults occur: before anything arrives, or only after everything has.
    let haste = [20, 100, 300][rng.below(3) as usize];
    let mut world = World::<C>::new(settings.clone(), nodes, seed);
    let mut schedule = Schedule {
        nodes,
        seed,
        actions: Vec::new(),
    };
    let mut choices = Vec::new();
    // In a world that never rests, faults stop after a while.
    let steps = C::PATIENCE.map_or(STEPS_MAX, |_| 40 + rng.below(400));
    for _ in 0..steps {
        choices.clear();
        world.choices(&mut choices);
        if !chaos.reorder {
            choices.retain(|c| !matches!(c, Action::Deliver(_, _, 1..)));
        }
        let trouble = choices.is_empty() || rng.below(1000) < haste;
        let strike = trouble.then(|| strike(&mut rng, &world, chaos, &mut left));
        let action = match strike.flatten() {
            Some(action) => action,
            None => match rng.choose(&choices) {
                Some(action) => lose(&mut rng, &mut left, *action),
                None if left.links == 0 => break,
                None => continue,
            },
        };
        schedule.actions.push(action);
        world.act(action);
    }
    for node in 0..nodes {
        let action = Action::Start(node as u8);
        if C::PATIENCE.is_some() && rng.below(2) == 0 && world.act(action) {
            schedule.actions.push(action);
        }
    }
    if let Some(patience) = C::PATIENCE {
        world.come_to_rest([0, 200, 400][rng.below(3) as usize], patience);
    }
    let outcome = judge(&world);
    (schedule, outcome)
}

/// Loses some of the messages in flight.
fn lose(rng: &mut Rng, left: &mut Budget, action: Action) -> Action {
    match action {
        Action::Deliver(from, to, nth) if left.losses > 0 && rng.below(3) == 0 => {
            left.losses -= 1;
            Action::Lose(from, to, nth)
        }
        other => other,
    }
}

/// Changes a link, or stops or starts a node.
fn strike<C: Core>(
    rng: &mut Rng,
    world: &World<C>,
    chaos: Chaos,
    left: &mut Budget,
) -> Option<Action> {
    let nodes = world.scene.nodes as u32;
    let node = rng.below(nodes) as u8;
    if !world.scene.runs(node.into()) {
        return Some(Action::Start(node));
    }
    if left.crashes > 0 && rng.below(4) == 0 {
        left.crashes -= 1;
        return Some(Action::Crash(node));
    }
    if left.links == 0 {
        return None;
    }
    let (a, b) = (node, (u32::from(node) + 1 + rng.below(nodes - 1)) % nodes);
    let b = b as u8;
    let news = |x: u8, y: u8| world.scene.unnoticed(x.into()) & 1 << y != 0;
    if !chaos.flaps && (news(a, b) || news(b, a)) {
        return None;
    }
    left.links -= 1;
    Some(match chaos.one_way && rng.below(3) == 0 {
        true => Action::Ear(a, b),
        false => Action::Link(a, b),
    })
}
