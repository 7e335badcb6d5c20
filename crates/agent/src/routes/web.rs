//! The dashboard, a page that is built into the program. Its sources are in `web/` of the repository.

use super::Served;
use axum::Router;
use axum::http::{HeaderMap, HeaderName, HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use core::hash::{Hash, Hasher};
use std::collections::hash_map::DefaultHasher;

/// The path, media type and content of a file.
pub(crate) type File = (&'static str, &'static str, &'static [u8]);

/// The files of the page.
const FILES: [File; 6] = [
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
        "/parts.js",
        "text/javascript; charset=utf-8",
        include_bytes!("../../web/parts.js"),
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

/// The page that shows recordings of simulations has its own document and script.
pub(crate) const WATCH: [File; 2] = [
    (
        "/",
        "text/html; charset=utf-8",
        include_bytes!("../../web/watch.html"),
    ),
    (
        "/watch.js",
        "text/javascript; charset=utf-8",
        include_bytes!("../../web/watch.js"),
    ),
];

/// Whether a path is a file of the page. These files need no token: they are the same in every agent, and one of them
/// asks for the token.
pub(crate) fn is_file(path: &str) -> bool {
    FILES.iter().any(|file| file.0 == path)
}

/// The files that both pages use.
pub(crate) fn shared() -> impl Iterator<Item = File> {
    FILES
        .into_iter()
        .filter(|file| !matches!(file.0, "/" | "/app.js"))
}

/// Nothing is loaded from or sent to other places, and inline scripts and styles are forbidden: names and tags of
/// members are text, whatever they contain.
const POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; \
                      connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'; \
                      require-trusted-types-for 'script'; trusted-types 'none'";

/// The routes.
pub(super) fn router() -> Router<Served> {
    files(FILES.into_iter())
}

/// Routes to files.
pub(crate) fn files<S: Clone + Send + Sync + 'static>(
    all: impl Iterator<Item = File>,
) -> Router<S> {
    all.fold(Router::new(), |router, file| {
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
