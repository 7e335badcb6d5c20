//! One node's part of the channel: its queue, its countdown and the frames on the air at its position.

use super::{Frame, Meter};
use alloc::collections::VecDeque;
use core::time::Duration;

/// Silence after which the channel counts as free, in microseconds.
pub(super) const DIFS: u64 = 28;
/// A slot of the countdown.
pub(super) const SLOT: u64 = 9;
/// Most frames in the queue.
const QUEUE_MAX: usize = 50;

/// A frame on the air, as one node receives it.
#[derive(Clone, Copy, Debug)]
pub(super) struct Arrival {
    pub(super) flight: usize,
    /// Whether it is in range, not only sensed.
    pub(super) decodable: bool,
    pub(super) spoiled: bool,
    pub(super) power: f64,
}

#[derive(Debug)]
pub(super) struct Station<P> {
    pub(super) up: bool,
    pub(super) queue: VecDeque<Frame<P>>,
    /// Transmissions of others that it senses.
    pub(super) heard: u32,
    /// Since when it senses none and does not send.
    pub(super) idle_since: u64,
    /// Remaining slots of the countdown.
    pub(super) slots: Option<u64>,
    /// When it may send if the channel stays free.
    pub(super) access_at: Option<u64>,
    /// Its own frame on the air.
    pub(super) sending: Option<usize>,
    pub(super) arrivals: Vec<Arrival>,
    receiving_since: Option<u64>,
    pub(super) meter: Meter,
}

impl<P> Station<P> {
    pub(super) fn new() -> Station<P> {
        Station {
            up: true,
            queue: VecDeque::new(),
            heard: 0,
            idle_since: 0,
            slots: None,
            access_at: None,
            sending: None,
            arrivals: Vec::new(),
            receiving_since: None,
            meter: Meter::default(),
        }
    }

    /// Adds a frame to the queue, beacons before others; false if there is no room.
    pub(super) fn enqueue(&mut self, frame: Frame<P>) -> bool {
        if self.queue.len() >= QUEUE_MAX {
            return false;
        }
        let beacons = self.queue.iter().take_while(|f| f.beacon).count();
        let place = if frame.beacon {
            beacons
        } else {
            self.queue.len()
        };
        self.queue.insert(place, frame);
        true
    }

    /// Counts down if necessary and the channel is free; returns the time at which it may send.
    pub(super) fn count_down(&mut self) -> Option<u64> {
        if self.heard > 0 || self.sending.is_some() {
            return None;
        }
        self.access_at = Some(self.idle_since + DIFS + SLOT * self.slots?);
        self.access_at
    }

    /// Senses a transmission: the countdown stops. The slot in which it stops counts, as in 802.11e and in the
    /// theory that the tests compare with; otherwise the shares of collisions would differ by up to 0.012.
    pub(super) fn freeze(&mut self, now: u64) {
        self.heard += 1;
        if self.heard > 1 || self.access_at.take().is_none() {
            return;
        }
        let begun = self.idle_since + DIFS;
        if let (Some(slots), true) = (&mut self.slots, now > begun) {
            *slots = slots.saturating_sub((now - begun) / SLOT + 1);
        }
    }

    /// A frame begins to arrive. Another frame, or the node's own sending, destroys it; with capture a frame
    /// survives that is ten times as strong as all others together.
    pub(super) fn arrive(&mut self, now: u64, mut arrival: Arrival, capture: bool) {
        arrival.spoiled |= self.sending.is_some();
        let free = self.arrivals.is_empty() && self.sending.is_none();
        if arrival.decodable && self.receiving_since.is_none() && self.sending.is_none() {
            self.receiving_since = Some(now);
        }
        self.arrivals.push(arrival);
        if free {
            return;
        }
        let total: f64 = self.arrivals.iter().map(|a| a.power).sum();
        for arrival in &mut self.arrivals {
            let survives = capture && arrival.power >= 10.0 * (total - arrival.power);
            arrival.spoiled |= !survives;
        }
    }

    /// It sends: frames that arrive meanwhile are lost.
    pub(super) fn deafen(&mut self, now: u64) {
        for arrival in &mut self.arrivals {
            arrival.spoiled = true;
        }
        self.stop_receiving(now);
    }

    /// A frame ends; returns whether it was in range, and whether it was received.
    pub(super) fn end(&mut self, now: u64, flight: usize) -> (bool, bool) {
        let Some(n) = self.arrivals.iter().position(|a| a.flight == flight) else {
            return (false, false);
        };
        let arrival = self.arrivals.remove(n);
        if !self.arrivals.iter().any(|a| a.decodable) {
            self.stop_receiving(now);
        }
        (arrival.decodable, arrival.decodable && !arrival.spoiled)
    }

    fn stop_receiving(&mut self, now: u64) {
        if let Some(since) = self.receiving_since.take() {
            self.meter.receive += Duration::from_micros(now - since);
        }
    }
}
