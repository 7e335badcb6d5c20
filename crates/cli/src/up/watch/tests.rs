//! What is told of events that many nodes see.

use super::*;

fn plain(watch: &Watch, news: &[News]) -> Vec<String> {
    news.iter().map(|n| watch.plain(n)).collect()
}

fn member(n: u64) -> Member {
    Member::new(NodeId(n), format!("node-{n}"), ([127, 0, 0, 1], 1).into())
}

fn failed(n: u64) -> Event {
    Event::Down {
        member: member(n),
        life: Life(1),
        why: Departure::Failed,
        by: NodeId(1),
    }
}

#[test]
fn a_failure_is_told_when_first_seen_and_when_seen_by_all() {
    let start = Instant::now();
    let mut watch = Watch::new(start, Duration::from_secs(5));
    let running = [(1, NodeId(1)), (2, NodeId(2)), (4, NodeId(4))].into();
    watch.cause(NodeId(3), "node-3", "kill", start);
    let at = |s| start + Duration::from_secs(s);
    watch.names.insert(NodeId(2), "node-2".into());
    let lines = watch.note(2, &failed(3), at(4), &running);
    assert_eq!(
        plain(&watch, &lines),
        ["    4.0s  node-3 failed at node-2 first (4.0s after kill)"]
    );
    assert!(watch.note(1, &failed(3), at(5), &running).is_empty());
    let lines = watch.note(4, &failed(3), at(6), &running);
    assert_eq!(
        plain(&watch, &lines),
        ["    6.0s  node-3 failed at 3/3 others (6.0s after kill)"]
    );
    assert!(
        watch.note(5, &failed(3), at(7), &running).is_empty(),
        "a latecomer"
    );
    watch.restarted(1);
    assert!(
        watch.note(1, &failed(3), at(8), &running).is_empty(),
        "an observer that was revived"
    );
    assert!(watch.settle(at(99), &running).is_empty());
}

#[test]
fn a_new_leader_is_told_when_it_may_act_and_when_all_follow() {
    use consort::election::{ElectionId, ElectionName, Term};
    let start = Instant::now();
    let mut watch = Watch::new(start, Duration::from_secs(5));
    let running: BTreeMap<usize, NodeId> = [(1, NodeId(1)), (2, NodeId(2))].into();
    let election = ElectionName {
        id: ElectionId(1),
        name: None,
    };
    let token = |term| Token {
        term: Term(term),
        initiator: NodeId(1),
        life: Life(1),
        revision: 1,
    };
    let changed = |n, term| Event::LeaderChanged {
        election: election.clone(),
        leader: Leader::new(NodeId(n), Life(1), format!("node-{n}"), token(term)),
    };
    let acts = |term| Event::BecameLeader {
        election: election.clone(),
        token: token(term),
    };
    watch.note(1, &changed(3, 7), start, &running);
    watch.cause(NodeId(3), "node-3", "kill", start);
    let at = |s| start + Duration::from_secs(s);
    assert!(watch.note(2, &changed(2, 8), at(4), &running).is_empty());
    let lines = watch.note(2, &acts(8), at(4), &running);
    assert_eq!(
        plain(&watch, &lines),
        ["    4.0s  node-2 leads, term 8 (4.0s after kill of node-3)"]
    );
    let lines = watch.note(1, &changed(2, 8), at(5), &running);
    assert_eq!(
        plain(&watch, &lines),
        ["    5.0s  all 2 nodes follow node-2 (5.0s after kill of node-3)"]
    );
    assert!(
        watch.note(1, &changed(2, 8), at(6), &running).is_empty(),
        "once"
    );
}

#[test]
fn a_wave_that_stands_still_is_told_as_it_is() {
    let start = Instant::now();
    let mut watch = Watch::new(start, Duration::from_secs(5));
    let running = [(1, NodeId(1)), (2, NodeId(2)), (3, NodeId(3))].into();
    let up = Event::Up {
        member: member(9),
        life: Life(1),
        how: Arrival::Joined,
    };
    assert!(watch.note(1, &up, start, &running).is_empty());
    let lines = watch.settle(start + Duration::from_secs(6), &running);
    assert_eq!(
        plain(&watch, &lines),
        ["    0.0s  node-9 joined, known at 1/3 others"]
    );
}

#[test]
fn only_those_that_lost_a_member_tell_that_it_is_back() {
    let start = Instant::now();
    let mut watch = Watch::new(start, Duration::from_secs(5));
    let running = [(1, NodeId(1)), (2, NodeId(2)), (3, NodeId(3))].into();
    let down = Event::Down {
        member: member(9),
        life: Life(1),
        why: Departure::Failed,
        by: NodeId(1),
    };
    let up = Event::Up {
        member: member(9),
        life: Life(1),
        how: Arrival::Returned,
    };
    watch.note(1, &down, start, &running);
    watch.note(2, &down, start, &running);
    assert!(watch.note(1, &up, start, &running).is_empty());
    let lines = watch.note(2, &up, start, &running);
    assert_eq!(
        plain(&watch, &lines),
        ["    0.0s  node-9 is back at the 2 that had lost it"]
    );
    let later = start + Duration::from_secs(60);
    assert!(
        watch.settle(later, &running).is_empty(),
        "it is not said to have failed after it came back"
    );
}
