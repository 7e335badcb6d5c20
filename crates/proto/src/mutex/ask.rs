//! Which members a request asks, when it asks again, and its place in the queue.

use super::lock::{Lock, millis, to};
use super::msg::{Asked, Msg, Name, Request};
use super::request::{Own, Peer, Sent, Waiter};
use super::shared::Shared;
use super::{FanOut, Fence, MutexCx, Peers, Service};
use crate::id::NodeId;
use crate::time::Instant;
use alloc::vec::Vec;
use core::net::SocketAddr;
use core::time::Duration;

/// In groups up to this size all members are asked.
const ALL_MAX: usize = 64;
/// The number of members beyond a majority that are asked in larger groups.
const SLACK: u16 = 16;
/// The number of quick witnesses that are asked whether the last contender in the way is done.
const QUICK: usize = 4;

impl Lock {
    /// A place in the queue behind all known requests.
    pub(super) fn place(&self, sh: &Shared, waiter: &Waiter) -> Fence {
        let last = self.heard.max(self.floor);
        if waiter.policy.service == Service::Elevator && last.seq() > 0 {
            let ahead = Fence::new(last.seq(), sh.place, sh.me);
            if ahead > last {
                return ahead;
            }
            return Fence::new(last.seq() + 1, sh.place, sh.me);
        }
        let place = match waiter.policy.service {
            Service::Elevator => sh.place,
            Service::Arrival => 0,
        };
        Fence::new(sh.clock.max(last.seq()) + 1, place, sh.me)
    }

    /// Sends the current attempt to members that were not asked yet.
    pub(super) fn ask(
        &mut self,
        cx: &mut MutexCx<'_>,
        sh: &mut Shared,
        targets: &[(NodeId, Option<SocketAddr>)],
    ) {
        let Some(own) = &mut self.own else {
            return;
        };
        let mut new = Vec::new();
        let room = usize::from(sh.config.contenders_max) + sh.window(cx.now).recent as usize;
        for (id, addr) in targets {
            if *id != sh.me && !own.asked.contains_key(id) && own.asked.len() < room {
                let addr = addr.filter(|_| !sh.census.is_here(*id));
                own.asked.insert(*id, Peer::new(addr, sh.rto(), 0));
                new.push(*id);
            }
        }
        self.send(cx, sh, &new);
    }

    /// Sends the request to members in `asked`.
    pub(super) fn send(&mut self, cx: &mut MutexCx<'_>, sh: &mut Shared, ids: &[NodeId]) {
        let Some(own) = &mut self.own else {
            return;
        };
        if ids.is_empty() || own.stopping().is_some() {
            return;
        }
        own.ttl = own.ttl.max(sh.lease());
        let valid_until = cx.now + sh.config.usable(own.ttl);
        let (upper, _) = own.upper(sh, cx.now);
        let mut asked = Asked::default();
        own.asked.keys().for_each(|id| asked.add(*id));
        let short = own.waits() && own.asked.len() < upper as usize / 2;
        let request = Request {
            lock: self.id,
            ctr: own.ctr,
            prio: own.prio.seq(),
            stamp: own.stamp.seq(),
            place: own.prio.place(),
            mode: own.mode(),
            held: !own.waits(),
            attempt: own.attempt,
            ttl_ms: millis(own.ttl),
            clock: sh.clock,
            asked: short.then_some(asked),
        };
        for id in ids {
            let Some(peer) = own.asked.get_mut(id) else {
                continue;
            };
            peer.note_sent(Sent {
                attempt: own.attempt,
                at: cx.now,
                valid_until,
                answered: false,
            });
            peer.next_at = cx.now + peer.rto;
            peer.rto = (peer.rto * 3 / 2).min(own.ttl / 4).max(sh.config.retry);
            if !sh.census.is_here(*id) {
                peer.next_at = cx.now + own.ttl / 4;
            }
            cx.send(to(*id, peer.addr), Msg::Request(request));
        }
    }

    /// Asks all members once more whose answers are too old for a grant (H8).
    pub(super) fn fresh_round(&mut self, cx: &mut MutexCx<'_>, sh: &mut Shared) {
        let Some(own) = &mut self.own else {
            return;
        };
        let last = |p: &Peer| p.sends.last().map_or(0, |s| s.attempt);
        let old = (own.asked.iter()).filter(|(_, p)| last(p) < own.fresh_from);
        let old: Vec<NodeId> = old.map(|(id, _)| *id).collect();
        if old.is_empty() {
            return;
        }
        sh.stats.fresh_rounds += 1;
        own.attempt += 1;
        self.send(cx, sh, &old);
    }

    /// Asks all witnesses again that name a contender which this node forgot, because they may have forgotten it too.
    pub(super) fn ask_about(&mut self, cx: &mut MutexCx<'_>, sh: &mut Shared, name: &Name) {
        let Some(own) = &mut self.own else {
            return;
        };
        let those = own.asked.iter().filter(|(_, p)| p.named(name).is_some());
        let those: Vec<NodeId> = those.map(|(id, _)| *id).collect();
        own.attempt += 1;
        self.send(cx, sh, &those);
    }

    /// Asks the contender in the way again soon.
    pub(super) fn press(&mut self, cx: &mut MutexCx<'_>, sh: &mut Shared) {
        let Some(own) = &mut self.own else {
            return;
        };
        let Some(blocker) = own.blocker(sh, &self.done) else {
            return;
        };
        if let Some(peer) = own.asked.get_mut(&blocker.req.node) {
            peer.hurry(cx.now);
        }
        if own.is_next(sh, &self.done, &blocker) {
            // The message that it is done may be lost or delayed, but witnesses nearby may have received it.
            let quick = own
                .asked
                .iter()
                .filter(|(_, p)| p.named(&blocker).is_some());
            let quick = quick.filter_map(|(id, p)| Some((p.trip?, *id)));
            let mut quick: Vec<(Duration, NodeId)> = quick.collect();
            quick.sort_unstable();
            for (_, id) in quick.into_iter().take(QUICK) {
                if let Some(peer) = own.asked.get_mut(&id) {
                    peer.hurry(cx.now);
                }
            }
        }
        // Ask the witnesses that named the contender when they should have forgotten it.
        for peer in own.asked.values_mut() {
            if let Some(name) = peer.named(&blocker) {
                let last = peer.last_sent().unwrap_or(cx.now);
                let left = Duration::from_millis(u64::from(name.left_ms));
                let over = last + left + sh.config.guard;
                peer.next_at = peer.next_at.min(over.max(cx.now + sh.config.guard));
            }
        }
    }

    /// Asks more members if too few of those asked have answered.
    pub(super) fn widen(&mut self, cx: &mut MutexCx<'_>, sh: &mut Shared, peers: &dyn Peers) {
        let Some(own) = self.own.as_ref().filter(|own| own.waits()) else {
            return;
        };
        let answered = own.asked.values().filter(|p| p.testimony.is_some()).count();
        let (upper, _) = own.upper(sh, cx.now);
        if answered > upper as usize / 2 {
            return;
        }
        let mut more = candidates(own, sh, peers);
        more.retain(|(id, _)| !own.asked.contains_key(id));
        more.truncate(usize::from(SLACK));
        self.ask(cx, sh, &more);
    }

    /// Asks a new member if it is needed for the grant.
    pub(super) fn on_up(
        &mut self,
        cx: &mut MutexCx<'_>,
        sh: &mut Shared,
        peers: &dyn Peers,
        id: NodeId,
    ) {
        if let Some(own) = &self.own
            && targets(own, sh, cx.now, peers).iter().any(|t| t.0 == id)
        {
            self.ask(cx, sh, &[(id, None)]);
        }
        self.check(cx, sh, peers);
    }
}

/// The members that can support a grant, nearest first.
fn candidates(own: &Own, sh: &Shared, peers: &dyn Peers) -> Vec<(NodeId, Option<SocketAddr>)> {
    let bound = own.bound(sh);
    let able = sh.census.present().filter(|id| bound.admits(*id));
    let mut able: Vec<(NodeId, Option<SocketAddr>)> = able.map(|id| (id, None)).collect();
    able.sort_by(|a, b| peers.distance(a.0).total_cmp(&peers.distance(b.0)));
    able
}

/// The members that a request asks first.
pub(super) fn targets(
    own: &Own,
    sh: &mut Shared,
    now: Instant,
    peers: &dyn Peers,
) -> Vec<(NodeId, Option<SocketAddr>)> {
    let (upper, _) = own.upper(sh, now);
    let mut all = candidates(own, sh, peers);
    let slack = match own.policy().map_or(FanOut::Auto, |p| p.fan_out) {
        FanOut::All => return all,
        FanOut::Auto if all.len() < ALL_MAX => return all,
        FanOut::Auto => SLACK,
        FanOut::Nearest(slack) => slack,
    };
    all.truncate(upper as usize / 2 + 1 + usize::from(slack));
    all
}
