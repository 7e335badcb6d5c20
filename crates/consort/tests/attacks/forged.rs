//! Forged statements about others, in open groups and in groups with a key.

use super::common::{PERIOD, agree};
use super::repeated::dropped;
use super::{Attacker, SOON, alive, eventually, has_read, wiretap};
use consort::election::{ElectionId, ElectionOptions, Leader, Token};
use consort::key::GroupKey;
use consort::lock::{LockId, LockToken, LostReason};
use consort::{Builder, Node, Status};
use consort_proto::election::{Claim, Key, Msg as Vote, Remarks, Stage};
use consort_proto::membership::{Accusation, Msg, Precedence, Status as Said};
use consort_proto::mutex::{self, Fence, Msg as Lock};
use consort_proto::wire::Frame;
use consort_proto::{Incarnation, Life, NodeId, Term};
use core::net::SocketAddr;
use core::time::Duration;
use std::net::UdpSocket;

const PATIENCE: Duration = Duration::from_secs(30);

/// Lock leases are short, so that a restarted member counts as a witness soon.
const TTL: Duration = Duration::from_secs(1);

/// Whether a group has a key.
pub(crate) enum Mode {
    Open,
    Keyed(GroupKey),
}

impl Mode {
    pub(crate) fn both() -> [Mode; 2] {
        [Mode::Open, Mode::Keyed(GroupKey::generate().unwrap())]
    }

    pub(crate) fn is_open(&self) -> bool {
        matches!(self, Mode::Open)
    }
}

/// A member that campaigns and counts as a witness of locks.
pub(crate) fn team(name: &str, mode: &Mode) -> Builder {
    let locks = mutex::Config {
        ttl: TTL,
        ttl_max: TTL,
        retry: Duration::from_millis(100),
        bootstrap: true,
        ..mutex::Config::default()
    };
    let node = super::local(name).locks(locks);
    let node = node.election("chief", ElectionOptions::new());
    match mode {
        Mode::Open => node,
        Mode::Keyed(key) => node.keys(core::slice::from_ref(key)),
    }
}

pub(crate) async fn together(nodes: &[Node]) {
    let all: Vec<&Node> = nodes.iter().collect();
    eventually(PATIENCE, "everybody knows everybody", async || {
        agree(&all, nodes.len()).await
    })
    .await;
}

async fn start(n: usize, mode: &Mode) -> Vec<Node> {
    let mut nodes: Vec<Node> = Vec::new();
    for i in 1..=n {
        let seed = nodes.first().map(Node::local_addr);
        let node = team(&format!("node-{i}"), mode).join(seed);
        nodes.push(node.start().await.unwrap());
    }
    together(&nodes).await;
    nodes
}

/// The one leader of all, with a token after `after`.
pub(crate) async fn one_leader(nodes: &[Node], after: Option<Token>) -> Leader {
    let mut elections = Vec::new();
    for node in nodes {
        elections.push(node.election("chief").await.unwrap());
    }
    let agreed = || {
        let first = elections[0].leader()?;
        let same = |l: Leader| l.token == first.token && Some(l.token) > after;
        let all = elections.iter().all(|e| e.leader().is_some_and(same));
        let acting = elections.iter().filter(|e| e.is_leader()).count();
        (all && acting == 1).then_some(first)
    };
    eventually(PATIENCE, "one leader everywhere", async || {
        agreed().is_some()
    })
    .await;
    agreed().or_else(|| elections[0].leader()).unwrap()
}

/// Every member takes one lock in turn, with tokens that grow; returns the last.
pub(crate) async fn work(nodes: &[Node], after: Option<LockToken>) -> LockToken {
    let mut last = after;
    for node in nodes {
        let lock = node.lock("demo");
        let guard = lock.acquire_timeout(PATIENCE).await.unwrap();
        assert!(Some(guard.token()) > last, "tokens grow");
        last = Some(guard.token());
        guard.release().await;
    }
    last.unwrap()
}

/// Says something to a member as somebody who has joined, if anybody can, and else from outside, until it is read.
async fn tell(mode: &Mode, attacker: &Attacker, node: &Node, frame: Frame) {
    let before = node.stats().await.unwrap().core.seal.unsealed;
    attacker.send(node.local_addr(), vec![frame]);
    if !mode.is_open() {
        eventually(SOON, "it is counted", async || {
            node.stats().await.unwrap().core.seal.unsealed > before
        })
        .await;
    }
}

/// Somebody who has joined an open group, or stands before one with a key.
async fn intruder(mode: &Mode, nodes: &[Node]) -> Attacker {
    let attacker = Attacker::new(0xbad);
    if mode.is_open() {
        for node in nodes {
            attacker.join(node.local_addr());
            eventually(SOON, "it is heard", async || {
                let members = node.members().await.unwrap();
                members.iter().any(|m| m.id == attacker.id)
            })
            .await;
        }
    }
    attacker
}

fn accusation(victim: NodeId, life: Life) -> Frame {
    Frame::Membership(Msg::Accusation(Accusation {
        id: victim,
        precedence: Precedence {
            life,
            incarnation: Incarnation(0),
            status: Said::Left,
        },
        accuser: victim,
    }))
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_goodbye_with_the_greatest_life_takes_nobody_away() {
    for mode in Mode::both() {
        let nodes = start(3, &mode).await;
        let attacker = intruder(&mode, &nodes).await;
        let victim = nodes[1].id();
        for life in [Life(u64::MAX), Life(Life::END << 16)] {
            for node in &nodes {
                tell(&mode, &attacker, node, accusation(victim, life)).await;
            }
        }
        if mode.is_open() {
            for node in &nodes {
                eventually(SOON, "it is refused", async || {
                    let stats = node.stats().await.unwrap().core;
                    stats.membership.numbers_refused >= 2
                })
                .await;
            }
        }
        for node in &nodes {
            let members = node.members().await.unwrap();
            let there = members.iter().find(|m| m.id == victim).unwrap();
            assert_ne!(there.status, Status::Left);
        }
        if !mode.is_open() {
            assert_eq!(alive(&nodes[0]).await, 3);
        }
        one_leader(&nodes, None).await;
    }
}

fn claim(term: u64, leader: NodeId) -> Claim {
    let life = Life::starting(1_800_000_000, 1, None);
    Claim {
        key: Key {
            token: Token {
                term: Term(term),
                initiator: leader,
                life,
                revision: 1,
            },
            stage: Stage::Confirmed,
        },
        leader,
        leader_life: life,
        churn: Default::default(),
        remarks: Remarks::default(),
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_claim_with_the_greatest_term_changes_no_leader() {
    for mode in Mode::both() {
        let mut nodes = start(3, &mode).await;
        let first = one_leader(&nodes, None).await;
        let attacker = intruder(&mode, &nodes).await;
        let election = ElectionId::of("chief");
        for term in [u64::MAX, 1 << 63, 1 << 40] {
            for node in &nodes {
                let forged = Vote::Claim(election, claim(term, NodeId(0x6057)));
                tell(&mode, &attacker, node, Frame::Election(forged)).await;
            }
        }
        if mode.is_open() {
            for node in &nodes {
                eventually(SOON, "it is refused", async || {
                    node.stats().await.unwrap().core.election.number_refused >= 3
                })
                .await;
            }
        }
        assert_eq!(one_leader(&nodes, None).await.token, first.token);
        let at = nodes.iter().position(|n| n.id() == first.id).unwrap();
        nodes.remove(at).shutdown().await;
        let next = one_leader(&nodes, Some(first.token)).await;
        assert!(next.token.term.0 < 1 << 33, "{:?}", next.token);
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_forged_leader_leads_for_moments_at_most_and_in_a_keyed_group_never() {
    for mode in Mode::both() {
        let nodes = start(3, &mode).await;
        let first = one_leader(&nodes, None).await;
        let attacker = intruder(&mode, &nodes).await;
        let election = ElectionId::of("chief");
        // The greatest term that can be believed.
        let forged = claim(1 << 32, NodeId(0x6057));
        for node in &nodes {
            let forged = Vote::Leader(election, forged);
            tell(&mode, &attacker, node, Frame::Election(forged)).await;
        }
        let now = match mode.is_open() {
            true => one_leader(&nodes, Some(forged.key.token)).await,
            false => one_leader(&nodes, None).await,
        };
        assert!(nodes.iter().any(|n| n.id() == now.id));
        if !mode.is_open() {
            assert_eq!(now.token, first.token);
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_forced_release_of_a_stranger_takes_no_lock_of_a_keyed_group() {
    for mode in Mode::both() {
        let nodes = start(3, &mode).await;
        let attacker = intruder(&mode, &nodes).await;
        let lock = nodes[0].lock("door");
        let guard = lock.acquire_timeout(PATIENCE).await.unwrap();
        let stop = Lock::Break {
            lock: LockId::of("door"),
            floor: Fence::new(1 << 41, 0, NodeId(0)),
        };
        for node in &nodes {
            tell(&mode, &attacker, node, Frame::Mutex(stop.clone())).await;
        }
        if mode.is_open() {
            let lost = tokio::time::timeout(PATIENCE, guard.lost()).await;
            assert_eq!(lost.unwrap(), LostReason::Broken);
        } else {
            // Through more than one renewal.
            guard.renewed().await.unwrap();
            guard.renewed().await.unwrap();
            assert!(guard.is_valid());
            let other = nodes[1].lock("door").try_acquire().await;
            assert!(other.is_err(), "it is held");
            guard.release().await;
        }
        work(&nodes, None).await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_lock_clock_near_its_end_stops_no_lock_and_no_token_goes_back() {
    for mode in Mode::both() {
        let dirs: Vec<_> = (0..3).map(|_| tempfile::tempdir().unwrap()).collect();
        let mut nodes: Vec<Node> = Vec::new();
        for (n, dir) in dirs.iter().enumerate() {
            let node = team(&format!("node-{n}"), &mode).state_dir(dir.path());
            let node = node.join(nodes.first().map(Node::local_addr));
            nodes.push(node.start().await.unwrap());
        }
        together(&nodes).await;
        let first = work(&nodes, None).await;
        let attacker = intruder(&mode, &nodes).await;
        let end = (1 << 48) - (1 << 40);
        for clock in [u64::MAX, end, end - 1, end - 1] {
            for node in &nodes {
                tell(&mode, &attacker, node, Frame::Mutex(Lock::Clock(clock))).await;
            }
        }
        if mode.is_open() {
            for node in &nodes {
                eventually(SOON, "it is not followed", async || {
                    node.stats().await.unwrap().core.mutex.clocks_refused >= 3
                })
                .await;
            }
        }
        let seq = |token: LockToken| (u128::from_be_bytes(token.to_be_bytes()) >> 80) as u64;
        let second = work(&nodes, Some(first)).await;
        match mode.is_open() {
            // Followed up to the ceiling and what an hour allows.
            true => assert!((1 << 42..(1 << 42) + (1 << 28)).contains(&seq(second))),
            false => assert!(seq(second) < 1 << 41),
        }
        // All at once, as in a power cut.
        let addrs: Vec<SocketAddr> = nodes.iter().map(Node::local_addr).collect();
        for node in nodes.drain(..) {
            node.shutdown().await;
        }
        for (n, dir) in dirs.iter().enumerate() {
            let node = team(&format!("node-{n}"), &mode).state_dir(dir.path());
            let node = node.bind(addrs[n]).join([addrs[0]]);
            nodes.push(node.start().await.unwrap());
        }
        together(&nodes).await;
        work(&nodes, Some(second)).await;
    }
}

/// Draws of a fixed sequence.
pub(crate) struct Draws(pub(crate) u64);

impl Draws {
    pub(crate) fn below(&mut self, end: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 % end.max(1) as u64) as usize
    }
}

/// A copy with some bits flipped, cut, lengthened, or continued by another.
fn mutated(draws: &mut Draws, samples: &[Vec<u8>]) -> Vec<u8> {
    let mut bytes = samples[draws.below(samples.len())].clone();
    match draws.below(4) {
        0 => bytes.truncate(draws.below(bytes.len())),
        1 => bytes.extend((0..1 + draws.below(300)).map(|n| n as u8)),
        2 => {
            let other = &samples[draws.below(samples.len())];
            bytes.truncate(draws.below(bytes.len()));
            bytes.extend_from_slice(&other[draws.below(other.len())..]);
        }
        _ => {}
    }
    for _ in 0..=draws.below(8) {
        if !bytes.is_empty() {
            let at = draws.below(bytes.len());
            bytes[at] ^= 1 << draws.below(8);
        }
    }
    bytes
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn thousands_of_mutated_datagrams_change_nothing() {
    for mode in Mode::both() {
        let mut nodes = vec![team("seed", &mode).start().await.unwrap()];
        let (tapped, told) = wiretap(nodes[0].local_addr()).await;
        for n in 0..2 {
            let node = team(&format!("node-{n}"), &mode).join([tapped]);
            nodes.push(node.start().await.unwrap());
        }
        together(&nodes).await;
        let first = one_leader(&nodes, None).await;
        let samples: Vec<Vec<u8>> = told.try_iter().map(|(_, bytes)| bytes).collect();
        let mut events = nodes[0].subscribe();
        let attacker = UdpSocket::bind("127.0.0.1:0").unwrap();
        let mut draws = Draws(0x5eed);
        let target = nodes[0].local_addr();
        let before = nodes[0].stats().await.unwrap();
        for n in 0..12_000_u64 {
            let bytes = mutated(&mut draws, &samples);
            attacker.send_to(&bytes, target).unwrap();
            if n % 100 == 99 {
                has_read(&nodes[0], before.driver.datagrams_received, n + 1).await;
            }
        }
        eventually(SOON, "all are dropped", async || {
            let now = nodes[0].stats().await.unwrap();
            dropped(&now) >= dropped(&before) + 12_000
        })
        .await;
        for node in &nodes {
            assert_eq!(alive(node).await, 3);
        }
        assert_eq!(one_leader(&nodes, None).await.token, first.token);
        work(&nodes, None).await;
        // Nobody appeared, failed or left in between.
        while let Ok(Some(event)) = tokio::time::timeout(PERIOD, events.next())
            .await
            .map(Result::ok)
        {
            use consort::Event;
            let calm = !matches!(event, Event::Up { .. } | Event::Down { .. });
            assert!(calm, "{event:?}");
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn strangers_draw_nothing_from_a_keyed_group() {
    let [_, mode] = Mode::both();
    let nodes = start(3, &mode).await;
    let target = nodes[0].local_addr();
    let attacker = Attacker::new(0xbad);
    let ping = Msg::Ping {
        seq: 1,

        want_record: true,
    };
    let digest = Msg::Digest {
        buckets: [0; consort_proto::membership::BUCKETS],
        reply: true,
    };
    let pull = Msg::Pull { after: NodeId(0) };
    let ghost = attacker.record(0xdead, SocketAddr::from(([127, 0, 0, 1], 9)));
    let asks = [Msg::Join, pull, ping, digest, ghost];
    let before = nodes[0].stats().await.unwrap();
    for n in 0..12_000_u64 {
        let frames = match asks.get(n as usize % 8) {
            Some(ask) => vec![Frame::Membership(ask.clone())],
            None => vec![],
        };
        let stranger = Attacker {
            socket: attacker.socket.try_clone().unwrap(),
            id: NodeId(0xbad_0000 + n),
            life: attacker.life,
        };
        stranger.send(target, frames);
        if n % 100 == 99 {
            has_read(&nodes[0], before.driver.datagrams_received, n + 1).await;
        }
    }
    let after = nodes[0].stats().await.unwrap().core.seal;
    assert!(after.unsealed >= before.core.seal.unsealed + 12_000);
    attacker.socket.set_nonblocking(true).unwrap();
    assert!(attacker.socket.recv(&mut [0; 2048]).is_err(), "no answer");
    for node in &nodes {
        assert_eq!(node.members().await.unwrap().len(), 3);
    }
}
