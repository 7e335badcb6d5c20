//! The execution of figures 4.1 to 4.9.

use super::*;

const G: u64 = 0;
const H: u64 = 1;
const I: u64 = 2;
const J: u64 = 3;
const K: u64 = 4;

/// Fig. 4.1: h–k–i led by k, and j–g led by j. The views are set by messages: a node believes even messages about
/// itself.
fn start() -> Net {
    let mut net = Net::new(Config::bare(Mode::TaCloseness), &[G, H, I, J, K]);
    let left = known(&[(H, 5, &[H, K]), (K, 9, &[H, I, K]), (I, 13, &[I, K])]);
    let right = known(&[(J, 22, &[G, J]), (G, 3, &[G, J])]);
    for id in [H, K, I] {
        net.say(99, id, left.clone());
    }
    for id in [J, G] {
        net.say(99, id, right.clone());
    }
    // Nobody receives the resulting updates.
    net.settle();
    for (a, b) in [(H, K), (K, I), (J, G)] {
        net.near(a, b);
    }
    assert_eq!(net.leaders(), [J, K, K, J, K]);
    net.broadcasts.clear();
    net
}

fn update(src: u64, add: &[u64], old_clk: u32, new_clk: u32) -> Update {
    Update {
        src: NodeId(src),
        add: set(add),
        rmv: set(&[]),
        old_clk,
        new_clk,
    }
}

fn updates(list: &[Update]) -> Msg {
    Msg::Updates(list.into())
}

#[test]
fn figures_4_1_to_4_9() {
    let mut net = start();
    net.near(I, J);
    // Fig. 4.2, 4.3: i notices j and sends what it knows; j notices i.
    net.see(I, J);
    assert_eq!(net.view(I, I), view(14, &[I, J, K]));
    net.see(J, I);
    assert_eq!(net.view(J, J), view(23, &[G, I, J]));
    // Fig. 4.4: j and k receive i's message. j no longer leads, and takes a step without effect.
    net.deliver(I, J);
    assert_ne!(net.hosts[&J].core.leader(), NodeId(J));
    net.deliver(I, K);
    assert_eq!(net.view(K, I), view(14, &[I, J, K]));
    net.tick(K);
    assert_eq!(
        net.broadcasts.pop(),
        Some((K, updates(&[update(I, &[J], 13, 14)])))
    );
    // Fig. 4.5: i and g receive j's message.
    net.deliver(J, I);
    net.deliver(J, G);
    assert_eq!(net.hosts[&I].core.leader(), NodeId(I));
    // Fig. 4.6: i and g send updates; h receives that of k.
    net.tick(I);
    let whole = [update(G, &[G, J], 0, 3), update(J, &[G, I, J], 0, 23)];
    assert_eq!(net.broadcasts.pop(), Some((I, updates(&whole))));
    net.tick(G);
    assert_eq!(
        net.broadcasts.pop(),
        Some((G, updates(&[update(J, &[I], 22, 23)])))
    );
    net.deliver(K, H);
    assert_eq!(net.view(H, I), view(14, &[I, J, K]));
    // Fig. 4.7: k receives i's update; h forwards.
    net.deliver(I, K);
    net.tick(H);
    assert_eq!(
        net.broadcasts.pop(),
        Some((H, updates(&[update(I, &[J], 13, 14)])))
    );
    // Fig. 4.8: k forwards.
    net.tick(K);
    assert_eq!(net.broadcasts.pop(), Some((K, updates(&whole))));
    // Fig. 4.9: h receives it. (In the figures j's update has not left yet.)
    net.deliver(K, H);
    net.settle();
    let all = known(&[
        (G, 3, &[G, J]),
        (H, 5, &[H, K]),
        (I, 14, &[I, J, K]),
        (J, 23, &[G, I, J]),
        (K, 9, &[H, I, K]),
    ]);
    for node in net.hosts.values().map(|h| &h.core) {
        assert_eq!(Msg::Known(node.known().unwrap().clone().into()), all);
        assert_eq!(node.leader(), NodeId(I));
    }
    assert!(net.events.iter().all(|e| e.1 == Event::Overwritten));
}

#[test]
fn an_elected_leader_is_remembered_until_something_changes() {
    let mut net = start();
    let node = &mut net.hosts.get_mut(&I).unwrap().core;
    assert_eq!(node.elect(), NodeId(K));
    assert_eq!(node.leader(), NodeId(K));
    net.meet(I, J);
    net.settle();
    assert_eq!(net.leaders(), [I; 5]);
}

/// Sizes with 3-byte ids: 3 + 4 bytes for a view, plus 3 per neighbour.
#[test]
fn sizes_are_those_of_the_air() {
    assert_eq!(
        known(&[(1, 5, &[1, 2]), (2, 1, &[2])]).encoded_len(),
        13 + 10
    );
    assert_eq!(updates(&[update(1, &[2, 3], 0, 1)]).encoded_len(), 18);
    assert_eq!(Msg::Beacon.encoded_len(), 3);
    let (id, seq) = (NodeId(1), 1);
    assert_eq!(Msg::Flood { id, value: 1, seq }.encoded_len(), 9);
    assert_eq!(Msg::Leader { id, size: 1, seq }.encoded_len(), 7);
    let join = Msg::Join {
        id,
        start_ms: 0,
        nonce: 1,
    };
    assert_eq!(join.encoded_len(), 4);
    assert!(Msg::Beacon.is_beacon() && !join.is_beacon());
}
