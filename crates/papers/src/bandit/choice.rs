//! The choice of candidates by a node.

use super::book::Book;
use alloc::vec::Vec;
use consort_proto::{Instant, Rng};

/// How a node chooses candidates by its book.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Choice {
    /// The best, but at random with probability ε, which shrinks with every choice.
    EpsilonGreedy {
        /// Initial ε, in thousandths.
        epsilon: u16,
        /// Factor by which it shrinks with a choice, in thousandths.
        decay: u16,
    },
    /// The best by `F - c sqrt(ln t / m)`; c in thousandths.
    Ucb(u32),
    /// The best.
    Greedy,
    /// The best by a draw from the belief about each node.
    Thompson,
}

/// Chooses candidates, and keeps ε.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Chooser {
    choice: Choice,
    /// ε, in 2^-32.
    epsilon: u64,
}

impl Chooser {
    /// A chooser before its first choice.
    pub fn new(choice: Choice) -> Chooser {
        let epsilon = match choice {
            Choice::EpsilonGreedy { epsilon, .. } => (u64::from(epsilon) << 32) / 1000,
            _ => 0,
        };
        Chooser { choice, epsilon }
    }

    /// The current ε.
    pub fn epsilon(&self) -> f64 {
        self.epsilon as f64 / 4_294_967_296.0
    }

    /// The score by which a node is chosen. Lower is better; never `NaN` (P3).
    pub fn score(&self, book: &Book, node: usize, now: Instant, rng: &mut Rng) -> f64 {
        match self.choice {
            Choice::EpsilonGreedy { .. } | Choice::Greedy => book.penalised(node, now),
            Choice::Ucb(c) => {
                let (seen, total) = book.observations(node, now);
                book.penalised(node, now) - bonus(seen, total, f64::from(c) / 1000.0)
            }
            Choice::Thompson => book.sample(node, now, rng),
        }
    }

    /// Chooses `count` different nodes, the best first; equals in order of their ids. At random it never draws `spared`.
    pub fn choose(
        &mut self,
        book: &Book,
        count: usize,
        spared: Option<usize>,
        now: Instant,
        rng: &mut Rng,
    ) -> Vec<usize> {
        if let Choice::EpsilonGreedy { decay, .. } = self.choice {
            let explores = rng.unit() < self.epsilon();
            self.epsilon = self.epsilon * u64::from(decay) / 1000;
            if explores {
                return at_random(book.len(), count, spared, rng);
            }
        }
        let score = |n| (self.score(book, n, now, rng), n);
        let mut scored: Vec<(f64, usize)> = (0..book.len()).map(score).collect();
        scored.sort_by(|a, b| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1)));
        scored.into_iter().take(count).map(|(_, n)| n).collect()
    }
}

/// `count` random nodes, without the one to spare.
fn at_random(nodes: usize, count: usize, spared: Option<usize>, rng: &mut Rng) -> Vec<usize> {
    let mut all: Vec<usize> = (0..nodes).collect();
    rng.shuffle(&mut all);
    all.retain(|n| Some(*n) != spared);
    all.truncate(count);
    all
}

/// `c sqrt(ln t / m)`: zero before there are two observations, unbounded for a node that was never observed.
pub(super) fn bonus(seen: f64, total: f64, c: f64) -> f64 {
    if c == 0.0 || total <= 1.0 {
        0.0
    } else if seen <= 0.0 {
        f64::INFINITY
    } else {
        c * libm::sqrt(libm::log(total) / seen)
    }
}

#[cfg(test)]
mod tests {
    use super::super::book::Estimator;
    use super::*;
    use consort_proto::Life;

    const GREEDY: Choice = Choice::EpsilonGreedy {
        epsilon: 1000,
        decay: 500,
    };

    fn book(priors: &[f64]) -> Book {
        Book::new(Estimator::Mean, priors.iter().copied())
    }

    /// P3.
    #[test]
    fn choices_are_different_nodes_whatever_was_seen() {
        let mut rng = Rng::seed(2, 1);
        for choice in [GREEDY, Choice::Ucb(2000), Choice::Greedy, Choice::Thompson] {
            for observations in 0..4 {
                let mut book = book(&[0.1, 0.2, 0.3, 0.4, 0.5]);
                for n in 0..observations {
                    book.observe(n, Instant::ZERO, Some(Life(1)));
                }
                let mut chooser = Chooser::new(choice);
                for _ in 0..20 {
                    let mut chosen = chooser.choose(&book, 2, Some(0), Instant::ZERO, &mut rng);
                    assert_eq!(chosen.len(), 2, "{choice:?}");
                    chosen.sort_unstable();
                    chosen.dedup();
                    assert_eq!(chosen.len(), 2, "{choice:?}");
                    let scores = (0..5).map(|n| chooser.score(&book, n, Instant::ZERO, &mut rng));
                    assert!(scores.into_iter().all(|s| !s.is_nan()), "{choice:?}");
                }
            }
        }
    }

    #[test]
    fn exploring_leaves_the_leader_out_and_becomes_rare() {
        let (book, mut rng) = (book(&[0.0, 0.5, 0.5, 0.5, 0.5]), Rng::seed(9, 1));
        let mut chooser = Chooser::new(GREEDY);
        let chosen = chooser.choose(&book, 2, Some(0), Instant::ZERO, &mut rng);
        assert!(!chosen.contains(&0), "{chosen:?}");
        assert_eq!(chooser.epsilon(), 0.5);
        for _ in 0..40 {
            chooser.choose(&book, 2, Some(0), Instant::ZERO, &mut rng);
        }
        // The other choices are greedy: the leader is as good as any (the tally excludes it).
        let chosen = chooser.choose(&book, 2, Some(0), Instant::ZERO, &mut rng);
        assert_eq!(chosen, [0, 1]);
    }

    /// B-18: the bonus favours nodes that are seldom heard, whatever their quality.
    #[test]
    fn the_bound_prefers_who_was_never_seen_then_who_was_seen_least() {
        let (mut book, mut rng) = (book(&[0.0, 0.9, 0.9]), Rng::seed(9, 1));
        let mut chooser = Chooser::new(Choice::Ucb(2000));
        let first = |chooser: &mut Chooser, book: &Book, rng: &mut Rng| {
            chooser.choose(book, 1, None, Instant::ZERO, rng)[0]
        };
        assert_eq!(first(&mut chooser, &book, &mut rng), 0);
        for _ in 0..10 {
            book.observe(0, Instant::ZERO, Some(Life(1)));
        }
        assert_eq!(first(&mut chooser, &book, &mut rng), 1);
        book.observe(1, Instant::ZERO, None);
        assert_eq!(first(&mut chooser, &book, &mut rng), 2);
        book.observe(2, Instant::ZERO, None);
        assert_eq!(first(&mut chooser, &book, &mut rng), 1);
    }
}
