//! Agents at work, agents that are cut off, and agents whose disk or port fails.

use super::scrape::{Moves, PATIENCE, ask, eventually, http, raw, rest, send, standing_in, start};
use consort::Status;
use consort::fault::{Faults, Reach};
use consort::message::QueryOptions;
use consort_agent::api::Words;
use consort_agent::{Agent, RawConfig, RawHandler, RawLocks};
use core::time::Duration;

async fn meet(agents: &[&Agent]) {
    eventually("everybody knows everybody", async || {
        for agent in agents {
            let members = agent.node().members().await.unwrap();
            let alive = members.iter().filter(|m| m.status == Status::Alive);
            if alive.count() < agents.len() {
                return false;
            }
        }
        true
    })
    .await;
}

fn handler(on: &str, run: &str) -> RawHandler {
    RawHandler {
        on: Some(Words::One(on.into())),
        run: Some(run.into()),
        ..RawHandler::default()
    }
}

fn witness(raw: RawConfig) -> RawConfig {
    RawConfig {
        lock: RawLocks {
            bootstrap: Some(true),
            ..raw.lock
        },
        ..raw
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_group_at_work() {
    let a = start(RawConfig {
        election: standing_in("chief"),
        handler: vec![
            handler("event:good", "exit 0"),
            handler("event:bad", "exit 1"),
            handler("query:*", "echo 1"),
        ],
        ..raw("a", None)
    })
    .await;
    let moves = Moves::of("a_group_at_work", &[&a]).await;
    let b = start(witness(raw("b", Some(&a)))).await;
    let c = start(witness(raw("c", Some(&a)))).await;
    meet(&[&a, &b, &c]).await;
    a.node()
        .set_tags([("x".into(), "1".into())].into())
        .await
        .unwrap();
    a.node().broadcast("good", b"1").await.unwrap();
    b.node().broadcast("bad", b"1").await.unwrap();
    for asker in [&a, &b] {
        let mut query = asker
            .node()
            .query("load", b"", QueryOptions::default())
            .await
            .unwrap();
        while query.next().await.is_some() {}
    }
    let other = a.node().election("other").await.unwrap();
    other.campaign(Default::default()).await.unwrap();
    let stream = send(http(&a), "GET /v1/events").await;
    let first = "POST /v1/locks/door/acquire?request=first";
    let (status, granted) = ask(http(&a), first).await;
    assert_eq!(status, 200, "{granted}");
    let (status, _) = ask(
        http(&a),
        "POST /v1/locks/door/acquire?request=next&wait_ms=0",
    )
    .await;
    assert_eq!(status, 202);
    ask(http(&a), "DELETE /v1/locks/door/first").await;
    let mut next = send(http(&a), "POST /v1/locks/door/acquire?request=next").await;
    assert!(rest(&mut next).await.starts_with("HTTP/1.1 200"));
    moves.all().await;
    drop(stream);
    for agent in [a, b, c] {
        agent.kill().await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_agent_that_is_cut_off_and_comes_back() {
    let a = start(witness(raw("a", None))).await;
    let b = start(witness(raw("b", Some(&a)))).await;
    let c = start(witness(raw("c", Some(&a)))).await;
    meet(&[&a, &b, &c]).await;
    let moves = Moves::of("an_agent_that_is_cut_off_and_comes_back", &[&a, &b, &c]).await;
    let guard = a
        .node()
        .lock("door")
        .acquire_timeout(PATIENCE)
        .await
        .unwrap();
    a.node()
        .set_faults(Faults::default().reach(Reach::Only([].into())));
    for metric in [
        "consort_healthy",
        "consort_membership_isolations_total",
        "consort_membership_accusations_total",
        "consort_lock_losses_total",
        "consort_lock_expired_total",
    ] {
        moves.wait_for(metric).await;
    }
    guard.release().await;
    a.node().set_faults(Faults::default());
    moves.wait_for("consort_membership_refutations_total").await;
    b.node().pause();
    tokio::time::sleep(Duration::from_millis(500)).await;
    b.node().resume();
    moves.all().await;
    for agent in [a, b, c] {
        agent.kill().await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_disk_and_a_port_that_fail() {
    let dir = tempfile::tempdir().unwrap();
    let state = dir.path().join("state");
    let a = start(RawConfig {
        state: Some(state.clone()),
        ..raw("a", None)
    })
    .await;
    let moves = Moves::of("a_disk_and_a_port_that_fail", &[&a]).await;
    // No datagram goes from loopback to another machine, and so many seeds are more than are remembered.
    let seeds = (1..=40).map(|n| format!("203.0.113.{n}:7717"));
    a.node().join(seeds).await.unwrap();
    let long = Duration::from_secs(86_400 * 30);
    let _ = a.node().nap(long).await;
    std::fs::remove_dir_all(&state).unwrap();
    std::fs::write(&state, "no directory").unwrap();
    let election = a.node().election("chief").await.unwrap();
    election.campaign(Default::default()).await.unwrap();
    moves.all().await;
    a.kill().await;
}
