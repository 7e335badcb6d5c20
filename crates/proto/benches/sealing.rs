//! Work for `benches/sealing-cost`: a group that has met, open or sealed, and datagrams of strangers.
//!
//!     cargo bench -p consort-proto --bench sealing -- open|sealed NODES [junk COUNT]
//!
//! Without valgrind it prints times instead of instructions.

extern crate alloc;

#[path = "../tests/world/mod.rs"]
mod world;

use consort_proto::{Instant, Node};
use core::net::SocketAddr;
use core::time::Duration;
use world::World;

/// What a driver does with a datagram of somebody who is no member.
#[inline(never)]
fn junked_receive(node: &mut Node, now: Instant, from: SocketAddr, bytes: &[u8]) {
    node.handle_bytes(now, from, bytes);
}

/// Datagrams of a stranger who knows what a header looks like: of random contents, in the name of nobody or of a member.
fn junk(world: &mut World, count: u32, kind: &str) -> Duration {
    let mut draw = 0x5eed_u64;
    let mut random = move || {
        draw ^= draw << 13;
        draw ^= draw >> 7;
        draw ^= draw << 17;
        draw
    };
    let from = SocketAddr::from(([10, 9, 9, 9], 9));
    let mut bytes: Vec<u8> = (0..300).map(|_| random() as u8).collect();
    let mut spent = Duration::ZERO;
    let mut now = Instant::ZERO + Duration::from_secs(1000);
    let start = world.start;
    for _ in 0..count {
        // Slow enough that all are looked at.
        now = now + Duration::from_millis(3);
        for byte in bytes.iter_mut() {
            *byte = random() as u8;
        }
        if kind == "forged" {
            // It begins as those of the group do.
            bytes[..2].copy_from_slice(&start);
        }
        let start = std::time::Instant::now();
        junked_receive(&mut world.nodes[0], now, from, &bytes);
        spent += start.elapsed();
    }
    spent
}

fn main() {
    let args: Vec<String> = std::env::args()
        .skip(1)
        .filter(|a| a != "--bench")
        .collect();
    let sealed = args.first().is_some_and(|a| a == "sealed");
    let nodes = args.get(1).and_then(|n| n.parse().ok()).unwrap_or(16);
    let mut world = World::new(nodes, sealed);
    world.pass(Duration::from_secs(100));
    world.reset_counts();
    if let Some(kind) = args.get(2) {
        let count = args.get(3).and_then(|n| n.parse().ok()).unwrap_or(10_000);
        let spent = junk(&mut world, count, kind);
        println!("{count} {:?}", spent / count);
        return;
    }
    let start = std::time::Instant::now();
    world.pass(Duration::from_secs(100));
    let each = start.elapsed() / world.datagrams.max(1) as u32;
    println!("{} {} {each:?}", world.datagrams, world.bytes);
}
