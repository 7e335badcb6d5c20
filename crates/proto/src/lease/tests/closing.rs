use super::*;

fn step(c: &mut Closing, now: u64, members: &[u64], need: Need<'_>) -> (Progress, Vec<u64>) {
    let mut ask = Vec::new();
    let members = members.iter().map(|&n| NodeId(n));
    let progress = c.on_timer(at(now), members, need, RTO, &mut ask);
    (progress, ask.into_iter().map(|n| n.0).collect())
}

#[test]
fn every_member_has_to_answer_and_old_leases_have_to_end() {
    let known = Some(first().rank);
    let mut c = Closing::new(Rules::default(), token(2), known, Some(SPAN), at(0));
    assert_eq!(
        step(&mut c, 0, &[1, 2, 3], Need::All),
        (Progress::Asking(at(50)), [1, 2, 3].to_vec())
    );
    c.on_closed(at(10), watcher(1), ms(0));
    c.on_closed(at(20), watcher(2), ms(0));
    let (progress, ask) = step(&mut c, 50, &[1, 2, 3], Need::All);
    assert!(matches!(progress, Progress::Asking(_)));
    assert_eq!(ask, [3]);
    // The third one is down now.
    assert_eq!(
        step(&mut c, 60, &[1, 2], Need::All).0,
        Progress::Waiting(at(1120))
    );
    // A repeated answer does not count. That of a newcomer does, and the newcomer knows of a longer lease.
    c.on_closed(at(70), watcher(2), ms(0));
    assert_eq!(
        step(&mut c, 70, &[1, 2], Need::All).0,
        Progress::Waiting(at(1120))
    );
    c.on_closed(at(80), watcher(4), ms(2000));
    assert_eq!(
        step(&mut c, 80, &[1, 2, 4], Need::All).0,
        Progress::Waiting(at(2280))
    );
    assert_eq!(step(&mut c, 2280, &[1, 2, 4], Need::All).0, Progress::Ready);
}

#[test]
fn a_process_that_was_stopped_meanwhile_asks_again() {
    let known = Some(first().rank);
    let mut c = Closing::new(Rules::default(), token(2), known, Some(SPAN), at(0));
    c.on_closed(at(10), watcher(1), ms(0));
    assert_eq!(
        step(&mut c, 10, &[1], Need::All).0,
        Progress::Waiting(at(1110))
    );
    // A call that is a little late is in time; after a long pause closing starts again.
    let mut late = c.clone();
    assert_eq!(step(&mut late, 2000, &[1], Need::All).0, Progress::Ready);
    let (progress, ask) = step(&mut c, 2111, &[1], Need::All);
    assert!(matches!(progress, Progress::Asking(_)));
    assert_eq!(ask, [1]);
}

#[test]
fn a_first_claim_does_not_wait_and_a_floor_takes_its_majority() {
    let mut c = Closing::new(Rules::default(), token(2), None, None, at(0));
    c.on_closed(at(10), watcher(1), ms(0));
    assert_eq!(step(&mut c, 10, &[1], Need::All).0, Progress::Ready);
    assert!(matches!(
        step(&mut c, 10, &[1], Need::Count(2)).0,
        Progress::Asking(_)
    ));
    c.on_closed(at(20), watcher(2), ms(0));
    assert_eq!(
        step(&mut c, 20, &[1, 2, 3], Need::Count(2)).0,
        Progress::Ready
    );
}

#[test]
fn in_a_strict_election_a_quorum_of_the_set_closes_it_with_its_memories() {
    let mut set = first();
    set.former = watchers(&[7]);
    let mut c = Closing::new(
        Rules::default(),
        token(2),
        Some(set.rank),
        Some(SPAN),
        at(0),
    );
    let need = Need::Quorum(&set);
    for watcher in set.watchers.iter() {
        c.on_closed(at(10), *watcher, ms(0));
    }
    assert!(matches!(
        step(&mut c, 10, &[7], need).0,
        Progress::Asking(_)
    ));
    // The watcher lost its disk, so its former promises are unknown.
    let memory = Life(99);
    c.on_closed(
        at(20),
        Watcher {
            memory,
            ..watcher(7)
        },
        ms(0),
    );
    assert!(matches!(
        step(&mut c, 20, &[7], need).0,
        Progress::Asking(_)
    ));
    let mut c = Closing::new(
        Rules::default(),
        token(2),
        Some(set.rank),
        Some(SPAN),
        at(0),
    );
    for watcher in set.all() {
        c.on_closed(at(10), watcher, ms(0));
    }
    assert_eq!(step(&mut c, 10, &[7], need).0, Progress::Waiting(at(1110)));
    let reopened = set.reopened(token(3));
    assert_eq!(
        (reopened.watchers, reopened.former),
        (set.watchers, set.former)
    );
    assert!(reopened.rank > set.rank);
}

#[test]
fn a_candidate_that_gets_no_answer_from_enough_members_gives_up() {
    let set = first();
    let closing = |rules| Closing::new(rules, token(2), Some(set.rank), Some(SPAN), at(0));
    let twice = 2 * SPAN.as_millis() as u64;
    // Each new answer gives it as much time again, and a repeated one does not.
    let mut c = closing(Rules::default());
    c.on_closed(at(500), watcher(2), ms(0));
    c.on_closed(at(900), watcher(2), ms(0));
    let need = Need::Quorum(&set);
    for now in (0..500 + twice).step_by(500) {
        let (progress, _) = step(&mut c, now, &[2, 3, 4], need);
        assert!(matches!(progress, Progress::Asking(_)), "at {now}");
    }
    assert_eq!(
        step(&mut c, 500 + twice, &[2, 3, 4], need).0,
        Progress::Vain
    );
    // As long as too few members are listed, or all have to answer, it waits: nobody else would get further.
    for (need, listed) in [(Need::Count(3), &[1, 2][..]), (Need::All, &[1, 2, 3])] {
        let mut c = closing(Rules::default());
        for now in (0..4 * twice).step_by(500) {
            let (progress, _) = step(&mut c, now, listed, need);
            assert!(matches!(progress, Progress::Asking(_)), "at {now}");
        }
    }
    let mut c = closing(Rules::default());
    let count = Need::Count(3);
    for now in (0..twice).step_by(500) {
        step(&mut c, now, &[1, 2, 3], count);
    }
    assert_eq!(step(&mut c, twice, &[1, 2, 3], count).0, Progress::Vain);
}
