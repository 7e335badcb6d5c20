//! Requests about what was, and the stream of what happens.

use super::{Served, election, list};
use crate::api::{EventView, MemberHistoryView, MemberView, SamplesView};
use crate::error::ApiError;
use crate::history::{History, Reader};
use axum::extract::rejection::{PathRejection, QueryRejection};
use axum::extract::{Path, Query, State};
use axum::http::{HeaderMap, StatusCode};
use axum::response::sse::{self, KeepAlive, Sse};
use axum::routing::get;
use axum::{Json, Router};
use core::convert::Infallible;
use futures_util::stream::{self, Stream};
use serde::Deserialize;
use std::collections::VecDeque;
use std::sync::Arc;
use tokio::sync::broadcast;
use tokio::sync::broadcast::error::RecvError;

/// The routes.
pub(super) fn router() -> Router<Served> {
    Router::new()
        .route("/v1/events", get(events))
        .route("/v1/stats/history", get(samples))
        .route("/v1/members/{member}/history", get(member))
}

async fn samples(State(served): State<Served>) -> Json<SamplesView> {
    Json(SamplesView {
        every_ms: History::sample_every().as_millis() as u64,
        samples: served.history.samples(),
    })
}

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
        member: dated(&served, MemberView::from(member)),
        events: events.iter().map(|e| EventView::clone(e)).collect(),
    }))
}

/// With the time since when it has its status.
pub(super) fn dated(served: &Served, mut member: MemberView) -> MemberView {
    let since = served.history.since(&member.id, &member.status);
    member.since_ms = since.map(|d| d.as_millis() as u64);
    member
}

#[derive(Deserialize)]
struct Asked {
    /// Events after this number are told first, as far as they are kept; 0 for all.
    since: Option<u64>,
}

async fn events(
    State(served): State<Served>,
    asked: Result<Query<Asked>, QueryRejection>,
    headers: HeaderMap,
) -> Result<Sse<impl Stream<Item = Result<sse::Event, Infallible>>>, ApiError> {
    let asked =
        asked.map_err(|e| ApiError::new(StatusCode::BAD_REQUEST, "bad_request", e.body_text()))?;
    let last = headers.get("last-event-id").and_then(|v| v.to_str().ok());
    let last = last.and_then(|id| {
        let (run, seq) = id.split_once('-')?;
        Some((run, seq.parse().ok()?))
    });
    let reader = match last {
        Some((run, seq)) => served.history.read(Some(run), Some(seq)),
        None => served.history.read(None, asked.0.since),
    };
    let run: Arc<str> = served.history.run().into();
    let mut past = VecDeque::from([Arc::new(EventView::subscribed(&run))]);
    let Reader {
        past: kept,
        missed,
        next,
    } = reader;
    if missed != Some(0) {
        past.push_back(Arc::new(EventView::lagged(missed)));
    }
    past.extend(kept);
    let start = (past, next, run, served.history);
    let events = stream::unfold(start, async |(mut past, mut next, run, history)| {
        let event = match past.pop_front() {
            Some(event) => event,
            None => following(next.as_mut()?, &history).await?,
        };
        let told = told(&event, &run);
        Some((Ok(told), (past, next, run, history)))
    });
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
            Some(Arc::new(EventView::lagged(Some(missed))))
        }
        Err(RecvError::Closed) => None,
    }
}

fn told(event: &EventView, run: &str) -> sse::Event {
    let mut told = sse::Event::default().event(&event.event);
    if event.seq > 0 {
        told = told.id(format!("{run}-{}", event.seq));
    }
    // Plain data: it always serialises.
    told.json_data(event).unwrap_or_default()
}
