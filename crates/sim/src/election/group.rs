//! The group below the elections: real nodes, and a record of who lists whom.

use super::params::{Health, Params};
use super::trace::{Row, Standing};
use crate::engine::Engine;
use crate::membership::ExperimentError;
use crate::oracle::{Oracle, Verdict};
use crate::routes::Routes;
use crate::world::{Start, World, WorldConfig, id_of};
use consort_proto::election::paper::Listed;
use consort_proto::membership::{Event as MembershipEvent, Phase};
use consort_proto::{Command, Event, Instant, NodeId};

/// Notes every change of every list.
#[derive(Debug)]
pub struct Recorder {
    nodes: usize,
    /// By subject and observer: not listed.
    down: Vec<bool>,
    /// By subject: how many do not list it.
    missing: Vec<u32>,
    /// By subject and observer: suspicions of the observer itself.
    own: Vec<u32>,
    health: Health,
    /// Changes, where they are recorded.
    rows: Option<Vec<Row>>,
}

impl Recorder {
    fn new(nodes: usize, health: Health) -> Recorder {
        Recorder {
            nodes,
            down: vec![false; nodes * nodes],
            missing: vec![0; nodes],
            own: vec![0; nodes * nodes],
            health,
            rows: None,
        }
    }

    fn pair(&self, subject: usize, observer: usize) -> usize {
        subject * self.nodes + observer
    }

    /// How many do not list each node (c_i).
    pub fn missing(&self) -> &[u32] {
        &self.missing
    }

    /// Whether `observer` does not list `subject`.
    pub fn is_missing(&self, subject: usize, observer: usize) -> bool {
        self.down[self.pair(subject, observer)]
    }

    fn set_down(&mut self, subject: usize, observer: usize, down: bool) {
        let pair = self.pair(subject, observer);
        if core::mem::replace(&mut self.down[pair], down) != down {
            let count = &mut self.missing[subject];
            *count = if down { *count + 1 } else { *count - 1 };
        }
    }

    /// What `observer` counted of `subject`, whether it lists it or not.
    pub(super) fn unhealth(&self, world: &World, observer: usize, subject: usize) -> u32 {
        match self.health {
            Health::Own => self.own[self.pair(subject, observer)],
            Health::Heard => {
                let table = world.host(observer).node().membership().table();
                table.get(id_of(subject)).map_or(0, |m| m.suspicion_count)
            }
        }
    }

    /// How `observer` sees `subject` now.
    fn row(&self, world: &World, observer: usize, subject: usize) -> Row {
        let table = world.host(observer).node().membership().table();
        let phase = table
            .get(id_of(subject))
            .map_or(Phase::Down, |member| member.phase);
        Row {
            at: world.now(),
            observer,
            subject,
            standing: match phase {
                Phase::Up => Standing::Alive,
                Phase::Suspected => Standing::Suspect,
                Phase::Down => Standing::Down,
            },
            unhealth: self.unhealth(world, observer, subject),
        }
    }
}

impl Oracle for Recorder {
    fn on_event(&mut self, world: &World, observer: usize, event: &Event) -> Verdict {
        let Event::Membership(event) = event else {
            return Ok(());
        };
        let (id, down) = match *event {
            MembershipEvent::Up { id, .. } => (id, false),
            MembershipEvent::Down { id, .. } => (id, true),
            MembershipEvent::Suspected { id, by, .. } => {
                if let Some(subject) = world.index_of(id).filter(|_| by == id_of(observer)) {
                    let pair = self.pair(subject, observer);
                    self.own[pair] += 1;
                }
                (id, false)
            }
            _ => return Ok(()),
        };
        if let Some(subject) = world.index_of(id) {
            self.set_down(subject, observer, down);
            if self.rows.is_some() {
                let row = self.row(world, observer, subject);
                self.rows.get_or_insert_default().push(row);
            }
        }
        Ok(())
    }
}

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
    let recorder = Recorder::new(params.nodes, params.health);
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

/// What `observer` lists, itself included, in order of id.
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

/// Records the changes of all lists for a while from now on; those that differ from a perfect list
/// already come first. Times count from now.
pub(super) fn record(
    engine: &mut Engine<Recorder>,
    until: Instant,
) -> Result<Vec<Row>, ExperimentError> {
    let start = engine.world().now();
    let nodes = engine.world().hosts().len();
    let mut rows = Vec::new();
    for observer in 0..nodes {
        for subject in (0..nodes).filter(|&s| s != observer) {
            let row = engine.oracle().row(engine.world(), observer, subject);
            if row.standing != Standing::Alive || row.unhealth > 0 {
                rows.push(row);
            }
        }
    }
    engine.oracle_mut().rows = Some(rows);
    engine.run_until(until)?;
    let mut rows = engine.oracle_mut().rows.take().unwrap_or_default();
    for row in &mut rows {
        row.at = Instant::ZERO + row.at.since(start);
    }
    Ok(rows)
}
