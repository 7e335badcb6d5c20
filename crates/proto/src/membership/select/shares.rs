//! Shares and counts: how much of a node's probing each member gets.
//!
//! A member at distance `r` gets a share proportional to `r^-m`. Shares become integer counts, balls
//! in the papers' bag, in two ways: literally, where the farthest member has one ball and near ones
//! may have millions (E5), or bounded, where far members share a uniform floor.

use alloc::vec::Vec;

/// Largest literal count: far below overflow, far above use.
const COUNT_MAX: u64 = 1 << 48;

/// The smallest distance that counts: closer nodes are equally near.
const DISTANCE_FLOOR: f64 = 1e-6;

/// Shares of members at `distances`, nearest first in favour; 0 stands for an unknown distance and
/// takes the median of the known ones. `exponent` 0 is uniform; infinity is the nearest only.
pub(crate) fn shares(distances: &[f32], exponent: f32) -> Vec<f64> {
    let is_known = |&r: &f32| r > 0.0;
    let median = match distances.iter().all(is_known) {
        // Nobody takes it.
        true => 1.0,
        false => {
            let mut known: Vec<f32> = distances.iter().copied().filter(is_known).collect();
            f64::from(median(&mut known).unwrap_or(1.0))
        }
    };
    let near = |r: f32| {
        if r > 0.0 {
            f64::from(r).max(DISTANCE_FLOOR)
        } else {
            median
        }
    };
    let nearest = distances
        .iter()
        .map(|&r| near(r))
        .fold(f64::INFINITY, f64::min);
    let m = f64::from(exponent);
    // Relative to the nearest, so that no exponent overflows.
    let weight = |r: f32| match nearest / near(r) {
        ratio if ratio >= 1.0 - 1e-9 => 1.0,
        // A small whole exponent needs no logarithm.
        ratio if m == 3.0 => ratio * ratio * ratio,
        ratio => libm::exp(m * libm::log(ratio)),
    };
    let mut shares: Vec<f64> = distances.iter().map(|&r| weight(r)).collect();
    normalise(&mut shares);
    shares
}

/// The median, the larger one of two; `None` of nothing. Reorders.
pub(crate) fn median(values: &mut [f32]) -> Option<f32> {
    let half = values.len() / 2;
    if values.is_empty() {
        return None;
    }
    Some(*values.select_nth_unstable_by(half, f32::total_cmp).1)
}

fn normalise(shares: &mut [f64]) {
    let sum: f64 = shares.iter().sum();
    for share in shares {
        *share /= sum;
    }
}

/// Counts in proportion to the shares, 1 for the smallest positive one. Memory is a count per member,
/// never a ball. E10: a ratio of 1 + 1e-16 must not become 2.
pub(crate) fn literal_counts(shares: &[f64]) -> Vec<u64> {
    let least = shares
        .iter()
        .copied()
        .filter(|&p| p > 0.0)
        .fold(f64::INFINITY, f64::min);
    let count = |&p: &f64| {
        if p > 0.0 {
            (libm::ceil(p / least - 1e-9) as u64).clamp(1, COUNT_MAX)
        } else {
            0
        }
    };
    shares.iter().map(count).collect()
}

/// Counts of which the sum is at most `K / eps`, none below 1: far members get a uniform floor, near
/// ones keep their ratios.
pub(crate) fn bounded_counts(shares: &[f64], distances: &[f32]) -> Vec<u64> {
    let most = libm::ceil(shares.len() as f64 / floor_share(shares, distances)) as u64;
    // Shares are not negative, so adding a half and cutting off rounds, at a fraction of the cost. It is
    // done with `per` at most about `most`: nothing is too large for a signed number, which is cheaper.
    let rounded = |p: f64, per: f64| ((p * per + 0.5) as i64).max(1) as u64;
    let total = |per: f64| shares.iter().map(|&p| rounded(p, per)).sum::<u64>();
    let positive = shares.iter().copied().filter(|&p| p > 0.0);
    // Counts are shares times `per`, at most so much that the smallest has one.
    let mut per = 1.0 / positive.fold(1.0, f64::min);
    if per > most as f64 || total(per) > most {
        // Rounding and the floor add between -1/2 and 1 to each: the sum is that far from `per`.
        let k = shares.len() as f64;
        let (mut low, mut high) = (most as f64 - k, per.min(most as f64 + k / 2.0 + 1.0));
        // Most have the same count at both ends: only the others are counted in every round.
        let (mut settled, mut open) = (0, Vec::with_capacity(shares.len()));
        for &p in shares {
            match rounded(p, low) {
                count if count == rounded(p, high) => settled += count,
                _ => open.push(p),
            }
        }
        let total = |per: f64| settled + open.iter().map(|&p| rounded(p, per)).sum::<u64>();
        for _ in 0..12 {
            let middle = (low + high) / 2.0;
            match total(middle) > most {
                true => high = middle,
                false => low = middle,
            }
        }
        per = low;
    }
    shares.iter().map(|&p| rounded(p, per)).collect()
}

/// The part of all probes that is spread evenly (eps): a quarter of what spatial probing saves in
/// distance, so that the floor adds about a quarter to its traffic.
fn floor_share(shares: &[f64], distances: &[f32]) -> f64 {
    let spatial: f64 = shares
        .iter()
        .zip(distances)
        .map(|(p, &r)| p * f64::from(r))
        .sum();
    let uniform = distances.iter().map(|&r| f64::from(r)).sum::<f64>() / distances.len() as f64;
    let ratio = if uniform > 0.0 {
        spatial / uniform
    } else {
        1.0
    };
    (ratio / 4.0).clamp(1.0 / 64.0, 1.0 / 8.0)
}

/// Gives member `i` more at the cost of those above the average of the members not below it
/// (feedback of an unlucky node). The sum stays; nobody falls below that average (I8).
pub(crate) fn migrate(shares: &mut [f64], i: usize) {
    let own = shares[i];
    let (mut sum, mut n) = (own, 1.0);
    for &p in shares.iter().filter(|&&p| p > own) {
        sum += p;
        n += 1.0;
    }
    let target = sum / n;
    let excess: f64 = shares.iter().map(|&p| (p - target).max(0.0)).sum();
    // E14: without a sponsor there is nothing to give, and no division by zero.
    if excess <= 0.0 {
        return;
    }
    for p in shares.iter_mut().filter(|p| **p > target) {
        *p -= (*p - target) * (target - own) / excess;
    }
    shares[i] = target;
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::vec;
    use proptest::prelude::*;

    fn close(a: &[f64], b: &[f64]) -> bool {
        a.len() == b.len() && a.iter().zip(b).all(|(x, y)| (x - y).abs() < 5e-4)
    }

    #[test]
    fn the_papers_example_of_shares_and_balls() {
        // [Medley fig. 2] as corrected by E11: distances 1, 2, 4.
        let r = [1.0, 2.0, 4.0];
        assert!(close(&shares(&r, 1.0), &[0.571, 0.286, 0.143]));
        assert!(close(&shares(&r, 2.0), &[0.762, 0.190, 0.048]));
        assert_eq!(literal_counts(&shares(&r, 1.0)), [4, 2, 1]);
    }

    #[test]
    fn the_papers_example_of_migration() {
        let mut p = vec![0.43, 0.30, 0.17, 0.10];
        migrate(&mut p, 3);
        assert!(close(&p, &[0.3126, 0.2674, 0.17, 0.25]), "{p:?}");
    }

    #[test]
    fn equal_distances_are_equal_counts() {
        // E10.
        let r = [3.3; 7];
        for m in [0.0, 1.0, 3.0, 8.0] {
            assert_eq!(literal_counts(&shares(&r, m)), [1; 7]);
            assert_eq!(bounded_counts(&shares(&r, m), &r), [1; 7]);
        }
    }

    #[test]
    fn the_ends_of_the_exponent_are_swim_and_the_nearest() {
        let r = [1.0, 2.0, 40.0, 1.0];
        assert!(close(&shares(&r, 0.0), &[0.25; 4]));
        assert!(close(&shares(&r, f32::INFINITY), &[0.5, 0.0, 0.0, 0.5]));
        assert_eq!(literal_counts(&shares(&r, f32::INFINITY)), [1, 0, 0, 1]);
        assert!(
            bounded_counts(&shares(&r, f32::INFINITY), &r)
                .iter()
                .all(|&c| c >= 1)
        );
    }

    #[test]
    fn an_unknown_distance_is_the_median() {
        let p = shares(&[1.0, 0.0, 2.0, 4.0], 2.0);
        assert_eq!(p[1], p[2]);
    }

    #[test]
    fn a_large_exponent_overflows_nothing() {
        // E5: a count of 5e14 was seen at m = 5.
        let r: Vec<f32> = (1..50).map(|i| i as f32 * 10.0).collect();
        let p = shares(&r, 32.0);
        assert!(
            literal_counts(&p)
                .iter()
                .all(|&c| (1..=COUNT_MAX).contains(&c))
        );
        assert!(p.iter().all(|x| x.is_finite()));
    }

    proptest! {
        /// I7: bounded counts are at least 1 and their sum is at most K / eps.
        #[test]
        fn bounded_counts_keep_their_bound(
            r in proptest::collection::vec(0.1_f32..100.0, 1..60), m in 0.0_f32..8.0,
        ) {
            let counts = bounded_counts(&shares(&r, m), &r);
            prop_assert!(counts.iter().all(|&c| c >= 1));
            prop_assert!(counts.iter().sum::<u64>() <= 64 * r.len() as u64 + 1);
            // Above the floor ratios are off by no more than rounding: one theta explains every count.
            let p = shares(&r, m);
            let low = p.iter().zip(&counts).map(|(p, &c)| p / (c as f64 + 0.5));
            let above = p.iter().zip(&counts).filter(|(_, c)| **c > 1);
            let high = above.map(|(p, &c)| p / (c as f64 - 0.5));
            let (low, high) = (low.fold(0.0, f64::max), high.fold(f64::INFINITY, f64::min));
            prop_assert!(low <= high * (1.0 + 1e-9), "{low} {high}");
            // Nearer is never probed less.
            for i in 0..r.len() {
                for j in 0..r.len() {
                    prop_assert!(r[i] > r[j] || counts[i] >= counts[j]);
                }
            }
        }

        /// I8: migration keeps the sum and every share, and takes from nobody below the average.
        #[test]
        fn migration_keeps_the_sum(
            weights in proptest::collection::vec(0.001_f64..1.0, 1..30), i in any::<prop::sample::Index>(),
        ) {
            let mut before = weights;
            normalise(&mut before);
            let i = i.index(before.len());
            let mut after = before.clone();
            for _ in 0..12 {
                migrate(&mut after, i);
            }
            prop_assert!((after.iter().sum::<f64>() - 1.0).abs() < 1e-12);
            prop_assert!(after.iter().all(|&p| p >= 0.0));
            prop_assert!(after[i] >= before[i]);
            for (k, (a, b)) in after.iter().zip(&before).enumerate() {
                prop_assert!(k == i || *a <= *b);
                prop_assert!(k == i || *b > before[i] || a == b);
            }
        }
    }
}
