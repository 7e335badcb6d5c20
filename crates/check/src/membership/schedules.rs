//! Named groups that are searched state by state.

use super::group::{Budget, Group};
use crate::search::{Searched, search};

/// A group with a name.
#[derive(Clone, Debug)]
pub struct Schedule {
    /// Its name.
    pub name: &'static str,
    /// Description.
    pub about: &'static str,
    /// The group.
    pub group: Group,
}

impl Schedule {
    /// Examines every state, or the first `most` that are generated, breadth first.
    pub fn check(&self, most: usize, threads: usize) -> Searched {
        search(self.group.clone(), most, threads)
    }
}

/// All schedules.
pub fn schedules() -> Vec<Schedule> {
    let schedule = |name, about, timers, budget| Schedule {
        name,
        about,
        group: Group {
            timers,
            budget,
            ..Group::default()
        },
    };
    let none = Budget::default();
    let crash = Budget { crashes: 1, ..none };
    let restart = Budget {
        restarts: 1,
        ..crash
    };
    let leave = Budget { leaves: 1, ..none };
    let losses = Budget { losses: 2, ..none };
    let repeats = Budget { repeats: 2, ..none };
    let all = Budget {
        crashes: 1,
        restarts: 1,
        leaves: 1,
        losses: 2,
        repeats: 1,
        pauses: 1,
    };
    let mut schedules = vec![
        schedule("probe", "one node probes", [3, 0, 0], none),
        schedule("accuse", "one node accuses", [6, 0, 0], none),
        schedule("probes", "all probe", [2, 2, 2], none),
        schedule("lost", "two datagrams get lost", [3, 3, 0], losses),
        schedule("twice", "two datagrams arrive twice", [3, 2, 0], repeats),
        schedule("crash", "one crashes", [5, 2, 2], crash),
        schedule("restart", "one crashes and comes back", [4, 2, 2], restart),
        schedule("leave", "one says goodbye", [3, 3, 3], leave),
        schedule("all", "all of it", [4, 4, 4], all),
    ];
    let mut strangers = schedule("join", "they find each other", [1, 1, 1], none);
    strangers.group.strangers = true;
    schedules.push(strangers);
    schedules
}
