//! The algorithm and its settings.

use core::fmt;
use core::str::FromStr;
use core::time::Duration;

/// An algorithm of the thesis, or one that it compares with.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Mode {
    /// Topology Aware: the smallest sum of hop distances leads (chapter 4).
    TaCloseness,
    /// Topology Aware: the node with the most neighbours leads.
    TaDegree,
    /// Centrality-based Eventual Leader: the smallest sum of hop distances leads (chapter 5).
    Cel,
    /// Flooding Degree: the node with the most neighbours leads; a node reconsiders its own rank only on its own
    /// tick.
    FdTick,
    /// The same, but at once.
    FdEvent,
    /// Gómez-Calzado et al. 2013, as the thesis describes it: the oldest node of the largest component leads.
    Gc,
}

impl Mode {
    /// All modes.
    pub const ALL: [Mode; 6] = [
        Mode::TaCloseness,
        Mode::TaDegree,
        Mode::Cel,
        Mode::FdTick,
        Mode::FdEvent,
        Mode::Gc,
    ];

    /// Its name on the command line.
    pub const fn name(self) -> &'static str {
        match self {
            Mode::TaCloseness => "ta-closeness",
            Mode::TaDegree => "ta-degree",
            Mode::Cel => "cel",
            Mode::FdTick => "fd-tick",
            Mode::FdEvent => "fd-event",
            Mode::Gc => "gc",
        }
    }
}

impl fmt::Display for Mode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// Why a text names no [`Mode`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("an algorithm of the papers is one of ta-closeness, ta-degree, cel, fd-tick, fd-event, gc")]
pub struct ParseModeError;

impl FromStr for Mode {
    type Err = ParseModeError;

    fn from_str(s: &str) -> Result<Mode, ParseModeError> {
        Mode::ALL
            .into_iter()
            .find(|m| m.name() == s)
            .ok_or(ParseModeError)
    }
}

/// How neighbours are detected: the probes of chapter 4, the beacons of chapter 5.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Detector {
    /// Between two beacons (τ).
    pub period: Duration,
    /// A neighbour that was silent for this long is gone.
    pub timeout: Duration,
}

impl Detector {
    /// Probes of chapter 4: every 400 ms, gone after 450 ms (γ = 1).
    pub const PROBE: Detector = Detector {
        period: Duration::from_millis(400),
        timeout: Duration::from_millis(450),
    };

    /// Beacons of chapter 5: every 102.4 ms. The number of missed beacons after which a neighbour is gone is not
    /// stated (E15), so it is a parameter, in tenths of the period.
    pub const fn beacon(timeout_tenths: u32) -> Detector {
        let period = Duration::from_micros(102_400);
        Detector {
            period,
            timeout: Duration::from_micros(10_240 * timeout_tenths as u64),
        }
    }
}

/// Settings. Each algorithm reads only its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Config {
    /// The algorithm.
    pub mode: Mode,
    /// How neighbours are detected; `None` where [`Input`](super::Input) reports them, and with [`Mode::Gc`], whose
    /// messages are its beacons.
    pub detector: Option<Detector>,
    /// Every periodic message leaves up to this share of its period early.
    pub jitter_per_mille: u16,
    /// TA: how long updates are collected (Δ).
    pub update_period: Duration,
    /// TA: every probe is a new connection, as a sentence of section 4.3.2 says; probably what was measured in
    /// chapter 5.
    pub per_probe: bool,
    /// CEL: probability of forwarding news of others (ρ).
    pub rho_per_mille: u16,
    /// CEL: stay silent if a neighbour with the same neighbours and a smaller id may forward (lines 43-46).
    pub prune: bool,
    /// CEL: also change the view of the node at the other end (lines 11-16, 21-22).
    pub neighbour_aware: bool,
    /// FD: interval between two floods of a leader (α).
    pub flood_period: Duration,
    /// FD: a leader that was silent for this long is gone (β = 1).
    pub flood_timeout: Duration,
    /// Gómez-Calzado: interval between two messages of a leader, or of a node alone.
    pub beat_period: Duration,
    /// Gómez-Calzado: initial timeout.
    pub silence_first: Duration,
    /// Gómez-Calzado: increase of the timeout after each expiry (E29).
    pub silence_step: Duration,
}

impl Config {
    /// The settings of chapter 4 at a transmission range.
    pub fn chapter4(mode: Mode, range_m: f64) -> Config {
        Config {
            detector: Some(Detector::PROBE).filter(|_| mode != Mode::Gc),
            update_period: update_period(range_m),
            ..Config::bare(mode)
        }
    }

    /// The settings of chapter 5 at a transmission range; a neighbour is gone after `timeout_tenths` tenths of a
    /// beacon period. CEL-1, unless ρ is set.
    pub fn chapter5(mode: Mode, range_m: f64, timeout_tenths: u32) -> Config {
        Config {
            detector: Some(Detector::beacon(timeout_tenths)).filter(|_| mode != Mode::Gc),
            ..Config::chapter4(mode, range_m)
        }
    }

    /// Without a detector: inputs report neighbours.
    pub const fn bare(mode: Mode) -> Config {
        Config {
            mode,
            detector: None,
            jitter_per_mille: 0,
            update_period: Duration::from_millis(80),
            per_probe: false,
            rho_per_mille: 1000,
            prune: true,
            neighbour_aware: true,
            flood_period: Duration::from_millis(250),
            flood_timeout: Duration::from_millis(300),
            beat_period: Duration::from_micros(102_400),
            silence_first: Duration::from_millis(100),
            silence_step: Duration::from_millis(500),
        }
    }
}

/// How long TA collects updates (Δ): 70·log10(range) − 60 milliseconds, and at least one: the formula is not
/// positive below 7.2 m.
pub fn update_period(range_m: f64) -> Duration {
    let ms = 70.0 * libm::log10(range_m) - 60.0;
    // A range that is not a number gives the minimum.
    Duration::from_micros((ms.max(1.0) * 1000.0) as u64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_read_back() {
        for mode in Mode::ALL {
            assert_eq!(mode.name().parse(), Ok(mode));
        }
        assert_eq!("ta".parse::<Mode>(), Err(ParseModeError));
    }

    /// Fig. 4.11, and the means of 60 and 90 ms in the text.
    #[test]
    fn updates_are_collected_for_longer_at_long_range() {
        let ms = |range: f64| update_period(range).as_micros() as f64 / 1000.0;
        assert_eq!(ms(10.0), 10.0);
        assert!((ms(90.0) - 76.797).abs() < 0.001, "{}", ms(90.0));
        assert!((ms(200.0) - 101.072).abs() < 0.001, "{}", ms(200.0));
        let mean = |from: u32| {
            (from..from + 10)
                .map(|r| ms(f64::from(r) * 10.0))
                .sum::<f64>()
                / 10.0
        };
        assert!((mean(1) - 55.9).abs() < 0.1, "{}", mean(1));
        assert!((mean(11) - 92.8).abs() < 0.1, "{}", mean(11));
        for range in [7.0, 0.0, -1.0, f64::NAN] {
            assert_eq!(ms(range), 1.0);
        }
    }

    #[test]
    fn beacons_are_missed_in_tenths() {
        assert_eq!(Detector::beacon(35).timeout, Duration::from_micros(358_400));
        assert_eq!(Config::chapter4(Mode::Gc, 50.0).detector, None);
    }
}
