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
pub mod docs;
pub mod foil;
pub mod output;
pub mod plan;
pub mod record;
pub mod registry;
pub mod results;
pub mod sample;
pub mod stat;

pub use budget::Budget;
pub use check::Check;
pub use claim::{Claim, Judged, Verdict};
pub use foil::Foil;
pub use plan::{Plan, Shard, Unit, Units};

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
    /// Choose another directory, or remove this one.
    #[error(
        "{path} has runs of another program or seed: continue with those, or choose another directory"
    )]
    OtherRuns {
        /// Path of the file with the runs.
        path: String,
    },
    /// Run or continue the missing shares; `merge --finished` judges the claims that lack nothing.
    #[error(
        "{missing} of {total} runs are missing: is a share not there, or not finished? --finished judges the claims \
         that have all of theirs"
    )]
    Missing {
        /// Number of missing units.
        missing: usize,
        /// Number of all units.
        total: usize,
    },
    /// Name a block that exists, and end it with `<!-- /claims -->`.
    #[error("`{0}` is no block that can be filled: unknown name, or no end")]
    Block(String),
    /// A file could not be written or read.
    #[error("{path}: {error}")]
    File {
        /// Path of the file.
        path: String,
        /// Description of the error.
        error: String,
    },
}

/// A hash of a file, for [`output::Store`].
pub fn fingerprint(bytes: &[u8]) -> String {
    format!("{:016x}", fnv(bytes.iter().copied()))
}

/// A hash that stays the same between versions (FNV-1a).
fn fnv(bytes: impl Iterator<Item = u8>) -> u64 {
    bytes.fold(0xcbf2_9ce4_8422_2325, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
    })
}
