//! The dashboard: a page that is built into the program. Its sources are in `web/` of the repository.

use super::Served;
use axum::Router;
use axum::http::{HeaderMap, HeaderName, HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use core::hash::{Hash, Hasher};
use std::collections::hash_map::DefaultHasher;

/// Path, media type and content of every file of the page.
const FILES: [(&str, &str, &[u8]); 5] = [
    (
        "/",
        "text/html; charset=utf-8",
        include_bytes!("../../web/index.html"),
    ),
    (
        "/app.js",
        "text/javascript; charset=utf-8",
        include_bytes!("../../web/app.js"),
    ),
    (
        "/app.css",
        "text/css; charset=utf-8",
        include_bytes!("../../web/app.css"),
    ),
    (
        "/icon.svg",
        "image/svg+xml",
        include_bytes!("../../web/icon.svg"),
    ),
    (
        "/licenses.txt",
        "text/plain; charset=utf-8",
        include_bytes!("../../web/licenses.txt"),
    ),
];

/// Nothing is loaded from elsewhere, nothing is sent elsewhere, and nothing in the page itself is run or
/// styled: names and tags of members are text, whatever is in them.
const POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; \
                      connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'; \
                      require-trusted-types-for 'script'; trusted-types 'none'";

/// The routes.
pub(super) fn router() -> Router<Served> {
    FILES.into_iter().fold(Router::new(), |router, file| {
        router.route(
            file.0,
            get(move |headers: HeaderMap| async move { serve(&headers, file.1, file.2) }),
        )
    })
}

fn serve(asked: &HeaderMap, kind: &'static str, content: &'static [u8]) -> Response {
    let mut hasher = DefaultHasher::new();
    content.hash(&mut hasher);
    let tag = format!("\"{:016x}\"", hasher.finish());
    let known = asked.get(header::IF_NONE_MATCH);
    let mut response = match known.is_some_and(|known| known.as_bytes() == tag.as_bytes()) {
        true => StatusCode::NOT_MODIFIED.into_response(),
        false => content.into_response(),
    };
    let headers = response.headers_mut();
    let fixed = |text| HeaderValue::from_static(text);
    headers.insert(header::CONTENT_TYPE, fixed(kind));
    headers.insert(header::CACHE_CONTROL, fixed("no-cache"));
    headers.insert(header::CONTENT_SECURITY_POLICY, fixed(POLICY));
    headers.insert(header::X_CONTENT_TYPE_OPTIONS, fixed("nosniff"));
    headers.insert(header::REFERRER_POLICY, fixed("no-referrer"));
    let resources = HeaderName::from_static("cross-origin-resource-policy");
    headers.insert(resources, fixed("same-origin"));
    if let Ok(tag) = HeaderValue::try_from(tag) {
        headers.insert(header::ETAG, tag);
    }
    response
}
