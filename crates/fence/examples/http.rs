//! A value behind HTTP that refuses stale lock tokens, which clients send in the header `Consort-Token`:
//!
//!     cargo run -p consort-fence --example http -- 127.0.0.1:8080
//!     curl -X PUT -H "Consort-Token: $CONSORT_LOCK_TOKEN" -d 'red' 127.0.0.1:8080/value
//!     curl 127.0.0.1:8080/value
//!
//! `PUT` needs a token; a stale one is answered with 409 and a body {code, message, request_id}. `GET` with a token
//! is the read of a shared holder and is refused in the same way; without a token it promises nothing. Fence and
//! value are behind one mutex, which makes check and write one step. Both are in memory, so a restart loses them
//! together; a value on disk would have to be stored with its token.
#![allow(
    clippy::std_instead_of_alloc,
    reason = "a program with an operating system"
)]

use axum::extract::State;
use axum::http::{HeaderMap, StatusCode};
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use axum::{Json, Router};
use consort_fence::{Fence, Stale, Token};
use core::sync::atomic::{AtomicU64, Ordering};
use serde_json::json;
use std::sync::{Arc, Mutex, PoisonError};

#[derive(Default)]
struct Store {
    fence: Fence,
    value: String,
}

type Shared = State<Arc<Mutex<Store>>>;

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn core::error::Error>> {
    let addr = std::env::args().nth(1);
    let addr = addr.as_deref().unwrap_or("127.0.0.1:8080");
    let listener = tokio::net::TcpListener::bind(addr).await?;
    println!("listening on http://{}", listener.local_addr()?);
    let store = Arc::new(Mutex::new(Store::default()));
    let app = Router::new()
        .route("/value", get(read).put(write))
        .with_state(store);
    axum::serve(listener, app).await?;
    Ok(())
}

async fn write(
    State(store): Shared,
    headers: HeaderMap,
    body: String,
) -> Result<Response, Refusal> {
    let token = token(&headers)?.ok_or(Refusal::Missing)?;
    let mut store = store.lock().unwrap_or_else(PoisonError::into_inner);
    store.fence.admit(token)?;
    store.value = body;
    Ok(StatusCode::NO_CONTENT.into_response())
}

async fn read(State(store): Shared, headers: HeaderMap) -> Result<String, Refusal> {
    let token = token(&headers)?;
    let store = store.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(token) = token {
        store.fence.admit_reader(token)?;
    }
    Ok(store.value.clone())
}

fn token(headers: &HeaderMap) -> Result<Option<Token>, Refusal> {
    let Some(value) = headers.get("consort-token") else {
        return Ok(None);
    };
    let text = value.to_str().unwrap_or_default();
    let token = text
        .parse()
        .map_err(|error| Refusal::Malformed(format!("header Consort-Token: {error}")))?;
    Ok(Some(token))
}

enum Refusal {
    Missing,
    Malformed(String),
    Stale(Stale),
}

impl From<Stale> for Refusal {
    fn from(stale: Stale) -> Refusal {
        Refusal::Stale(stale)
    }
}

impl IntoResponse for Refusal {
    fn into_response(self) -> Response {
        static REFUSALS: AtomicU64 = AtomicU64::new(1);
        let number = REFUSALS.fetch_add(1, Ordering::Relaxed);
        let request_id = format!("{:x}-{number:x}", std::process::id());
        let (status, code, message) = match self {
            Refusal::Missing => (
                StatusCode::PRECONDITION_REQUIRED,
                "token_missing",
                "show the token of the lock in the header Consort-Token".to_owned(),
            ),
            Refusal::Malformed(message) => (StatusCode::BAD_REQUEST, "token_malformed", message),
            Refusal::Stale(stale) => (StatusCode::CONFLICT, "token_stale", stale.to_string()),
        };
        eprintln!("{request_id} {code}: {message}");
        let body = json!({ "code": code, "message": message, "request_id": request_id });
        (status, Json(body)).into_response()
    }
}
