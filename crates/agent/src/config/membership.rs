//! Settings of membership.

use super::set;
use consort::membership::SuspicionTimeout;
use core::time::Duration;
use serde::Deserialize;
use utoipa::ToSchema;

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
    /// A member at distance r gets a share of probes proportional to r^-m; this is m. With 0, all members are probed
    /// equally often.
    pub distance_exponent: Option<f32>,
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
            distance_exponent: self.distance_exponent.or(file.distance_exponent),
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
    pub(super) fn apply(self, config: &mut consort::Config) {
        let m = &mut config.membership;
        if let SuspicionTimeout::Scaled { factor, stretch } = &mut m.suspicion_timeout {
            set(factor, self.suspicion_factor);
            set(stretch, self.suspicion_stretch);
        }
        set(&mut m.probe_period, self.probe_period);
        set(&mut m.probe_helpers, self.probe_helpers);
        set(&mut m.distance_exponent, self.distance_exponent);
        set(&mut m.suspicion_confirmations, self.suspicion_confirmations);
        set(&mut m.confirm_grace_periods, self.confirm_grace_periods);
        set(&mut m.rumor_factor, self.rumor_factor);
        set(&mut m.tombstone_periods, self.tombstone_periods);
        set(&mut m.departed_keep, self.departed_keep);
        set(&mut m.heal_periods, self.heal_periods);
        set(&mut m.sync_periods, self.sync_periods);
        set(&mut m.members_max, self.members_max);
        set(&mut m.meta_max, self.meta_max);
    }
}
