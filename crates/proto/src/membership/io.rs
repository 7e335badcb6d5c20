//! What membership takes and counts: orders, deadlines, statistics.

use super::distance::Proximity;
use super::record::{Campaign, Meta, Record};
use crate::id::{Life, NodeId};
use alloc::vec::Vec;
use core::net::SocketAddr;
use core::time::Duration;
use serde::Serialize;

/// Orders to membership.
#[derive(Clone, Debug, PartialEq)]
pub enum Input {
    /// The node starts.
    Start,
    /// Find a group through these addresses.
    Join(Vec<SocketAddr>),
    /// Take a stored list.
    Restore(Vec<Record>),
    /// Say goodbye.
    Leave,
    /// An operator removes a member that failed: it is taken for one that left.
    Remove(NodeId),
    /// Another layer needs this later life, because records of one in between are known to others or its numbers are used up.
    Outlive(Life),
    /// Announce another name or other tags.
    SetMeta(Meta),
    /// Announce in which elections this node stands.
    SetCampaigns(Vec<Campaign>),
    /// A layer above doubts this member: probe it.
    Probe(NodeId),
    /// Announce another address.
    SetAddr(SocketAddr),
    /// How far members are.
    SetProximity(Vec<Proximity>),
    /// Announce where this node is.
    SetPosition([f32; 3]),
    /// Announce a silence.
    Nap(Duration),
}

/// Deadlines of membership.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Timer {
    /// The next period.
    Tick,
    /// A probe's direct or final deadline.
    Probe(u32),
    /// A probe for another node.
    Relay(u32),
    /// A suspect's time is up.
    Suspicion(NodeId),
    /// Time to check a suspicion heard of.
    Witness(NodeId),
    /// Time to check a silent member near a suspect.
    Sweep(NodeId),
    /// Ping a member again that may be gone.
    Chase(NodeId),
    /// Tell what does not wait for a ping.
    News,
    /// This node's turn to probe.
    Turn,
    /// Try the next seed.
    Join,
    /// Stop waiting for confirmations of the goodbye.
    Leave,
}

/// Counts since start.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Stats {
    /// Regular probes sent.
    pub probes: u64,
    /// Probes that needed helpers.
    pub probes_indirect: u64,
    /// Probes that nobody answered.
    pub probes_failed: u64,
    /// Probes that nobody answered, but during which nothing at all was heard: they accuse nobody.
    pub probes_deaf: u64,
    /// Accusations this node made.
    pub accusations: u64,
    /// Accusations this node refuted.
    pub refutations: u64,
    /// Unasked-for pings to suspects and to nodes that do not know what is said of them.
    pub pursuits: u64,
    /// Times this process did not run for two periods.
    pub pauses: u64,
    /// Times a timer fired so late that the process cannot have run, for less than two periods.
    pub late_timers: u64,
    /// Datagrams sent at once to ask for a check or to tell news.
    pub news_sent: u64,
    /// Times this node heard nobody for so long that it kept its verdicts to itself.
    pub isolations: u64,
    /// Comparisons of member lists started.
    pub syncs: u64,
    /// Lives taken because another claim to this node's id was ahead.
    pub life_repairs: u64,
    /// Lives that this node needed and that do not exist, because its life is at the end of the range.
    pub lives_exhausted: u64,
    /// Members ignored because the list is full.
    pub members_dropped: u64,
    /// Requests to probe refused because too many are under way.
    pub relays_dropped: u64,
    /// Seeds ignored because enough are known.
    pub seeds_dropped: u64,
    /// Naps longer than allowed, of this node or of others.
    pub naps_refused: u64,
    /// Records or settings with a name or tags that are not allowed.
    pub meta_refused: u64,
    /// Accusations of nodes that this one does not know.
    pub accusations_unknown: u64,
    /// Claims with a life or an incarnation that nobody can have reached.
    pub numbers_refused: u64,
    /// Members and departed nodes that one member told of, beyond `told_max` a minute.
    pub told_refused: u64,
    /// Goodbyes of others that were told in a life that this node does not know.
    pub goodbyes_doubted: u64,
}
