//! The group in numbers, from what its members tell about themselves.

use super::{Served, list};
use crate::api::{MissingView, SummariesView, SummaryView};
use crate::error::ApiError;
use axum::Json;
use axum::extract::State;
use consort::message::{MemberSummary, QueryOptions, SendError, Summaries};
use consort::{Member, Node, NodeId, Status};
use core::time::Duration;
use futures_util::future::try_join_all;
use std::collections::BTreeMap;
use std::sync::Arc;
use tokio::sync::Mutex;
use tokio::time::Instant;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

/// The greatest number of members that are asked at a time.
const ASKED_MAX: usize = 64;

/// The number of members that one query can name.
const NAMED_MAX: usize = 16;

/// Members are not asked more often than this, however many clients there are.
const EVERY: Duration = Duration::from_secs(5);

/// The routes.
pub(super) fn router() -> OpenApiRouter<Served> {
    OpenApiRouter::new().routes(routes!(summaries))
}

/// Show what the members tell about themselves: version, member list and counters.
///
/// At most 64 members are asked at a time, those first whose answers are oldest, and at most every five seconds: in
/// between the last answers are given again, with their age.
#[utoipa::path(get, path = "/v1/summaries", tag = "monitoring", responses((status = 200, description = "What was answered, and whose answers are missing", body = SummariesView)))]
async fn summaries(State(served): State<Served>) -> Result<Json<SummariesView>, ApiError> {
    Ok(Json(served.summaries.get(&served.node).await?))
}

/// The last answers. Clones share them, and one client at a time asks for all.
#[derive(Clone, Debug, Default)]
pub(super) struct Cache(Arc<Mutex<Known>>);

impl Cache {
    async fn get(&self, node: &Node) -> Result<SummariesView, ApiError> {
        let mut known = self.0.lock().await;
        let members = list(node).await?;
        known.forget(&members);
        if known.is_due(&members) {
            let whom = known.next(&members);
            let found = ask(node, &whom, whom.len() < present(&members).count()).await?;
            known.take(&whom, found);
        }
        Ok(known.view(&members))
    }
}

/// Members that can answer.
fn present(members: &[Member]) -> impl Iterator<Item = &Member> {
    let can = |m: &&Member| matches!(m.status, Status::Alive | Status::Suspect);
    members.iter().filter(can)
}

/// Asks these members: by name if they are not all.
async fn ask(node: &Node, whom: &[NodeId], some: bool) -> Result<Vec<Summaries>, SendError> {
    if !some {
        return Ok(vec![node.summaries(QueryOptions::default()).await?]);
    }
    let named = |ids: &[NodeId]| {
        let ids = ids.iter();
        ids.fold(QueryOptions::default(), |o, id| o.node(id.to_string()))
    };
    try_join_all(whom.chunks(NAMED_MAX).map(|ids| node.summaries(named(ids)))).await
}

/// What is known of the members, by id.
#[derive(Debug, Default)]
struct Known {
    /// When members were asked last.
    asked: Option<Instant>,
    members: BTreeMap<NodeId, Answer>,
}

/// The last answer of a member.
#[derive(Debug)]
struct Answer {
    asked: Instant,
    /// The summary, with the time of its arrival; or why there is none.
    said: Result<(Instant, MemberSummary), &'static str>,
}

impl Known {
    fn forget(&mut self, members: &[Member]) {
        let there = |id: &NodeId| present(members).any(|m| m.id == *id);
        self.members.retain(|id, _| there(id));
    }

    /// Whether it is time to ask. A member that has just come does not wait, unless it came in a crowd.
    fn is_due(&self, members: &[Member]) -> bool {
        let new = || {
            present(members)
                .filter(|m| !self.members.contains_key(&m.id))
                .count()
        };
        self.asked.is_none_or(|at| {
            let pause = if (1..=ASKED_MAX).contains(&new()) {
                EVERY / 5
            } else {
                EVERY
            };
            at.elapsed() >= pause
        })
    }

    /// The members to ask now: those first that were never asked, then those that were not asked for longest.
    fn next(&self, members: &[Member]) -> Vec<NodeId> {
        let mut ids: Vec<NodeId> = present(members).map(|m| m.id).collect();
        ids.sort_by_key(|id| (self.members.get(id).map(|a| a.asked), *id));
        ids.truncate(ASKED_MAX);
        ids
    }

    fn take(&mut self, whom: &[NodeId], found: Vec<Summaries>) {
        let now = Instant::now();
        self.asked = Some(now);
        let silent = |id: &NodeId| {
            let (asked, said) = (now, Err("silent"));
            (*id, Answer { asked, said })
        };
        let mut answers: BTreeMap<NodeId, Answer> = whom.iter().map(silent).collect();
        for found in found {
            for (id, _) in found.unknown {
                let said = Err("unknown");
                answers.insert(id, Answer { asked: now, said });
            }
            for summary in found.summaries {
                let said = Ok((now, summary));
                let (id, asked) = (said.as_ref().map_or(NodeId(0), |(_, s)| s.id), now);
                answers.insert(id, Answer { asked, said });
            }
        }
        self.members.extend(answers);
    }

    fn view(&self, members: &[Member]) -> SummariesView {
        let mut view = SummariesView {
            asked_max: ASKED_MAX as u32,
            every_ms: EVERY.as_millis() as u64,
            ..SummariesView::default()
        };
        for member in present(members) {
            let (id, name) = (member.id.to_string(), member.name().to_owned());
            let reason = match self.members.get(&member.id).map(|a| &a.said) {
                Some(Ok((at, told))) => {
                    view.summaries.push(summary(id, name, at.elapsed(), told));
                    continue;
                }
                Some(Err(reason)) => reason,
                None => "not_asked",
            };
            let reason = reason.to_owned();
            view.missing.push(MissingView { name, id, reason });
        }
        view
    }
}

fn summary(id: String, name: String, age: Duration, told: &MemberSummary) -> SummaryView {
    let of = &told.summary;
    SummaryView {
        name,
        id,
        age_ms: age.as_millis() as u64,
        after_ms: told.after.as_millis() as u64,
        version: of.version.clone(),
        uptime_ms: of.uptime.as_millis() as u64,
        members: of.members,
        members_hash: format!("{:016x}", of.members_hash),
        datagrams_in: of.datagrams_in,
        datagrams_out: of.datagrams_out,
        bytes_in: of.bytes_in,
        bytes_out: of.bytes_out,
        dropped: of.dropped,
        probes: of.probes,
        probes_failed: of.probes_failed,
        accusations: of.accusations,
        refutations: of.refutations,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn group(n: u64) -> Vec<Member> {
        let addr = ([127, 0, 0, 1], 1).into();
        (1..=n)
            .map(|i| Member::new(NodeId(i), format!("node-{i}"), addr))
            .collect()
    }

    /// In a group of 150 each turn asks 64 others, until it begins again with those that were asked first.
    #[tokio::test(start_paused = true)]
    async fn a_large_group_is_asked_in_turns_and_the_others_are_named() {
        let members = group(150);
        let mut known = Known::default();
        let mut asked = Vec::new();
        for turn in 1..=3_usize {
            assert!(known.is_due(&members), "turn {turn}");
            let whom = known.next(&members);
            assert_eq!(whom.len(), ASKED_MAX);
            known.take(&whom, Vec::new());
            asked.push(whom);
            assert!(!known.is_due(&members), "at once again");
            tokio::time::advance(EVERY).await;
            let view = known.view(&members);
            let of = |reason: &str| view.missing.iter().filter(|m| m.reason == reason).count();
            let told = (turn * ASKED_MAX).min(150);
            assert_eq!((of("silent"), of("not_asked")), (told, 150 - told));
        }
        let first: Vec<u64> = asked[0].iter().map(|id| id.0).collect();
        assert_eq!(first, (1..=64).collect::<Vec<u64>>());
        let third: Vec<u64> = asked[2].iter().map(|id| id.0).collect();
        let expected: Vec<u64> = (129..=150).chain(1..=42).collect();
        assert_eq!(third, expected);
    }

    #[tokio::test(start_paused = true)]
    async fn who_comes_is_asked_soon_and_who_goes_is_forgotten() {
        let mut members = group(3);
        let mut known = Known::default();
        known.take(&known.next(&members), Vec::new());
        tokio::time::advance(EVERY / 5).await;
        assert!(!known.is_due(&members));
        members.extend(group(4).pop());
        assert!(known.is_due(&members), "there is a new one");
        assert_eq!(known.next(&members)[0], NodeId(4));
        members.truncate(1);
        known.forget(&members);
        assert_eq!(known.view(&members).missing.len(), 1);
        assert_eq!(known.members.len(), 1);
    }
}
