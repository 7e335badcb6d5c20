//! Requests about the topology.

use super::{Served, answer};
use crate::api::TopologyView;
use crate::error::ApiError;
use crate::view;
use axum::Json;
use axum::extract::State;
use axum::http::StatusCode;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

/// The routes.
pub(super) fn router() -> OpenApiRouter<Served> {
    OpenApiRouter::new().routes(routes!(topology))
}

/// Show which nodes hear each other, and how central each is.
#[utoipa::path(get, path = "/v1/topology", tag = "topology", responses((status = 200, description = "As this node sees it", body = TopologyView)))]
async fn topology(State(served): State<Served>) -> Result<Json<TopologyView>, ApiError> {
    let Some(status) = answer(served.node.topology()).await? else {
        return Err(ApiError::new(
            StatusCode::CONFLICT,
            "no_topology",
            "this agent does not look for neighbours; start it with --topology or --peer, or with a \
             [topology] table in its file",
        ));
    };
    let elections = answer(served.node.elections()).await?;
    let by_component = elections.iter().filter(|e| e.scope.is_some());
    let leaders: Vec<_> = by_component
        .filter_map(|e| Some((e.election.to_string(), e.leader.as_ref()?.id)))
        .collect();
    let name = served.node.name();
    Ok(Json(view::topology(&status, name, &leaders)))
}
