//! Message counts without loss and failure: M1, M3, O3.

use super::*;
use proptest::{prop_assert, prop_assert_eq, prop_assume, proptest};

/// Nodes suspect each other at random, and some entries are missing, at most `c` for each node.
fn shaken(nodes: u64, config: Config, seed: u64) -> Net {
    let mut net = group(nodes, config, seed);
    let mut rng = Rng::seed(seed, 77);
    for id in 0..nodes {
        let mut others: Vec<u64> = (0..nodes).filter(|&at| at != id).collect();
        rng.shuffle(&mut others);
        let missing = rng.below(u32::from(config.missing_max) + 1) as usize;
        for (n, &at) in others.iter().enumerate() {
            match n < missing {
                true => net.unlist(at, id),
                false => net.unhealth(at, id, rng.below(4)),
            }
        }
    }
    net
}

impl Net {
    /// Whether a node lists as many as it has to ask; each of them may be missing from `c` lists, and all of them
    /// from this one.
    fn lists_enough(&self, id: u64) -> bool {
        let config = self.node(id).config;
        self.scene.0[id as usize].len() > usize::from(config.missing_max + config.failed_max)
    }
}

/// ER-9: a node that lists fewer than c + f + 1 asks for ever, though no node is missing from more than c lists.
#[test]
fn an_initiator_with_too_short_a_list_never_ends() {
    let seed = 307_185;
    let mut net = shaken(10, config(Variant::Base, 4), seed);
    let initiator = seed % 10;
    assert_eq!(net.scene.0[initiator as usize].len(), 4);
    net.start(initiator);
    for _ in 0..100 {
        net.settle();
        assert!(net.fire());
    }
    assert_eq!(net.leaders(), vec![None; 10]);
}

proptest! {
    /// M1: Base takes 2(c+f+1)+1 unicasts, 2 fewer if the initiator is among those asked, 1 fewer if it wins; one
    /// multicast; and the lowest hash leads (Theorem 1).
    #[test]
    fn base_takes_as_many_messages_as_counted(
        nodes in 2_u64..40, c in 0_u16..8, f in 0_u16..4, seed in 0_u64..1_000_000,
    ) {
        prop_assume!(u64::from(c + f) < nodes / 2);
        let config = Config { failed_max: f, ..config(Variant::Base, c) };
        let mut net = shaken(nodes, config, seed);
        let initiator = seed % nodes;
        prop_assume!(net.lists_enough(initiator));
        net.start(initiator);
        let asked = net.asked().len();
        net.settle();
        let itself = asked < usize::from(c + f + 1);
        let wins = net.leaders()[initiator as usize] == Some(initiator);
        let expected = 2 * usize::from(c + f + 1) + 1 - 2 * usize::from(itself) - usize::from(wins);
        prop_assert_eq!((net.unicasts, net.broadcasts.len()), (expected, 1));
        prop_assert_eq!(net.leaders(), vec![Some(0); nodes as usize]);
        prop_assert!(net.is_at_rest());
    }

    /// O3: the nodes that Optimistic notifies have strictly falling hashes, there are at most c+1, and the last is
    /// correct.
    #[test]
    fn optimistic_only_improves(nodes in 2_u64..40, c in 0_u16..8, seed in 0_u64..1_000_000) {
        prop_assume!(u64::from(c) < nodes / 2);
        let mut net = shaken(nodes, config(Variant::Optimistic, c), seed);
        let initiator = seed % nodes;
        prop_assume!(net.lists_enough(initiator));
        net.start(initiator);
        net.settle();
        let notified = net.notified(initiator);
        prop_assert!(notified.is_sorted_by(|a, b| a > b), "{:?}", notified);
        prop_assert!(notified.len() <= usize::from(c) + 1);
        prop_assert_eq!(net.leaders(), vec![Some(0); nodes as usize]);
    }

    /// M3 and O3: Hybrid multicasts as often as it changes the leader, at most c+1 times per attempt, in at most
    /// y+1 attempts; all nodes end with the last one.
    #[test]
    fn hybrid_multicasts_its_changes(nodes in 2_u64..40, c in 0_u16..8, seed in 0_u64..1_000_000) {
        prop_assume!(u64::from(c) < nodes / 2);
        let mut net = shaken(nodes, config(Variant::Hybrid, c), seed);
        let initiator = seed % nodes;
        prop_assume!(net.lists_enough(initiator));
        net.start(initiator);
        net.settle();
        let notified = net.notified(initiator);
        prop_assert_eq!(net.broadcasts.len(), notified.len());
        prop_assert!(net.restarts() <= 5, "{} restarts", net.restarts());
        prop_assert!(notified.len() <= (usize::from(c) + 1) * (net.restarts() + 1));
        let last = notified.last().copied();
        prop_assert_eq!(net.leaders(), vec![last; nodes as usize]);
    }
}

/// ER-13: if y covers all other nodes, all are among the worst, and attempts are wasted until it no longer does.
/// With two nodes that is y = 0.
#[test]
fn a_small_group_restarts_until_somebody_is_not_excluded() {
    for (nodes, others, wasted) in [(2, &[0][..], 5), (3, &[0, 2], 4)] {
        let c = nodes as u16 - 1;
        let make = |seed| group(nodes, config(Variant::Preferred, c), seed);
        // Of all others that are asked, the last is the initiator itself: each excludes those that it can.
        let mut net = asking(make, 1, others);
        net.settle();
        let nobody = (1, Event::Restarted(Restart::NobodyHealthy));
        let restarts = net.events.iter().filter(|&e| *e == nobody).count();
        assert_eq!(restarts, wasted, "{nodes} nodes");
        assert_eq!(net.leaders(), vec![Some(0); nodes as usize]);
    }
}

/// Sizes of the messages, so that a change of encoding is noticed.
#[test]
fn sizes_are_pinned() {
    let ids = |n: u64| (0..n).map(NodeId).collect();
    let answer = |x, y| Msg::Response {
        candidates: ids(x),
        worst: ids(y),
    };
    let ask = Ask {
        candidates: 5,
        worst: 5,
    };
    let stamp = Stamp { run: 1, rev: 2 };
    let sizes = [
        Msg::Query(None),
        Msg::Query(Some(ask)),
        answer(1, 0),
        answer(5, 5),
        Msg::Notify(stamp),
        Msg::Leader(stamp),
    ]
    .map(|msg| msg.encoded_len());
    assert_eq!(sizes, [34, 36, 43, 115, 35, 35]);
}
