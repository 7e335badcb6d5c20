//! Parts of the protocol that model checking and simulation take out, one at a time, to see that they notice. Outside
//! of them nothing can be taken out.

use super::event::Loss;
use super::shared::Shared;

/// What is taken out.
#[cfg_attr(not(feature = "_check"), allow(unreachable_pub))]
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Ablation {
    /// Who is let pass while one waits comes first (P2c).
    Selfblock,
    /// More than half, not half (P2d).
    Majority,
    /// Consent counts for a lease (P5a).
    ConsentLease,
    /// Answers to attempts that have lapsed do not count (P5c).
    Attempts,
    /// Young witnesses do not count (P9b, P10b).
    Maturity,
    /// A witness that starts takes the group's clock for its floor (P9e).
    FloorSync,
    /// What a former life asked for can only disappear (P9f).
    FormerLife,
    /// A token is above every floor (F1).
    Claim,
    /// A raised token is recorded before it is used (F3).
    Recording,
    /// Everybody is asked again when a contender disappears (F5).
    FreshRound,
    /// Who holds looks again when something that was said no longer counts (I3).
    Review,
    /// Nobody is let pass before a holder that lost its lock for that reason has stopped (I10).
    Notice(Loss),
}

impl Shared {
    /// Whether a part was taken out.
    #[cfg(feature = "_check")]
    pub(super) fn lacks(&self, part: Ablation) -> bool {
        self.config.ablation == Some(part)
    }

    #[cfg(not(feature = "_check"))]
    pub(super) const fn lacks(&self, _: Ablation) -> bool {
        false
    }
}
