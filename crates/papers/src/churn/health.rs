//! How many answers are needed to avoid electing one of the unhealthiest nodes (Theorem 4, Table 5.2).

/// The least number of answers among which a given unhealthy node is named with probability above
/// `1 - 1/N`, when one answer fails to name it with probability `p`: strictly above `log_{1/p} N`.
pub fn responses_for_one(nodes: u32, p: f64) -> u32 {
    above_log(f64::from(nodes), p)
}

/// The same for all of `worst` unhealthy nodes, by the union bound: what the theorem needs (ER-16).
pub fn responses_for_all(nodes: u32, worst: u32, p: f64) -> u32 {
    above_log(f64::from(nodes) * f64::from(worst), p)
}

fn above_log(x: f64, p: f64) -> u32 {
    if p.is_nan() || p <= 0.0 || x <= 1.0 {
        return 1;
    }
    if p >= 1.0 {
        return u32::MAX;
    }
    // Slightly larger, so that an exact power is not mistaken for its predecessor.
    let log = libm::log(x) / -libm::log(p);
    libm::floor(log + 1e-9) as u32 + 1
}

#[cfg(test)]
mod tests {
    use super::*;

    /// ER-17: Table 5.2 prints 3, 5, 6, 7, 8; "more than" gives one more at 32, 128 and 256.
    #[test]
    fn table_5_2_recomputed() {
        let rows = [(32, 0.34), (49, 0.43), (64, 0.48), (128, 0.5), (256, 0.5)];
        assert_eq!(rows.map(|(n, p)| responses_for_one(n, p)), [4, 5, 6, 8, 9]);
        assert_eq!(
            rows.map(|(n, p)| responses_for_all(n, 5, p)),
            [5, 7, 8, 10, 11]
        );
        assert_eq!(responses_for_one(32, 0.0), 1);
        assert_eq!(responses_for_one(32, 1.0), u32::MAX);
        assert_eq!(responses_for_one(32, f64::NAN), 1);
    }
}
