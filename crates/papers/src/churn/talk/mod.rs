//! The estimators as protocols (Alg. 6, Alg. 7): who sends what to whom, as printed and repaired.
//!
//! A leader samples lists, or collects what initiators observed, computes an estimate and tells everybody. What the
//! thesis leaves open is fixed once: the leader waits for [`Config::wait`] after its queries, or after the first
//! observation that arrives, and a round without any answer leaves the estimate as it is.
//!
//! | | [`Form::Printed`] | [`Form::Repaired`] |
//! |---|---|---|
//! | lists that lack a node | N less the lists that have it, of the sample asked for (ER-18) | received lists that lack it |
//! | nodes that count | those in some received list (ER-19) | those that the leader lists, and those that answered |
//! | late answers | count in the round in which they arrive | are dropped |
//! | observations | one candidate or several (ER-23, ER-24) | how many answers lacked the leader |
//! | estimates of others | the last one to arrive stays | the latest round of the leader stays |

mod msg;
#[cfg(test)]
mod tests;

pub use msg::{Msg, PAYLOAD};

use super::{
    Mode, Sampled, count_feedback, feedback, missing, moving_average, z_score, z_score_literal,
};
use alloc::vec::Vec;
use consort_proto::{Cx, NodeId, Protocol, Sender, To};
use core::time::Duration;

/// Which protocol.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Method {
    /// Each round of sampling stands for itself (Alg. 6).
    ZScore,
    /// A moving average over rounds of sampling.
    Window,
    /// A moving average over what initiators observe (Alg. 7).
    Feedback,
}

/// Whether mistakes are kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Form {
    /// As printed.
    Printed,
    /// With the mistakes removed.
    Repaired,
}

/// Settings, the same at all nodes.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Config {
    /// Which protocol.
    pub method: Method,
    /// Whether mistakes are kept.
    pub form: Form,
    /// Number of nodes (N), which the thesis assumes to be known.
    pub nodes: u32,
    /// Number of lists to ask for (s).
    pub sample: u16,
    /// Weight of a new value in a moving average.
    pub alpha: f64,
    /// The estimate at first.
    pub start: f64,
    /// How long a leader waits for answers.
    pub wait: Duration,
}

/// The nodes that a node lists, without itself, in order of id.
#[derive(Clone, Copy, Debug)]
pub struct View<'a>(pub &'a [NodeId]);

/// What happens at a node.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Input {
    /// The leader starts a round of sampling.
    Sample,
    /// An election that this node started has ended.
    Elected {
        /// The leader.
        leader: NodeId,
        /// Number of different candidates in the answers.
        candidates: u16,
        /// Number of answers.
        answers: u16,
        /// Answers that did not name the leader.
        lacking: u16,
    },
}

/// The end of a leader's wait.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Close;

/// What a node reports.
#[derive(Clone, Debug, PartialEq)]
pub enum Event {
    /// A message to all other nodes, each of which gets a copy.
    Multicast(Msg),
    /// The leader has a new estimate.
    Estimated(f64),
}

/// What a leader has received in a round.
#[derive(Clone, Debug, Default, PartialEq)]
struct Open {
    lists: Vec<(NodeId, Vec<NodeId>)>,
    values: Vec<u8>,
    /// Answers, and those that lacked the leader.
    counts: (u32, u32),
}

/// The state of a node.
#[derive(Clone, Debug, PartialEq)]
pub struct PaperChurn {
    config: Config,
    c: f64,
    round: u32,
    open: Option<Open>,
    /// The latest round whose estimate was taken over.
    seen: u32,
}

type ChurnCx<'a> = Cx<'a, PaperChurn>;

impl PaperChurn {
    /// Creates a node with the estimate at first.
    pub fn new(config: Config) -> PaperChurn {
        PaperChurn {
            config,
            c: config.start,
            round: 0,
            open: None,
            seen: 0,
        }
    }

    /// The estimate that this node uses.
    pub fn c(&self) -> f64 {
        self.c
    }

    fn sample(&mut self, cx: &mut ChurnCx<'_>, view: View<'_>) {
        let mut listed = view.0.to_vec();
        cx.rng.shuffle(&mut listed);
        self.round += 1;
        self.open = Some(Open::default());
        for id in listed.into_iter().take(self.config.sample.into()) {
            cx.send(To::Node(id), Msg::Query { round: self.round });
        }
        cx.set_timer(Close, cx.now + self.config.wait);
    }

    /// The state of the round to which an observation belongs; the first one begins it.
    fn collecting(&mut self, cx: &mut ChurnCx<'_>) -> &mut Open {
        if self.open.is_none() {
            self.round += 1;
            cx.set_timer(Close, cx.now + self.config.wait);
        }
        self.open.get_or_insert_default()
    }

    fn observed(&mut self, cx: &mut ChurnCx<'_>, msg: &Msg) {
        let most = self.config.nodes as usize;
        let open = self.collecting(cx);
        match *msg {
            Msg::Value(value) if open.values.len() < most => open.values.push(value),
            Msg::Count { answers, lacking } => {
                let (all, lacked) = &mut open.counts;
                *all = all.saturating_add(answers.into());
                *lacked = lacked.saturating_add(answers.min(lacking).into());
            }
            _ => {}
        }
    }

    /// The estimate of a round; nothing without answers.
    fn estimate(&self, open: &Open, view: View<'_>, me: NodeId) -> Option<f64> {
        let Config { nodes, sample, .. } = self.config;
        let sampled = || {
            let lists = open.lists.iter();
            let sampled = lists.map(|(from, list)| Sampled { from: *from, list });
            sampled.collect::<Vec<Sampled<'_>>>()
        };
        match (self.config.method, self.config.form) {
            (Method::Feedback, Form::Printed) => {
                let several = open.values.iter().filter(|v| **v > 1).count() as u32;
                feedback(
                    nodes,
                    self.c,
                    open.values.len() as u32,
                    several,
                    Mode::Literal,
                )
            }
            (Method::Feedback, Form::Repaired) => {
                count_feedback(nodes, open.counts.0, open.counts.1)
            }
            (_, _) if open.lists.is_empty() => None,
            (_, Form::Printed) => Some(z_score_literal(nodes, sample.into(), &sampled())),
            (_, Form::Repaired) => {
                let sampled = sampled();
                let mut known = view.0.to_vec();
                known.push(me);
                known.extend(sampled.iter().map(|s| s.from));
                let mut counts = missing(&sampled, &known);
                counts.retain(|m| known.contains(&m.id));
                Some(z_score(nodes, &counts))
            }
        }
    }

    fn close(&mut self, cx: &mut ChurnCx<'_>, view: View<'_>) {
        let Some(open) = self.open.take() else { return };
        let Some(new) = self.estimate(&open, view, cx.me) else {
            return;
        };
        self.c = match self.config.method {
            Method::ZScore => new,
            Method::Window | Method::Feedback => moving_average(self.config.alpha, new, self.c),
        };
        self.seen = self.round;
        cx.emit(Event::Estimated(self.c));
        let milli = libm::round(self.c * 1000.0) as u64;
        let round = self.round;
        cx.emit(Event::Multicast(Msg::Estimate { round, milli }));
    }
}

impl Protocol for PaperChurn {
    type Input = Input;
    type Msg = Msg;
    type Timer = Close;
    type Event = Event;
    type View<'a> = View<'a>;

    fn on_input(&mut self, cx: &mut Cx<'_, Self>, view: View<'_>, input: Input) {
        match input {
            Input::Sample => self.sample(cx, view),
            Input::Elected {
                leader,
                candidates,
                answers,
                lacking,
            } => {
                let msg = match self.config.form {
                    Form::Printed => Msg::Value(1 + u8::from(candidates > 1)),
                    Form::Repaired => Msg::Count { answers, lacking },
                };
                match leader == cx.me {
                    true => self.observed(cx, &msg),
                    false => cx.send(To::Node(leader), msg),
                }
            }
        }
    }

    fn on_msg(&mut self, cx: &mut Cx<'_, Self>, view: View<'_>, from: Sender, msg: Msg) {
        let printed = self.config.form == Form::Printed;
        let most = self.config.nodes as usize;
        match msg {
            Msg::Query { round } => {
                let list = view.0.to_vec();
                cx.send(from.reply_to(), Msg::Response { round, list });
            }
            Msg::Response { round, mut list } => {
                let current = printed || round == self.round;
                let Some(open) = self.open.as_mut().filter(|_| current) else {
                    return;
                };
                let again = open.lists.iter().any(|l| l.0 == from.id);
                if list.len() <= most && !again && open.lists.len() < most {
                    list.sort_unstable();
                    open.lists.push((from.id, list));
                }
            }
            Msg::Value(_) | Msg::Count { .. } => self.observed(cx, &msg),
            Msg::Estimate { round, milli } => {
                if printed || round > self.seen {
                    self.seen = round;
                    self.c = milli as f64 / 1000.0;
                }
            }
        }
    }

    fn on_timer(&mut self, cx: &mut Cx<'_, Self>, view: View<'_>, _: Close) {
        self.close(cx, view);
    }
}
