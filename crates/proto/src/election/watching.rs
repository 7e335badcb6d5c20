//! Watching: a member's answers to leases of others, its notice at the end of a promise, how candidates use such
//! notices, and how a leader chooses its watchers.

use super::claim::{Claim, Token};
use super::msg::Msg;
use super::race::Race;
use super::tenure::{STRETCH, Word};
use super::view::Env;
use super::{ElectionCx, TimerKind};
use crate::id::{Life, NodeId};
use crate::lease::{Extend, Known, Rank, Renew, Told, Verdict, WATCHERS_MAX, Watcher, Watchers};
use crate::membership::{Member, Phase};
use crate::protocol::{Fact, Sender, To};
use alloc::boxed::Box;
use alloc::collections::BTreeSet;
use alloc::vec::Vec;
use core::time::Duration;

/// The number of candidates that hear of the end of a promise at once.
const HEIRS: usize = 3;

/// Groups above this size have five watchers.
const LARGE: usize = 32;

impl Race {
    /// Handles a request for the lease or its renewal.
    pub(super) fn on_renew(
        &mut self,
        cx: &mut ElectionCx<'_>,
        env: Env<'_>,
        from: &Sender,
        renew: &Renew,
    ) {
        let &Renew {
            token,
            set,
            span,
            seq,
            ..
        } = renew;
        let known = Known { set, span };
        let election = self.id;
        let memory = self.tenure.watch.me().memory;
        // A promise that cannot be stored is not made; the holder asks again.
        let before = env.storage.failed.then(|| self.tenure.watch.clone());
        match (self.tenure.watch.on_renew(env.now, renew), before) {
            (Verdict::Ack { store: true }, Some(before)) => self.tenure.watch = before,
            (Verdict::Ack { store }, _) => {
                if store {
                    cx.persist(Fact::Lease(election, Box::new(*self.tenure.watch.record())));
                }
                let life = from.life;
                let granted = Msg::Granted {
                    election,
                    memory,
                    life,
                    seq,
                };
                cx.send(from.reply_to(), granted);
                self.tenure.words.remove(&env.me);
                self.note_known(cx, env, known);
                self.set_promise_timer(cx, env);
            }
            (Verdict::Refuse { refusal, tell }, _) => {
                let refused = Msg::Refused {
                    election,
                    memory,
                    refusal,
                };
                cx.send(from.reply_to(), refused);
                let asks = |c: &Claim| c.key.token == token;
                if let Some(holder) = tell.filter(|h| h.node != env.me)
                    && let Some(claim) = self.claim.filter(asks)
                {
                    cx.send(To::Node(holder.node), Msg::Claim(election, claim));
                }
            }
        }
        // Tell the requester about a greater claim or a greater set.
        if let Some(held) = self.claim.filter(|c| c.key.token > token) {
            cx.send(from.reply_to(), Msg::Claim(election, held));
        }
        if let Some(known) = self.tenure.known.filter(|k| k.set.rank > set.rank) {
            cx.send(from.reply_to(), Msg::Watchers(election, Box::new(known)));
        }
    }

    /// Handles a renewal in short form.
    pub(super) fn on_extend(
        &mut self,
        cx: &mut ElectionCx<'_>,
        env: Env<'_>,
        from: &Sender,
        extend: &Extend,
    ) {
        match self.tenure.watch.expand(env.now, extend) {
            Ok(renew) => self.on_renew(cx, env, from, &renew),
            Err(refusal) => {
                let refused = Msg::Refused {
                    election: self.id,
                    memory: self.tenure.watch.me().memory,
                    refusal,
                };
                cx.send(from.reply_to(), refused);
            }
        }
    }

    /// Handles a holder's release of its lease.
    pub(super) fn on_release(
        &mut self,
        cx: &mut ElectionCx<'_>,
        env: Env<'_>,
        from: &Sender,
        token: Token,
    ) {
        if self.tenure.watch.on_release(env.now, from.holder(), token) {
            self.announce_free(cx, env);
        }
    }

    pub(super) fn set_promise_timer(&self, cx: &mut ElectionCx<'_>, env: Env<'_>) {
        if let Some((_, until)) = self.tenure.watch.promised(env.now) {
            cx.set_timer(self.timer(TimerKind::Promise), until);
        }
    }

    /// Handles the timer of this node's promise: announces that the promise is over, or continues the exchange of
    /// records after a restart.
    pub(super) fn on_promise(&mut self, cx: &mut ElectionCx<'_>, env: Env<'_>) {
        if self.tenure.watch.is_uninformed() {
            self.exchange(cx, env);
        }
        if self.tenure.watch.promised(env.now).is_some() {
            self.set_promise_timer(cx, env);
        } else if self.tenure.watch.is_ready(env.now) {
            self.announce_free(cx, env);
        }
    }

    /// Tells the other watchers and the best candidates that this node's promise is over.
    pub(super) fn announce_free(&mut self, cx: &mut ElectionCx<'_>, env: Env<'_>) {
        let me = self.tenure.watch.me();
        let Some(known) = self.tenure.known.filter(|k| k.set.names(me)) else {
            return;
        };
        let mut told: BTreeSet<NodeId> = known.set.all().map(|w| w.node).collect();
        let (best, _) = env.best(self.id, HEIRS, |e| !e.suspect);
        told.extend(best.iter().map(|e| e.id));
        told.remove(&env.me);
        let (election, memory) = (self.id, me.memory);
        for id in told {
            let notice = Msg::Notice {
                election,
                memory,
                left: Duration::ZERO,
            };
            cx.send(To::Node(id), notice);
        }
        self.note_word(env, env.me, memory, true);
        self.review(cx, env);
    }

    /// Answers the question how long this node's promise is still valid.
    pub(super) fn on_look_at(&self, cx: &mut ElectionCx<'_>, env: Env<'_>, from: &Sender) {
        let notice = Msg::Notice {
            election: self.id,
            memory: self.tenure.watch.me().memory,
            left: self.tenure.watch.left(env.now),
        };
        cx.send(from.reply_to(), notice);
    }

    /// Handles a watcher's notice about the rest of its promise.
    pub(super) fn on_notice(
        &mut self,
        cx: &mut ElectionCx<'_>,
        env: Env<'_>,
        from: &Sender,
        memory: Life,
        left: Duration,
    ) {
        self.note_word(env, from.id, memory, left.is_zero());
        if left.is_zero() {
            self.review(cx, env);
        }
    }

    pub(super) fn note_word(&mut self, env: Env<'_>, from: NodeId, memory: Life, free: bool) {
        let listed = || env.view.membership.table().get(from).is_some();
        if from == env.me || listed() {
            let at = env.now;
            self.tenure.words.insert(from, Word { memory, at, free });
        }
    }

    /// Whether a majority of the watchers reported recently that nobody holds the lease.
    pub(super) fn is_free(&self, env: Env<'_>) -> bool {
        let Some(Known { set, span }) = self.tenure.known else {
            return false;
        };
        let me = self.tenure.watch.me();
        set.has_quorum(|w| {
            if *w == me {
                let watch = &self.tenure.watch;
                return watch.is_ready(env.now) && watch.left(env.now).is_zero();
            }
            let word = self.tenure.words.get(&w.node);
            word.is_some_and(|said| {
                said.free && said.memory == w.memory && env.now.since(said.at) <= span / 3
            })
        })
    }

    /// Whether no quorum of the watchers is left, according to membership and the watchers' own reports.
    pub(super) fn is_quorum_lost(&self, env: Env<'_>) -> bool {
        let known = self.tenure.known.as_ref();
        let me = self.tenure.watch.me();
        // A node with another memory is no longer a watcher of this set.
        let reborn = |w: &Watcher| {
            if w.node == me.node {
                return *w != me;
            }
            let word = self.tenure.words.get(&w.node);
            word.is_some_and(|said| said.memory != w.memory)
        };
        known.is_some_and(|k| k.set.lost(|w| env.is_down(w.node) || reborn(w)))
    }

    /// Asks the watchers whether their promises are over.
    pub(super) fn look_at_watchers(&self, cx: &mut ElectionCx<'_>, env: Env<'_>) {
        let Some(known) = &self.tenure.known else {
            return;
        };
        for watcher in known.set.all().filter(|w| w.node != env.me) {
            cx.send(To::Node(watcher.node), Msg::Look(self.id));
        }
    }

    /// Handles the request of a candidate to close the lines below its token.
    pub(super) fn on_close(
        &mut self,
        cx: &mut ElectionCx<'_>,
        env: Env<'_>,
        from: &Sender,
        token: Token,
        set: Option<Rank>,
    ) {
        let (election, memory) = (self.id, self.tenure.watch.me().memory);
        let known = self.tenure.known.map(|k| k.set.rank);
        let held = self.claim.map(|c| (c.key.token, known));
        let held = held.or(known.map(|rank| (rank.by, Some(rank))));
        let before = env.storage.failed.then(|| self.tenure.watch.clone());
        match (
            self.tenure.watch.on_close(env.now, token, set, held),
            before,
        ) {
            (Ok(true), Some(before)) => self.tenure.watch = before,
            (Ok(store), _) => {
                let record = *self.tenure.watch.record();
                // At least the length of any lease that this node promised or holds.
                let own = self.tenure.lease.as_ref().filter(|l| !l.is_over());
                let span = own.map_or(record.span, |l| l.span().max(record.span));
                if store {
                    cx.persist(Fact::Lease(election, Box::new(record)));
                }
                self.raise_floor(cx, env, token.term);
                if self.is_named(env) {
                    // This node's leadership ends together with its line.
                    self.tenure.farewell = Some(None);
                    self.give_up(cx, env);
                }
                // The candidate has to wait until old leases have expired.
                let longest = env.config.lease * STRETCH;
                let most = self.tenure.span(env).max(span).max(longest);
                self.stand_back(cx, env, most * 3 / 2);
                let closed = Msg::Closed {
                    election,
                    token,
                    memory,
                    span,
                };
                cx.send(from.reply_to(), closed);
            }
            (Err(mut refusal), _) => {
                let rank = refusal.set.map(|s| s.rank);
                if let Some(known) = self.tenure.known.filter(|k| Some(k.set.rank) > rank) {
                    refusal.set = Some(known.set);
                    refusal.span = refusal.span.max(known.span);
                }
                let held = self.claim.map(|c| c.key.token);
                refusal.token = refusal.token.max(held);
                let refused = Msg::Refused {
                    election,
                    memory,
                    refusal,
                };
                cx.send(from.reply_to(), refused);
                if let Some(held) = self.claim.filter(|c| c.key.token > token) {
                    cx.send(from.reply_to(), Msg::Claim(election, held));
                }
            }
        }
    }

    /// After a restart, sends this node's record to every member and asks for theirs.
    pub(super) fn exchange(&mut self, cx: &mut ElectionCx<'_>, env: Env<'_>) {
        let heard = &self.tenure.informants;
        let missing: Vec<NodeId> = env.members().map(|m| m.id).collect();
        let missing = missing.into_iter().filter(|id| !heard.contains(id));
        let missing: Vec<NodeId> = missing.take(32).collect();
        if missing.is_empty() && self.tenure.watch.left(env.now).is_zero() {
            self.tenure.watch.on_informed();
            return;
        }
        for id in missing {
            let told = self.told(true);
            cx.send(To::Node(id), told);
        }
        let again = env.now + env.rto() * 2;
        cx.set_timer(self.timer(TimerKind::Promise), again);
    }

    pub(super) fn told(&self, asks: bool) -> Msg {
        let record = self.tenure.watch.record();
        Msg::Told {
            election: self.id,
            token: record.token,
            set: record.set.map(Box::new),
            closed: record.closed,
            span: record.span,
            asks,
        }
    }

    /// Handles the record of another member, which restarted or answers this node.
    pub(super) fn on_told(
        &mut self,
        cx: &mut ElectionCx<'_>,
        env: Env<'_>,
        from: &Sender,
        told: Told,
        asks: bool,
    ) {
        let Told { set, span, .. } = told;
        // A record that cannot be stored is not adopted; the sender tells it again.
        let before = env.storage.failed.then(|| self.tenure.watch.clone());
        match (self.tenure.watch.on_told(&told), before) {
            (true, Some(before)) => {
                self.tenure.watch = before;
                return;
            }
            (true, None) => {
                cx.persist(Fact::Lease(self.id, Box::new(*self.tenure.watch.record())));
            }
            (false, _) => {}
        }
        if let Some(set) = set {
            let span = span.max(env.config.lease);
            self.note_known(cx, env, Known { set, span });
        }
        if asks {
            let told = self.told(false);
            cx.send(from.reply_to(), told);
            if let Some(known) = self.tenure.known {
                let known = Box::new(known);
                cx.send(from.reply_to(), Msg::Watchers(self.id, known));
            }
        } else if env.view.membership.table().get(from.id).is_some() {
            self.on_line_stored(cx, env, from.id, &told);
            self.tenure.informants.insert(from.id);
            if self.tenure.watch.is_uninformed() {
                self.exchange(cx, env);
            }
        }
    }

    /// Replaces watchers that are gone and adjusts their number to the size of the group, as a leader with a valid
    /// lease.
    pub(super) fn review_watchers(&mut self, cx: &mut ElectionCx<'_>, env: Env<'_>) {
        if env.now < self.tenure.review_at || !self.in_office(env.now) {
            return;
        }
        let Some(lease) = &self.tenure.lease else {
            return;
        };
        let (set, span) = (*lease.set(), lease.span());
        self.tenure.review_at = env.now + span;
        if set.is_changing() {
            return;
        }
        let leaves = |id: NodeId| self.tenure.leaving.includes(env, id);
        let gone = |w: &Watcher| env.is_down(w.node) || lease.is_gone(*w) || leaves(w.node);
        let stays: Vec<Watcher> = set.watchers.iter().copied().filter(|w| !gone(w)).collect();
        let (count, own) = self.watchers_due(env);
        let me = self.tenure.watch.me();
        let fits = stays.len() == count && stays.contains(&me) == own;
        if fits && stays.len() == set.watchers.len() {
            return;
        }
        let chosen = self.choose_watchers(env, Some(&stays));
        let complete = chosen.len() == count && chosen.contains(&me) == own;
        let worse = stays.len() < set.watchers.len() && env.config.floor == 0;
        if chosen != set.watchers && (complete || worse) {
            let mut out = Vec::new();
            if let Some(lease) = &mut self.tenure.lease {
                lease.change(env.now, chosen, span, &mut out);
            }
            self.carry_out(cx, env, out);
        }
        if !complete {
            // Members that answer now can be chosen at the next review.
            self.look_for_watchers(cx, env, |id| set.watchers.iter().all(|w| w.node != id));
        }
    }

    /// Asks some members for their promises. Those that answer can be chosen as watchers.
    pub(super) fn look_for_watchers(
        &self,
        cx: &mut ElectionCx<'_>,
        env: Env<'_>,
        eligible: impl Fn(NodeId) -> bool,
    ) {
        let some = env.responders(cx.rng, WATCHERS_MAX * 2, |m| eligible(m.id));
        let (best, _) = env.best(self.id, WATCHERS_MAX, |e| e.id != env.me && !e.suspect);
        let asked: BTreeSet<NodeId> = some.into_iter().chain(best.iter().map(|e| e.id)).collect();
        for id in asked {
            cx.send(To::Node(id), Msg::Look(self.id));
        }
    }

    /// The number of watchers for a group of this size, and whether the leader is one of them.
    pub(super) fn watchers_due(&self, env: Env<'_>) -> (usize, bool) {
        let strict = env.config.floor > 0;
        let rivals = env.candidates(self.id).any(|e| e.id != env.me);
        if !strict && !rivals {
            return (1, true);
        }
        let leaves = |id: NodeId| self.tenure.leaving.includes(env, id);
        let eligible = |m: &&Member| !m.meta.observer && !leaves(m.id);
        // A strict election keeps the watchers of the whole group even if only a part of it is reachable, so that the
        // loss of a few nodes does not remove a majority of them.
        let here = env.members().filter(eligible).count() + 1;
        match here.max(usize::from(env.config.floor)) {
            0 | 1 => (1, true),
            2 => (1, false),
            3 => (3, true),
            n if n > LARGE || strict && n >= 6 => (5, false),
            _ => (3, false),
        }
    }

    /// Chooses watchers: first those that stay, then the best candidates after the leader, then near members, from
    /// different zones where possible. Only members heard recently are chosen, because their memories are known.
    pub(super) fn choose_watchers(&self, env: Env<'_>, stays: Option<&[Watcher]>) -> Watchers {
        let me = self.tenure.watch.me();
        let (count, own) = self.watchers_due(env);
        let mut chosen: Vec<Watcher> = Vec::new();
        if own {
            chosen.push(me);
        }
        let stays = stays.unwrap_or_default();
        chosen.extend(stays.iter().copied().filter(|w| w.node != env.me));
        let recent = self.tenure.span(env) * 3;
        let memory = |id: NodeId| {
            let word = self.tenure.words.get(&id)?;
            (env.now.since(word.at) <= recent).then_some(word.memory)
        };
        let (best, _) = env.best(self.id, usize::MAX, |e| e.id != env.me && !e.suspect);
        let rank = |id: NodeId| best.iter().position(|e| e.id == id).unwrap_or(usize::MAX);
        let mut others: Vec<&Member> = env
            .members()
            .filter(|m| m.phase == Phase::Up && !m.meta.observer && memory(m.id).is_some())
            .filter(|m| !self.tenure.leaving.includes(env, m.id))
            .collect();
        others.sort_by_key(|m| (rank(m.id), m.rtt.srtt_us, m.id));
        let zone = |id: NodeId| {
            let listed = env.view.membership.table().get(id);
            listed
                .and_then(|m| m.meta.tags.get("zone"))
                .map(|z| z.as_str())
        };
        for apart in [true, false] {
            for m in &others {
                let taken = |w: &Watcher| w.node == m.id;
                let near = |w: &Watcher| zone(m.id).is_some() && zone(w.node) == zone(m.id);
                if chosen.len() >= count || chosen.iter().any(taken) {
                    continue;
                }
                if !apart || !chosen.iter().any(near) {
                    let node = m.id;
                    chosen.extend(memory(node).map(|memory| Watcher { node, memory }));
                }
            }
        }
        chosen.truncate(count);
        if chosen.is_empty() || (chosen.len() < count && chosen.len().is_multiple_of(2)) {
            chosen.push(me);
        }
        chosen.into_iter().collect()
    }
}
