//! Chapter 7: estimating c.

use crate::cell::{Cell, Data};
use crate::claim::{Check, Claim, Experiment, Outcome, Verdict};
use crate::sample::Values;
use crate::stat::Estimate;
use consort_papers::churn::{
    Missing, Mode, count_feedback, feedback, moving_average, sample_size, sample_size_literal,
    shrunken_maximum, within_population, z_score,
};
use consort_proto::{NodeId, Rng};

const LISTS: &str = "5 low hashes, each missing in exactly c random lists, drawn anew each round; c has \
    mean N/10 and deviation N/20 and follows an AR(1) process with coefficient 0.95";

/// The claims of this chapter.
pub(super) const CLAIMS: &[Claim] = &[
    Claim {
        id: "election.tab7.1",
        source: "Thesis, Tab. 7.1",
        title: "How many lists to sample",
        metric: "lists for a margin of 2, 5, 10 % of N at 90 and 95 % confidence, p=0.1",
        configuration: "formulas",
        published: "203, 214, 32, 34, 8, 9",
        rule: "the printed formula gives all six; with the quantile of the normal distribution 609, 865, \
            98, 139, 25, 35, and 106, 112, 56, 67, 21, 28 of 128 nodes",
        expected: Verdict::Reproduced,
        cause: None,
        experiment: Some(Experiment {
            cells: |_| Vec::new(),
            judge: tab7_1,
        }),
    },
    Claim {
        id: "election.fig7.3",
        source: "Thesis, Fig. 7.3",
        title: "Accuracy of the estimators",
        metric: "(estimate - c) / N, mean and deviation over 100 rounds after 50, %",
        configuration: LISTS,
        published: "larger samples are better; Feedback deviates least and is too low at large N; \
            Z-score is too high, more so at large N; Sample-Window deviates less; all within 4.5 % at \
            s=50",
        rule: "Z-score +2 to 6 at s=50 and +9 to 13 at s=10, for N of 128 and more; Feedback at least -2 \
            at 128, -3 to -6 at 512, -4 to -9 at 1024; Sample-Window deviates less than Z-score at s=10; \
            counts within 1 everywhere",
        expected: Verdict::Reproduced,
        cause: None,
        experiment: Some(Experiment {
            cells: |budget| {
                SIZES
                    .map(|n| moving(n, 0.1).runs(budget.pick(100, 400)))
                    .to_vec()
            },
            judge: fig7_3,
        }),
    },
    Claim {
        id: "election.fig7.4",
        source: "Thesis, Fig. 7.4",
        title: "Feedback follows a moving c",
        metric: "root of the mean square of (estimate - c) / N over 100 rounds, %",
        configuration: LISTS,
        published: "follows c closely; N=128, alpha=0.2",
        rule: "at most 6",
        expected: Verdict::Reproduced,
        cause: None,
        experiment: Some(Experiment {
            cells: |budget| vec![moving(128, 0.2).runs(budget.pick(100, 400))],
            judge: fig7_4,
        }),
    },
    Claim {
        id: "election.fig7.5",
        source: "Thesis, Fig. 7.5",
        title: "Feedback converges from a wrong start",
        metric: "estimate by round",
        configuration: "N=128, 5 low hashes missing in 13 random lists that stay, 5 initiators, estimate \
            1 at first, alpha=0.1",
        published: "about 20 rounds",
        rule: "mean within 2 of 13 at some round from 20 to 30 on; the printed formula, without a bound, \
            runs away: above 26 at round 30",
        expected: Verdict::Reproduced,
        cause: None,
        experiment: Some(Experiment {
            cells: |budget| {
                let cells =
                    [0.0, 1.0].map(|literal| Cell::numbers("converge", &[literal], converge));
                cells.map(|c| c.runs(budget.pick(200, 1000))).to_vec()
            },
            judge: fig7_5,
        }),
    },
];

const SIZES: [u32; 5] = [64, 128, 256, 512, 1024];
const SAMPLES: [usize; 3] = [10, 30, 50];
const INITIATORS: u32 = 5;
/// Low hashes that are missing somewhere.
const LOW: usize = 5;
const BURN_IN: usize = 50;
const ROUNDS: usize = 100;

/// Lists that lack low hashes.
struct Lists {
    nodes: u32,
    /// By low hash and node.
    lacks: Vec<Vec<bool>>,
    order: Vec<usize>,
}

impl Lists {
    fn new(nodes: u32) -> Lists {
        Lists {
            nodes,
            lacks: vec![vec![false; nodes as usize]; LOW],
            order: (0..nodes as usize).collect(),
        }
    }

    /// `count` random nodes.
    fn pick(&mut self, count: usize, rng: &mut Rng) -> Vec<usize> {
        let count = count.min(self.order.len());
        for at in 0..count {
            let left = (self.order.len() - at) as u32;
            self.order.swap(at, at + rng.below(left) as usize);
        }
        self.order[..count].to_vec()
    }

    /// Every low hash is missing in exactly `c` lists of others.
    fn draw(&mut self, c: usize, rng: &mut Rng) {
        for low in 0..LOW {
            let picked = self.pick(c + 1, rng);
            self.lacks[low].fill(false);
            for at in picked.into_iter().filter(|&at| at != low).take(c) {
                self.lacks[low][at] = true;
            }
        }
    }

    /// What a node answers: the lowest hash that it lists.
    fn best(&self, at: usize) -> usize {
        (0..LOW).find(|&low| !self.lacks[low][at]).unwrap_or(LOW)
    }

    /// Counts in the lists of `sample` random nodes.
    fn sample(&mut self, sample: usize, rng: &mut Rng) -> Vec<Missing> {
        let picked = self.pick(sample, rng);
        let count = |low: usize| {
            let others = picked.iter().filter(|&&at| at != low);
            let missing = others.clone().filter(|&&at| self.lacks[low][at]).count();
            Missing {
                id: NodeId(low as u64),
                missing: missing as u32,
                of: others.count() as u32,
            }
        };
        (0..LOW).map(count).collect()
    }

    /// A round of elections with the estimate `c`: how many initiators saw several candidates, how many
    /// answers there were, and how many of these lacked the leader.
    fn elections(&mut self, c: f64, rng: &mut Rng) -> (u32, u32, u32) {
        let (mut several, mut answers, mut lacking) = (0, 0, 0);
        for _ in 0..INITIATORS {
            let asked = self.pick(c.max(0.0).ceil() as usize + 1, rng);
            let best: Vec<usize> = asked.iter().map(|&at| self.best(at)).collect();
            let leader = best.iter().copied().min().unwrap_or(LOW);
            let others = best.iter().filter(|&&b| b != leader).count() as u32;
            several += u32::from(others > 0);
            answers += best.len() as u32;
            lacking += others;
        }
        (several, answers, lacking)
    }
}

/// About a standard normal number, from sums only: the same on every machine.
fn normal(rng: &mut Rng) -> f64 {
    (0..12).map(|_| rng.unit()).sum::<f64>() - 6.0
}

fn moving(nodes: u32, alpha: f64) -> Cell {
    Cell::numbers("moving", &[nodes.into(), alpha], follow)
}

/// A moving c and what the estimators make of it.
fn follow(args: &[f64], seed: u64) -> Values {
    let (nodes, alpha) = (args[0] as u32, args[1]);
    let n = f64::from(nodes);
    let mut rng = Rng::seed(seed, 3);
    let mut lists = Lists::new(nodes);
    let (mean, deviation) = (n / 10.0, n / 20.0);
    let mut level = mean + deviation * normal(&mut rng);
    let (mut fed, mut counted) = (mean, mean);
    let mut windows = [mean; SAMPLES.len()];
    let mut errors = alloc::collections::BTreeMap::<String, Vec<f64>>::new();
    let mut values = Values::new();
    for round in 0..BURN_IN + ROUNDS {
        level = mean + 0.95 * (level - mean) + deviation * 0.0975_f64.sqrt() * normal(&mut rng);
        let c = level.round().clamp(0.0, n - 1.0);
        lists.draw(c as usize, &mut rng);
        let mut note = |name: String, estimate: f64| {
            if round >= BURN_IN {
                let error = 100.0 * (estimate - c) / n;
                errors.entry(name).or_default().push(error);
            }
        };
        for (window, s) in windows.iter_mut().zip(SAMPLES) {
            let counts = lists.sample(s, &mut rng);
            let z = z_score(nodes, &counts);
            *window = moving_average(alpha, z, *window);
            note(format!("z{s}"), z);
            note(format!("window{s}"), *window);
            note(format!("shrunken{s}"), shrunken_maximum(nodes, &counts));
        }
        let (several, answers, lacking) = lists.elections(fed, &mut rng);
        if let Some(new) = feedback(nodes, fed, INITIATORS, several, Mode::Clamped) {
            fed = moving_average(alpha, new, fed);
        }
        if let Some(new) = count_feedback(nodes, answers, lacking) {
            counted = moving_average(alpha, new, counted);
        }
        note("feedback".into(), fed);
        note("count".into(), counted);
        if round >= BURN_IN {
            let at = round - BURN_IN;
            values.insert(format!("c@{at}"), c);
            values.insert(format!("feedback@{at}"), fed);
        }
    }
    for (name, errors) in errors {
        let count = errors.len() as f64;
        let bias = errors.iter().sum::<f64>() / count;
        let square = errors.iter().map(|e| e * e).sum::<f64>() / count;
        values.insert(format!("{name}.bias"), bias);
        values.insert(format!("{name}.rmse"), square.sqrt());
        values.insert(format!("{name}.sd"), (square - bias * bias).max(0.0).sqrt());
    }
    // Traces are for the figure that shows one.
    if alpha < 0.15 {
        values.retain(|name, _| !name.contains('@'));
    }
    values
}

/// A fixed c and an estimate that starts far below it.
fn converge(args: &[f64], seed: u64) -> Values {
    let mode = match args[0] > 0.0 {
        true => Mode::Literal,
        false => Mode::Clamped,
    };
    let mut rng = Rng::seed(seed, 4);
    let mut lists = Lists::new(128);
    lists.draw(13, &mut rng);
    let (mut c, mut values) = (1.0, Values::new());
    for round in 1..=40 {
        let (several, ..) = lists.elections(c, &mut rng);
        if let Some(new) = feedback(lists.nodes, c, INITIATORS, several, mode) {
            c = moving_average(0.1, new, c);
        }
        values.insert(format!("{round}"), c);
    }
    values
}

fn tab7_1(_: &Data<'_>) -> Outcome {
    let cells = [0.02, 0.05, 0.1].into_iter();
    let cells: Vec<(f64, f64)> = cells.flat_map(|e| [(e, 0.9), (e, 0.95)]).collect();
    let of = |f: &dyn Fn(f64, f64) -> u32| -> Vec<u32> {
        cells.iter().map(|&(margin, x)| f(margin, x)).collect()
    };
    let literal = of(&|e, x| sample_size_literal(0.1, e, x));
    let exact = of(&|e, x| sample_size(0.1, e, x));
    let few = of(&|e, x| within_population(0.1, e, x, 128));
    let checks = vec![
        Check::holds(
            "printed formula",
            "203, 214, 32, 34, 8, 9",
            literal == [203, 214, 32, 34, 8, 9],
        ),
        Check::holds("true quantile", "", exact == [609, 865, 98, 139, 25, 35]),
        Check::holds("of 128 nodes", "", few == [106, 112, 56, 67, 21, 28]),
    ];
    Outcome {
        checks,
        ..Outcome::default()
    }
}

fn fig7_3(data: &Data<'_>) -> Outcome {
    let mut out = Outcome::new("nodes", "(estimate - c) / N, %");
    let of = |n: u32, name: &str| data.one(&moving(n, 0.1), |v| v.value(name));
    let names = [
        "z10",
        "z30",
        "z50",
        "window10",
        "window50",
        "feedback",
        "count",
        "shrunken50",
    ];
    for name in names {
        let bias = format!("{name}.bias");
        let points = SIZES.map(|n| (f64::from(n), of(n, &bias)));
        out.curve(name, points);
    }
    for &n in &SIZES[1..] {
        for (name, published, bounds) in [
            ("z50", "within 4.5", (2.0, 6.0)),
            ("z10", "too high", (9.0, 13.0)),
        ] {
            let bias = of(n, &format!("{name}.bias"));
            let check = Check::within(format!("{name}, N={n}"), published, bias, bounds);
            out.checks.push(check);
        }
    }
    for (n, bounds) in [
        (128, (-2.0, f64::INFINITY)),
        (512, (-6.0, -3.0)),
        (1024, (-9.0, -4.0)),
    ] {
        let bias = of(n, "feedback.bias");
        let published = if n == 128 { "accurate" } else { "too low" };
        let what = format!("feedback, N={n}");
        out.checks
            .push(Check::within(what, published, bias, bounds));
    }
    for n in SIZES {
        let ratio = data.one(&moving(n, 0.1), |v| {
            v.value("window10.sd") / v.value("z10.sd")
        });
        let what = format!("deviation at s=10, window over z, N={n}");
        out.checks.push(Check::at_most(what, "below 1", ratio, 1.0));
        let bias = of(n, "count.bias");
        let what = format!("count, N={n}");
        out.checks.push(Check::within(what, "", bias, (-1.0, 1.0)));
    }
    out
}

fn fig7_4(data: &Data<'_>) -> Outcome {
    let mut out = Outcome::new("round", "c");
    let cell = moving(128, 0.2);
    for (name, value) in [("c", "c"), ("feedback", "feedback")] {
        let points = (0..ROUNDS).map(|at| {
            // One run as an example.
            let first = |v: &crate::sample::View<'_>| v.all(&format!("{value}@{at}")).next();
            let first = data.one(&cell, |v| first(v).unwrap_or(f64::NAN));
            (at as f64, Estimate::exact(first.value))
        });
        out.curve(name, points);
    }
    let rmse = data.one(&cell, |v| v.value("feedback.rmse"));
    let what = "root mean square error, % of N";
    out.checks
        .push(Check::at_most(what, "follows closely", rmse, 6.0));
    out
}

fn fig7_5(data: &Data<'_>) -> Outcome {
    let mut out = Outcome::new("round", "estimate of 13");
    let cells = [0.0, 1.0].map(|literal| Cell::numbers("converge", &[literal], converge));
    let of = |cell: &Cell, round: u32| data.one(cell, |v| v.value(&format!("{round}")));
    for (name, cell) in ["bounded", "as printed"].into_iter().zip(&cells) {
        let points = (1..=40).map(|round| (f64::from(round), of(cell, round)));
        out.curve(name, points);
    }
    let near = (20..=30).map(|round| of(&cells[0], round)).min_by(|a, b| {
        let off = |e: &Estimate| (e.value - 13.0).abs();
        off(a).total_cmp(&off(b))
    });
    if let Some(near) = near {
        let what = "nearest mean from round 20 to 30";
        out.checks
            .push(Check::within(what, "13", near, (11.0, 15.0)));
    }
    let what = "mean at round 30";
    let late = of(&cells[0], 30);
    out.checks
        .push(Check::within(what, "13", late, (11.0, 15.0)));
    let away = of(&cells[1], 30);
    let what = "as printed, round 30";
    out.checks.push(Check::at_least(what, "", away, 26.0));
    out
}
