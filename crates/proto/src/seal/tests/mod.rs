//! What strangers and hostile members can do to a node, datagram by datagram.

mod identified;
mod keyed;
mod migration;
mod rotation;

use crate::command::Command;
use crate::config::Config;
use crate::event::Event;
use crate::id::{Incarnation, Life, NodeId};
use crate::membership::{Accusation, Meta, Msg, Precedence, Record, SharedMeta, Status};
use crate::node::{Identity, Node};
use crate::protocol::Destination;
use crate::seal::Suite;
use crate::time::Instant;
use crate::wire::{DATAGRAM_READ, Datagram, FRAMES_MAX, Frame, Header};
use alloc::vec;
use alloc::vec::Vec;
use core::net::SocketAddr;
use core::time::Duration;

const LIFE: Life = Life(500 << 16);

fn addr(n: u64) -> SocketAddr {
    SocketAddr::from(([10, 0, (n >> 8) as u8, n as u8], 7000))
}

fn identity(n: u64) -> Identity {
    Identity {
        id: NodeId(n),
        life: LIFE,
        addr: addr(n),
        meta: Meta::default(),
        memory: LIFE,
        wall: None,
    }
}

fn node(n: u64) -> Node {
    Node::new(Config::default(), identity(n), 1, Instant::ZERO).unwrap()
}

fn record(n: u64, status: Status, life: Life) -> Record {
    Record {
        id: NodeId(n),
        precedence: Precedence::alive(life, Incarnation(0)).with(status),
        accuser: NodeId(n),
        addr: addr(n),
        meta: SharedMeta::default(),
        coordinate: None,
        nap_ms: 0,
        current: true,
    }
}

fn datagram(from: u64, frames: Vec<Frame>) -> Datagram {
    let header = Header {
        group: Config::default().group_tag(),
        id: NodeId(from),
        life: LIFE,
        ..Header::default()
    };
    Datagram {
        header,
        frames,
        ..Datagram::default()
    }
}

fn bytes(datagram: &Datagram) -> Vec<u8> {
    let mut bytes = Vec::new();
    datagram.encode(&mut bytes);
    bytes
}

/// What a node has to send: where, and how many bytes.
fn sent(node: &mut Node) -> Vec<(SocketAddr, usize)> {
    while node.poll_fact().is_some() {}
    while node.poll_event().is_some() {}
    let (mut out, mut all) = (Datagram::default(), Vec::new());
    while let Some((Destination::Addr(to), len)) = node.poll_transmit(&mut out) {
        assert_eq!(bytes(&out).len(), len);
        all.push((to, len));
    }
    all
}

/// A node that knows number 2 to `n`.
fn knowing(n: u64) -> Node {
    let mut node = node(1);
    let all = (2..=n)
        .map(|n| record(n, Status::Alive, LIFE))
        .collect::<Vec<_>>();
    node.handle_command(Instant::ZERO, crate::command::Command::Restore(all));
    sent(&mut node);
    node
}

fn frame(msg: Msg) -> Frame {
    Frame::Membership(msg)
}

#[test]
fn a_datagram_of_many_requests_is_answered_like_one() {
    let mut node = knowing(200);
    let pull = || frame(Msg::Pull { after: NodeId(0) });
    let one = bytes(&datagram(2, vec![pull()]));
    let many = bytes(&datagram(2, (0..FRAMES_MAX).map(|_| pull()).collect()));
    node.handle_bytes(Instant::ZERO, addr(2), &one);
    let once = sent(&mut node);
    node.handle_bytes(Instant::ZERO, addr(2), &many);
    assert_eq!(sent(&mut node).len(), once.len());
    assert!(once.len() <= 4, "{once:?}");
    assert_eq!(node.stats().seal.requests_dropped, FRAMES_MAX as u64 - 1);
    // Frames beyond the limit are not even read.
    let mut more = many.clone();
    more.extend_from_slice(&one[crate::wire::HEADER_LEN..]);
    node.handle_bytes(Instant::ZERO, addr(2), &more);
    assert_eq!(node.stats().seal.datagrams_overfull, 1);
}

#[test]
fn an_answer_to_all_kinds_of_requests_at_once_takes_four_datagrams() {
    let mut node = knowing(400);
    let buckets = [0; crate::membership::BUCKETS];
    let all = vec![
        frame(Msg::Join),
        frame(Msg::Pull { after: NodeId(0) }),
        frame(Msg::Digest {
            buckets,
            reply: true,
        }),
    ];
    node.handle_datagram(Instant::ZERO, addr(2), &mut datagram(2, all));
    let to_sender = sent(&mut node);
    assert_eq!(to_sender.iter().filter(|s| s.0 == addr(2)).count(), 4);
    assert!(node.stats().seal.answers_cut > 0);
}

#[test]
fn what_no_member_sends_is_dropped_unread() {
    let mut node = knowing(2);
    node.handle_bytes(Instant::ZERO, addr(2), &vec![2; DATAGRAM_READ + 1]);
    assert_eq!(node.stats().seal.datagrams_oversize, 1);
    assert_eq!(node.stats().datagrams_malformed, 0);
}

#[test]
fn strangers_are_looked_at_less_often_than_members() {
    let mut node = knowing(2);
    let now = Instant::ZERO + Duration::from_secs(1);
    let mut noise = || {
        for n in 1000..3000 {
            let mut stranger = datagram(n, vec![]);
            node.handle_datagram(now, addr(3), &mut stranger);
        }
        sent(&mut node);
        node.stats()
    };
    assert_eq!(noise().seal.rate_dropped_strangers, 1500);
    node.handle_datagram(now, addr(2), &mut datagram(2, vec![]));
    let stats = node.stats();
    assert_eq!(stats.seal.rate_dropped_members, 0);
    assert_eq!(stats.seal.rate_dropped_known, 0);
}

#[test]
fn what_comes_in_a_members_name_from_elsewhere_has_a_limit_of_its_own() {
    let mut node = knowing(2);
    let now = Instant::ZERO + Duration::from_secs(1);
    for _ in 0..3000 {
        node.handle_datagram(now, addr(9), &mut datagram(2, vec![]));
        sent(&mut node);
    }
    assert_eq!(node.stats().seal.rate_dropped_known, 1000);
    let before = node.stats().datagrams_in;
    node.handle_datagram(now, addr(2), &mut datagram(2, vec![]));
    assert_eq!(node.stats().datagrams_in, before + 1);
}

#[test]
fn one_member_tells_of_so_many_strangers_a_minute() {
    let mut node = knowing(2);
    for n in 1000..13_000 {
        let told = frame(Msg::Record(record(n, Status::Alive, LIFE)));
        let now = Instant::ZERO + Duration::from_millis(n);
        node.handle_datagram(now, addr(2), &mut datagram(2, vec![told]));
        sent(&mut node);
    }
    // The sender asked for lists is another matter; nobody was asked here but by the comparison of lists.
    let listed = node.membership().table().live();
    let asked = 2 * 4 * 1150 / 40;
    assert!(listed <= 1 + 256 + asked, "{listed}");
    assert!(node.stats().membership.told_refused > 11_000);
}

#[test]
fn a_goodbye_told_in_an_unknown_life_takes_nobody_away() {
    let mut node = knowing(3);
    let said = |life: Life| Accusation {
        id: NodeId(3),
        precedence: Precedence::alive(life, Incarnation(0)).with(Status::Left),
        accuser: NodeId(3),
    };
    let forged = frame(Msg::Accusation(said(Life(Life::CEILING << 16))));
    node.handle_datagram(Instant::ZERO, addr(2), &mut datagram(2, vec![forged]));
    let sends = sent(&mut node);
    assert_eq!(node.membership().table().live(), 2);
    assert_eq!(node.stats().membership.goodbyes_doubted, 1);
    // It is looked for instead.
    assert!(sends.iter().any(|s| s.0 == addr(3)), "{sends:?}");
    let plain = frame(Msg::Accusation(said(LIFE)));
    node.handle_datagram(Instant::ZERO, addr(2), &mut datagram(2, vec![plain]));
    assert_eq!(node.membership().table().live(), 1);
}

#[test]
fn a_helper_pings_nobody_it_does_not_know() {
    let mut node = knowing(2);
    let ask = frame(Msg::PingReq {
        seq: 1,
        target: NodeId(9),
        life: LIFE,
        addr: addr(66),
        budget_ms: 1000,
    });
    node.handle_datagram(Instant::ZERO, addr(2), &mut datagram(2, vec![ask]));
    assert!(sent(&mut node).iter().all(|s| s.0 == addr(2)));
}

/// Nodes that hear each other by their addresses, and a clock.
struct Net {
    config: Config,
    nodes: Vec<Node>,
    /// All that was sent, as bytes: from where, where to.
    recorded: Vec<(SocketAddr, SocketAddr, Vec<u8>)>,
    now: Instant,
    /// Every so many datagrams are lost, by a draw.
    loss_percent: u32,
    /// This one can neither send nor receive.
    cut: Option<u64>,
    /// Those up to this one and those above it do not hear each other.
    split: Option<u64>,
    rng: crate::rng::Rng,
    carried: usize,
}

impl Net {
    fn new(count: u64) -> Net {
        Net::with(count, Config::default())
    }

    fn with(count: u64, config: Config) -> Net {
        Net::each(count, |_| config.clone())
    }

    /// Nodes with settings of their own.
    fn each(count: u64, config: impl Fn(u64) -> Config) -> Net {
        let node = |n| Node::new(config(n), identity(n), 1, Instant::ZERO).unwrap();
        Net {
            nodes: (1..=count).map(node).collect(),
            config: config(1),
            recorded: Vec::new(),
            now: Instant::ZERO,
            loss_percent: 0,
            cut: None,
            split: None,
            rng: crate::rng::Rng::seed(1, 1),
            carried: 0,
        }
    }

    /// Carries all that is on its way, and what comes of it, in no time.
    fn settle(&mut self) {
        for _ in 0..10_000 {
            let mut under_way = Vec::new();
            for n in 0..self.nodes.len() {
                let node = &mut self.nodes[n];
                while node.poll_fact().is_some() {}
                while let Some(event) = node.poll_event() {
                    if let Event::Keys(ring) = event {
                        node.handle_command(self.now, Command::SetKeys(ring));
                    }
                }
                let mut out = Datagram::default();
                while let Some((Destination::Addr(to), len)) = node.poll_transmit(&mut out) {
                    if let Suite::Keyed(_) = self.config.seal.suite {
                        let mut bytes = Vec::new();
                        node.encode(&out, &mut bytes);
                        assert_eq!(bytes.len(), len);
                        self.recorded.push((addr(n as u64 + 1), to, bytes));
                    }
                    under_way.push((addr(n as u64 + 1), to, out.clone()));
                }
            }
            if under_way.is_empty() {
                return;
            }
            let start = self.recorded.len().saturating_sub(under_way.len());
            for (k, (from, to, mut datagram)) in under_way.into_iter().enumerate() {
                let at = (1..=self.nodes.len() as u64).find(|&n| addr(n) == to);
                let cut = self.cut.is_some_and(|n| [from, to].contains(&addr(n)));
                let below = |at, n: u64| (1..=n).any(|n| addr(n) == at);
                let split = self.split.is_some_and(|n| below(from, n) != below(to, n));
                let lost = self.rng.below(100) < self.loss_percent || cut || split;
                if let Some(n) = at.filter(|_| !lost) {
                    self.carried += 1;
                    let node = &mut self.nodes[n as usize - 1];
                    match self.config.seal.suite {
                        Suite::Keyed(_) => {
                            let bytes = &self.recorded[start + k].2;
                            node.handle_bytes(self.now, from, bytes);
                        }
                        _ => node.handle_datagram(self.now, from, &mut datagram),
                    }
                }
            }
        }
        panic!("they do not come to rest");
    }

    fn pass(&mut self, span: Duration) {
        let end = self.now + span;
        loop {
            self.settle();
            let due = self.nodes.iter().filter_map(Node::poll_timeout).min();
            let Some(at) = due.filter(|at| *at <= end) else {
                break;
            };
            self.now = self.now.max(at);
            for node in &mut self.nodes {
                if node.poll_timeout().is_some_and(|at| at <= self.now) {
                    node.handle_timeout(self.now);
                }
            }
        }
        self.now = end;
    }

    fn join(&mut self, n: usize, seed: u64) {
        let join = crate::command::Command::Join(vec![addr(seed)]);
        self.nodes[n - 1].handle_command(self.now, join);
    }

    /// The process of number `n` ends and begins anew, in `life`, and looks for `seed`.
    fn restart(&mut self, n: u64, life: Life, seed: u64) {
        self.restart_with(n, life, seed, self.config.clone());
    }

    fn restart_with(&mut self, n: u64, life: Life, seed: u64, config: Config) {
        let identity = Identity {
            life,
            ..identity(n)
        };
        self.nodes[n as usize - 1] = Node::new(config, identity, 1, self.now).unwrap();
        self.join(n as usize, seed);
    }

    fn lists(&self) -> Vec<usize> {
        let live = |n: &Node| n.membership().table().live();
        self.nodes.iter().map(live).collect()
    }
}

#[test]
fn a_join_takes_a_round_trip_more_than_it_says() {
    let mut net = Net::new(2);
    net.join(1, 2);
    net.settle();
    assert_eq!(net.lists(), [1, 1]);
    assert_eq!(
        net.nodes[0].membership().join_state(),
        crate::membership::JoinState::Joined
    );
    // Challenge, echo with challenge and join, echo with page; what follows is gossip.
    let stats = net.nodes.iter().map(|n| n.stats().seal.challenges_sent);
    assert_eq!(stats.sum::<u64>(), 2);
}

#[test]
fn two_that_restart_at_once_meet_again_in_spite_of_loss() {
    let mut net = Net::new(2);
    net.join(1, 2);
    net.settle();
    net.loss_percent = 30;
    let later = Life(600 << 16);
    for n in [1, 2] {
        net.restart(n, later, 3 - n);
    }
    net.pass(Duration::from_secs(30));
    assert_eq!(net.lists(), [1, 1]);
    for n in [1, 2] {
        let other = net.nodes[2 - n as usize].membership().table();
        let known = other.get(NodeId(n)).unwrap();
        assert!(known.is_proven() && known.precedence.life == later, "{n}");
    }
}

#[test]
fn a_group_that_restarts_at_once_finds_together() {
    let mut net = Net::new(8);
    for n in 2..=8 {
        net.join(n, 1);
    }
    net.pass(Duration::from_secs(10));
    assert_eq!(net.lists(), [7; 8]);
    for n in 1..=8 {
        net.restart(n, Life(600 << 16), if n == 1 { 2 } else { 1 });
    }
    net.pass(Duration::from_secs(10));
    assert_eq!(net.lists(), [7; 8]);
}

#[test]
fn a_node_that_lost_its_disk_learns_its_life_and_is_let_in() {
    let mut net = Net::new(2);
    net.restart(2, Life(900 << 16), 1);
    net.pass(Duration::from_secs(5));
    // Its clock went back.
    net.restart(2, Life(100 << 16), 1);
    net.pass(Duration::from_secs(10));
    assert_eq!(net.lists(), [1, 1]);
    let life = net.nodes[1].membership().life();
    assert!(life > Life(900 << 16));
    let known = net.nodes[0].membership().table().get(NodeId(2)).unwrap();
    assert_eq!(known.precedence.life, life);
}

#[test]
fn thousands_of_headers_make_no_member_and_few_answers() {
    let mut node = knowing(3);
    let mut answered = 0;
    for n in 1000..13_000 {
        let now = Instant::ZERO + Duration::from_secs(9);
        let mut stranger = datagram(n, vec![]);
        stranger.header.leaving = n % 2 == 0;
        node.handle_datagram(now, addr(n), &mut stranger);
        answered += sent(&mut node).len();
    }
    assert_eq!(node.membership().table().len(), 2);
    assert_eq!(answered, 100);
}

#[test]
fn an_address_that_is_not_proven_draws_less_than_three_times_what_came_from_it() {
    let buckets = [0; crate::membership::BUCKETS];
    let cookie = super::Cookie(1);
    let all = [
        vec![],
        vec![frame(Msg::Join)],
        vec![
            frame(Msg::Join),
            frame(Msg::Record(record(9, Status::Alive, LIFE))),
        ],
        vec![frame(Msg::Pull { after: NodeId(0) })],
        vec![frame(Msg::Digest {
            buckets,
            reply: true,
        })],
        vec![frame(Msg::Ping {
            seq: 1,

            want_record: true,
        })],
        vec![frame(Msg::PingReq {
            seq: 1,
            target: NodeId(3),
            life: LIFE,
            addr: addr(66),
            budget_ms: 1000,
        })],
        vec![frame(Msg::Ack { seq: 1 })],
        vec![frame(Msg::Record(record(3, Status::Dead, LIFE)))],
        vec![Frame::Session(super::Msg::Challenge(cookie))],
        vec![Frame::Session(super::Msg::Echo(cookie))],
        vec![Frame::Session(super::Msg::Challenge(cookie)); 90],
    ];
    for frames in all {
        // A stranger, a member from elsewhere, another process with this node's id.
        for sender in [9, 2, 1] {
            let mut node = knowing(300);
            let mut datagram = datagram(sender, frames.clone());
            datagram.header.life = Life(600 << 16);
            let came = bytes(&datagram);
            node.handle_bytes(Instant::ZERO, addr(77), &came);
            let went = sent(&mut node);
            let drawn: usize = went.iter().map(|s| s.1).sum();
            assert!(went.iter().all(|s| s.0 == addr(77)), "{frames:?}: {went:?}");
            assert!(drawn <= 3 * came.len(), "{frames:?}: {drawn}");
        }
    }
}

#[test]
fn nothing_counts_before_the_address_is_proven() {
    let mut node = knowing(3);
    let dead = || frame(Msg::Record(record(3, Status::Dead, LIFE)));
    let mut moved = datagram(2, vec![dead()]);
    node.handle_datagram(Instant::ZERO, addr(77), &mut moved);
    let alive = |node: &Node| {
        let member = node.membership().table().get(NodeId(3)).unwrap();
        member.precedence.status == Status::Alive
    };
    assert!(alive(&node));
    assert_eq!(node.stats().seal.unproven, 1);
    // The cookie comes back: now it does.
    let mut out = Datagram::default();
    let (to, _) = node.poll_transmit(&mut out).unwrap();
    assert_eq!(to, Destination::Addr(addr(77)));
    let [Frame::Session(super::Msg::Challenge(cookie))] = out.frames[..] else {
        panic!("{out:?}");
    };
    let echo = Frame::Session(super::Msg::Echo(cookie));
    let elsewhere = &mut datagram(2, vec![echo.clone(), dead()]);
    node.handle_datagram(Instant::ZERO, addr(78), elsewhere);
    assert!(alive(&node));
    assert_eq!(node.stats().seal.echoes_bad, 1);
    let there = &mut datagram(2, vec![echo, dead()]);
    node.handle_datagram(Instant::ZERO, addr(77), there);
    assert!(!alive(&node));
    // Where membership sends stays what the record says.
    let member = node.membership().table().get(NodeId(2)).unwrap();
    assert_eq!(member.addr(), addr(2));
}

#[test]
fn who_is_said_to_hold_this_nodes_id_is_asked_for_proof() {
    let mut node = node(1);
    let mut earlier = datagram(1, vec![frame(Msg::Ack { seq: 0 })]);
    earlier.header.life = Life(1 << 16);
    node.handle_datagram(Instant::ZERO, addr(77), &mut earlier);
    let mut taken = false;
    while let Some(event) = node.poll_event() {
        taken |= event == crate::event::Event::Membership(crate::membership::Event::IdentityTaken);
    }
    assert!(!taken);
    assert_eq!(sent(&mut node).len(), 1);
}
