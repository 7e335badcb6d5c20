//! The laboratory: every figure and table as an executable claim.
//!
//! A [`Claim`] names the published result, the configuration and the rule by which it is judged. Its [`Check`]s
//! compare numbers with a paper or with a goal of this project; intervals decide them. A [`Plan`] turns claims into
//! independent units of work, runs all or a share of them, and judges the result. The same seed gives the same
//! result for any number of threads or shards, and whichever other claims run. The recorded verdict is the one on
//! which several seeds agree ([`record`]).

extern crate alloc;

pub mod budget;
pub mod cell;
pub mod check;
pub mod claim;
pub mod claims;
pub mod coverage;
pub mod foil;
pub mod output;
pub mod plan;
pub mod record;
pub mod registry;
pub mod sample;
pub mod stat;

pub use budget::Budget;
pub use check::Check;
pub use claim::{Claim, Judged, Verdict};
pub use foil::Foil;
pub use plan::{Partial, Plan, Shard};

/// Why there is no result.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum LabError {
    /// Choose one of the ids that `--list` prints.
    #[error("there is no claim `{id}`; near: {near}. `consort reproduce --list` prints all")]
    Unknown {
        /// The id that was asked for.
        id: String,
        /// Similar ids.
        near: String,
    },
    /// Write `I/N` with I from 1 to N.
    #[error("a shard is `I/N` with I from 1 to N, not `{0}`")]
    Shard(String),
    /// A simulation could not run: a mistake in a claim.
    #[error("cell {key}: {error}")]
    Cell {
        /// Key of the cell.
        key: String,
        /// Description of the error.
        error: String,
    },
    /// Merge shares of one version, seed, budget and list of claims.
    #[error("these shares do not belong together: version, seed, budget or claims differ")]
    OtherOrder,
    /// Give every share once.
    #[error("unit {0} is there twice: is a share given twice?")]
    Twice(usize),
    /// Run the missing shares.
    #[error("{missing} of {total} units are missing: is a share not there?")]
    Missing {
        /// Number of missing units.
        missing: usize,
        /// Number of all units.
        total: usize,
    },
    /// A file could not be written or read.
    #[error("{path}: {error}")]
    File {
        /// Path of the file.
        path: String,
        /// Description of the error.
        error: String,
    },
}
