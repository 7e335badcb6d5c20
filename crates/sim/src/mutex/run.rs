//! One lock among many nodes, event by event.

use super::actor::{Actor, Birth};
use super::params::{Bound, Lock, Params};
use super::paths::Paths;
use super::record;
use super::report::Report;
use super::trouble::{Fault, Trouble};
use crate::lists::Trace;
use crate::membership::ExperimentError;
use crate::recording::{Change, HostIs, Recording};
use crate::runs::run_seed;
use crate::stream;
use crate::world::{addr_of, id_of};
use alloc::collections::{BTreeMap, VecDeque};
use alloc::sync::Arc;
use consort_papers::mutex::PaperMutex;
use consort_proto::mutex::{self, Mutex};
use consort_proto::{Cx, EffectOf, Incarnation, Instant, Life, NodeId, Rng, Sender};
use core::time::Duration;
use rayon::prelude::*;

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
    match &params.lock {
        Lock::Paper(config) => {
            let make = |_: Instant, _: usize, life| PaperMutex::new(*config, life);
            Ok(Run::new(params, seed, recording, (), make)?.run())
        }
        Lock::Witness(witness) => {
            let make = |now: Instant, node, life| {
                // Nodes present at the start have nothing to forget.
                let config = mutex::Config {
                    bootstrap: now == Instant::ZERO,
                    ..witness.config.clone()
                };
                // Lives count from 1 here; there is no wall clock.
                Mutex::new(config, id_of(node), life, None, witness.frames_max, now)
            };
            let terms = Arc::new(witness.policy.clone());
            Ok(Run::new(params, seed, recording, terms, make)?.run())
        }
    }
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

/// A scheduled action.
pub(super) enum Item<A: Actor> {
    Arrive(usize),
    Deliver {
        from: usize,
        life: Life,
        to: usize,
        msg: A::Msg,
    },
    /// A lost message is retransmitted.
    Again(Trip<A::Msg>),
    Timer(usize, A::Timer),
    /// The application is done with its request of this number.
    Exit(usize, u64),
    /// The application has stopped the work for a lock that it lost.
    Stopped(usize, u64),
    Strike(Fault),
    /// A node notices that another has appeared or disappeared.
    Notice {
        at: usize,
        of: usize,
        there: bool,
    },
}

/// A message in flight.
pub(super) struct Trip<M> {
    pub(super) from: usize,
    /// The life in which it was sent.
    pub(super) life: Life,
    pub(super) to: usize,
    pub(super) hops: u16,
    pub(super) bytes: u64,
    pub(super) msg: M,
}

/// A request in a core.
#[derive(Clone, Copy)]
pub(super) struct Open {
    pub(super) arrived: Instant,
    pub(super) asked: Instant,
}

pub(super) struct Host<A: Actor> {
    pub(super) core: A,
    pub(super) up: bool,
    pub(super) life: u64,
    pub(super) list: Vec<NodeId>,
    /// Arrivals that wait for their turn at this node.
    pub(super) queue: VecDeque<Instant>,
    /// Requests in its core, by number.
    pub(super) open: BTreeMap<u64, Open>,
    pub(super) timers: Vec<(A::Timer, Instant)>,
}

pub(super) struct Run<'a, A: Actor, F> {
    pub(super) params: &'a Params,
    terms: A::Terms,
    pub(super) make: F,
    pub(super) paths: Paths,
    pub(super) hosts: Vec<Host<A>>,
    items: BTreeMap<(Instant, u64), Item<A>>,
    scheduled: u64,
    pub(super) now: Instant,
    pub(super) net: Rng,
    pub(super) delay: Rng,
    pub(super) faults: Rng,
    choice: Rng,
    /// Whether a message's fate may depend on events in the meantime.
    pub(super) faulty: bool,
    /// Whether lists are those of a live group, which detects changes by itself.
    pub(super) live: bool,
    pub(super) cut: Option<usize>,
    pub(super) alive: u32,
    arrivals_left: usize,
    /// Nodes inside, with their requests.
    pub(super) inside: BTreeMap<usize, u64>,
    tickets: u64,
    pub(super) last_exit: Option<Instant>,
    pub(super) token: u128,
    /// By hops: how often a source has to transmit on average.
    pub(super) sends_by_hops: Vec<f64>,
    pub(super) sums: Sums,
    pub(super) report: Report,
    effects: Vec<EffectOf<A>>,
    pub(super) recording: Option<&'a Recording>,
}

#[derive(Default)]
pub(super) struct Sums {
    pub(super) wait: Duration,
    pub(super) wait_client: Duration,
    pub(super) gap: Duration,
    pub(super) gaps: u32,
    pub(super) hops: u64,
    listed: f64,
    asked: u32,
}

impl<'a, A: Actor, F: Fn(Instant, usize, Life) -> A> Run<'a, A, F> {
    fn new(
        params: &'a Params,
        seed: u64,
        recording: Option<&'a Recording>,
        terms: A::Terms,
        make: F,
    ) -> Result<Self, ExperimentError> {
        let nodes = params.nodes;
        let absent = params.trouble.absent(nodes);
        let present = |i: usize| !absent.contains(&i);
        let faults = params.trouble.draw(nodes, params.limit, seed);
        let trace = params.record(&faults, seed)?;
        let lists = params.lists(trace.as_ref(), seed, &present);
        let host = |(i, list)| Host {
            core: make(Instant::ZERO, i, Life(1)),
            up: present(i),
            life: 1,
            list,
            queue: VecDeque::new(),
            open: BTreeMap::new(),
            timers: Vec::new(),
        };
        let alive = (0..nodes).filter(|&i| present(i)).count() as u32;
        let layout = params.layout(seed)?;
        if let Some(recording) = recording {
            recording.begin(&record::stage(&layout), seed);
        }
        let mut run = Run {
            paths: Paths::new(layout),
            hosts: lists.into_iter().enumerate().map(host).collect(),
            terms,
            make,
            items: BTreeMap::new(),
            scheduled: 0,
            now: Instant::ZERO,
            net: Rng::seed(seed, stream::LOCK_NET),
            delay: Rng::seed(seed, stream::LOCK_DELAY),
            faults: Rng::seed(seed, stream::LOCK_FAULTS + 1000),
            choice: Rng::seed(seed, stream::LOCK_CHOICE),
            faulty: params.trouble != Trouble::None || trace.is_some(),
            live: trace.is_some(),
            cut: None,
            alive,
            arrivals_left: 0,
            inside: BTreeMap::new(),
            tickets: 0,
            last_exit: None,
            token: 0,
            sends_by_hops: vec![1.0],
            sums: Sums::default(),
            report: Report::default(),
            effects: Vec::new(),
            recording,
            params,
        };
        for node in absent.clone() {
            run.record(&Change::Host(node as u32, HostIs::Crashed));
        }
        for node in (0..nodes).filter(|&i| present(i)) {
            run.begin(node);
        }
        // A process that starts has an empty list: that comes before its start.
        for (at, observer, subject, listed) in trace.iter().flat_map(Trace::changes) {
            let change = match listed {
                true => Fault::List(observer, subject),
                false => Fault::Unlist(observer, subject),
            };
            run.push(A::WARMUP + at.since(Instant::ZERO), Item::Strike(change));
        }
        for (after, fault) in faults {
            run.push(A::WARMUP + after, Item::Strike(fault));
        }
        let arrivals = params
            .workload
            .draw(nodes, run.paths.central(), params.hold, seed);
        run.arrivals_left = arrivals.len();
        for (after, node) in arrivals {
            run.push(A::WARMUP + after, Item::Arrive(node));
        }
        Ok(run)
    }

    pub(super) fn push(&mut self, after: Duration, item: Item<A>) {
        self.scheduled += 1;
        self.items.insert((self.now + after, self.scheduled), item);
    }

    /// Whether all requests that arrived are served.
    fn is_done(&self) -> bool {
        let idle = |h: &Host<A>| h.open.is_empty() && h.queue.is_empty();
        self.arrivals_left == 0 && self.inside.is_empty() && self.hosts.iter().all(idle)
    }

    fn run(mut self) -> Report {
        let end = Instant::ZERO + A::WARMUP + self.params.limit;
        while let Some(((at, _), item)) = self.items.pop_first() {
            if at > end {
                break;
            }
            self.now = at;
            let last = matches!(item, Item::Exit(..) | Item::Strike(_) | Item::Arrive(_));
            self.handle(item);
            // Messages in flight after the last exit only cause cost: wait for them, unless faults continue without
            // limit.
            if last && self.faulty && self.is_done() {
                break;
            }
        }
        self.end_recording();
        let open = |h: &Host<A>| h.queue.len() + h.open.len();
        let running = self.hosts.iter().filter(|h| h.up);
        let mut report = self.report;
        for host in &self.hosts {
            let [lapses, fresh_rounds, claims] = host.core.counts();
            report.lapses += lapses;
            report.fresh_rounds += fresh_rounds;
            report.claims += claims;
        }
        report.blocked = running.map(open).sum::<usize>() as u64 - self.inside.len() as u64;
        let entries = report.entries as f64;
        report.wait = self.sums.wait.as_secs_f64() / entries;
        report.wait_client = self.sums.wait_client.as_secs_f64() / entries;
        report.listed = self.sums.listed / f64::from(self.sums.asked);
        report.gap = self.sums.gap.as_secs_f64() / f64::from(self.sums.gaps);
        let hops = self.sums.hops as f64 / report.messages as f64;
        report.round_trip = hops * f64::from(self.params.hop_delay_ms - 1) / 1000.0;
        report
    }

    fn handle(&mut self, item: Item<A>) {
        match item {
            Item::Arrive(node) => {
                if self.report.requests == 0 {
                    self.report = Report::default();
                    self.sums = Sums::default();
                }
                self.arrivals_left -= 1;
                if self.hosts[node].up {
                    self.report.requests += 1;
                    self.hosts[node].queue.push_back(self.now);
                    self.record_claim(node);
                    self.serve(node);
                }
            }
            Item::Deliver {
                from,
                life,
                to,
                msg,
            } => {
                if self.hosts[to].up {
                    let from = sender(id_of(from), life);
                    self.step(to, |a, cx, view| a.on_msg(cx, view, from, msg));
                }
            }
            Item::Again(trip) => {
                let host = &self.hosts[trip.from];
                if host.up && Life(host.life) == trip.life {
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
            Item::Exit(node, ticket) => {
                if self.inside.get(&node) == Some(&ticket) {
                    self.inside.remove(&node);
                    self.last_exit = Some(self.now);
                    self.hosts[node].open.remove(&ticket);
                    self.record_claim(node);
                    self.step(node, |a, cx, view| a.release(cx, view, ticket));
                    self.serve(node);
                }
            }
            Item::Stopped(node, ticket) => {
                if self.hosts[node].up {
                    self.step(node, |a, cx, view| a.release(cx, view, ticket));
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

    /// Passes the next request of a node to its lock, or all if the lock itself queues them.
    fn serve(&mut self, node: usize) {
        while A::QUEUES || self.hosts[node].open.is_empty() {
            let Some(arrived) = self.hosts[node].queue.pop_front() else {
                return;
            };
            self.tickets += 1;
            let (ticket, asked) = (self.tickets, self.now);
            let up = |id: &&NodeId| self.hosts[index(**id)].up;
            let listed = self.hosts[node].list.iter().filter(up).count();
            self.sums.listed += listed as f64 / f64::from(self.alive);
            self.sums.asked += 1;
            self.hosts[node]
                .open
                .insert(ticket, Open { arrived, asked });
            let terms = self.terms.clone();
            self.step(node, |a, cx, view| a.acquire(cx, view, &terms, ticket));
        }
    }

    /// A process starts at a node.
    pub(super) fn begin(&mut self, node: usize) {
        let list = self.hosts[node].list.iter().map(|&id| (id, index(id)));
        let others = list.filter(|&(_, i)| i != node);
        let members: Vec<(NodeId, Life)> = others
            .map(|(id, i)| (id, Life(self.hosts[i].life)))
            .collect();
        let place = self.paths.place(node);
        let members = &members[..];
        self.step(node, |a, cx, view| {
            a.start(cx, view, Birth { members, place })
        });
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
}

/// The sender data of a node.
pub(crate) fn sender(id: NodeId, life: Life) -> Sender {
    Sender {
        id,
        life,
        incarnation: Incarnation(0),
        addr: addr_of(index(id)),
        leaving: false,
        unlucky: false,
        isolated: false,
        digest: 0,
        coordinate: None,
    }
}

/// The number of a simulated node.
pub(super) fn index(id: NodeId) -> usize {
    (id.0 as usize).saturating_sub(1)
}
