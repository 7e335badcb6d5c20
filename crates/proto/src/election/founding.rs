//! New lines of watchers: an elected node closes older lines and makes the first set of its own line known.

use super::ElectionCx;
use super::claim::{Claim, Key, Remarks, Stage, Token};
use super::msg::Msg;
use super::race::Race;
use super::view::Env;
use crate::id::{Life, NodeId};
use crate::lease::ablation::Ablation;
use crate::lease::{Closing, Known, Lease, Need, Progress, Set, Told, Watcher, Why};
use crate::protocol::{Fact, To};
use crate::time::Instant;
use alloc::boxed::Box;
use alloc::collections::BTreeSet;
use alloc::vec::Vec;
use core::time::Duration;

/// The greatest number of members told in one step.
const TELL_MAX: usize = 32;

/// The members that stored the first set of a line, in a strict election.
///
/// Two nodes that never heard of a line may both begin one. Each needs answers from a majority, and the two majorities
/// share a node. That node need not be a watcher, so it could answer both. Therefore nobody asks for a lease from the
/// first set of a line before a majority has stored that set: a node that closes lines later reaches a member that
/// knows the set.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct Founding {
    line: Token,
    stored: BTreeSet<NodeId>,
    again_at: Instant,
    /// The time of the last new answer.
    heard_at: Instant,
}

impl Race {
    /// Starts to ask every member to close the lines below this node's token.
    pub(super) fn close(
        &mut self,
        cx: &mut ElectionCx<'_>,
        env: Env<'_>,
        token: Token,
        span: Option<Duration>,
    ) {
        let set = self.tenure.known.map(|k| k.set.rank);
        let (now, rules) = (env.now, self.tenure.rules);
        let mut closing = Closing::new(rules, token, set, span, now);
        match self.tenure.watch.on_close(now, token, set, None) {
            Ok(store) => {
                closing.on_closed(now, self.tenure.watch.me(), self.tenure.watch.record().span);
                if store {
                    cx.persist(Fact::Lease(self.id, Box::new(*self.tenure.watch.record())));
                }
                self.tenure.closing = Some(closing);
            }
            Err(refusal) if refusal.why == Why::Starting => {
                self.tenure.closing = Some(closing);
            }
            Err(refusal) => {
                if let Some(token) = refusal.token {
                    self.raise_floor(cx, env, token.term);
                }
                if let Some(set) = refusal.set {
                    let span = self.tenure.watch.record().span;
                    let span = span.max(crate::lease::SPAN_MIN);
                    self.note_known(cx, env, Known { set, span });
                }
            }
        }
    }

    /// Handles the answer of a member that closed older lines.
    pub(super) fn on_closed(
        &mut self,
        env: Env<'_>,
        from: NodeId,
        token: Token,
        memory: Life,
        span: Duration,
    ) {
        self.note_word(env, from, memory, false);
        let asked = self.tenure.closing.as_mut();
        if let Some(closing) = asked.filter(|c| c.token() == token) {
            let node = from;
            closing.on_closed(env.now, Watcher { node, memory }, span);
        }
    }

    /// Continues to close older lines, and starts to do so if no quorum of the watchers is left. Returns the time of
    /// the next step.
    pub(super) fn drive_closing(
        &mut self,
        cx: &mut ElectionCx<'_>,
        env: Env<'_>,
    ) -> Option<Instant> {
        // A strict election waits for watchers that are gone, and asks a watcher that closed its line to close again.
        let free = env.config.floor == 0 || self.tenure.forgiven;
        let lost = |lease: &Lease| {
            let asks = !lease.is_over() && !lease.is_stopping();
            asks && lease.is_lost(|n| env.is_down(n)) && (free || lease.is_closed())
        };
        if self.tenure.closing.is_none()
            && self.is_named(env)
            && !self.in_office(env.now)
            && self.tenure.lease.as_ref().is_some_and(lost)
            && let Some(claim) = self.claim
        {
            let span = self.tenure.span(env);
            // The former watchers' answers no longer count.
            self.abandon_lease(cx, env);
            self.close(cx, env, claim.key.token, Some(span));
        }
        let strict = env.config.floor > 0 && !self.tenure.forgiven;
        let known = self.tenure.known.filter(|_| strict);
        if known
            .is_some_and(|k| Some(k.set.rank) > self.tenure.closing.as_ref().and_then(Closing::set))
        {
            // A later set is known than the one to be closed: ask its watchers first.
            self.tenure.closing = None;
        }
        let closing = self.tenure.closing.as_mut()?;
        if !closing.has(env.me) && self.tenure.watch.is_ready(env.now) {
            let (token, set) = (closing.token(), closing.set());
            if let Ok(store) = self.tenure.watch.on_close(env.now, token, set, None) {
                closing.on_closed(
                    env.now,
                    self.tenure.watch.me(),
                    self.tenure.watch.record().span,
                );
                if store {
                    cx.persist(Fact::Lease(self.id, Box::new(*self.tenure.watch.record())));
                }
            }
        }
        let mut ask = Vec::new();
        let (now, rto) = (env.now, env.rto());
        let progress = match known {
            Some(Known { set, .. }) => {
                let watchers = set.all().map(|w| w.node);
                closing.on_timer(now, watchers, Need::Quorum(&set), rto, &mut ask)
            }
            None => {
                let need = env.majority().map_or(Need::All, Need::Count);
                let members = env.members().map(|m| m.id).chain([env.me]);
                closing.on_timer(now, members, need, rto, &mut ask)
            }
        };
        let (election, token, set) = (self.id, closing.token(), closing.set());
        for id in ask.into_iter().filter(|id| *id != env.me) {
            let close = Msg::Close {
                election,
                token,
                set,
            };
            cx.send(To::Node(id), close);
        }
        match progress {
            Progress::Asking(at) | Progress::Waiting(at) => Some(at),
            Progress::Ready => self.found_when_watched(cx, env),
            Progress::Vain => {
                self.give_way(cx, env);
                None
            }
        }
    }

    /// Gives up because nobody answers: this node may be unable to receive. It stands back, so that others can lead.
    fn give_way(&mut self, cx: &mut ElectionCx<'_>, env: Env<'_>) {
        let span = self.tenure.span(env) * 4;
        self.tenure.founding = None;
        self.tenure.farewell = Some(None);
        self.give_up(cx, env);
        self.tenure.back_at = env.now + span;
        self.stand_back(cx, env, span);
    }

    /// Begins a new line as soon as members that answered recently can watch it, and returns the time of the next step.
    ///
    /// The last answer may be old, if a member that gave none had to fail first. A node that cannot receive by now would
    /// find no watcher but itself, and lead beside the leader whom the others choose.
    fn found_when_watched(&mut self, cx: &mut ElectionCx<'_>, env: Env<'_>) -> Option<Instant> {
        if self.finds_no_watcher(env) && !self.tenure.rules.lack(Ablation::HeardWatchers) {
            let closing = self.tenure.closing.as_mut()?;
            let at = closing.seek_watchers(env.now, env.rto());
            match at {
                Some(_) => self.look_for_watchers(cx, env, |_| true),
                None => self.give_way(cx, env),
            }
            return at;
        }
        self.found(cx, env);
        None
    }

    /// Whether other members should watch a new line of this node, and none of them answered recently. In a strict
    /// election a majority has to store who watches, so nobody leads there without an answer.
    fn finds_no_watcher(&self, env: Env<'_>) -> bool {
        let alone = self.watchers_due(env) == (1, true);
        let me = self.tenure.watch.me();
        let chosen = || self.choose_watchers(env, None);
        env.config.floor == 0 && !alone && chosen().iter().all(|w| *w == me)
    }

    /// Begins a new line. From now on no other node can act by an older line.
    fn found(&mut self, cx: &mut ElectionCx<'_>, env: Env<'_>) {
        self.tenure.closing = None;
        let forgiven = core::mem::take(&mut self.tenure.forgiven);
        let before = self.tenure.known.filter(|_| !forgiven);
        let Some(claim) = self.claim.filter(|_| self.is_named(env)) else {
            return;
        };
        let token = self
            .next_term(env)
            .and_then(|term| self.own_token(env, term));
        let Some(token) = token else { return };
        let span = self.own_span(env);
        let set = match before {
            Some(Known { set, .. }) if env.config.floor > 0 => set.reopened(token),
            _ => Set::first(token, self.choose_watchers(env, None)),
        };
        let degraded = Remarks::DEGRADED.when(!self.tenure.first);
        let claim = Claim {
            key: Key {
                token,
                stage: Stage::Confirmed,
            },
            remarks: claim.remarks.and(degraded),
            ..claim
        };
        self.abandon_lease(cx, env);
        self.tenure.known = Some(Known { set, span });
        self.adopt(cx, env, claim);
        self.seek(cx, env);
        if let Some(lease) = &mut self.tenure.lease {
            let mut out = Vec::new();
            lease.on_timer(env.now, env.rto(), &mut out);
            self.carry_out(cx, env, out);
        }
    }

    /// Whether a lease may be requested from this set: it follows another set, or a majority has stored it.
    pub(super) fn is_established(&self, env: Env<'_>, set: &Set) -> bool {
        let Some(majority) = env.majority() else {
            return true;
        };
        let founding = self.tenure.founding.as_ref();
        let stored = founding.filter(|f| f.line == set.rank.line);
        set.rank.number > 0 || stored.is_some_and(|f| f.stored.len() >= majority)
    }

    /// Whether this node still makes the first set of its line known, and leads as soon as a majority has stored it.
    pub(super) fn is_founding(&self, env: Env<'_>) -> bool {
        let line = self.tenure.founding.as_ref().map(|f| f.line);
        let known = self.tenure.known.as_ref();
        let founds = |k: &Known| line == Some(k.set.rank.line) && !self.is_established(env, &k.set);
        self.is_named(env) && known.is_some_and(founds)
    }

    /// Starts to make the first set of a line known.
    pub(super) fn establish(&mut self, cx: &mut ElectionCx<'_>, env: Env<'_>, known: Known) {
        let line = known.set.rank.line;
        let founding = self.tenure.founding.as_ref();
        if founding.is_some_and(|f| f.line == line) {
            return;
        }
        let mut stored = BTreeSet::new();
        if self.store_told(cx, env, &known) {
            stored.insert(env.me);
        }
        self.tenure.founding = Some(Founding {
            line,
            stored,
            again_at: env.now,
            heard_at: env.now,
        });
    }

    /// Stores the set at this node like at any other member. Returns whether it is stored.
    fn store_told(&mut self, cx: &mut ElectionCx<'_>, env: Env<'_>, known: &Known) -> bool {
        if env.storage.failed || !self.tenure.watch.is_ready(env.now) {
            return false;
        }
        let told = Told {
            token: Some(known.set.rank.by),
            set: Some(known.set),
            closed: None,
            span: known.span,
        };
        if self.tenure.watch.on_told(&told) {
            cx.persist(Fact::Lease(self.id, Box::new(*self.tenure.watch.record())));
        }
        self.tenure.watch.record().closed <= Some(known.set.rank.line)
    }

    /// Handles the answer of a member that says what it has stored.
    pub(super) fn on_line_stored(
        &mut self,
        cx: &mut ElectionCx<'_>,
        env: Env<'_>,
        from: NodeId,
        told: &Told,
    ) {
        let Some(founding) = &mut self.tenure.founding else {
            return;
        };
        let line = founding.line;
        if told.closed > Some(line) {
            // Another node closed this line before it was established.
            self.tenure.founding = None;
            let term = told.closed.map_or(line.term, |c| c.term);
            self.raise_floor(cx, env, term);
            if self.is_named(env) && !self.in_office(env.now) {
                self.tenure.farewell = Some(None);
                self.give_up(cx, env);
            }
        } else if told.set.is_some_and(|s| s.rank.line == line) && founding.stored.insert(from) {
            founding.heard_at = env.now;
        }
    }

    /// Continues to make the set known, and returns the time of the next step. [`Race::drive`] asks for the lease once
    /// a majority has stored the set.
    pub(super) fn drive_founding(
        &mut self,
        cx: &mut ElectionCx<'_>,
        env: Env<'_>,
    ) -> Option<Instant> {
        let known = self.tenure.known?;
        let founding = self.tenure.founding.as_ref()?;
        let line = founding.line;
        if !self.is_named(env) || known.set.rank.line != line {
            self.tenure.founding = None;
            return None;
        }
        if self.is_established(env, &known.set) || self.tenure.is_busy() {
            return None;
        }
        if !founding.stored.contains(&env.me) && self.store_told(cx, env, &known) {
            self.tenure.founding.as_mut()?.stored.insert(env.me);
        }
        let patience = (known.span * 2).max(env.rto() * 8);
        let founding = self.tenure.founding.as_mut()?;
        if env.now.since(founding.heard_at) >= patience {
            self.give_way(cx, env);
            return None;
        }
        if env.now >= founding.again_at {
            founding.again_at = env.now + env.rto() * 2;
            let missing = env.members().map(|m| m.id);
            let missing = missing.filter(|id| !founding.stored.contains(id));
            let missing: Vec<NodeId> = missing.take(TELL_MAX).collect();
            for id in missing {
                let told = self.told(true);
                cx.send(To::Node(id), told);
            }
        }
        self.tenure.founding.as_ref().map(|f| f.again_at)
    }
}

impl Env<'_> {
    /// The number of nodes that form a majority of the group in a strict election. It is counted from the configured
    /// floor or from the number of listed members, whichever is greater. `None` in the default mode.
    pub(super) fn majority(&self) -> Option<usize> {
        let floor = usize::from(self.config.floor);
        let listed = self.view.membership.table().len() + 1;
        (floor > 0).then(|| floor.max(listed) / 2 + 1)
    }
}
