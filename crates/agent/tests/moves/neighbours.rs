//! The topology layer of two neighbours.

use super::attacker::Attacker;
use super::scrape::{Moves, eventually, raw, standing_in, start_with};
use consort::NodeId;
use consort::election::ElectionId;
use consort::fault::{Faults, Reach};
use consort_agent::{Agent, RawConfig, RawElection, RawTopology};
use consort_proto::Life;
use consort_proto::omega::{Delta, Msg, Record, Seat, Version};
use consort_proto::wire::Frame;
use core::net::SocketAddr;
use core::time::Duration;
use std::net::UdpSocket;

async fn start(name: &str, port: u16, peer: u16) -> Agent {
    let election = standing_in("gateway").into_iter().map(|e| RawElection {
        mode: Some("component".into()),
        ..e
    });
    let settings = RawConfig {
        bind: Some(format!("127.0.0.1:{port}")),
        election: election.collect(),
        topology: RawTopology {
            // It is not there.
            interfaces: vec!["nosuch0".into()],
            peers: vec![format!("127.0.0.1:{peer}")],
            hello_period: Some(Duration::from_millis(100)),
            settle: Some(Duration::from_millis(100)),
            claim_after: Some(Duration::from_millis(200)),
            ..RawTopology::default()
        },
        ..raw(name, None)
    };
    start_with(settings, |config| config.protocol.omega.records_max = 2).await
}

fn record(id: u64, life: Life, claim: Option<u32>) -> Record {
    let seat = Seat {
        election: ElectionId::of("gateway"),
        class: 0,
        attribute: 0,
        claim,
    };
    Record {
        id: NodeId(id),
        version: Version { life, seq: 1 },
        leaving: false,
        seats: vec![seat],
        neighbours: vec![],
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn neighbours_come_and_go() {
    let sockets = [(); 2].map(|()| UdpSocket::bind("127.0.0.1:0").unwrap());
    let ports = sockets.each_ref().map(|s| s.local_addr().unwrap().port());
    drop(sockets);
    let a = start("a", ports[0], ports[1]).await;
    let moves = Moves::of("neighbours_come_and_go", &[&a]).await;
    let b = start("b", ports[1], ports[0]).await;
    moves.wait_for("consort_topology_links_up_total").await;
    // The link ends, and is back before long.
    let peer = SocketAddr::from(([127, 0, 0, 1], ports[1]));
    while !moves.has_moved("consort_topology_links_false_down_total") {
        let before = a.node().stats().await.unwrap().core.omega.links_down;
        a.node()
            .set_faults(Faults::default().reach(Reach::AllBut([peer].into())));
        eventually("the link ends", async || {
            a.node().stats().await.unwrap().core.omega.links_down > before
        })
        .await;
        a.node().set_faults(Faults::default());
        let up = a.node().stats().await.unwrap().core.omega.links_up;
        eventually("the link is back", async || {
            a.node().stats().await.unwrap().core.omega.links_up > up
        })
        .await;
        tokio::time::sleep(Duration::from_millis(200)).await;
    }
    let attacker = Attacker::new(0xbad, a.node().local_addr()).join();
    let life = attacker.header.life;
    let own = a.node().this().await.unwrap();
    let mut records = vec![
        record(0xbad, life, Some(u32::MAX)),
        record(own.id.0, own.life, None),
        record(0xdead, Life(u64::MAX), None),
    ];
    records[1].version.seq = 1_000_000;
    records.extend((1..9).map(|id| record(id, life, None)));
    for record in &records {
        for delta in Delta::pack([record], 1150) {
            attacker.send(vec![Frame::Omega(Msg::Delta(delta))]);
        }
    }
    moves.all().await;
    b.kill().await;
    a.kill().await;
}
