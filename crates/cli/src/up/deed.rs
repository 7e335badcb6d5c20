//! Operations on running nodes: network faults, locks, and their candidacy in the election.

use super::fault::Knobs;
use super::group::{ELECTION, Group, Local, Running};
use super::lab::NodeState;
use anyhow::bail;
use consort::NodeId;
use consort::election::ElectionOptions;
use core::net::SocketAddr;
use core::time::Duration;
use std::collections::BTreeSet;

/// How long a node may take to carry out an order; a frozen node never does.
const ORDER_PATIENCE: Duration = Duration::from_secs(2);

impl Group {
    /// Cuts a node off from all others.
    pub(crate) fn isolate(&mut self, number: usize) -> anyhow::Result<(NodeId, String)> {
        self.turn(number, |knobs| knobs.isolated = true)
    }

    /// Drops this percentage of a node's datagrams.
    pub(crate) fn lose(&mut self, number: usize, percent: u8) -> anyhow::Result<(NodeId, String)> {
        if percent > 100 {
            bail!("{percent} percent are more than there are");
        }
        self.turn(number, |knobs| knobs.percent = percent)
    }

    /// Delays a node's datagrams.
    pub(crate) fn slow(&mut self, number: usize, ms: u16) -> anyhow::Result<(NodeId, String)> {
        self.turn(number, |knobs| knobs.ms = ms)
    }

    fn turn(
        &mut self,
        number: usize,
        set: impl Fn(&mut Knobs),
    ) -> anyhow::Result<(NodeId, String)> {
        let local = self.local(number)?;
        if local.agent().is_none() {
            bail!("{} is not running", local.name);
        }
        set(&mut local.knobs);
        let told = (local.id, local.name.clone());
        self.apply_faults();
        Ok(told)
    }

    /// Cuts these nodes off from the others, in place of an earlier partition. Returns the names of both sides.
    pub(crate) fn partition(&mut self, far: &[usize]) -> anyhow::Result<[Vec<String>; 2]> {
        for &number in far {
            self.local(number)?;
        }
        let far: BTreeSet<usize> = far.iter().copied().collect();
        if far.is_empty() || far.len() >= self.nodes.len() {
            bail!("a partition needs nodes on both sides");
        }
        self.far = far;
        self.apply_faults();
        let mut sides = [Vec::new(), Vec::new()];
        for (i, local) in self.nodes.iter().enumerate() {
            let side = usize::from(self.far.contains(&(i + 1)));
            sides[side].push(local.name.clone());
        }
        Ok(sides)
    }

    /// Ends all network faults.
    pub(crate) fn heal(&mut self) {
        self.far.clear();
        for local in &mut self.nodes {
            local.knobs = Knobs::default();
        }
        self.apply_faults();
    }

    /// Applies the ordered faults to every node.
    pub(super) fn apply_faults(&self) {
        let far = |i: usize| self.far.contains(&(i + 1));
        let nodes = || self.nodes.iter().enumerate();
        let others: BTreeSet<SocketAddr> = nodes()
            .filter(|(i, _)| far(*i))
            .map(|(_, l)| l.addr)
            .collect();
        for (i, local) in nodes() {
            if let Some(agent) = local.agent() {
                let faults = local.knobs.faults(far(i), &others);
                agent.node().set_faults(faults);
            }
        }
    }

    /// Makes a node take a lock and hold it.
    pub(crate) fn take_lock(
        &mut self,
        number: usize,
        name: &str,
    ) -> anyhow::Result<(NodeId, String)> {
        let local = self.local(number)?;
        let node = local.running()?.node().clone();
        if !local.holds.take(&node, name) {
            bail!("{} has asked for {name} already", local.name);
        }
        Ok((local.id, local.name.clone()))
    }

    /// Releases the lock, or withdraws the request for it.
    pub(crate) fn give_lock(
        &mut self,
        number: usize,
        name: &str,
    ) -> anyhow::Result<(NodeId, String)> {
        let local = self.local(number)?;
        if !local.holds.give(name) {
            bail!("{} has not asked for {name}", local.name);
        }
        Ok((local.id, local.name.clone()))
    }

    /// The locks that nodes hold by order: the name of the lock and the name of the node.
    pub(crate) fn held(&self) -> BTreeSet<(String, String)> {
        let nodes = self.nodes.iter().filter(|l| l.agent().is_some());
        let locks = nodes.flat_map(|l| {
            let held = l.holds.list().into_iter().filter(|(_, held)| *held);
            held.map(|(lock, _)| (lock, l.name.clone()))
        });
        locks.collect()
    }

    /// The numbers of the nodes that hold this lock by order.
    pub(crate) fn holders(&self, lock: &str) -> BTreeSet<usize> {
        let nodes = self.nodes.iter().enumerate();
        let holds = |l: &Local| l.holds.list().iter().any(|(n, held)| *held && n == lock);
        nodes
            .filter(|(_, l)| l.agent().is_some() && holds(l))
            .map(|(i, _)| i + 1)
            .collect()
    }

    /// Makes a node campaign in the election, or withdraw.
    pub(crate) async fn stand(
        &mut self,
        number: usize,
        stands: bool,
    ) -> anyhow::Result<(NodeId, String)> {
        let local = self.local(number)?;
        let node = local.running()?.node();
        let asked = async {
            let election = node.election(ELECTION).await?;
            match stands {
                true => election.campaign(ElectionOptions::new()).await?,
                false => election.withdraw().await?,
            }
            anyhow::Ok(())
        };
        tokio::time::timeout(ORDER_PATIENCE, asked).await??;
        Ok((local.id, local.name.clone()))
    }

    /// Makes a node stop leading.
    pub(crate) async fn resign(&mut self, number: usize) -> anyhow::Result<(NodeId, String)> {
        let local = self.local(number)?;
        let node = local.running()?.node();
        let asked = async {
            let election = node.election(ELECTION).await?;
            election.resign(None).await?;
            anyhow::Ok(())
        };
        tokio::time::timeout(ORDER_PATIENCE, asked).await??;
        Ok((local.id, local.name.clone()))
    }

    /// Records an operation on the group, or on one node, in the history of every agent.
    pub(crate) fn remark(&self, deed: &str, number: Option<usize>) {
        let local = number.and_then(|n| self.nodes.get(n.wrapping_sub(1)));
        let member = local.map(|l| (l.id, l.name.as_str()));
        for agent in self.nodes.iter().filter_map(Local::agent) {
            agent.remark(deed, member);
        }
    }

    /// How often each node probes another.
    pub(crate) fn period(&self) -> Duration {
        self.plan.period
    }

    /// All nodes, running or not.
    pub(crate) fn states(&self) -> Vec<NodeState> {
        let nodes = self.nodes.iter().enumerate();
        nodes
            .map(|(i, local)| {
                let (id, http) = (local.id.to_string(), local.http.to_string());
                NodeState {
                    state: match local.running {
                        Running::Yes(_) => "running",
                        Running::Paused(_) => "paused",
                        Running::No => "stopped",
                    },
                    isolated: local.knobs.isolated,
                    far: self.far.contains(&(i + 1)),
                    loss_percent: local.knobs.percent,
                    delay_ms: local.knobs.ms,
                    locks: local.holds.list(),
                    node: local.agent().map(|a| a.node().clone()),
                    ..NodeState::new(i + 1, &local.name, id, http)
                }
            })
            .collect()
    }
}
