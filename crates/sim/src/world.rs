//! The world: hosts with real nodes, the network between them, and the virtual clock.

use crate::identified;
use crate::net::{Conditions, Net};
use crate::pool::Pool;
use crate::queue::{Due, EventQueue};
use crate::stream;
use crate::topology::Layout;
use crate::trace::Trace;
use alloc::collections::{BTreeMap, VecDeque};
use consort_proto::election::Policy;
use consort_proto::lease;
use consort_proto::membership::{Meta, Precedence, Record, SharedMeta};
use consort_proto::{
    Config, ConfigError, ElectionId, Fact, Identity, Incarnation, Instant, Life, Node, NodeId, Rng,
    Term, hash_pair,
};
use core::net::{IpAddr, Ipv4Addr, SocketAddr};
use core::time::Duration;

/// Port of every simulated host.
const PORT: u16 = 7946;
/// Host 0 is 10.0.0.1.
const FIRST_IP: u32 = 0x0a00_0001;
/// Wall-clock seconds at virtual time zero; lives are derived from them.
pub const BIRTH_SECS: u64 = 1_700_000_000;
/// Most datagrams queued for a paused process; more are dropped.
pub(crate) const BACKLOG_MAX: usize = 64;
/// Records given to a node at a time, so that its queues stay short.
pub const RESTORE_CHUNK: usize = 64;

/// Initial state of a world.
#[derive(Clone, Debug)]
pub struct WorldConfig {
    /// Settings of every node.
    pub node: Config,
    /// Positions of hosts.
    pub layout: Layout,
    /// Quality of the network.
    pub conditions: Conditions,
    /// Determines everything random.
    pub seed: u64,
    /// Whether nodes know each other at the start.
    pub start: Start,
    /// How often oracles sample the whole world.
    pub sample_every: Option<Duration>,
    /// Trace of the history.
    pub trace: Trace,
}

/// What nodes know at the start.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Start {
    /// All others, from a stored list; and this many hosts as seeds, in case the list is lost.
    Warm {
        /// Number of first hosts that are seeds.
        seeds: usize,
    },
    /// Only the addresses of the first hosts.
    Cold {
        /// Number of first hosts that are seeds.
        seeds: usize,
    },
}

impl Start {
    /// Number of first hosts that are seeds.
    pub fn seeds(self) -> usize {
        match self {
            Start::Warm { seeds } | Start::Cold { seeds } => seeds,
        }
    }
}

/// State of a host.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HostState {
    /// Its process runs.
    Up,
    /// Its process is paused and may resume.
    Paused,
    /// The device is gone.
    Crashed,
    /// Its process left the group and ended; the device still forwards.
    Left,
}

/// A simulated device with its process.
#[derive(Debug)]
pub struct Host {
    pub(crate) node: Node,
    pub(crate) state: HostState,
    /// When the state last changed.
    pub(crate) since: Instant,
    /// When the process started.
    pub(crate) started: Instant,
    /// Datagrams that wait for a paused process.
    pub(crate) backlog: VecDeque<u32>,
    /// The last life on stable storage.
    pub(crate) stored_life: Option<Life>,
    /// The greatest term of each election on stable storage.
    pub(crate) stored_terms: BTreeMap<ElectionId, Term>,
    /// Up to where the lock clock is on stable storage.
    pub(crate) stored_fence: Option<u64>,
    /// Its stored records of leases.
    pub(crate) stored_leases: BTreeMap<ElectionId, lease::Record>,
    /// The life in which its disk was new.
    pub(crate) memory: Life,
    /// The life the process started with: its own repairs may raise it.
    pub(crate) born: Life,
    /// How much faster than true time its clock runs, in millionths.
    pub(crate) drift_ppm: i32,
}

impl Host {
    /// The node; that of the last process if none runs.
    pub fn node(&self) -> &Node {
        &self.node
    }

    /// The state of the host.
    pub fn state(&self) -> HostState {
        self.state
    }

    /// When that last changed.
    pub fn since(&self) -> Instant {
        self.since
    }

    /// When its process started.
    pub fn started(&self) -> Instant {
        self.started
    }

    /// The life its process started with.
    pub fn born(&self) -> Life {
        self.born
    }
}

/// What the engine needs of a host to handle a wake-up that came too early: separate from the host, so that all of
/// them stay in the cache.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Alarm {
    /// The earliest wake-up in the queue; `Instant::MAX` if there is none.
    pub(crate) wake_at: Instant,
    /// When the node wants to be woken.
    pub(crate) due: Instant,
}

const SILENT: Alarm = Alarm {
    wake_at: Instant::MAX,
    due: Instant::MAX,
};

/// Hosts, network and clock. [`Engine`](crate::Engine) advances it.
#[derive(Debug)]
pub struct World {
    pub(crate) config: WorldConfig,
    pub(crate) now: Instant,
    pub(crate) queue: EventQueue,
    pub(crate) hosts: Vec<Host>,
    /// By host.
    pub(crate) alarms: Vec<Alarm>,
    pub(crate) net: Net,
    pub(crate) pool: Pool,
    pub(crate) trace: Trace,
    pub(crate) rng: Rng,
    /// Elections in which every host campaigns, also after a restart.
    pub(crate) elections: Vec<(ElectionId, Policy)>,
    /// Attributes of hosts, where they are not 0.
    pub(crate) attributes: BTreeMap<ElectionId, Vec<u32>>,
    pub(crate) steps: u64,
    /// When a fault last started or ended.
    pub(crate) disturbed_at: Instant,
}

impl World {
    /// Hosts at their positions, processes just started, nothing sent yet.
    pub(crate) fn new(config: WorldConfig) -> Result<World, ConfigError> {
        let mut rng = Rng::seed(config.seed, stream::HOSTS);
        let count = config.layout.len();
        let mut hosts = Vec::with_capacity(count);
        for index in 0..count {
            let life = Life::starting(BIRTH_SECS, rng.bits32() as u16, None);
            let node = start_node(&config, index, life, life, BIRTH_SECS, Instant::ZERO)?;
            hosts.push(Host {
                node,
                state: HostState::Up,
                since: Instant::ZERO,
                started: Instant::ZERO,
                backlog: VecDeque::new(),
                stored_life: Some(life),
                stored_terms: BTreeMap::new(),
                stored_fence: None,
                stored_leases: BTreeMap::new(),
                memory: life,
                born: life,
                drift_ppm: 0,
            });
        }
        let net = Net::new(config.layout.clone(), config.conditions, config.seed);
        let mut queue = EventQueue::default();
        if let Some(every) = config.sample_every {
            queue.push(Instant::ZERO + every, Due::Sample);
        }
        Ok(World {
            trace: config.trace.clone(),
            config,
            now: Instant::ZERO,
            queue,
            hosts,
            alarms: vec![SILENT; count],
            net,
            pool: Pool::default(),
            rng,
            elections: Vec::new(),
            attributes: BTreeMap::new(),
            steps: 0,
            disturbed_at: Instant::ZERO,
        })
    }

    /// The virtual time.
    pub fn now(&self) -> Instant {
        self.now
    }

    /// Gives every host a clock that runs up to `ppm` millionths faster or slower than true time. Must be called
    /// before the start.
    pub fn set_drift(&mut self, ppm: u32) {
        let mut rng = Rng::seed(self.config.seed, stream::DRIFT);
        for host in &mut self.hosts {
            host.drift_ppm = rng.below(2 * ppm + 1) as i32 - ppm as i32;
        }
    }

    /// What the clock of a host shows.
    pub fn clock(&self, index: usize) -> Instant {
        local(self.now, self.hosts[index].drift_ppm)
    }

    /// The first time at which the clock of a host shows `at` or more.
    pub(crate) fn when(&self, index: usize, at: Instant) -> Instant {
        let ppm = self.hosts[index].drift_ppm;
        if ppm == 0 || at == Instant::MAX {
            return at;
        }
        let guess = at.as_micros() as i128 * 1_000_000 / (1_000_000 + i128::from(ppm));
        let mut when = Instant::from_micros(guess as u64);
        while local(when, ppm) < at {
            when = when + Duration::from_micros(1);
        }
        when
    }

    /// All hosts.
    pub fn hosts(&self) -> &[Host] {
        &self.hosts
    }

    /// One host.
    pub fn host(&self, index: usize) -> &Host {
        &self.hosts[index]
    }

    /// The network.
    pub fn net(&self) -> &Net {
        &self.net
    }

    /// The network, to be changed outside of a script.
    pub fn net_mut(&mut self) -> &mut Net {
        &mut self.net
    }

    /// The history.
    pub fn trace(&self) -> &Trace {
        &self.trace
    }

    /// Settings of every node.
    pub fn node_config(&self) -> &Config {
        &self.config.node
    }

    /// The elections in which every host campaigns.
    pub fn elections(&self) -> &[(ElectionId, Policy)] {
        &self.elections
    }

    /// The seed that determines everything random.
    pub fn seed(&self) -> u64 {
        self.config.seed
    }

    /// Number of inputs that nodes have handled.
    pub fn steps(&self) -> u64 {
        self.steps
    }

    /// When a fault last started or ended; zero if none did.
    pub fn disturbed_at(&self) -> Instant {
        self.disturbed_at
    }

    /// Marks the world as disturbed now, as by a change made through [`World::net_mut`].
    pub fn mark_disturbed(&mut self) {
        self.disturbed_at = self.now;
    }

    /// Indices of the hosts whose process runs.
    pub fn up(&self) -> impl Iterator<Item = usize> + '_ {
        (0..self.hosts.len()).filter(|&i| self.hosts[i].state == HostState::Up)
    }

    /// The host with that id.
    pub fn index_of(&self, id: NodeId) -> Option<usize> {
        let index = id.0.checked_sub(1)? as usize;
        (index < self.hosts.len()).then_some(index)
    }

    /// Replaces the process of a host, without telling any other.
    pub(crate) fn respawn(&mut self, index: usize, keep_life: bool) {
        let host = &self.hosts[index];
        let floor = if keep_life { host.stored_life } else { None };
        let secs = BIRTH_SECS + self.now.as_micros() / 1_000_000;
        let life = Life::starting(secs, self.rng.bits32() as u16, floor);
        // It has forgotten what it witnessed before: this is no longer a first start.
        self.config.node.mutex.bootstrap = false;
        let memory = if keep_life { host.memory } else { life };
        let node = start_node(&self.config, index, life, memory, secs, self.clock(index))
            .expect("the config worked when the world began");
        let host = &mut self.hosts[index];
        host.node = node;
        host.state = HostState::Up;
        host.since = self.now;
        host.started = self.now;
        host.stored_life = Some(life);
        host.born = life;
        host.memory = memory;
        if !keep_life {
            host.stored_leases.clear();
            host.stored_terms.clear();
            host.stored_fence = None;
        }
        self.alarms[index] = SILENT;
        self.net.routes().set_alive(index, true);
    }

    /// Drops the datagrams queued for a paused process.
    pub(crate) fn drop_backlog(&mut self, index: usize) {
        while let Some(slot) = self.hosts[index].backlog.pop_front() {
            self.pool.give_back(slot as usize);
        }
    }

    /// Stores a node's facts.
    pub(crate) fn store_facts(&mut self, index: usize) {
        let host = &mut self.hosts[index];
        while let Some(fact) = host.node.poll_fact() {
            match fact {
                Fact::Life(life) => host.stored_life = Some(life),
                Fact::Term(election, term) => {
                    host.stored_terms.insert(election, term);
                }
                Fact::Fence(seq) => host.stored_fence = Some(seq),
                Fact::Lease(election, record) => {
                    host.stored_leases.insert(election, *record);
                }
            }
        }
    }

    /// Asks the node when it wants to be woken, and schedules it.
    pub(crate) fn rearm(&mut self, index: usize) {
        let due = self.hosts[index].node.poll_timeout();
        self.alarms[index].due = due.map_or(Instant::MAX, |due| self.when(index, due));
        self.set_alarm(index);
    }

    /// Schedules a wake-up if the node is due before the one that is scheduled.
    pub(crate) fn set_alarm(&mut self, index: usize) {
        let alarm = &mut self.alarms[index];
        if alarm.due < alarm.wake_at {
            alarm.wake_at = alarm.due.max(self.now);
            self.queue.push(alarm.wake_at, Due::Wake(index));
        }
    }

    /// Cancels the wake-ups of a host whose process does not run.
    pub(crate) fn silence(&mut self, index: usize) {
        self.alarms[index] = SILENT;
    }

    /// The own records of all hosts, in order of id, to restore a list from.
    pub fn records(&self) -> Vec<Record> {
        let record = |(index, host): (usize, &Host)| Record {
            id: id_of(index),
            precedence: Precedence::alive(host.node.membership().life(), Incarnation(0)),
            accuser: id_of(index),
            addr: addr_of(index),
            meta: SharedMeta::default(),
            coordinate: None,
            nap_ms: 0,
            current: true,
        };
        self.hosts.iter().enumerate().map(record).collect()
    }
}

fn local(now: Instant, ppm: i32) -> Instant {
    let us = now.as_micros();
    let drift = i128::from(us) * i128::from(ppm) / 1_000_000;
    Instant::from_micros(us.saturating_add_signed(drift as i64))
}

/// The identity of the host at `index`.
pub fn id_of(index: usize) -> NodeId {
    NodeId(index as u64 + 1)
}

/// Its address.
pub fn addr_of(index: usize) -> SocketAddr {
    SocketAddr::from((Ipv4Addr::from(FIRST_IP + index as u32), PORT))
}

/// The host at an address, of `count`.
pub fn index_at(addr: SocketAddr, count: usize) -> Option<usize> {
    let IpAddr::V4(ip) = addr.ip() else {
        return None;
    };
    let index = u32::from(ip).checked_sub(FIRST_IP)? as usize;
    (addr.port() == PORT && index < count).then_some(index)
}

fn start_node(
    config: &WorldConfig,
    index: usize,
    life: Life,
    memory: Life,
    wall: u64,
    now: Instant,
) -> Result<Node, ConfigError> {
    let identity = Identity {
        id: id_of(index),
        life,
        addr: addr_of(index),
        meta: Meta::default(),
        memory,
        wall: Some(wall),
    };
    // A different life draws different numbers.
    let seed = hash_pair(config.seed, life.0);
    let mut node = config.node.clone();
    if node.seal.identity.is_some() {
        node.seal.identity = Some(identified::identity(&node, identity.id));
    }
    Node::new(node, identity, seed, now)
}
