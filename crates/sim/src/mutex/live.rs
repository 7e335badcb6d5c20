//! Lists of a live group: real nodes run membership at the same positions, under the same loss, delays and faults,
//! and their lists are recorded. Locks do not affect membership, so all of them can be given the same record.

use super::params::Params;
use super::trouble::{Fault, Trouble};
use crate::engine::Engine;
use crate::fault::{self, Keep};
use crate::lists::{Health, Recorder, Trace};
use crate::membership::{self, ExperimentError, Failures, Profile};
use crate::net::Conditions;
use crate::routes::Routes;
use crate::world::{Start, WorldConfig};
use consort_proto::Command;
use core::time::Duration;

/// How a live group runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Group {
    /// Settings of membership.
    pub profile: Profile,
    /// Whether nodes know only some seeds when the first requests arrive.
    pub forming: bool,
}

/// How long a group that does not form runs before the first requests arrive.
const WARMUP: Duration = Duration::from_secs(100);
/// Number of nodes that all nodes can contact after a start.
const SEEDS: usize = 4;
/// Exponent of spatial probing.
const EXPONENT: f32 = 3.0;

/// Whether a group can meet these faults: they must not depend on who is inside, nor concern lists.
pub(super) fn can_meet(trouble: &Trouble) -> bool {
    use Trouble::{Churn, Joins, None, Partition};
    matches!(trouble, None | Churn(_) | Joins(..) | Partition(..))
}

/// Runs a group and records its lists, from the first requests on.
pub(super) fn record(
    params: &Params,
    group: Group,
    faults: &[(Duration, Fault)],
    seed: u64,
) -> Result<Trace, ExperimentError> {
    let below = membership::Params {
        nodes: params.nodes,
        conditions: Conditions {
            loss_per_hop: params.drop,
            hop_delay_max: Duration::from_millis(params.hop_delay_ms.into()),
            ..Conditions::default()
        },
        failures: Failures::Nodes(0),
        exponent: Some(EXPONENT),
        profile: group.profile,
        ..membership::Params::default()
    };
    let layout = params.layout(seed)?;
    let seeds = SEEDS;
    let config = WorldConfig {
        node: below.config(),
        layout: layout.clone(),
        conditions: below.conditions,
        seed,
        start: match group.forming {
            true => Start::Cold { seeds },
            false => Start::Warm { seeds },
        },
        sample_every: None,
        trace: crate::Trace::default(),
    };
    let recorder = Recorder::new(params.nodes, Health::Heard, config.start);
    let mut live = Live {
        engine: Engine::new(config, recorder)?,
        below,
        routes: Routes::new(layout),
    };
    for host in 0..params.nodes {
        live.measure(host)?;
    }
    for host in params.trouble.absent(params.nodes) {
        live.strike(Fault::Crash(host))?;
    }
    if !group.forming {
        live.engine.run_for(WARMUP)?;
    }
    live.engine.start_recording();
    let start = live.engine.world().now();
    for &(after, fault) in faults {
        live.engine.run_until(start + after)?;
        live.strike(fault)?;
    }
    live.engine.run_until(start + params.limit)?;
    Ok(live.engine.end_recording())
}

struct Live {
    engine: Engine<Recorder>,
    below: membership::Params,
    routes: Routes,
}

impl Live {
    /// Gives a node the distances to the others.
    fn measure(&mut self, host: usize) -> Result<(), ExperimentError> {
        let known = self.below.proximities(&mut self.routes, host);
        Ok(self.engine.command(host, Command::SetProximity(known))?)
    }

    fn strike(&mut self, fault: Fault) -> Result<(), ExperimentError> {
        let nodes = self.below.nodes;
        match fault {
            Fault::Crash(host) => {
                self.engine.strike(fault::Fault::Crash(host))?;
                // The process ends; the device still forwards, as it does for locks.
                let net = self.engine.world_mut().net_mut();
                net.routes().set_alive(host, true);
            }
            Fault::Start(host) => {
                let keep = Keep::Life;
                self.engine.strike(fault::Fault::Restart { host, keep })?;
                self.measure(host)?;
            }
            Fault::Cut(cut) => {
                let sides = (0..nodes).map(|host| u8::from(host >= cut)).collect();
                self.engine.strike(fault::Fault::Partition(sides))?;
            }
            Fault::Heal => self.engine.strike(fault::Fault::Heal)?,
            Fault::CrashHolder
            | Fault::CrashShare(_)
            | Fault::RestartShare(_)
            | Fault::Unlist(..)
            | Fault::List(..) => {}
        }
        Ok(())
    }
}
