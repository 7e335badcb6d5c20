//! Memory per member of one node of 512.

use crate::ALLOCATOR;
use crate::harness::scene::{Kind, ours, theirs};
use crate::harness::theirs::{Short, Socket};
use crate::harness::{Peer, World};
use consort_sim::topology::Topology;
use consort_sim::units::at_tu;

const NODES: usize = 512;

/// Heap bytes that one node frees when it is dropped after fifty quiet periods, plus the bytes of the node itself,
/// divided by the number of others.
pub(crate) fn per_member(kind: Kind) -> f64 {
    let scene = crate::scene(NODES, Topology::Random, 0, 0.0, 1_000.0);
    match kind {
        Kind::Foca | Kind::FocaLan => weigh(theirs::<Socket>(kind, &scene, 1)),
        Kind::FocaShort => weigh(theirs::<Short>(kind, &scene, 1)),
        _ => weigh(ours(kind, &scene, 1)),
    }
}

fn weigh<P: Peer>(mut world: World<P>) -> f64 {
    world.run_until(at_tu(1_000.0));
    let live = || {
        let stats = ALLOCATOR.stats();
        stats.bytes_allocated as i64 - stats.bytes_deallocated as i64
    };
    let peer = world.peers.swap_remove(0);
    let before = live();
    drop(peer);
    let bytes = before - live() + size_of::<P>() as i64;
    bytes as f64 / (NODES - 1) as f64
}
