//! Moving nodes that elect leaders, event by event.

use super::actor::{Actor, life};
use super::crash::Crashing;
use super::params::{Core, Params};
use super::record;
use super::report::Report;
use super::score::{LOOK_EVERY, Score};
use super::truth::Truth;
use crate::membership::ExperimentError;
use crate::mobility::Follower;
use crate::radio::{Energy, Frame, Medium, Reception};
use crate::recording::{Change, HostIs, Kind, Recording};
use crate::runs::repeat;
use crate::seat::Seat;
use crate::stream;
use crate::world::{addr_of, id_of};
use consort_papers::omega::PaperOmega;
use consort_proto::kit::Agenda;
use consort_proto::omega::Omega;
use consort_proto::{
    Cx, Effect, EffectOf, Instant, Life, NodeId, Rng, Sender, TimerQueue, To, hash_pair,
};

/// Bytes that a datagram can hold besides its header.
const FRAMES_MAX: usize = 1100;

/// One run.
pub fn run(params: &Params, seed: u64) -> Result<Report, ExperimentError> {
    run_recorded(params, seed, None)
}

/// One run, recorded if there is a recording.
pub fn run_recorded(
    params: &Params,
    seed: u64,
    recording: Option<&Recording>,
) -> Result<Report, ExperimentError> {
    params.check()?;
    Ok(match &params.core {
        Core::Paper(config) => run_with(params, seed, recording, |node, _| {
            PaperOmega::new(*config, id_of(node))
        }),
        Core::Product(config) => run_with(params, seed, recording, |_, life| {
            Omega::new((**config).clone(), FRAMES_MAX, life)
        }),
    })
}

/// `runs` runs with derived seeds, in parallel. The result does not depend on the number of threads.
pub fn run_many(params: &Params, seed: u64, runs: usize) -> Result<Vec<Report>, ExperimentError> {
    run_many_recorded(params, seed, runs, None)
}

/// The same, with a recording of the first run.
pub fn run_many_recorded(
    params: &Params,
    seed: u64,
    runs: usize,
    recording: Option<&Recording>,
) -> Result<Vec<Report>, ExperimentError> {
    repeat(seed, runs, |seed, n| {
        run_recorded(params, seed, recording.filter(|_| n == 0))
    })
}

/// One run of cores that are created whenever a node starts; the parameters must be valid.
pub(super) fn run_with<A: Actor<Msg: Clone>>(
    params: &Params,
    seed: u64,
    recording: Option<&Recording>,
    make: impl Fn(usize, Life) -> A,
) -> Report {
    let motion = params.motion(seed);
    if let Some(recording) = recording {
        recording.begin(&record::stage(params, &motion), seed);
    }
    let nodes = motion.nodes();
    let protocol = hash_pair(seed, stream::OMEGA);
    let host = |node| Host {
        seat: Seat::new(
            id_of(node),
            make(node, life(1)),
            Rng::seed(protocol, node as u64),
        ),
        started: Some(Instant::ZERO),
        starts: 1,
        unheard: Vec::new(),
    };
    let hosts = (0..nodes).map(host).collect();
    let mut run = Run {
        params,
        make,
        hosts,
        medium: params.medium(nodes, seed),
        positions: motion.follow(),
        wakes: Agenda::default(),
        now: Instant::ZERO,
        truth: Truth::new(nodes),
        score: Score::new(nodes, params.core.oracle(), params.core.detection()),
        crashing: Crashing::new(params.crashes, seed),
        counts: Counts::default(),
        effects: Vec::new(),
        received: Vec::new(),
        recording,
    };
    for node in 0..nodes {
        run.step(node, |core, cx| core.start(cx));
    }
    run.run()
}

pub(super) struct Host<A: Actor> {
    seat: Seat<A>,
    /// Since when it runs.
    pub(super) started: Option<Instant>,
    starts: u32,
    /// Neighbours out of range that it named and did not hear, at the last sample.
    unheard: Vec<NodeId>,
}

#[derive(Default)]
struct Counts {
    messages: u64,
    beacons: u64,
    bytes: u64,
    bytes_beacons: u64,
    bytes_max: u64,
    missed: u64,
    missed_wrongly: u64,
}

pub(super) struct Run<'a, A: Actor, F> {
    pub(super) params: &'a Params,
    make: F,
    pub(super) hosts: Vec<Host<A>>,
    medium: Medium<A::Msg>,
    positions: Follower<'a>,
    wakes: Agenda<usize>,
    pub(super) now: Instant,
    pub(super) truth: Truth,
    score: Score,
    pub(super) crashing: Crashing,
    counts: Counts,
    effects: Vec<EffectOf<A>>,
    received: Vec<Reception<A::Msg>>,
    recording: Option<&'a Recording>,
}

impl<A: Actor<Msg: Clone>, F: Fn(usize, Life) -> A> Run<'_, A, F> {
    fn run(mut self) -> Report {
        let end = Instant::ZERO + self.params.duration;
        let mut look_at = Instant::ZERO;
        loop {
            let medium = self.medium.next().unwrap_or(Instant::MAX);
            let wake = self.wakes.next().unwrap_or(Instant::MAX);
            let crash = self.crashing.next();
            let next = medium.min(wake).min(crash).min(look_at);
            if next >= end {
                return self.finish();
            }
            self.now = next;
            // Events of one time are over before a sample is taken.
            if next == medium {
                self.medium.step(&mut self.positions, &mut self.received);
                self.deliver();
            } else if next == wake {
                self.wake();
            } else if next == crash {
                self.crash();
            } else {
                self.look();
                look_at = look_at + LOOK_EVERY;
            }
        }
    }

    fn deliver(&mut self) {
        let mut received = core::mem::take(&mut self.received);
        for Reception { to, from, payload } in received.drain(..) {
            let from = sender(from, life(self.hosts[from].starts));
            self.step(to, |core, cx| core.on_msg(cx, (), from, payload));
        }
        self.received = received;
    }

    fn wake(&mut self) {
        let Some((at, node)) = self.wakes.pop(self.now) else {
            return;
        };
        if self.hosts[node].seat.wakes(at) {
            while let Some((_, timer)) = self.hosts[node].seat.host.timers.pop_due(self.now) {
                self.step(node, |core, cx| core.on_timer(cx, (), timer));
            }
            self.hosts[node].seat.schedule(&mut self.wakes, node);
        }
    }

    /// Runs one handler and carries out its effects.
    fn step(&mut self, node: usize, f: impl FnOnce(&mut A, &mut Cx<'_, A>)) {
        let mut effects = core::mem::take(&mut self.effects);
        self.hosts[node].seat.step(self.now, &mut effects, f);
        for effect in effects.drain(..) {
            self.carry_out(node, effect);
        }
        self.effects = effects;
        self.hosts[node].seat.schedule(&mut self.wakes, node);
    }

    fn carry_out(&mut self, node: usize, effect: EffectOf<A>) {
        match effect {
            Effect::Send(To::Neighbors, msg) => self.send(node, None, msg),
            Effect::Send(To::Node(id) | To::At(id, _), msg) => self.send(node, index(id), msg),
            Effect::Emit(event) => {
                if let Some(id) = A::missed(&event) {
                    self.missed(node, id);
                }
            }
            _ => {}
        }
    }

    fn send(&mut self, node: usize, to: Option<usize>, payload: A::Msg) {
        let bytes = A::encoded_len(&payload);
        let beacon = A::is_beacon(&payload);
        let (count, sum) = match beacon {
            true => (&mut self.counts.beacons, &mut self.counts.bytes_beacons),
            false => (&mut self.counts.messages, &mut self.counts.bytes),
        };
        *count += 1;
        *sum += bytes as u64;
        self.counts.bytes_max = self.counts.bytes_max.max(bytes as u64);
        let kind = if beacon { Kind::Hello } else { Kind::Election };
        self.record(|| Change::Broadcast(node as u32, kind));
        let frame = Frame {
            to,
            bytes,
            beacon,
            payload,
        };
        self.medium.send(self.now, node, frame, &mut self.positions);
    }

    fn missed(&mut self, node: usize, id: NodeId) {
        let Some(other) = index(id).filter(|&other| other < self.hosts.len()) else {
            return;
        };
        self.counts.missed += 1;
        let (here, there) = (
            self.positions.position(node, self.now),
            self.positions.position(other, self.now),
        );
        let there = self.medium.reach().linked((node, here), (other, there));
        let wrongly = there && self.hosts[other].started.is_some();
        self.counts.missed_wrongly += u64::from(wrongly);
    }

    /// Computes the true graph from the current positions.
    pub(super) fn survey(&mut self) {
        let started: Vec<Option<Instant>> = self.hosts.iter().map(|h| h.started).collect();
        let reach = self.medium.reach();
        self.truth
            .look(reach, &mut self.positions, self.now, &started);
    }

    /// The leader of every node; a node that does not run has itself.
    pub(super) fn leaders(&mut self) -> Vec<usize> {
        let leader = |(node, host): (usize, &mut Host<A>)| match host.started {
            Some(_) => index(host.seat.host.core.leader(id_of(node))).unwrap_or(node),
            None => node,
        };
        self.hosts.iter_mut().enumerate().map(leader).collect()
    }

    fn look(&mut self) {
        self.survey();
        let leaders = self.leaders();
        if let Some(recording) = self.recording {
            record::look(recording, self.now, &self.truth, &leaders, self.params);
        }
        let truth = &self.truth;
        let phantom = |(node, host): (usize, &mut Host<A>)| {
            // Others may have named a node in range before it was heard.
            let beyond = |&id: &NodeId| index(id).is_none_or(|n| truth.distance(node, n) != 1);
            let named = host.seat.host.core.named(id_of(node)).filter(beyond);
            let unheard: Vec<NodeId> = named.filter(|&id| !host.seat.host.core.hears(id)).collect();
            let lasting = unheard.iter().any(|id| host.unheard.contains(id));
            host.unheard = unheard;
            lasting
        };
        let phantoms: Vec<bool> = self.hosts.iter_mut().enumerate().map(phantom).collect();
        self.score.look(&self.truth, &leaders, &phantoms);
    }

    fn record(&self, change: impl FnOnce() -> Change<'static>) {
        if let Some(recording) = self.recording {
            recording.push(self.now, &change());
        }
    }

    /// A node stops, and what it knew is gone.
    pub(super) fn stop(&mut self, node: usize) {
        let host = &mut self.hosts[node];
        host.started = None;
        self.record(|| Change::Host(node as u32, HostIs::Crashed));
        let host = &mut self.hosts[node];
        host.seat.host.timers = TimerQueue::default();
        self.medium.set_up(node, false);
    }

    /// A node restarts, in another life.
    pub(super) fn start(&mut self, node: usize) {
        let host = &mut self.hosts[node];
        host.starts += 1;
        self.record(|| Change::Restart(node as u32));
        let host = &mut self.hosts[node];
        host.started = Some(self.now);
        host.seat.host.core = (self.make)(node, life(host.starts));
        self.medium.set_up(node, true);
        self.step(node, |core, cx| core.start(cx));
    }

    fn finish(self) -> Report {
        if let Some(recording) = self.recording {
            recording.end(Instant::ZERO + self.params.duration, "");
        }
        let seconds = self.params.duration.as_secs_f64();
        let per_second = |count: u64| count as f64 / seconds;
        let counts = &self.counts;
        let nodes = self.hosts.len();
        let mut report = Report {
            messages: per_second(counts.messages),
            beacons: per_second(counts.beacons),
            bytes: per_second(counts.bytes),
            bytes_beacons: per_second(counts.bytes_beacons),
            bytes_max: counts.bytes_max,
            missed: counts.missed,
            missed_wrongly: counts.missed_wrongly,
            tally: self.medium.tally(),
            ..Report::default()
        };
        let share = 1.0 / nodes as f64;
        for node in 0..nodes {
            let Energy {
                transmit,
                receive,
                listen,
                above,
            } = self.medium.meter(node).energy(self.params.duration);
            report.energy.transmit += transmit * share;
            report.energy.receive += receive * share;
            report.energy.listen += listen * share;
            report.energy.above += above * share;
        }
        self.crashing.fill(&mut report);
        self.score.fill(&mut report);
        report
    }
}

/// The sender data of a node.
fn sender(node: usize, life: Life) -> Sender {
    Sender::new(id_of(node), life, addr_of(node))
}

/// The number of a simulated node.
fn index(id: NodeId) -> Option<usize> {
    id.0.checked_sub(1).map(|n| n as usize)
}
