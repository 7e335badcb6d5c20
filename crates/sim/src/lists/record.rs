//! Records member lists while real nodes run.

use super::trace::{Row, Standing, Trace};
use crate::engine::Engine;
use crate::oracle::{Oracle, Verdict};
use crate::world::{Start, World, id_of};
use consort_proto::membership::{Event as MembershipEvent, Phase};
use consort_proto::{Event, Instant};

/// What nodes count as the unhealth of another.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "clap", derive(clap::ValueEnum))]
pub enum Health {
    /// How often they heard it suspected, by any node.
    #[default]
    Heard,
    /// How often they suspected it themselves.
    Own,
}

/// Records every change of every list.
#[derive(Debug)]
pub struct Recorder {
    nodes: usize,
    /// By subject and observer: whether it is not listed.
    down: Vec<bool>,
    /// By subject: number of nodes that do not list it.
    missing: Vec<u32>,
    /// By subject and observer: suspicions by the observer itself.
    own: Vec<u32>,
    health: Health,
    /// Changes, if they are recorded.
    rows: Option<Vec<Row>>,
    /// Start of the recording.
    since: Instant,
}

impl Recorder {
    pub(crate) fn new(nodes: usize, health: Health, start: Start) -> Recorder {
        let cold = matches!(start, Start::Cold { .. });
        let others = nodes.saturating_sub(1) as u32;
        Recorder {
            nodes,
            down: (0..nodes * nodes)
                .map(|pair| cold && pair / nodes != pair % nodes)
                .collect(),
            missing: vec![if cold { others } else { 0 }; nodes],
            own: vec![0; nodes * nodes],
            health,
            rows: None,
            since: Instant::ZERO,
        }
    }

    fn pair(&self, subject: usize, observer: usize) -> usize {
        subject * self.nodes + observer
    }

    /// Number of nodes that do not list each node (c_i).
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

    fn note(&mut self, world: &World, observer: usize, subject: usize, down: bool) {
        self.set_down(subject, observer, down);
        if self.rows.is_some() {
            let row = self.row(world, observer, subject);
            self.rows.get_or_insert_default().push(row);
        }
    }

    /// The unhealth of `subject` at `observer`, whether it lists it or not.
    pub(crate) fn unhealth(&self, world: &World, observer: usize, subject: usize) -> u32 {
        match self.health {
            Health::Own => self.own[self.pair(subject, observer)],
            Health::Heard => {
                let table = world.host(observer).node().membership().table();
                table.get(id_of(subject)).map_or(0, |m| m.suspicion_count())
            }
        }
    }

    /// The current entry of `subject` at `observer`.
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
            self.note(world, observer, subject, down);
        }
        Ok(())
    }

    /// A process begins with an empty list: entries that it restores are not seen here.
    fn on_restart(&mut self, world: &World, observer: usize) -> Verdict {
        for subject in (0..self.nodes).filter(|&s| s != observer) {
            self.note(world, observer, subject, true);
        }
        Ok(())
    }
}

impl Engine<Recorder> {
    /// Records the changes of all lists from now on; entries that already differ from a perfect list come first.
    pub(crate) fn start_recording(&mut self) {
        let nodes = self.world().hosts().len();
        let mut rows = Vec::new();
        for observer in 0..nodes {
            for subject in (0..nodes).filter(|&s| s != observer) {
                let row = self.oracle().row(self.world(), observer, subject);
                if row.standing != Standing::Alive || row.unhealth > 0 {
                    rows.push(row);
                }
            }
        }
        self.oracle_mut().since = self.world().now();
        self.oracle_mut().rows = Some(rows);
    }

    /// The recorded trace. Times count from its start.
    pub(crate) fn end_recording(&mut self) -> Trace {
        let since = self.oracle().since;
        let mut rows = self.oracle_mut().rows.take().unwrap_or_default();
        for row in &mut rows {
            row.at = Instant::ZERO + row.at.since(since);
        }
        Trace {
            nodes: self.world().hosts().len(),
            points: self.world().net().layout().points.clone(),
            rows,
        }
    }
}
