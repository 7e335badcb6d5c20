//! The member list against a plain map.

use super::super::table::digest_key;
use super::*;
use alloc::collections::BTreeMap;
use proptest::prelude::*;

fn record(id: u64, inc: u32) -> Record {
    Record {
        id: NodeId(id),
        precedence: Precedence::alive(Life(1), Incarnation(inc)),
        accuser: NodeId(id),
        addr: SocketAddr::from(([10, 0, 0, id as u8], 1)),
        meta: SharedMeta::default(),
        coordinate: None,
        nap_ms: 0,
        current: true,
    }
}

#[derive(Clone, Debug)]
enum Op {
    Insert(u64),
    Down(u64),
    Up(u64, u32),
    Expire(u64),
}

fn op() -> impl Strategy<Value = Op> {
    prop_oneof![
        (0..12_u64).prop_map(Op::Insert),
        (0..12_u64).prop_map(Op::Down),
        (0..12_u64, 0..9_u32).prop_map(|(id, inc)| Op::Up(id, inc)),
        (0..200_u64).prop_map(Op::Expire),
    ]
}

proptest! {
    /// The index, the pingable list and the digest agree with a plain map after any history.
    #[test]
    fn the_table_agrees_with_a_plain_map(ops in proptest::collection::vec(op(), 0..80)) {
        let mut table = Table::default();
        let mut model: BTreeMap<u64, (u32, Phase, Instant)> = BTreeMap::new();
        for (n, op) in ops.into_iter().enumerate() {
            let now = Instant::from_micros(n as u64);
            match op {
                Op::Insert(id) => {
                    table.insert(record(id, 0), Phase::Up, now);
                    model.entry(id).or_insert((0, Phase::Up, Instant::MAX));
                }
                Op::Down(id) => {
                    let keep = core::time::Duration::from_micros(50);
                    let expires = now + keep;
                    table.update(NodeId(id), |m| {
                        m.phase = Phase::Down;
                        m.precedence.status = Status::Dead;
                    });
                    table.bury(NodeId(id), now, keep, core::time::Duration::ZERO, 100);
                    if let Some(entry) = model.get_mut(&id) {
                        (entry.1, entry.2) = (Phase::Down, expires);
                    }
                }
                Op::Up(id, inc) => {
                    table.update(NodeId(id), |m| {
                        m.phase = Phase::Up;
                        m.precedence = Precedence::alive(Life(1), Incarnation(inc));
                    });
                    if let Some(entry) = model.get_mut(&id) {
                        (entry.0, entry.1) = (inc, Phase::Up);
                    }
                }
                Op::Expire(us) => {
                    let now = Instant::from_micros(us);
                    table.expire(now);
                    model.retain(|_, e| e.1 != Phase::Down || e.2 > now);
                }
            }
            let ids: Vec<u64> = table.iter().map(|m| m.id.0).collect();
            let expected: Vec<u64> = model.keys().copied().collect();
            prop_assert_eq!(ids, expected);
            let live: Vec<_> = model.iter().filter(|(_, e)| e.1 != Phase::Down).collect();
            prop_assert_eq!(table.live(), live.len());
            let mut listed: Vec<u64> =
                (0..table.live()).map(|i| table.pingable(i).unwrap().id.0).collect();
            listed.sort_unstable();
            prop_assert_eq!(listed, live.iter().map(|(id, _)| **id).collect::<Vec<_>>());
            let digest = live.iter().fold(0, |d, (id, e)| {
                d ^ digest_key(NodeId(**id), Life(1), Incarnation(e.0))
            });
            prop_assert_eq!(table.digest(), digest);
            let by_bucket = table.bucket_digests().iter().fold(0, |d, b| d ^ b);
            prop_assert_eq!(by_bucket, digest as u32);
        }
    }
}
