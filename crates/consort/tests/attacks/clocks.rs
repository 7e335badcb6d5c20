//! Members whose clocks are wrong: they join, elect and lock like all others.

use super::forged::{Mode, one_leader, team, together, work};
use super::{SOON, alive, eventually};
use consort::key::GroupKey;

const YEAR: u64 = 31_556_952;
const NOW: u64 = 1_794_000_000;
const IN_2090: u64 = 120 * YEAR;

/// Starts members at these times; all of them must find together, elect one leader and take a lock in turn.
async fn at(times: &[u64]) {
    for mode in Mode::both() {
        let mut nodes = Vec::new();
        for (n, &time) in times.iter().enumerate() {
            let seed = nodes.first().map(consort::Node::local_addr);
            let node = team(&format!("node-{n}"), &mode).wall_clock(time);
            nodes.push(node.join(seed).start().await.unwrap());
        }
        together(&nodes).await;
        let first = one_leader(&nodes, None).await;
        work(&nodes, None).await;
        // A later leader has a greater token, whoever's clock it is by.
        let at = nodes.iter().position(|n| n.id() == first.id).unwrap();
        nodes.remove(at).shutdown().await;
        one_leader(&nodes, Some(first.token)).await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_group_without_clocks_elects_and_locks() {
    at(&[0, 0, 100]).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_group_in_2090_elects_and_locks() {
    at(&[IN_2090, IN_2090 + 1, IN_2090 + 500]).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn members_of_1970_and_of_2090_are_one_group() {
    at(&[0, IN_2090, 100, IN_2090]).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn one_member_fifty_years_ahead_disturbs_nobody() {
    at(&[NOW, NOW + 50 * YEAR, NOW + 2, NOW]).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_clock_that_was_set_back_keeps_nobody_out() {
    for mode in [Mode::Open, Mode::Keyed(GroupKey::generate().unwrap())] {
        let dir = tempfile::tempdir().unwrap();
        let seed = team("seed", &mode).wall_clock(NOW).start().await.unwrap();
        let other = |time| {
            let other = team("other", &mode).wall_clock(time);
            other.join([seed.local_addr()])
        };
        let ahead = other(IN_2090).state_dir(dir.path()).start().await.unwrap();
        let (id, addr) = (ahead.id(), ahead.local_addr());
        together(&[seed.clone(), ahead.clone()]).await;
        ahead.shutdown().await;
        // With its disk it continues after the life that it stored.
        let back = other(NOW).state_dir(dir.path()).bind(addr);
        let back = back.start().await.unwrap();
        eventually(SOON, "it is back", async || {
            alive(&seed).await == 2 && alive(&back).await == 2
        })
        .await;
        back.shutdown().await;
        // Without it, the others tell it which life it had.
        let lost = other(NOW).id(id).bind(addr).start().await.unwrap();
        eventually(SOON, "it is back without its disk", async || {
            let life = lost.this().await.unwrap().life;
            alive(&seed).await == 2 && alive(&lost).await == 2 && life.secs() >= IN_2090
        })
        .await;
    }
}
