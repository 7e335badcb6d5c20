//! The HTTP interface.

mod call;
mod election;
mod history;
mod keys;
mod lab;
mod lock;
mod log;
mod message;
mod monitor;
mod openapi;
mod summary;
mod tags;
mod topology;
pub(crate) mod web;

pub use lab::LabOrder;

use crate::access::Access;
use crate::api::{
    CaseView, Done, ForceLeaveRequest, ForceLeaveView, InfoView, JoinRequest, LeaveView,
    LockDefaultsView, MemberView, SelfView,
};
use crate::error::ApiError;
use crate::guard::{Watch, guard};
use crate::history::History;
use crate::log::Log;
use crate::metrics::Meters;
use crate::view;
use axum::extract::rejection::{JsonRejection, PathRejection};
use axum::extract::{DefaultBodyLimit, Path, State};
use axum::http::StatusCode;
use axum::middleware::from_fn_with_state;
use axum::routing::get;
use axum::{Json, Router};
use consort::{Member, Node, Status, Stopped};
use core::time::Duration;
use std::sync::Arc;
use tokio::sync::{OwnedSemaphorePermit, Semaphore, mpsc};
use utoipa::openapi::OpenApi;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

/// The largest body of a request, in bytes; `guard` reads no more.
pub(crate) const BODY_MAX: usize = 64 << 10;

/// The greatest number of seeds in one request.
const SEEDS_MAX: usize = 64;

/// How long a node may take to answer; a running node answers at once.
const ANSWER_PATIENCE: Duration = Duration::from_secs(3);

const JOIN_PATIENCE: Duration = Duration::from_secs(5);
const JOIN_PATIENCE_MAX: Duration = Duration::from_secs(60);

#[derive(Clone)]
struct Served {
    node: Node,
    about: Arc<About>,
    history: History,
    lab: Option<mpsc::Sender<LabOrder>>,
    leases: election::Leases,
    clients: election::Clients,
    holders: lock::Holders,
    calls: call::Calls,
    summaries: summary::Cache,
    streams: Arc<Semaphore>,
    log: Option<Log>,
    meters: Arc<Meters>,
}

/// The properties of an agent that do not change.
pub(crate) struct About {
    pub(crate) group: String,
    /// Whether places of members are announced positions.
    pub(crate) positions: bool,
    /// Whether the node looks for neighbours.
    pub(crate) topology: bool,
    /// Whether HTTP is served on a Unix socket.
    pub(crate) unix: bool,
    pub(crate) tls: bool,
    /// How long a client may take to send a body.
    pub(crate) timeout: Duration,
    /// The greatest number of open event streams.
    pub(crate) streams_max: usize,
    pub(crate) locks: LockDefaultsView,
    pub(crate) info: InfoView,
}

/// All routes for one node, including those of the lab if `lab` is given.
pub(crate) fn router(
    node: Node,
    about: About,
    history: History,
    meters: Arc<Meters>,
    access: Access,
    lab: Option<mpsc::Sender<LabOrder>>,
    log: Option<Log>,
) -> Router {
    let watch = Watch {
        meters: Arc::clone(&meters),
        unix: about.unix,
        tls: about.tls,
        timeout: about.timeout,
        access,
    };
    let streams_max = about.streams_max;
    let (mut routes, _) = documented().split_for_parts();
    let api = Arc::new(openapi());
    let document = get(async move || Json(Arc::clone(&api)));
    routes = routes
        .route("/v1/openapi.json", document)
        .merge(web::router());
    if lab.is_some() {
        routes = routes.merge(lab::router());
    }
    routes
        .fallback(not_found)
        .method_not_allowed_fallback(method_not_allowed)
        .layer(DefaultBodyLimit::disable())
        .layer(from_fn_with_state(watch, guard))
        .with_state(Served {
            node,
            about: Arc::new(about),
            history,
            lab,
            leases: election::Leases::default(),
            clients: election::Clients::default(),
            holders: lock::Holders::default(),
            calls: call::Calls::default(),
            summaries: summary::Cache::default(),
            streams: Arc::new(Semaphore::new(streams_max)),
            log,
            meters,
        })
}

/// Show this node, its group and the number of members.
#[utoipa::path(get, path = "/v1/self", tag = "members", responses((status = 200, description = "This node", body = SelfView)))]
async fn this(State(served): State<Served>) -> Result<Json<SelfView>, ApiError> {
    let members = list(&served.node).await?;
    let locks = answer(served.node.lock_readiness()).await?;
    let mut view = view::own(&members, &served.about.group, locks).ok_or(Stopped)?;
    view.member = history::dated(&served, view.member);
    served.history.run().clone_into(&mut view.run);
    view.uptime_ms = served.history.uptime().as_millis() as u64;
    view.positions = served.about.positions;
    view.topology = served.about.topology;
    view.lab = served.lab.is_some();
    view.storage_error = answer(served.node.storage_error()).await?;
    Ok(Json(view))
}

/// List the members that this node knows, including itself.
#[utoipa::path(get, path = "/v1/members", tag = "members", responses((status = 200, description = "In order of id", body = Vec<MemberView>)))]
async fn members(State(served): State<Served>) -> Result<Json<Vec<MemberView>>, ApiError> {
    let members = list(&served.node).await?;
    let dated = |m| history::dated(&served, view::member(m));
    Ok(Json(members.iter().map(dated).collect()))
}

/// Show why a member is suspected or down.
#[utoipa::path(get, path = "/v1/members/{member}/why", tag = "members", params(("member" = String, Path, description = "Id of the member, or a name that only one has")), responses((status = 200, description = "Who accused it, and when", body = CaseView)))]
async fn why(
    State(served): State<Served>,
    member: Result<Path<String>, PathRejection>,
) -> Result<Json<CaseView>, ApiError> {
    let id = election::member(&served.node, &member?.0).await?;
    let members = list(&served.node).await?;
    let case = answer(served.node.case(id)).await?;
    let case = case.ok_or_else(|| {
        let message = "a node holds nothing against itself; ask another one";
        ApiError::new(StatusCode::BAD_REQUEST, "bad_member", message)
    })?;
    Ok(Json(view::case(&case, &members)))
}

/// The routes that the OpenAPI document describes.
fn documented() -> OpenApiRouter<Served> {
    OpenApiRouter::default()
        .routes(routes!(this))
        .routes(routes!(members))
        .routes(routes!(why))
        .routes(routes!(join))
        .routes(routes!(leave))
        .routes(routes!(force_leave))
        .merge(history::router())
        .merge(log::router())
        .merge(tags::router())
        .merge(keys::router())
        .merge(message::router())
        .merge(election::router())
        .merge(lock::router())
        .merge(call::router())
        .merge(topology::router())
        .merge(monitor::router())
        .merge(summary::router())
}

/// The interface as an OpenAPI document, made from the types of requests and answers.
pub(crate) fn openapi() -> OpenApi {
    openapi::complete(documented().into_openapi())
}

/// One of the streams that there may be.
fn seat(served: &Served) -> Result<OwnedSemaphorePermit, ApiError> {
    let seat = Arc::clone(&served.streams).try_acquire_owned();
    seat.map_err(|_| {
        served.meters.stream_refused();
        let message = "there are as many event streams as there may be";
        ApiError::new(StatusCode::TOO_MANY_REQUESTS, "too_many_streams", message)
    })
}

async fn list(node: &Node) -> Result<Vec<Member>, ApiError> {
    answer(node.members()).await
}

/// Join a group through other nodes, and wait for one of them to answer.
#[utoipa::path(post, path = "/v1/join", tag = "members", request_body = JoinRequest, responses((status = 200, description = "A seed has answered", body = Done)))]
async fn join(
    State(served): State<Served>,
    request: Result<Json<JoinRequest>, JsonRejection>,
) -> Result<Json<Done>, ApiError> {
    let Json(request) = request?;
    let bad = |message: String| ApiError::new(StatusCode::BAD_REQUEST, "bad_request", message);
    if request.addresses.is_empty() || request.addresses.len() > SEEDS_MAX {
        return Err(bad(format!("name 1 to {SEEDS_MAX} addresses")));
    }
    let patience = request
        .timeout_ms
        .map_or(JOIN_PATIENCE, Duration::from_millis)
        .min(JOIN_PATIENCE_MAX);
    served
        .node
        .join_and_wait(&request.addresses, patience)
        .await?;
    Ok(Json(Done { done: true }))
}

/// Leave the group and stop the agent, once work under its locks and as a leader has stopped.
#[utoipa::path(post, path = "/v1/leave", tag = "members", responses((status = 200, description = "The node has left, and the agent stops; the answer says what was waited for", body = LeaveView)))]
async fn leave(State(served): State<Served>) -> Result<Json<LeaveView>, ApiError> {
    Ok(Json(view::leave(&served.node.leave().await?)))
}

/// Remove a failed member from the lists of all members, so that locks no longer count it.
#[utoipa::path(post, path = "/v1/force-leave", tag = "members", request_body = ForceLeaveRequest, responses((status = 200, description = "It is removed; the answer says what a lock takes now", body = ForceLeaveView)))]
async fn force_leave(
    State(served): State<Served>,
    request: Result<Json<ForceLeaveRequest>, JsonRejection>,
) -> Result<Json<ForceLeaveView>, ApiError> {
    let Json(request) = request?;
    let failed = |m: &Member| m.status == Status::Failed;
    let id = election::member_that(&served.node, &request.member, failed).await?;
    let members = list(&served.node).await?;
    let name = members.iter().find(|m| m.id == id).map(|m| m.name());
    let name = name.unwrap_or_default().to_owned();
    match tokio::time::timeout(ANSWER_PATIENCE, served.node.force_leave(id)).await {
        Ok(done) => done?,
        Err(_) => return Err(no_answer()),
    }
    let members = list(&served.node).await?;
    let counted = members.iter().filter(|m| m.status != Status::Left).count() as u32;
    Ok(Json(ForceLeaveView {
        id: id.to_string(),
        name,
        members: counted,
        majority: counted / 2 + 1,
    }))
}

async fn not_found() -> ApiError {
    let message = "no such path; /v1/openapi.json describes all, / is the dashboard";
    ApiError::new(StatusCode::NOT_FOUND, "not_found", message)
}

async fn method_not_allowed() -> ApiError {
    let message = "this path takes another method; /v1/openapi.json describes all";
    ApiError::new(
        StatusCode::METHOD_NOT_ALLOWED,
        "method_not_allowed",
        message,
    )
}

/// Waits for the node. If it does not answer in time, an error is returned.
async fn answer<T>(asked: impl Future<Output = Result<T, Stopped>>) -> Result<T, ApiError> {
    match tokio::time::timeout(ANSWER_PATIENCE, asked).await {
        Ok(answer) => Ok(answer?),
        Err(_) => Err(no_answer()),
    }
}

fn no_answer() -> ApiError {
    ApiError::new(
        StatusCode::SERVICE_UNAVAILABLE,
        "no_answer",
        "the node does not answer; it is paused or overloaded",
    )
}
