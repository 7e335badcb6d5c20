//! The local nodes: each is an agent with its own sockets, in this process.

use super::fault::{Holds, Knobs};
use crate::agent::stands_in;
use anyhow::{Context, bail};
use consort::membership::Life;
use consort::{Event, EventError, Node, NodeId, Status};
use consort_agent::{
    Agent, AgentError, Config, HttpAddr, LabOrder, ListenError, RawConfig, RawLocks, RawMembership,
    Startup,
};
use core::net::SocketAddr;
use core::time::Duration;
use std::collections::{BTreeMap, BTreeSet};
use std::time::Instant;
use tokio::sync::mpsc;

/// The election in which all nodes campaign.
pub(crate) const ELECTION: &str = "gateway";

/// The greatest number of nodes of a group.
pub(crate) const NODES_MAX: usize = 64;

/// How long all goodbyes together may take.
const GOODBYE_PATIENCE: Duration = Duration::from_secs(2);

/// An event of one node, with its time.
pub(crate) struct Note {
    pub(crate) observer: usize,
    pub(crate) at: Instant,
    pub(crate) event: Event,
}

/// The settings of all nodes.
#[derive(Clone, Debug)]
pub(crate) struct Plan {
    pub(crate) period: Duration,
    pub(crate) group: Option<String>,
    /// The HTTP address of the first node; `None` is the default, with another port if that one is taken.
    pub(crate) bind: Option<SocketAddr>,
    pub(crate) http: Option<HttpAddr>,
}

pub(super) enum Running {
    Yes(Agent),
    Paused(Agent),
    No,
}

pub(super) struct Local {
    pub(super) name: String,
    pub(super) id: NodeId,
    life: Life,
    pub(super) addr: SocketAddr,
    pub(super) http: HttpAddr,
    pub(super) running: Running,
    pub(super) knobs: Knobs,
    pub(super) holds: Holds,
}

impl Local {
    pub(super) fn agent(&self) -> Option<&Agent> {
        match &self.running {
            Running::Yes(agent) | Running::Paused(agent) => Some(agent),
            Running::No => None,
        }
    }

    pub(super) fn running(&self) -> anyhow::Result<&Agent> {
        match &self.running {
            Running::Yes(agent) => Ok(agent),
            Running::Paused(_) => bail!("{} is paused", self.name),
            Running::No => bail!("{} is not running", self.name),
        }
    }
}

/// The nodes, numbered from 1.
pub(crate) struct Group {
    pub(super) plan: Plan,
    pub(super) nodes: Vec<Local>,
    notes: mpsc::Sender<Note>,
    /// Receives the orders of the dashboard.
    lab: mpsc::Sender<LabOrder>,
    /// The nodes that a partition cuts off from the others.
    pub(super) far: BTreeSet<usize>,
    /// Addresses that differ from the expected ones.
    pub(crate) remarks: Vec<String>,
    /// Whether the group has started, so that nodes which are added later may meet locks that are held.
    pub(crate) alive: bool,
}

impl Group {
    pub(crate) fn new(plan: Plan, notes: mpsc::Sender<Note>, lab: mpsc::Sender<LabOrder>) -> Group {
        Group {
            lab,
            far: BTreeSet::new(),
            plan,
            nodes: Vec::new(),
            notes,
            remarks: Vec::new(),
            alive: false,
        }
    }

    /// Starts one more node. Returns its number.
    pub(crate) async fn add(&mut self) -> anyhow::Result<usize> {
        let number = self.nodes.len() + 1;
        if number > NODES_MAX {
            bail!("{NODES_MAX} nodes are enough");
        }
        let name = format!("node-{number}");
        let (bind, http) = match number {
            1 => (
                self.plan
                    .bind
                    .unwrap_or(([127, 0, 0, 1], consort::DEFAULT_PORT).into()),
                self.plan.http.clone().unwrap_or_default(),
            ),
            _ => {
                let any = SocketAddr::from(([127, 0, 0, 1], 0));
                (any, HttpAddr::Tcp(any))
            }
        };
        let agent = self.start(&name, bind, http, None, None).await?;
        let this = agent.node().this().await?;
        self.nodes.push(Local {
            name,
            id: this.id,
            life: this.life,
            addr: agent.node().local_addr(),
            http: agent.http().clone(),
            running: Running::No,
            knobs: Knobs::default(),
            holds: Holds::default(),
        });
        self.run(number, agent);
        self.apply_faults();
        Ok(number)
    }

    /// Starts an agent. Uses other ports if the wanted ones are taken and the user did not ask for them.
    async fn start(
        &mut self,
        name: &str,
        mut bind: SocketAddr,
        mut http: HttpAddr,
        id: Option<NodeId>,
        last: Option<Life>,
    ) -> anyhow::Result<Agent> {
        loop {
            let raw = RawConfig {
                name: Some(name.to_owned()),
                id: id.map(|id| id.to_string()),
                group: self.plan.group.clone(),
                bind: Some(bind.to_string()),
                http: Some(http.to_string()),
                join: self.seeds(),
                election: vec![stands_in(ELECTION.to_owned())],
                lock: RawLocks {
                    // This is ignored for a node that is revived.
                    bootstrap: Some(!self.alive),
                    ..RawLocks::default()
                },
                membership: RawMembership {
                    probe_period: Some(self.plan.period),
                    ..RawMembership::default()
                },
                ..RawConfig::default()
            };
            let any = SocketAddr::from(([127, 0, 0, 1], 0));
            let startup = Startup {
                last,
                lab: Some(self.lab.clone()),
                log: None,
            };
            match Agent::start_with(Config::try_from(raw)?, startup).await {
                Ok(agent) => return Ok(agent),
                Err(AgentError::Http(ListenError::Occupied { .. })) if self.plan.http.is_none() => {
                    let remark = format!("{http} is taken, so {name} serves HTTP elsewhere");
                    self.remarks.push(remark);
                    http = HttpAddr::Tcp(any);
                }
                Err(AgentError::Node(consort::StartError::PortOccupied { .. }))
                    if self.plan.bind.is_none() =>
                {
                    let remark = format!("{bind} is taken, so {name} listens elsewhere");
                    self.remarks.push(remark);
                    bind = any;
                }
                Err(error) => return Err(error).with_context(|| format!("{name} cannot start")),
            }
        }
    }

    /// Adds a started agent as node `number`, and reports its events.
    fn run(&mut self, number: usize, mut agent: Agent) {
        let mut events = agent.events();
        let notes = self.notes.clone();
        self.nodes[number - 1].running = Running::Yes(agent);
        tokio::spawn(async move {
            loop {
                let event = match events.next().await {
                    Ok(event) => event,
                    Err(EventError::Lagged { .. }) => continue,
                    Err(_) => break,
                };
                let at = Instant::now();
                let note = Note {
                    observer: number,
                    at,
                    event,
                };
                if notes.send(note).await.is_err() {
                    break;
                }
            }
        });
    }

    fn seeds(&self) -> Vec<String> {
        let running = self
            .nodes
            .iter()
            .filter(|l| matches!(l.running, Running::Yes(_)));
        running.take(3).map(|l| l.addr.to_string()).collect()
    }

    pub(super) fn local(&mut self, number: usize) -> anyhow::Result<&mut Local> {
        let n = self.nodes.len();
        match self.nodes.get_mut(number.wrapping_sub(1)) {
            Some(local) => Ok(local),
            None => bail!("there is no node-{number}; there are {n}"),
        }
    }

    /// Stops a node without a goodbye.
    pub(crate) async fn kill(&mut self, number: usize) -> anyhow::Result<(NodeId, String)> {
        let local = self.local(number)?;
        match core::mem::replace(&mut local.running, Running::No) {
            Running::Yes(agent) | Running::Paused(agent) => agent.kill().await,
            Running::No => bail!("{} is not running", local.name),
        }
        local.knobs = Knobs::default();
        local.holds = Holds::default();
        Ok((local.id, local.name.clone()))
    }

    /// Freezes a node.
    pub(crate) fn pause(&mut self, number: usize) -> anyhow::Result<(NodeId, String)> {
        let local = self.local(number)?;
        match core::mem::replace(&mut local.running, Running::No) {
            Running::Yes(agent) => {
                agent.node().pause();
                local.running = Running::Paused(agent);
            }
            other => {
                local.running = other;
                bail!("{} is not running", local.name);
            }
        }
        Ok((local.id, local.name.clone()))
    }

    /// Restarts a stopped node, or resumes a paused one.
    pub(crate) async fn revive(
        &mut self,
        number: usize,
    ) -> anyhow::Result<(NodeId, String, &'static str)> {
        let local = self.local(number)?;
        let (name, id, life) = (local.name.clone(), local.id, local.life);
        match core::mem::replace(&mut local.running, Running::No) {
            Running::Paused(agent) => {
                agent.node().resume();
                local.running = Running::Yes(agent);
                Ok((id, name, "resume"))
            }
            Running::Yes(agent) => {
                local.running = Running::Yes(agent);
                bail!("{name} is running");
            }
            Running::No => {
                let (addr, http) = (local.addr, local.http.clone());
                let agent = self.start(&name, addr, http, Some(id), Some(life)).await?;
                let this = agent.node().this().await?;
                let local = self.local(number)?;
                local.life = this.life;
                local.addr = agent.node().local_addr();
                local.http = agent.http().clone();
                self.run(number, agent);
                self.apply_faults();
                Ok((id, name, "revive"))
            }
        }
    }

    /// Makes a node leave.
    pub(crate) async fn leave(&mut self, number: usize) -> anyhow::Result<(NodeId, String)> {
        let local = self.local(number)?;
        match core::mem::replace(&mut local.running, Running::No) {
            Running::Yes(agent) => {
                agent.leave().await?;
            }
            other => {
                local.running = other;
                bail!("{} is not running", local.name);
            }
        }
        Ok((local.id, local.name.clone()))
    }

    /// Detects nodes that left by order of another program. Returns their names.
    pub(crate) async fn reap(&mut self) -> Vec<String> {
        let mut gone = Vec::new();
        for local in &mut self.nodes {
            let stopped = match &local.running {
                Running::Yes(agent) => {
                    let stopped = agent.node().stopped();
                    tokio::time::timeout(Duration::ZERO, stopped).await.is_ok()
                }
                _ => false,
            };
            if stopped
                && let Running::Yes(agent) = core::mem::replace(&mut local.running, Running::No)
            {
                agent.close().await;
                gone.push(local.name.clone());
            }
        }
        gone
    }

    /// Whether node `number` is frozen.
    pub(crate) fn is_paused(&self, number: usize) -> bool {
        let local = self.nodes.get(number.wrapping_sub(1));
        local.is_some_and(|l| matches!(l.running, Running::Paused(_)))
    }

    /// The nodes that can observe, by number.
    pub(crate) fn running(&self) -> BTreeMap<usize, NodeId> {
        let numbered = self.nodes.iter().enumerate();
        numbered
            .filter(|(_, l)| matches!(l.running, Running::Yes(_)))
            .map(|(i, l)| (i + 1, l.id))
            .collect()
    }

    /// The ids of all nodes, by number.
    pub(super) fn ids(&self) -> BTreeMap<usize, NodeId> {
        let numbered = self.nodes.iter().enumerate();
        numbered.map(|(i, l)| (i + 1, l.id)).collect()
    }

    /// The handles of the running nodes, with their names.
    pub(crate) fn handles(&self) -> Vec<(String, Node)> {
        let running = self.nodes.iter().filter_map(|l| match &l.running {
            Running::Yes(agent) => Some((l.name.clone(), agent.node().clone())),
            _ => None,
        });
        running.collect()
    }

    /// The nodes that each running node lists as alive; `None` if one of them does not answer.
    pub(crate) async fn lists(&self) -> Option<BTreeMap<usize, BTreeSet<NodeId>>> {
        let mut lists = BTreeMap::new();
        for (i, local) in self.nodes.iter().enumerate() {
            let Running::Yes(agent) = &local.running else {
                continue;
            };
            let members = agent.node().members().await.ok()?;
            let alive = members.iter().filter(|m| m.status == Status::Alive);
            lists.insert(i + 1, alive.map(|m| m.id).collect());
        }
        Some(lists)
    }

    /// Whether every running node lists all of them as alive.
    pub(crate) async fn agrees(&self) -> bool {
        let lists = self.lists().await;
        lists.is_some_and(|lists| agree(&lists, &self.running()))
    }

    /// Whether no running node lists a running node of the other side of a partition as alive.
    pub(super) fn are_apart(&self, lists: &BTreeMap<usize, BTreeSet<NodeId>>) -> bool {
        let far = |number: &usize| self.far.contains(number);
        let mut others = lists.keys().flat_map(|by| {
            let nodes = self.running().into_iter();
            nodes.map(move |(of, id)| (*by, of, id))
        });
        !self.far.is_empty()
            && others.all(|(by, of, id)| far(&by) == far(&of) || !lists[&by].contains(&id))
    }

    /// The name, UDP address and HTTP address of each node.
    pub(crate) fn addresses(&self) -> Vec<[String; 3]> {
        let nodes = self.nodes.iter();
        nodes
            .map(|l| [l.name.clone(), l.addr.to_string(), l.http.to_string()])
            .collect()
    }

    /// Makes all nodes leave one after the other, so that the remaining ones confirm each goodbye. Nodes that take too
    /// long are stopped.
    pub(crate) async fn quit(&mut self) {
        let deadline = tokio::time::Instant::now() + GOODBYE_PATIENCE;
        while let Some(local) = self.nodes.pop() {
            match local.running {
                Running::Yes(agent) => {
                    let node = agent.node().clone();
                    let leaving = tokio::time::timeout_at(deadline, agent.leave());
                    if leaving.await.is_err() {
                        node.shutdown().await;
                    }
                }
                Running::Paused(agent) => agent.kill().await,
                Running::No => {}
            }
        }
    }
}

/// Whether every list has all running nodes.
pub(super) fn agree(
    lists: &BTreeMap<usize, BTreeSet<NodeId>>,
    running: &BTreeMap<usize, NodeId>,
) -> bool {
    let has_all = |list: &BTreeSet<NodeId>| running.values().all(|id| list.contains(id));
    lists.len() == running.len() && lists.values().all(has_all)
}
