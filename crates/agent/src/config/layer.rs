//! Settings from the environment and from `--set`, and suggestions for misspelt keys.

use super::reference::{Setting, settings};
use super::{ConfigError, RawConfig};
use toml::{Table, Value};

impl RawConfig {
    /// Settings from environment variables: `CONSORT_` and the setting in capitals, such as `CONSORT_NAME` or
    /// `CONSORT_MEMBERSHIP_PROBE_PERIOD`. Elements of lists are separated by commas, and tags are
    /// `KEY=VALUE,KEY=VALUE`. Other variables, and empty ones, are ignored.
    pub fn from_env(
        variables: impl IntoIterator<Item = (String, String)>,
    ) -> Result<RawConfig, ConfigError> {
        let settings = settings();
        let mut config = RawConfig::default();
        for (variable, text) in variables {
            let known = settings
                .iter()
                .find(|s| s.variable().as_ref() == Some(&variable));
            if let Some(setting) = known.filter(|_| !text.is_empty()) {
                config = one(&variable, setting, &text)?.over(config);
            }
        }
        Ok(config)
    }

    /// One setting by its path, as in `--set lock.ttl=5s`.
    pub fn from_setting(path: &str, text: &str) -> Result<RawConfig, ConfigError> {
        let settings = settings();
        let settable: Vec<&Setting> = settings.iter().filter(|s| !s.is_repeated()).collect();
        match settable.iter().find(|s| s.path() == path) {
            Some(setting) => one(path, setting, text),
            None => {
                let paths: Vec<String> = settable.iter().map(|s| s.path()).collect();
                let meant = nearest(path, paths.iter().map(String::as_str));
                Err(ConfigError::Unknown {
                    key: path.to_owned(),
                    meant: meant.map(str::to_owned),
                })
            }
        }
    }
}

/// One setting, parsed from the text of a variable or a flag.
fn one(from: &str, setting: &Setting, text: &str) -> Result<RawConfig, ConfigError> {
    let wrong = |message: String| ConfigError::Given {
        from: from.to_owned(),
        value: text.to_owned(),
        message,
    };
    let value = read(setting, text).map_err(&wrong)?;
    let mut table = Table::new();
    table.insert(setting.key.clone(), value);
    if !setting.table.is_empty() {
        table = Table::from_iter([(setting.table.to_owned(), Value::Table(table))]);
    }
    // The first line names a position in a file, which does not apply here.
    table
        .try_into()
        .map_err(|e: toml::de::Error| wrong(e.message().to_owned()))
}

fn read(setting: &Setting, text: &str) -> Result<Value, String> {
    let text = text.trim();
    if setting.key == "tags" {
        let pairs = text.split(',').map(|pair| {
            let (key, value) = pair.split_once('=').ok_or("write KEY=VALUE,KEY=VALUE")?;
            Ok((key.trim().to_owned(), Value::from(value)))
        });
        return pairs
            .collect::<Result<Table, &str>>()
            .map(Value::Table)
            .map_err(str::to_owned);
    }
    Ok(match setting.kind {
        "string" => text.into(),
        "integer" => text
            .parse::<i64>()
            .map_err(|_| "write a whole number")?
            .into(),
        "number" => text.parse::<f64>().map_err(|_| "write a number")?.into(),
        "boolean" => text
            .parse::<bool>()
            .map_err(|_| "write true or false")?
            .into(),
        "array" => {
            let parts = text
                .split(',')
                .map(str::trim)
                .filter(|part| !part.is_empty());
            parts.map(Value::from).collect::<Vec<_>>().into()
        }
        // The syntax of a file, or a bare word.
        _ => match format!("value = {text}").parse::<Table>() {
            Ok(mut table) => table.remove("value").unwrap_or_else(|| text.into()),
            Err(_) => text.into(),
        },
    })
}

/// The message about an unreadable file, with a suggestion if a key does not exist.
pub(super) fn explain(error: &toml::de::Error) -> String {
    let text = error.to_string();
    let text = text.trim_end();
    let words: Vec<&str> = error.message().split('`').skip(1).step_by(2).collect();
    let meant = match words.split_first() {
        Some((key, known)) if error.message().starts_with("unknown field") => {
            nearest(key, known.iter().copied())
        }
        _ => None,
    };
    match meant {
        Some(meant) => format!("{text}\ndid you mean `{meant}`?"),
        None => text.to_owned(),
    }
}

/// The most similar known word, if one is similar enough.
fn nearest<'a>(word: &str, known: impl Iterator<Item = &'a str>) -> Option<&'a str> {
    let likeness = |other: &str| strsim::normalized_damerau_levenshtein(word, other);
    let best = known.max_by(|a, b| likeness(a).total_cmp(&likeness(b)))?;
    (likeness(best) >= 0.5).then_some(best)
}

#[cfg(test)]
mod tests {
    use super::*;
    use core::time::Duration;

    fn env(variables: &[(&str, &str)]) -> Result<RawConfig, String> {
        let variables = variables
            .iter()
            .map(|(k, v)| ((*k).to_owned(), (*v).to_owned()));
        RawConfig::from_env(variables).map_err(|e| e.to_string())
    }

    #[test]
    fn the_environment_is_read() {
        let config = env(&[
            ("CONSORT_NAME", "attic"),
            ("CONSORT_JOIN", "10.0.0.5, seed.local:7717"),
            ("CONSORT_TAGS", "role=camera,note=a=b"),
            ("CONSORT_OBSERVER", "true"),
            ("CONSORT_MEMBERSHIP_PROBE_PERIOD", "800ms"),
            ("CONSORT_MEMBERSHIP_DISTANCE_EXPONENT", "2"),
            ("CONSORT_LOCK_BOUND", "{ floor = 5 }"),
            ("CONSORT_ELECTIONS_QUORUM", "1e-6"),
            ("CONSORT_LOCK_TTL", ""),
            ("CONSORT_LOG", "debug"),
            ("PATH", "/bin"),
        ]);
        let config = config.unwrap();
        assert_eq!(config.log.as_deref(), Some("debug"));
        assert_eq!(config.name.as_deref(), Some("attic"));
        assert_eq!(config.join, ["10.0.0.5", "seed.local:7717"]);
        assert_eq!(config.tags["note"], "a=b");
        assert_eq!(config.observer, Some(true));
        assert_eq!(
            config.membership.probe_period,
            Some(Duration::from_millis(800))
        );
        assert_eq!(config.membership.distance_exponent, Some(2.0));
        assert!(config.lock.bound.unwrap().get("floor").is_some());
        assert_eq!(
            (config.elections.quorum, config.lock.ttl),
            (Some(Value::Float(1e-6)), None)
        );
        for (variable, text, part) in [
            ("CONSORT_OBSERVER", "yes", "true or false"),
            ("CONSORT_LOCK_TTL", "soon", "CONSORT_LOCK_TTL"),
            (
                "CONSORT_MEMBERSHIP_MEMBERS_MAX",
                "-1",
                "CONSORT_MEMBERSHIP_MEMBERS_MAX",
            ),
            ("CONSORT_TAGS", "role", "KEY=VALUE"),
        ] {
            let error = env(&[(variable, text)]).unwrap_err();
            assert!(error.contains(part), "{variable}: {error}");
        }
    }

    #[test]
    fn unknown_keys_are_answered_with_the_nearest() {
        let set = |path, text| RawConfig::from_setting(path, text).map_err(|e| e.to_string());
        assert_eq!(
            set("lock.ttl", "5s").unwrap().lock.ttl,
            Some(Duration::from_secs(5))
        );
        assert!(set("lock.tll", "5s").unwrap_err().contains("`lock.ttl`"));
        assert!(set("bogus", "5s").unwrap_err().contains("CONFIGURATION.md"));
        assert!(set("election.name", "x").is_err());
        let read = |text: &str| explain(&toml::from_str::<RawConfig>(text).unwrap_err());
        let said = read("grup = 'yard'");
        assert!(
            said.contains("line 1") && said.contains("did you mean `group`?"),
            "{said}"
        );
        let said = read("[membership]\nprobe_perod = '1s'");
        assert!(said.contains("did you mean `probe_period`?"), "{said}");
        assert!(!read("zzz = 1").contains("did you mean"));
        assert!(!read("group = 1").contains("did you mean"));
    }
}
