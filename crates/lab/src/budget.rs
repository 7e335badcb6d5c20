//! How much work to spend on a claim.

use serde::{Deserialize, Serialize};

/// Number of runs per cell.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Budget {
    /// Minutes in total: for interactive use and continuous integration.
    #[default]
    Quick,
    /// The papers' numbers of runs.
    Full,
}

impl Budget {
    /// One of two values.
    pub fn pick<T>(self, quick: T, full: T) -> T {
        match self {
            Budget::Quick => quick,
            Budget::Full => full,
        }
    }

    /// The name on the command line.
    pub fn name(self) -> &'static str {
        self.pick("quick", "full")
    }
}
