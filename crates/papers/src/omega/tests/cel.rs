//! Mistakes of CEL, step by step.

use super::*;

fn cel() -> Config {
    Config::bare(Mode::Cel)
}

/// A path of nodes that know the whole path.
fn path(config: Config, ids: &[u64]) -> Net {
    let mut net = Net::new(config, ids);
    ids.windows(2).for_each(|pair| net.meet(pair[0], pair[1]));
    net.settle();
    net
}

#[test]
fn a_calm_network_agrees() {
    let net = path(cel(), &[3, 0, 2, 4, 1]);
    assert_eq!(net.leaders(), [2; 5]);
    assert!(
        net.hosts
            .values()
            .all(|h| h.core.known() == net.hosts[&0].core.known())
    );
}

/// E1: a message in flight brings back a link that its end has removed.
#[test]
fn e1_union_at_equal_clocks_resurrects_a_removed_link() {
    let mut net = Net::new(cel(), &[0, 1]);
    net.near(0, 1);
    net.see(0, 1);
    net.deliver(0, 1);
    assert_eq!(net.view(1, 1), view(1, &[0, 1]));
    net.see(1, 0);
    net.far(0, 1);
    net.miss(0, 1);
    assert_eq!(net.view(0, 0), view(2, &[0]));
    net.deliver(1, 0);
    net.miss(1, 0);
    net.settle();
    assert!(net.saw(0, Event::United(NodeId(0))));
    assert_eq!(net.view(0, 0), view(2, &[0, 1]));
    assert_eq!(net.neighbours(0), [1]);
    assert!(net.hosts[&0].core.links().is_empty());
    assert_eq!(net.leaders(), [1, 1]);
}

/// The middle of flapper–1–end learns of the flapper's own flapping while it meets the end.
fn flap(config: Config, flapper: u64, end: u64) -> Net {
    let mut net = path(config, &[flapper, 1]);
    net.restart(end);
    assert_eq!(net.view(flapper, 1), view(1, &[flapper, 1]));
    // The flapper alone misses 1 for a while.
    net.miss(flapper, 1);
    net.see(flapper, 1);
    assert_eq!(net.view(flapper, 1), view(3, &[flapper, 1]));
    net.meet(1, end);
    assert_eq!(net.view(1, 1), view(2, &[0, 1, 2]));
    net.settle();
    net
}

/// E2: node 1 forgets its live link to 0, because it learns of its own links from 2.
#[test]
fn e2_speculative_clocks_overwrite_a_nodes_own_view() {
    let net = flap(cel(), 2, 0);
    assert!(net.saw(1, Event::Overwritten));
    assert_eq!(net.view(1, 1), view(3, &[1, 2]));
    assert_eq!(net.hosts[&1].core.links(), &set(&[0, 2]));
    assert_eq!(net.neighbours(1), [2]);
    assert_eq!(net.leaders(), [0, 2, 2]);
}

/// E4: each of two witnesses of a crash removes its own link, and the union of both removes none.
#[test]
fn e4_two_detectors_of_a_crash_undo_its_removal() {
    let mut net = Net::new(cel(), &[0, 1, 2]);
    for (a, b) in [(0, 1), (1, 2), (0, 2)] {
        net.near(a, b);
    }
    for (at, id) in [(0, 1), (1, 0), (1, 2), (2, 1), (0, 2), (2, 0)] {
        net.see(at, id);
    }
    net.settle();
    let clk = net.view(0, 1).clk;
    assert_eq!(net.view(2, 1), view(clk, &[0, 1, 2]));
    net.far(0, 1);
    net.far(1, 2);
    net.miss(0, 1);
    net.miss(2, 1);
    net.settle();
    for at in [0, 2] {
        assert!(net.saw(at, Event::United(NodeId(1))));
        assert_eq!(net.view(at, 1), view(clk + 1, &[0, 1, 2]));
    }
    net.part(0, 2);
    net.settle();
    // 1 restarts next to 0 alone.
    net.restart(1);
    net.meet(0, 1);
    net.settle();
    assert!(net.saw(1, Event::Overwritten));
    assert_eq!(net.hosts[&1].core.links(), &set(&[0]));
    assert_eq!(net.neighbours(1), [0, 2]);
    assert_eq!(net.component(0), set(&[0, 1, 2]));
}

/// E5: c appears next to b; the only message about it is lost on its way to a.
#[test]
fn e5_loss_is_never_repaired() {
    let (d, a, b, c) = (0, 1, 2, 3);
    let mut net = path(cel(), &[d, a, b]);
    net.restart(c);
    net.meet(b, c);
    net.lose(b, a);
    net.settle();
    assert_eq!(net.component(c), set(&[d, a, b, c]));
    assert_eq!(net.component(a), set(&[d, a, b]));
    assert_eq!(net.leaders(), [a, a, b, b]);
}

fn gossip() -> Config {
    Config {
        rho_per_mille: 700,
        ..cel()
    }
}

/// E6: four relays all have to forward: 0.7^4 = 0.24.
#[test]
fn e6_gossip_does_not_reach_the_end_of_a_line() {
    let mut reached = 0;
    for seed in 0..2000 {
        let mut net = Net::new(gossip(), &[0, 1, 2, 3, 4, 5, 6]);
        net.reseed(seed);
        (1..6).for_each(|n| net.near(n - 1, n));
        let line = known(&[
            (0, 1, &[0, 1]),
            (1, 2, &[0, 1, 2]),
            (2, 2, &[1, 2, 3]),
            (3, 2, &[2, 3, 4]),
            (4, 2, &[3, 4, 5]),
            (5, 1, &[4, 5]),
        ]);
        (0..6).for_each(|n| net.say(9, n, line.clone()));
        net.flights.clear();
        net.near(0, 6);
        net.see(0, 6);
        net.settle();
        reached += usize::from(net.component(5).contains(&NodeId(6)));
    }
    assert!((430..530).contains(&reached), "{reached} of 2000");
}

/// E6: in a clique only the smallest id may forward, and it may stay silent.
#[test]
fn e6_a_whole_clique_is_silent() {
    let mut silent = 0;
    for seed in 0..2000 {
        let mut net = Net::new(gossip(), &[1, 2, 3]);
        net.reseed(seed);
        let clique = &[1, 2, 3, 4];
        let before = [
            (1, 3, &clique[..]),
            (2, 3, clique),
            (3, 3, clique),
            (4, 3, clique),
        ];
        (1..4).for_each(|n| net.say(4, n, known(&before)));
        net.broadcasts.clear();
        let after = known(&[(4, 4, &[1, 2, 3, 4, 5]), (5, 1, &[4, 5])]);
        (1..4).for_each(|n| net.say(4, n, after.clone()));
        assert!(net.saw(2, Event::Pruned) && net.saw(3, Event::Pruned));
        silent += usize::from(net.broadcasts.is_empty());
    }
    assert!((540..660).contains(&silent), "{silent} of 2000");
}

/// E7: the others remember node 1 as it was, and tell it.
#[test]
fn e7_a_restarted_node_is_its_former_self() {
    let mut net = path(cel(), &[0, 1, 2]);
    net.restart(3);
    assert_eq!(net.view(0, 1), view(2, &[0, 1, 2]));
    // 1 is away so briefly that 0 does not notice; 2 has gone for good.
    net.restart(1);
    net.far(1, 2);
    net.miss(2, 1);
    net.see(1, 0);
    net.settle();
    assert_eq!(net.view(1, 1), view(1, &[0, 1]));
    assert_eq!(
        net.view(0, 1),
        view(2, &[0, 1, 2]),
        "the newcomer is ignored"
    );
    assert_eq!(net.component(0), set(&[0, 1, 2]));
    // The next message of 0 brings the former self back.
    net.meet(0, 3);
    net.settle();
    assert!(net.saw(1, Event::Overwritten));
    assert_eq!(net.neighbours(1), [0, 2]);
    assert_eq!(net.hosts[&1].core.links(), &set(&[0]));
}

/// E8e: node 1 mistakes the flapper 0 for its twin and does not tell 2 what it has come to believe.
#[test]
fn e8_a_false_twin_keeps_a_node_silent() {
    let net = flap(cel(), 0, 2);
    assert!(net.saw(1, Event::Pruned));
    assert_eq!(net.component(1), set(&[0, 1]));
    assert_eq!(net.component(2), set(&[0, 1, 2]));
    assert_ne!(net.view(1, 1), net.view(2, 1));
}

/// E8b: 0 and 1 have the same neighbours; 0 may forward but did not receive the message, 1 received it but may not
/// forward.
#[test]
fn e8_a_twin_that_lost_the_message_is_waited_for() {
    for prune in [true, false] {
        let config = Config { prune, ..cel() };
        let mut net = Net::new(config, &[0, 1, 2, 3, 4]);
        for (a, b) in [(0, 1), (0, 2), (0, 3), (1, 2), (1, 3)] {
            net.near(a, b);
        }
        for (a, b) in net.scene.pairs.clone() {
            net.see(a, b);
        }
        net.settle();
        net.meet(2, 4);
        net.lose(2, 0);
        net.settle();
        assert_eq!(net.saw(1, Event::Pruned), prune);
        assert_eq!(net.component(3).contains(&NodeId(4)), !prune);
    }
}

/// E9: 1 no longer hears 0, but 0 hears 1. All messages have arrived, all nodes have the same knowledge, and yet
/// they see different components.
#[test]
fn e9_equal_knowledge_different_components() {
    let mut net = path(cel(), &[0, 1]);
    for id in [2, 3] {
        net.restart(id);
    }
    net.miss(1, 0);
    net.meet(0, 2);
    net.meet(0, 3);
    net.deliver_nth(0, 1, 1);
    net.scene.pairs.remove(&(0, 1));
    net.settle();
    assert!(net.events.iter().all(|e| e.1 == Event::Pruned));
    assert_eq!(net.hosts[&0].core.known(), net.hosts[&1].core.known());
    assert_eq!(net.component(0), set(&[0, 1, 2, 3]));
    assert_eq!(net.component(1), set(&[1]));
    assert_eq!(net.leaders(), [0, 1, 0, 0]);
}

/// E10: every node that passed by stays in every message.
#[test]
fn e10_departed_nodes_are_never_forgotten() {
    let ids: Vec<u64> = (0..=200).collect();
    let mut net = Net::new(cel(), &ids);
    for id in 1..=200 {
        net.meet(0, id);
        net.settle();
        net.part(0, id);
        net.settle();
    }
    assert_eq!(net.neighbours(0), []);
    assert_eq!(net.hosts[&0].core.known().map(Map::len), Some(201));
    net.near(0, 1);
    net.see(0, 1);
    let size = net.broadcasts.last().unwrap().1.encoded_len();
    assert!(size >= 200 * 10, "{size} bytes, far above a packet");
}
