//! The slow path: a spanning tree of the membership graph, rooted at the requester.
//!
//! A tree grows level by level. In each phase the leaves ask the nodes they list to join, and an echo tells the
//! root whether any did; when none did, the tree is complete. A node agrees towards its parent when it agrees
//! itself and all its children have. After an echo without news nothing changes below a node, so it need not be
//! told that the whole tree is complete.
//!
//! A node knows its tree a few levels deep. When a child fails before it agreed, its parent adopts the child's
//! children; while the tree is being built the root starts again instead. As published the failed node's own
//! agreement is then not needed, whether or not it really failed (A2); in repaired mode the root asks it directly.
//! A node keeps one branch per root, until its release or its next request.

use super::msg::{Msg, News, Request, Tree};
use super::{MutexCx, PaperMutex, State, View};
use alloc::collections::{BTreeMap, BTreeSet};
use alloc::vec::Vec;
use consort_proto::{NodeId, To};

/// A node's part of a tree.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct Branch {
    pub(super) tree: Tree,
    /// `None` at the root.
    parent: Option<NodeId>,
    pub(super) children: BTreeSet<NodeId>,
    /// Nodes that have not answered whether they join.
    joining: BTreeSet<NodeId>,
    /// Nodes with which this node exchanged messages about this tree.
    met: BTreeSet<NodeId>,
    phase: u16,
    /// Children whose echo of this phase is missing.
    echoing: BTreeSet<NodeId>,
    /// Whether this phase found a new node.
    news: bool,
    /// Whether no further node will join below this one.
    finished: bool,
    /// Parents and children below this node.
    pub(super) edges: BTreeSet<(NodeId, NodeId)>,
    own_ok: bool,
    child_ok: BTreeSet<NodeId>,
    /// Requests that nodes of this part answered before.
    pub(super) cache: BTreeMap<NodeId, Request>,
    /// Nodes that agree; without this node at the root.
    pub(super) agreed: BTreeSet<NodeId>,
    /// Nodes that have to be asked directly.
    pub(super) ask: BTreeSet<NodeId>,
    /// Whether the parent was told that all agree.
    sent: bool,
}

impl Branch {
    fn new(tree: Tree, parent: Option<NodeId>) -> Branch {
        Branch {
            tree,
            parent,
            children: BTreeSet::new(),
            joining: BTreeSet::new(),
            met: parent.into_iter().chain([tree.req.id]).collect(),
            phase: 0,
            echoing: BTreeSet::new(),
            news: false,
            finished: false,
            edges: BTreeSet::new(),
            own_ok: parent.is_none(),
            child_ok: BTreeSet::new(),
            cache: BTreeMap::new(),
            agreed: BTreeSet::new(),
            ask: BTreeSet::new(),
            sent: false,
        }
    }

    /// Whether all nodes of this part agree.
    pub(super) fn is_complete(&self) -> bool {
        self.finished && self.own_ok && self.children.is_subset(&self.child_ok)
    }

    /// The edges up to `levels` below `me`.
    fn edges_below(&self, me: NodeId, levels: usize) -> Vec<(NodeId, NodeId)> {
        let mut parents = BTreeSet::from([me]);
        let mut found = Vec::new();
        for _ in 0..levels {
            let level = self.edges.iter().filter(|e| parents.contains(&e.0));
            let level: Vec<(NodeId, NodeId)> = level.copied().collect();
            parents = level.iter().map(|e| e.1).collect();
            found.extend(level);
        }
        found
    }

    fn take_cache(&mut self, cache: &[Request]) {
        for &req in cache {
            let known = self.cache.entry(req.id).or_insert(req);
            if known.age() < req.age() {
                *known = req;
            }
        }
    }
}

impl PaperMutex {
    /// The requester starts a tree.
    pub(super) fn plant(&mut self, cx: &mut MutexCx<'_>, view: View<'_>) {
        let Some(req) = self.mine else { return };
        let last = self.branches.get(&cx.me).filter(|b| b.tree.req == req);
        let epoch = last.map_or(0, |b| b.tree.epoch.saturating_add(1));
        let tree = Tree { req, epoch };
        self.branches.insert(cx.me, Branch::new(tree, None));
        self.explore(cx, view, cx.me);
    }

    /// The requester starts again if its tree is built.
    pub(super) fn replant(&mut self, cx: &mut MutexCx<'_>, view: View<'_>) {
        if self.branches.get(&cx.me).is_some_and(|b| b.finished) {
            self.plant(cx, view);
        }
    }

    /// A leaf asks the nodes it lists to join.
    fn explore(&mut self, cx: &mut MutexCx<'_>, view: View<'_>, root: NodeId) {
        let members = self.members(cx.me, view);
        let Some(branch) = self.branches.get_mut(&root) else {
            return;
        };
        branch.joining = members.difference(&branch.met).copied().collect();
        let (tree, level) = (branch.tree, branch.phase.saturating_add(1));
        for &id in &branch.joining {
            cx.send(To::Node(id), Msg::Join { tree, level });
        }
        self.end_phase(cx, view, root);
    }

    /// Reports the result of a phase once all children have.
    fn end_phase(&mut self, cx: &mut MutexCx<'_>, view: View<'_>, root: NodeId) {
        let levels = self.config.levels();
        let Some(branch) = self.branches.get_mut(&root) else {
            return;
        };
        if !branch.joining.is_empty() || !branch.echoing.is_empty() || branch.finished {
            return;
        }
        let (tree, news) = (branch.tree, core::mem::take(&mut branch.news));
        branch.finished = !news;
        if let Some(parent) = branch.parent {
            let edges = branch.edges_below(cx.me, levels.saturating_sub(1));
            let phase = branch.phase;
            let news = if news { News::Nodes } else { News::None };
            let echo = Msg::Echo {
                tree,
                phase,
                news,
                edges,
            };
            cx.send(To::Node(parent), echo);
        } else if news {
            self.start(cx, root);
        }
        self.pass_on(cx, view, root);
    }

    /// Starts the next phase below this node.
    fn start(&mut self, cx: &mut MutexCx<'_>, root: NodeId) {
        let Some(branch) = self.branches.get_mut(&root) else {
            return;
        };
        if branch.parent.is_none() {
            branch.phase = branch.phase.saturating_add(1);
        }
        branch.echoing = branch.children.clone();
        let (tree, phase) = (branch.tree, branch.phase);
        for &id in &branch.children {
            cx.send(To::Node(id), Msg::Start { tree, phase });
        }
    }

    /// Tells the parent that all nodes below agree, once they do; the root checks whether it may enter.
    fn pass_on(&mut self, cx: &mut MutexCx<'_>, view: View<'_>, root: NodeId) {
        if root == cx.me {
            self.check(cx, view);
            return;
        }
        let Some(branch) = self.branches.get_mut(&root) else {
            return;
        };
        let Some(parent) = branch.parent.filter(|_| branch.is_complete()) else {
            return;
        };
        if core::mem::replace(&mut branch.sent, true) {
            return;
        }
        let agreed = branch.agreed.iter().copied().chain([cx.me]).collect();
        let all = Msg::TreeOk {
            tree: branch.tree,
            cache: branch.cache.values().copied().collect(),
            agreed,
            ask: branch.ask.iter().copied().collect(),
        };
        cx.send(To::Node(parent), all);
    }

    /// This node agrees to a request that came through a tree.
    pub(super) fn agree_in_tree(
        &mut self,
        cx: &mut MutexCx<'_>,
        view: View<'_>,
        req: Request,
        cache: &[Request],
    ) {
        let branch = self.branches.get_mut(&req.id);
        if let Some(branch) = branch.filter(|b| b.tree.req == req) {
            branch.own_ok = true;
            branch.take_cache(cache);
            self.pass_on(cx, view, req.id);
        }
    }

    pub(super) fn on_tree(&mut self, cx: &mut MutexCx<'_>, view: View<'_>, from: NodeId, msg: Msg) {
        let (Msg::Start { tree, .. }
        | Msg::Join { tree, .. }
        | Msg::Echo { tree, .. }
        | Msg::TreeOk { tree, .. }
        | Msg::Ack(tree)
        | Msg::Nack(tree)
        | Msg::Adopt(tree)) = msg
        else {
            return;
        };
        if let Msg::Join { level, .. } = msg {
            return self.on_join(cx, view, from, tree, level);
        }
        let root = tree.req.id;
        let branch = self.branches.get_mut(&root).filter(|b| b.tree == tree);
        let Some(branch) = branch else { return };
        match msg {
            Msg::Ack(_) if branch.joining.remove(&from) => {
                branch.met.insert(from);
                branch.children.insert(from);
                branch.edges.insert((cx.me, from));
                branch.news = true;
                self.end_phase(cx, view, root);
            }
            Msg::Nack(_) if branch.joining.remove(&from) => {
                branch.met.insert(from);
                self.end_phase(cx, view, root);
            }
            Msg::Start { phase, .. } if branch.parent == Some(from) && phase > branch.phase => {
                branch.phase = phase;
                if branch.finished {
                    let (news, edges) = (News::None, Vec::new());
                    let echo = Msg::Echo {
                        tree,
                        phase,
                        news,
                        edges,
                    };
                    cx.send(To::Node(from), echo);
                } else if branch.children.is_empty() {
                    self.explore(cx, view, root);
                } else {
                    self.start(cx, root);
                }
            }
            Msg::Echo {
                news: News::Abort, ..
            } if branch.children.contains(&from) => self.abort(cx, view, root),
            Msg::Echo {
                phase, news, edges, ..
            } if phase == branch.phase && branch.echoing.remove(&from) => {
                branch.news |= news == News::Nodes;
                branch.edges.extend(edges);
                self.end_phase(cx, view, root);
            }
            Msg::TreeOk {
                cache, agreed, ask, ..
            } if branch.children.contains(&from) && branch.child_ok.insert(from) => {
                branch.take_cache(&cache);
                branch.agreed.extend(agreed);
                branch.ask.extend(ask);
                self.pass_on(cx, view, root);
            }
            Msg::Adopt(_) if branch.parent.is_some() => {
                branch.parent = Some(from);
                branch.met.insert(from);
                branch.sent = false;
                self.pass_on(cx, view, root);
            }
            _ => {}
        }
    }

    fn on_join(
        &mut self,
        cx: &mut MutexCx<'_>,
        view: View<'_>,
        from: NodeId,
        tree: Tree,
        level: u16,
    ) {
        let root = tree.req.id;
        if let Some(branch) = self.branches.get_mut(&root) {
            let (old, new) = (branch.tree, tree);
            let order = |t: Tree| (t.req.age(), t.epoch);
            if order(new) < order(old) {
                return;
            }
            if old == new {
                branch.met.insert(from);
                let answer = match branch.parent == Some(from) {
                    true => Msg::Ack(tree),
                    false => Msg::Nack(tree),
                };
                cx.send(To::Node(from), answer);
                return;
            }
        }
        if root == cx.me {
            // A tree of a finished request.
            return;
        }
        let mut branch = Branch::new(tree, Some(from));
        branch.phase = level.saturating_sub(1);
        self.branches.insert(root, branch);
        cx.send(To::Node(from), Msg::Ack(tree));
        if let Some(cache) = self.consider(cx, view, tree.req, true) {
            self.agree_in_tree(cx, view, tree.req, &cache);
        }
    }

    /// A tree under construction lost a node: the root starts again.
    fn abort(&mut self, cx: &mut MutexCx<'_>, view: View<'_>, root: NodeId) {
        let Some(branch) = self.branches.get_mut(&root) else {
            return;
        };
        match branch.parent {
            None if self.state == State::Wait => self.plant(cx, view),
            None => {}
            Some(parent) => {
                let echo = Msg::Echo {
                    tree: branch.tree,
                    phase: branch.phase,
                    news: News::Abort,
                    edges: Vec::new(),
                };
                cx.send(To::Node(parent), echo);
            }
        }
    }

    /// The failure detector reports `id`: this node adopts its children.
    pub(super) fn prune(&mut self, cx: &mut MutexCx<'_>, view: View<'_>, id: NodeId) {
        let roots: Vec<NodeId> = self.branches.keys().copied().collect();
        for root in roots {
            let Some(branch) = self.branches.get_mut(&root) else {
                continue;
            };
            if branch.joining.remove(&id) {
                self.end_phase(cx, view, root);
            } else if branch.child_ok.contains(&id) || !branch.children.remove(&id) {
                continue;
            } else if !branch.finished {
                branch.echoing.remove(&id);
                self.abort(cx, view, root);
            } else {
                let orphans = branch.edges.iter().filter(|e| e.0 == id).map(|e| e.1);
                let orphans: Vec<NodeId> = orphans.collect();
                branch.edges.retain(|e| e.0 != id && e.1 != id);
                for &orphan in &orphans {
                    branch.children.insert(orphan);
                    branch.edges.insert((cx.me, orphan));
                    cx.send(To::Node(orphan), Msg::Adopt(branch.tree));
                }
                if self.config.is_repaired() {
                    branch.ask.insert(id);
                }
                self.pass_on(cx, view, root);
            }
        }
    }
}
