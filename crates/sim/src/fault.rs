//! Faults of hosts and of the network, scripted or random.

use crate::net::{Conditions, Net};

/// One fault, or the end of one.
#[derive(Clone, Debug, PartialEq)]
pub enum Fault {
    /// The device stops for good, and no longer forwards.
    Crash(usize),
    /// The process stops; its timers are held and its datagrams are queued, up to a limit.
    Pause(usize),
    /// A paused process resumes.
    Resume(usize),
    /// The process restarts in a new life, whatever its state.
    Restart {
        /// The host.
        host: usize,
        /// What it has stored.
        keep: Keep,
    },
    /// The process is asked to leave the group.
    Leave(usize),
    /// Hosts receive only from those with the same number.
    Partition(Vec<u8>),
    /// A host no longer receives.
    Deafen(usize),
    /// Datagrams of a host no longer arrive.
    Mute(usize),
    /// Datagrams from one host to another no longer arrive; those in the other direction do.
    Sever {
        /// The sender.
        from: usize,
        /// The receiver.
        to: usize,
    },
    /// A host loses a share of what it sends and of what it receives.
    Lossy {
        /// The host.
        host: usize,
        /// Probability that it loses a datagram.
        loss: f64,
    },
    /// Partitions, deafness, muteness, severed links and losses of single hosts end.
    Heal,
    /// The quality of the network changes.
    Conditions(Conditions),
}

/// What a restarted process has stored.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Keep {
    /// Its last life, its member list and its evidence of failures.
    All,
    /// Its last life only.
    Life,
    /// Nothing: its life comes from the clock alone.
    Nothing,
}

impl Fault {
    /// A number for the trace.
    pub(crate) fn kind(&self) -> u8 {
        match self {
            Fault::Crash(_) => 0,
            Fault::Pause(_) => 1,
            Fault::Resume(_) => 2,
            Fault::Restart { .. } => 3,
            Fault::Leave(_) => 4,
            Fault::Partition(_) => 5,
            Fault::Deafen(_) => 6,
            Fault::Mute(_) => 7,
            Fault::Heal => 8,
            Fault::Conditions(_) => 9,
            Fault::Lossy { .. } => 10,
            Fault::Sever { .. } => 11,
        }
    }

    /// Applies it to a network.
    pub(crate) fn strike_net(&self, net: &mut Net) {
        match self {
            Fault::Crash(host) => net.routes().set_alive(*host, false),
            Fault::Restart { host, .. } => net.routes().set_alive(*host, true),
            Fault::Partition(groups) => net.partition(groups.clone()),
            Fault::Deafen(host) => net.set_deaf(*host, true),
            Fault::Mute(host) => net.set_mute(*host, true),
            Fault::Sever { from, to } => net.sever(*from, *to),
            Fault::Lossy { host, loss } => net.set_host_loss(*host, *loss),
            Fault::Heal => net.heal(),
            Fault::Conditions(conditions) => net.set_conditions(*conditions),
            Fault::Pause(_) | Fault::Resume(_) | Fault::Leave(_) => {}
        }
    }

    /// The host it affects; `None` if it affects the network.
    pub fn host(&self) -> Option<usize> {
        match *self {
            Fault::Crash(h)
            | Fault::Pause(h)
            | Fault::Resume(h)
            | Fault::Leave(h)
            | Fault::Deafen(h)
            | Fault::Mute(h)
            | Fault::Lossy { host: h, .. }
            | Fault::Restart { host: h, .. } => Some(h),
            Fault::Partition(_) | Fault::Sever { .. } | Fault::Heal | Fault::Conditions(_) => None,
        }
    }
}
