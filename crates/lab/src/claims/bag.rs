//! Medley's examples and theorems about probe targets, played by a real node or computed exactly.

use crate::check::TOLERANCE;
use crate::claim::{Check, Claim, Experiment, Foil, Outcome};
use crate::stat::Estimate;
use consort_proto::membership::{Config, Msg, Proximity, TargetPolicy};
use consort_proto::wire::{Datagram, Frame};
use consort_proto::{Command, Config as NodeConfig};
use consort_sim::routes::Routes;
use consort_sim::units::{at_tu, tu};
use consort_sim::world::id_of;
use consort_sim::{Conditions, Engine, Layout, Oracle, Start, Topology, Trace, World, WorldConfig};

pub(super) const FIG2: Claim = Claim {
    id: "medley.fig2",
    source: "Medley, Fig. 2",
    title: "Shares of three members at distances 1, 2 and 4",
    metric: "share of a node's probes that goes to each",
    configuration: "one node, independent draws, 20 000 periods",
    published: "m=1: .571 .286 .143; m=2: .762 .190 .048 (the text rounds to 0.57, 0.28, 0.15)",
    rule: "each share within 15 % of the published one, and within .015 of it",
    foil: Foil::Wrong("uniform pinging", || fig2(|_| 0.0)),
    cause: None,
    experiment: Some(Experiment {
        cells: |_| Vec::new(),
        judge: |_| fig2(|m| m),
    }),
};

pub(super) const FIG3: Claim = Claim {
    id: "medley.fig3",
    source: "Medley, Fig. 3",
    title: "The bag of three members at distances 1, 2 and 4",
    metric: "how often each is probed in a super-round, and how many a pass has",
    configuration: "one node, m=1, bag in passes, 100 super-rounds",
    published: "bag [4, 2, 1], 7 periods, passes of 3, 2, 1, 1",
    rule: "exact in every super-round",
    foil: Foil::Wrong("random draws from the bag", || {
        fig3(TargetPolicy::BagRandom)
    }),
    cause: None,
    experiment: Some(Experiment {
        cells: |_| Vec::new(),
        judge: |_| fig3(TargetPolicy::BagPass),
    }),
};

pub(super) const TAB1: Claim = Claim {
    id: "medley.tab1",
    source: "Medley, Tab. 1 and Theorem 1 (i)",
    title: "Probes per distance travelled grow with m",
    metric: "expected probes over expected distance: the inverse of the mean distance of a probe",
    configuration: "density r^(1-m) on [d, R], R/d = 1.5, 2, 2.7, 5, 20; exact",
    published: "m = infinity is best when R/d is above e",
    rule: "strictly increasing in m for R/d = 5 and 20; smaller areas are medley.thm1",
    foil: Foil::Wrong("uniform pinging", || tab1(|_, x| ratio(0.0, x))),
    cause: None,
    experiment: Some(Experiment {
        cells: |_| Vec::new(),
        judge: |_| tab1(ratio),
    }),
};

pub(super) const THM1: Claim = Claim {
    id: "medley.thm1",
    source: "Medley, Theorem 1 (ii)",
    title: "m = 3 is optimal in small areas",
    metric: "ratio at m = infinity over ratio at m = 3",
    configuration: "R/d = 1.5, 2, 2.7; exact",
    published: "below 1 when R/d is below e (0.693 at R/d = 2)",
    rule: "refuted if the exact ratio is not below 1 for R/d = 1.5, 2 and 2.7",
    foil: Foil::Wrong("the published formula", || thm1(f64::ln)),
    cause: Some(
        "The published ratio at m = 3 drops the term 1/R exactly where it matters, in small areas. The \
         exact ratio of infinity to 3 is x ln x / (x - 1) with x = R/d, which is never below 1 (1.386 at \
         x = 2): by this measure a larger m is always better. m = 3 is a choice by experiment, not by \
         this theorem.",
    ),
    experiment: Some(Experiment {
        cells: |_| Vec::new(),
        judge: |_| thm1(|x| 1.0 / ratio(3.0, x)),
    }),
};

pub(super) const ROWS: Claim = Claim {
    id: "medley.tab1-rows",
    source: "Medley, Tab. 1",
    title: "Row by row, how far each exponent is from the best",
    metric: "probes per distance at m = infinity over those at m",
    configuration: "density r^(1-m) on [d, R], exact; the formulas drop what vanishes in large areas, so they are compared at \
        R/d = 100",
    published: "2x/3, x/2, x/log x and log x at m = 0, 1, 2 and 3; beyond, increasing to 1",
    rule: "each row within 15 % of its formula; refuted if the ratio falls with m beyond 3 instead of rising",
    foil: Foil::Wrong("the printed column, rising beyond m = 3", || {
        rows(|m| match m {
            0.0 => 66.67,
            1.0 => 50.0,
            2.0 => 21.71,
            3.0 => 4.605,
            m => 1.0 - 1.0 / m,
        })
    }),
    cause: Some(
        "Beyond m = 3 the ratio is (m-2)/(m-3) times a factor that tends to 1, which falls to 1 from above: m = infinity is the \
         best exponent by this measure, and the word in the table is a slip.",
    ),
    experiment: Some(Experiment {
        cells: |_| Vec::new(),
        judge: |_| rows(|m| 1.0 / ratio(m, ROWS_X)),
    }),
};

pub(super) const RANDOM: Claim = Claim {
    id: "medley.random",
    source: "Medley, section 6.3",
    title: "Random draws from the bag take almost twice as long",
    metric: "longest gap between two probes of one member, in periods",
    configuration: "one node, members at distances 1, 2 and 4, m=1 (S = 7), 20 000 periods of draws at random from the bag",
    published: "2 (N-2) alpha + 1, which is 2S - 1 = 13 where passes take at most 9",
    rule: "the longest gap is exactly 13",
    foil: Foil::Wrong("passes", || random(TargetPolicy::BagPass)),
    cause: None,
    experiment: Some(Experiment {
        cells: |_| Vec::new(),
        judge: |_| random(TargetPolicy::BagRandom),
    }),
};

pub(super) const THM2: Claim = Claim {
    id: "medley.thm2",
    source: "Medley, Theorem 2",
    title: "Where probing is symmetric, detection takes no longer than with SWIM",
    metric: "periods until somebody probes a crashed node: mean, and with probability 1 - 1/N",
    configuration: "independent draws on rings of 25, 49 and 201 nodes, m=0..5, exact; beside them the \
        worst node of random layouts of setup A, which are not symmetric",
    published: "mean at most 1/(1-1/e) = 1.582 periods; with high probability log N to the base 1/(1-1/e)",
    rule: "on every ring each node gets one probe a period, and the chance that it gets any is least at \
        m=0; mean at most 1.582; with high probability at most the published time",
    foil: Foil::Wrong("a row instead of a ring", || thm2(end_of_row)),
    cause: None,
    experiment: Some(Experiment {
        cells: |_| Vec::new(),
        judge: |_| thm2(ring),
    }),
};

pub(super) const THM3: Claim = Claim {
    id: "medley.thm3",
    source: "Medley, Theorem 3",
    title: "The bag bounds the gap between two probes of a member",
    metric: "longest gap between two probes of one member, in periods",
    configuration: "one node, members at distances 1, 2 and 4, m=1 (S = 7, K = 3), bag in passes, \
        20 000 periods; the same bag and larger ones with the order of every pass chosen by an adversary",
    published: "(N-2) alpha + N-1, which is S + K - 1 = 9",
    rule: "the node's passes are those of the bag, its gaps never above 9; the adversary reaches S + K - 1 \
        exactly, of this bag and of all others",
    foil: Foil::Wrong("random draws from the bag", || {
        thm3(TargetPolicy::BagRandom)
    }),
    cause: None,
    experiment: Some(Experiment {
        cells: |_| Vec::new(),
        judge: |_| thm3(TargetPolicy::BagPass),
    }),
};

const DISTANCES: [f32; 3] = [1.0, 2.0, 4.0];

/// Records the probe targets of host 0.
struct Probes(Vec<usize>);

impl Oracle for Probes {
    fn on_dispatch(&mut self, _: &World, from: usize, to: usize, d: &Datagram, _: Option<u64>) {
        let ping = |frame: &&Frame| matches!(frame, Frame::Membership(Msg::Ping { .. }));
        let pings = d.frames.iter().filter(ping).count();
        if from == 0 {
            self.0.extend(core::iter::repeat_n(to, pings));
        }
    }
}

/// The targets that a node with members at [`DISTANCES`] probes, one per period; members count from 0.
fn probes(policy: TargetPolicy, m: f32, periods: usize) -> Vec<usize> {
    let hosts = DISTANCES.len() + 1;
    let mut membership = Config::paper(tu(20.0), tu(80.0));
    membership.probe_policy = policy;
    membership.distance_exponent = m;
    let layout = Layout::draw(&Topology::Full, hosts, 1.0, 1.0, 0).expect("a full layout exists");
    let config = WorldConfig {
        node: NodeConfig {
            membership,
            ..NodeConfig::default()
        },
        layout,
        conditions: Conditions::default(),
        seed: 1,
        start: Start::Warm { seeds: 0 },
        sample_every: None,
        trace: Trace::default(),
    };
    let mut engine =
        Engine::new(config, Probes(Vec::new())).expect("the papers' settings are valid");
    let proximities = DISTANCES
        .iter()
        .enumerate()
        .map(|(i, &distance)| Proximity {
            id: id_of(i + 1),
            distance,
            neighbor: true,
        });
    let set = Command::SetProximity(proximities.collect());
    let run = engine
        .command(0, set)
        .and_then(|()| engine.run_until(at_tu(20.0 * (periods + 1) as f64)));
    run.expect("this oracle stops nothing");
    let mut seen = engine.into_oracle().0;
    seen.truncate(periods);
    seen.iter().map(|host| host - 1).collect()
}

/// Takes the function that maps the configured exponent to the one a node uses.
fn fig2(exponent: fn(f32) -> f32) -> Outcome {
    let mut out = Outcome::new("member", "share of the probes");
    const PERIODS: usize = 20_000;
    for (m, expected) in [(1.0, [0.571, 0.286, 0.143]), (2.0, [0.762, 0.190, 0.048])] {
        let seen = probes(TargetPolicy::Iid, exponent(m), PERIODS);
        let shares = [0, 1, 2].map(|member| {
            let count = seen.iter().filter(|s| **s == member).count();
            let value = count as f64 / PERIODS as f64;
            let se = (value * (1.0 - value) / PERIODS as f64).sqrt();
            let n = PERIODS;
            Estimate { value, se, n }
        });
        let points = shares.iter().enumerate();
        out.curve(format!("m={m}"), points.map(|(i, s)| (i as f64, *s)));
        out.published(
            format!("m={m}"),
            (0..3).map(|i| (f64::from(i), expected[i as usize])),
        );
        for ((share, p), distance) in shares.into_iter().zip(expected).zip(DISTANCES) {
            let what = format!("m={m}, distance {distance}");
            let by = (TOLERANCE * p).min(0.015);
            out.value(what, p, by, share);
        }
    }
    out
}

fn fig3(policy: TargetPolicy) -> Outcome {
    let mut out = Outcome::new("member", "probes in a super-round");
    let seen = probes(policy, 1.0, 700);
    let (mut counts_hold, mut passes_hold) = (0, 0);
    for round in seen.chunks(7) {
        let count = |member: usize| round.iter().filter(|s| **s == member).count();
        counts_hold += u32::from([count(0), count(1), count(2)] == [4, 2, 1]);
        let mut pass = round[..3].to_vec();
        pass.sort_unstable();
        let first = pass == [0, 1, 2];
        let mut pass = round[3..5].to_vec();
        pass.sort_unstable();
        passes_hold += u32::from(first && pass == [0, 1] && round[5..] == [0, 0]);
    }
    let count = |member| seen.iter().filter(|s| **s == member).count() as f64 / 100.0;
    let points = [0, 1, 2].map(|i| (i as f64, Estimate::exact(count(i))));
    out.curve("probes", points);
    for (what, found) in [
        ("super-rounds of 100 with 4, 2 and 1 probes", counts_hold),
        (
            "super-rounds of 100 with passes of 3, 2, 1 and 1",
            passes_hold,
        ),
    ] {
        let found = Estimate::exact(f64::from(found));
        out.exactly(what, 100.0, found);
    }
    out
}

/// Probes per distance at exponent `m` when members are spread evenly between 1 and `x`.
fn ratio(m: f64, x: f64) -> f64 {
    // The integral of r^p from 1 to x.
    let integral = |p: f64| match (p + 1.0).abs() < 1e-12 {
        true => x.ln(),
        false => (x.powf(p + 1.0) - 1.0) / (p + 1.0),
    };
    integral(1.0 - m) / integral(2.0 - m)
}

fn tab1(ratio: fn(f64, f64) -> f64) -> Outcome {
    let mut out = Outcome::new("exponent m", "probes per distance, nearest member = 1");
    for x in [1.5, 2.0, 2.7, 5.0, 20.0] {
        let ratios: Vec<f64> = (0..=8).map(|m| ratio(f64::from(m), x)).collect();
        let points = ratios.iter().enumerate();
        out.curve(
            format!("R/d={x}"),
            points.map(|(m, r)| (m as f64, Estimate::exact(*r))),
        );
        let rises = ratios.windows(2).all(|w| w[0] < w[1]) && ratios[8] < 1.0;
        if x > core::f64::consts::E {
            let what = format!("R/d={x}: increasing in m");
            out.check(Check::holds(what, "m = infinity is best", rises));
        }
    }
    out
}

/// R/d at which the rows of Table 1 are compared.
const ROWS_X: f64 = 100.0;

/// Takes the ratio at infinity over that at m.
fn rows(over: impl Fn(f64) -> f64) -> Outcome {
    let mut out = Outcome::new("exponent m", "ratio at infinity over ratio at m, R/d=100");
    let all = (0..=12).map(|m| over(f64::from(m)));
    let all: Vec<f64> = all.collect();
    let points = all.iter().enumerate();
    out.curve(
        "exact",
        points.map(|(m, ratio)| (m as f64, Estimate::exact(*ratio))),
    );
    let printed = [
        2.0 / 3.0 * ROWS_X,
        ROWS_X / 2.0,
        ROWS_X / ROWS_X.ln(),
        ROWS_X.ln(),
    ];
    for (m, (printed, ours)) in printed.into_iter().zip(&all).enumerate() {
        let printed = (printed * 1e3).round() / 1e3;
        let what = format!("m={m}");
        out.near(what, printed, Estimate::exact(*ours));
    }
    let falls = all[4..].windows(2).all(|w| w[1] < w[0]) && all[12] > 1.0;
    let what = "m=4 to 12: the ratio falls towards 1";
    out.check(Check::disproved(what, "increasing, tends to 1", falls));
    out
}

/// Takes the function that draws from the bag.
fn random(policy: TargetPolicy) -> Outcome {
    let mut out = Outcome::new("member", "longest gap, periods");
    let seen = probes(policy, 1.0, 20_000);
    let longest = [0, 1, 2].map(|member| longest_gap(&seen, member));
    let points = longest.iter().enumerate();
    out.curve(
        "gap",
        points.map(|(i, gap)| (i as f64, Estimate::exact(*gap as f64))),
    );
    let worst = longest.into_iter().max().unwrap_or(0);
    let worst = Estimate::exact(worst as f64);
    out.exactly("longest gap of the node", 13.0, worst);
    out
}

/// Takes the ratio at infinity over that at 3, by R/d.
fn thm1(over: fn(f64) -> f64) -> Outcome {
    let mut out = Outcome::new("R/d", "ratio at infinity over ratio at 3");
    let points = [1.5, 2.0, 2.7].map(|x| (x, Estimate::exact(over(x))));
    out.curve("exact", points);
    for (x, ours) in points {
        let published = if x == 2.0 { "0.693" } else { "below 1" };
        let what = format!("R/d={x}: the ratio is {:.3}, not below 1", ours.value);
        let disproved = ours.value >= 1.0;
        out.check(Check::disproved(what, published, disproved));
    }
    out
}

/// Shares that a node gives to others at these distances.
fn shares(distances: &[f64], m: f64) -> Vec<f64> {
    let weights: Vec<f64> = distances.iter().map(|r| r.powf(-m)).collect();
    let sum: f64 = weights.iter().sum();
    weights.iter().map(|w| w / sum).collect()
}

/// Probability that a node that receives these shares of others' probes receives none in a period.
fn missed(incoming: &[f64]) -> f64 {
    incoming.iter().map(|p| 1.0 - p).product()
}

/// Shares of the others' probes that a node of a ring receives, which equal those it gives.
fn ring(n: usize, m: f64) -> Vec<f64> {
    let distances: Vec<f64> = (1..n).map(|k| k.min(n - k) as f64).collect();
    shares(&distances, m)
}

/// Shares of the others' probes that the end of a row receives: probing is not symmetric.
fn end_of_row(n: usize, m: f64) -> Vec<f64> {
    let given = |from: usize| {
        let others = (0..n).filter(|&to| to != from);
        let distances: Vec<f64> = others.map(|to| from.abs_diff(to) as f64).collect();
        shares(&distances, m)[0]
    };
    (1..n).map(given).collect()
}

fn thm2(received: fn(usize, f64) -> Vec<f64>) -> Outcome {
    let mut out = Outcome::new("exponent m", "periods until somebody probes a crashed node");
    let base = 1.0 / (1.0 - (-1.0_f64).exp());
    for n in [25_usize, 49, 201] {
        let incoming = (0..=5).map(|m| received(n, f64::from(m)));
        let incoming: Vec<Vec<f64>> = incoming.collect();
        let misses: Vec<f64> = incoming.iter().map(|p| missed(p)).collect();
        let means = misses.iter().map(|miss| 1.0 / (1.0 - miss));
        let points = means
            .enumerate()
            .map(|(m, t)| (m as f64, Estimate::exact(t)));
        out.curve(format!("ring of {n}, mean"), points);
        let one = |p: &Vec<f64>| (p.iter().sum::<f64>() - 1.0).abs() < 1e-9;
        let what = format!("ring of {n}: one probe a period");
        out.check(Check::holds(what, "1", incoming.iter().all(one)));
        let least = misses.iter().all(|&miss| miss <= misses[0] + 1e-12);
        let what = format!("ring of {n}: most missed at m=0");
        out.check(Check::holds(what, "FP(m) >= FP(0)", least));
        let mean = Estimate::exact(1.0 / (1.0 - misses[0]));
        let what = format!("ring of {n}, mean at m=0");
        out.at_most(what, "1.582", mean, base);
        let (published, ours) = (
            (n as f64).ln() / base.ln(),
            (n as f64).ln() / -misses[0].ln(),
        );
        let what = format!("ring of {n}, 1 - 1/N at m=0");
        let text = format!("{published:.2}");
        out.at_most(what, text, Estimate::exact(ours), published);
    }
    // E4: without symmetry a node far from all others receives hardly any probes.
    let worst = (0..=5).map(|m| {
        let worst: Vec<f64> = (0..LAYOUTS)
            .map(|seed| worst_wait(seed, f64::from(m)))
            .collect();
        let mean = worst.iter().sum::<f64>() / worst.len() as f64;
        (f64::from(m), Estimate::exact(mean))
    });
    out.curve("random, the worst node of 25, mean of 40 layouts", worst);
    out
}

/// Number of random layouts that are compared with the rings.
const LAYOUTS: u64 = 40;

/// Mean number of periods until the node that is probed most rarely is probed, on a random layout of setup A.
fn worst_wait(seed: u64, m: f64) -> f64 {
    let layout = Layout::draw(&Topology::Random, 25, 50.0, 20.0, seed);
    let mut routes = Routes::new(layout.expect("such layouts are connected soon"));
    let mut incoming = vec![Vec::new(); 25];
    for from in 0..25 {
        let others: Vec<usize> = (0..25).filter(|&to| to != from).collect();
        let length = |&to: &usize| f64::from(routes.length(from, to).unwrap_or(f32::INFINITY));
        let distances: Vec<f64> = others.iter().map(length).collect();
        for (to, share) in others.into_iter().zip(shares(&distances, m)) {
            incoming[to].push(share);
        }
    }
    let waits = incoming.iter().map(|p| 1.0 / (1.0 - missed(p)));
    waits.fold(0.0, f64::max)
}

/// Probes in super-rounds of a bag: the counts determine the members of each pass, `order` their order, given the
/// numbers of the super-round and of the pass.
fn play(
    counts: &[u64],
    rounds: usize,
    mut order: impl FnMut(usize, u64, &mut Vec<usize>),
) -> Vec<usize> {
    let most = counts.iter().copied().max().unwrap_or(0);
    let mut seen = Vec::new();
    for round in 0..rounds {
        for pass in 0..most {
            let mut members: Vec<usize> = (0..counts.len()).filter(|&i| counts[i] > pass).collect();
            order(round, pass, &mut members);
            seen.extend(members);
        }
    }
    seen
}

/// Longest gap between two probes of a member.
fn longest_gap(seen: &[usize], member: usize) -> usize {
    let at: Vec<usize> = (0..seen.len()).filter(|i| seen[*i] == member).collect();
    at.windows(2).map(|w| w[1] - w[0]).max().unwrap_or(0)
}

/// The adversary: the last member, which has one ball, comes first in a super-round, and last in the first pass of
/// the next.
fn adverse_gap(counts: &[u64]) -> usize {
    let far = counts.len() - 1;
    let seen = play(counts, 2, |round, pass, members| {
        if (round, pass) == (0, 0) {
            members.rotate_right(1);
        }
    });
    longest_gap(&seen, far)
}

fn thm3(policy: TargetPolicy) -> Outcome {
    let mut out = Outcome::new("member", "longest gap, periods");
    const ROUNDS: usize = 2_857;
    let seen = probes(policy, 1.0, 7 * ROUNDS);
    let longest = [0, 1, 2].map(|member| longest_gap(&seen, member));
    let points = longest.iter().enumerate();
    out.curve(
        "gap",
        points.map(|(i, gap)| (i as f64, Estimate::exact(*gap as f64))),
    );
    // The node's orders, replayed from the bag, must give the node's probes.
    let mut heard = seen.iter();
    let played = play(&[4, 2, 1], ROUNDS, |_, _, members| {
        let rank = |m: &usize, next: &[usize]| next.iter().position(|n| n == m);
        let next: Vec<usize> = heard.by_ref().take(members.len()).copied().collect();
        members.sort_by_key(|m| rank(m, &next));
    });
    let what = "the node's probes are passes of the bag";
    out.check(Check::holds(what, "passes", played == seen));
    let worst = longest.into_iter().max().unwrap_or(0);
    let worst = Estimate::exact(worst as f64);
    out.at_most("longest gap of the node", "9", worst, 9.0);
    for counts in [
        &[4, 2, 1][..],
        &[4, 1, 1, 1, 1],
        &[36, 16, 4, 4, 1],
        &[1, 1, 1, 1],
        &[4_578, 900, 300, 70, 2, 2, 1, 1],
    ] {
        let bound = counts.iter().sum::<u64>() as usize + counts.len() - 1;
        let gap = Estimate::exact(adverse_gap(counts) as f64);
        let what = format!("adversary, bag {counts:?}");
        out.exactly(what, bound as f64, gap);
    }
    out
}
