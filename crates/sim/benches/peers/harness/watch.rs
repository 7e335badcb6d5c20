//! Records which node considers which other down, rightly or wrongly. The rules are the same for every kind of
//! node.

use super::News;
use consort_proto::Instant;

#[derive(Debug)]
pub(crate) struct Watch {
    hosts: usize,
    crashed: Vec<bool>,
    /// By crashed host and observer: when the verdict was made.
    verdicts: Vec<Option<Instant>>,
    /// By observer and subject: whether a verdict against a running host is in force.
    wronged: Vec<bool>,
    /// By observer and subject: whether it was in force when the subject crashed, so that no other will come.
    foretold: Vec<bool>,
    wronged_pairs: u64,
    counted_to: Instant,
    /// Verdicts about running hosts.
    pub(crate) false_positives: u64,
    /// Microseconds in which some wrong verdict was in force.
    pub(crate) wrong_us: u64,
    /// Microseconds times pairs with a wrong verdict.
    pub(crate) wrong_pair_us: u64,
}

impl Watch {
    pub(crate) fn new(hosts: usize) -> Watch {
        Watch {
            hosts,
            crashed: vec![false; hosts],
            verdicts: vec![None; hosts * hosts],
            wronged: vec![false; hosts * hosts],
            foretold: vec![false; hosts * hosts],
            wronged_pairs: 0,
            counted_to: Instant::ZERO,
            false_positives: 0,
            wrong_us: 0,
            wrong_pair_us: 0,
        }
    }

    pub(crate) fn is_crashed(&self, host: usize) -> bool {
        self.crashed[host]
    }

    /// When `observer` declared the crashed `subject` down.
    pub(crate) fn verdict(&self, subject: usize, observer: usize) -> Option<Instant> {
        self.verdicts[subject * self.hosts + observer]
    }

    /// Whether `observer` considered `subject` down when it crashed.
    pub(crate) fn is_foretold(&self, subject: usize, observer: usize) -> bool {
        self.foretold[observer * self.hosts + subject]
    }

    /// Takes the time up to `now` into account.
    pub(crate) fn count_to(&mut self, now: Instant) {
        let us = now.since(self.counted_to).as_micros() as u64;
        self.wrong_pair_us += us * self.wronged_pairs;
        self.wrong_us += if self.wronged_pairs > 0 { us } else { 0 };
        self.counted_to = now;
    }

    /// Starts to count; wrong verdicts in force remain.
    pub(crate) fn reset(&mut self, now: Instant) {
        self.count_to(now);
        self.false_positives = 0;
        self.wrong_us = 0;
        self.wrong_pair_us = 0;
    }

    pub(crate) fn crash(&mut self, now: Instant, host: usize) {
        self.count_to(now);
        self.crashed[host] = true;
        for other in 0..self.hosts {
            let pair = other * self.hosts + host;
            self.foretold[pair] = self.wronged[pair];
            self.set_wronged(host, other, false);
            self.set_wronged(other, host, false);
        }
    }

    pub(crate) fn note(&mut self, now: Instant, observer: usize, news: News) {
        self.count_to(now);
        match news {
            News::Down(subject) if self.crashed[subject] => {
                self.verdicts[subject * self.hosts + observer].get_or_insert(now);
            }
            News::Down(subject) => {
                self.false_positives += 1;
                self.set_wronged(observer, subject, true);
            }
            News::Up(subject) => self.set_wronged(observer, subject, false),
        }
    }

    fn set_wronged(&mut self, observer: usize, subject: usize, to: bool) {
        let entry = &mut self.wronged[observer * self.hosts + subject];
        match (core::mem::replace(entry, to), to) {
            (false, true) => self.wronged_pairs += 1,
            (true, false) => self.wronged_pairs -= 1,
            _ => {}
        }
    }
}
