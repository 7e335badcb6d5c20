//! Random numbers of distributions other than the uniform one.

use consort_proto::Rng;

/// A draw from the standard normal distribution.
pub fn normal(rng: &mut Rng) -> f64 {
    // Box and Muller. `1 - unit` is never 0.
    let radius = libm::sqrt(-2.0 * libm::log(1.0 - rng.unit()));
    radius * libm::cos(2.0 * core::f64::consts::PI * rng.unit())
}

/// A draw from the Gamma distribution with mean `shape`: the time until that many events of a unit-rate process.
pub fn gamma(rng: &mut Rng, shape: f64) -> f64 {
    if shape < 1.0 {
        let boost = libm::pow(1.0 - rng.unit(), 1.0 / shape.max(1e-9));
        return gamma(rng, shape + 1.0) * boost;
    }
    // Marsaglia and Tsang: more than 95 of 100 draws are accepted.
    let d = shape - 1.0 / 3.0;
    let c = 1.0 / libm::sqrt(9.0 * d);
    loop {
        let x = normal(rng);
        let v = 1.0 + c * x;
        if v <= 0.0 {
            continue;
        }
        let v = v * v * v;
        let u = 1.0 - rng.unit();
        if libm::log(u) < 0.5 * x * x + d - d * v + d * libm::log(v) {
            return d * v;
        }
    }
}

/// A draw from the Beta distribution: between 0 and 1 around `a / (a + b)`, closer for larger `a + b`.
pub fn beta(rng: &mut Rng, a: f64, b: f64) -> f64 {
    let (x, y) = (gamma(rng, a), gamma(rng, b));
    if x + y > 0.0 { x / (x + y) } else { 0.5 }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn moments(n: u32, mut draw: impl FnMut() -> f64) -> (f64, f64) {
        let (mut sum, mut squares) = (0.0, 0.0);
        for _ in 0..n {
            let x = draw();
            sum += x;
            squares += x * x;
        }
        let mean = sum / f64::from(n);
        (mean, squares / f64::from(n) - mean * mean)
    }

    #[test]
    fn means_and_variances_are_those_of_the_textbook() {
        let mut rng = Rng::seed(3, 1);
        let (mean, variance) = moments(40_000, || normal(&mut rng));
        assert!(mean.abs() < 0.02 && (variance - 1.0).abs() < 0.04);
        for shape in [0.3, 1.0, 7.5] {
            let (mean, variance) = moments(40_000, || gamma(&mut rng, shape));
            assert!((mean / shape - 1.0).abs() < 0.04, "{shape}: {mean}");
            assert!((variance / shape - 1.0).abs() < 0.1, "{shape}: {variance}");
        }
        let (mean, variance) = moments(40_000, || beta(&mut rng, 2.0, 6.0));
        assert!((mean - 0.25).abs() < 0.005, "{mean}");
        assert!((variance - 12.0 / 64.0 / 9.0).abs() < 0.002, "{variance}");
    }
}
