//! Locks by plain calls, for clients that cannot read streams: acquire with a long poll, renew, release.
//!
//! A task of the agent performs the steps that the stream of `POST /v1/locks/NAME` would report, and the client polls
//! its state. If nobody asks about a request for a lease, it is given up while it waits, and no longer renewed once it
//! is granted: its client counts as dead, but its work may continue until the lease has expired.

use super::Served;
use super::lock::{self, Holders, Taking};
use crate::api::{LockRequest, RequestView};
use crate::error::ApiError;
use crate::metrics::Meters;
use axum::Json;
use axum::extract::rejection::{JsonRejection, PathRejection, QueryRejection};
use axum::extract::{Path, Query, State};
use axum::http::StatusCode;
use core::time::Duration;
use serde::Deserialize;
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};
use tokio::sync::{oneshot, watch};
use tokio::time::Instant;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

/// The greatest number of requests by plain calls at a time, including those that ended recently.
const CALLS_MAX: usize = 1024;

/// How long a call waits by default, and at most.
const WAIT: Duration = Duration::from_secs(30);
const WAIT_MAX: Duration = Duration::from_secs(60);

/// How long the end of a request is remembered.
const EPILOGUE: Duration = Duration::from_secs(60);

/// The routes.
pub(super) fn router() -> OpenApiRouter<Served> {
    OpenApiRouter::new()
        .routes(routes!(acquire))
        .routes(routes!(renew))
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Asked {
    wait_ms: Option<u64>,
    request: Option<String>,
}

/// Take a lock by plain calls: wait for it for a while, call again, renew, release.
///
/// The answer is 200 with `granted` if the lock is held, and 202 with `waiting` if the wait is over: call again with
/// the same `request` to continue waiting. A holder renews at least once in `valid_for_ms`; a waiting client calls
/// again within the lease.
#[utoipa::path(
    post,
    path = "/v1/locks/{name}/acquire",
    tag = "locks",
    params(
        ("name" = String, Path, description = "Name of the lock"),
        ("wait_ms" = Option<u64>, Query, description = "How long to wait; default 30000, at most 60000"),
        ("request" = Option<String>, Query, description = "Names the request: one that waits already, or a new one under \
            this name, so that a call whose answer was lost can be repeated. 1 to 64 letters, digits, `-`, `_` or `.`; \
            default: the agent makes one up"),
    ),
    request_body = Option<LockRequest>,
    responses(
        (status = 200, description = "The lock is held", body = RequestView),
        (status = 202, description = "The request still waits", body = RequestView),
    )
)]
async fn acquire(
    State(served): State<Served>,
    name: Result<Path<String>, PathRejection>,
    asked: Result<Query<Asked>, QueryRejection>,
    body: Result<Option<Json<Option<LockRequest>>>, JsonRejection>,
) -> Result<(StatusCode, Json<RequestView>), ApiError> {
    let name = name?.0;
    let Query(asked) = asked?;
    let options = body?.and_then(|Json(body)| body).unwrap_or_default();
    let wait = asked
        .wait_ms
        .map_or(WAIT, Duration::from_millis)
        .min(WAIT_MAX);
    let known = match &asked.request {
        Some(request) => {
            check_name(request)?;
            served.calls.poll(request, &name)?
        }
        None => None,
    };
    let mut poll = match known {
        Some(poll) => poll,
        None if asked.request.as_deref().is_some_and(is_made_up) => return Err(lock::unknown()),
        None => open(&served, &name, options, asked.request).await?,
    };
    let until = Instant::now() + wait;
    loop {
        let view = poll.view.borrow_and_update().clone();
        if view.event != "waiting" {
            let held = held(&served.holders, &view)?;
            return Ok((StatusCode::OK, Json(held)));
        }
        tokio::select! {
            changed = poll.view.changed() => if changed.is_err() {
                return Err(lock::unknown());
            },
            () = tokio::time::sleep_until(until) => return Ok((StatusCode::ACCEPTED, Json(view))),
        }
    }
}

/// Report that the holder of a lock is alive, and read how long it is certainly held.
#[utoipa::path(
    post,
    path = "/v1/locks/{name}/{request}/renew",
    tag = "locks",
    params(
        ("name" = String, Path, description = "Name of the lock"),
        ("request" = String, Path, description = "Names the request, as the answer to acquire says"),
    ),
    responses((status = 200, description = "The lock is held", body = RequestView))
)]
async fn renew(
    State(served): State<Served>,
    names: Result<Path<(String, String)>, PathRejection>,
) -> Result<Json<RequestView>, ApiError> {
    let (_, request) = names?.0;
    let view = match served.holders.view(&request) {
        Some(view) => view,
        None => served.calls.view(&request).ok_or_else(lock::unknown)?,
    };
    if view.event == "waiting" {
        let message = "the lock is not granted yet";
        return Err(ApiError::new(StatusCode::CONFLICT, "not_granted", message));
    }
    Ok(Json(held(&served.holders, &view)?))
}

/// The state of a held request, or an error that says how it ended.
fn held(holders: &Holders, last: &RequestView) -> Result<RequestView, ApiError> {
    let now = holders.view(&last.request);
    let view = now.as_ref().unwrap_or(last);
    let reason = view.reason.clone().unwrap_or_default();
    match (view.event.as_str(), view.code.as_deref()) {
        ("granted" | "renewed", _) if now.is_some() => Ok(view.clone()),
        ("refused", Some("busy")) => Err(ApiError::new(StatusCode::CONFLICT, "busy", reason)),
        ("refused", Some("timeout")) => Err(ApiError::new(StatusCode::CONFLICT, "timeout", reason)),
        ("refused", Some("not_ready")) => {
            Err(ApiError::new(StatusCode::CONFLICT, "not_ready", reason))
        }
        ("refused", Some("stopped")) => Err(ApiError::new(
            StatusCode::SERVICE_UNAVAILABLE,
            "stopped",
            reason,
        )),
        ("refused", Some("not_certified")) => Err(ApiError::new(
            StatusCode::FORBIDDEN,
            "not_certified",
            reason,
        )),
        ("refused", _) => Err(ApiError::new(StatusCode::BAD_REQUEST, "bad_lock", reason)),
        ("lost", _) => Err(ApiError::new(
            StatusCode::CONFLICT,
            "lost",
            format!("the lock is lost: {reason}"),
        )),
        _ => {
            let message = "the lock was released, or its request given up";
            Err(ApiError::new(StatusCode::CONFLICT, "released", message))
        }
    }
}

/// Whether this is a valid id of a request.
fn check_name(request: &str) -> Result<(), ApiError> {
    let plain = |b: u8| b.is_ascii_alphanumeric() || b"-_.".contains(&b);
    if (1..=64).contains(&request.len()) && request.bytes().all(plain) {
        return Ok(());
    }
    let message = "request takes 1 to 64 letters, digits, `-`, `_` or `.`";
    Err(ApiError::new(
        StatusCode::BAD_REQUEST,
        "bad_request",
        message,
    ))
}

/// Whether this id has the form that the agent generates, which must not be used for another request.
fn is_made_up(request: &str) -> bool {
    let hex = |part: &str| !part.is_empty() && part.bytes().all(|b| b.is_ascii_hexdigit());
    request
        .split_once('-')
        .is_some_and(|(a, b)| hex(a) && hex(b))
}

/// Starts a new request.
async fn open(
    served: &Served,
    name: &str,
    options: LockRequest,
    request: Option<String>,
) -> Result<Poll, ApiError> {
    let options = LockRequest {
        attended: true,
        ..options
    };
    let lease = Duration::from_millis(options.ttl_ms.unwrap_or(served.about.locks.ttl_ms));
    let taking = Taking::open(served, name.to_owned(), options, request).await?;
    let first = taking.opened().clone();
    let request = first.request.clone();
    let (views, view) = watch::channel(first);
    let (cancel, cancelled) = oneshot::channel();
    let call = Call {
        lock: name.to_owned(),
        view,
        polls: 0,
        asked: Instant::now(),
        lease,
        cancel: Some(cancel),
    };
    served.calls.insert(&request, call, &served.meters)?;
    let calls = served.calls.clone();
    let poll = calls.poll(&request, name)?.ok_or_else(lock::unknown)?;
    tokio::spawn(async move {
        tokio::select! {
            () = drive(taking, views, &calls, &request) => {}
            // Dropping the request gives it up.
            _ = cancelled => {}
        }
        tokio::time::sleep(EPILOGUE).await;
        calls.with(|calls| calls.remove(&request));
    });
    Ok(poll)
}

/// Performs all steps of a request, until it is over or nobody has asked about it for a lease.
async fn drive(taking: Taking, views: watch::Sender<RequestView>, calls: &Calls, request: &str) {
    let mut next = Some(taking);
    while let Some(taking) = next {
        let waits = views.borrow().event == "waiting";
        tokio::select! {
            (view, rest) = taking.step() => {
                views.send_replace(view);
                next = rest;
            }
            () = calls.silence(request), if waits => {
                tracing::info!("a request for a lock is given up: nobody has asked about it for its lease");
                views.send_modify(|view| "released".clone_into(&mut view.event));
                return;
            }
        }
    }
}

/// Requests by plain calls, by id.
#[derive(Clone, Debug, Default)]
pub(super) struct Calls(Arc<Mutex<BTreeMap<String, Call>>>);

#[derive(Debug)]
struct Call {
    lock: String,
    view: watch::Receiver<RequestView>,
    /// The number of calls that are waiting for it.
    polls: usize,
    /// The time of the last question about it.
    asked: Instant,
    lease: Duration,
    /// Gives it up.
    cancel: Option<oneshot::Sender<()>>,
}

/// A call that waits for a request. While there is one, the client is alive.
struct Poll {
    request: String,
    view: watch::Receiver<RequestView>,
    calls: Calls,
}

impl Drop for Poll {
    fn drop(&mut self) {
        self.calls.with(|calls| {
            if let Some(call) = calls.get_mut(&self.request) {
                call.polls -= 1;
                call.asked = Instant::now();
            }
        });
    }
}

impl Calls {
    fn with<T>(&self, f: impl FnOnce(&mut BTreeMap<String, Call>) -> T) -> T {
        f(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }

    fn insert(&self, request: &str, call: Call, meters: &Meters) -> Result<(), ApiError> {
        self.with(|calls| {
            if calls.contains_key(request) {
                return Err(in_use());
            }
            if calls.len() >= CALLS_MAX {
                meters.call_refused();
                let message = format!("there are {CALLS_MAX} requests for locks by plain calls");
                let status = StatusCode::TOO_MANY_REQUESTS;
                return Err(ApiError::new(status, "too_many_requests", message));
            }
            calls.insert(request.to_owned(), call);
            Ok(())
        })
    }

    /// Waits for a request, if it exists. If the request has ended, its id is free again.
    fn poll(&self, request: &str, lock: &str) -> Result<Option<Poll>, ApiError> {
        self.with(|calls| {
            let Some(call) = calls.get_mut(request) else {
                return Ok(None);
            };
            if call.lock != lock {
                return Err(in_use());
            }
            call.polls += 1;
            Ok(Some(Poll {
                request: request.to_owned(),
                view: call.view.clone(),
                calls: self.clone(),
            }))
        })
    }

    /// The last reported state of a request. This counts as a sign of life of its client.
    pub(super) fn view(&self, request: &str) -> Option<RequestView> {
        self.with(|calls| {
            let call = calls.get_mut(request)?;
            call.asked = Instant::now();
            Some(call.view.borrow().clone())
        })
    }

    /// Gives up a waiting request. Returns whether there is one.
    pub(super) fn cancel(&self, request: &str) -> bool {
        self.with(|calls| {
            let waits = calls
                .get(request)
                .is_some_and(|c| c.view.borrow().event == "waiting");
            if waits && let Some(mut call) = calls.remove(request) {
                return call
                    .cancel
                    .take()
                    .is_some_and(|cancel| cancel.send(()).is_ok());
            }
            false
        })
    }

    /// Waits until nobody has asked about a request for its lease.
    async fn silence(&self, request: &str) {
        let until = || {
            self.with(|calls| {
                let call = calls.get(request)?;
                let from = if call.polls > 0 {
                    Instant::now()
                } else {
                    call.asked
                };
                Some(from + call.lease)
            })
        };
        while let Some(until) = until().filter(|until| *until > Instant::now()) {
            tokio::time::sleep_until(until).await;
        }
    }
}

fn in_use() -> ApiError {
    let message = "this name is that of another request for a lock";
    ApiError::new(StatusCode::CONFLICT, "request_in_use", message)
}
