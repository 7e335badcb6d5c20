//! What is written down of a member only when there is something to write.

use super::suspicion::Suspicion;
use crate::id::NodeId;
use crate::time::{Instant, micros};
use alloc::boxed::Box;
use core::net::SocketAddrV6;
use core::time::Duration;

/// What few members have.
#[derive(Clone, Debug)]
pub(super) struct Rare {
    pub(super) accuser: NodeId,
    pub(super) suspicion: Option<Box<Suspicion>>,
    pub(super) naps_until: Instant,
    pub(super) pursue_after: Instant,
    pub(super) expires: Instant,
    /// How long a record is kept, of which `expires` is the end.
    pub(super) kept: Duration,
    pub(super) suspicion_count: u32,
    pub(super) refutation_count: u32,
    /// Suspicions, each fading with time, in 256ths, as of `trouble_at`.
    trouble: u32,
    trouble_at: Instant,
    /// Where it listens, if that is an address of the longer family.
    pub(super) addr: Option<SocketAddrV6>,
}

impl Rare {
    /// What a member has of whom nothing is written down.
    pub(super) fn none(id: NodeId) -> Box<Rare> {
        Box::new(Rare {
            accuser: id,
            suspicion: None,
            naps_until: Instant::ZERO,
            pursue_after: Instant::ZERO,
            expires: Instant::MAX,
            kept: Duration::ZERO,
            suspicion_count: 0,
            refutation_count: 0,
            trouble: 0,
            trouble_at: Instant::ZERO,
            addr: None,
        })
    }

    /// What is left of the trouble, in 256ths.
    pub(super) fn faded(&self, now: Instant, half_life: Duration) -> u32 {
        let age = micros(now.since(self.trouble_at)) / micros(half_life).max(1);
        self.trouble.checked_shr(age.min(64) as u32).unwrap_or(0)
    }

    /// Counts a suspicion.
    pub(super) fn note_suspicion(&mut self, now: Instant, half_life: Duration) {
        self.suspicion_count = self.suspicion_count.saturating_add(1);
        let halvings = micros(now.since(self.trouble_at)) / micros(half_life).max(1);
        self.trouble = self.faded(now, half_life).saturating_add(256);
        // Only whole half-lives were taken off: what is left of the last one is kept.
        let kept = half_life * halvings.min(64) as u32;
        self.trouble_at = if halvings > 64 {
            now
        } else {
            self.trouble_at + kept
        };
    }
}
