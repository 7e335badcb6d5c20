//! Settings of locks.

use super::{ConfigError, set};
use consort::NodeId;
use consort::lock::Bound;
use core::time::Duration;
use serde::Deserialize;
use utoipa::ToSchema;

/// Settings of locks; [`consort::lock::Config`] explains them.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct RawLocks {
    /// How long a lock lasts without renewal.
    #[serde(default, with = "humantime_serde::option")]
    #[schema(value_type = Option<String>)]
    pub ttl: Option<Duration>,
    /// Longest lease that a request may ask for. Default: `ttl`, if that is given.
    #[serde(default, with = "humantime_serde::option")]
    #[schema(value_type = Option<String>)]
    pub ttl_max: Option<Duration>,
    /// How much faster or slower than real time a clock may run, in thousandths.
    pub drift_per_mille: Option<u16>,
    /// Added to the time for which witnesses remember requests.
    #[serde(default, with = "humantime_serde::option")]
    #[schema(value_type = Option<String>)]
    pub guard: Option<Duration>,
    /// Part of a lease, in thousandths, that is reserved for stopping the work.
    pub notice_per_mille: Option<u16>,
    /// How long to wait for an answer before a question is repeated.
    #[serde(default, with = "humantime_serde::option")]
    #[schema(value_type = Option<String>)]
    pub retry: Option<Duration>,
    /// Bound from which majorities are counted: `"members"`, `"available"`, `{ floor = n }` or `{ voters = ["id", …]
    /// }`.
    #[schema(value_type = Option<Object>)]
    pub bound: Option<toml::Value>,
    /// This node is one of the first of a new group and counts as a witness at once. Never set this for a node that
    /// returns to a group.
    pub bootstrap: Option<bool>,
    /// Let requests of a node's former life expire, because the work that a lock protects may outlive its agent.
    pub zombie_safe: Option<bool>,
    /// Estimate by random walks how much of the group this node's list covers.
    pub walks: Option<bool>,
    /// Greatest number of locks that a node keeps track of.
    pub locks_max: Option<u16>,
    /// Greatest number of nodes that contend for one lock.
    pub contenders_max: Option<u16>,
    /// Greatest number of local requests that wait for one lock.
    pub waiters_max: Option<u16>,
}

impl RawLocks {
    /// Applies what a new group of `nodes` can rely on.
    pub(super) fn expecting(
        mut self,
        nodes: Option<u16>,
        has_state: bool,
    ) -> Result<RawLocks, ConfigError> {
        let Some(nodes) = nodes else {
            return Ok(self);
        };
        let expected = match (nodes, has_state) {
            (0, _) => "write how many nodes the new group has",
            (_, false) => {
                "set state as well (--state DIR): a node that was restarted without it would be taken for a new one"
            }
            _ => "",
        };
        if !expected.is_empty() {
            return Err(ConfigError::Value {
                key: "expect",
                value: nodes.to_string(),
                expected: expected.to_owned(),
            });
        }
        self.bootstrap = self.bootstrap.or(Some(true));
        if self.bound.is_none() {
            self.bound = Some(toml::Value::String(format!("floor:{nodes}")));
        }
        Ok(self)
    }

    /// Uses these settings where they are given, otherwise those of `file`.
    pub(super) fn over(self, file: RawLocks) -> RawLocks {
        RawLocks {
            ttl: self.ttl.or(file.ttl),
            ttl_max: self.ttl_max.or(file.ttl_max),
            drift_per_mille: self.drift_per_mille.or(file.drift_per_mille),
            guard: self.guard.or(file.guard),
            notice_per_mille: self.notice_per_mille.or(file.notice_per_mille),
            retry: self.retry.or(file.retry),
            bound: self.bound.or(file.bound),
            bootstrap: self.bootstrap.or(file.bootstrap),
            zombie_safe: self.zombie_safe.or(file.zombie_safe),
            walks: self.walks.or(file.walks),
            locks_max: self.locks_max.or(file.locks_max),
            contenders_max: self.contenders_max.or(file.contenders_max),
            waiters_max: self.waiters_max.or(file.waiters_max),
        }
    }

    pub(super) fn apply(self, config: &mut consort::Config) -> Result<(), ConfigError> {
        let m = &mut config.mutex;
        m.zombie_safe = self.zombie_safe.unwrap_or(true);
        set(&mut m.ttl_max, self.ttl_max.or(self.ttl));
        // A shorter limit also limits the default.
        let ttl = self.ttl.or(self.ttl_max.map(|max| max.min(m.ttl)));
        set(&mut m.ttl, ttl);
        set(&mut m.drift_per_mille, self.drift_per_mille);
        set(&mut m.guard, self.guard);
        set(&mut m.notice_per_mille, self.notice_per_mille);
        set(&mut m.retry, self.retry);
        set(&mut m.bootstrap, self.bootstrap);
        set(&mut m.walks, self.walks);
        set(&mut m.locks_max, self.locks_max);
        set(&mut m.contenders_max, self.contenders_max);
        set(&mut m.waiters_max, self.waiters_max);
        if let Some(value) = self.bound {
            m.bound = bound(&value).ok_or(ConfigError::Value {
                key: "lock.bound",
                value: value.to_string(),
                expected: "write \"members\", \"available\", { floor = 5 } or { voters = [\"c0ffee\", …] } (ids of nodes)"
                    .to_owned(),
            })?;
        }
        Ok(())
    }
}

fn bound(value: &toml::Value) -> Option<Bound> {
    if let Some(word) = value.as_str() {
        return parse_bound(word).ok();
    }
    let table = value.as_table().filter(|t| t.len() == 1)?;
    if let Some(floor) = table.get("floor") {
        return Some(Bound::Floor(u16::try_from(floor.as_integer()?).ok()?));
    }
    let voters = table.get("voters")?.as_array()?;
    let voters = voters.iter().map(|v| v.as_str()?.parse().ok());
    Some(Bound::Voters(voters.collect::<Option<Vec<NodeId>>>()?))
}

/// Parses `members`, `available`, `floor:N` or `voters:ID,ID,…`.
pub fn parse_bound(text: &str) -> Result<Bound, String> {
    let expected = || {
        format!(
            "`{text}` is no bound; write members, available, floor:5, or voters:c0ffee,beef (ids of nodes)"
        )
    };
    match text.split_once(':') {
        None if text == "members" => Ok(Bound::Members),
        None if text == "available" => Ok(Bound::Available),
        Some(("floor", n)) => n.parse().map(Bound::Floor).map_err(|_| expected()),
        Some(("voters", ids)) => {
            let ids = ids.split(',').map(|id| id.trim().parse());
            let ids = ids.collect::<Result<Vec<NodeId>, _>>();
            ids.map(Bound::Voters).map_err(|_| expected())
        }
        _ => Err(expected()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn applied(text: &str) -> Result<consort::lock::Config, String> {
        let raw: RawLocks = toml::from_str(text).map_err(|e| e.to_string())?;
        let mut config = consort::Config::default();
        raw.apply(&mut config).map_err(|e| e.to_string())?;
        config.check().map_err(|e| e.to_string())?;
        Ok(config.mutex)
    }

    #[test]
    fn settings_are_read_and_mistakes_named() {
        let m = applied("ttl = '2s'\nbound = { floor = 5 }\nbootstrap = true").unwrap();
        let two = Duration::from_secs(2);
        assert_eq!((m.ttl, m.ttl_max, m.bound), (two, two, Bound::Floor(5)));
        assert!(m.bootstrap && m.zombie_safe, "work may outlive an agent");
        let m = applied("ttl_max = '4s'\nbound = { voters = ['a', 'b'] }\nzombie_safe = false");
        let m = m.unwrap();
        assert_eq!((m.ttl, m.zombie_safe), (two * 2, false));
        assert_eq!(m.bound, Bound::Voters(vec![NodeId(10), NodeId(11)]));
        assert_eq!(applied("").unwrap().bound, Bound::Members);
        for (text, bound) in [
            ("bound = 'members'", Bound::Members),
            ("bound = 'available'", Bound::Available),
        ] {
            assert_eq!(applied(text).unwrap().bound, bound);
        }
        assert_eq!(
            parse_bound("voters:a, b"),
            Ok(Bound::Voters(vec![NodeId(10), NodeId(11)]))
        );
        for (text, part) in [
            ("tll = '1s'", "tll"),
            ("ttl = '1ms'", "ttl"),
            ("bound = 'all'", "floor = 5"),
            ("bound = 'observed'", "available"),
            ("bound = { voters = ['x y'] }", "ids of nodes"),
            ("bound = { voters = [] }", "voter"),
            ("bound = { floor = 70000 }", "floor = 5"),
            ("notice_per_mille = 900", "notice_per_mille"),
        ] {
            let error = applied(text).unwrap_err();
            assert!(error.contains(part), "{text}: {error}");
        }
    }
}
