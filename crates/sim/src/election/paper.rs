//! Elections that run concurrently over one group.
//!
//! A separate queue orders the elections' events; before each of them the group is advanced to that time. All
//! elections of a run draw from streams with the same seeds: they ask the same nodes first.

use super::group::{group, index};
use super::params::{Loss, Params};
use super::record;
use super::views::{Player, Views};
use crate::lists::Trace;
use crate::membership::ExperimentError;
use crate::net::survive;
use crate::recording::Recording;
use crate::routes::Routes;
use crate::runs::run_seed;
use crate::stream;
use crate::topology::{Layout, Topology};
use crate::units::{at_tu, in_tu};
use crate::world::{addr_of, id_of};
use alloc::collections::BTreeMap;
use consort_papers::election::{Config, Event, Input, Listed, Msg, PaperElection, Timer, View};
use consort_proto::{Cx, Effect, EffectOf, Incarnation, Instant, Life, Protocol, Rng, Sender, To};
use core::time::Duration;
use rayon::prelude::*;

/// Result of one election.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Outcome {
    /// Time from the start until the last node follows the final leader; `None` if nodes disagree at the end.
    pub completion: Option<f64>,
    /// Whether the initiator heard from the leader it chose.
    pub confirmed: bool,
    /// Hash rank of the node that all follow at the end.
    pub leader: Option<usize>,
    /// How many nodes were less healthy than it at the start, by the sum of all counts; equals count half.
    pub health_rank: Option<f64>,
    /// How often a different node than before announced that it leads.
    pub changes: u32,
    /// How often the initiator started again.
    pub restarts: u32,
    /// Messages between two nodes, lost ones included.
    pub unicasts: u64,
    /// How often a leader announced itself to all nodes.
    pub multicasts: u64,
    /// Bytes times hops; a multicast is one routed copy per node.
    pub byte_hops: u64,
    /// The same when the first copies of a multicast travel along a tree.
    pub byte_hops_tree: u64,
}

/// Result of one run.
#[derive(Clone, Debug, PartialEq)]
pub struct Report {
    /// The initiator.
    pub initiator: usize,
    /// One for each lane of the parameters.
    pub outcomes: Vec<Outcome>,
    /// Share of the nodes whose own list does not begin with the lowest hash: they would be wrong without any
    /// message.
    pub local_wrong: f64,
}

/// Elections over a live group.
pub fn run(params: &Params, seed: u64) -> Result<Report, ExperimentError> {
    run_live(params, seed, &[])
}

fn run_live(
    params: &Params,
    seed: u64,
    recordings: &[Recording],
) -> Result<Report, ExperimentError> {
    params.check()?;
    let mut engine = group(params, seed)?;
    let start = at_tu(params.warmup);
    engine.run_until(start)?;
    let layout = engine.world().net().layout().clone();
    let engine = Box::new(engine);
    let views = Views::Live { engine, start };
    Race::new(params, layout, seed, recordings).run(views)
}

/// Elections over recorded views. The trace determines the nodes, and their positions if it has them; the first run
/// starts at its beginning, the others somewhere in its first half.
pub fn run_on_trace(
    params: &Params,
    trace: &Trace,
    seed: u64,
    run: u64,
) -> Result<Report, ExperimentError> {
    play(params, trace, seed, run, &[])
}

fn play(
    params: &Params,
    trace: &Trace,
    seed: u64,
    run: u64,
    recordings: &[Recording],
) -> Result<Report, ExperimentError> {
    let mut params = Params {
        nodes: trace.nodes(),
        ..params.clone()
    };
    let range = params.membership().range();
    if !trace.points.is_empty() {
        params.topology = Topology::Positions(trace.points.clone());
    }
    params.check()?;
    let layout = match trace.points.is_empty() {
        true => params.layout(seed)?,
        false => Layout::new(trace.points.clone(), range),
    };
    let half = trace.span().as_micros() / 2;
    let start = match run {
        0 => 0,
        _ => Rng::seed(seed, stream::ELECTION + 2000).below64(half),
    };
    let player = Player::new(trace, Instant::from_micros(start));
    Race::new(&params, layout, seed, recordings).run(Views::Trace(player))
}

/// `runs` runs with derived seeds, in parallel. The result does not depend on the number of threads.
pub fn run_many(
    params: &Params,
    trace: Option<&Trace>,
    seed: u64,
    runs: usize,
) -> Result<Vec<Report>, ExperimentError> {
    run_many_recorded(params, trace, seed, runs, &[])
}

/// The same, with recordings of the first run: the first of the first election, and so on.
pub fn run_many_recorded(
    params: &Params,
    trace: Option<&Trace>,
    seed: u64,
    runs: usize,
    recordings: &[Recording],
) -> Result<Vec<Report>, ExperimentError> {
    let one = |n: u64| {
        let recordings = if n == 0 { recordings } else { &[] };
        let seed = run_seed(seed, n);
        match trace {
            None => run_live(params, seed, recordings),
            Some(trace) => play(params, trace, seed, n, recordings),
        }
    };
    (0..runs as u64).into_par_iter().map(one).collect()
}

/// An action due in a lane.
enum Item {
    Deliver {
        from: usize,
        to: usize,
        msg: Msg,
        /// The multicast that it is a copy of.
        copy: Option<usize>,
    },
    Timer(usize, Timer),
    /// Checks whether a node has received its copy.
    Check {
        multicast: usize,
        to: usize,
    },
}

struct Multicast {
    from: usize,
    msg: Msg,
    got: Vec<bool>,
}

/// One election.
pub(super) struct Lane {
    pub(super) nodes: Vec<PaperElection>,
    timeout: Duration,
    choice: Rng,
    net: Rng,
    timers: BTreeMap<(usize, Timer), Instant>,
    multicasts: Vec<Multicast>,
    /// By node: when it last started to follow another leader.
    followed: Vec<Option<Instant>>,
    outcome: Outcome,
}

impl Lane {
    fn new(config: Config, nodes: usize, seed: u64) -> Lane {
        Lane {
            nodes: (0..nodes).map(|_| PaperElection::new(config)).collect(),
            timeout: config.timeout,
            choice: Rng::seed(seed, stream::ELECTION_CHOICE),
            net: Rng::seed(seed, stream::ELECTION_NET),
            timers: BTreeMap::new(),
            multicasts: Vec::new(),
            followed: vec![None; nodes],
            outcome: Outcome::default(),
        }
    }
}

/// All elections of a run.
pub(super) struct Race<'a> {
    pub(super) params: &'a Params,
    routes: Routes,
    frailty: Vec<f64>,
    pub(super) initiator: usize,
    pub(super) lanes: Vec<Lane>,
    /// By time and order of scheduling.
    queue: BTreeMap<(Instant, u64), (usize, Item)>,
    scheduled: u64,
    pub(super) now: Instant,
    pub(super) listed: Vec<Listed>,
    effects: Vec<EffectOf<PaperElection>>,
    /// By lane.
    pub(super) recordings: &'a [Recording],
}

impl<'a> Race<'a> {
    fn new(params: &'a Params, layout: Layout, seed: u64, recordings: &'a [Recording]) -> Race<'a> {
        let nodes = params.nodes;
        for recording in recordings {
            recording.begin(&record::stage(&layout), seed);
        }
        let lanes = params.lanes.iter();
        Race {
            params,
            routes: Routes::new(layout),
            frailty: params.frailty(),
            initiator: Rng::seed(seed, stream::ELECTION).below(nodes as u32) as usize,
            lanes: lanes.map(|&c| Lane::new(c, nodes, seed)).collect(),
            queue: BTreeMap::new(),
            scheduled: 0,
            now: Instant::ZERO,
            listed: Vec::new(),
            effects: Vec::new(),
            recordings,
        }
    }

    fn run(mut self, mut views: Views<'_>) -> Result<Report, ExperimentError> {
        let nodes = self.params.nodes;
        let unhealth = views.unhealth(nodes);
        let mut wrong = 0;
        for observer in 0..nodes {
            views.list(observer, &mut self.listed);
            wrong += u32::from(View(&self.listed).lowest() != Some(id_of(0)));
        }
        let initiator = self.initiator;
        self.record_views(&views);
        for lane in 0..self.lanes.len() {
            self.record_note(lane, || format!("node {initiator} starts the election"));
            self.step(&views, lane, initiator, |e, cx, view| {
                e.on_input(cx, view, Input::Start);
            });
        }
        let end = at_tu(self.params.limit);
        while let Some(((at, _), (lane, item))) = self.queue.pop_first() {
            if at > end {
                break;
            }
            self.now = at;
            self.handle(&mut views, lane, item)?;
        }
        let finish = |lane: &Lane| finish(lane, initiator, &unhealth);
        let outcomes: Vec<Outcome> = self.lanes.iter().map(finish).collect();
        self.end_recordings(&outcomes);
        Ok(Report {
            initiator,
            outcomes,
            local_wrong: f64::from(wrong) / nodes as f64,
        })
    }

    fn push(&mut self, after: Duration, lane: usize, item: Item) {
        self.scheduled += 1;
        let key = (self.now + after, self.scheduled);
        self.queue.insert(key, (lane, item));
    }

    fn handle(
        &mut self,
        views: &mut Views<'_>,
        lane: usize,
        item: Item,
    ) -> Result<(), ExperimentError> {
        match item {
            Item::Timer(node, timer) => {
                let due = self.lanes[lane].timers.get(&(node, timer));
                if due == Some(&self.now) {
                    self.lanes[lane].timers.remove(&(node, timer));
                    views.advance(self.now)?;
                    self.step(views, lane, node, |e, cx, view| e.on_timer(cx, view, timer));
                }
            }
            Item::Deliver {
                from,
                to,
                msg,
                copy,
            } => {
                if let Some(multicast) = copy {
                    self.lanes[lane].multicasts[multicast].got[to] = true;
                }
                views.advance(self.now)?;
                let from = sender(from);
                self.step(views, lane, to, |e, cx, view| e.on_msg(cx, view, from, msg));
            }
            Item::Check { multicast, to } => {
                let m = &self.lanes[lane].multicasts[multicast];
                if !m.got[to] {
                    let (from, msg) = (m.from, m.msg.clone());
                    self.send(lane, from, to, msg, Some(multicast), true);
                }
            }
        }
        Ok(())
    }

    /// Runs one handler and carries out its effects.
    fn step(
        &mut self,
        views: &Views<'_>,
        lane: usize,
        node: usize,
        handler: impl FnOnce(&mut PaperElection, &mut Cx<'_, PaperElection>, View<'_>),
    ) {
        views.list(node, &mut self.listed);
        self.record_list(lane, node);
        let mut effects = core::mem::take(&mut self.effects);
        let at = &mut self.lanes[lane];
        let mut cx = Cx {
            me: id_of(node),
            now: self.now,
            rng: &mut at.choice,
            effects: &mut effects,
        };
        handler(&mut at.nodes[node], &mut cx, View(&self.listed));
        for effect in effects.drain(..) {
            self.carry_out(lane, node, effect);
        }
        self.effects = effects;
        self.record_leader(lane, node);
    }

    fn carry_out(&mut self, lane: usize, node: usize, effect: EffectOf<PaperElection>) {
        let now = self.now;
        let at = &mut self.lanes[lane];
        match effect {
            Effect::Send(To::Node(id), msg) => {
                at.outcome.unicasts += 1;
                self.send(lane, node, index(id), msg, None, true);
            }
            Effect::SetTimer(timer, due) => {
                at.timers.insert((node, timer), due);
                self.push(due.since(now), lane, Item::Timer(node, timer));
            }
            Effect::CancelTimer(timer) => {
                at.timers.remove(&(node, timer));
            }
            Effect::Emit(Event::Multicast(msg)) => self.multicast(lane, node, msg),
            Effect::Emit(Event::Leader(_)) => at.followed[node] = Some(now),
            Effect::Emit(Event::Restarted(why)) => {
                at.outcome.restarts += 1;
                self.record_restart(lane, node, why);
            }
            Effect::Emit(Event::Confirmed(_)) => {
                at.outcome.confirmed = true;
                self.record_note(lane, || {
                    format!("node {node} hears from the leader it chose")
                });
            }
            Effect::Emit(Event::Notified(_) | Event::GaveUp)
            | Effect::Send(..)
            | Effect::Persist(_) => {}
        }
    }

    fn multicast(&mut self, lane: usize, from: usize, msg: Msg) {
        let nodes = self.params.nodes;
        let at = &mut self.lanes[lane];
        let last = at.multicasts.last().map(|m| m.from);
        let other = last != Some(from);
        at.outcome.changes += u32::from(other);
        at.outcome.multicasts += 1;
        // A tree that reaches all nodes has one link less than nodes.
        at.outcome.byte_hops_tree += msg.encoded_len() as u64 * (nodes as u64 - 1);
        let number = at.multicasts.len();
        at.multicasts.push(Multicast {
            from,
            msg: msg.clone(),
            got: vec![false; nodes],
        });
        if other {
            self.record_note(lane, || format!("node {from} tells all that it leads"));
        }
        for to in (0..nodes).filter(|&to| to != from) {
            self.send(lane, from, to, msg.clone(), Some(number), false);
        }
    }

    /// Sends a message. `on_tree`: a tree would also carry it along its route.
    fn send(
        &mut self,
        lane: usize,
        from: usize,
        to: usize,
        msg: Msg,
        copy: Option<usize>,
        on_tree: bool,
    ) {
        let at = &mut self.lanes[lane];
        if let Some(multicast) = copy {
            let after = at.timeout;
            self.push(after, lane, Item::Check { multicast, to });
        }
        let at = &mut self.lanes[lane];
        let Some(hops) = self.routes.hops(from, to) else {
            return;
        };
        let loss = self.params.drop * self.frailty[from].max(self.frailty[to]);
        let draw = at.net.unit();
        let (travelled, arrived) = match self.params.loss {
            Loss::Message => (hops, draw >= loss),
            Loss::Hop => survive(hops, loss, draw),
        };
        let cost = msg.encoded_len() as u64 * u64::from(travelled);
        at.outcome.byte_hops += cost;
        at.outcome.byte_hops_tree += if on_tree { cost } else { 0 };
        let most = self.params.hop_delay_us();
        let delay: u64 = (0..hops).map(|_| 1 + at.net.below64(most)).sum();
        if arrived {
            let item = Item::Deliver {
                from,
                to,
                msg,
                copy,
            };
            self.push(Duration::from_micros(delay), lane, item);
        }
        self.record_datagram(lane, from, to, arrived.then_some(delay));
    }
}

/// Determines the result of a lane at its end.
fn finish(lane: &Lane, initiator: usize, unhealth: &[u64]) -> Outcome {
    let mut outcome = lane.outcome.clone();
    let leader = lane.nodes[initiator].leader();
    let agreed = lane.nodes.iter().all(|e| e.leader() == leader);
    let Some(leader) = leader.filter(|_| agreed) else {
        return outcome;
    };
    let leader = index(leader);
    let count = |f: &dyn Fn(u64) -> bool| unhealth.iter().filter(|&&u| f(u)).count();
    let worse = count(&|u| u > unhealth[leader]);
    let equal = count(&|u| u == unhealth[leader]) - 1;
    let last = lane.followed.iter().flatten().max();
    outcome.completion = last.map(|at| in_tu(at.since(Instant::ZERO)));
    outcome.leader = Some(leader);
    outcome.health_rank = Some(worse as f64 + equal as f64 / 2.0);
    outcome
}

fn sender(host: usize) -> Sender {
    Sender {
        id: id_of(host),
        life: Life(1),
        incarnation: Incarnation(0),
        addr: addr_of(host),
        leaving: false,
        unlucky: false,
        isolated: false,
        digest: 0,
        coordinate: None,
    }
}
