//! What a recording has of a network that moves.

use super::params::Params;
use super::truth::Truth;
use crate::mobility::Motion;
use crate::recording::{Change, Recording, Stage};
use consort_proto::Instant;

/// Where nodes go, and how far they hear.
pub(super) fn stage(params: &Params, motion: &Motion) -> Stage {
    let cm = |metres: f64| (metres * 100.0).round() / 100.0;
    let end = Instant::ZERO + params.duration;
    let way = |node: usize| {
        let way = motion.way(node);
        // The first waypoint after the end is where the last line leads.
        let shown = way.partition_point(|w| w.at <= end) + 1;
        let shown = way.iter().take(shown);
        let point = shown.map(|w| {
            let seconds = (w.at.as_micros() as f64 / 1e3).round() / 1e3;
            [seconds, cm(w.point.x), cm(w.point.y)]
        });
        point.collect()
    };
    Stage {
        experiment: "omega",
        nodes: motion.nodes(),
        range: params.range,
        ways: (0..motion.nodes()).map(way).collect(),
        moving: true,
        elections: vec!["leader".into()],
        until_us: end.as_micros(),
        ..Stage::default()
    }
}

/// Links, leaders, and who ought to lead, as far as they changed.
pub(super) fn look(
    recording: &Recording,
    now: Instant,
    truth: &Truth,
    leaders: &[usize],
    params: &Params,
) {
    let push = |change: &Change<'_>| recording.push(now, change);
    for (a, &leader) in leaders.iter().enumerate() {
        for b in 0..a {
            push(&Change::Link(b as u32, a as u32, truth.distance(a, b) == 1));
        }
        let up = truth.is_up(a);
        push(&Change::Follows(0, a as u32, up.then_some(leader as u32)));
        push(&Change::Acts(0, a as u32, up && leader == a));
        if up {
            let right = truth.component(a).leader(params.core.oracle());
            push(&Change::Ought(a as u32, right as u32));
        }
    }
}
