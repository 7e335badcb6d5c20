//! Network coordinates (Vivaldi): every node computes its own from its round-trip times, and datagrams carry them.

use crate::rng::Rng;
use serde::{Deserialize, Serialize};

/// A point in a space in which distances predict round-trip times: three dimensions, and the height of the node's own
/// access link above them. The unit is milliseconds, or metres for a configured position.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Coordinate {
    /// The position in three dimensions.
    pub position: [f32; 3],
    /// The height, which models the access link.
    pub height: f32,
    /// The relative error of predictions; 0 is exact.
    pub error: f32,
}

const ERROR_MAX: f32 = 1.5;
const HEIGHT_MIN: f32 = 0.01;
/// The constants cc and ce of Vivaldi.
const GAIN: f32 = 0.25;
/// How strongly coordinates are pulled towards the origin, so that a group does not drift away.
const GRAVITY: f32 = 1.0 / 256.0;
const COORDINATE_MAX: f32 = 1e7;

impl Default for Coordinate {
    fn default() -> Self {
        Coordinate {
            position: [0.0; 3],
            height: HEIGHT_MIN,
            error: ERROR_MAX,
        }
    }
}

impl Coordinate {
    /// A position that is configured instead of estimated.
    pub fn at(position: [f32; 3]) -> Coordinate {
        Coordinate {
            position,
            height: 0.0,
            error: 0.0,
        }
    }

    /// The predicted distance.
    pub fn distance(&self, other: &Coordinate) -> f32 {
        self.span(other) + self.height + other.height
    }

    /// Whether `now` is so far from this one that predictions with it differ: by an eighth of the way to the middle of
    /// the group and half a millisecond, or because it is known much better.
    pub(crate) fn is_far_from(&self, now: &Coordinate) -> bool {
        let moved = self.span(now) + (self.height - now.height).abs();
        let away = now.span(&Coordinate::at([0.0; 3])) + now.height;
        moved > 0.5 + away / 8.0 || now.error < self.error / 2.0 || now.error > self.error * 2.0
    }

    fn span(&self, other: &Coordinate) -> f32 {
        let [x, y, z] = core::array::from_fn(|i| self.position[i] - other.position[i]);
        libm::sqrtf(x * x + y * y + z * z)
    }

    /// Whether every component is a number of plausible size. Values from the network may be anything.
    pub fn is_sane(&self) -> bool {
        let sane = |x: f32| x.is_finite() && x.abs() <= COORDINATE_MAX;
        self.position.iter().all(|&x| sane(x))
            && sane(self.height)
            && self.height >= 0.0
            && (0.0..=ERROR_MAX).contains(&self.error)
    }

    /// Updates the coordinate after a round trip of `rtt_ms` to a node at `other`.
    pub(crate) fn learn(&mut self, other: &Coordinate, rtt_ms: f32, rng: &mut Rng) {
        if !(rtt_ms > 0.0 && rtt_ms.is_finite()) {
            return;
        }
        let predicted = self.distance(other);
        let wrong = (predicted - rtt_ms).abs() / rtt_ms;
        let total = self.error + other.error;
        let weight = if total > 0.0 { self.error / total } else { 0.5 };
        self.error = (self.error + GAIN * weight * (wrong - self.error)).clamp(0.001, ERROR_MAX);
        let force = GAIN * weight * (rtt_ms - predicted);
        let span = self.span(other);
        let direction: [f32; 3] = if span > 1e-6 {
            core::array::from_fn(|i| (self.position[i] - other.position[i]) / span)
        } else {
            // Both are at the same point: separate them in a random direction.
            let d: [f32; 3] = core::array::from_fn(|_| rng.unit() as f32 - 0.5);
            let length = libm::sqrtf(d.iter().map(|x| x * x).sum::<f32>()).max(1e-3);
            d.map(|x| x / length)
        };
        for (x, d) in self.position.iter_mut().zip(direction) {
            *x = (*x + force * d) * (1.0 - GRAVITY);
        }
        if span > 1e-6 {
            let share = (self.height + other.height) / predicted.max(1e-6);
            self.height = (self.height + force * share).max(HEIGHT_MIN);
        }
        if !self.is_sane() {
            *self = Coordinate::default();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::vec::Vec;

    #[test]
    fn coordinates_learn_a_plane_from_round_trips() {
        let mut rng = Rng::seed(4, 1);
        let places: Vec<[f32; 2]> = (0..30)
            .map(|_| [rng.unit() as f32 * 100.0, rng.unit() as f32 * 100.0])
            .collect();
        let true_rtt = |a: usize, b: usize| {
            let (p, q) = (places[a], places[b]);
            libm::hypotf(p[0] - q[0], p[1] - q[1]) + 4.0
        };
        let mut coords = [Coordinate::default(); 30];
        for _ in 0..4000 {
            let (a, b) = (rng.below(30) as usize, rng.below(30) as usize);
            if a != b {
                let jitter = 0.9 + 0.2 * rng.unit() as f32;
                let other = coords[b];
                coords[a].learn(&other, true_rtt(a, b) * jitter, &mut rng);
            }
        }
        let mut errors = Vec::new();
        for a in 0..30 {
            for b in 0..a {
                let truth = true_rtt(a, b);
                errors.push((coords[a].distance(&coords[b]) - truth).abs() / truth);
            }
        }
        errors.sort_unstable_by(f32::total_cmp);
        let median = errors[errors.len() / 2];
        assert!(median < 0.12, "median relative error {median}");
    }

    #[test]
    fn nonsense_from_the_network_is_not_sane() {
        assert!(Coordinate::default().is_sane());
        for bad in [f32::NAN, f32::INFINITY, -1e30] {
            assert!(!Coordinate::at([bad, 0.0, 0.0]).is_sane());
        }
        let mut c = Coordinate::default();
        let before = c;
        c.learn(&Coordinate::default(), f32::NAN, &mut Rng::seed(1, 1));
        assert_eq!(c, before);
    }
}
