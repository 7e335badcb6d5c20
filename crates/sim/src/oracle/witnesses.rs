//! Answers of witnesses of locks. I4: a request that a waiting node consented to comes before its own. I6: of two
//! requests that a witness remembers, the later was told of the earlier. I8: no young witness counts, and no former
//! life next to a mature one. L6: an answer names nobody twice, nor the asking node, nor more nodes than contend.

use super::{Oracle, Verdict, violated};
use crate::world::{HostState, World};
use alloc::collections::{BTreeMap, BTreeSet};
use consort_proto::mutex::{Heard, LockId, Mode, Msg, ReqId, Witnessed};
use consort_proto::wire::{Datagram, Frame};

/// Checks every answer that is sent and, periodically, what all nodes remember.
#[derive(Debug, Default)]
pub struct Witnesses {
    /// Number of contenders at a host before the current step: an answer may be older than the end of others.
    before: BTreeMap<(usize, LockId), usize>,
}

impl Oracle for Witnesses {
    fn on_send(&mut self, world: &World, host: usize, datagram: &Datagram, _: usize) -> Verdict {
        let node = world.host(host).node().mutex();
        for frame in &datagram.frames {
            let Frame::Mutex(Msg::Reply(reply)) = frame else {
                continue;
            };
            let named: BTreeSet<ReqId> = reply.names.iter().map(|n| n.req).collect();
            let before = self.before.get(&(host, reply.lock)).map_or(0, |n| *n);
            // The node itself may contend, too.
            let contenders = node.entries(reply.lock).count().max(before) + 1;
            if named.len() < reply.names.len() || named.len() > contenders {
                let text = format!("{} names of {contenders} contenders", reply.names.len());
                return violated("L6", world, host, text);
            }
        }
        Ok(())
    }

    fn after_step(&mut self, world: &World, host: usize) -> Verdict {
        let node = world.host(host).node().mutex();
        for lock in node.locks() {
            self.before.insert((host, lock), node.entries(lock).count());
        }
        Ok(())
    }

    fn sample(&mut self, world: &World) -> Verdict {
        for host in world.up() {
            for lock in world.host(host).node().mutex().locks() {
                passes_first(world, host, lock)?;
                for heard in world.host(host).node().mutex().answers(lock) {
                    let Some(witness) = world.index_of(heard.from) else {
                        continue;
                    };
                    is_told(world, host, lock, witness, &heard)?;
                    is_grown(world, host, witness, &heard)?;
                }
            }
        }
        Ok(())
    }
}

/// I4.
fn passes_first(world: &World, host: usize, lock: LockId) -> Verdict {
    let node = world.host(host).node().mutex();
    let Some(in_front) = node.in_front(lock) else {
        return Ok(());
    };
    let passes = |e: &Witnessed| e.passes && !share(node.mode(lock), e.mode);
    let first =
        |e: &Witnessed| in_front.iter().any(|n| n.req == e.req) || node.knows_over(lock, e.req);
    // Notes of finished requests do not last for ever.
    let mut passed = node.entries(lock).filter(|e| goes_on(world, lock, e.req));
    match passed.find(|e| passes(e) && !first(e)) {
        Some(e) => violated(
            "I4",
            world,
            host,
            format!("let {:?} pass, not first", e.req),
        ),
        None => Ok(()),
    }
}

/// I6.
fn is_told(world: &World, host: usize, lock: LockId, witness: usize, heard: &Heard<'_>) -> Verdict {
    let (me, other) = (world.host(host).node(), world.host(witness).node());
    let same_life = other.membership().life() == heard.life;
    let mine = (other.mutex().entries(lock)).find(|e| e.req.node == me.id() && heard.is_of(e));
    let Some(mine) = mine.filter(|_| same_life) else {
        return Ok(());
    };
    let mut earlier = (other.mutex().entries(lock))
        .filter(|e| e.number < mine.number && !share(Some(mine.mode), e.mode))
        .filter(|e| goes_on(world, lock, e.req));
    match earlier.find(|e| heard.names.iter().all(|n| n.req != e.req)) {
        Some(e) => {
            let text = format!("node {witness} did not tell of {:?}", e.req);
            violated("I6", world, host, text)
        }
        None => Ok(()),
    }
}

/// I8.
fn is_grown(world: &World, host: usize, witness: usize, heard: &Heard<'_>) -> Verdict {
    let node = world.host(witness).node();
    let runs = world.host(witness).state() == HostState::Up;
    let grown = runs && node.mutex().is_mature();
    let good = match heard.life == node.membership().life() {
        true => !runs || grown || !heard.mature,
        false => !grown,
    };
    if good {
        return Ok(());
    }
    let text = format!("counts on node {witness} in its life {:?}", heard.life);
    violated("I8", world, host, text)
}

fn share(mine: Option<Mode>, other: Mode) -> bool {
    (mine, other) == (Some(Mode::Shared), Mode::Shared)
}

/// Whether the process that made a request still pursues it.
fn goes_on(world: &World, lock: LockId, req: ReqId) -> bool {
    let Some(owner) = world.index_of(req.node) else {
        return false;
    };
    let node = world.host(owner).node();
    let asks = node.mutex().requested(lock).is_some_and(|r| r.0 == req.ctr);
    asks && world.host(owner).state() == HostState::Up && node.membership().life() == req.life
}
