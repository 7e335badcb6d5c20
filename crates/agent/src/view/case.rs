//! The accusations against a member.

use crate::api::{AccuserView, CaseView};
use consort::membership::{Case, Departure};
use consort::{Member, NodeId};
use core::time::Duration;

fn ms(span: Duration) -> u64 {
    span.as_millis() as u64
}

/// The accusations of a case, with the names that the answering node knows.
pub(crate) fn case(case: &Case, members: &[Member]) -> CaseView {
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
        member: super::member(&case.member),
        accusers: case.accusers.iter().map(accuser).collect(),
        suspected_ms: case.suspected.map(ms),
        verdict_in_ms: case.verdict_in.map(ms),
        down_ms: case.down.map(|(span, _)| ms(span)),
        why: case.down.map(|(_, reason)| why(reason).to_owned()),
        forgotten_in_ms: case.forgotten_in.map(ms),
        heard_ms: ms(case.heard),
    }
}
