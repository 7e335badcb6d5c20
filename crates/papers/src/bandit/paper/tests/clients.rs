//! The client.

use super::*;

struct Seat {
    client: Client,
    now: Instant,
    rng: Rng,
    sent: Vec<(NodeId, Msg)>,
    events: Vec<ClientEvent>,
    timer: Option<(ClientTimer, Instant)>,
}

impl Seat {
    fn new(config: ClientConfig) -> Seat {
        let mut seat = Seat {
            client: Client::new(config),
            now: secs(0),
            rng: Rng::seed(1, 1),
            sent: Vec::new(),
            events: Vec::new(),
            timer: None,
        };
        seat.step(|client, cx| client.on_input(cx, (), ()));
        seat
    }

    fn step(&mut self, f: impl FnOnce(&mut Client, &mut Cx<'_, Client>)) {
        for effect in kit::effects(&mut self.client, CLIENT, self.now, &mut self.rng, f) {
            match effect {
                Effect::Send(To::Node(to), msg) => self.sent.push((to, msg)),
                Effect::SetTimer(timer, at) => self.timer = Some((timer, at)),
                Effect::Emit(event) => self.events.push(event),
                other => panic!("unexpected {other:?}"),
            }
        }
    }

    fn fire(&mut self) {
        let (timer, at) = self.timer.take().expect("a timer");
        self.now = at;
        self.step(|client, cx| client.on_timer(cx, (), timer));
    }

    fn hear(&mut self, msg: Msg) {
        self.step(|client, cx| client.on_msg(cx, (), sender(NodeId(1)), msg));
    }

    fn reply(&mut self, request: u64) {
        let leader = self.client.leader();
        self.hear(Msg::Reply { request, leader });
    }

    fn targets(&mut self) -> Vec<u64> {
        self.sent.drain(..).map(|(to, _)| to.0).collect()
    }
}

fn leader(id: u64, at: u64) -> Leader {
    Leader {
        stamp: secs(at),
        id: NodeId(id),
    }
}

#[test]
fn requests_are_two_seconds_apart_and_failed_rounds_eight() {
    let mut seat = Seat::new(ClientConfig::as_run(3, 9));
    assert_eq!(seat.targets(), [0]);
    seat.reply(1);
    seat.fire();
    assert_eq!((seat.client.request(), seat.now), (2, secs(2)));
    assert_eq!(seat.targets(), [0]);
    // No reply: all but the leader are asked.
    seat.fire();
    assert_eq!((seat.targets(), seat.now), (vec![1, 2], secs(4)));
    seat.fire();
    assert_eq!(seat.events, [ClientEvent::Elects, ClientEvent::Failed]);
    // Nothing is sent meanwhile.
    assert!(seat.sent.is_empty());
    seat.fire();
    assert_eq!((seat.targets(), seat.now), (vec![1, 2], secs(12)));
}

/// B-26: the program counts a request that led to an election as served.
#[test]
fn a_request_that_led_to_an_election_is_skipped_in_the_program_and_sent_again_in_the_text() {
    for (config, next) in [
        (ClientConfig::as_run(3, 9), 2),
        (ClientConfig::text(3, 9), 1),
    ] {
        let mut seat = Seat::new(config);
        seat.fire();
        seat.hear(Msg::Confirm(leader(2, 3)));
        seat.fire();
        assert_eq!(seat.events.last(), Some(&ClientEvent::Found(NodeId(2))));
        assert_eq!(seat.client.request(), next);
        assert_eq!(seat.targets().last(), Some(&2));
    }
}

#[test]
fn only_a_newer_leader_is_believed_and_only_a_reply_to_this_request_counts() {
    let mut seat = Seat::new(ClientConfig::as_run(3, 9));
    seat.hear(Msg::Confirm(leader(1, 5)));
    seat.hear(Msg::Confirm(leader(2, 4)));
    assert_eq!(seat.client.leader(), leader(1, 5));
    seat.hear(Msg::Reply {
        request: 7,
        leader: leader(2, 6),
    });
    assert_eq!(seat.client.leader(), leader(2, 6));
    seat.fire();
    assert_eq!(seat.events, [ClientEvent::Elects]);
}

#[test]
fn it_is_done_after_its_last_request() {
    let mut seat = Seat::new(ClientConfig::as_run(3, 1));
    seat.reply(1);
    seat.fire();
    assert_eq!(seat.events, [ClientEvent::Done]);
    assert_eq!(seat.timer, None);
}
