//! Faults: what may happen to hosts and to the network, by script or at random.

use crate::net::{Conditions, Net};

/// One fault, or the end of one.
#[derive(Clone, Debug, PartialEq)]
pub enum Fault {
    /// The device stops for good, and no longer forwards.
    Crash(usize),
    /// The process stops; its timers are held and its datagrams wait, up to a limit.
    Pause(usize),
    /// A paused process goes on.
    Resume(usize),
    /// The process starts again, in a new life, whatever it was doing.
    Restart {
        /// Which host.
        host: usize,
        /// What it still knows.
        keep: Keep,
    },
    /// The process is asked to leave the group.
    Leave(usize),
    /// Hosts hear only those with the same number.
    Partition(Vec<u8>),
    /// A host no longer receives.
    Deafen(usize),
    /// What a host sends no longer arrives.
    Mute(usize),
    /// What one host sends to another no longer arrives; what it receives from it does.
    Sever {
        /// Who sends.
        from: usize,
        /// Who no longer receives it.
        to: usize,
    },
    /// A host loses a share of what it sends and of what it receives.
    Lossy {
        /// Which host.
        host: usize,
        /// Probability that it loses a datagram.
        loss: f64,
    },
    /// Partitions, deafness, muteness, severed links and losses of single hosts end.
    Heal,
    /// The network carries datagrams better or worse.
    Conditions(Conditions),
}

/// What a restarted process still knows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Keep {
    /// Its last life, its member list and what it knew of failures.
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

    /// What it does to a network.
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

    /// The host it strikes; `None` when it strikes the network.
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
