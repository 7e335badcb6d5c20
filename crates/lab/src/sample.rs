//! Results of one run, and statistics over runs.

use crate::stat::{mean, quantile};
use alloc::collections::BTreeMap;
use consort_papers::election::Config;
use consort_sim::bandit;
use consort_sim::election::{self, Churn, Outcome};
use consort_sim::membership::{Params, Report};
use consort_sim::mutex;
use consort_sim::omega;
use consort_sim::units::PERIOD_TU;
use serde::{Deserialize, Serialize};

/// Named numbers of a run. NaN is left out: nothing was measured.
pub type Values = BTreeMap<String, f64>;

/// Time units in an hour of a node with a period of a second.
const HOUR_TU: f64 = 3600.0 * PERIOD_TU;

/// Result of one run. Times are in the papers' time units.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Sample {
    /// Nodes that crashed.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub crashed: Vec<usize>,
    /// For each crashed node: time from the crash to the first verdict. An undetected crash counts as detected at
    /// the end of the run.
    pub detection: Vec<f64>,
    /// Time from the first verdict to the last.
    pub dissemination: Vec<f64>,
    /// Time from the first verdict to that of half of the correct nodes.
    pub half: Vec<f64>,
    /// Distance of the first detector, in metres.
    pub detector: Vec<f64>,
    /// Share of pairs of a correct and a crashed node without a verdict at the end.
    pub unheard: f64,
    /// Transmissions per node and period.
    pub hops: f64,
    /// Datagrams per node and period.
    #[serde(default)]
    pub messages: f64,
    /// Bytes transmitted per node and period; the bytes of a datagram count once per hop.
    #[serde(default)]
    pub byte_hops: f64,
    /// Metres travelled per node and period.
    pub metres: f64,
    /// Datagrams by hops.
    pub by_hops: Vec<u64>,
    /// Datagrams by metres.
    pub by_metres: Vec<u64>,
    /// Share of the time in which some running node was considered down by another.
    pub wronged: f64,
    /// Wrong verdicts about healthy nodes by healthy nodes, per healthy node and hour after the crash.
    #[serde(default)]
    pub flaps: f64,
    /// The same for suspicions.
    #[serde(default)]
    pub doubts: f64,
    /// Wrong verdicts of a run that were not copied from others: of accusers, and of nodes that had only heard of
    /// the suspicion.
    #[serde(default)]
    pub begun: [f64; 2],
    /// Bytes sent, by interval and pair of nodes.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub flows: Vec<Vec<u64>>,
    /// Results of runs other than membership.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub values: Values,
}

impl Sample {
    /// A run in which every number is `x`, for foils.
    pub(crate) fn constant(x: f64) -> Sample {
        /// As many intervals, and pairs of nodes, as the longest record of flows has.
        const FLOWS: (usize, usize) = (2_580, 49);
        let times = vec![x];
        Sample {
            crashed: vec![0],
            detection: times.clone(),
            dissemination: times.clone(),
            half: times.clone(),
            detector: times,
            unheard: x,
            hops: x,
            messages: x,
            byte_hops: x,
            metres: x,
            by_hops: vec![1; 12],
            by_metres: vec![1; 152],
            wronged: x,
            flaps: x,
            doubts: x,
            begun: [x; 2],
            flows: vec![vec![x as u64; FLOWS.1]; FLOWS.0],
            values: Values::new(),
        }
    }
}

/// Extracts from a report what claims use.
pub(crate) fn of(params: &Params, report: &Report) -> Sample {
    let node_periods = params.nodes as f64 * params.duration / PERIOD_TU;
    let crashed = report.crashed.len();
    let pairs = crashed * (params.nodes - crashed);
    let impaired = params.impaired.map_or(0, |i| i.deaf + i.mute + i.lossy);
    let healthy_hours =
        (params.nodes - impaired) as f64 * (params.duration - params.warmup) / HOUR_TU;
    let mut detection = report.first_detection.clone();
    detection.resize(crashed, params.duration - params.warmup);
    Sample {
        crashed: report.crashed.clone(),
        detection,
        dissemination: report.dissemination.clone(),
        half: report.dissemination_half.clone(),
        detector: report.detector_distance.clone(),
        unheard: report.undetected as f64 / pairs.max(1) as f64,
        hops: report.counts.hop_messages as f64 / node_periods,
        messages: report.counts.messages as f64 / node_periods,
        byte_hops: report.counts.byte_hops as f64 / node_periods,
        metres: report.counts.millimetres as f64 / 1000.0 / node_periods,
        by_hops: report.traffic.by_hops.clone(),
        by_metres: report.traffic.by_metres.clone(),
        wronged: report.wronged / params.duration,
        flaps: report.flaps as f64 / healthy_hours,
        doubts: report.doubts as f64 / healthy_hours,
        begun: report.begun.map(|n| n as f64),
        flows: report.flows.clone(),
        values: Values::new(),
    }
}

/// A sample of named numbers alone, without NaN.
pub(crate) fn of_values(mut values: Values) -> Sample {
    values.retain(|_, x| x.is_finite());
    Sample {
        values,
        ..Sample::default()
    }
}

/// Prefix of the numbers of an election: `base`, or `base+f1` if one more node is asked.
pub fn lane_name(config: &Config) -> String {
    match config.failed_max {
        0 => config.method.name().into(),
        f => format!("{}+f{f}", config.method),
    }
}

/// Results of elections.
pub(crate) fn of_election(params: &election::Params, report: &election::Report) -> Values {
    type Metric = (&'static str, fn(&Outcome) -> Option<f64>);
    const METRICS: [Metric; 11] = [
        ("time", |o| o.completion),
        ("agreed", |o| Some(f64::from(u8::from(o.leader.is_some())))),
        ("bytes", |o| Some(o.byte_hops as f64)),
        ("tree", |o| Some(o.byte_hops_tree as f64)),
        ("changes", |o| Some(f64::from(o.changes))),
        ("calm-changes", |o| {
            (o.restarts == 0).then_some(f64::from(o.changes))
        }),
        ("calm-bytes", |o| {
            (o.restarts == 0).then_some(o.byte_hops as f64)
        }),
        ("restarts", |o| Some(f64::from(o.restarts))),
        ("hash", |o| o.leader.map(|rank| rank as f64)),
        ("health", |o| o.health_rank),
        ("unicasts", |o| Some(o.unicasts as f64)),
    ];
    let mut values = Values::from([("local-wrong".into(), report.local_wrong)]);
    for (config, outcome) in params.lanes.iter().zip(&report.outcomes) {
        let name = lane_name(config);
        for (metric, of) in METRICS {
            if let Some(x) = of(outcome) {
                values.insert(format!("{name}.{metric}"), x);
            }
        }
    }
    values
}

/// Results of an observation of the lists of a group.
pub(crate) fn of_churn(churn: &Churn) -> Values {
    Values::from([
        ("c".into(), f64::from(churn.most)),
        ("c-window".into(), f64::from(churn.most_in_window)),
        ("c-mean".into(), churn.mean),
        ("p".into(), churn.unhealthy_unknown),
    ])
}

/// Results of a lock. Times are in seconds.
pub(crate) fn of_mutex(report: &mutex::Report) -> Values {
    let r = report;
    let requests = r.requests as f64;
    let values = [
        ("wait", r.wait),
        ("wait-client", r.wait_client),
        ("wait-max", r.wait_max),
        ("gap", r.gap),
        ("round-trip", r.round_trip),
        ("requests", requests),
        ("entries", r.entries as f64),
        ("granted", r.entries as f64 / requests),
        ("messages", r.messages as f64),
        ("sends", r.sends as f64),
        ("expected", r.sends as f64 / r.sends_expected),
        ("hops", r.hops as f64),
        ("bytes", r.bytes as f64),
        ("byte-hops", r.byte_hops as f64),
        ("overlaps", r.overlaps as f64),
        ("regressions", r.regressions as f64),
        ("lost", r.lost as f64),
        ("fresh-rounds", r.fresh_rounds as f64),
        ("slow", r.slow as f64),
        ("listed", r.listed),
        ("blocked", r.blocked as f64),
    ];
    values.map(|(name, x)| (name.into(), x)).into()
}

/// Results of leaders of a moving network. Shares are in percent; instability up to second s is `wrong@s`, at the
/// first second and every minute. Joules are per node in 1800 s, those of messages without beacons.
pub(crate) fn of_omega(params: &omega::Params, report: &omega::Report) -> Values {
    let r = report;
    let seconds = params.duration.as_secs_f64();
    let on_air = |us: u64| us as f64 / 1e6 / seconds;
    let joules = 1800.0 / seconds;
    let beacons = on_air(r.tally.airtime_beacons_us);
    let of_messages = on_air(r.tally.airtime_us) - beacons;
    let values = [
        ("wrong", 100.0 * r.instability),
        ("wrong-closeness", 100.0 * r.instability_closeness),
        ("disagree", 100.0 * r.disagreement),
        ("excess", 100.0 * r.excess),
        ("floor", 100.0 * r.floor),
        ("optimality", r.optimality),
        ("unreachable", 100.0 * r.unreachable),
        ("changes", r.changes),
        ("path", r.path_median),
        ("path-longest", r.path_longest),
        ("path-ratio", r.path_ratio),
        ("components", r.components),
        ("diameter", r.diameter),
        ("phantoms", 100.0 * r.phantoms),
        ("messages", r.messages),
        ("messages-node", r.messages / params.nodes as f64),
        ("beacons-node", r.beacons / params.nodes as f64),
        ("size", r.bytes / r.messages),
        ("size-max", r.bytes_max as f64),
        ("missed", r.missed as f64),
        (
            "missed-wrongly",
            100.0 * r.missed_wrongly as f64 / r.missed as f64,
        ),
        (
            "collisions",
            100.0 * r.tally.collisions as f64 / r.tally.arrivals as f64,
        ),
        ("airtime", 100.0 * (of_messages + beacons)),
        ("airtime-beacons", 100.0 * beacons),
        (
            "energy-messages",
            2.5 * 1800.0 * of_messages / params.nodes as f64,
        ),
        ("energy-transmit", r.energy.transmit * joules),
        ("energy-receive", r.energy.receive * joules),
        ("energy-listen", r.energy.listen * joules),
        ("energy-above", r.energy.above * joules),
        ("election", 1000.0 * mean(r.elections.iter().copied())),
        ("unsettled", r.unsettled as f64),
        (
            "components-least",
            r.series
                .iter()
                .map(|s| s.1.into())
                .fold(f64::INFINITY, f64::min),
        ),
        (
            "components-most",
            r.series.iter().map(|s| s.1.into()).fold(0.0, f64::max),
        ),
    ];
    let mut values: Values = values.map(|(name, x)| (name.into(), x)).into();
    for (second, &(wrong, _)) in r.series.iter().enumerate() {
        if second == 1 || second % 60 == 0 {
            values.insert(format!("wrong@{second}"), 100.0 * wrong);
        }
    }
    values
}

/// Results of elections that learn. Of node n and observer m: `down@n`, `error@m`; node 4's estimates are
/// `belief@n`. Runs of failed rounds by their length, the first included, are `delay@1` and so on.
pub(crate) fn of_bandit(params: &bandit::Params, report: &bandit::Report) -> Values {
    let r = report;
    let rounds = f64::from(r.rounds);
    let values = [
        ("rounds", rounds),
        ("failed", f64::from(r.failed())),
        ("dual", f64::from(r.dual)),
        ("elected", f64::from(r.elected)),
        ("seconds", r.seconds),
        ("outage", r.outage),
        ("messages", r.messages_election as f64),
        ("finished", f64::from(u8::from(r.finished))),
        ("out-of-bounds", r.out_of_bounds as f64),
    ];
    let mut values: Values = values.map(|(name, x)| (name.into(), x)).into();
    if params.rates != bandit::Rates::Published {
        return values;
    }
    let mut add = |name: String, x: f64| values.insert(name, x);
    for (n, down) in r.down.iter().enumerate() {
        add(format!("down@{n}"), *down);
    }
    for m in 0..r.observers.len() {
        add(format!("error@{m}"), r.error_of(m));
    }
    if let Some(observer) = r.observers.get(4) {
        add("updates@4".into(), observer.updates.into());
        for (n, x) in observer.estimates.iter().enumerate() {
            add(format!("belief@{n}"), *x);
        }
    }
    for (delay, count) in r.delays().into_iter().enumerate() {
        add(format!("delay@{}", delay + 1), count.into());
    }
    for (name, found) in [("found", true), ("lost", false)] {
        if let Some((start, end)) = r.trend(found) {
            add(format!("{name}-start"), start);
            add(format!("{name}-end"), end);
            add(format!("{name}-falls"), f64::from(u8::from(end < start)));
        }
    }
    let good = bandit::good(params.config.nodes.into());
    add("good".into(), r.found_among(&good, 500.0));
    add("led-1-2".into(), r.led_by(&[1, 2], 1600.0));
    values
}

/// Some of the runs of a cell.
pub struct View<'a> {
    samples: &'a [Sample],
    floor: f64,
    keep: &'a dyn Fn(usize) -> bool,
    constant: Option<f64>,
}

impl<'a> View<'a> {
    /// The runs of `samples` that `keep` selects; every named number that they lack is `constant`.
    pub(crate) fn new(
        samples: &'a [Sample],
        floor: f64,
        keep: &'a dyn Fn(usize) -> bool,
        constant: Option<f64>,
    ) -> View<'a> {
        View {
            samples,
            floor,
            keep,
            constant,
        }
    }

    /// The runs.
    pub fn runs(&self) -> impl Iterator<Item = &'a Sample> {
        let keep = self.keep;
        let all = self.samples.iter().enumerate();
        all.filter(move |(run, _)| keep(*run)).map(|(_, s)| s)
    }

    /// The named number of every run that has it.
    pub fn all(&self, name: &str) -> impl Iterator<Item = f64> {
        let constant = self.constant;
        self.runs()
            .filter_map(move |s| s.values.get(name).copied().or(constant))
    }

    /// Mean of a named number; NaN if no run has it.
    pub fn value(&self, name: &str) -> f64 {
        mean(self.all(name))
    }

    /// By how many standard deviations of a run `x` is above the mean of a named number.
    pub fn deviations(&self, name: &str, x: f64) -> f64 {
        let mean = self.value(name);
        let squares: Vec<f64> = self.all(name).map(|y| (y - mean) * (y - mean)).collect();
        let variance = squares.iter().sum::<f64>() / (squares.len() as f64 - 1.0);
        (x - mean) / variance.sqrt()
    }

    fn detections(&self) -> impl Iterator<Item = f64> {
        self.runs().flat_map(|s| s.detection.iter().copied())
    }

    /// Mean time to the first verdict, over all crashed nodes.
    pub fn detection(&self) -> f64 {
        mean(self.detections())
    }

    /// Mean time to the first verdict of the runs in which only `host` crashed.
    pub fn detection_of(&self, host: usize) -> f64 {
        let its = self.runs().filter(|s| s.crashed == [host]);
        mean(its.flat_map(|s| s.detection.iter().copied()))
    }

    /// Mean time to the first verdict beyond the minimum.
    pub fn extra(&self) -> f64 {
        self.detection() - self.floor
    }

    /// Quantile of the time beyond the minimum.
    pub fn extra_quantile(&self, share: f64) -> f64 {
        quantile(self.detections(), share) - self.floor
    }

    /// Mean over the runs of the latest first verdict.
    pub fn detection_last(&self) -> f64 {
        let last = |s: &Sample| s.detection.iter().copied().fold(f64::NAN, f64::max);
        mean(self.runs().map(last).filter(|x| x.is_finite()))
    }

    /// The same, beyond the minimum.
    pub fn extra_last(&self) -> f64 {
        self.detection_last() - self.floor
    }

    /// Mean over the runs of the earliest first verdict.
    pub fn detection_first(&self) -> f64 {
        let first = |s: &Sample| s.detection.iter().copied().fold(f64::NAN, f64::min);
        mean(self.runs().map(first).filter(|x| x.is_finite()))
    }

    /// Median over layouts of the mean time to the first verdict; run `n` is on layout `n % layouts`.
    pub fn detection_by_layout(&self, layouts: usize) -> f64 {
        let mut by_layout = vec![Vec::new(); layouts];
        let all = self.samples.iter().enumerate();
        for (run, sample) in all.filter(|(run, _)| (self.keep)(*run)) {
            by_layout[run % layouts].extend_from_slice(&sample.detection);
        }
        let means = by_layout.iter().filter(|l| !l.is_empty());
        let mut means: Vec<f64> = means.map(|l| mean(l.iter().copied())).collect();
        means.sort_by(f64::total_cmp);
        let half = means.len() / 2;
        match means.len() {
            0 => f64::NAN,
            n if n % 2 == 0 => (means[half - 1] + means[half]) / 2.0,
            _ => means[half],
        }
    }

    /// Mean time from the first verdict to the last.
    pub fn dissemination(&self) -> f64 {
        mean(self.runs().flat_map(|s| s.dissemination.iter().copied()))
    }

    /// Median time from the first verdict to that of half of the nodes.
    pub fn half(&self) -> f64 {
        quantile(self.runs().flat_map(|s| s.half.iter().copied()), 0.5)
    }

    /// Quantile of the distance of the first detector.
    pub fn detector(&self, share: f64) -> f64 {
        quantile(self.runs().flat_map(|s| s.detector.iter().copied()), share)
    }

    /// Transmissions per node and period.
    pub fn hops(&self) -> f64 {
        mean(self.runs().map(|s| s.hops))
    }

    /// Datagrams per node and period.
    pub fn messages(&self) -> f64 {
        mean(self.runs().map(|s| s.messages))
    }

    /// Bytes transmitted per node and period.
    pub fn byte_hops(&self) -> f64 {
        mean(self.runs().map(|s| s.byte_hops))
    }

    /// Metres per node and period.
    pub fn metres(&self) -> f64 {
        mean(self.runs().map(|s| s.metres))
    }

    /// Root of mean detection time times transmissions.
    pub fn product_hops(&self) -> f64 {
        (self.detection() * self.hops()).sqrt()
    }

    /// Root of mean detection time times metres.
    pub fn product_metres(&self) -> f64 {
        (self.detection() * self.metres()).sqrt()
    }

    /// Share of the time in which some running node was considered down, in percent.
    pub fn wronged_percent(&self) -> f64 {
        100.0 * mean(self.runs().map(|s| s.wronged))
    }

    /// Wrong verdicts about healthy nodes by healthy nodes, per healthy node and hour.
    pub fn flaps(&self) -> f64 {
        mean(self.runs().map(|s| s.flaps))
    }

    /// Wrong verdicts of a run that were not copied from others: of accusers (0), or of nodes that had only heard
    /// of the suspicion (1).
    pub fn begun(&self, by: usize) -> f64 {
        mean(self.runs().map(|s| s.begun[by]))
    }

    /// Suspicions of healthy nodes by healthy nodes, per healthy node and hour.
    pub fn doubts(&self) -> f64 {
        mean(self.runs().map(|s| s.doubts))
    }

    /// Share of correct nodes that never heard of a crash, in percent.
    pub fn unheard_percent(&self) -> f64 {
        100.0 * mean(self.runs().map(|s| s.unheard))
    }

    /// Distance of the farthest datagram of a run in metres, mean of the runs.
    pub fn farthest(&self) -> f64 {
        let far = |s: &Sample| s.by_metres.iter().rposition(|n| *n > 0).unwrap_or(0);
        mean(self.runs().map(|s| far(s) as f64))
    }

    /// Mean hops of a datagram.
    pub fn hops_per_message(&self) -> f64 {
        let (mut hops, mut count) = (0.0, 0.0);
        for sample in self.runs() {
            for (h, &n) in sample.by_hops.iter().enumerate() {
                hops += h as f64 * n as f64;
                count += n as f64;
            }
        }
        hops / count
    }

    /// Share of datagrams that travelled at most `limit` hops or metres.
    pub fn share_up_to(&self, of: impl Fn(&Sample) -> &Vec<u64>, limit: usize) -> f64 {
        let (mut below, mut count) = (0, 0);
        for sample in self.runs() {
            let counts = of(sample);
            below += counts.iter().take(limit + 1).sum::<u64>();
            count += counts.iter().sum::<u64>();
        }
        below as f64 / count as f64
    }
}
