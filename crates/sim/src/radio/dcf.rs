//! One shared channel: 802.11 broadcasts with carrier sensing.
//!
//! A node that has a frame to send when the channel has been free for a DIFS sends it at once; otherwise it waits
//! for a random number of free slots. Broadcasts are not acknowledged, not repeated, and the window does not grow.
//! Two nodes that begin within 4 us do not sense each other; two that are out of each other's range never do.
//! Frames that overlap destroy each other.

use super::station::{Arrival, DIFS, Station};
use super::{Frame, Meter, Rate, Reach, Reception, Tally};
use crate::mobility::Follower;
use crate::stream;
use consort_proto::kit::Agenda;
use consort_proto::{Instant, Rng};

/// Greatest number of slots of a countdown, plus one; the window never grows.
const WINDOW: u32 = 16;
/// How long a transmission is not sensed, in microseconds.
const BLIND: u64 = 4;

/// Settings of a channel.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RadioConfig {
    /// Rate of frames other than beacons, which are sent at 6 Mb/s.
    pub rate: Rate,
    /// How much farther a transmission is sensed, and interferes, than it can be received.
    pub sense_factor: f64,
    /// Whether a frame survives weaker ones.
    pub capture: bool,
    /// Share of receptions that are lost by chance.
    pub loss: f64,
}

impl Default for RadioConfig {
    fn default() -> RadioConfig {
        RadioConfig {
            rate: Rate::Mbps52,
            sense_factor: 1.0,
            capture: false,
            loss: 0.0,
        }
    }
}

/// An event that is due, with the number of a station or a flight.
#[derive(Clone, Copy, Debug)]
enum Due {
    /// A countdown ends.
    Access(usize),
    /// A transmission is sensed.
    Sensed(usize),
    /// A transmission ends.
    End(usize),
}

/// A frame on the air.
#[derive(Debug)]
struct Flight<P> {
    from: usize,
    frame: Option<Frame<P>>,
    /// Nodes that sense it.
    hearers: Vec<usize>,
}

/// The channel.
#[derive(Debug)]
pub struct Radio<P> {
    config: RadioConfig,
    reach: Reach,
    stations: Vec<Station<P>>,
    flights: Vec<Flight<P>>,
    free: Vec<usize>,
    due: Agenda<Due>,
    rng: Rng,
    loss: Rng,
    tally: Tally,
}

impl<P: Clone> Radio<P> {
    /// A channel among `nodes` nodes.
    pub fn new(nodes: usize, reach: Reach, config: RadioConfig, seed: u64) -> Radio<P> {
        Radio {
            config,
            reach,
            stations: (0..nodes).map(|_| Station::new()).collect(),
            flights: Vec::new(),
            free: Vec::new(),
            due: Agenda::default(),
            rng: Rng::seed(seed, stream::RADIO),
            loss: Rng::seed(seed, stream::RADIO_LOSS),
            tally: Tally::default(),
        }
    }

    pub(super) fn reach(&self) -> &Reach {
        &self.reach
    }

    /// Its counters.
    pub fn tally(&self) -> Tally {
        self.tally
    }

    /// How long a node was in each state.
    pub fn meter(&self, node: usize) -> Meter {
        self.stations[node].meter
    }

    fn push(&mut self, at: u64, due: Due) {
        self.due.push(Instant::from_micros(at), due);
    }

    /// A node has a frame to send.
    pub fn send(&mut self, now: Instant, node: usize, frame: Frame<P>) {
        let now = now.as_micros();
        let station = &mut self.stations[node];
        if !station.up {
            return;
        }
        if !station.enqueue(frame) {
            self.tally.dropped += 1;
            return;
        }
        if station.sending.is_some() || station.slots.is_some() || station.access_at.is_some() {
            return;
        }
        if station.heard == 0 && now >= station.idle_since + DIFS {
            station.access_at = Some(now);
            self.push(now, Due::Access(node));
        } else {
            self.back_off(node);
        }
    }

    fn back_off(&mut self, node: usize) {
        let slots = self.rng.below(WINDOW).into();
        self.stations[node].slots = Some(slots);
        self.count_down(node);
    }

    fn count_down(&mut self, node: usize) {
        if let Some(at) = self.stations[node].count_down() {
            self.push(at, Due::Access(node));
        }
    }

    /// A node is switched on or off.
    pub fn set_up(&mut self, node: usize, up: bool) {
        let station = &mut self.stations[node];
        station.up = up;
        station.queue.clear();
        station.slots = None;
        station.access_at = None;
        if let Some(flight) = station.sending {
            self.flights[flight].frame = None;
        }
    }

    /// Time of the next event.
    pub fn next(&self) -> Option<Instant> {
        self.due.next()
    }

    /// Performs the next event.
    pub fn step(&mut self, positions: &mut Follower<'_>, received: &mut Vec<Reception<P>>) {
        let Some((now, due)) = self.due.pop(Instant::MAX) else {
            return;
        };
        let now = now.as_micros();
        match due {
            Due::Access(node) => {
                // A countdown that was stopped left its end in the queue.
                if self.stations[node].access_at == Some(now) {
                    self.access(now, node, positions);
                }
            }
            Due::Sensed(flight) => {
                for n in 0..self.flights[flight].hearers.len() {
                    let hearer = self.flights[flight].hearers[n];
                    let at_once = self.stations[hearer].slots.is_none();
                    let waited = self.stations[hearer].access_at.is_some();
                    self.stations[hearer].freeze(now);
                    if at_once && waited {
                        self.back_off(hearer);
                    }
                }
            }
            Due::End(flight) => self.end(now, flight, received),
        }
    }

    fn access(&mut self, now: u64, node: usize, positions: &mut Follower<'_>) {
        let station = &mut self.stations[node];
        station.access_at = None;
        station.slots = None;
        let Some(frame) = station.queue.pop_front() else {
            // It waited after its last frame, and no other followed.
            return;
        };
        let rate = if frame.beacon {
            Rate::Mbps6
        } else {
            self.config.rate
        };
        let airtime = rate.airtime(frame.bytes);
        let micros = airtime.as_micros() as u64;
        self.tally.frames += 1;
        self.tally.airtime_us += micros;
        self.tally.airtime_beacons_us += if frame.beacon { micros } else { 0 };
        let flight = self.free.pop().unwrap_or_else(|| {
            let (from, frame, hearers) = (0, None, Vec::new());
            self.flights.push(Flight {
                from,
                frame,
                hearers,
            });
            self.flights.len() - 1
        });
        station.sending = Some(flight);
        station.meter.transmit += airtime;
        station.deafen(now);

        let aboard = &mut self.flights[flight];
        aboard.from = node;
        aboard.frame = Some(frame);
        aboard.hearers.clear();
        let at = Instant::from_micros(now);
        let here = (node, positions.position(node, at));
        for (other, station) in self.stations.iter_mut().enumerate() {
            let there = (other, positions.position(other, at));
            let metres = self.reach.distance(here, there);
            if other == node || metres > self.reach.range * self.config.sense_factor {
                continue;
            }
            let arrival = Arrival {
                flight,
                decodable: metres <= self.reach.range,
                spoiled: false,
                power: power(metres),
            };
            station.arrive(now, arrival, self.config.capture);
            aboard.hearers.push(other);
        }
        self.push(now + BLIND, Due::Sensed(flight));
        self.push(now + micros, Due::End(flight));
    }

    fn end(&mut self, now: u64, flight: usize, received: &mut Vec<Reception<P>>) {
        let from = self.flights[flight].from;
        let frame = self.flights[flight].frame.take();
        let hearers = core::mem::take(&mut self.flights[flight].hearers);
        for &to in &hearers {
            let station = &mut self.stations[to];
            let (in_range, arrived) = station.end(now, flight);
            station.heard -= 1;
            if station.heard == 0 {
                station.idle_since = now;
            }
            let up = station.up;
            self.count_down(to);
            // The frame of a sender that was switched off is cut short.
            let (Some(frame), true, true) = (&frame, in_range, up) else {
                continue;
            };
            self.tally.arrivals += 1;
            if !arrived {
                self.tally.collisions += 1;
            } else if self.loss.chance(self.config.loss) {
                self.tally.lost += 1;
            } else if frame.to.is_none_or(|only| only == to) {
                let payload = frame.payload.clone();
                received.push(Reception { to, from, payload });
            }
        }
        self.flights[flight].hearers = hearers;
        self.free.push(flight);
        let station = &mut self.stations[from];
        station.sending = None;
        station.idle_since = now;
        if station.up {
            self.back_off(from);
        }
    }
}

/// Received power by distance, falling with the third power; constant up to a metre.
fn power(metres: f64) -> f64 {
    let metres = metres.max(1.0);
    1.0 / (metres * metres * metres)
}
