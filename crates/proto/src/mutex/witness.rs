//! The role of a witness: it remembers requests of other nodes for a while and tells them about each other.

use super::ablation::Ablation;
use super::lock::{Entry, Lock, millis};
use super::msg::{Asked, Msg, Name, Reply, ReqId, Request};
use super::pieces::{PIECES_MAX, split};
use super::request::{Own, Phase, Resolution};
use super::shared::Shared;
use super::{Fence, MutexCx, Peers};
use crate::encoded::body_len;
use crate::id::{Life, NodeId};
use crate::protocol::Sender;
use crate::time::Instant;
use alloc::boxed::Box;
use alloc::vec::Vec;
use core::time::Duration;

/// The greatest number of bytes of an answer without its names.
const REPLY_LEN: usize = 88;
/// The greatest number of members that are named to a node that knows too few.
const EXTRA_MAX: usize = 8;
/// The greatest number of bytes for such a member.
const EXTRA_LEN: usize = 28;

impl Lock {
    /// Handles a request in any of its roles: first request, repetition, renewal, or recording of a token (H2).
    pub(super) fn on_request(
        &mut self,
        cx: &mut MutexCx<'_>,
        sh: &mut Shared,
        peers: &dyn Peers,
        from: &Sender,
        r: Request,
    ) {
        let ttl = Duration::from_millis(u64::from(r.ttl_ms));
        let sane = r.stamp >= r.prio && r.place < super::PLACES && ttl <= sh.config.ttl_max;
        if !sane || !sh.see(cx.now, r.stamp) {
            sh.stats.requests_refused += 1;
            return;
        }
        let prio = Fence::new(r.prio, r.place, from.id);
        self.heard = self.heard.max(prio);
        // With `zombie_safe`, a request of a former life has to expire first, because its work may continue.
        let in_front = |e: &Entry| match e.life == from.life {
            true => e.ctr > r.ctr || e.ctr == r.ctr && e.broken,
            false => sh.config.zombie_safe,
        };
        if self.is_done(from.id, from.life, r.ctr) || self.table.get(&from.id).is_some_and(in_front)
        {
            return;
        }
        let stamp = Fence::new(r.stamp, r.place, from.id);
        let expires = cx.now + sh.config.remembered(ttl);
        let same = |e: &&mut Entry| e.life == from.life && e.ctr == r.ctr;
        if let Some(entry) = self.table.get_mut(&from.id).filter(same) {
            if entry.attempt < r.attempt {
                entry.attempt = r.attempt;
                entry.answers = 0;
            }
            entry.stamp = entry.stamp.max(stamp);
            entry.expires = entry.expires.max(expires);
            entry.held |= r.held;
            entry.addr = from.addr;
        } else {
            if !self.table.contains_key(&from.id)
                && self.table.len() >= usize::from(sh.config.contenders_max)
            {
                sh.stats.requests_refused += 1;
                return;
            }
            let entry = Entry {
                life: from.life,
                ctr: r.ctr,
                prio,
                stamp,
                mode: r.mode,
                held: r.held,
                attempt: r.attempt,
                number: sh.next_entry(),
                answers: 0,
                expires,
                addr: from.addr,
                deferred: false,
                broken: false,
            };
            if let Some(old) = self.table.insert(from.id, entry) {
                self.forgotten = self.forgotten.wrapping_add(1);
                self.raise_floor(old.may_have_used());
            }
        }
        let consent = self.consents(&r, prio);
        let name = self.table.get_mut(&from.id).map(|entry| {
            entry.deferred = !consent;
            entry.name(from.id, cx.now)
        });
        if let Some(own) = &mut self.own
            && let Some(name) = name
            && consent
            && own.waits()
            && !own.mode().admits(r.mode)
            && !sh.lacks(Ablation::Selfblock)
        {
            // From now on the other request comes first. Without this both could be granted (P2c).
            if !own.selfblock.iter().any(|n| n.req == name.req) {
                own.selfblock.push(name);
            }
            self.ask(cx, sh, &[(from.id, name.addr)]);
        }
        self.reply(cx, sh, peers, from.id, r.asked);
    }

    fn consents(&self, r: &Request, prio: Fence) -> bool {
        match &self.own {
            None => true,
            Some(own) if own.mode().admits(r.mode) => true,
            Some(own) => own.waits() && prio < own.prio,
        }
    }

    /// Answers the request of `id` that is remembered here.
    pub(super) fn reply(
        &mut self,
        cx: &mut MutexCx<'_>,
        sh: &mut Shared,
        peers: &dyn Peers,
        id: NodeId,
        asked: Option<Asked>,
    ) {
        let Some(entry) = self.table.get(&id) else {
            return;
        };
        let room = sh.frames_max.saturating_sub(REPLY_LEN);
        let pieces = split(self.names(sh, cx.now, entry), room);
        let count = pieces.len();
        let Some(entry) = self.table.get_mut(&id) else {
            return;
        };
        if count > 1 {
            // An incomplete answer, or a mixture of two, would be worse than none.
            if count > usize::from(PIECES_MAX) || entry.answers == u8::MAX {
                sh.stats.requests_refused += 1;
                return;
            }
            entry.answers += 1;
        }
        let (entry, forgotten, floor) = (&*entry, self.forgotten, self.floor);
        let listed = sh.window(cx.now);
        let reply = |names, piece, extra| Reply {
            lock: self.id,
            life: entry.life,
            ctr: entry.ctr,
            attempt: entry.attempt,
            grant_no: entry.grant_no(),
            forgotten,
            stamp: entry.stamp.seq(),
            floor,
            consent: !entry.deferred,
            mature: sh.mature,
            window: listed.recent,
            failed: listed.members - listed.recent,
            clock: sh.clock,
            names,
            piece,
            extra,
        };
        let to = crate::protocol::To::At(id, entry.addr);
        for (index, names) in pieces.into_iter().enumerate() {
            let piece = (count > 1).then_some((index as u8, count as u8));
            let told = asked.filter(|_| index == 0).map(|asked| {
                let spare = room.saturating_sub(names.iter().map(body_len).sum());
                extra(sh, peers, id, asked, spare / EXTRA_LEN)
            });
            let answer = reply(names, piece, told.unwrap_or_default());
            cx.send(to, Msg::Reply(Box::new(answer)));
        }
    }

    /// All contenders that have to be out of the way of a remembered request.
    fn names(&self, sh: &Shared, now: Instant, entry: &Entry) -> Vec<Name> {
        let others = self
            .table
            .iter()
            .filter(|(_, e)| entry.is_after(e) && !e.mode.admits(entry.mode));
        let mut names: Vec<Name> = others.map(|(other, e)| e.name(*other, now)).collect();
        if let Some(own) = &self.own
            && !own.mode().admits(entry.mode)
        {
            names.push(own_name(sh, own, now));
        }
        names.sort_unstable_by_key(Name::prio);
        names
    }

    /// Handles the release of a request (H7).
    pub(super) fn on_release(
        &mut self,
        cx: &mut MutexCx<'_>,
        sh: &mut Shared,
        peers: &dyn Peers,
        from: (NodeId, Life),
        ctr: u32,
        floor: Fence,
    ) {
        let (id, life) = from;
        if !sh.see(cx.now, floor.seq()) {
            return;
        }
        self.raise_floor(floor);
        self.finish(sh, cx.now, id, life, ctr);
        if self
            .table
            .get(&id)
            .is_some_and(|e| e.life == life && e.ctr <= ctr)
        {
            self.table.remove(&id);
        }
        if let Some(own) = &mut self.own {
            own.settle(id, life, ctr);
        }
        self.check(cx, sh, peers);
    }

    /// Forgets a request that was not renewed, or whose owner has a new life (H8).
    pub(super) fn expire(
        &mut self,
        cx: &mut MutexCx<'_>,
        sh: &mut Shared,
        peers: &dyn Peers,
        id: NodeId,
    ) {
        let Some(entry) = self.table.remove(&id) else {
            return;
        };
        sh.stats.expired += 1;
        self.forgotten = self.forgotten.wrapping_add(1);
        self.raise_floor(entry.may_have_used());
        let mut first = None;
        if let Some(own) = &mut self.own {
            first = own.blocker(sh, &self.done).filter(|n| n.req.node == id);
            let in_the_way =
                |n: &Name| n.req.node == id && own.resolution(sh, &self.done, n) == Resolution::No;
            if own.selfblock.iter().any(in_the_way) && !sh.lacks(Ablation::FreshRound) {
                // It may have used a token that only other nodes know (F5, F6).
                own.fresh_from = own.attempt + 1;
            }
            own.selfblock.retain(|n| n.req.node != id);
        }
        if let Some(name) = first {
            self.ask_about(cx, sh, &name);
        }
        self.check(cx, sh, peers);
    }

    /// Forgets expired requests.
    pub(super) fn clean(&mut self, cx: &mut MutexCx<'_>, sh: &mut Shared, peers: &dyn Peers) {
        let now = cx.now;
        self.done.retain(|_, d| d.keep_until > now);
        let over = self.table.iter().filter(|(_, e)| e.expires <= now);
        let over: Vec<NodeId> = over.map(|(id, _)| *id).collect();
        for id in over {
            self.expire(cx, sh, peers, id);
        }
    }

    /// Sends consent to all nodes that wait for this node (H6).
    pub(super) fn let_pass(&mut self, cx: &mut MutexCx<'_>, sh: &mut Shared, peers: &dyn Peers) {
        let waiting = self
            .table
            .iter()
            .filter(|(_, e)| e.deferred && e.expires > cx.now);
        let mut waiting: Vec<(Fence, NodeId)> = waiting.map(|(id, e)| (e.prio, *id)).collect();
        waiting.sort_unstable();
        for (_, id) in waiting {
            if let Some(entry) = self.table.get_mut(&id) {
                entry.deferred = false;
            }
            self.reply(cx, sh, peers, id, None);
        }
    }
}

fn own_name(sh: &Shared, own: &Own, now: Instant) -> Name {
    let left = match own.phase {
        Phase::Wait => own.ttl,
        Phase::Held(hold) => hold.valid_until.since(now),
        Phase::Stopping(stopping) => stopping.by.since(now),
    };
    Name {
        req: ReqId {
            node: sh.me,
            life: sh.life,
            ctr: own.ctr,
        },
        seq: own.prio.seq(),
        place: own.prio.place(),
        mode: own.mode(),
        left_ms: millis(left),
        addr: None,
    }
}

/// Members that are not in `asked`, so that the requester may not know them.
fn extra(
    sh: &Shared,
    peers: &dyn Peers,
    id: NodeId,
    asked: Asked,
    room: usize,
) -> Vec<(NodeId, core::net::SocketAddr)> {
    let unknown = sh
        .census
        .present()
        .filter(|m| *m != id && !asked.may_have(*m));
    let with_addr = |m: NodeId| peers.addr(m).map(|addr| (m, addr));
    unknown
        .filter_map(with_addr)
        .take(room.min(EXTRA_MAX))
        .collect()
}
