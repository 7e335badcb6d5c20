//! Storms that are recorded, to be watched.

use super::{ChaosParams, ChaosReport, Elections, Locks, chaos_in, rerun};
use crate::oracle::Violation;
use crate::recording::{Change, Recorder, Recording, Stage};
use crate::world::WorldConfig;
use consort_proto::mutex::LockId;

/// Runs the scenario of `seed` and records it. A violation is the last thing in the recording.
pub fn chaos_recorded(
    seed: u64,
    params: &ChaosParams,
    recording: &Recording,
) -> Result<ChaosReport, Violation> {
    let result = chaos_in(seed, params, |_| {}, Some(recording));
    match &result {
        Ok(report) => {
            let after = report.converged_after;
            let text = format!("no violation; agreed {after:?} after the last fault");
            recording.end(recording.now(), &text);
        }
        Err(violation) => {
            let text = violation.to_string();
            recording.push(violation.at, &Change::Note(&text));
            recording.end(violation.at, &text);
        }
    }
    result.map_err(|violation| Violation {
        rerun: rerun(seed, params),
        ..violation
    })
}

/// Begins the recording of a world.
pub(super) fn begin(
    recording: &Recording,
    config: &WorldConfig,
    elections: &Elections,
    locks: Option<&Locks>,
) -> Recorder {
    let names = locks.map_or(&[][..], Locks::names);
    let held: Vec<_> = elections.held.iter().map(|e| e.0).collect();
    let stage = Stage {
        elections: ["one", "two"][..held.len()]
            .iter()
            .map(|&n| n.into())
            .collect(),
        locks: names.iter().map(|&n| n.into()).collect(),
        ..Stage::of_layout("chaos", &config.layout)
    };
    recording.begin(&stage, config.seed);
    Recorder::new(
        recording,
        held,
        names.iter().map(|n| LockId::of(n)).collect(),
    )
}
