//! A Beta distribution in integers whose old trials lose weight, and the quorum that follows from it.

use serde::{Deserialize, Serialize};

/// One trial in the units of [`Beta`].
const ONE: u16 = 64;

/// How often member lists lack a candidate: misses and hits in 64ths of a trial, including the prior of one miss in
/// ten.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Beta {
    /// The lists that lack the candidate (A).
    misses: u16,
    /// The lists that contain the candidate (B).
    hits: u16,
}

impl Default for Beta {
    fn default() -> Beta {
        Beta::PRIOR
    }
}

impl Beta {
    /// The state before any observation.
    pub const PRIOR: Beta = Beta {
        misses: ONE,
        hits: 9 * ONE,
    };

    /// The prior with this number of misses and hits.
    pub fn seen(misses: u16, hits: u16) -> Beta {
        let mut beta = Beta::PRIOR;
        beta.add(misses, hits);
        beta
    }

    /// Adds outcomes.
    pub fn add(&mut self, misses: u16, hits: u16) {
        self.misses = self.misses.saturating_add(misses.saturating_mul(ONE));
        self.hits = self.hits.saturating_add(hits.saturating_mul(ONE));
    }

    /// Moves all counts by a tenth towards the prior. Called once per round or sample.
    pub fn fade(&mut self) {
        let fade = |x: u16, prior: u16| ((u32::from(x) * 9 + u32::from(prior) + 5) / 10) as u16;
        self.misses = fade(self.misses, Beta::PRIOR.misses);
        self.hits = fade(self.hits, Beta::PRIOR.hits);
    }

    /// A copy that is moved towards the prior once.
    #[must_use]
    pub fn faded(mut self) -> Beta {
        self.fade();
        self
    }

    /// The expected share of lists that lack the candidate.
    pub fn rate(&self) -> f64 {
        f64::from(self.misses) / (f64::from(self.misses) + f64::from(self.hits)).max(1.0)
    }

    /// The number of trials remembered, including the ten of the prior.
    pub fn weight(&self) -> f64 {
        (f64::from(self.misses) + f64::from(self.hits)) / f64::from(ONE)
    }

    /// The smallest number of random lists that all lack the candidate with a probability of at most `epsilon`, judging
    /// by the trials; limited to `most`.
    ///
    /// The probability that the next list lacks it, given that k lists do, is (A+k)/(A+B+k).
    pub fn quorum(&self, epsilon: f64, most: usize) -> usize {
        let (a, b) = (f64::from(self.misses), f64::from(self.hits));
        let mut all_miss = 1.0;
        let mut r = 0;
        while all_miss > epsilon && r < most {
            let k = r as f64 * f64::from(ONE);
            all_miss *= (a + k) / (a + b + k).max(1.0);
            r += 1;
        }
        r.max(1)
    }

    /// The one of both that requires more lists.
    pub fn worse(self, other: Beta, epsilon: f64) -> Beta {
        let most = 4096;
        if other.quorum(epsilon, most) > self.quorum(epsilon, most) {
            other
        } else {
            self
        }
    }
}

/// The number of members to ask in addition to `needed`, so that enough of them answer with a probability of 0.9 if
/// each is silent with `silent_per_mille`; limited to `most`.
pub fn hedge(needed: usize, silent_per_mille: u16, most: usize) -> usize {
    let silent = f64::from(silent_per_mille.min(900)) / 1000.0;
    // The number of silent members before the last needed answer has a negative binomial distribution.
    let mut term = libm::pow(1.0 - silent, needed as f64);
    let mut enough = term;
    let mut extra = 0;
    while enough < 0.9 && extra < most {
        term *= silent * (needed + extra) as f64 / (extra + 1) as f64;
        enough += term;
        extra += 1;
    }
    extra
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn the_quorum_has_the_values_of_the_published_design() {
        let r = |misses, hits| Beta::seen(misses, hits).quorum(1e-6, 100);
        let trials = [
            (0, 50),
            (1, 49),
            (5, 45),
            (10, 40),
            (13, 36),
            (20, 30),
            (0, 0),
        ];
        assert_eq!(trials.map(|(a, b)| r(a, b)), [5, 5, 8, 10, 12, 16, 15]);
    }

    #[test]
    fn the_hedge_has_the_values_of_the_published_design() {
        assert_eq!((hedge(5, 100, 9), hedge(10, 100, 9)), (2, 3));
        assert_eq!((hedge(5, 200, 9), hedge(10, 200, 9)), (3, 5));
        assert_eq!(hedge(5, 0, 9), 0);
        assert_eq!(hedge(5, 1000, 9), 9);
    }

    #[test]
    fn what_is_not_seen_again_is_forgotten() {
        let mut beta = Beta::seen(100, 0);
        for _ in 0..60 {
            beta.fade();
        }
        let prior = Beta::PRIOR.quorum(1e-6, 100);
        assert!(beta.quorum(1e-6, 100).abs_diff(prior) <= 1, "{beta:?}");
    }

    proptest! {
        /// E3: more misses never lower the quorum; more hits, or a larger chance, never raise it.
        #[test]
        fn the_quorum_is_monotone(
            a in 0..500_u16, b in 0..500_u16, more in 0..100_u16, known in 1..200_usize,
        ) {
            let r = |a, b, e| Beta::seen(a, b).quorum(e, known);
            prop_assert!(r(a + more, b, 1e-6) >= r(a, b, 1e-6));
            prop_assert!(r(a, b + more, 1e-6) <= r(a, b, 1e-6));
            prop_assert!(r(a, b, 1e-3) <= r(a, b, 1e-6));
            prop_assert!((1..=known).contains(&r(a, b, 1e-6)));
        }
    }
}
