//! Ablations of the lock protocol: parts that the model checker and the simulator disable one at a time, in order to
//! see that their oracles notice. Other builds cannot disable a part.

use super::event::LostReason;
use super::shared::Shared;

/// A part of the protocol that is disabled.
#[cfg_attr(not(feature = "_check"), allow(unreachable_pub))]
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Ablation {
    /// A waiting node that consents to another request puts that request in front of its own (P2c).
    Selfblock,
    /// A majority is more than half, not half (P2d).
    Majority,
    /// Consent expires like a lease (P5a).
    ConsentLease,
    /// Answers to expired attempts do not count (P5c).
    Attempts,
    /// Young witnesses do not count (P9b, P10b).
    Maturity,
    /// A witness that starts takes the group's clock as its floor (P9e).
    FloorSync,
    /// A request of a former life can only expire; a later life's consent or release does not settle it (P9f).
    FormerLife,
    /// A token is above every floor (F1).
    Claim,
    /// A raised token is recorded by a majority before it is used (F3).
    Recording,
    /// All members are asked again when a contender disappears (F5).
    FreshRound,
    /// A holder checks its grant again when an answer no longer counts (I3).
    Review,
    /// Nobody else is granted the lock before a holder that lost it for this reason has stopped (I10).
    Notice(LostReason),
}

impl Shared {
    /// Whether `part` is disabled.
    #[cfg(feature = "_check")]
    pub(super) fn lacks(&self, part: Ablation) -> bool {
        self.config.ablation == Some(part)
    }

    #[cfg(not(feature = "_check"))]
    pub(super) const fn lacks(&self, _: Ablation) -> bool {
        false
    }
}
