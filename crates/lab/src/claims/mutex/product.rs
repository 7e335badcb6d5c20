//! The product's lock compared with the papers': cost, waiting times, and faults.

use super::stream::ZIPF;
use crate::budget::Budget;
use crate::cell::{Cell, Data};
use crate::claim::{Check, Claim, Experiment, Foil, Outcome};
use consort_papers::mutex::{Config, Mode};
use consort_proto::mutex::{self, FanOut, Policy, Service};
use consort_sim::mutex::{Gap, Lock, Params, Spread, Transport, Who, Witness, Workload};
use core::time::Duration;

/// The claims about the product.
pub(super) const CLAIMS: &[Claim] = &[
    Claim {
        id: "mutex.messages",
        source: "our own, beside section 4.3 of the thesis",
        title: "Messages for an entry without contention",
        metric: "messages of one request and its release, without loss",
        configuration: "64 nodes, full lists, hops of 0 to 9 ms without loss; N-1 = 63",
        published: "2(N-1) messages, releases left out (C8)",
        rule: "messages less the N-1 releases exactly 2(N-1), for Ricart-Agrawala and Camera. Beside it our goal, the same for the \
            repaired form and for witness",
        foil: Foil::NoEffect,
        cause: None,
        experiment: Some(Experiment {
            cells: |_| COUNTED.map(|(_, lock)| counted(lock)).to_vec(),
            judge: messages,
        }),
    },
    Claim {
        id: "mutex.equal",
        source: "our own, beside chapter 5 of the thesis",
        title: "With full lists Camera is Ricart-Agrawala",
        metric: "waits and messages of the three locks of the papers",
        configuration: "256 nodes, 5 % loss of a hop, 64 requesters at once, no extra hop; what is not answered is \
            repeated by the transport",
        published: "",
        rule: "W and sends of all three within 1 %; bytes more where requests are named",
        foil: Foil::AllDiffer,
        cause: None,
        experiment: Some(Experiment {
            cells: |budget| Mode::ALL.map(|mode| alike(mode, budget)).to_vec(),
            judge: equal,
        }),
    },
    Claim {
        id: "mutex.tab5.9",
        source: "our own",
        title: "Waits of the product's lock",
        metric: "mean time from request to entry, of all requests that come",
        configuration: "256 nodes, 5 % loss of a hop, sources that send again, 200 ms inside, everybody is asked; \
            elevator: served along places in space; cohort: eight local requests in a row; with 20 % loss leases \
            of 10 s that may grow to 30, as in the profile mesh",
        published: "",
        rule: "our pre-study without renewals has 1 requester 0.46 s, 10 3.6 (elevator 3.5), 64 15.2 (11.7), \
            121 25.9 (17.3), 64 with 20 % loss 71 (54), uniform stream 6.5 (elevator and cohort 5.0), Zipf 6.0 (2.0). \
            At most 15 % more: shorter waits are no fault",
        foil: Foil::Constant(100.0, "everybody waits for 100 s"),
        cause: None,
        experiment: Some(Experiment {
            cells: |budget| rows(budget).map(|row| wait(row, budget)).collect(),
            judge: tab5_9,
        }),
    },
];

/// The papers' lock with releases; the transport retransmits.
pub(super) fn paper(mode: Mode) -> Lock {
    Lock::Paper(Config {
        release: true,
        retry: None,
        ..Config::new(mode)
    })
}

fn witness(service: Service, cohort: u8) -> Witness {
    Witness {
        config: mutex::Config::default(),
        policy: Policy {
            fan_out: FanOut::All,
            service,
            cohort,
            ..Policy::default()
        },
        ..Witness::default()
    }
}

const COUNTED: [(&str, Option<Mode>); 4] = [
    ("Ricart-Agrawala", Some(Mode::RicartAgrawala)),
    ("Camera", Some(Mode::CameraPaper)),
    ("Camera, repaired", Some(Mode::CameraRepaired)),
    ("witness", None),
];

fn counted(mode: Option<Mode>) -> Cell {
    let params = Params {
        nodes: 64,
        lock: match mode {
            Some(mode) => paper(mode),
            None => Lock::Witness(Box::new(witness(Service::Arrival, 8))),
        },
        workload: Workload::Burst {
            requesters: 1,
            who: Who::Random,
        },
        drop: 0.0,
        hop_delay_ms: 10,
        ..Params::default()
    };
    Cell::mutex(params).runs(5)
}

fn messages(data: &Data<'_>) -> Outcome {
    let mut out = Outcome::new("", "messages");
    out.ticks = COUNTED.map(|c| c.0.into()).to_vec();
    let of = |mode| data.one(&counted(mode), |v| v.value("messages"));
    let points = COUNTED.iter().enumerate();
    out.curve("messages", points.map(|(n, c)| (n as f64, of(c.1))));
    for (name, mode) in COUNTED {
        let asked = data.one(&counted(mode), |v| v.value("messages") - 63.0);
        let check = Check::exactly(name, 126.0, asked);
        out.check(match mode {
            Some(Mode::RicartAgrawala | Mode::CameraPaper) => check,
            _ => check.own("our goal: 126"),
        });
    }
    out
}

fn alike(mode: Mode, budget: Budget) -> Cell {
    let params = Params {
        lock: paper(mode),
        workload: Workload::Burst {
            requesters: 64,
            who: Who::Random,
        },
        ..Params::default()
    };
    Cell::mutex(params).runs(budget.pick(6, 40))
}

fn equal(data: &Data<'_>) -> Outcome {
    let mut out = Outcome::new("", "over Ricart-Agrawala");
    let modes = [Mode::CameraPaper, Mode::CameraRepaired];
    out.ticks = modes.map(|m| m.name().into()).to_vec();
    let plain = alike(Mode::RicartAgrawala, data.budget);
    for (what, value, bounds) in [
        ("W", "wait", (0.99, 1.01)),
        ("sends", "sends", (0.99, 1.01)),
        ("bytes", "bytes", (1.0, f64::INFINITY)),
    ] {
        let over = modes.map(|mode| {
            let cell = alike(mode, data.budget);
            data.estimate(&[&cell, &plain], |v| v[0].value(value) / v[1].value(value))
        });
        out.curve(
            what,
            over.into_iter().enumerate().map(|(n, x)| (n as f64, x)),
        );
        for (mode, ratio) in modes.into_iter().zip(over) {
            let what = format!("{what}, {mode}");
            let check = Check::within(what, "", ratio, bounds);
            out.check(check.own("our reading of chapter 5 (D1)"));
        }
    }
    out
}

/// A row of the table.
#[derive(Clone, Copy)]
struct Row {
    name: &'static str,
    requests: Requests,
    service: Service,
    cohort: u8,
    /// Whether many messages are lost.
    lossy: bool,
    /// Waiting time in the reference, in seconds.
    reference: f64,
}

#[derive(Clone, Copy, PartialEq)]
enum Requests {
    AtOnce(usize),
    Stream(Spread),
}

impl Row {
    const fn new(name: &'static str, requests: Requests, reference: f64) -> Row {
        Row {
            name,
            requests,
            service: Service::Arrival,
            cohort: 0,
            lossy: false,
            reference,
        }
    }

    const fn elevator(self) -> Row {
        let service = Service::Elevator;
        Row { service, ..self }
    }

    const fn cohort(self) -> Row {
        Row { cohort: 8, ..self }
    }

    const fn lossy(self) -> Row {
        Row {
            lossy: true,
            ..self
        }
    }
}

const UNIFORM: Requests = Requests::Stream(Spread::Uniform);
const ROWS: [Row; 13] = [
    Row::new("1 requester", Requests::AtOnce(1), 0.46),
    Row::new("10 requesters", Requests::AtOnce(10), 3.6),
    Row::new("10 requesters, elevator", Requests::AtOnce(10), 3.5).elevator(),
    Row::new("Zipf", Requests::Stream(ZIPF), 6.0),
    Row::new("Zipf, cohort", Requests::Stream(ZIPF), 2.0).cohort(),
    Row::new("uniform", UNIFORM, 6.5),
    Row::new("uniform, elevator and cohort", UNIFORM, 5.0)
        .elevator()
        .cohort(),
    Row::new("64 requesters", Requests::AtOnce(64), 15.2),
    Row::new("64 requesters, elevator", Requests::AtOnce(64), 11.7).elevator(),
    Row::new("121 requesters", Requests::AtOnce(121), 25.9),
    Row::new("121 requesters, elevator", Requests::AtOnce(121), 17.3).elevator(),
    Row::new("64 requesters, 20 % loss", Requests::AtOnce(64), 71.0).lossy(),
    Row::new(
        "64 requesters, 20 % loss, elevator",
        Requests::AtOnce(64),
        54.0,
    )
    .lossy()
    .elevator(),
];

/// Quick runs take the rows without much contention.
fn rows(budget: Budget) -> impl Iterator<Item = Row> {
    ROWS.into_iter().take(budget.pick(5, ROWS.len()))
}

fn wait(row: Row, budget: Budget) -> Cell {
    let workload = match row.requests {
        Requests::AtOnce(requesters) => Workload::Burst {
            requesters,
            who: Who::Random,
        },
        Requests::Stream(spread) => Workload::Stream {
            requests: 50,
            gap: Gap::Exponential,
            ratio: 1.0,
            spread,
        },
    };
    let mut lock = witness(row.service, row.cohort);
    let mut params = Params {
        workload,
        transport: Transport::Resend,
        ..Params::default()
    };
    if row.lossy {
        params.drop = 0.2;
        lock.config.ttl_max = Duration::from_secs(30);
    }
    params.lock = Lock::Witness(Box::new(lock));
    // Short streams of requests differ much from each other.
    let runs = match row.requests {
        Requests::AtOnce(_) => 8,
        Requests::Stream(_) => 16,
    };
    Cell::mutex(params).runs(budget.pick(8, runs))
}

fn tab5_9(data: &Data<'_>) -> Outcome {
    let mut out = Outcome::new("", "s");
    out.ticks = rows(data.budget).map(|row| row.name.into()).collect();
    for (name, value, scale) in [
        ("request to entry, s", "wait", 1.0),
        ("exit to entry, s", "gap", 1.0),
        ("messages for a request, thousands", "messages", 1e-3),
    ] {
        let points = rows(data.budget).enumerate().map(|(n, row)| {
            let cell = wait(row, data.budget);
            let each = data.one(&cell, |v| {
                let over = if scale < 1.0 {
                    v.value("requests")
                } else {
                    1.0
                };
                scale * v.value(value) / over
            });
            (n as f64, each)
        });
        let points: Vec<_> = points.collect();
        out.curve(name, points);
    }
    for row in rows(data.budget) {
        let waited = data.one(&wait(row, data.budget), |v| v.value("wait-client"));
        let most = row.reference * 1.15;
        let check = Check::at_most(row.name, "", waited, most);
        out.check(check.own(format!("our pre-study: {}", row.reference)));
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::claim::Verdict;
    use crate::sample::Sample;

    /// The verdict if requests wait `factor` times as long as in the reference.
    fn waits(factor: f64) -> Verdict {
        let budget = Budget::Full;
        let measured = rows(budget).map(|row| {
            let values = [
                ("wait-client", row.reference * factor),
                ("wait", 1.0),
                ("gap", 1.0),
                ("messages", 1.0),
                ("requests", 1.0),
            ];
            let sample = Sample {
                values: values.map(|(name, x)| (name.into(), x)).into(),
                ..Sample::default()
            };
            (wait(row, budget).key().to_owned(), vec![sample; 5])
        });
        let measured: Vec<(String, Vec<Sample>)> = measured.collect();
        let cells = measured.iter().map(|(key, s)| (key.clone(), &s[..]));
        let cells = cells.collect();
        tab5_9(&Data {
            budget,
            cells,
            constants: Default::default(),
        })
        .verdict()
    }

    #[test]
    fn waits_are_bounded_above_and_not_below() {
        assert_eq!(waits(0.1), Verdict::Met);
        assert_eq!(waits(1.14), Verdict::Met);
        assert_eq!(waits(1.16), Verdict::Differs);
    }
}
