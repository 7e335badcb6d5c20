//! Requests about locks.
//!
//! A lock is taken by a stream of events and held for as long as the stream is open; with `attended`, only as long as
//! its holder asks about it. If a client closes the stream without a release, or no longer asks, it may be dead while
//! its work continues. Then the lock is kept until the lease has expired.

use super::{Served, answer};
use crate::api::{BreakRequest, Done, LockRequest, LockView, LocksView, RequestView};
use crate::config::parse_bound;
use crate::error::ApiError;
use crate::history::Word;
use crate::view;
use axum::Json;
use axum::extract::rejection::{JsonRejection, PathRejection};
use axum::extract::{Path, State};
use axum::http::StatusCode;
use axum::response::sse::{self, KeepAlive, Sse};
use consort::lock::{AcquireError, Lock, LockGuard, Service};
use core::convert::Infallible;
use core::pin::Pin;
use core::time::Duration;
use futures_util::stream::{self, Stream};
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError, Weak};
use std::time::Instant;
use tokio::sync::oneshot;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

/// How often something is written to a silent stream, in order to notice that nobody reads it.
const KEEP_ALIVE: Duration = Duration::from_secs(1);

/// How often the obstacles of a waiting request are checked.
const LOOK_EVERY: Duration = Duration::from_secs(2);

type Name = Result<Path<String>, PathRejection>;
type NameAndRequest = Result<Path<(String, String)>, PathRejection>;
/// A body that may be missing or `null`.
type Body<T> = Result<Option<Json<Option<T>>>, JsonRejection>;

/// The routes.
pub(super) fn router() -> OpenApiRouter<Served> {
    OpenApiRouter::new()
        .routes(routes!(locks))
        .routes(routes!(lock, take))
        .routes(routes!(force_release))
        .routes(routes!(request, release))
}

/// Show the holders and waiters of all locks.
#[utoipa::path(get, path = "/v1/locks", tag = "locks", responses((status = 200, description = "All locks that members know of", body = LocksView)))]
async fn locks(State(served): State<Served>) -> Result<Json<LocksView>, ApiError> {
    view(&served, None).await
}

/// Show the holders and waiters of one lock or semaphore.
#[utoipa::path(get, path = "/v1/locks/{name}", tag = "locks", params(("name" = String, Path, description = "Name of the lock")), responses((status = 200, description = "That lock, or all slots of that semaphore", body = LocksView)))]
async fn lock(State(served): State<Served>, name: Name) -> Result<Json<LocksView>, ApiError> {
    view(&served, Some(&name?.0)).await
}

async fn view(served: &Served, name: Option<&str>) -> Result<Json<LocksView>, ApiError> {
    let readiness = view::readiness(answer(served.node.lock_readiness()).await?);
    // This takes as long as the slowest members may take.
    let locks = served.node.locks(name).await?;
    let mut locks: Vec<LockView> = locks.iter().map(view::lock).collect();
    served
        .history
        .look(&mut locks, Word::Members, name.is_none());
    let idle = match name {
        None => served.history.idle_locks(&locks),
        Some(_) => Vec::new(),
    };
    Ok(Json(LocksView {
        locks,
        readiness,
        defaults: served.about.locks.clone(),
        idle,
    }))
}

/// Take a lock from its holder. This is safe only if the resource checks tokens.
#[utoipa::path(post, path = "/v1/locks/{name}/break", tag = "locks", params(("name" = String, Path, description = "Name of the lock")), request_body = Option<BreakRequest>, responses((status = 200, description = "It is free, as soon as members have heard of it", body = Done)))]
async fn force_release(
    State(served): State<Served>,
    name: Name,
    body: Body<BreakRequest>,
) -> Result<Json<Done>, ApiError> {
    let (name, request) = (name?.0, unwrap(body)?);
    let mut lock = served.node.lock(&name);
    if let Some(permits) = request.permits {
        lock = lock.permits(permits);
    }
    match tokio::time::timeout(super::ANSWER_PATIENCE, lock.force_release()).await {
        Ok(broken) => broken.map_err(refused)?,
        Err(_) => return Err(super::no_answer()),
    }
    tracing::warn!("lock {name} was broken by order");
    Ok(Json(Done { done: true }))
}

/// Show the state of a request for a lock. With `attended` this counts as a sign of life of the holder.
#[utoipa::path(get, path = "/v1/locks/{name}/{request}", tag = "locks", params(("name" = String, Path, description = "Name of the lock"), ("request" = String, Path, description = "Names the request, as the answer to it says")), responses((status = 200, description = "How it stands", body = RequestView)))]
async fn request(
    State(served): State<Served>,
    names: NameAndRequest,
) -> Result<Json<RequestView>, ApiError> {
    let (_, request) = names?.0;
    let held = served.holders.view(&request);
    let view = held.or_else(|| served.calls.view(&request));
    Ok(Json(view.ok_or_else(unknown)?))
}

/// Release a lock, or stop waiting for it.
#[utoipa::path(delete, path = "/v1/locks/{name}/{request}", tag = "locks", params(("name" = String, Path, description = "Name of the lock"), ("request" = String, Path, description = "Names the request, as the answer to it says")), responses((status = 200, description = "Nobody holds it by this request any more", body = Done)))]
async fn release(
    State(served): State<Served>,
    names: NameAndRequest,
) -> Result<Json<Done>, ApiError> {
    let (_, request) = names?.0;
    if served.calls.cancel(&request) {
        return Ok(Json(Done { done: true }));
    }
    let released = served.holders.release(&request).ok_or_else(unknown)?;
    // The stream releases the lock, and reports it.
    let _ = tokio::time::timeout(super::ANSWER_PATIENCE, released).await;
    Ok(Json(Done { done: true }))
}

/// Take a lock for as long as the answer is read.
///
/// The answer is a stream of server-sent events, each a `RequestView`. If the stream ends before the lock was released,
/// the lock is kept until its lease has expired, because the work may continue.
#[utoipa::path(post, path = "/v1/locks/{name}", tag = "locks", params(("name" = String, Path, description = "Name of the lock")), request_body = Option<LockRequest>, responses((status = 200, description = "A stream that lasts until the lock is released or lost", body = String, content_type = "text/event-stream")))]
async fn take(
    State(served): State<Served>,
    name: Name,
    body: Body<LockRequest>,
) -> Result<Sse<impl Stream<Item = Result<sse::Event, Infallible>>>, ApiError> {
    let (name, request) = (name?.0, unwrap(body)?);
    let start = Taking::open(&served, name, request, None).await?;
    let events = stream::unfold(Some(start), async |taking| {
        let (view, taking) = taking?.step().await;
        let event = sse::Event::default().event(&view.event);
        // Plain data always serialises.
        let event = event.json_data(&view).unwrap_or_default();
        Some((Ok(event), taking))
    });
    let keep_alive = KeepAlive::default().interval(KEEP_ALIVE);
    Ok(Sse::new(events).keep_alive(keep_alive))
}

fn configured(mut lock: Lock, request: &LockRequest) -> Result<Lock, ApiError> {
    let bad = |message: String| ApiError::new(StatusCode::BAD_REQUEST, "bad_request", message);
    if request.try_only && request.timeout_ms.is_some() {
        return Err(bad("either try or wait for timeout_ms".to_owned()));
    }
    lock = lock.shared(request.shared);
    if let Some(ms) = request.ttl_ms {
        lock = lock.ttl(Duration::from_millis(ms));
    }
    if let Some(permits) = request.permits {
        lock = lock.permits(permits);
    }
    if let Some(bound) = &request.bound {
        lock = lock.bound(parse_bound(bound).map_err(bad)?);
    }
    if let Some(ms) = request.hold_max_ms {
        lock = lock.hold_max(Duration::from_millis(ms));
    }
    if request.elevator {
        lock = lock.service(Service::Elevator);
    }
    if let Some(cohort) = request.cohort {
        lock = lock.cohort(cohort);
    }
    Ok(lock)
}

fn unwrap<T: Default>(body: Body<T>) -> Result<T, ApiError> {
    Ok(body?.and_then(|Json(body)| body).unwrap_or_default())
}

fn refused(error: AcquireError) -> ApiError {
    match error {
        AcquireError::Stopped(stopped) => stopped.into(),
        AcquireError::Role => {
            ApiError::new(StatusCode::FORBIDDEN, "not_certified", error.to_string())
        }
        other => ApiError::new(StatusCode::BAD_REQUEST, "bad_lock", other.to_string()),
    }
}

pub(super) fn unknown() -> ApiError {
    let message =
        "no such request holds a lock here; it was released, lost with its stream, or still waits";
    ApiError::new(StatusCode::NOT_FOUND, "no_request", message)
}

/// Waits for the lock. Returns `None` if the obstacles have changed; the view then shows them.
async fn wait(
    view: &mut RequestView,
    lock: &Lock,
    acquire: &mut Acquiring,
) -> Option<Result<LockGuard, AcquireError>> {
    loop {
        tokio::select! {
            taken = &mut *acquire => return Some(taken),
            () = tokio::time::sleep(LOOK_EVERY) => {}
        }
        let Ok(readiness) = answer(lock.readiness()).await else {
            continue;
        };
        let waits_for = readiness.obstacle();
        let told = view.readiness.as_ref().and_then(|r| r.waits_for.as_ref());
        if told != waits_for.as_ref() {
            view.readiness = Some(view::readiness(readiness));
            return None;
        }
    }
}

/// A stream that takes a lock. Dropping it abandons the lock, or cancels the request.
pub(super) struct Taking {
    stage: Stage,
    opened: RequestView,
    attended: bool,
    holders: Holders,
}

type Acquiring = Pin<Box<dyn Future<Output = Result<LockGuard, AcquireError>> + Send>>;

enum Stage {
    Opened(Lock, LockRequest),
    Waits(Lock, Acquiring),
    Holds(Held, oneshot::Receiver<oneshot::Sender<()>>),
}

impl Taking {
    /// Starts a request, with an id that its client chose or a new one.
    pub(super) async fn open(
        served: &Served,
        name: String,
        request: LockRequest,
        number: Option<String>,
    ) -> Result<Taking, ApiError> {
        let lock = configured(served.node.lock(&name), &request)?;
        let readiness = answer(lock.readiness()).await?;
        let opened = RequestView {
            event: "waiting".to_owned(),
            request: number.unwrap_or_else(|| served.holders.next()),
            lock: name,
            readiness: Some(view::readiness(readiness)),
            ..RequestView::default()
        };
        Ok(Taking {
            attended: request.attended,
            stage: Stage::Opened(lock, request),
            opened,
            holders: served.holders.clone(),
        })
    }

    /// The first event of the stream.
    pub(super) fn opened(&self) -> &RequestView {
        &self.opened
    }

    /// Waits for the next event; with `None` the stream ends.
    pub(super) async fn step(mut self) -> (RequestView, Option<Taking>) {
        match self.stage {
            Stage::Opened(lock, request) => {
                let patience = request.timeout_ms.map(Duration::from_millis);
                let asked = lock.clone();
                let acquire = Box::pin(async move {
                    match patience {
                        Some(patience) => lock.acquire_timeout(patience).await,
                        None if request.try_only => lock.try_acquire().await,
                        None => lock.acquire().await,
                    }
                });
                self.stage = Stage::Waits(asked, acquire);
                (self.opened.clone(), Some(self))
            }
            Stage::Waits(lock, mut acquire) => {
                match wait(&mut self.opened, &lock, &mut acquire).await {
                    None => {
                        self.stage = Stage::Waits(lock, acquire);
                        (self.opened.clone(), Some(self))
                    }
                    Some(Ok(guard)) => {
                        let guard = Arc::new(guard);
                        let request = self.opened.request.clone();
                        let view = view::request("granted", &request, &guard);
                        let orders = self.holders.insert(&request, &guard);
                        let held = Held {
                            guard: Some(guard),
                            request,
                            holders: self.holders.clone(),
                        };
                        self.stage = Stage::Holds(held, orders);
                        (view, Some(self))
                    }
                    Some(Err(error)) => {
                        let code = match error {
                            AcquireError::Busy => "busy",
                            AcquireError::Timeout => "timeout",
                            AcquireError::NotReady => "not_ready",
                            AcquireError::Role => "not_certified",
                            AcquireError::Stopped(_) | AcquireError::Leaving => "stopped",
                            _ => "refused",
                        };
                        let view = RequestView {
                            event: "refused".to_owned(),
                            code: Some(code.to_owned()),
                            reason: Some(error.to_string()),
                            readiness: None,
                            ..self.opened
                        };
                        (view, None)
                    }
                }
            }
            Stage::Holds(held, mut orders) => {
                let Some(guard) = &held.guard else {
                    return (self.opened, None);
                };
                let lost_before = !guard.is_valid();
                tokio::select! {
                    () = self.holders.silence(&held.request, guard), if self.attended && !lost_before => {
                        let view = RequestView {
                            valid_for_ms: 0,
                            reason: Some("its holder has not asked about it for as long as it was told that \
                                it holds it".to_owned()),
                            ..view::request("lost", &held.request, guard)
                        };
                        // The held lock is dropped, and thus abandoned.
                        (view, None)
                    }
                    done = &mut orders => {
                        let view = RequestView {
                            event: "released".to_owned(),
                            readiness: None,
                            ..self.opened
                        };
                        held.release().await;
                        if let Ok(done) = done {
                            let _ = done.send(());
                        }
                        (view, None)
                    }
                    renewed = guard.renewed(), if !lost_before => {
                        let event = match renewed {
                            Ok(_) => "renewed",
                            Err(_) => "lost",
                        };
                        let view = view::request(event, &held.request, guard);
                        self.stage = Stage::Holds(held, orders);
                        (view, Some(self))
                    }
                }
            }
        }
    }
}

/// A lock that a stream holds.
struct Held {
    guard: Option<Arc<LockGuard>>,
    request: String,
    holders: Holders,
}

impl Held {
    fn take(&mut self) -> Option<LockGuard> {
        self.holders.remove(&self.request);
        // There is no other owner: others use the guard only while the request is listed.
        Arc::into_inner(self.guard.take()?)
    }

    async fn release(mut self) {
        if let Some(guard) = self.take() {
            guard.release().await;
        }
    }
}

impl Drop for Held {
    fn drop(&mut self) {
        if let Some(guard) = self.take() {
            tracing::warn!(
                "the holder of lock {} is gone, or stands still, and has not released it: kept until the lease is over",
                guard.name()
            );
            guard.abandon();
        }
    }
}

/// Requests that hold a lock, by id.
#[derive(Clone, Debug, Default)]
pub(super) struct Holders(Arc<Mutex<Numbered>>);

#[derive(Debug, Default)]
struct Numbered {
    last: u64,
    held: BTreeMap<String, Holder>,
}

#[derive(Debug)]
struct Holder {
    guard: Weak<LockGuard>,
    /// The last validity that the holder was told.
    told: Instant,
    /// Ends the stream; the channel that is sent reports when the lock is released.
    end: Option<oneshot::Sender<oneshot::Sender<()>>>,
}

impl Holders {
    fn with<T>(&self, f: impl FnOnce(&mut Numbered) -> T) -> T {
        f(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }

    fn next(&self) -> String {
        self.with(|n| {
            n.last += 1;
            format!("{:x}-{:x}", std::process::id(), n.last)
        })
    }

    fn insert(
        &self,
        request: &str,
        guard: &Arc<LockGuard>,
    ) -> oneshot::Receiver<oneshot::Sender<()>> {
        let (end, ended) = oneshot::channel();
        let holder = Holder {
            guard: Arc::downgrade(guard),
            told: guard.valid_until(),
            end: Some(end),
        };
        self.with(|n| n.held.insert(request.to_owned(), holder));
        ended
    }

    /// The number of requests that hold a lock.
    pub(super) fn count(&self) -> usize {
        self.with(|n| n.held.len())
    }

    fn remove(&self, request: &str) {
        self.with(|n| n.held.remove(request));
    }

    pub(super) fn view(&self, request: &str) -> Option<RequestView> {
        self.with(|n| {
            let holder = n.held.get_mut(request)?;
            let guard = holder.guard.upgrade()?;
            holder.told = guard.valid_until();
            let event = if guard.is_valid() { "granted" } else { "lost" };
            Some(view::request(event, request, &guard))
        })
    }

    /// Waits until the holder has not asked by the end of the last validity that it was told, plus the notice.
    async fn silence(&self, request: &str, guard: &LockGuard) {
        let told = || self.with(|n| n.held.get(request).map(|h| h.told + guard.notice()));
        while let Some(until) = told().filter(|until| *until > Instant::now()) {
            tokio::time::sleep_until(until.into()).await;
        }
    }

    fn release(&self, request: &str) -> Option<oneshot::Receiver<()>> {
        let end = self.with(|n| n.held.get_mut(request)?.end.take())?;
        let (done, released) = oneshot::channel();
        end.send(done).ok()?;
        Some(released)
    }
}
