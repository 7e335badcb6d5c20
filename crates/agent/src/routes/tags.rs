//! Requests about this node's tags.

use super::{Served, answer};
use crate::error::ApiError;
use axum::extract::rejection::{JsonRejection, PathRejection};
use axum::extract::{Path, State};
use axum::http::StatusCode;
use axum::routing::{delete, get};
use axum::{Json, Router};
use consort::SetTagsError;
use std::collections::BTreeMap;

type Tags = BTreeMap<String, String>;

/// The routes.
pub(super) fn router() -> Router<Served> {
    Router::new()
        .route(
            "/v1/tags",
            get(tags).put(replace).patch(merge).delete(clear),
        )
        .route("/v1/tags/{key}", delete(remove))
}

async fn tags(State(served): State<Served>) -> Result<Json<Tags>, ApiError> {
    Ok(Json(answer(served.node.tags()).await?))
}

async fn replace(
    State(served): State<Served>,
    body: Result<Json<Tags>, JsonRejection>,
) -> Result<Json<Tags>, ApiError> {
    let Json(tags) = body?;
    set(&served, tags).await
}

async fn clear(State(served): State<Served>) -> Result<Json<Tags>, ApiError> {
    set(&served, Tags::new()).await
}

async fn set(served: &Served, tags: Tags) -> Result<Json<Tags>, ApiError> {
    changed(served.node.set_tags(tags.clone())).await?;
    tracing::info!(?tags, "tags of this node were replaced");
    Ok(Json(tags))
}

async fn merge(
    State(served): State<Served>,
    body: Result<Json<BTreeMap<String, Option<String>>>, JsonRejection>,
) -> Result<Json<Tags>, ApiError> {
    let Json(changes) = body?;
    let tags = changed(served.node.merge_tags(changes)).await?;
    tracing::info!(?tags, "tags of this node were changed");
    Ok(Json(tags))
}

async fn remove(
    State(served): State<Served>,
    key: Result<Path<String>, PathRejection>,
) -> Result<Json<Tags>, ApiError> {
    let key = key?.0;
    if !answer(served.node.tags()).await?.contains_key(&key) {
        let message = format!("this node has no tag `{key}`; GET /v1/tags shows them");
        return Err(ApiError::new(StatusCode::NOT_FOUND, "no_tag", message));
    }
    let tags = changed(served.node.merge_tags([(key, None)].into())).await?;
    tracing::info!(?tags, "tags of this node were changed");
    Ok(Json(tags))
}

/// A node that does not answer in time is reported, not waited for.
async fn changed<T>(change: impl Future<Output = Result<T, SetTagsError>>) -> Result<T, ApiError> {
    match tokio::time::timeout(super::ANSWER_PATIENCE, change).await {
        Ok(changed) => Ok(changed?),
        Err(_) => Err(super::no_answer()),
    }
}
