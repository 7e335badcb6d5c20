//! The work of leaders: it starts some time after its node may act, stops some time after it is told to, and
//! outlives the agent that started it under a guard that only knows until when it may run. Clients end, or are killed
//! without a word, and others campaign in their place; agents leave or restart while the work continues.
//!
//! L5: no two works of an election run at the same time. L6: the tokens they use only grow, and no two clients use
//! the same token; the client that used a token may use it again after its former work has ended. In a strict election
//! both hold without exception. Otherwise neither is promised between two lines of watchers while the group is cut:
//! by a partition, because a second host cannot receive or send or a second link fails, or because the list of a host
//! lacks several running ones, as that of a host that has found nobody yet. Within one line both always hold.

use super::Cuts;
use crate::engine::Engine;
use crate::fault::{Fault, Keep};
use crate::oracle::{Panel, Violation};
use crate::world::{HostState, World, id_of};
use alloc::collections::BTreeMap;
use consort_proto::election::{Candidacy, Order, Policy, Token};
use consort_proto::membership::Phase;
use consort_proto::{Command, ElectionId, Instant, Life, Rng};
use core::time::Duration;

/// Interval at which works poll their agents.
const LOOK: Duration = Duration::from_millis(40);

/// How long after a partition its sides may still act independently.
const HEALING: Duration = Duration::from_secs(60);

/// Number of running hosts of which a single one, or a single link, matters.
const FEW: usize = 3;

/// How long a leader may keep the watchers of a small group after the group has grown.
const RESIZING: Duration = Duration::from_secs(10);

/// How long an agent keeps the candidacy of a client that it no longer hears.
const KEPT: Duration = Duration::from_secs(2);

/// Greatest drift of clocks: as much as leases allow for.
const DRIFT_PPM: u32 = 100_000;

/// Work that a leader started.
#[derive(Clone, Debug)]
struct Work {
    election: ElectionId,
    host: usize,
    life: Life,
    client: Client,
    token: Token,
    line: Option<Token>,
    /// When its guard tells it to stop, unless it learns of a later time.
    stop_at: Instant,
    /// When its guard ends it.
    end: Instant,
    /// When it stops, after it was told to.
    stops_at: Option<Instant>,
    /// Whether the client that started it is gone: nobody reports when it has stopped.
    orphan: bool,
}

/// A process that campaigns through the agent of a host. Each has its own number.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Client(u64);

/// A host at which a client ended, and another one will campaign.
#[derive(Clone, Copy, Debug)]
struct Absent {
    election: ElectionId,
    host: usize,
    until: Instant,
    /// When the agent withdraws, if the client was killed and could not say so.
    withdraws_at: Option<Instant>,
}

/// The greatest token that was used for work.
#[derive(Clone, Copy, Debug)]
struct Used {
    token: Token,
    line: Option<Token>,
    client: Client,
}

/// All works of a storm.
pub(super) struct Works {
    rng: Rng,
    /// Random stream of faults beyond those of every storm.
    faults: Rng,
    held: Vec<(ElectionId, Policy)>,
    works: Vec<Work>,
    absent: Vec<Absent>,
    clients: BTreeMap<(ElectionId, usize), Client>,
    /// Number of clients so far.
    numbered: u64,
    /// Whether a new client campaigns while the node leads for the former one.
    careless: bool,
    used: BTreeMap<ElectionId, Used>,
    cuts: Cuts,
    /// Number of links that fail in one direction, and of hosts that cannot receive or cannot send.
    impaired: usize,
    /// Until when watchers may be those of a small group.
    few_until: Instant,
    /// Until when sides of a cut may act independently.
    excused_until: Instant,
    /// Whether a host is cut off now.
    cut: bool,
    /// Whether faults go on.
    storms: bool,
    /// When a host that could not receive or send for a moment can again.
    mended_at: Option<Instant>,
    /// Number of works started.
    pub(super) started: u64,
}

impl Works {
    pub(super) fn new(
        seed: u64,
        held: &[(ElectionId, Policy)],
        cuts: Cuts,
        careless: bool,
    ) -> Works {
        Works {
            rng: Rng::seed(seed, crate::stream::ELECTIONS + 1000),
            faults: Rng::seed(seed, crate::stream::ELECTIONS + 2000),
            held: held.to_vec(),
            works: Vec::new(),
            absent: Vec::new(),
            clients: BTreeMap::new(),
            numbered: 0,
            careless,
            used: BTreeMap::new(),
            cuts,
            impaired: 0,
            few_until: Instant::ZERO,
            excused_until: Instant::ZERO,
            cut: false,
            storms: false,
            mended_at: None,
            started: 0,
        }
    }

    /// Sets clocks up to 10 % fast or slow in every other storm.
    pub(super) fn begin(&mut self, engine: &mut Engine<Panel>) {
        if self.rng.below(2) == 0 {
            engine.world_mut().set_drift(DRIFT_PPM);
        }
    }

    /// Records a fault.
    pub(super) fn strike(&mut self, world: &World, fault: &Fault) {
        match fault {
            Fault::Partition(_) => self.cut = true,
            Fault::Sever { .. } | Fault::Deafen(_) | Fault::Mute(_) => {
                self.impaired += 1;
                self.note_size(world);
            }
            Fault::Heal => {
                self.impaired = 0;
                self.mended_at = None;
                if core::mem::take(&mut self.cut) {
                    self.excused_until = self.excused_until.max(world.now() + HEALING);
                }
            }
            // It acts on the list that it had when it was paused.
            Fault::Resume(host) => self.note_list(world, *host),
            _ => {}
        }
    }

    /// Faults in addition to those of every storm: links that fail in one direction, agents that restart as soon as they
    /// have left, or before, and several hosts that crash within seconds, so that no majority of the watchers is left.
    /// Returns the number of faults.
    pub(super) fn strike_more(
        &mut self,
        engine: &mut Engine<Panel>,
        left: Option<usize>,
    ) -> Result<usize, Violation> {
        let nodes = engine.world().hosts().len() as u32;
        let mut faults = 0;
        self.storms = true;
        if self.faults.chance(0.15) && nodes > 1 {
            let from = self.faults.below(nodes);
            let to = (from + 1 + self.faults.below(nodes - 1)) % nodes;
            let (from, to) = (from as usize, to as usize);
            let fault = Fault::Sever { from, to };
            self.strike(engine.world(), &fault);
            engine.strike(fault)?;
            faults += 1;
        }
        if let Some(host) = left
            && self.faults.chance(0.5)
        {
            let soon = Duration::from_micros(self.faults.below64(1_500_000));
            self.run_for(engine, soon)?;
            let keep = Keep::All;
            let fault = Fault::Restart { host, keep };
            self.strike(engine.world(), &fault);
            engine.strike(fault)?;
            faults += 1;
        }
        if self.faults.chance(0.15) {
            faults += self.crash_several(engine)?;
        }
        Ok(faults)
    }

    /// Up to four hosts crash one after the other, the leader first; four others stay.
    fn crash_several(&mut self, engine: &mut Engine<Panel>) -> Result<usize, Violation> {
        let election = self.held[0].0;
        let mut faults = 0;
        for _ in 0..4 {
            let up: Vec<usize> = engine.world().up().collect();
            if up.len() <= FEW + 1 {
                break;
            }
            let leads = |&host: &usize| {
                let elections = engine.world().host(host).node().election();
                elections.acting(election).is_some()
            };
            let any = up[self.faults.below(up.len() as u32) as usize];
            let host = up.iter().copied().find(leads).unwrap_or(any);
            let fault = Fault::Crash(host);
            self.strike(engine.world(), &fault);
            engine.strike(fault)?;
            faults += 1;
            let soon = Duration::from_micros(self.faults.below64(1_500_000));
            self.run_for(engine, soon)?;
        }
        Ok(faults)
    }

    /// A group of several hosts can do without one link, and without one host: that one must not lead beside the others
    /// before it considers them gone. In a group of few it may be a majority of the watchers.
    fn note_size(&mut self, world: &World) {
        let now = world.now();
        if world.up().count() <= FEW {
            self.few_until = now + RESIZING;
        }
        self.cut |= self.impaired > 1 || self.impaired == 1 && now < self.few_until;
    }

    /// A host that considers several running ones gone, or all, cannot ask them.
    fn note_list(&mut self, world: &World, host: usize) {
        let table = world.host(host).node().membership().table();
        let listed = |other: usize| {
            let member = table.get(id_of(other));
            member.is_some_and(|m| m.phase != Phase::Down)
        };
        let others = world.up().filter(|&other| other != host);
        let (all, lacks) = others.fold((0, 0), |(all, lacks), other| {
            (all + 1, lacks + usize::from(!listed(other)))
        });
        if lacks > 0 && (lacks >= 2 || lacks == all) {
            self.excused_until = self.excused_until.max(world.now() + HEALING);
        }
    }

    fn is_excused(&self, now: Instant) -> bool {
        match self.cuts {
            Cuts::Any => true,
            Cuts::Strict => false,
            Cuts::OneWay => self.cut || now < self.excused_until,
        }
    }

    /// Runs the world together with its works.
    pub(super) fn run_for(
        &mut self,
        engine: &mut Engine<Panel>,
        span: Duration,
    ) -> Result<(), Violation> {
        let until = engine.world().now() + span;
        while engine.world().now() < until {
            let left = until.since(engine.world().now());
            engine.run_for(left.min(LOOK))?;
            self.look(engine)?;
        }
        Ok(())
    }

    fn look(&mut self, engine: &mut Engine<Panel>) -> Result<(), Violation> {
        self.note_size(engine.world());
        for host in engine.world().up() {
            self.note_list(engine.world(), host);
        }
        if self.storms {
            self.impair_elected(engine)?;
        }
        self.end_works(engine)?;
        for n in 0..self.held.len() {
            let election = self.held[n].0;
            for host in 0..engine.world().hosts().len() {
                self.look_at(engine, election, host)?;
            }
        }
        self.move_clients(engine)
    }

    /// Now and then a node that was named, and does not act yet, cannot receive or cannot send for some seconds.
    fn impair_elected(&mut self, engine: &mut Engine<Panel>) -> Result<(), Violation> {
        let world = engine.world();
        let now = world.now();
        let fault = match self.mended_at {
            Some(at) if at > now => return Ok(()),
            Some(_) if self.impaired == 1 && !self.cut => Fault::Heal,
            _ => {
                self.mended_at = None;
                let waits = |&host: &usize| {
                    let node = world.host(host).node();
                    let (elections, life) = (node.election(), node.membership().life());
                    self.held.iter().any(|&(e, _)| {
                        let named = elections
                            .claim(e)
                            .is_some_and(|c| c.names(id_of(host), life));
                        named && elections.acting(e).is_none()
                    })
                };
                let Some(host) = world.up().find(waits) else {
                    return Ok(());
                };
                if self.impaired > 0 || self.faults.below(50) > 0 {
                    return Ok(());
                }
                let span = Duration::from_micros(self.faults.below64(8_000_000));
                self.mended_at = Some(now + span);
                match self.faults.below(4) {
                    0 => Fault::Mute(host),
                    _ => Fault::Deafen(host),
                }
            }
        };
        self.strike(world, &fault);
        engine.strike(fault)
    }

    /// Ends works that have stopped, and reports that to their agents.
    fn end_works(&mut self, engine: &mut Engine<Panel>) -> Result<(), Violation> {
        let now = engine.world().now();
        let over = |w: &Work| w.end <= now || w.stops_at.is_some_and(|at| at <= now);
        let (ended, running) = core::mem::take(&mut self.works).into_iter().partition(over);
        self.works = running;
        let ended: Vec<Work> = ended;
        for work in ended {
            let host = engine.world().host(work.host);
            let same = host.node().membership().life() == work.life;
            if host.state() == HostState::Up && same && !work.orphan {
                let order = Order::Stopped(work.election, work.token);
                engine.command(work.host, Command::Election(order))?;
            }
        }
        Ok(())
    }

    /// One client polls its agent.
    fn look_at(
        &mut self,
        engine: &mut Engine<Panel>,
        election: ElectionId,
        host: usize,
    ) -> Result<(), Violation> {
        let world = engine.world();
        let now = world.now();
        let agent = world.host(host);
        let life = agent.node().membership().life();
        let up = agent.state() == HostState::Up;
        let standing = agent.node().standing(world.clock(host), election);
        let standing = standing.filter(|_| up);
        let acting = standing.and_then(|s| s.acting);
        let valid = standing.map_or(Instant::ZERO, |s| world.when(host, s.valid_until));
        let end = standing.map_or(Instant::ZERO, |s| world.when(host, s.end));
        let mut running = false;
        for work in &mut self.works {
            if work.election != election || work.host != host || work.orphan {
                continue;
            }
            running = true;
            if up && work.life != life {
                // Another agent process: the client ended with the former one.
                work.orphan = true;
                running = false;
                self.clients.remove(&(election, host));
            }
            if !work.orphan && acting == Some(work.token) && work.stops_at.is_none() {
                work.stop_at = work.stop_at.max(valid);
                work.end = work.end.max(end);
            }
            let told = up && !work.orphan && acting != Some(work.token);
            if (told || now >= work.stop_at) && work.stops_at.is_none() {
                let left = work.end.since(now).as_micros() as u64;
                let takes = Duration::from_micros(self.rng.below64(left + 1));
                work.stops_at = Some(now + takes);
            }
        }
        for work in &mut self.works {
            // A guard without its agent: it stops the work when its time is over.
            if work.orphan && work.stops_at.is_none() && now >= work.stop_at {
                let left = work.end.since(now).as_micros() as u64;
                work.stops_at = Some(now + Duration::from_micros(self.rng.below64(left + 1)));
            }
        }
        let Some(token) = acting.filter(|_| !running && now < valid) else {
            return Ok(());
        };
        let away = |a: &Absent| a.host == host && a.election == election;
        if self.absent.iter().any(away) || self.rng.below(3) > 0 {
            return Ok(());
        }
        let client = *self.clients.entry((election, host)).or_insert_with(|| {
            self.numbered += 1;
            Client(self.numbered)
        });
        self.start(
            world,
            Work {
                election,
                host,
                life,
                client,
                token,
                line: standing.and_then(|s| s.line),
                stop_at: valid,
                end,
                stops_at: None,
                orphan: false,
            },
        )
    }

    fn start(&mut self, world: &World, work: Work) -> Result<(), Violation> {
        let now = world.now();
        let excused = self.is_excused(now);
        let violated = |invariant, text| {
            Err(Violation {
                invariant,
                at: now,
                host: Some(work.host),
                text,
                rerun: String::new(),
            })
        };
        let same = |w: &Work| w.line == work.line && w.line.is_some();
        let overlaps = |w: &&Work| w.election == work.election && (same(w) || !excused);
        if let Some(other) = self.works.iter().find(overlaps) {
            let text = format!("{work:?} starts beside {other:?}");
            return violated("L5", text);
        }
        let used = self.used.get(&work.election).copied();
        let greater = |u: &Used| u.token > work.token && (!excused || u.line == work.line);
        if let Some(used) = used.filter(greater) {
            let text = format!(
                "work starts by {} after {} was used",
                work.token, used.token
            );
            return violated("L6", text);
        }
        let taken = |u: &Used| u.token == work.token && u.client != work.client;
        if let Some(used) = used.filter(taken) {
            let text = format!("{work:?} starts by a token that {:?} used", used.client);
            return violated("L6", text);
        }
        if used.is_none_or(|u| u.token < work.token) {
            let Work {
                token,
                line,
                client,
                ..
            } = work;
            let used = Used {
                token,
                line,
                client,
            };
            self.used.insert(work.election, used);
        }
        self.started += 1;
        self.works.push(work);
        Ok(())
    }

    /// Now and then a client ends, or is killed, and another one campaigns soon.
    fn move_clients(&mut self, engine: &mut Engine<Panel>) -> Result<(), Violation> {
        let now = engine.world().now();
        for at in 0..self.absent.len() {
            let Absent { election, host, .. } = self.absent[at];
            let due = self.absent[at].withdraws_at.is_some_and(|due| due <= now);
            if due && engine.world().host(host).state() == HostState::Up {
                self.absent[at].withdraws_at = None;
                order(engine, host, Order::Withdraw(election))?;
            }
        }
        // A paused agent answers later.
        let waits = |a: &Absent| engine.world().host(a.host).state() == HostState::Paused;
        let returns = |a: &Absent| a.until <= now && !waits(a);
        let (back, away): (Vec<Absent>, _) = self.absent.iter().partition(|a| returns(a));
        self.absent = away;
        for absent in back {
            self.campaign(engine, absent)?;
        }
        if self.works.is_empty() || self.rng.below(250) > 0 {
            return Ok(());
        }
        let at = self.rng.below(self.works.len() as u32) as usize;
        let (election, host, token) = {
            let work = &self.works[at];
            (work.election, work.host, work.token)
        };
        if self.works[at].orphan || engine.world().host(host).state() != HostState::Up {
            return Ok(());
        }
        let mut withdraws_at = None;
        match self.rng.below(4) {
            // It ends together with its work.
            0 => {
                order(engine, host, Order::Withdraw(election))?;
                self.works.remove(at);
                order(engine, host, Order::Stopped(election, token))?;
            }
            // It withdraws, and its work ends later.
            1 => {
                order(engine, host, Order::Withdraw(election))?;
                self.works[at].orphan = true;
            }
            // It is killed: the agent notices later that it does not ask any more.
            _ => {
                self.works[at].orphan = true;
                withdraws_at = Some(now + KEPT);
            }
        }
        // A supervisor may start the next one at once.
        let until = match self.rng.below(3) {
            0 => now,
            _ => now + Duration::from_micros(self.rng.below64(1_500_000)),
        };
        self.absent.push(Absent {
            election,
            host,
            until,
            withdraws_at,
        });
        Ok(())
    }

    /// A new client campaigns through the agent of a host, as the agent's route has it: if the former client did not
    /// end properly, its work may still run, and the agent withdraws first.
    fn campaign(&mut self, engine: &mut Engine<Panel>, absent: Absent) -> Result<(), Violation> {
        let Absent {
            election,
            host,
            withdraws_at,
            ..
        } = absent;
        if withdraws_at.is_some() && !self.careless {
            order(engine, host, Order::Withdraw(election))?;
        }
        self.clients.remove(&(election, host));
        let campaign = Order::Campaign(election, Candidacy::default());
        order(engine, host, campaign)
    }

    /// All clients return, and faults end.
    pub(super) fn settle(&mut self, engine: &mut Engine<Panel>) -> Result<(), Violation> {
        self.storms = false;
        for absent in core::mem::take(&mut self.absent) {
            self.campaign(engine, absent)?;
        }
        Ok(())
    }
}

/// Passes an order to the agent of a host, if it runs.
fn order(engine: &mut Engine<Panel>, host: usize, order: Order) -> Result<(), Violation> {
    if engine.world().host(host).state() == HostState::Up {
        engine.command(host, Command::Election(order))?;
    }
    Ok(())
}
