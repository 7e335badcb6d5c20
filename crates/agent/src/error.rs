//! Errors on their way to the client.

use axum::extract::rejection::JsonRejection;
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use consort::{JoinError, Stopped};

/// An error without its request's id, which `guard` adds.
#[derive(Clone, Debug)]
pub(crate) struct ApiError {
    pub(crate) status: StatusCode,
    pub(crate) code: &'static str,
    pub(crate) message: String,
}

impl ApiError {
    pub(crate) fn new(
        status: StatusCode,
        code: &'static str,
        message: impl Into<String>,
    ) -> ApiError {
        ApiError {
            status,
            code,
            message: message.into(),
        }
    }
}

impl IntoResponse for ApiError {
    fn into_response(self) -> Response {
        let mut response = self.status.into_response();
        response.extensions_mut().insert(self);
        response
    }
}

impl From<Stopped> for ApiError {
    fn from(error: Stopped) -> ApiError {
        ApiError::new(
            StatusCode::SERVICE_UNAVAILABLE,
            "stopped",
            error.to_string(),
        )
    }
}

impl From<JoinError> for ApiError {
    fn from(error: JoinError) -> ApiError {
        let (status, code) = match &error {
            JoinError::Silent { .. } => (StatusCode::GATEWAY_TIMEOUT, "seeds_silent"),
            JoinError::Stopped(stopped) => return (*stopped).into(),
            _ => (StatusCode::BAD_REQUEST, "bad_seed"),
        };
        ApiError::new(status, code, error.to_string())
    }
}

impl From<JsonRejection> for ApiError {
    fn from(rejection: JsonRejection) -> ApiError {
        let status = rejection.status();
        let code = if status == StatusCode::PAYLOAD_TOO_LARGE {
            "body_too_large"
        } else {
            "bad_request"
        };
        ApiError::new(status, code, rejection.body_text())
    }
}
