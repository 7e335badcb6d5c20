//! A node that has met its group allocates nothing more to seal and to open than an open one does to send and to read.

extern crate alloc;

mod world;

use core::time::Duration;
use stats_alloc::{INSTRUMENTED_SYSTEM, Region, StatsAlloc};
use std::alloc::System;
use world::World;

#[global_allocator]
static ALLOCATOR: &StatsAlloc<System> = &INSTRUMENTED_SYSTEM;

/// Allocations of a group of 8 in 200 s, after it has met and has run for as long.
fn allocations(sealed: bool) -> (usize, u64, u64) {
    let mut world = World::new(8, sealed);
    world.pass(Duration::from_secs(200));
    for node in &world.nodes {
        assert_eq!(node.membership().table().live(), 7);
    }
    world.reset_counts();
    let region = Region::new(ALLOCATOR);
    world.pass(Duration::from_secs(200));
    let change = region.change();
    let made = change.allocations + change.reallocations;
    (made, world.datagrams, world.bytes)
}

// One test, because the allocator counts for all threads.
#[test]
fn sealing_allocates_nothing_more_than_the_open_form() {
    let (open, datagrams, bytes) = allocations(false);
    let (sealed, sealed_datagrams, sealed_bytes) = allocations(true);
    println!("open: {open} allocations, {datagrams} datagrams, {bytes} bytes");
    println!("sealed: {sealed} allocations, {sealed_datagrams} datagrams, {sealed_bytes} bytes");
    assert_eq!(sealed, open);
    // Neither form allocates for each datagram.
    assert!(open as u64 <= datagrams / 8, "{open}");
    // The same is said, in 26 bytes more each.
    assert_eq!(datagrams, sealed_datagrams);
    assert_eq!(sealed_bytes, bytes + 26 * datagrams);
}
