//! Settings of the topology layer.

use core::time::Duration;

/// Settings of neighbour detection, link state and leaders of components.
#[derive(Clone, Debug, PartialEq)]
pub struct Config {
    /// Whether this node says hello to its neighbours at all. Default no.
    pub enabled: bool,
    /// Longest time between two hellos; each comes up to a quarter earlier, so that two nodes that do
    /// not hear each other do not collide for ever (tau). Default 500 ms.
    pub hello_period: Duration,
    /// After how many silent periods a neighbour is looked for (gamma). Default 3.
    pub hello_misses: u32,
    /// How many pings half a period apart look for it before the link is down. Default 2.
    pub hello_pings: u8,
    /// How many times longer periods become in a neighbourhood where nothing changes. Default 1: no
    /// longer.
    pub hello_stretch: u32,
    /// A new link needs this share of its hellos, in percent. Default 70.
    pub quality_admit: u32,
    /// A link with less than this share of its hellos, in percent, is down. Default 40.
    pub quality_drop: u32,
    /// Least time between two records of this node, but for the first after a while. Default 50 ms.
    pub publish_every: Duration,
    /// Airtime of a typical message: those who have to pass one on spread out over five times as long
    /// for each neighbour. Default 250 us.
    pub airtime: Duration,
    /// Messages besides hellos that a node sends in a second, and at once. Default 20.
    pub messages_max: u32,
    /// Least time between two comparisons of records. Default 500 ms.
    pub summary_every: Duration,
    /// How much farther from everybody else than the best one, in percent, a leader may be before it is
    /// replaced (h); `u32::MAX` is any. Default 20.
    pub hysteresis: u32,
    /// How long a node finds itself leader before it says so, and how long another before it is silent
    /// again. Default 1 s.
    pub claim_after: Duration,
    /// How long a change of leader lasts before the application is told; that this node no longer leads
    /// is told at once. Default 250 ms.
    pub settle: Duration,
    /// How long records of unreachable nodes are kept. Default 10 min.
    pub forget_after: Duration,
    /// Most nodes of which records are kept. Default 512.
    pub records_max: u16,
    /// Most neighbours that are watched. Default 256.
    pub links_max: u16,
    /// Most elections that this node takes part in by component. Default 8.
    pub elections_max: u8,
}

impl Default for Config {
    fn default() -> Config {
        Config {
            enabled: false,
            hello_period: Duration::from_millis(500),
            hello_misses: 3,
            hello_pings: 2,
            hello_stretch: 1,
            quality_admit: 70,
            quality_drop: 40,
            publish_every: Duration::from_millis(50),
            airtime: Duration::from_micros(250),
            messages_max: 20,
            summary_every: Duration::from_millis(500),
            hysteresis: 20,
            claim_after: Duration::from_secs(1),
            settle: Duration::from_millis(250),
            forget_after: Duration::from_secs(600),
            records_max: 512,
            links_max: 256,
            elections_max: 8,
        }
    }
}

impl Config {
    /// Finds out about links five times sooner, at five times the hellos.
    pub fn fast() -> Config {
        Config {
            hello_period: Duration::from_millis(100),
            ..Config::default()
        }
    }
}
