//! One election, two modes: a node takes part in it in one mode at a time.

use super::*;
use crate::command::Command;
use crate::config;
use crate::node::{Identity, Node};

fn open(node: &mut Node, now: Instant, mode: Mode) {
    let policy = Policy {
        mode,
        ..Policy::default()
    };
    node.handle_command(now, Command::Election(Order::Open(E, policy)));
    let campaign = Order::Campaign(E, Candidacy::default());
    node.handle_command(now, Command::Election(campaign));
}

#[test]
fn an_election_that_is_opened_the_other_way_ends_the_first_way() {
    let mut config = config::Config::default();
    config.omega.enabled = true;
    let identity = Identity {
        id: NodeId(1),
        life: LIFE,
        addr: addr(1),
        meta: Meta::default(),
        memory: LIFE,
        wall: None,
    };
    let now = Instant::ZERO;
    let mut node = Node::new(config, identity, 1, now).unwrap();
    open(&mut node, now, Mode::Group);
    assert!(!node.is_by_component(E));
    assert!(node.membership().meta().campaign(E).is_some());

    open(&mut node, now, Mode::Component);
    assert!(node.is_by_component(E));
    assert_eq!(node.membership().meta().campaign(E), None, "stands once");
    let standing = node.standing(now, E).unwrap();
    assert!(standing.scope.is_some() && standing.campaigns);
    // Its record is published a moment later.
    let now = now + ms(100);
    node.handle_timeout(now);
    assert_eq!(node.candidates(now, E).len(), 1);
    assert_eq!(node.elections(), [E]);

    open(&mut node, now, Mode::Group);
    assert!(!node.is_by_component(E) && !node.omega().holds(E));
    assert!(node.standing(now, E).unwrap().scope.is_none());
    assert!(node.membership().meta().campaign(E).is_some());
}
