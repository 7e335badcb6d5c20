//! Seeded randomness: a named algorithm (PCG XSH-RR 64/32) and our own derived draws, so that a seed gives the same
//! sequence on every machine and in every version.

use crate::hash::hash_pair;
use rand_core::Rng as _;
use rand_pcg::Pcg32;

/// One stream of random numbers. Give each layer and purpose its own stream, so that an extra draw in one does not
/// change the others.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rng(Pcg32);

impl Rng {
    /// The stream with the number `stream` of `seed`.
    pub fn seed(seed: u64, stream: u64) -> Rng {
        Rng(Pcg32::new(hash_pair(seed, stream), stream))
    }

    /// 32 random bits.
    pub fn bits32(&mut self) -> u32 {
        self.0.next_u32()
    }

    /// 64 random bits.
    pub fn bits64(&mut self) -> u64 {
        self.0.next_u64()
    }

    /// A uniform number below `n`; 0 if `n` is 0.
    pub fn below(&mut self, n: u32) -> u32 {
        // Lemire's method: multiply, and reject the few values that would be drawn too often.
        let mut m = u64::from(self.bits32()) * u64::from(n);
        if (m as u32) < n {
            let threshold = n.wrapping_neg() % n;
            while (m as u32) < threshold {
                m = u64::from(self.bits32()) * u64::from(n);
            }
        }
        (m >> 32) as u32
    }

    /// A uniform number below `n`, for durations; 0 if `n` is 0. The bias is below `n / 2^64`.
    pub fn below64(&mut self, n: u64) -> u64 {
        ((u128::from(self.bits64()) * u128::from(n)) >> 64) as u64
    }

    /// A uniform number in `[0, 1)`.
    pub fn unit(&mut self) -> f64 {
        (self.bits64() >> 11) as f64 / (1_u64 << 53) as f64
    }

    /// True with probability `p`. Always draws, so that changing `p` does not shift the stream.
    pub fn chance(&mut self, p: f64) -> bool {
        self.unit() < p
    }

    /// A random element, or `None` if the slice is empty.
    pub fn choose<'a, T>(&mut self, items: &'a [T]) -> Option<&'a T> {
        items.get(self.below(items.len() as u32) as usize)
    }

    /// Puts the elements in random order.
    pub fn shuffle<T>(&mut self, items: &mut [T]) {
        for i in (1..items.len()).rev() {
            items.swap(i, self.below(i as u32 + 1) as usize);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::vec::Vec;

    #[test]
    fn the_stream_is_pinned() {
        let mut rng = Rng::seed(7, 1);
        let drawn: Vec<u32> = (0..4).map(|_| rng.below(1000)).collect();
        let mut again = Rng::seed(7, 1);
        let repeated: Vec<u32> = (0..4).map(|_| again.below(1000)).collect();
        assert_eq!(drawn, repeated);
        assert_eq!(drawn, [462, 351, 581, 666]);
    }

    #[test]
    fn draws_stay_in_range_and_cover_it() {
        let mut rng = Rng::seed(1, 2);
        let mut seen = [0_u32; 7];
        for _ in 0..7000 {
            seen[rng.below(7) as usize] += 1;
        }
        assert!(seen.iter().all(|&n| (800..1200).contains(&n)), "{seen:?}");
        assert_eq!(rng.below(0), 0);
        assert_eq!(rng.below64(0), 0);
        assert_eq!(rng.choose::<u8>(&[]), None);
        let u = rng.unit();
        assert!((0.0..1.0).contains(&u));
    }

    #[test]
    fn streams_of_one_seed_differ() {
        assert_ne!(Rng::seed(7, 1).bits64(), Rng::seed(7, 2).bits64());
        assert_ne!(Rng::seed(7, 1).bits64(), Rng::seed(8, 1).bits64());
    }
}
