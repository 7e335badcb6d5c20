//! What a monitoring system asks: whether the node can do its job, and all counters.

use super::{Served, answer, list};
use crate::api::HealthView;
use crate::error::ApiError;
use crate::metrics::{CONTENT_TYPE, Snapshot};
use axum::extract::State;
use axum::http::{StatusCode, header};
use axum::response::IntoResponse;
use axum::routing::get;
use axum::{Json, Router};
use consort::{Member, Stats, Status};
use std::sync::Arc;

/// The routes.
pub(super) fn router() -> Router<Served> {
    Router::new()
        .route("/metrics", get(metrics))
        .route("/v1/stats", get(stats))
        .route("/v1/health", get(health))
}

async fn stats(State(served): State<Served>) -> Result<Json<Stats>, ApiError> {
    Ok(Json(answer(served.node.stats()).await?))
}

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
    let isolated = answer(served.node.is_isolated()).await?;
    Ok(HealthView::new(storage_error, isolated, leaving))
}

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
