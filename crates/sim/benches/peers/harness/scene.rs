//! Kinds of nodes, and one experiment for all of them: the same layouts, crashes and losses for the
//! same seed.

use super::ours::{Ours, lives};
use super::theirs::{Name, Short, Socket, Theirs};
use super::{Peer, Watch, World};
use consort_proto::membership::{ProbeTimeout, SuspicionTimeout};
use consort_sim::Counts;
use consort_sim::membership::{Distances, Feedback, Params, Profile};
use consort_sim::net::Net;
use consort_sim::routes::Routes;
use consort_sim::units::{PERIOD_TU, at_tu, in_tu};
use core::num::{NonZeroU8, NonZeroU32, NonZeroUsize};
use core::time::Duration;

/// A kind of node with its settings.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    /// foca with equal settings wherever possible.
    Foca,
    /// The same with the shortest names.
    FocaShort,
    /// foca with its settings for a local network of this size.
    FocaLan,
    /// Ours, papers' profile, uniform probing.
    Swim,
    /// Ours, papers' profile, spatial probing.
    Medley,
    /// The same with both kinds of feedback.
    MedleyF,
    /// Ours, product profile, suspicion as long as the others'.
    Product,
    /// Ours, default product profile.
    ProductDefault,
}

impl Kind {
    pub(crate) const ALL: [Kind; 8] = [
        Kind::Foca,
        Kind::FocaShort,
        Kind::Swim,
        Kind::Medley,
        Kind::MedleyF,
        Kind::Product,
        Kind::FocaLan,
        Kind::ProductDefault,
    ];

    pub(crate) fn name(self) -> &'static str {
        match self {
            Kind::Foca => "foca",
            Kind::FocaShort => "foca-short",
            Kind::FocaLan => "foca-lan",
            Kind::Swim => "swim",
            Kind::Medley => "medley",
            Kind::MedleyF => "medley-f",
            Kind::Product => "product",
            Kind::ProductDefault => "product-default",
        }
    }

    /// The scene with the settings of this kind.
    fn params(self, scene: &Scene) -> Params {
        let paper = Params {
            exponent: Some(3.0),
            ..scene.params.clone()
        };
        let product = Params {
            profile: Profile::Product,
            ..scene.params.clone()
        };
        match self {
            Kind::Foca | Kind::FocaShort | Kind::FocaLan | Kind::Swim => scene.params.clone(),
            Kind::Medley => paper,
            Kind::MedleyF => Params {
                feedback: Feedback {
                    active: true,
                    passive: true,
                },
                ..paper
            },
            Kind::Product => product,
            Kind::ProductDefault => Params {
                distances: Distances::Coordinates,
                ..product
            },
        }
    }
}

/// An experiment. Nodes run for `settle` time units, then counting starts; the crash of
/// `params.failures` nodes, if any, is at `params.warmup`.
#[derive(Clone, Debug)]
pub(crate) struct Scene {
    /// In the papers' profile; each kind applies its own changes.
    pub(crate) params: Params,
    pub(crate) settle: f64,
}

/// Result of one run. Times are in time units.
#[derive(Clone, Debug, Default)]
pub(crate) struct Outcome {
    pub(crate) first: Vec<f64>,
    pub(crate) dissemination: Vec<f64>,
    pub(crate) undetected: u64,
    pub(crate) counts: Counts,
    pub(crate) false_positives: u64,
    /// Time in which some wrong verdict was in force.
    pub(crate) wrong: f64,
    /// The same, summed over pairs of observer and subject.
    pub(crate) wrong_pairs: f64,
    /// Periods counted, summed over running nodes.
    pub(crate) node_periods: f64,
    /// Time counted.
    pub(crate) span: f64,
}

/// One run of one kind.
pub(crate) fn run(kind: Kind, scene: &Scene, seed: u64) -> Outcome {
    match kind {
        Kind::Foca | Kind::FocaLan => finish(scene, seed, theirs::<Socket>(kind, scene, seed)),
        Kind::FocaShort => finish(scene, seed, theirs::<Short>(kind, scene, seed)),
        _ => finish(scene, seed, ours(kind, scene, seed)),
    }
}

/// The network of a scene.
fn net(scene: &Scene, seed: u64) -> Net {
    let (layout, _) = scene.params.layouts(seed).expect("a connected layout");
    Net::new(layout, scene.params.conditions, seed)
}

/// A world of our nodes.
pub(crate) fn ours(kind: Kind, scene: &Scene, seed: u64) -> World<Ours> {
    let params = kind.params(scene);
    let mut config = params.config();
    if kind == Kind::Product {
        config.membership.suspicion_timeout = SuspicionTimeout::Fixed(suspicion(scene));
    }
    let (hosts, net) = (params.nodes, net(scene, seed));
    let mut routes = Routes::new(net.layout().clone());
    let lives = lives(hosts, seed);
    let peer = |index: usize| {
        let mut peer = Ours::warm(config.clone(), seed, index, &lives);
        if params.is_spatial() {
            peer.set_proximity(params.proximities(&mut routes, index));
        }
        if kind == Kind::Product {
            let point = net.layout().points[index];
            peer.set_position([point.x as f32, point.y as f32, 0.0]);
        }
        peer
    };
    let peers = (0..hosts).map(peer).collect();
    World::new(net, Watch::new(hosts), peers)
}

/// A world of foca's nodes.
pub(crate) fn theirs<T: Name>(kind: Kind, scene: &Scene, seed: u64) -> World<Theirs<T>> {
    let hosts = scene.params.nodes;
    let config = match kind {
        Kind::FocaLan => foca_lan(hosts),
        _ => foca_like_ours(scene),
    };
    let peer = |index| Theirs::warm(config.clone(), seed, index, hosts);
    let peers = (0..hosts).map(peer).collect();
    World::new(net(scene, seed), Watch::new(hosts), peers)
}

/// Duration of a suspicion in the papers' profile.
fn suspicion(scene: &Scene) -> Duration {
    match scene.params.config().membership.suspicion_timeout {
        SuspicionTimeout::Fixed(span) => span,
        SuspicionTimeout::Scaled { .. } => unreachable!("scenes are in the papers' profile"),
    }
}

/// The papers' profile in foca's terms. Plain SWIM except for one extension: members that are considered down are
/// told, since otherwise no wrong verdict would ever be withdrawn.
fn foca_like_ours(scene: &Scene) -> foca::Config {
    let ours = scene.params.config();
    let m = &ours.membership;
    let ProbeTimeout::Fixed(probe_rtt) = m.probe_timeout else {
        unreachable!("scenes are in the papers' profile")
    };
    let rounds = (scene.params.nodes as f64 + 1.0).ln().ceil() as u32;
    let transmissions = u8::try_from(m.rumor_factor * rounds).unwrap_or(u8::MAX);
    foca::Config {
        probe_period: m.probe_period,
        probe_rtt,
        num_indirect_probes: NonZeroUsize::new(m.probe_helpers.into()).expect("helpers"),
        max_transmissions: NonZeroU8::new(transmissions).expect("transmissions"),
        suspect_to_down_after: suspicion(scene),
        max_packet_size: NonZeroUsize::new(ours.datagram_max.into()).expect("a size"),
        notify_down_members: true,
        ..foca::Config::simple()
    }
}

fn foca_lan(hosts: usize) -> foca::Config {
    let size = NonZeroU32::new(hosts as u32).expect("hosts");
    foca::Config {
        max_packet_size: NonZeroUsize::new(1200).expect("a size"),
        ..foca::Config::new_lan(size)
    }
}

/// Runs a world to the end and reads its record.
pub(crate) fn finish<P: Peer>(scene: &Scene, seed: u64, mut world: World<P>) -> Outcome {
    let params = &scene.params;
    let (crash_at, end) = (at_tu(params.warmup), at_tu(params.duration));
    let crashed = params.crashed(seed);
    for &host in &crashed {
        world.crash_at(crash_at, host);
    }
    world.run_until(at_tu(scene.settle));
    world.reset_counts();
    world.run_until(end);
    world.watch.count_to(end);
    let watch = &world.watch;
    let in_tu = |us: u64| in_tu(Duration::from_micros(us));
    let span = params.duration - scene.settle;
    let down = crashed.len() as f64 * (params.duration - params.warmup);
    let mut outcome = Outcome {
        counts: *world.net.counts(),
        false_positives: watch.false_positives,
        wrong: in_tu(watch.wrong_us),
        wrong_pairs: in_tu(watch.wrong_pair_us),
        node_periods: (params.nodes as f64 * span - down) / PERIOD_TU,
        span,
        ..Outcome::default()
    };
    // A crash may cut off a node for which the crashed one forwarded: it cannot know better.
    let running: Vec<usize> = (0..params.nodes)
        .filter(|&i| !watch.is_crashed(i))
        .collect();
    let routes = world.net.routes();
    let mut reaches = |i: usize| {
        running
            .iter()
            .filter(|&&j| routes.hops(i, j).is_some())
            .count()
    };
    let connected: Vec<usize> = running
        .iter()
        .copied()
        .filter(|&i| 2 * reaches(i) > running.len())
        .collect();
    for &subject in &crashed {
        let awaited = connected
            .iter()
            .filter(|&&i| !watch.is_foretold(subject, i));
        let seen: Vec<_> = awaited.map(|&i| watch.verdict(subject, i)).collect();
        outcome.undetected += seen.iter().filter(|v| v.is_none()).count() as u64;
        let times = || seen.iter().flatten();
        if let (Some(&first), Some(&last)) = (times().min(), times().max()) {
            let tus = |d: Duration| in_tu(d.as_micros() as u64);
            outcome.first.push(tus(first.since(crash_at)));
            outcome.dissemination.push(tus(last.since(first)));
        }
    }
    outcome
}
