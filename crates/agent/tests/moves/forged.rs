//! Datagrams that no correct node sends.

use super::attacker::Attacker;
use super::scrape::{Moves, eventually, raw, start_with};
use consort::NodeId;
use consort::election::{ElectionId, Token};
use consort::lock::LockId;
use consort_agent::api::Words;
use consort_agent::{RawConfig, RawHandler};
use consort_proto::election::{Claim, Key, Msg as Vote, Remarks, Stage};
use consort_proto::membership::{
    Accusation, Meta, Msg, Precedence, Record, SharedMeta, Status as Said,
};
use consort_proto::message::{Filter, Msg as Talk, Payload, Post, Purpose, Reply, Verdict};
use consort_proto::mutex::{Mode, Msg as Lock, Request};
use consort_proto::omega::Msg as Topology;
use consort_proto::seal::{Cookie, KeyMsg, Msg as Session};
use consort_proto::wire::{Frame, HEADER_LEN};
use consort_proto::{Incarnation, Life, Term};

fn said(life: Life, status: Said) -> Precedence {
    Precedence {
        life,
        incarnation: Incarnation(0),
        status,
    }
}

fn accusation(id: NodeId, life: Life, status: Said) -> Frame {
    Frame::Membership(Msg::Accusation(Accusation {
        id,
        precedence: said(life, status),
        accuser: id,
    }))
}

fn record(attacker: &Attacker, id: u64, name: &str) -> Frame {
    let meta = Meta {
        name: name.to_owned(),
        ..Meta::default()
    };
    Frame::Membership(Msg::Record(Record {
        id: NodeId(id),
        precedence: said(attacker.header.life, Said::Alive),
        accuser: NodeId(id),
        addr: attacker.addr(),
        meta: SharedMeta::from(meta),
        coordinate: None,
        nap_ms: 0,
        current: true,
    }))
}

fn claim(term: u64, leader: NodeId, life: Life) -> Claim {
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

fn post(attacker: &Attacker, origin: u64, seq: u32, left_ms: u32, purpose: Purpose) -> Frame {
    Frame::Message(Talk::Post(Post {
        origin: NodeId(origin),
        life: attacker.header.life,
        seq,
        left_ms,
        purpose,
        name: "x".to_owned(),
        payload: Payload(Vec::new()),
    }))
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn forged_and_unreadable_datagrams() {
    let settings = RawConfig {
        // Queries wait for it.
        handler: vec![RawHandler {
            on: Some(Words::One("query:*".into())),
            run: Some("sleep 30".into()),
            ..RawHandler::default()
        }],
        ..raw("a", None)
    };
    let a = start_with(settings, |config| {
        config.protocol.membership.members_max = 6;
        config.protocol.membership.told_max = 8;
        config.protocol.message.origins_max = 3;
        config.protocol.message.posts_max = 2;
        config.protocol.message.queries_max = 1;
    })
    .await;
    let moves = Moves::of("forged_and_unreadable_datagrams", &[&a]).await;
    let target = a.node().local_addr();
    let own = a.node().this().await.unwrap();

    // What is not even read.
    let stranger = Attacker::new(0xbad0, target);
    stranger.raw(&[1, 2, 3]);
    stranger.raw(&[0; 3000]);
    let mut foreign = Attacker::new(0xbad1, target);
    foreign.header.group ^= 1;
    foreign.send(vec![]);
    let mut double = Attacker::new(own.id.0, target);
    double.header.life = own.life;
    double.send(vec![]);
    stranger.send(vec![Frame::Session(Session::Echo(Cookie(1)))]);

    // What one that joined says.
    let member = Attacker::new(0xbad2, target).join();
    let victim = Attacker::new(0xbad3, target).join();
    eventually("they are members", async || {
        a.node().members().await.unwrap().len() == 3
    })
    .await;
    let mut bytes = member.bytes(vec![]);
    assert_eq!(bytes.len(), HEADER_LEN);
    bytes.extend([250, 1, 0]);
    member.raw(&bytes);
    member.send(vec![Frame::Omega(Topology::Pong); 200]);
    let pull = Frame::Membership(Msg::Pull { after: NodeId(0) });
    member.send(vec![pull; 2]);
    let life = member.header.life;
    let ahead = Life::starting(1_800_000_100, 1, None);
    member.send(vec![
        accusation(NodeId(0xdead), life, Said::Suspect),
        accusation(victim.header.id, Life(u64::MAX), Said::Dead),
        accusation(victim.header.id, ahead, Said::Left),
        accusation(own.id, own.life, Said::Left),
        record(&member, 0xbad2, "bell \u{7}"),
    ]);
    // Datagrams get lost on a busy machine.
    while !moves.has_moved("consort_membership_told_refused_total") {
        for id in 0..20 {
            member.send(vec![record(&member, 0xdead_0000 + id, "ghost")]);
        }
        tokio::time::sleep(core::time::Duration::from_millis(50)).await;
    }
    let chief = ElectionId::of("chief");
    member.send(vec![
        Frame::Election(Vote::Claim(chief, claim(u64::MAX, NodeId(7), life))),
        Frame::Election(Vote::Sample {
            election: chief,
            nonce: 1,
            candidates: vec![(NodeId(1), life); 64],
        }),
        Frame::Mutex(Lock::Clock(u64::MAX)),
        Frame::Mutex(Lock::Request(Request {
            lock: LockId::of("door"),
            ctr: 1,
            prio: 1,
            stamp: 1,
            place: 0,
            mode: Mode::Exclusive,
            held: false,
            attempt: 1,
            ttl_ms: u32::MAX,
            clock: 1,
            asked: None,
        })),
        Frame::Keys(KeyMsg::Ask),
    ]);
    let query = || Purpose::Query(Filter::default());
    member.send(vec![
        post(&member, 0xbad2, 1_000_000, 5000, Purpose::Event),
        post(&member, 0xbad2, 1, 5000, Purpose::Event),
        // Nobody knows where it is to be answered.
        Frame::Message(Talk::Post(Post {
            origin: NodeId(0x9999),
            life,
            seq: 1,
            left_ms: 5000,
            purpose: Purpose::Ping(Filter::default()),
            name: String::new(),
            payload: Payload(Vec::new()),
        })),
        post(&member, 0xbad2, 1_000_001, 0, Purpose::Event),
        post(&member, 0xbad2, 1_000_002, 5000, Purpose::Event),
        post(&member, 0xbad2, 1_000_003, 5000, Purpose::Event),
        post(&member, 0xbad2, 1_000_004, 5000, query()),
        post(&member, 0xbad2, 1_000_005, 5000, query()),
        Frame::Message(Talk::Reply(Reply {
            life,
            seq: 77,
            verdict: Verdict::Declined,
        })),
    ]);
    for origin in 0..9 {
        member.send(vec![post(
            &member,
            0x0519 + origin,
            1,
            5000,
            Purpose::Event,
        )]);
    }
    // More than are looked at in a second.
    while !moves.has_moved("consort_seal_rate_dropped_strangers_total") {
        for _ in 0..200 {
            stranger.send(vec![]);
        }
        tokio::time::sleep(core::time::Duration::from_millis(5)).await;
    }
    moves.all().await;
    a.kill().await;
}
