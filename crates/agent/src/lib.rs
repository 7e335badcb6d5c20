//! The Consort daemon as a library: one [`consort::Node`] with a configuration file and an HTTP interface on loopback
//! or a Unix socket.
//!
//! | request | answer |
//! |---|---|
//! | `GET /` | the dashboard, a web page that shows all of this |
//! | `GET /v1/self` | this node, its group and the number of members: [`api::SelfView`] |
//! | `GET /v1/members` | array of [`api::MemberView`] |
//! | `POST /v1/join` | takes an [`api::JoinRequest`]; waits for a seed to answer |
//! | `POST /v1/leave` | says goodbye; the agent stops after the answer |
//! | `POST /v1/force-leave` | removes a failed member from the lists of all members: `{"member": "node-3"}` |
//! | `GET /v1/members/NAME/history` | events that name a member: [`api::MemberHistoryView`] |
//! | `GET /v1/why/member/NAME`, `/v1/why/leader/NAME`, `/v1/why/lock/NAME` | the latest event about it, and the events that led to it |
//! | `GET /v1/events` | server-sent events, each an [`api::EventView`]; `?since=0` sends the last 4096 first, and a reconnect with `Last-Event-ID` the missed ones |
//! | `GET /v1/elections` | array of [`api::ElectionView`] |
//! | `GET /v1/elections/NAME` | the leader, and the role of this node: [`api::ElectionView`] |
//! | `POST /v1/elections/NAME/campaign` | campaigns in it; takes an [`api::CampaignRequest`] or nothing |
//! | `POST /v1/elections/NAME/withdraw` | stops campaigning in it |
//! | `POST /v1/elections/NAME/resign` | stops leading; takes an [`api::ResignRequest`] or nothing |
//! | `GET /v1/locks` | the holders and waiters of all locks: [`api::LocksView`] |
//! | `GET /v1/locks/NAME` | the same for one lock |
//! | `POST /v1/locks/NAME` | takes a lock for as long as the answer is read; takes an [`api::LockRequest`] or nothing, and answers with server-sent events, each an [`api::RequestView`] |
//! | `POST /v1/locks/NAME/acquire` | takes a lock by plain calls: waits for a while, and answers with the state of the request |
//! | `POST /v1/locks/NAME/REQUEST/renew` | reports that the holder is alive |
//! | `GET /v1/locks/NAME/REQUEST` | the state of a request that holds a lock: [`api::RequestView`] |
//! | `DELETE /v1/locks/NAME/REQUEST` | releases a lock; if a client closes the stream without it, its work may continue, so the lock is kept until the lease expires |
//! | `POST /v1/locks/NAME/break` | takes a lock from its holder: safe only if resources check tokens |
//! | `GET /v1/tags` | the tags of this node: an object of strings |
//! | `PATCH /v1/tags` | sets the given tags and removes those that are `null`; answers with all tags |
//! | `PUT /v1/tags`, `DELETE /v1/tags` | replaces all tags; removes all |
//! | `DELETE /v1/tags/KEY` | removes one |
//! | `GET /v1/topology` | which nodes hear each other, and how central each is: [`api::TopologyView`] |
//! | `GET /v1/churn` | how consistent member lists are: array of [`api::ChurnView`] |
//! | `GET /v1/openapi.json` | this interface as an OpenAPI document |
//! | `GET /v1/stats` | counters |
//! | `GET /v1/stats/history` | counters of the last half hour: [`api::SamplesView`] |
//! | `GET /v1/health` | 200 if the node is able to work, otherwise 503 with reasons: [`api::HealthView`] |
//! | `GET /metrics` | all counters and the current state in OpenMetrics text: docs/MONITORING.md |
//!
//! Every error has a status and the body [`api::ErrorBody`]. Without a file of tokens, everybody who can reach the
//! address controls this node. Therefore the address is loopback by default, and other addresses require tokens:
//! docs/API.md describes their roles. Web pages of other origins are refused.
#![allow(
    clippy::std_instead_of_alloc,
    reason = "this crate needs std; naming alloc would tell nothing"
)]

mod access;
mod agent;
mod codes;
mod config;
mod error;
mod file;
mod guard;
mod handler;
mod history;
mod journal;
mod listen;
mod log;
#[cfg(feature = "mdns")]
mod mdns;
mod metrics;
mod routes;
mod serve;
mod tls;
mod view;
pub mod watch;

pub use access::TokenError;
pub use agent::{Agent, AgentError, ReloadError, Startup};
pub use config::{
    ApiConfig, Config, ConfigError, ElectionConfig, HandlerConfig, LogFormat, RawApi, RawConfig,
    RawElection, RawElections, RawHandler, RawLocks, RawMembership, RawSecurity, RawTopology,
    SecurityConfig, config_example, config_reference, parse_bound,
};
pub use consort_client::api;
pub use consort_client::{DEFAULT_HTTP_PORT, HttpAddr, HttpAddrError};
pub use file::{FileError, read_secret};
pub use journal::{journal, repeats_event};
pub use listen::ListenError;
pub use log::Log;
pub use routes::LabOrder;
pub use tls::TlsError;

/// A member as the HTTP interface shows it.
pub fn member_view(member: &consort::Member) -> api::MemberView {
    view::member(member)
}

/// The HTTP interface as an OpenAPI document in JSON.
pub fn openapi() -> String {
    // Plain data always serialises.
    routes::openapi().to_pretty_json().unwrap_or_default()
}

/// The role that each request requires, as a table in Markdown.
pub fn roles_reference() -> String {
    access::reference()
}

/// The errors of the HTTP interface, as a table in Markdown.
pub fn errors_reference() -> String {
    codes::reference()
}

/// The reference of all metrics, as a table in Markdown.
pub fn metrics_reference() -> String {
    metrics::reference()
}
