//! The contenders that answers name, and answers in pieces.

use super::*;

/// Limits datagrams to `names` names of this size, in addition to the rest of an answer.
fn small(c: &mut Cluster, names: usize) {
    for host in c.hosts.values_mut() {
        host.mutex.shared.frames_max = 88 + names * 32;
    }
}

fn names(packet: &Packet) -> Vec<u64> {
    match &packet.msg {
        Msg::Reply(r) => r.names.iter().map(|n| n.req.node.0).collect(),
        other => panic!("{other:?}"),
    }
}

/// I6: the later request is told about the earlier one and needs it, not the other way round.
#[test]
fn who_comes_later_is_not_named() {
    let mut c = Cluster::new(4);
    let mut asked = Vec::new();
    for n in 1..=3 {
        c.acquire(n);
        asked.extend(c.take(|p| p.to == id(4)));
        c.wire.clear();
    }
    let answers = |c: &mut Cluster| -> Vec<Vec<u64>> {
        asked.iter().cloned().for_each(|p| c.deliver(p));
        c.take(|p| is_reply(&p.msg)).iter().map(names).collect()
    };
    let expected: [&[u64]; 3] = [&[], &[1], &[1, 2]];
    assert_eq!(answers(&mut c), expected);
    // The same when all of them ask again.
    assert_eq!(answers(&mut c), expected);
    // A request that was forgotten and repeated is the last one.
    c.step(id(4), |m, cx| {
        m.with_lock(cx, &(), lock(), |lock, cx, sh, peers| {
            lock.expire(cx, sh, peers, id(1))
        });
    });
    let expected: [&[u64]; 3] = [&[2, 3], &[], &[2]];
    assert_eq!(answers(&mut c), expected);
}

/// F5: a node that consented to another request and forgot it learns that it exists, once that request may have used a
/// token above its own place; it is told from then on, whatever its own token is.
#[test]
fn who_comes_later_is_named_when_its_token_matters() {
    let mut c = Cluster::new(4);
    let request = |c: &mut Cluster, n: u64| {
        c.acquire(n);
        let asked = c.take(|p| p.to == id(4)).pop().unwrap();
        c.wire.clear();
        asked
    };
    let (first, second) = (request(&mut c, 1), request(&mut c, 2));
    let raised = |packet: &Packet, by: u64| {
        let mut packet = packet.clone();
        if let Msg::Request(r) = &mut packet.msg {
            r.stamp += by;
            r.attempt += by as u32;
        }
        packet
    };
    let answer = |c: &mut Cluster, packet: &Packet| {
        c.deliver(packet.clone());
        let answer = c.take(|p| is_reply(&p.msg)).pop().unwrap();
        names(&answer)
    };
    assert_eq!(answer(&mut c, &second), [0; 0]);
    assert_eq!(answer(&mut c, &first), [2]);
    assert_eq!(answer(&mut c, &second), [0; 0]);
    assert_eq!(answer(&mut c, &raised(&first, 1)), [2]);
    assert_eq!(answer(&mut c, &second), [1]);
    assert_eq!(answer(&mut c, &raised(&second, 2)), [1]);
}

/// An answer that does not fit into a datagram is sent in pieces, and counts when all have arrived.
#[test]
fn many_contenders_are_named_in_pieces_and_none_is_left_out() {
    let mut c = Cluster::new(20);
    for host in c.hosts.values_mut() {
        host.mutex.shared.frames_max = 172;
    }
    let tickets: Vec<Ticket> = (1..=20).map(|n| c.acquire(n)).collect();
    let mut longest = 0;
    let mut pieces = 0;
    while let Some(p) = c.wire.pop_front() {
        longest = longest.max(crate::wire::frame_len(&p.msg));
        pieces += usize::from(matches!(&p.msg, Msg::Reply(r) if r.piece.is_some()));
        c.deliver(p);
    }
    assert!(
        longest <= 172 && pieces > 100,
        "{longest} bytes, {pieces} pieces"
    );
    for n in 1..=20 {
        assert_eq!(c.holders(), [n]);
        c.release(n, tickets[n as usize - 1]);
        c.deliver_all();
    }
}

/// A later answer may name a waiting contender in another piece, so mixing pieces of two answers would omit it.
#[test]
fn pieces_of_two_answers_to_one_attempt_are_not_mixed() {
    let (mut c, first, second) = two_answers();
    let mixed = [first[0].clone(), second[1].clone()];
    mixed.into_iter().for_each(|p| c.deliver(p));
    assert_eq!(c.named(5, 6), None);
    c.deliver(second[0].clone());
    assert_eq!(c.named(5, 6).unwrap(), [2, 3, 4]);
}

/// A late piece does not discard a newer answer.
#[test]
fn late_pieces_change_nothing() {
    let (mut c, first, second) = two_answers();
    let mixed = [second[1].clone(), first[0].clone(), first[1].clone()];
    mixed.into_iter().for_each(|p| c.deliver(p));
    assert_eq!(c.named(5, 6), None);
    c.deliver(second[0].clone());
    assert_eq!(c.named(5, 6).unwrap(), [2, 3, 4]);
}

/// Node 5 asks node 6, which answers one attempt twice: first it names 1, 2, 3 and 4, then no longer 1.
fn two_answers() -> (Cluster, Vec<Packet>, Vec<Packet>) {
    let mut c = Cluster::new(6);
    small(&mut c, 2);
    let held = c.acquire(1);
    c.deliver_all();
    for n in 2..=4 {
        c.acquire(n);
        c.deliver_all();
    }
    c.acquire(5);
    let asked = c.take(|p| p.from.id == id(5) && p.to == id(6));
    c.wire.clear();
    let answer = |c: &mut Cluster| {
        c.deliver(asked[0].clone());
        c.take(|p| p.from.id == id(6) && p.to == id(5))
    };
    let first = answer(&mut c);
    c.release(1, held);
    for p in c.take(|p| is_release(&p.msg) && p.to == id(6)) {
        c.deliver(p);
    }
    c.wire.clear();
    let second = answer(&mut c);
    let whole = |pieces: &[Packet]| -> Vec<Vec<u64>> { pieces.iter().map(names).collect() };
    assert_eq!(whole(&first), [[1, 2], [3, 4]]);
    assert_eq!(whole(&second), [&[2, 3][..], &[4]]);
    (c, first, second)
}

/// The consent of a node does not depend on the contenders that it names.
#[test]
fn consent_counts_with_the_first_piece() {
    let mut c = Cluster::new(6);
    small(&mut c, 2);
    let held = c.acquire(1);
    c.deliver_all();
    for n in 2..=5 {
        c.acquire(n);
        c.deliver_all();
    }
    let blocks = |c: &Cluster| {
        c.lock_at(5).own.as_ref().unwrap().asked[&id(1)]
            .consent
            .is_none()
    };
    assert!(blocks(&c));
    c.release(1, held);
    let pieces = c.take(|p| p.to == id(5) && is_reply(&p.msg));
    assert!(pieces.len() > 1);
    c.deliver(pieces[0].clone());
    assert!(!blocks(&c));
}

#[test]
fn an_answer_with_a_piece_missing_does_not_count() {
    let mut c = Cluster::new(5);
    small(&mut c, 1);
    c.acquire(1);
    c.deliver_all();
    c.acquire(2);
    c.acquire(3);
    c.deliver_all();
    c.acquire(4);
    for p in c.take(|p| is_request(&p.msg)) {
        c.deliver(p);
    }
    let last =
        |p: &Packet| matches!(&p.msg, Msg::Reply(r) if r.piece.is_some_and(|(i, n)| i + 1 == n));
    assert!(c.take(last).len() >= 4);
    c.deliver_all();
    assert!(
        c.lock_at(4)
            .own
            .as_ref()
            .unwrap()
            .asked
            .values()
            .all(|p| p.testimony.is_none())
    );
}
