//! Attacks on groups of real nodes over real sockets: nothing happens but counting.

#[path = "attacks/clocks.rs"]
mod clocks;
mod common;
#[path = "attacks/forged.rs"]
mod forged;
#[path = "attacks/repeated.rs"]
mod repeated;
#[path = "attacks/table.rs"]
mod table;

use common::{eventually, group, local};
use consort::key::GroupKey;
use consort::{Node, NodeId, Status};
use consort_proto::membership::{Accusation, Msg, Precedence, Record, SharedMeta, Status as Claim};
use consort_proto::seal::Msg as Session;
use consort_proto::wire::{Datagram, Frame, Header};
use consort_proto::{Incarnation, Life};
use core::net::SocketAddr;
use core::time::Duration;
use std::net::UdpSocket;

const SOON: Duration = Duration::from_secs(10);

/// Somebody with a socket who knows the format.
struct Attacker {
    socket: UdpSocket,
    id: NodeId,
    life: Life,
}

impl Attacker {
    fn new(id: u64) -> Attacker {
        let socket = UdpSocket::bind("127.0.0.1:0").unwrap();
        socket.set_read_timeout(Some(SOON)).unwrap();
        let life = Life::starting(1_800_000_000, 1, None);
        let id = NodeId(id);
        Attacker { socket, id, life }
    }

    fn datagram(&self, frames: Vec<Frame>) -> Vec<u8> {
        let header = Header {
            group: consort::Config::default().group_tag(),
            id: self.id,
            life: self.life,
            ..Header::default()
        };
        let mut bytes = Vec::new();
        let datagram = Datagram {
            header,
            frames,
            ..Datagram::default()
        };
        datagram.encode(&mut bytes);
        bytes
    }

    fn send(&self, to: SocketAddr, frames: Vec<Frame>) -> usize {
        let bytes = self.datagram(frames);
        self.socket.send_to(&bytes, to).unwrap();
        bytes.len()
    }

    fn say(&self, to: SocketAddr, msg: Msg) -> usize {
        self.send(to, vec![Frame::Membership(msg)])
    }

    fn receive(&self) -> Datagram {
        let mut bytes = [0; 65_536];
        let (len, _) = self.socket.recv_from(&mut bytes).expect("an answer");
        let mut datagram = Datagram::default();
        datagram.decode(&bytes[..len]).unwrap();
        datagram
    }

    /// Becomes a member, as anybody can in an open group.
    fn join(&self, to: SocketAddr) {
        self.say(to, Msg::Join);
        loop {
            let answer = self.receive();
            for frame in &answer.frames {
                if let Frame::Session(Session::Challenge(cookie)) = frame {
                    self.send(to, vec![Frame::Session(Session::Echo(*cookie))]);
                    return;
                }
            }
        }
    }

    fn record(&self, id: u64, addr: SocketAddr) -> Msg {
        Msg::Record(Record {
            id: NodeId(id),
            precedence: Precedence::alive(self.life, Incarnation(0)),
            accuser: NodeId(id),
            addr,
            meta: SharedMeta::default(),
            coordinate: None,
            nap_ms: 0,
            current: true,
        })
    }
}

async fn alive(node: &Node) -> usize {
    let members = node.members().await.unwrap();
    members.iter().filter(|m| m.status == Status::Alive).count()
}

/// Waits until a node has looked at so many more datagrams.
async fn has_read(node: &Node, before: u64, more: u64) {
    eventually(SOON, "all is read", async || {
        node.stats().await.unwrap().driver.datagrams_received >= before + more
    })
    .await;
}

async fn received(node: &Node) -> u64 {
    node.stats().await.unwrap().driver.datagrams_received
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn thousands_of_strangers_headers_make_no_member() {
    let nodes = group(3).await;
    let target = nodes[0].local_addr();
    let before = received(&nodes[0]).await;
    for n in 0..12_000_u64 {
        let stranger = Attacker {
            socket: UdpSocket::bind("127.0.0.1:0").unwrap(),
            id: NodeId(0xbad_0000 + n),
            life: Life(n << 16),
        };
        stranger.send(target, vec![]);
        if n % 100 == 99 {
            has_read(&nodes[0], before, n + 1).await;
        }
    }
    for node in &nodes {
        assert_eq!(alive(node).await, 3);
    }
    let stats = nodes[0].stats().await.unwrap().core;
    assert!(stats.seal.unproven + stats.seal.rate_dropped_strangers >= 12_000);
    // A newcomer gets in all the same.
    let late = local("late").join([target]).start().await.unwrap();
    eventually(SOON, "it is listed", async || alive(&late).await == 4).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_stranger_that_joined_takes_nobody_away_and_tells_of_few() {
    let nodes = group(3).await;
    let target = nodes[0].local_addr();
    let attacker = Attacker::new(0xbad);
    attacker.join(target);
    eventually(SOON, "it is listed", async || alive(&nodes[0]).await == 4).await;
    let victim = nodes[1].id();
    let gone = Accusation {
        id: victim,
        precedence: Precedence {
            life: Life(Life::CEILING << 16),
            incarnation: Incarnation(0),
            status: Claim::Left,
        },
        accuser: victim,
    };
    let before = received(&nodes[0]).await;
    attacker.say(target, Msg::Accusation(gone));
    for n in 0..2000 {
        let ghost = attacker.record(0xdead_0000 + n, SocketAddr::from(([127, 0, 0, 1], 9)));
        attacker.say(target, ghost);
        if n % 100 == 99 {
            has_read(&nodes[0], before, n + 2).await;
        }
    }
    let members = nodes[0].members().await.unwrap();
    let there = members.iter().find(|m| m.id == victim).unwrap();
    assert_ne!(there.status, Status::Left);
    let ghosts = members
        .iter()
        .filter(|m| (0xdead_0000..0xdead_2000).contains(&m.id.0));
    let stats = nodes[0].stats().await.unwrap().core.membership;
    // 256 a minute, and what the answer to a comparison of lists, or to a join, can hold.
    let asked = 115 * (stats.syncs as usize + 1);
    assert!(ghosts.count() <= 256 + asked, "{stats:?}");
    assert!(stats.told_refused > 0, "{stats:?}");
    assert!(stats.goodbyes_doubted >= 1, "{stats:?}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_address_that_was_not_proven_draws_less_than_three_times_its_bytes() {
    let nodes = group(3).await;
    let target = nodes[0].local_addr();
    let buckets = [0; consort_proto::membership::BUCKETS];
    let ping = Msg::Ping {
        seq: 1,

        want_record: true,
    };
    let digest = Msg::Digest {
        buckets,
        reply: true,
    };
    let pull = Msg::Pull { after: NodeId(0) };
    let asks = [
        vec![],
        vec![Msg::Join],
        vec![pull.clone()],
        vec![ping],
        vec![digest],
        vec![pull; 90],
    ];
    for (n, ask) in asks.into_iter().enumerate() {
        let attacker = Attacker::new(0xbad0 + n as u64);
        let frames = ask.iter().cloned().map(Frame::Membership).collect();
        let sent = attacker.send(target, frames);
        let mut drawn = 0;
        let mut bytes = [0; 65_536];
        // The first answer comes at once; more would come with it.
        while let Ok(len) = attacker.socket.recv(&mut bytes) {
            drawn += len;
            let short = Some(Duration::from_millis(200));
            attacker.socket.set_read_timeout(short).unwrap();
        }
        println!("{sent} bytes of {ask:?} draw {drawn}");
        assert!(
            drawn > 0 && drawn <= 3 * sent,
            "{ask:?}: {sent} draw {drawn}"
        );
    }
}

/// Stands between two nodes and writes down what passes.
async fn wiretap(seed: SocketAddr) -> (SocketAddr, std::sync::mpsc::Receiver<(bool, Vec<u8>)>) {
    let outer = tokio::net::UdpSocket::bind("127.0.0.1:0").await.unwrap();
    let inner = tokio::net::UdpSocket::bind("127.0.0.1:0").await.unwrap();
    let addr = outer.local_addr().unwrap();
    let (tell, told) = std::sync::mpsc::channel();
    tokio::spawn(async move {
        let (mut a, mut b) = ([0; 65_536], [0; 65_536]);
        let mut client = None;
        loop {
            tokio::select! {
                Ok((len, from)) = outer.recv_from(&mut a) => {
                    client = Some(from);
                    let _ = tell.send((true, a[..len].to_vec()));
                    let _ = inner.send_to(&a[..len], seed).await;
                }
                Ok((len, _)) = inner.recv_from(&mut b) => {
                    let _ = tell.send((false, b[..len].to_vec()));
                    if let Some(client) = client {
                        let _ = outer.send_to(&b[..len], client).await;
                    }
                }
            }
        }
    });
    (addr, told)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_sealed_group_hears_nothing_of_outsiders_and_nothing_twice() {
    let key = [GroupKey::generate().unwrap()];
    let dir = tempfile::tempdir().unwrap();
    let seed = local("seed").keys(&key).state_dir(dir.path());
    let seed = seed.start().await.unwrap();
    let (tapped, told) = wiretap(seed.local_addr()).await;
    let other = local("other")
        .keys(&key)
        .join([tapped])
        .start()
        .await
        .unwrap();
    eventually(SOON, "they meet", async || {
        alive(&seed).await == 2 && alive(&other).await == 2
    })
    .await;

    // An open node, and one with another key, are nobody.
    let stranger = Attacker::new(0xbad);
    stranger.say(seed.local_addr(), Msg::Join);
    let foreign = [GroupKey::generate().unwrap()];
    let foreign = local("foreign").keys(&foreign).join([seed.local_addr()]);
    let foreign = foreign.start().await.unwrap();
    eventually(SOON, "both are counted", async || {
        let seal = seed.stats().await.unwrap().core.seal;
        seal.unsealed >= 1 && seal.key_unknown + seal.tag_failed >= 1
    })
    .await;
    foreign.shutdown().await;

    // All that was recorded, again, from anywhere.
    let record: Vec<(bool, Vec<u8>)> = told.try_iter().collect();
    assert!(record.len() >= 4);
    let name = b"other";
    let shows = record.iter().any(|r| r.1.windows(5).any(|w| w == name));
    assert!(!shows, "names are not readable");
    let taken = |stats: consort::Stats| stats.core.datagrams_in;
    let replay = UdpSocket::bind("127.0.0.1:0").unwrap();
    let before = seed.stats().await.unwrap();
    for (_, bytes) in record.iter().filter(|r| r.0) {
        replay.send_to(bytes, seed.local_addr()).unwrap();
    }
    has_read(
        &seed,
        before.driver.datagrams_received,
        record.iter().filter(|r| r.0).count() as u64,
    )
    .await;
    let after = seed.stats().await.unwrap();
    assert!(after.core.seal.replayed > before.core.seal.replayed);
    assert_eq!(alive(&seed).await, 2);

    // And again to the victim after it restarted: it knows no session, so nothing counts.
    let addr = seed.local_addr();
    other.shutdown().await;
    seed.shutdown().await;
    let seed = local("seed").bind(addr).keys(&key).state_dir(dir.path());
    let seed = seed.start().await.unwrap();
    let before = received(&seed).await;
    for (_, bytes) in &record {
        replay.send_to(bytes, addr).unwrap();
    }
    has_read(&seed, before, record.len() as u64).await;
    let stats = seed.stats().await.unwrap();
    assert_eq!(taken(stats), 0, "{stats:?}");
}
