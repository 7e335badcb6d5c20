//! Handler tests: this input gives exactly these effects.

mod claims;
mod clearing;
mod coming;
mod extensions;
mod fast;
mod keeping;
mod place;
mod probing;
mod table;
mod turns;

use super::*;
use crate::kit::effects;
use crate::protocol::{Effect, EffectOf, Headers, Passenger, Ride, To};
use alloc::vec;

const T: Duration = Duration::from_secs(1);
const ME: NodeId = NodeId(1);

fn addr(id: u64) -> SocketAddr {
    SocketAddr::from(([10, 0, 0, id as u8], 7000))
}

fn secs(s: u64) -> Instant {
    Instant::from_micros(s * 1_000_000)
}

fn alive(id: u64, incarnation: u32) -> Record {
    Record {
        id: NodeId(id),
        precedence: Precedence::alive(Life(10), Incarnation(incarnation)),
        accuser: NodeId(id),
        addr: addr(id),
        meta: Meta::named("n").into(),
        coordinate: None,
        nap_ms: 0,
        current: true,
    }
}

fn claim(id: u64, incarnation: u32, status: Status, by: u64) -> Accusation {
    Accusation {
        id: NodeId(id),
        precedence: Precedence::alive(Life(10), Incarnation(incarnation)).with(status),
        accuser: NodeId(by),
    }
}

fn sender(id: u64, incarnation: u32) -> Sender {
    Sender {
        incarnation: Incarnation(incarnation),
        ..Sender::new(NodeId(id), Life(10), addr(id))
    }
}

/// Settings under which little happens by itself.
fn calm_config() -> Config {
    Config {
        probe_jitter_per_mille: 0,
        probe_policy: TargetPolicy::Stride,
        fast: None,
        witnesses: 0,
        sync_periods: 0,
        heal_periods: 0,
        ..Config::default()
    }
}

/// One node's membership, stepped by hand.
struct Bench {
    m: Membership,
    rng: Rng,
    now: Instant,
}

impl Bench {
    /// Node 1 in life 10 that knows nodes 2 to `n`; no fast detection, no witnesses, no comparison of lists, no jitter.
    fn new(n: u64) -> Bench {
        Bench::with(n, calm_config())
    }

    fn with(n: u64, config: Config) -> Bench {
        let mut bench = Bench {
            m: Membership::new(config, 1170, Life(10), addr(1), Meta::named("me")),
            rng: Rng::seed(1, 1),
            now: secs(0),
        };
        bench.input(Input::Start);
        bench.input(Input::Restore((2..=n).map(|id| alive(id, 0)).collect()));
        bench
    }

    fn step(
        &mut self,
        f: impl FnOnce(&mut Membership, &mut Cx<'_, Membership>),
    ) -> Vec<EffectOf<Membership>> {
        effects(&mut self.m, ME, self.now, &mut self.rng, f)
    }

    /// Confirms that the lives among `effects` are stored.
    fn store(&mut self, effects: &[EffectOf<Membership>]) {
        for effect in effects {
            if let Effect::Persist(Fact::Life(life)) = effect {
                self.step(|m, cx| m.on_life_stored(cx, *life));
            }
        }
    }

    fn input(&mut self, input: Input) -> Vec<EffectOf<Membership>> {
        self.step(|m, cx| m.on_input(cx, (), input))
    }

    fn msg(&mut self, from: Sender, msg: Msg) -> Vec<EffectOf<Membership>> {
        self.step(|m, cx| {
            m.on_sender(cx, from);
            m.on_msg(cx, (), from, msg);
        })
    }

    fn timer(&mut self, timer: Timer) -> Vec<EffectOf<Membership>> {
        self.step(|m, cx| m.on_timer(cx, (), timer))
    }

    /// Fires the tick when it is due and returns the probed target with its sequence number.
    fn tick(&mut self) -> (NodeId, u32, Vec<EffectOf<Membership>>) {
        self.now = self.m.tick_due;
        let effects = self.timer(Timer::Tick);
        let (target, seq) = effects
            .iter()
            .find_map(|e| match e {
                Effect::Send(To::Node(id), Msg::Ping { seq, .. }) => Some((*id, *seq)),
                _ => None,
            })
            .expect("a tick with members probes one");
        (target, seq, effects)
    }

    fn member(&self, id: u64) -> &Member {
        self.m.table.get(NodeId(id)).expect("known")
    }

    fn rumors(&mut self, to: Option<u64>) -> Vec<Msg> {
        let mut out = Vec::new();
        let ride = Ride {
            me: ME,
            now: self.now,
            to: to.map(NodeId),
            members: self.m.table().live(),
            bytes: 1000,
            frames: 64,
        };
        self.m.piggyback(ride, |msg| out.push(msg));
        out
    }
}

fn events(effects: &[EffectOf<Membership>]) -> Vec<Event> {
    let event = |e: &EffectOf<Membership>| match e {
        Effect::Emit(event) => Some(*event),
        _ => None,
    };
    effects.iter().filter_map(event).collect()
}
