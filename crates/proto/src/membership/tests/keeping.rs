//! How long members that failed or left are kept, and who is told of them.

use super::*;

const DAY: u64 = 86_400;

/// Member 3 of four failed, at the time it is now.
fn with_failed() -> Bench {
    let mut b = Bench::new(4);
    b.msg(sender(2, 0), Msg::Accusation(claim(3, 0, Status::Dead, 2)));
    let due = b.member(3).suspicion().unwrap().deadline;
    b.now = due;
    b.m.tick_due = due;
    let down = events(&b.timer(Timer::Suspicion(NodeId(3))));
    assert!(matches!(down[..], [Event::Down { .. }]));
    b
}

fn idle_for(b: &mut Bench, seconds: u64) -> Vec<Event> {
    b.now = b.now + Duration::from_secs(seconds);
    b.m.tick_due = b.now;
    events(&b.timer(Timer::Tick))
}

#[test]
fn a_failed_member_is_listed_for_a_day() {
    let mut b = with_failed();
    assert_eq!(idle_for(&mut b, DAY - 10), []);
    let ago = b.member(3).departed_for(b.now);
    assert_eq!(ago, Some(Duration::from_secs(DAY - 10)));
    assert!(b.member(3).has_failed());
    let id = NodeId(3);
    assert_eq!(idle_for(&mut b, 11), [Event::Forgotten { id }]);
    assert!(b.m.table.get(id).is_none());
    // Where they are not kept, nobody is told.
    let mut paper = Bench::with(2, Config::paper(T, T));
    let left = Accusation {
        accuser: NodeId(2),
        ..claim(2, 0, Status::Left, 2)
    };
    paper.msg(sender(2, 0), Msg::Accusation(left));
    assert_eq!(idle_for(&mut paper, 1000), []);
    assert!(paper.m.table.get(NodeId(2)).is_none());
}

#[test]
fn a_failed_member_that_turns_out_to_have_left_counts_as_failed_no_longer() {
    let mut b = with_failed();
    let id = NodeId(3);
    let left = Msg::Accusation(claim(3, 0, Status::Left, 3));
    assert_eq!(
        events(&b.msg(sender(2, 0), left.clone())),
        [Event::Forgotten { id }]
    );
    assert!(!b.member(3).has_failed());
    assert_eq!(events(&b.msg(sender(2, 0), left)), []);
    // It was there again, and failed, unseen.
    let again = Msg::Accusation(claim(3, 1, Status::Dead, 2));
    let life = Life(10);
    assert_eq!(
        events(&b.msg(sender(2, 0), again)),
        [Event::Missing { id, life }]
    );
}

#[test]
fn newcomers_are_told_of_failed_members_and_since_when() {
    let mut b = with_failed();
    idle_for(&mut b, 600);
    let page = b.msg(sender(9, 0), Msg::Join);
    let told = page.iter().find_map(|e| match e {
        Effect::Send(_, Msg::Record(r)) if r.id == NodeId(3) => Some(r.clone()),
        _ => None,
    });
    let told = told.unwrap();
    assert_eq!(
        (told.precedence.status, told.nap_ms),
        (Status::Dead, 600_000)
    );
    let mut newcomer = Bench::new(1);
    let (id, life) = (NodeId(3), Life(10));
    let missing = [Event::Missing { id, life }];
    let record = Msg::Record(told.clone());
    assert_eq!(events(&newcomer.msg(sender(1, 0), record)), missing);
    assert_eq!(
        newcomer.member(3).departed_for(newcomer.now),
        Some(Duration::from_secs(600))
    );
    // Stored and restored it is the same; one that went too long ago is not taken.
    let mut restored = Bench::new(1);
    let mut old = Record {
        id: NodeId(4),
        ..told.clone()
    };
    old.set_departed(Duration::from_secs(DAY));
    let found = restored.input(Input::Restore(Vec::from([told, old])));
    assert_eq!(events(&found), missing);
    assert!(restored.m.table.get(NodeId(4)).is_none());
}

/// Members that left long ago neither make lists be compared more often nor add to the answer.
#[test]
fn comparing_lists_leaves_out_who_went_long_ago() {
    let mut b = with_failed();
    let records = |b: &mut Bench| {
        let buckets = [1; super::super::msg::BUCKETS];
        let reply = false;
        let effects = b.msg(sender(2, 0), Msg::Digest { buckets, reply });
        let told = |e: &&EffectOf<Membership>| matches!(e, Effect::Send(_, Msg::Record(r)) if r.id == NodeId(3));
        effects.iter().filter(told).count()
    };
    assert_eq!(records(&mut b), 1);
    idle_for(&mut b, 600);
    assert_eq!(records(&mut b), 0);
}

#[test]
fn those_that_left_make_room_first() {
    let mut b = Bench::new(2);
    let most = 2 + 64;
    for n in 0..most {
        let status = if n == 30 { Status::Left } else { Status::Dead };
        let accusation = claim(100 + n, 0, status, 2);
        b.msg(sender(2, 0), Msg::Accusation(accusation));
    }
    let one_more = |b: &mut Bench, n| {
        let effects = b.msg(sender(2, 0), Msg::Accusation(claim(n, 0, Status::Dead, 2)));
        events(&effects).into_iter().find_map(|e| match e {
            Event::Forgotten { id } => Some(id.0),
            _ => None,
        })
    };
    assert_eq!(one_more(&mut b, 500), Some(130), "the one that left");
    assert_eq!(one_more(&mut b, 501), Some(100), "then the oldest");
    assert_eq!(b.m.table.len(), 1 + most as usize);
}

/// A member that comes and goes leaves no trace that would push out others.
#[test]
fn a_member_that_flaps_takes_one_place() {
    let mut b = with_failed();
    for n in 1..200 {
        b.msg(sender(4, n), Msg::Ack { seq: 0 });
        b.msg(sender(2, 0), Msg::Accusation(claim(4, n, Status::Dead, 2)));
        b.now = b.now + Duration::from_secs(60);
        b.m.tick_due = b.now;
        b.timer(Timer::Suspicion(NodeId(4)));
        assert_eq!(b.member(4).phase, Phase::Down);
    }
    assert!(b.m.table.get(NodeId(3)).is_some_and(Member::has_failed));
}

#[test]
fn a_full_list_forgets_departed_members_for_new_ones() {
    let config = Config {
        members_max: 4,
        ..Config::default()
    };
    let mut b = Bench::with(3, config);
    for n in [50, 51] {
        b.msg(sender(2, 0), Msg::Accusation(claim(n, 0, Status::Dead, 2)));
    }
    assert_eq!((b.m.table.len(), b.m.stats.members_dropped), (4, 0));
    b.msg(sender(7, 0), Msg::Ack { seq: 0 });
    b.msg(sender(8, 0), Msg::Ack { seq: 0 });
    assert_eq!((b.m.table.len(), b.m.table.live()), (4, 4));
    b.msg(sender(9, 0), Msg::Ack { seq: 0 });
    assert_eq!((b.m.table.live(), b.m.stats.members_dropped), (4, 1));
}

#[test]
fn a_failed_member_is_removed_everywhere_and_a_live_one_is_not() {
    let mut b = with_failed();
    b.rumors(None);
    for id in [2, 9, 1] {
        assert_eq!(b.input(Input::Remove(NodeId(id))), []);
    }
    let id = NodeId(3);
    let forgotten = [Event::Forgotten { id }];
    assert_eq!(events(&b.input(Input::Remove(id))), forgotten);
    let order = Msg::Accusation(claim(3, 0, Status::Left, 1));
    assert!(b.rumors(None).contains(&order));
    assert!(b.member(3).has_left() && b.member(3).accuser() == ME);
    assert_eq!(b.input(Input::Remove(id)), [], "it is gone");
    // A member that has it as failed, and one that has it as here.
    let mut other = with_failed();
    assert_eq!(events(&other.msg(sender(2, 0), order.clone())), forgotten);
    assert_eq!(other.member(3).accuser(), NodeId(1));
    assert!(other.rumors(None).contains(&order), "it is passed on");
    let mut far = Bench::new(4);
    let (life, why, by) = (Life(10), Departure::Left, NodeId(1));
    let down = Event::Down { id, life, why, by };
    assert_eq!(events(&far.msg(sender(2, 0), order.clone())), [down]);
    // The member itself is alive: it comes back in a new life.
    let mut itself = Bench::new(2);
    let order = Msg::Accusation(claim(1, 0, Status::Left, 2));
    let life = itself.m.life;
    let effects = itself.msg(sender(2, 0), order);
    itself.store(&effects);
    assert!(itself.m.life > life);
}

/// Who was away when a member was removed is told later.
#[test]
fn a_removal_is_told_again() {
    let config = Config {
        heal_periods: 1,
        ..Config::default()
    };
    let mut b = Bench::with(2, config);
    b.msg(sender(2, 0), Msg::Accusation(claim(7, 0, Status::Dead, 2)));
    b.input(Input::Remove(NodeId(7)));
    while !b.rumors(None).is_empty() {}
    idle_for(&mut b, 3600);
    let order = Msg::Accusation(claim(7, 0, Status::Left, 1));
    assert!(b.rumors(None).contains(&order));
}
