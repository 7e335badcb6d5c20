//! Stories of a minute that the group plays by itself.

use super::order::{LOCK, Order};
use core::time::Duration;

/// A story.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum Scene {
    /// The leader is killed, another node takes over, and the first one comes back.
    Failover,
    /// The network is partitioned and healed.
    Partition,
    /// Several nodes want a lock; a holder dies.
    Lock,
    /// Bad links: datagrams are lost and delayed, and a node joins.
    Mesh,
}

/// The action of a step.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Act {
    Tell,
    KillLeader,
    ReviveLeader,
    Kill(usize),
    Revive(usize),
    /// Cuts off the last two of five nodes.
    Cut,
    Heal,
    Lock(usize),
    Unlock(usize),
    Lose(usize),
    Slow(usize),
    Add,
}

const RESIGN: &str = "node-1 leads and serves the dashboard: it resigns, so that another leads.";

/// How long the leader is not killed while it is the first node, which was told to resign.
const RESIGN_WAIT_S: u64 = 20;

/// The steps: the time in seconds from the start, the caption, and the action.
type Step = (u64, &'static str, Act);

const FAILOVER: &[Step] = &[
    (
        0,
        "Five nodes and no server. They probe each other twice a second.",
        Act::Tell,
    ),
    (
        5,
        "They have elected a leader. Now its process is killed.",
        Act::KillLeader,
    ),
    (
        9,
        "Nobody was told. The others notice that it does not answer.",
        Act::Tell,
    ),
    (
        16,
        "It was suspected, had time to answer, and is declared failed.",
        Act::Tell,
    ),
    (
        22,
        "Another one leads by now, with a greater token.",
        Act::Tell,
    ),
    (
        28,
        "The first one is started again: the same node in a later life.",
        Act::ReviveLeader,
    ),
    (
        36,
        "It is a member like the others. Leaders stay until they go.",
        Act::Tell,
    ),
    (44, "That was a failover.", Act::Tell),
];

const PARTITION: &[Step] = &[
    (
        0,
        "Five nodes that know each other, and one leader.",
        Act::Tell,
    ),
    (
        5,
        "The network between two of them and the others is cut.",
        Act::Cut,
    ),
    (
        10,
        "Nobody can tell a dead node from a cut cable. Both sides go on.",
        Act::Tell,
    ),
    (
        20,
        "Each side has a list of its own, and a leader of its own.",
        Act::Tell,
    ),
    (
        28,
        "Their tokens differ: a resource that checks them obeys one.",
        Act::Tell,
    ),
    (34, "The network is healed.", Act::Heal),
    (
        38,
        "The lists merge by themselves, and one leader remains.",
        Act::Tell,
    ),
    (52, "That was a partition.", Act::Tell),
];

const LOCKS: &[Step] = &[
    (
        0,
        "A lock that several nodes want. No server keeps it.",
        Act::Tell,
    ),
    (5, "node-2 takes the lock and holds it.", Act::Lock(2)),
    (10, "node-3 wants it too, and waits.", Act::Lock(3)),
    (13, "node-4 stands in line behind it.", Act::Lock(4)),
    (
        19,
        "node-2 gives the lock back: the next in line has it at once.",
        Act::Unlock(2),
    ),
    (
        27,
        "Now its holder is killed. Its work may still run somewhere.",
        Act::Kill(3),
    ),
    (
        31,
        "So nobody gets the lock before the lease has ended.",
        Act::Tell,
    ),
    (
        42,
        "node-4 holds it, with a greater token than all before.",
        Act::Tell,
    ),
    (48, "node-4 gives it back.", Act::Unlock(4)),
    (
        49,
        "node-3 is started again, in a later life.",
        Act::Revive(3),
    ),
    (54, "That was a lock.", Act::Tell),
];

const MESH: &[Step] = &[
    (
        0,
        "Five nodes on good links. Now the links get poor.",
        Act::Tell,
    ),
    (
        5,
        "A third of what node-3 says and hears is lost.",
        Act::Lose(3),
    ),
    (8, "So is a third of node-5's.", Act::Lose(5)),
    (11, "All that node-4 says is late.", Act::Slow(4)),
    (
        16,
        "Others probe in place of those that get no answer.",
        Act::Tell,
    ),
    (
        24,
        "Who is suspected by mistake answers for itself.",
        Act::Tell,
    ),
    (32, "Another node joins, over the same links.", Act::Add),
    (
        40,
        "It learns of all others by asking, page by page.",
        Act::Tell,
    ),
    (46, "The links are good again.", Act::Heal),
    (54, "That was a mesh of poor links.", Act::Tell),
];

impl Scene {
    fn steps(self) -> &'static [Step] {
        match self {
            Scene::Failover => FAILOVER,
            Scene::Partition => PARTITION,
            Scene::Lock => LOCKS,
            Scene::Mesh => MESH,
        }
    }
}

/// Plays a scene.
#[derive(Debug)]
pub(super) struct Player {
    steps: &'static [Step],
    /// The leader that was killed.
    victim: Option<usize>,
    /// Whether the first node was told to resign.
    resigned: bool,
}

impl Player {
    pub(super) fn new(scene: Scene) -> Player {
        Player {
            steps: scene.steps(),
            victim: None,
            resigned: false,
        }
    }

    /// The next step, if it is due; `leader` is the number of the leader.
    pub(super) fn step(
        &mut self,
        since: Duration,
        nodes: usize,
        leader: Option<usize>,
    ) -> Option<(&'static str, Option<Order>)> {
        let (&(at, caption, act), rest) = self.steps.split_first()?;
        // The dashboard that was announced must not disappear together with the leader.
        if act == Act::KillLeader && leader == Some(1) && since.as_secs() < at + RESIGN_WAIT_S {
            let first = !core::mem::replace(&mut self.resigned, true);
            let order = Order::Resign { node: 1 };
            return first.then_some((RESIGN, Some(order)));
        }
        // The node to be killed has to be running.
        if since.as_secs() < at || (act == Act::KillLeader && leader.is_none()) {
            return None;
        }
        self.steps = rest;
        let name = || LOCK.to_owned();
        let order = match act {
            Act::Tell => None,
            Act::KillLeader => {
                self.victim = leader;
                leader.map(|node| Order::Kill { node })
            }
            Act::ReviveLeader => self.victim.map(|node| Order::Revive { node }),
            Act::Kill(node) => Some(Order::Kill { node }),
            Act::Revive(node) => Some(Order::Revive { node }),
            Act::Cut => {
                let nodes = (1..=nodes).skip((nodes * 3).div_ceil(5)).collect();
                Some(Order::Partition { nodes })
            }
            Act::Heal => Some(Order::Heal {}),
            Act::Lock(node) => Some(Order::Lock { node, name: name() }),
            Act::Unlock(node) => Some(Order::Unlock { node, name: name() }),
            Act::Lose(node) => Some(Order::Lose { node, percent: 30 }),
            Act::Slow(node) => Some(Order::Slow { node, ms: 200 }),
            Act::Add => Some(Order::Add {}),
        };
        Some((caption, order))
    }

    pub(super) fn is_over(&self) -> bool {
        self.steps.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::ValueEnum;

    #[test]
    fn scenes_take_a_minute_and_their_captions_fit_eighty_columns() {
        for scene in Scene::value_variants() {
            let steps = scene.steps();
            assert!(steps.is_sorted_by_key(|(at, ..)| at), "{scene:?}");
            let (last, ..) = steps[steps.len() - 1];
            assert!((40..=60).contains(&last), "{scene:?} takes {last} s");
            for (_, caption, _) in steps {
                assert!(caption.chars().count() <= 76, "{caption}");
            }
        }
    }

    #[test]
    fn the_node_of_the_dashboard_resigns_before_a_leader_is_killed() {
        let mut player = Player::new(Scene::Failover);
        let at = Duration::from_secs;
        assert!(player.step(at(0), 5, Some(1)).is_some());
        let resign = Order::Resign { node: 1 };
        assert_eq!(player.step(at(1), 5, Some(1)), Some((RESIGN, Some(resign))));
        assert_eq!(player.step(at(6), 5, Some(1)), None, "once");
        let (_, order) = player.step(at(7), 5, Some(3)).unwrap();
        assert_eq!(order, Some(Order::Kill { node: 3 }));
        assert!(RESIGN.chars().count() <= 76);
    }

    #[test]
    fn who_leads_is_killed_and_the_same_one_revived() {
        let mut player = Player::new(Scene::Failover);
        let mut orders = Vec::new();
        let at = Duration::from_secs;
        assert!(player.step(at(0), 5, None).is_some());
        assert!(player.step(at(99), 5, None).is_none(), "nobody leads yet");
        let mut leader = 4;
        while let Some((_, order)) = player.step(at(99), 5, Some(leader)) {
            orders.extend(order);
            leader = 2;
        }
        let expected = [Order::Kill { node: 4 }, Order::Revive { node: 4 }];
        assert_eq!(orders, expected);
        assert!(player.is_over());
    }
}
