//! Requests about past events, and the event stream.

use super::{Served, election, list, seat};
use crate::api::{EventView, MemberHistoryView, MemberView, SamplesView};
use crate::error::ApiError;
use crate::history::{About, History, Reader};
use crate::view;
use axum::Json;
use axum::extract::rejection::{PathRejection, QueryRejection};
use axum::extract::{Path, Query, State};
use axum::http::{HeaderMap, StatusCode};
use axum::response::sse::{self, KeepAlive, Sse};
use core::convert::Infallible;
use futures_util::stream::{self, Stream};
use serde::Deserialize;
use std::collections::VecDeque;
use std::sync::Arc;
use tokio::sync::broadcast;
use tokio::sync::broadcast::error::RecvError;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

/// The routes.
pub(super) fn router() -> OpenApiRouter<Served> {
    OpenApiRouter::new()
        .routes(routes!(events))
        .routes(routes!(samples))
        .routes(routes!(member))
        .routes(routes!(why))
}

/// Show counters of the last half hour.
#[utoipa::path(get, path = "/v1/stats/history", tag = "monitoring", responses((status = 200, description = "One every five seconds", body = SamplesView)))]
async fn samples(State(served): State<Served>) -> Json<SamplesView> {
    Json(SamplesView {
        every_ms: History::sample_every().as_millis() as u64,
        samples: served.history.samples(),
    })
}

/// Show what the agent remembers about a member.
#[utoipa::path(get, path = "/v1/members/{member}/history", tag = "members", params(("member" = String, Path, description = "Id of the member, or a name that only one has")), responses((status = 200, description = "The member and events that name it", body = MemberHistoryView)))]
async fn member(
    State(served): State<Served>,
    member: Result<Path<String>, PathRejection>,
) -> Result<Json<MemberHistoryView>, ApiError> {
    let id = election::member(&served.node, &member?.0).await?;
    let members = list(&served.node).await?;
    let member = members.iter().find(|m| m.id == id);
    let member = member.ok_or_else(super::no_answer)?;
    let events = served.history.of_member(&id.to_string());
    Ok(Json(MemberHistoryView {
        member: dated(&served, view::member(member)),
        events: events.iter().map(|e| EventView::clone(e)).collect(),
    }))
}

/// Show the latest event about a member, a leader or a lock, and the events that led to it.
///
/// Each event is the cause of the one before it. Empty if the agent remembers none.
#[utoipa::path(get, path = "/v1/why/{about}/{name}", tag = "events", params(("about" = String, Path, description = "`member`, `leader` or `lock`"), ("name" = String, Path, description = "Name or id of the member, or name of the election or lock")), responses((status = 200, description = "The latest event first", body = Vec<EventView>)))]
async fn why(
    State(served): State<Served>,
    asked: Result<Path<(String, String)>, PathRejection>,
) -> Result<Json<Vec<EventView>>, ApiError> {
    let Path((about, name)) = asked?;
    let chain = match about.as_str() {
        "member" => {
            let id = election::member(&served.node, &name).await?.to_string();
            served.history.chain(&About::Member(&id))
        }
        "leader" => served.history.chain(&About::Leader(&name)),
        "lock" => served.history.chain(&About::Lock(&name)),
        _ => {
            let message = "ask about a member, a leader or a lock";
            return Err(ApiError::new(
                StatusCode::BAD_REQUEST,
                "bad_request",
                message,
            ));
        }
    };
    Ok(Json(chain.iter().map(|e| EventView::clone(e)).collect()))
}

/// Adds how long the member has had its status.
pub(super) fn dated(served: &Served, mut member: MemberView) -> MemberView {
    let since = served.history.since(&member.id, &member.status);
    // For a member that failed before this agent started, the member list knows more.
    member.since_ms = member.since_ms.or(since.map(|d| d.as_millis() as u64));
    member
}

#[derive(Deserialize)]
struct Asked {
    /// Past events after this number are sent first, as far as they are kept; 0 for all.
    since: Option<u64>,
    /// Only events of these kinds, separated by commas.
    kind: Option<String>,
    /// Only events that name this member, election, lock or message.
    name: Option<String>,
}

/// The events that a reader wants.
struct Filter {
    kinds: Vec<String>,
    name: Option<String>,
}

impl Filter {
    fn new(kind: Option<String>, name: Option<String>) -> Filter {
        let kinds = kind.iter().flat_map(|k| k.split(','));
        Filter {
            kinds: kinds
                .map(|k| k.trim().to_owned())
                .filter(|k| !k.is_empty())
                .collect(),
            name,
        }
    }

    /// Events about the stream itself are always sent.
    fn wants(&self, event: &EventView) -> bool {
        if matches!(event.event.as_str(), "subscribed" | "lagged") {
            return true;
        }
        let kind = self.kinds.is_empty() || self.kinds.contains(&event.event);
        kind && self.name.as_ref().is_none_or(|name| event.names(name))
    }
}

/// Follow events of the group, as server-sent events.
///
/// Each event is an `EventView`. A reconnect with `Last-Event-ID` first sends the missed events, as far as they are
/// among the last 4096; `lagged` says how many are lost.
#[utoipa::path(get, path = "/v1/events", tag = "events", params(("since" = Option<u64>, Query, description = "Tell events after this number first, as far as they are kept; 0 for all"), ("kind" = Option<String>, Query, description = "Only events of these kinds, with commas between"), ("name" = Option<String>, Query, description = "Only events that name this member, election, lock or message, by name or id"), ("last-event-id" = Option<String>, Header, description = "The id of the last event that was read")), responses((status = 200, description = "A stream that lasts as long as the agent", body = String, content_type = "text/event-stream")))]
async fn events(
    State(served): State<Served>,
    asked: Result<Query<Asked>, QueryRejection>,
    headers: HeaderMap,
) -> Result<Sse<impl Stream<Item = Result<sse::Event, Infallible>>>, ApiError> {
    let Query(asked) = asked?;
    let seat = seat(&served)?;
    let filter = Filter::new(asked.kind, asked.name);
    let last = headers.get("last-event-id").and_then(|v| v.to_str().ok());
    let last = last.and_then(|id| {
        let (run, seq) = id.split_once('-')?;
        Some((run, seq.parse().ok()?))
    });
    let reader = match last {
        Some((run, seq)) => served.history.read(Some(run), Some(seq)),
        None => served.history.read(None, asked.since),
    };
    let run: Arc<str> = served.history.run().into();
    let mut past = VecDeque::from([Arc::new(view::subscribed(&run))]);
    let Reader {
        past: kept,
        missed,
        next,
    } = reader;
    if missed != Some(0) {
        past.push_back(Arc::new(view::lagged(missed)));
    }
    past.extend(kept);
    let start = (past, next, run, served.history, filter, seat);
    let events = stream::unfold(
        start,
        async |(mut past, mut next, run, history, filter, seat)| {
            let event = loop {
                let event = match past.pop_front() {
                    Some(event) => event,
                    None => following(next.as_mut()?, &history).await?,
                };
                if filter.wants(&event) {
                    break event;
                }
            };
            let told = told(&event, &run);
            Some((Ok(told), (past, next, run, history, filter, seat)))
        },
    );
    Ok(Sse::new(events).keep_alive(KeepAlive::default()))
}

async fn following(
    next: &mut broadcast::Receiver<Arc<EventView>>,
    history: &History,
) -> Option<Arc<EventView>> {
    match next.recv().await {
        Ok(event) => Some(event),
        Err(RecvError::Lagged(missed)) => {
            history.missed(missed);
            Some(Arc::new(view::lagged(Some(missed))))
        }
        Err(RecvError::Closed) => None,
    }
}

fn told(event: &EventView, run: &str) -> sse::Event {
    let mut told = sse::Event::default().event(&event.event);
    if event.seq > 0 {
        told = told.id(format!("{run}-{}", event.seq));
    }
    // Plain data always serialises.
    told.json_data(event).unwrap_or_default()
}
