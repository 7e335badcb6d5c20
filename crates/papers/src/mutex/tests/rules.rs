//! The nine repairs, one by one, and what the published form does instead.

use super::*;

/// Rule 1: a waiting node asks every node that asks it, unless it already has. The list makes no difference.
#[test]
fn rule_1_unknown_is_who_was_not_asked() {
    let mut net = Desk::new(config(CameraRepaired), &[&[0], &[1]]);
    net.enter(0);
    assert_eq!(net.held(), [0]);
    net.exit(0);
    net.scene.lists[1] = vec![NodeId(1), NodeId(2)];
    net.enter(1);
    assert_eq!(net.unicasts, 1);
    net.learn(1, 0);
    net.say(0, 1, request(req(0, 1, 2)));
    assert_eq!(
        net.flying(1, 0),
        [request(req(1, 1, 1)), ok(req(0, 1, 2), &[])]
    );
}

/// Rule 2: the origins in the node's own cache are asked, whatever the list says.
#[test]
fn rule_2_the_own_cache_is_asked() {
    for (mode, expected) in [(CameraPaper, 0), (CameraRepaired, 1)] {
        let mut net = Desk::full(config(mode), 2);
        net.enter(0);
        net.round(0, 1);
        net.suspect(1, 0);
        net.enter(1);
        assert_eq!(net.flights.len(), expected, "{mode}");
    }
}

/// Rule 3: agreements to other requests and old requests are ignored, including those of an earlier life.
#[test]
fn rule_3_messages_belong_to_a_request() {
    let mut net = Desk::full(config(CameraRepaired), 2).bounded(2);
    net.enter(0);
    let stranger = Request {
        life: Life(0),
        ..req(0, 1, 1)
    };
    for other in [req(0, 1, 2), stranger] {
        net.say(1, 0, ok(other, &[]));
        assert_eq!(net.state(0), State::Wait);
    }
    net.settle();
    net.exit(0);
    net.settle();
    // Node 1 knows that this request has finished: a copy of it gets no answer.
    for old in [req(0, 1, 1), stranger] {
        net.say(0, 1, request(old));
        assert_eq!(net.flights, []);
    }
    // An older request does not replace a newer one.
    net.say(0, 1, request(req(0, 3, 3)));
    net.say(0, 1, request(req(0, 2, 2)));
    assert_eq!(net.flying(1, 0), [ok(req(0, 3, 3), &[])]);
    // A release of a request that never arrived is remembered.
    net.say(0, 1, Msg::Release(req(0, 9, 4)));
    net.say(0, 1, request(req(0, 9, 4)));
    assert_eq!(net.flying(1, 0).len(), 1);
    assert!(net.node(1).cache.is_empty());
}

/// Rule 4 is S10. Rule 5: waiting requests are answered by priority (B3).
#[test]
fn rule_5_priority_decides_the_order_of_answers() {
    for (mode, order) in [(CameraPaper, [0, 1]), (CameraRepaired, [1, 0])] {
        let mut net = Desk::full(config(mode), 3);
        net.enter(2);
        net.settle();
        for late in [req(0, 5, 1), req(1, 4, 1)] {
            net.say(late.id.0, 2, request(late));
        }
        net.exit(2);
        let answers = net.flights.iter();
        let answers = answers.filter(|f| matches!(f.msg, Msg::Ok { .. }));
        let to: Vec<u64> = answers.map(|f| f.to).collect();
        assert_eq!(to, order, "{mode}");
    }
}

/// Rule 6: a repeated request gets its answer again, with current knowledge; one that waits gets none.
#[test]
fn rule_6_a_repetition_is_answered_like_the_first() {
    let mut net = Desk::full(config(CameraRepaired), 3);
    let ask = |net: &mut Desk, id: u64| net.say(id, 2, request(req(id, 1, 1)));
    ask(&mut net, 0);
    ask(&mut net, 1);
    net.enter(2);
    ask(&mut net, 0);
    let again = net.flying(2, 0);
    let named = [req(1, 1, 1)];
    let mine = request(req(2, 2, 1));
    let first = ok(req(0, 1, 1), &[]);
    assert_eq!(again, [first, mine, ok(req(0, 1, 1), &named)]);
    let mut net = Desk::full(config(CameraRepaired), 3);
    net.enter(2);
    net.settle();
    ask(&mut net, 0);
    ask(&mut net, 0);
    assert_eq!(net.flights, []);
    net.exit(2);
    assert_eq!(net.flying(2, 0).len(), 2, "a release and one answer");
}

/// Rule 7: nodes named by others are hints; as published they become members (B5).
#[test]
fn rule_7_named_nodes_are_hints() {
    for mode in [CameraPaper, CameraRepaired] {
        let mut net = Desk::new(config(mode), &[&[0, 2], &[1, 2], &[0, 1, 2]]);
        net.enter(0);
        net.enter(1);
        net.round(0, 2);
        net.round(1, 2);
        let hinted = net.events.contains(&(1, Event::Hint(NodeId(0))));
        assert_eq!(hinted, mode == CameraRepaired, "{mode}");
        let learned = net.node(1).learned.contains(&NodeId(0));
        assert_eq!(learned, mode == CameraPaper, "{mode}");
    }
}

/// Rule 8: no entry without more than half of the bound, on either path, and every change is considered.
#[test]
fn rule_8_a_majority_has_to_agree() {
    for config in [config(CameraRepaired), with_tree(CameraRepaired)] {
        // Alone: it enters at once if nobody else can exist.
        let mut net = Desk::new(config, &[&[0]]).bounded(1);
        net.enter(0);
        assert_eq!(net.held(), [0]);
        // Two nodes: the other one is needed.
        let mut net = Desk::new(config, &[&[0], &[1]]).bounded(2);
        net.enter(0);
        net.settle();
        assert_eq!(net.state(0), State::Wait, "an empty list is no majority");
        net.learn(0, 1);
        net.settle();
        assert_eq!(net.held(), [0]);
        // The bound grows during a request: the answers so far remain, more are requested.
        let mut net = Desk::new(config, &[&[0, 1], &[0, 1, 2], &[1, 2]]).bounded(3);
        net.enter(0);
        net.scene.n_upper = vec![6; 3];
        net.input(0, Input::SizeChanged);
        net.settle();
        assert_eq!(net.state(0), State::Wait, "three of six are no majority");
        assert!(net.events.contains(&(0, Event::Slow)));
        let agreed: Vec<u64> = net.node(0).agreed.iter().map(|id| id.0).collect();
        assert_eq!(agreed, [1, 2]);
        assert_eq!(
            net.node(0).request(),
            Some(req(0, 1, 1)),
            "the same request"
        );
    }
    // As published no answer at all is enough (A4).
    let mut net = Desk::new(config(CameraPaper), &[&[0], &[1]]).bounded(2);
    net.enter(0);
    assert_eq!(net.held(), [0]);
}

/// Rule 9: unanswered requests are repeated after 500 ms, then after 1.5 times the last delay, at most 4 s.
#[test]
fn rule_9_the_requester_repeats() {
    let mut net = Desk::full(Config::new(CameraRepaired), 3).bounded(3);
    net.enter(0);
    net.round(0, 1);
    net.flights.clear();
    let mut waits = Vec::new();
    for _ in 0..8 {
        let due = net.hosts[&0].timers.due(Timer::Retry).expect("it waits");
        waits.push(due.since(net.now).as_millis());
        net.now = due;
        net.fire_timer(0, Timer::Retry);
        assert_eq!(net.flying(0, 2), [request(req(0, 1, 1))]);
        assert_eq!(net.flights.len(), 1, "only to who has not agreed");
        net.flights.clear();
    }
    assert_eq!(waits, [500, 750, 1125, 1687, 2531, 3796, 4000, 4000]);
    net.say(2, 0, ok(req(0, 1, 1), &[]));
    assert_eq!(
        (net.held(), net.hosts[&0].timers.due(Timer::Retry)),
        (vec![0], None)
    );
}
