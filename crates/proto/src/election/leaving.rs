//! A watcher that leaves has the leader replace it first, so that several watchers that leave at once do not take the
//! leader's quorum with them (LL-6).

use super::msg::Msg;
use super::race::Race;
use super::view::Env;
use super::{ElectionCx, TimerKind};
use crate::id::{Life, NodeId};
use crate::lease::{Lease, Watcher};
use crate::protocol::{Sender, To};
use crate::time::Instant;
use alloc::collections::BTreeMap;

/// The departures of watchers, as one that leaves and as a leader that is told.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub(super) struct Leaving {
    /// Until when this node, which leaves, waits to be replaced, and when it asks next.
    own: Option<(Instant, Instant)>,
    /// The watchers that told this leader that they leave, with their lives.
    told: BTreeMap<NodeId, Life>,
}

impl Leaving {
    /// Whether this node waits to be replaced before it leaves.
    pub(super) fn is_waiting(&self) -> bool {
        self.own.is_some()
    }

    /// Whether `node`, in the life that is listed, told this leader that it leaves.
    pub(super) fn includes(&self, env: Env<'_>, node: NodeId) -> bool {
        let listed = env.view.membership.table().get(node);
        listed.is_some_and(|m| self.told.get(&node) == Some(&m.precedence.life))
    }
}

impl Race {
    /// Begins to leave: waits up to two lease durations until this node is no longer a watcher of another leader.
    pub(super) fn leave_watch(&mut self, env: Env<'_>) {
        let by = env.now + self.tenure.span(env) * 2;
        self.tenure.leaving.own = Some((by, env.now));
    }

    /// Asks the leader for a replacement while this node, which leaves, is one of its watchers.
    pub(super) fn drive_leaving(&mut self, cx: &mut ElectionCx<'_>, env: Env<'_>) {
        let Some((by, ask_at)) = self.tenure.leaving.own else {
            return;
        };
        let leader = self.claim.filter(|c| !c.is_vacant()).map(|c| c.leader);
        let leader = leader.filter(|id| *id != env.me && !env.is_down(*id));
        let me = self.tenure.watch.me();
        let watches = |w: &Watcher| *w == me;
        let known = self.tenure.known.as_ref();
        let watched = known.is_some_and(|k| k.set.watchers.iter().any(watches));
        let Some(leader) = leader.filter(|_| watched && env.now < by) else {
            self.tenure.leaving.own = None;
            cx.cancel_timer(self.timer(TimerKind::Leave));
            return;
        };
        if env.now >= ask_at {
            cx.send(To::Node(leader), Msg::Leaving(self.id));
            let again = env.now + self.tenure.span(env) / 4;
            self.tenure.leaving.own = Some((by, again));
            cx.set_timer(self.timer(TimerKind::Leave), again.min(by));
        }
    }

    /// Handles the notice of a watcher that it leaves: a leader in office replaces it at once.
    pub(super) fn on_leaving(&mut self, cx: &mut ElectionCx<'_>, env: Env<'_>, from: &Sender) {
        let leaves = |w: &Watcher| w.node == from.id;
        let lease = self.tenure.lease.as_ref();
        let watches = lease.is_some_and(|l: &Lease| l.set().watchers.iter().any(leaves));
        if !watches || !self.in_office(env.now) {
            return;
        }
        let table = env.view.membership.table();
        let told = &mut self.tenure.leaving.told;
        told.retain(|id, life| table.get(*id).is_some_and(|m| m.precedence.life == *life));
        told.insert(from.id, from.life);
        self.tenure.review_at = env.now;
        self.review_watchers(cx, env);
    }
}
