//! What the agent is, and its log.

use super::{Served, seat};
use crate::api::{InfoView, LogView};
use crate::error::ApiError;
use crate::log::level;
use axum::Json;
use axum::extract::rejection::QueryRejection;
use axum::extract::{Query, State};
use axum::http::StatusCode;
use axum::response::sse::{self, KeepAlive, Sse};
use core::convert::Infallible;
use futures_util::stream::{self, Stream};
use serde::Deserialize;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

/// The routes.
pub(super) fn router() -> OpenApiRouter<Served> {
    OpenApiRouter::new()
        .routes(routes!(info))
        .routes(routes!(log))
}

/// Show versions and what the agent can do.
#[utoipa::path(get, path = "/v1/info", tag = "monitoring", responses((status = 200, description = "Does not change while the agent runs", body = InfoView)))]
async fn info(State(served): State<Served>) -> Json<InfoView> {
    Json(served.about.info.clone())
}

#[derive(Deserialize)]
struct Asked {
    level: Option<String>,
    since: Option<u64>,
}

/// Follow the log of the agent, as server-sent events.
///
/// Each event is a `LogView`. The log that is followed may be more detailed than the one on standard error.
#[utoipa::path(get, path = "/v1/log", tag = "monitoring", params(("level" = Option<String>, Query, description = "The most detailed level: error, warn, info (the default), debug or trace"), ("since" = Option<u64>, Query, description = "Tell lines after this number first, as far as they are kept; 0 for all")), responses((status = 200, description = "A stream that lasts as long as the agent", body = LogView, content_type = "text/event-stream")))]
async fn log(
    State(served): State<Served>,
    asked: Result<Query<Asked>, QueryRejection>,
) -> Result<Sse<impl Stream<Item = Result<sse::Event, Infallible>>>, ApiError> {
    let Query(asked) = asked?;
    let level = level(asked.level.as_deref().unwrap_or("info")).ok_or_else(|| {
        let message = "no such level; write error, warn, info, debug or trace";
        ApiError::new(StatusCode::BAD_REQUEST, "bad_request", message)
    })?;
    let log = served.log.as_ref().ok_or_else(|| {
        let message = "this agent keeps no log of its own; it is one of several in a process";
        ApiError::new(StatusCode::NOT_FOUND, "not_found", message)
    })?;
    let seat = seat(&served)?;
    let reader = log.read(level, asked.since);
    let start = (reader, served.node, served.meters, seat);
    let lines = stream::unfold(start, async |(mut reader, node, meters, seat)| {
        let line = tokio::select! {
            line = reader.next() => line?,
            () = node.stopped() => return None,
        };
        meters.log_missed(reader.missed());
        // Plain data: it always serialises.
        let told = sse::Event::default().event("log").json_data(&*line);
        Some((Ok(told.unwrap_or_default()), (reader, node, meters, seat)))
    });
    Ok(Sse::new(lines).keep_alive(KeepAlive::default()))
}
