//! The medium between moving nodes: an ideal one, and one shared radio channel.
//!
//! Everything is a local broadcast. A frame for one node is one that others ignore: 802.11 would acknowledge and
//! repeat it, which is not modelled, so it fares no better than a broadcast here. A medium is told what is sent and
//! asked for its next event; it never reads a clock and has its own random stream.

mod airtime;
mod dcf;
mod energy;
mod ideal;
mod reach;
mod station;
#[cfg(test)]
mod tests;

pub use airtime::Rate;
pub use dcf::{Radio, RadioConfig};
pub use energy::{Energy, Meter};
pub use ideal::Ideal;
pub use reach::{Reach, Shadowing};

use crate::mobility::Follower;
use consort_proto::Instant;

/// A frame to send.
#[derive(Clone, Debug)]
pub struct Frame<P> {
    /// The receiver; all nodes in range if `None`.
    pub to: Option<usize>,
    /// Length of the message.
    pub bytes: usize,
    /// Whether it is a beacon: beacons are sent before other frames, at the basic rate.
    pub beacon: bool,
    /// The message.
    pub payload: P,
}

/// A frame that a node received.
#[derive(Clone, Debug)]
pub struct Reception<P> {
    /// The receiver.
    pub to: usize,
    /// The sender.
    pub from: usize,
    /// The message.
    pub payload: P,
}

/// Counters of a medium.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Tally {
    /// Frames sent.
    pub frames: u64,
    /// Airtime of all frames, in microseconds.
    pub airtime_us: u64,
    /// Airtime of beacons.
    pub airtime_beacons_us: u64,
    /// Receptions at nodes in range of the sender.
    pub arrivals: u64,
    /// Of these, those that another transmission destroyed.
    pub collisions: u64,
    /// Of these, those that were lost by chance.
    pub lost: u64,
    /// Frames that did not fit a queue.
    pub dropped: u64,
}

/// A medium of either kind.
#[derive(Debug)]
pub enum Medium<P> {
    /// Without loss or contention.
    Ideal(Ideal<P>),
    /// One shared channel.
    Radio(Box<Radio<P>>),
}

impl<P: Clone> Medium<P> {
    /// A node sends a frame.
    pub fn send(
        &mut self,
        now: Instant,
        node: usize,
        frame: Frame<P>,
        positions: &mut Follower<'_>,
    ) {
        match self {
            Medium::Ideal(ideal) => ideal.send(now, node, frame, positions),
            Medium::Radio(radio) => radio.send(now, node, frame),
        }
    }

    /// Time of the next event.
    pub fn next(&self) -> Option<Instant> {
        match self {
            Medium::Ideal(ideal) => ideal.next(),
            Medium::Radio(radio) => radio.next(),
        }
    }

    /// Performs the next event, and adds what was received.
    pub fn step(&mut self, positions: &mut Follower<'_>, received: &mut Vec<Reception<P>>) {
        match self {
            Medium::Ideal(ideal) => ideal.step(received),
            Medium::Radio(radio) => radio.step(positions, received),
        }
    }

    /// A node is switched on or off. Its queued frames are dropped.
    pub fn set_up(&mut self, node: usize, up: bool) {
        match self {
            Medium::Ideal(ideal) => ideal.set_up(node, up),
            Medium::Radio(radio) => radio.set_up(node, up),
        }
    }

    /// Which nodes can reach each other.
    pub fn reach(&self) -> &Reach {
        match self {
            Medium::Ideal(ideal) => ideal.reach(),
            Medium::Radio(radio) => radio.reach(),
        }
    }

    /// Its counters.
    pub fn tally(&self) -> Tally {
        match self {
            Medium::Ideal(ideal) => ideal.tally(),
            Medium::Radio(radio) => radio.tally(),
        }
    }

    /// How long a node was in each state; zero without a radio.
    pub fn meter(&self, node: usize) -> Meter {
        match self {
            Medium::Ideal(_) => Meter::default(),
            Medium::Radio(radio) => radio.meter(node),
        }
    }
}
