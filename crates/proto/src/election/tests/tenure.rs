//! The lease in an election: when a node may act or campaign, and what is announced if nobody leads.

use super::*;
use alloc::boxed::Box;

/// Node 1 of four, led by node 2 whose watchers are 2, 3 and 4.
fn followed() -> Bench {
    let mut bench = Bench::new(1, 4, 1);
    bench.msg(3, Msg::Claim(E, claim(1, 3, 1, 2)));
    bench.msg(3, Msg::Watchers(E, Box::new(watched(&[2, 3, 4]))));
    bench.wait(Duration::from_secs(10));
    bench
}

fn became(effects: &Effects) -> bool {
    let became = |e: &Event| matches!(e, Event::BecameLeader { .. });
    events(effects).iter().any(became)
}

fn renewals(effects: &Effects) -> Vec<(u64, u64)> {
    let renewal = |(id, msg): (NodeId, &Msg)| match msg {
        Msg::Renew { seq, .. } | Msg::Extend { seq, .. } => Some((id.0, *seq)),
        _ => None,
    };
    sends(effects).into_iter().filter_map(renewal).collect()
}

fn looks(effects: &Effects) -> usize {
    let look = |s: &(NodeId, &Msg)| *s.1 == Msg::Look(E);
    sends(effects).into_iter().filter(look).count()
}

fn notice(left: u64) -> Msg {
    Msg::Notice {
        election: E,
        memory: LIFE,
        left: ms(left),
    }
}

fn granted(seq: u64) -> Msg {
    Msg::Granted {
        election: E,
        memory: LIFE,
        life: LIFE,
        seq,
    }
}

fn chosen(bench: &mut Bench, term: u64) -> Effects {
    let skip = (1..=9).map(|id| (NodeId(id), LIFE)).collect();
    let claim = claim(term, 3, 1, 1);
    let election = E;
    bench.msg(
        3,
        Msg::Notify {
            election,
            claim,
            skip,
        },
    )
}

#[test]
fn a_chosen_leader_acts_when_a_majority_of_the_watchers_grants_it() {
    let mut bench = followed();
    let effects = chosen(&mut bench, 2);
    let sent = renewals(&effects);
    assert_eq!(sent, [(2, 1), (3, 2), (4, 3)]);
    assert!(!became(&bench.msg(2, granted(1))));
    // A refusal and the grant of a member that is not a watcher do not count.
    assert!(!became(&bench.msg(5, granted(2))));
    assert!(became(&bench.msg(4, granted(3))));
    let standing = bench
        .e
        .standing(bench.me, bench.now, bench.view(), E)
        .unwrap();
    assert_eq!(standing.end, bench.now + ms(720));
    assert_eq!(standing.valid_until, bench.now + ms(520), "less the grace");
    // The lease is renewed several times within its span, or it expires.
    bench.wait(ms(270));
    assert_eq!(renewals(&bench.timer(TimerKind::Lease)).len(), 3);
    bench.wait(ms(450));
    let effects = bench.timer(TimerKind::Lease);
    assert!(matches!(
        events(&effects)[..],
        [Event::SteppedDown { .. }, ..]
    ));
    assert!(
        bench.held().unwrap().is_vacant(),
        "others must not wait for it"
    );
}

#[test]
fn the_first_leader_asks_every_member_before_it_begins_a_line_of_watchers() {
    let mut bench = Bench::new(1, 3, 1);
    let effects = chosen(&mut bench, 2);
    let closes = |(id, msg): (NodeId, &Msg)| match msg {
        Msg::Close {
            token, set: None, ..
        } => Some((id.0, *token)),
        _ => None,
    };
    let asked: Vec<_> = sends(&effects).into_iter().filter_map(closes).collect();
    let token = claim(2, 3, 1, 1).key.token;
    assert_eq!(asked, [(2, token), (3, token)]);
    let closed = Msg::Closed {
        election: E,
        token,
        memory: LIFE,
        span: Duration::ZERO,
    };
    assert_eq!(renewals(&bench.msg(2, closed.clone())), []);
    let effects = bench.msg(3, closed);
    assert_eq!(bench.held().unwrap().term(), Term(3));
    // In a group of three all nodes watch, including this one, which has already granted.
    assert!(!became(&effects));
    let sent = renewals(&effects);
    assert_eq!(sent.iter().map(|s| s.0).collect::<Vec<_>>(), [2, 3]);
    let stored = |e: &EffectOf<Election>| matches!(e, Effect::Persist(Fact::Lease(..)));
    assert!(effects.iter().any(stored));
    assert!(became(&bench.msg(2, granted(sent[0].1))));
}

#[test]
fn a_member_stores_its_record_before_it_grants_and_refuses_others_meanwhile() {
    let mut bench = Bench::new(2, 4, 1);
    let renew = |term, seq| Msg::Renew {
        election: E,
        token: claim(term, 3, 1, 2).key.token,
        known: Box::new(watched(&[2, 3, 4])),
        seq,
    };
    let effects = bench.msg(1, renew(1, 7));
    let stored = effects
        .iter()
        .position(|e| matches!(e, Effect::Persist(Fact::Lease(..))));
    let sent = effects.iter().position(|e| matches!(e, Effect::Send(..)));
    assert!(stored.is_some() && stored < sent);
    assert!(sends(&effects).contains(&(NodeId(1), &granted(7))));
    let effects = bench.msg(4, renew(2, 1));
    assert!(matches!(
        sends(&effects)[..],
        [(NodeId(4), Msg::Refused { .. }), ..]
    ));
    // After the release it tells potential candidates that it is free.
    let release = Msg::Release {
        election: E,
        token: claim(1, 3, 1, 2).key.token,
    };
    let effects = bench.msg(1, release);
    let told = sends(&effects).iter().filter(|s| *s.1 == notice(0)).count();
    assert_eq!(told, 3);
}

#[test]
fn nobody_claims_until_a_majority_of_the_watchers_says_that_its_promise_is_over() {
    let mut bench = followed();
    bench.fail(2);
    bench.look();
    let effects = bench.timer(TimerKind::Start);
    assert_eq!((queries(&effects).len(), looks(&effects)), (0, 3));
    bench.msg(3, notice(0));
    bench.msg(4, notice(100));
    assert_eq!(queries(&bench.timer(TimerKind::Start)), []);
    bench.msg(4, notice(0));
    assert!(!queries(&bench.timer(TimerKind::Start)).is_empty());
    // An old report does not count.
    let mut bench = followed();
    bench.fail(2);
    bench.look();
    bench.msg(3, notice(0));
    bench.msg(4, notice(0));
    bench.wait(ms(300));
    assert_eq!(queries(&bench.timer(TimerKind::Start)), []);
}

#[test]
fn a_leader_that_is_listed_but_holds_no_lease_is_replaced() {
    let mut bench = followed();
    bench.hear(2);
    bench.msg(3, notice(0));
    let effects = bench.msg(4, notice(0));
    assert!(events(&effects).contains(&Event::Vacant { election: E }));
    let effects = bench.timer(TimerKind::Start);
    let asked = queries(&effects);
    assert!(!asked.is_empty() && probes(&effects).is_empty());
    // Other members' contact with the leader does not stop the round.
    for (from, query) in asked {
        let mut seen = response(&query, &ranking(4));
        seen.incumbent_seen = true;
        bench.msg(from, Msg::Response(seen));
    }
    assert_eq!(bench.e.stats().vetoes, 0);
}

/// Membership still listed the dead leader when its lease ended: the round waited for its list, and then offered it the
/// lead again.
#[test]
fn a_leader_without_a_lease_is_neither_asked_nor_chosen_although_it_is_listed() {
    let all = Quorum::Posterior { epsilon: 1e-6 };
    let mut bench = Bench::with(1, 4, all, Policy::default());
    let former = ranking(4).into_iter().find(|&id| id != 1).unwrap();
    let others: Vec<u64> = (2..=4).filter(|&id| id != former).collect();
    bench.msg(others[0], Msg::Claim(E, claim(1, 3, 1, former)));
    let known = Box::new(watched(&[2, 3, 4]));
    bench.msg(others[0], Msg::Watchers(E, known));
    bench.wait(Duration::from_secs(10));
    bench.hear(former);
    for &id in &others {
        bench.msg(id, notice(0));
    }
    let effects = bench.timer(TimerKind::Start);
    let asked = queries(&effects);
    let ids: BTreeSet<u64> = asked.iter().map(|a| a.0).collect();
    assert_eq!(ids, others.iter().copied().collect());
    let mut effects = Vec::new();
    for (from, query) in asked {
        assert_eq!(query.skip, [(NodeId(former), LIFE)]);
        // A member that does not know better still lists it.
        effects = bench.msg(from, Msg::Response(response(&query, &ranking(4))));
    }
    let offered = notifies(&effects).into_iter().map(|n| n.1.leader);
    let leader = offered.chain(bench.held().map(|c| c.leader)).next();
    assert!(leader.is_some_and(|id| id != NodeId(former)), "{effects:?}");
    assert!(bench.held().is_some_and(|c| c.leader == NodeId(1)) || !notifies(&effects).is_empty());
}

/// A leader handed over while its lease ran; when it released the lease, a watcher began a round beside the successor's
/// first renewal, and the node that had resigned led again.
#[test]
fn a_named_successor_has_time_to_ask_after_its_predecessor_released_the_lease() {
    let mut bench = followed();
    bench.msg(2, Msg::Claim(E, claim(2, 2, 1, 3)));
    bench.wait(ms(810));
    bench.hear(3);
    bench.msg(2, notice(0));
    let effects = bench.msg(4, notice(0));
    assert!(!events(&effects).contains(&Event::Vacant { election: E }));
    bench.wait(ms(800));
    bench.hear(3);
    bench.msg(2, notice(0));
    let effects = bench.msg(4, notice(0));
    assert!(events(&effects).contains(&Event::Vacant { election: E }));
}

/// A client ended and campaigned again: six members followed the node for ever although it did not lead.
#[test]
fn whoever_is_followed_and_does_not_lead_says_so() {
    let mut bench = followed();
    let effects = chosen(&mut bench, 2);
    bench.attend(effects);
    let token = bench.held().unwrap().key.token;
    bench.order(Order::Withdraw(E));
    bench.order(Order::Stopped(E, token));
    let vacancy = bench.held().unwrap();
    assert!(vacancy.is_vacant());
    assert_eq!(bench.e.acting(E), None);
    // Any sign that the node is followed is answered with the later claim.
    let effects = bench.msg(3, Msg::Claim(E, claim(2, 3, 1, 1)));
    assert!(sends(&effects).contains(&(NodeId(3), &Msg::Claim(E, vacancy))));
    let effects = bench.msg(4, Msg::Digest(1));
    assert!(sends(&effects).contains(&(NodeId(4), &Msg::Claim(E, vacancy))));
    // A member that adopts it knows that nobody leads, and rules nobody out.
    let mut other = followed();
    let effects = other.msg(1, Msg::Claim(E, vacancy));
    assert_eq!(events(&effects), [Event::Vacant { election: E }]);
    other.msg(3, notice(0));
    other.msg(4, notice(0));
    let asked = queries(&other.timer(TimerKind::Start));
    assert!(asked.iter().all(|(_, q)| q.skip.is_empty()));
    assert!(!asked.is_empty());
}

/// An agent led alone, restarted, joined a group, and followed a smaller term: its resource refused hundreds of
/// leaders.
#[test]
fn a_claim_below_the_stored_term_is_answered_with_a_vacancy_and_the_leader_claims_above_it() {
    let mut bench = Bench::new(4, 4, 1);
    bench.order(Order::RestoreTerm(E, Term(50)));
    let below = claim(40, 1, 1, 1);
    let effects = bench.msg(1, Msg::Claim(E, below));
    let vacancy = bench.held().unwrap();
    assert!(vacancy.is_vacant() && vacancy.term() == Term(50));
    assert!(sends(&effects).contains(&(NodeId(1), &Msg::Claim(E, vacancy))));

    let mut leader = followed();
    let effects = chosen(&mut leader, 2);
    leader.attend(effects);
    let first = leader.held().unwrap().key.token;
    let effects = leader.msg(4, Msg::Claim(E, vacancy));
    let mine = leader.held().unwrap();
    assert!(mine.names(NodeId(1), LIFE) && mine.term() == Term(51));
    assert!(
        !events(&effects)
            .iter()
            .any(|e| matches!(e, Event::SteppedDown { .. }))
    );
    assert_eq!(
        leader.e.acting(E),
        Some(first),
        "until the watchers have granted the new one"
    );
    leader.attend(effects);
    assert_eq!(leader.e.acting(E), Some(mine.key.token));
}

#[test]
fn terms_that_nobody_can_have_reached_are_refused() {
    let mut bench = Bench::new(1, 3, 1);
    let far = (1 << 32) + (1 << 20) + 1;
    for term in [far, u64::MAX] {
        assert_eq!(bench.msg(2, Msg::Claim(E, claim(term, 2, 1, 3))), []);
    }
    assert_eq!(bench.e.stats().number_refused, 2);
    bench.msg(2, Msg::Claim(E, claim(1 << 32, 2, 1, 3)));
    bench.msg(2, Msg::Claim(E, claim((1 << 32) + (1 << 20), 2, 1, 3)));
    assert_eq!(bench.held().unwrap().term(), Term((1 << 32) + (1 << 20)));
    // After the last term nobody starts a round.
    bench.order(Order::RestoreTerm(E, Term(1 << 63)));
    bench.fail(3);
    bench.look();
    bench.timer(TimerKind::Start);
    assert_eq!(
        (bench.e.stats().elections, bench.e.stats().exhausted),
        (0, 1)
    );
}

#[test]
fn a_restarted_member_grants_nothing_until_it_told_and_heard_what_was_recorded() {
    let mut bench = Bench::new(2, 3, 1);
    let record = lease::Record {
        token: Some(claim(3, 3, 1, 1).key.token),
        set: Some(watched(&[2, 3]).set),
        span: ms(800),
        ..lease::Record::default()
    };
    let effects = bench.order(Order::RestoreLease(E, Box::new(record)));
    let asked = |s: &&(NodeId, &Msg)| matches!(s.1, Msg::Told { asks: true, .. });
    assert_eq!(sends(&effects).iter().filter(asked).count(), 2);
    let renew = Msg::Renew {
        election: E,
        token: claim(4, 3, 1, 1).key.token,
        known: Box::new(watched(&[2, 3])),
        seq: 1,
    };
    let grants = |effects: &Effects| sends(effects).iter().any(|s| *s.1 == granted(1));
    bench.wait(ms(900));
    assert!(!grants(&bench.msg(1, renew.clone())));
    let told = Msg::Told {
        election: E,
        token: None,
        set: None,
        closed: None,
        span: Duration::ZERO,
        asks: false,
    };
    bench.msg(1, told.clone());
    assert!(
        !grants(&bench.msg(1, renew.clone())),
        "node 3 has not answered"
    );
    bench.msg(3, told);
    assert!(grants(&bench.msg(1, renew)));
}

/// An agent that was told to leave, with a client that keeps asking it to campaign.
#[test]
fn a_node_that_leaves_stands_in_nothing_whatever_it_is_asked() {
    let mut bench = followed();
    let effects = chosen(&mut bench, 2);
    bench.attend(effects);
    let token = bench.held().unwrap().key.token;
    bench.step(|e, cx, view| e.on_input(cx, view, Input::Leave));
    assert!(!bench.e.is_released(), "its work may still run");
    bench.order(Order::Campaign(E, Candidacy::default()));
    assert_eq!(bench.e.campaigns(bench.now, &bench.m), []);
    bench.order(Order::Stopped(E, token));
    assert!(bench.e.is_released());
}

fn leaving(effects: &Effects) -> Vec<u64> {
    let told = |(id, msg): (NodeId, &Msg)| (*msg == Msg::Leaving(E)).then_some(id.0);
    sends(effects).into_iter().filter_map(told).collect()
}

#[test]
fn a_watcher_that_leaves_waits_until_it_is_replaced_for_two_lease_durations_at_most() {
    let watching = || {
        let mut bench = followed();
        let set = watched(&[1, 3, 4]).set;
        let mut known = watched(&[1, 3, 4]);
        known.set = lease::Set {
            rank: lease::Rank {
                number: set.rank.number + 1,
                ..set.rank
            },
            ..set
        };
        bench.msg(3, Msg::Watchers(E, Box::new(known)));
        let effects = bench.step(|e, cx, view| e.on_input(cx, view, Input::Leave));
        assert_eq!(leaving(&effects), [2]);
        assert!(!bench.e.is_released());
        (bench, known)
    };
    // It asks again, and goes after two lease durations.
    let (mut bench, _) = watching();
    bench.wait(ms(200));
    assert_eq!(leaving(&bench.timer(TimerKind::Leave)), [2]);
    bench.wait(ms(1400));
    assert_eq!(leaving(&bench.timer(TimerKind::Leave)), []);
    assert!(bench.e.is_released());
    // It goes as soon as a set without it is known.
    let (mut bench, mut known) = watching();
    known.set.rank.number += 1;
    known.set.watchers = watched(&[3, 4, 5]).set.watchers;
    bench.msg(3, Msg::Watchers(E, Box::new(known)));
    assert!(bench.e.is_released());
    // A node that watches nobody goes at once.
    let mut bench = followed();
    bench.step(|e, cx, view| e.on_input(cx, view, Input::Leave));
    assert!(bench.e.is_released());
}

#[test]
fn a_leader_replaces_a_watcher_that_leaves_at_once() {
    let mut bench = followed();
    let effects = chosen(&mut bench, 2);
    bench.attend(effects);
    bench.msg(2, granted(1));
    bench.msg(3, granted(2));
    let members = |effects: &Effects| -> Vec<u64> {
        let renewed = |(_, msg): &(NodeId, &Msg)| match msg {
            Msg::Renew { known, .. } => Some(known.set.watchers.iter().map(|w| w.node.0).collect()),
            _ => None,
        };
        sends(effects).iter().find_map(renewed).unwrap_or_default()
    };
    bench.hear(2);
    assert_eq!(members(&bench.msg(5, Msg::Leaving(E))), [], "not a watcher");
    let chosen = members(&bench.msg(2, Msg::Leaving(E)));
    assert!(!chosen.is_empty() && !chosen.contains(&2), "{chosen:?}");
}

fn closes(effects: &Effects) -> Vec<u64> {
    let close = |(id, msg): (NodeId, &Msg)| match msg {
        Msg::Close { .. } => Some(id.0),
        _ => None,
    };
    sends(effects).into_iter().filter_map(close).collect()
}

/// Node 1 of five in a strict election, led by node 2, whose watchers are 2, 3 and 4. The nodes 2 and 3 are gone.
fn bereft() -> Bench {
    let mut bench = Bench::new(1, 5, 1);
    bench.e.config.floor = 5;
    bench.msg(3, Msg::Claim(E, claim(1, 3, 1, 2)));
    let mut known = watched(&[2, 3, 4]);
    known.set.rank.number = 1;
    bench.msg(3, Msg::Watchers(E, Box::new(known)));
    bench.wait(Duration::from_secs(10));
    bench.fail(2);
    bench.fail(3);
    bench.look();
    bench
}

#[test]
fn a_strict_election_without_a_majority_of_its_watchers_goes_on_only_after_an_operator_gave_them_up()
 {
    let mut bench = bereft();
    let effects = bench.timer(TimerKind::Start);
    assert_eq!((queries(&effects).len(), looks(&effects)), (0, 3));
    // Even if it is named, it asks only the watchers.
    assert_eq!(closes(&chosen(&mut bench, 2)), []);
    let mut bench = bereft();
    bench.order(Order::Forget(E));
    let effects = bench.elect();
    assert!(!queries(&effects).is_empty(), "{effects:?}");
    let effects = chosen(&mut bench, 2);
    assert_eq!(closes(&effects), [4, 5]);
    let closed = Msg::Closed {
        election: E,
        token: claim(2, 3, 1, 1).key.token,
        memory: LIFE,
        span: ms(800),
    };
    bench.msg(4, closed.clone());
    let effects = bench.msg(5, closed);
    assert!(!became(&effects), "the former leader's lease may still run");
    bench.wait(ms(880));
    let effects = bench.timer(TimerKind::Lease);
    let held = bench.held().unwrap();
    assert!(
        held.remarks.has(Remarks::DEGRADED) && held.leader == NodeId(1),
        "{held:?}"
    );
    assert!(!became(&effects), "a majority has to store the set first");
    let race = bench.e.race(E).unwrap();
    let set = race.tenure.known.unwrap().set;
    assert_eq!(set.rank.line, held.key.token, "a new line");
    let gone = [NodeId(2), NodeId(3)];
    assert!(set.watchers.iter().all(|w| !gone.contains(&w.node)));
    assert!(!race.tenure.forgiven);
}

#[test]
fn watchers_that_are_lost_later_were_not_given_up() {
    // Nothing is lost yet.
    let mut bench = Bench::new(1, 5, 1);
    bench.e.config.floor = 5;
    bench.msg(3, Msg::Claim(E, claim(1, 3, 1, 2)));
    bench.msg(3, Msg::Watchers(E, Box::new(watched(&[2, 3, 4]))));
    bench.order(Order::Forget(E));
    assert!(!bench.e.race(E).unwrap().tenure.forgiven);
    // Another node began the next line meanwhile.
    let mut bench = bereft();
    bench.order(Order::Forget(E));
    let token = claim(7, 5, 1, 5).key.token;
    let watcher = |node| lease::Watcher {
        node: NodeId(node),
        memory: LIFE,
    };
    let set = lease::Set::first(token, [4, 5].map(watcher).into_iter().collect());
    let known = lease::Known { set, span: ms(800) };
    bench.msg(5, Msg::Claim(E, claim(7, 5, 1, 5)));
    bench.msg(5, Msg::Watchers(E, Box::new(known)));
    bench.fail(4);
    bench.fail(5);
    bench.wait(Duration::from_secs(10));
    bench.look();
    assert_eq!(queries(&bench.timer(TimerKind::Start)).len(), 0);
}

/// Node 1 of five was named for the first time; nodes 2 to 4 closed older lines. Node 5 did not answer and fails later.
fn unanswered() -> Bench {
    let mut bench = Bench::new(1, 5, 1);
    let effects = chosen(&mut bench, 2);
    assert_eq!(closes(&effects), [2, 3, 4, 5]);
    let closed = Msg::Closed {
        election: E,
        token: claim(2, 3, 1, 1).key.token,
        memory: LIFE,
        span: Duration::ZERO,
    };
    for id in 2..=4 {
        assert_eq!(renewals(&bench.msg(id, closed.clone())), []);
    }
    for _ in 0..30 {
        bench.wait(ms(100));
        assert_eq!(renewals(&bench.timer(TimerKind::Lease)), []);
    }
    bench.fail(5);
    bench
}

/// An agent that could no longer receive led alone when membership had given up the last member that had not answered,
/// beside the leader that the others chose.
#[test]
fn a_candidate_that_no_longer_hears_anybody_begins_no_line_of_its_own() {
    let mut bench = unanswered();
    for _ in 0..100 {
        let effects = bench.timer(TimerKind::Lease);
        assert!(!became(&effects) && renewals(&effects).is_empty());
        bench.wait(ms(100));
    }
    assert!(bench.held().unwrap().is_vacant(), "others can lead");
}

#[test]
fn a_new_line_has_watchers_that_answered_recently() {
    let mut bench = unanswered();
    let effects = bench.timer(TimerKind::Lease);
    assert_eq!(looks(&effects), 3, "it asks who can watch");
    let effects = bench.msg(3, notice(0));
    let sent = renewals(&effects);
    assert_eq!(sent.len(), 1);
    assert_eq!(sent[0].0, 3, "the other members take part after a review");
    assert!(!became(&effects));
    assert!(became(&bench.msg(3, granted(sent[0].1))));
}
