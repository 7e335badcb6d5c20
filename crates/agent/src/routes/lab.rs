//! Control of a group for experiments. These routes exist only if the program that started the agent asks for them, as
//! `consort up` does; a deployed agent does not have them.

use super::Served;
use crate::error::ApiError;
use axum::extract::State;
use axum::extract::rejection::JsonRejection;
use axum::http::StatusCode;
use axum::routing::get;
use axum::{Json, Router};
use core::time::Duration;
use serde_json::Value;
use tokio::sync::{mpsc, oneshot};

/// How long an order may take.
const PATIENCE: Duration = Duration::from_secs(10);

/// An order that arrived by HTTP, for the program that controls the group. `null` asks for the state.
#[derive(Debug)]
pub struct LabOrder {
    /// The order.
    pub order: Value,
    /// Receives the answer, or a sentence that says what is wrong with the order.
    pub reply: oneshot::Sender<Result<Value, String>>,
}

/// The routes.
pub(super) fn router() -> Router<Served> {
    Router::new().route("/lab", get(look).post(obey))
}

async fn look(State(served): State<Served>) -> Result<Json<Value>, ApiError> {
    pass(&served, Value::Null).await
}

async fn obey(
    State(served): State<Served>,
    order: Result<Json<Value>, JsonRejection>,
) -> Result<Json<Value>, ApiError> {
    pass(&served, order?.0).await
}

async fn pass(served: &Served, order: Value) -> Result<Json<Value>, ApiError> {
    let gone = || super::no_answer();
    let lab: &mpsc::Sender<LabOrder> = served.lab.as_ref().ok_or_else(gone)?;
    let (reply, answer) = oneshot::channel();
    let asked = async {
        lab.send(LabOrder { order, reply }).await.ok()?;
        answer.await.ok()
    };
    match tokio::time::timeout(PATIENCE, asked).await {
        Ok(Some(Ok(answer))) => Ok(Json(answer)),
        Ok(Some(Err(message))) => Err(ApiError::new(StatusCode::BAD_REQUEST, "bad_order", message)),
        _ => Err(gone()),
    }
}
