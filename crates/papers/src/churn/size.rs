//! How many lists to sample (Table 7.1).

/// Lists needed to estimate a share `p` of all nodes to within `margin` of N at a confidence, by the printed
/// formula: it uses the probability `x + (1 - x) / 2` as the quantile (ER-20), and rounds to nearest.
pub fn sample_size_literal(p: f64, margin: f64, confidence: f64) -> u32 {
    let z = confidence + (1.0 - confidence) / 2.0;
    libm::round(needed(p, margin, z)) as u32
}

/// The same with the quantile of the normal distribution, rounded up.
pub fn sample_size(p: f64, margin: f64, confidence: f64) -> u32 {
    let z = quantile(confidence + (1.0 - confidence) / 2.0);
    libm::ceil(needed(p, margin, z) - 1e-9) as u32
}

/// The same when there are only `nodes` lists.
pub fn within_population(p: f64, margin: f64, confidence: f64, nodes: u32) -> u32 {
    let z = quantile(confidence + (1.0 - confidence) / 2.0);
    let infinite = needed(p, margin, z);
    let finite = infinite / (1.0 + (infinite - 1.0) / f64::from(nodes.max(1)));
    libm::ceil(finite - 1e-9) as u32
}

fn needed(p: f64, margin: f64, z: f64) -> f64 {
    p * (1.0 - p) * (z / margin) * (z / margin)
}

/// The z below which a share `probability` of the normal distribution lies, by bisection.
pub fn quantile(probability: f64) -> f64 {
    let below = |z: f64| 0.5 * (1.0 + libm::erf(z * core::f64::consts::FRAC_1_SQRT_2));
    let (mut low, mut high) = (-9.0, 9.0);
    for _ in 0..80 {
        let z = (low + high) / 2.0;
        if below(z) < probability {
            low = z;
        } else {
            high = z;
        }
    }
    (low + high) / 2.0
}

#[cfg(test)]
mod tests {
    use super::*;

    const CELLS: [(f64, f64); 6] = [
        (0.02, 0.90),
        (0.02, 0.95),
        (0.05, 0.90),
        (0.05, 0.95),
        (0.10, 0.90),
        (0.10, 0.95),
    ];

    /// Table 7.1 follows from the printed formula.
    #[test]
    fn the_table_is_the_printed_formula() {
        let sizes = CELLS.map(|(margin, x)| sample_size_literal(0.1, margin, x));
        assert_eq!(sizes, [203, 214, 32, 34, 8, 9]);
    }

    /// ER-20: the correct values of the table.
    #[test]
    fn the_true_quantile_asks_for_three_to_four_times_as_many() {
        let sizes = CELLS.map(|(margin, x)| sample_size(0.1, margin, x));
        assert_eq!(sizes, [609, 865, 98, 139, 25, 35]);
        let sizes = CELLS.map(|(margin, x)| within_population(0.1, margin, x, 128));
        assert_eq!(sizes, [106, 112, 56, 67, 21, 28]);
    }
}
