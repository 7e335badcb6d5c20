//! Requests to send application events and queries.

use super::{ANSWER_PATIENCE, Served, no_answer};
use crate::api::{
    EventRequest, QueryRequest, QueryView, ReachabilityView, ReachedView, SentView, SilentView,
};
use crate::error::ApiError;
use crate::view;
use axum::Json;
use axum::extract::rejection::{JsonRejection, QueryRejection};
use axum::extract::{Query, State};
use axum::response::sse::{self, KeepAlive, Sse};
use axum::response::{IntoResponse, Response};
use consort::message::{Answers, QueryOptions, SendError};
use core::convert::Infallible;
use core::time::Duration;
use futures_util::stream::{self, Stream};
use serde::Deserialize;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

/// The routes.
pub(super) fn router() -> OpenApiRouter<Served> {
    OpenApiRouter::new()
        .routes(routes!(event))
        .routes(routes!(query))
        .routes(routes!(reachability))
}

/// Waits for the node. If it does not answer in time, an error is returned.
async fn sent<T>(sending: impl Future<Output = Result<T, SendError>>) -> Result<T, ApiError> {
    match tokio::time::timeout(ANSWER_PATIENCE, sending).await {
        Ok(sent) => Ok(sent?),
        Err(_) => Err(no_answer()),
    }
}

/// Send an application event to all members, including this node.
///
/// Delivery is best effort: every member that is not cut off receives it once, as an event `message` of GET /v1/events.
#[utoipa::path(post, path = "/v1/event", tag = "messages", request_body = EventRequest, responses((status = 200, description = "It is on its way", body = SentView)))]
async fn event(
    State(served): State<Served>,
    request: Result<Json<EventRequest>, JsonRejection>,
) -> Result<Json<SentView>, ApiError> {
    let Json(request) = request?;
    let seq = sent(served.node.broadcast(&request.name, request.payload)).await?;
    Ok(Json(SentView { seq }))
}

/// Query members and gather their answers.
///
/// Answers come from event handlers (`on = "query:NAME"`) and from programs that use the library. This request is
/// answered when all members have answered or declined, or when the time is over.
#[utoipa::path(post, path = "/v1/query", tag = "messages", request_body = QueryRequest, responses((status = 200, description = "What was answered; with `stream` server-sent events instead", content((QueryView = "application/json"), (String = "text/event-stream")))))]
async fn query(
    State(served): State<Served>,
    request: Result<Json<QueryRequest>, JsonRejection>,
) -> Result<Response, ApiError> {
    let Json(request) = request?;
    let mut options = within(QueryOptions::default(), request.timeout_ms);
    for name in request.nodes {
        options = options.node(name);
    }
    for tag in request.tags {
        options = match tag.split_once('=') {
            Some((key, value)) => options.tag(key, Some(value.to_owned())),
            None => options.tag(tag, None),
        };
    }
    let asked = served.node.query(&request.name, request.payload, options);
    let mut answers = sent(asked).await?;
    if request.stream {
        let stream = Sse::new(updates(answers)).keep_alive(KeepAlive::default());
        return Ok(stream.into_response());
    }
    let mut view = QueryView::default();
    while let Some(update) = answers.next().await {
        let update = view::query_update(&update);
        match update.update.as_str() {
            "answer" => view.answers.push(update),
            "declined" => view.declined.push(SilentView {
                name: update.name.unwrap_or_default(),
                id: update.id.unwrap_or_default(),
            }),
            _ => view.silent = update.silent.unwrap_or_default(),
        }
    }
    Ok(Json(view).into_response())
}

fn updates(answers: Answers) -> impl Stream<Item = Result<sse::Event, Infallible>> {
    stream::unfold(answers, async |mut answers| {
        let update = view::query_update(&answers.next().await?);
        // Plain data always serialises.
        let json = serde_json::to_string(&update).unwrap_or_default();
        Some((Ok(sse::Event::default().data(json)), answers))
    })
}

fn within(options: QueryOptions, timeout_ms: Option<u64>) -> QueryOptions {
    match timeout_ms {
        Some(ms) => options.timeout(Duration::from_millis(ms)),
        None => options,
    }
}

#[derive(Deserialize)]
struct Asked {
    timeout_ms: Option<u64>,
}

/// Find out which members can be reached.
///
/// Each member that is listed as alive or suspect is asked by gossip and then directly, and answers without its
/// application.
#[utoipa::path(get, path = "/v1/reachability", tag = "messages", params(("timeout_ms" = Option<u64>, Query, description = "How long to wait for answers. Default 3000 (more in slower profiles), at most 300000")), responses((status = 200, description = "Who answered and who did not", body = ReachabilityView)))]
async fn reachability(
    State(served): State<Served>,
    asked: Result<Query<Asked>, QueryRejection>,
) -> Result<Json<ReachabilityView>, ApiError> {
    let Query(asked) = asked?;
    let options = within(QueryOptions::default(), asked.timeout_ms);
    let found = served.node.reachability(options).await?;
    let reached = found
        .reached
        .into_iter()
        .map(|(id, name, after)| ReachedView {
            name,
            id: id.to_string(),
            after_ms: after.as_millis() as u64,
        });
    Ok(Json(ReachabilityView {
        reached: reached.collect(),
        silent: found.silent.iter().map(view::silent).collect(),
    }))
}
