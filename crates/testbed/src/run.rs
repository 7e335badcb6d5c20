//! A run, from its start to the history that is checked.

use crate::clock::{MS, Monitor, Ns, SEC, now};
use crate::fault::Deck;
use crate::history::{Calm, History, Use};
use crate::http::call;
use crate::record::{Record, Verb};
use crate::settings::{ELECTION, Settings};
use crate::world::World;
use anyhow::bail;
use consort_proto::Rng;
use core::sync::atomic::AtomicBool;
use core::time::Duration;
use serde_json::Value;
use std::path::Path;
use std::sync::Arc;

/// How long a group of new agents may take to find each other.
const GATHER: Ns = 30 * SEC;

/// Greatest age of a tick that shows a leader at work.
const FRESH: Ns = 500 * MS;

/// Runs the world in `dir` until the time is over or `over` is set. No process is left running.
pub fn run(settings: Settings, dir: &Path, over: Arc<AtomicBool>) -> anyhow::Result<Outcome> {
    let monitor = Monitor::start();
    let mut rng = Rng::seed(settings.seed, 2);
    let mut deck = Deck::new(settings.only.clone());
    let mut world = World::new(settings, dir, over)?;
    world.start_agents()?;
    gather(&world)?;
    world.start = now();
    let mut calms = Vec::new();
    let end = world.start + world.settings.secs * SEC;
    world.run_until(world.start + SEC)?;
    world.start_holders()?;
    while now() < end && !world.is_over() {
        let epoch = end.min(now() + world.settings.epoch_secs * SEC);
        while now() < epoch && !world.is_over() {
            if let Some(kind) = deck.deal(&mut rng, |kind| world.fits(kind)) {
                // Separate random draws, so that the targets of one fault do not change later faults.
                let number = 1000 + world.faults.len() as u64;
                world.inject(kind, &mut Rng::seed(world.settings.seed, number))?;
            }
            let gap = world.settings.gap_ms / 2 + rng.below64(world.settings.gap_ms);
            world.run_until(epoch.min(now() + gap * MS))?;
        }
        world.calm_down()?;
        let last = now() >= end;
        calms.push(calm(&mut world, last)?);
    }
    let leftovers = world.retire()?;
    let datagrams = world.net.counts();
    let mut delays = monitor.delays();
    delays.extend(core::mem::take(&mut world.delays));
    let mut history = History {
        start: world.start,
        ttl: world.settings.ttl(),
        strict: world.settings.variant.strict,
        least: world.settings.least(),
        clients: world.settings.clients(),
        runs: core::mem::take(&mut world.runs),
        faults: core::mem::take(&mut world.faults),
        incidents: core::mem::take(&mut world.incidents),
        calms,
        leftovers,
        delays,
        ..History::default()
    };
    history.add_works(&world.records);
    Ok(Outcome {
        interrupted: world.is_over(),
        history,
        datagrams,
    })
}

/// Result of a run.
#[derive(Debug)]
pub struct Outcome {
    /// Input of the checker.
    pub history: History,
    /// Whether the run was ended before its time.
    pub interrupted: bool,
    /// Number of datagrams that were forwarded and lost.
    pub datagrams: (u64, u64),
}

fn gather(world: &World) -> anyhow::Result<()> {
    let end = now() + GATHER;
    loop {
        let alive = |n: usize| {
            let info = ask(world, n, "/v1/self").unwrap_or_default();
            info["members"]["alive"].as_u64() == Some(world.agents.len() as u64)
        };
        if (0..world.agents.len()).all(alive) || world.is_over() {
            return Ok(());
        }
        if now() > end {
            bail!(
                "the agents do not find each other: {}",
                world.agents[0].last_words()
            );
        }
        std::thread::sleep(Duration::from_millis(50));
    }
}

fn ask(world: &World, agent: usize, path: &str) -> Option<Value> {
    let socket = world.agents[agent].socket();
    call(&socket, "GET", path, "", Duration::from_millis(250)).ok()
}

/// Waits until everything works again. In the last phase every client has to get its lock.
fn calm(world: &mut World, last: bool) -> anyhow::Result<Calm> {
    let start = now();
    let patience = world.settings.calm_secs * if last { 2 } else { 1 };
    let end = start + patience * SEC;
    let mut listed = None;
    loop {
        world.run_until(now() + 200 * MS)?;
        let mut unmet = Vec::new();
        match lists(world)? {
            None => listed = listed.or(Some(now())),
            // A member that is suspected or given up again was not settled.
            Some(differs) => {
                listed = None;
                unmet.push(differs);
            }
        }
        locks(world, start, last, &mut unmet);
        if world.settings.elections {
            unmet.extend(election(world)?);
        }
        let at = now();
        if unmet.is_empty() || at > end || world.is_over() {
            if world.is_over() {
                unmet.clear();
            }
            let secs = (at - world.start) as f64 / 1e9;
            let took = (at - start) as f64 / 1e9;
            println!(
                "{secs:8.3}  calm          {took:.1} s, {} unmet",
                unmet.len()
            );
            return Ok(Calm {
                start,
                end: at,
                listed,
                unmet,
            });
        }
    }
}

/// Which agent does not list exactly the running agents as alive.
fn lists(world: &mut World) -> anyhow::Result<Option<String>> {
    let count = world.agents.len() as u64;
    for agent in 0..world.agents.len() {
        // Clients that end meanwhile are restarted in time.
        world.step(true)?;
        let info = ask(world, agent, "/v1/self").unwrap_or_default();
        let (alive, suspected) = (&info["members"]["alive"], &info["members"]["suspect"]);
        if alive.as_u64() != Some(count) {
            return Ok(Some(format!(
                "agent {agent} lists {alive} of {count} agents as alive, {suspected} as suspected"
            )));
        }
    }
    Ok(None)
}

/// Locks that have not been acquired since `since`; with `each`, by which client.
fn locks(world: &World, since: Ns, each: bool, unmet: &mut Vec<String>) {
    let fresh = world
        .records
        .iter()
        .rev()
        .take_while(|r| r.at + 5 * SEC > since);
    let entered: Vec<usize> = fresh
        .filter(|r| r.at >= since)
        .filter_map(|r| match &r.verb {
            Verb::Enter(entry) => Some(entry.run.client),
            _ => None,
        })
        .collect();
    let clients = world.settings.clients();
    let lock_clients = || {
        clients
            .iter()
            .enumerate()
            .filter(|(_, c)| c.usage != Use::Lead)
    };
    if each {
        for (no, client) in lock_clients().filter(|(no, _)| !entered.contains(no)) {
            let (lock, agent) = (&client.resource, client.agent);
            unmet.push(format!(
                "client {no} at agent {agent} has not been granted {lock}"
            ));
        }
        return;
    }
    let mut names: Vec<&str> = lock_clients().map(|(_, c)| &*c.resource).collect();
    names.sort_unstable();
    names.dedup();
    for name in names {
        if !entered.iter().any(|no| clients[*no].resource == name) {
            unmet.push(format!("lock {name} has not been granted to anybody"));
        }
    }
}

/// Why there is no leader on which all agents agree and whose command is running.
fn election(world: &mut World) -> anyhow::Result<Option<String>> {
    let path = format!("/v1/elections/{ELECTION}");
    let mut views = Vec::new();
    for agent in 0..world.agents.len() {
        // Clients that end meanwhile are restarted in time.
        world.step(true)?;
        let Some(view) = ask(world, agent, &path) else {
            return Ok(Some(format!(
                "agent {agent} does not answer about {ELECTION}"
            )));
        };
        views.push(view);
    }
    Ok(disagreement(world, &views))
}

/// What the agents' statements about the election contradict.
fn disagreement(world: &World, views: &[Value]) -> Option<String> {
    let token = &views[0]["leader"]["token"];
    let agree = token.is_string() && views.iter().all(|v| v["leader"]["token"] == *token);
    let acting: Vec<usize> = (0..views.len())
        .filter(|no| views[*no]["acting"].is_string())
        .collect();
    let fresh = world
        .records
        .iter()
        .rev()
        .take_while(|r| r.at + FRESH > now());
    let works: Vec<(usize, &str)> = fresh.filter_map(|r| entry_of(world, r)).collect();
    // A leader that claims again above a greater term need not stop its command, which keeps its token.
    let at_work = |agent: usize| {
        works
            .iter()
            .any(|(client, _)| world.agent_of(*client) == agent)
    };
    if let [leader] = acting[..]
        && agree
        && at_work(leader)
    {
        return None;
    }
    let views = views.iter().enumerate().map(|(no, view)| {
        let leader = &view["leader"];
        let who = leader["name"].as_str().unwrap_or("nobody");
        format!(
            "agent {no}: {} follows {who} ({}, degraded {}, term {}), acting {}, electing {}",
            view["role"].as_str().unwrap_or("?"),
            leader["stage"].as_str().unwrap_or("-"),
            leader["degraded"],
            leader["term"],
            view["acting"].is_string(),
            view["electing"],
        )
    });
    let views: Vec<String> = views.collect();
    let work = match works.first() {
        Some((client, token)) => format!("client {client} works by {token}"),
        None => "nobody is at work".to_owned(),
    };
    Some(format!(
        "no leader of {ELECTION} agreed upon and at work; {work}; {}",
        views.join("; ")
    ))
}

/// The client and token of the leader's command that a line belongs to.
fn entry_of<'a>(world: &'a World, record: &Record) -> Option<(usize, &'a str)> {
    world.records.iter().rev().find_map(|r| match &r.verb {
        Verb::Enter(entry) if r.work == record.work && entry.resource == ELECTION => {
            Some((entry.run.client, &*entry.token))
        }
        _ => None,
    })
}
