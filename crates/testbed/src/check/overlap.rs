//! Commands that exclude each other never run at the same time.

use super::{Rule, Violation};
use crate::clock::{Ns, SEC};
use crate::history::{History, Use, Work};

/// How long after a partition has healed two leaders may still be at work: until both sides have found each other
/// again (about six periods of these agents), and one has learned of the other from a watcher and stopped (a few
/// leases). Twice that, because other faults strike at the same time.
const HEAL: Ns = 5 * SEC;

/// The same for an agent that started alone: it learns the addresses of the others when it restarts.
const JOIN: Ns = 3 * SEC;

pub(super) fn check(history: &History, resource: &str, found: &mut Vec<Violation>) {
    let works: Vec<&Work> = history.works_of(resource).collect();
    for (n, later) in works.iter().enumerate() {
        let mut beside = 0;
        for earlier in &works[..n] {
            let (start, end) = (later.enter(), earlier.last.min(later.last));
            if start >= end {
                continue;
            }
            let rule = match (earlier.usage, later.usage) {
                (Use::Shared, Use::Shared) => continue,
                (Use::Permit(_), Use::Permit(_)) if differ(earlier, later) => {
                    beside += 1;
                    continue;
                }
                (Use::Lead, Use::Lead) if apart(history, earlier, later, end) => continue,
                (Use::Lead, Use::Lead) => Rule::LeaderOverlap,
                _ => Rule::LockOverlap,
            };
            found.push(violation(history, rule, earlier, later, (start, end)));
        }
        if let Use::Permit(permits) = later.usage
            && beside >= permits
        {
            found.push(Violation {
                rule: Rule::LockOverlap,
                at: later.enter(),
                until: later.enter(),
                resource: resource.to_owned(),
                text: format!("{later} entered beside {beside} others, of {permits} permits"),
            });
        }
    }
}

/// Whether two commands may hold different permits; this is possible if they were not told their slots.
fn differ(a: &Work, b: &Work) -> bool {
    match (a.entry.slot, b.entry.slot) {
        (Some(a), Some(b)) => a != b,
        _ => true,
    }
}

/// Whether a partition between two leaders explains that both are at work, which is then no violation.
///
/// This requires a fault that separates their agents in both directions. It counts while it lasts and for [`HEAL`]
/// after it ([`JOIN`] for an agent that started alone), and only for overlaps that it caused: the later command
/// began in that time, and the overlap ended in it. A leader that is alone on its side has to stop before others lead,
/// so for such a leader it counts only if it began to lead there. One-way links, loss, and agents that are killed,
/// frozen or leave are no explanation. A strict election allows for none.
pub(super) fn apart(history: &History, earlier: &Work, later: &Work, overlap_end: Ns) -> bool {
    let bit = |work: &Work| 1_u32 << work.agent;
    !history.strict
        && history.faults.iter().any(|fault| {
            let separates = (fault.apart & bit(earlier) == 0) != (fault.apart & bit(later) == 0);
            let heal = if fault.kind == "lone" { JOIN } else { HEAL };
            let end = fault.until.map_or(Ns::MAX, |until| until + heal);
            let lonely = |w: &Work| fault.apart == bit(w) && w.enter() < fault.at;
            let meanwhile = (fault.at..=end).contains(&later.enter()) && overlap_end <= end;
            separates && meanwhile && !lonely(earlier) && !lonely(later)
        })
}

fn violation(
    history: &History,
    rule: Rule,
    earlier: &Work,
    later: &Work,
    (start, end): (Ns, Ns),
) -> Violation {
    let ms = |ns: Ns| ns as f64 / 1e6;
    let late = history.delays.longest(start.saturating_sub(SEC), end);
    let told = match earlier.term {
        Some(term) if term <= start => {
            format!("told to stop {:.0} ms before", ms(start - term))
        }
        Some(term) => format!("told to stop {:.0} ms after", ms(term - start)),
        None => "never told to stop".to_owned(),
    };
    Violation {
        rule,
        at: start,
        until: end,
        resource: later.entry.resource.clone(),
        text: format!(
            "{later} entered while {earlier} was at work ({told}); both for {:.0} ms; the machine was up to \
             {:.0} ms late",
            ms(end - start),
            ms(late)
        ),
    }
}
