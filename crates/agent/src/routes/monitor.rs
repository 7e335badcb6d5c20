//! Requests of monitoring systems: health and counters.

use super::{Served, answer, list};
use crate::api::HealthView;
use crate::error::ApiError;
use crate::metrics::{CONTENT_TYPE, Snapshot};
use crate::view;
use axum::Json;
use axum::extract::State;
use axum::http::{StatusCode, header};
use axum::response::IntoResponse;
use consort::{Member, Stats, Status};
use std::sync::Arc;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

/// The routes.
pub(super) fn router() -> OpenApiRouter<Served> {
    OpenApiRouter::new()
        .routes(routes!(metrics))
        .routes(routes!(stats))
        .routes(routes!(health))
}

/// Show counters since the start.
#[utoipa::path(get, path = "/v1/stats", tag = "monitoring", responses((status = 200, description = "Counters, by layer", body = Object)))]
async fn stats(State(served): State<Served>) -> Result<Json<Stats>, ApiError> {
    Ok(Json(answer(served.node.stats()).await?))
}

/// Show whether the node is able to work.
#[utoipa::path(get, path = "/v1/health", tag = "monitoring", responses((status = 200, description = "It can", body = HealthView), (status = 503, description = "It cannot, for these reasons; or an error when the node does not answer", body = HealthView)))]
async fn health(State(served): State<Served>) -> Result<(StatusCode, Json<HealthView>), ApiError> {
    let members = list(&served.node).await?;
    let health = look(&served, &members).await?;
    let code = match health.reasons.is_empty() {
        true => StatusCode::OK,
        false => StatusCode::SERVICE_UNAVAILABLE,
    };
    Ok((code, Json(health)))
}

async fn look(served: &Served, members: &[Member]) -> Result<HealthView, ApiError> {
    let own = members.iter().find(|m| m.is_self);
    let leaving = own.is_some_and(|m| m.status == Status::Left);
    let storage_error = answer(served.node.storage_error()).await?;
    let port_error = answer(served.node.port_error()).await?;
    let isolated = answer(served.node.is_isolated()).await?;
    let stats = answer(served.node.stats()).await?;
    Ok(view::health(
        storage_error,
        port_error,
        isolated,
        leaving,
        &stats,
    ))
}

/// Show all counters and the current state in OpenMetrics text.
#[utoipa::path(get, path = "/metrics", tag = "monitoring", responses((status = 200, description = "See docs/MONITORING.md", body = String, content_type = "application/openmetrics-text")))]
async fn metrics(State(served): State<Served>) -> Result<impl IntoResponse, ApiError> {
    let members = list(&served.node).await?;
    let (events, events_missed, event_readers) = served.history.counts();
    let snapshot = Snapshot {
        stats: answer(served.node.stats()).await?,
        elections: answer(served.node.elections()).await?,
        locks: answer(served.node.lock_readiness()).await?,
        locks_held: served.holders.count(),
        health: look(&served, &members).await?,
        uptime: served.history.uptime(),
        group: served.about.group.clone(),
        members,
        events,
        events_missed,
        event_readers,
        meters: Arc::clone(&served.meters),
    };
    // Writing to a string does not fail.
    let text = snapshot.text().unwrap_or_default();
    Ok(([(header::CONTENT_TYPE, CONTENT_TYPE)], text))
}
