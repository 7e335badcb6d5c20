//! What is near: distances for the plan, neighbours, who should witness a suspicion, and the
//! neighbourhood of a suspect, which may have failed with it.

use super::distance::DistanceSource;
use super::member::{Member, Phase};
use super::{Membership, MembershipCx, Timer};
use crate::coordinate::Coordinate;
use crate::id::NodeId;
use crate::time::micros;
use alloc::vec::Vec;
use core::time::Duration;

/// Members counted as neighbours where the routing does not tell.
const NEIGHBORS: usize = 8;

impl Membership {
    /// Where this node is, when it knows.
    pub fn coordinate(&self) -> Option<Coordinate> {
        self.coordinate
    }

    /// Takes a measured round trip to `id`.
    pub(super) fn note_rtt(&mut self, cx: &mut MembershipCx<'_>, id: NodeId, rtt_us: u64) {
        let Some(member) = self.table.touch(id) else {
            return;
        };
        let median_us = member.rtt.sample(rtt_us);
        if self.config.distance_source == DistanceSource::Coordinate
            && let (Some(own), Some(other)) = (&mut self.coordinate, member.coordinate())
        {
            own.learn(&other, median_us as f32 / 1000.0, cx.rng);
        }
    }

    /// Computes every member's distance anew, before a plan is made.
    pub(super) fn refresh_distances(&mut self) {
        let (source, own) = (self.config.distance_source, self.coordinate);
        if source == DistanceSource::Given {
            return;
        }
        self.table.touch_live(|member| {
            member.distance = distance(source, own, member).unwrap_or(0.0);
        });
    }

    /// Whether `id` is within one hop, or among the nearest where that is not known.
    pub(super) fn is_neighbor(&self, id: NodeId) -> bool {
        let Some(member) = self.table.get(id) else {
            return false;
        };
        if self.config.distance_source == DistanceSource::Given {
            return member.is_neighbor();
        }
        let nearer = |m: &&Member| m.distance < member.distance;
        self.live_members().filter(nearer).count() < NEIGHBORS
    }

    pub(super) fn live_members(&self) -> impl Iterator<Item = &Member> {
        self.table.iter_live()
    }

    /// Whether this node checks a suspicion of `id`: it is among the nearest to it, or, where nobody
    /// knows who is, it is drawn so that on average as many check.
    pub(super) fn is_witness(&self, cx: &mut MembershipCx<'_>, id: NodeId) -> bool {
        let wanted = usize::from(self.config.witnesses);
        let suspect = self.table.get(id).and_then(|m| m.coordinate());
        if let Some((own, suspect)) = self.coordinate.zip(suspect) {
            let mine = own.distance(&suspect);
            let nearer = |m: &&Member| {
                m.id != id
                    && m.phase == Phase::Up
                    && m.coordinate().is_some_and(|c| c.distance(&suspect) < mine)
            };
            return self.live_members().filter(nearer).count() < wanted;
        }
        let others = self.table.live().saturating_sub(1).max(1) as u32;
        cx.rng.below(others) < wanted as u32
    }

    /// An area may have failed at once: the members nearest to the suspect that were silent lately
    /// are probed too. Their failure sweeps on, so that detection runs from the edge of the area.
    pub(super) fn sweep_around(&mut self, cx: &mut MembershipCx<'_>, suspect: NodeId) {
        let wanted = usize::from(self.config.sweep);
        let Some(center) = self.table.get(suspect).and_then(|m| m.coordinate()) else {
            return;
        };
        if wanted == 0 {
            return;
        }
        let quiet = self.config.probe_period * 2;
        let mut near: Vec<(f32, NodeId)> = self
            .live_members()
            .filter(|m| m.phase == Phase::Up && m.id != suspect)
            .filter(|m| cx.now.since(m.last_contact) > quiet)
            .filter_map(|m| Some((m.coordinate()?.distance(&center), m.id)))
            .collect();
        near.sort_unstable_by(|a, b| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1)));
        for (_, id) in near.into_iter().take(wanted) {
            let wait = cx.rng.below64(micros(self.config.probe_period));
            cx.set_timer(Timer::Sweep(id), cx.now + Duration::from_micros(wait));
        }
    }
}

fn distance(source: DistanceSource, own: Option<Coordinate>, member: &Member) -> Option<f32> {
    let measured = || {
        let us = member.rtt.srtt_us;
        (us > 0).then_some(us as f32 / 1000.0)
    };
    let predicted = || Some(own?.distance(&member.coordinate()?));
    match source {
        DistanceSource::Given => Some(member.distance),
        DistanceSource::Latency => measured(),
        DistanceSource::Position => predicted(),
        DistanceSource::Coordinate => match (predicted(), measured()) {
            (Some(p), Some(m)) if member.rtt.is_settled() => Some((p + m) / 2.0),
            (p, m) => p.or(m),
        },
    }
}
