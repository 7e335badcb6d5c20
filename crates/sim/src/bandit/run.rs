//! Nodes, a client and an environment, event by event.

use super::environment::Environment;
use super::params::Params;
use super::record;
use super::report::{Observer, Report, RoundEnd};
use crate::membership::ExperimentError;
use crate::queue::{Due, EventQueue};
use crate::recording::{Change, HostIs, Recording};
use crate::runs::run_seed;
use crate::stream;
use crate::world::addr_of;
use alloc::collections::BTreeMap;
use consort_papers::bandit::paper::{
    CLIENT, Client, ClientEvent, Event, Input, Msg, PaperNode, Round,
};
use consort_proto::{
    Cx, Effect, EffectOf, Incarnation, Instant, Life, NodeId, Protocol, Rng, Sender, TimerQueue,
    To, hash_pair, mix,
};
use core::time::Duration;
use rayon::prelude::*;

/// One run.
pub fn run(params: &Params, seed: u64) -> Result<Report, ExperimentError> {
    run_recorded(params, seed, None)
}

fn run_recorded(
    params: &Params,
    seed: u64,
    recording: Option<&Recording>,
) -> Result<Report, ExperimentError> {
    params.check()?;
    if let Some(recording) = recording {
        recording.begin(&record::stage(params), seed);
    }
    Ok(Run::new(params, seed, recording).run())
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
    let one = |n: u64| run_recorded(params, run_seed(seed, n), recording.filter(|_| n == 0));
    (0..runs as u64).into_par_iter().map(one).collect()
}

/// A core with its timers.
pub(super) struct Host<P: Protocol> {
    pub(super) core: P,
    rng: Rng,
    timers: TimerQueue<P::Timer>,
    /// The earliest entry of this host in the queue.
    wake_at: Instant,
}

impl<P: Protocol> Host<P> {
    fn new(core: P, rng: Rng) -> Host<P> {
        Host {
            core,
            rng,
            timers: TimerQueue::default(),
            wake_at: Instant::MAX,
        }
    }
}

/// A message in flight.
struct Packet {
    from: usize,
    life: Life,
    to: usize,
    msg: Option<Msg>,
}

pub(super) struct Run<'a> {
    params: &'a Params,
    pub(super) nodes: Vec<Host<PaperNode>>,
    /// The client has the number after those of the nodes.
    client: Host<Client>,
    lives: Vec<Life>,
    down: Vec<bool>,
    environment: Environment,
    queue: EventQueue,
    packets: Vec<Packet>,
    free: Vec<usize>,
    pub(super) now: Instant,
    done: bool,
    net: Rng,
    node_effects: Vec<EffectOf<PaperNode>>,
    client_effects: Vec<EffectOf<Client>>,
    /// Since when there is no leader, according to the client.
    missing: Option<Instant>,
    elected: BTreeMap<Round, Vec<usize>>,
    down_time: Vec<Duration>,
    down_since: Vec<Instant>,
    pub(super) report: Report,
    pub(super) recording: Option<&'a Recording>,
}

impl<'a> Run<'a> {
    fn new(params: &'a Params, seed: u64, recording: Option<&'a Recording>) -> Run<'a> {
        let count = usize::from(params.config.nodes);
        let of = |node: usize| if params.same_seed { 0 } else { node as u64 };
        let priors = hash_pair(seed, stream::BANDIT_PRIORS);
        let draws = hash_pair(seed, stream::BANDIT);
        let node = |n: usize| {
            let mut prior = Rng::seed(priors, of(n));
            let core = PaperNode::new(params.config, NodeId(n as u64), &mut prior);
            Host::new(core, Rng::seed(draws, of(n)))
        };
        Run {
            params,
            nodes: (0..count).map(node).collect(),
            client: Host::new(Client::new(params.client), Rng::seed(draws, count as u64)),
            lives: vec![Life(1); count + 1],
            down: vec![false; count],
            environment: Environment::new(params.failures, params.rates, count, seed),
            queue: EventQueue::default(),
            packets: Vec::new(),
            free: Vec::new(),
            now: Instant::ZERO,
            done: false,
            net: Rng::seed(seed, stream::BANDIT_NET),
            node_effects: Vec::new(),
            client_effects: Vec::new(),
            missing: None,
            elected: BTreeMap::new(),
            down_time: vec![Duration::ZERO; count],
            down_since: vec![Instant::ZERO; count],
            report: Report::default(),
            recording,
        }
    }

    fn run(mut self) -> Report {
        for n in 0..self.nodes.len() {
            self.step(n, |node, cx| node.on_input(cx, (), Input::Start));
        }
        self.tell_truth();
        self.step_client(|client, cx| client.on_input(cx, (), ()));
        self.queue.push(self.environment.next(), Due::Sample);
        // A group that never finds a leader would make its client wait for ever.
        let client = &self.params.client;
        let longest = client.reply_wait + client.elect_wait;
        let end = Instant::ZERO + longest * (client.requests as u32).saturating_mul(10);
        while let Some((at, due)) = self.queue.pop(end) {
            self.now = at;
            match due {
                Due::Sample => self.change(),
                Due::Deliver(slot) => self.deliver(slot),
                Due::Wake(n) if n == self.nodes.len() => self.wake_client(),
                Due::Wake(n) => self.wake(n),
                Due::Fault(_) => {}
            }
            if self.done {
                break;
            }
        }
        self.finish()
    }

    /// The environment takes nodes down and brings others back.
    fn change(&mut self) {
        let rates = self.environment.step(self.now);
        let mut changed = rates;
        for n in 0..self.down.len() {
            let down = self.environment.down[n].is_some();
            if down == self.down[n] {
                continue;
            }
            self.down[n] = down;
            changed |= self.params.omniscient;
            if down {
                self.down_since[n] = self.now;
                self.record(&Change::Host(n as u32, HostIs::Crashed));
                self.record(&Change::Acts(0, n as u32, false));
                self.step(n, |node, cx| node.on_input(cx, (), Input::Fail));
            } else {
                self.lives[n].0 += 1;
                self.record(&Change::Restart(n as u32));
                self.down_time[n] += self.now.since(self.down_since[n]);
                self.step(n, |node, cx| node.on_input(cx, (), Input::Recover));
            }
        }
        if changed {
            self.tell_truth();
        }
        self.queue.push(self.environment.next(), Due::Sample);
    }

    fn tell_truth(&mut self) {
        if self.params.config.estimator != consort_papers::bandit::Estimator::Truth {
            return;
        }
        let known = |n: usize| {
            let down = self.params.omniscient && self.down[n];
            self.environment.rates[n] + f64::from(u8::from(down))
        };
        let truth: Vec<f64> = (0..self.down.len()).map(known).collect();
        for n in 0..self.nodes.len() {
            let truth = truth.clone();
            self.step(n, |node, cx| node.on_input(cx, (), Input::Truth(truth)));
        }
    }

    fn deliver(&mut self, slot: usize) {
        let packet = &mut self.packets[slot];
        let (from, life, to) = (packet.from, packet.life, packet.to);
        let Some(msg) = packet.msg.take() else {
            return;
        };
        self.free.push(slot);
        let from = sender(from, self.nodes.len(), life);
        if to == self.nodes.len() {
            self.step_client(|client, cx| client.on_msg(cx, (), from, msg));
        } else {
            self.step(to, |node, cx| node.on_msg(cx, (), from, msg));
        }
    }

    fn wake(&mut self, n: usize) {
        // An earlier entry replaced it.
        if self.nodes[n].wake_at != self.now {
            return;
        }
        self.nodes[n].wake_at = Instant::MAX;
        while let Some((_, timer)) = self.nodes[n].timers.pop_due(self.now) {
            self.step(n, |node, cx| node.on_timer(cx, (), timer));
        }
        schedule(&mut self.nodes[n], &mut self.queue, n);
    }

    fn wake_client(&mut self) {
        if self.client.wake_at != self.now {
            return;
        }
        self.client.wake_at = Instant::MAX;
        while let Some((_, timer)) = self.client.timers.pop_due(self.now) {
            self.step_client(|client, cx| client.on_timer(cx, (), timer));
        }
        let n = self.nodes.len();
        schedule(&mut self.client, &mut self.queue, n);
    }

    /// Runs one handler of a node and carries out its effects.
    fn step(&mut self, n: usize, f: impl FnOnce(&mut PaperNode, &mut Cx<'_, PaperNode>)) {
        let mut effects = core::mem::take(&mut self.node_effects);
        let host = &mut self.nodes[n];
        f(
            &mut host.core,
            &mut Cx {
                me: NodeId(n as u64),
                now: self.now,
                rng: &mut host.rng,
                effects: &mut effects,
            },
        );
        for effect in effects.drain(..) {
            match effect {
                Effect::Send(to, msg) => self.send(n, to, msg),
                Effect::SetTimer(timer, at) => self.nodes[n].timers.set(timer, at),
                Effect::CancelTimer(timer) => self.nodes[n].timers.cancel(timer),
                Effect::Emit(event) => self.note(n, event),
                Effect::Persist(_) => {}
            }
        }
        self.node_effects = effects;
        schedule::<PaperNode>(&mut self.nodes[n], &mut self.queue, n);
    }

    fn step_client(&mut self, f: impl FnOnce(&mut Client, &mut Cx<'_, Client>)) {
        let mut effects = core::mem::take(&mut self.client_effects);
        let n = self.nodes.len();
        f(
            &mut self.client.core,
            &mut Cx {
                me: CLIENT,
                now: self.now,
                rng: &mut self.client.rng,
                effects: &mut effects,
            },
        );
        for effect in effects.drain(..) {
            match effect {
                Effect::Send(to, msg) => self.send(n, to, msg),
                Effect::SetTimer(timer, at) => self.client.timers.set(timer, at),
                Effect::CancelTimer(timer) => self.client.timers.cancel(timer),
                Effect::Emit(event) => self.note_client(event),
                Effect::Persist(_) => {}
            }
        }
        self.client_effects = effects;
        schedule::<Client>(&mut self.client, &mut self.queue, n);
    }

    fn send(&mut self, from: usize, to: To, msg: Msg) {
        let To::Node(to) = to else {
            return;
        };
        let count = match &msg {
            m if m.is_election() => &mut self.report.messages_election,
            Msg::Ping(_) | Msg::PingReply(_) => &mut self.report.messages_ping,
            _ => &mut self.report.messages_request,
        };
        *count += 1;
        let to = if to == CLIENT {
            self.nodes.len()
        } else {
            to.0 as usize
        };
        let links = &self.params.links;
        if links.loss > 0.0 && self.net.chance(links.loss) {
            self.record_datagram(from, to, &msg, None);
            return;
        }
        let (least, most) = links.delay;
        let spread = (most - least).as_micros() as u64;
        let delay = least + Duration::from_micros(self.net.below64(spread));
        self.record_datagram(from, to, &msg, Some(delay));
        let packet = Packet {
            from,
            life: self.lives[from],
            to,
            msg: Some(msg),
        };
        let slot = match self.free.pop() {
            Some(slot) => {
                self.packets[slot] = packet;
                slot
            }
            None => {
                self.packets.push(packet);
                self.packets.len() - 1
            }
        };
        self.queue.push(self.now + delay, Due::Deliver(slot));
    }

    fn trace(&mut self, who: usize, what: u64) {
        let word = self.now.as_micros() << 8 ^ who as u64;
        let hash = hash_pair(self.report.trace_hash, word);
        self.report.trace_hash = hash_pair(hash, mix(what));
    }

    fn note(&mut self, n: usize, event: Event) {
        let what = match event {
            Event::Elected(round) => {
                let winners = self.elected.entry(round).or_default();
                if !winners.contains(&n) {
                    winners.push(n);
                }
                let winners = winners.clone();
                self.record_winners(&winners);
                round.request << 8
            }
            Event::Follows(id) => {
                self.record(&Change::Follows(0, n as u32, Some(id.0 as u32)));
                1 + id.0
            }
            Event::Counted(_, winner) => winner.map_or(0, |w| (1 + w.0) << 32),
        };
        self.trace(n, what);
    }

    fn note_client(&mut self, event: ClientEvent) {
        self.record_client(&event);
        let at = seconds(self.now);
        let reply_wait = self.params.client.reply_wait;
        let what = match event {
            ClientEvent::Elects => {
                self.report.rounds += 1;
                // The unserved request is as old as the wait for a reply.
                self.missing.get_or_insert(self.now - reply_wait);
                0
            }
            ClientEvent::Found(id) => {
                let leader = Some(id.0 as u16);
                self.report.ends.push(RoundEnd { at, leader });
                if let Some(since) = self.missing.take() {
                    self.report.outage += self.now.since(since).as_secs_f64();
                }
                1 + id.0
            }
            ClientEvent::Failed => {
                self.report.ends.push(RoundEnd { at, leader: None });
                1 << 32
            }
            ClientEvent::Done => {
                self.done = true;
                1 << 33
            }
        };
        self.trace(self.nodes.len(), what);
    }

    fn finish(mut self) -> Report {
        let now = self.now;
        let span = seconds(now);
        for n in (0..self.down.len()).filter(|n| self.down[*n]) {
            self.down_time[n] += now.since(self.down_since[n]);
        }
        self.end_recording();
        let mut report = self.report;
        report.finished = self.done;
        report.seconds = span;
        let down = self.down_time.iter().map(|d| d.as_secs_f64() / span);
        report.down = down.collect();
        report.elected = self.elected.len() as u32;
        let dual = self.elected.values().filter(|winners| winners.len() > 1);
        report.dual = dual.count() as u32;
        report.out_of_bounds = self.environment.out_of_bounds;
        let observer = |host: &Host<PaperNode>| {
            let book = host.core.book();
            Observer {
                estimates: (0..book.len()).map(|n| book.estimate(n, now)).collect(),
                updates: book.total(),
            }
        };
        report.observers = self.nodes.iter().map(observer).collect();
        report
    }
}

fn seconds(at: Instant) -> f64 {
    at.since(Instant::ZERO).as_secs_f64()
}

/// Ensures that a host is woken at its next deadline or before.
fn schedule<P: Protocol>(host: &mut Host<P>, queue: &mut EventQueue, n: usize) {
    if let Some(due) = host.timers.next()
        && due < host.wake_at
    {
        host.wake_at = due;
        queue.push(due, Due::Wake(n));
    }
}

/// The sender data of a node, or of the client.
fn sender(from: usize, nodes: usize, life: Life) -> Sender {
    Sender {
        id: if from == nodes {
            CLIENT
        } else {
            NodeId(from as u64)
        },
        life,
        incarnation: Incarnation(0),
        addr: addr_of(from),
        leaving: false,
        unlucky: false,
        isolated: false,
        digest: 0,
        coordinate: None,
    }
}
