//! Tokens grow in the order in which commands begin, and no two concurrent commands have the same token.

use super::overlap::apart;
use super::{Rule, Violation};
use crate::history::{History, Use, Work};
use std::collections::BTreeMap;

pub(super) fn check(history: &History, resource: &str, found: &mut Vec<Violation>) {
    let mut by_slot: BTreeMap<Option<u16>, Vec<&Work>> = BTreeMap::new();
    for work in history.works_of(resource) {
        // Tokens of different slots are unrelated.
        if !matches!(work.usage, Use::Permit(_)) || work.entry.slot.is_some() {
            by_slot.entry(work.entry.slot).or_default().push(work);
        }
    }
    for works in by_slot.values() {
        in_order(history, works, found);
    }
}

fn in_order(history: &History, works: &[&Work], found: &mut Vec<Violation>) {
    let mut last_with: BTreeMap<&str, &Work> = BTreeMap::new();
    let mut greatest: Option<&Work> = None;
    for work in works {
        let token = &*work.entry.token;
        let mut say = |rule, text| {
            found.push(Violation {
                rule,
                at: work.enter(),
                until: work.enter(),
                resource: work.entry.resource.clone(),
                text,
            });
        };
        if token.is_empty() {
            say(Rule::Incident, format!("{work} was given no token"));
            continue;
        }
        if let Some(earlier) = greatest
            && token < &*earlier.entry.token
        {
            match work.usage {
                // Each side of a partition has its own tokens until they meet again.
                Use::Lead if apart(history, earlier, work, work.enter()) => {}
                Use::Lead => say(
                    Rule::LeaderTokenBack,
                    format!("{work} entered after {earlier}"),
                ),
                _ => say(
                    Rule::LockTokenBack,
                    format!("{work} entered after {earlier}"),
                ),
            }
        }
        if work.usage == Use::Shared {
            continue;
        }
        if let Some(earlier) = last_with.insert(token, work)
            && !resumes(earlier, work)
        {
            let text = format!("{work} entered with the token of {earlier}");
            say(Rule::TokenTwice, text);
        }
        if greatest.is_none_or(|g| token > &*g.entry.token) {
            greatest = Some(work);
        }
    }
}

/// Whether a leader's client continues the same leadership: its previous command had ended, nobody else has led
/// with that token, and no other command ran meanwhile. Such a command may have the previous token. Locks have a
/// new token each time.
fn resumes(earlier: &Work, later: &Work) -> bool {
    let same_client = earlier.entry.run.client == later.entry.run.client;
    later.usage == Use::Lead && same_client && earlier.last <= later.enter()
}
