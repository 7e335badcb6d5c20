//! The settings of a node. [`Config::check`] validates them once; all other code relies on that.

use crate::election::{self, Quorum};
use crate::hash::hash_bytes;
use crate::membership::{self, Fast, ProbeTimeout, SuspicionTimeout, TargetPolicy};
use crate::message;
use crate::mutex::{self, Bound};
use crate::omega;
use crate::reliability;
use crate::seal::{self, KeyRing, Suite};
use crate::wire::{DATAGRAM_MIN, Frame, HEADER_MAX};
use alloc::string::String;
use alloc::sync::Arc;
use core::fmt;
use core::str::FromStr;
use core::time::Duration;

/// All settings of a node.
#[derive(Clone, Debug, PartialEq)]
pub struct Config {
    /// The name of the group. Datagrams of other groups are dropped, so several groups can share a network.
    pub group: String,
    /// The size of the largest datagram that is sent, in bytes. Default: 1200, which is not fragmented on common links.
    pub datagram_max: u16,
    /// The greatest number of timers that one [`Node::handle_timeout`](crate::Node::handle_timeout) fires; the rest
    /// stay due. Default: 256.
    pub timers_per_call: u16,
    /// Settings of membership.
    pub membership: membership::Config,
    /// Settings of elections.
    pub election: election::Config,
    /// Settings of locks.
    pub mutex: mutex::Config,
    /// Settings of the topology layer.
    pub omega: omega::Config,
    /// Settings of the record of failures.
    pub reliability: reliability::Config,
    /// Settings of sealing and of first contact.
    pub seal: seal::Config,
    /// Settings of application messages.
    pub message: message::Config,
}

impl Default for Config {
    fn default() -> Self {
        Config {
            group: String::from("consort"),
            datagram_max: 1200,
            timers_per_call: 256,
            membership: membership::Config::default(),
            election: election::Config::default(),
            mutex: mutex::Config::default(),
            omega: omega::Config::default(),
            reliability: reliability::Config::default(),
            seal: seal::Config::default(),
            message: message::Config::default(),
        }
    }
}

/// The kind of network that a group runs on. It sets periods and budgets that belong together.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Profile {
    /// Ethernet, or a data centre: the defaults.
    #[default]
    Wired,
    /// Wi-Fi with an access point: devices that sleep between beacons, bursts of loss.
    Wifi,
    /// A multi-hop mesh whose routing needs seconds to find another path.
    Mesh,
    /// Long-range radio with few bytes per second, on which reactions take minutes.
    Lora,
}

impl Profile {
    /// All profiles.
    pub const ALL: [Profile; 4] = [Profile::Wired, Profile::Wifi, Profile::Mesh, Profile::Lora];

    /// Its name in files and on the command line.
    pub const fn name(self) -> &'static str {
        match self {
            Profile::Wired => "wired",
            Profile::Wifi => "wifi",
            Profile::Mesh => "mesh",
            Profile::Lora => "lora",
        }
    }
}

impl fmt::Display for Profile {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// The error for a text that names no [`Profile`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("a profile is one of wired, wifi, mesh, lora")]
pub struct ParseProfileError;

impl FromStr for Profile {
    type Err = ParseProfileError;

    fn from_str(s: &str) -> Result<Profile, ParseProfileError> {
        Profile::ALL
            .into_iter()
            .find(|p| p.name() == s)
            .ok_or(ParseProfileError)
    }
}

/// How soon a silent member is declared failed. A detector that decides within 2 s necessarily accuses a process that
/// pauses for 3 s; this setting chooses between speed and tolerance.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Detection {
    /// As soon as the evidence allows, for hosts that do not pause.
    Fast,
    /// Soon, but most pauses of up to two seconds are tolerated.
    #[default]
    Balanced,
    /// After the full suspicion timeout; pauses of several seconds are tolerated.
    Patient,
}

impl Detection {
    /// All settings.
    pub const ALL: [Detection; 3] = [Detection::Fast, Detection::Balanced, Detection::Patient];

    /// Its name in files and on the command line.
    pub const fn name(self) -> &'static str {
        match self {
            Detection::Fast => "fast",
            Detection::Balanced => "balanced",
            Detection::Patient => "patient",
        }
    }
}

impl fmt::Display for Detection {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// The error for a text that names no [`Detection`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("detection is one of fast, balanced, patient")]
pub struct ParseDetectionError;

impl FromStr for Detection {
    type Err = ParseDetectionError;

    fn from_str(s: &str) -> Result<Detection, ParseDetectionError> {
        Detection::ALL
            .into_iter()
            .find(|d| d.name() == s)
            .ok_or(ParseDetectionError)
    }
}

impl Profile {
    /// The settings of fast detection on this kind of network; `None` if every member gets the full timeout.
    pub const fn detection(self, detection: Detection) -> Option<Fast> {
        // The values are least, early, quick, grace and late, in milliseconds.
        let ms = match (self, detection) {
            (_, Detection::Patient) | (Profile::Lora, _) => return None,
            (Profile::Wired, Detection::Fast) => [800, 150, 100, 300, 250],
            (Profile::Wired, Detection::Balanced) => [1500, 150, 100, 300, 250],
            (Profile::Wifi, Detection::Fast) => [1200, 400, 200, 600, 500],
            (Profile::Wifi, Detection::Balanced) => [2000, 400, 200, 600, 500],
            (Profile::Mesh, Detection::Fast) => [2500, 800, 300, 1000, 1000],
            (Profile::Mesh, Detection::Balanced) => [4000, 800, 300, 1000, 1000],
        };
        Some(Fast {
            least: Duration::from_millis(ms[0]),
            early: Duration::from_millis(ms[1]),
            quick: Duration::from_millis(ms[2]),
            grace: Duration::from_millis(ms[3]),
            late: Duration::from_millis(ms[4]),
            ask: 8,
            tell: 3,
        })
    }
}

impl From<Profile> for Config {
    fn from(profile: Profile) -> Config {
        let mut config = Config::default();
        let m = &mut config.membership;
        m.fast = profile.detection(Detection::default());
        if profile != Profile::Wired {
            m.probe_policy = TargetPolicy::Stride;
        }
        match profile {
            Profile::Wired => {}
            Profile::Wifi => {
                config.election.lease = Duration::from_millis(2500);
                m.probe_period = Duration::from_millis(1500);
                config.message.gossip_every = Duration::from_millis(200);
                config.message.query_timeout = Duration::from_secs(5);
                m.suspicion_timeout = SuspicionTimeout::Scaled {
                    factor: 3,
                    stretch: 6,
                };
            }
            Profile::Mesh => {
                config.election.lease = Duration::from_secs(8);
                m.probe_period = Duration::from_secs(2);
                config.message.gossip_every = Duration::from_millis(500);
                config.message.query_timeout = Duration::from_secs(15);
                config.message.lifetime = Duration::from_secs(60);
                m.route_convergence = Duration::from_secs(10);
                config.mutex.retry = Duration::from_secs(1);
                config.mutex.ttl_max = Duration::from_secs(30);
            }
            Profile::Lora => {
                config.election.lease = Duration::from_secs(600);
                m.probe_period = Duration::from_secs(60);
                // Messages travel only in the free space of other datagrams.
                config.message.gossip_fanout = 0;
                config.message.gossip_every = Duration::from_secs(60);
                config.message.lifetime = Duration::from_secs(3600);
                config.message.query_timeout = Duration::from_secs(1800);
                config.message.query_timeout_max = Duration::from_secs(7200);
                m.probe_helpers = 2;
                m.pursuits = 1;
                m.witnesses = 2;
                m.rumor_ring = 0;
                m.route_convergence = Duration::from_secs(120);
                m.meta_max = 48;
                config.datagram_max = 222;
                config.seal.rates = seal::Rates::SLOW;
                config.mutex.retry = Duration::from_secs(30);
                config.mutex.ttl = Duration::from_secs(600);
                config.mutex.ttl_max = Duration::from_secs(600);
                config.omega.hello_period = Duration::from_secs(60);
                config.omega.hello_stretch = 4;
                config.omega.airtime = Duration::from_millis(400);
                config.omega.summary_every = Duration::from_secs(120);
                config.omega.messages_max = 1;
                config.omega.claim_after = Duration::from_secs(120);
            }
        }
        config
    }
}

/// The reason why a [`Config`] is refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ConfigError {
    /// Name the group.
    #[error("group must be 1 to 255 bytes long")]
    Group,
    /// A datagram must have room for a record with the largest meta.
    #[error("datagram_max must be at least {least}: meta_max plus {DATAGRAM_MIN} bytes")]
    DatagramMax {
        /// The smallest value that works with the other settings.
        least: u32,
    },
    /// Keys are changed one at a time.
    #[error("a group has 1 to {} different keys", seal::KEYS_MAX)]
    Keys,
    /// Certificates prove who has sealed a datagram: there must be a key, and no migration.
    #[error(
        "an identity needs a group key, and cannot be combined with a migration from open to sealed"
    )]
    IdentityWithoutKey,
    /// Name the public keys that the operators' tool has shown.
    #[error(
        "an identified group has 1 to {} different operators",
        seal::OPERATORS_MAX
    )]
    Operators,
    /// The certificate was made for another key.
    #[error("the certificate is not for this identity's key")]
    CertificateKey,
    /// Start the node with the id that is in its certificate.
    #[error("the certificate is not for this node's id")]
    CertificateId,
    /// Check the name of the group, and the list of operators.
    #[error("no configured operator has signed the certificate for this group")]
    CertificateUnsigned,
    /// Slow radios have room for certificates with few scopes.
    #[error(
        "the certificate takes a datagram of {least} bytes, and datagram_max is {max}: give it fewer scopes"
    )]
    CertificateSize {
        /// The smallest datagram that holds it.
        least: u32,
        /// The largest datagram.
        max: u16,
    },
    /// At least one timer must fire.
    #[error("timers_per_call must not be 0")]
    TimersPerCall,
    /// Timers have a resolution of a microsecond, and tasks one of about a millisecond.
    #[error("probe_period must be between 10 ms and 1 day")]
    ProbePeriod,
    /// Helpers are asked after the direct timeout and need time to answer.
    #[error("probe_timeout must be above 0 and below probe_period")]
    ProbeTimeout,
    /// A suspect needs time to refute.
    #[error("suspicion_timeout must be above 0, and factor and stretch between 1 and 1000")]
    SuspicionTimeout,
    /// Every duration must be positive, and the number of messages bounded.
    #[error("fast: spans must be between 1 ms and 1 day, ask at most 64, tell at most 16")]
    Fast,
    /// The period must stay positive.
    #[error("probe_jitter_per_mille must be below 500")]
    ProbeJitter,
    /// A node knows at least one other.
    #[error("members_max must be between 1 and 1000000")]
    MembersMax,
    /// Rumors are sent at least once.
    #[error("rumor_factor must be between 1 and 100")]
    RumorFactor,
    /// The multiplier must not overflow a period.
    #[error("health_max must be at most 63")]
    HealthMax,
    /// The exponent must be a number.
    #[error("distance_exponent must be 0 or more; infinity probes the nearest only")]
    DistanceExponent,
    /// With a greater epsilon no other member would be asked, and nothing learned.
    #[error("election.quorum must have an epsilon above 0 and below 0.1")]
    Epsilon,
    /// An election needs at least one of each.
    #[error("election: best_max, rounds_max, notify_max and elections_max must be at least 1")]
    ElectionLimits,
    /// The percentage is at most 100.
    #[error("election.reach_min_percent must be at most 100")]
    ReachMin,
    /// A lease has to outlast a few round trips and the drift of clocks.
    #[error(
        "mutex.ttl must be at least ten times mutex.guard and at most mutex.ttl_max (1 day at most)"
    )]
    LockTtl,
    /// Drift and notice are fractions of a lease.
    #[error("mutex.drift_per_mille must be at most 200, mutex.notice_per_mille at most 500")]
    LockDrift,
    /// A majority needs at least one voter.
    #[error("mutex.bound must name at least one voter")]
    LockVoters,
    /// Locks need at least one of each.
    #[error("mutex: locks_max, contenders_max and waiters_max must be at least 1, retry above 0")]
    LockLimits,
    /// Neighbours need time to answer.
    #[error("omega.hello_period must be between 10 ms and 1 hour, omega.hello_misses at least 1")]
    HelloPeriod,
    /// A link that was admitted must not be dropped at once.
    #[error("omega.quality_drop must be below omega.quality_admit, which is at most 100")]
    LinkQuality,
    /// The topology layer needs at least one of each.
    #[error("omega: messages_max, records_max, links_max and elections_max must be at least 1")]
    TopologyLimits,
    /// Observations have to last for a while.
    #[error("reliability.half_life must be between 1 minute and 10 years, subjects_max at least 1")]
    Reliability,
    /// Messages need time to travel, and space to be kept.
    #[error(
        "message: gossip_every, lifetime and query_timeout must be at least 1 ms and at most 1 day, query_timeout at most \
         query_timeout_max, and posts_max, own_max, origins_max and queries_max at least 1"
    )]
    Message,
    /// There must be room for a name.
    #[error("meta_max must be between 32 and 4096")]
    MetaMax,
}

impl Config {
    /// Whether a node can run with these settings.
    pub fn check(&self) -> Result<(), ConfigError> {
        self.check_election()?;
        self.check_mutex()?;
        self.check_omega()?;
        self.check_reliability()?;
        self.check_message()?;
        let m = &self.membership;
        let least = u32::from(m.meta_max) + DATAGRAM_MIN as u32 + self.seal_len() as u32;
        let ensure = |ok: bool, error| if ok { Ok(()) } else { Err(error) };
        ensure((1..=255).contains(&self.group.len()), ConfigError::Group)?;
        ensure((32..=4096).contains(&m.meta_max), ConfigError::MetaMax)?;
        ensure(
            u32::from(self.datagram_max) >= least,
            ConfigError::DatagramMax { least },
        )?;
        let keys_ok = match &self.seal.suite {
            Suite::Keyed(ring) => ring.is_valid(),
            Suite::Open | Suite::Toy(_) => true,
        };
        // Sessions are proven by challenges.
        let proves = self.seal.challenge || self.seal.suite == Suite::Open;
        ensure(keys_ok && proves, ConfigError::Keys)?;
        self.check_identity()?;
        ensure(self.timers_per_call > 0, ConfigError::TimersPerCall)?;
        ensure(
            (Duration::from_millis(10)..=Duration::from_secs(86_400)).contains(&m.probe_period),
            ConfigError::ProbePeriod,
        )?;
        if let ProbeTimeout::Fixed(t) = m.probe_timeout {
            ensure(
                !t.is_zero() && t < m.probe_period,
                ConfigError::ProbeTimeout,
            )?;
        }
        let suspicion_ok = match m.suspicion_timeout {
            SuspicionTimeout::Fixed(t) => !t.is_zero(),
            SuspicionTimeout::Scaled { factor, stretch } => {
                (1..=1000).contains(&factor) && (1..=1000).contains(&stretch)
            }
        };
        ensure(suspicion_ok, ConfigError::SuspicionTimeout)?;
        ensure(m.fast.is_none_or(|f| f.is_sane()), ConfigError::Fast)?;
        ensure(m.probe_jitter_per_mille < 500, ConfigError::ProbeJitter)?;
        ensure(
            (1..=1_000_000).contains(&m.members_max),
            ConfigError::MembersMax,
        )?;
        ensure(
            (1..=100).contains(&m.rumor_factor),
            ConfigError::RumorFactor,
        )?;
        ensure(m.distance_exponent >= 0.0, ConfigError::DistanceExponent)?;
        ensure(m.health_max <= 63, ConfigError::HealthMax)
    }

    fn check_identity(&self) -> Result<(), ConfigError> {
        let Some(own) = &self.seal.identity else {
            return Ok(());
        };
        let ensure = |ok: bool, error| if ok { Ok(()) } else { Err(error) };
        let alone = self.seal.suite != Suite::Open && self.seal.migrate.is_zero();
        ensure(alone, ConfigError::IdentityWithoutKey)?;
        let twice = |(n, key)| own.operators[..n].contains(key);
        let count_ok = (1..=seal::OPERATORS_MAX).contains(&own.operators.len());
        let operators_ok = count_ok && !own.operators.iter().enumerate().any(twice);
        ensure(operators_ok, ConfigError::Operators)?;
        let (curve, cert) = (self.seal.curve(), &own.certificate);
        let key = curve.public(&own.secret);
        ensure(cert.key == key, ConfigError::CertificateKey)?;
        let signed = cert.is_signed(curve, &own.operators, &self.group);
        ensure(signed, ConfigError::CertificateUnsigned)?;
        let shown = Frame::Cert(seal::CertMsg::Show(Arc::new(cert.clone())));
        let least = (shown.encoded_len() + HEADER_MAX + self.seal_len()) as u32;
        let max = self.datagram_max;
        let fits = u32::from(max) >= least;
        ensure(fits, ConfigError::CertificateSize { least, max })
    }

    fn check_election(&self) -> Result<(), ConfigError> {
        let e = &self.election;
        if let Quorum::Posterior { epsilon } = e.quorum
            && !(epsilon > 0.0 && epsilon < 0.1)
        {
            return Err(ConfigError::Epsilon);
        }
        if [e.best_max, e.rounds_max, e.notify_max].contains(&0) || e.elections_max == 0 {
            return Err(ConfigError::ElectionLimits);
        }
        if e.reach_min_percent > 100 {
            return Err(ConfigError::ReachMin);
        }
        Ok(())
    }

    fn check_mutex(&self) -> Result<(), ConfigError> {
        let m = &self.mutex;
        if m.ttl > m.ttl_max || m.ttl < m.guard * 10 || m.ttl_max > Duration::from_secs(86_400) {
            return Err(ConfigError::LockTtl);
        }
        if m.drift_per_mille > 200 || m.notice_per_mille > 500 {
            return Err(ConfigError::LockDrift);
        }
        if matches!(&m.bound, Bound::Voters(voters) if voters.is_empty()) {
            return Err(ConfigError::LockVoters);
        }
        let limits = [m.locks_max, m.contenders_max, m.waiters_max];
        if limits.contains(&0) || m.retry.is_zero() {
            return Err(ConfigError::LockLimits);
        }
        Ok(())
    }

    fn check_reliability(&self) -> Result<(), ConfigError> {
        let r = &self.reliability;
        let spans = Duration::from_secs(60)..=Duration::from_secs(3650 * 86_400);
        match spans.contains(&r.half_life) && r.subjects_max > 0 {
            true => Ok(()),
            false => Err(ConfigError::Reliability),
        }
    }

    fn check_message(&self) -> Result<(), ConfigError> {
        let m = &self.message;
        let spans = Duration::from_millis(1)..=Duration::from_secs(86_400);
        let spans_ok = [
            m.gossip_every,
            m.lifetime,
            m.query_timeout,
            m.query_timeout_max,
        ]
        .iter()
        .all(|span| spans.contains(span));
        let limits = [m.posts_max, m.own_max, m.origins_max, m.queries_max];
        match spans_ok && m.query_timeout <= m.query_timeout_max && !limits.contains(&0) {
            true => Ok(()),
            false => Err(ConfigError::Message),
        }
    }

    fn check_omega(&self) -> Result<(), ConfigError> {
        let o = &self.omega;
        let periods = Duration::from_millis(10)..=Duration::from_secs(3600);
        if !periods.contains(&o.hello_period) || o.hello_misses == 0 {
            return Err(ConfigError::HelloPeriod);
        }
        if o.quality_drop >= o.quality_admit || o.quality_admit > 100 {
            return Err(ConfigError::LinkQuality);
        }
        if [o.records_max, o.links_max].contains(&0) || o.messages_max == 0 || o.elections_max == 0
        {
            return Err(ConfigError::TopologyLimits);
        }
        Ok(())
    }

    /// The tag of the group in every datagram.
    pub fn group_tag(&self) -> u32 {
        hash_bytes(self.group.as_bytes()) as u32
    }

    /// The number of bytes of a datagram that frames can use.
    pub(crate) fn frames_max(&self) -> usize {
        usize::from(self.datagram_max) - HEADER_MAX - self.seal_len()
    }

    /// The number of bytes that sealing adds to a datagram.
    fn seal_len(&self) -> usize {
        match self.seal.suite {
            Suite::Open => 0,
            Suite::Keyed(_) | Suite::Toy(_) => seal::EXTRA_LEN,
        }
    }

    /// Seals the group's datagrams with these keys, of which the first one seals and all open. Where datagrams are so
    /// small that a sealed one cannot hold the largest name and tags, less of these is allowed.
    pub fn seal_with(&mut self, ring: impl Into<KeyRing>) {
        self.seal.suite = Suite::Keyed(ring.into());
        let room = usize::from(self.datagram_max).saturating_sub(DATAGRAM_MIN + self.seal_len());
        let meta = &mut self.membership.meta_max;
        *meta = (*meta).min(room as u16).max(32);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_profile_works_and_reads_back_its_name() {
        for profile in Profile::ALL {
            assert_eq!(Config::from(profile).check(), Ok(()), "{profile}");
            assert_eq!(profile.name().parse(), Ok(profile));
        }
        assert_eq!("WIRED".parse::<Profile>(), Err(ParseProfileError));
        for detection in Detection::ALL {
            assert_eq!(detection.name().parse(), Ok(detection));
        }
        assert_eq!("slow".parse::<Detection>(), Err(ParseDetectionError));
        assert_eq!(Config::from(Profile::default()), Config::default());
    }

    #[test]
    fn the_defaults_work_and_each_limit_is_checked() {
        assert_eq!(Config::default().check(), Ok(()));
        type Break = fn(&mut Config);
        let broken: [(Break, ConfigError); 7] = [
            (|c| c.group.clear(), ConfigError::Group),
            (|c| c.timers_per_call = 0, ConfigError::TimersPerCall),
            (
                |c| c.membership.probe_period = Duration::ZERO,
                ConfigError::ProbePeriod,
            ),
            (
                |c| c.membership.probe_timeout = ProbeTimeout::Fixed(Duration::from_secs(2)),
                ConfigError::ProbeTimeout,
            ),
            (|c| c.membership.health_max = 64, ConfigError::HealthMax),
            (
                |c| {
                    let quick = Duration::ZERO;
                    c.membership.fast = Some(Fast {
                        quick,
                        ..Fast::default()
                    });
                },
                ConfigError::Fast,
            ),
            (|c| c.membership.meta_max = 5, ConfigError::MetaMax),
        ];
        for (breaks, error) in broken {
            let mut config = Config::default();
            breaks(&mut config);
            assert_eq!(config.check(), Err(error));
        }
        let config = Config {
            datagram_max: 300,
            ..Config::default()
        };
        assert!(matches!(
            config.check(),
            Err(ConfigError::DatagramMax { .. })
        ));
    }
}
