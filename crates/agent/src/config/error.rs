//! Errors in settings.

use crate::file::FileError;
use std::path::PathBuf;

/// Why settings are refused.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ConfigError {
    /// See [`FileError`].
    #[error("configuration: {0}")]
    Read(#[from] FileError),
    /// Remove the write permission of others.
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
        /// The position and the problem.
        message: String,
    },
    /// Correct the environment variable or the flag.
    #[error("{from} = `{value}`: {message}")]
    Given {
        /// The variable or flag.
        from: String,
        /// The value that was given.
        value: String,
        /// What is wrong with it.
        message: String,
    },
    /// Use a setting that exists.
    #[error(
        "there is no setting `{key}`{}; docs/CONFIGURATION.md and consort config --example have all",
        meant.as_ref().map(|m| format!(", did you mean `{m}`?")).unwrap_or_default()
    )]
    Unknown {
        /// The key that was given.
        key: String,
        /// The setting with the most similar name.
        meant: Option<String>,
    },
    /// Correct the value.
    #[error("{key} = `{value}`: {expected}")]
    Value {
        /// The setting.
        key: &'static str,
        /// The value that was given.
        value: String,
        /// The values that are allowed.
        expected: String,
    },
    /// Correct the settings of that election.
    #[error("election `{election}`: {message}")]
    Election {
        /// Name of the election.
        election: String,
        /// What is wrong, and what is allowed.
        message: String,
    },
    /// Correct the settings of the handler.
    #[error("handler: {message}")]
    Handler {
        /// What is wrong, and what is allowed.
        message: String,
    },
    /// Correct the settings of the topology.
    #[error("topology: {message}")]
    Topology {
        /// What is wrong, and what is allowed.
        message: String,
    },
    /// Correct the setting that the message names.
    #[error(transparent)]
    Protocol(#[from] consort::ConfigError),
    /// Shorten the name or the tags.
    #[error("name or tags: {0}")]
    Meta(#[from] consort::membership::MetaError),
}
