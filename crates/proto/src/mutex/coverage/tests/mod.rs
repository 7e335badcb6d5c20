//! The bound against exact sums, and what counts as a sample.

mod graphs;

use super::*;
use alloc::vec::Vec;
use core::net::Ipv4Addr;

const ADDR: SocketAddr = SocketAddr::new(core::net::IpAddr::V4(Ipv4Addr::LOCALHOST), 7717);

#[test]
fn a_list_that_has_all_samples_covers_most() {
    let factor = |m| 1.0 / lower_bound(m, 0, DELTA);
    assert!((factor(40) - 1.41).abs() < 0.005, "{}", factor(40));
    assert!((factor(100) - 1.15).abs() < 0.005, "{}", factor(100));
    // All m hit: share^m = delta.
    for m in [1, 2, 20, 40, 100, 1000] {
        let exact = libm::pow(DELTA, 1.0 / f64::from(m));
        assert!((lower_bound(m, 0, DELTA) - exact).abs() < 1e-12, "{m}");
    }
}

#[test]
fn a_list_of_half_is_hardly_ever_taken_for_more() {
    // 2^-40, and the sum of C(40, 0..=4) = 1 + 40 + 780 + 9880 + 91390 over 2^40.
    let all = 1.0 / (1_u64 << 40) as f64;
    assert!((at_most(40, 0, 0.5) / all - 1.0).abs() < 1e-9);
    assert!((at_most(40, 4, 0.5) / (102_091.0 * all) - 1.0).abs() < 1e-9);
    assert!(102_091.0 * all < 1e-7);
}

/// C(m, i), exactly.
fn choose(m: u32, i: u32) -> u128 {
    (0..i).fold(1, |c, k| c * u128::from(m - k) / u128::from(k + 1))
}

#[test]
fn the_bound_is_where_the_exact_sum_is_delta() {
    for m in 1..=SAMPLES {
        for b in 0..m {
            for delta in [1e-6, 1e-3, 0.05] {
                let share = lower_bound(m, b, delta);
                // As powers and exact integers, without logarithms.
                let term = |i: u32| {
                    choose(m, i) as f64
                        * libm::pow(1.0 - share, f64::from(i))
                        * libm::pow(share, f64::from(m - i))
                };
                let sum: f64 = (0..=b).map(term).sum();
                // Halving ends 1e-15 below the root, which may be as small as 2.5e-8.
                assert!((sum / delta - 1.0).abs() < 1e-6, "{m} {b} {delta}: {sum}");
            }
        }
    }
}

#[test]
fn the_bound_is_monotone_and_total() {
    for m in 1..=SAMPLES {
        for b in 0..=m {
            let share = lower_bound(m, b, DELTA);
            assert!((0.0..1.0).contains(&share));
            assert!(b == 0 || share < lower_bound(m, b - 1, DELTA));
            assert!(b == m || share < lower_bound(m + 1, b, DELTA));
        }
    }
    assert_eq!(lower_bound(0, 0, DELTA), 0.0);
    assert_eq!(lower_bound(3, 4, DELTA), 0.0);
    let large = lower_bound(5000, 4800, DELTA); // powers of it are below the smallest float
    assert!((0.025..0.04).contains(&large), "{large}");
}

/// Has one walk under way; returns the answer to it from a node with two neighbours.
fn begin(coverage: &mut Coverage, rng: &mut Rng) -> Sampled {
    let (_, walk) = coverage
        .start(rng, &[NodeId(1), NodeId(2)], NodeId(0), ADDR)
        .unwrap();
    Sampled {
        nonce: walk.nonce,
        degree: 2,
        timely: true,
    }
}

#[test]
fn only_the_first_answer_to_a_walk_of_ours_counts() {
    let rng = &mut Rng::seed(1, 1);
    let mut coverage = Coverage::default();
    assert_eq!(coverage.bound(10), None);
    let sampled = begin(&mut coverage, rng);
    let before = coverage.clone();
    let nonce = sampled.nonce ^ 1;
    let foreign = Sampled { nonce, ..sampled };
    assert_eq!(coverage.on_sample(foreign, NodeId(5), false), None);
    assert_eq!(coverage, before);
    let hint = coverage.on_sample(sampled, NodeId(5), false);
    assert_eq!(hint, Some(NodeId(5)));
    assert_eq!(coverage.bound(10), Some(u32::MAX), "it may cover nothing");
    let after = coverage.clone();
    assert_eq!(coverage.on_sample(sampled, NodeId(6), false), None);
    assert_eq!(coverage, after);
}

#[test]
fn walks_under_way_and_samples_are_bounded() {
    let rng = &mut Rng::seed(1, 2);
    let mut coverage = Coverage::default();
    let first = begin(&mut coverage, rng);
    let second = begin(&mut coverage, rng);
    for _ in 2..=OUTSTANDING_MAX {
        begin(&mut coverage, rng);
    }
    assert_eq!(coverage.outstanding.len(), OUTSTANDING_MAX);
    let given_up = coverage.on_sample(first, NodeId(5), false);
    assert_eq!(given_up, None);
    assert!(coverage.on_sample(second, NodeId(5), false).is_some());

    // The miss goes when 40 others have come.
    for n in 1..=SAMPLES {
        assert_eq!(coverage.counted(), (n, 1));
        let sampled = begin(&mut coverage, rng);
        assert_eq!(coverage.on_sample(sampled, NodeId(1), true), None);
    }
    assert_eq!(coverage.counted(), (SAMPLES, 0));
    assert_eq!(coverage.bound(100), Some(142)); // 100 / 10^(-6/40) = 141.25
    assert_eq!(coverage.start(rng, &[], NodeId(0), ADDR), None);
}

#[test]
fn a_walk_that_ran_out_of_hops_counts_as_a_miss() {
    let rng = &mut Rng::seed(1, 4);
    let mut coverage = Coverage::default();
    let sampled = begin(&mut coverage, rng);
    let timely = false;
    let tired = Sampled { timely, ..sampled };
    assert_eq!(coverage.on_sample(tired, NodeId(1), true), None);
    assert_eq!(coverage.counted(), (1, 1));
}

#[test]
fn a_step_spends_time_and_hops_and_ends() {
    let rng = &mut Rng::seed(1, 3);
    let all: Vec<NodeId> = (1..=3).map(NodeId).collect();
    let walk = Walk {
        origin: NodeId(0),
        origin_addr: ADDR,
        nonce: 7,
        budget: u32::MAX,
        hops: u8::MAX,
    };
    let Step::Forward(_, on) = step(walk, &all, rng) else {
        panic!("256 units of time in one stay of 1/3");
    };
    assert!(on.budget < walk.budget);
    assert_eq!(on.hops, HOPS_MAX - 1, "no more than the limit is granted");
    let end = |degree, timely| Sampled {
        nonce: 7,
        degree,
        timely,
    };
    let spent = Walk { budget: 0, ..walk };
    assert_eq!(step(spent, &all, rng), Step::Sample(spent, end(3, true)));
    let nowhere = step(walk, &[], rng);
    assert_eq!(nowhere, Step::Sample(walk, end(0, true)));
    let tired = Walk { hops: 0, ..walk };
    assert_eq!(step(tired, &all, rng), Step::Sample(tired, end(3, false)));
}

#[test]
fn a_walk_reads_back_and_is_small() {
    let walk = Walk {
        origin: NodeId(u64::MAX),
        origin_addr: ADDR,
        nonce: u32::MAX,
        budget: u32::MAX,
        hops: HOPS_MAX,
    };
    let bytes = postcard::to_allocvec(&walk).unwrap();
    assert_eq!(bytes.len(), 8 + 7 + 5 + 5 + 1);
    assert_eq!(postcard::from_bytes(&bytes), Ok(walk));
    let sampled = Sampled {
        nonce: u32::MAX,
        degree: 2047,
        timely: true,
    };
    let bytes = postcard::to_allocvec(&sampled).unwrap();
    assert_eq!(bytes.len(), 5 + 2 + 1);
    assert_eq!(postcard::from_bytes(&bytes), Ok(sampled));
}
