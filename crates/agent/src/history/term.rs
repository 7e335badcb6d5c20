//! The terms of leaders: their start, their end, and how they ended.

use crate::api::{EventView, TermView};
use std::collections::{BTreeMap, VecDeque};

/// The number of terms that are kept per election.
const TERMS_MAX: usize = 64;

/// How long after the end of a term a verdict on its leader still explains the end, in milliseconds.
const VERDICT_LATE_MS: u64 = 30_000;

/// The number of elections whose terms are kept.
const ELECTIONS_MAX: usize = 256;

#[derive(Debug, Default)]
pub(super) struct Terms(BTreeMap<String, VecDeque<TermView>>);

impl Terms {
    /// Records an event and its cause.
    pub(super) fn take(&mut self, event: &EventView, because: Option<&EventView>) {
        if event.event == "down" {
            self.explain(event);
        }
        let Some(id) = &event.election_id else { return };
        if !self.0.contains_key(id) && self.0.len() == ELECTIONS_MAX {
            return;
        }
        let terms = self.0.entry(id.clone()).or_default();
        let open = terms.back_mut().filter(|t| t.until_ms.is_none());
        match (event.event.as_str(), &event.leader) {
            ("leader_vacant", _) => {
                if let Some(term) = open {
                    // A leader that stops answering loses its lease before it is declared failed.
                    let verdict = because.filter(|b| b.event == "down");
                    let reason = verdict.and_then(|b| b.reason.as_deref());
                    let told = event.reason.as_deref().unwrap_or("resigned");
                    end(term, event.at_ms, reason.unwrap_or(told));
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
                    end(term, event.at_ms, reason);
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

    /// If a leader was replaced or stopped answering before this node's own verdict on it, the reason of the verdict
    /// explains the end of its term.
    fn explain(&mut self, event: &EventView) {
        let (Some(member), Some(reason)) = (&event.member, &event.reason) else {
            return;
        };
        for terms in self.0.values_mut() {
            let over = terms.iter_mut().rev().find(|t| t.until_ms.is_some());
            if let Some(term) = over
                && term.id == member.id
                && matches!(term.ended.as_deref(), Some("replaced" | "silent"))
                && term
                    .until_ms
                    .is_some_and(|at| event.at_ms.saturating_sub(at) < VERDICT_LATE_MS)
            {
                term.ended = Some(reason.clone());
            }
        }
    }

    pub(super) fn of(&self, election_id: &str) -> Vec<TermView> {
        let terms = self.0.get(election_id);
        terms.map_or_else(Vec::new, |t| t.iter().cloned().collect())
    }
}

fn end(term: &mut TermView, at_ms: u64, why: &str) {
    term.until_ms = Some(at_ms);
    term.ended = Some(why.to_owned());
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::{Value, json};

    fn event(at_ms: u64, mut fields: Value) -> EventView {
        fields["at_ms"] = at_ms.into();
        serde_json::from_value(fields).unwrap()
    }

    fn leads(at_ms: u64, id: &str, token: &str) -> EventView {
        let leader = json!({"name": id, "id": id, "address": null, "life": 1, "token": token, "term": 1,
            "stage": "confirmed", "degraded": false, "self": false});
        let fields = json!({"event": "leader_changed", "election_id": "1", "leader": leader});
        event(at_ms, fields)
    }

    fn down(at_ms: u64, id: &str) -> EventView {
        let member = json!({"name": id, "id": id, "status": "failed", "address": "", "life": 1, "incarnation": 0,
            "tags": {}, "rtt_us": null, "health_percent": 0, "suspicions": 0, "refutations": 0, "accuser": null,
            "self": false});
        let fields = json!({"event": "down", "reason": "failed", "member": member});
        event(at_ms, fields)
    }

    #[test]
    fn a_leader_that_fell_silent_did_not_resign() {
        let vacant = |at, why: &str| {
            event(
                at,
                json!({"event": "leader_vacant", "election_id": "1", "reason": why}),
            )
        };
        let ordered = event(15, json!({"event": "lab", "reason": "kill"}));
        let ended = |verdict: Option<EventView>| {
            let mut terms = Terms::default();
            terms.take(&leads(10, "a", "t1"), None);
            terms.take(&vacant(20, "silent"), Some(&ordered));
            terms.take(&leads(21, "b", "t2"), Some(&vacant(20, "silent")));
            if let Some(verdict) = verdict {
                terms.take(&verdict, None);
            }
            terms.of("1")[0].ended.clone()
        };
        assert_eq!(ended(None).as_deref(), Some("silent"));
        assert_eq!(ended(Some(down(22, "a"))).as_deref(), Some("failed"));
        let mut terms = Terms::default();
        terms.take(&leads(10, "a", "t1"), None);
        terms.take(&vacant(20, "resigned"), None);
        terms.take(&down(22, "a"), None);
        assert_eq!(terms.of("1")[0].ended.as_deref(), Some("resigned"));
    }

    #[test]
    fn terms_end_for_the_reason_that_shows_in_the_end() {
        let mut terms = Terms::default();
        terms.take(&leads(10, "a", "t1"), None);
        terms.take(&leads(11, "a", "t1"), None);
        // News of the new leader came first, then the verdict on the former one.
        terms.take(&leads(20, "b", "t2"), None);
        terms.take(&down(21, "a"), None);
        let vacant = event(30, json!({"event": "leader_vacant", "election_id": "1"}));
        terms.take(&vacant, Some(&down(30, "b")));
        terms.take(&leads(31, "c", "t3"), Some(&vacant));
        terms.take(&down(99_000, "b"), None);
        let known = terms.of("1");
        let told = known
            .iter()
            .map(|t| (t.id.as_str(), t.until_ms, t.ended.as_deref(), t.partly));
        let expected = [
            ("a", Some(20), Some("failed"), true),
            ("b", Some(30), Some("failed"), false),
            ("c", None, None, false),
        ];
        assert_eq!(told.collect::<Vec<_>>(), expected);
        for n in 0..2 * TERMS_MAX as u64 {
            terms.take(&leads(100 + n, "d", &format!("t{}", 10 + n)), None);
        }
        assert_eq!(terms.of("1").len(), TERMS_MAX);
    }
}
