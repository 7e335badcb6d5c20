//! What happens around every request: an id for it, a log line, errors as JSON, and no entry for
//! web pages.

use crate::api::ErrorBody;
use crate::error::ApiError;
use crate::metrics::Meters;
use axum::Json;
use axum::extract::{Request, State};
use axum::http::{HeaderMap, HeaderValue, StatusCode, header};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use core::net::IpAddr;
use core::sync::atomic::{AtomicU64, Ordering};
use std::sync::Arc;

static REQUESTS: AtomicU64 = AtomicU64::new(1);

/// What is known around every request.
#[derive(Clone, Debug)]
pub(crate) struct Watch {
    pub(crate) meters: Arc<Meters>,
    /// No web page can reach a Unix socket, so any host name is good there.
    pub(crate) unix: bool,
}

/// Runs a request; sees to it that every error has the one body.
pub(crate) async fn guard(State(watch): State<Watch>, request: Request, next: Next) -> Response {
    let number = REQUESTS.fetch_add(1, Ordering::Relaxed);
    let request_id = format!("{:x}-{number:x}", std::process::id());
    let method = request.method().clone();
    let path = request.uri().path().to_owned();
    let admitted = match watch.unix {
        true => Ok(()),
        false => admit(request.headers()),
    };
    let mut response = match admitted {
        Ok(()) => next.run(request).await,
        Err(error) => error.into_response(),
    };
    if let Some(error) = response.extensions_mut().remove::<ApiError>() {
        tracing::debug!(%request_id, %method, path, error.code, error.message, "refused");
        let body = ErrorBody {
            code: error.code.to_owned(),
            remedy: error.remedy().to_owned(),
            message: error.message,
            request_id: request_id.clone(),
        };
        response = (error.status, Json(body)).into_response();
    } else {
        tracing::debug!(%request_id, %method, path, status = response.status().as_u16());
    }
    watch.meters.answered(response.status().as_u16());
    if let Ok(value) = HeaderValue::try_from(request_id) {
        response.headers_mut().insert("x-request-id", value);
    }
    response
}

/// Pages in a browser on this machine can send requests here. What betrays them is the `Origin` of
/// another site, or after rebinding a name to loopback, that name as `Host`.
fn admit(headers: &HeaderMap) -> Result<(), ApiError> {
    let text = |name| {
        headers
            .get(name)
            .map(|v: &HeaderValue| v.to_str().unwrap_or("?"))
    };
    let host = text(header::HOST).unwrap_or("localhost");
    let refused = |message: &str| {
        let status = StatusCode::FORBIDDEN;
        Err(ApiError::new(status, "foreign_origin", message))
    };
    if !is_numeric_or_local(host) {
        return refused("use a numeric address or localhost as host");
    }
    match text(header::ORIGIN) {
        Some(origin) if origin.strip_prefix("http://") != Some(host) => {
            refused("requests of web pages from elsewhere are not served")
        }
        _ => Ok(()),
    }
}

fn is_numeric_or_local(host: &str) -> bool {
    let name = match host.rsplit_once(':') {
        Some((name, port)) if port.bytes().all(|b| b.is_ascii_digit()) => name,
        _ => host,
    };
    let bare = name.trim_start_matches('[').trim_end_matches(']');
    name.eq_ignore_ascii_case("localhost") || bare.parse::<IpAddr>().is_ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn headers(host: &'static str, origin: Option<&'static str>) -> HeaderMap {
        let mut headers = HeaderMap::new();
        headers.insert(header::HOST, HeaderValue::from_static(host));
        if let Some(origin) = origin {
            headers.insert(header::ORIGIN, HeaderValue::from_static(origin));
        }
        headers
    }

    #[test]
    fn tools_are_served_and_foreign_pages_are_not() {
        for host in ["127.0.0.1:7718", "localhost", "[::1]:7718", "LOCALHOST:1"] {
            assert!(admit(&headers(host, None)).is_ok(), "{host}");
        }
        assert!(admit(&headers("127.0.0.1:1", Some("http://127.0.0.1:1"))).is_ok());
        assert!(admit(&headers("127.0.0.1:1", Some("http://127.0.0.1:2"))).is_err());
        assert!(admit(&headers("127.0.0.1:1", Some("https://evil.example"))).is_err());
        assert!(admit(&headers("127.0.0.1:1", Some("null"))).is_err());
        assert!(admit(&headers("evil.example:7718", None)).is_err());
        assert!(
            admit(&HeaderMap::new()).is_ok(),
            "HTTP/1.0 and Unix sockets"
        );
    }
}
