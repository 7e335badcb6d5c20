//! Whom this node tells where it is. A coordinate takes as much as the rest of a header, and moves little once it has
//! settled: a member hears it when it changed, and now and then in case that was lost.

use super::Membership;
use super::distance::DistanceSource;
use crate::coordinate::Coordinate;
use crate::hash::mix;
use crate::id::NodeId;

/// One datagram in so many tells the coordinate anyway.
const REPEAT_EVERY: u64 = 32;
/// Of all datagrams one in so many may tell that it changed, in the long run...
const SHARE: u16 = 8;
/// ... and so many in a row.
const SAVED_MAX: u16 = 64;
/// Versions that members can be behind. 0 is a member that was told nothing.
const VERSIONS: u8 = 7;

/// What members were told of this node's coordinate.
#[derive(Clone, Debug)]
pub(crate) struct Placing {
    told: Option<Coordinate>,
    version: u8,
    /// Datagrams that may carry a change, in parts of one.
    credit: u16,
    sent: u64,
}

impl Default for Placing {
    fn default() -> Placing {
        Placing {
            told: None,
            version: VERSIONS,
            credit: SAVED_MAX * SHARE,
            sent: 0,
        }
    }
}

impl Placing {
    /// Notes that the coordinate is `now`: members are told if it moved so far that it matters.
    fn note(&mut self, now: Coordinate, configured: bool) {
        let moved = match self.told {
            None => true,
            Some(told) if configured => told != now,
            Some(told) => told.is_far_from(&now),
        };
        if moved {
            self.told = Some(now);
            self.version = self.version % VERSIONS + 1;
        }
    }
}

/// Whether the datagram with this number tells the coordinate anyway. Not every 32nd: in turns these could all go to the
/// same members.
fn is_repeated(number: u64) -> bool {
    mix(number).is_multiple_of(REPEAT_EVERY)
}

#[cfg(test)]
impl Placing {
    /// Whether the next datagram tells the coordinate anyway.
    pub(super) fn is_repeated_next(&self) -> bool {
        is_repeated(self.sent.wrapping_add(1))
    }
}

impl Membership {
    /// The coordinate for a datagram to `to`, if it should say where this node is.
    pub(crate) fn place_for(&mut self, to: Option<NodeId>) -> Option<Coordinate> {
        let place = self.coordinate?;
        let configured = self.config.distance_source == DistanceSource::Position;
        let placing = &mut self.placing;
        placing.note(place, configured);
        placing.sent = placing.sent.wrapping_add(1);
        placing.credit = (placing.credit + 1).min(SAVED_MAX * SHARE);
        let repeated = is_repeated(placing.sent);
        let version = placing.version;
        let Some(member) = to.and_then(|id| self.table.touch(id)) else {
            return repeated.then_some(place);
        };
        let changed = member.told_place() != version && self.placing.credit >= SHARE;
        if changed {
            self.placing.credit -= SHARE;
        }
        if !changed && !repeated {
            return None;
        }
        member.set_told_place(version);
        Some(place)
    }
}
