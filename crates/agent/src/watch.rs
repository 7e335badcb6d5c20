//! The page that shows recordings of simulations, served on loopback.
//!
//! | request | answer |
//! |---|---|
//! | `GET /` | the page |
//! | `GET /recordings.json` | the titles of the recordings, an array of strings |
//! | `GET /recordings/N` | the bytes of one, as far as it goes, and then what is added until it ends |

use crate::guard::admit;
use crate::listen::Listener;
use crate::routes::web::{WATCH, files, shared};
use crate::serve::{self, Limits};
use axum::body::{Body, Bytes};
use axum::extract::{Path, Request, State};
use axum::http::{StatusCode, header};
use axum::middleware::{Next, from_fn};
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use axum::{Json, Router};
use core::convert::Infallible;
use core::future::pending;
use core::time::Duration;
use std::sync::Arc;
use tokio::net::TcpListener;

/// How often a growing recording is checked.
const LOOK: Duration = Duration::from_millis(50);

/// The limit suffices for a few pages of one person.
const LIMITS: Limits = Limits {
    connections: 64,
    timeout: Duration::from_secs(30),
};

/// A recording to show.
pub trait Source: Send + Sync {
    /// A short title.
    fn title(&self) -> String;
    /// Some of the bytes after the first `from`: empty if there are none yet, `None` if there will never be more.
    fn read(&self, from: usize) -> Option<Vec<u8>>;
}

type Sources = Arc<[Arc<dyn Source>]>;

/// Serves the page with these recordings until it is dropped.
pub async fn serve(listener: TcpListener, sources: Vec<Arc<dyn Source>>) {
    let routes: Router<Sources> = files(WATCH.into_iter().chain(shared()))
        .route("/recordings.json", get(titles))
        .route("/recordings/{number}", get(recording));
    let routes = routes.layer(from_fn(local)).with_state(sources.into());
    let listener = Listener::Tcp(listener);
    serve::serve(listener, routes, LIMITS, None, Arc::default(), pending()).await;
}

/// Requests from pages of other sites are refused.
async fn local(request: Request, next: Next) -> Response {
    match admit(&request, false, false) {
        Ok(()) => next.run(request).await,
        Err(error) => error.into_response(),
    }
}

async fn titles(State(sources): State<Sources>) -> Json<Vec<String>> {
    Json(sources.iter().map(|s| s.title()).collect())
}

async fn recording(State(sources): State<Sources>, Path(number): Path<usize>) -> Response {
    let Some(source) = sources.get(number).cloned() else {
        return StatusCode::NOT_FOUND.into_response();
    };
    let pieces = futures_util::stream::unfold((source, 0), |(source, from)| async move {
        loop {
            match source.read(from)? {
                bytes if bytes.is_empty() => tokio::time::sleep(LOOK).await,
                bytes => {
                    let read = from + bytes.len();
                    let piece = Ok::<Bytes, Infallible>(bytes.into());
                    return Some((piece, (source, read)));
                }
            }
        }
    });
    let headers = [
        (header::CONTENT_TYPE, "application/octet-stream"),
        (header::CACHE_CONTROL, "no-store"),
        (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
    ];
    (headers, Body::from_stream(pieces)).into_response()
}
