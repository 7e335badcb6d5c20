//! A few nodes in a simulated network of links that can be cut in one direction or both.

mod components;
mod handlers;
mod links;
mod spreading;
mod standing;

use super::{Chosen, Config, Delta, Event, Input, Msg, Omega, Record, Timer, leader};
use crate::id::{ElectionId, Life, NodeId};
use crate::kit::effects;
use crate::protocol::{Cx, Effect, Protocol, Sender, To};
use crate::rng::Rng;
use crate::time::Instant;
use crate::timer::TimerQueue;
use alloc::vec;
use alloc::vec::Vec;
use core::net::SocketAddr;
use core::time::Duration;

pub(super) const ELECTION: ElectionId = ElectionId(7);

pub(super) fn secs(s: u64) -> Duration {
    Duration::from_secs(s)
}

pub(super) fn ms(ms: u64) -> Duration {
    Duration::from_millis(ms)
}

pub(super) struct Host {
    pub(super) omega: Omega,
    timers: TimerQueue<Timer>,
    rng: Rng,
    pub(super) up: bool,
    pub(super) events: Vec<Event>,
}

struct Packet {
    at: Instant,
    from: usize,
    sender: Sender,
    to: usize,
    msg: Msg,
}

/// The simulated network.
pub(super) struct World {
    pub(super) hosts: Vec<Host>,
    /// Which node hears which: `hears[to][from]`.
    pub(super) hears: Vec<Vec<bool>>,
    pub(super) now: Instant,
    /// The probability that a message is lost.
    pub(super) loss: f64,
    /// The longest delay of a message.
    pub(super) delay: Duration,
    config: Config,
    packets: Vec<Packet>,
    rng: Rng,
    lives: u64,
    /// The messages sent, without hellos and pings.
    pub(super) sent: Vec<(Instant, usize, Msg)>,
}

pub(super) fn id(index: usize) -> NodeId {
    NodeId(index as u64 + 1)
}

fn sender(index: usize, life: Life) -> Sender {
    Sender::new(
        id(index),
        life,
        SocketAddr::from(([127, 0, 0, 1], index as u16 + 1)),
    )
}

impl World {
    /// Delivers `msg` to `to`, even if `from` did not send it.
    pub(super) fn hear_msg(&mut self, to: usize, from: Sender, msg: Msg) {
        self.step(to, |o, cx| o.on_msg(cx, (), from, msg));
    }

    /// Delivers records from `from` to `to`.
    pub(super) fn hear(&mut self, to: usize, from: usize, records: &[Record]) {
        let from = sender(from, self.hosts[from].omega.life());
        for delta in Delta::pack(records, 1150) {
            self.hear_msg(to, from, Msg::Delta(delta));
        }
    }

    pub(super) fn new(n: usize, seed: u64, config: Config) -> World {
        let config = Config {
            enabled: true,
            ..config
        };
        let mut world = World {
            hosts: Vec::new(),
            hears: vec![vec![false; n]; n],
            now: Instant::ZERO,
            loss: 0.0,
            delay: ms(5),
            config,
            packets: Vec::new(),
            rng: Rng::seed(seed, 99),
            lives: 0,
            sent: Vec::new(),
        };
        for index in 0..n {
            let host = world.host(index, seed);
            world.hosts.push(host);
        }
        for index in 0..n {
            world.boot(index);
        }
        world
    }

    /// A new process. Lives of one node may be in any order, as with wrong clocks.
    fn host(&mut self, index: usize, seed: u64) -> Host {
        self.lives += 1;
        let life = Life(u64::from(self.rng.below(1000)) << 16 | self.lives);
        Host {
            omega: Omega::new(self.config.clone(), 1150, life),
            timers: TimerQueue::default(),
            rng: Rng::seed(seed ^ self.lives << 32, index as u64),
            up: true,
            events: Vec::new(),
        }
    }

    fn boot(&mut self, index: usize) {
        self.input(index, Input::Start);
        self.input(index, Input::Open(ELECTION));
        self.input(index, Input::Campaign(ELECTION, 0, 0));
    }

    pub(super) fn crash(&mut self, index: usize) {
        self.hosts[index].up = false;
    }

    pub(super) fn restart(&mut self, index: usize) {
        let seed = self.rng.bits64();
        self.hosts[index] = self.host(index, seed);
        self.boot(index);
    }

    pub(super) fn link(&mut self, a: usize, b: usize, up: bool) {
        (self.hears[a][b], self.hears[b][a]) = (up, up);
    }

    pub(super) fn line(&mut self, nodes: &[usize]) {
        for pair in nodes.windows(2) {
            self.link(pair[0], pair[1], true);
        }
    }

    pub(super) fn input(&mut self, index: usize, input: Input) {
        self.step(index, |o, cx| o.on_input(cx, (), input));
    }

    fn step(&mut self, index: usize, f: impl FnOnce(&mut Omega, &mut Cx<'_, Omega>)) {
        let host = &mut self.hosts[index];
        let effects = effects(&mut host.omega, id(index), self.now, &mut host.rng, f);
        let sender = sender(index, host.omega.life());
        let mut outlived = None;
        for effect in effects {
            match effect {
                Effect::Send(to, msg) => {
                    assert!(msg.encoded_len() <= 1150, "S8: {msg:?}");
                    if !matches!(msg, Msg::Hello(_) | Msg::Ping | Msg::Pong) {
                        self.sent.push((self.now, index, msg.clone()));
                    }
                    match to {
                        To::Neighbors => {
                            for other in 0..self.hosts.len() {
                                self.carry(index, sender, other, msg.clone());
                            }
                        }
                        To::At(other, _) => self.carry(index, sender, other.0 as usize - 1, msg),
                        _ => panic!("{to:?}"),
                    }
                }
                Effect::SetTimer(timer, at) => self.hosts[index].timers.set(timer, at),
                Effect::CancelTimer(timer) => self.hosts[index].timers.cancel(timer),
                Effect::Emit(event) => {
                    if let Event::Outlived(life) = event {
                        outlived = Some(life);
                    }
                    self.hosts[index].events.push(event);
                }
                Effect::Persist(_) => panic!("nothing is stored here"),
            }
        }
        if let Some(life) = outlived {
            // Membership has stored it.
            self.input(index, Input::Life(life));
        }
    }

    fn carry(&mut self, from: usize, sender: Sender, to: usize, msg: Msg) {
        let copies = 1 + u32::from(self.rng.chance(self.loss / 4.0));
        for _ in 0..copies {
            let lost = self.rng.chance(self.loss);
            let delay = self.rng.below64(self.delay.as_micros() as u64 + 1);
            let hears = self.hears.get(to).is_some_and(|h| h[from]);
            if hears && !lost && to != from {
                let at = self.now + Duration::from_micros(delay);
                let msg = msg.clone();
                self.packets.push(Packet {
                    at,
                    from,
                    sender,
                    to,
                    msg,
                });
            }
        }
    }

    /// Runs for this time.
    pub(super) fn run(&mut self, span: Duration) {
        let end = self.now + span;
        loop {
            let packet = (0..self.packets.len()).min_by_key(|&i| (self.packets[i].at, i));
            let up = |i: &usize| self.hosts[*i].up;
            let host = (0..self.hosts.len()).filter(up);
            let host = host
                .filter_map(|i| Some((self.hosts[i].timers.next()?, i)))
                .min();
            let packet_at = packet.map(|p| self.packets[p].at);
            let due = [packet_at, host.map(|h| h.0)].into_iter().flatten().min();
            let Some(due) = due.filter(|&at| at <= end) else {
                break;
            };
            self.now = self.now.max(due);
            if packet_at == Some(due) {
                let Packet {
                    sender,
                    from,
                    to,
                    msg,
                    ..
                } = self.packets.swap_remove(packet.unwrap());
                // A radio message does not outlast its link for long.
                if self.hosts[to].up && self.hears[to][from] {
                    self.step(to, |o, cx| o.on_msg(cx, (), sender, msg));
                }
            } else if let Some((_, index)) = host
                && let Some((_, timer)) = self.hosts[index].timers.pop_due(self.now)
            {
                self.step(index, |o, cx| o.on_timer(cx, (), timer));
            }
        }
        self.now = end;
    }

    pub(super) fn leader(&self, index: usize) -> Option<NodeId> {
        self.hosts[index].omega.leader(ELECTION).map(|l| l.id)
    }

    pub(super) fn leaders(&self) -> Vec<u64> {
        (0..self.hosts.len())
            .map(|i| self.leader(i).map_or(0, |l| l.0))
            .collect()
    }

    /// The nodes that are actually connected with `index` over links in both directions.
    pub(super) fn component(&self, index: usize) -> Vec<NodeId> {
        let mut reached = vec![index];
        let mut next = 0;
        while next < reached.len() {
            let at = reached[next];
            for other in 0..self.hosts.len() {
                let linked = self.hears[at][other] && self.hears[other][at];
                if linked && self.hosts[other].up && !reached.contains(&other) {
                    reached.push(other);
                }
            }
            next += 1;
        }
        reached.sort_unstable();
        reached.into_iter().map(id).collect()
    }

    /// The first violation of G1 to G4 in the current state, if any.
    pub(super) fn disagreement(&self) -> Option<alloc::string::String> {
        use alloc::format;
        for index in (0..self.hosts.len()).filter(|&i| self.hosts[i].up) {
            let omega = &self.hosts[index].omega;
            let truth = self.component(index);
            let known: Vec<NodeId> = omega.component().collect();
            if known != truth {
                return Some(format!("{index} knows {known:?} of {truth:?}"));
            }
            let own = omega.own_record(id(index)).unwrap();
            for &member in &truth {
                let other = &self.hosts[member.0 as usize - 1].omega;
                if other.digest() != omega.digest() {
                    return Some(format!("{index} and {member:?} know different things"));
                }
                if other.leader(ELECTION) != omega.leader(ELECTION) {
                    return Some(format!("{index} and {member:?} follow different leaders"));
                }
                let linked = own.lists(member);
                let hears = self.hears[index][member.0 as usize - 1]
                    && self.hears[member.0 as usize - 1][index];
                if member != id(index) && linked != hears {
                    return Some(format!("{index} misses its link with {member:?}"));
                }
            }
            match self.leader(index) {
                Some(leader) if truth.contains(&leader) => {}
                other => return Some(format!("{index} follows {other:?}")),
            }
        }
        None
    }

    /// The leader according to the records of a node, computed independently.
    pub(super) fn judged_anew(&self, index: usize, hysteresis: u32) -> Option<Chosen> {
        let omega = &self.hosts[index].omega;
        let (ids, graph) = omega.graph(id(index));
        let farness = graph.farness_plain();
        let mut records: Vec<_> = omega
            .records()
            .filter(|(_, member)| member.is_some())
            .map(|(record, _)| (record, farness[ids.binary_search(&record.id).unwrap()]))
            .collect();
        records.reverse();
        leader(records.iter().copied(), ELECTION, hysteresis, 3)
    }
}
