//! Settings of application messages.

use core::time::Duration;

/// Settings of application events and queries.
#[derive(Clone, Debug, PartialEq)]
pub struct Config {
    /// The time between two rounds in which a node passes messages on in separate datagrams. Default: 100 ms.
    pub gossip_every: Duration,
    /// The number of members that receive such a datagram in a round, so a node sends at most `gossip_fanout /
    /// gossip_every` of them. With 0, messages travel only in the free space of pings and acknowledgements. Default: 3.
    pub gossip_fanout: u8,
    /// The least number of rounds in which a node passes a message on. In groups of more than 54 members it is
    /// ceil(ln(n + 1)). Default: 4.
    pub rounds_min: u8,
    /// How long an event travels. After that time no node passes it on. Default: 30 s.
    pub lifetime: Duration,
    /// How long a query waits for answers if its asker does not specify a time. Default: 3 s.
    pub query_timeout: Duration,
    /// The longest time that a query may wait, and the longest lifetime that is accepted from others. Default: 5 min.
    pub query_timeout_max: Duration,
    /// The longest payload of an event or a query, in bytes. In addition, name, filter and payload must fit into one
    /// datagram. Default: 512.
    pub payload_max: u16,
    /// The longest answer, in bytes. In addition, it must fit into one datagram. Default: 1024.
    pub answer_max: u16,
    /// The number of messages that a node passes on at a time. Beyond it, the message sent most often is dropped.
    /// Default: 64.
    pub posts_max: u16,
    /// The number of own messages among them. Beyond it, the application is refused. Default: 16.
    pub own_max: u16,
    /// The number of senders whose messages are tracked. Messages of further senders are dropped. Default: 1024.
    pub origins_max: u16,
    /// The number of active queries, separately for this node's own and for those of others. Default: 64.
    pub queries_max: u16,
}

impl Default for Config {
    fn default() -> Config {
        Config {
            gossip_every: Duration::from_millis(100),
            gossip_fanout: 3,
            rounds_min: 4,
            lifetime: Duration::from_secs(30),
            query_timeout: Duration::from_secs(3),
            query_timeout_max: Duration::from_secs(300),
            payload_max: 512,
            answer_max: 1024,
            posts_max: 64,
            own_max: 16,
            origins_max: 1024,
            queries_max: 64,
        }
    }
}
