//! Commands of an application to a node.

use crate::election::Order;
use crate::id::NodeId;
use crate::membership::{Meta, Proximity, Record};
use crate::message;
use crate::mutex;
use crate::reliability::Report;
use crate::seal::{KeyRing, Revoked, Secret};
use alloc::vec::Vec;
use core::net::SocketAddr;
use core::time::Duration;

/// A command to a [`Node`](crate::Node).
#[derive(Clone, Debug, PartialEq)]
pub enum Command {
    /// Find a group through these addresses, and keep trying.
    Join(Vec<SocketAddr>),
    /// Start with a stored member list. Departed members will be detected.
    Restore(Vec<Record>),
    /// Restore the stored record of other members' failures.
    RestoreReliability(Vec<Report>),
    /// Leave the group; `Event::Departed` follows when enough members know. Locks are lost at once, but the node first
    /// waits until their holders confirm that they stopped, or until their time is over.
    Leave,
    /// Remove a failed member from the lists of all members. It counts as a member that left, and locks no longer count
    /// it. A member that is alive or left is not affected. If the failed member is alive after all, it learns of the
    /// removal and returns in a new life.
    ForceLeave(NodeId),
    /// Announce a new name or new tags. Check them first with [`Meta::check`]; an invalid value is counted and ignored.
    SetMeta(Meta),
    /// Announce a new address, for example after a laptop changed networks.
    SetAddr(SocketAddr),
    /// Set the distances of members, as the routing below knows them. Members that are not named keep their values.
    SetProximity(Vec<Proximity>),
    /// Announce the position of this node.
    SetPosition([f32; 3]),
    /// Announce that this node will be silent for this time, for example because a device sleeps to save its battery.
    /// Nobody probes or accuses it in the meantime. Zero, or a nap longer than `nap_max`, ends the nap.
    Nap(Duration),
    /// Use these keys, which are stored, instead of the present ones. Other members learn of them. An invalid list, or one
    /// for a group without keys, is ignored.
    SetKeys(KeyRing),
    /// Use these random bytes, fresh from the system, in place of those that a copy of this process has as well
    /// ([`Event::Cloned`](crate::Event::Cloned)), and begin a later life. Nothing is sealed before that.
    Reseed(Secret),
    /// Use this list of revoked certificates, which is stored. Sessions of their holders end at once, and other members
    /// learn of it. A list that is not newer, or not signed by an operator, is ignored.
    SetRevoked(Revoked),
    /// An order to the election layer.
    Election(Order),
    /// An order to the lock layer.
    Lock(mutex::Order),
    /// An order to the message layer. Check it first with [`Messages::check`](message::Messages::check); an invalid
    /// order is counted and ignored.
    Message(message::Order),
}
