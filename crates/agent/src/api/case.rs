//! The accusations against a member.

use super::MemberView;
use consort::{Case, Departure, Member, NodeId};
use core::time::Duration;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// Why a member is suspected or down, as far as the answering node has heard.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct CaseView {
    /// The member, with its known life and incarnation.
    pub member: MemberView,
    /// The accusers, the first one first.
    pub accusers: Vec<AccuserView>,
    /// How long it has been suspected, or was suspected before it went down; `null` if it was not.
    pub suspected_ms: Option<u64>,
    /// The time that it has left to refute, while it is suspected.
    pub verdict_in_ms: Option<u64>,
    /// How long it has been down; `null` if it is not, or if it was down before this node started.
    pub down_ms: Option<u64>,
    /// `failed`, `left` or `restarted`, if it is down.
    pub why: Option<String>,
    /// The time until this node forgets it, if it is down.
    pub forgotten_in_ms: Option<u64>,
    /// The time since this node itself heard from it.
    pub heard_ms: u64,
}

/// One accuser.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct AccuserView {
    /// 16 hexadecimal digits.
    pub id: String,
    /// Announced name; empty if this node does not know it.
    pub name: String,
    /// The time since this node heard of the accusation.
    pub heard_ms: u64,
}

fn ms(span: Duration) -> u64 {
    span.as_millis() as u64
}

impl CaseView {
    /// Uses the names that the answering node knows.
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
