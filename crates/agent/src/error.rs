//! Errors on their way to the client.

use crate::codes;
use axum::extract::rejection::{BytesRejection, JsonRejection, PathRejection, QueryRejection};
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use consort::Stopped;
use consort::election::{CampaignError, ResignError};
use consort::key::{ChangeKeysError, RevokeError};
use consort::membership::{ForceLeaveError, JoinError, SetTagsError};
use consort::message::{SendError, SendRefusal};

/// An error without the id of its request, which `guard` adds.
#[derive(Clone, Debug)]
pub(crate) struct ApiError {
    pub(crate) status: StatusCode,
    pub(crate) code: &'static str,
    pub(crate) message: String,
}

impl ApiError {
    /// The remedy for this error.
    pub(crate) fn remedy(&self) -> &'static str {
        codes::find(self.code).map_or("look at the agent's log", |known| known.remedy)
    }

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

impl From<ForceLeaveError> for ApiError {
    fn from(error: ForceLeaveError) -> ApiError {
        let (status, code) = match &error {
            ForceLeaveError::Alive { .. } => (StatusCode::CONFLICT, "member_alive"),
            ForceLeaveError::Stopped(stopped) => return (*stopped).into(),
            _ => (StatusCode::BAD_REQUEST, "bad_member"),
        };
        ApiError::new(status, code, error.to_string())
    }
}

impl From<RevokeError> for ApiError {
    fn from(error: RevokeError) -> ApiError {
        let (status, code) = match error {
            RevokeError::Stopped(stopped) => return stopped.into(),
            RevokeError::Store(_) => (StatusCode::INTERNAL_SERVER_ERROR, "keys_not_stored"),
            RevokeError::NotIdentified => (StatusCode::CONFLICT, "not_identified"),
            _ => (StatusCode::CONFLICT, "list_refused"),
        };
        ApiError::new(status, code, error.to_string())
    }
}

impl From<ChangeKeysError> for ApiError {
    fn from(error: ChangeKeysError) -> ApiError {
        let (status, code) = match error {
            ChangeKeysError::Stopped(stopped) => return stopped.into(),
            ChangeKeysError::Ask(error) => return error.into(),
            ChangeKeysError::Open => (StatusCode::CONFLICT, "no_key"),
            ChangeKeysError::Behind { .. } => (StatusCode::CONFLICT, "members_behind"),
            ChangeKeysError::Store(_) => (StatusCode::INTERNAL_SERVER_ERROR, "keys_not_stored"),
            _ => (StatusCode::CONFLICT, "key_refused"),
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
            CampaignError::Role => {
                ApiError::new(StatusCode::FORBIDDEN, "not_certified", error.to_string())
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

impl From<SendError> for ApiError {
    fn from(error: SendError) -> ApiError {
        use SendRefusal::{Busy, TooManyQueries};
        match error {
            SendError::Stopped(stopped) => stopped.into(),
            SendError::Refused(Busy { .. } | TooManyQueries { .. }) => ApiError::new(
                StatusCode::TOO_MANY_REQUESTS,
                "too_many_messages",
                error.to_string(),
            ),
            _ => ApiError::new(StatusCode::BAD_REQUEST, "bad_message", error.to_string()),
        }
    }
}

impl From<PathRejection> for ApiError {
    fn from(rejection: PathRejection) -> ApiError {
        ApiError::new(rejection.status(), "bad_request", rejection.body_text())
    }
}

impl From<QueryRejection> for ApiError {
    fn from(rejection: QueryRejection) -> ApiError {
        ApiError::new(rejection.status(), "bad_request", rejection.body_text())
    }
}

impl From<JsonRejection> for ApiError {
    fn from(rejection: JsonRejection) -> ApiError {
        bad_body(rejection.status(), rejection.body_text())
    }
}

impl From<BytesRejection> for ApiError {
    fn from(rejection: BytesRejection) -> ApiError {
        bad_body(rejection.status(), rejection.body_text())
    }
}

fn bad_body(status: StatusCode, text: String) -> ApiError {
    let code = if status == StatusCode::PAYLOAD_TOO_LARGE {
        "body_too_large"
    } else {
        "bad_request"
    };
    ApiError::new(status, code, text)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Every code that this crate uses has its own remedy.
    #[test]
    fn every_error_says_what_to_do() {
        let mut files = vec![std::path::PathBuf::from(concat!(
            env!("CARGO_MANIFEST_DIR"),
            "/src"
        ))];
        let mut codes = std::collections::BTreeSet::new();
        while let Some(path) = files.pop() {
            if path.is_dir() {
                files.extend(std::fs::read_dir(&path).unwrap().map(|e| e.unwrap().path()));
                continue;
            }
            let text = std::fs::read_to_string(&path).unwrap();
            for (at, _) in text.match_indices("StatusCode::") {
                let rest = &text[at..text.len().min(at + 120)];
                let Some(code) = rest.split('"').nth(1) else {
                    continue;
                };
                let before = rest.split('"').next().unwrap();
                if !before.contains([';', '}'])
                    && code.bytes().all(|b| b.is_ascii_lowercase() || b == b'_')
                {
                    codes.insert(code.to_owned());
                }
            }
        }
        assert!(codes.len() > 15, "{codes:?}");
        for code in codes {
            assert!(codes::find(&code).is_some(), "{code} has no remedy");
        }
    }
}
