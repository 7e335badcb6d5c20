//! CEL (algorithm 2): one kind of message, the whole map, forwarded while it contains news.

use super::{Config, Event, Map, Msg, OmegaCx, View};
use alloc::collections::BTreeSet;
use alloc::sync::Arc;
use consort_proto::{NodeId, To};

/// The state of a node (lines 3-7).
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct Cel {
    me: NodeId,
    known: Arc<Map>,
}

impl Cel {
    pub(super) fn new(me: NodeId) -> Cel {
        let view = View {
            clk: 0,
            neigh: BTreeSet::from([me]),
        };
        Cel {
            me,
            known: Arc::new(Map::from([(me, view)])),
        }
    }

    pub(super) fn known(&self) -> &Map {
        &self.known
    }

    fn own(&mut self) -> &mut View {
        Arc::make_mut(&mut self.known).entry(self.me).or_default()
    }

    fn broadcast(&self, cx: &mut OmegaCx<'_>) {
        cx.send(To::Neighbors, Msg::Known(self.known.clone()));
    }

    /// Lines 8-17. Section 5.2.6 says that the clock of the other node must not be changed; lines 13 and 16 change
    /// it (E3).
    pub(super) fn connect(&mut self, cx: &mut OmegaCx<'_>, config: &Config, id: NodeId) {
        let own = self.own();
        own.neigh.insert(id);
        own.clk += 1;
        if config.neighbour_aware {
            let known = Arc::make_mut(&mut self.known);
            let other = known.entry(id).or_default();
            other.neigh.extend([id, self.me]);
            other.clk += 1;
        }
        self.broadcast(cx);
    }

    /// Lines 18-23. The other node is known since it was connected.
    pub(super) fn disconnect(&mut self, cx: &mut OmegaCx<'_>, config: &Config, id: NodeId) {
        let own = self.own();
        own.neigh.remove(&id);
        own.clk += 1;
        if config.neighbour_aware {
            let me = self.me;
            if let Some(other) = Arc::make_mut(&mut self.known).get_mut(&id) {
                other.neigh.remove(&me);
                other.clk += 1;
            }
        }
        self.broadcast(cx);
    }

    /// Lines 24-34. The call of `UpdateNeighbors` (35-41) repeats what the loop around it does, and reads views
    /// that may not exist: left out. The node's own view is treated like any other (E1, E2, E7).
    pub(super) fn on_known(&mut self, cx: &mut OmegaCx<'_>, config: &Config, theirs: &Map) {
        let mut news = false;
        for (id, view) in theirs {
            match self.known.get(id) {
                Some(mine) if view.clk < mine.clk => continue,
                Some(mine) if view.clk == mine.clk => {
                    if view.neigh.is_subset(&mine.neigh) {
                        continue;
                    }
                    let mine = Arc::make_mut(&mut self.known).entry(*id).or_default();
                    mine.neigh.extend(&view.neigh);
                    cx.emit(Event::United(*id));
                }
                _ => {
                    Arc::make_mut(&mut self.known).insert(*id, view.clone());
                    if *id == self.me {
                        cx.emit(Event::Overwritten);
                    }
                }
            }
            news = true;
        }
        if news {
            self.pass_on(cx, config);
        }
    }

    /// Lines 42-47. This is not the rule that the thesis cites, which compares with the sender (E8).
    fn pass_on(&mut self, cx: &mut OmegaCx<'_>, config: &Config) {
        let neigh_of = |id: &NodeId| self.known.get(id).map(|view| &view.neigh);
        let own = neigh_of(&self.me);
        let twin = |id: &&NodeId| **id < self.me && neigh_of(id) == own;
        if config.prune && own.is_some_and(|own| own.iter().any(|id| twin(&id))) {
            cx.emit(Event::Pruned);
        } else if cx.rng.below(1000) < u32::from(config.rho_per_mille) {
            self.broadcast(cx);
        } else {
            cx.emit(Event::Withheld);
        }
    }
}
