//! The papers' locks in the same storms: at the same positions as the nodes whose locks are watched, under the same
//! faults and with the member lists of the same nodes. They affect nothing, so the storm is the same with and
//! without them; overlaps are counted, not judged.

use super::Tally;
use crate::engine::Engine;
use crate::fault::Fault;
use crate::mutex::sender;
use crate::net::{Conditions, Net};
use crate::oracle::{Panel, Violation};
use crate::stream;
use crate::world::{HostState, World, id_of};
use alloc::collections::{BTreeMap, BTreeSet};
use consort_papers::mutex::{Config, Event, Input, Mode, Msg, PaperMutex, State, Timer, View};
use consort_proto::kit::effects;
use consort_proto::membership::Phase;
use consort_proto::{Cx, Effect, EffectOf, Instant, Life, NodeId, Protocol, Rng, To};
use core::time::Duration;

/// A lost message is retransmitted within this time, for locks that rely on it (B8).
const RESEND_MS: u64 = 500;
/// Interval at which a paused process is checked.
const PAUSED: Duration = Duration::from_millis(50);
/// Probabilities of requesting the lock, and of releasing it, at each step.
const ASKS: f64 = 0.1;
const LEAVES: f64 = 0.5;

/// An action due at a host, for the process that ran when it was scheduled.
enum Item {
    Deliver {
        to: usize,
        from: (usize, Life),
        msg: Msg,
    },
    /// A lost message is retransmitted.
    Again {
        to: usize,
        from: (usize, Life),
        msg: Msg,
    },
    Timer(usize, Life),
}

/// What all locks know about a host.
#[derive(Clone, Default)]
struct Seat {
    born: Life,
    list: Vec<NodeId>,
    /// Grants of the watched lock in this life.
    grants: u64,
}

/// One of the papers' locks at all hosts.
struct Lane {
    config: Config,
    cores: Vec<PaperMutex>,
    retry_at: Vec<Option<Instant>>,
    net: Net,
    rng: Rng,
    inside: BTreeSet<usize>,
    token: (u64, NodeId),
    tally: Tally,
}

/// All of the papers' locks.
pub(super) struct Baselines {
    lanes: Vec<Lane>,
    seats: Vec<Seat>,
    queue: BTreeMap<(Instant, u64), (usize, Item)>,
    scheduled: u64,
    /// Random stream of entries and exits, the same for all locks.
    wishes: Rng,
    ours: Tally,
}

impl Baselines {
    pub(super) fn new(world: &World) -> Baselines {
        let (nodes, seed) = (world.hosts().len(), world.seed());
        let lane = |mode: Mode| Lane {
            config: Config::new(mode),
            cores: Vec::new(),
            retry_at: vec![None; nodes],
            net: Net::new(
                world.net().layout().clone(),
                Conditions::default(),
                seed.wrapping_add(1),
            ),
            rng: Rng::seed(seed, stream::BASELINES),
            inside: BTreeSet::new(),
            token: (0, NodeId(0)),
            tally: Tally::of(mode.name()),
        };
        let mut lanes: Vec<Lane> = Mode::ALL.into_iter().map(lane).collect();
        for lane in &mut lanes {
            let core = PaperMutex::new(lane.config, Life(0));
            lane.cores = vec![core; nodes];
        }
        Baselines {
            lanes,
            seats: vec![Seat::default(); nodes],
            queue: BTreeMap::new(),
            scheduled: 0,
            wishes: Rng::seed(seed, stream::BASELINES + 1000),
            ours: Tally::of("witness"),
        }
    }

    /// The counts, the watched lock last.
    pub(super) fn tallies(&self) -> Vec<Tally> {
        let lanes = self.lanes.iter().map(|lane| lane.tally.clone());
        lanes.chain([self.ours.clone()]).collect()
    }

    /// Applies a fault to the network of all of them.
    pub(super) fn strike(&mut self, fault: &Fault) {
        for lane in &mut self.lanes {
            fault.strike_net(&mut lane.net);
        }
    }

    /// Runs the world for a while, together with the actions due here.
    pub(super) fn run_for(
        &mut self,
        engine: &mut Engine<Panel>,
        span: Duration,
    ) -> Result<(), Violation> {
        let end = engine.world().now() + span;
        self.observe(engine.world());
        while let Some(entry) = self.queue.first_entry().filter(|e| e.key().0 <= end) {
            let ((at, _), (lane, item)) = entry.remove_entry();
            engine.run_until(at)?;
            self.observe(engine.world());
            self.handle(engine.world(), lane, item);
        }
        engine.run_until(end)?;
        self.observe(engine.world());
        self.act(engine.world());
        Ok(())
    }

    /// Updates the state of hosts and of their lists.
    fn observe(&mut self, world: &World) {
        for host in 0..self.seats.len() {
            let state = world.host(host).state();
            if !matches!(state, HostState::Up | HostState::Paused) {
                self.lanes.iter_mut().for_each(|lane| {
                    lane.inside.remove(&host);
                });
                continue;
            }
            let (born, seat) = (world.host(host).born(), &mut self.seats[host]);
            if seat.born != born {
                *seat = Seat {
                    born,
                    ..Seat::default()
                };
                for lane in &mut self.lanes {
                    lane.cores[host] = PaperMutex::new(lane.config, born);
                    lane.inside.remove(&host);
                    lane.retry_at[host] = None;
                }
            }
            let stats = world.host(host).node().mutex().stats();
            let grants = stats.grants + stats.hand_overs;
            self.ours.entries += grants - core::mem::replace(&mut seat.grants, grants);
            if state == HostState::Up {
                self.follow(world, host);
            }
        }
    }

    /// Tells the locks of a host how its list has changed.
    fn follow(&mut self, world: &World, host: usize) {
        let table = world.host(host).node().membership().table();
        let listed = table.iter().filter(|m| m.phase != Phase::Down);
        let list: Vec<NodeId> = listed.map(|m| m.id).collect();
        if list == self.seats[host].list {
            return;
        }
        let old = core::mem::replace(&mut self.seats[host].list, list.clone());
        let lost = old.iter().filter(|id| !list.contains(id));
        let gained = list.iter().filter(|id| !old.contains(id));
        let lost = lost.map(|id| Input::MemberRemoved(*id));
        let inputs: Vec<Input> = lost
            .chain(gained.map(|id| Input::MemberAdded(*id)))
            .collect();
        for lane in 0..self.lanes.len() {
            for &input in &inputs {
                self.step(world, lane, host, |m, cx, view| m.on_input(cx, view, input));
            }
        }
    }

    /// Hosts enter and leave.
    fn act(&mut self, world: &World) {
        let up: Vec<usize> = world.up().collect();
        for host in up {
            let (asks, leaves) = (self.wishes.chance(ASKS), self.wishes.chance(LEAVES));
            for lane in 0..self.lanes.len() {
                let input = match self.lanes[lane].cores[host].state() {
                    State::Idle if asks => Input::Enter,
                    State::Held if leaves => Input::Exit,
                    _ => continue,
                };
                if input == Input::Exit {
                    self.lanes[lane].inside.remove(&host);
                }
                self.step(world, lane, host, |m, cx, view| m.on_input(cx, view, input));
            }
        }
    }

    fn push(&mut self, at: Instant, lane: usize, item: Item) {
        self.scheduled += 1;
        self.queue.insert((at, self.scheduled), (lane, item));
    }

    fn handle(&mut self, world: &World, lane: usize, item: Item) {
        let (host, of) = match &item {
            Item::Deliver { to, .. } => (*to, self.seats[*to].born),
            Item::Again { from, .. } => *from,
            Item::Timer(host, born) => (*host, *born),
        };
        let state = world.host(host).state();
        if state == HostState::Paused {
            return self.push(world.now() + PAUSED, lane, item);
        }
        if state != HostState::Up || self.seats[host].born != of {
            return;
        }
        match item {
            Item::Deliver { to, from, msg } => {
                let from = sender(id_of(from.0), from.1);
                self.step(world, lane, to, |m, cx, view| m.on_msg(cx, view, from, msg));
            }
            Item::Again { to, from, msg } => self.send(world.now(), lane, from, to, msg),
            Item::Timer(host, _) => {
                let due = self.lanes[lane].retry_at[host].take_if(|at| *at <= world.now());
                if due.is_some() {
                    self.step(world, lane, host, |m, cx, view| {
                        m.on_timer(cx, view, Timer::Retry);
                    });
                }
            }
        }
    }

    /// Runs one handler and carries out its effects.
    fn step(
        &mut self,
        world: &World,
        lane: usize,
        host: usize,
        handler: impl FnOnce(&mut PaperMutex, &mut Cx<'_, PaperMutex>, View<'_>),
    ) {
        let at = &mut self.lanes[lane];
        let view = View {
            list: &self.seats[host].list,
            n_upper: self.seats.len() as u32,
        };
        let (core, me) = (&mut at.cores[host], id_of(host));
        let run = |core: &mut PaperMutex, cx: &mut Cx<'_, PaperMutex>| handler(core, cx, view);
        for effect in effects(core, me, world.now(), &mut at.rng, run) {
            self.carry_out(world, lane, host, effect);
        }
    }

    fn carry_out(&mut self, world: &World, lane: usize, host: usize, effect: EffectOf<PaperMutex>) {
        let born = self.seats[host].born;
        match effect {
            Effect::Send(To::Node(id), msg) => {
                if let Some(to) = world.index_of(id) {
                    self.send(world.now(), lane, (host, born), to, msg);
                }
            }
            Effect::SetTimer(Timer::Retry, due) => {
                self.lanes[lane].retry_at[host] = Some(due);
                self.push(due, lane, Item::Timer(host, born));
            }
            Effect::CancelTimer(Timer::Retry) => self.lanes[lane].retry_at[host] = None,
            Effect::Emit(Event::Entered(req)) => {
                let lane = &mut self.lanes[lane];
                lane.tally.entries += 1;
                lane.tally.overlaps += u64::from(!lane.inside.is_empty());
                lane.tally.regressions += u64::from((req.seq, req.id) <= lane.token);
                lane.token = lane.token.max((req.seq, req.id));
                lane.inside.insert(host);
            }
            Effect::Emit(_) | Effect::Send(..) | Effect::Persist(_) => {}
        }
    }

    fn send(&mut self, now: Instant, lane: usize, from: (usize, Life), to: usize, msg: Msg) {
        let at = &mut self.lanes[lane];
        let fate = at.net.send(from.0, to, msg.encoded_len());
        let item = |msg| Item::Deliver { to, from, msg };
        match fate.first {
            Some(us) => {
                let copy = fate.copy.map(|us| (us, msg.clone()));
                self.push(now + Duration::from_micros(us), lane, item(msg));
                if let Some((us, msg)) = copy {
                    self.push(now + Duration::from_micros(us), lane, item(msg));
                }
            }
            None if at.config.retry.is_none() => {
                let after = Duration::from_millis(at.rng.below64(RESEND_MS));
                self.push(now + after, lane, Item::Again { to, from, msg });
            }
            None => {}
        }
    }
}
