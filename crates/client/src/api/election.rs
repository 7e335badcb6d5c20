//! Bodies about elections.

use super::{ScopeView, TermView, is_false};
use serde::{Deserialize, Serialize};

/// The leader of an election.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(not(feature = "_agent"), non_exhaustive)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct LeaderView {
    /// Announced name; empty while its record is not known.
    pub name: String,
    /// 16 hexadecimal digits.
    pub id: String,
    /// The address on which it listens (UDP); `null` while it is not listed.
    pub address: Option<String>,
    /// The life of its process. A restarted leader no longer leads.
    pub life: u64,
    /// The fencing token. Of two leaders, the later one has the greater text.
    pub token: String,
    /// The number of the round, which is the first part of the token.
    pub term: u64,
    /// `tentative` while a better candidate may follow in a moment, otherwise `confirmed`.
    pub stage: String,
    /// Fewer lists were read than the quorum requires, or a new line of watchers was begun.
    pub degraded: bool,
    /// The former leader named it as its successor.
    #[serde(default, skip_serializing_if = "is_false")]
    pub handed_over: bool,
    /// The component that it was chosen for, in an election by component.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub scope: Option<ScopeView>,
    /// Whether it is the node that answers.
    #[serde(rename = "self")]
    pub is_self: bool,
}

/// The state of an election at the answering node.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(not(feature = "_agent"), non_exhaustive)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct ElectionView {
    /// The name of the election, or `id` if this node does not know the name.
    pub name: String,
    /// The id of the election on the wire: 8 hexadecimal digits.
    pub id: String,
    /// The leader; `null` if nobody leads.
    pub leader: Option<LeaderView>,
    /// Nobody leads, as far as this node knows.
    pub vacant: bool,
    /// The component that a leader is chosen for, in an election by component; `null` for the whole group.
    #[serde(default)]
    pub scope: Option<ScopeView>,
    /// The role of this node: `leader`, `candidate` or `member`.
    pub role: String,
    /// The token by which this node leads and may act; `null` if it may not act.
    pub acting: Option<String>,
    /// How long this node may act from now on if its lease is not renewed. Count from before the request was sent.
    pub valid_for_ms: u64,
    /// How long others wait at least after the end of a leadership before they act. Work must end within this time.
    pub grace_ms: u64,
    /// When a better candidate replaces the leader, by the settings of this node; `null` if it does not campaign, and in
    /// an election by component.
    #[serde(default)]
    pub preempt: Option<PreemptView>,
    /// This node is running a round.
    pub electing: bool,
    /// How consistent member lists are, and what follows from that.
    pub churn: Option<ChurnView>,
    /// The candidates that this node lists, best first.
    pub candidates: Vec<CandidateView>,
    /// The criteria by which candidates of one class are compared, most important first; after them a hash decides.
    #[serde(default)]
    pub score: Vec<String>,
    /// The leaders since the agent started, oldest first; at most 64.
    #[serde(default)]
    pub terms: Vec<TermView>,
    /// The id of the answering node.
    pub node: String,
    /// The name of the answering node.
    pub node_name: String,
}

/// When a better candidate replaces a working leader.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(not(feature = "_agent"), non_exhaustive)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct PreemptView {
    /// `never`; `margin`, if it is better by `delta`; `strict`, if it is better at all.
    pub when: String,
    /// The least difference in the first criterion in which the two differ; with `margin` only.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub delta: Option<u32>,
    /// How long it has to be better; not with `never`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hold_ms: Option<u64>,
}

/// A candidate.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(not(feature = "_agent"), non_exhaustive)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct CandidateView {
    /// Announced name.
    pub name: String,
    /// 16 hexadecimal digits.
    pub id: String,
    /// The preference of operators: the smallest class wins.
    pub class: u8,
    /// Decides between candidates of one class: the smallest attribute wins.
    pub attribute: u32,
    /// The centrality level that it announces where that counts: 0 is the centre, 15 the worst or unknown.
    #[serde(default)]
    pub centrality: u8,
    /// The rank of its reliability, as the answering node sees it: 0 is the best, 15 the worst.
    #[serde(default)]
    pub reliability: u8,
    /// `leads`, or `better` or `worse` than the leader; `null` if no leader is listed.
    #[serde(default)]
    pub compared: Option<String>,
    /// The property that decides between it and the leader: `newcomer`, `class`, one of `score`, or `hash`.
    #[serde(default)]
    pub by: Option<String>,
    /// It has been in the group for a while. Candidates that have not rank after those that have.
    pub settled: bool,
    /// It is suspected.
    pub suspect: bool,
}

/// How consistent member lists are about the best candidates of an election, and what follows from that.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(not(feature = "_agent"), non_exhaustive)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct ChurnView {
    /// The election.
    pub election: String,
    /// The expected number of lists that lack a good candidate (c).
    pub missing: f64,
    /// The same as a share of all lists.
    pub missing_rate: f64,
    /// The number of observations behind the estimate, including the ten of the prior.
    pub trials: f64,
    /// The number of lists that the next round reads.
    pub quorum: u64,
    /// The number of members that it asks in addition.
    pub hedge: u64,
    /// The number of lists read beyond c + 1; negative if a sample of a large group suffices.
    pub margin: i64,
    /// The probability that none of the lists names the best candidate.
    pub miss_chance: f64,
    /// The share of asked members that did not answer, in thousandths.
    pub silent_per_mille: u16,
    /// The number of known members, including the answering node.
    pub known: u64,
}

/// A request to campaign in an election. Everything is optional; see `consort::ElectionOptions`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(deny_unknown_fields, default)]
pub struct CampaignRequest {
    /// The preference of operators: the smallest class wins, and 255 never leads.
    pub class: u8,
    /// The smallest attribute wins within a class.
    pub attribute: u32,
    /// The key of a numeric tag of this node that determines the attribute. The candidacy follows changes of the tag.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub attribute_tag: Option<String>,
    /// Whether the `highest` or the `lowest` value of the tag wins. Default `highest`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub attribute_order: Option<String>,
    /// The smallest value of the tag that makes a difference. Default 0.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub attribute_min: Option<f64>,
    /// The largest value of the tag that makes a difference. Default 100.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub attribute_max: Option<f64>,
    /// Avoid candidates that members recently found unhealthy.
    pub health: bool,
    /// Notify the best candidate so far at once, and correct it later.
    pub stream: bool,
    /// Replace a leader that stays unhealthy.
    pub replace_unhealthy: bool,
    /// When a better candidate replaces a working leader: `never`, `margin` or `strict`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub preempt: Option<String>,
    /// `group` for one leader of the group, `component` for one per connected component. Default `group`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub mode: Option<String>,
    /// One or more of `attribute`, `centrality` and `reliability`, most important first. Default `attribute`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub score: Option<Words>,
    /// With `margin`: the least difference in the first criterion of `score` in which two candidates differ. Default 1.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub delta: Option<u32>,
    /// With `margin` and `strict`: how long the candidate has to be better. Default 60000.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub hold_ms: Option<u64>,
    /// Withdraw after this time unless the request is repeated, for example because the client was killed. Default:
    /// never.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub lease_ms: Option<u64>,
    /// How long the work needs to stop. The lease lasts at least four times as long. Default: a quarter of the lease.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub grace_ms: Option<u64>,
    /// Identifies the client program. A different program takes the place of the former one: it gets a new token, once
    /// the work of the former one is over, and the former one is refused (`superseded`) until nobody campaigns.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub client: Option<String>,
}

/// A request to stop campaigning.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(deny_unknown_fields, default)]
pub struct WithdrawRequest {
    /// The client program that withdraws. Without it, any candidacy of the node ends.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub client: Option<String>,
}

/// A program that stays for as long as it reads the answer.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(deny_unknown_fields, default)]
pub struct AttendRequest {
    /// The client program, as in its request to campaign.
    pub client: String,
}

/// A report that the work under a token has ended.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(deny_unknown_fields, default)]
pub struct EndedRequest {
    /// The token under which the work ran.
    pub token: String,
}

/// A request to a leader to stop leading.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(deny_unknown_fields, default)]
pub struct ResignRequest {
    /// The member that should lead: its id, or a name that only one member has.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub to: Option<String>,
}

/// One word, or several.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(untagged)]
pub enum Words {
    /// One word.
    One(String),
    /// Several words, in order.
    Many(Vec<String>),
}
