//! The steps around every request: a request id, a log line, errors as JSON, the refusal of foreign web pages, and a
//! time limit for the body.

use crate::access::{Access, role_of};
use crate::api::ErrorBody;
use crate::codes;
use crate::error::ApiError;
use crate::metrics::Meters;
use crate::routes::BODY_MAX;
use crate::serve::Seat;
use axum::Json;
use axum::body::{Body, Bytes, HttpBody};
use axum::extract::{MatchedPath, Request, State};
use axum::http::{HeaderName, HeaderValue, Method, StatusCode, header};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use core::net::IpAddr;
use core::pin::Pin;
use core::sync::atomic::{AtomicU64, Ordering};
use core::task::{Context, Poll};
use core::time::Duration;
use http_body_util::{BodyExt, LengthLimitError, Limited};
use std::sync::Arc;

static REQUESTS: AtomicU64 = AtomicU64::new(1);

/// What all requests of an agent share.
#[derive(Clone, Debug)]
pub(crate) struct Watch {
    pub(crate) meters: Arc<Meters>,
    /// Whether HTTP is served on a Unix socket. No web page can reach one, so any host name is accepted there.
    pub(crate) unix: bool,
    /// Whether HTTP is served with TLS.
    pub(crate) tls: bool,
    /// How long a client may take to send a body.
    pub(crate) timeout: Duration,
    pub(crate) access: Access,
}

/// Runs a request, and gives every error the same form of body.
pub(crate) async fn guard(State(watch): State<Watch>, request: Request, next: Next) -> Response {
    let number = REQUESTS.fetch_add(1, Ordering::Relaxed);
    let request_id = format!("{:x}-{number:x}", std::process::id());
    let method = request.method().clone();
    let path = request.uri().path().to_owned();
    let route = request.extensions().get::<MatchedPath>().cloned();
    let mut response = match enter(&watch, request).await {
        Ok(request) => {
            let seat = request.extensions().get::<Arc<Seat>>();
            let busy = seat.map(Seat::answers);
            let response = next.run(request).await;
            response.map(|body| Body::new(While { body, _guard: busy }))
        }
        Err(error) => error.into_response(),
    };
    if let Some(error) = response.extensions_mut().remove::<ApiError>() {
        tracing::debug!(%request_id, %method, path, error.code, error.message, "refused");
        let route = route.as_ref().map_or("", MatchedPath::as_str);
        debug_assert!(
            codes::is_documented(&method, route, error.status.as_u16(), error.code),
            "{method} {route} is not documented to return {} {}",
            error.status,
            error.code
        );
        let body = ErrorBody {
            code: error.code.to_owned(),
            remedy: error.remedy().to_owned(),
            message: error.message,
            request_id: request_id.clone(),
        };
        response = (error.status, Json(body)).into_response();
        let close = HeaderValue::from_static("close");
        if error.status == StatusCode::REQUEST_TIMEOUT {
            response.headers_mut().insert(header::CONNECTION, close);
        }
        let scheme = HeaderValue::from_static("Bearer");
        if error.status == StatusCode::UNAUTHORIZED {
            response
                .headers_mut()
                .insert(header::WWW_AUTHENTICATE, scheme);
        }
    } else {
        tracing::debug!(%request_id, %method, path, status = response.status().as_u16());
    }
    watch.meters.answered(response.status().as_u16());
    if let Ok(value) = HeaderValue::try_from(request_id) {
        response.headers_mut().insert("x-request-id", value);
    }
    response
}

/// Checks the sender, and reads the body.
async fn enter(watch: &Watch, request: Request) -> Result<Request, ApiError> {
    if !watch.unix {
        admit(&request, watch.access.is_closed(), watch.tls)?;
    }
    let route = request.extensions().get::<MatchedPath>();
    let role = role_of(request.method(), route.map_or("", |route| route.as_str()));
    watch.access.check(role, request.headers())?;
    let (head, body) = request.into_parts();
    let body = match body.is_end_stream() {
        true => body,
        false => read(body, watch.timeout).await?.into(),
    };
    Ok(Request::from_parts(head, body))
}

/// Reads the body, which is small. A body that does not arrive completely in time is refused.
async fn read(body: Body, timeout: Duration) -> Result<Bytes, ApiError> {
    let too_large = || {
        let message = format!("the body has more than {BODY_MAX} bytes");
        ApiError::new(StatusCode::PAYLOAD_TOO_LARGE, "body_too_large", message)
    };
    if body.size_hint().lower() > BODY_MAX as u64 {
        return Err(too_large());
    }
    match tokio::time::timeout(timeout, Limited::new(body, BODY_MAX).collect()).await {
        Ok(Ok(body)) => Ok(body.to_bytes()),
        Ok(Err(error)) if error.is::<LengthLimitError>() => Err(too_large()),
        Ok(Err(error)) => {
            let message = format!("the body cannot be read: {error}");
            Err(ApiError::new(
                StatusCode::BAD_REQUEST,
                "bad_request",
                message,
            ))
        }
        Err(_) => {
            let message = format!("the body did not arrive within {timeout:?}");
            Err(ApiError::new(
                StatusCode::REQUEST_TIMEOUT,
                "body_too_slow",
                message,
            ))
        }
    }
}

/// The body of an answer, with a guard that lives as long as the body.
struct While<G> {
    body: Body,
    _guard: G,
}

impl<G: Unpin + Send + 'static> HttpBody for While<G> {
    type Data = Bytes;
    type Error = axum::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<hyper::body::Frame<Bytes>, axum::Error>>> {
        Pin::new(&mut self.body).poll_frame(cx)
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> hyper::body::SizeHint {
        self.body.size_hint()
    }
}

/// Refuses requests of web pages. Pages in a browser on this machine can send requests here. They are recognised by the
/// browser's statement about their origin (`Sec-Fetch-Site`), by the `Origin` of another site or, after a name was
/// rebound to loopback, by that name as `Host`. A link to the dashboard may be followed from any page. If tokens are
/// required, any host name is accepted, because a page has no token.
pub(crate) fn admit(request: &Request, any_host: bool, tls: bool) -> Result<(), ApiError> {
    let headers = request.headers();
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
    if !any_host && !is_numeric_or_local(host) {
        return refused("use a numeric address or localhost as host");
    }
    let site = text(HeaderName::from_static("sec-fetch-site"));
    let follows_link = request.method() == Method::GET
        && request.uri().path() == "/"
        && text(HeaderName::from_static("sec-fetch-mode")) == Some("navigate");
    if !matches!(site, None | Some("same-origin" | "none")) && !follows_link {
        return refused("requests of web pages from elsewhere are not served");
    }
    let scheme = if tls { "https://" } else { "http://" };
    match text(header::ORIGIN) {
        Some(origin) if origin.strip_prefix(scheme) != Some(host) => {
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

    fn asks(path: &str, headers: &[(&'static str, &'static str)]) -> Result<(), ApiError> {
        let mut request = Request::builder().uri(path);
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        admit(&request.body(Body::empty()).unwrap(), false, false)
    }

    #[test]
    fn a_page_that_came_by_tls_has_an_origin_with_tls() {
        let with = |origin, tls| {
            let request = Request::builder()
                .uri("/v1/self")
                .header("host", "localhost:1");
            let request = request.header("origin", origin).body(Body::empty());
            admit(&request.unwrap(), false, tls).is_ok()
        };
        assert!(with("https://localhost:1", true) && with("http://localhost:1", false));
        assert!(!with("https://localhost:1", false) && !with("http://localhost:1", true));
    }

    fn with(host: &'static str, origin: &'static str) -> Result<(), ApiError> {
        asks("/v1/self", &[("host", host), ("origin", origin)])
    }

    #[test]
    fn tools_are_served_and_foreign_pages_are_not() {
        for host in ["127.0.0.1:7718", "localhost", "[::1]:7718", "LOCALHOST:1"] {
            assert!(asks("/v1/self", &[("host", host)]).is_ok(), "{host}");
        }
        assert!(with("127.0.0.1:1", "http://127.0.0.1:1").is_ok());
        assert!(with("127.0.0.1:1", "http://127.0.0.1:2").is_err());
        assert!(with("127.0.0.1:1", "https://evil.example").is_err());
        assert!(with("127.0.0.1:1", "null").is_err());
        assert!(asks("/v1/self", &[("host", "evil.example:7718")]).is_err());
        assert!(asks("/v1/self", &[]).is_ok(), "HTTP/1.0 and Unix sockets");
    }

    #[test]
    fn browsers_say_where_a_request_comes_from() {
        let site = |site| ("sec-fetch-site", site);
        for own in ["same-origin", "none"] {
            assert!(asks("/v1/self", &[site(own)]).is_ok(), "{own}");
        }
        let link = ("sec-fetch-mode", "navigate");
        for foreign in ["cross-site", "same-site", ""] {
            assert!(asks("/v1/self", &[site(foreign)]).is_err(), "{foreign}");
            assert!(asks("/v1/self", &[site(foreign), link]).is_err());
            assert!(asks("/", &[site(foreign)]).is_err(), "a frame, or a fetch");
            assert!(asks("/", &[site(foreign), link]).is_ok(), "a link");
        }
    }
}
