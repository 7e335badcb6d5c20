//! Settings of the evidence about failures.

use core::time::Duration;

/// Settings of the evidence about failures.
#[derive(Clone, Debug, PartialEq)]
pub struct Config {
    /// How long until evidence counts half (H): about twenty times as long as nodes usually run between
    /// two failures. Default 7 days.
    pub half_life: Duration,
    /// Most nodes of which evidence is kept. Default 1024.
    pub subjects_max: u16,
    /// Whether pings carry what this node knows of one other member: some 30 bytes. Default yes.
    pub share: bool,
    /// How many failures a node counts with before anything is known of it (a0). Default 1.
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
