//! What is held against a member.

use super::MemberView;
use consort::{Case, Departure, Member, NodeId};
use core::time::Duration;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// Why a member is suspected or down, as far as the answering node has heard.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct CaseView {
    /// The member, with the life and incarnation that are held.
    pub member: MemberView,
    /// Who accused it, the first first.
    pub accusers: Vec<AccuserView>,
    /// For how long it is suspected, or was when it went down; `null` when it was not.
    pub suspected_ms: Option<u64>,
    /// How long it has left to answer, while it is suspected.
    pub verdict_in_ms: Option<u64>,
    /// For how long it is down; `null` when it is not, or was before the node came.
    pub down_ms: Option<u64>,
    /// `failed`, `left` or `restarted`, when it is down.
    pub why: Option<String>,
    /// How long until the node forgets it, when it is down.
    pub forgotten_in_ms: Option<u64>,
    /// How long ago the node heard from it itself.
    pub heard_ms: u64,
}

/// One accuser.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct AccuserView {
    /// 16 hexadecimal digits.
    pub id: String,
    /// Announced name; empty when the node does not know it.
    pub name: String,
    /// How long ago that was heard.
    pub heard_ms: u64,
}

fn ms(span: Duration) -> u64 {
    span.as_millis() as u64
}

impl CaseView {
    /// With the names that the answering node knows.
    pub(crate) fn new(case: &Case, members: &[Member]) -> CaseView {
        let name = |id: NodeId| {
            let known = members.iter().find(|m| m.id == id);
            known.map_or_else(String::new, |m| m.name().to_owned())
        };
        let accuser = |&(id, heard): &(NodeId, Duration)| AccuserView {
            id: id.to_string(),
            name: name(id),
            heard_ms: ms(heard),
        };
        let why = |why| match why {
            Departure::Failed => "failed",
            Departure::Left => "left",
            Departure::Restarted => "restarted",
        };
        CaseView {
            member: MemberView::from(&case.member),
            accusers: case.accusers.iter().map(accuser).collect(),
            suspected_ms: case.suspected.map(ms),
            verdict_in_ms: case.verdict_in.map(ms),
            down_ms: case.down.map(|(span, _)| ms(span)),
            why: case.down.map(|(_, reason)| why(reason).to_owned()),
            forgotten_in_ms: case.forgotten_in.map(ms),
            heard_ms: ms(case.heard),
        }
    }
}
