//! Replays the corpora, and some inputs close to them, without a fuzzer: `cargo test` in fuzz/ needs no special flags.

use std::fs;
use std::path::Path;

/// Mutated seeds of each target. The fuzzer finds more; these need no instrumented build.
const MUTANTS: usize = 300;

fn seeds(target: &str) -> Vec<(String, Vec<u8>)> {
    let dir = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("corpus")
        .join(target);
    let entries = fs::read_dir(&dir).unwrap_or_else(|e| panic!("{}: {e}", dir.display()));
    let mut paths: Vec<_> = entries.map(|entry| entry.unwrap().path()).collect();
    paths.sort();
    let read = |path: &Path| (path.display().to_string(), fs::read(path).unwrap());
    paths.iter().map(|path| read(path)).collect()
}

/// Seeds with bytes changed, removed, doubled or taken from another one; always the same ones.
fn mutant(seeds: &[(String, Vec<u8>)], n: usize) -> Vec<u8> {
    let mut state = n as u64;
    let mut below = |max: usize| {
        state = consort_proto::mix(state.wrapping_add(1));
        state as usize % max.max(1)
    };
    let mut bytes = seeds[below(seeds.len())].1.clone();
    for _ in 0..1 + below(6) {
        let at = below(bytes.len());
        let other = &seeds[below(seeds.len())].1;
        match below(5) {
            _ if bytes.is_empty() => bytes.clone_from(other),
            0 => bytes[at] ^= 1 << below(8),
            1 => bytes[at] = [0, 1, 0x7f, 0x80, 0xff][below(5)],
            2 => drop(bytes.drain(at..(at + 1 + below(8)).min(bytes.len()))),
            3 => bytes.extend_from_slice(&other[below(other.len())..]),
            _ => bytes.extend_from_within(at..),
        }
    }
    bytes.truncate(4096);
    bytes
}

fn replay(target: &str) {
    let (_, run) = consort_fuzz::TARGETS
        .into_iter()
        .find(|t| t.0 == target)
        .unwrap();
    let seeds = seeds(target);
    assert!(seeds.len() >= 10, "{} seeds", seeds.len());
    // Shown when it fails.
    for (path, bytes) in &seeds {
        println!("{path}");
        run(bytes);
    }
    for n in 0..MUTANTS {
        let bytes = mutant(&seeds, n);
        println!("mutant {n}: {bytes:?}");
        run(&bytes);
    }
}

macro_rules! replayed {
    ($($target:ident)*) => { $(
        #[test]
        fn $target() {
            replay(stringify!($target));
        }
    )* };
}

replayed!(datagram_open datagram_sealed frame state config http_body node_ops);
