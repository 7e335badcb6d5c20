//! Worked examples, and the cost of a request.

use super::*;
use proptest::{prop_assert, prop_assert_eq, proptest};

/// Fig. 3.1: with full lists the lower id goes first, the other one when it exits.
#[test]
fn figure_3_1_full_lists() {
    for mode in Mode::ALL {
        let mut net = Desk::full(config(mode), 3);
        net.enter(0);
        net.enter(1);
        net.settle();
        assert_eq!(net.held(), [0], "{mode}");
        net.exit(0);
        net.settle();
        assert_eq!(net.held(), [1]);
        assert_eq!(net.entries(), [0, 1]);
    }
}

/// Fig. 4.3: node 0 makes a request and tells node 1 so, which then makes a request and enters first: no message of
/// the protocol has reached node 1. With full lists node 0 is asked, and goes first.
#[test]
fn figure_4_3_application_messages_outrun_the_protocol() {
    let mut net = Desk::new(config(CameraPaper), &[&[0, 2], &[1, 2], &[0, 1, 2]]);
    net.enter(0);
    // Here the application's message travels from 0 to 1.
    net.enter(1);
    net.round(1, 2);
    assert_eq!(net.held(), [1]);
    net.settle();
    assert_eq!(net.held(), [1]);
    net.exit(1);
    net.settle();
    assert_eq!(net.entries(), [1, 0], "the cause comes second");

    let mut net = Desk::full(config(CameraPaper), 3);
    net.enter(0);
    net.enter(1);
    net.round(1, 2);
    net.deliver(1, 0);
    net.settle();
    assert_eq!(net.entries(), [0]);
}

/// A11: a late request with a low number enters after one with a high number; the pair of number and node is no
/// fencing token.
#[test]
fn a11_numbers_of_entries_may_fall() {
    let lists: &[&[u64]] = &[&[0, 1], &[0, 1, 2], &[1, 2]];
    let mut net = Desk::new(config(CameraPaper), lists);
    for _ in 0..3 {
        net.enter(0);
        net.settle();
        net.exit(0);
        net.settle();
    }
    net.enter(2);
    net.settle();
    let tokens: Vec<u64> = net
        .events
        .iter()
        .filter_map(|e| match e.1 {
            Event::Entered(req) => Some(req.seq),
            _ => None,
        })
        .collect();
    assert_eq!(tokens, [1, 2, 3, 1]);
}

/// D2: answering nodes again that were answered long ago admits one too early.
#[test]
fn d2_old_answers_break_exclusion() {
    for stays in [false, true] {
        let config = Config {
            deferred_stay: stays,
            ..config(RicartAgrawala)
        };
        let mut net = Desk::full(config, 2);
        net.enter(0);
        net.settle();
        net.enter(1);
        net.settle();
        net.exit(0);
        net.settle();
        net.exit(1);
        net.settle();
        net.enter(0);
        net.settle();
        net.exit(0);
        let again = core::mem::take(&mut net.flights);
        assert_eq!(
            again.len(),
            usize::from(stays),
            "an answer to a request that is over"
        );
        net.enter(0);
        net.settle();
        net.enter(1);
        net.settle();
        assert_eq!(net.held(), [0]);
        net.flights = again;
        net.settle();
        assert_eq!(net.scene.violated, stays);
    }
}

proptest! {
    /// L4: 2(N-1) messages for an entry without contention, and N-1 more to announce its end; contention costs no
    /// more. Each node enters once, in order of priority.
    #[test]
    fn a_request_costs_as_counted(nodes in 2_u64..12, requesters in 1_u64..12, mode in 0_usize..3) {
        let mode = Mode::ALL[mode];
        let requesters = requesters.min(nodes);
        for release in [false, true] {
            let config = Config { release, ..config(mode) };
            let mut net = Desk::full(config, nodes).bounded(nodes as u32);
            for id in 0..requesters {
                net.enter(id);
            }
            net.settle();
            while let Some(&id) = net.held().first() {
                net.exit(id);
                net.settle();
            }
            let per_request = (2 + u64::from(release)) * (nodes - 1);
            prop_assert_eq!(net.unicasts as u64, requesters * per_request);
            prop_assert!(net.entries().iter().copied().eq(0..requesters));
            prop_assert!(!net.scene.violated);
        }
    }
}

/// Sizes of the messages, so that a change of encoding is noticed.
#[test]
fn sizes_are_pinned() {
    let r = req(1, 1, 1);
    let sizes = [
        request(r),
        ok(r, &[]),
        ok(r, &[req(2, 1, 1); 3]),
        Msg::Release(r),
    ];
    let sizes = sizes.map(|msg| msg.encoded_len());
    assert_eq!(sizes, [52, 53, 107, 51]);
}
