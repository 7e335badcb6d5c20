//! Schedules: sequences of actions as text that can be stored, replayed and shortened.

use super::flaws::Flaws;
use super::world::{Action, Core, World};
use core::fmt;
use core::str::FromStr;

/// A sequence of actions for a number of nodes; actions that are left out happen at the end, in order.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Schedule {
    /// Number of nodes.
    pub nodes: usize,
    /// Seed of the nodes' coins.
    pub seed: u64,
    /// The actions in order.
    pub actions: Vec<Action>,
}

/// Result of a schedule.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// All nodes are correct.
    Right,
    /// A node is wrong: a description, and the flaws that occurred.
    Wrong(String, Flaws),
}

impl Schedule {
    /// Plays it and waits until nothing is left to happen.
    pub fn play<C: Core>(&self, settings: &C::Settings) -> Outcome {
        let mut world = World::<C>::new(settings.clone(), self.nodes, self.seed);
        for action in &self.actions {
            world.act(*action);
        }
        rest(&mut world);
        judge(&world)
    }

    /// Whether it ends with a wrong result and shows exactly `flaws`.
    pub fn shows<C: Core>(&self, settings: &C::Settings, flaws: Flaws) -> bool {
        matches!(self.play::<C>(settings), Outcome::Wrong(_, shown) if shown == flaws)
    }

    /// Removes actions that are not needed for what it shows.
    pub fn shrink(&self, shows: impl Fn(&Schedule) -> bool) -> Schedule {
        let mut short = self.clone();
        if !shows(&short) {
            // The actions at the end happened in a different order.
            return short;
        }
        // Large pieces first.
        let mut piece = short.actions.len() / 2;
        while piece > 0 {
            let before = short.actions.len();
            let mut at = 0;
            while at < short.actions.len() {
                let mut less = short.clone();
                let end = (at + piece).min(less.actions.len());
                less.actions.drain(at..end);
                match shows(&less) {
                    true => short = less,
                    false => at += piece,
                }
            }
            if short.actions.len() == before || piece > 1 {
                piece /= 2;
            }
        }
        short
    }
}

/// Performs the remaining actions, oldest first.
pub fn rest<C: Core>(world: &mut World<C>) {
    if let Some(patience) = C::PATIENCE {
        world.come_to_rest(0, patience);
        return;
    }
    let mut choices = Vec::new();
    // Spreading is finite; the bound is for protocols that never stop.
    for _ in 0..STEPS_MAX {
        choices.clear();
        world.choices(&mut choices);
        let Some(action) = choices.first() else {
            return;
        };
        world.act(*action);
    }
}

/// Most steps until a world comes to rest.
pub(super) const STEPS_MAX: u32 = 100_000;

/// Judges a world at rest.
pub fn judge<C: Core>(world: &World<C>) -> Outcome {
    match C::verdict(world) {
        Ok(()) if world.flaws.any(Flaws::ALWAYS) => Outcome::Wrong(
            "all is well in the end".into(),
            world.flaws.and(Flaws::ALWAYS),
        ),
        Ok(()) => Outcome::Right,
        Err(what) => Outcome::Wrong(what, C::blame_at_rest(world)),
    }
}

impl fmt::Display for Action {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Action::Link(a, b) => write!(f, "link {a} {b}"),
            Action::Ear(a, b) => write!(f, "ear {a} {b}"),
            Action::Notice(at, of) => write!(f, "notice {at} {of}"),
            Action::Deliver(from, to, 0) => write!(f, "deliver {from} {to}"),
            Action::Deliver(from, to, nth) => write!(f, "deliver {from} {to} {nth}"),
            Action::Lose(from, to, 0) => write!(f, "lose {from} {to}"),
            Action::Lose(from, to, nth) => write!(f, "lose {from} {to} {nth}"),
            Action::Fire(node) => write!(f, "fire {node}"),
            Action::Crash(node) => write!(f, "crash {node}"),
            Action::Start(node) => write!(f, "start {node}"),
            Action::Rest => f.write_str("rest"),
        }
    }
}

impl FromStr for Action {
    type Err = String;

    fn from_str(s: &str) -> Result<Action, String> {
        let wrong = || format!("no action: {s:?}");
        let mut words = s.split_whitespace();
        let verb = words.next().ok_or_else(wrong)?;
        let numbers: Result<Vec<u8>, _> = words.map(str::parse).collect();
        let numbers = numbers.map_err(|_| wrong())?;
        Ok(match (verb, &numbers[..]) {
            ("link", &[a, b]) => Action::Link(a, b),
            ("ear", &[a, b]) => Action::Ear(a, b),
            ("notice", &[a, b]) => Action::Notice(a, b),
            ("deliver", &[a, b]) => Action::Deliver(a, b, 0),
            ("deliver", &[a, b, nth]) => Action::Deliver(a, b, nth),
            ("lose", &[a, b]) => Action::Lose(a, b, 0),
            ("lose", &[a, b, nth]) => Action::Lose(a, b, nth),
            ("fire", &[node]) => Action::Fire(node),
            ("crash", &[node]) => Action::Crash(node),
            ("start", &[node]) => Action::Start(node),
            ("rest", &[]) => Action::Rest,
            _ => return Err(wrong()),
        })
    }
}

impl fmt::Display for Schedule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Schedule { nodes, seed, .. } = self;
        write!(f, "{nodes} nodes, seed {seed}")?;
        self.actions.iter().try_for_each(|a| write!(f, "; {a}"))
    }
}

impl FromStr for Schedule {
    type Err = String;

    fn from_str(s: &str) -> Result<Schedule, String> {
        let (head, actions) = s.split_once(';').unwrap_or((s, ""));
        let numbers = head.split_once(" nodes, seed ");
        let (nodes, seed) = numbers.ok_or("a schedule begins with its nodes and seed")?;
        let actions = actions.split(';').filter(|a| !a.trim().is_empty());
        Ok(Schedule {
            nodes: nodes.trim().parse().map_err(|e| format!("nodes: {e}"))?,
            seed: seed.trim().parse().map_err(|e| format!("seed: {e}"))?,
            actions: actions.map(str::parse).collect::<Result<_, _>>()?,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn schedules_read_back() {
        let text = "3 nodes, seed 7; link 0 1; ear 1 2; notice 0 1; deliver 0 1; deliver 0 1 2; \
                    lose 1 0; fire 2; crash 1; start 1; rest";
        let schedule: Schedule = text.parse().unwrap();
        assert_eq!(schedule.to_string(), text);
        for bad in [
            "",
            "3 nodes",
            "3 nodes, seed 7; jump 1",
            "3 nodes, seed 7; link 1",
        ] {
            assert!(bad.parse::<Schedule>().is_err(), "{bad:?}");
        }
    }
}
