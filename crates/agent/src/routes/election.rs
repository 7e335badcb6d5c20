//! Requests about elections.

use super::{Served, answer};
use crate::api::{
    AttendRequest, CampaignRequest, ChurnView, Done, ElectionView, EndedRequest, ResignRequest,
    WithdrawRequest,
};
use crate::error::ApiError;
use crate::view::{self, attribute_tag, preempt, way};
use axum::Json;
use axum::body::Bytes;
use axum::extract::rejection::{BytesRejection, JsonRejection, PathRejection};
use axum::extract::{Path, State};
use axum::http::StatusCode;
use axum::response::sse::{self, KeepAlive, Sse};
use consort::election::{Election, ElectionError, ElectionOptions, ElectionStatus};
use consort::{Member, Node, NodeId, Status};
use core::convert::Infallible;
use core::time::Duration;
use futures_util::stream::{self, Stream};
use std::collections::{BTreeMap, VecDeque};
use std::sync::{Arc, Mutex, PoisonError};
use tokio::sync::oneshot;
use tokio::time::{Instant, sleep_until};
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

/// The longest lease of a candidacy.
const LEASE_MAX: Duration = Duration::from_secs(86_400);

/// The longest grace period.
const GRACE_MAX: Duration = Duration::from_secs(900);

type Name = Result<Path<String>, PathRejection>;
/// A body that may be missing or `null`.
type Body<T> = Result<Option<Json<Option<T>>>, JsonRejection>;

/// The routes.
pub(super) fn router() -> OpenApiRouter<Served> {
    OpenApiRouter::new()
        .routes(routes!(elections))
        .routes(routes!(election))
        .routes(routes!(campaign))
        .routes(routes!(attend))
        .routes(routes!(withdraw))
        .routes(routes!(ended))
        .routes(routes!(forget))
        .routes(routes!(resign))
        .routes(routes!(churn))
}

async fn all(served: &Served) -> Result<Vec<(String, ElectionStatus)>, ApiError> {
    let all = answer(served.node.elections()).await?;
    Ok(all
        .into_iter()
        .map(|e| (e.election.to_string(), e))
        .collect())
}

/// List the elections that this node takes part in or knows the outcome of.
#[utoipa::path(get, path = "/v1/elections", tag = "elections", responses((status = 200, description = "In order of id", body = Vec<ElectionView>)))]
async fn elections(State(served): State<Served>) -> Result<Json<Vec<ElectionView>>, ApiError> {
    let all = all(&served).await?;
    let views = all.iter().map(|(name, e)| {
        let view = view::election(name, Some(e), &served.node);
        with_terms(&served, view)
    });
    Ok(Json(views.collect()))
}

/// Show how consistent member lists are.
#[utoipa::path(get, path = "/v1/churn", tag = "elections", responses((status = 200, description = "One for each election", body = Vec<ChurnView>)))]
async fn churn(State(served): State<Served>) -> Result<Json<Vec<ChurnView>>, ApiError> {
    let all = all(&served).await?;
    Ok(Json(
        all.iter()
            .map(|(name, e)| view::churn(name, &e.churn))
            .collect(),
    ))
}

/// Show the leader of an election, and the role of this node in it.
#[utoipa::path(get, path = "/v1/elections/{name}", tag = "elections", params(("name" = String, Path, description = "Name of the election")), responses((status = 200, description = "As this node sees it; also for an election that nobody stands in", body = ElectionView)))]
async fn election(
    State(served): State<Served>,
    name: Name,
) -> Result<Json<ElectionView>, ApiError> {
    view(&served, &name?.0).await
}

async fn view(served: &Served, name: &str) -> Result<Json<ElectionView>, ApiError> {
    let status = answer(served.node.election_status(name)).await?;
    let view = view::election(name, status.as_ref(), &served.node);
    Ok(Json(with_terms(served, view)))
}

fn with_terms(served: &Served, mut view: ElectionView) -> ElectionView {
    view.terms = served.history.terms(&view.id);
    view
}

/// Campaign in an election, or change the candidacy.
#[utoipa::path(post, path = "/v1/elections/{name}/campaign", tag = "elections", params(("name" = String, Path, description = "Name of the election")), request_body = Option<CampaignRequest>, responses((status = 200, description = "How it stands now", body = ElectionView)))]
async fn campaign(
    State(served): State<Served>,
    name: Name,
    body: Body<CampaignRequest>,
) -> Result<Json<ElectionView>, ApiError> {
    let (name, request) = (name?.0, unwrap(body)?);
    let hold = request.hold_ms.map(Duration::from_millis);
    let preempt = preempt(request.preempt.as_deref(), request.delta, hold);
    let preempt = preempt.map_err(|m| ApiError::new(StatusCode::BAD_REQUEST, "bad_request", m))?;
    let way = way(request.mode.as_deref(), request.score.as_ref());
    let (mode, ranking) =
        way.map_err(|m| ApiError::new(StatusCode::BAD_REQUEST, "bad_request", m))?;
    let tag = attribute_tag(
        request.attribute_tag.as_deref(),
        request.attribute != 0,
        request.attribute_order.as_deref(),
        request.attribute_min,
        request.attribute_max,
    );
    let tag = tag.map_err(|m| ApiError::new(StatusCode::BAD_REQUEST, "bad_request", m))?;
    let mut options = ElectionOptions::new()
        .mode(mode)
        .ranking(ranking)
        .class(request.class)
        .attribute(request.attribute)
        .stream(request.stream)
        .health(request.health)
        .replace_unhealthy(request.replace_unhealthy)
        .grace(Duration::from_millis(request.grace_ms.unwrap_or(0)).min(GRACE_MAX))
        .preempt(preempt);
    if let Some(tag) = tag {
        options = options.attribute_tag(tag);
    }
    let election = handle(&served.node, &name).await?;
    if let Some(client) = &request.client {
        served.clients.admit(&election, client).await?;
    }
    let lease = request
        .lease_ms
        .map(|ms| Duration::from_millis(ms).min(LEASE_MAX));
    served.leases.renew(&election, lease, &served.clients);
    match tokio::time::timeout(super::ANSWER_PATIENCE, election.campaign(options)).await {
        Ok(stands) => stands?,
        Err(_) => return Err(super::no_answer()),
    }
    view(&served, &name).await
}

/// How often something is written to a silent stream, in order to notice that nobody reads it.
const KEEP_ALIVE: Duration = Duration::from_secs(1);

/// Keep the candidacy of a client program for as long as the answer is read.
///
/// If the stream ends before the client has withdrawn, the program is gone, and the node withdraws at once. A leader's
/// lease is released when its work is over or the lease ends. Leaders by component have no lease; their candidacy ends
/// with its `lease_ms`, as without this request.
#[utoipa::path(post, path = "/v1/elections/{name}/attend", tag = "elections", params(("name" = String, Path, description = "Name of the election")), request_body = AttendRequest, responses((status = 200, description = "A stream that lasts as long as the client and the agent: one `Done`, then comments", body = String, content_type = "text/event-stream")))]
async fn attend(
    State(served): State<Served>,
    name: Name,
    body: Result<Json<AttendRequest>, JsonRejection>,
) -> Result<Sse<impl Stream<Item = Result<sse::Event, Infallible>>>, ApiError> {
    let (name, Json(AttendRequest { client })) = (name?.0, body?);
    let election = handle(&served.node, &name).await?;
    if !served.clients.is_current(&name, &client).await {
        let text = format!("this program does not campaign in {name}: another one does, or none");
        return Err(ApiError::new(StatusCode::CONFLICT, "superseded", text));
    }
    let (open, closed) = oneshot::channel::<Infallible>();
    let (clients, leases, node) = (served.clients, served.leases, served.node.clone());
    tokio::spawn(async move {
        // Nothing is sent, so this ends when the stream does.
        let _ = closed.await;
        let status = answer(node.election_status(&name)).await;
        let by_component = matches!(status, Ok(Some(status)) if status.scope.is_some());
        if !by_component && let Ok(true) = clients.gone(&election, &client).await {
            leases.end(&name);
            tracing::warn!("withdrawn from election {name}: the program that asked for it is gone");
        }
    });
    // Plain data always serialises.
    let first = sse::Event::default().json_data(Done { done: true });
    let start = (Some(first.unwrap_or_default()), open, served.node);
    let events = stream::unfold(start, async |(first, open, node)| match first {
        Some(first) => Some((Ok(first), (None, open, node))),
        None => {
            node.stopped().await;
            None
        }
    });
    let keep_alive = KeepAlive::default().interval(KEEP_ALIVE);
    Ok(Sse::new(events).keep_alive(keep_alive))
}

/// Report that the work under a token has ended, so that the lease is released early.
#[utoipa::path(post, path = "/v1/elections/{name}/ended", tag = "elections", params(("name" = String, Path, description = "Name of the election")), request_body = EndedRequest, responses((status = 200, description = "Taken note of", body = Done)))]
async fn ended(
    State(served): State<Served>,
    name: Name,
    body: Body<EndedRequest>,
) -> Result<Json<Done>, ApiError> {
    let (name, request) = (name?.0, unwrap(body)?);
    let token = request
        .token
        .parse()
        .map_err(|e: consort::election::ParseTokenError| {
            ApiError::new(StatusCode::BAD_REQUEST, "bad_request", e.to_string())
        })?;
    let election = handle(&served.node, &name).await?;
    answer(election.work_ended(token)).await?;
    Ok(Json(Done { done: true }))
}

/// Give up watchers that are lost for good, in a strict election.
#[utoipa::path(post, path = "/v1/elections/{name}/forget", tag = "elections", params(("name" = String, Path, description = "Name of the election")), responses((status = 200, description = "Taken note of", body = Done)))]
async fn forget(State(served): State<Served>, name: Name) -> Result<Json<Done>, ApiError> {
    let election = handle(&served.node, &name?.0).await?;
    answer(election.forget()).await?;
    Ok(Json(Done { done: true }))
}

/// Stop campaigning in an election; a leader resigns. Has no effect if another client took the place of this one.
#[utoipa::path(post, path = "/v1/elections/{name}/withdraw", tag = "elections", params(("name" = String, Path, description = "Name of the election")), request_body = Option<WithdrawRequest>, responses((status = 200, description = "How it stands now", body = ElectionView)))]
async fn withdraw(
    State(served): State<Served>,
    name: Name,
    body: Result<Bytes, BytesRejection>,
) -> Result<Json<ElectionView>, ApiError> {
    let name = name?.0;
    // Programs that say nothing may say so as JSON.
    let request: WithdrawRequest = match body? {
        body if body.is_empty() => WithdrawRequest::default(),
        body => unwrap(Json::from_bytes(&body).map(Some))?,
    };
    let election = handle(&served.node, &name).await?;
    let client = request.client.as_deref();
    if served.clients.dismiss(&election, client).await? {
        served.leases.end(&name);
    }
    view(&served, &name).await
}

/// Stop leading an election, in favour of a given member or of the next elected one.
#[utoipa::path(post, path = "/v1/elections/{name}/resign", tag = "elections", params(("name" = String, Path, description = "Name of the election")), request_body = Option<ResignRequest>, responses((status = 200, description = "This node no longer leads", body = Done)))]
async fn resign(
    State(served): State<Served>,
    name: Name,
    body: Body<ResignRequest>,
) -> Result<Json<Done>, ApiError> {
    let (name, request) = (name?.0, unwrap(body)?);
    let to = match &request.to {
        Some(text) => Some(member(&served.node, text).await?),
        None => None,
    };
    let election = handle(&served.node, &name).await?;
    match tokio::time::timeout(super::ANSWER_PATIENCE, election.resign(to)).await {
        Ok(resigned) => resigned?,
        Err(_) => return Err(super::no_answer()),
    }
    Ok(Json(Done { done: true }))
}

async fn handle(node: &Node, name: &str) -> Result<Election, ApiError> {
    let found = tokio::time::timeout(super::ANSWER_PATIENCE, node.election(name)).await;
    found
        .map_err(|_| super::no_answer())?
        .map_err(|error| match error {
            ElectionError::Stopped(stopped) => stopped.into(),
            other => ApiError::new(StatusCode::BAD_REQUEST, "bad_election", other.to_string()),
        })
}

/// The member with this id or, if only one member has it, this name.
pub(super) async fn member(node: &Node, text: &str) -> Result<NodeId, ApiError> {
    member_that(node, text, |m| m.status == Status::Alive).await
}

/// The member with this id or name. Of several with the same name, the one that is `preferred`.
pub(super) async fn member_that(
    node: &Node,
    text: &str,
    preferred: fn(&Member) -> bool,
) -> Result<NodeId, ApiError> {
    let members = answer(node.members()).await?;
    let named: Vec<&Member> = members.iter().filter(|m| m.name() == text).collect();
    let best: Vec<NodeId> = named
        .iter()
        .filter(|m| preferred(m))
        .map(|m| m.id)
        .collect();
    let named = match best.len() {
        1 => best,
        _ => named.iter().map(|m| m.id).collect(),
    };
    let id = text
        .parse()
        .ok()
        .filter(|id| members.iter().any(|m| m.id == *id));
    let unknown = |message| ApiError::new(StatusCode::BAD_REQUEST, "bad_member", message);
    match (named.as_slice(), id) {
        (&[id], _) | (_, Some(id)) => Ok(id),
        ([], None) => Err(unknown(format!(
            "no member is called `{text}` or has that id"
        ))),
        _ => Err(unknown(format!(
            "several members are called `{text}`; give an id"
        ))),
    }
}

fn unwrap<T: Default>(body: Body<T>) -> Result<T, ApiError> {
    Ok(body?.and_then(|Json(body)| body).unwrap_or_default())
}

/// Most superseded clients of an election that are remembered.
const SUPERSEDED_MAX: usize = 64;

/// The clients of each election that has one.
///
/// A client cannot be told apart from a killed one that a supervisor replaced. So the newest one is served, and those
/// before it are refused from then on: two that run at the same time do not depose each other in turns.
#[derive(Clone, Debug, Default)]
pub(super) struct Clients(Arc<tokio::sync::Mutex<BTreeMap<String, Campaigners>>>);

/// The clients that campaigned in one election through this agent, since nobody did.
#[derive(Debug)]
struct Campaigners {
    current: String,
    superseded: VecDeque<String>,
}

impl Clients {
    /// Lets a client campaign. If it takes the place of another one, the node withdraws first: the work of the former
    /// client may still run, and the node leads with a new token once its lease is over.
    async fn admit(&self, election: &Election, client: &str) -> Result<(), ApiError> {
        let mut clients = self.0.lock().await;
        let name = election.name();
        match clients.get_mut(name) {
            Some(known) if known.current == client => {}
            Some(known) if known.superseded.iter().any(|c| c == client) => {
                let text = format!(
                    "another program took over the candidacy in {name} at this agent: end one of the two, or let each use \
                     its own agent"
                );
                return Err(ApiError::new(StatusCode::CONFLICT, "superseded", text));
            }
            Some(known) => {
                answer(election.withdraw()).await?;
                let former = core::mem::replace(&mut known.current, client.to_owned());
                known.superseded.push_back(former);
                if known.superseded.len() > SUPERSEDED_MAX {
                    known.superseded.pop_front();
                }
            }
            None => {
                let current = client.to_owned();
                let superseded = VecDeque::new();
                let known = Campaigners {
                    current,
                    superseded,
                };
                clients.insert(name.to_owned(), known);
            }
        }
        Ok(())
    }

    async fn is_current(&self, election: &str, client: &str) -> bool {
        let clients = self.0.lock().await;
        clients.get(election).is_some_and(|k| k.current == client)
    }

    /// Withdraws for a client that is gone. Returns `false` if it did so itself, or another one took its place.
    async fn gone(&self, election: &Election, client: &str) -> Result<bool, ApiError> {
        let mut clients = self.0.lock().await;
        let known = clients.get(election.name());
        if known.is_none_or(|k| k.current != client) {
            return Ok(false);
        }
        answer(election.withdraw()).await?;
        clients.remove(election.name());
        Ok(true)
    }

    /// Withdraws for a client, or for whichever campaigns. Returns `false` if another one took the place of `client`.
    async fn dismiss(&self, election: &Election, client: Option<&str>) -> Result<bool, ApiError> {
        // The next client is admitted when the node no longer leads.
        let mut clients = self.0.lock().await;
        let known = clients.get(election.name());
        if known.is_some_and(|k| client.is_some_and(|c| k.current != c)) {
            return Ok(false);
        }
        answer(election.withdraw()).await?;
        clients.remove(election.name());
        Ok(true)
    }
}

/// Candidacies that end unless they are renewed.
#[derive(Clone, Debug, Default)]
pub(super) struct Leases(Arc<Mutex<BTreeMap<String, Instant>>>);

impl Leases {
    /// Sets the candidacy to end after `lease`, or never.
    fn renew(&self, election: &Election, lease: Option<Duration>, clients: &Clients) {
        let Some(lease) = lease else {
            return self.end(election.name());
        };
        let mut leases = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let name = election.name().to_owned();
        if leases.insert(name, Instant::now() + lease).is_none() {
            tokio::spawn(self.clone().expire(election.clone(), clients.clone()));
        }
    }

    fn end(&self, election: &str) {
        let mut leases = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        leases.remove(election);
    }

    /// Waits for the end of a lease, and withdraws.
    async fn expire(self, election: Election, clients: Clients) {
        loop {
            let until = {
                let mut leases = self.0.lock().unwrap_or_else(PoisonError::into_inner);
                match leases.get(election.name()) {
                    Some(&until) if until > Instant::now() => until,
                    Some(_) => {
                        leases.remove(election.name());
                        break;
                    }
                    None => return,
                }
            };
            tokio::select! {
                () = sleep_until(until) => {}
                () = election.stopped() => return,
            }
        }
        tracing::warn!(
            "withdrawn from election {}: who asked for it has not been heard of for its lease",
            election.name()
        );
        // If the node has stopped, it no longer campaigns anyway.
        let _ = clients.dismiss(&election, None).await;
    }
}
