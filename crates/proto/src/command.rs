//! What an application orders a node to do.

use crate::election::Order;
use crate::id::NodeId;
use crate::membership::{Meta, Proximity, Record};
use crate::message;
use crate::mutex;
use crate::reliability::Report;
use alloc::vec::Vec;
use core::net::SocketAddr;
use core::time::Duration;

/// An order to a [`Node`](crate::Node).
#[derive(Clone, Debug, PartialEq)]
pub enum Command {
    /// Find a group through these addresses, and keep trying.
    Join(Vec<SocketAddr>),
    /// Take a stored member list for a start. Members that are gone will be found out.
    Restore(Vec<Record>),
    /// What was stored of others' failures.
    RestoreReliability(Vec<Report>),
    /// Say goodbye; `Event::Departed` follows when enough members know. Locks are lost at once, and those that held
    /// them are waited for first: until they say that they stopped, or until their time is over.
    Leave,
    /// Remove a member that failed from the lists of all members: it is taken for one that left, and locks count it no
    /// longer. Nothing happens to a member that is here or left. If it is alive after all, it hears of it and comes
    /// back in a new life.
    ForceLeave(NodeId),
    /// Announce another name or other tags. Check them first with [`Meta::check`]; what does not
    /// pass is counted and ignored.
    SetMeta(Meta),
    /// Announce another address, as when a laptop changes networks.
    SetAddr(SocketAddr),
    /// How far members are, by the routing below. Those not named keep what was said before.
    SetProximity(Vec<Proximity>),
    /// Announce where this node is.
    SetPosition([f32; 3]),
    /// Announce that this node will be silent for so long, as when a device sleeps to save its
    /// battery: nobody probes or accuses it meanwhile. Zero, or a nap longer than `nap_max`, ends it.
    Nap(Duration),
    /// About an election.
    Election(Order),
    /// About a lock.
    Lock(mutex::Order),
    /// About messages of applications. Check it first with [`Messages::check`](message::Messages::check); what does not
    /// pass is counted and ignored.
    Message(message::Order),
}
