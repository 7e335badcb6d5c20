//! Sources of member lists for elections: a live group, or a trace of one.

use super::group;
use crate::engine::Engine;
use crate::lists::{Recorder, Standing, Trace};
use crate::membership::ExperimentError;
use crate::world::id_of;
use consort_papers::election::Listed;
use consort_proto::Instant;

/// A source of views. Times are those of the election: both sources count from its start.
pub(super) enum Views<'a> {
    Live {
        engine: Box<Engine<Recorder>>,
        start: Instant,
    },
    Trace(Player<'a>),
}

/// A trace, played up to a point in time.
pub(super) struct Player<'a> {
    trace: &'a Trace,
    start: Instant,
    next: usize,
    /// By observer and subject.
    entries: Vec<(bool, u32)>,
}

impl<'a> Player<'a> {
    /// A trace at `start`.
    pub(super) fn new(trace: &'a Trace, start: Instant) -> Player<'a> {
        let entries = vec![(true, 0); trace.nodes * trace.nodes];
        let mut player = Player {
            trace,
            start,
            next: 0,
            entries,
        };
        player.play(start);
        player
    }

    fn play(&mut self, until: Instant) {
        while let Some(row) = self.trace.rows.get(self.next).filter(|row| row.at <= until) {
            let entry = row.observer * self.trace.nodes + row.subject;
            self.entries[entry] = (row.standing != Standing::Down, row.unhealth);
            self.next += 1;
        }
    }
}

impl Views<'_> {
    /// Advances to a time after the start.
    pub(super) fn advance(&mut self, to: Instant) -> Result<(), ExperimentError> {
        let span = to.since(Instant::ZERO);
        match self {
            Views::Live { engine, start } => engine.run_until(*start + span)?,
            Views::Trace(player) => player.play(player.start + span),
        }
        Ok(())
    }

    /// The list of `observer`, including itself, in order of id.
    pub(super) fn list(&self, observer: usize, out: &mut Vec<Listed>) {
        match self {
            Views::Live { engine, .. } => group::list(engine, observer, out),
            Views::Trace(player) => {
                let nodes = player.trace.nodes;
                let row = &player.entries[observer * nodes..(observer + 1) * nodes];
                let listed = row
                    .iter()
                    .enumerate()
                    .filter(|(i, e)| e.0 || *i == observer);
                out.clear();
                out.extend(listed.map(|(i, &(_, unhealth))| Listed {
                    id: id_of(i),
                    unhealth,
                }));
            }
        }
    }

    /// System-wide unhealth of every node: the sum over all others, whether they list it or not.
    pub(super) fn unhealth(&self, nodes: usize) -> Vec<u64> {
        let of = |observer: usize, subject: usize| match self {
            _ if observer == subject => 0,
            Views::Live { engine, .. } => {
                engine.oracle().unhealth(engine.world(), observer, subject)
            }
            Views::Trace(player) => player.entries[observer * nodes + subject].1,
        };
        let sum = |subject| (0..nodes).map(|o| u64::from(of(o, subject))).sum();
        (0..nodes).map(sum).collect()
    }
}
