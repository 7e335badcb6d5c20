//! Product nodes with real membership that elect a leader: how long leaders stay, and how soon they are replaced.

use crate::sample::Values;
use consort_proto::election::{Claim, Policy};
use consort_proto::membership::{
    self, Accusation, Departure, Phase, Precedence, Status, SuspicionTimeout,
};
use consort_proto::wire::{Datagram, Frame, Header};
use consort_proto::{Config, ElectionId, Event};
use consort_sim::chaos::{ChaosParams, chaos};
use consort_sim::oracle::{Claims, Leadership, Oracle, agreed};
use consort_sim::topology::{Layout, Topology};
use consort_sim::{Conditions, Engine, Fault, Start, Trace, Violation, World, WorldConfig};
use core::time::Duration;

pub(super) const ELECTION: ElectionId = ElectionId::of("gateway");
/// A group has formed and elected after this.
const FORMED: Duration = Duration::from_secs(60);

/// Counts suspicions of the leader, and changes of leader.
#[derive(Default)]
pub(super) struct Watch {
    claims: Claims,
    leadership: Leadership,
    /// The greatest claim that any node holds.
    pub(super) greatest: Option<Claim>,
    /// How often the claim came to name another leader.
    pub(super) changes: u32,
    /// How often a node suspected the leader.
    pub(super) suspicions: u32,
    /// How often a node considered the leader gone.
    pub(super) verdicts: u32,
    /// How often a node suspected any member.
    pub(super) suspicions_all: u32,
}

impl Watch {
    fn forget(&mut self) {
        (self.changes, self.suspicions, self.verdicts) = (0, 0, 0);
        self.suspicions_all = 0;
    }
}

impl Oracle for Watch {
    fn on_event(&mut self, world: &World, host: usize, event: &Event) -> Result<(), Violation> {
        let leader = self.greatest.map(|c| c.leader);
        match event {
            Event::Membership(membership::Event::Suspected { id, .. }) => {
                self.suspicions_all += 1;
                self.suspicions += u32::from(Some(*id) == leader);
            }
            Event::Membership(membership::Event::Down { id, why, .. }) => {
                let failed = *why == Departure::Failed && Some(*id) == leader;
                self.verdicts += u32::from(failed);
            }
            _ => {}
        }
        self.claims.on_event(world, host, event)
    }

    fn after_step(&mut self, world: &World, host: usize) -> Result<(), Violation> {
        let held = world.host(host).node().election().claim(ELECTION);
        if let Some(&held) = held
            && self.greatest.is_none_or(|g| held.key > g.key)
        {
            let other = |g: Claim| (g.leader, g.leader_life) != (held.leader, held.leader_life);
            self.changes += u32::from(self.greatest.is_some_and(other));
            self.greatest = Some(held);
        }
        self.claims.after_step(world, host)?;
        self.leadership.after_step(world, host)
    }
}

/// A group in which all nodes campaign, some time after its start.
pub(super) fn group(nodes: usize, seed: u64, node: Config) -> Result<Engine<Watch>, Violation> {
    let layout = Layout::draw(&Topology::Full, nodes, 10.0, 30.0, seed);
    let config = WorldConfig {
        node,
        layout: layout.expect("everybody reaches everybody"),
        conditions: Conditions::default(),
        seed,
        start: Start::Cold { seeds: 2 },
        sample_every: None,
        trace: Trace::default(),
    };
    let mut engine = Engine::new(config, Watch::default()).expect("the settings work");
    engine.open_election(ELECTION, Policy::default())?;
    engine.run_for(FORMED)?;
    Ok(engine)
}

/// 400 periods of false alarms among 12 nodes, at `args[0]` loss. The detector is the default one, or declares
/// suspects down after `args[1]` periods, at all nodes at once.
pub(super) fn false_alarms(args: &[f64], seed: u64) -> Values {
    let run = || -> Result<Values, Violation> {
        let mut config = Config::default();
        if args[1] > 0.0 {
            let m = &mut config.membership;
            m.suspicion_timeout = SuspicionTimeout::Fixed(m.probe_period.mul_f64(args[1]));
            m.confirm_grace_periods = 0;
            m.fast = None;
        }
        let mut engine = group(12, seed, config)?;
        engine.oracle_mut().forget();
        let lossy = Conditions {
            loss_per_message: args[0],
            ..Conditions::default()
        };
        engine.strike(Fault::Conditions(lossy))?;
        engine.run_for(engine.world().node_config().membership.probe_period * 400)?;
        let watch = engine.oracle();
        let values = Values::from([
            ("changes".into(), f64::from(watch.changes)),
            ("suspicions".into(), f64::from(watch.suspicions)),
            ("suspicions-all".into(), f64::from(watch.suspicions_all)),
            ("verdicts".into(), f64::from(watch.verdicts)),
        ]);
        engine.strike(Fault::Conditions(Conditions::default()))?;
        engine.run_for(FORMED)?;
        let disagree = f64::from(u8::from(agreed(engine.world(), ELECTION).is_err()));
        Ok(values
            .into_iter()
            .chain([("disagree".into(), disagree)])
            .collect())
    };
    run().unwrap_or_else(|_| Values::from([("disagree".into(), 1.0)]))
}

/// A storm of faults over a group that runs elections: whether it agrees afterwards.
pub(super) fn storm(_: &[f64], seed: u64) -> Values {
    match chaos(seed, &ChaosParams::elections()) {
        Ok(report) => Values::from([
            ("disagree".into(), 0.0),
            ("faults".into(), report.faults as f64),
            ("settled".into(), report.converged_after.as_secs_f64()),
        ]),
        Err(_) => Values::from([("disagree".into(), 1.0)]),
    }
}

/// How long a failover takes from the leader's crash until all nodes hold the next claim. If `args[0]` is not 0 all
/// nodes are told of the crash at once; otherwise it precedes the failure detector's verdict.
pub(super) fn failover(args: &[f64], seed: u64) -> Values {
    run_failover(args[0] > 0.0, seed)
        .ok()
        .flatten()
        .unwrap_or_else(|| Values::from([("failed".into(), 1.0)]))
}

fn run_failover(clean: bool, seed: u64) -> Result<Option<Values>, Violation> {
    const STEP: Duration = Duration::from_millis(10);
    const LIMIT: u32 = 12_000;
    let mut config = Config::default();
    if clean {
        // A report to all nodes counts at once.
        config.membership.confirm_grace_periods = 0;
    }
    let mut engine = group(24, seed, config)?;
    let Ok(old) = agreed(engine.world(), ELECTION) else {
        return Ok(None);
    };
    let Some(dead) = engine.world().index_of(old.leader) else {
        return Ok(None);
    };
    engine.strike(Fault::Crash(dead))?;
    let crashed_at = engine.world().now();
    if clean {
        let hosts: Vec<usize> = engine.world().up().collect();
        for (n, &to) in hosts.iter().enumerate() {
            let from = hosts[(n + 1) % hosts.len()];
            let verdict = verdict(engine.world(), from, old);
            engine.inject(from, to, verdict)?;
        }
    }
    let (mut begun_at, mut listed) = (None, None);
    for _ in 0..LIMIT {
        engine.run_for(STEP)?;
        let world = engine.world();
        let now = world.now();
        let lists = |&host: &usize| {
            let table = world.host(host).node().membership().table();
            table
                .get(old.leader)
                .is_some_and(|m| m.phase != Phase::Down)
        };
        let hosts: Vec<usize> = world.up().collect();
        let share = hosts.iter().filter(|&h| lists(h)).count() as f64 / hosts.len() as f64;
        let holds = |host: &usize| {
            let claim = world.host(*host).node().election().claim(ELECTION);
            claim.is_some_and(|c| c.key > old.key)
        };
        let elects = |host: &usize| {
            let standing = world.host(*host).node().standing(now, ELECTION);
            standing.is_some_and(|s| s.electing)
        };
        if begun_at.is_none() && hosts.iter().any(|h| elects(h) || holds(h)) {
            begun_at = Some(now);
        }
        if listed.is_none() && hosts.iter().any(holds) {
            listed = Some(share);
        }
        if let (Some(begun_at), Some(listed)) = (begun_at, listed)
            && hosts.iter().all(holds)
        {
            let ms = |span: Duration| span.as_secs_f64() * 1000.0;
            let (time, wait) = (now.since(crashed_at), begun_at.since(crashed_at));
            return Ok(Some(Values::from([
                ("time".into(), ms(time)),
                ("wait".into(), ms(wait)),
                ("held".into(), ms(time.saturating_sub(wait))),
                ("listed".into(), listed),
                ("failed".into(), 0.0),
            ])));
        }
    }
    Ok(None)
}

/// The host at `from` reports that the leader of `claim` is gone.
fn verdict(world: &World, from: usize, claim: Claim) -> Datagram {
    let node = world.host(from).node();
    let known = node.membership().table().get(claim.leader);
    let alive = Precedence::alive(claim.leader_life, Default::default());
    let header = Header {
        group: world.node_config().group_tag(),
        id: node.id(),
        life: node.membership().life(),
        incarnation: node.membership().incarnation(),
        digest: node.membership().digest(node.id()),
        ..Header::default()
    };
    let accusation = Accusation {
        id: claim.leader,
        precedence: known.map_or(alive, |m| m.precedence).with(Status::Dead),
        accuser: node.id(),
    };
    let frames = vec![Frame::Membership(membership::Msg::Accusation(accusation))];
    Datagram {
        header,
        frames,
        ..Datagram::default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_hasty_detector_is_wrong_about_leaders_and_a_network_without_loss_is_not() {
        let calm = false_alarms(&[0.0, 0.0], 1);
        assert_eq!((calm["verdicts"], calm["changes"]), (0.0, 0.0));
        assert!(false_alarms(&[0.3, 1.0], 1)["verdicts"] > 0.0);
    }

    #[test]
    fn a_failover_told_to_all_at_once_finds_no_list_with_the_dead_leader() {
        let told = failover(&[1.0], 1);
        assert_eq!((told["listed"], told["failed"]), (0.0, 0.0));
        let staggered = failover(&[0.0], 1);
        assert!(staggered["listed"] > 0.0, "{staggered:?}");
        let parts = staggered["wait"] + staggered["held"];
        assert!((parts - staggered["time"]).abs() < 1e-6);
    }

    #[test]
    fn the_watch_counts_a_change_when_the_leader_dies() {
        let mut engine = group(6, 1, Config::default()).unwrap();
        engine.oracle_mut().forget();
        let leader = engine.oracle().greatest.unwrap().leader;
        let leader = engine.world().index_of(leader).unwrap();
        engine.strike(Fault::Crash(leader)).unwrap();
        engine.run_for(FORMED).unwrap();
        assert_eq!(engine.oracle().changes, 1);
    }
}
