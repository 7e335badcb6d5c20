//! Round-trip times of a member.

/// A smoothed round-trip time and its variation, as TCP keeps them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Rtt {
    /// Smoothed round-trip time; 0 without a sample.
    pub srtt_us: u32,
    /// Smoothed deviation.
    pub var_us: u32,
    /// The two samples before the last.
    recent: [u32; 2],
}

impl Rtt {
    /// Takes a sample; returns the median of the last three, for those whom one outlier harms.
    pub(crate) fn sample(&mut self, us: u64) -> u32 {
        let us = us.clamp(1, 1 << 30) as u32;
        let [a, b] = self.recent;
        let median = if b == 0 {
            us
        } else {
            a.max(b).min(us.max(a.min(b)))
        };
        self.recent = [us, a];
        if self.srtt_us == 0 {
            (self.srtt_us, self.var_us) = (us, us / 2);
        } else {
            self.var_us = (3 * (self.var_us / 4)).saturating_add(self.srtt_us.abs_diff(us) / 4);
            self.srtt_us = ((u64::from(self.srtt_us) * 7 + u64::from(us)) / 8).max(1) as u32;
        }
        median
    }

    /// Whether the median of the next sample is one of three.
    pub(crate) fn is_settled(&self) -> bool {
        self.recent[1] != 0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_outlier_moves_neither_the_median_nor_much_of_the_mean() {
        let mut rtt = Rtt::default();
        assert_eq!(rtt.sample(10_000), 10_000);
        assert!(!rtt.is_settled() && rtt.srtt_us == 10_000);
        assert_eq!(rtt.sample(12_000), 12_000);
        assert_eq!(rtt.sample(900_000), 12_000);
        assert_eq!(rtt.sample(11_000), 12_000);
        assert!(rtt.is_settled());
        assert!(rtt.srtt_us < 130_000, "{}", rtt.srtt_us);
    }
}
