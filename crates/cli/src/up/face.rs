//! The group as a live screen with one-key commands.

use super::group::{ELECTION, Group};
use super::lab::NodeState;
use super::order::{DELAY_MS, LOCK, Order, PERCENT};
use crate::client::AgentAddr;
use crate::screen::{
    Entry, Feed, Key, LabNode, Model, Reaction, Screen, Sort, Theme, Ui, draw, typed,
};
use consort::NodeId;
use consort_agent::HttpAddr;
use consort_agent::api::MemberView;
use core::time::Duration;
use ratatui::crossterm::event::Event;
use serde_json::json;
use std::time::Instant;
use tokio::sync::mpsc;
use tokio::task::JoinHandle;

/// How often every node is asked for its view if nothing happens.
const ASK: Duration = Duration::from_millis(500);

/// The least time between two questions when much happens.
const BREATH: Duration = Duration::from_millis(100);

const KEYS: [Key; 14] = [
    ("k", "kill", "kill: it stops without a goodbye"),
    (
        "r",
        "revive",
        "revive what was killed, resume what was paused",
    ),
    (
        "p",
        "pause",
        "pause: as if its process were frozen; once more resumes it",
    ),
    (
        "i",
        "isolate",
        "isolate: it hears nobody and nobody hears it",
    ),
    ("space", "mark", "mark for a partition"),
    (
        "x",
        "partition",
        "cut the marked nodes off from the others (without marks: two of five)",
    ),
    (
        "h",
        "heal",
        "heal: end partition, isolation, loss and delay",
    ),
    (
        "s",
        "slow",
        "slow: its datagrams are late; once more ends it",
    ),
    (
        "d",
        "drop",
        "drop some of its datagrams, both ways; once more ends it",
    ),
    ("a", "add", "add a node"),
    (
        "l",
        "lock",
        "take the lock demo and hold it; once more gives it back",
    ),
    (
        "c",
        "campaign",
        "stand in the election, or not; a leader resigns",
    ),
    ("g", "goodbye", "let it leave with a goodbye"),
    ("w", "web", "open the dashboard in a browser"),
];

/// A command of the user.
pub(super) enum Wish {
    Order(Order),
    /// Show the dashboard.
    Browse,
    Quit,
    /// Something that is not possible, with the reason.
    Nothing(String),
    /// Only the view has changed.
    Look,
}

/// The screen, and its data.
pub(super) struct Face {
    screen: Screen,
    keys: mpsc::Receiver<Event>,
    /// Asks the node whose view is shown.
    feed: Option<(HttpAddr, Feed)>,
    states: mpsc::Receiver<Vec<NodeState>>,
    states_in: mpsc::Sender<Vec<NodeState>>,
    asking: Option<JoinHandle<()>>,
    asked: Instant,
    /// Whether something has happened since the nodes were asked.
    stale: bool,
    pub(super) model: Model,
    ui: Ui,
}

impl Face {
    pub(super) fn new() -> anyhow::Result<Face> {
        let (states_in, states) = mpsc::channel(1);
        let now = Instant::now();
        let mut model = Model::new(String::new(), now);
        model.lab = Some(Vec::new());
        Ok(Face {
            screen: Screen::take()?,
            keys: typed(),
            feed: None,
            states,
            states_in,
            asking: None,
            asked: now,
            stale: false,
            model,
            // Rows do not move while the user works with the selected one.
            ui: Ui::new(Theme::of_environment(), Sort::Name),
        })
    }

    pub(super) fn push(&mut self, entry: Entry) {
        self.model.push(entry);
    }

    /// Waits for the user, and processes answers of nodes in the meantime. This is cancel safe: dropping the future
    /// loses nothing.
    pub(super) async fn next(&mut self) -> Wish {
        loop {
            let update = async {
                match &mut self.feed {
                    Some((_, feed)) => feed.updates.recv().await,
                    None => core::future::pending().await,
                }
            };
            tokio::select! {
                key = self.keys.recv() => return match key {
                    Some(Event::Key(key)) if key.is_press() || key.is_repeat() => {
                        match self.ui.key(key, &self.model, Instant::now()) {
                            Reaction::Quit => Wish::Quit,
                            Reaction::Done => Wish::Look,
                            Reaction::Unused(key) => self.wish(key),
                        }
                    }
                    Some(_) => Wish::Look,
                    None => Wish::Quit,
                },
                Some(update) = update => {
                    update.apply(&mut self.model);
                    self.complete();
                }
                Some(states) = self.states.recv() => {
                    self.model.lab = Some(states.into_iter().map(lab_node).collect());
                    self.complete();
                }
            }
        }
    }

    /// The meaning of a key for the selected node.
    fn wish(&mut self, key: char) -> Wish {
        let rows = self.ui.rows(&self.model, Instant::now());
        let Some((_, member)) = self.ui.chosen(&rows) else {
            return Wish::Nothing("no node is chosen".to_owned());
        };
        if key == ' ' {
            let id = member.id.clone();
            if !self.ui.marked.remove(&id) {
                self.ui.marked.insert(id);
            }
            return Wish::Look;
        }
        match key {
            'h' => return Wish::Order(Order::Heal {}),
            'a' => return Wish::Order(Order::Add {}),
            'w' => return Wish::Browse,
            'x' => {
                let nodes = self.far_side();
                self.ui.marked.clear();
                return Wish::Order(Order::Partition { nodes });
            }
            _ => {}
        }
        let Some(n) = self.model.lab_node(&member.id) else {
            let name = self.model.name_of(&member.id);
            return Wish::Nothing(format!("{name} belongs to another program"));
        };
        let (node, name) = (n.number, LOCK.to_owned());
        let leads = n.leader.as_deref() == Some(n.id.as_str());
        Wish::Order(match key {
            'k' => Order::Kill { node },
            'r' => Order::Revive { node },
            'p' if n.paused => Order::Revive { node },
            'p' => Order::Pause { node },
            'i' => Order::Isolate { node },
            'g' => Order::Leave { node },
            'l' if n.locks.contains(&name) => Order::Unlock { node, name },
            'l' => Order::Lock { node, name },
            'c' if leads => Order::Resign { node },
            'c' if n.stands == Some(false) => Order::Campaign { node },
            'c' => Order::Withdraw { node },
            's' => {
                let ms = if n.delay_ms > 0 { 0 } else { DELAY_MS };
                Order::Slow { node, ms }
            }
            'd' => {
                let percent = if n.loss_percent > 0 { 0 } else { PERCENT };
                Order::Lose { node, percent }
            }
            _ => return Wish::Look,
        })
    }

    /// The nodes to cut off: the marked ones, or the last two of five.
    fn far_side(&self) -> Vec<usize> {
        let nodes = self.model.lab.as_deref().unwrap_or_default();
        let marked = nodes.iter().filter(|n| self.ui.marked.contains(&n.id));
        let marked: Vec<usize> = marked.map(|n| n.number).collect();
        match marked.is_empty() {
            true => (1..=nodes.len())
                .skip((nodes.len() * 3).div_ceil(5))
                .collect(),
            false => marked,
        }
    }

    /// Switches to a running node if necessary, and asks all nodes.
    pub(super) fn follow(&mut self, group: &Group) {
        let states = group.states();
        let runs = |n: &&NodeState| n.state == "running";
        let near = states.iter().filter(runs).find(|n| !n.isolated && !n.far);
        let through = near.or_else(|| states.iter().find(runs));
        let http = through.and_then(|n| n.http.parse::<HttpAddr>().ok());
        match http {
            Some(http) if self.feed.as_ref().is_none_or(|(held, _)| *held != http) => {
                let agent = AgentAddr::of(http.clone());
                self.model.address = agent.shown();
                // Events come from all nodes, not only from the one that is asked.
                self.feed = Some((http, Feed::start(agent, false)));
            }
            Some(_) => {}
            None => {
                self.feed = None;
                let why = "no node is running; r revives one".to_owned();
                self.model.lose(why, Duration::ZERO, Instant::now());
            }
        }
        let busy = self.asking.as_ref().is_some_and(|t| !t.is_finished());
        let pause = if self.stale { BREATH } else { ASK };
        if !busy && self.asked.elapsed() >= pause {
            self.asked = Instant::now();
            self.stale = false;
            let states_in = self.states_in.clone();
            self.asking = Some(tokio::spawn(async move {
                let states = super::lab::ask_all(states).await;
                // An older answer that was not read is just as good.
                let _ = states_in.try_send(states);
            }));
        }
    }

    /// Something has happened: what is shown is asked for again.
    pub(super) fn hasten(&mut self) {
        self.stale = true;
        if let Some((_, feed)) = &self.feed {
            feed.hasten();
        }
    }

    /// Whether the table shows this node in one of these states.
    pub(super) fn shows(&self, id: NodeId, status: &[&str]) -> bool {
        let id = id.to_string();
        let mut members = self.model.members.iter().filter(|m| m.id == id);
        members.any(|m| status.contains(&m.status.as_str()))
    }

    /// Whether the table shows this node as the leader.
    pub(super) fn shows_leader(&self, id: NodeId) -> bool {
        let id = id.to_string();
        let mut elections = self.model.elections.iter().filter(|e| e.name == ELECTION);
        elections.any(|e| e.leader.as_ref().is_some_and(|l| l.id == id))
    }

    /// Nodes that the asked one does not list are shown too, because they can be revived.
    fn complete(&mut self) {
        let nodes = self.model.lab.as_deref().unwrap_or_default();
        let missing = nodes
            .iter()
            .filter(|n| self.model.members.iter().all(|m| m.id != n.id));
        let missing: Vec<MemberView> = missing.filter_map(unlisted).collect();
        self.model.members.extend(missing);
    }

    pub(super) fn draw(&mut self) -> anyhow::Result<()> {
        let (model, ui) = (&self.model, &self.ui);
        self.screen
            .draw(|frame| draw(frame, model, ui, &KEYS, Instant::now()))
    }
}

/// A node that no other node lists.
fn unlisted(node: &LabNode) -> Option<MemberView> {
    let status = if node.stopped { "left" } else { "unknown" };
    let member = json!({
        "name": node.name, "id": node.id, "status": status, "address": "", "life": 0, "incarnation": 0, "tags": {},
        "rtt_us": null, "health_percent": 0, "suspicions": 0, "refutations": 0, "accuser": null, "self": false,
    });
    serde_json::from_value(member).ok()
}

fn lab_node(n: NodeState) -> LabNode {
    LabNode {
        number: n.number,
        name: n.name,
        id: n.id,
        stopped: n.state == "stopped",
        paused: n.state == "paused",
        isolated: n.isolated,
        far: n.far,
        loss_percent: n.loss_percent,
        delay_ms: n.delay_ms,
        locks: n.locks.into_iter().map(|(name, _)| name).collect(),
        sees: n.sees,
        leader: n.leader,
        stands: n.stands,
    }
}

/// What was shown, and what to do next. `scene` is one that was not played.
pub(super) fn farewell(
    deeds: usize,
    failures: usize,
    leaders: usize,
    shown: Duration,
    scene: &str,
) -> String {
    let count = |n: usize, one: &str, many: &str| match n {
        0 => format!("no {one}"),
        1 => format!("1 {one}"),
        n => format!("{n} {many}"),
    };
    format!(
        "Shown in {} s: {}, {}, {}, all without a server.\n\
         Next: consort up --scene {scene} · consort agent --help · consort elect {ELECTION} -- ./job · \
         consort lock nightly -- ./backup.sh",
        shown.as_secs(),
        count(deeds, "order", "orders"),
        match failures {
            0 => "no failure".to_owned(),
            n => format!("{} declared failed", count(n, "node", "nodes")),
        },
        count(leaders, "leader", "leaders"),
    )
}
