//! The engine: takes the next event, feeds it to a node, carries out the node's outputs, and calls the oracle.

use crate::attacker::Attacker;
use crate::fault::{Fault, Keep};
use crate::oracle::{Oracle, Violation};
use crate::queue::Due;
use crate::trace::Happening;
use crate::world::{
    BACKLOG_MAX, HostState, RESTORE_CHUNK, Start, World, WorldConfig, addr_of, index_at,
};
use consort_proto::election::{Candidacy, Order, Policy};
use consort_proto::membership::Record;
use consort_proto::wire::{Datagram, Frame};
use consort_proto::{
    Command, ConfigError, Destination, ElectionId, Event, Instant, membership, mutex, seal,
};
use core::net::SocketAddr;
use core::time::Duration;

/// A world in motion, watched by an oracle.
#[derive(Debug)]
pub struct Engine<O = ()> {
    world: World,
    oracle: O,
    script: Vec<Fault>,
    started: bool,
    tamper: Option<Tamper>,
    attacker: Option<Attacker>,
}

/// Alters a datagram in flight from a host, or drops it by returning false: to plant bugs.
pub type Tamper = fn(&World, usize, &mut Datagram) -> bool;

/// One input of a node.
enum Input {
    Timeout,
    Packet(usize),
    Command(Command),
}

impl<O: Oracle> Engine<O> {
    /// A world at its start. Nodes that start warm already know each other.
    pub fn new(config: WorldConfig, oracle: O) -> Result<Engine<O>, ConfigError> {
        let start = config.start;
        let mut engine = Engine {
            world: World::new(config)?,
            oracle,
            script: Vec::new(),
            started: false,
            tamper: None,
            attacker: None,
        };
        let records = engine.world.records();
        for index in 0..engine.world.hosts.len() {
            if matches!(start, Start::Warm { .. }) {
                engine.restore(index, &records);
            }
        }
        Ok(engine)
    }

    /// Makes every host campaign in an election, now and after every restart.
    pub fn open_election(&mut self, election: ElectionId, policy: Policy) -> Result<(), Violation> {
        self.start()?;
        self.world.elections.push((election, policy));
        for index in 0..self.world.hosts.len() {
            self.stand(index, election, policy)?;
        }
        Ok(())
    }

    /// The same, with the attribute of each host.
    pub fn open_election_with(
        &mut self,
        election: ElectionId,
        policy: Policy,
        attributes: Vec<u32>,
    ) -> Result<(), Violation> {
        self.world.attributes.insert(election, attributes);
        self.open_election(election, policy)
    }

    fn stand(
        &mut self,
        index: usize,
        election: ElectionId,
        policy: Policy,
    ) -> Result<(), Violation> {
        let open = Order::Open(election, policy);
        let given = self.world.attributes.get(&election);
        let candidacy = Candidacy {
            attribute: given.and_then(|all| all.get(index)).map_or(0, |a| *a),
            ..Candidacy::default()
        };
        let campaign = Order::Campaign(election, candidacy);
        for order in [open, campaign] {
            self.command(index, Command::Election(order))?;
        }
        Ok(())
    }

    /// Plants a bug in the network.
    pub fn set_tamper(&mut self, tamper: Tamper) {
        self.tamper = Some(tamper);
    }

    /// Puts somebody on the network who copies, redirects, delays and alters datagrams, chosen by `seed`. Meant for groups
    /// with a key: others believe what it says.
    pub fn set_attacker(&mut self, seed: u64) {
        self.attacker = Some(Attacker::new(seed));
    }

    /// The number of attacks so far.
    pub fn attacks(&self) -> u64 {
        self.attacker.as_ref().map_or(0, |a| a.attacks)
    }

    fn start(&mut self) -> Result<(), Violation> {
        if !core::mem::replace(&mut self.started, true) {
            for index in 0..self.world.hosts.len() {
                self.seek(index)?;
            }
        }
        Ok(())
    }

    /// The world.
    pub fn world(&self) -> &World {
        &self.world
    }

    /// The world, to be changed between two runs.
    pub fn world_mut(&mut self) -> &mut World {
        &mut self.world
    }

    /// The oracle.
    pub fn oracle(&self) -> &O {
        &self.oracle
    }

    /// The oracle, to be changed.
    pub fn oracle_mut(&mut self) -> &mut O {
        &mut self.oracle
    }

    /// The oracle with its findings.
    pub fn into_oracle(self) -> O {
        self.oracle
    }

    /// Schedules a fault.
    pub fn schedule(&mut self, at: Instant, fault: Fault) {
        self.world.queue.push(at, Due::Fault(self.script.len()));
        self.script.push(fault);
    }

    /// Runs every event up to `until`, and sets the clock there. Stops at the first violation.
    pub fn run_until(&mut self, until: Instant) -> Result<(), Violation> {
        self.start()?;
        while let Some((at, due)) = self.world.queue.pop(until) {
            self.world.now = at;
            match due {
                Due::Wake(index) => self.wake(index)?,
                Due::Deliver(slot) => self.deliver(slot)?,
                Due::Fault(n) => {
                    let fault = self.script[n].clone();
                    self.strike(fault)?;
                }
                Due::Sample => self.sample()?,
            }
        }
        self.world.now = until;
        Ok(())
    }

    /// Runs for a duration.
    pub fn run_for(&mut self, span: Duration) -> Result<(), Violation> {
        self.run_until(self.world.now + span)
    }

    /// Lets the oracle perform its final checks.
    pub fn finish(&mut self) -> Result<(), Violation> {
        self.oracle.end(&self.world)
    }

    /// Gives an order to the node of a running host.
    pub fn command(&mut self, index: usize, command: Command) -> Result<(), Violation> {
        if self.world.hosts[index].state == HostState::Up {
            self.oracle.on_command(&self.world, index, &command)?;
        }
        self.step(index, Input::Command(command))
    }

    /// Delivers a datagram that no host sent: for forged and invalid input.
    pub fn inject(&mut self, from: usize, to: usize, datagram: Datagram) -> Result<(), Violation> {
        let slot = self.world.pool.take();
        let packet = self.world.pool.packet_mut(slot);
        packet.bytes = datagram.encoded_len() as u32;
        (packet.from, packet.to) = (from as u32, to as u32);
        packet.datagram = datagram;
        self.deliver(slot)
    }

    /// Applies a fault now.
    pub fn strike(&mut self, fault: Fault) -> Result<(), Violation> {
        let (now, host) = (self.world.now, fault.host().unwrap_or(0));
        let what = Happening::Fault(fault.kind());
        self.world.trace.push(now, host, what);
        self.world.disturbed_at = now;
        self.oracle.on_fault(&self.world, &fault)?;
        fault.strike_net(&mut self.world.net);
        match fault {
            Fault::Crash(index) => {
                self.world.drop_backlog(index);
                self.set_state(index, HostState::Crashed);
            }
            Fault::Pause(index) => {
                if self.world.hosts[index].state == HostState::Up {
                    self.set_state(index, HostState::Paused);
                }
            }
            Fault::Resume(index) => self.resume(index),
            Fault::Restart { host, keep } => self.restart(host, keep)?,
            Fault::Leave(index) => self.command(index, Command::Leave)?,
            Fault::Partition(_)
            | Fault::Deafen(_)
            | Fault::Mute(_)
            | Fault::Sever { .. }
            | Fault::Lossy { .. }
            | Fault::Heal
            | Fault::Conditions(_) => {}
        }
        Ok(())
    }

    fn set_state(&mut self, index: usize, state: HostState) {
        let host = &mut self.world.hosts[index];
        host.state = state;
        host.since = self.world.now;
        if state != HostState::Up {
            self.world.silence(index);
        }
    }

    /// The process resumes: queued datagrams arrive now, before or after its timers.
    fn resume(&mut self, index: usize) {
        let world = &mut self.world;
        if world.hosts[index].state != HostState::Paused {
            return;
        }
        let timers_first = world.rng.chance(0.5);
        if timers_first {
            world.rearm(index);
        }
        while let Some(slot) = world.hosts[index].backlog.pop_front() {
            world.queue.push(world.now, Due::Deliver(slot as usize));
        }
        world.rearm(index);
        self.set_state(index, HostState::Up);
    }

    fn restart(&mut self, index: usize, keep: Keep) -> Result<(), Violation> {
        let known: Vec<Record> = if keep == Keep::All {
            let table = self.world.hosts[index].node.membership().table();
            table
                .iter()
                .map(|m| m.record(self.world.clock(index)))
                .collect()
        } else {
            Vec::new()
        };
        let ledger = self.world.hosts[index].node.reliability();
        let reports = (keep == Keep::All).then(|| ledger.reports(self.world.clock(index)));
        self.world.drop_backlog(index);
        self.world.respawn(index, keep != Keep::Nothing);
        self.oracle.on_restart(&self.world, index)?;
        let host = &self.world.hosts[index];
        let terms = host.stored_terms.iter();
        let terms = terms.map(|(&id, &term)| Order::RestoreTerm(id, term));
        let leases = host.stored_leases.iter();
        let leases = leases.map(|(&id, &record)| Order::RestoreLease(id, Box::new(record)));
        let orders: Vec<Order> = terms.chain(leases).collect();
        for order in orders {
            self.command(index, Command::Election(order))?;
        }
        if let Some(seq) = self.world.hosts[index].stored_fence {
            self.command(index, Command::Lock(mutex::Order::RestoreFence(seq)))?;
        }
        self.restore(index, &known);
        if let Some(reports) = reports {
            self.command(index, Command::RestoreReliability(reports))?;
        }
        self.seek(index)?;
        for n in 0..self.world.elections.len() {
            let (election, policy) = self.world.elections[n];
            self.stand(index, election, policy)?;
        }
        Ok(())
    }

    /// Gives a stored list to a node; the resulting events are discarded.
    fn restore(&mut self, index: usize, records: &[Record]) {
        let clock = self.world.clock(index);
        let node = &mut self.world.hosts[index].node;
        for chunk in records.chunks(RESTORE_CHUNK) {
            node.handle_command(clock, Command::Restore(chunk.to_vec()));
            while node.poll_event().is_some() {}
        }
        self.world.store_facts(index);
        self.world.rearm(index);
    }

    /// Makes a node look for the group through the seeds.
    fn seek(&mut self, index: usize) -> Result<(), Violation> {
        let seeds = self.world.config.start.seeds();
        let others = (0..seeds.min(self.world.hosts.len())).filter(|&s| s != index);
        let addrs: Vec<_> = others.map(addr_of).collect();
        if addrs.is_empty() {
            self.world.rearm(index);
            return Ok(());
        }
        self.command(index, Command::Join(addrs))
    }

    fn sample(&mut self) -> Result<(), Violation> {
        if let Some(every) = self.world.config.sample_every {
            self.world.queue.push(self.world.now + every, Due::Sample);
        }
        self.oracle.sample(&self.world)
    }

    fn wake(&mut self, index: usize) -> Result<(), Violation> {
        let now = self.world.now;
        let alarm = &mut self.world.alarms[index];
        if alarm.wake_at != now {
            // An earlier one replaced it, or the process does not run.
            return Ok(());
        }
        alarm.wake_at = Instant::MAX;
        if alarm.due > now {
            // The deadline was moved: continue to sleep.
            self.world.set_alarm(index);
            return Ok(());
        }
        self.world.trace.push(now, index, Happening::Timeout);
        self.step(index, Input::Timeout)
    }

    fn deliver(&mut self, slot: usize) -> Result<(), Violation> {
        let world = &mut self.world;
        let packet = world.pool.packet(slot);
        let (from, to, bytes) = (packet.from, packet.to, packet.bytes);
        let host = &mut world.hosts[to as usize];
        match host.state {
            HostState::Up => {}
            HostState::Paused if host.backlog.len() < BACKLOG_MAX => {
                host.backlog.push_back(slot as u32);
                return Ok(());
            }
            _ => {
                world.pool.give_back(slot);
                return Ok(());
            }
        }
        let what = Happening::Received { from, bytes };
        world.trace.push(world.now, to as usize, what);
        let datagram = &self.world.pool.packet(slot).datagram;
        // What does not count is not heard.
        let (host, clock) = (to as usize, self.world.clock(to as usize));
        let node = &self.world.hosts[host].node;
        if node.heeds(clock, addr_of(from as usize), datagram) {
            self.oracle
                .on_deliver(&self.world, from as usize, host, datagram)?;
        }
        self.step(to as usize, Input::Packet(slot))
    }

    /// Feeds one input, then drains every output.
    fn step(&mut self, index: usize, input: Input) -> Result<(), Violation> {
        let world = &mut self.world;
        let (now, clock) = (world.now, world.clock(index));
        let host = &mut world.hosts[index];
        if host.state != HostState::Up {
            return Ok(());
        }
        world.steps += 1;
        match input {
            Input::Timeout => host.node.handle_timeout(clock),
            Input::Command(command) => host.node.handle_command(clock, command),
            Input::Packet(slot) => {
                let packet = world.pool.packet_mut(slot);
                let from = addr_of(packet.from as usize);
                host.node.handle_datagram(clock, from, &mut packet.datagram);
                world.pool.give_back(slot);
            }
        }
        self.world.store_facts(index);
        let mut departed = false;
        while let Some(event) = self.world.hosts[index].node.poll_event() {
            departed |= event == Event::Membership(membership::Event::Departed);
            self.oracle.on_event(&self.world, index, &event)?;
            self.world.trace.push(now, index, Happening::Event(event));
        }
        self.transmit(index)?;
        self.oracle.after_step(&self.world, index)?;
        if departed {
            self.set_state(index, HostState::Left);
        } else {
            self.world.rearm(index);
        }
        Ok(())
    }

    /// Sends a node's datagrams.
    fn transmit(&mut self, index: usize) -> Result<(), Violation> {
        let slot = loop {
            let world = &mut self.world;
            let slot = world.pool.take();
            let datagram = &mut world.pool.packet_mut(slot).datagram;
            let Some((to, bytes)) = world.hosts[index].node.poll_transmit(datagram) else {
                break slot;
            };
            let datagram = &self.world.pool.packet(slot).datagram;
            // An answer to a challenge says again what did not count.
            if !datagram.frames.iter().any(is_echo) {
                self.oracle.on_send(&self.world, index, datagram, bytes)?;
            }
            match to {
                Destination::Addr(addr) => self.dispatch(index, slot, addr, bytes),
                Destination::Neighbors => self.broadcast(index, slot, bytes),
            }
        };
        self.world.pool.give_back(slot);
        Ok(())
    }

    /// Sends a datagram to all hosts in range.
    fn broadcast(&mut self, from: usize, slot: usize, bytes: usize) {
        let neighbours = self.world.net.layout().neighbours(from).len();
        for n in 0..neighbours {
            let to = self.world.net.layout().neighbours(from)[n].0 as usize;
            let copy = self.world.pool.duplicate(slot);
            self.dispatch(from, copy, addr_of(to), bytes);
        }
        self.world.pool.give_back(slot);
    }

    /// Sends a datagram.
    fn dispatch(&mut self, from: usize, slot: usize, addr: SocketAddr, bytes: usize) {
        if let Some(tamper) = self.tamper {
            let mut datagram = core::mem::take(&mut self.world.pool.packet_mut(slot).datagram);
            let passes = tamper(&self.world, from, &mut datagram);
            self.world.pool.packet_mut(slot).datagram = datagram;
            if !passes {
                self.world.pool.give_back(slot);
                return;
            }
        }
        let world = &mut self.world;
        let Some(to) = index_at(addr, world.hosts.len()) else {
            world.net.send_nowhere(bytes);
            world.pool.give_back(slot);
            return;
        };
        let fate = world.net.send(from, to, bytes);
        let what = Happening::Sent {
            to: to as u32,
            bytes: bytes as u32,
            delay_us: fate.first,
        };
        world.trace.push(world.now, from, what);
        let datagram = &self.world.pool.packet(slot).datagram;
        self.oracle
            .on_dispatch(&self.world, from, to, datagram, fate.first);
        let world = &mut self.world;
        let Some(delay_us) = fate.first else {
            world.pool.give_back(slot);
            return;
        };
        let packet = world.pool.packet_mut(slot);
        (packet.from, packet.to) = (from as u32, to as u32);
        packet.bytes = bytes as u32;
        if let Some(copy_us) = fate.copy {
            let copy = world.pool.duplicate(slot);
            let at = world.now + Duration::from_micros(copy_us);
            world.queue.push(at, Due::Deliver(copy));
        }
        let mut at = world.now + Duration::from_micros(delay_us);
        if let Some(attacker) = &mut self.attacker {
            at = at + attacker.see(world, slot);
        }
        world.queue.push(at, Due::Deliver(slot));
    }
}

fn is_echo(frame: &Frame) -> bool {
    matches!(frame, Frame::Session(seal::Msg::Echo(_)))
}
