//! The schedules of the product's lock: groups that must be safe, and flaws that must be found.

use super::group::{Budget, Flaw, Group, Watch};
use crate::search::{Searched, search};
use consort_proto::mutex::{Ablation, LostReason, Mode};

/// Expected result of a schedule.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Expect {
    /// No invariant is broken.
    Safe,
    /// Two nodes hold the lock at the same time.
    TwoHolders,
    /// A token does not grow.
    StaleToken,
}

/// A group with a name.
#[derive(Clone, Debug)]
pub struct Schedule {
    /// Name, as in docs/RULES.md.
    pub name: &'static str,
    /// Description.
    pub about: &'static str,
    /// The group.
    pub group: Group,
    /// Expected result.
    pub expect: Expect,
}

impl Expect {
    /// Whether the search has this result.
    pub fn is_met_by(self, searched: &Searched) -> bool {
        let broken = searched.broken.as_ref().map(|b| b.0);
        match self {
            Expect::Safe => broken.is_none() && searched.reached,
            Expect::TwoHolders => broken.is_some_and(|b| b.starts_with("I1")),
            Expect::StaleToken => broken.is_some_and(|b| b.starts_with("I2")),
        }
    }
}

impl Schedule {
    /// Examines every state, or the first `most` that are generated, breadth first.
    pub fn check(&self, most: usize, threads: usize) -> Searched {
        search(self.group.clone(), most, threads)
    }
}

const X: Mode = Mode::Exclusive;

fn asks(times: &[usize]) -> Vec<Vec<Mode>> {
    times.iter().map(|n| vec![X; *n]).collect()
}

fn group(views: &[&[usize]], times: &[usize]) -> Group {
    Group {
        views: views.iter().map(|v| v.to_vec()).collect(),
        requests: asks(times),
        nodes: views.len() as u16,
        ..Group::default()
    }
}

const FULL: &[&[usize]] = &[&[1, 2], &[0, 2], &[0, 1]];
/// Two nodes that do not know each other, and their common friend.
const FRIEND: &[&[usize]] = &[&[2], &[2], &[0, 1]];
/// The first knows the second, but not the reverse.
const ONE_WAY: &[&[usize]] = &[&[1, 2], &[2], &[0, 1]];
/// Four nodes, of which two do not know each other.
const FOUR: &[&[usize]] = &[&[2, 3], &[2, 3], &[0, 1, 3], &[0, 1, 2]];
const LINE: &[&[usize]] = &[&[1], &[0, 2], &[1]];

fn mortal(mut group: Group, who: &[usize], restarts: u8) -> Group {
    group.mortal = who.to_vec();
    group.budget.crashes = 1;
    group.budget.restarts = restarts;
    group.expiry = true;
    group
}

fn lapsing(mut group: Group, lapses: u8, retries: u8) -> Group {
    group.budget.lapses = lapses;
    group.budget.retries = retries;
    group.expiry = true;
    group
}

/// Three nodes become five. Two know each other, the third knows those that join.
fn growing() -> Group {
    let views: &[&[usize]] = &[&[1], &[0], &[3, 4], &[2, 4], &[2, 3]];
    Group {
        nodes: 3,
        joiners: (vec![3, 4], 5),
        ..group(views, &[1, 0, 1, 0, 0])
    }
}

fn apart(group: Group) -> Group {
    Group {
        apart: true,
        ..group
    }
}

fn with(group: Group, flaw: Flaw) -> Group {
    Group {
        flaw: Some(flaw),
        ..group
    }
}

fn without(group: Group, part: Ablation) -> Group {
    with(group, Flaw::Without(part))
}

fn safe(name: &'static str, about: &'static str, group: Group) -> Schedule {
    Schedule {
        name,
        about,
        group,
        expect: Expect::Safe,
    }
}

/// A flaw has to show in what users see, not only in the lock's own state.
fn flawed(name: &'static str, about: &'static str, expect: Expect, group: Group) -> Schedule {
    let watch = match expect {
        Expect::TwoHolders => Watch::Holders,
        _ => Watch::Tokens,
    };
    Schedule {
        name,
        about,
        group: Group { watch, ..group },
        expect,
    }
}

/// All schedules of the product's lock.
pub fn schedules() -> Vec<Schedule> {
    let mut all = safe_ones();
    all.extend(flawed_ones());
    all
}

fn safe_ones() -> Vec<Schedule> {
    let budget = |b: Budget, group: Group| Group { budget: b, ..group };
    let cancels = Budget {
        cancels: 1,
        ..Budget::default()
    };
    let repeats = Budget {
        repeats: 1,
        ..Budget::default()
    };
    let leaves = Budget {
        leaves: 1,
        ..Budget::default()
    };
    let ends = Budget {
        ends: 2,
        ..Budget::default()
    };
    vec![
        safe("P0", "three ask", group(FULL, &[1, 1, 1])),
        safe(
            "P1",
            "strangers and a friend (S1)",
            group(FRIEND, &[1, 1, 0]),
        ),
        safe(
            "P1b",
            "the friend asks, too (S1b)",
            group(FRIEND, &[2, 1, 1]),
        ),
        safe("P2", "one knows the other (S2)", group(ONE_WAY, &[1, 1, 0])),
        safe("P2b", "one asks twice", group(ONE_WAY, &[2, 1, 0])),
        safe(
            "P3",
            "one gives up",
            budget(cancels, group(ONE_WAY, &[1, 1, 0])),
        ),
        safe("P4", "four, partial lists", group(FOUR, &[1, 1, 0, 0])),
        safe("P5", "leases lapse", lapsing(group(FULL, &[1, 1, 0]), 2, 2)),
        safe(
            "P5s",
            "leases lapse among strangers",
            lapsing(group(FRIEND, &[1, 1, 0]), 2, 2),
        ),
        safe(
            "P5d",
            "four, a lease lapses",
            lapsing(group(FOUR, &[1, 1, 0, 0]), 1, 1),
        ),
        safe(
            "P6",
            "messages arrive twice",
            budget(repeats, group(ONE_WAY, &[1, 1, 0])),
        ),
        safe(
            "P8",
            "the friend crashes",
            mortal(group(FRIEND, &[1, 1, 0]), &[2], 0),
        ),
        safe(
            "P8h",
            "a holder crashes",
            mortal(group(FULL, &[1, 1, 0]), &[0], 0),
        ),
        safe(
            "P9",
            "the friend restarts",
            mortal(group(FRIEND, &[1, 1, 0]), &[2], 1),
        ),
        safe(
            "P9c",
            "a holder restarts and asks again",
            mortal(group(FULL, &[2, 1, 0]), &[0], 1),
        ),
        safe(
            "P9g",
            "the same among strangers",
            mortal(group(FRIEND, &[2, 1, 0]), &[0], 1),
        ),
        safe("P10", "three become five", growing()),
        safe(
            "P11",
            "a holder's node leaves",
            budget(leaves, group(FULL, &[1, 1, 0])),
        ),
        safe(
            "P12",
            "holders have had their time",
            budget(ends, group(FULL, &[1, 1, 0])),
        ),
        safe(
            "P13",
            "a holder's node crashes, and its work goes on",
            apart(mortal(group(FULL, &[1, 1, 0]), &[0], 0)),
        ),
        safe(
            "P13r",
            "the same, and the node starts again and asks again",
            apart(mortal(group(FULL, &[2, 1, 0]), &[0], 1)),
        ),
        safe(
            "F1b",
            "a late place, a raised token",
            group(FRIEND, &[2, 1, 0]),
        ),
        safe(
            "F4",
            "a holder with a raised token crashes",
            mortal(group(LINE, &[3, 0, 1]), &[2], 0),
        ),
        safe(
            "F6",
            "who is in the way disappears",
            mortal(group(FRIEND, &[2, 1, 0]), &[0, 1], 0),
        ),
    ]
}

fn flawed_ones() -> Vec<Schedule> {
    use Expect::{StaleToken, TwoHolders};
    let one_way = || group(ONE_WAY, &[1, 1, 0]);
    let friend = || group(FRIEND, &[1, 1, 0]);
    let late = || group(FRIEND, &[2, 1, 0]);
    let restarts = |group| mortal(group, &[2], 1);
    let again = |mut group: Group| {
        group.budget.retries = 1;
        group
    };
    let elsewhere = || Group {
        told: true,
        ..mortal(group(FULL, &[1, 1, 0]), &[0], 1)
    };
    vec![
        flawed(
            "P2c",
            "a request was consented to that does not come first",
            TwoHolders,
            without(one_way(), Ablation::Selfblock),
        ),
        flawed(
            "P2d",
            "half is enough",
            TwoHolders,
            without(group(FOUR, &[1, 1, 0, 0]), Ablation::Majority),
        ),
        flawed(
            "P5a",
            "consent is not leased",
            TwoHolders,
            without(lapsing(one_way(), 1, 0), Ablation::ConsentLease),
        ),
        flawed(
            "P5b",
            "witnesses forget first",
            TwoHolders,
            with(lapsing(friend(), 0, 0), Flaw::EarlyExpiry),
        ),
        flawed(
            "P5c",
            "answers to lapsed attempts count",
            TwoHolders,
            without(lapsing(friend(), 1, 1), Ablation::Attempts),
        ),
        flawed(
            "P5e",
            "a lock passes on before its holder has stopped: its lease ends",
            TwoHolders,
            without(
                lapsing(group(FULL, &[1, 1, 0]), 2, 0),
                Ablation::Notice(LostReason::Expired),
            ),
        ),
        flawed(
            "P11b",
            "the same: its node leaves",
            TwoHolders,
            without(
                Group {
                    budget: Budget {
                        leaves: 1,
                        ..Budget::default()
                    },
                    ..group(FULL, &[1, 1, 0])
                },
                Ablation::Notice(LostReason::Leaving),
            ),
        ),
        flawed(
            "P12b",
            "the same: it has had its time",
            TwoHolders,
            without(
                Group {
                    budget: Budget {
                        ends: 1,
                        ..Budget::default()
                    },
                    ..group(FULL, &[1, 1, 0])
                },
                Ablation::Notice(LostReason::HeldTooLong),
            ),
        ),
        flawed(
            "P9b",
            "young witnesses count",
            TwoHolders,
            without(restarts(friend()), Ablation::Maturity),
        ),
        flawed(
            "P9d",
            "answers without a life",
            TwoHolders,
            with(elsewhere(), Flaw::LifelessReplies),
        ),
        flawed(
            "P10b",
            "newcomers count at once",
            TwoHolders,
            without(growing(), Ablation::Maturity),
        ),
        flawed(
            "F1",
            "tokens are places in the queue",
            StaleToken,
            without(late(), Ablation::Claim),
        ),
        flawed(
            "F3",
            "raised tokens are not recorded",
            StaleToken,
            without(
                mortal(group(LINE, &[3, 0, 1]), &[2], 0),
                Ablation::Recording,
            ),
        ),
        flawed(
            "F5",
            "no fresh round",
            StaleToken,
            without(mortal(late(), &[0, 1], 0), Ablation::FreshRound),
        ),
        flawed(
            "P9e",
            "the floor is not read at the start",
            StaleToken,
            without(again(restarts(friend())), Ablation::FloorSync),
        ),
        flawed(
            "P9f",
            "a new life settles what the former asked for",
            StaleToken,
            without(mortal(late(), &[0], 1), Ablation::FormerLife),
        ),
        flawed(
            "A12",
            "giving up does not tell the floor",
            StaleToken,
            with(
                Group {
                    budget: Budget {
                        cancels: 1,
                        ..Budget::default()
                    },
                    ..group(LINE, &[1, 0, 2])
                },
                Flaw::CancelWithoutFloor,
            ),
        ),
    ]
}
