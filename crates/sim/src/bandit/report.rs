//! Result of a run.

/// How a round ended.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RoundEnd {
    /// Time in seconds.
    pub at: f64,
    /// The leader according to the client; `None` if the round failed.
    pub leader: Option<u16>,
}

/// Estimates of one node.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Observer {
    /// Its estimate of each node.
    pub estimates: Vec<f64>,
    /// Number of its observations.
    pub updates: u32,
}

/// Result of one run.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Report {
    /// How often the client asked all nodes: rounds, including those that failed.
    pub rounds: u32,
    /// The end of each round, in order.
    pub ends: Vec<RoundEnd>,
    /// Whether the client reached its last request within ten times the longest time.
    pub finished: bool,
    /// Duration in seconds.
    pub seconds: f64,
    /// Seconds from a request without reply to the next leader.
    pub outage: f64,
    /// Rounds with a winner, by the count of any node.
    pub elected: u32,
    /// Rounds with two or more winners (B-1).
    pub dual: u32,
    /// Share of the time for which each node was down.
    pub down: Vec<f64>,
    /// Estimates of each node.
    pub observers: Vec<Observer>,
    /// Messages of elections.
    pub messages_election: u64,
    /// Pings and their answers.
    pub messages_ping: u64,
    /// Requests, replies, broadcasts and their answers.
    pub messages_request: u64,
    /// Ticks with fewer than 0.8 f or more than f nodes down (P5).
    pub out_of_bounds: u64,
    /// Hash of all events of nodes and client, with their times.
    pub trace_hash: u64,
}

impl Report {
    /// Rounds that failed.
    pub fn failed(&self) -> u32 {
        self.ends.iter().filter(|e| e.leader.is_none()).count() as u32
    }

    /// Failed rounds by their delay: one plus the number of failed rounds that follow directly. Delay 1 first.
    pub fn delays(&self) -> Vec<u32> {
        const LONGEST: usize = 8;
        let mut counts = vec![0; LONGEST];
        let mut follow = 0;
        for end in self.ends.iter().rev() {
            follow = if end.leader.is_none() { follow + 1 } else { 0 };
            if follow > 0 {
                counts[LONGEST.min(follow) - 1] += 1;
            }
        }
        counts
    }

    /// Line through the number of rounds in windows of 1000 s, one every 100 s: rounds that found a leader, or that
    /// did not. Returns its first and its last value; `None` if the run is too short for two windows.
    pub fn trend(&self, found: bool) -> Option<(f64, f64)> {
        const WINDOW: f64 = 1000.0;
        const STEP: f64 = 100.0;
        let times = self.ends.iter().filter(|e| e.leader.is_some() == found);
        let times: Vec<f64> = times.map(|e| e.at).collect();
        let windows = ((self.seconds - WINDOW) / STEP).floor() + 1.0;
        if windows < 2.0 {
            return None;
        }
        let count = |n: usize| {
            let from = n as f64 * STEP;
            let within = times.iter().filter(|t| **t >= from && **t < from + WINDOW);
            within.count() as f64
        };
        let counts: Vec<f64> = (0..windows as usize).map(count).collect();
        let mean = counts.iter().sum::<f64>() / windows;
        let middle = (windows - 1.0) / 2.0;
        let (mut over, mut under) = (0.0, 0.0);
        for (n, y) in counts.iter().enumerate() {
            let x = n as f64 - middle;
            over += x * (y - mean);
            under += x * x;
        }
        let slope = over / under;
        Some((mean - slope * middle, mean + slope * middle))
    }

    /// Among the rounds after `from` that found a leader, the share that found one of `nodes`.
    pub fn found_among(&self, nodes: &[u16], from: f64) -> f64 {
        let found = self.ends.iter().filter(|e| e.at >= from);
        let found: Vec<u16> = found.filter_map(|e| e.leader).collect();
        let good = found.iter().filter(|n| nodes.contains(n)).count();
        good as f64 / found.len() as f64
    }

    /// Root mean square of the nodes' estimates of the others less the share of the time for which these were down.
    pub fn error(&self) -> f64 {
        let errors = self
            .observers
            .iter()
            .enumerate()
            .map(|(n, _)| self.error_of(n));
        let squares: f64 = errors.map(|e| e * e).sum();
        (squares / self.observers.len() as f64).sqrt()
    }

    /// The same for one node.
    pub fn error_of(&self, observer: usize) -> f64 {
        let estimates = &self.observers[observer].estimates;
        let others = (0..estimates.len()).filter(|n| *n != observer);
        let squares: Vec<f64> = others
            .map(|n| (estimates[n] - self.down[n]).powi(2))
            .collect();
        (squares.iter().sum::<f64>() / squares.len() as f64).sqrt()
    }

    /// Share of the time after `from` in which the client followed one of `nodes`; it begins with node 0.
    pub fn led_by(&self, nodes: &[u16], from: f64) -> f64 {
        let (mut since, mut leader, mut led) = (0.0, 0, 0.0);
        let found = self.ends.iter().filter_map(|e| e.leader.map(|l| (e.at, l)));
        for (at, next) in found.chain([(self.seconds, 0)]) {
            if nodes.contains(&leader) {
                led += (at - f64::max(since, from)).max(0.0);
            }
            (since, leader) = (at, next);
        }
        led / (self.seconds - from)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn report(ends: &[(f64, Option<u16>)], seconds: f64) -> Report {
        let ends = ends.iter().map(|&(at, leader)| RoundEnd { at, leader });
        Report {
            ends: ends.collect(),
            seconds,
            ..Report::default()
        }
    }

    /// Two successive failed rounds, and later one: delays 2 and 1, and 1.
    #[test]
    fn failed_rounds_count_those_that_follow() {
        let ends = [(8.0, None), (16.0, None), (24.0, Some(1)), (90.0, None)];
        let r = report(&ends, 100.0);
        assert_eq!(r.delays()[..3], [2, 1, 0]);
        assert_eq!(r.failed(), 3);
    }

    #[test]
    fn leading_is_shared_by_time() {
        // Node 0 to 10 s, node 1 to 40 s, node 2 to the end.
        let r = report(&[(10.0, Some(1)), (20.0, None), (40.0, Some(2))], 50.0);
        assert!((r.led_by(&[1], 0.0) - 0.6).abs() < 1e-9);
        assert!((r.led_by(&[1, 2], 20.0) - 1.0).abs() < 1e-9);
        assert!((r.led_by(&[0], 0.0) - 0.2).abs() < 1e-9);
        assert!((r.found_among(&[2], 0.0) - 0.5).abs() < 1e-9);
    }

    #[test]
    fn a_trend_is_a_line_through_windows() {
        // One round a second in the first 2000 s, none after.
        let ends: Vec<(f64, Option<u16>)> = (0..2000).map(|s| (f64::from(s), Some(1))).collect();
        let (start, end) = report(&ends, 4000.0).trend(true).expect("long enough");
        assert!((start - 1201.6).abs() < 0.1, "{start}");
        assert!((end + 201.6).abs() < 0.1, "{end}");
        assert_eq!(report(&ends, 4000.0).trend(false), Some((0.0, 0.0)));
        assert_eq!(report(&ends, 900.0).trend(true), None);
    }

    #[test]
    fn errors_are_of_others_than_oneself() {
        let observer = |estimates: &[f64]| Observer {
            estimates: estimates.to_vec(),
            updates: 0,
        };
        let r = Report {
            down: vec![0.5, 0.0],
            observers: vec![observer(&[9.0, 0.3]), observer(&[0.1, 9.0])],
            ..Report::default()
        };
        assert!((r.error_of(0) - 0.3).abs() < 1e-9);
        assert!((r.error() - 0.125_f64.sqrt()).abs() < 1e-9);
    }
}
