//! Settings of the record of failures.

use core::time::Duration;

/// Settings of the record of failures.
#[derive(Clone, Debug, PartialEq)]
pub struct Config {
    /// The time after which an observation counts half (H). About twenty times the usual time between two failures of a
    /// node is suitable. Default: 7 days.
    pub half_life: Duration,
    /// The greatest number of nodes that are recorded. Default: 1024.
    pub subjects_max: u16,
    /// Whether one ping in eight carries this node's record of one other member, some 25 bytes. Default: true.
    pub share: bool,
    /// The number of failures that a node counts with before anything is known about it (a0). Default: 1.
    pub prior_failures: u8,
}

impl Default for Config {
    fn default() -> Config {
        Config {
            half_life: Duration::from_secs(7 * 86_400),
            subjects_max: 1024,
            share: true,
            prior_failures: 1,
        }
    }
}
