//! The passage of time, for protocols that never come to rest: they are correct if they stay correct.

use super::world::{Core, World};
use consort_proto::Instant;
use core::time::Duration;

/// For how many consecutive seconds a world has to be correct.
const STAYS: u32 = 4;

impl<C: Core> World<C> {
    /// Advances second by second, with some messages lost, until the world has been correct for a few seconds.
    /// Returns false if that takes too long.
    pub fn come_to_rest(&mut self, loss_per_mille: u32, patience: Duration) -> bool {
        let clocks = self.nodes.iter().map(|n| n.clock);
        let mut now = clocks.max().unwrap_or(Instant::ZERO);
        let end = now + patience;
        let mut well = 0;
        while well < STAYS {
            if now >= end {
                return false;
            }
            now = now + Duration::from_secs(1);
            self.run_until(now, loss_per_mille);
            match C::verdict(self) {
                Ok(()) => well += 1,
                Err(_) => well = 0,
            }
        }
        true
    }

    /// Advances time; messages arrive at once.
    fn run_until(&mut self, end: Instant, loss_per_mille: u32) {
        loop {
            if !self.flights.is_empty() {
                let flight = self.flights.remove(0);
                if C::is_beacon(&flight.msg) || self.rng.below(1000) >= loss_per_mille {
                    self.arrive(flight);
                }
                continue;
            }
            let timers = (0..self.nodes.len()).filter_map(|n| Some((self.next_timer(n)?.1, n)));
            let Some((at, node)) = timers.min().filter(|(at, _)| *at <= end) else {
                break;
            };
            // No clock is behind events elsewhere.
            for host in &mut self.nodes {
                host.clock = host.clock.max(at);
            }
            self.fire(node);
        }
        for host in &mut self.nodes {
            host.clock = host.clock.max(end);
        }
    }
}
