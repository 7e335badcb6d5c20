//! Messages of applications: events that are sent to all members, and queries that members answer.

pub use crate::error::SendError;
pub use crate::talk::{
    Answers, IncomingQuery, MemberSummary, Message, Messages, Queries, QueryOptions, QueryUpdate,
    Reachability, Summaries, Summary,
};
pub use consort_proto::message::{Config, SendError as SendRefusal};
