//! One step of a walk, drawn by weight, and the ticks of the clock.

use super::{Faults, Msg, TICK, VERDICT_LAG, World};
use crate::draw::by_weight;
use crate::lease::node::Node;
use crate::lease::oracle::Work;
use consort_proto::Rng;
use core::time::Duration;

/// Kinds of steps.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    Tick,
    Deliver,
    Lose,
    RunTimers,
    Stand,
    StartWork,
    EndWork,
    Change,
    Stop,
    Crash,
    Restart,
    Links,
    Verdict,
    Close,
    Gossip,
}

/// Weight of each kind of step, and whether a walk may have much more of it.
const WEIGHTS: [(Kind, u32, bool); 15] = [
    (Kind::Tick, 16, false),
    (Kind::Deliver, 40, false),
    (Kind::Lose, 2, true),
    (Kind::RunTimers, 6, false),
    (Kind::Stand, 5, true),
    (Kind::StartWork, 8, false),
    (Kind::EndWork, 2, true),
    (Kind::Change, 2, true),
    (Kind::Stop, 1, true),
    (Kind::Crash, 1, true),
    (Kind::Restart, 3, false),
    (Kind::Links, 2, true),
    (Kind::Verdict, 3, false),
    (Kind::Close, 3, false),
    (Kind::Gossip, 2, true),
];

/// Draws the weights of a walk. Much of one kind finds violations that a little of every kind does not.
pub(super) fn draw_weights(rng: &mut Rng) -> Vec<(Kind, u32)> {
    let mut draw = |(kind, weight, varies): (Kind, u32, bool)| match varies {
        true => (kind, weight * [0, 1, 1, 4][rng.below(4) as usize]),
        false => (kind, weight),
    };
    WEIGHTS.into_iter().map(&mut draw).collect()
}

impl World {
    /// Time passes, at every node by its own clock.
    pub(in crate::lease) fn tick(&mut self, rng: &mut Rng) {
        self.now += TICK;
        for node in &mut self.nodes {
            let step = TICK * u64::from(9 + rng.below(3)) / 10;
            node.clock = node.clock + Duration::from_micros(step);
        }
        let count = self.nodes.len();
        for a in 0..count {
            for b in 0..count {
                if self.part[a] != self.part[b] {
                    self.oracle.note_apart(self.now, a, b);
                }
                let lag = self.oracle.apart(a, b).map_or(0, |at| at + VERDICT_LAG);
                if self.nodes[b].up && self.now > lag {
                    self.nodes[a].down[b] = false;
                }
            }
        }
        let over = |w: &Work, nodes: &[Node]| nodes[w.node].clock >= w.end;
        while let Some(at) = self.works.iter().position(|w| over(w, &self.nodes)) {
            self.end_work(at);
        }
        for at in 0..count {
            self.run_timers(at);
        }
        self.look();
    }

    pub(super) fn deliver_all(&mut self) {
        for packet in core::mem::take(&mut self.wire) {
            if self.is_linked(packet.from, packet.to) {
                if !matches!(packet.msg, Msg::Claim) {
                    self.tell(|| format!("{} -> {}: {:?}", packet.from, packet.to, packet.msg));
                }
                self.receive(packet);
            }
        }
    }

    /// A tick in which all messages arrive and every node does what it intends to do.
    pub(in crate::lease) fn calm_tick(&mut self, rng: &mut Rng) {
        self.calm = true;
        let count = self.nodes.len();
        let (at, other) = (
            rng.below(count as u32) as usize,
            rng.below(count as u32) as usize,
        );
        self.verdict(at, other);
        for at in 0..count {
            for to in (0..count).filter(|to| *to != at) {
                if self.nodes[at].up {
                    self.send(at, to, Msg::Claim);
                    self.deliver_all();
                }
            }
            self.stand(at);
            self.close(at);
            self.deliver_all();
            self.deliver_all();
        }
        for at in 0..count {
            self.run_timers(at);
            self.deliver_all();
            self.deliver_all();
            self.start_work(at);
        }
        self.tick(rng);
        self.deliver_all();
        self.calm = false;
    }

    pub(super) fn verdict(&mut self, at: usize, other: usize) {
        let gone = !self.nodes[other].up || self.part[at] != self.part[other];
        if at != other && gone && self.nodes[at].up {
            // The other nodes of its part learn of it.
            for id in 0..self.nodes.len() {
                if id != other && self.part[id] == self.part[at] {
                    self.nodes[id].down[other] = true;
                }
            }
            self.tell(|| format!("{at} holds {other} to be down"));
        }
    }

    /// Performs one random step.
    pub(in crate::lease) fn step(&mut self, rng: &mut Rng) {
        let count = self.nodes.len() as u32;
        let (at, other) = (rng.below(count) as usize, rng.below(count) as usize);
        let kind = by_weight(rng, &self.weights, |k| k.1).map(|k| k.0);
        match kind.unwrap_or(Kind::Tick) {
            Kind::Tick => self.tick(rng),
            Kind::Deliver => self.deliver(rng),
            Kind::Lose => {
                if !self.wire.is_empty() {
                    let lost = rng.below(self.wire.len() as u32) as usize;
                    self.wire.swap_remove(lost);
                }
            }
            Kind::RunTimers => self.run_timers(at),
            Kind::Stand => self.stand(at),
            Kind::StartWork => self.start_work(at),
            Kind::EndWork => {
                if !self.works.is_empty() {
                    let at = rng.below(self.works.len() as u32) as usize;
                    self.end_work(at);
                }
            }
            Kind::Change => self.change(at, rng),
            Kind::Stop => self.stop(at),
            Kind::Crash => self.crash(at, rng.below(2) == 0),
            Kind::Restart => {
                let keep = rng.below(4) != 0;
                if !self.nodes[at].up {
                    self.restart(at, keep);
                }
            }
            Kind::Links => self.shake_links(rng),
            Kind::Verdict => self.verdict(at, other),
            Kind::Close => self.close(at),
            Kind::Gossip => {
                if self.nodes[at].up && at != other {
                    self.send(at, other, Msg::Claim);
                }
            }
        }
        self.look();
    }

    pub(super) fn deliver(&mut self, rng: &mut Rng) {
        if self.wire.is_empty() {
            return;
        }
        let at = rng.below(self.wire.len() as u32) as usize;
        let packet = match rng.below(12) {
            0 => self.wire[at].clone(),
            _ => self.wire.swap_remove(at),
        };
        if self.is_linked(packet.from, packet.to) {
            self.tell(|| format!("{} -> {}: {:?}", packet.from, packet.to, packet.msg));
            self.receive(packet);
        }
    }

    pub(super) fn shake_links(&mut self, rng: &mut Rng) {
        match self.setup.faults {
            Faults::None => {}
            _ if rng.below(2) == 0 => {
                self.heal();
                self.tell(|| "links heal".into());
            }
            Faults::OneWay | Faults::Deaf => {
                let count = self.nodes.len() as u32;
                let (a, b) = (rng.below(count) as usize, rng.below(count) as usize);
                self.cut[a][b] = a != b;
                self.tell(|| format!("{a} no longer reaches {b}"));
            }
            Faults::Partitions => {
                for part in &mut self.part {
                    *part = rng.below(2) as u8;
                }
                let part = self.part.clone();
                self.tell(|| format!("parts {part:?}"));
            }
        }
    }
}
