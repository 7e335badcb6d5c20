//! Settings of elections.

use super::{ConfigError, set};
use crate::api::Words;
use crate::view::{attribute_tag, preempt, way};
use consort::election::{Criterion, ElectionMode, ElectionOptions, Quorum};
use core::time::Duration;
use serde::Deserialize;
use std::collections::BTreeMap;
use utoipa::ToSchema;

/// The limits for the duration of leases.
const LEASES: core::ops::RangeInclusive<Duration> =
    Duration::from_millis(100)..=Duration::from_secs(3600);

/// An election that the agent takes part in from the start.
#[derive(Clone, Debug, PartialEq)]
pub struct ElectionConfig {
    /// Its name.
    pub name: String,
    /// The options of the node's candidacy; `None` if it only follows the election.
    pub options: Option<ElectionOptions>,
}

/// Settings of one election; [`consort::election::ElectionOptions`] explains them.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct RawElection {
    /// Name of the election, 1 to 64 bytes.
    pub name: String,
    /// Campaign in it, or only follow it.
    pub campaign: Option<bool>,
    /// Preference of operators: the smallest class wins, and 255 never leads.
    pub class: Option<u8>,
    /// The smallest attribute wins within a class.
    pub attribute: Option<u32>,
    /// Key of a numeric tag of this node that determines the attribute. The candidacy follows changes of the tag.
    pub attribute_tag: Option<String>,
    /// Whether the `highest` or the `lowest` value of the tag wins. Default `highest`.
    pub attribute_order: Option<String>,
    /// Smallest value of the tag that makes a difference. Default 0.
    pub attribute_min: Option<f64>,
    /// Largest value of the tag that makes a difference. Default 100.
    pub attribute_max: Option<f64>,
    /// Avoid candidates that members recently found unhealthy.
    pub health: Option<bool>,
    /// Notify the best candidate so far at once, and correct it later.
    pub stream: Option<bool>,
    /// Replace a leader that stays unhealthy.
    pub replace_unhealthy: Option<bool>,
    /// When a better candidate replaces a working leader: `never`, `margin` (if it is better by `delta`) or `strict` (if
    /// it is better at all), each once it has been so for the time `hold`. Default `never`.
    pub preempt: Option<String>,
    /// With `margin`: least difference in the first criterion in which two candidates differ. Default 1.
    pub delta: Option<u32>,
    /// With `margin` and `strict`: how long the other candidate has to be better. Default 1 minute.
    #[serde(default, with = "humantime_serde::option")]
    #[schema(value_type = Option<String>)]
    pub hold: Option<Duration>,
    /// `group`: one leader for all. `component`: one leader for every connected component, at its centre. Default
    /// `group`.
    pub mode: Option<String>,
    /// Criteria that decide between candidates of one class, most important first: `attribute` as given, `centrality`
    /// of each node in its component, `reliability` as others observe it, or several of them. Default `attribute`.
    #[schema(value_type = Option<Object>)]
    pub score: Option<Words>,
}

/// Settings that all elections share; see `consort_proto::election::Config`.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct RawElections {
    /// Accepted probability of missing the best candidate, as in `1e-6`, or `{ c = 3 }`.
    #[schema(value_type = Option<Object>)]
    pub quorum: Option<toml::Value>,
    /// Start no first round before this number of members is seen.
    pub bootstrap_expect: Option<u16>,
    /// A leader that sees a smaller share of its group than this steps down.
    pub reach_min_percent: Option<u8>,
    /// Duration of a leader's lease unless it is renewed. Default by profile, 0.8 s where wired.
    #[serde(default, with = "humantime_serde::option")]
    #[schema(value_type = Option<String>)]
    pub lease: Option<Duration>,
    /// Greatest number of nodes in the group, which makes elections strict: the first leader needs a majority of them,
    /// and no other majority replaces lost watchers. Default 0: not strict.
    pub floor: Option<u16>,
}

impl RawElection {
    /// Checks one election of a node with `tags`.
    pub(super) fn check(
        self,
        tags: &BTreeMap<String, String>,
    ) -> Result<ElectionConfig, ConfigError> {
        let name = self.name.clone();
        let options = self
            .options(tags)
            .map_err(|message| ConfigError::Election {
                election: name.clone(),
                message,
            })?;
        Ok(ElectionConfig { name, options })
    }

    fn options(self, tags: &BTreeMap<String, String>) -> Result<Option<ElectionOptions>, String> {
        let tag = attribute_tag(
            self.attribute_tag.as_deref(),
            self.attribute.is_some(),
            self.attribute_order.as_deref(),
            self.attribute_min,
            self.attribute_max,
        )?;
        let (mode, ranking) = way(self.mode.as_deref(), self.score.as_ref())?;
        let given = self.attribute.is_some() || self.attribute_tag.is_some();
        if given && !ranking.has(Criterion::Attribute) {
            return Err("an attribute counts only where score names it".to_owned());
        }
        let of_groups = [self.health, self.stream, self.replace_unhealthy];
        if mode == ElectionMode::Component
            && (of_groups.contains(&Some(true)) || self.preempt.is_some())
        {
            return Err(
                "health, stream, replace_unhealthy and preempt: each means nothing with \
                        mode = component"
                    .to_owned(),
            );
        }
        let preempt = preempt(self.preempt.as_deref(), self.delta, self.hold)?;
        let mut options = ElectionOptions::new()
            .class(self.class.unwrap_or_default())
            .attribute(self.attribute.unwrap_or_default())
            .stream(self.stream.unwrap_or_default())
            .health(self.health.unwrap_or_default())
            .replace_unhealthy(self.replace_unhealthy.unwrap_or_default())
            .preempt(preempt)
            .mode(mode)
            .ranking(ranking);
        if let Some(tag) = tag {
            // Invalid tags are an error in the settings, reported before anything is started.
            tag.attribute(tags).map_err(|e| e.to_string())?;
            options = options.attribute_tag(tag);
        }
        Ok(self.campaign.unwrap_or(true).then_some(options))
    }
}

impl RawElections {
    /// Uses these settings where they are given, otherwise those of `file`.
    pub(super) fn over(self, file: RawElections) -> RawElections {
        RawElections {
            quorum: self.quorum.or(file.quorum),
            bootstrap_expect: self.bootstrap_expect.or(file.bootstrap_expect),
            reach_min_percent: self.reach_min_percent.or(file.reach_min_percent),
            lease: self.lease.or(file.lease),
            floor: self.floor.or(file.floor),
        }
    }

    pub(super) fn apply(self, config: &mut consort::Config) -> Result<(), ConfigError> {
        let e = &mut config.election;
        set(&mut e.bootstrap_expect, self.bootstrap_expect);
        set(&mut e.reach_min_percent, self.reach_min_percent);
        set(&mut e.floor, self.floor);
        if let Some(lease) = self.lease {
            if !LEASES.contains(&lease) {
                return Err(ConfigError::Value {
                    key: "elections.lease",
                    value: format!("{lease:?}"),
                    expected: "write a duration from 100ms to 1h".to_owned(),
                });
            }
            e.lease = lease;
        }
        if let Some(value) = self.quorum {
            e.quorum = quorum(&value).ok_or(ConfigError::Value {
                key: "elections.quorum",
                value: value.to_string(),
                expected: "write a chance, as in 1e-6, or { c = 3 }".to_owned(),
            })?;
        }
        Ok(())
    }
}

fn quorum(value: &toml::Value) -> Option<Quorum> {
    if let Some(epsilon) = value.as_float() {
        return Some(Quorum::Posterior { epsilon });
    }
    let table = value.as_table().filter(|t| t.len() == 1)?;
    let c = u16::try_from(table.get("c")?.as_integer()?).ok()?;
    Some(Quorum::Deterministic { c })
}
