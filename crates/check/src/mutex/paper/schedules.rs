//! Executions that break the papers' locks, those that the repairs cure, and the product's lock in the same
//! situations.

use super::{Fault, Thesis};
use crate::mutex::group::{Budget, Group};
use crate::mutex::schedules::{Expect, Schedule as Ours};
use crate::search::{Searched, search};
use consort_papers::mutex::{Config, Mode};
use consort_proto::mutex;

/// A schedule, and the expected result for each lock.
#[derive(Clone, Debug)]
pub struct Schedule {
    /// Name, as in docs/RULES.md.
    pub name: &'static str,
    /// Description.
    pub about: &'static str,
    /// The group, for any of the papers' locks.
    pub group: Thesis,
    /// The modes of [`Mode::ALL`] that admit two holders at the same time.
    pub unsafe_in: &'static [Mode],
    /// The same situation with the product's lock.
    pub ours: Group,
}

impl Schedule {
    /// The expected result of a mode.
    pub fn expect(&self, mode: Mode) -> Expect {
        match self.unsafe_in.contains(&mode) {
            true => Expect::TwoHolders,
            false => Expect::Safe,
        }
    }

    /// Examines every state of a mode, or the first `most` that are generated.
    pub fn check(&self, mode: Mode, most: usize, threads: usize) -> Searched {
        self.check_as(Config::new(mode), most, threads)
    }

    /// Examines the states of a lock with other settings.
    pub fn check_as(&self, config: Config, most: usize, threads: usize) -> Searched {
        let group = Thesis {
            config: Config {
                retry: None,
                ..config
            },
            ..self.group.clone()
        };
        search(group, most, threads)
    }

    /// Examines the states of the product's lock.
    pub fn check_ours(&self, most: usize, threads: usize) -> Searched {
        let ours = Ours {
            name: self.name,
            about: self.about,
            group: self.ours.clone(),
            expect: Expect::Safe,
        };
        ours.check(most, threads)
    }
}

const RA: Mode = Mode::RicartAgrawala;
const PAPER: Mode = Mode::CameraPaper;
const REPAIRED: Mode = Mode::CameraRepaired;

const FULL: &[&[usize]] = &[&[0, 1, 2], &[0, 1, 2], &[0, 1, 2]];
const FRIEND: &[&[usize]] = &[&[0, 2], &[1, 2], &[0, 1, 2]];
const LINE: &[&[usize]] = &[&[0, 1], &[0, 1, 2], &[1, 2, 3], &[2, 3]];
const FIVE: &[&[usize]] = &[
    &[0, 3, 4],
    &[1, 2, 3, 4],
    &[1, 2, 3, 4],
    &[0, 1, 2, 3, 4],
    &[0, 1, 2, 3, 4],
];

fn thesis(lists: &[&[usize]], bound: u32, requests: &[u8], faults: &[Fault]) -> Thesis {
    Thesis {
        config: Config::new(RA),
        lists: lists.iter().map(|l| l.to_vec()).collect(),
        bound: vec![bound; lists.len()],
        requests: requests.to_vec(),
        faults: faults.to_vec(),
        late: Vec::new(),
        copies: 1,
        live: faults.is_empty(),
    }
}

/// The same situation for the product's lock: members that are gone count for a lease, and a verdict about a member
/// decides nothing.
fn ours(thesis: &Thesis) -> Group {
    let others = |(n, list): (usize, &Vec<usize>)| {
        let list = list.iter().copied();
        list.filter(|m| *m != n).collect()
    };
    let mode = mutex::Mode::Exclusive;
    let mut group = Group {
        views: thesis.lists.iter().enumerate().map(others).collect(),
        requests: thesis
            .requests
            .iter()
            .map(|t| vec![mode; usize::from(*t)])
            .collect(),
        nodes: thesis.lists.len() as u16,
        ..Group::default()
    };
    let budget: &mut Budget = &mut group.budget;
    budget.repeats = thesis.copies - 1;
    for fault in &thesis.faults {
        match *fault {
            Fault::Learn(at, of) => group.learns.push((at, of)),
            Fault::Suspect(..) | Fault::Forget(..) => budget.verdicts += 1,
            Fault::Crash(n) => {
                group.mortal.push(n);
                budget.crashes += 1;
                group.expiry = true;
            }
            Fault::Restart(n) => {
                group.mortal.push(n);
                budget.crashes += 1;
                budget.restarts += 1;
                group.expiry = true;
            }
            Fault::Bound(_) => {
                group.shrinks = true;
                budget.lapses = 2;
                budget.retries = 1;
            }
        }
    }
    group
}

/// All schedules of the papers' locks.
pub fn schedules() -> Vec<Schedule> {
    use Fault::{Bound, Crash, Forget, Learn, Restart, Suspect};
    let of = |name, about, unsafe_in, group: Thesis| Schedule {
        name,
        about,
        ours: ours(&group),
        group,
        unsafe_in,
    };
    let none: &[Mode] = &[];
    let crash = [Crash(2), Suspect(1, 2)];
    let mut crashes = vec![Crash(3), Crash(4)];
    crashes.extend([(1, 3), (1, 4), (2, 3), (2, 4)].map(|(at, of)| Suspect(at, of)));
    let shrinks = [Crash(3), Crash(4), Suspect(1, 3), Suspect(1, 4), Bound(3)];
    vec![
        of("S0", "full lists", none, thesis(FULL, 3, &[1, 1, 1], &[])),
        of(
            "S1",
            "strangers and a friend",
            &[RA],
            thesis(FRIEND, 3, &[1, 1, 0], &[]),
        ),
        of(
            "S2",
            "one knows the other",
            &[RA],
            thesis(&[&[0, 1, 2], &[1, 2], &[0, 1, 2]], 3, &[1, 1, 0], &[]),
        ),
        of(
            "S2'",
            "the other way round",
            &[RA],
            thesis(&[&[0, 2], &[0, 1, 2], &[0, 1, 2]], 3, &[1, 1, 0], &[]),
        ),
        of(
            "S1b",
            "the friend asks, one asks twice",
            &[RA],
            thesis(FRIEND, 3, &[2, 1, 1], &[]),
        ),
        of(
            "S3",
            "no common friend",
            &[RA, PAPER, REPAIRED],
            thesis(LINE, 0, &[1, 0, 0, 1], &[]),
        ),
        of(
            "S3s",
            "the same on the slow path",
            &[RA],
            thesis(LINE, 4, &[1, 0, 0, 1], &[]),
        ),
        of(
            "S4",
            "a list grows (A1)",
            &[RA, PAPER],
            thesis(FRIEND, 3, &[1, 1, 0], &[Learn(1, 0)]),
        ),
        of(
            "S5",
            "a wrong suspicion (A2)",
            &[RA, PAPER, REPAIRED],
            thesis(FULL, 3, &[1, 1, 0], &[Suspect(1, 0)]),
        ),
        of(
            "S6",
            "messages arrive twice (A7)",
            &[RA, PAPER],
            Thesis {
                copies: 2,
                ..thesis(&[&[0, 1], &[0, 1]], 2, &[2, 1], &[])
            },
        ),
        of(
            "S7",
            "the own agreement is forgotten (A6)",
            &[RA, PAPER],
            thesis(&[&[0, 1], &[0, 1]], 2, &[1, 1], &[Forget(1, 0)]),
        ),
        of(
            "S8",
            "the friend crashes (A3)",
            &[RA, PAPER],
            thesis(FRIEND, 3, &[1, 1, 0], &crash),
        ),
        of(
            "S8b",
            "two crash, the bound follows (A3)",
            &[RA, PAPER, REPAIRED],
            thesis(FIVE, 5, &[1, 1, 0, 0, 0], &shrinks),
        ),
        of(
            "S8c",
            "two crash, the bound stays, then another asks (A4)",
            &[RA, PAPER],
            Thesis {
                late: vec![1],
                ..thesis(FIVE, 5, &[1, 1, 0, 0, 0], &crashes)
            },
        ),
        of(
            "S9",
            "the friend restarts (A5)",
            &[RA, PAPER, REPAIRED],
            thesis(FRIEND, 3, &[1, 1, 0], &[Restart(2)]),
        ),
        of(
            "S10",
            "a joiner meets a slow request (A8)",
            &[RA, PAPER],
            Thesis {
                bound: vec![3, 4, 3],
                live: false,
                ..thesis(&[&[0, 2], &[1, 2], &[1, 2]], 3, &[1, 1, 1], &[])
            },
        ),
    ]
}
