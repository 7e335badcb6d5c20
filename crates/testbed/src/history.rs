//! The history of a run, as the checker reads it.

use crate::clock::{Delays, Ns};
use crate::net::AgentNo;
use crate::record::{Entry, Record, RunId, Verb, WorkId};
use core::fmt;
use std::collections::BTreeMap;

/// How a client uses its lock or election.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Use {
    /// Leads: one command at a time, except across a partition.
    Lead,
    /// Holds a lock exclusively.
    Exclusive,
    /// Holds a lock together with others that share it.
    Shared,
    /// Holds one of so many permits.
    Permit(u16),
}

/// A client, which is restarted whenever it ends.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Client {
    /// The agent it talks to.
    pub agent: AgentNo,
    /// Name of its lock or election.
    pub resource: String,
    /// How it uses that lock or election.
    pub usage: Use,
    /// It is a thread of the testbed that uses HTTP, not a `consort` process.
    pub http: bool,
}

/// How long a request for a lock may take.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Limit {
    /// It waits without limit.
    None,
    /// `--timeout`.
    Timeout(Ns),
    /// `--try`.
    Try,
}

/// How a fault killed a client's process.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Killed {
    /// Time of the kill.
    pub at: Ns,
    /// Whether the guards of its command were killed with it.
    pub with_guards: bool,
}

/// One process of a client.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Run {
    /// Id of the process.
    pub id: RunId,
    /// When it was started.
    pub start: Ns,
    /// When its end was observed.
    pub end: Option<Ns>,
    /// Its exit code; `None` also if it was killed.
    pub code: Option<i32>,
    /// How long it may wait for the lock.
    pub limit: Limit,
    /// For how long faults froze it.
    pub frozen: Ns,
    /// Set if a fault killed it.
    pub killed: Option<Killed>,
    /// When it was told to stop, by a fault or because the run ended.
    pub told: Option<Ns>,
}

/// One guarded command, or one tenure of an HTTP holder.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Work {
    /// Id of the work.
    pub id: WorkId,
    /// What it logged when it began.
    pub entry: Entry,
    /// When it, or a process it started, was last seen at work. It may have worked a little longer.
    pub last: Ns,
    /// When it was told to stop, if it was.
    pub term: Option<Ns>,
    /// Whether it logged its end.
    pub exited: bool,
    /// The agent that its client talks to.
    pub agent: AgentNo,
    /// Which concurrent commands are allowed.
    pub usage: Use,
}

impl Work {
    /// The time at which the command began.
    pub fn enter(&self) -> Ns {
        self.id.enter
    }
}

impl fmt::Display for Work {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (entry, agent) = (&self.entry, self.agent);
        write!(
            f,
            "work {} of {} at agent {agent}, token {}",
            self.id.pid, entry.run, entry.token
        )
    }
}

/// A fault that was injected.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fault {
    /// When it was injected.
    pub at: Ns,
    /// When its cause ended, if it has a duration.
    pub until: Option<Ns>,
    /// Its kind, as `--only` names it.
    pub kind: &'static str,
    /// Description of the fault and its target.
    pub text: String,
    /// Agents that it separates from all others in both directions, one bit each; 0 if none.
    pub apart: u32,
}

/// A phase without faults, at whose end everything has to work again.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Calm {
    /// When the last fault ended.
    pub start: Ns,
    /// When everything worked, or the phase timed out.
    pub end: Ns,
    /// When every agent listed exactly the running agents as alive, if that was seen.
    pub listed: Option<Ns>,
    /// What did not work by then.
    pub unmet: Vec<String>,
}

/// A fault of the product that is evident by itself, observed during the run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Incident {
    /// When it was observed.
    pub at: Ns,
    /// Description.
    pub text: String,
}

/// The least that has to happen in a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Least {
    /// Faults.
    pub faults: usize,
    /// Commands under each lock.
    pub locks: usize,
    /// Commands of leaders.
    pub leads: usize,
    /// Changes of the agent, for each lock and election.
    pub takeovers: usize,
}

impl Default for Least {
    fn default() -> Self {
        Least {
            faults: 3,
            locks: 3,
            leads: 3,
            takeovers: 1,
        }
    }
}

/// Everything that the checker reads.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct History {
    /// When the run began.
    pub start: Ns,
    /// Lease of locks.
    pub ttl: Ns,
    /// Whether the election is strict: no partition excuses two leaders.
    pub strict: bool,
    /// The least that has to happen.
    pub least: Least,
    /// The clients by number.
    pub clients: Vec<Client>,
    /// Their processes.
    pub runs: Vec<Run>,
    /// Commands by the time they began.
    pub works: Vec<Work>,
    /// Faults in order.
    pub faults: Vec<Fault>,
    /// Phases without faults.
    pub calms: Vec<Calm>,
    /// Other events that must not happen.
    pub incidents: Vec<Incident>,
    /// Processes of commands that were still running after all clients had ended and had had time to stop.
    pub leftovers: Vec<u32>,
    /// Scheduling delays of the machine.
    pub delays: Delays,
}

impl History {
    /// Extracts the commands from the lines of the log, which may be slightly out of order.
    ///
    /// A process that a command started counts as the command, unless a fault killed its client together with the
    /// guards: then only the command itself is promised to end.
    pub fn add_works(&mut self, records: &[Record]) {
        let mut works: BTreeMap<WorkId, Work> = BTreeMap::new();
        for record in records {
            if let Verb::Enter(entry) = &record.verb
                && let Some(client) = self.clients.get(entry.run.client)
            {
                works.insert(
                    record.work,
                    Work {
                        id: record.work,
                        entry: entry.clone(),
                        last: record.at,
                        term: None,
                        exited: false,
                        agent: client.agent,
                        usage: client.usage,
                    },
                );
            }
        }
        let killed = self.runs.iter().filter_map(|r| Some((r.id, r.killed?)));
        let with_guards = killed.filter(|(_, k)| k.with_guards);
        let with_guards: BTreeMap<RunId, Ns> = with_guards.map(|(id, k)| (id, k.at)).collect();
        let unguarded =
            |run: RunId, at: Ns| with_guards.get(&run).is_some_and(|since| *since <= at);
        for record in records {
            if let Some(work) = works.get_mut(&record.work) {
                match record.verb {
                    Verb::Term => work.term = work.term.or(Some(record.at)),
                    Verb::Exit => work.exited = true,
                    Verb::Kin if unguarded(work.entry.run, record.at) => continue,
                    Verb::Enter(_) | Verb::Tick | Verb::Kin => {}
                }
                work.last = work.last.max(record.at);
            }
        }
        self.works = works.into_values().collect();
        self.works.sort_by_key(Work::enter);
    }

    /// Commands of one lock or election, by the time they began.
    pub fn works_of<'a>(&'a self, resource: &'a str) -> impl Iterator<Item = &'a Work> {
        self.works
            .iter()
            .filter(move |w| w.entry.resource == resource)
    }

    /// Names of locks and elections that clients use, without duplicates.
    pub fn resources(&self) -> Vec<&str> {
        let mut names: Vec<&str> = self.clients.iter().map(|c| &*c.resource).collect();
        names.sort_unstable();
        names.dedup();
        names
    }

    /// Seconds since the run began.
    pub fn secs(&self, at: Ns) -> f64 {
        at.saturating_sub(self.start) as f64 / 1e9
    }
}
