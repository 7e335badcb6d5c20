//! Settings of membership. `Default` fits a wired or good wireless network; `paper()` is for the
//! laboratory.

#[cfg(any(test, feature = "_papers"))]
use super::clearing::Clearing;
use super::distance::DistanceSource;
use super::fast::Fast;
use super::feedback::ActiveFeedback;
use super::select::{HelperPolicy, ProbeFloor, TargetPolicy};
use crate::hash::hash_bytes;
use core::time::Duration;

/// How long to wait for a direct answer before asking helpers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ProbeTimeout {
    /// From the round-trip times seen: `clamp(srtt + 4 rttvar, 20 ms, period / 3)`, a quarter of the
    /// period while there is no sample.
    Adaptive,
    /// Always this long.
    Fixed(Duration),
}

/// How long a suspect has to defend itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SuspicionTimeout {
    /// At least `factor * ceil(ln(N + 1))` periods, at most `stretch` times that; the more members
    /// confirm the suspicion, the nearer to the least.
    Scaled {
        /// kappa: the least, in units of `ceil(ln(N + 1))` periods.
        factor: u32,
        /// beta: how many times longer an unconfirmed suspicion is held.
        stretch: u32,
    },
    /// Always this long.
    Fixed(Duration),
}

/// Settings of membership. Spans named `_periods` are counted in [`Config::probe_period`]s.
#[derive(Clone, Debug, PartialEq)]
pub struct Config {
    /// Every period a node probes one member (T in the papers). Default 1 s.
    pub probe_period: Duration,
    /// Each period is drawn this far around `probe_period`, in thousandths. Default 50.
    pub probe_jitter_per_mille: u32,
    /// When to give up on a direct answer.
    pub probe_timeout: ProbeTimeout,
    /// How often a silent member is pinged again before it is accused, 2 at most: as long as a third of
    /// the period is not over, when its usual round trip is, and at last when helpers are asked. Default 2.
    pub probe_retries: u8,
    /// How many members are asked to probe a silent one (k). Default 3.
    pub probe_helpers: u8,
    /// Whom to probe. Default [`TargetPolicy::Turns`].
    pub probe_policy: TargetPolicy,
    /// What keeps far members from being forgotten. Default [`ProbeFloor::Auto`].
    pub probe_floor: ProbeFloor,
    /// Whom to ask for help. Default [`HelperPolicy::Mixed`].
    pub helper_policy: HelperPolicy,
    /// A member at distance r gets a share of probes proportional to r^-m; this is m. 0 is uniform, as
    /// in SWIM; infinity is the nearest only. Default 3.
    pub distance_exponent: f32,
    /// Where distances come from. Default [`DistanceSource::Coordinate`].
    pub distance_source: DistanceSource,
    /// How long a suspect may stay silent before it is declared down. Default: kappa 2, beta 6.
    pub suspicion_timeout: SuspicionTimeout,
    /// Detection on evidence instead of at the end of periods, with a short timeout for members that
    /// several others could not reach; see [`Fast`]. `None` leaves all to `suspicion_timeout`. Default [`Fast::default`].
    pub fast: Option<Fast>,
    /// After this long a suspicion counts half in [`Member::trouble`](super::Member::trouble). Default 64.
    pub trouble_periods: u32,
    /// How many confirmations beyond the first accuser count and are passed on. Default 3.
    pub suspicion_confirmations: u8,
    /// Who may clear a suspect; anything but the default needs synchronised clocks and is for figures.
    /// Default [`Clearing::Owner`].
    #[cfg(any(test, feature = "_papers"))]
    pub clearing: Clearing,
    /// How long a node that hears of a verdict holds the member suspected before it repeats the
    /// verdict to its application: time for the member to object. Default 2.
    pub confirm_grace_periods: u32,
    /// How many of its own suspects an accuser pings again every period. Default 4.
    pub pursuits: u8,
    /// How many members, on average, check a suspicion they hear of. Default 4.
    pub witnesses: u8,
    /// How many silent members near its suspect an accuser probes as well. Default 2.
    pub sweep: u8,
    /// Whether a node that hears nobody keeps its verdicts to itself for a while. Default true.
    pub isolation: bool,
    /// How a node that is probed too rarely says so. Default [`ActiveFeedback::Flag`].
    pub feedback_active: ActiveFeedback,
    /// Probed less often than this, or not at all for twice as long, a node is unlucky. Default 4.
    pub active_timeout_periods: u32,
    /// How often, in thousandths of the periods, a member not heard from for
    /// `passive_timeout_periods` is probed instead. Default 0: the floor does it better.
    pub feedback_passive_per_mille: u16,
    /// See `feedback_passive_per_mille`. Default 20.
    pub passive_timeout_periods: u32,
    /// Upper end of the local health multiplier that slows the prober of a struggling node;
    /// 0 switches it off. Default 7.
    pub health_max: u8,
    /// Each rumor is sent `rumor_factor * ceil(ln(N + 1))` times (lambda). Default 3.
    pub rumor_factor: u32,
    /// Who hears of an accusation that the accused has answered already passes the answer on this many
    /// times more: hardly anybody else would tell whoever missed it. Default 3.
    pub rumor_reminders: u32,
    /// At most this many rumors ride on one datagram, besides the limit in bytes. Default 64.
    pub rumors_max: u16,
    /// Recent news that ride, uncounted, on datagrams to members beyond the median distance: rare long
    /// links carry all there is (E16). Default 64.
    pub rumor_ring: u16,
    /// How long a record of a departed member is kept against stale rumors, unless four times the
    /// longest suspicion is longer. Default 128.
    pub tombstone_periods: u32,
    /// How long a member that failed or left stays listed: it is shown as such, tried now and then, and a failed one
    /// counts for locks ([`Bound::Members`](crate::mutex::Bound::Members)). Never shorter than what
    /// `tombstone_periods` says. There are at most 64 more of them than twice the live members; those that left go
    /// first, then the oldest. Default 1 day.
    pub departed_keep: Duration,
    /// How often a node tries one failed member or seed, so that partitions heal; 0 is never. Those that failed
    /// less than `tombstone_periods` ago are tried by the group as a whole every other period. Default 16.
    pub heal_periods: u32,
    /// Least time between two comparisons of member lists; 0 is never. Default 8.
    pub sync_periods: u32,
    /// Longest nap that is believed; see [`Command::Nap`](crate::Command::Nap). Default 1 hour.
    pub nap_max: Duration,
    /// Time the routing below needs to find another way: a suspicion is never shorter than twice
    /// this. Default 0, right for a single hop.
    pub route_convergence: Duration,
    /// Most members that are listed; more are counted and ignored. Default 10 000.
    pub members_max: u32,
    /// Most nodes that are new to this one, of which one member may tell in a minute without being asked.
    /// Default 256.
    pub told_max: u32,
    /// Most probes carried out for others at a time. Default 64.
    pub relays_max: u16,
    /// Most seeds that are remembered. Default 16.
    pub seeds_max: u16,
    /// Most bytes of encoded name and tags. Default 512.
    pub meta_max: u16,
}

impl Default for Config {
    fn default() -> Self {
        Config {
            probe_period: Duration::from_secs(1),
            probe_jitter_per_mille: 50,
            probe_timeout: ProbeTimeout::Adaptive,
            probe_retries: 2,
            probe_helpers: 3,
            probe_policy: TargetPolicy::Turns,
            probe_floor: ProbeFloor::Auto,
            helper_policy: HelperPolicy::Mixed,
            distance_exponent: 3.0,
            distance_source: DistanceSource::Coordinate,
            suspicion_timeout: SuspicionTimeout::Scaled {
                factor: 2,
                stretch: 6,
            },
            fast: Some(Fast::default()),
            trouble_periods: 64,
            suspicion_confirmations: 3,
            #[cfg(any(test, feature = "_papers"))]
            clearing: Clearing::Owner,
            confirm_grace_periods: 2,
            pursuits: 4,
            witnesses: 4,
            sweep: 2,
            isolation: true,
            feedback_active: ActiveFeedback::Flag,
            active_timeout_periods: 4,
            feedback_passive_per_mille: 0,
            passive_timeout_periods: 20,
            health_max: 7,
            rumor_ring: 64,
            rumor_factor: 3,
            rumor_reminders: 3,
            rumors_max: 64,
            tombstone_periods: 128,
            departed_keep: Duration::from_secs(86_400),
            heal_periods: 16,
            sync_periods: 8,
            nap_max: Duration::from_secs(3600),
            route_convergence: Duration::ZERO,
            members_max: 10_000,
            told_max: 256,
            relays_max: 64,
            seeds_max: 16,
            meta_max: 512,
        }
    }
}

impl Config {
    /// The papers' protocol, for figures: `period` is their 20 time units. Independent draws by share
    /// of given distances, SWIM until `distance_exponent` is set; fixed timeouts; six rumors a message;
    /// no floor, retries, fast detection, pursuit, witnesses, sweep, grace, reminders, local health, feedback, healing or
    /// anti-entropy.
    pub fn paper(period: Duration, suspicion: Duration) -> Config {
        Config {
            probe_period: period,
            probe_jitter_per_mille: 0,
            probe_timeout: ProbeTimeout::Fixed(period / 4),
            probe_retries: 0,
            probe_policy: TargetPolicy::Iid,
            probe_floor: ProbeFloor::Off,
            helper_policy: HelperPolicy::Shares,
            distance_exponent: 0.0,
            distance_source: DistanceSource::Given,
            suspicion_timeout: SuspicionTimeout::Fixed(suspicion),
            fast: None,
            suspicion_confirmations: 0,
            confirm_grace_periods: 0,
            pursuits: 0,
            witnesses: 0,
            sweep: 0,
            isolation: false,
            feedback_active: ActiveFeedback::Off,
            health_max: 0,
            rumor_reminders: 0,
            rumors_max: 6,
            rumor_ring: 0,
            departed_keep: Duration::ZERO,
            heal_periods: 0,
            sync_periods: 0,
            ..Config::default()
        }
    }

    /// Whether members are probed in turns while they are all near: only a round trip tells that.
    pub(super) fn takes_turns(&self) -> bool {
        let by_time = matches!(
            self.distance_source,
            DistanceSource::Coordinate | DistanceSource::Latency
        );
        by_time && self.probe_policy == TargetPolicy::Turns
    }

    /// Hash of the settings that members of one group should share.
    pub(crate) fn options_hash(&self) -> u32 {
        let us = crate::time::micros(self.probe_period);
        hash_bytes(&us.to_le_bytes()) as u32
    }
}
