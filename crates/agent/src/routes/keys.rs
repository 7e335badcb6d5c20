//! Requests about the group's keys.

use super::Served;
use crate::api::{
    InstallKeyRequest, KeyView, KeysView, RevocationsView, RevokeRequest, RevokedView,
};
use crate::error::ApiError;
use crate::view;
use axum::Json;
use axum::extract::rejection::{JsonRejection, PathRejection, QueryRejection};
use axum::extract::{Path, Query, State};
use axum::http::StatusCode;
use consort::key::GroupKey;
use serde::Deserialize;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

/// The routes.
pub(super) fn router() -> OpenApiRouter<Served> {
    OpenApiRouter::new()
        .routes(routes!(keys, install))
        .routes(routes!(use_key))
        .routes(routes!(remove))
        .routes(routes!(revocations, revoke))
}

#[derive(Deserialize)]
struct Force {
    #[serde(default)]
    force: bool,
}

/// Show the group's keys by their fingerprints, and which members have the same.
///
/// Every member that is alive is asked.
#[utoipa::path(get, path = "/v1/keys", tag = "keys", responses((status = 200, description = "The keys of this node, and how far others have them", body = KeysView)))]
async fn keys(State(served): State<Served>) -> Result<Json<KeysView>, ApiError> {
    Ok(Json(view::keys(served.node.keys().await?)))
}

/// Give all members one more key, which opens and does not seal yet.
///
/// This node has it when the request is answered; the others get it within a few periods.
#[utoipa::path(post, path = "/v1/keys", tag = "keys", request_body = InstallKeyRequest, responses((status = 200, description = "This node has the key", body = KeyView)))]
async fn install(
    State(served): State<Served>,
    request: Result<Json<InstallKeyRequest>, JsonRejection>,
) -> Result<Json<KeyView>, ApiError> {
    let key = match request?.0.key {
        Some(text) => GroupKey::parse(text.trim()).ok_or_else(|| {
            let message = "a key is 64 hexadecimal digits; consort keygen makes one";
            ApiError::new(StatusCode::BAD_REQUEST, "bad_key", message)
        })?,
        None => GroupKey::generate().map_err(|error| {
            let status = StatusCode::INTERNAL_SERVER_ERROR;
            ApiError::new(status, "no_randomness", error.to_string())
        })?,
    };
    served.node.install_key(&key).await?;
    let fingerprint = key.fingerprint();
    tracing::info!(%fingerprint, "a key was installed");
    Ok(Json(KeyView {
        fingerprint,
        seals: false,
    }))
}

/// Have all members seal with a key.
#[utoipa::path(post, path = "/v1/keys/{fingerprint}/use", tag = "keys", params(("fingerprint" = String, Path, description = "Eight hexadecimal digits, as GET /v1/keys shows them"), ("force" = Option<bool>, Query, description = "Also if members that are alive may not have the newest keys. Default false")), responses((status = 200, description = "The key seals", body = KeyView)))]
async fn use_key(
    State(served): State<Served>,
    fingerprint: Result<Path<String>, PathRejection>,
    force: Result<Query<Force>, QueryRejection>,
) -> Result<Json<KeyView>, ApiError> {
    let (fingerprint, force) = (fingerprint?.0, force?.force);
    served.node.use_key(&fingerprint, force).await?;
    tracing::info!(%fingerprint, "another key seals");
    Ok(Json(KeyView {
        fingerprint,
        seals: true,
    }))
}

/// Take a key from all members: whoever has no other one is locked out.
#[utoipa::path(delete, path = "/v1/keys/{fingerprint}", tag = "keys", params(("fingerprint" = String, Path, description = "Eight hexadecimal digits, as GET /v1/keys shows them"), ("force" = Option<bool>, Query, description = "Also if members, alive or failed, may not have the newest keys. Default false")), responses((status = 200, description = "The key is removed", body = KeyView)))]
async fn remove(
    State(served): State<Served>,
    fingerprint: Result<Path<String>, PathRejection>,
    force: Result<Query<Force>, QueryRejection>,
) -> Result<Json<KeyView>, ApiError> {
    let (fingerprint, force) = (fingerprint?.0, force?.force);
    served.node.remove_key(&fingerprint, force).await?;
    tracing::info!(%fingerprint, "a key was removed");
    Ok(Json(KeyView {
        fingerprint,
        seals: false,
    }))
}

/// Show which certificates no longer count, in a group whose members prove who they are.
#[utoipa::path(get, path = "/v1/revocations", tag = "keys", responses((status = 200, description = "The list of this node", body = RevocationsView)))]
async fn revocations(State(served): State<Served>) -> Result<Json<RevocationsView>, ApiError> {
    let list = served.node.revocations().await?;
    let entries = list.entries.iter().map(|(id, serial)| RevokedView {
        id: id.to_string(),
        serial: *serial,
    });
    Ok(Json(RevocationsView {
        version: list.version,
        revoked: entries.collect(),
        list: list.signed,
    }))
}

/// Evict members, by a list that an operator has signed.
///
/// Their sessions end at once, here and, within a few periods, at all others.
#[utoipa::path(post, path = "/v1/revocations", tag = "keys", request_body = RevokeRequest, responses((status = 200, description = "The list of this node", body = RevocationsView)))]
async fn revoke(
    State(served): State<Served>,
    request: Result<Json<RevokeRequest>, JsonRejection>,
) -> Result<Json<RevocationsView>, ApiError> {
    served.node.revoke(&request?.0.list).await?;
    tracing::info!("certificates were revoked");
    revocations(State(served)).await
}
