//! Mistakes of Topology Aware, step by step.

use super::*;
use alloc::sync::Arc;

fn ta() -> Config {
    Config::bare(Mode::TaCloseness)
}

#[test]
fn a_calm_network_agrees() {
    for mode in [Mode::TaCloseness, Mode::TaDegree] {
        let mut net = Net::new(Config::bare(mode), &[0, 1, 2, 3, 4]);
        for (a, b) in [(3, 0), (0, 2), (2, 4), (4, 1)] {
            net.meet(a, b);
            net.settle();
        }
        let leader = if mode == Mode::TaDegree { 4 } else { 2 };
        assert_eq!(net.leaders(), [leader; 5]);
        net.part(0, 2);
        net.settle();
        assert_eq!(net.leaders(), [3, 4, 4, 3, 4]);
    }
}

/// E19: node 1 has met 2 before, so it drops what 0 tells it about 2.
#[test]
fn e19_a_whole_view_is_dropped_by_who_has_an_older_one() {
    let mut net = Net::new(ta(), &[0, 1, 2, 3]);
    net.meet(1, 2);
    net.settle();
    net.part(1, 2);
    net.settle();
    assert_eq!(net.view(1, 2), view(1, &[1, 2]));
    net.meet(2, 3);
    net.settle();
    net.near(0, 2);
    net.see(2, 0);
    assert_eq!(net.view(2, 2), view(4, &[0, 2, 3]));
    net.see(0, 2);
    // 0 has not heard from 2 yet when it meets 1, and sends all it knows.
    net.meet(0, 1);
    assert!(!net.hosts[&0].core.known().unwrap().contains_key(&NodeId(2)));
    net.settle();
    assert!(net.saw(1, Event::DroppedWhole(NodeId(2))));
    assert_eq!(net.view(1, 2), view(1, &[1, 2]));
    assert_eq!(net.leaders(), [2, 0, 2, 2]);
}

fn lost(src: u64, id: u64, old_clk: u32, new_clk: u32) -> Msg {
    Msg::Updates(Arc::new([Update {
        src: NodeId(src),
        add: set(&[]),
        rmv: set(&[id]),
        old_clk,
        new_clk,
    }]))
}

/// E20: the changes between 5 and 7 cannot be separated from those up to 9.
#[test]
fn e20_a_change_with_a_gap_is_dropped() {
    let mut net = Net::new(ta(), &[0]);
    net.say(1, 0, known(&[(5, 7, &[4, 5, 6])]));
    net.say(1, 0, lost(5, 6, 5, 9));
    assert_eq!(net.events, [(0, Event::DroppedGap(NodeId(5)))]);
    assert_eq!(net.view(0, 5), view(7, &[4, 5, 6]));
    // A known update is no loss.
    net.say(1, 0, lost(5, 6, 5, 7));
    assert_eq!(net.events.len(), 1);
}

/// E21: s–a–i–k. Two changes of s reach i in the wrong order; k learns only of the first.
#[test]
fn e21_what_had_to_wait_is_not_passed_on() {
    let (s, a, i, k) = (0, 1, 2, 3);
    let mut net = Net::new(ta(), &[s, a, i, k, 4, 5]);
    for (x, y) in [(i, k), (a, i), (s, a), (s, 4), (s, 5)] {
        net.meet(x, y);
        net.settle();
    }
    let clk = net.view(k, s).clk;
    for id in [4, 5] {
        net.far(s, id);
        net.miss(s, id);
        net.tick(s);
        net.deliver(s, a);
        net.tick(a);
    }
    net.deliver_nth(a, i, 1);
    assert_eq!(net.hosts[&i].core.pending(), 1);
    net.deliver(a, i);
    assert_eq!(net.events, [(i, Event::NotPassedOn(NodeId(s)))]);
    net.settle();
    assert_eq!(net.view(i, s), view(clk + 2, &[s, a]));
    assert_eq!(net.view(k, s), view(clk + 1, &[s, a, 5]));
    assert_eq!(net.component(i), set(&[s, a, i, k]));
    assert_eq!(net.component(k), set(&[s, a, i, k, 5]));
}

/// E21: an update of a node that is otherwise unknown waits for ever.
#[test]
fn e21_updates_wait_without_bound() {
    let mut net = Net::new(ta(), &[0]);
    for clk in 1..=50 {
        net.say(1, 0, lost(5, 6, clk, clk + 1));
        net.say(1, 0, lost(5, 6, clk, clk + 1));
    }
    assert_eq!(net.hosts[&0].core.pending(), 50);
    // The update that all others waited for: one pass through the list suffices if it is in order.
    net.say(1, 0, known(&[(5, 1, &[5, 6])]));
    assert_eq!(net.hosts[&0].core.pending(), 0);
    assert_eq!(net.view(0, 5), view(51, &[5]));
}

/// E22: 2 remembers node 1 as it was, and returns that view.
#[test]
fn e22_a_restarted_node_is_its_former_self() {
    let mut net = Net::new(ta(), &[0, 1, 2]);
    net.meet(0, 1);
    net.settle();
    net.meet(1, 2);
    net.settle();
    assert_eq!(net.view(2, 1), view(2, &[0, 1, 2]));
    net.restart(1);
    net.far(0, 1);
    net.miss(0, 1);
    net.miss(2, 1);
    net.see(1, 2);
    assert_eq!(net.view(1, 1), view(1, &[1, 2]));
    net.see(2, 1);
    net.settle();
    assert!(net.saw(1, Event::Overwritten));
    assert_eq!(net.neighbours(1), [0, 2]);
    assert_eq!(net.leaders()[1..], [1, 1], "2 should lead");
}
