//! Settings of the log on standard error.

use super::ConfigError;
use tracing_subscriber::EnvFilter;

/// The names of levels, and `off`.
const LEVELS: [&str; 6] = ["off", "error", "warn", "info", "debug", "trace"];

/// How lines are written to standard error.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum LogFormat {
    /// Lines for people.
    #[default]
    Text,
    /// One JSON object per line.
    Json,
}

impl core::str::FromStr for LogFormat {
    type Err = ();

    fn from_str(text: &str) -> Result<LogFormat, ()> {
        match text {
            "text" => Ok(LogFormat::Text),
            "json" => Ok(LogFormat::Json),
            _ => Err(()),
        }
    }
}

/// The directives of a log, checked. A word without `=` has to be a level: as a target, a misspelt level would silence
/// everything else.
pub(super) fn check(given: Option<String>) -> Result<String, ConfigError> {
    let text = given.unwrap_or_else(|| "info".to_owned());
    let is_level = |word: &str| LEVELS.iter().any(|l| l.eq_ignore_ascii_case(word));
    let mut words = text.split(',').map(str::trim);
    let words_are_known = words.all(|word| word.contains('=') || is_level(word));
    match words_are_known && EnvFilter::try_new(&text).is_ok() {
        true => Ok(text),
        false => Err(ConfigError::Value {
            key: "log",
            value: text,
            expected: "write error, warn, info, debug or trace, or levels by target, as in info,consort::event=off"
                .to_owned(),
        }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn levels_are_checked_and_misspelt_ones_are_refused() {
        assert_eq!(check(None).unwrap(), "info");
        for good in ["warn", "DEBUG", "off", "info,consort::event::updated=off"] {
            assert_eq!(check(Some(good.to_owned())).unwrap(), good);
        }
        for bad in ["debgu", "", "info,", "consort=loud", "info,consort"] {
            let error = check(Some(bad.to_owned())).unwrap_err().to_string();
            assert!(error.contains("write error, warn"), "{bad}: {error}");
        }
    }
}
