//! Chaos, then calm: random faults affect a small group while every safety invariant is watched; when they stop,
//! the group must agree again.

mod baselines;
mod locks;
mod record;
mod talk;
mod works;

use crate::engine::Engine;
use crate::fault::{Fault, Keep};
use crate::net::{Conditions, Counts};
use crate::oracle::{self, Claims, Detection, Leadership, Panel, Violation, agreed, converged};
use crate::recording::Recording;
use crate::stream;
use crate::topology::{Layout, Topology};
use crate::trace::Trace;
use crate::world::{HostState, Start, World, WorldConfig};
use consort_proto::election::{Criterion, Mode, Policy, Preempt, Quorum, Ranking};
use consort_proto::membership::JoinState;
use consort_proto::seal::Suite;
use consort_proto::{Config, ElectionId, Rng};
use core::time::Duration;
use locks::Locks;
pub use record::chaos_recorded;
use talk::Talk;
use works::Works;

/// Limits of a scenario; values between them are drawn from the seed.
#[derive(Clone, Copy, Debug)]
pub struct ChaosParams {
    /// Fewest nodes.
    pub nodes_min: usize,
    /// Most nodes.
    pub nodes_max: usize,
    /// How long faults last.
    pub storm: Duration,
    /// How long the group may take to agree afterwards.
    pub calm: Duration,
    /// Whether elections run as well, with quorums that are deliberately too small.
    pub elections: bool,
    /// Locks are taken as well, by clocks that drift.
    pub locks: bool,
    /// Applications tell and ask each other things, at times too many.
    pub messages: bool,
    /// The papers' locks meet the same storm beside them.
    pub baselines: bool,
    /// Planted flaw: a new client of an election campaigns while the node still leads for the former one.
    pub careless: bool,
    /// Every group has a key, and somebody without it copies, redirects, delays and alters datagrams.
    pub attackers: bool,
}

impl ChaosParams {
    /// Storms over groups of up to 9 that contend for locks.
    pub fn locks() -> ChaosParams {
        ChaosParams {
            nodes_max: 9,
            calm: Duration::from_secs(300),
            locks: true,
            ..ChaosParams::default()
        }
    }

    /// Storms over groups of up to 50 that hold elections.
    pub fn elections() -> ChaosParams {
        ChaosParams {
            nodes_max: 50,
            elections: true,
            ..ChaosParams::default()
        }
    }
}

impl Default for ChaosParams {
    fn default() -> Self {
        ChaosParams {
            nodes_min: 2,
            nodes_max: 16,
            storm: Duration::from_secs(120),
            calm: Duration::from_secs(900),
            elections: false,
            locks: false,
            messages: false,
            baselines: false,
            careless: false,
            attackers: false,
        }
    }
}

/// Result of a scenario.
#[derive(Clone, Debug, PartialEq)]
pub struct ChaosReport {
    /// Number of nodes.
    pub nodes: usize,
    /// Number of faults.
    pub faults: usize,
    /// Time from the end of the faults to agreement.
    pub converged_after: Duration,
    /// Time from equal lists of members to one leader that acts and that all follow, in storms over elections.
    pub elected_after: Duration,
    /// Counts of the datagrams that were sent.
    pub counts: Counts,
    /// Hash of the history.
    pub trace_hash: u64,
    /// Counts by lock, if the papers' locks take part in the storm.
    pub tallies: Vec<Tally>,
    /// Number of works of leaders that were started.
    pub works: u64,
    /// Number of datagrams that an attacker did something with.
    pub attacks: u64,
}

/// Counts of a lock in a storm.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Tally {
    /// Its name.
    pub lock: &'static str,
    /// Number of entries.
    pub entries: u64,
    /// Number of entries while another node was inside.
    pub overlaps: u64,
    /// Number of entries with a token that was not above all earlier ones.
    pub regressions: u64,
}

impl Tally {
    fn of(lock: &'static str) -> Tally {
        Tally {
            lock,
            ..Tally::default()
        }
    }

    /// Adds the counts of another storm.
    pub fn add(&mut self, other: &Tally) {
        self.entries += other.entries;
        self.overlaps += other.overlaps;
        self.regressions += other.regressions;
    }
}

/// The command that runs one seed again.
pub fn rerun(seed: u64, params: &ChaosParams) -> String {
    let storm = params.storm.as_secs();
    let what = match (params.elections, params.locks) {
        (true, _) => " --elections",
        (_, true) if params.baselines => " --locks --baselines",
        (_, true) => " --locks",
        _ if params.messages => " --messages",
        _ => "",
    };
    let attackers = if params.attackers { " --attackers" } else { "" };
    format!("consort sim chaos{what}{attackers} --seeds {seed} --storm {storm}")
}

/// Runs the scenario of `seed`.
pub fn chaos(seed: u64, params: &ChaosParams) -> Result<ChaosReport, Violation> {
    chaos_with(seed, params, |_| {})
}

/// The same, with altered settings of every node: to plant bugs.
pub fn chaos_with(
    seed: u64,
    params: &ChaosParams,
    change: fn(&mut Config),
) -> Result<ChaosReport, Violation> {
    chaos_in(seed, params, change, None).map_err(|violation| Violation {
        rerun: rerun(seed, params),
        ..violation
    })
}

fn chaos_in(
    seed: u64,
    params: &ChaosParams,
    change: fn(&mut Config),
    recording: Option<&Recording>,
) -> Result<ChaosReport, Violation> {
    let mut rng = Rng::seed(seed, stream::SCENARIO);
    let span = params.nodes_max.saturating_sub(params.nodes_min) as u32 + 1;
    let nodes = (params.nodes_min + rng.below(span) as usize).max(1);
    // A lattice in which every host has several neighbours, or one switch for all.
    let cuts = Cuts::of(seed);
    let topology = match rng.below(3) {
        // A host lost from a lattice may be on the route between two others.
        0 if !params.elections || cuts == Cuts::Any => Topology::Grid,
        _ => Topology::Full,
    };
    let layout = Layout::draw(&topology, nodes, 10.0, 30.0, seed);
    let layout = layout.expect("the range is larger than the area");
    let seeds = 1 + rng.below(3) as usize;
    let start = match rng.below(2) {
        0 => Start::Warm { seeds },
        _ => Start::Cold { seeds },
    };
    let elections = Elections::draw(seed, params.elections);
    let mut locks = params.locks.then(|| Locks::draw(seed, nodes));
    let mut node = elections.config();
    if let Some(locks) = &locks {
        locks.config(&mut node, matches!(start, Start::Cold { .. }));
    }
    if params.elections && cuts == Cuts::Strict {
        node.election.floor = nodes as u16;
    }
    if seed % 2 == 1 || params.attackers {
        // Half of the groups have a key.
        node.seal.suite = Suite::Toy(seed);
        node.datagram_max = node.datagram_max.max(326);
    }
    change(&mut node);
    let zombie_safe = node.mutex.zombie_safe;
    let one_sided = locks.as_ref().and_then(|locks| locks.one_sided(&node));
    let config = WorldConfig {
        node,
        layout,
        conditions: Conditions::default(),
        seed,
        start,
        sample_every: Some(Duration::from_secs(1)),
        trace: Trace::default(),
    };
    let mut oracle = Panel::safety().with(Detection { bound: params.calm });
    if params.elections {
        oracle = oracle.with(Claims::default()).with(Leadership);
    }
    if params.locks {
        oracle = oracle
            .with(oracle::Locks::default())
            .with(oracle::Witnesses::default())
            .with(oracle::Work::new(zombie_safe));
    }
    if let Some(lease) = one_sided {
        oracle = oracle.with(oracle::Sides::new(lease));
    }
    if params.messages {
        oracle = oracle.with(oracle::Talk::default());
    }
    if let Some(recording) = recording {
        let recorder = record::begin(recording, &config, &elections, locks.as_ref());
        oracle.0.insert(0, Box::new(recorder));
    }
    let mut engine = Engine::new(config, oracle).expect("the default config works");
    if params.attackers {
        engine.set_attacker(seed);
    }
    if let Some(locks) = &mut locks {
        locks.begin(&mut engine, params.baselines);
    }
    let mut works = Works::new(seed, &elections.held, cuts, params.careless);
    if params.elections {
        works.begin(&mut engine);
    }
    for &(election, policy) in &elections.held {
        engine.open_election(election, policy)?;
    }
    works.run_for(&mut engine, Duration::from_secs(20))?;
    let mut talk = params.messages.then(|| Talk::new(seed));
    let faults = storm(
        &mut engine,
        params.storm,
        seeds,
        &mut locks,
        &mut works,
        &mut talk,
    )?;
    let all = locks.is_some() || params.elections && cuts == Cuts::Strict;
    works.strike(engine.world(), &Fault::Heal);
    settle(&mut engine, seed, seeds, all)?;
    works.settle(&mut engine)?;
    let calm_at = engine.world().now();
    let mut listed_at = None;
    loop {
        works.run_for(&mut engine, Duration::from_secs(1))?;
        if params.elections && cuts == Cuts::Strict {
            // A node that waited for its work before it left may hold a promise that the others need.
            let left = |&host: &usize| engine.world().host(host).state() == HostState::Left;
            let left: Vec<usize> = (0..nodes).filter(left).collect();
            for host in left {
                let keep = Keep::Life;
                engine.strike(Fault::Restart { host, keep })?;
            }
        }
        let after = engine.world().now().since(calm_at);
        let served = match &mut locks {
            Some(locks) => locks.settle(&mut engine)?,
            None => Ok(()),
        };
        let calm = converged(engine.world()).map_err(|(host, text)| ("I9", host, text));
        let calm = calm.and_then(|()| served.map_err(|(host, text)| ("L1", host, text)));
        let listed = calm.is_ok();
        let calm = calm.and_then(|()| elections.settled(engine.world()));
        if listed {
            // With equal lists a leader is found soon, or never.
            let since = *listed_at.get_or_insert(engine.world().now());
            let led = engine.world().now().since(since);
            if let Err((invariant @ "L1", host, text)) = &calm
                && led > ELECTED_WITHIN
                && params.elections
            {
                return Err(Violation {
                    invariant,
                    at: engine.world().now(),
                    host: Some(*host),
                    text: format!("{text}, {led:?} after all lists were equal"),
                    rerun: String::new(),
                });
            }
        } else {
            listed_at = None;
        }
        match calm {
            Ok(()) => {
                engine.finish()?;
                return Ok(ChaosReport {
                    nodes,
                    faults,
                    converged_after: after,
                    elected_after: listed_at
                        .map_or(Duration::ZERO, |at| engine.world().now().since(at)),
                    counts: *engine.world().net().counts(),
                    trace_hash: engine.world().trace().hash(),
                    tallies: locks.as_ref().map_or(Vec::new(), Locks::tallies),
                    works: works.started,
                    attacks: engine.attacks(),
                });
            }
            Err((invariant, host, text)) if after >= params.calm => {
                return Err(Violation {
                    invariant,
                    at: engine.world().now(),
                    host: Some(host),
                    text: format!("{text}, {after:?} after the last fault"),
                    rerun: String::new(),
                });
            }
            Err(_) => {}
        }
    }
}

/// Applies faults one after the other.
fn storm(
    engine: &mut Engine<Panel>,
    span: Duration,
    seeds: usize,
    locks: &mut Option<Locks>,
    works: &mut Works,
    talk: &mut Option<Talk>,
) -> Result<usize, Violation> {
    let mut rng = Rng::seed(engine.world().seed(), stream::FAULTS);
    let end = engine.world().now() + span;
    let cuts = Cuts::of(engine.world().seed());
    let elects = !engine.world().elections().is_empty();
    let mut faults = match locks {
        Some(locks) => locks.besiege(engine)?,
        None => 0,
    };
    while engine.world().now() < end {
        let fault = kill_leader(engine, &mut rng).unwrap_or_else(|| draw(engine, &mut rng));
        let fault = match locks {
            Some(locks) => locks.temper(engine.world().now(), fault, seeds),
            None => Some(fault),
        };
        let fault = fault.map(|fault| match (fault, cuts) {
            (Fault::Partition(_), Cuts::OneWay) if elects => one_way(engine, &mut rng),
            (Fault::Restart { host, keep }, Cuts::Strict) if elects && keep == Keep::Nothing => {
                // If a majority of the watchers lost their disks, only an operator can continue.
                let keep = Keep::Life;
                Fault::Restart { host, keep }
            }
            (fault, _) => fault,
        });
        if let Some(fault) = fault {
            if let Some(locks) = locks {
                locks.strike(&fault);
            }
            let left = match fault {
                Fault::Leave(host) => Some(host),
                _ => None,
            };
            works.strike(engine.world(), &fault);
            engine.strike(fault)?;
            faults += 1;
            faults += match locks {
                Some(locks) => locks.strike_more(engine, left)?,
                None if elects => works.strike_more(engine, left)?,
                None => 0,
            };
        }
        let wait = Duration::from_micros(rng.below64(8_000_000));
        match (&mut *locks, &mut *talk) {
            (Some(locks), _) => locks.run_for(engine, wait)?,
            (None, Some(talk)) => talk.run_for(engine, wait)?,
            (None, None) => works.run_for(engine, wait)?,
        }
    }
    Ok(faults)
}

/// How the group of a storm over elections may be cut.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Cuts {
    /// Into parts that each continue: each has a leader, so works of two lines of watchers may overlap.
    Any,
    /// Into parts of which at most one continues, because the election is strict: no two works overlap, without
    /// exception.
    Strict,
    /// Single hosts cannot receive or send: works overlap only while one is cut off.
    OneWay,
}

impl Cuts {
    fn of(seed: u64) -> Cuts {
        match seed % 4 {
            0 => Cuts::Any,
            1 => Cuts::Strict,
            _ => Cuts::OneWay,
        }
    }
}

/// A leader, or another host, can no longer receive, or can no longer send.
fn one_way(engine: &Engine<Panel>, rng: &mut Rng) -> Fault {
    let world = engine.world();
    let election = world.elections().first().map(|e| e.0);
    let leads = |&host: &usize| {
        let elections = world.host(host).node().election();
        election.is_some_and(|e| elections.acting(e).is_some())
    };
    let any = rng.below(world.hosts().len() as u32) as usize;
    let host = world.up().find(leads).unwrap_or(any);
    match rng.below(2) {
        0 => Fault::Deafen(host),
        _ => Fault::Mute(host),
    }
}

/// How long after all lists are equal all nodes have to hold one claim, whose leader acts.
const ELECTED_WITHIN: Duration = Duration::from_secs(60);

/// In a group with elections every eighth fault affects a leader.
fn kill_leader(engine: &Engine<Panel>, rng: &mut Rng) -> Option<Fault> {
    let world = engine.world();
    let (election, _) = *world.elections().first()?;
    if rng.below(8) > 0 {
        return None;
    }
    let leads = |&host: &usize| {
        world
            .host(host)
            .node()
            .election()
            .acting(election)
            .is_some()
    };
    let leader = world.up().find(leads)?;
    let keep = Keep::Life;
    Some(match rng.below(5) {
        0 => Fault::Crash(leader),
        1 => Fault::Pause(leader),
        2 => Fault::Leave(leader),
        3 => one_way(engine, rng),
        _ => Fault::Restart { host: leader, keep },
    })
}

/// The elections of a scenario.
struct Elections {
    quorum: Quorum,
    held: Vec<(ElectionId, Policy)>,
}

impl Elections {
    fn draw(seed: u64, any: bool) -> Elections {
        let mut rng = Rng::seed(seed, stream::ELECTIONS);
        // Deliberately too small: whichever node wins, all nodes have to agree.
        let quorum = match rng.below(4) {
            3 => Quorum::Posterior { epsilon: 1e-6 },
            c => Quorum::Deterministic { c: c as u16 },
        };
        let held = ["one", "two"].map(|name| {
            let hold = Duration::from_secs(5);
            let preempt = match rng.below(4) {
                0 => Preempt::Strict { hold },
                1 => Preempt::Margin { delta: 1, hold },
                _ => Preempt::Never,
            };
            let policy = Policy {
                mode: Mode::Group,
                stream: rng.below(2) == 0,
                health: rng.below(2) == 0,
                replace_unhealthy: rng.below(4) == 0,
                preempt,
                ranking: Ranking::default(),
                grace: Duration::ZERO,
            };
            (ElectionId::of(name), policy)
        });
        let count = if any { 1 + rng.below(2) as usize } else { 0 };
        let mut held: Vec<_> = held.into_iter().take(count).collect();
        // Every other election has a different ranking; of a byte's values sixteen are one.
        for (_, policy) in &mut held {
            if rng.below(2) == 0 {
                let any = core::iter::repeat_with(|| Ranking::try_from(rng.below(64) as u8));
                policy.ranking = any.take(64).find_map(Result::ok).unwrap_or_default();
            }
        }
        Elections { quorum, held }
    }

    fn config(&self) -> Config {
        let mut config = Config::default();
        if !self.held.is_empty() {
            config.election.quorum = self.quorum;
        }
        config
    }

    /// L1, and L4 if the policy is strict: then the best candidate leads.
    fn settled(&self, world: &World) -> Result<(), (&'static str, usize, String)> {
        for &(election, policy) in &self.held {
            let claim = agreed(world, election).map_err(|(host, text)| ("L1", host, text))?;
            let strict = matches!(policy.preempt, Preempt::Strict { .. });
            if strict
                && !policy.health
                // Members have different views of reliability.
                && !policy.ranking.has(Criterion::Reliability)
                && let Some(host) = world.up().next()
            {
                let best = world.host(host).node().candidates(world.now(), election);
                let best = best.first().map(|e| e.id);
                if best != Some(claim.leader) {
                    let text = format!("{} leads, {best:?} is better", claim.leader);
                    return Err(("L4", host, text));
                }
            }
        }
        Ok(())
    }
}

fn draw(engine: &Engine<Panel>, rng: &mut Rng) -> Fault {
    let world = engine.world();
    let n = world.hosts().len();
    let host = rng.below(n as u32) as usize;
    let keep = [Keep::All, Keep::Life, Keep::Nothing][rng.below(3) as usize];
    let chance = rng.below(100);
    match world.host(host).state() {
        HostState::Paused if chance < 60 => return Fault::Resume(host),
        HostState::Crashed | HostState::Left if chance < 60 => {
            return Fault::Restart { host, keep };
        }
        _ => {}
    }
    match rng.below(16) {
        0 | 1 => Fault::Crash(host),
        2..=4 => Fault::Pause(host),
        5 | 6 => Fault::Restart { host, keep },
        7 => Fault::Leave(host),
        8 | 9 => {
            let sides = 2 + rng.below(2);
            Fault::Partition((0..n).map(|_| rng.below(sides) as u8).collect())
        }
        10 => Fault::Deafen(host),
        11 => Fault::Mute(host),
        12 | 13 => Fault::Heal,
        _ => Fault::Conditions(Conditions {
            loss_per_hop: rng.unit() * 0.3,
            loss_per_message: rng.unit() * 0.1,
            duplicate: rng.unit() * 0.2,
            reorder: rng.unit() * 0.3,
            reorder_max: Duration::from_micros(rng.below64(3_000_000)),
            ..Conditions::default()
        }),
    }
}

/// Ends all faults. Of the processes that do not run, or are leaving, the seeds and some others return: without a
/// seed a process that forgot everything cannot find any other.
fn settle(engine: &mut Engine<Panel>, seed: u64, seeds: usize, all: bool) -> Result<(), Violation> {
    let mut rng = Rng::seed(seed, stream::SCENARIO + 1000);
    let keep = if all { Keep::All } else { Keep::Life };
    engine.strike(Fault::Heal)?;
    engine.strike(Fault::Conditions(Conditions::default()))?;
    for host in 0..engine.world().hosts().len() {
        let back = rng.chance(0.5) || host < seeds || all;
        let leaving = engine.world().host(host).node().membership().join_state();
        let gone = leaving == JoinState::Leaving;
        match engine.world().host(host).state() {
            HostState::Paused if !gone => engine.strike(Fault::Resume(host))?,
            HostState::Up if !gone => {}
            _ if back => {
                engine.strike(Fault::Restart { host, keep })?;
            }
            _ => engine.strike(Fault::Resume(host))?,
        }
    }
    Ok(())
}
