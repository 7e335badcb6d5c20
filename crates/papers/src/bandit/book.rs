//! What a node believes about the others: one of several kinds of evidence, and a score derived from it.
//!
//! The paper's estimate is a running mean of observations, 1 for a failure and 0 for a sign of life, with the prior
//! as observation number 0. It is kept as counts, so that `F n = F_0 + sum of x` holds exactly (P1), in addition to
//! the state of the estimator: rules of pinging and exploring use these counts.

use super::draw;
use super::timed::{Digest, Timed};
use alloc::collections::VecDeque;
use alloc::vec::Vec;
use consort_proto::{Instant, Life, Rng};
use core::time::Duration;

/// How a node's failures are estimated. Lower scores are better.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Estimator {
    /// The paper's running mean of observations.
    Mean,
    /// Mean of the last observations, at most 64; the running mean until there are as many (B-19).
    Buffer(u8),
    /// Share of the time for which the node was down, with this half-life.
    Availability(Option<Duration>),
    /// Counts of observations that halve in this time: discounted Beta, and D-UCB with [`Choice::Ucb`].
    ///
    /// [`Choice::Ucb`]: super::Choice::Ucb
    Faded(Duration),
    /// Counts of the observations in the last time span: SW-UCB with [`Choice::Ucb`](super::Choice::Ucb).
    Window(Duration),
    /// Failures per observed uptime, with this half-life (Gamma).
    Hazard(Option<Duration>),
    /// Given from outside: the best that learning could achieve.
    Truth,
    /// Nothing: all nodes are equal.
    Nothing,
}

/// Most observations kept in a window; older ones are dropped first.
const WINDOW_MAX: usize = 4096;

/// A score in units of 2^-32, so that messages that carry scores can be compared and hashed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Score(pub i64);

impl Score {
    /// The score nearest to `x`; the worst score if `x` is not a number.
    pub fn of(x: f64) -> Score {
        if x.is_nan() {
            return Score(i64::MAX);
        }
        // Casts saturate.
        Score((x * 4_294_967_296.0) as i64)
    }
}

/// State of an estimator other than counts, for one node.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
enum Memory {
    None,
    /// The last observations, the latest in the lowest bit, and their number.
    Bits(u64, u8),
    /// Discounted counts of failures and of signs of life, as bits of floats, and the time they refer to.
    Faded([u64; 2], Instant),
    Window(VecDeque<(Instant, bool)>),
    Timed(Timed),
    /// The true value, as bits of a float.
    Truth(u64),
}

/// What is known about one node.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Record {
    /// The prior, in 2^-32.
    prior: u32,
    /// Failures observed.
    failures: u32,
    /// Observations (m; the paper's n is one more).
    seen: u32,
    /// The penalty, in thousandths.
    penalty: u32,
    memory: Memory,
}

impl Record {
    /// The prior, F_0 in the paper.
    pub fn prior(&self) -> f64 {
        f64::from(self.prior) / 4_294_967_296.0
    }

    /// The running mean (F), without penalty.
    pub fn mean(&self) -> f64 {
        (self.prior() + f64::from(self.failures)) / (1.0 + f64::from(self.seen))
    }

    /// Observations, without the prior (m).
    pub fn seen(&self) -> u32 {
        self.seen
    }

    /// Failures among them.
    pub fn failures(&self) -> u32 {
        self.failures
    }

    /// The penalty, in thousandths.
    pub fn penalty_per_mille(&self) -> u32 {
        self.penalty
    }
}

/// What one node knows about all nodes.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Book {
    estimator: Estimator,
    records: Vec<Record>,
    /// Observations of all nodes (t).
    total: u32,
}

impl Book {
    /// A book that contains only priors, one per node. They are clamped to 0 to 1: one in forty of the paper's
    /// draws is negative.
    pub fn new(estimator: Estimator, priors: impl IntoIterator<Item = f64>) -> Book {
        let memory = match estimator {
            Estimator::Mean | Estimator::Nothing => Memory::None,
            Estimator::Buffer(_) => Memory::Bits(0, 0),
            Estimator::Faded(_) => Memory::Faded([0; 2], Instant::ZERO),
            Estimator::Window(_) => Memory::Window(VecDeque::new()),
            Estimator::Availability(_) | Estimator::Hazard(_) => Memory::Timed(Timed::default()),
            Estimator::Truth => Memory::Truth(0),
        };
        let record = |prior: f64| Record {
            prior: (prior * 4_294_967_296.0) as u32,
            failures: 0,
            seen: 0,
            penalty: 0,
            memory: memory.clone(),
        };
        Book {
            estimator,
            records: priors.into_iter().map(record).collect(),
            total: 0,
        }
    }

    /// Number of nodes.
    pub fn len(&self) -> usize {
        self.records.len()
    }

    /// Whether there is no node.
    pub fn is_empty(&self) -> bool {
        self.records.is_empty()
    }

    /// What is known about an existing node.
    pub fn record(&self, node: usize) -> &Record {
        &self.records[node]
    }

    /// Observations of all nodes (t).
    pub fn total(&self) -> u32 {
        self.total
    }

    /// A node was heard in a life, or is considered down.
    pub fn observe(&mut self, node: usize, now: Instant, life: Option<Life>) {
        let failed = life.is_none();
        let record = &mut self.records[node];
        record.seen = record.seen.saturating_add(1);
        record.failures += u32::from(failed);
        self.total = self.total.saturating_add(1);
        match (&mut record.memory, self.estimator) {
            (Memory::Bits(bits, len), _) => {
                *bits = *bits << 1 | u64::from(failed);
                *len = len.saturating_add(1);
            }
            (Memory::Faded(counts, at), Estimator::Faded(half_life)) => {
                let left = faded(*at, now, half_life);
                let mut sums = counts.map(|bits| f64::from_bits(bits) * left);
                sums[usize::from(!failed)] += 1.0;
                *counts = sums.map(f64::to_bits);
                *at = now;
            }
            (Memory::Window(window), Estimator::Window(span)) => {
                window.push_back((now, failed));
                let old = |(at, _): &(Instant, bool)| now.since(*at) > span;
                while window.len() > WINDOW_MAX || window.front().is_some_and(old) {
                    window.pop_front();
                }
            }
            (
                Memory::Timed(timed),
                Estimator::Hazard(half_life) | Estimator::Availability(half_life),
            ) => timed.observe(now, half_life, life),
            _ => {}
        }
    }

    /// Raises the penalty of a node, by thousandths.
    pub fn penalise(&mut self, node: usize, per_mille: u32) {
        let penalty = &mut self.records[node].penalty;
        *penalty = penalty.saturating_add(per_mille);
    }

    /// Ends the penalty of a node.
    pub fn forgive(&mut self, node: usize) {
        self.records[node].penalty = 0;
    }

    /// Sets the value that [`Estimator::Truth`] uses for a node.
    pub fn tell(&mut self, node: usize, truth: f64) {
        if let Memory::Truth(bits) = &mut self.records[node].memory {
            *bits = truth.to_bits();
        }
    }

    /// Failures and signs of life that count for a node, with the prior as one observation: a Beta posterior.
    fn counts(&self, node: usize, now: Instant) -> (f64, f64) {
        let r = &self.records[node];
        let (failures, alive) = match (&r.memory, self.estimator) {
            (Memory::Bits(bits, len), Estimator::Buffer(size)) if *len >= size && size > 0 => {
                let size = size.min(64);
                let failures = (bits << (64 - size)).count_ones();
                return (f64::from(failures), f64::from(u32::from(size) - failures));
            }
            (Memory::Faded(counts, at), Estimator::Faded(half_life)) => {
                let left = faded(*at, now, half_life);
                let [failures, alive] = counts.map(|bits| f64::from_bits(bits) * left);
                (failures, alive)
            }
            (Memory::Window(window), Estimator::Window(span)) => {
                let within = window
                    .iter()
                    .rev()
                    .take_while(|(at, _)| now.since(*at) <= span);
                within.fold((0.0, 0.0), |(f, a), (_, failed)| match failed {
                    true => (f + 1.0, a),
                    false => (f, a + 1.0),
                })
            }
            _ => (f64::from(r.failures), f64::from(r.seen - r.failures)),
        };
        (r.prior() + failures, 1.0 - r.prior() + alive)
    }

    /// The expected failure of a node, without penalty.
    pub fn estimate(&self, node: usize, now: Instant) -> f64 {
        let r = &self.records[node];
        match (&r.memory, self.estimator) {
            (Memory::Timed(t), Estimator::Availability(h)) => t.unavailability(now, h, r.prior()),
            (Memory::Timed(t), Estimator::Hazard(h)) => {
                let (failures, seconds) = t.rate(now, h);
                failures / seconds
            }
            (Memory::Truth(bits), _) => f64::from_bits(*bits),
            (_, Estimator::Nothing) => 0.0,
            (_, Estimator::Mean) => r.mean(),
            _ => {
                let (failures, alive) = self.counts(node, now);
                failures / (failures + alive)
            }
        }
    }

    /// The same with its penalty.
    pub fn penalised(&self, node: usize, now: Instant) -> f64 {
        self.estimate(node, now) + f64::from(self.records[node].penalty) / 1000.0
    }

    /// A draw from the belief about a node, as uncertain as the evidence. The penalty is added.
    pub fn sample(&self, node: usize, now: Instant, rng: &mut Rng) -> f64 {
        let r = &self.records[node];
        let drawn = match (&r.memory, self.estimator) {
            (Memory::Timed(t), Estimator::Hazard(half_life)) => {
                let (failures, seconds) = t.rate(now, half_life);
                draw::gamma(rng, failures) / seconds
            }
            (Memory::Truth(_), _) | (_, Estimator::Nothing | Estimator::Availability(_)) => {
                self.estimate(node, now)
            }
            _ => {
                let (failures, alive) = self.counts(node, now);
                draw::beta(rng, failures, alive)
            }
        };
        drawn + f64::from(r.penalty) / 1000.0
    }

    /// Number of observations that count: of a node, and of all. Buffers do not count theirs (B-19). Where old
    /// observations are forgotten the prior is not: otherwise a node that was not seen for long would always be
    /// tried next.
    pub fn observations(&self, node: usize, now: Instant) -> (f64, f64) {
        let counts = |n: usize| {
            let (failures, alive) = self.counts(n, now);
            failures + alive
        };
        match self.estimator {
            Estimator::Faded(_) | Estimator::Window(_) => {
                (counts(node), (0..self.len()).map(counts).sum())
            }
            _ => (f64::from(self.records[node].seen), f64::from(self.total)),
        }
    }

    /// The evidence about a node to share; `None` if there is none that can be merged.
    pub fn digest(&self, node: usize, now: Instant) -> Option<Digest> {
        match (&self.records[node].memory, self.estimator) {
            (Memory::Timed(t), Estimator::Hazard(half_life)) => Some(t.digest(now, half_life)),
            _ => None,
        }
    }

    /// Merges what another node knows about a third.
    pub fn import(&mut self, node: usize, now: Instant, theirs: Digest) {
        if let (Memory::Timed(t), Estimator::Hazard(half_life)) =
            (&mut self.records[node].memory, self.estimator)
        {
            t.import(now, half_life, theirs);
        }
    }
}

fn faded(from: Instant, to: Instant, half_life: Duration) -> f64 {
    let half_lives = to.since(from).as_secs_f64() / half_life.as_secs_f64().max(1e-6);
    libm::exp2(-half_lives)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(secs: u64) -> Instant {
        Instant::from_micros(secs * 1_000_000)
    }

    fn observe(book: &mut Book, secs: u64, failed: bool) {
        let life = (!failed).then_some(Life(1));
        book.observe(0, at(secs), life);
    }

    /// P1, in rational arithmetic: after every step F n = F_0 + sum of x, as the paper's two recurrences have it.
    #[test]
    fn the_running_mean_is_the_papers_recurrence() {
        let mut rng = Rng::seed(5, 1);
        let mut book = Book::new(Estimator::Mean, [0.25]);
        // F = num / den, n as in the paper.
        let (mut num, mut den, mut n) = (1_u128, 4_u128, 1_u128);
        for step in 0..60 {
            let failed = rng.chance(0.4);
            observe(&mut book, step, failed);
            // (F n + x) / (n + 1)
            num = num * n + if failed { den } else { 0 };
            den *= n + 1;
            let (mut a, mut b) = (num, den);
            while b > 0 {
                (a, b) = (b, a % b);
            }
            (num, den) = (num / a, den / a);
            n += 1;
            let r = book.record(0);
            assert_eq!(u128::from(r.seen()) + 1, n);
            // F n = 1/4 + failures, exactly.
            assert_eq!(num * n * 4, den * (1 + 4 * u128::from(r.failures())));
            assert!((r.mean() - num as f64 / den as f64).abs() < 1e-12);
            assert!((0.0..=1.0).contains(&r.mean()));
        }
    }

    #[test]
    fn priors_are_kept_between_0_and_1() {
        let book = Book::new(Estimator::Mean, [-0.3, 1.5, f64::NAN]);
        let means = [0, 1, 2].map(|n| book.record(n).mean());
        assert!(means.iter().all(|m| (0.0..=1.0).contains(m)), "{means:?}");
        assert_eq!((means[0], means[2]), (0.0, 0.0));
    }

    /// P2.
    #[test]
    fn penalties_add_up_and_end() {
        let mut book = Book::new(Estimator::Mean, [0.5]);
        book.penalise(0, 500);
        book.penalise(0, 500);
        assert_eq!(book.penalised(0, at(0)), 1.5);
        book.forgive(0);
        assert_eq!(book.penalised(0, at(0)), 0.5);
    }

    #[test]
    fn a_buffer_counts_once_it_is_full() {
        let mut book = Book::new(Estimator::Buffer(3), [0.0]);
        observe(&mut book, 0, true);
        observe(&mut book, 1, true);
        assert!((book.estimate(0, at(1)) - 2.0 / 3.0).abs() < 1e-9);
        for (failed, mean) in [(false, 2.0 / 3.0), (false, 1.0 / 3.0), (false, 0.0)] {
            observe(&mut book, 2, failed);
            assert!((book.estimate(0, at(2)) - mean).abs() < 1e-9);
        }
        // Counts are not windowed.
        assert_eq!(book.observations(0, at(2)), (5.0, 5.0));
    }

    #[test]
    fn windows_forget_at_once_and_fading_by_halves() {
        let hour = Duration::from_secs(3600);
        let mut window = Book::new(Estimator::Window(hour), [0.0]);
        let mut faded = Book::new(Estimator::Faded(hour), [0.0]);
        for (book, mean) in [(&mut window, 1.0 / 3.0), (&mut faded, 0.2191)] {
            observe(book, 0, true);
            observe(book, 3000, false);
            assert!((book.estimate(0, at(3000)) - mean).abs() < 1e-3);
        }
        assert_eq!(window.estimate(0, at(3601)), 0.0);
        assert_eq!(window.observations(0, at(3601)), (2.0, 2.0));
        let (seen, total) = faded.observations(0, at(3000 + 3600));
        assert!((seen - 1.7806).abs() < 1e-3 && seen == total, "{seen}");
    }

    #[test]
    fn draws_follow_the_evidence() {
        let mut rng = Rng::seed(1, 1);
        let mut book = Book::new(Estimator::Hazard(None), [0.1, 0.1]);
        for step in 0..200 {
            book.observe(0, at(step * 10), Some(Life(1)));
            let life = (step % 2 == 0).then_some(Life(step + 1));
            book.observe(1, at(step * 10), life);
        }
        let drawn = |node, rng: &mut Rng| book.sample(node, at(2000), rng);
        let better = (0..200).filter(|_| drawn(0, &mut rng) < drawn(1, &mut rng));
        assert!(better.count() > 195);
        assert!(book.estimate(0, at(2000)) < book.estimate(1, at(2000)));
    }

    #[test]
    fn scores_keep_their_order_and_nothing_is_worst() {
        assert!(Score::of(-0.5) < Score::of(0.25));
        assert_eq!(Score::of(f64::NAN), Score(i64::MAX));
        assert_eq!(Score::of(f64::INFINITY), Score(i64::MAX));
    }
}
