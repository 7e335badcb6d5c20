//! Settings of membership.

use super::{ConfigError, set};
use consort::membership::{DistanceSource, SuspicionTimeout, TargetPolicy};
use core::time::Duration;
use serde::Deserialize;
use utoipa::ToSchema;

/// The greatest coordinate of a position, in metres. Other nodes ignore greater ones.
const POSITION_MAX: f32 = 1e7;

/// Settings of membership; [`consort::membership::Config`] explains them.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct RawMembership {
    /// Every period a node probes one member. A shorter period detects failures sooner and costs more messages.
    #[serde(default, with = "humantime_serde::option")]
    #[schema(value_type = Option<String>)]
    pub probe_period: Option<Duration>,
    /// Number of members that are asked to probe a silent member.
    pub probe_helpers: Option<u8>,
    /// How the next member to probe is chosen: `stride` probes each member at its own even pace, near ones more often;
    /// `turns` does the same, but while round trips to nearly all members take 10 ms at most, members take turns so that
    /// each is probed once a period (the default on wired networks); `bag` in passes, each in random order; `independent`
    /// draws anew each period, so gaps between probes of one member have no bound.
    pub probe_policy: Option<String>,
    /// A member at distance r gets a share of probes proportional to r^-m; this is m. With 0, all members are probed
    /// equally often.
    pub distance_exponent: Option<f32>,
    /// What counts as the distance of a member: `coordinate` estimates round trips from network coordinates and
    /// measurements; `latency` uses measured round trips only; `position` uses announced positions, see `position`.
    pub distance_source: Option<String>,
    /// Where this node stands, three coordinates in metres, which it announces. For nodes that do not move, with
    /// `distance_source = "position"`.
    #[schema(value_type = Option<Vec<f32>>)]
    pub position: Option<[f32; 3]>,
    /// How often, in thousandths of the periods, a member that was not heard for `passive_timeout_periods` is probed
    /// instead of the next one; 0 is never. Rarely needed, because far members have a least share of probes.
    pub feedback_passive_per_mille: Option<u16>,
    /// Number of silent periods after which a member counts for `feedback_passive_per_mille`.
    pub passive_timeout_periods: Option<u32>,
    /// Factor of the least time that a suspect has to refute.
    pub suspicion_factor: Option<u32>,
    /// A suspect that few others accuse has up to this many times longer to refute.
    pub suspicion_stretch: Option<u32>,
    /// Number of confirmations beyond the first accuser that count.
    pub suspicion_confirmations: Option<u8>,
    /// How long a node that hears of a verdict lets the member refute, in periods.
    pub confirm_grace_periods: Option<u32>,
    /// Each rumor is sent this many times ceil(ln(N + 1)) times.
    pub rumor_factor: Option<u32>,
    /// Least time for which the record of a departed member is kept, in periods.
    pub tombstone_periods: Option<u32>,
    /// How long a member that failed or left stays listed; failed members count for locks for as long.
    #[serde(default, with = "humantime_serde::option")]
    #[schema(value_type = Option<String>)]
    pub departed_keep: Option<Duration>,
    /// How often a member that failed long ago, or a seed, is tried so that partitions heal, in periods; 0 is never.
    /// Members that failed recently are tried by the group every other period.
    pub heal_periods: Option<u32>,
    /// Least time between two comparisons of member lists, in periods; 0 is never.
    pub sync_periods: Option<u32>,
    /// Greatest number of members that are listed; further ones are counted and ignored.
    pub members_max: Option<u32>,
    /// Greatest number of bytes of encoded name, tags and candidacies.
    pub meta_max: Option<u16>,
}

impl RawMembership {
    /// Uses these settings where they are given, otherwise those of `file`.
    pub(super) fn over(self, file: RawMembership) -> RawMembership {
        RawMembership {
            probe_period: self.probe_period.or(file.probe_period),
            probe_helpers: self.probe_helpers.or(file.probe_helpers),
            probe_policy: self.probe_policy.or(file.probe_policy),
            distance_exponent: self.distance_exponent.or(file.distance_exponent),
            distance_source: self.distance_source.or(file.distance_source),
            position: self.position.or(file.position),
            feedback_passive_per_mille: self
                .feedback_passive_per_mille
                .or(file.feedback_passive_per_mille),
            passive_timeout_periods: self
                .passive_timeout_periods
                .or(file.passive_timeout_periods),
            suspicion_factor: self.suspicion_factor.or(file.suspicion_factor),
            suspicion_stretch: self.suspicion_stretch.or(file.suspicion_stretch),
            suspicion_confirmations: self
                .suspicion_confirmations
                .or(file.suspicion_confirmations),
            confirm_grace_periods: self.confirm_grace_periods.or(file.confirm_grace_periods),
            rumor_factor: self.rumor_factor.or(file.rumor_factor),
            tombstone_periods: self.tombstone_periods.or(file.tombstone_periods),
            departed_keep: self.departed_keep.or(file.departed_keep),
            heal_periods: self.heal_periods.or(file.heal_periods),
            sync_periods: self.sync_periods.or(file.sync_periods),
            members_max: self.members_max.or(file.members_max),
            meta_max: self.meta_max.or(file.meta_max),
        }
    }

    /// Applies the settings that are given.
    pub(super) fn apply(self, config: &mut consort::Config) -> Result<(), ConfigError> {
        let m = &mut config.membership;
        if let Some(word) = &self.probe_policy {
            m.probe_policy = policy(word)?;
        }
        if let Some(word) = &self.distance_source {
            m.distance_source = source(word)?;
        }
        if let Some(per_mille) = self.feedback_passive_per_mille
            && per_mille > 1000
        {
            return Err(ConfigError::Value {
                key: "membership.feedback_passive_per_mille",
                value: per_mille.to_string(),
                expected: "write thousandths, 0 to 1000".to_owned(),
            });
        }
        if let SuspicionTimeout::Scaled { factor, stretch } = &mut m.suspicion_timeout {
            set(factor, self.suspicion_factor);
            set(stretch, self.suspicion_stretch);
        }
        set(&mut m.probe_period, self.probe_period);
        set(&mut m.probe_helpers, self.probe_helpers);
        set(&mut m.distance_exponent, self.distance_exponent);
        set(
            &mut m.feedback_passive_per_mille,
            self.feedback_passive_per_mille,
        );
        set(&mut m.passive_timeout_periods, self.passive_timeout_periods);
        set(&mut m.suspicion_confirmations, self.suspicion_confirmations);
        set(&mut m.confirm_grace_periods, self.confirm_grace_periods);
        set(&mut m.rumor_factor, self.rumor_factor);
        set(&mut m.tombstone_periods, self.tombstone_periods);
        set(&mut m.departed_keep, self.departed_keep);
        set(&mut m.heal_periods, self.heal_periods);
        set(&mut m.sync_periods, self.sync_periods);
        set(&mut m.members_max, self.members_max);
        set(&mut m.meta_max, self.meta_max);
        Ok(())
    }

    /// The position that the node announces.
    pub(super) fn place(&self) -> Result<Option<[f32; 3]>, ConfigError> {
        let Some(position) = self.position else {
            return Ok(None);
        };
        let wrong = |expected: String| ConfigError::Value {
            key: "membership.position",
            value: format!("{position:?}"),
            expected,
        };
        if self.distance_source.as_deref().map(str::trim) != Some("position") {
            return Err(wrong(
                "set distance_source = \"position\" as well".to_owned(),
            ));
        }
        if !position.iter().all(|x| x.abs() <= POSITION_MAX) {
            return Err(wrong(format!(
                "write three numbers of metres, each {POSITION_MAX} at most"
            )));
        }
        Ok(Some(position))
    }
}

fn policy(word: &str) -> Result<TargetPolicy, ConfigError> {
    match word.trim() {
        "turns" => Ok(TargetPolicy::Turns),
        "stride" => Ok(TargetPolicy::Stride),
        "bag" => Ok(TargetPolicy::BagPass),
        "independent" => Ok(TargetPolicy::Iid),
        _ => Err(ConfigError::Value {
            key: "membership.probe_policy",
            value: word.to_owned(),
            expected: "write turns, stride, bag or independent".to_owned(),
        }),
    }
}

fn source(word: &str) -> Result<DistanceSource, ConfigError> {
    match word.trim() {
        "coordinate" => Ok(DistanceSource::Coordinate),
        "latency" => Ok(DistanceSource::Latency),
        "position" => Ok(DistanceSource::Position),
        _ => Err(ConfigError::Value {
            key: "membership.distance_source",
            value: word.to_owned(),
            expected: "write coordinate, latency or position".to_owned(),
        }),
    }
}
