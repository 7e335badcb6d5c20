//! Errors on their way to the client.

use axum::extract::rejection::{JsonRejection, PathRejection};
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use consort::{CampaignError, JoinError, ResignError, SetTagsError, Stopped};

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

impl From<CampaignError> for ApiError {
    fn from(error: CampaignError) -> ApiError {
        match error {
            CampaignError::Stopped(stopped) => stopped.into(),
            CampaignError::NoTopology => {
                ApiError::new(StatusCode::CONFLICT, "no_topology", error.to_string())
            }
            CampaignError::Tag(_) => {
                ApiError::new(StatusCode::CONFLICT, "bad_tag", error.to_string())
            }
            other => ApiError::new(StatusCode::CONFLICT, "not_candidate", other.to_string()),
        }
    }
}

impl From<SetTagsError> for ApiError {
    fn from(error: SetTagsError) -> ApiError {
        let (status, code) = match error {
            SetTagsError::Stopped(stopped) => return stopped.into(),
            SetTagsError::Followed { .. } => (StatusCode::CONFLICT, "tag_followed"),
            _ => (StatusCode::BAD_REQUEST, "bad_tags"),
        };
        ApiError::new(status, code, error.to_string())
    }
}

impl From<ResignError> for ApiError {
    fn from(error: ResignError) -> ApiError {
        let code = match error {
            ResignError::Stopped(stopped) => return stopped.into(),
            ResignError::NotLeading => "not_leading",
            ResignError::ByComponent => "by_component",
            _ => "no_candidate",
        };
        ApiError::new(StatusCode::CONFLICT, code, error.to_string())
    }
}

impl From<PathRejection> for ApiError {
    fn from(rejection: PathRejection) -> ApiError {
        ApiError::new(rejection.status(), "bad_request", rejection.body_text())
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
