//! The work of leaders: it starts some time after its node may act, stops some time after it is told to, and
//! outlives the agent that started it under a guard that only knows until when it may run. Clients end and campaign
//! again, and agents leave or restart while the work continues.
//!
//! L5: no two works of an election run at the same time. L6: the tokens they use only grow. In a strict election
//! both hold without exception. Otherwise neither is promised between two lines of watchers while the group is cut:
//! by a partition, because a host cannot receive or send, or because its list lacks several running hosts, as that
//! of a host that has found nobody yet. Within one line both always hold.

use super::Cuts;
use crate::engine::Engine;
use crate::fault::Fault;
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

/// Greatest drift of clocks: as much as leases allow for.
const DRIFT_PPM: u32 = 100_000;

/// Work that a leader started.
#[derive(Clone, Debug)]
struct Work {
    election: ElectionId,
    host: usize,
    life: Life,
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

/// A client that will campaign again.
#[derive(Clone, Copy, Debug)]
struct Absent {
    election: ElectionId,
    host: usize,
    until: Instant,
}

/// All works of a storm.
pub(super) struct Works {
    rng: Rng,
    held: Vec<(ElectionId, Policy)>,
    works: Vec<Work>,
    absent: Vec<Absent>,
    /// The greatest token that was used, and its line.
    used: BTreeMap<ElectionId, (Token, Option<Token>)>,
    cuts: Cuts,
    /// Until when sides of a cut may act independently.
    excused_until: Instant,
    /// Whether a host is cut off now.
    cut: bool,
    /// Number of works started.
    pub(super) started: u64,
}

impl Works {
    pub(super) fn new(seed: u64, held: &[(ElectionId, Policy)], cuts: Cuts) -> Works {
        Works {
            rng: Rng::seed(seed, crate::stream::ELECTIONS + 1000),
            held: held.to_vec(),
            works: Vec::new(),
            absent: Vec::new(),
            used: BTreeMap::new(),
            cuts,
            excused_until: Instant::ZERO,
            cut: false,
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
            Fault::Partition(_) | Fault::Deafen(_) | Fault::Mute(_) => self.cut = true,
            Fault::Heal if self.cut => {
                self.cut = false;
                self.excused_until = self.excused_until.max(world.now() + HEALING);
            }
            // It acts on the list that it had when it was paused.
            Fault::Resume(host) => self.note_list(world, *host),
            _ => {}
        }
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
        for host in engine.world().up() {
            self.note_list(engine.world(), host);
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
        self.start(
            world,
            Work {
                election,
                host,
                life,
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
        let greater = |(used, line): &(Token, Option<Token>)| {
            *used > work.token && (!excused || *line == work.line)
        };
        if let Some((used, _)) = used.filter(greater) {
            let text = format!("work starts by {} after {used} was used", work.token);
            return violated("L6", text);
        }
        if used.is_none_or(|(used, _)| used < work.token) {
            self.used.insert(work.election, (work.token, work.line));
        }
        self.started += 1;
        self.works.push(work);
        Ok(())
    }

    /// Now and then a client ends, or is killed, and another one campaigns soon.
    fn move_clients(&mut self, engine: &mut Engine<Panel>) -> Result<(), Violation> {
        let now = engine.world().now();
        let (back, away): (Vec<Absent>, _) = self.absent.iter().partition(|a| a.until <= now);
        self.absent = away;
        for Absent { election, host, .. } in back {
            if engine.world().host(host).state() == HostState::Up {
                let campaign = Order::Campaign(election, Candidacy::default());
                engine.command(host, Command::Election(campaign))?;
            }
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
        engine.command(host, Command::Election(Order::Withdraw(election)))?;
        if self.rng.below(2) == 0 {
            // It ends together with its work.
            self.works.remove(at);
            let stopped = Order::Stopped(election, token);
            engine.command(host, Command::Election(stopped))?;
        } else {
            self.works[at].orphan = true;
        }
        let until = now + Duration::from_micros(self.rng.below64(1_000_000));
        self.absent.push(Absent {
            election,
            host,
            until,
        });
        Ok(())
    }

    /// All clients return.
    pub(super) fn settle(&mut self, engine: &mut Engine<Panel>) -> Result<(), Violation> {
        for absent in core::mem::take(&mut self.absent) {
            if engine.world().host(absent.host).state() == HostState::Up {
                let campaign = Order::Campaign(absent.election, Candidacy::default());
                engine.command(absent.host, Command::Election(campaign))?;
            }
        }
        Ok(())
    }
}
