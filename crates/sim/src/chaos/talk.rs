//! What applications tell and ask each other in a storm: at times far more than limits allow.

use crate::engine::Engine;
use crate::oracle::{Panel, Violation};
use crate::world::HostState;
use consort_proto::message::{Filter, Order, Payload};
use consort_proto::{Command, Rng};
use core::time::Duration;

/// Applications that send.
pub(super) struct Talk {
    rng: Rng,
    ticket: u64,
}

impl Talk {
    pub(super) fn new(seed: u64) -> Talk {
        Talk {
            rng: Rng::seed(seed, crate::stream::MESSAGES),
            ticket: 0,
        }
    }

    /// Runs for `span`, in which some send.
    pub(super) fn run_for(
        &mut self,
        engine: &mut Engine<Panel>,
        span: Duration,
    ) -> Result<(), Violation> {
        let end = engine.world().now() + span;
        while engine.world().now() < end {
            let burst = match self.rng.below(8) {
                0 => self.rng.below(100),
                n => n.saturating_sub(4),
            };
            let host = self.rng.below(engine.world().hosts().len() as u32) as usize;
            for _ in 0..burst {
                self.send(engine, host)?;
            }
            let wait = Duration::from_micros(self.rng.below64(2_000_000) + 1);
            let left = end.since(engine.world().now());
            engine.run_for(wait.min(left).max(Duration::from_micros(1)))?;
        }
        Ok(())
    }

    fn send(&mut self, engine: &mut Engine<Panel>, host: usize) -> Result<(), Violation> {
        if engine.world().host(host).state() != HostState::Up {
            return Ok(());
        }
        let payload = Payload(vec![0; self.rng.below(600) as usize]);
        let order = match self.rng.below(4) {
            0 => {
                self.ticket += 1;
                let name = match self.rng.below(2) {
                    0 => "",
                    _ => "load",
                };
                let timeout = self.rng.below64(20_000);
                Order::Query {
                    ticket: self.ticket,
                    name: name.to_owned(),
                    payload,
                    filter: Filter::default(),
                    timeout: Some(Duration::from_millis(timeout)),
                }
            }
            _ => Order::Event {
                name: "deploy".to_owned(),
                payload,
            },
        };
        engine.command(host, Command::Message(order))
    }
}
