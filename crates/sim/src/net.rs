//! The network: the fate of a datagram. A routed datagram is one event, not one per hop: the hop at which it is
//! lost and the sum of its delays are drawn when it is sent.

use crate::routes::Routes;
use crate::stream;
use crate::topology::Layout;
use crate::units::TU_US;
use consort_proto::Rng;
use core::time::Duration;
use serde::Serialize;

/// Quality of the network.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Conditions {
    /// Probability that one hop loses a datagram.
    pub loss_per_hop: f64,
    /// Probability that a datagram is lost, for any number of hops.
    pub loss_per_message: f64,
    /// Probability that a datagram arrives twice.
    pub duplicate: f64,
    /// Probability that a datagram is delayed, so that later ones overtake it.
    pub reorder: f64,
    /// Longest such delay.
    pub reorder_max: Duration,
    /// The delay of a hop is uniform above zero and up to this.
    pub hop_delay_max: Duration,
}

impl Default for Conditions {
    /// The papers' network: nothing is lost, a hop takes up to a tenth of a time unit.
    fn default() -> Self {
        Conditions {
            loss_per_hop: 0.0,
            loss_per_message: 0.0,
            duplicate: 0.0,
            reorder: 0.0,
            reorder_max: Duration::ZERO,
            hop_delay_max: Duration::from_micros(TU_US / 10),
        }
    }
}

/// Counters of what was sent.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Counts {
    /// Datagrams.
    pub messages: u64,
    /// Transmissions, including those up to the hop that lost a datagram.
    pub hop_messages: u64,
    /// Bytes of the datagrams.
    pub bytes: u64,
    /// Bytes times transmissions.
    pub byte_hops: u64,
    /// Length of the routes of all datagrams, in millimetres.
    pub millimetres: u64,
    /// Datagrams lost on the way.
    pub lost: u64,
    /// Datagrams without a route: a partition, a crash, an address that no host has.
    pub unroutable: u64,
    /// Datagrams that arrived twice.
    pub duplicated: u64,
}

impl Counts {
    /// Adds those of another run.
    pub fn add(&mut self, other: &Counts) {
        self.messages += other.messages;
        self.hop_messages += other.hop_messages;
        self.bytes += other.bytes;
        self.byte_hops += other.byte_hops;
        self.millimetres += other.millimetres;
        self.lost += other.lost;
        self.unroutable += other.unroutable;
        self.duplicated += other.duplicated;
    }
}

/// Distances that datagrams travelled: by hops, and by metres of their route.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Traffic {
    /// Number of datagrams by hops.
    pub by_hops: Vec<u64>,
    /// Number of datagrams by metres, rounded.
    pub by_metres: Vec<u64>,
}

impl Traffic {
    fn note(&mut self, hops: u16, metres: f32) {
        bump(&mut self.by_hops, usize::from(hops));
        bump(&mut self.by_metres, (metres + 0.5) as usize);
    }
}

fn bump(counts: &mut Vec<u64>, at: usize) {
    if counts.len() <= at {
        counts.resize(at + 1, 0);
    }
    counts[at] += 1;
}

/// The network between the hosts.
#[derive(Clone, Debug)]
pub struct Net {
    conditions: Conditions,
    routes: Routes,
    /// Hosts can only reach others of their group.
    groups: Option<Vec<u8>>,
    deaf: Vec<bool>,
    mute: Vec<bool>,
    /// Links that fail in one direction: sender and receiver.
    severed: Vec<(usize, usize)>,
    /// By host: probability that it loses a datagram that it sends, or one that it receives.
    host_loss: Vec<f64>,
    /// Probability of surviving `n` hops, by `n`.
    survival: Vec<f64>,
    loss: Rng,
    delay: Rng,
    /// Losses of hosts draw from their own stream, so that nothing else changes.
    host_rng: Rng,
    counts: Counts,
    traffic: Traffic,
    /// Bytes by sender and receiver; empty if they are not recorded.
    flows: Vec<u64>,
    /// By host: factor of the loss of its datagrams; empty if all are alike.
    frailty: Vec<f64>,
}

/// The fate of a datagram: delays of its copies in microseconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Fate {
    /// The datagram itself; `None` if it is lost.
    pub first: Option<u64>,
    /// A second copy, if it is duplicated.
    pub copy: Option<u64>,
}

const LOST: Fate = Fate {
    first: None,
    copy: None,
};

impl Net {
    /// A network over `layout`.
    pub fn new(layout: Layout, conditions: Conditions, seed: u64) -> Net {
        let n = layout.len();
        let mut net = Net {
            conditions,
            routes: Routes::new(layout),
            groups: None,
            deaf: vec![false; n],
            mute: vec![false; n],
            severed: Vec::new(),
            host_loss: vec![0.0; n],
            survival: Vec::new(),
            loss: Rng::seed(seed, stream::LOSS),
            delay: Rng::seed(seed, stream::DELAY),
            host_rng: Rng::seed(seed, stream::HOST_LOSS),
            counts: Counts::default(),
            traffic: Traffic::default(),
            flows: Vec::new(),
            frailty: Vec::new(),
        };
        net.set_conditions(conditions);
        net
    }

    /// What was sent so far.
    pub fn counts(&self) -> &Counts {
        &self.counts
    }

    /// Distances that datagrams travelled so far.
    pub fn traffic(&self) -> &Traffic {
        &self.traffic
    }

    /// Starts to record the bytes between every two hosts.
    pub fn record_flows(&mut self) {
        let hosts = self.deaf.len();
        self.flows = vec![0; hosts * hosts];
    }

    /// The bytes recorded since the last call: a row for each sender.
    pub fn take_flows(&mut self) -> Vec<u64> {
        let empty = vec![0; self.flows.len()];
        core::mem::replace(&mut self.flows, empty)
    }

    /// Resets the counters.
    pub fn reset_counts(&mut self) {
        self.counts = Counts::default();
        self.traffic = Traffic::default();
    }

    /// The quality of the network.
    pub fn conditions(&self) -> &Conditions {
        &self.conditions
    }

    /// Changes the quality of the network.
    pub fn set_conditions(&mut self, conditions: Conditions) {
        self.conditions = conditions;
        self.survival.clear();
        self.survival.push(1.0);
    }

    /// The routes.
    pub fn routes(&mut self) -> &mut Routes {
        &mut self.routes
    }

    /// The positions of nodes.
    pub fn layout(&self) -> &Layout {
        self.routes.layout()
    }

    /// Partitions the hosts: they can only reach others of their group.
    pub fn partition(&mut self, groups: Vec<u8>) {
        assert_eq!(groups.len(), self.deaf.len(), "one group number per host");
        self.groups = Some(groups);
    }

    /// Ends a partition, and deafness, muteness and losses of hosts.
    pub fn heal(&mut self) {
        self.groups = None;
        self.deaf.fill(false);
        self.mute.fill(false);
        self.severed.clear();
        self.host_loss.fill(0.0);
    }

    /// Whether the hosts are partitioned, or some are deaf or mute.
    pub fn is_split(&self) -> bool {
        let one_way = !self.severed.is_empty() || self.deaf.contains(&true);
        self.groups.is_some() || one_way || self.mute.contains(&true)
    }

    /// A deaf host receives nothing.
    pub fn set_deaf(&mut self, host: usize, deaf: bool) {
        self.deaf[host] = deaf;
    }

    /// Datagrams from `from` to `to` no longer arrive.
    pub fn sever(&mut self, from: usize, to: usize) {
        if !self.severed.contains(&(from, to)) {
            self.severed.push((from, to));
        }
    }

    /// Datagrams of a mute host do not arrive.
    pub fn set_mute(&mut self, host: usize, mute: bool) {
        self.mute[host] = mute;
    }

    /// A host loses this share of what it sends and receives, but not of what it forwards.
    pub fn set_host_loss(&mut self, host: usize, loss: f64) {
        assert!((0.0..=1.0).contains(&loss), "a probability, not {loss}");
        self.host_loss[host] = loss;
    }

    /// The loss of a host's datagrams is this factor times that of the conditions; of the two hosts the larger
    /// factor counts.
    pub fn set_frailty(&mut self, frailty: Vec<f64>) {
        assert_eq!(frailty.len(), self.deaf.len(), "one number per host");
        self.frailty = frailty;
    }

    fn frailty(&self, from: usize, to: usize) -> f64 {
        let of = |host: usize| self.frailty.get(host).copied().unwrap_or(1.0);
        of(from).max(of(to))
    }

    /// Counts a datagram to an address that no host has.
    pub(crate) fn send_nowhere(&mut self, bytes: usize) {
        self.counts.messages += 1;
        self.counts.bytes += bytes as u64;
        self.counts.unroutable += 1;
    }

    /// Draws the fate of a datagram.
    pub fn send(&mut self, from: usize, to: usize, bytes: usize) -> Fate {
        let bytes = bytes as u64;
        self.counts.messages += 1;
        self.counts.bytes += bytes;
        let split = self.groups.as_ref().is_some_and(|g| g[from] != g[to])
            || self.severed.contains(&(from, to));
        let hops = match self.routes.hops(from, to) {
            Some(hops) if !split && !self.mute[from] && !self.deaf[to] => hops,
            _ => {
                self.counts.unroutable += 1;
                return LOST;
            }
        };
        let metres = self.routes.length(from, to).unwrap_or(0.0);
        self.traffic.note(hops, metres);
        if !self.flows.is_empty() {
            self.flows[from * self.deaf.len() + to] += bytes;
        }
        self.counts.millimetres += (metres * 1000.0) as u64;
        let frailty = self.frailty(from, to);
        let (travelled, arrived) = self.travel(hops, frailty);
        self.counts.hop_messages += u64::from(travelled);
        self.counts.byte_hops += bytes * u64::from(travelled);
        let c = self.conditions;
        let lost =
            !arrived || c.loss_per_message > 0.0 && self.loss.chance(c.loss_per_message * frailty);
        if lost || self.is_lost_by(from) || self.is_lost_by(to) {
            self.counts.lost += 1;
            return LOST;
        }
        let first = Some(self.delay(hops));
        let twice = c.duplicate > 0.0 && self.loss.chance(c.duplicate);
        self.counts.duplicated += u64::from(twice);
        let copy = twice.then(|| self.delay(hops));
        Fate { first, copy }
    }

    /// Whether an end of the route loses the datagram.
    fn is_lost_by(&mut self, host: usize) -> bool {
        let loss = self.host_loss[host];
        loss > 0.0 && self.host_rng.chance(loss)
    }

    /// The number of transmissions on a route of `hops`, and whether the last one arrives. One draw decides: the
    /// datagram survives as many hops as the draw is below their survival probability.
    fn travel(&mut self, hops: u16, frailty: f64) -> (u16, bool) {
        let p = self.conditions.loss_per_hop;
        if p <= 0.0 {
            return (hops, true);
        }
        if frailty != 1.0 {
            return survive(hops, p * frailty, self.loss.unit());
        }
        while self.survival.len() <= usize::from(hops) {
            let last = self.survival.last().copied().unwrap_or(1.0);
            self.survival.push(last * (1.0 - p));
        }
        let draw = self.loss.unit();
        if draw < self.survival[usize::from(hops)] {
            return (hops, true);
        }
        let survived = self.survival[..=usize::from(hops)].partition_point(|&s| draw < s);
        (survived as u16, false)
    }

    fn delay(&mut self, hops: u16) -> u64 {
        let c = self.conditions;
        let max = c.hop_delay_max.as_micros() as u64;
        let mut us = u64::from(hops);
        for _ in 0..hops {
            us += (u64::from(self.delay.bits32()) * max) >> 32;
        }
        if c.reorder > 0.0 && self.delay.chance(c.reorder) {
            us += self.delay.below64(c.reorder_max.as_micros() as u64);
        }
        us
    }
}

/// The number of `hops` transmissions if each is lost with probability `loss`, and whether the last one arrives;
/// `draw` decides.
pub(crate) fn survive(hops: u16, loss: f64, draw: f64) -> (u16, bool) {
    let mut left = 1.0;
    for hop in 1..=hops {
        left *= (1.0 - loss).max(0.0);
        if draw >= left {
            return (hop, false);
        }
    }
    (hops, true)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::topology::Point;

    fn line(n: usize, conditions: Conditions) -> Net {
        let points = (0..n).map(|i| Point {
            x: i as f64,
            y: 0.0,
        });
        Net::new(Layout::new(points.collect(), 1.0), conditions, 1)
    }

    #[test]
    fn loss_is_per_hop_and_stops_the_transmissions() {
        let conditions = Conditions {
            loss_per_hop: 0.2,
            ..Conditions::default()
        };
        let mut net = line(6, conditions);
        let sent = 40_000;
        let arrived = (0..sent)
            .filter(|_| net.send(0, 5, 10).first.is_some())
            .count();
        let share = arrived as f64 / f64::from(sent);
        assert!((share - 0.8_f64.powi(5)).abs() < 0.01, "{share}");
        // Expected transmissions: the sum over the hops of the probability to get there.
        let expected: f64 = (0..5).map(|h| 0.8_f64.powi(h)).sum();
        let mean = net.counts().hop_messages as f64 / f64::from(sent);
        assert!((mean - expected).abs() < 0.02, "{mean} {expected}");
        assert_eq!(net.counts().byte_hops, 10 * net.counts().hop_messages);
        assert_eq!(net.counts().lost, sent as u64 - arrived as u64);
    }

    #[test]
    fn a_frail_host_loses_more_in_both_directions() {
        let arrived = |conditions: Conditions, frailty: [f64; 3], from, to| {
            let mut net = line(3, conditions);
            net.set_frailty(frailty.to_vec());
            let sent = 20_000;
            let arrived = (0..sent).filter(|_| net.send(from, to, 1).first.is_some());
            arrived.count() as f64 / f64::from(sent)
        };
        let per_message = Conditions {
            loss_per_message: 0.1,
            ..Conditions::default()
        };
        let per_hop = Conditions {
            loss_per_hop: 0.1,
            ..Conditions::default()
        };
        for (conditions, frail, sound) in [(per_message, 0.7, 0.9), (per_hop, 0.49, 0.81)] {
            for (from, to) in [(0, 2), (2, 0)] {
                let share = arrived(conditions, [3.0, 1.0, 1.0], from, to);
                assert!((share - frail).abs() < 0.015, "{share} {frail}");
                let share = arrived(conditions, [1.0, 3.0, 1.0], from, to);
                assert!((share - sound).abs() < 0.015, "{share} {sound}");
            }
        }
    }

    #[test]
    fn delay_is_the_sum_over_the_hops() {
        let mut net = line(4, Conditions::default());
        let delays: Vec<u64> = (0..9_000).filter_map(|_| net.send(0, 3, 1).first).collect();
        assert_eq!(delays.len(), 9_000);
        assert!(delays.iter().all(|d| (3..=15_000).contains(d)));
        let mean = delays.iter().sum::<u64>() / 9_000;
        assert!((7_300..7_700).contains(&mean), "{mean}");
    }

    #[test]
    fn partitions_deafness_and_muteness_cut_one_way_or_both() {
        let mut net = line(3, Conditions::default());
        let passes = |net: &mut Net, a, b| net.send(a, b, 1).first.is_some();
        net.sever(0, 1);
        assert!(!passes(&mut net, 0, 1) && passes(&mut net, 1, 0) && net.is_split());
        net.heal();
        assert!(passes(&mut net, 0, 1));
        net.partition(vec![0, 0, 1]);
        assert!(passes(&mut net, 0, 1) && !passes(&mut net, 1, 2) && !passes(&mut net, 2, 1));
        net.heal();
        net.set_deaf(1, true);
        assert!(!passes(&mut net, 0, 1) && passes(&mut net, 1, 0));
        net.heal();
        net.set_mute(1, true);
        assert!(passes(&mut net, 0, 1) && !passes(&mut net, 1, 0));
        assert!(net.is_split());
        assert_eq!(net.counts().unroutable, 5);
    }

    #[test]
    fn a_lossy_host_loses_what_it_sends_and_receives_and_draws_for_nobody_else() {
        let conditions = Conditions {
            loss_per_hop: 0.1,
            ..Conditions::default()
        };
        let (mut sound, mut lossy) = (line(4, conditions), line(4, conditions));
        lossy.set_host_loss(1, 0.2);
        let mut arrived = [0; 3];
        for _ in 0..10_000 {
            for (n, (from, to)) in [(1, 2), (2, 1), (0, 3)].into_iter().enumerate() {
                let (with, without) = (lossy.send(from, to, 1), sound.send(from, to, 1));
                arrived[n] += u32::from(with.first.is_some());
                // Forwarding is unaffected, and the fates of other datagrams do not change.
                assert!(n < 2 || with.first.is_some() == without.first.is_some());
            }
        }
        // 0.9 x 0.8, in both directions; 0.9^3.
        for (count, share) in arrived.into_iter().zip([0.72, 0.72, 0.729]) {
            assert!(
                (f64::from(count) / 1e4 - share).abs() < 0.015,
                "{arrived:?}"
            );
        }
        lossy.heal();
        assert_eq!(lossy.host_loss, [0.0; 4]);
    }

    #[test]
    fn duplicates_and_reordering_happen_as_often_as_asked() {
        let mut net = line(
            2,
            Conditions {
                duplicate: 0.25,
                reorder: 0.5,
                reorder_max: Duration::from_secs(1),
                loss_per_message: 0.1,
                ..Conditions::default()
            },
        );
        let fates: Vec<Fate> = (0..8_000).map(|_| net.send(0, 1, 1)).collect();
        let count = |f: fn(&Fate) -> bool| fates.iter().filter(|x| f(x)).count();
        assert!((650..950).contains(&count(|f| f.first.is_none())));
        assert!((1_650..1_950).contains(&count(|f| f.copy.is_some())));
        assert!((3_300..3_900).contains(&count(|f| f.first.is_some_and(|d| d > 5_000))));
    }
}
