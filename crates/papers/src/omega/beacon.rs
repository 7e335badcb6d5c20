//! Detection of neighbours: periodic beacons, and a deadline for the next beacon of each neighbour.

use super::{Event, Msg, OmegaCx, PaperOmega, Timer};
use consort_proto::{NodeId, Rng, To, micros};
use core::time::Duration;

impl PaperOmega {
    /// Nodes that start together send beacons at different phases.
    pub(super) fn start_beacons(&mut self, cx: &mut OmegaCx<'_>) {
        if let Some(detector) = self.config.detector {
            let first = phase(cx.rng, detector.period);
            cx.set_timer(Timer::Beacon, cx.now + first);
        }
    }

    pub(super) fn beat(&mut self, cx: &mut OmegaCx<'_>) {
        if let Some(detector) = self.config.detector {
            cx.send(To::Neighbors, Msg::Beacon);
            let wait = jittered(cx.rng, detector.period, self.config.jitter_per_mille);
            cx.set_timer(Timer::Beacon, cx.now + wait);
        }
    }

    pub(super) fn on_beacon(&mut self, cx: &mut OmegaCx<'_>, from: NodeId) {
        let Some(detector) = self.config.detector else {
            return;
        };
        cx.set_timer(Timer::Silent(from), cx.now + detector.timeout);
        let new = self.links.insert(from);
        if new {
            cx.emit(Event::LinkUp(from));
        }
        if new || self.config.per_probe {
            self.elected = None;
            self.link_up(cx, from);
        }
    }

    pub(super) fn on_silence(&mut self, cx: &mut OmegaCx<'_>, id: NodeId) {
        if self.links.remove(&id) {
            self.elected = None;
            cx.emit(Event::LinkDown(id));
            self.link_down(cx, id);
        }
    }
}

/// A random time within a period.
pub(super) fn phase(rng: &mut Rng, period: Duration) -> Duration {
    Duration::from_micros(rng.below64(micros(period)))
}

/// A period, shortened by up to a share of it.
pub(super) fn jittered(rng: &mut Rng, period: Duration, per_mille: u16) -> Duration {
    let most = micros(period) / 1000 * u64::from(per_mille.min(1000));
    period - Duration::from_micros(rng.below64(most + 1))
}
