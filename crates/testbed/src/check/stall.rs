//! After faults stop everything works again, and enough happened in the run.

use super::{Rule, Violation};
use crate::history::History;

/// Least number of faults, and of commands per resource, in a run that counts.
const LEAST: usize = 3;

pub(super) fn check(history: &History, found: &mut Vec<Violation>) {
    for calm in &history.calms {
        for unmet in &calm.unmet {
            let secs = history.secs(calm.end) - history.secs(calm.start);
            found.push(Violation {
                rule: Rule::Stall,
                at: calm.start,
                until: calm.end,
                resource: String::new(),
                text: format!("{secs:.1} s after faults stopped: {unmet}"),
            });
        }
    }
    for incident in &history.incidents {
        found.push(Violation {
            rule: Rule::Incident,
            at: incident.at,
            until: incident.at,
            resource: String::new(),
            text: incident.text.clone(),
        });
    }
    let mut empty = |text: String| {
        found.push(Violation {
            rule: Rule::Empty,
            at: history.start,
            until: history.start,
            resource: String::new(),
            text,
        });
    };
    if history.faults.len() < LEAST {
        empty(format!("only {} faults", history.faults.len()));
    }
    for resource in history.resources() {
        let works = history.works_of(resource).count();
        if works < LEAST {
            empty(format!("only {works} works of {resource}"));
        }
    }
    let moved = |resource: &str| takeovers(history, resource) > 0;
    if !history.resources().into_iter().all(moved) {
        empty("a lock or election never changed hands".to_owned());
    }
}

/// How often a client of a different agent than before began to hold or lead.
pub(crate) fn takeovers(history: &History, resource: &str) -> usize {
    let works: Vec<_> = history.works_of(resource).map(|w| w.agent).collect();
    works.windows(2).filter(|pair| pair[0] != pair[1]).count()
}
