//! What happened in a run, as the checker reads it.

use crate::clock::{Delays, Ns};
use crate::net::AgentNo;
use crate::record::{Entry, Record, RunId, Verb, WorkId};
use core::fmt;
use std::collections::BTreeMap;

/// How a client uses its lock or election.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Use {
    /// Leads: one work at a time, except across a partition.
    Lead,
    /// Holds a lock alone.
    Exclusive,
    /// Holds a lock beside others that share it.
    Shared,
    /// Holds one of so many permits.
    Permit(u16),
}

/// A client, which is started again whenever it ends.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Client {
    /// Which agent it talks to.
    pub agent: AgentNo,
    /// Name of its lock or election.
    pub resource: String,
    /// How it uses that.
    pub usage: Use,
    /// It is a thread of the testbed that speaks HTTP, not a `consort` process.
    pub http: bool,
}

/// How long a request for a lock may take.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Limit {
    /// For ever.
    None,
    /// `--timeout`.
    Timeout(Ns),
    /// `--try`.
    Try,
}

/// How a client's process was killed by a fault.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Killed {
    /// When.
    pub at: Ns,
    /// Together with the processes that look after its command.
    pub with_guards: bool,
}

/// One process of a client.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Run {
    /// Which.
    pub id: RunId,
    /// When it was started.
    pub start: Ns,
    /// When it was found to have ended.
    pub end: Option<Ns>,
    /// Its exit code; `None` also for one that was killed.
    pub code: Option<i32>,
    /// How long it may wait for the lock.
    pub limit: Limit,
    /// How long it was frozen by faults.
    pub frozen: Ns,
    /// It was killed by a fault.
    pub killed: Option<Killed>,
    /// It was told to stop by a fault, or because the run ended.
    pub told: Option<Ns>,
}

/// One guarded command, or one tenure of an HTTP holder.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Work {
    /// Which.
    pub id: WorkId,
    /// What it said when it began.
    pub entry: Entry,
    /// When it was last seen at work, itself or what it started. It may have worked a little longer.
    pub last: Ns,
    /// When it was told to stop, if it was.
    pub term: Option<Ns>,
    /// It said that it ends.
    pub exited: bool,
    /// Which agent its client talks to.
    pub agent: AgentNo,
    /// What it may do beside others.
    pub usage: Use,
}

impl Work {
    /// When it began.
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
    /// When.
    pub at: Ns,
    /// When its cause ended, if it lasts.
    pub until: Option<Ns>,
    /// Its kind, as `--only` names it.
    pub kind: &'static str,
    /// What was done to whom.
    pub text: String,
    /// Agents that it separates from all others, both ways, one bit each; 0 if it does not.
    pub apart: u32,
}

/// A time without faults, at whose end everything has to work again.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Calm {
    /// When the last fault ended.
    pub start: Ns,
    /// When all worked, or patience ended.
    pub end: Ns,
    /// What did not work by then.
    pub unmet: Vec<String>,
}

/// Something that is wrong by itself, seen while the run went on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Incident {
    /// When.
    pub at: Ns,
    /// What.
    pub text: String,
}

/// Everything that the checker reads.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct History {
    /// When the run began.
    pub start: Ns,
    /// Lease of locks.
    pub ttl: Ns,
    /// The clients by number.
    pub clients: Vec<Client>,
    /// Their processes.
    pub runs: Vec<Run>,
    /// Works by the time they began.
    pub works: Vec<Work>,
    /// Faults in order.
    pub faults: Vec<Fault>,
    /// Times without faults.
    pub calms: Vec<Calm>,
    /// Other things that must not happen.
    pub incidents: Vec<Incident>,
    /// Processes of works that ran on when all clients had ended, and time for them to stop had passed.
    pub leftovers: Vec<u32>,
    /// How late the machine was.
    pub delays: Delays,
}

impl History {
    /// Takes the works from the lines of the log, which may be out of order by a little.
    ///
    /// What a command started counts as the command, unless a fault killed its client together with the processes
    /// that look after it: then the command is promised to end, and what it started is not.
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

    /// Works of one lock or election, by the time they began.
    pub fn works_of<'a>(&'a self, resource: &'a str) -> impl Iterator<Item = &'a Work> {
        self.works
            .iter()
            .filter(move |w| w.entry.resource == resource)
    }

    /// Names of locks and elections that clients use, each once.
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
