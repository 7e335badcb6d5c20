use super::*;
use alloc::vec;

/// A holder, and its outputs since the last call.
struct Bench {
    lease: Lease,
    out: Vec<Output>,
}

impl Bench {
    /// Node 1 asks for the lease of term 1.
    fn new(set: Set) -> Bench {
        let mut b = Bench {
            lease: Lease::new(Rules::default(), holder(1), token(1), set, SPAN, 0, at(0)),
            out: Vec::new(),
        };
        b.tick(0);
        b
    }

    /// A leader whose watchers 2, 3 and 4 acknowledged at 0.
    fn leading() -> Bench {
        let mut b = Bench::new(first());
        for (node, seq) in b.renewals() {
            b.ack(10, node, seq);
        }
        assert!(b.granted(900));
        b.out.clear();
        b
    }

    fn tick(&mut self, now: u64) {
        self.lease.on_timer(at(now), RTO, &mut self.out);
    }

    fn ack(&mut self, now: u64, node: u64, seq: u64) {
        let ack = Ack { life: Life(1), seq };
        self.lease
            .on_ack(at(now), watcher(node), ack, &mut self.out);
    }

    fn refuse(&mut self, now: u64, node: u64, refusal: Refusal) {
        self.lease
            .on_refusal(at(now), watcher(node), &refusal, &mut self.out);
    }

    /// The node and the sequence number of each renewal since the last call.
    fn renewals(&mut self) -> Vec<(u64, u64)> {
        let renewal = |o: &Output| match o {
            Output::Renew(node, renew) => Some((node.0, renew.seq)),
            Output::Extend(node, extend) => Some((node.0, extend.seq)),
            _ => None,
        };
        let sent = self.out.iter().filter_map(renewal).collect();
        self.out.retain(|o| renewal(o).is_none());
        sent
    }

    /// The nodes to which renewals since the last call went in short form, and the others.
    fn short_and_whole(&mut self) -> (Vec<u64>, Vec<u64>) {
        let short = |o: &Output| match o {
            Output::Extend(node, _) => Some(node.0),
            _ => None,
        };
        let short = self.out.iter().filter_map(short).collect::<Vec<_>>();
        let whole = self.renewals().into_iter().map(|r| r.0);
        let whole = whole.filter(|n| !short.contains(n)).collect();
        (short, whole)
    }

    /// Whether the end of the last grant is `end`.
    fn granted(&self, end: u64) -> bool {
        let granted = |o: &Output| matches!(o, Output::Granted { .. });
        let last = self.out.iter().rev().find(|o| granted(o));
        let token = self.lease.token();
        last == Some(&Output::Granted {
            token,
            end: at(end),
        })
    }

    fn releases(&self) -> Vec<u64> {
        let release = |o: &Output| match o {
            Output::Release(node, _) => Some(node.0),
            _ => None,
        };
        self.out.iter().filter_map(release).collect()
    }
}

fn refusal(why: Why) -> Refusal {
    Refusal {
        why,
        left: ms(0),
        token: None,
        set: None,
        closed: None,
        span: ms(0),
    }
}

#[test]
fn a_lease_takes_a_majority_and_counts_from_the_sending() {
    let mut b = Bench::new(first());
    let sent = b.renewals();
    assert_eq!(sent, [(2, 1), (3, 2), (4, 3)]);
    b.ack(40, 2, 1);
    assert_eq!(b.lease.valid(at(40)), None);
    b.ack(80, 3, 2);
    assert_eq!(b.lease.valid(at(80)), Some((token(1), at(900))));
    assert_eq!(b.lease.valid(at(900)), None);
}

#[test]
fn the_quorum_th_greatest_sending_counts() {
    let mut b = Bench::leading();
    b.tick(334);
    assert_eq!(b.renewals(), [(2, 4), (3, 5), (4, 6)]);
    b.ack(340, 2, 4);
    assert_eq!(b.lease.end(), Some(at(900)), "one of three");
    b.ack(350, 4, 6);
    assert!(b.granted(1234));
}

#[test]
fn answers_count_once_for_their_own_sending_and_life() {
    let mut b = Bench::new(first());
    b.tick(125);
    assert_eq!(
        b.renewals(),
        [(2, 1), (3, 2), (4, 3), (2, 4), (3, 5), (4, 6)]
    );
    // The acknowledgement of the first transmission arrives after the second transmission.
    b.ack(130, 2, 1);
    b.ack(130, 3, 2);
    assert_eq!(b.lease.end(), Some(at(900)));
    // A sequence number that was sent to another watcher, and one of another life.
    b.ack(131, 3, 4);
    let ack = Ack {
        life: Life(9),
        seq: 5,
    };
    b.lease.on_ack(at(131), watcher(3), ack, &mut b.out);
    assert_eq!(b.lease.end(), Some(at(900)));
    b.ack(132, 2, 4);
    b.ack(132, 3, 5);
    assert_eq!(b.lease.end(), Some(at(1025)));
}

#[test]
fn another_memory_is_another_watcher() {
    let mut b = Bench::new(first());
    b.ack(1, 2, 1);
    let reborn = Watcher {
        node: NodeId(3),
        memory: Life(5),
    };
    let ack = Ack {
        life: Life(1),
        seq: 2,
    };
    b.lease.on_ack(at(2), reborn, ack, &mut b.out);
    assert_eq!(b.lease.valid(at(2)), None);
}

#[test]
fn silent_watchers_are_asked_again_each_eighth_of_the_span_and_all_each_third() {
    let mut b = Bench::new(first());
    b.renewals();
    b.ack(10, 2, 1);
    b.ack(10, 3, 2);
    assert_eq!(b.lease.next_at(), Some(at(125)));
    b.tick(125);
    assert_eq!(b.renewals(), [(4, 4)]);
    assert_eq!(b.lease.next_at(), Some(at(250)));
    b.ack(130, 4, 4);
    assert_eq!(b.lease.next_at(), Some(at(0) + SPAN / 3));
    b.tick(334);
    assert_eq!(b.renewals(), [(2, 5), (3, 6), (4, 7)]);
}

#[test]
fn a_lease_that_ended_is_released_and_never_renewed_again() {
    let mut b = Bench::leading();
    b.tick(400);
    let late = b.renewals();
    b.tick(900);
    assert_eq!(b.releases(), [2, 3, 4]);
    assert_eq!(b.out.last(), Some(&Output::Lapsed(SPAN)));
    b.out.clear();
    for (node, seq) in late {
        b.ack(901, node, seq);
    }
    assert_eq!(b.lease.valid(at(901)), None);
    assert_eq!(
        b.releases(),
        [2, 3, 4],
        "a promise that came late is given back"
    );
    assert_eq!(b.lease.next_at(), None);
}

#[test]
fn a_candidate_that_hears_nobody_gives_up_for_twice_as_long() {
    let mut b = Bench::new(first());
    b.refuse(500, 2, refusal(Why::Promised));
    b.tick(1499);
    assert!(!b.lease.is_over());
    b.tick(1500);
    assert_eq!(b.out.last(), Some(&Output::Lapsed(SPAN * 2)));
    assert_eq!(b.releases(), [2, 3, 4]);
}

#[test]
fn a_candidate_that_hears_only_itself_as_a_watcher_gives_up_too() {
    let mut b = Bench::new(Set::first(token(1), watchers(&[1, 2, 3])));
    for now in [0, 100, 300, 500, 700, 900] {
        b.tick(now);
        let own = b.renewals().into_iter().filter(|(node, _)| *node == 1);
        for (node, seq) in own.collect::<Vec<_>>() {
            b.ack(now, node, seq);
        }
    }
    b.tick(SPAN.as_millis() as u64);
    assert_eq!(b.out.last(), Some(&Output::Lapsed(SPAN * 2)));
}

#[test]
fn a_watcher_is_asked_again_when_its_promise_is_over() {
    let mut b = Bench::new(first());
    b.renewals();
    b.ack(10, 3, 2);
    b.ack(10, 4, 3);
    let left = Refusal {
        left: ms(70),
        ..refusal(Why::Promised)
    };
    b.refuse(10, 2, left);
    b.tick(79);
    assert_eq!(b.renewals(), []);
    b.tick(80);
    assert_eq!(b.renewals(), [(2, 4)]);
}

#[test]
fn giving_up_waits_for_the_end_of_the_work_and_at_most_for_the_end_of_the_lease() {
    for (stopped, released) in [(Some(100), 100), (None, 900)] {
        let mut b = Bench::leading();
        b.lease.stop(at(50), &mut b.out);
        assert_eq!(b.lease.valid(at(50)), None, "nothing new starts");
        b.tick(400);
        assert_eq!(
            b.out,
            [],
            "no renewals, and no release while the work may run"
        );
        assert_eq!(b.lease.next_at(), Some(at(900)));
        match stopped {
            Some(_) => b.lease.on_stopped(&mut b.out),
            None => b.tick(released),
        }
        assert_eq!(b.releases(), [2, 3, 4]);
        assert!(b.lease.is_over());
    }
    let mut idle = Bench::new(first());
    idle.lease.stop(at(1), &mut idle.out);
    assert_eq!(
        idle.releases(),
        [2, 3, 4],
        "a candidate has nothing to stop"
    );
}

#[test]
fn the_maker_of_a_change_counts_on_the_former_watchers_until_the_new_ones_cover_all_it_told() {
    let mut b = Bench::leading();
    assert!(
        b.lease
            .change(at(100), watchers(&[4, 5, 6]), SPAN, &mut b.out)
    );
    assert!(
        !b.lease.change(at(100), watchers(&[4]), SPAN, &mut b.out),
        "one at a time"
    );
    assert_eq!(b.lease.set(), &changing(1));
    b.tick(100);
    assert_eq!(b.renewals(), [(2, 4), (3, 5), (4, 6), (5, 7), (6, 8)]);
    b.ack(110, 5, 7);
    b.ack(110, 6, 8);
    assert_eq!(
        b.lease.end(),
        Some(at(900)),
        "the new ones alone do not count"
    );
    b.ack(110, 2, 4);
    assert!(b.lease.set().is_changing(), "one of the former recorded it");
    b.tick(434);
    b.out.clear();
    b.ack(440, 2, 9);
    b.ack(440, 3, 10);
    assert!(b.granted(1334));
    assert!(
        b.lease.set().is_changing(),
        "the new ones promised only until 1000"
    );
    b.ack(450, 5, 12);
    b.ack(450, 6, 13);
    let set = *b.lease.set();
    assert_eq!((set.rank.number, set.former), (2, Watchers::NONE));
    assert_eq!(b.lease.end(), Some(at(1334)));
}

#[test]
fn a_successor_needs_both_majorities_of_a_change_under_way() {
    let mut b = Bench::new(changing(9));
    b.renewals();
    b.ack(1, 4, 3);
    b.ack(1, 5, 4);
    b.ack(1, 6, 5);
    assert_eq!(b.lease.valid(at(1)), None, "one of the former");
    b.ack(2, 2, 1);
    assert_eq!(b.lease.valid(at(2)), Some((token(1), at(900))));
    // The holder has both quorums, and completes the change.
    assert_eq!(b.lease.set().former, Watchers::NONE);
    assert_eq!(b.lease.set().rank.by, token(1));
}

#[test]
fn a_candidate_goes_on_with_a_greater_set_and_a_leader_numbers_above_an_unfinished_one() {
    let told = Refusal {
        set: Some(changing(9)),
        ..refusal(Why::Set)
    };
    let mut b = Bench::new(first());
    b.refuse(5, 2, told);
    assert_eq!(b.lease.set(), &changing(9));
    assert_eq!(b.lease.token(), token(1));

    let mut b = Bench::leading();
    b.refuse(50, 2, told);
    let set = *b.lease.set();
    assert_eq!(
        (set.watchers, set.former),
        (first().watchers, Watchers::NONE)
    );
    assert_eq!((set.rank.number, set.rank.by), (2, token(1)));
    assert_eq!(b.out, [Output::Set]);
}

#[test]
fn an_inherited_change_that_is_numbered_above_still_takes_both_majorities() {
    let mut b = Bench::new(first());
    let told = |number| {
        let mut set = changing(9);
        set.rank.number = number;
        Refusal {
            set: Some(set),
            ..refusal(Why::Set)
        }
    };
    // The former watchers 3 and 4 granted it with the former set; 5 grants it with the new one.
    b.ack(1, 4, 3);
    b.refuse(2, 2, told(1));
    b.ack(3, 3, 2);
    b.tick(3);
    assert_eq!(b.lease.valid(at(3)), None);
    let sent = b.renewals();
    let seq = |node: u64| sent.iter().rev().find(|s| s.0 == node).map_or(0, |s| s.1);
    b.ack(4, 5, seq(5));
    assert!(b.lease.valid(at(4)).is_some() && b.lease.set().is_changing());
    let end = b.lease.end();
    b.refuse(5, 6, told(7));
    assert_eq!(b.lease.set().rank.number, 8);
    b.tick(100);
    for (node, seq) in b.renewals().into_iter().filter(|s| s.0 < 4) {
        b.ack(110, node, seq);
    }
    assert_eq!(b.lease.end(), end, "the former ones alone do not count");
}

#[test]
fn a_greater_token_and_a_greater_line_are_told_to_the_host() {
    let mut b = Bench::leading();
    let told = Refusal {
        token: Some(token(2)),
        ..refusal(Why::Token)
    };
    b.refuse(20, 2, told);
    assert_eq!(b.out, [Output::Outranked(token(2))]);
    b.out.clear();
    let line = Set::first(token(5), watchers(&[5]));
    b.lease.on_set(at(20), line, &mut b.out);
    assert_eq!(b.out, [Output::OtherLine(line)]);
    assert_eq!(b.lease.set(), &first());
}

#[test]
fn work_goes_on_by_the_old_token_until_a_quorum_acknowledged_the_new_one() {
    let mut b = Bench::leading();
    b.lease.claim_again(at(20), token(3));
    b.tick(20);
    assert_eq!(b.lease.valid(at(20)), Some((token(1), at(900))));
    b.ack(30, 2, 4);
    assert_eq!(b.lease.valid(at(30)), Some((token(1), at(900))));
    b.ack(30, 3, 5);
    assert_eq!(b.lease.valid(at(30)), Some((token(3), at(920))));
}

#[test]
fn a_quorum_is_lost_when_watchers_are_down_or_closed_the_line() {
    let mut b = Bench::new(first());
    assert!(!b.lease.is_lost(|n| n == NodeId(2)));
    assert!(b.lease.is_lost(|n| n == NodeId(2) || n == NodeId(3)));
    let closed = Refusal {
        closed: Some(token(2)),
        ..refusal(Why::Set)
    };
    b.refuse(5, 3, closed);
    assert!(b.lease.is_lost(|n| n == NodeId(2)));
}

#[test]
fn a_watcher_that_lost_its_memory_counts_as_lost() {
    let mut b = Bench::new(first());
    let wiped = Watcher {
        memory: Life(7),
        ..watcher(3)
    };
    let refusal = Refusal {
        why: Why::Stranger,
        left: Duration::ZERO,
        token: None,
        set: None,
        closed: None,
        span: Duration::ZERO,
    };
    b.lease.on_refusal(at(5), wiped, &refusal, &mut b.out);
    assert!(!b.lease.is_lost(|_| false));
    assert!(b.lease.is_lost(|n| n == NodeId(2)));

    // During a change from a node's former memory to its current one, the former one never answers again.
    let set = Set {
        watchers: [watcher(2), wiped, watcher(4)].into_iter().collect(),
        ..changing(1)
    };
    assert!(!set.lost(|_| false));
    assert!(
        set.lost(|w| w.node == NodeId(2)),
        "of the former, only 4 is left"
    );
}

#[test]
fn whoever_acknowledged_the_same_lease_gets_the_short_form_until_something_changes() {
    let mut b = Bench::leading();
    b.tick(334);
    assert_eq!(b.short_and_whole(), (vec![2, 3, 4], vec![]));
    for (node, seq) in [(2, 4), (3, 5)] {
        b.ack(340, node, seq);
    }
    // A greater token, another duration and another set are told as a whole.
    b.lease.claim_again(at(350), token(2));
    b.tick(350);
    assert_eq!(b.short_and_whole(), (vec![], vec![2, 3, 4]));
    b.ack(360, 2, 7);
    assert!(
        b.lease
            .change(at(370), watchers(&[2, 3, 5]), SPAN, &mut b.out)
    );
    b.tick(370);
    assert_eq!(b.short_and_whole(), (vec![], vec![2, 3, 4, 5]));
    // An answer to what was sent before the change does not count as knowing the change.
    b.ack(380, 3, 8);
    b.tick(500);
    assert_eq!(b.short_and_whole(), (vec![], vec![2, 3, 4, 5]));
}

#[test]
fn a_watcher_that_does_not_know_the_short_form_is_told_the_whole_once() {
    let mut b = Bench::leading();
    b.tick(334);
    b.out.clear();
    b.refuse(340, 3, refusal(Why::Unknown));
    b.tick(340);
    assert_eq!(b.short_and_whole(), (vec![], vec![3]));
    // Saying so again does not make the holder send at once.
    b.refuse(341, 3, refusal(Why::Unknown));
    b.tick(341);
    assert_eq!(b.short_and_whole(), (vec![], vec![]));
}

#[test]
fn a_holder_that_watches_itself_is_not_asked_in_short_form() {
    let mut b = Bench::new(Set::first(token(1), watchers(&[1, 2, 3])));
    for (node, seq) in b.renewals() {
        b.ack(10, node, seq);
    }
    b.tick(334);
    assert_eq!(b.short_and_whole(), (vec![2, 3], vec![1]));
}
