//! The group below the elections: real nodes, and a record of their lists.

use super::params::Params;
use crate::engine::Engine;
use crate::lists::{Recorder, Trace};
use crate::membership::ExperimentError;
use crate::routes::Routes;
use crate::units::at_tu;
use crate::world::{Start, WorldConfig, id_of};
use consort_papers::election::Listed;
use consort_proto::membership::Phase;
use consort_proto::{Command, NodeId};

/// A group at its start.
pub(super) fn group(params: &Params, seed: u64) -> Result<Engine<Recorder>, ExperimentError> {
    let membership = params.membership();
    let layout = params.layout(seed)?;
    let config = WorldConfig {
        node: membership.config(),
        layout: layout.clone(),
        conditions: membership.conditions,
        seed,
        start: Start::Warm { seeds: 0 },
        sample_every: None,
        trace: crate::Trace::default(),
    };
    let recorder = Recorder::new(params.nodes, params.health, config.start);
    let mut engine = Engine::new(config, recorder)?;
    engine.world_mut().net_mut().set_frailty(params.frailty());
    let mut routes = Routes::new(layout);
    if membership.is_spatial() {
        for host in 0..params.nodes {
            let proximities = membership.proximities(&mut routes, host);
            engine.command(host, Command::SetProximity(proximities))?;
        }
    }
    Ok(engine)
}

/// The list of `observer`, including itself, in order of id.
pub(super) fn list(engine: &Engine<Recorder>, observer: usize, out: &mut Vec<Listed>) {
    let world = engine.world();
    let me = id_of(observer);
    let myself = Listed {
        id: me,
        unhealth: 0,
    };
    out.clear();
    let table = world.host(observer).node().membership().table();
    let mut listed = false;
    for member in table.iter().filter(|m| m.phase != Phase::Down) {
        if !listed && member.id > me {
            out.push(myself);
            listed = true;
        }
        let subject = index(member.id);
        out.push(Listed {
            id: member.id,
            unhealth: engine.oracle().unhealth(world, observer, subject),
        });
    }
    if !listed {
        out.push(myself);
    }
}

/// The number of a simulated node, which is its hash rank.
pub(super) fn index(id: NodeId) -> usize {
    (id.0 as usize).saturating_sub(1)
}

impl Trace {
    /// Records the views of a live group from the end of its warm-up on.
    pub fn record(params: &Params, seed: u64, span: f64) -> Result<Trace, ExperimentError> {
        params.check()?;
        let mut engine = group(params, seed)?;
        engine.run_until(at_tu(params.warmup))?;
        engine.start_recording();
        engine.run_until(at_tu(params.warmup + span))?;
        Ok(engine.end_recording())
    }
}
