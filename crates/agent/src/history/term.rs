//! Who led, from when to when, and how it ended.

use crate::api::{EventView, TermView};
use std::collections::{BTreeMap, VecDeque};

/// Terms kept of one election.
const TERMS_MAX: usize = 64;

/// Elections whose terms are kept.
const ELECTIONS_MAX: usize = 256;

#[derive(Debug, Default)]
pub(super) struct Terms(BTreeMap<String, VecDeque<TermView>>);

impl Terms {
    /// Takes note of an event and what it was because of.
    pub(super) fn take(&mut self, event: &EventView, because: Option<&EventView>) {
        let Some(id) = &event.election_id else { return };
        if !self.0.contains_key(id) && self.0.len() == ELECTIONS_MAX {
            return;
        }
        let terms = self.0.entry(id.clone()).or_default();
        let open = terms.back_mut().filter(|t| t.until_ms.is_none());
        match (event.event.as_str(), &event.leader) {
            ("leader_vacant", _) => {
                if let Some(term) = open {
                    let reason = because.and_then(|b| b.reason.as_deref());
                    term.end(event.at_ms, reason.unwrap_or("resigned"));
                }
            }
            ("leader_changed", Some(leader)) => {
                if let Some(term) = open {
                    if term.token == leader.token {
                        return;
                    }
                    let reason = match (leader.handed_over, because) {
                        (true, _) => "handed_over",
                        (_, Some(b)) if b.event == "down" => {
                            b.reason.as_deref().unwrap_or("failed")
                        }
                        _ if term.id == leader.id => "renewed",
                        _ => "replaced",
                    };
                    term.end(event.at_ms, reason);
                }
                let first = terms.is_empty();
                if terms.len() == TERMS_MAX {
                    terms.pop_front();
                }
                terms.push_back(TermView {
                    name: leader.name.clone(),
                    id: leader.id.clone(),
                    token: leader.token.clone(),
                    term: leader.term,
                    from_ms: event.at_ms,
                    until_ms: None,
                    ended: None,
                    partly: first,
                });
            }
            _ => {}
        }
    }

    pub(super) fn of(&self, election_id: &str) -> Vec<TermView> {
        let terms = self.0.get(election_id);
        terms.map_or_else(Vec::new, |t| t.iter().cloned().collect())
    }
}

impl TermView {
    fn end(&mut self, at_ms: u64, why: &str) {
        self.until_ms = Some(at_ms);
        self.ended = Some(why.to_owned());
    }
}
