//! Clients return in time, and commands end with them.

use super::{Rule, Violation};
use crate::clock::{MS, Ns, SEC};
use crate::history::{History, Limit, Run, Work};
use crate::record::RunId;
use std::collections::BTreeMap;

/// How much longer than `--timeout` a client may take: it has to start, send its request, and give up.
const TIMEOUT_SLACK: Ns = 1500 * MS;

/// How long `--try` may take: the time needed to ask the members.
const TRY_MAX: Ns = 10 * SEC;

/// How long a command may keep running after its client ended on its own: either end is observed a little late.
const END_SLACK: Ns = 50 * MS;

/// How long after the end of a lease a command may keep running if its client was killed.
const KILL_SLACK: Ns = SEC;

/// Requests for a lock end in time: the lock is granted, or the client reports that it is not.
pub(super) fn overruns(history: &History, found: &mut Vec<Violation>) {
    let works = works_by_run(history);
    for run in &history.runs {
        let allowed = match run.limit {
            Limit::None => continue,
            Limit::Timeout(limit) => limit + TIMEOUT_SLACK,
            Limit::Try => TRY_MAX,
        };
        // The last observation of a run that was cut short only shows that it lasted that long.
        let cut_short = [run.killed.map(|k| k.at), run.told];
        let seen = cut_short.into_iter().flatten().chain(run.end).min();
        let granted = of(&works, run).iter().map(|w| w.enter()).min();
        let (end, how) = match (granted, seen) {
            (Some(at), _) => (at, "was granted the lock"),
            (None, Some(end)) if run.end == Some(end) => (end, "returned"),
            (None, Some(end)) => (end, "had not returned"),
            (None, None) => continue,
        };
        let took = end.saturating_sub(run.start);
        let late = history.delays.longest(run.start, end);
        if took > allowed + run.frozen + late {
            let what = match run.limit {
                Limit::Timeout(limit) => format!("--timeout {} ms", limit / MS),
                _ => "--try".to_owned(),
            };
            let client = &history.clients[run.id.client];
            found.push(Violation {
                rule: Rule::Overrun,
                at: run.start + allowed,
                until: end,
                resource: client.resource.clone(),
                text: format!(
                    "{} of agent {} with {what} {how} after {} ms",
                    run.id,
                    client.agent,
                    took / MS
                ),
            });
        }
    }
}

/// A command ends before its client does. If the client was killed, the command ends at the latest with its lease.
pub(super) fn leftovers(history: &History, found: &mut Vec<Violation>) {
    let works = works_by_run(history);
    for run in &history.runs {
        let (since, slack, how) = match (run.killed, run.end) {
            (Some(killed), _) => {
                let how = match killed.with_guards {
                    true => "was killed with its guards",
                    false => "was killed",
                };
                (killed.at, history.ttl + KILL_SLACK, how)
            }
            (None, Some(end)) => (end, END_SLACK, "had ended"),
            (None, None) => continue,
        };
        for work in of(&works, run) {
            let ran_on = work.last.saturating_sub(since);
            let late = history.delays.longest(since, work.last);
            if ran_on > slack + late {
                found.push(Violation {
                    rule: Rule::Leftover,
                    at: since,
                    until: work.last,
                    resource: work.entry.resource.clone(),
                    text: format!(
                        "{work} ran on for {} ms after its client {how}",
                        ran_on / MS
                    ),
                });
            }
        }
    }
    for pid in &history.leftovers {
        let work = history.works.iter().rfind(|w| w.id.pid == *pid);
        let what = work.map_or(format!("process {pid}"), ToString::to_string);
        found.push(Violation {
            rule: Rule::Leftover,
            at: work.map_or(history.start, Work::enter),
            until: work.map_or(history.start, |w| w.last),
            resource: work.map(|w| w.entry.resource.clone()).unwrap_or_default(),
            text: format!("{what} was still there after all clients had ended"),
        });
    }
}

type WorksByRun<'a> = BTreeMap<RunId, Vec<&'a Work>>;

fn works_by_run(history: &History) -> WorksByRun<'_> {
    let mut works = WorksByRun::new();
    for work in &history.works {
        works.entry(work.entry.run).or_default().push(work);
    }
    works
}

fn of<'a>(works: &'a WorksByRun<'_>, run: &Run) -> &'a [&'a Work] {
    works.get(&run.id).map_or(&[], |works| works)
}
