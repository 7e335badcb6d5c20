//! Fast detection: its settings, how much loss is measured, and what follows from it for the number of
//! unanswered pings that make an accusation and for the time a suspect has.
//!
//! A detector that decides soon must not decide on less evidence. A probe ends when enough attempts stayed
//! unanswered for the loss of this network, the first accuser asks others to check at once, and only a node
//! that tried itself and knows enough confirmations holds the suspect for the short time. Three brakes keep
//! trouble of the network apart from that of a member: a node that heard nobody waits, many suspects at once
//! have longer, and so has a member that was suspected before.

use super::Config;
use super::rtt::Rtt;
use core::time::Duration;

/// Confirmations come from members that begin to check within this time of being asked.
pub(super) const ASKED_WITHIN: Duration = Duration::from_millis(100);
/// The chance that all attempts failed although the target is there, as an exponent of e: ln(1000).
const DOUBT: f64 = 6.907_755_278_982_137;
/// Loss above which every member that hears a refutation passes it on at once, in 65536ths.
const LOSS_HIGH: u32 = 65_536 / 4;
/// Periods for which an accuser pings its suspect often.
pub(super) const CHASE_PERIODS: u32 = 4;

/// Settings of fast detection. They are absolute times and not periods: what they have to outlast, a pause of a
/// process or a burst of loss, does not depend on how often members are probed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Fast {
    /// How long a suspect has at a node that could not reach it itself and knows enough confirmations, on a
    /// network without loss. A process that pauses for longer than this and a probe is likely to be declared
    /// down. Never more than the least of [`Config::suspicion_timeout`]. Default 1.5 s.
    pub least: Duration,
    /// A probe that is not answered ends no sooner than this, and helpers have as long. Default 150 ms.
    pub early: Duration,
    /// How often a silent member is pinged again, unless its round trip takes longer. Default 100 ms.
    pub quick: Duration,
    /// How long a node that hears of a verdict and has not tried itself pings the member before it repeats the
    /// verdict; longer on networks with loss. Default 300 ms.
    pub grace: Duration,
    /// A timer that fires later than this tells that the process did not run: what was not answered meanwhile
    /// proves nothing. Never more than 2 periods. Default 250 ms.
    pub late: Duration,
    /// How many members the first accuser asks to check. Default 8.
    pub ask: u8,
    /// To how many members a verdict, a goodbye, a confirmation, a join or a refutation is told at once. Default 3.
    pub tell: u8,
}

impl Default for Fast {
    fn default() -> Self {
        let ms = Duration::from_millis;
        Fast {
            least: ms(1500),
            early: ms(150),
            quick: ms(100),
            grace: ms(300),
            late: ms(250),
            ask: 8,
            tell: 3,
        }
    }
}

impl Fast {
    /// Pings of one probe, at most.
    pub const PINGS_MAX: usize = 16;
    /// Members that one node pings every `quick` at a time; others get one ping.
    pub const CHASES_MAX: usize = 8;
    /// Datagrams for asking and telling at once that can be saved up; one more comes with every period.
    pub const NEWS_MAX: u8 = 12;

    /// Whether a node can run with these settings.
    pub(crate) fn is_sane(&self) -> bool {
        let spans = [self.least, self.early, self.quick, self.grace, self.late];
        let range = Duration::from_millis(1)..=Duration::from_secs(86_400);
        spans.iter().all(|s| range.contains(s)) && self.ask <= 64 && self.tell <= 16
    }

    /// How long to wait for the answer to one of many pings.
    pub(super) fn pace_us(&self, rtt: Rtt) -> u64 {
        let usual = u64::from(rtt.srtt_us) + 4 * u64::from(rtt.var_us);
        usual.max(crate::time::micros(self.quick))
    }
}

/// The chance that a ping or its answer gets lost, from the pings of probes that were answered in the end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Loss {
    /// In 65536ths.
    share: u32,
    /// Weight of what is known, in samples.
    weight: u32,
}

impl Default for Loss {
    /// Pessimistic: a node that has just started must not take the first lost pings for a crash.
    fn default() -> Self {
        Loss {
            share: 65_536 * 2 / 5,
            weight: 2,
        }
    }
}

impl Loss {
    /// Most samples that count: later ones replace earlier ones.
    const WEIGHT_MAX: u32 = 48;

    /// Takes the fate of one ping.
    pub(super) fn sample(&mut self, lost: bool) {
        self.weight = (self.weight + 1).min(Loss::WEIGHT_MAX);
        let (share, weight) = (u64::from(self.share), u64::from(self.weight));
        let said = if lost { 65_536 } else { 0 };
        self.share = ((share * (weight - 1) + said) / weight) as u32;
    }

    /// Between 0 and 1, both excluded.
    fn chance(self) -> f64 {
        f64::from(self.share.clamp(1, 62_259)) / 65_536.0
    }

    /// How many unanswered attempts make it unlikely that the target is there, in halves of a ping: a
    /// helper that was asked counts half.
    pub(super) fn attempts_needed(self) -> u32 {
        libm::ceil(2.0 * DOUBT / -libm::log(self.chance())) as u32
    }

    /// How many times longer everything takes than on a network that loses a tenth, in thousandths.
    pub(super) fn stretch_per_mille(self) -> u64 {
        let chance = self.chance().max(0.1);
        (1000.0 * libm::log(0.1) / libm::log(chance)) as u64
    }

    /// Whether so much is lost that everybody has to help with refutations.
    pub(super) fn is_high(self) -> bool {
        self.share > LOSS_HIGH
    }
}

impl Config {
    /// A timer that fires later than this tells of a pause.
    pub(super) fn late(&self) -> Duration {
        let coarse = self.probe_period * 2;
        self.fast.map_or(coarse, |fast| fast.late.min(coarse))
    }

    /// How many confirmations beyond the first accuser are as good as all, in a group of `n`.
    pub(super) fn confirmations_enough(&self, n: usize) -> usize {
        usize::from(self.suspicion_confirmations).min(n.saturating_sub(2))
    }

    /// How long a suspect has at a node that tried itself and knows enough confirmations: `crowd` members are
    /// suspected at once, and `trouble` of this one's suspicions, in 256ths, have not faded. `None` where the
    /// timeout of all others holds.
    pub(super) fn suspicion_short(
        &self,
        n: usize,
        loss: Loss,
        crowd: usize,
        trouble: u32,
    ) -> Option<Duration> {
        let fast = self.fast?;
        let most = self.suspicion_min(n);
        // In small groups few can confirm, and each confirmation says less.
        let floor = match n {
            0..=2 => return None,
            3 => most * 2 / 3,
            4 => most / 3,
            _ => Duration::ZERO,
        };
        let times = loss.stretch_per_mille().saturating_mul(crowd.max(1) as u64);
        let times = times.saturating_mul(256 + u64::from(trouble)) / 256;
        let us = crate::time::micros(fast.least).saturating_mul(times) / 1000;
        let span = Duration::from_micros(us).max(floor);
        Some(span.max(self.route_convergence * 2).min(most))
    }

    /// How long a node that only heard of a verdict checks it before it repeats it.
    pub(super) fn check_span(&self, loss: Loss, crowd: usize) -> Duration {
        let today = self.probe_period * self.confirm_grace_periods;
        let Some(fast) = self.fast else {
            return today;
        };
        let times = loss.stretch_per_mille().saturating_mul(crowd.max(1) as u64);
        let us = crate::time::micros(fast.grace).saturating_mul(times) / 1000;
        Duration::from_micros(us).min(today)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn hasty() -> Config {
        Config {
            fast: Some(Fast::default()),
            ..Config::default()
        }
    }

    fn measured(lost: u32, of: u32) -> Loss {
        let mut loss = Loss::default();
        for n in 0..of * 20 {
            loss.sample(n % of < lost);
        }
        loss
    }

    #[test]
    fn loss_starts_high_and_follows_what_is_measured() {
        let mut loss = Loss::default();
        assert_eq!(loss.attempts_needed(), 16);
        for _ in 0..46 {
            loss.sample(false);
        }
        // 0.4 for two of 48 samples.
        assert!((loss.chance() - 0.8 / 48.0).abs() < 0.001);
        for _ in 0..2000 {
            loss.sample(true);
        }
        assert!(loss.is_high() && loss.chance() <= 0.95 && loss.attempts_needed() < 400);
        for _ in 0..2000 {
            loss.sample(false);
        }
        assert!(loss.attempts_needed() >= 2 && loss.stretch_per_mille() == 1000);
    }

    #[test]
    fn more_loss_takes_more_attempts_and_more_time() {
        let (low, mid, high) = (measured(1, 20), measured(1, 5), measured(3, 10));
        assert!(low.attempts_needed() < mid.attempts_needed());
        assert!(mid.attempts_needed() < high.attempts_needed());
        assert!(low.stretch_per_mille() < mid.stretch_per_mille());
        assert!(mid.stretch_per_mille() < high.stretch_per_mille());
        assert!(!low.is_high());
    }

    #[test]
    fn each_factor_lengthens_the_short_time_up_to_the_least_of_all_others() {
        let config = hasty();
        let ms = Duration::from_millis;
        let calm = measured(0, 1);
        let short = |n, loss, crowd, trouble| config.suspicion_short(n, loss, crowd, trouble);
        assert_eq!(short(16, calm, 1, 0), Some(ms(1500)));
        assert_eq!(short(16, calm, 2, 0), Some(ms(3000)));
        assert_eq!(short(16, calm, 1, 128), Some(ms(2250)));
        assert!(short(16, measured(1, 5), 1, 0) > Some(ms(1900)));
        // Never above what any suspect has: 6 s of 16 members.
        assert_eq!(short(16, calm, 16, 0), Some(config.suspicion_min(16)));
        assert_eq!(short(16, calm, usize::MAX, u32::MAX), Some(ms(6000)));
        // Small groups.
        assert_eq!(short(2, calm, 1, 0), None);
        assert_eq!(short(3, calm, 1, 0), Some(config.suspicion_min(3) * 2 / 3));
        assert_eq!(short(4, calm, 1, 0), Some(ms(1500)));
        let slow = Config {
            route_convergence: Duration::from_secs(10),
            ..hasty()
        };
        let floor = slow.suspicion_short(16, calm, 1, 0);
        assert_eq!(floor, Some(Duration::from_secs(20)));
    }

    #[test]
    fn patient_detection_has_no_short_time_and_the_full_grace() {
        let config = Config {
            fast: None,
            ..Config::default()
        };
        assert_eq!(config.suspicion_short(16, Loss::default(), 1, 0), None);
        let two = config.probe_period * 2;
        assert_eq!(config.check_span(Loss::default(), 1), two);
        assert_eq!(config.late(), two);
        let fast = hasty();
        assert_eq!(
            fast.check_span(measured(0, 1), 1),
            Duration::from_millis(300)
        );
        assert_eq!(fast.check_span(measured(0, 1), 99), two);
    }
}
