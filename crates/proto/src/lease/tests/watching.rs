use super::*;
use alloc::boxed::Box;

fn watch() -> Watch {
    Watch::new(Rules::default(), watcher(2))
}

fn refused(verdict: Verdict) -> Option<Why> {
    match verdict {
        Verdict::Ack { .. } => None,
        Verdict::Refuse { refusal, .. } => Some(refusal.why),
    }
}

const STORED: Verdict = Verdict::Ack { store: true };
const KNOWN: Verdict = Verdict::Ack { store: false };

#[test]
fn a_renewal_is_recorded_once_and_promises_for_its_span_and_the_margin() {
    let mut w = watch();
    assert_eq!(w.on_renew(at(0), &renew(1, 1, first())), STORED);
    assert_eq!(w.promised(at(0)), Some((holder(1), at(1100))));
    assert_eq!(w.on_renew(at(300), &renew(1, 1, first())), KNOWN);
    assert_eq!(w.promised(at(1399)), Some((holder(1), at(1400))));
    assert_eq!(w.promised(at(1400)), None);
    assert_eq!(w.record().token, Some(token(1)));
    assert_eq!(w.record().span, SPAN);
}

#[test]
fn a_shorter_span_does_not_shorten_a_promise() {
    let mut w = watch();
    w.on_renew(at(0), &renew(1, 1, first()));
    let shorter = Renew {
        span: ms(100),
        ..renew(1, 1, first())
    };
    w.on_renew(at(10), &shorter);
    assert_eq!(w.promised(at(10)), Some((holder(1), at(1100))));
    assert_eq!(
        w.record().span,
        SPAN,
        "a restart has to wait for the longer one"
    );
}

#[test]
fn another_holder_is_refused_while_the_promise_runs_and_the_first_one_is_told_of_it() {
    let mut w = watch();
    w.on_renew(at(0), &renew(1, 1, first()));
    let refusal = Box::new(Refusal {
        why: Why::Promised,
        left: ms(1),
        token: Some(token(1)),
        set: Some(first()),
        closed: None,
        span: SPAN,
    });
    let told = Verdict::Refuse {
        refusal: refusal.clone(),
        tell: Some(holder(1)),
    };
    assert_eq!(w.on_renew(at(1099), &renew(2, 3, first())), told);
    // The holder is not told about a smaller claim.
    let lesser = w.on_renew(at(1099), &renew(0, 3, first()));
    assert_eq!(
        lesser,
        Verdict::Refuse {
            refusal,
            tell: None
        }
    );
    assert_eq!(w.on_renew(at(1100), &renew(2, 3, first())), STORED);
}

#[test]
fn a_restarted_holder_is_another_holder() {
    let mut w = watch();
    w.on_renew(at(0), &renew(1, 1, first()));
    let mut again = renew(2, 1, first());
    again.holder.life = Life(2);
    assert_eq!(refused(w.on_renew(at(10), &again)), Some(Why::Promised));
    // The same process with a greater token is granted at once.
    assert_eq!(w.on_renew(at(10), &renew(2, 1, first())), STORED);
}

#[test]
fn smaller_tokens_smaller_sets_and_strangers_are_refused() {
    let mut w = watch();
    w.on_renew(at(0), &renew(3, 1, changing(3)));
    let late = at(5000);
    assert_eq!(
        refused(w.on_renew(late, &renew(2, 3, changing(3)))),
        Some(Why::Token)
    );
    assert_eq!(
        refused(w.on_renew(late, &renew(4, 3, first()))),
        Some(Why::Set)
    );
    // The number decides, not the leader that made the set.
    let mut newer = first();
    newer.rank.by = token(4);
    assert_eq!(
        refused(w.on_renew(late, &renew(4, 3, newer))),
        Some(Why::Set)
    );
    let elsewhere = Set::first(token(4), watchers(&[5, 6, 7]));
    assert_eq!(
        refused(w.on_renew(late, &renew(4, 3, elsewhere))),
        Some(Why::Stranger)
    );
    let mut other_memory = changing(4);
    other_memory.former = [Watcher {
        node: NodeId(2),
        memory: Life(7),
    }]
    .into_iter()
    .collect();
    assert_eq!(
        refused(w.on_renew(late, &renew(4, 3, other_memory))),
        Some(Why::Stranger)
    );
    assert_eq!(w.on_renew(late, &renew(4, 3, changing(4))), STORED);
}

#[test]
fn one_token_is_granted_to_one_holder() {
    let mut w = watch();
    w.on_renew(at(0), &renew(1, 1, first()));
    assert_eq!(
        refused(w.on_renew(at(5000), &renew(1, 3, first()))),
        Some(Why::Token)
    );
}

#[test]
fn a_release_ends_the_promise_to_that_holder_up_to_that_token() {
    let mut w = watch();
    w.on_renew(at(0), &renew(2, 1, first()));
    assert!(!w.on_release(at(1), holder(3), token(9)));
    assert!(
        !w.on_release(at(1), holder(1), token(1)),
        "an older lease of the same holder"
    );
    assert!(w.on_release(at(1), holder(1), token(2)));
    assert!(!w.on_release(at(1), holder(1), token(2)), "twice is once");
    assert_eq!(w.promised(at(1)), None);
    // A renewal that was in transit during the release is refused.
    assert_eq!(
        refused(w.on_renew(at(2), &renew(2, 1, first()))),
        Some(Why::Released)
    );
    assert_eq!(w.on_renew(at(2), &renew(3, 1, first())), STORED);
}

#[test]
fn a_restarted_watcher_waits_for_its_promises_and_keeps_its_record() {
    let mut w = watch();
    w.on_renew(at(0), &renew(2, 1, first()));
    let record = *w.record();
    let mut w = Watch::restore(Rules::default(), watcher(2), record, at(10), true);
    let early = w.on_renew(at(11), &renew(3, 3, first()));
    let Verdict::Refuse {
        refusal,
        tell: None,
    } = early
    else {
        panic!("{early:?}");
    };
    assert_eq!((refusal.why, refusal.left), (Why::Starting, ms(1099)));
    assert_eq!(
        refused(w.on_renew(at(1110), &renew(3, 3, first()))),
        Some(Why::Starting)
    );
    let told = Told {
        token: Some(token(4)),
        set: Some(changing(4)),
        closed: Some(token(1)),
        span: SPAN,
    };
    assert!(w.on_told(&told));
    w.on_informed();
    assert_eq!(
        refused(w.on_renew(at(1109), &renew(5, 3, changing(4)))),
        Some(Why::Starting)
    );
    assert_eq!(
        refused(w.on_renew(at(1110), &renew(3, 3, changing(4)))),
        Some(Why::Token)
    );
    assert_eq!(
        refused(w.on_renew(at(1110), &renew(5, 3, first()))),
        Some(Why::Set)
    );
    assert_eq!(w.on_renew(at(1110), &renew(5, 3, changing(4))), STORED);
}

#[test]
fn closing_records_the_token_and_ends_lines_below_it() {
    let mut w = watch();
    w.on_renew(at(0), &renew(2, 1, first()));
    let known = first().rank;
    let behind = w
        .on_close(at(1), token(1), Some(known), None)
        .expect_err("a smaller token");
    assert_eq!(behind.why, Why::Token);
    let behind = w
        .on_close(at(1), token(3), None, None)
        .expect_err("a smaller set");
    assert_eq!(behind.why, Why::Set);
    let held = Some((token(4), None));
    assert!(
        w.on_close(at(1), token(3), Some(known), held).is_err(),
        "it holds a greater claim"
    );
    assert_eq!(w.on_close(at(1), token(3), Some(known), None), Ok(true));
    assert_eq!(w.on_close(at(1), token(3), Some(known), None), Ok(false));
    // The promise remains valid but is not renewed, neither with the old token nor on the old line.
    assert_eq!(w.promised(at(2)), Some((holder(1), at(1100))));
    assert_eq!(
        refused(w.on_renew(at(2), &renew(2, 1, first()))),
        Some(Why::Token)
    );
    assert_eq!(
        refused(w.on_renew(at(2), &renew(4, 1, first()))),
        Some(Why::Set)
    );
    let line = Set::first(token(4), watchers(&[2]));
    assert_eq!(w.on_renew(at(1100), &renew(4, 3, line)), STORED);
}

fn unknown(w: &Watch, now: u64, extend: &Extend) -> Option<Why> {
    w.expand(at(now), extend).err().map(|refusal| refusal.why)
}

#[test]
fn a_short_renewal_stands_for_exactly_what_was_granted_before() {
    let mut w = watch();
    let whole = renew(1, 1, first());
    let short = whole.extend();
    assert_eq!(unknown(&w, 0, &short), Some(Why::Unknown), "nothing yet");
    w.on_renew(at(0), &whole);
    let again = Extend { seq: 9, ..short };
    assert_eq!(w.expand(at(10), &again), Ok(Renew { seq: 9, ..whole }));
    let others = [
        renew(2, 1, first()),
        renew(1, 1, changing(1)),
        Renew {
            span: ms(999),
            ..whole
        },
        Renew {
            set: Set {
                watchers: watchers(&[2, 3, 5]),
                ..first()
            },
            ..whole
        },
        renew(1, 3, first()),
    ];
    for other in others {
        let why = unknown(&w, 10, &other.extend());
        assert_eq!(why, Some(Why::Unknown), "{other:?}");
    }
    let stranger = Extend {
        holder: holder(3),
        ..short
    };
    assert_eq!(unknown(&w, 10, &stranger), Some(Why::Unknown));
}

#[test]
fn a_watcher_that_learned_of_a_greater_set_or_restarted_has_to_be_told_the_whole() {
    let mut w = watch();
    let short = renew(1, 1, first()).extend();
    w.on_renew(at(0), &renew(1, 1, first()));
    let told = Told {
        token: None,
        set: Some(changing(2)),
        closed: None,
        span: SPAN,
    };
    let mut greater = w.clone();
    assert!(greater.on_told(&told));
    let refusal = greater.expand(at(10), &short).unwrap_err();
    assert_eq!(refusal.set, Some(changing(2)), "it says what it knows");
    assert_eq!(refusal.left, ms(1090), "it is not free");
    let again = Watch::restore(Rules::default(), watcher(2), *w.record(), at(0), false);
    assert_eq!(unknown(&again, 0, &short), Some(Why::Starting));
    assert_eq!(unknown(&again, 1100, &short), Some(Why::Unknown));
    // A release ends what the short form stood for.
    w.on_release(at(20), holder(1), token(1));
    assert_eq!(unknown(&w, 20, &short), Some(Why::Unknown));
}

#[test]
fn sums_are_pinned_because_they_reach_the_wire() {
    assert_eq!(renew(1, 1, first()).sum(), 0xbda6_04d9_d895_c0c5);
}
