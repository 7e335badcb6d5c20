//! Sequences of operations on three nodes: commands, datagrams that arrive, get lost, are doubled, altered or overtake each
//! other, time that passes, disks that fail, processes that end.

use crate::net::{BY_COMPONENT, ELECTION, LOCKS, NODES, Net, addr, id};
use arbitrary::{Arbitrary, Unstructured};
use consort_proto::election::Order;
use consort_proto::mutex::{self, LockId, Mode, Wait};
use consort_proto::{Command, membership};
use std::time::Duration;

/// The most operations of an input.
const OPS_MAX: usize = 400;

/// The operations of an input: whether the group has a key, whether its members have met, and what happens.
#[derive(Debug)]
pub struct Ops {
    sealed: bool,
    warm: bool,
    list: Vec<Op>,
}

/// One operation. Numbers are taken modulo what there is.
#[derive(Clone, Copy, Debug)]
pub enum Op {
    /// A datagram arrives, and others later.
    Deliver(u8),
    /// Many datagrams arrive in order.
    DeliverAll(u8),
    /// A datagram is lost.
    Drop(u8),
    /// All datagrams to a node are lost.
    Deafen(u8),
    /// A datagram arrives, and will arrive again.
    Double(u8),
    /// A bit of a datagram changes.
    Alter(u8, u8),
    /// A node handles what is due after some milliseconds.
    Wait(u8, u8),
    /// All nodes handle what is due after some tenths of a second, and no datagram arrives.
    WaitAll(u8),
    /// Time passes on a network that loses nothing.
    Pass(u8),
    Acquire(u8, u8),
    Release(u8, u8),
    Campaign(u8, u8),
    StepDown(u8, u8),
    Hold(u8, u8),
    Tell(u8, u8),
    Join(u8, u8),
    Leave(u8),
    ForceLeave(u8, u8),
    Break(u8, u8),
    Look(u8, u8),
    Tags(u8, u8),
    Nap(u8, u8),
    Disk(u8),
    Restart(u8, u8),
}

impl Op {
    fn new([kind, a, b]: [u8; 3]) -> Op {
        match kind % 24 {
            0 => Op::Deliver(a),
            1 => Op::DeliverAll(a),
            2 => Op::Drop(a),
            3 => Op::Deafen(a),
            4 => Op::Double(a),
            5 => Op::Alter(a, b),
            6 => Op::Wait(a, b),
            7 => Op::WaitAll(a),
            8 => Op::Pass(a),
            9 => Op::Acquire(a, b),
            10 => Op::Release(a, b),
            11 => Op::Campaign(a, b),
            12 => Op::StepDown(a, b),
            13 => Op::Hold(a, b),
            14 => Op::Tell(a, b),
            15 => Op::Join(a, b),
            16 => Op::Leave(a),
            17 => Op::ForceLeave(a, b),
            18 => Op::Break(a, b),
            19 => Op::Look(a, b),
            20 => Op::Tags(a, b),
            21 => Op::Nap(a, b),
            22 => Op::Disk(a),
            _ => Op::Restart(a, b),
        }
    }
}

impl<'a> Arbitrary<'a> for Op {
    fn arbitrary(u: &mut Unstructured<'a>) -> arbitrary::Result<Op> {
        Ok(Op::new(u.arbitrary()?))
    }
}

impl<'a> Arbitrary<'a> for Ops {
    fn arbitrary(u: &mut Unstructured<'a>) -> arbitrary::Result<Ops> {
        let how = u8::arbitrary(u)?;
        let mut list = Vec::new();
        // Every three bytes are an operation, so that seeds can be written by hand.
        while u.len() >= 3 && list.len() < OPS_MAX {
            list.push(u.arbitrary()?);
        }
        Ok(Ops {
            sealed: how & 1 != 0,
            warm: how & 2 != 0,
            list,
        })
    }
}

/// A byte of settings, and three for every operation.
pub fn node_ops(data: &[u8]) {
    thread_local! {
        static OPEN: Net = Net::warm(false, false);
        static SEALED: Net = Net::warm(true, false);
    }
    let Ok(ops) = Ops::arbitrary_take_rest(Unstructured::new(data)) else {
        return;
    };
    let mut net = match (ops.warm, ops.sealed) {
        (false, sealed) => Net::new(sealed),
        (true, false) => OPEN.with(Clone::clone),
        (true, true) => SEALED.with(Clone::clone),
    };
    let debug = std::env::var_os("FUZZ_DEBUG").is_some();
    for op in ops.list {
        if debug {
            eprintln!("{} {op:?} ({} under way)", net.now, net.flying.len());
        }
        apply(&mut net, ops.sealed, op);
    }
}

fn apply(net: &mut Net, sealed: bool, op: Op) {
    let node = |a: u8| usize::from(a) % NODES;
    let ms = |b: u8| Duration::from_millis(u64::from(b) * u64::from(b) / 8);
    let election = |b: u8| match b & 1 {
        0 => ELECTION,
        _ => BY_COMPONENT,
    };
    let flying = |net: &Net, a: u8| {
        Some(usize::from(a) % net.flying.len().max(1)).filter(|_| !net.flying.is_empty())
    };
    match op {
        Op::Deliver(a) => {
            if let Some(at) = flying(net, a) {
                net.deliver(at);
            }
        }
        Op::DeliverAll(a) => {
            for _ in 0..usize::from(a).min(net.flying.len()) {
                net.deliver(0);
            }
        }
        Op::Drop(a) => {
            if let Some(at) = flying(net, a) {
                net.flying.remove(at);
            }
        }
        Op::Deafen(a) => net.flying.retain(|f| f.to != node(a)),
        Op::Double(a) => {
            if let Some(at) = flying(net, a) {
                let flight = net.flying[at].clone();
                net.flying.push(flight);
                net.deliver(at);
            }
        }
        Op::Alter(a, b) => {
            if let Some(at) = flying(net, a) {
                // In a group without a key, whoever can alter a datagram is believed.
                net.trusted &= sealed;
                let bytes = &mut net.flying[at].bytes;
                let at = usize::from(b) * 7 % bytes.len();
                bytes[at] ^= 1 << (a % 8);
            }
        }
        Op::Wait(a, b) => {
            net.now = net.now + ms(b);
            net.fire(node(a));
        }
        Op::WaitAll(a) => {
            net.now = net.now + Duration::from_millis(u64::from(a) * 100);
            for n in 0..NODES {
                net.fire(n);
            }
        }
        Op::Pass(a) => net.pass(Duration::from_millis(u64::from(a) * 20)),
        Op::Acquire(a, b) => {
            let mode = match b & 2 {
                0 => Mode::Exclusive,
                _ => Mode::Shared,
            };
            let wait = match b & 12 {
                4 => Wait::Try,
                8 => Wait::Until(net.now + ms(b)),
                _ => Wait::Forever,
            };
            net.acquire(node(a), usize::from(b & 1), mode, wait);
        }
        Op::Release(a, b) => net.release(node(a), usize::from(b & 1), b & 14 == 14),
        Op::Campaign(a, b) => net.campaign(node(a), election(b), b),
        Op::StepDown(a, b) => net.step_down(node(a), election(b >> 7), b),
        Op::Hold(a, b) => net.command(node(a), Command::Election(Order::Hold(election(b)))),
        Op::Tell(a, b) => net.tell(node(a), b),
        Op::Join(a, b) => net.command(
            node(a),
            Command::Join(vec![addr(usize::from(b) % (NODES + 1))]),
        ),
        Op::Leave(a) => net.command(node(a), Command::Leave),
        Op::ForceLeave(a, b) => net.command(node(a), Command::ForceLeave(id(node(b)))),
        Op::Break(a, b) => {
            let lock = LockId::of(LOCKS[usize::from(b) % LOCKS.len()]);
            net.command(node(a), Command::Lock(mutex::Order::Break(lock)));
        }
        Op::Look(a, b) => {
            let order = mutex::Order::Look(None, u32::from(b));
            net.command(node(a), Command::Lock(order));
        }
        Op::Tags(a, b) => {
            let mut meta = membership::Meta::named(format!("node-{b}"));
            meta.tags.insert("zone".into(), "z".repeat(usize::from(b)));
            net.command(node(a), Command::SetMeta(meta));
        }
        Op::Nap(a, b) => net.command(node(a), Command::Nap(Duration::from_secs(u64::from(b)))),
        Op::Disk(a) => net.break_disk(node(a)),
        Op::Restart(a, b) => net.restart(node(a), b & 1 != 0),
    }
}
