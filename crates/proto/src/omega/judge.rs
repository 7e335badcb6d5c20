//! The leader of a component, as a pure function of its records.

use super::record::{Record, Seat};
use crate::id::{ElectionId, Life, NodeId};
use crate::membership::CLASS_NEVER;
use core::cmp::Reverse;

/// A member of the component that campaigns in an election.
#[derive(Clone, Copy, Debug)]
struct Candidate<'a> {
    record: &'a Record,
    seat: &'a Seat,
    farness: u32,
}

impl Candidate<'_> {
    /// The order of candidates, smallest first: class, farness, attribute, then the greatest id.
    fn order(&self) -> (u8, u32, u32, Reverse<NodeId>) {
        let Seat {
            class, attribute, ..
        } = *self.seat;
        (class, self.farness, attribute, Reverse(self.record.id))
    }
}

/// The leader of a component.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Chosen {
    /// The node's id.
    pub id: NodeId,
    /// The life of the node.
    pub life: Life,
    /// The number of its claim, once it has claimed the lead.
    pub claim: Option<u32>,
    /// The sum of its distances to all other nodes of the component.
    pub farness: u32,
}

/// Chooses the leader from the `records` of one component, each with the sum of its distances.
///
/// The best candidate leads, unless one of its class that claimed the lead before is about as good: not farther from the
/// others by more than `hysteresis` percent, and with an attribute that is worse by less than `margin`. Claims are part
/// of the records, so nodes with equal records choose the same leader (G3). Neither writing the winner's claim nor
/// deleting another one changes the winner.
pub fn leader<'a>(
    records: impl Iterator<Item = (&'a Record, u32)> + Clone,
    election: ElectionId,
    hysteresis: u32,
    margin: u32,
) -> Option<Chosen> {
    let candidates = records.filter_map(|(record, farness)| {
        let seat = record.seat(election)?;
        (seat.class != CLASS_NEVER).then_some(Candidate {
            record,
            seat,
            farness,
        })
    });
    let best = candidates.clone().min_by_key(Candidate::order)?;
    let (class, farness) = (best.seat.class, u64::from(best.farness));
    let near_enough =
        |c: &Candidate<'_>| u64::from(c.farness) * 100 <= farness * (100 + u64::from(hysteresis));
    let least = best.seat.attribute;
    let good_enough = |c: &Candidate<'_>| match c.seat.attribute.checked_sub(least) {
        None | Some(0) => true,
        Some(worse) => worse < margin,
    };
    let claimants = candidates.filter(|c| c.seat.claim.is_some() && c.seat.class == class);
    let kept = claimants.filter(|c| near_enough(c) && good_enough(c));
    let kept = kept.min_by_key(Candidate::order);
    let chosen = kept.unwrap_or(best);
    Some(Chosen {
        id: chosen.record.id,
        life: chosen.record.version.life,
        claim: chosen.seat.claim,
        farness: chosen.farness,
    })
}

/// The greatest claim in an election.
pub(super) fn greatest_claim<'a>(
    records: impl Iterator<Item = &'a Record>,
    election: ElectionId,
) -> u32 {
    let claims = records.filter_map(|r| r.seat(election)?.claim);
    claims.max().unwrap_or(0)
}
