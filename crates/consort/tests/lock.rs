//! Locks among real nodes on loopback.

extern crate alloc;

mod common;

use alloc::sync::Arc;
use common::{agree, eventually};
use consort::lock::{AcquireError, Bound, LockGuard, LockToken, LostReason, Source};
use consort::{Event, Node, Status, lock};
use core::net::SocketAddr;
use core::sync::atomic::{AtomicI64, AtomicU64, Ordering};
use core::time::Duration;
use std::sync::Mutex;
use std::time::Instant;

const PATIENCE: Duration = Duration::from_secs(20);

/// Short, so that lost leases are over soon.
const TTL: Duration = Duration::from_secs(1);

fn local(name: &str, config: lock::Config) -> consort::Builder {
    common::local(name).locks(config)
}

fn config() -> lock::Config {
    lock::Config {
        ttl: TTL,
        ttl_max: TTL,
        retry: Duration::from_millis(100),
        bootstrap: true,
        ..lock::Config::default()
    }
}

/// `n` nodes that know each other and count as witnesses.
async fn group(n: usize) -> Vec<Node> {
    let mut nodes: Vec<Node> = Vec::new();
    for i in 1..=n {
        let node = local(&format!("node-{i}"), config());
        let node = node.join(nodes.first().map(|n| n.local_addr()));
        nodes.push(node.start().await.unwrap());
    }
    let all: Vec<&Node> = nodes.iter().collect();
    eventually(PATIENCE, "everybody knows everybody", async || {
        agree(&all, n).await
    })
    .await;
    nodes
}

/// Fails a test that would wait for ever.
async fn soon<T>(what: &str, future: impl Future<Output = T>) -> T {
    let Ok(value) = tokio::time::timeout(PATIENCE, future).await else {
        panic!("not within {PATIENCE:?}: {what}");
    };
    value
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn one_task_at_a_time_among_all_tasks_of_all_nodes_and_tokens_grow() {
    let nodes = group(5).await;
    let inside = Arc::new(AtomicI64::new(0));
    let tokens = Arc::new(Mutex::new(Vec::new()));
    let mut tasks = Vec::new();
    for task in 0..15 {
        let node = nodes[task % nodes.len()].clone();
        let (inside, tokens) = (Arc::clone(&inside), Arc::clone(&tokens));
        tasks.push(tokio::spawn(async move {
            let lock = node.lock("demo");
            for _ in 0..10 {
                let guard = lock.acquire().await.unwrap();
                assert_eq!(inside.fetch_add(1, Ordering::SeqCst), 0, "two inside");
                tokens.lock().unwrap().push(guard.token());
                tokio::task::yield_now().await;
                assert_eq!(inside.fetch_sub(1, Ordering::SeqCst), 1);
                assert!(guard.is_valid() && guard.valid_until() > Instant::now());
                if task % 2 == 0 {
                    guard.release().await;
                }
            }
        }));
    }
    for task in tasks {
        soon("every task has its turns", task).await.unwrap();
    }
    let tokens = tokens.lock().unwrap();
    assert_eq!(tokens.len(), 150);
    assert!(tokens.is_sorted_by(|a, b| a < b), "{tokens:?}");
}

#[tokio::test]
async fn tries_timeouts_and_dropped_futures_leave_nothing_behind() {
    let nodes = group(3).await;
    let [a, b, c] = [0, 1, 2].map(|n: usize| nodes[n].lock("demo"));
    let guard = soon("granted", a.acquire()).await.unwrap();
    assert_eq!(
        soon("busy", b.try_acquire()).await.unwrap_err(),
        AcquireError::Busy
    );
    assert_eq!(
        soon("busy here", a.try_acquire()).await.unwrap_err(),
        AcquireError::Busy
    );

    let patience = Duration::from_millis(150);
    let start = Instant::now();
    let late = b.acquire_timeout(patience).await.unwrap_err();
    assert_eq!(late, AcquireError::Timeout);
    assert!(start.elapsed() >= patience && start.elapsed() < patience + Duration::from_secs(2));

    // Who gives up while it waits is not in the way of those behind it.
    let given_up = tokio::time::timeout(patience, b.acquire()).await;
    assert!(given_up.is_err());
    let mut next = Box::pin(c.acquire());
    assert!(tokio::time::timeout(patience, &mut next).await.is_err());
    let first = guard.token();
    drop(guard);
    let guard = soon("the next", next).await.unwrap();
    assert!(guard.token() > first);
    guard.release().await;
    let guard = soon("free", b.try_acquire()).await.unwrap();
    assert!(
        guard
            .to_string()
            .starts_with(&format!("token {}, valid 0.", guard.token()))
    );
    assert_eq!(
        (guard.quorum().at_most, guard.quorum().source),
        (3, Source::Observed)
    );
    drop(guard);

    for (wrong, error) in [
        (
            nodes[0].lock("a\nb"),
            AcquireError::Name(consort::lock::LockNameError),
        ),
        (nodes[0].lock("x").ttl(TTL * 2), AcquireError::Ttl),
        (
            nodes[0].lock("x").ttl(Duration::from_millis(1)),
            AcquireError::Ttl,
        ),
        (nodes[0].lock("x").permits(0), AcquireError::Permits),
        (nodes[0].lock("x").permits(65), AcquireError::Permits),
    ] {
        assert_eq!(wrong.acquire().await.unwrap_err(), error);
    }
}

#[tokio::test]
async fn the_place_of_a_node_is_part_of_its_turn_where_places_count() {
    let nodes = group(3).await;
    nodes[1].set_lock_place(700).await.unwrap();
    for (service, place) in [
        (consort::lock::Service::Elevator, 700),
        (consort::lock::Service::Arrival, 0),
    ] {
        let lock = nodes[1].lock("demo").service(service);
        let guard = soon("granted", lock.acquire()).await.unwrap();
        assert_eq!((guard.token().0 >> 70) as u16 % 1024, place);
        // Not handed over to the next one here, which keeps the place.
        guard.release().await;
    }
}

#[tokio::test]
async fn readers_share_and_writers_do_not() {
    let nodes = group(3).await;
    let reader = |n: usize| nodes[n].lock("demo").shared(true);
    let first = soon("reads", reader(0).acquire()).await.unwrap();
    let second = soon("reads beside it", reader(1).acquire()).await.unwrap();
    let beside = soon("reads at the same node", reader(1).acquire())
        .await
        .unwrap();
    let writer = nodes[2].lock("demo");
    assert_eq!(
        soon("busy", writer.try_acquire()).await.unwrap_err(),
        AcquireError::Busy
    );
    let mut writes = Box::pin(writer.acquire());
    let wait = Duration::from_millis(100);
    assert!(tokio::time::timeout(wait, &mut writes).await.is_err());
    drop((first, second, beside));
    let write = soon("writes", writes).await.unwrap();
    assert_eq!(
        soon("busy", reader(0).try_acquire()).await.unwrap_err(),
        AcquireError::Busy
    );
    let token = write.token();
    drop(write);
    let after = soon("reads again", reader(0).acquire()).await.unwrap();
    assert!(after.token() >= token, "not older than the last writer");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_semaphore_admits_as_many_as_it_has_permits() {
    let nodes = group(4).await;
    let inside = Arc::new(AtomicI64::new(0));
    let most = Arc::new(AtomicI64::new(0));
    let mut tasks = Vec::new();
    for task in 0..8 {
        let lock = nodes[task % 4].lock("pool").permits(2);
        let (inside, most) = (Arc::clone(&inside), Arc::clone(&most));
        tasks.push(tokio::spawn(async move {
            for _ in 0..5 {
                let guard = lock.acquire().await.unwrap();
                assert!(guard.name().slot.is_some_and(|s| s < 2));
                let now = inside.fetch_add(1, Ordering::SeqCst) + 1;
                most.fetch_max(now, Ordering::SeqCst);
                tokio::time::sleep(Duration::from_millis(3)).await;
                inside.fetch_sub(1, Ordering::SeqCst);
            }
        }));
    }
    for task in tasks {
        soon("every task has its turns", task).await.unwrap();
    }
    assert_eq!(
        most.load(Ordering::SeqCst),
        2,
        "both permits are used, and no third"
    );

    // Another one: the last releases of the first may not be heard of everywhere.
    let pool = |n: usize| nodes[n].lock("spare").permits(2);
    let _held = [
        soon("one", pool(0).try_acquire()).await.unwrap(),
        soon("two", pool(1).try_acquire()).await.unwrap(),
    ];
    assert_eq!(
        soon("none", pool(2).try_acquire()).await.unwrap_err(),
        AcquireError::Busy
    );
    let seen = nodes[3].locks(Some("spare")).await.unwrap();
    let shown: Vec<String> = seen.iter().map(|s| s.lock.to_string()).collect();
    assert_eq!(shown, ["spare#0", "spare#1"]);
    assert!(seen.iter().all(|s| s.permits == Some(2)), "{seen:?}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn several_locks_at_once_never_wait_in_a_circle() {
    let nodes = group(3).await;
    let rounds = Arc::new(AtomicU64::new(0));
    let mut tasks = Vec::new();
    for (n, names) in [["a", "b", "c"], ["c", "b", "a"], ["b", "c", "a"]]
        .into_iter()
        .enumerate()
    {
        let (node, rounds) = (nodes[n].clone(), Arc::clone(&rounds));
        tasks.push(tokio::spawn(async move {
            for _ in 0..10 {
                let guards = node.acquire_many(names).await.unwrap();
                let got = guards.iter().map(|g| g.name().to_string());
                assert!(got.eq(names), "in the order asked for");
                rounds.fetch_add(1, Ordering::SeqCst);
            }
        }));
    }
    for task in tasks {
        soon("no deadlock", task).await.unwrap();
    }
    assert_eq!(rounds.load(Ordering::SeqCst), 30);
    let twice = nodes[0].acquire_many(["a", "b", "a"]).await.unwrap_err();
    assert_eq!(twice, AcquireError::Twice);
}

#[tokio::test]
async fn a_holder_that_hears_nobody_stops_before_its_lease_can_pass_on() {
    let nodes = group(5).await;
    let guard = soon("granted", nodes[0].lock("demo").acquire())
        .await
        .unwrap();
    let before = guard.valid_until();
    let renewed = soon("renewed", guard.renewed()).await.unwrap();
    assert!(renewed > before);
    let mut events = nodes[0].subscribe();
    for node in &nodes[1..4] {
        node.shutdown().await;
    }
    let cut = Instant::now();
    let loss = soon("lost", guard.lost()).await;
    assert_eq!(loss, LostReason::Expired);
    assert!(cut.elapsed() < TTL, "{:?}", cut.elapsed());
    assert!(!guard.is_valid() && guard.valid_until() <= Instant::now());
    assert_eq!(guard.notice(), TTL / 10);
    loop {
        if let Event::LockLost { lock, token, why } = soon("told", events.next()).await.unwrap() {
            assert_eq!(
                (lock.to_string(), token, why),
                ("demo".into(), guard.token(), loss)
            );
            break;
        }
    }
    // Two of five cannot lock before the others are known to be gone for a lease.
    let refused = nodes[4].lock("demo").acquire_timeout(TTL / 4).await;
    assert_eq!(refused.unwrap_err(), AcquireError::Timeout);
}

#[tokio::test]
async fn a_floor_and_voters_keep_the_smaller_side_from_locking() {
    let nodes = group(3).await;
    nodes[2].shutdown().await;
    let all = [&nodes[0], &nodes[1]];
    eventually(PATIENCE, "the third is gone", async || agree(&all, 2).await).await;
    let lock = |bound| nodes[0].lock("demo").bound(bound);
    let available = lock(Bound::Available);
    let guard = soon("granted", available.acquire()).await.unwrap();
    assert!(guard.quorum().to_string().contains("each side may lock"));
    drop(guard);
    let voters = |n: &[usize]| Bound::Voters(n.iter().map(|&n| nodes[n].id()).collect());
    for (bound, enough) in [
        (Bound::Members, true),
        (Bound::Floor(3), true),
        (Bound::Floor(4), false),
        (voters(&[0, 1, 2]), true),
        (voters(&[0, 2]), false),
        (voters(&[1]), true),
    ] {
        let got = lock(bound.clone()).acquire_timeout(TTL).await;
        assert_eq!(got.is_ok(), enough, "{bound:?}: {got:?}");
    }
}

#[tokio::test]
async fn a_frozen_node_does_not_keep_its_holder_from_learning_that_it_is_over() {
    let nodes = group(3).await;
    let guard = soon("granted", nodes[0].lock("demo").acquire())
        .await
        .unwrap();
    let until = guard.valid_until();
    nodes[0].pause();
    let loss = soon("lost by its own clock", guard.lost()).await;
    assert_eq!(loss, LostReason::Expired);
    assert!(Instant::now() >= until);
    let waits = nodes[0].lock("other").acquire_timeout(TTL / 10).await;
    assert_eq!(waits.unwrap_err(), AcquireError::Timeout, "not for ever");
    let next = soon("another", nodes[1].lock("demo").acquire())
        .await
        .unwrap();
    assert!(next.token() > guard.token());
    nodes[0].resume();
    assert!(!guard.is_valid(), "it does not come back");
    drop(guard);
    drop(next);
    soon("again", nodes[0].lock("demo").acquire())
        .await
        .unwrap();
}

#[tokio::test]
async fn an_abandoned_lock_stays_locked_until_its_lease_is_over() {
    let nodes = group(3).await;
    let guard = soon("granted", nodes[0].lock("demo").acquire())
        .await
        .unwrap();
    let until = guard.valid_until();
    guard.abandon();
    let next = soon("another", nodes[1].lock("demo").acquire())
        .await
        .unwrap();
    assert!(
        Instant::now() > until,
        "not before the work must have stopped"
    );
    drop(next);
}

#[tokio::test]
async fn locks_are_listed_and_broken() {
    let nodes = group(3).await;
    let guard = soon("granted", nodes[0].lock("demo").acquire())
        .await
        .unwrap();
    let lock = nodes[1].lock("demo");
    let waits = tokio::spawn(async move { lock.acquire().await });
    eventually(
        PATIENCE,
        "one holds and one waits, as the third sees it",
        async || {
            let seen = nodes[2].locks(None).await.unwrap();
            let [demo] = &seen[..] else { return false };
            let holders: Vec<&str> = demo.holders().map(|h| h.name.as_str()).collect();
            demo.lock.to_string() == "demo"
                && holders == ["node-1"]
                && demo
                    .holders()
                    .all(|h| h.token == guard.token() && h.left > Duration::ZERO)
                && demo.waiting() == 1
        },
    )
    .await;
    assert!(nodes[2].locks(Some("other")).await.unwrap().is_empty());
    nodes[2].break_lock("demo").await.unwrap();
    assert_eq!(soon("lost", guard.lost()).await, LostReason::Broken);
    let next: LockGuard = soon("the one who waits", waits).await.unwrap().unwrap();
    assert!(next.token() > guard.token());
}

#[tokio::test]
async fn tokens_grow_across_a_restart_of_everybody_by_what_was_stored() {
    let dirs: Vec<_> = (0..2).map(|_| tempfile::tempdir().unwrap()).collect();
    let mut last = LockToken(0);
    for round in 0..3 {
        let mut nodes: Vec<Node> = Vec::new();
        for (i, dir) in dirs.iter().enumerate() {
            let node = local(&format!("node-{i}"), config()).state_dir(dir.path());
            let node = node.join(nodes.first().map(|n| n.local_addr()));
            nodes.push(node.start().await.unwrap());
        }
        let ready = nodes[0].lock_readiness().await.unwrap();
        assert_eq!(
            ready.mature,
            round == 0,
            "a node that comes back waits: {ready:?}"
        );
        assert_eq!(ready.matures_in > TTL, round > 0, "{ready:?}");
        let guard = soon("granted", nodes[0].lock("demo").acquire())
            .await
            .unwrap();
        assert!(guard.token() > last, "{:?} after {last:?}", guard.token());
        drop(guard);
        // Moves tokens far ahead of the time of day: only what was stored can tell.
        nodes[0].break_lock("demo").await.unwrap();
        let guard = soon("granted", nodes[0].lock("demo").acquire())
            .await
            .unwrap();
        let step = ((guard.token().0 - last.0) >> 80) as u64;
        assert!(step >= 1 << 20, "{step}");
        last = guard.token();
        for node in &nodes {
            node.shutdown().await;
        }
        assert_eq!(soon("stopped", guard.lost()).await, LostReason::Stopped);
    }
}

/// Two of five restart, cut off from the others, who were lost before: nobody else remembers them.
#[tokio::test]
async fn members_that_failed_are_remembered_across_a_restart_of_all_that_are_left() {
    let dirs: Vec<_> = (0..2).map(|_| tempfile::tempdir().unwrap()).collect();
    let seeds = group(3).await;
    let start = async |n: usize, seed: Option<SocketAddr>| {
        let node = local(&format!("kept-{n}"), config()).state_dir(dirs[n].path());
        node.join(seed).start().await.unwrap()
    };
    let mut kept = Vec::new();
    for n in 0..2 {
        kept.push(start(n, Some(seeds[0].local_addr())).await);
    }
    let all: Vec<&Node> = seeds.iter().chain(&kept).collect();
    eventually(PATIENCE, "five", async || agree(&all, 5).await).await;
    for node in &seeds {
        node.shutdown().await;
    }
    let failed = async |node: &Node| {
        let members = node.members().await.unwrap();
        let failed = members.iter().filter(|m| m.status == Status::Failed);
        failed.filter(|m| m.name().starts_with("node-")).count()
    };
    for node in &kept {
        eventually(PATIENCE, "three failed", async || failed(node).await == 3).await;
    }
    let stored = |n: usize| {
        let text = std::fs::read_to_string(dirs[n].path().join("group"));
        text.is_ok_and(|text| {
            text.lines()
                .filter(|l| l.matches(" - ").count() == 0)
                .count()
                == 2 + 3 + 1
        })
    };
    eventually(PATIENCE, "stored", async || stored(0) && stored(1)).await;
    for node in kept.drain(..) {
        node.shutdown().await;
    }
    let first = start(0, None).await;
    let second = start(1, Some(first.local_addr())).await;
    eventually(PATIENCE, "both", async || {
        agree(&[&first, &second], 2).await
    })
    .await;
    assert_eq!((failed(&first).await, failed(&second).await), (3, 3));
    // Long after both count as witnesses again.
    let refused = first.lock("demo").acquire_timeout(TTL * 6).await;
    assert_eq!(refused.unwrap_err(), AcquireError::Timeout, "two of five");
}

#[tokio::test]
async fn a_lock_is_given_back_when_its_last_handle_goes() {
    let nodes = group(3).await;
    let mut nodes = nodes.into_iter();
    let (first, second) = (nodes.next().unwrap(), nodes.next().unwrap());
    let guard = soon("granted", first.lock("demo").acquire()).await.unwrap();
    drop(first);
    assert!(guard.is_valid(), "the guard keeps the node");
    let start = Instant::now();
    drop(guard);
    soon("free", second.lock("demo").acquire()).await.unwrap();
    assert!(start.elapsed() < TTL / 2, "{:?}", start.elapsed());
}
