//! Statistics of samples.

use serde::Serialize;

/// Summary of samples. All values are null without samples.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct Summary {
    /// Arithmetic mean.
    pub mean: Option<f64>,
    /// Median.
    pub p50: Option<f64>,
    /// 95th percentile.
    pub p95: Option<f64>,
    /// 99th percentile.
    pub p99: Option<f64>,
    /// Largest.
    pub max: Option<f64>,
}

impl Summary {
    /// Summary of `samples`; percentiles are samples (nearest rank). Samples are finite.
    pub fn of(samples: &[f64]) -> Summary {
        if samples.is_empty() {
            return Summary::default();
        }
        let mut sorted = samples.to_vec();
        sorted.sort_by(f64::total_cmp);
        let rank = |percent: usize| {
            let at = (sorted.len() * percent).div_ceil(100).max(1);
            Some(round(sorted[at - 1]))
        };
        Summary {
            mean: Some(round(sorted.iter().sum::<f64>() / sorted.len() as f64)),
            p50: rank(50),
            p95: rank(95),
            p99: rank(99),
            max: rank(100),
        }
    }
}

/// Rounds to a millionth: more digits are meaningless.
fn round(x: f64) -> f64 {
    (x * 1e6).round() / 1e6
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn percentiles_are_nearest_ranks() {
        let samples: Vec<f64> = (1..=100).rev().map(f64::from).collect();
        let s = Summary::of(&samples);
        assert_eq!((s.p50, s.p95, s.p99), (Some(50.0), Some(95.0), Some(99.0)));
        assert_eq!((s.mean, s.max), (Some(50.5), Some(100.0)));
        let one = Summary::of(&[3.0]);
        assert_eq!(
            (one.mean, one.p50, one.p99),
            (Some(3.0), Some(3.0), Some(3.0))
        );
        assert_eq!(Summary::of(&[]), Summary::default());
    }
}
