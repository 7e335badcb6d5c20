//! Scales of axes.

/// A scale from numbers to places in a picture.
#[derive(Clone, Copy, Debug)]
pub(super) struct Axis {
    low: f64,
    high: f64,
    log: bool,
    /// Places of the lowest and the highest number.
    from: f64,
    to: f64,
}

/// Numbers that differ by more than this factor get a logarithmic scale.
const WIDE: f64 = 60.0;
/// An axis begins at zero unless that hides the differences: if they take less than this share of it.
const NARROW: f64 = 0.4;

impl Axis {
    /// `count` named places.
    pub(super) fn places(count: usize, from: f64, to: f64) -> Axis {
        let high = count as f64 - 0.5;
        let (low, log) = (-0.5, false);
        Axis {
            low,
            high,
            log,
            from,
            to,
        }
    }

    /// A scale that shows all of `values`, and the differences between them. `None` without any.
    pub(super) fn around(
        values: impl Iterator<Item = f64> + Clone,
        heights: bool,
        from: f64,
        to: f64,
    ) -> Option<Axis> {
        let finite = || values.clone().filter(|v| v.is_finite() && v.abs() < 1e100);
        let (low, high) = finite().fold((f64::INFINITY, f64::NEG_INFINITY), |(l, h), v| {
            (l.min(v), h.max(v))
        });
        if low > high {
            return None;
        }
        if heights && low > 0.0 && high / low > WIDE {
            let (low, high) = (low / 1.3, high * 1.3);
            return Some(Axis {
                low,
                high,
                log: true,
                from,
                to,
            });
        }
        let span = high - low;
        let pad = if span > 0.0 {
            0.06 * span
        } else {
            0.5 * high.abs().max(1.0)
        };
        let low = match heights && low >= 0.0 && span > NARROW * high {
            true => 0.0,
            false => low - pad,
        };
        let high = high + pad;
        Some(Axis {
            low,
            high,
            log: false,
            from,
            to,
        })
    }

    /// The place of a number; not finite if it has none.
    pub(super) fn at(&self, value: f64) -> f64 {
        let share = match self.log {
            true => (value / self.low).ln() / (self.high / self.low).ln(),
            false => (value - self.low) / (self.high - self.low),
        };
        match (-0.001..=1.001).contains(&share) {
            true => self.from + share * (self.to - self.from),
            false => f64::NAN,
        }
    }

    /// The place of a number, or the end of the axis that is nearest to it.
    pub(super) fn clamped(&self, value: f64) -> f64 {
        self.at(value.clamp(self.low, self.high))
    }

    /// Round numbers on the axis.
    pub(super) fn ticks(&self) -> Vec<f64> {
        if self.log {
            let powers = (self.low.log10().ceil() as i32)..=(self.high.log10().floor() as i32);
            let tens: Vec<f64> = powers.map(|p| 10_f64.powi(p)).collect();
            if tens.len() >= 2 {
                return tens;
            }
        }
        let rough = (self.high - self.low) / 5.0;
        let power = 10_f64.powf(rough.log10().floor());
        let steps = [1.0, 2.0, 5.0, 10.0].map(|s| s * power);
        let step = steps.into_iter().find(|s| *s >= rough).unwrap_or(rough);
        let first = (self.low / step).ceil() as i64;
        let last = (self.high / step).floor() as i64;
        (first..=last.min(first + 20))
            .map(|n| n as f64 * step)
            .collect()
    }
}

/// A tick as text, without noise of binary fractions.
pub(super) fn label(value: f64) -> String {
    let text = match value.abs() {
        a if a < 1e-12 => "0".into(),
        a if (1e-3..1e6).contains(&a) => format!("{value:.4}"),
        _ => return format!("{value:.0e}"),
    };
    match text.contains('.') {
        true => text.trim_end_matches('0').trim_end_matches('.').into(),
        false => text,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn axis(values: &[f64]) -> Axis {
        Axis::around(values.iter().copied(), true, 0.0, 100.0).unwrap()
    }

    #[test]
    fn an_axis_shows_the_differences() {
        // From zero on where they are large, around the values where they are small, by powers where they are wide.
        assert_eq!(axis(&[1.0, 9.0]).at(0.0), 0.0);
        let narrow = axis(&[100.0, 104.0]);
        assert!(narrow.at(0.0).is_nan());
        assert!(narrow.at(104.0) - narrow.at(100.0) > 80.0);
        let wide = axis(&[0.01, 100.0]);
        assert!((wide.at(1.0) - 50.0).abs() < 1.0, "{wide:?}");
    }

    #[test]
    fn ticks_are_round_and_few() {
        for values in [
            &[0.0, 1.0][..],
            &[97.0, 104.0],
            &[-3.0, 3.0],
            &[1e-6, 2e-6],
            &[0.01, 100.0],
            &[5.0],
            &[1e300, -1e300],
        ] {
            let ticks = axis_ticks(values);
            assert!((2..=12).contains(&ticks.len()), "{values:?}: {ticks:?}");
        }
        assert_eq!(
            ["0.3", "0", "20", "1e-5", "-2.5"],
            [0.1 + 0.2, 0.0, 20.0, 1e-5, -2.5]
                .map(label)
                .each_ref()
                .map(String::as_str)
        );
    }

    fn axis_ticks(values: &[f64]) -> Vec<f64> {
        match Axis::around(values.iter().copied(), true, 0.0, 100.0) {
            Some(axis) => axis.ticks(),
            // Nothing that can be drawn.
            None => vec![0.0, 0.0],
        }
    }
}
