//! Nodes, a client and an environment, event by event.

use super::environment::Environment;
use super::params::Params;
use super::report::{Observer, Report, RoundEnd};
use crate::membership::ExperimentError;
use crate::runs::repeat;
use crate::stream;
use crate::world::addr_of;
use alloc::collections::BTreeMap;
use consort_papers::bandit::paper::{
    CLIENT, Client, ClientEvent, Event, Input, Msg, PaperNode, Round,
};
use consort_proto::kit::{Agenda, Host};
use consort_proto::{
    Cx, Effect, EffectOf, Instant, Life, NodeId, Protocol, Rng, Sender, To, hash_pair, mix,
};
use core::time::Duration;

/// One run.
pub fn run(params: &Params, seed: u64) -> Result<Report, ExperimentError> {
    params.check()?;
    Ok(Run::new(params, seed).run())
}

/// `runs` runs with derived seeds, in parallel. The result does not depend on the number of threads.
pub fn run_many(params: &Params, seed: u64, runs: usize) -> Result<Vec<Report>, ExperimentError> {
    repeat(seed, runs, |seed, _| run(params, seed))
}

/// What is due.
enum Item {
    /// The environment changes.
    Change,
    /// A message arrives.
    Deliver {
        from: usize,
        life: Life,
        to: usize,
        msg: Msg,
    },
    /// A host asked to be woken.
    Wake(usize),
}

/// A host, and the earliest time at which it is woken.
struct Seat<P: Protocol> {
    host: Host<P>,
    wake_at: Instant,
}

impl<P: Protocol> Seat<P> {
    fn new(me: NodeId, core: P, rng: Rng) -> Seat<P> {
        Seat {
            host: Host::new(me, core, rng),
            wake_at: Instant::MAX,
        }
    }

    /// Runs one handler; what is not about deadlines is appended to `rest`.
    fn step(
        &mut self,
        now: Instant,
        rest: &mut Vec<EffectOf<P>>,
        f: impl FnOnce(&mut P, &mut Cx<'_, P>),
    ) {
        self.host.now = now;
        self.host.step(rest, f);
    }

    /// Whether the host is to be woken now.
    fn woken(&mut self, now: Instant) -> bool {
        // Otherwise an earlier one took its place.
        let woken = self.wake_at == now;
        if woken {
            self.wake_at = Instant::MAX;
        }
        woken
    }

    /// Sees to it that the host, which has this number, is woken for its next deadline, or before.
    fn schedule(&mut self, agenda: &mut Agenda<Item>, n: usize) {
        if let Some(due) = self.host.timers.next()
            && due < self.wake_at
        {
            self.wake_at = due;
            agenda.push(due, Item::Wake(n));
        }
    }
}

struct Run<'a> {
    params: &'a Params,
    nodes: Vec<Seat<PaperNode>>,
    /// The number of the client is that of nodes.
    client: Seat<Client>,
    lives: Vec<Life>,
    down: Vec<bool>,
    environment: Environment,
    agenda: Agenda<Item>,
    now: Instant,
    done: bool,
    net: Rng,
    node_effects: Vec<EffectOf<PaperNode>>,
    client_effects: Vec<EffectOf<Client>>,
    /// Since when there is no leader, as the client sees it.
    missing: Option<Instant>,
    elected: BTreeMap<Round, Vec<usize>>,
    down_time: Vec<Duration>,
    down_since: Vec<Instant>,
    report: Report,
}

impl<'a> Run<'a> {
    fn new(params: &'a Params, seed: u64) -> Run<'a> {
        let count = usize::from(params.config.nodes);
        let of = |node: usize| if params.same_seed { 0 } else { node as u64 };
        let priors = hash_pair(seed, stream::BANDIT_PRIORS);
        let draws = hash_pair(seed, stream::BANDIT);
        let node = |n: usize| {
            let mut prior = Rng::seed(priors, of(n));
            let core = PaperNode::new(params.config, NodeId(n as u64), &mut prior);
            Seat::new(NodeId(n as u64), core, Rng::seed(draws, of(n)))
        };
        Run {
            params,
            nodes: (0..count).map(node).collect(),
            client: Seat::new(
                CLIENT,
                Client::new(params.client),
                Rng::seed(draws, count as u64),
            ),
            lives: vec![Life(1); count + 1],
            down: vec![false; count],
            environment: Environment::new(params.failures, params.rates, count, seed),
            agenda: Agenda::default(),
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
        }
    }

    fn run(mut self) -> Report {
        for n in 0..self.nodes.len() {
            self.step(n, |node, cx| node.on_input(cx, (), Input::Start));
        }
        self.tell_truth();
        self.step_client(|client, cx| client.on_input(cx, (), ()));
        self.agenda.push(self.environment.next(), Item::Change);
        // A group that never finds a leader would keep its client waiting for ever.
        let client = &self.params.client;
        let longest = client.reply_wait + client.elect_wait;
        let end = Instant::ZERO + longest * (client.requests as u32).saturating_mul(10);
        while let Some((at, item)) = self.agenda.pop(end) {
            self.now = at;
            match item {
                Item::Change => self.change(),
                Item::Deliver {
                    from,
                    life,
                    to,
                    msg,
                } => {
                    let from = sender(from, self.nodes.len(), life);
                    if to == self.nodes.len() {
                        self.step_client(|client, cx| client.on_msg(cx, (), from, msg));
                    } else {
                        self.step(to, |node, cx| node.on_msg(cx, (), from, msg));
                    }
                }
                Item::Wake(n) if n == self.nodes.len() => self.wake_client(),
                Item::Wake(n) => self.wake(n),
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
                self.step(n, |node, cx| node.on_input(cx, (), Input::Fail));
            } else {
                self.lives[n].0 += 1;
                self.down_time[n] += self.now.since(self.down_since[n]);
                self.step(n, |node, cx| node.on_input(cx, (), Input::Recover));
            }
        }
        if changed {
            self.tell_truth();
        }
        self.agenda.push(self.environment.next(), Item::Change);
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

    fn wake(&mut self, n: usize) {
        if self.nodes[n].woken(self.now) {
            while let Some((_, timer)) = self.nodes[n].host.timers.pop_due(self.now) {
                self.step(n, |node, cx| node.on_timer(cx, (), timer));
            }
            self.nodes[n].schedule(&mut self.agenda, n);
        }
    }

    fn wake_client(&mut self) {
        if self.client.woken(self.now) {
            while let Some((_, timer)) = self.client.host.timers.pop_due(self.now) {
                self.step_client(|client, cx| client.on_timer(cx, (), timer));
            }
            self.client.schedule(&mut self.agenda, self.nodes.len());
        }
    }

    /// Runs one handler of a node and carries out its effects.
    fn step(&mut self, n: usize, f: impl FnOnce(&mut PaperNode, &mut Cx<'_, PaperNode>)) {
        let mut effects = core::mem::take(&mut self.node_effects);
        self.nodes[n].step(self.now, &mut effects, f);
        for effect in effects.drain(..) {
            match effect {
                Effect::Send(to, msg) => self.send(n, to, msg),
                Effect::Emit(event) => self.note(n, event),
                _ => {}
            }
        }
        self.node_effects = effects;
        self.nodes[n].schedule(&mut self.agenda, n);
    }

    fn step_client(&mut self, f: impl FnOnce(&mut Client, &mut Cx<'_, Client>)) {
        let mut effects = core::mem::take(&mut self.client_effects);
        let n = self.nodes.len();
        self.client.step(self.now, &mut effects, f);
        for effect in effects.drain(..) {
            match effect {
                Effect::Send(to, msg) => self.send(n, to, msg),
                Effect::Emit(event) => self.note_client(event),
                _ => {}
            }
        }
        self.client_effects = effects;
        self.client.schedule(&mut self.agenda, n);
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
            return;
        }
        let (least, most) = links.delay;
        let spread = (most - least).as_micros() as u64;
        let delay = least + Duration::from_micros(self.net.below64(spread));
        let life = self.lives[from];
        let item = Item::Deliver {
            from,
            life,
            to,
            msg,
        };
        self.agenda.push(self.now + delay, item);
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
                round.request << 8
            }
            Event::Follows(id) => 1 + id.0,
            Event::Counted(_, winner) => winner.map_or(0, |w| (1 + w.0) << 32),
        };
        self.trace(n, what);
    }

    fn note_client(&mut self, event: ClientEvent) {
        let at = seconds(self.now);
        let reply_wait = self.params.client.reply_wait;
        let what = match event {
            ClientEvent::Elects => {
                self.report.rounds += 1;
                // The request that was not served is as old as the wait for a reply.
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
        let mut report = self.report;
        report.finished = self.done;
        report.seconds = span;
        let down = self.down_time.iter().map(|d| d.as_secs_f64() / span);
        report.down = down.collect();
        report.elected = self.elected.len() as u32;
        let dual = self.elected.values().filter(|winners| winners.len() > 1);
        report.dual = dual.count() as u32;
        report.out_of_bounds = self.environment.out_of_bounds;
        let observer = |seat: &Seat<PaperNode>| {
            let book = seat.host.core.book();
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

/// How a node, or the client, appears to others.
fn sender(from: usize, nodes: usize, life: Life) -> Sender {
    let id = match from == nodes {
        true => CLIENT,
        false => NodeId(from as u64),
    };
    Sender::new(id, life, addr_of(from))
}
