//! Stories of a minute that the group plays by itself: what a caption says has happened by then.

use super::order::{LOCK, Order};
use core::time::Duration;
use std::collections::BTreeSet;

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

/// The event that a caption waits for. The victim is the node that the scene killed last.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Cue {
    /// None: the caption follows when the one before has been read.
    Read,
    /// A node leads, and all follow it.
    Leads,
    /// The victim is suspected.
    Suspected,
    /// All nodes have declared the victim failed.
    Failed,
    /// Another node than the victim leads, and all follow it.
    Replaced,
    /// All nodes list the victim as alive again.
    Back,
    /// No node lists a node of the other side.
    Apart,
    /// Two nodes lead, one on each side.
    TwoLead,
    /// All nodes list all, and follow one leader.
    Whole,
    /// This node holds the lock.
    Holds(usize),
    /// A suspicion was refuted. A scene goes on without it.
    Refuted,
    /// All nodes list all. A scene goes on without it.
    Known,
}

/// The action of a step.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Act {
    Tell,
    KillLeader,
    Kill(usize),
    /// Starts the victim again.
    Revive,
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
const RESIGN_WAIT: Duration = Duration::from_secs(20);

/// How long a scene waits for an event before it ends.
const PATIENCE: Duration = Duration::from_secs(40);

/// How long a scene waits for an event that it can do without.
const HOPE: Duration = Duration::from_secs(15);

/// A step: the event it waits for, its caption, and its action.
type Step = (Cue, &'static str, Act);

const FAILOVER: &[Step] = &[
    (
        Cue::Read,
        "Five nodes and no server: each probes the others in turn.",
        Act::Tell,
    ),
    (
        Cue::Leads,
        "They have elected a leader. Now its process is killed.",
        Act::KillLeader,
    ),
    (
        Cue::Suspected,
        "Nobody was told. The others notice that it does not answer.",
        Act::Tell,
    ),
    (
        Cue::Failed,
        "It was suspected, had time to answer, and is declared failed.",
        Act::Tell,
    ),
    (
        Cue::Replaced,
        "Another one leads by now, with a greater token.",
        Act::Tell,
    ),
    (
        Cue::Read,
        "The first one is started again: the same node in a later life.",
        Act::Revive,
    ),
    (
        Cue::Back,
        "It is a member like the others. Leaders stay until they go.",
        Act::Tell,
    ),
    (Cue::Read, "That was a failover.", Act::Tell),
];

const PARTITION: &[Step] = &[
    (
        Cue::Leads,
        "Five nodes that know each other, and one leader.",
        Act::Tell,
    ),
    (
        Cue::Read,
        "The network between two of them and the others is cut.",
        Act::Cut,
    ),
    (
        Cue::Read,
        "Nobody can tell a dead node from a cut cable. Both sides go on.",
        Act::Tell,
    ),
    (
        Cue::Apart,
        "Each side has declared the other failed: there are two lists now.",
        Act::Tell,
    ),
    (
        Cue::TwoLead,
        "Each side has a leader of its own.",
        Act::Tell,
    ),
    (
        Cue::Read,
        "Their tokens differ: a resource that checks them obeys one.",
        Act::Tell,
    ),
    (Cue::Read, "The network is healed.", Act::Heal),
    (
        Cue::Whole,
        "The lists have merged by themselves, and one leader remains.",
        Act::Tell,
    ),
    (Cue::Read, "That was a partition.", Act::Tell),
];

const LOCKS: &[Step] = &[
    (
        Cue::Read,
        "A lock that several nodes want. No server keeps it.",
        Act::Tell,
    ),
    (Cue::Read, "node-2 asks for it.", Act::Lock(2)),
    (
        Cue::Holds(2),
        "node-2 holds the lock. node-3 asks for it too, and waits.",
        Act::Lock(3),
    ),
    (Cue::Read, "node-4 stands in line behind it.", Act::Lock(4)),
    (Cue::Read, "node-2 gives the lock back.", Act::Unlock(2)),
    (Cue::Holds(3), "The next in line has it.", Act::Tell),
    (
        Cue::Read,
        "Now its holder is killed. Its work may still run somewhere.",
        Act::Kill(3),
    ),
    (
        Cue::Read,
        "So nobody gets the lock before the lease has ended.",
        Act::Tell,
    ),
    (
        Cue::Holds(4),
        "node-4 holds it, with a greater token than all before.",
        Act::Tell,
    ),
    (Cue::Read, "node-4 gives it back.", Act::Unlock(4)),
    (
        Cue::Read,
        "node-3 is started again, in a later life.",
        Act::Revive,
    ),
    (Cue::Back, "That was a lock.", Act::Tell),
];

const MESH: &[Step] = &[
    (
        Cue::Read,
        "Five nodes on good links. Now the links get poor.",
        Act::Tell,
    ),
    (
        Cue::Read,
        "A third of what node-3 says and hears is lost.",
        Act::Lose(3),
    ),
    (Cue::Read, "So is a third of node-5's.", Act::Lose(5)),
    (Cue::Read, "All that node-4 says is late.", Act::Slow(4)),
    (
        Cue::Read,
        "Others probe in place of those that get no answer.",
        Act::Tell,
    ),
    (
        Cue::Refuted,
        "A node was suspected by mistake, and has answered for itself.",
        Act::Tell,
    ),
    (
        Cue::Read,
        "Another node joins, over the same links.",
        Act::Add,
    ),
    (
        Cue::Known,
        "It has learned of all others, and all others of it.",
        Act::Tell,
    ),
    (Cue::Read, "The links are good again.", Act::Heal),
    (Cue::Read, "That was a mesh of poor links.", Act::Tell),
];

impl Scene {
    /// The name of the scene to look at after this one.
    pub(crate) fn after(scene: Option<Scene>) -> &'static str {
        match scene {
            None | Some(Scene::Mesh) => "failover",
            Some(Scene::Failover) => "partition",
            Some(Scene::Partition) => "lock",
            Some(Scene::Lock) => "mesh",
        }
    }

    fn steps(self) -> &'static [Step] {
        match self {
            Scene::Failover => FAILOVER,
            Scene::Partition => PARTITION,
            Scene::Lock => LOCKS,
            Scene::Mesh => MESH,
        }
    }
}

/// What is so in the group, by the numbers of its nodes. Events count from the last order about a node.
#[derive(Clone, Debug, Default)]
pub(super) struct Seen {
    /// The number of nodes, running or not.
    pub(super) nodes: usize,
    /// The node that may act as the leader, if all running nodes follow it.
    pub(super) leader: Option<usize>,
    /// The number of nodes that may act as leaders.
    pub(super) leaders: usize,
    /// Nodes that some other one has suspected.
    pub(super) suspected: BTreeSet<usize>,
    /// Nodes that all others have declared failed.
    pub(super) failed: BTreeSet<usize>,
    /// Nodes that all others know again.
    pub(super) back: BTreeSet<usize>,
    /// The number of suspicions that were refuted.
    pub(super) refuted: usize,
    /// Nodes that hold the lock.
    pub(super) holders: BTreeSet<usize>,
    /// Whether every running node lists all of them as alive.
    pub(super) agree: bool,
    /// Whether no running node lists one of the other side as alive.
    pub(super) apart: bool,
}

impl Cue {
    fn has_come(self, victim: Option<usize>, refuted: usize, seen: &Seen) -> bool {
        let of = |nodes: &BTreeSet<usize>| victim.is_some_and(|v| nodes.contains(&v));
        match self {
            Cue::Read => true,
            Cue::Leads => seen.leader.is_some(),
            Cue::Suspected => of(&seen.suspected) || of(&seen.failed),
            Cue::Failed => of(&seen.failed),
            Cue::Replaced => seen.leader.is_some() && seen.leader != victim,
            Cue::Back => of(&seen.back),
            Cue::Apart => seen.apart,
            Cue::TwoLead => seen.apart && seen.leaders == 2,
            Cue::Whole => seen.agree && seen.leader.is_some() && seen.leaders == 1,
            Cue::Holds(node) => seen.holders.contains(&node),
            Cue::Refuted => seen.refuted > refuted,
            Cue::Known => seen.agree,
        }
    }

    /// What did not happen; `None` if a scene goes on without it.
    fn missing(self) -> Option<String> {
        Some(match self {
            Cue::Read | Cue::Refuted | Cue::Known => return None,
            Cue::Leads => "Nobody has been elected".to_owned(),
            Cue::Suspected => "Nobody has suspected it".to_owned(),
            Cue::Failed => "It has not been declared failed".to_owned(),
            Cue::Replaced => "Nobody has taken over".to_owned(),
            Cue::Back => "It has not been seen again".to_owned(),
            Cue::Apart => "The sides still list each other".to_owned(),
            Cue::TwoLead => "One side has no leader".to_owned(),
            Cue::Whole => "The group is not whole again".to_owned(),
            Cue::Holds(node) => format!("node-{node} has not got the lock"),
        })
    }
}

/// The time in which a caption can be read.
fn reading(caption: &str) -> Duration {
    Duration::from_millis(2000 + 45 * caption.chars().count() as u64)
}

/// Plays a scene.
#[derive(Debug)]
pub(super) struct Player {
    steps: &'static [Step],
    /// When the current caption has been read.
    read: Duration,
    /// The node that was killed last.
    victim: Option<usize>,
    /// Whether the first node was told to resign.
    resigned: bool,
    /// The refuted suspicions when the current caption was shown.
    refuted: usize,
}

impl Player {
    pub(super) fn new(scene: Scene) -> Player {
        Player {
            steps: scene.steps(),
            read: Duration::ZERO,
            victim: None,
            resigned: false,
            refuted: 0,
        }
    }

    /// The next caption and its order, once the current caption has been read and the event of the next one has
    /// happened. An event that does not happen in time is skipped, or ends the scene with a caption that says so.
    pub(super) fn step(&mut self, at: Duration, seen: &Seen) -> Option<(String, Option<Order>)> {
        let (&(cue, caption, act), rest) = self.steps.split_first()?;
        let waited = at.checked_sub(self.read)?;
        if !cue.has_come(self.victim, self.refuted, seen) {
            return match cue.missing() {
                None if waited >= HOPE => {
                    (self.steps, self.read) = (rest, at);
                    None
                }
                Some(missing) if waited >= PATIENCE => {
                    self.steps = &[];
                    let waited = PATIENCE.as_secs();
                    Some((
                        format!("{missing} within {waited} s: the scene ends."),
                        None,
                    ))
                }
                _ => None,
            };
        }
        // The dashboard that was announced must not disappear together with the leader.
        if act == Act::KillLeader && seen.leader == Some(1) && waited < RESIGN_WAIT {
            let first = !core::mem::replace(&mut self.resigned, true);
            return first.then(|| {
                self.read = at + reading(RESIGN);
                (RESIGN.to_owned(), Some(Order::Resign { node: 1 }))
            });
        }
        self.steps = rest;
        self.read = at + reading(caption);
        self.refuted = seen.refuted;
        let name = || LOCK.to_owned();
        let order = match act {
            Act::Tell => None,
            Act::KillLeader => {
                self.victim = seen.leader;
                seen.leader.map(|node| Order::Kill { node })
            }
            Act::Kill(node) => {
                self.victim = Some(node);
                Some(Order::Kill { node })
            }
            Act::Revive => self.victim.map(|node| Order::Revive { node }),
            Act::Cut => {
                let nodes = (1..=seen.nodes)
                    .skip((seen.nodes * 3).div_ceil(5))
                    .collect();
                Some(Order::Partition { nodes })
            }
            Act::Heal => Some(Order::Heal {}),
            Act::Lock(node) => Some(Order::Lock { node, name: name() }),
            Act::Unlock(node) => Some(Order::Unlock { node, name: name() }),
            Act::Lose(node) => Some(Order::Lose { node, percent: 30 }),
            Act::Slow(node) => Some(Order::Slow { node, ms: 200 }),
            Act::Add => Some(Order::Add {}),
        };
        Some((caption.to_owned(), order))
    }

    pub(super) fn is_over(&self) -> bool {
        self.steps.is_empty()
    }
}

#[cfg(test)]
mod tests;
