//! Requests about this node's tags.

use super::{Served, answer};
use crate::error::ApiError;
use axum::Json;
use axum::extract::rejection::{JsonRejection, PathRejection};
use axum::extract::{Path, State};
use axum::http::StatusCode;
use consort::membership::SetTagsError;
use std::collections::BTreeMap;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

type Tags = BTreeMap<String, String>;

/// The routes.
pub(super) fn router() -> OpenApiRouter<Served> {
    OpenApiRouter::new()
        .routes(routes!(tags, replace, merge, clear))
        .routes(routes!(remove))
}

/// Show the tags of this node.
#[utoipa::path(get, path = "/v1/tags", tag = "tags", responses((status = 200, description = "All tags", body = BTreeMap<String, String>)))]
async fn tags(State(served): State<Served>) -> Result<Json<Tags>, ApiError> {
    Ok(Json(answer(served.node.tags()).await?))
}

/// Replace all tags of this node.
#[utoipa::path(put, path = "/v1/tags", tag = "tags", request_body = BTreeMap<String, String>, responses((status = 200, description = "All tags", body = BTreeMap<String, String>)))]
async fn replace(
    State(served): State<Served>,
    body: Result<Json<Tags>, JsonRejection>,
) -> Result<Json<Tags>, ApiError> {
    let Json(tags) = body?;
    set(&served, tags).await
}

/// Remove all tags of this node.
#[utoipa::path(delete, path = "/v1/tags", tag = "tags", responses((status = 200, description = "No tags", body = BTreeMap<String, String>)))]
async fn clear(State(served): State<Served>) -> Result<Json<Tags>, ApiError> {
    set(&served, Tags::new()).await
}

async fn set(served: &Served, tags: Tags) -> Result<Json<Tags>, ApiError> {
    changed(served.node.set_tags(tags.clone())).await?;
    tracing::info!(?tags, "tags of this node were replaced");
    Ok(Json(tags))
}

/// Set the given tags, and remove those that are `null`.
#[utoipa::path(patch, path = "/v1/tags", tag = "tags", request_body = BTreeMap<String, Option<String>>, responses((status = 200, description = "All tags", body = BTreeMap<String, String>)))]
async fn merge(
    State(served): State<Served>,
    body: Result<Json<BTreeMap<String, Option<String>>>, JsonRejection>,
) -> Result<Json<Tags>, ApiError> {
    let Json(changes) = body?;
    let tags = changed(served.node.merge_tags(changes)).await?;
    tracing::info!(?tags, "tags of this node were changed");
    Ok(Json(tags))
}

/// Remove one tag of this node.
#[utoipa::path(delete, path = "/v1/tags/{key}", tag = "tags", params(("key" = String, Path, description = "Key of the tag")), responses((status = 200, description = "All other tags", body = BTreeMap<String, String>)))]
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

/// Waits for the node. If it does not answer in time, an error is returned.
async fn changed<T>(change: impl Future<Output = Result<T, SetTagsError>>) -> Result<T, ApiError> {
    match tokio::time::timeout(super::ANSWER_PATIENCE, change).await {
        Ok(changed) => Ok(changed?),
        Err(_) => Err(super::no_answer()),
    }
}
