//! The bodies of requests and answers. Fields are added, never removed or changed, within `/v1`.
//!
//! A newer agent may answer with fields that this version does not know; they are ignored. Answers are `#[non_exhaustive]`.
//! When you fill the body of a request, end it with `..Default::default()`, so that a field that is added later does not
//! break your program.

mod case;
mod election;
mod health;
mod history;
mod info;
mod keys;
mod lock;
mod log;
mod message;
mod summary;
mod topology;

pub use case::{AccuserView, CaseView};

pub use election::{
    AttendRequest, CampaignRequest, CandidateView, ChurnView, ElectionView, EndedRequest,
    LeaderView, PreemptView, ResignRequest, WithdrawRequest, Words,
};

pub use health::{HealthView, ReasonView};

pub use history::{MemberHistoryView, SampleView, SamplesView, TermView, TurnView};

pub use info::InfoView;

pub use keys::{
    InstallKeyRequest, KeyView, KeysView, MemberKeysView, RevocationsView, RevokeRequest,
    RevokedView,
};

pub use lock::{
    BreakRequest, ContenderView, LockDefaultsView, LockRequest, LockView, LocksView, ReadinessView,
    RequestView,
};

pub use log::LogView;

pub use message::{
    EventRequest, MessageView, QueryRequest, QueryUpdateView, QueryView, ReachabilityView,
    ReachedView, SentView, SilentView,
};

pub use summary::{MissingView, SummariesView, SummaryView};

pub use topology::{ApartView, ComponentMemberView, NeighbourView, ScopeView, TopologyView};

use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// One member.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(not(feature = "_agent"), non_exhaustive)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct MemberView {
    /// Announced name; may be empty and need not be unique.
    pub name: String,
    /// 16 hexadecimal digits.
    pub id: String,
    /// `alive`, `suspect`, `failed` or `left`.
    pub status: String,
    /// The address on which it listens (UDP).
    pub address: String,
    /// The life of its process, greater after every restart.
    pub life: u64,
    /// The number of accusations that it refuted in this life.
    pub incarnation: u32,
    /// Announced tags.
    pub tags: BTreeMap<String, String>,
    /// The smoothed round-trip time in microseconds; `null` without a sample.
    pub rtt_us: Option<u64>,
    /// Its recent health in percent; suspicions lower it.
    pub health_percent: u8,
    /// The number of times that it was suspected since the answering node has known it.
    pub suspicions: u32,
    /// The number of times that it refuted a suspicion.
    pub refutations: u32,
    /// The id of its accuser; `null` if nobody accuses it.
    pub accuser: Option<String>,
    /// How rarely it fails.
    #[serde(default)]
    pub reliability: ReliabilityView,
    /// The time since the answering node heard from it directly; `null` for the answering node itself.
    #[serde(default)]
    pub heard_ms: Option<u64>,
    /// How long it has had this status, as far as the agent knows; `null` if that is not known.
    #[serde(default)]
    pub since_ms: Option<u64>,
    /// Three coordinates and the height of its access link, in microseconds of round-trip time, or in millimetres if
    /// members announce positions. The distance of two members is that of their points plus both heights. `null` if it
    /// is not known.
    #[serde(default)]
    pub place: Option<[i64; 4]>,
    /// The fingerprint of the group's key under which it was last heard, or with which the answering node seals; `null`
    /// in a group without a key, and if it was not heard.
    #[serde(default)]
    pub key: Option<String>,
    /// The serial number of its certificate; `null` in a group whose members do not prove who they are, and as long as the
    /// answering node has not seen it.
    #[serde(default)]
    pub certificate: Option<u32>,
    /// What that certificate allows (`campaign`, `lock`, `break`), as far as it is not limited to certain elections or
    /// realms; `null` without one.
    #[serde(default)]
    pub roles: Option<Vec<String>>,
    /// Whether this is the node that answers.
    #[serde(rename = "self")]
    pub is_self: bool,
}

/// How rarely a member fails. A node knows only the rank of itself.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(not(feature = "_agent"), non_exhaustive)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct ReliabilityView {
    /// Rank from 0, the best, to 15.
    pub bucket: u8,
    /// The expected number of failures in a week of operation, in thousandths.
    pub per_week_milli: u64,
    /// The number of observed failures, in thousandths; old ones have less weight.
    pub failures_milli: u64,
    /// The number of seconds for which it was observed running; old ones have less weight.
    pub observed_s: u64,
}

/// A request to remove a failed member.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(deny_unknown_fields)]
pub struct ForceLeaveRequest {
    /// Its id, or a name that only one failed member has.
    pub member: String,
}

/// The result of removing a member.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(not(feature = "_agent"), non_exhaustive)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct ForceLeaveView {
    /// 16 hexadecimal digits.
    pub id: String,
    /// Announced name.
    pub name: String,
    /// The number of members that are left, including failed ones that were not removed.
    pub members: u32,
    /// The number of members that have to support a lock from now on, with the bound `members`.
    pub majority: u32,
}

/// The answering node.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(not(feature = "_agent"), non_exhaustive)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct SelfView {
    /// The node as a member.
    #[serde(flatten)]
    pub member: MemberView,
    /// The name of its group.
    pub group: String,
    /// The number of members by status, including the node itself.
    pub members: BTreeMap<String, usize>,
    /// The version of the program.
    pub version: String,
    /// Whether it may request locks and counts as a witness.
    #[serde(default)]
    pub locks: ReadinessView,
    /// Identifies this run of the agent.
    #[serde(default)]
    pub run: String,
    /// How long the agent has been running.
    #[serde(default)]
    pub uptime_ms: u64,
    /// Whether the `place` of members is an announced position instead of an estimate.
    #[serde(default)]
    pub positions: bool,
    /// Whether it looks for neighbours, so that `/v1/topology` has an answer.
    #[serde(default)]
    pub topology: bool,
    /// Whether the group is for experiments, which `/lab` controls.
    #[serde(default)]
    pub lab: bool,
    /// The reason why its state cannot be stored; absent if it can. In the meantime it starts no election rounds and
    /// requests no locks.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub storage_error: Option<String>,
}

/// A request to join a group.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(deny_unknown_fields)]
pub struct JoinRequest {
    /// Nodes to join through, `host:port` each.
    pub addresses: Vec<String>,
    /// How long to wait for an answer from one of them. Default 5000, at most 60000.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub timeout_ms: Option<u64>,
}

/// The result of leaving: what the node waited for.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(not(feature = "_agent"), non_exhaustive)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct LeaveView {
    /// Always `true`; a failure is reported as an error.
    pub done: bool,
    /// Milliseconds until work under its locks had stopped, at most the lease that holders had been promised.
    pub locks_ms: u64,
    /// Milliseconds until work as a leader had stopped, at most the rest of the leader's lease; in parallel with
    /// `locks_ms`.
    pub leadership_ms: u64,
    /// Milliseconds after both until members had confirmed the goodbye, usually a few periods.
    pub members_ms: u64,
    /// The number of members that were told; they pass the goodbye on.
    pub told: u32,
    /// The number of those that did not confirm it.
    pub silent: u32,
    /// A summary in words.
    pub text: String,
}

/// The result of a join and of some other orders.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(not(feature = "_agent"), non_exhaustive)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct Done {
    /// Always `true`; a failure is reported as an error.
    pub done: bool,
}

/// An error.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(not(feature = "_agent"), non_exhaustive)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct ErrorBody {
    /// The error code, for programs. For example `seeds_silent` means that no seed answered a join, and `not_leading`
    /// that another node leads.
    pub code: String,
    /// What happened, for people.
    pub message: String,
    /// What to do about it, for people.
    #[serde(default)]
    pub remedy: String,
    /// The id of the request in the agent's log.
    pub request_id: String,
}

/// One event. Fields that do not apply are left out.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(not(feature = "_agent"), non_exhaustive)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct EventView {
    /// The number in this run of the agent, from 1; 0 for `subscribed` and for events that were missed on the way.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub seq: u64,
    /// The number of the earlier event that caused it, if that is known and still kept.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cause: Option<u64>,
    /// When this agent reported it, in milliseconds since 1970.
    pub at_ms: u64,
    /// The kind of event: `up`, `suspected`, `down`, `updated`, `self_accused`, `joined`, `departed`,
    /// `identity_conflict`, `identity_taken`, `options_differ`, `leader_changed`, `leader_vacant`, `became_leader`
    /// (this node leads and may act), `stepped_down`, `lock_lost` (this node held the lock), `lock_witness` (this node
    /// counts as a witness from now on), `lock_granted` and `lock_released` (at any member, as far as this agent learns of
    /// it), `message` (an application event to all members: `POST /v1/event`), `query` (a query that
    /// this node is asked to answer), `tokens_from_clock`, `link_up`, `link_down`, `lab` (a manual intervention in the
    /// group, in `consort up` only), `subscribed` (the first event of every stream: nothing after it is missed) or
    /// `lagged`.
    pub event: String,
    /// `up`: `joined`, `refuted`, `returned`. `down`: `failed`, `left`, `restarted`. `self_accused`: `suspected`,
    /// `failed`. `leader_vacant`: `new` (nobody has led so far), `resigned`, `left`, `failed`, or `silent` if the leader
    /// did not renew its lease and was not declared failed by then. `lock_lost`: in words. `lock_released`: `released`,
    /// or `failed` if the holder had failed by then. `updated`: what changed, in words, if it is the address, the name
    /// or tags. `lab`: what was done.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// The member right after the change. With `leader_vacant` (the one that led, unless it resigned), `lock_granted`,
    /// `lock_released`, `message`, `query` and `lab` it has only a name and an id; with a message, those of the sender.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub member: Option<MemberView>,
    /// The life of the member that the event is about.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub life: Option<u64>,
    /// The id of the accuser; with `options_differ`, of the member that differs; with `link_up` and `link_down`, of the
    /// neighbour.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub by: Option<String>,
    /// `lagged`: how many events were missed; left out if the agent was restarted since then. Read the members again.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub missed: Option<u64>,
    /// The name of the election, or its id if the agent does not know the name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub election: Option<String>,
    /// The id of the election on the wire: 8 hexadecimal digits.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub election_id: Option<String>,
    /// `leader_changed`: the leader.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub leader: Option<LeaderView>,
    /// `became_leader`, `stepped_down`: the token by which this node leads or led. `lock_lost`: the token with which it
    /// held the lock.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub token: Option<String>,
    /// `lock_lost`, `lock_granted`, `lock_released`: the name of the lock.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lock: Option<String>,
    /// `lock_granted`: how long its holder was seen to wait.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub waited_ms: Option<u64>,
    /// `lock_released`: how long it was seen to be held.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub held_ms: Option<u64>,
    /// `message`, `query`: the application event or query.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub message: Option<MessageView>,
    /// `subscribed`: the run of the agent that the numbers belong to.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub run: Option<String>,
}

impl EventView {
    /// Whether it is about a member, an election, a lock or a message with this name or id.
    pub fn names(&self, name: &str) -> bool {
        let member = self
            .member
            .as_ref()
            .is_some_and(|m| m.name == name || m.id == name);
        let leader = self
            .leader
            .as_ref()
            .is_some_and(|l| l.name == name || l.id == name);
        let others = [&self.by, &self.election, &self.election_id, &self.lock];
        let message = self.message.as_ref().is_some_and(|m| m.name == name);
        member || leader || message || others.into_iter().any(|text| text.as_deref() == Some(name))
    }
}

fn is_zero(value: &u64) -> bool {
    *value == 0
}

fn is_false(value: &bool) -> bool {
    !value
}
