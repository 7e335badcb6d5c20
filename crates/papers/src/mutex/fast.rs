//! Requesting, agreeing, entering and exiting: the fast path, and what both paths share.

use super::msg::{Msg, Request, digest, short};
use super::{Deferred, Event, Mode, MutexCx, PaperMutex, State, Timer, View};
use alloc::collections::BTreeSet;
use alloc::vec::Vec;
use consort_proto::{NodeId, To};

impl PaperMutex {
    /// All listed nodes except this one.
    pub(super) fn members(&self, me: NodeId, view: View<'_>) -> BTreeSet<NodeId> {
        let mut members: BTreeSet<NodeId> = view.list.iter().copied().collect();
        members.extend(&self.learned);
        members.remove(&me);
        members
    }

    fn lists(&self, view: View<'_>, id: NodeId) -> bool {
        view.lists(id) || self.learned.contains(&id)
    }

    /// Whether `others` and this node may not be a majority.
    fn is_small(others: usize, view: View<'_>) -> bool {
        2 * (others + 1) <= view.n_upper as usize
    }

    pub(super) fn enter(&mut self, cx: &mut MutexCx<'_>, view: View<'_>) {
        if self.state != State::Idle {
            return;
        }
        self.max_seq_seen += 1;
        self.count += 1;
        self.mine = Some(Request {
            seq: self.max_seq_seen,
            id: cx.me,
            life: self.life,
            count: self.count,
        });
        self.state = State::Wait;
        self.slow = false;
        self.pending.clear();
        self.asked.clear();
        self.agreed.clear();
        if let Some(retry) = self.config.retry {
            self.wait = retry.first;
            cx.set_timer(Timer::Retry, cx.now + retry.first);
        }
        let members = self.members(cx.me, view);
        if self.config.mode != Mode::RicartAgrawala && Self::is_small(members.len(), view) {
            self.go_slow(cx, view);
        } else {
            let targets = self.targets(cx.me, view);
            self.ask(cx, targets);
        }
        self.check(cx, view);
    }

    /// The nodes that a new request is sent to (rule 2).
    fn targets(&self, me: NodeId, view: View<'_>) -> BTreeSet<NodeId> {
        let mut targets = self.members(me, view);
        if self.config.is_repaired() {
            targets.extend(self.cache.keys().filter(|&&id| id != me));
        }
        targets
    }

    /// Sends the request to these nodes, whose agreement is then required.
    pub(super) fn ask(&mut self, cx: &mut MutexCx<'_>, targets: BTreeSet<NodeId>) {
        self.asked.extend(&targets);
        let Some(request) = self.request_msg() else {
            return;
        };
        for id in targets {
            self.pending.insert(id);
            cx.send(To::Node(id), request.clone());
        }
    }

    fn request_msg(&self) -> Option<Msg> {
        let expands = self.slow && !self.config.has_tree();
        Some(Msg::Request {
            req: self.mine?,
            asked: expands.then(|| digest(&self.asked)),
        })
    }

    /// Takes the slow path, with the same request and the answers so far (rule 8).
    pub(super) fn go_slow(&mut self, cx: &mut MutexCx<'_>, view: View<'_>) {
        self.slow = true;
        cx.emit(Event::Slow);
        if self.config.has_tree() {
            self.plant(cx, view);
        } else {
            let mut targets = self.targets(cx.me, view);
            targets.extend(&self.asked);
            self.ask(cx, targets);
        }
    }

    /// Enters if no agreement is missing.
    pub(super) fn check(&mut self, cx: &mut MutexCx<'_>, view: View<'_>) {
        if self.state != State::Wait || !self.pending.is_empty() {
            return;
        }
        if self.slow && self.config.has_tree() {
            let Some(root) = self.branches.get(&cx.me).filter(|b| b.is_complete()) else {
                return;
            };
            self.agreed.extend(&root.agreed);
            if self.config.is_repaired() {
                let mut named: BTreeSet<NodeId> = root.cache.keys().copied().collect();
                named.extend(&root.ask);
                named.retain(|id| {
                    *id != cx.me && !self.agreed.contains(id) && !self.asked.contains(id)
                });
                if !named.is_empty() {
                    self.ask(cx, named);
                    return;
                }
            }
        }
        if self.config.is_repaired() && Self::is_small(self.agreed.len(), view) {
            if !self.slow {
                self.go_slow(cx, view);
            }
            return;
        }
        self.state = State::Held;
        if self.config.retry.is_some() {
            cx.cancel_timer(Timer::Retry);
        }
        if let Some(mine) = self.mine {
            cx.emit(Event::Entered(mine));
        }
    }

    pub(super) fn exit(&mut self, cx: &mut MutexCx<'_>, view: View<'_>) {
        let Some(mine) = self.mine.filter(|_| self.state == State::Held) else {
            return;
        };
        self.state = State::Idle;
        self.mine = None;
        cx.emit(Event::Exited(mine));
        if self.config.release {
            let mut told = match self.config.is_repaired() {
                true => self.asked.clone(),
                false => self.members(cx.me, view),
            };
            if let Some(root) = self.branches.remove(&cx.me) {
                told.extend(root.children);
            }
            for id in told {
                cx.send(To::Node(id), Msg::Release(mine));
            }
        }
        self.answer_deferred(cx, view);
    }

    /// Answers waiting requests. As published the order is that of a set, here of ids (B3).
    fn answer_deferred(&mut self, cx: &mut MutexCx<'_>, view: View<'_>) {
        let mut waiting: Vec<Deferred> = match self.config.deferred_stay {
            true => self.deferred.values().copied().collect(),
            false => core::mem::take(&mut self.deferred).into_values().collect(),
        };
        if self.config.is_repaired() {
            waiting.sort_by_key(|w| w.req);
        }
        for Deferred { req, direct, tree } in waiting {
            let cache = self.agree(req);
            if tree {
                self.agree_in_tree(cx, view, req, &cache);
            }
            if direct {
                let more = Vec::new();
                cx.send(To::Node(req.id), Msg::Ok { req, cache, more });
            }
        }
    }

    /// Records an agreement and returns the requests that it has to name.
    fn agree(&mut self, req: Request) -> Vec<Request> {
        if self.config.mode == Mode::RicartAgrawala {
            return Vec::new();
        }
        let others = self.cache.values().copied();
        let named = others.filter(|cached| cached.id != req.id).collect();
        self.cache.insert(req.id, req);
        named
    }

    /// Handles a request that came directly or through a tree. Returns the requests that an agreement names, or
    /// `None` if the request is deferred or ignored.
    pub(super) fn consider(
        &mut self,
        cx: &mut MutexCx<'_>,
        view: View<'_>,
        req: Request,
        tree: bool,
    ) -> Option<Vec<Request>> {
        let waits = self.state == State::Wait;
        match self.config.mode {
            Mode::RicartAgrawala => {}
            Mode::CameraPaper => {
                if !self.lists(view, req.id) {
                    if waits {
                        self.ask(cx, BTreeSet::from([req.id]));
                    }
                    self.learned.insert(req.id);
                }
            }
            Mode::CameraRepaired => {
                let deferred = self.deferred.get(&req.id).map(|w| w.req);
                let known = [self.cache.get(&req.id).copied(), deferred];
                let known = known.into_iter().flatten().map(|r| r.age()).max();
                if self
                    .done
                    .get(&req.id)
                    .is_some_and(|&over| req.age() <= over)
                    || known.is_some_and(|newest| req.age() < newest)
                {
                    return None;
                }
                if !view.lists(req.id) {
                    cx.emit(Event::Hint(req.id));
                }
                if waits && !self.asked.contains(&req.id) {
                    self.ask(cx, BTreeSet::from([req.id]));
                }
            }
        }
        self.max_seq_seen = self.max_seq_seen.max(req.seq);
        let repeated = self.config.is_repaired() || tree;
        if repeated && self.cache.get(&req.id) == Some(&req) {
            return Some(self.agree(req));
        }
        let first = self.state == State::Held || waits && self.mine.is_some_and(|mine| req > mine);
        if !first {
            return Some(self.agree(req));
        }
        let entry = self.deferred.entry(req.id).or_insert(Deferred {
            req,
            direct: false,
            tree: false,
        });
        if entry.req != req {
            (entry.req, entry.direct, entry.tree) = (req, false, false);
        }
        entry.direct |= !tree;
        entry.tree |= tree;
        None
    }

    pub(super) fn on_request(
        &mut self,
        cx: &mut MutexCx<'_>,
        view: View<'_>,
        req: Request,
        asked: Option<Vec<u32>>,
    ) {
        let Some(cache) = self.consider(cx, view, req, false) else {
            return;
        };
        let unknown = |id: &NodeId| {
            let asked = asked.as_ref();
            *id != req.id && asked.is_some_and(|asked| asked.binary_search(&short(*id)).is_err())
        };
        let more = view.list.iter().copied().filter(unknown);
        let more = more.filter(|&id| id != cx.me).collect();
        cx.send(To::Node(req.id), Msg::Ok { req, cache, more });
    }

    pub(super) fn on_ok(
        &mut self,
        cx: &mut MutexCx<'_>,
        view: View<'_>,
        from: NodeId,
        req: Request,
        cache: &[Request],
        more: &[NodeId],
    ) {
        if self.state != State::Wait {
            return;
        }
        let named = cache.iter().map(|r| r.id).chain(more.iter().copied());
        match self.config.mode {
            Mode::RicartAgrawala => {}
            // Line 17: only on the fast path (A8).
            Mode::CameraPaper if self.slow => {}
            Mode::CameraPaper => {
                for id in named {
                    if id != cx.me && !self.lists(view, id) {
                        self.ask(cx, BTreeSet::from([id]));
                        self.learned.insert(id);
                    }
                }
            }
            Mode::CameraRepaired => {
                if self.mine != Some(req) {
                    return;
                }
                let new = named.filter(|id| *id != cx.me && !self.asked.contains(id));
                let new: BTreeSet<NodeId> = new.collect();
                for &id in new.iter().filter(|&&id| !view.lists(id)) {
                    cx.emit(Event::Hint(id));
                }
                self.ask(cx, new);
                self.agreed.insert(from);
            }
        }
        self.pending.remove(&from);
        self.check(cx, view);
    }

    pub(super) fn on_release(&mut self, cx: &mut MutexCx<'_>, req: Request) {
        let over = |held: &Request| match self.config.is_repaired() {
            true => held.age() <= req.age(),
            false => *held == req,
        };
        if self.cache.get(&req.id).is_some_and(over) {
            self.cache.remove(&req.id);
        }
        if self.config.is_repaired() {
            if self.deferred.get(&req.id).is_some_and(|w| over(&w.req)) {
                self.deferred.remove(&req.id);
            }
            let done = self.done.entry(req.id).or_insert(req.age());
            *done = req.age().max(*done);
        }
        if let Some(branch) = self.branches.remove(&req.id) {
            if branch.tree.req != req {
                self.branches.insert(req.id, branch);
                return;
            }
            for id in branch.children {
                cx.send(To::Node(id), Msg::Release(req));
            }
        }
    }

    /// Checks again after a change of the list or of the bound (rule 8). As published, a request whose list becomes too
    /// small goes over to the slow path (section 4.4), and nothing else happens.
    pub(super) fn look_again(&mut self, cx: &mut MutexCx<'_>, view: View<'_>) {
        let resorts = self.config.mode == Mode::CameraPaper && self.state == State::Wait;
        if resorts && !self.slow && Self::is_small(self.members(cx.me, view).len(), view) {
            self.go_slow(cx, view);
        }
        if self.config.is_repaired() && self.state == State::Wait {
            let members = self.members(cx.me, view);
            let answers = self.agreed.union(&self.pending).count();
            if !self.slow && Self::is_small(members.len(), view) {
                self.go_slow(cx, view);
            } else if Self::is_small(answers, view) {
                match self.config.has_tree() && self.slow {
                    true => self.replant(cx, view),
                    false => {
                        let new = members.difference(&self.asked).copied().collect();
                        self.ask(cx, new);
                    }
                }
            }
        }
        self.check(cx, view);
    }
}
