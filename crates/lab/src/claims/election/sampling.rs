//! Chapter 7: the estimators as messages.

use crate::cell::{Cell, Data};
use crate::claim::{Check, Claim, Experiment, Foil, Outcome};
use crate::sample::Values;
use consort_papers::churn::talk::{Config, Event, Form, Input, Method, Msg, PaperChurn, View};
use consort_proto::kit::{Host, Net, Scene};
use consort_proto::{NodeId, Rng};
use core::time::Duration;

const WORLD: &str = "128 nodes whose leader estimates c by messages from end to end: 5 low hashes are missing in 13 random \
    lists each, or in none; 20 rounds, lists drawn anew for each run; lists are sent in datagrams of 1400 bytes";

/// The claims of this section.
pub(super) const CLAIMS: &[Claim] = &[
    Claim {
        id: "election.alg6",
        source: "Thesis, Alg. 6",
        title: "Z-score sampling as printed",
        metric: "estimate of c after a round, by messages; how often it exceeds the number of nodes",
        configuration: WORLD,
        published: "k is the number of lists from which the most absent node is absent, and the estimate is k N / s; the algorithm \
            prints k = N - freqs[node]",
        rule: "refuted if the printed algorithm estimates more than N where all lists are complete. Beside it our reading: \
            (N - s + 1) N / s for s = 10, 30 and 50 (1 % either way), since lists do not name their owner; the repaired form is 0 \
            there, above c by at most 6 % of N where 13 lists lack a node and s = 50, and its bias changes by at most 4 % of N if a \
            fifth of the messages is lost",
        foil: Foil::Wrong("the repaired form", || {
            alg6(&|case, value| {
                let values = rounds(
                    &Case {
                        form: Form::Repaired,
                        ..case
                    }
                    .args(),
                    1,
                );
                crate::stat::Estimate::exact(values[value])
            })
        }),
        cause: Some(
            "Line 15 takes N, all nodes, for the number of lists that were received: a node that is in every one of 50 received lists is absent \
             from 78 of 128. The text in front of the algorithm counts the lists that lack it.",
        ),
        experiment: Some(Experiment {
            cells: |_| cases().map(|c| c.cell().runs(20)).collect(),
            judge: |data| alg6(&|case, value| data.one(&case.cell(), |v| v.value(value))),
        }),
    },
    Claim {
        id: "election.sec7.3",
        source: "Thesis, section 7.3.2",
        title: "What the estimators send",
        metric: "messages and bytes of a round, the announcement to all included; (estimate - c) / N, %",
        configuration: WORLD,
        published: "the estimation becomes more precise with the sample, at the cost of additional network bandwidth usage due to extra \
            messages",
        rule: "where 13 lists lack a node: bytes and messages of the repaired Z-score more at s=30 than at 10 and at 50 than at 30, \
            and its error of a round less. Beside it our reading: Feedback sends less than Z-score at s=10, and more than its \
            announcement",
        foil: Foil::NoEffect,
        cause: None,
        experiment: Some(Experiment {
            cells: |_| cases().map(|c| c.cell().runs(20)).collect(),
            judge: traffic,
        }),
    },
];

const NODES: u64 = 128;
/// Low hashes that some lists lack.
const LOW: u64 = 5;
const LACKING: u64 = 13;
const INITIATORS: u64 = 5;
const ROUNDS: u32 = 20;
const SAMPLES: [u16; 3] = [10, 30, 50];

/// A configuration of a group.
#[derive(Clone, Copy)]
struct Case {
    method: Method,
    form: Form,
    sample: u16,
    /// Lists that lack each low hash.
    lacking: u64,
    loss: f64,
}

impl Case {
    const fn sampling(form: Form, sample: u16, lacking: u64) -> Case {
        let (method, loss) = (Method::ZScore, 0.0);
        Case {
            method,
            form,
            sample,
            lacking,
            loss,
        }
    }

    const fn feedback(form: Form) -> Case {
        let method = Method::Feedback;
        Case {
            method,
            ..Case::sampling(form, 0, LACKING)
        }
    }

    fn args(&self) -> [f64; 5] {
        let method = f64::from(u8::from(self.method == Method::Feedback));
        let form = f64::from(u8::from(self.form == Form::Repaired));
        [
            method,
            form,
            f64::from(self.sample),
            self.lacking as f64,
            self.loss,
        ]
    }

    fn cell(&self) -> Cell {
        Cell::numbers("estimators", &self.args(), rounds)
    }
}

const FORMS: [(Form, &str); 2] = [(Form::Printed, "as printed"), (Form::Repaired, "repaired")];
const LOSSY: Case = Case {
    loss: 0.2,
    ..Case::sampling(Form::Repaired, 50, LACKING)
};

fn cases() -> impl Iterator<Item = Case> {
    let sampling = FORMS.into_iter().flat_map(|(form, _)| {
        let both = [0, LACKING].into_iter();
        both.flat_map(move |lacking| SAMPLES.map(|s| Case::sampling(form, s, lacking)))
    });
    let feedback = FORMS.map(|(form, _)| Case::feedback(form));
    sampling.chain(feedback).chain([LOSSY])
}

/// The list of each node.
struct Lists(Vec<Vec<NodeId>>);

impl Scene<PaperChurn> for Lists {
    fn view(&self, at: u64) -> View<'_> {
        View(&self.0[at as usize])
    }

    fn multicast(event: &Event) -> Option<Msg> {
        match event {
            Event::Multicast(msg) => Some(msg.clone()),
            Event::Estimated(_) => None,
        }
    }
}

impl Lists {
    /// Lists of which `lacking` random ones lack each low hash.
    fn draw(lacking: u64, rng: &mut Rng) -> Lists {
        let full = |at: u64| (0..NODES).filter(|id| *id != at).map(NodeId).collect();
        let mut lists: Vec<Vec<NodeId>> = (0..NODES).map(full).collect();
        for low in 0..LOW {
            let mut others: Vec<u64> = (0..NODES).filter(|at| *at != low).collect();
            rng.shuffle(&mut others);
            for at in &others[..lacking as usize] {
                lists[*at as usize].retain(|id| id.0 != low);
            }
        }
        Lists(lists)
    }

    /// What a random initiator sees if it asks so many lists: the answers that do not name node 0, and how many
    /// candidates there are.
    fn elect(&self, asked: usize, rng: &mut Rng) -> (u64, Input) {
        let mut nodes: Vec<u64> = (0..NODES).collect();
        rng.shuffle(&mut nodes);
        let asked = asked.clamp(1, nodes.len());
        let best = |at: &u64| match self.0[*at as usize].first() {
            Some(first) => first.0.min(*at),
            None => *at,
        };
        let mut named: Vec<u64> = nodes[..asked].iter().map(best).collect();
        let lacking = named.iter().filter(|n| **n != 0).count() as u16;
        named.sort_unstable();
        named.dedup();
        let (leader, candidates, answers) = (NodeId(0), named.len() as u16, asked as u16);
        let seen = Input::Elected {
            leader,
            candidates,
            answers,
            lacking,
        };
        (nodes[nodes.len() - 1], seen)
    }
}

/// Delivers everything that is in flight, except what is lost. Returns messages and bytes sent.
fn deliver(net: &mut Net<PaperChurn, Lists>, loss: f64, rng: &mut Rng) -> (usize, usize) {
    let (mut messages, mut bytes) = (0, 0);
    while !net.flights.is_empty() {
        messages += 1;
        bytes += net.flights[0].msg.encoded_len();
        match rng.chance(loss) {
            true => drop(net.flights.remove(0)),
            false => net.arrive(0),
        }
    }
    (messages, bytes)
}

/// Rounds of one group.
fn rounds(args: &[f64], seed: u64) -> Values {
    let feedback = args[0] > 0.0;
    let (lacking, loss) = (args[3] as u64, args[4]);
    let config = Config {
        method: if feedback {
            Method::Feedback
        } else {
            Method::ZScore
        },
        form: if args[1] > 0.0 {
            Form::Repaired
        } else {
            Form::Printed
        },
        nodes: NODES as u32,
        sample: args[2] as u16,
        alpha: 0.1,
        start: lacking as f64,
        wait: Duration::from_secs(1),
    };
    let mut rng = Rng::seed(seed, 5);
    let lists = Lists::draw(lacking, &mut rng);
    let host = |at| {
        Host::new(
            NodeId(at),
            PaperChurn::new(config),
            Rng::seed(seed, 100 + at),
        )
    };
    let mut net = Net::new((0..NODES).map(host), lists);
    let (mut messages, mut bytes, mut error, mut off, mut above) = (0, 0, 0.0, 0.0, 0);
    for _ in 0..ROUNDS {
        if feedback {
            let c = net.hosts[&0].core.c();
            for _ in 0..INITIATORS {
                let (at, seen) = net.scene.elect(c.ceil() as usize + 1, &mut rng);
                net.input(at, seen);
            }
        } else {
            net.input(0, Input::Sample);
        }
        let asked = deliver(&mut net, loss, &mut rng);
        net.fire();
        let told = deliver(&mut net, loss, &mut rng);
        messages += asked.0 + told.0;
        bytes += asked.1 + told.1;
        let c = net.hosts[&0].core.c();
        let wrong = 100.0 * (c - lacking as f64) / NODES as f64;
        error += wrong;
        off += wrong.abs();
        above += u32::from(c > NODES as f64);
    }
    let each = f64::from(ROUNDS);
    [
        ("messages", messages as f64 / each),
        ("bytes", bytes as f64 / each),
        ("bias", error / each),
        ("off", off / each),
        ("above", f64::from(above) / each),
        (
            "estimate",
            lacking as f64 + error / each * NODES as f64 / 100.0,
        ),
    ]
    .map(|(name, x)| (name.into(), x))
    .into()
}

/// A number of a case.
type Look<'a> = &'a dyn Fn(Case, &str) -> crate::stat::Estimate;

fn alg6(of: Look<'_>) -> Outcome {
    let mut out = Outcome::new("lists asked for", "estimate of c");
    for (form, name) in FORMS {
        for lacking in [0, LACKING] {
            let points = SAMPLES.map(|s| {
                let case = Case::sampling(form, s, lacking);
                (f64::from(s), of(case, "estimate"))
            });
            out.curve(format!("{name}, c = {lacking}"), points);
        }
    }
    for s in SAMPLES {
        let printed = Case::sampling(Form::Printed, s, 0);
        let what = format!("complete lists, s={s}: rounds with an estimate above N");
        out.check(Check::counterexample(
            what,
            "c is at most N",
            of(printed, "above"),
        ));
        let n = NODES as f64;
        let expected = (n - f64::from(s) + 1.0) * n / f64::from(s);
        let what = format!("complete lists, s={s}: estimate");
        let check = Check::value(what, expected, 0.01 * expected, of(printed, "estimate"));
        out.check(check.own(format!("our reading: {expected:.1}")));
        let repaired = of(Case::sampling(Form::Repaired, s, 0), "estimate");
        let check = Check::exactly(format!("complete lists, s={s}: repaired"), 0.0, repaired);
        out.check(check.own("our reading: 0"));
    }
    let quiet = of(Case::sampling(Form::Repaired, 50, LACKING), "bias");
    let check = Check::within("repaired, s=50, bias, % of N", "", quiet, (0.0, 6.0));
    out.check(check.own("our goal: 0 to 6"));
    let lossy = of(LOSSY, "bias");
    let check = Check::within(
        "repaired, s=50, a fifth lost, bias, % of N",
        "",
        lossy,
        (-4.0, 10.0),
    );
    out.check(check.own("our goal: -4 to 10"));
    out
}

fn traffic(data: &Data<'_>) -> Outcome {
    let mut out = Outcome::new("lists asked for (0: Feedback)", "messages; kB; % of N");
    let of = |case: Case, value: &str| data.one(&case.cell(), |v| v.value(value));
    for (form, name) in FORMS {
        for (value, unit, scale) in [
            ("messages", "messages", 1.0),
            ("bytes", "kB", 1e-3),
            ("off", "error", 1.0),
        ] {
            if form == Form::Printed && value == "off" {
                continue;
            }
            let sampling = SAMPLES.map(|s| (f64::from(s), Case::sampling(form, s, LACKING)));
            let cases = [(0.0, Case::feedback(form))].into_iter().chain(sampling);
            let points =
                cases.map(|(s, case)| (s, data.one(&case.cell(), |v| scale * v.value(value))));
            out.curve(format!("{name}, {unit}"), points.collect::<Vec<_>>());
        }
    }
    let over = |more: Case, less: Case, value: &str| {
        data.estimate(&[&more.cell(), &less.cell()], |v| {
            v[0].value(value) / v[1].value(value)
        })
    };
    for pair in SAMPLES.windows(2) {
        let [less, more] = [pair[0], pair[1]].map(|s| Case::sampling(Form::Repaired, s, LACKING));
        let name = format!("s={} over s={}", pair[1], pair[0]);
        out.above(
            format!("messages, {name}"),
            "extra messages",
            over(more, less, "messages"),
            1.0,
        );
        out.above(
            format!("bytes, {name}"),
            "additional bandwidth",
            over(more, less, "bytes"),
            1.0,
        );
        out.below(
            format!("error, {name}"),
            "more precise",
            over(more, less, "off"),
            1.0,
        );
    }
    let small = Case::sampling(Form::Repaired, 10, LACKING);
    let less = over(Case::feedback(Form::Repaired), small, "bytes");
    let check = Check::below("bytes, Feedback over Z-score of 10", "", less, 1.0);
    out.check(check.own("our reading: below 1"));
    let messages = of(Case::feedback(Form::Repaired), "messages");
    let check = Check::above("messages of Feedback", "", messages, (NODES - 1) as f64);
    out.check(check.own("our reading: more than its announcement, 127"));
    out
}
