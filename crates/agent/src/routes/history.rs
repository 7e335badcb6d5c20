//! Requests about past events, and the event stream.

use super::{Served, election, list, seat};
use crate::api::{EventView, MemberHistoryView, MemberView, SamplesView};
use crate::error::ApiError;
use crate::history::{About, Follower, History, News, Since};
use crate::view;
use axum::Json;
use axum::extract::rejection::{PathRejection, QueryRejection};
use axum::extract::{Path, Query, State};
use axum::http::{HeaderMap, StatusCode};
use axum::response::sse::{self, KeepAlive, Sse};
use core::convert::Infallible;
use futures_util::stream::{self, Stream};
use serde::Deserialize;
use std::sync::Arc;
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
    /// Past events after the one with this id or number are sent first, as far as they are kept; 0 for all.
    since: Option<String>,
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

/// The number of events in a row that a filter leaves out before the client is told how far it is.
const SILENT_MAX: u64 = 256;

/// Follow events of the group, as server-sent events.
///
/// Each event is an `EventView` and has an id, which names the run of the agent and its number. A client that comes back
/// with the id of the last event, as `Last-Event-ID` or as `since`, first receives what it missed, as far as that is
/// among the last 4096 events; `lagged` says how many are lost, or that the agent was restarted.
#[utoipa::path(get, path = "/v1/events", tag = "events", params(("since" = Option<String>, Query, description = "Tell events after the one with this id first, as far as they are kept; 0 for all. A number alone means an event of this run"), ("kind" = Option<String>, Query, description = "Only events of these kinds, with commas between"), ("name" = Option<String>, Query, description = "Only events that name this member, election, lock or message, by name or id"), ("last-event-id" = Option<String>, Header, description = "The id of the last event that was read; goes before `since`")), responses((status = 200, description = "A stream that lasts as long as the agent", body = String, content_type = "text/event-stream")))]
async fn events(
    State(served): State<Served>,
    asked: Result<Query<Asked>, QueryRejection>,
    headers: HeaderMap,
) -> Result<Sse<impl Stream<Item = Result<sse::Event, Infallible>>>, ApiError> {
    let Query(asked) = asked?;
    let last = headers.get("last-event-id").and_then(|v| v.to_str().ok());
    let since = match (last.and_then(Since::parse), asked.since.as_deref()) {
        (Some(since), _) => since,
        (None, None) => Since::Now,
        (None, Some(text)) => Since::parse(text).ok_or_else(|| {
            let message = "since is the id of an event, as in 19a8b7c6d5e-12, or a number";
            ApiError::new(StatusCode::BAD_REQUEST, "bad_request", message)
        })?,
    };
    let seat = seat(&served)?;
    let telling = Telling {
        opened: false,
        follower: served.history.read(since),
        run: served.history.run().into(),
        filter: Filter::new(asked.kind, asked.name),
        silent: 0,
    };
    let events = stream::unfold((telling, seat), async |(mut telling, seat)| {
        let told = telling.next().await?;
        Some((Ok(told), (telling, seat)))
    });
    Ok(Sse::new(events).keep_alive(KeepAlive::default()))
}

/// What is sent to one client.
struct Telling {
    opened: bool,
    follower: Follower,
    run: Arc<str>,
    filter: Filter,
    /// The number of events that were left out since the last one that was sent.
    silent: u64,
}

impl Telling {
    async fn next(&mut self) -> Option<sse::Event> {
        if !core::mem::replace(&mut self.opened, true) {
            // A client that loses the stream before the first event continues at the same place.
            let place = self.follower.place();
            return Some(told(&view::subscribed(&self.run), place, &self.run));
        }
        loop {
            match self.follower.next().await? {
                News::Missed(missed) => return Some(told(&view::lagged(missed), None, &self.run)),
                News::Event(event) if self.filter.wants(&event) => {
                    self.silent = 0;
                    let place = (event.seq > 0).then_some(event.seq);
                    return Some(told(&event, place, &self.run));
                }
                News::Event(event) => {
                    self.silent += 1;
                    if self.silent == SILENT_MAX {
                        self.silent = 0;
                        // An id without data moves the place from which the client continues, and is no event.
                        return Some(sse::Event::default().id(id(event.seq, &self.run)));
                    }
                }
            }
        }
    }
}

fn id(seq: u64, run: &str) -> String {
    format!("{run}-{seq}")
}

/// An event as it is sent, with the id of the place after it.
fn told(event: &EventView, place: Option<u64>, run: &str) -> sse::Event {
    let mut told = sse::Event::default().event(&event.event);
    if let Some(seq) = place {
        told = told.id(id(seq, run));
    }
    // Plain data always serialises.
    told.json_data(event).unwrap_or_default()
}
