//! I13: an isolated node keeps its verdicts to itself.

use super::{Oracle, Verdict, slot, violated};
use crate::world::World;
use alloc::collections::BTreeMap;
use consort_proto::membership::{JoinState, Precedence};
use consort_proto::wire::Datagram;
use consort_proto::{Instant, NodeId};

/// Periods after the silence that isolates a node until it must have noticed: a tick of an unhealthy node takes
/// eight, an unnoticed pause two.
const NOTICE_PERIODS: u32 = 12;

/// Determines from deliveries alone which process is isolated, and checks that from then on none of its records
/// changes: records are what is gossiped. A pause is no excuse: a process that resumes has heard nobody, whether it
/// could have or not.
#[derive(Debug, Default)]
pub struct Isolation {
    hosts: Vec<Silence>,
}

#[derive(Debug, Default)]
struct Silence {
    heard: Option<Instant>,
    /// Its records at the time when it must have noticed.
    held: Option<BTreeMap<NodeId, Precedence>>,
}

impl Oracle for Isolation {
    fn on_deliver(&mut self, world: &World, _: usize, to: usize, _: &Datagram) -> Verdict {
        self.start(world, to)
    }

    fn after_step(&mut self, world: &World, host: usize) -> Verdict {
        let silence = slot(&mut self.hosts, host);
        let membership = world.host(host).node().membership();
        let table = membership.table();
        if let Some(held) = &silence.held {
            for member in table.iter() {
                if held.get(&member.id).is_none_or(|h| member.precedence > *h) {
                    let text = format!(
                        "says {:?} of {} and hears nobody",
                        member.precedence, member.id
                    );
                    return violated("I13", world, host, text);
                }
            }
            return Ok(());
        }
        let config = &world.node_config().membership;
        let heard = silence.heard.unwrap_or(world.host(host).started());
        let least = config.suspicion_min(table.live() + 1) / 2;
        let after = least.max(config.probe_period * 4) + config.probe_period * NOTICE_PERIODS;
        let leaving = matches!(
            membership.join_state(),
            JoinState::Leaving | JoinState::Left
        );
        if world.now().since(heard) > after && table.live() >= 2 && !leaving {
            let records = table.iter().map(|m| (m.id, m.precedence));
            silence.held = Some(records.collect());
        }
        Ok(())
    }

    fn on_restart(&mut self, world: &World, host: usize) -> Verdict {
        self.start(world, host)
    }
}

impl Isolation {
    /// From now on the host hears nobody, as far as is known.
    fn start(&mut self, world: &World, host: usize) -> Verdict {
        *slot(&mut self.hosts, host) = Silence {
            heard: Some(world.now()),
            held: None,
        };
        Ok(())
    }
}
