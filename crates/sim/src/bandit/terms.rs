//! The safe variant (BLE-T) under the same failures: which nodes lead, in true time.

use super::environment::{Environment, Failures};
use super::params::Links;
use super::rates::{Pool, Rates};
use crate::stream;
use crate::world::addr_of;
use alloc::collections::BTreeMap;
use consort_papers::bandit::terms::{Config, Durable, Event, Input, Msg, TermNode};
use consort_proto::kit::{Agenda, Host};
use consort_proto::{
    Cx, Effect, EffectOf, Instant, Life, NodeId, Protocol, Rng, Sender, Term, TimerQueue, To,
    hash_pair,
};
use core::time::Duration;

/// An experiment with the safe variant.
#[derive(Clone, Debug, PartialEq)]
pub struct TermParams {
    /// The nodes.
    pub config: Config,
    /// How nodes fail and recover; a node that recovers has restarted.
    pub failures: Failures,
    /// The network.
    pub links: Links,
    /// Clocks run faster or slower than true time by up to this many thousandths.
    pub drift_per_mille: u16,
    /// Probability that a restarted node has lost its store.
    pub lost_store: f64,
    /// A planted flaw: a node that lost its store behaves as if it had never run.
    pub amnesia: bool,
    /// Duration of the run.
    pub duration: Duration,
}

impl TermParams {
    /// A group under failures of Table 1, with the worst clocks allowed.
    pub fn new(nodes: u16, links: Links, duration: Duration) -> TermParams {
        let config = Config::new(nodes);
        TermParams {
            config,
            failures: Failures::Async,
            links,
            drift_per_mille: config.drift_per_mille,
            lost_store: 0.0,
            amnesia: false,
            duration,
        }
    }
}

/// Result of a run.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct TermReport {
    /// Terms that had a leader.
    pub terms: u32,
    /// Terms that had two (T1).
    pub dual: u32,
    /// Grants of a term by a node that had granted it to another (T2); a node that lost its store cannot know.
    pub regrants: u32,
    /// How often a node began to lead while another's lease was valid, in true time (T3).
    pub overlaps: u32,
    /// Share of the time without a leader.
    pub vacant: f64,
    /// Messages of campaigns: requests, answers, confirmations, releases.
    pub messages_election: u64,
    /// Hash of all events of nodes, with their times.
    pub trace_hash: u64,
}

/// An event that is due.
enum Item {
    /// The environment changes.
    Change,
    /// A message arrives.
    Deliver(usize, usize, Msg),
    /// A host asked to be woken.
    Wake(usize),
}

struct Seat {
    host: Host<TermNode>,
    wake_at: Instant,
    stored: Durable,
    up: bool,
    /// Ticks of its clock per million of true time.
    pace: u64,
    /// Its lease, in true time.
    lease: Option<(Instant, Instant)>,
}

impl Seat {
    fn local(&self, at: Instant) -> Instant {
        let us = u128::from(at.as_micros()) * u128::from(self.pace) / 1_000_000;
        Instant::from_micros(us as u64)
    }

    /// The first true time at which its clock shows `local`.
    fn truly(&self, local: Instant) -> Instant {
        let us = (u128::from(local.as_micros()) * 1_000_000).div_ceil(u128::from(self.pace));
        Instant::from_micros(us as u64)
    }
}

struct Run<'a> {
    params: &'a TermParams,
    seats: Vec<Seat>,
    environment: Environment,
    agenda: Agenda<Item>,
    now: Instant,
    net: Rng,
    faults: Rng,
    effects: Vec<EffectOf<TermNode>>,
    leaders: BTreeMap<Term, Vec<usize>>,
    grants: BTreeMap<(usize, Term), NodeId>,
    led: Duration,
    report: TermReport,
}

/// One run.
pub fn run_terms(params: &TermParams, seed: u64) -> TermReport {
    let nodes = usize::from(params.config.nodes);
    let draws = hash_pair(seed, stream::BANDIT);
    let mut clocks = Rng::seed(seed, stream::DRIFT);
    let mut seat = |n: usize| {
        let drift = u32::from(params.drift_per_mille) * 1000;
        let id = NodeId(n as u64);
        let core = TermNode::new(params.config, id);
        Seat {
            host: Host::new(id, core, Rng::seed(draws, n as u64)),
            wake_at: Instant::MAX,
            stored: Durable::default(),
            up: true,
            pace: u64::from(1_000_000 - drift + clocks.below(2 * drift + 1)),
            lease: None,
        }
    };
    let mut run = Run {
        params,
        seats: (0..nodes).map(&mut seat).collect(),
        environment: Environment::new(params.failures, Rates::Drawn(Pool::Machines), nodes, seed),
        agenda: Agenda::default(),
        now: Instant::ZERO,
        net: Rng::seed(seed, stream::BANDIT_NET),
        faults: Rng::seed(seed, stream::BANDIT_PRIORS),
        effects: Vec::new(),
        leaders: BTreeMap::new(),
        grants: BTreeMap::new(),
        led: Duration::ZERO,
        report: TermReport::default(),
    };
    run.tell_ranks();
    for n in 0..nodes {
        run.step(n, |node, cx| node.on_input(cx, (), Input::Start));
    }
    run.run()
}

impl Run<'_> {
    fn run(mut self) -> TermReport {
        let end = Instant::ZERO + self.params.duration;
        self.agenda.push(self.environment.next(), Item::Change);
        while let Some((at, item)) = self.agenda.pop(end) {
            self.now = at;
            match item {
                Item::Change => self.change(),
                Item::Deliver(from, to, msg) => {
                    if self.seats[to].up {
                        self.step(to, |node, cx| node.on_msg(cx, (), sender(from), msg));
                    }
                }
                Item::Wake(n) => self.wake(n),
            }
        }
        self.now = end;
        (0..self.seats.len()).for_each(|n| self.end_lease(n));
        let mut report = self.report;
        report.terms = self.leaders.len() as u32;
        report.dual = self.leaders.values().filter(|l| l.len() > 1).count() as u32;
        report.vacant = 1.0 - self.led.as_secs_f64() / self.params.duration.as_secs_f64();
        report
    }

    fn change(&mut self) {
        self.environment.step(self.now);
        for n in 0..self.seats.len() {
            let up = self.environment.down[n].is_none();
            if up == self.seats[n].up {
                continue;
            }
            self.seats[n].up = up;
            if up {
                self.restart(n);
            } else {
                self.end_lease(n);
                self.seats[n].host.timers = TimerQueue::default();
            }
        }
        self.tell_ranks();
        self.agenda.push(self.environment.next(), Item::Change);
    }

    fn restart(&mut self, n: usize) {
        let lost = self.faults.chance(self.params.lost_store);
        let seat = &mut self.seats[n];
        seat.host.core = TermNode::new(self.params.config, NodeId(n as u64));
        if lost {
            seat.stored = Durable::default();
        }
        let input = match (lost, self.params.amnesia) {
            (true, true) => Input::Start,
            (true, false) => Input::Restart(None),
            (false, _) => Input::Restart(Some(seat.stored)),
        };
        self.step(n, |node, cx| node.on_input(cx, (), input));
    }

    /// Sets the ranks as if all nodes had recently heard all live nodes.
    fn tell_ranks(&mut self) {
        let key = |n: usize| (self.environment.rates[n], n);
        let up: Vec<usize> = (0..self.seats.len())
            .filter(|n| self.seats[*n].up)
            .collect();
        let ranks: Vec<(usize, u16)> = up
            .iter()
            .map(|n| (*n, up.iter().filter(|m| key(**m) < key(*n)).count() as u16))
            .collect();
        for (n, better) in ranks {
            let input = Input::Rank { better, bucket: 0 };
            self.step(n, |node, cx| node.on_input(cx, (), input));
        }
    }

    fn wake(&mut self, n: usize) {
        if self.seats[n].wake_at != self.now {
            return;
        }
        self.seats[n].wake_at = Instant::MAX;
        let local = self.seats[n].local(self.now);
        while let Some((_, timer)) = self.seats[n].host.timers.pop_due(local) {
            self.step(n, |node, cx| node.on_timer(cx, (), timer));
        }
        self.schedule(n);
    }

    fn schedule(&mut self, n: usize) {
        let seat = &mut self.seats[n];
        if let Some(due) = seat.host.timers.next() {
            let at = seat.truly(due).max(self.now);
            if at < seat.wake_at {
                seat.wake_at = at;
                self.agenda.push(at, Item::Wake(n));
            }
        }
    }

    fn step(&mut self, n: usize, f: impl FnOnce(&mut TermNode, &mut Cx<'_, TermNode>)) {
        let mut effects = core::mem::take(&mut self.effects);
        let seat = &mut self.seats[n];
        seat.host.now = seat.local(self.now);
        seat.host.step(&mut effects, f);
        for effect in effects.drain(..) {
            match effect {
                Effect::Send(To::Node(to), msg) => self.send(n, to.0 as usize, msg),
                Effect::Emit(event) => self.note(n, event),
                _ => {}
            }
        }
        self.effects = effects;
        self.schedule(n);
    }

    fn send(&mut self, from: usize, to: usize, msg: Msg) {
        let renewal = matches!(msg, Msg::Renew { .. } | Msg::RenewAck { .. });
        self.report.messages_election += u64::from(!renewal);
        if self.net.chance(self.params.links.loss) {
            return;
        }
        let (least, most) = self.params.links.delay;
        let spread = (most - least).as_micros() as u64;
        let delay = least + Duration::from_micros(self.net.below64(spread));
        self.agenda
            .push(self.now + delay, Item::Deliver(from, to, msg));
    }

    fn note(&mut self, n: usize, event: Event) {
        let word = self.now.as_micros() << 8 ^ n as u64;
        self.report.trace_hash = hash_pair(self.report.trace_hash, word);
        match event {
            Event::Store(durable) => {
                self.seats[n].stored = durable;
                if let Some(to) = durable.granted {
                    let first = *self.grants.entry((n, durable.term)).or_insert(to);
                    self.report.regrants += u32::from(first != to);
                }
            }
            Event::Leads(term, until) => {
                let leaders = self.leaders.entry(term).or_default();
                if !leaders.contains(&n) {
                    leaders.push(n);
                }
                let until = self.seats[n].truly(until);
                let since = self.seats[n].lease.map_or(self.now, |l| l.0);
                let now = self.now;
                let led = |s: &Seat| s.lease.is_some_and(|(_, until)| until > now);
                let others = self.seats.iter().enumerate();
                let overlap = others.filter(|(m, h)| *m != n && led(h)).count();
                self.report.overlaps += u32::from(overlap > 0);
                self.seats[n].lease = Some((since, until));
            }
            Event::Stops(_) => self.end_lease(n),
            Event::Follows(..) => {}
        }
    }

    fn end_lease(&mut self, n: usize) {
        if let Some((since, until)) = self.seats[n].lease.take() {
            self.led += until.min(self.now).since(since);
        }
    }
}

fn sender(from: usize) -> Sender {
    Sender::new(NodeId(from as u64), Life(1), addr_of(from))
}
