//! Estimates with their spread.
//!
//! The spread comes from a grouped jackknife over run numbers: the statistic is computed again without each of
//! [`GROUPS`] groups of runs. This works for means, quantiles and ratios between cells alike, and because cells
//! share their seeds, a ratio is compared on the same layouts and crashes.

use crate::check::EQUAL_RUNS;
use serde::{Deserialize, Deserializer, Serialize};

/// Number of groups that runs are split into for the spread.
pub const GROUPS: usize = 20;

/// A number and its precision.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Estimate {
    /// The statistic over all runs.
    #[serde(deserialize_with = "or_nan")]
    pub value: f64,
    /// Its standard error; 0 if it is exact, or if all runs agree.
    #[serde(deserialize_with = "or_infinite")]
    pub se: f64,
    /// Number of runs.
    pub n: usize,
}

/// JSON has no NaN: it is written as null.
fn or_nan<'de, D: Deserializer<'de>>(from: D) -> Result<f64, D::Error> {
    Ok(Option::deserialize(from)?.unwrap_or(f64::NAN))
}

/// The same where the number can only be infinitely low.
pub(crate) fn or_least<'de, D: Deserializer<'de>>(from: D) -> Result<f64, D::Error> {
    Ok(Option::deserialize(from)?.unwrap_or(f64::NEG_INFINITY))
}

/// JSON has no infinity: it is written as null.
pub(crate) fn or_infinite<'de, D: Deserializer<'de>>(from: D) -> Result<f64, D::Error> {
    Ok(Option::deserialize(from)?.unwrap_or(f64::INFINITY))
}

impl Estimate {
    /// A value without spread.
    pub fn exact(value: f64) -> Estimate {
        Estimate {
            value,
            se: 0.0,
            n: 1,
        }
    }

    /// The statistic `f` of runs `0..n`; `f` gets the runs to use. NaN if no run gives a value.
    pub fn jackknife(n: usize, f: impl Fn(&dyn Fn(usize) -> bool) -> f64) -> Estimate {
        let value = f(&|_| true);
        let groups = GROUPS.min(n);
        if groups < 2 {
            let se = f64::INFINITY;
            return Estimate { value, se, n };
        }
        let parts: Vec<f64> = (0..groups)
            .map(|g| f(&|run| run % groups != g))
            .filter(|x| x.is_finite())
            .collect();
        if parts.len() < 2 {
            let se = f64::INFINITY;
            return Estimate { value, se, n };
        }
        let count = parts.len() as f64;
        let mean = parts.iter().sum::<f64>() / count;
        let square = parts.iter().map(|x| (x - mean) * (x - mean)).sum::<f64>();
        let se = ((count - 1.0) / count * square).sqrt();
        Estimate { value, se, n }
    }

    /// Half the width of the interval that contains the true value with 95 % confidence. Infinite if the spread is
    /// unknown: one run, or a few that happen to agree.
    pub fn half_width(&self) -> f64 {
        match self.se {
            0.0 if self.n == 1 || self.n >= EQUAL_RUNS => 0.0,
            0.0 => f64::INFINITY,
            se if se.is_finite() => student(GROUPS.min(self.n).saturating_sub(1)) * se,
            _ => f64::INFINITY,
        }
    }

    /// The interval that contains the true value with 95 % confidence.
    pub fn interval(&self) -> (f64, f64) {
        let half = self.half_width();
        (self.value - half, self.value + half)
    }
}

/// The 97.5 % quantile of Student's distribution for this many degrees of freedom: the spread of [`GROUPS`] groups
/// or fewer is itself uncertain.
fn student(freedom: usize) -> f64 {
    const TABLE: [f64; GROUPS - 1] = [
        12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228, 2.201, 2.179, 2.160,
        2.145, 2.131, 2.120, 2.110, 2.101, 2.093,
    ];
    match freedom {
        0 => f64::INFINITY,
        n => TABLE[n.min(TABLE.len()) - 1],
    }
}

impl core::fmt::Display for Estimate {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        if self.se == 0.0 {
            return write!(f, "{}", number(self.value));
        }
        write!(f, "{} ±{}", number(self.value), number(self.se))
    }
}

/// About three digits: enough to compare, few enough to read.
pub fn number(x: f64) -> String {
    match x.abs() {
        a if a == 0.0 || !a.is_finite() => format!("{x}"),
        a if a >= 100.0 => format!("{x:.0}"),
        a if a >= 10.0 => format!("{x:.1}"),
        a if a >= 1e-2 => format!("{x:.2}"),
        _ => format!("{x:.1e}"),
    }
}

/// Arithmetic mean; NaN without samples.
pub fn mean(samples: impl IntoIterator<Item = f64>) -> f64 {
    let (sum, count) = samples
        .into_iter()
        .fold((0.0, 0_u64), |(s, n), x| (s + x, n + 1));
    sum / count as f64
}

/// The sample at rank `ceil(share n)`; NaN without samples.
pub fn quantile(samples: impl IntoIterator<Item = f64>, share: f64) -> f64 {
    let mut sorted: Vec<f64> = samples.into_iter().collect();
    sorted.sort_by(f64::total_cmp);
    let rank = (sorted.len() as f64 * share).ceil() as usize;
    let at = rank.clamp(1, sorted.len().max(1)) - 1;
    sorted.get(at).copied().unwrap_or(f64::NAN)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::check::Bound;

    #[test]
    fn jackknife_of_a_mean_is_the_textbook_standard_error() {
        let samples: Vec<f64> = (0..20).map(|i| f64::from(i * i)).collect();
        let e = Estimate::jackknife(20, |keep| {
            mean((0..20).filter(|&i| keep(i)).map(|i| samples[i]))
        });
        let variance = samples
            .iter()
            .map(|x| (x - e.value) * (x - e.value))
            .sum::<f64>()
            / 19.0;
        assert!((e.se - (variance / 20.0).sqrt()).abs() < 1e-9);
    }

    #[test]
    fn estimates_without_a_number_or_a_spread_survive_json() {
        let nothing = Estimate {
            value: f64::NAN,
            se: f64::INFINITY,
            n: 1,
        };
        let text = serde_json::to_string(&nothing).unwrap();
        let read: Estimate = serde_json::from_str(&text).unwrap();
        assert!(read.value.is_nan() && read.se == f64::INFINITY, "{text}");
        for bound in [(f64::NEG_INFINITY, 1.3), (1.0, f64::INFINITY), (0.85, 1.15)] {
            let bound = Bound::Within(bound.0, bound.1);
            let text = serde_json::to_string(&bound).unwrap();
            assert_eq!(
                serde_json::from_str::<Bound>(&text).unwrap(),
                bound,
                "{text}"
            );
        }
        let exact = Estimate::exact(0.1);
        let text = serde_json::to_string(&exact).unwrap();
        assert_eq!(serde_json::from_str::<Estimate>(&text).unwrap(), exact);
    }

    #[test]
    fn quantiles_are_nearest_ranks_and_few_runs_say_nothing() {
        let samples = || (1..=100).rev().map(f64::from);
        assert_eq!(quantile(samples(), 0.99), 99.0);
        assert_eq!(quantile(samples(), 0.5), 50.0);
        assert!(quantile([], 0.5).is_nan());
        assert_eq!(Estimate::jackknife(1, |_| 3.0).se, f64::INFINITY);
    }
}
