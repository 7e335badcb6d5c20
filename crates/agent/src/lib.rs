//! The Consort daemon as a library: one [`consort::Node`] with a configuration file and an HTTP
//! interface on loopback or a Unix socket.
//!
//! | request | answer |
//! |---|---|
//! | `GET /` | the dashboard, a web page that shows all of this |
//! | `GET /v1/self` | this node, its group and how many members it counts: [`api::SelfView`] |
//! | `GET /v1/members` | array of [`api::MemberView`] |
//! | `POST /v1/join` | takes an [`api::JoinRequest`]; waits for a seed to answer |
//! | `POST /v1/leave` | says goodbye; the agent stops after the answer |
//! | `POST /v1/force-leave` | removes a failed member from the lists of all members: `{"member": "node-3"}` |
//! | `GET /v1/members/NAME/history` | events that name a member: [`api::MemberHistoryView`] |
//! | `GET /v1/events` | server-sent events, each an [`api::EventView`]; `?since=0` tells the last 4096 first, and a reconnect with `Last-Event-ID` those that were missed |
//! | `GET /v1/elections` | array of [`api::ElectionView`] |
//! | `GET /v1/elections/NAME` | who leads, and how this node stands: [`api::ElectionView`] |
//! | `POST /v1/elections/NAME/campaign` | stands in it; takes an [`api::CampaignRequest`] or nothing |
//! | `POST /v1/elections/NAME/withdraw` | no longer stands in it |
//! | `POST /v1/elections/NAME/resign` | stops leading; takes an [`api::ResignRequest`] or nothing |
//! | `GET /v1/locks` | who holds and who waits, of all locks: [`api::LocksView`] |
//! | `GET /v1/locks/NAME` | the same of one |
//! | `POST /v1/locks/NAME` | takes a lock, as an [`api::LockRequest`] or nothing says, for as long as the answer is read: server-sent events, each an [`api::RequestView`] |
//! | `POST /v1/locks/NAME/acquire` | takes a lock by plain calls: waits for a while, answers how the request stands |
//! | `POST /v1/locks/NAME/REQUEST/renew` | tells that the holder is there |
//! | `GET /v1/locks/NAME/REQUEST` | how a request that holds a lock stands: [`api::RequestView`] |
//! | `DELETE /v1/locks/NAME/REQUEST` | releases; who closes the stream without it may still be at work, so the lease runs out |
//! | `POST /v1/locks/NAME/break` | takes it from whoever holds it: safe only where tokens are checked |
//! | `GET /v1/tags` | the tags of this node: an object of strings |
//! | `PATCH /v1/tags` | sets the tags named and removes those that are `null`; the answer has all |
//! | `PUT /v1/tags`, `DELETE /v1/tags` | replaces all tags; removes all |
//! | `DELETE /v1/tags/KEY` | removes one |
//! | `GET /v1/topology` | who hears whom, and who is in the middle: [`api::TopologyView`] |
//! | `GET /v1/churn` | how well member lists agree: array of [`api::ChurnView`] |
//! | `GET /v1/openapi.json` | this interface as an OpenAPI document |
//! | `GET /v1/stats` | counters |
//! | `GET /v1/stats/history` | counters of the last half hour: [`api::SamplesView`] |
//! | `GET /v1/health` | 200 while the node can do its job, else 503 with reasons: [`api::HealthView`] |
//! | `GET /metrics` | all counters and the present state in OpenMetrics text: docs/MONITORING.md |
//!
//! Every error has a status and the body [`api::ErrorBody`]. Without a file of tokens whoever can reach the address
//! controls this node, so it is loopback by default, and beyond that tokens are required: docs/API.md has their roles. Web
//! pages of other origins are refused.
#![allow(
    clippy::std_instead_of_alloc,
    reason = "this crate needs std; naming alloc would tell nothing"
)]

mod access;
mod agent;
pub mod api;
mod config;
mod error;
mod file;
mod guard;
mod handler;
mod history;
mod journal;
mod listen;
mod metrics;
mod routes;
mod serve;
pub mod watch;

pub use access::TokenError;
pub use agent::{Agent, AgentError, ReloadError};
pub use config::{
    ApiConfig, Config, ConfigError, ElectionConfig, HandlerConfig, RawApi, RawConfig, RawElection,
    RawElections, RawHandler, RawLocks, RawMembership, RawSecurity, RawTopology, SecurityConfig,
    config_example, config_reference, parse_bound,
};
pub use file::{FileError, read_secret};
pub use journal::journal;
pub use listen::{DEFAULT_HTTP_PORT, HttpAddr, HttpAddrError, ListenError};
pub use routes::LabOrder;

/// The HTTP interface as an OpenAPI document in JSON.
pub fn openapi() -> String {
    // Plain data: it always serialises.
    routes::openapi().to_pretty_json().unwrap_or_default()
}

/// Which role which requests take, as a table in Markdown.
pub fn roles_reference() -> String {
    access::reference()
}

/// The reference of all metrics, as a table in Markdown.
pub fn metrics_reference() -> String {
    metrics::reference()
}
