//! One lock among many nodes, event by event.

use super::actor::{Actor, Happened};
use super::params::{Bound, Lists, Lock, Params, Transport};
use super::paths::Paths;
use super::report::Report;
use super::trouble::{Fault, Trouble, notice};
use crate::membership::{ExperimentError, run_seed};
use crate::net::survive;
use crate::stream;
use crate::world::{addr_of, id_of};
use alloc::collections::{BTreeMap, BTreeSet, VecDeque};
use consort_proto::mutex::paper::PaperMutex;
use consort_proto::{Cx, Effect, EffectOf, Incarnation, Instant, Life, NodeId, Rng, Sender, To};
use core::time::Duration;
use rayon::prelude::*;

/// The longest that a source waits before it sends a lost message again, in milliseconds; less by one.
const RESEND_MS: u32 = 500;

/// One run.
pub fn run(params: &Params, seed: u64) -> Result<Report, ExperimentError> {
    params.check()?;
    match params.lock {
        Lock::Paper(config) => {
            Ok(Run::new(params, seed, |_, life| PaperMutex::new(config, life))?.run())
        }
    }
}

/// `runs` runs with derived seeds, in parallel. The result does not depend on the number of threads.
pub fn run_many(params: &Params, seed: u64, runs: usize) -> Result<Vec<Report>, ExperimentError> {
    let one = |n: u64| run(params, run_seed(seed, n));
    (0..runs as u64).into_par_iter().map(one).collect()
}

/// What is due.
pub(super) enum Item<A: Actor> {
    Arrive(usize),
    Deliver {
        from: usize,
        to: usize,
        msg: A::Msg,
    },
    /// A message that was lost is sent again.
    Again(Trip<A::Msg>),
    Timer(usize, A::Timer),
    /// The application is done with its entry of this number.
    Exit(usize, u64),
    Strike(Fault),
    /// A node notices that another is there, or is not.
    Notice {
        at: usize,
        of: usize,
        there: bool,
    },
}

/// A message on its way.
pub(super) struct Trip<M> {
    from: usize,
    to: usize,
    hops: u16,
    bytes: u64,
    msg: M,
}

/// A request in a core.
#[derive(Clone, Copy)]
pub(super) struct Open {
    arrived: Instant,
    asked: Instant,
}

pub(super) struct Host<A: Actor> {
    pub(super) core: A,
    pub(super) up: bool,
    pub(super) life: u64,
    pub(super) list: Vec<NodeId>,
    /// Arrivals that wait for their turn at this node.
    pub(super) queue: VecDeque<Instant>,
    pub(super) open: Option<Open>,
    pub(super) timers: Vec<(A::Timer, Instant)>,
    /// Number of its last entry.
    pub(super) entries: u64,
}

pub(super) struct Run<'a, A: Actor, F> {
    pub(super) params: &'a Params,
    pub(super) make: F,
    paths: Paths,
    pub(super) hosts: Vec<Host<A>>,
    items: BTreeMap<(Instant, u64), Item<A>>,
    scheduled: u64,
    now: Instant,
    net: Rng,
    delay: Rng,
    pub(super) faults: Rng,
    choice: Rng,
    /// Whether a message's fate may depend on what happens meanwhile.
    faulty: bool,
    pub(super) cut: Option<usize>,
    pub(super) alive: u32,
    arrivals_left: usize,
    pub(super) inside: BTreeSet<usize>,
    last_exit: Option<Instant>,
    token: u128,
    /// By hops: how often a source has to send on average.
    sends_by_hops: Vec<f64>,
    sums: Sums,
    report: Report,
    effects: Vec<EffectOf<A>>,
}

#[derive(Default)]
struct Sums {
    wait: Duration,
    wait_client: Duration,
    gap: Duration,
    gaps: u32,
    hops: u64,
}

impl<'a, A: Actor, F: Fn(usize, Life) -> A> Run<'a, A, F> {
    fn new(params: &'a Params, seed: u64, make: F) -> Result<Self, ExperimentError> {
        let nodes = params.nodes;
        let absent = params.trouble.absent(nodes);
        let present = |i: usize| !absent.contains(&i);
        let lists = lists(params, seed, &present);
        let host = |(i, list)| Host {
            core: make(i, Life(1)),
            up: present(i),
            life: 1,
            list,
            queue: VecDeque::new(),
            open: None,
            timers: Vec::new(),
            entries: 0,
        };
        let alive = (0..nodes).filter(|&i| present(i)).count() as u32;
        let mut run = Run {
            paths: Paths::new(params.layout(seed)?),
            hosts: lists.into_iter().enumerate().map(host).collect(),
            make,
            items: BTreeMap::new(),
            scheduled: 0,
            now: Instant::ZERO,
            net: Rng::seed(seed, stream::LOCK_NET),
            delay: Rng::seed(seed, stream::LOCK_DELAY),
            faults: Rng::seed(seed, stream::LOCK_FAULTS + 1000),
            choice: Rng::seed(seed, stream::LOCK_CHOICE),
            faulty: params.trouble != Trouble::None,
            cut: None,
            alive,
            arrivals_left: 0,
            inside: BTreeSet::new(),
            last_exit: None,
            token: 0,
            sends_by_hops: vec![1.0],
            sums: Sums::default(),
            report: Report::default(),
            effects: Vec::new(),
            params,
        };
        for (after, fault) in params.trouble.draw(nodes, params.limit, seed) {
            run.push(after, Item::Strike(fault));
        }
        let arrivals = params.workload.draw(nodes, params.hold, seed);
        run.arrivals_left = arrivals.len();
        for (after, node) in arrivals {
            run.push(after, Item::Arrive(node));
        }
        Ok(run)
    }

    pub(super) fn push(&mut self, after: Duration, item: Item<A>) {
        self.scheduled += 1;
        self.items.insert((self.now + after, self.scheduled), item);
    }

    /// Whether all requests that came are served.
    fn is_done(&self) -> bool {
        let idle = |h: &Host<A>| h.open.is_none() && h.queue.is_empty();
        self.arrivals_left == 0 && self.inside.is_empty() && self.hosts.iter().all(idle)
    }

    fn run(mut self) -> Report {
        let end = Instant::ZERO + self.params.limit;
        while let Some(((at, _), item)) = self.items.pop_first() {
            if at > end {
                break;
            }
            self.now = at;
            let last = matches!(item, Item::Exit(..) | Item::Strike(_) | Item::Arrive(_));
            self.handle(item);
            // What is still under way after the last exit changes nothing but costs: see it out, unless
            // faults go on for as long as they like.
            if last && self.faulty && self.is_done() {
                break;
            }
        }
        let open = |h: &Host<A>| h.queue.len() + usize::from(h.open.is_some());
        let running = self.hosts.iter().filter(|h| h.up);
        let mut report = self.report;
        report.blocked = running.map(open).sum::<usize>() as u64 - self.inside.len() as u64;
        let entries = report.entries as f64;
        report.wait = self.sums.wait.as_secs_f64() / entries;
        report.wait_client = self.sums.wait_client.as_secs_f64() / entries;
        report.gap = self.sums.gap.as_secs_f64() / f64::from(self.sums.gaps);
        let hops = self.sums.hops as f64 / report.messages as f64;
        report.round_trip = hops * f64::from(self.params.hop_delay_ms - 1) / 1000.0;
        report
    }

    fn handle(&mut self, item: Item<A>) {
        match item {
            Item::Arrive(node) => {
                self.arrivals_left -= 1;
                if self.hosts[node].up {
                    self.report.requests += 1;
                    self.hosts[node].queue.push_back(self.now);
                    self.serve(node);
                }
            }
            Item::Deliver { from, to, msg } => {
                if self.hosts[to].up {
                    let from = self.sender(from);
                    self.step(to, |a, cx, view| a.on_msg(cx, view, from, msg));
                }
            }
            Item::Again(trip) => {
                if self.hosts[trip.from].up {
                    self.send(trip);
                }
            }
            Item::Timer(node, timer) => {
                let due = (timer, self.now);
                if let Some(n) = self.hosts[node].timers.iter().position(|t| *t == due) {
                    self.hosts[node].timers.swap_remove(n);
                    self.step(node, |a, cx, view| a.on_timer(cx, view, timer));
                }
            }
            Item::Exit(node, entry) => {
                if self.hosts[node].entries == entry && self.inside.remove(&node) {
                    self.last_exit = Some(self.now);
                    self.hosts[node].open = None;
                    self.step(node, A::release);
                    self.serve(node);
                }
            }
            Item::Strike(fault) => self.strike(fault),
            Item::Notice { at, of, there } => {
                let apart = self.cut.is_some_and(|c| (at < c) != (of < c));
                if there == (self.hosts[of].up && !apart) {
                    self.set_listed(at, of, there);
                }
            }
        }
    }

    /// Lets the next request of a node go to its lock.
    fn serve(&mut self, node: usize) {
        let (now, host) = (self.now, &mut self.hosts[node]);
        if host.open.is_some() {
            return;
        }
        if let Some(arrived) = host.queue.pop_front() {
            host.open = Some(Open {
                arrived,
                asked: now,
            });
            self.step(node, A::acquire);
        }
    }

    /// Runs one handler and carries out its effects.
    pub(super) fn step(
        &mut self,
        node: usize,
        f: impl FnOnce(&mut A, &mut Cx<'_, A>, A::View<'_>),
    ) {
        let n_upper = match self.params.bound {
            Bound::Absent => 0,
            Bound::Nodes => self.params.nodes as u32,
            Bound::Alive => self.alive,
        };
        let mut effects = core::mem::take(&mut self.effects);
        let host = &mut self.hosts[node];
        let mut cx = Cx {
            me: id_of(node),
            now: self.now,
            rng: &mut self.choice,
            effects: &mut effects,
        };
        f(&mut host.core, &mut cx, A::view(&host.list, n_upper));
        for effect in effects.drain(..) {
            self.carry_out(node, effect);
        }
        self.effects = effects;
    }

    fn carry_out(&mut self, node: usize, effect: EffectOf<A>) {
        match effect {
            Effect::Send(To::Node(id) | To::At(id, _), msg) => {
                let to = index(id);
                let extra = self.params.phantom_hop && A::takes_phantom_hop(&msg);
                let hops = self.paths.hops(node, to);
                self.sums.hops += u64::from(hops);
                let hops = hops + u16::from(extra);
                self.report.messages += 1;
                self.report.sends_expected += self.expected(hops);
                self.send(Trip {
                    from: node,
                    to,
                    hops,
                    bytes: A::encoded_len(&msg) as u64,
                    msg,
                });
            }
            Effect::SetTimer(timer, due) => {
                self.hosts[node].timers.retain(|t| t.0 != timer);
                self.hosts[node].timers.push((timer, due));
                self.push(due.since(self.now), Item::Timer(node, timer));
            }
            Effect::CancelTimer(timer) => self.hosts[node].timers.retain(|t| t.0 != timer),
            Effect::Emit(event) => match A::happened(&event) {
                Happened::Entered(token) => self.entered(node, token),
                Happened::Lost => {
                    self.inside.remove(&node);
                    self.report.lost += 1;
                    self.hosts[node].open = None;
                    self.hosts[node].entries += 1;
                }
                Happened::Hint(id) => {
                    let after = notice(&mut self.faults);
                    let (at, of) = (node, index(id));
                    let there = true;
                    self.push(after, Item::Notice { at, of, there });
                }
                Happened::Slow => self.report.slow += 1,
                Happened::Nothing => {}
            },
            Effect::Send(To::Addr(_), _) | Effect::Persist(_) => {}
        }
    }

    fn entered(&mut self, node: usize, token: u128) {
        let Some(open) = self.hosts[node].open else {
            return;
        };
        self.report.entries += 1;
        self.report.last = self.now.since(Instant::ZERO).as_secs_f64();
        let client = self.now.since(open.arrived);
        self.sums.wait += self.now.since(open.asked);
        self.sums.wait_client += client;
        self.report.wait_max = self.report.wait_max.max(client.as_secs_f64());
        self.report.overlaps += u64::from(!self.inside.is_empty());
        self.report.regressions += u64::from(self.report.entries > 1 && token <= self.token);
        self.token = self.token.max(token);
        if let Some(exit) = self.last_exit.filter(|&exit| exit > open.asked) {
            self.sums.gap += self.now.since(exit);
            self.sums.gaps += 1;
        }
        self.inside.insert(node);
        self.hosts[node].entries += 1;
        let entry = self.hosts[node].entries;
        self.push(self.params.hold, Item::Exit(node, entry));
    }

    fn expected(&mut self, hops: u16) -> f64 {
        while self.sends_by_hops.len() <= usize::from(hops) {
            let last = self.sends_by_hops.last().copied().unwrap_or(1.0);
            self.sends_by_hops.push(last / (1.0 - self.params.drop));
        }
        self.sends_by_hops[usize::from(hops)]
    }

    /// Sends a message, and again when it is lost (D5), a while after the moment of the loss: counted from
    /// its sending instead, requests among 1024 nodes would wait 11 s, where the thesis has 18. Where nothing
    /// else can happen to a message, all of that is drawn at once.
    fn send(&mut self, trip: Trip<A::Msg>) {
        let mut after = Duration::ZERO;
        loop {
            let apart = self.cut.is_some_and(|c| (trip.from < c) != (trip.to < c));
            let (travelled, arrives) = match apart {
                true => (1, false),
                false => survive(trip.hops, self.params.drop, self.net.unit()),
            };
            self.report.sends += 1;
            self.report.hops += u64::from(travelled);
            self.report.bytes += trip.bytes;
            self.report.byte_hops += trip.bytes * u64::from(travelled);
            let most = self.params.hop_delay_ms;
            let hop = |_| u64::from(self.delay.below(most));
            after += Duration::from_millis((0..travelled).map(hop).sum());
            if arrives {
                let Trip { from, to, msg, .. } = trip;
                return self.push(after, Item::Deliver { from, to, msg });
            }
            if self.params.transport == Transport::BestEffort {
                return;
            }
            after += Duration::from_millis(self.delay.below(RESEND_MS).into());
            if self.faulty {
                return self.push(after, Item::Again(trip));
            }
        }
    }

    fn sender(&self, host: usize) -> Sender {
        Sender {
            id: id_of(host),
            life: Life(self.hosts[host].life),
            incarnation: Incarnation(0),
            addr: addr_of(host),
            leaving: false,
            unlucky: false,
            isolated: false,
            digest: 0,
            coordinate: None,
        }
    }
}

/// What nodes list at the start, themselves included.
fn lists(params: &Params, seed: u64, present: &dyn Fn(usize) -> bool) -> Vec<Vec<NodeId>> {
    let mut rng = Rng::seed(seed, stream::LOCK_LISTS);
    let list = |at: usize| {
        let others = (0..params.nodes).filter(|&of| of == at || present(of));
        let mut listed = |of: usize| match params.lists {
            Lists::Full => true,
            Lists::Share(share) => rng.chance(share) || of == at,
        };
        others.filter(|&of| listed(of)).map(id_of).collect()
    };
    (0..params.nodes).map(list).collect()
}

/// The number of a simulated node.
fn index(id: NodeId) -> usize {
    (id.0 as usize).saturating_sub(1)
}
