//! After faults stop everything works again, and enough happened in the run.

use super::{Rule, Violation};
use crate::history::{Client, History, Use};

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
    let least = history.least;
    if history.faults.len() < least.faults {
        empty(format!(
            "only {} faults, of at least {}",
            history.faults.len(),
            least.faults
        ));
    }
    for resource in history.resources() {
        let works = history.works_of(resource).count();
        let leads = |c: &&Client| c.resource == resource && c.usage == Use::Lead;
        let needed = match history.clients.iter().find(leads) {
            Some(_) => least.leads,
            None => least.locks,
        };
        if works < needed {
            empty(format!(
                "only {works} works of {resource}, of at least {needed}"
            ));
        }
        let takeovers = takeovers(history, resource);
        if takeovers < least.takeovers {
            let needed = least.takeovers;
            empty(format!(
                "{resource} changed hands only {takeovers} times, of at least {needed}"
            ));
        }
    }
}

/// How often a client of a different agent than before began to hold or lead.
pub(crate) fn takeovers(history: &History, resource: &str) -> usize {
    let works: Vec<_> = history.works_of(resource).map(|w| w.agent).collect();
    works.windows(2).filter(|pair| pair[0] != pair[1]).count()
}
