//! Somebody on the network who has no key: it copies datagrams and shows them again, to others or from elsewhere, holds
//! them back, and alters them.

use crate::queue::Due;
use crate::stream;
use crate::world::World;
use consort_proto::{Incarnation, Rng};
use core::time::Duration;

/// One datagram in so many is attacked.
const SHARE: u32 = 6;

/// Longest time after which a copy is shown, and for which a datagram is held back.
const COPY_MS: u32 = 60_000;
const HOLD_MS: u32 = 3_000;

/// The attacker of a run, with a random stream of its own: the world without it stays the same.
#[derive(Debug)]
pub(crate) struct Attacker {
    rng: Rng,
    /// Number of attacks.
    pub(crate) attacks: u64,
}

impl Attacker {
    pub(crate) fn new(seed: u64) -> Attacker {
        Attacker {
            rng: Rng::seed(seed, stream::ATTACKS),
            attacks: 0,
        }
    }

    /// Does something with a datagram that is under way, or nothing. Returns for how much longer it is held back.
    pub(crate) fn see(&mut self, world: &mut World, slot: usize) -> Duration {
        if self.rng.below(SHARE) != 0 {
            return Duration::ZERO;
        }
        self.attacks += 1;
        let what = self.rng.below(5);
        if what == 0 {
            return Duration::from_millis(self.rng.below(HOLD_MS).into());
        }
        let at = world.now + Duration::from_millis(self.rng.below(COPY_MS).into());
        let other = self.rng.below(world.hosts.len() as u32);
        let copy = world.pool.duplicate(slot);
        let packet = world.pool.packet_mut(copy);
        match what {
            // The same again.
            1 => {}
            // To somebody else.
            2 => packet.to = other,
            // From somebody else's address.
            3 => packet.from = other,
            // With another contents; whoever has no key cannot make the tag for it.
            _ => {
                let header = &mut packet.datagram.header;
                header.incarnation = Incarnation(header.incarnation.0.saturating_add(9));
                header.leaving = !header.leaving;
                if let Some(envelope) = &mut packet.datagram.envelope {
                    envelope.counter += u64::from(self.rng.below(3));
                    envelope.tag ^= 1 << self.rng.below(64);
                }
            }
        }
        world.queue.push(at, Due::Deliver(copy));
        Duration::ZERO
    }
}
