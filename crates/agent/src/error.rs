//! Errors on their way to the client.

use axum::extract::rejection::{JsonRejection, PathRejection, QueryRejection};
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

/// The remedy for each error code. Where the message itself says more, the remedy is there.
const REMEDIES: &[(&str, &str)] = &[
    (
        "member_alive",
        "stop the member and wait until it is failed, or have it leave: POST /v1/leave of its own agent",
    ),
    (
        "bad_election",
        "choose a name of 1 to 64 bytes without control characters, or follow fewer elections",
    ),
    (
        "bad_lock",
        "correct the request; docs/LOCKS.md has the limits",
    ),
    (
        "bad_member",
        "give a member's id, or a name that only one has: GET /v1/members",
    ),
    (
        "bad_order",
        "correct the order; GET /lab shows what can be done",
    ),
    (
        "bad_request",
        "correct the request; GET /v1/openapi.json describes all",
    ),
    (
        "bad_message",
        "shorten or correct the message; docs/MESSAGES.md has the limits",
    ),
    ("bad_seed", "write host:port, and check the name"),
    ("bad_tag", "set the tag to a number first: PATCH /v1/tags"),
    (
        "bad_tags",
        "shorten the tags, and leave out control characters and empty keys",
    ),
    ("body_too_large", "send at most 64 KiB"),
    (
        "body_too_slow",
        "send the whole body at once, or set api.timeout",
    ),
    (
        "bad_key",
        "give a key of 64 hexadecimal digits, or a fingerprint of GET /v1/keys",
    ),
    ("busy", "wait for the lock, or come back later"),
    ("by_component", "resign without naming a successor"),
    (
        "forbidden",
        "show a token of a greater role; docs/API.md has the roles",
    ),
    (
        "foreign_origin",
        "ask by a numeric address or localhost, and not from a web page of another origin",
    ),
    (
        "lost",
        "stop the work at once, then release; ask for the lock again",
    ),
    (
        "method_not_allowed",
        "use a method that GET /v1/openapi.json names for this path",
    ),
    (
        "no_answer",
        "look at the load of the machine and at the agent's log, and try again",
    ),
    (
        "no_candidate",
        "choose a member that stands in the election, or none",
    ),
    ("no_request", "ask for the lock again"),
    ("no_tag", "look at GET /v1/tags"),
    ("no_topology", "start the agent with --topology or --peer"),
    (
        "not_candidate",
        "withdraw from another election, drop tags, or start the agent otherwise",
    ),
    ("not_found", "look at GET /v1/openapi.json"),
    (
        "not_granted",
        "wait for the lock: POST /v1/locks/NAME/acquire",
    ),
    ("not_leading", "ask the leader's own agent"),
    (
        "not_ready",
        "wait: GET /v1/self says when the node is ready for locks",
    ),
    ("released", "ask for the lock again"),
    ("request_in_use", "name the request otherwise"),
    (
        "seeds_silent",
        "check the addresses, the group's name and firewalls (UDP); the node keeps trying",
    ),
    ("stopped", "start the agent again"),
    (
        "tag_followed",
        "set the tag to a number, or withdraw from the election that follows it",
    ),
    (
        "timeout",
        "wait longer, or look who holds it: GET /v1/locks",
    ),
    (
        "unauthorized",
        "send `Authorization: Bearer TOKEN` with a token of the agent's token file; for the command line --token-file or CONSORT_TOKEN_FILE",
    ),
    (
        "key_refused",
        "GET /v1/keys shows the keys; use another one before removing the one that seals",
    ),
    (
        "keys_not_stored",
        "let the agent write to its key file and to the directory of that file",
    ),
    (
        "members_behind",
        "wait until GET /v1/keys shows all members as current, remove failed ones, or ask with force=true",
    ),
    (
        "no_key",
        "start all members with a key file; docs/SECURING.md",
    ),
    ("no_randomness", "wait until the system has started"),
    (
        "too_many_messages",
        "send more slowly: try again in half a second, or when a query has ended",
    ),
    ("too_many_requests", "wait until others have ended"),
    (
        "too_many_streams",
        "close other event streams, or set api.streams_max",
    ),
];

impl ApiError {
    /// The remedy for this error.
    pub(crate) fn remedy(&self) -> &'static str {
        let known = REMEDIES.iter().find(|(code, _)| *code == self.code);
        known.map_or("look at the agent's log", |(_, remedy)| remedy)
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
        let status = rejection.status();
        let code = if status == StatusCode::PAYLOAD_TOO_LARGE {
            "body_too_large"
        } else {
            "bad_request"
        };
        ApiError::new(status, code, rejection.body_text())
    }
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
            assert!(
                REMEDIES.iter().any(|(known, _)| *known == code),
                "{code} has no remedy"
            );
        }
    }
}
