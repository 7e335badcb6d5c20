//! What can be wrong with settings.

use crate::file::FileError;
use std::path::PathBuf;

/// Why settings are refused.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ConfigError {
    /// See there.
    #[error("configuration: {0}")]
    Read(#[from] FileError),
    /// Take the permission of others to write away.
    #[error(
        "configuration {path}: everybody may write it, and it says which commands to run; chmod o-w {path}"
    )]
    Writable {
        /// The file.
        path: PathBuf,
    },
    /// Correct the line; unknown keys are listed with the valid ones.
    #[error("configuration {path}: {message}")]
    Syntax {
        /// The file.
        path: PathBuf,
        /// Where and what.
        message: String,
    },
    /// Correct the variable of the environment, or the flag.
    #[error("{from} = `{value}`: {message}")]
    Given {
        /// The variable or flag.
        from: String,
        /// What was given.
        value: String,
        /// What is wrong.
        message: String,
    },
    /// Use a setting that exists.
    #[error(
        "there is no setting `{key}`{}; docs/CONFIGURATION.md and consort config --example have all",
        meant.as_ref().map(|m| format!(", did you mean `{m}`?")).unwrap_or_default()
    )]
    Unknown {
        /// What was given.
        key: String,
        /// The setting that looks most like it.
        meant: Option<String>,
    },
    /// Correct the value.
    #[error("{key} = `{value}`: {expected}")]
    Value {
        /// The setting.
        key: &'static str,
        /// What was given.
        value: String,
        /// What can be.
        expected: String,
    },
    /// Correct the settings of that election.
    #[error("election `{election}`: {message}")]
    Election {
        /// Name of the election.
        election: String,
        /// What is wrong, and what can be.
        message: String,
    },
    /// Correct the settings of the handler.
    #[error("handler: {message}")]
    Handler {
        /// What is wrong, and what can be.
        message: String,
    },
    /// Correct the settings of the topology.
    #[error("topology: {message}")]
    Topology {
        /// What is wrong, and what can be.
        message: String,
    },
    /// Correct the setting it names.
    #[error(transparent)]
    Protocol(#[from] consort::ConfigError),
    /// Shorten them.
    #[error("name or tags: {0}")]
    Meta(#[from] consort::MetaError),
}
