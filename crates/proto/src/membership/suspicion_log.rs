//! The accusations against members: who accused whom and when, as far as this node has heard.
//!
//! No decision of the protocol depends on the log. It outlives a suspicion, so that applications can ask why a member is
//! down for as long as its record is kept. It has at most one entry for each listed member.

use super::event::{Departure, Event};
use super::member::Phase;
use super::{Membership, MembershipCx};
use crate::id::{Life, NodeId};
use crate::time::Instant;
use alloc::collections::BTreeMap;
use alloc::vec::Vec;

/// The greatest number of accusers that are remembered for one member.
const ACCUSERS_MAX: usize = 8;

/// The accusations against a member that is suspected or down.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Case {
    /// The life that was accused.
    pub life: Life,
    /// The accusers with the time at which this node heard of each; the first accuser first.
    pub accusers: Vec<(NodeId, Instant)>,
    /// The time at which this node first heard that the member is suspected.
    pub suspected: Option<Instant>,
    /// The end of the time in which the member can refute, while it is suspected.
    pub deadline: Option<Instant>,
    /// The time at which it was declared down or said goodbye, and which of both.
    pub down: Option<(Instant, Departure)>,
}

impl Case {
    fn accuse(&mut self, now: Instant, by: NodeId) {
        let known = self.accusers.iter().any(|a| a.0 == by);
        if !known && self.accusers.len() < ACCUSERS_MAX {
            self.accusers.push((by, now));
        }
    }
}

/// The cases of all members that are suspected or down, as far as this node saw them begin.
#[derive(Clone, Debug, Default)]
pub(crate) struct SuspicionLog(BTreeMap<NodeId, Case>);

impl SuspicionLog {
    /// Records a change of the member list.
    fn note(&mut self, now: Instant, event: Event) {
        match event {
            Event::Suspected { id, life, by } => {
                let case = self.case(id, life);
                case.suspected.get_or_insert(now);
                case.accuse(now, by);
            }
            Event::Down { id, life, why, by } => {
                let case = self.case(id, life);
                case.down = Some((now, why));
                if by != id {
                    case.accuse(now, by);
                }
            }
            Event::Up { id, .. } => self.forget(id),
            _ => {}
        }
    }

    /// Records a further accuser of a suspect.
    pub(super) fn accuse(&mut self, now: Instant, id: NodeId, by: NodeId) {
        if let Some(case) = self.0.get_mut(&id) {
            case.accuse(now, by);
        }
    }

    /// Removes the case of a member that is back or no longer listed.
    pub(super) fn forget(&mut self, id: NodeId) {
        self.0.remove(&id);
    }

    fn case(&mut self, id: NodeId, life: Life) -> &mut Case {
        let case = self.0.entry(id).or_default();
        if case.life != life {
            *case = Case {
                life,
                ..Case::default()
            };
        }
        case
    }
}

impl Membership {
    /// Reports a member that came, is suspected or went.
    pub(super) fn report(&mut self, cx: &mut MembershipCx<'_>, event: Event) {
        self.log.note(cx.now, event);
        cx.emit(event);
    }

    /// The accusations against a member; `None` if it is not listed or up. Of a member that was down when this node
    /// heard of it first, only its record is known, and its accuser.
    pub fn case(&self, id: NodeId) -> Option<Case> {
        let member = self.table.get(id)?;
        if member.phase == Phase::Up {
            return None;
        }
        let known = self.log.0.get(&id).cloned();
        Some(Case {
            deadline: member.suspicion().map(|s| s.deadline),
            ..known.unwrap_or_default()
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ID: NodeId = NodeId(7);

    fn note(log: &mut SuspicionLog, seconds: u64, event: Event) {
        log.note(Instant::from_micros(seconds * 1_000_000), event);
    }

    fn suspected(life: u64, by: u64) -> Event {
        let (life, by) = (Life(life), NodeId(by));
        Event::Suspected { id: ID, life, by }
    }

    #[test]
    fn a_case_has_its_accusers_in_order_and_ends_when_the_member_is_back() {
        let mut log = SuspicionLog::default();
        note(&mut log, 1, suspected(1, 3));
        note(&mut log, 2, suspected(1, 3));
        let (id, life, by) = (ID, Life(1), NodeId(4));
        let why = Departure::Failed;
        note(&mut log, 9, Event::Down { id, life, why, by });
        let case = &log.0[&ID];
        let seconds = |at: Instant| at.as_micros() / 1_000_000;
        let accusers: Vec<_> = case
            .accusers
            .iter()
            .map(|a| (a.0.0, seconds(a.1)))
            .collect();
        assert_eq!(accusers, [(3, 1), (4, 9)]);
        assert_eq!(case.suspected.map(seconds), Some(1));
        assert_eq!(case.down.map(|d| seconds(d.0)), Some(9));
        // Another life is another case.
        note(&mut log, 20, suspected(2, 5));
        assert_eq!(log.0[&ID].accusers.len(), 1);
        assert_eq!(log.0[&ID].down, None);
        let how = super::super::Arrival::Refuted;
        let life = Life(2);
        note(&mut log, 21, Event::Up { id, life, how });
        assert!(log.0.is_empty());
    }

    #[test]
    fn accusers_are_bounded() {
        let mut log = SuspicionLog::default();
        for by in 10..100 {
            note(&mut log, 1, suspected(1, by));
        }
        assert_eq!(log.0[&ID].accusers.len(), ACCUSERS_MAX);
    }
}
