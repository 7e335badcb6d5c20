use super::*;
use crate::kit::effects;
use crate::protocol::{Effect, EffectOf, Passenger, Ride, To};
use alloc::collections::BTreeMap;
use alloc::string::{String, ToString};
use alloc::vec;
use core::net::SocketAddr;

/// A member list that the test defines.
#[derive(Default)]
struct List {
    others: Vec<(NodeId, Meta)>,
    own: Meta,
}

impl List {
    fn of(others: u64) -> List {
        let meta = |id: u64| Meta {
            name: alloc::format!("n{id}"),
            ..Meta::default()
        };
        List {
            others: (2..others + 2).map(|id| (NodeId(id), meta(id))).collect(),
            own: meta(1),
        }
    }
}

impl Audience for List {
    fn live(&self) -> usize {
        self.others.len()
    }

    fn live_at(&self, at: usize) -> Option<(NodeId, &Meta)> {
        self.others.get(at).map(|(id, meta)| (*id, meta))
    }

    fn has(&self, id: NodeId) -> bool {
        self.others.iter().any(|(other, _)| *other == id)
    }

    fn life(&self) -> Life {
        Life(9)
    }

    fn meta(&self) -> &Meta {
        &self.own
    }
}

struct Rig {
    state: Messages,
    list: List,
    rng: Rng,
    now: Instant,
    timers: BTreeMap<Timer, Instant>,
}

type Effects = Vec<EffectOf<Messages>>;

impl Rig {
    fn new(others: u64) -> Rig {
        Rig::with(Config::default(), others)
    }

    fn with(config: Config, others: u64) -> Rig {
        Rig {
            state: Messages::new(config, 1100),
            list: List::of(others),
            rng: Rng::seed(1, 5),
            now: Instant::ZERO + Duration::from_secs(10),
            timers: BTreeMap::new(),
        }
    }

    fn step(
        &mut self,
        f: impl FnOnce(&mut Messages, &mut MessagesCx<'_>, &dyn Audience),
    ) -> Effects {
        let (me, list) = (NodeId(1), &self.list);
        let run = |m: &mut Messages, cx: &mut MessagesCx<'_>| f(m, cx, list);
        let mut effects = effects(&mut self.state, me, self.now, &mut self.rng, run);
        for effect in &effects {
            match effect {
                Effect::SetTimer(timer, at) => drop(self.timers.insert(*timer, *at)),
                Effect::CancelTimer(timer) => drop(self.timers.remove(timer)),
                _ => {}
            }
        }
        effects.retain(|e| !matches!(e, Effect::SetTimer(..) | Effect::CancelTimer(_)));
        effects
    }

    fn order(&mut self, order: Order) -> Effects {
        self.step(|m, cx, view| m.on_input(cx, view, order))
    }

    fn hear(&mut self, from: u64, msg: Msg) -> Effects {
        let addr: SocketAddr = ([127, 0, 0, 1], 1).into();
        let from = Sender::new(NodeId(from), Life(5), addr);
        self.step(|m, cx, view| m.on_msg(cx, view, from, msg))
    }

    /// Fires the next timer.
    fn tick(&mut self) -> Option<Effects> {
        let (&timer, &at) = self.timers.iter().min_by_key(|(_, at)| **at)?;
        self.timers.remove(&timer);
        self.now = self.now.max(at);
        Some(self.step(|m, cx, view| m.on_timer(cx, view, timer)))
    }
}

fn event(name: &str) -> Order {
    Order::Event {
        name: name.to_string(),
        payload: Payload(b"x".to_vec()),
    }
}

fn query(name: &str, filter: Filter) -> Order {
    Order::Query {
        ticket: 7,
        name: name.to_string(),
        payload: Payload::default(),
        filter,
        timeout: None,
    }
}

fn post(origin: u64, seq: u32, purpose: Purpose) -> Post {
    let name = match purpose {
        Purpose::Ping(_) => "",
        _ => "deploy",
    };
    Post {
        origin: NodeId(origin),
        life: Life(5),
        seq,
        left_ms: 5000,
        purpose,
        name: name.to_string(),
        payload: Payload(b"x".to_vec()),
    }
}

fn sent(effects: &Effects) -> Vec<(u64, &Msg)> {
    let send = |e| match e {
        &Effect::Send(To::Node(id), ref msg) => Some((id.0, msg)),
        _ => None,
    };
    effects.iter().filter_map(send).collect()
}

fn emitted(effects: &Effects) -> Vec<&Event> {
    let events = effects.iter().filter_map(|e| match e {
        Effect::Emit(event) => Some(event),
        _ => None,
    });
    events.collect()
}

#[test]
fn an_own_event_is_told_here_once_and_to_as_many_members_as_the_limits_say() {
    let mut rig = Rig::new(40);
    let effects = rig.order(event("deploy"));
    assert_eq!(emitted(&effects).len(), 1);
    assert_eq!(sent(&effects).len(), 3);
    let mut copies = 3;
    while let Some(effects) = rig.tick() {
        let targets: alloc::collections::BTreeSet<u64> =
            sent(&effects).iter().map(|(to, _)| *to).collect();
        assert!(targets.len() == sent(&effects).len() && targets.len() <= 3);
        assert_eq!(emitted(&effects), Vec::<&Event>::new());
        copies += targets.len();
    }
    // Four rounds of three copies, and then nothing is left, not even a timer.
    assert_eq!(copies, 12);
    assert_eq!(rig.state.load(), (0, 0));
    assert_eq!(rig.state.stats().copies_sent, 12);
}

#[test]
fn a_message_is_told_once_and_passed_on_but_not_back() {
    let mut rig = Rig::new(2);
    let msg = Msg::Post(post(2, 1, Purpose::Event));
    let effects = rig.hear(3, msg.clone());
    let id = MessageId {
        origin: NodeId(2),
        life: Life(5),
        seq: 1,
    };
    let told = Event::Told {
        id,
        name: "deploy".to_string(),
        payload: Payload(b"x".to_vec()),
    };
    assert_eq!(effects, vec![Effect::Emit(told)]);
    assert_eq!(rig.hear(2, msg.clone()), vec![]);
    assert_eq!(rig.hear(2, Msg::Again(post(2, 1, Purpose::Event))), vec![]);
    // Both other nodes know it: its sender, and the node that passed it on.
    while let Some(effects) = rig.tick() {
        assert_eq!(effects, vec![]);
    }
    assert_eq!(rig.state.load(), (0, 0));
    assert_eq!(rig.state.stats().events_received, 1);
}

#[test]
fn what_is_passed_on_says_how_long_it_may_travel_still_and_ends_then() {
    let mut rig = Rig::new(9);
    let mut last = post(2, 1, Purpose::Event);
    last.left_ms = 150;
    rig.hear(2, Msg::Post(last));
    let mut lefts = Vec::new();
    while let Some(effects) = rig.tick() {
        for (_, msg) in sent(&effects) {
            let Msg::Post(post) = msg else {
                panic!("{msg:?}")
            };
            lefts.push(post.left_ms);
        }
    }
    assert!(!lefts.is_empty() && lefts.iter().all(|left| (1..150).contains(left)));
    let mut over = post(2, 2, Purpose::Event);
    over.left_ms = 0;
    assert_eq!(rig.hear(2, Msg::Post(over)), vec![]);
    assert_eq!(rig.state.stats().malformed, 1);
}

#[test]
fn a_query_ends_when_all_have_answered_or_declined() {
    let mut rig = Rig::new(2);
    let effects = rig.order(query("load", Filter::default()));
    let Some(Event::Asked { id, .. }) = emitted(&effects).first().copied() else {
        panic!("{effects:?}")
    };
    let id = *id;
    let reply = |verdict| {
        Msg::Reply(Reply {
            life: Life(9),
            seq: 1,
            verdict,
        })
    };
    let answered = |from, verdict| {
        Effect::Emit(Event::Answered {
            ticket: 7,
            from: NodeId(from),
            verdict,
        })
    };
    let answer = Verdict::Answer(Payload(b"0.3".to_vec()));
    assert_eq!(
        rig.hear(2, reply(answer.clone())),
        vec![answered(2, answer.clone())]
    );
    // A repetition is dropped.
    assert_eq!(rig.hear(2, reply(answer)), vec![]);
    let declined = Verdict::Declined;
    assert_eq!(
        rig.hear(3, reply(declined.clone())),
        vec![answered(3, declined)]
    );
    let own = Verdict::Answer(Payload(b"0.1".to_vec()));
    let effects = rig.order(Order::Answer(id, own.clone()));
    let finished = Effect::Emit(Event::Finished {
        ticket: 7,
        silent: vec![],
    });
    assert_eq!(effects, vec![answered(1, own), finished]);
    assert_eq!(rig.state.stats().answers_dropped, 1);
}

#[test]
fn the_silent_are_asked_again_and_named_at_the_end() {
    let mut rig = Rig::new(2);
    let filter = Filter {
        names: vec!["n3".to_string()],
        ..Filter::default()
    };
    let effects = rig.order(query("load", filter));
    assert_eq!(emitted(&effects), Vec::<&Event>::new());
    let (mut again, mut end) = (0, None);
    let start = rig.now;
    while let Some(effects) = rig.tick() {
        for (to, msg) in sent(&effects) {
            if matches!(msg, Msg::Again(_)) {
                assert_eq!(to, 3);
                again += 1;
            }
        }
        if let Some(event) = emitted(&effects).first() {
            end = Some((*event).clone());
        }
    }
    let finished = Event::Finished {
        ticket: 7,
        silent: vec![NodeId(3)],
    };
    assert_eq!(end, Some(finished));
    assert_eq!(rig.now.since(start), Duration::from_secs(3));
    assert!((2..8).contains(&again), "{again}");
}

#[test]
fn a_query_is_answered_once_and_repeated_to_who_asks_again() {
    let mut rig = Rig::new(3);
    let asked = post(2, 1, Purpose::Query(Filter::default()));
    let effects = rig.hear(3, Msg::Post(asked.clone()));
    let Some(Event::Asked { id, .. }) = emitted(&effects).first().copied() else {
        panic!("{effects:?}")
    };
    let id = *id;
    assert_eq!(rig.hear(2, Msg::Again(asked.clone())), vec![]);
    let verdict = Verdict::Answer(Payload(b"1".to_vec()));
    let effects = rig.order(Order::Answer(id, verdict.clone()));
    let reply = Msg::Reply(Reply {
        life: Life(5),
        seq: 1,
        verdict: verdict.clone(),
    });
    assert_eq!(
        effects,
        vec![Effect::Send(To::Node(NodeId(2)), reply.clone())]
    );
    assert_eq!(rig.order(Order::Answer(id, Verdict::Declined)), vec![]);
    let effects = rig.hear(2, Msg::Again(asked.clone()));
    assert_eq!(effects, vec![Effect::Send(To::Node(NodeId(2)), reply)]);
    // Only the asker itself may repeat its query.
    assert_eq!(rig.hear(3, Msg::Again(asked)), vec![]);
    rig.now = rig.now + Duration::from_secs(6);
    assert_eq!(rig.order(Order::Answer(id, verdict)), vec![]);
}

#[test]
fn a_ping_is_answered_by_the_node_itself_when_it_is_meant() {
    let mut rig = Rig::new(2);
    let effects = rig.hear(2, Msg::Post(post(2, 1, Purpose::Ping(Filter::default()))));
    assert_eq!(emitted(&effects), Vec::<&Event>::new());
    assert!(matches!(sent(&effects)[..], [(2, Msg::Reply(_))]));
    let tags = vec![("role".to_string(), None)];
    let other = Filter {
        names: vec![],
        tags,
    };
    let effects = rig.hear(2, Msg::Post(post(2, 2, Purpose::Ping(other.clone()))));
    assert_eq!(effects, vec![]);
    rig.list
        .own
        .tags
        .insert("role".to_string(), "camera".to_string());
    let effects = rig.hear(2, Msg::Post(post(2, 3, Purpose::Ping(other))));
    assert_eq!(sent(&effects).len(), 1);
}

#[test]
fn filters_choose_by_name_id_and_tags() {
    let mut meta = Meta {
        name: "cam".to_string(),
        ..Meta::default()
    };
    meta.tags.insert("role".to_string(), "camera".to_string());
    let filter = |names: &[&str], tags: &[(&str, Option<&str>)]| Filter {
        names: names.iter().map(|n| n.to_string()).collect(),
        tags: tags
            .iter()
            .map(|(k, v)| (k.to_string(), v.map(String::from)))
            .collect(),
    };
    let id = NodeId(0xab);
    for good in [
        filter(&[], &[]),
        filter(&["door", "cam"], &[("role", None)]),
        filter(&[&id.to_string()], &[("role", Some("camera"))]),
    ] {
        assert!(good.matches(id, &meta), "{good:?}");
    }
    for bad in [
        filter(&["door"], &[]),
        filter(&["cam"], &[("role", Some("door"))]),
        filter(&[], &[("role", None), ("floor", None)]),
    ] {
        assert!(!bad.matches(id, &meta), "{bad:?}");
    }
}

#[test]
fn every_limit_is_an_error_and_changes_nothing() {
    let mut rig = Rig::new(3);
    let long = |len| Order::Event {
        name: "x".to_string(),
        payload: Payload(vec![0; len]),
    };
    for name in ["", "a b", "a,b", "a\u{7}", &"x".repeat(65)] {
        assert_eq!(
            rig.state.check(&event(name)),
            Err(SendError::Name),
            "{name}"
        );
    }
    assert_eq!(rig.state.check(&long(512)), Ok(()));
    let error = SendError::Payload { len: 513, max: 512 };
    assert_eq!(rig.state.check(&long(513)), Err(error));
    let wide = Filter {
        names: vec!["x".repeat(50); 16],
        ..Filter::default()
    };
    let mut asked = query("load", wide);
    if let Order::Query { payload, .. } = &mut asked {
        payload.0 = vec![0; 400];
    }
    assert!(matches!(
        rig.state.check(&asked),
        Err(SendError::TooLong { .. })
    ));
    let many = Filter {
        names: vec![String::new(); 17],
        ..Filter::default()
    };
    assert_eq!(
        rig.state.check(&query("load", many)),
        Err(SendError::Filter)
    );
    assert_eq!(rig.order(long(513)), vec![]);
    assert_eq!(rig.state.stats().refused, 1);
    for _ in 0..16 {
        rig.order(event("deploy"));
    }
    let busy = SendError::Busy { waiting: 16 };
    assert_eq!(rig.state.check(&event("deploy")), Err(busy));
    // They end by themselves.
    while rig.tick().is_some() {}
    assert_eq!(rig.state.check(&event("deploy")), Ok(()));
}

#[test]
fn what_others_send_takes_bounded_memory() {
    let config = Config {
        posts_max: 4,
        origins_max: 8,
        queries_max: 2,
        ..Config::default()
    };
    let mut rig = Rig::with(config, 3);
    for origin in 100..200 {
        for seq in 1..4 {
            rig.hear(
                2,
                Msg::Post(post(origin, seq, Purpose::Query(Filter::default()))),
            );
        }
    }
    let (passing, queries) = rig.state.load();
    assert!(passing <= 4 && queries <= 2, "{passing} {queries}");
    assert_eq!(rig.state.seen.len(), 8);
    let stats = rig.state.stats();
    assert_eq!(
        (stats.origins_dropped, stats.queries_dropped),
        (92 * 3, 8 * 3 - 2)
    );
    assert!(stats.evicted > 0);
}

#[test]
fn messages_ride_along_where_there_is_room() {
    let config = Config {
        gossip_fanout: 0,
        ..Config::default()
    };
    let mut rig = Rig::with(config, 5);
    assert_eq!(sent(&rig.order(event("deploy"))), vec![]);
    assert_eq!(rig.tick(), None);
    let now = rig.now;
    let mut rides = |to, room| {
        let mut taken = 0;
        let ride = Ride {
            me: NodeId(1),
            now,
            to: Some(NodeId(to)),
            members: 5,
            bytes: room,
            frames: 1,
        };
        rig.state.piggyback(ride, |_| taken += 1);
        taken
    };
    assert_eq!(rides(2, 10), 0);
    assert_eq!(rides(2, 100), 1);
    let all: u32 = (0..30).map(|_| rides(3, 100)).sum();
    assert_eq!(all, 11);
}
