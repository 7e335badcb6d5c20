//! Bodies about application messages.

use serde::{Deserialize, Serialize};

/// A request to send an application event to all members.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(deny_unknown_fields)]
pub struct EventRequest {
    /// The name of the event: 1 to 64 bytes without spaces, commas and control characters.
    pub name: String,
    /// The content of the event: up to 512 bytes.
    #[serde(default)]
    pub payload: String,
}

/// The result of sending an event.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(not(feature = "_agent"), non_exhaustive)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct SentView {
    /// The number of the event among the messages of this node, from 1.
    pub seq: u32,
}

/// A received application event or query.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(not(feature = "_agent"), non_exhaustive)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct MessageView {
    /// The name of the message.
    pub name: String,
    /// The content of the message; bytes that are not valid text are replaced.
    pub payload: String,
    /// The content in hexadecimal digits, if it is not valid text.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub payload_hex: Option<String>,
    /// The number among the messages of this life of its sender, which gives the order in which they were sent.
    pub seq: u32,
}

/// A query to members.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(deny_unknown_fields)]
pub struct QueryRequest {
    /// The name of the query: 1 to 64 bytes without spaces, commas and control characters.
    pub name: String,
    /// The content of the query: up to 512 bytes.
    #[serde(default)]
    pub payload: String,
    /// Ask only members with one of these names or ids; at most 16.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub nodes: Vec<String>,
    /// Ask only members that have all of these tags, `KEY` or `KEY=VALUE` each; at most 16.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tags: Vec<String>,
    /// How long to wait for answers. Default 3000 (more in slower profiles), at most 300000.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub timeout_ms: Option<u64>,
    /// Whether to send every answer at once, as server-sent events, each a `QueryUpdateView`.
    #[serde(default)]
    pub stream: bool,
}

/// A member that did not answer.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(not(feature = "_agent"), non_exhaustive)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct SilentView {
    /// Announced name.
    pub name: String,
    /// 16 hexadecimal digits.
    pub id: String,
}

/// An update of a query. Fields that do not apply are left out.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(not(feature = "_agent"), non_exhaustive)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct QueryUpdateView {
    /// `answer`, `declined` (that member does not know the query) or `finished` (the last update).
    pub update: String,
    /// Announced name of the member that answered.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// The id of that member.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub id: Option<String>,
    /// Its answer; bytes that are not valid text are replaced.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub payload: Option<String>,
    /// The answer in hexadecimal digits, if it is not valid text.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub payload_hex: Option<String>,
    /// The time since the query was sent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub after_ms: Option<u64>,
    /// `finished`: the members that were present when the query was sent and did not answer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub silent: Option<Vec<SilentView>>,
}

/// All answers to a query.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(not(feature = "_agent"), non_exhaustive)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct QueryView {
    /// The answers in the order of their arrival.
    pub answers: Vec<QueryUpdateView>,
    /// The members that do not know the query.
    pub declined: Vec<SilentView>,
    /// The members that did not answer.
    pub silent: Vec<SilentView>,
}

/// A member that was reached.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(not(feature = "_agent"), non_exhaustive)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct ReachedView {
    /// Announced name.
    pub name: String,
    /// 16 hexadecimal digits.
    pub id: String,
    /// The time between the question and its answer.
    pub after_ms: u64,
}

/// Which members can be reached.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(not(feature = "_agent"), non_exhaustive)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct ReachabilityView {
    /// The members that answered, quickest first.
    pub reached: Vec<ReachedView>,
    /// The members that are listed as alive or suspect and did not answer.
    pub silent: Vec<SilentView>,
}
