//! Constructed histories: each rule finds the violation, and nothing else.

use super::{Rule, check};
use crate::clock::{MS, Ns, SEC};
use crate::history::{
    Calm, Client, Fault, History, Incident, Killed, Least, Limit, Run, Use, Work,
};
use crate::record::{Entry, Record, RunId, Verb, WorkId};

/// A history of five agents with a candidate and a lock holder each, without violations.
struct Kit(History);

const LOCKS: usize = 5;
const POOL: usize = 10;
const SHARED: usize = 12;

impl Kit {
    fn new() -> Kit {
        let client = |agent: usize, resource: &str, usage| Client {
            agent: agent % 5,
            resource: resource.to_owned(),
            usage,
            http: false,
        };
        let mut clients = Vec::new();
        clients.extend((0..5).map(|agent| client(agent, "lead", Use::Lead)));
        clients.extend((0..5).map(|agent| client(agent, "db", Use::Exclusive)));
        clients.extend((0..2).map(|agent| client(agent, "pool", Use::Permit(2))));
        clients.push(client(0, "rw", Use::Shared));
        clients.push(client(1, "rw", Use::Exclusive));
        let mut kit = Kit(History {
            ttl: 3 * SEC,
            clients,
            ..History::default()
        });
        for n in 0..3 {
            kit.fault(n * MS, n * MS + 1, 0);
            for (client, agents) in [(0, 5), (LOCKS, 5), (POOL, 2), (SHARED, 2)] {
                let client = client + n as usize % agents;
                let at = n * 10 * MS;
                let token = format!("{n:04}");
                kit.work(client, at, at + 5 * MS, &token).entry.slot =
                    (client / 2 == POOL / 2).then_some(0);
            }
        }
        kit
    }

    fn work(&mut self, client: usize, enter: Ns, last: Ns, token: &str) -> &mut Work {
        let number = self.0.runs.len() as u32;
        let id = RunId { client, number };
        let of = &self.0.clients[client];
        self.0.works.push(Work {
            id: WorkId {
                pid: 1000 + number,
                enter,
            },
            entry: Entry {
                run: id,
                resource: of.resource.clone(),
                token: token.to_owned(),
                slot: None,
            },
            last,
            term: None,
            exited: true,
            agent: of.agent,
            usage: of.usage,
        });
        self.0.runs.push(Run {
            id,
            start: enter,
            end: Some(last),
            code: Some(0),
            limit: Limit::None,
            frozen: 0,
            killed: None,
            told: None,
        });
        self.0.works.last_mut().unwrap()
    }

    fn run(&mut self) -> &mut Run {
        self.0.runs.last_mut().unwrap()
    }

    fn fault(&mut self, at: Ns, until: Ns, apart: u32) {
        self.0.faults.push(Fault {
            at,
            until: Some(until),
            kind: "isolate",
            text: String::new(),
            apart,
        });
    }

    fn rules(&mut self) -> Vec<Rule> {
        self.0.works.sort_by_key(Work::enter);
        check(&self.0).into_iter().map(|v| v.rule).collect()
    }
}

#[test]
fn a_history_in_order_breaks_nothing() {
    assert_eq!(Kit::new().rules(), []);
}

#[test]
fn works_that_share_one_moment_under_a_lock_are_found() {
    let mut kit = Kit::new();
    kit.work(LOCKS, SEC, 2 * SEC, "0100");
    kit.work(LOCKS + 1, 2 * SEC, 3 * SEC, "0101");
    assert_eq!(kit.rules(), [], "one ends when the next begins");
    kit.work(LOCKS + 2, 3 * SEC - 1, 4 * SEC, "0102");
    assert_eq!(kit.rules(), [Rule::LockOverlap]);
    // Partitions and scheduling delays are no excuse.
    kit.fault(SEC, 9 * SEC, 0b00010);
    kit.0.delays.push(3 * SEC, SEC);
    assert_eq!(kit.rules(), [Rule::LockOverlap]);
}

#[test]
fn a_long_work_is_found_beside_each_one_that_enters_meanwhile() {
    let mut kit = Kit::new();
    kit.work(LOCKS, SEC, 9 * SEC, "0100");
    kit.work(LOCKS + 1, 2 * SEC, 3 * SEC, "0101");
    kit.work(LOCKS + 2, 4 * SEC, 5 * SEC, "0102");
    assert_eq!(kit.rules(), [Rule::LockOverlap; 2]);
}

#[test]
fn readers_share_and_writers_do_not() {
    let mut kit = Kit::new();
    kit.work(SHARED, SEC, 3 * SEC, "0100");
    kit.work(SHARED, 2 * SEC, 4 * SEC, "0100");
    assert_eq!(kit.rules(), []);
    kit.work(SHARED + 1, 4 * SEC - 1, 5 * SEC, "0101");
    assert_eq!(kit.rules(), [Rule::LockOverlap]);
}

#[test]
fn a_semaphore_has_as_many_holders_as_permits_and_one_a_slot() {
    let mut kit = Kit::new();
    kit.work(POOL, SEC, 3 * SEC, "0100");
    kit.work(POOL + 1, 2 * SEC, 4 * SEC, "0007");
    assert_eq!(kit.rules(), [], "tokens of unknown slots are not compared");
    kit.work(POOL, 5 * SEC / 2, 4 * SEC, "0101");
    assert_eq!(kit.rules(), [Rule::LockOverlap]);
    let mut kit = Kit::new();
    kit.work(POOL, SEC, 3 * SEC, "0100").entry.slot = Some(1);
    kit.work(POOL + 1, 2 * SEC, 4 * SEC, "0101").entry.slot = Some(1);
    assert_eq!(kit.rules(), [Rule::LockOverlap]);
}

#[test]
fn two_leaders_are_found_unless_a_partition_separates_them() {
    let two = |apart: u32, (from, to): (Ns, Ns)| {
        let mut kit = Kit::new();
        kit.work(0, 2 * SEC, 5 * SEC, "0100");
        kit.work(1, 4 * SEC, 6 * SEC, "0101");
        kit.fault(from, to, apart);
        kit.rules()
    };
    assert_eq!(two(0, (3 * SEC, 6 * SEC)), [Rule::LeaderOverlap]);
    let halves = 0b00101;
    assert_eq!(two(halves, (3 * SEC, 6 * SEC)), []);
    assert_eq!(
        two(0b00011, (3 * SEC, 6 * SEC)),
        [Rule::LeaderOverlap],
        "one side"
    );
    assert_eq!(
        two(halves, (5 * SEC, 6 * SEC)),
        [Rule::LeaderOverlap],
        "too late"
    );
    assert_eq!(
        two(0b00001, (3 * SEC, 6 * SEC)),
        [Rule::LeaderOverlap],
        "left alone"
    );
    assert_eq!(two(0b00001, (SEC, 6 * SEC)), [], "it began to lead alone");
    let mut kit = Kit::new();
    kit.0.strict = true;
    kit.work(0, 2 * SEC, 5 * SEC, "0100");
    kit.work(1, 4 * SEC, 6 * SEC, "0101");
    kit.fault(3 * SEC, 6 * SEC, halves);
    assert_eq!(kit.rules(), [Rule::LeaderOverlap], "a strict election");
    let mut kit = Kit::new();
    kit.fault(SEC, 2 * SEC, halves);
    kit.work(0, 20 * SEC, 25 * SEC, "0100");
    kit.work(1, 24 * SEC, 26 * SEC, "0101");
    assert_eq!(kit.rules(), [Rule::LeaderOverlap], "healed long ago");
    let mut kit = Kit::new();
    kit.fault(SEC, 6 * SEC, halves);
    kit.work(0, 2 * SEC, 12 * SEC, "0100");
    kit.work(1, 4 * SEC, 12 * SEC, "0101");
    assert_eq!(kit.rules(), [Rule::LeaderOverlap], "they go on together");
}

#[test]
fn tokens_that_go_back_or_come_twice_are_found() {
    let mut kit = Kit::new();
    kit.work(LOCKS, SEC, 2 * SEC, "0105");
    kit.work(LOCKS + 1, 3 * SEC, 4 * SEC, "0104");
    assert_eq!(kit.rules(), [Rule::LockTokenBack]);
    kit.work(LOCKS + 2, 5 * SEC, 6 * SEC, "0105");
    assert_eq!(kit.rules(), [Rule::LockTokenBack, Rule::TokenTwice]);
    let mut kit = Kit::new();
    kit.work(0, SEC, 2 * SEC, "0105");
    kit.work(1, 3 * SEC, 4 * SEC, "0104");
    assert_eq!(kit.rules(), [Rule::LeaderTokenBack]);
    kit.fault(SEC / 2, 4 * SEC, 0b00101);
    assert_eq!(kit.rules(), [], "each side has its own");
    kit.work(2, 30 * SEC, 31 * SEC, "0104");
    assert_eq!(
        kit.rules(),
        [Rule::LeaderTokenBack, Rule::TokenTwice],
        "long after"
    );
    let mut kit = Kit::new();
    kit.work(0, SEC, 2 * SEC, "0105");
    kit.work(0, 2 * SEC, 4 * SEC, "0105");
    assert_eq!(kit.rules(), [], "one leader's next command");
    kit.work(0, 4 * SEC - 1, 5 * SEC, "0105");
    assert_eq!(kit.rules(), [Rule::LeaderOverlap, Rule::TokenTwice]);
    let mut kit = Kit::new();
    kit.work(0, SEC, 2 * SEC, "0105");
    kit.work(1, 3 * SEC, 4 * SEC, "0105");
    assert_eq!(kit.rules(), [Rule::TokenTwice], "two leaders");
    let mut kit = Kit::new();
    kit.work(SHARED + 1, SEC, 2 * SEC, "0105");
    kit.work(SHARED, 3 * SEC, 4 * SEC, "0105");
    assert_eq!(kit.rules(), [], "a reader may have the last writer's token");
    kit.work(SHARED, 5 * SEC, 6 * SEC, "0104");
    assert_eq!(kit.rules(), [Rule::LockTokenBack]);
    let mut kit = Kit::new();
    kit.work(LOCKS, SEC, 2 * SEC, "");
    assert_eq!(kit.rules(), [Rule::Incident]);
}

#[test]
fn clients_that_return_late_are_found_unless_frozen_or_on_a_late_machine() {
    let limited = |took: Ns, limit| {
        let mut kit = Kit::new();
        kit.work(LOCKS, SEC, SEC, "0100");
        kit.0.works.pop();
        (kit.run().limit, kit.run().end) = (limit, Some(SEC + took));
        kit
    };
    assert_eq!(limited(3 * SEC, Limit::Timeout(2 * SEC)).rules(), []);
    assert_eq!(limited(30 * SEC, Limit::None).rules(), []);
    let mut kit = limited(4 * SEC, Limit::Timeout(2 * SEC));
    assert_eq!(kit.rules(), [Rule::Overrun]);
    kit.run().frozen = SEC;
    assert_eq!(kit.rules(), []);
    let mut kit = limited(4 * SEC, Limit::Timeout(2 * SEC));
    kit.0.delays.push(4 * SEC, SEC);
    assert_eq!(kit.rules(), []);
    let mut kit = limited(11 * SEC, Limit::Try);
    assert_eq!(kit.rules(), [Rule::Overrun]);
    // Granted in time, then at work for a long time.
    let first = kit.run().id;
    kit.work(LOCKS, 2 * SEC, 12 * SEC, "0101").entry.run = first;
    kit.0.runs.pop();
    assert_eq!(kit.rules(), []);
    // It had not returned when it was killed, far too late.
    let mut kit = limited(20 * SEC, Limit::Timeout(SEC));
    kit.run().killed = Some(Killed {
        at: 9 * SEC,
        with_guards: false,
    });
    assert_eq!(kit.rules(), [Rule::Overrun]);
    kit.run().killed = Some(Killed {
        at: 2 * SEC,
        with_guards: false,
    });
    assert_eq!(kit.rules(), []);
}

#[test]
fn commands_that_outlive_their_clients_are_found() {
    let mut kit = Kit::new();
    kit.work(LOCKS, SEC, 3 * SEC, "0100");
    kit.run().end = Some(3 * SEC - 60 * MS);
    assert_eq!(kit.rules(), [Rule::Leftover]);
    for (killed, with_guards, rules) in [
        (2 * SEC, false, &[][..]),
        (4 * SEC, true, &[]),
        (SEC, true, &[Rule::Leftover]),
    ] {
        let mut kit = Kit::new();
        kit.work(LOCKS, SEC, 6 * SEC, "0100");
        kit.run().end = Some(killed);
        kit.run().killed = Some(Killed {
            at: killed,
            with_guards,
        });
        assert_eq!(kit.rules(), rules, "killed at {killed}");
    }
    let mut kit = Kit::new();
    kit.0.leftovers.push(1003);
    assert_eq!(kit.rules(), [Rule::Leftover]);
}

#[test]
fn stalls_incidents_and_empty_runs_are_found() {
    let mut kit = Kit::new();
    let (start, end) = (SEC, 31 * SEC);
    let unmet = vec!["lock db has not been granted to anybody".to_owned()];
    let listed = None;
    kit.0.calms.push(Calm {
        start,
        end,
        listed,
        unmet,
    });
    assert_eq!(kit.rules(), [Rule::Stall]);
    let mut kit = Kit::new();
    let text = "agent 3 ended by itself".to_owned();
    kit.0.incidents.push(Incident { at: SEC, text });
    assert_eq!(kit.rules(), [Rule::Incident]);
    let mut kit = Kit::new();
    kit.0.faults.clear();
    assert_eq!(kit.rules(), [Rule::Empty]);
    let mut kit = Kit::new();
    kit.0.works.retain(|w| w.entry.resource != "lead");
    assert_eq!(kit.rules(), [Rule::Empty; 2], "no work, no takeover");
    let least = Least::default();
    for least in [
        Least { faults: 4, ..least },
        Least { leads: 4, ..least },
        Least {
            takeovers: 3,
            leads: 2,
            locks: 2,
            ..least
        },
    ] {
        let mut kit = Kit::new();
        kit.0.least = least;
        let found = kit.rules();
        assert!(
            !found.is_empty() && found.iter().all(|r| *r == Rule::Empty),
            "{least:?}"
        );
    }
}

#[test]
fn works_are_read_from_the_log_in_any_order() {
    let mut history = Kit::new().0;
    let work = WorkId { pid: 7, enter: SEC };
    let record = |at, verb| Record { at, work, verb };
    let entry = Entry {
        run: RunId {
            client: LOCKS,
            number: 1,
        },
        resource: "db".to_owned(),
        token: "01".to_owned(),
        slot: None,
    };
    history.add_works(&[
        record(3 * SEC, Verb::Tick),
        record(SEC, Verb::Enter(entry)),
        record(2 * SEC, Verb::Term),
    ]);
    let [work] = &history.works[..] else {
        panic!("{:?}", history.works)
    };
    let seen = (work.enter(), work.last, work.term, work.exited);
    assert_eq!(seen, (SEC, 3 * SEC, Some(2 * SEC), false));
    assert_eq!((work.agent, work.usage), (0, Use::Exclusive));
}

#[test]
fn what_a_command_started_counts_unless_all_guards_were_killed() {
    let mut kit = Kit::new();
    kit.work(LOCKS, SEC, 2 * SEC, "0100");
    let run = kit.run().id;
    let work = WorkId { pid: 7, enter: SEC };
    let entry = kit.0.works.last().unwrap().entry.clone();
    let record = |at, verb| Record { at, work, verb };
    let records = [
        record(SEC, Verb::Enter(entry)),
        record(2 * SEC, Verb::Exit),
        record(3 * SEC, Verb::Kin),
        record(5 * SEC, Verb::Kin),
    ];
    kit.0.add_works(&records);
    assert_eq!(kit.0.works[0].last, 5 * SEC);
    for (with_guards, last) in [(false, 5 * SEC), (true, 3 * SEC)] {
        let at = 4 * SEC;
        assert_eq!(kit.run().id, run);
        kit.run().killed = Some(Killed { at, with_guards });
        kit.0.add_works(&records);
        assert_eq!(kit.0.works[0].last, last);
    }
}
