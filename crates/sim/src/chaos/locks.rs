//! Storms over locks: applications on every host acquire and release locks at random.

use super::Tally;
use super::baselines::Baselines;
use crate::engine::Engine;
use crate::fault::{Fault, Keep};
use crate::oracle::{Panel, Violation};
use crate::stream;
use crate::world::{World, id_of};
use alloc::collections::BTreeMap;
use alloc::sync::Arc;
use consort_proto::mutex::{
    Acquire, Bound, FanOut, LockId, Mode, Order, PLACES, Policy, Service, Ticket, Wait,
};
use consort_proto::{Command, Config, Instant, Life, NodeId, Rng};
use core::time::Duration;

const NAMES: [&str; 2] = ["one", "two"];
/// Most concurrent requests of one host.
const TICKETS_MAX: usize = 3;
/// Drift of clocks, in millionths: the limit that nodes assume.
const DRIFT_PPM: u32 = 10_000;

/// Size of a datagram that has room for an answer with two names, and for the record of a member.
const SMALL_DATAGRAM: u16 = 300;
const SMALL_META: u16 = 32;

/// The locks and requests of a storm.
pub(super) struct Locks {
    rng: Rng,
    /// Random stream of faults beyond those of every storm.
    faults: Rng,
    bound: Bound,
    policy: Arc<Policy>,
    /// Until when a partition remains unchanged.
    siege: Option<Instant>,
    names: usize,
    bootstrap: bool,
    /// Whether datagrams are small, so that answers are sent in pieces.
    small: bool,
    /// Whether leases begin short and grow with round trips.
    short: bool,
    /// By host: the requests of its process.
    wants: Vec<Wants>,
    tickets: u64,
    baselines: Option<Baselines>,
}

#[derive(Default)]
struct Wants {
    born: Life,
    tickets: BTreeMap<Ticket, LockId>,
}

impl Locks {
    pub(super) fn draw(seed: u64, nodes: usize) -> Locks {
        let mut rng = Rng::seed(seed, stream::LOCKS);
        let bound = match rng.below(4) {
            0 if Rng::seed(seed, stream::LOCKS + 4000).below(2) == 0 => Bound::Available,
            0 | 2 => Bound::Members,
            1 => {
                let count = 1 + rng.below(nodes as u32) as usize;
                let mut voters: Vec<NodeId> = (0..nodes).map(id_of).collect();
                rng.shuffle(&mut voters);
                voters.truncate(count);
                Bound::Voters(voters)
            }
            _ => Bound::Floor(nodes as u16),
        };
        let policy = Policy {
            fan_out: [FanOut::Auto, FanOut::All, FanOut::Nearest(1)][rng.below(3) as usize],
            service: [Service::Arrival, Service::Elevator][rng.below(2) as usize],
            hold_max: (rng.below(4) == 0).then_some(Duration::from_secs(4)),
            cohort: rng.below(4) as u8,
            ..Policy::default()
        };
        Locks {
            faults: Rng::seed(seed, stream::LOCKS + 3000),
            bound,
            policy: Arc::new(policy),
            siege: None,
            names: 1 + rng.below(2) as usize,
            bootstrap: rng.below(2) == 0,
            small: Rng::seed(seed, stream::LOCKS + 1000).below(2) == 0,
            short: Rng::seed(seed, stream::LOCKS + 2000).below(3) == 2,
            wants: Vec::new(),
            tickets: 0,
            baselines: None,
            rng,
        }
    }

    /// Names of the locks.
    pub(super) fn names(&self) -> &'static [&'static str] {
        &NAMES[..self.names]
    }

    /// How long after a partition only one side may be granted locks, where the bound promises that.
    pub(super) fn one_sided(&self, config: &Config) -> Option<Duration> {
        let m = &config.mutex;
        (self.bound != Bound::Available).then(|| m.remembered(m.ttl_max))
    }

    /// The part of a fault that is within the assumptions of the bound. The available members are all members only
    /// if no node is out of sight for long, and a node that returns finds the others. All members are known as long
    /// as nodes that return remember them.
    pub(super) fn temper(&self, now: Instant, fault: Fault, seeds: usize) -> Option<Fault> {
        let restart = |host| {
            let keep = Keep::All;
            Some(Fault::Restart { host, keep })
        };
        let besieged = self.siege.is_some_and(|until| now < until);
        match (&self.bound, fault) {
            (_, Fault::Partition(_) | Fault::Heal) if besieged => None,
            (Bound::Members | Bound::Available, Fault::Restart { host, .. }) => restart(host),
            (Bound::Available, Fault::Partition(_) | Fault::Sever { .. }) => None,
            (Bound::Available, Fault::Deafen(_) | Fault::Mute(_) | Fault::Pause(_)) => None,
            (Bound::Available, Fault::Crash(host) | Fault::Leave(host)) if host < seeds => None,
            (Bound::Available, Fault::Conditions(c)) if c.loss_per_hop > 0.1 => None,
            (_, fault) => Some(fault),
        }
    }

    /// Every other storm over all members begins with a partition that outlasts every verdict and lease.
    pub(super) fn besiege(&mut self, engine: &mut Engine<Panel>) -> Result<usize, Violation> {
        let nodes = engine.world().hosts().len();
        if self.bound != Bound::Members || self.faults.below(2) == 0 {
            return Ok(0);
        }
        let sides = (0..nodes).map(|_| self.faults.below(2) as u8).collect();
        let fault = Fault::Partition(sides);
        self.strike(&fault);
        engine.strike(fault)?;
        let span = Duration::from_secs(60 + u64::from(self.faults.below(60)));
        self.siege = Some(engine.world().now() + span);
        Ok(1)
    }

    pub(super) fn config(&self, config: &mut Config, cold: bool) {
        if self.small {
            config.membership.meta_max = SMALL_META;
            config.datagram_max = SMALL_DATAGRAM;
        }
        let m = &mut config.mutex;
        m.ttl_max = Duration::from_secs(3);
        m.ttl = if self.short { m.ttl_max / 4 } else { m.ttl_max };
        m.bound = self.bound.clone();
        m.zombie_safe = self.names == 2;
        // Nodes that do not know each other yet must know their number.
        let known = !matches!(self.bound, Bound::Members | Bound::Available);
        m.bootstrap = self.bootstrap && (known || !cold);
    }

    pub(super) fn begin(&mut self, engine: &mut Engine<Panel>, baselines: bool) {
        engine.world_mut().set_drift(DRIFT_PPM);
        self.baselines = baselines.then(|| Baselines::new(engine.world()));
        self.wants
            .resize_with(engine.world().hosts().len(), Wants::default);
    }

    /// Faults of the network affect that of the papers' locks as well.
    pub(super) fn strike(&mut self, fault: &Fault) {
        if let Some(baselines) = &mut self.baselines {
            baselines.strike(fault);
        }
    }

    /// Faults in addition to those of every storm: one-way links, and agents that restart as soon as they have
    /// left, or before. Returns the number of faults.
    pub(super) fn strike_more(
        &mut self,
        engine: &mut Engine<Panel>,
        left: Option<usize>,
    ) -> Result<usize, Violation> {
        let nodes = engine.world().hosts().len() as u32;
        let mut faults = 0;
        if self.faults.chance(0.15) && nodes > 1 {
            let from = self.faults.below(nodes);
            let to = (from + 1 + self.faults.below(nodes - 1)) % nodes;
            let (from, to) = (from as usize, to as usize);
            if let Some(fault) = self.temper(engine.world().now(), Fault::Sever { from, to }, 0) {
                self.strike(&fault);
                engine.strike(fault)?;
                faults += 1;
            }
        }
        if let Some(host) = left
            && self.faults.chance(0.5)
        {
            let soon = Duration::from_micros(self.faults.below64(1_500_000));
            self.run_for(engine, soon)?;
            let keep = Keep::All;
            let fault = Fault::Restart { host, keep };
            self.strike(&fault);
            engine.strike(fault)?;
            faults += 1;
        }
        Ok(faults)
    }

    /// The counts of the papers' locks, and of this one.
    pub(super) fn tallies(&self) -> Vec<Tally> {
        self.baselines
            .as_ref()
            .map_or(Vec::new(), Baselines::tallies)
    }

    /// Runs for a while, during which locks are acquired and released.
    pub(super) fn run_for(
        &mut self,
        engine: &mut Engine<Panel>,
        span: Duration,
    ) -> Result<(), Violation> {
        let end = engine.world().now() + span;
        while engine.world().now() < end {
            let left = end.since(engine.world().now());
            let slice = Duration::from_micros(1 + self.rng.below64(400_000));
            match &mut self.baselines {
                Some(baselines) => baselines.run_for(engine, slice.min(left))?,
                None => engine.run_for(slice.min(left))?,
            }
            let up: Vec<usize> = engine.world().up().collect();
            for host in up {
                self.act(engine, host, true)?;
            }
        }
        Ok(())
    }

    /// Performs the actions of the application of one host.
    fn act(
        &mut self,
        engine: &mut Engine<Panel>,
        host: usize,
        more: bool,
    ) -> Result<(), Violation> {
        let born = engine.world().host(host).born();
        if self.wants[host].born != born {
            self.wants[host] = Wants {
                born,
                tickets: BTreeMap::new(),
            };
            let place = self.rng.below(u32::from(PLACES)) as u16;
            engine.command(host, Command::Lock(Order::SetPlace(place)))?;
        }
        for (ticket, lock) in self.wants[host].tickets.clone() {
            let node = engine.world().host(host).node().mutex();
            let holds = node.holders(lock).any(|t| t == ticket);
            let waits = node.waiting(lock).any(|t| t == ticket);
            let order = match (holds, waits) {
                (true, _) if self.rng.chance(0.03) => Order::Abandon(lock, ticket),
                (true, _) if self.rng.chance(0.4) => Order::Release(lock, ticket),
                // Cancelled.
                (_, true) if self.rng.chance(0.01) => Order::Release(lock, ticket),
                // Refused or lost; the end of the work is reported soon, late, or not at all.
                (false, false) if self.rng.chance(0.02) => Order::Abandon(lock, ticket),
                (false, false) if self.rng.chance(0.2) => Order::Release(lock, ticket),
                _ => continue,
            };
            self.wants[host].tickets.remove(&ticket);
            engine.command(host, Command::Lock(order))?;
            if more && self.rng.chance(0.1) {
                // A client that ends and makes a request again.
                let order = self.ask(engine, host);
                engine.command(host, Command::Lock(order))?;
            }
        }
        if more && self.wants[host].tickets.len() < TICKETS_MAX && self.rng.chance(0.1) {
            let order = self.ask(engine, host);
            engine.command(host, Command::Lock(order))?;
        }
        Ok(())
    }

    fn ask(&mut self, engine: &Engine<Panel>, host: usize) -> Order {
        self.tickets += 1;
        let ticket = Ticket(self.tickets);
        let name = NAMES[self.rng.below(self.names as u32) as usize];
        let mode = if self.rng.chance(0.25) {
            Mode::Shared
        } else {
            Mode::Exclusive
        };
        let soon = Duration::from_micros(self.rng.below64(20_000_000));
        let wait = match self.rng.below(6) {
            0 => Wait::Try,
            1 => Wait::Until(engine.world().clock(host) + soon),
            _ => Wait::Forever,
        };
        self.wants[host].tickets.insert(ticket, LockId::of(name));
        Order::Acquire(Acquire {
            name: name.into(),
            ticket,
            mode,
            wait,
            policy: Arc::clone(&self.policy),
        })
    }

    /// L1: no further requests are made; checks whether every waiting request is granted and everything is
    /// forgotten (L5).
    pub(super) fn settle(
        &mut self,
        engine: &mut Engine<Panel>,
    ) -> Result<Result<(), (usize, String)>, Violation> {
        let up: Vec<usize> = engine.world().up().collect();
        for &host in &up {
            self.act(engine, host, false)?;
        }
        let waiting = |&host: &usize| self.still(engine.world(), host).map(|text| (host, text));
        Ok(up.iter().find_map(waiting).map_or(Ok(()), Err))
    }

    fn still(&self, world: &World, host: usize) -> Option<String> {
        let node = world.host(host).node().mutex();
        if !self.wants[host].tickets.is_empty() {
            let lock = self.wants[host].tickets.values().next().copied()?;
            let standing = node.standing(world.clock(host), lock);
            return Some(format!("waits for {lock:?}: {standing:?}"));
        }
        let lock = node.locks().next()?;
        Some(format!(
            "remembers {} requests for {lock:?}",
            node.witnessed(lock)
        ))
    }
}
