//! How many datagrams a second are looked at.

use crate::bucket::Bucket;
use crate::time::Instant;

/// Most datagrams that are looked at in a second, by how well their sender is known. After a while of silence as many
/// are taken at once.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rates {
    /// Of members, from the address that this node knows. Default 20 000.
    pub members: u32,
    /// In the name of a member from elsewhere. Default 2000.
    pub known: u32,
    /// Of others. Default 500.
    pub strangers: u32,
    /// Challenges that are made in a second, and answered. Default 100.
    pub challenges: u32,
}

impl Default for Rates {
    fn default() -> Self {
        Rates {
            members: 20_000,
            known: 2000,
            strangers: 500,
            challenges: 100,
        }
    }
}

impl Rates {
    /// Where bytes are dear.
    pub const SLOW: Rates = Rates {
        members: 200,
        known: 50,
        strangers: 20,
        challenges: 10,
    };
}

/// How well the sender of a datagram is known, before anything of it is believed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Class {
    Member,
    Known,
    Stranger,
}

/// Counts datagrams by class.
#[derive(Clone, Debug)]
pub(crate) struct Gates {
    members: Bucket,
    known: Bucket,
    strangers: Bucket,
}

impl Gates {
    pub(crate) fn new(rates: Rates) -> Gates {
        Gates {
            members: Bucket::new(rates.members),
            known: Bucket::new(rates.known),
            strangers: Bucket::new(rates.strangers),
        }
    }

    /// Whether one more datagram of this class is looked at; if not, it is counted.
    pub(crate) fn pass(&mut self, now: Instant, class: Class, stats: &mut super::Stats) -> bool {
        let (bucket, dropped) = match class {
            Class::Member => (&mut self.members, &mut stats.rate_dropped_members),
            Class::Known => (&mut self.known, &mut stats.rate_dropped_known),
            Class::Stranger => (&mut self.strangers, &mut stats.rate_dropped_strangers),
        };
        let passes = bucket.take(now);
        *dropped += u64::from(!passes);
        passes
    }
}
