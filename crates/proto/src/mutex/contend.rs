//! What a node does for its own requests: ask, count what is said, hold, renew, pass on.

use super::ablation::Ablation;
use super::event::{Event, Grounds, Loss, Refusal, Ticket};
use super::fence::TURNS_MAX;
use super::lock::{Lock, millis, to};
use super::msg::{Asked, Msg, Name, Reply, Request};
use super::request::{Done, Hold, Own, Peer, Phase, Resolution, Wait, Waiter, Wit};
use super::shared::Shared;
use super::{FanOut, Fence, Mode, MutexCx, Peers, Service};
use crate::id::{Life, NodeId};
use crate::protocol::Sender;
use crate::time::Instant;
use alloc::collections::BTreeMap;
use alloc::vec::Vec;
use core::net::SocketAddr;
use core::time::Duration;

/// Groups up to this size are asked as a whole.
const ALL_MAX: usize = 64;
/// How many more than a majority larger groups are asked.
const SLACK: u16 = 16;
/// Longest time between two questions to the one in the way.
const BLOCKER_RTO_MAX: Duration = Duration::from_secs(1);

impl Lock {
    /// A local request (H1).
    pub(super) fn acquire(
        &mut self,
        cx: &mut MutexCx<'_>,
        sh: &mut Shared,
        peers: &dyn Peers,
        waiter: Waiter,
    ) {
        let ttl = waiter.policy.ttl.unwrap_or(sh.config.ttl);
        let refusal = if sh.leaving {
            Some(Refusal::Leaving)
        } else if ttl > sh.config.ttl_max || ttl < sh.config.guard * 10 {
            Some(Refusal::Ttl)
        } else if self.queue.len() >= usize::from(sh.config.waiters_max) {
            Some(Refusal::Full)
        } else {
            None
        };
        if let Some(why) = refusal {
            return self.refuse(cx, &waiter, why);
        }
        if self.can_join(&waiter) {
            return self.join(cx, waiter);
        }
        if self.own.is_some() || !self.queue.is_empty() || !sh.synced {
            if waiter.wait == Wait::Try {
                let why = if sh.synced {
                    Refusal::Busy
                } else {
                    Refusal::NotReady
                };
                return self.refuse(cx, &waiter, why);
            }
            self.queue.push_back(waiter);
            return;
        }
        self.start(cx, sh, peers, waiter);
    }

    fn refuse(&self, cx: &mut MutexCx<'_>, waiter: &Waiter, why: Refusal) {
        cx.emit(Event::Refused {
            lock: self.id,
            ticket: waiter.ticket,
            why,
        });
    }

    /// Whether a local reader can share what local readers hold: unless somebody waits.
    fn can_join(&self, waiter: &Waiter) -> bool {
        let held = |own: &Own| own.mode() == Mode::Shared && !own.waits();
        waiter.mode == Mode::Shared
            && self.own.as_ref().is_some_and(held)
            && self.queue.is_empty()
            && !self.table.values().any(|e| e.deferred)
    }

    fn join(&mut self, cx: &mut MutexCx<'_>, waiter: Waiter) {
        if let Some(own) = &mut self.own
            && let Phase::Held(hold) = own.phase
        {
            cx.emit(granted(self.id, &waiter, &hold));
            own.waiters.push(waiter);
        }
    }

    /// Starts the next local request, if there is one and nothing is under way.
    pub(super) fn next(&mut self, cx: &mut MutexCx<'_>, sh: &mut Shared, peers: &dyn Peers) {
        if self.own.is_none()
            && sh.synced
            && let Some(waiter) = self.queue.pop_front()
        {
            self.start(cx, sh, peers, waiter);
        }
    }

    fn start(&mut self, cx: &mut MutexCx<'_>, sh: &mut Shared, peers: &dyn Peers, waiter: Waiter) {
        let prio = self.place(sh, &waiter);
        self.heard = prio;
        sh.advance(cx, prio.seq());
        sh.ctr += 1;
        let ttl = waiter.policy.ttl.unwrap_or(sh.config.ttl);
        let deadline = match waiter.wait {
            Wait::Forever => None,
            Wait::Try => Some(cx.now + sh.rto() * 2),
            Wait::Until(at) => Some(at),
        };
        let rivals = self
            .table
            .iter()
            .filter(|(_, e)| !e.mode.admits(waiter.mode));
        let rivals: Vec<Name> = rivals.map(|(id, e)| e.name(*id, cx.now)).collect();
        let own = Own {
            ctr: sh.ctr,
            prio,
            stamp: prio,
            attempt: 1,
            ttl,
            phase: Phase::Wait,
            waiters: Vec::from([waiter]),
            deadline,
            asked: BTreeMap::new(),
            contenders: rivals.iter().map(|n| (n.req.node, *n)).collect(),
            selfblock: rivals,
        };
        let mut targets = targets(&own, sh, cx.now, peers);
        for rival in &own.selfblock {
            if !targets.iter().any(|t| t.0 == rival.req.node) {
                targets.push((rival.req.node, rival.addr));
            }
        }
        self.own = Some(own);
        self.ask(cx, sh, &targets);
        self.check(cx, sh, peers);
    }

    /// A place in the queue behind all that were heard of.
    fn place(&self, sh: &Shared, waiter: &Waiter) -> Fence {
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

    /// Asks those that were not asked yet, as part of the attempt under way.
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
        let room = usize::from(sh.config.contenders_max) + sh.window(cx.now) as usize;
        for (id, addr) in targets {
            if *id != sh.me && !own.asked.contains_key(id) && own.asked.len() < room {
                let addr = addr.filter(|_| !sh.census.is_here(*id));
                own.asked.insert(*id, Peer::new(addr, sh.rto(), 0));
                new.push(*id);
            }
        }
        self.send(cx, sh, &new);
    }

    /// Sends the request as it is to some that were asked.
    fn send(&mut self, cx: &mut MutexCx<'_>, sh: &mut Shared, ids: &[NodeId]) {
        let Some(own) = &mut self.own else {
            return;
        };
        if ids.is_empty() {
            return;
        }
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
            peer.note_sent(own.attempt, cx.now);
            peer.next_at = cx.now + peer.rto;
            peer.rto = (peer.rto * 3 / 2).min(own.ttl / 4).max(sh.config.retry);
            if !sh.census.is_here(*id) {
                peer.next_at = cx.now + own.ttl / 4;
            }
            cx.send(to(*id, peer.addr), Msg::Request(request));
        }
    }

    /// Asks everybody again; what was said before does not count (H3).
    pub(super) fn fresh_round(&mut self, cx: &mut MutexCx<'_>, sh: &mut Shared) {
        let Some(own) = &mut self.own else {
            return;
        };
        if sh.lacks(Ablation::FreshRound) {
            return;
        }
        sh.stats.fresh_rounds += 1;
        own.attempt += 1;
        for peer in own.asked.values_mut() {
            peer.forget(own.attempt);
        }
        let all: Vec<NodeId> = own.asked.keys().copied().collect();
        self.send(cx, sh, &all);
    }

    /// An answer (H3).
    pub(super) fn on_reply(
        &mut self,
        cx: &mut MutexCx<'_>,
        sh: &mut Shared,
        peers: &dyn Peers,
        from: &Sender,
        mut reply: Reply,
    ) {
        let now = cx.now;
        let mine = |own: &&mut Own| own.ctr == reply.ctr && reply.life == sh.life;
        let Some(own) = self.own.as_mut().filter(mine) else {
            return;
        };
        let waits = own.waits();
        let latest = reply.names.iter().map(|n| n.seq).max().unwrap_or(0);
        if !sh.see(reply.floor.seq()) || !sh.see(latest) {
            return;
        }
        if waits {
            self.floor = self.floor.max(reply.floor);
        }
        let Some(peer) = own.asked.get_mut(&from.id) else {
            return;
        };
        let sent_at = peer
            .sent_at(reply.attempt)
            .filter(|_| reply.attempt >= peer.attempt_min)
            .max(sh.lacks(Ablation::Attempts).then_some(now));
        let valid_until = sent_at.map(|at| at + sh.config.usable(own.ttl));
        let (Some(sent_at), Some(valid_until)) = (sent_at, valid_until.filter(|v| *v > now)) else {
            sh.stats.replies_stale += 1;
            return;
        };
        if !peer.assemble(&mut reply) {
            return;
        }
        reply.names.sort_unstable_by_key(Name::prio);
        if peer.sends.last().is_some_and(|s| s.0 == reply.attempt) {
            sh.note_round_trip(now.since(sent_at));
            // A young witness will soon count: ask it again as if it had not answered.
            if reply.mature {
                peer.rto = sh.rto();
                peer.next_at = sent_at + own.ttl / 3;
            }
        }
        if reply.consent {
            let better = peer.consent.is_none_or(|c| c.0 <= reply.attempt);
            if better {
                let forever = sh.lacks(Ablation::ConsentLease).then_some(Instant::MAX);
                peer.consent = Some((reply.attempt, forever.unwrap_or(valid_until)));
            }
        }
        // A request of its own that came before ours and that it names no more is over: it heard of ours
        // only after it had made that one.
        let over = own.contenders.get(&from.id).filter(|n| {
            let listed = reply.names.iter().any(|l| l.req == n.req);
            n.req.life == from.life && n.prio() < own.prio && !listed
        });
        if let Some(ctr) = over.map(|n| n.req.ctr) {
            own.settle(from.id, from.life, ctr);
            self.finish(sh, now, from.id, from.life, ctr);
        }
        let named: Vec<(NodeId, Option<SocketAddr>)> =
            reply.names.iter().map(|n| (n.req.node, n.addr)).collect();
        let extra: Vec<_> = reply
            .extra
            .iter()
            .map(|(id, addr)| (*id, Some(*addr)))
            .collect();
        let blocked = !reply.consent;
        if self.take_wit(sh, from, reply, valid_until) && waits {
            self.fresh_round(cx, sh);
        }
        self.ask(cx, sh, &named);
        self.ask(cx, sh, &extra);
        let trying = |own: &Own| own.waits() && own.waiters.iter().any(|w| w.wait == Wait::Try);
        if blocked && self.own.as_ref().is_some_and(trying) {
            return self.give_up(cx, sh, peers, Refusal::Busy);
        }
        self.check(cx, sh, peers);
    }

    /// Takes what a witness says. Whether a contender that was in the way is gone without a word.
    fn take_wit(&mut self, sh: &Shared, from: &Sender, reply: Reply, valid_until: Instant) -> bool {
        let Some(own) = &mut self.own else {
            return false;
        };
        for name in &reply.names {
            self.heard = self.heard.max(name.prio());
            let known = own.contenders.entry(name.req.node).or_insert(*name);
            if (known.req.life, known.req.ctr) < (name.req.life, name.req.ctr) {
                *known = *name;
            }
        }
        let Some(peer) = own.asked.get_mut(&from.id) else {
            return false;
        };
        let old = match peer.wit.take() {
            Some(old) if old.life == from.life => {
                let older = reply.grant_no == old.grant_no && reply.attempt < old.attempt
                    || reply.grant_no != old.grant_no && reply.attempt <= old.attempt;
                if older {
                    peer.wit = Some(old);
                    return false;
                }
                Some(old)
            }
            _ => None,
        };
        let same_entry = old.as_ref().is_some_and(|o| o.grant_no == reply.grant_no);
        let mut names = reply.names;
        let over = |d: &Done, n: &Name| d.life == n.req.life && n.req.ctr <= d.ctr;
        names.retain(|n| !self.done.get(&n.req.node).is_some_and(|d| over(d, n)));
        let mut gone = Vec::new();
        if let Some(old) = old {
            let listed = |list: &[Name], name: &Name| {
                let at = list.binary_search_by_key(&name.prio(), Name::prio);
                at.is_ok_and(|at| list[at].req == name.req)
            };
            gone = old
                .names
                .iter()
                .filter(|n| !listed(&names, n))
                .copied()
                .collect();
            if same_entry {
                // Those that came after us were told of us: they are not in our way.
                names.retain(|n| listed(&old.names, n));
            }
        }
        peer.wit = Some(Wit {
            life: from.life,
            attempt: reply.attempt,
            grant_no: reply.grant_no,
            stamp: reply.stamp,
            mature: reply.mature,
            window: reply.window,
            valid_until,
            names,
        });
        gone.iter()
            .any(|n| own.resolution(sh, &self.done, n) == Resolution::No)
    }

    /// Looks whether what was said is enough (H4), or still is (H5).
    pub(super) fn check(&mut self, cx: &mut MutexCx<'_>, sh: &mut Shared, peers: &dyn Peers) {
        let Some(own) = &mut self.own else {
            return;
        };
        let (upper, source) = own.upper(sh, cx.now);
        let ready = own.ready_until(sh, &self.done, upper);
        let ready = ready.filter(|(until, _)| *until > cx.now);
        // Also who needs nobody else holds for no longer than a lease at a time.
        let lease = cx.now + sh.config.usable(own.ttl);
        let ready = ready.map(|(until, counted)| (until.min(lease), counted));
        if let Phase::Held(hold) = own.phase {
            return self.review(
                cx,
                sh,
                peers,
                hold,
                ready,
                Grounds {
                    bound: upper,
                    source,
                    counted: 0,
                },
            );
        }
        let Some((until, counted)) = ready else {
            return self.press(cx, sh);
        };
        let shared = own.mode() == Mode::Shared;
        let free = sh.lacks(Ablation::Claim) || sh.lacks(Ablation::Recording);
        if !shared && own.stamp <= self.floor && !free {
            // The claim: a majority records a greater token before it is used (A11).
            sh.stats.claims += 1;
            let seq = self.floor.seq() + 1;
            own.stamp = Fence::new(seq, own.prio.place(), sh.me);
            own.attempt += 1;
            sh.advance(cx, seq);
            let all: Vec<NodeId> = own.asked.keys().copied().collect();
            self.send(cx, sh, &all);
            if self.own.as_ref().is_some_and(|own| own.asked.is_empty()) {
                self.check(cx, sh, peers);
            }
            return;
        }
        let mut token = if shared { self.floor } else { own.stamp };
        if token <= self.floor && sh.lacks(Ablation::Recording) {
            token = Fence::new(self.floor.seq() + 1, own.prio.place(), sh.me);
        }
        let hold_max = own.policy().and_then(|p| p.hold_max);
        let hold_end = hold_max.map_or(Instant::MAX, |span| cx.now + span);
        let hold = Hold {
            token,
            turns: 0,
            valid_until: until.min(hold_end),
            renew_at: cx.now + own.ttl / 3,
            grounds: Grounds {
                bound: upper,
                source,
                counted,
            },
            grace: None,
            hold_end,
        };
        own.phase = Phase::Held(hold);
        own.deadline = None;
        sh.stats.grants += 1;
        for waiter in &own.waiters {
            cx.emit(granted(self.id, waiter, &hold));
        }
        while shared && self.queue.front().is_some_and(|w| w.mode == Mode::Shared) {
            if let Some(waiter) = self.queue.pop_front() {
                self.join(cx, waiter);
            }
        }
    }

    /// Asks the one in the way again, soon.
    fn press(&mut self, cx: &mut MutexCx<'_>, sh: &mut Shared) {
        let Some(own) = &mut self.own else {
            return;
        };
        let Some(blocker) = own.blocker(sh, &self.done) else {
            return;
        };
        if let Some(peer) = own.asked.get_mut(&blocker) {
            let last = peer.sends.last().map_or(cx.now, |s| s.1);
            peer.next_at = peer
                .next_at
                .min(last + peer.rto.min(BLOCKER_RTO_MAX))
                .max(cx.now);
        }
        // When it should have been forgotten, ask those who named it.
        for peer in own.asked.values_mut() {
            let named = |w: &Wit| {
                w.names
                    .iter()
                    .find(|n| n.req.node == blocker)
                    .map(|n| n.left_ms)
            };
            if let Some(left) = peer.wit.as_ref().and_then(named) {
                let last = peer.sends.last().map_or(cx.now, |s| s.1);
                let over = last + Duration::from_millis(u64::from(left)) + sh.config.guard;
                peer.next_at = peer.next_at.min(over.max(cx.now + sh.config.guard));
            }
        }
    }

    /// Whether the grant still stands (H5).
    fn review(
        &mut self,
        cx: &mut MutexCx<'_>,
        sh: &mut Shared,
        peers: &dyn Peers,
        mut hold: Hold,
        ready: Option<(Instant, u32)>,
        grounds: Grounds,
    ) {
        let Some(own) = &mut self.own else {
            return;
        };
        let before = hold.valid_until;
        hold.renew_at = cx.now + own.ttl / 3;
        if let Some((until, counted)) = ready {
            hold.grounds = Grounds { counted, ..grounds };
            hold.grace = None;
            hold.valid_until = until.min(hold.hold_end);
        } else if grounds.bound > hold.grounds.bound
            && let Some((until, _)) = own.ready_until(sh, &self.done, hold.grounds.bound)
        {
            // The group has grown. Newcomers count for nobody yet: there is time to ask them.
            let grace = *hold.grace.get_or_insert(cx.now + own.ttl / 3);
            hold.valid_until = until.min(hold.hold_end).min(grace);
        } else {
            hold.valid_until = cx.now;
        }
        own.phase = Phase::Held(hold);
        if hold.valid_until <= cx.now {
            let why = if hold.hold_end <= cx.now {
                Loss::HeldTooLong
            } else {
                Loss::Expired
            };
            return self.lose(cx, sh, peers, why);
        }
        if hold.valid_until > before {
            cx.emit(Event::Renewed {
                lock: self.id,
                valid_until: hold.valid_until,
            });
        }
    }

    /// Deadlines of the request under way, and of those behind it.
    pub(super) fn poll(&mut self, cx: &mut MutexCx<'_>, sh: &mut Shared, peers: &dyn Peers) {
        let now = cx.now;
        let id = self.id;
        self.queue.retain(|w| {
            let over = matches!(w.wait, Wait::Until(at) if at <= now);
            if over {
                let why = Refusal::Timeout;
                cx.emit(Event::Refused {
                    lock: id,
                    ticket: w.ticket,
                    why,
                });
            }
            !over
        });
        let Some(own) = &mut self.own else {
            return;
        };
        for peer in own.asked.values_mut() {
            sh.stats.lapses += u64::from(peer.lapse(now));
        }
        if own.waits() && own.deadline.is_some_and(|d| d <= now) {
            return self.give_up(cx, sh, peers, Refusal::Timeout);
        }
        self.check(cx, sh, peers);
        let Some(own) = &mut self.own else {
            return;
        };
        if let Phase::Held(hold) = own.phase
            && hold.hold_end <= hold.valid_until
        {
            // It ends then, renewed or not.
            own.asked
                .values_mut()
                .for_each(|p| p.next_at = Instant::MAX);
            own.phase = Phase::Held(Hold {
                renew_at: Instant::MAX,
                ..hold
            });
            return;
        }
        let due = own.asked.iter().filter(|(_, p)| p.next_at <= now);
        let due: Vec<NodeId> = due.map(|(id, _)| *id).collect();
        if due.is_empty() {
            return;
        }
        own.attempt += 1;
        self.send(cx, sh, &due);
        self.widen(cx, sh, peers);
    }

    /// Asks more members when those asked do not answer.
    fn widen(&mut self, cx: &mut MutexCx<'_>, sh: &mut Shared, peers: &dyn Peers) {
        let Some(own) = self.own.as_ref().filter(|own| own.waits()) else {
            return;
        };
        let answered = own.asked.values().filter(|p| p.wit.is_some()).count();
        let (upper, _) = own.upper(sh, cx.now);
        if answered > upper as usize / 2 {
            return;
        }
        let mut more = candidates(own, sh, peers);
        more.retain(|(id, _)| !own.asked.contains_key(id));
        more.truncate(usize::from(SLACK));
        self.ask(cx, sh, &more);
    }

    /// A member has come: it may be needed.
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

    /// A node speaks in a new life: what it said and asked for before is void (H2).
    pub(super) fn on_life(
        &mut self,
        cx: &mut MutexCx<'_>,
        sh: &mut Shared,
        peers: &dyn Peers,
        id: NodeId,
        life: Life,
    ) {
        if let Some(own) = &mut self.own {
            if let Some(peer) = own.asked.get_mut(&id) {
                peer.forget(own.attempt);
                peer.next_at = peer.next_at.min(cx.now + sh.config.retry);
            }
            own.contenders.remove(&id);
        }
        self.done.retain(|node, d| *node != id || d.life >= life);
        let former = self.table.get(&id).is_some_and(|e| e.life < life);
        if former && !sh.config.zombie_safe {
            self.expire(cx, sh, peers, id);
        }
        self.check(cx, sh, peers);
    }

    /// A local request ends: released, cancelled, or stopped after it lost the lock (H6).
    pub(super) fn release(
        &mut self,
        cx: &mut MutexCx<'_>,
        sh: &mut Shared,
        peers: &dyn Peers,
        ticket: Ticket,
    ) {
        if self.stopped(cx, sh, ticket) {
            return;
        }
        self.queue.retain(|w| w.ticket != ticket);
        let Some(own) = &mut self.own else {
            return;
        };
        let before = own.waiters.len();
        let cohort = own.policy().map_or(0, |p| p.cohort);
        let Some(at) = own.waiters.iter().position(|w| w.ticket == ticket) else {
            return;
        };
        if before > 1 {
            own.waiters.remove(at);
            return;
        }
        if let Phase::Held(mut hold) = own.phase {
            let limit = if self.table.values().any(|e| e.deferred) {
                cohort.min(TURNS_MAX)
            } else {
                TURNS_MAX
            };
            let next = self.queue.front().filter(|w| w.mode == Mode::Exclusive);
            if own.mode() == Mode::Exclusive
                && hold.turns < limit
                && next.is_some_and(|n| n.policy.bound == own.waiters[0].policy.bound)
                && let Some(next) = self.queue.pop_front()
            {
                // The lock stays here for the next local waiter; the token grows.
                hold.turns += 1;
                hold.token = own.stamp.turn(hold.turns);
                hold.hold_end = next
                    .policy
                    .hold_max
                    .map_or(Instant::MAX, |span| cx.now + span);
                own.phase = Phase::Held(hold);
                sh.stats.hand_overs += 1;
                cx.emit(granted(self.id, &next, &hold));
                own.waiters = Vec::from([next]);
                let silent = |p: &&mut Peer| p.next_at == Instant::MAX;
                own.asked
                    .values_mut()
                    .filter(silent)
                    .for_each(|p| p.next_at = cx.now);
                return self.check(cx, sh, peers);
            }
        }
        self.end(cx, sh, peers);
        self.next(cx, sh, peers);
    }

    /// A holder is gone, but its work may go on: the lock is kept until the lease is over, not renewed.
    pub(super) fn abandon(
        &mut self,
        cx: &mut MutexCx<'_>,
        sh: &mut Shared,
        peers: &dyn Peers,
        ticket: Ticket,
    ) {
        let of = |w: &&mut Waiter| w.ticket == ticket;
        if let Some(own) = &mut self.own
            && let Phase::Held(mut hold) = own.phase
            && let Some(waiter) = own.waiters.iter_mut().find(of)
        {
            waiter.abandoned = true;
            hold.hold_end = hold.valid_until;
            own.phase = Phase::Held(hold);
            return;
        }
        // Lost already: nobody will say that the work has stopped.
        if !self.forget_stopping(ticket) {
            self.release(cx, sh, peers, ticket);
        }
    }

    /// Ends the request under way and tells everybody.
    fn end(&mut self, cx: &mut MutexCx<'_>, sh: &mut Shared, peers: &dyn Peers) {
        let Some(own) = self.own.take() else {
            return;
        };
        if let Phase::Held(hold) = own.phase {
            self.raise_floor(hold.token);
        }
        for (id, peer) in &own.asked {
            self.send_release(cx, sh, *id, peer.addr, own.ctr);
        }
        self.let_pass(cx, sh, peers);
    }

    /// The request under way does not get the lock.
    fn give_up(&mut self, cx: &mut MutexCx<'_>, sh: &mut Shared, peers: &dyn Peers, why: Refusal) {
        let waiters = self
            .own
            .as_ref()
            .map_or(Vec::new(), |own| own.waiters.clone());
        self.end(cx, sh, peers);
        for waiter in &waiters {
            self.refuse(cx, waiter, why);
        }
        self.next(cx, sh, peers);
    }

    /// The lease is over: the holder must stop. Others are told when it did.
    pub(super) fn lose(
        &mut self,
        cx: &mut MutexCx<'_>,
        sh: &mut Shared,
        peers: &dyn Peers,
        why: Loss,
    ) {
        let Some(own) = self.own.take() else {
            return;
        };
        sh.stats.losses += 1;
        if let Phase::Held(hold) = own.phase {
            self.raise_floor(hold.token);
        }
        for waiter in &own.waiters {
            cx.emit(Event::Lost {
                lock: self.id,
                ticket: waiter.ticket,
                why,
            });
        }
        self.stops_later(&own);
        self.let_pass(cx, sh, peers);
        self.next(cx, sh, peers);
    }

    /// An operator broke the lock: holders lose it, those who wait start again.
    pub(super) fn on_break(
        &mut self,
        cx: &mut MutexCx<'_>,
        sh: &mut Shared,
        peers: &dyn Peers,
        floor: Fence,
    ) {
        if floor <= self.floor {
            return;
        }
        self.raise_floor(floor);
        self.table.clear();
        match self.own.as_ref().map(Own::waits) {
            Some(false) => self.lose(cx, sh, peers, Loss::Broken),
            Some(true) => self.restart(cx, sh, peers),
            None => {}
        }
    }

    /// This node speaks in another life: what it asked for before is void.
    pub(super) fn on_reborn(&mut self, cx: &mut MutexCx<'_>, sh: &mut Shared, peers: &dyn Peers) {
        match self.own.as_ref().map(Own::waits) {
            Some(false) => self.lose(cx, sh, peers, Loss::Reborn),
            Some(true) => self.restart(cx, sh, peers),
            None => {}
        }
    }

    /// Asks anew, in front of the local queue.
    fn restart(&mut self, cx: &mut MutexCx<'_>, sh: &mut Shared, peers: &dyn Peers) {
        let waiter = self.own.as_mut().and_then(|own| own.waiters.pop());
        self.end(cx, sh, peers);
        if let Some(waiter) = waiter {
            self.start(cx, sh, peers, waiter);
        }
    }

    /// This node leaves its group.
    pub(super) fn leave(&mut self, cx: &mut MutexCx<'_>, sh: &mut Shared, peers: &dyn Peers) {
        self.refuse_all(cx, Refusal::Leaving);
        match self.own.as_ref().map(Own::waits) {
            Some(false) => self.lose(cx, sh, peers, Loss::Leaving),
            Some(true) => self.give_up(cx, sh, peers, Refusal::Leaving),
            None => {}
        }
    }
}

fn granted(lock: super::LockId, waiter: &Waiter, hold: &Hold) -> Event {
    Event::Granted {
        lock,
        ticket: waiter.ticket,
        mode: waiter.mode,
        token: hold.token,
        valid_until: hold.valid_until,
        grounds: hold.grounds,
    }
}

/// Members that can stand behind a grant, the nearest first.
fn candidates(own: &Own, sh: &Shared, peers: &dyn Peers) -> Vec<(NodeId, Option<SocketAddr>)> {
    let bound = own.bound(sh);
    let able = sh.census.present().filter(|id| bound.admits(*id));
    let mut able: Vec<(NodeId, Option<SocketAddr>)> = able.map(|id| (id, None)).collect();
    able.sort_by(|a, b| peers.distance(a.0).total_cmp(&peers.distance(b.0)));
    able
}

/// Whom a request asks first.
fn targets(
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
