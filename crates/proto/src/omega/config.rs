//! Settings of the topology layer.

use core::time::Duration;

/// Settings of neighbour detection, link state and leaders of components.
#[derive(Clone, Debug, PartialEq)]
pub struct Config {
    /// Whether this node sends hellos to its neighbours at all. Default: false.
    pub enabled: bool,
    /// The longest time between two hellos (tau). Each hello is sent up to a quarter earlier, so that two nodes that do
    /// not hear each other do not collide for ever. Default: 500 ms.
    pub hello_period: Duration,
    /// The number of silent periods after which a neighbour is pinged (gamma). Default: 3.
    pub hello_misses: u32,
    /// The number of pings, half a period apart, before the link is considered down. Default: 2.
    pub hello_pings: u8,
    /// The factor by which periods may grow in a neighbourhood where nothing changes. Default: 1, no growth.
    pub hello_stretch: u32,
    /// The share of its hellos that a new link needs, in percent. Default: 70.
    pub quality_admit: u32,
    /// The share of its hellos below which a link is considered down, in percent. Default: 40.
    pub quality_drop: u32,
    /// The least time between two records of this node, except for the first one after a while. Default: 50 ms.
    pub publish_every: Duration,
    /// The airtime of a typical message. Nodes that have to forward one spread out over five times this duration for
    /// each neighbour. Default: 250 us.
    pub airtime: Duration,
    /// The greatest number of messages, hellos excluded, that a node sends per second and in one burst. Default: 20.
    pub messages_max: u32,
    /// The least time between two comparisons of records. Default: 500 ms.
    pub summary_every: Duration,
    /// How much farther from all other nodes than the best candidate a leader may be before it is replaced, in percent
    /// (h); `u32::MAX` is unlimited. Default: 20.
    pub hysteresis: u32,
    /// How much smaller the attribute of the best candidate has to be for a leader of its class to be replaced by it,
    /// however near the leader is. Smaller differences change no leader. Default: 3 (of the 16 levels of a tag).
    pub attribute_margin: u32,
    /// How long a node has to be the leader before it claims the lead, and how long another node before the claim is
    /// withdrawn. Default: 1 s.
    pub claim_after: Duration,
    /// How long a change of leader has to last before the application is told. The end of this node's own leadership is
    /// reported at once. Default: 250 ms.
    pub settle: Duration,
    /// How long records of unreachable nodes are kept. Default: 10 min.
    pub forget_after: Duration,
    /// The greatest number of nodes whose records are kept. Default: 512.
    pub records_max: u16,
    /// The greatest number of neighbours that are tracked. Default: 256.
    pub links_max: u16,
    /// The greatest number of elections by component that this node takes part in. Default: 8.
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
            attribute_margin: 3,
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
    /// Settings that detect changes of links five times sooner, at five times as many hellos.
    pub fn fast() -> Config {
        Config {
            hello_period: Duration::from_millis(100),
            ..Config::default()
        }
    }
}
