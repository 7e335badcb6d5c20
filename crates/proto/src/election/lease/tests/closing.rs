use super::*;

fn step(c: &mut Closing, now: u64, members: &[u64], enough: Option<usize>) -> (Progress, Vec<u64>) {
    let mut ask = Vec::new();
    let members = members.iter().map(|&n| NodeId(n));
    let progress = c.on_timer(at(now), members, enough, RTO, &mut ask);
    (progress, ask.into_iter().map(|n| n.0).collect())
}

#[test]
fn every_member_has_to_answer_and_old_leases_have_to_end() {
    let known = Some(first().rank);
    let mut c = Closing::new(Rules::default(), token(2), known, Some(SPAN), at(0));
    assert_eq!(
        step(&mut c, 0, &[1, 2, 3], None),
        (Progress::Asking(at(50)), [1, 2, 3].to_vec())
    );
    c.on_closed(at(10), NodeId(1), ms(0));
    c.on_closed(at(20), NodeId(2), ms(0));
    let (progress, ask) = step(&mut c, 50, &[1, 2, 3], None);
    assert!(matches!(progress, Progress::Asking(_)));
    assert_eq!(ask, [3]);
    // The third one is down now.
    assert_eq!(
        step(&mut c, 60, &[1, 2], None).0,
        Progress::Waiting(at(1120))
    );
    // A repeated answer does not count; one of a newcomer does, and it knows of a longer lease.
    c.on_closed(at(70), NodeId(2), ms(0));
    assert_eq!(
        step(&mut c, 70, &[1, 2], None).0,
        Progress::Waiting(at(1120))
    );
    c.on_closed(at(80), NodeId(4), ms(2000));
    assert_eq!(
        step(&mut c, 80, &[1, 2, 4], None).0,
        Progress::Waiting(at(2280))
    );
    assert_eq!(step(&mut c, 2280, &[1, 2, 4], None).0, Progress::Ready);
}

#[test]
fn a_process_that_was_stopped_meanwhile_asks_again() {
    let known = Some(first().rank);
    let mut c = Closing::new(Rules::default(), token(2), known, Some(SPAN), at(0));
    c.on_closed(at(10), NodeId(1), ms(0));
    assert_eq!(step(&mut c, 10, &[1], None).0, Progress::Waiting(at(1110)));
    // A little late is in time; much later it knows nothing any more.
    let mut late = c.clone();
    assert_eq!(step(&mut late, 2000, &[1], None).0, Progress::Ready);
    let (progress, ask) = step(&mut c, 2111, &[1], None);
    assert!(matches!(progress, Progress::Asking(_)));
    assert_eq!(ask, [1]);
}

#[test]
fn a_first_claim_does_not_wait_and_a_floor_takes_its_majority() {
    let mut c = Closing::new(Rules::default(), token(2), None, None, at(0));
    c.on_closed(at(10), NodeId(1), ms(0));
    assert_eq!(step(&mut c, 10, &[1], None).0, Progress::Ready);
    assert!(matches!(
        step(&mut c, 10, &[1], Some(2)).0,
        Progress::Asking(_)
    ));
    c.on_closed(at(20), NodeId(2), ms(0));
    assert_eq!(step(&mut c, 20, &[1, 2, 3], Some(2)).0, Progress::Ready);
}
