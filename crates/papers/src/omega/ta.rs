//! Topology Aware (algorithm 1): whole maps to new neighbours, changes to all others.

use super::beacon::phase;
use super::{Config, Event, Map, Msg, OmegaCx, Timer, Update, View};
use alloc::collections::BTreeSet;
use alloc::sync::Arc;
use alloc::vec::Vec;
use consort_proto::{Instant, NodeId, To, micros};
use core::time::Duration;

/// The state of a node (lines 3-11).
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct Ta {
    me: NodeId,
    known: Arc<Map>,
    /// Updates to be sent.
    updates: Vec<Update>,
    /// Updates that cannot be applied yet, without duplicates.
    pending: Vec<Update>,
    /// When the sending task began.
    start: Instant,
}

impl Ta {
    pub(super) fn new(me: NodeId) -> Ta {
        let view = View {
            clk: 0,
            neigh: BTreeSet::from([me]),
        };
        Ta {
            me,
            known: Arc::new(Map::from([(me, view)])),
            updates: Vec::new(),
            pending: Vec::new(),
            start: Instant::ZERO,
        }
    }

    pub(super) fn known(&self) -> &Map {
        &self.known
    }

    pub(super) fn pending(&self) -> usize {
        self.pending.len()
    }

    fn own(&mut self) -> &mut View {
        Arc::make_mut(&mut self.known).entry(self.me).or_default()
    }

    pub(super) fn start(&mut self, cx: &mut OmegaCx<'_>, config: &Config) {
        self.start = cx.now + phase(cx.rng, config.update_period);
    }

    /// Lines 12-16. The task runs every Δ; nothing is lost if it sleeps while there is nothing to send.
    pub(super) fn tick(&mut self, cx: &mut OmegaCx<'_>) {
        if !self.updates.is_empty() {
            cx.send(
                To::Neighbors,
                Msg::Updates(self.updates.drain(..).collect()),
            );
        }
    }

    fn queue(&mut self, cx: &mut OmegaCx<'_>, config: &Config, update: Update) {
        if self.updates.is_empty() {
            let period = micros(config.update_period).max(1);
            let ticks = micros(cx.now.since(self.start)) / period;
            let next = match cx.now < self.start {
                true => self.start,
                false => self.start + Duration::from_micros(period.saturating_mul(ticks + 1)),
            };
            cx.set_timer(Timer::Tick, next);
        }
        self.updates.push(update);
    }

    /// Lines 20-23.
    pub(super) fn connect(&mut self, cx: &mut OmegaCx<'_>, id: NodeId) {
        let own = self.own();
        own.neigh.insert(id);
        own.clk += 1;
        cx.send(To::Neighbors, Msg::Known(self.known.clone()));
    }

    /// Lines 24-27.
    pub(super) fn disconnect(&mut self, cx: &mut OmegaCx<'_>, config: &Config, id: NodeId) {
        let src = self.me;
        let own = self.own();
        own.neigh.remove(&id);
        own.clk += 1;
        let new_clk = own.clk;
        let update = Update {
            src,
            add: BTreeSet::new(),
            rmv: BTreeSet::from([id]),
            old_clk: new_clk - 1,
            new_clk,
        };
        self.queue(cx, config, update);
    }

    /// Lines 28-38. The node's own view is treated like any other (E22).
    pub(super) fn on_known(&mut self, cx: &mut OmegaCx<'_>, config: &Config, theirs: &Map) {
        for (id, view) in theirs {
            let update = match self.known.get(id) {
                None => Update {
                    src: *id,
                    add: view.neigh.clone(),
                    rmv: BTreeSet::new(),
                    old_clk: 0,
                    new_clk: view.clk,
                },
                Some(mine) if view.clk > mine.clk => Update {
                    src: *id,
                    add: &view.neigh - &mine.neigh,
                    rmv: &mine.neigh - &view.neigh,
                    old_clk: mine.clk,
                    new_clk: view.clk,
                },
                Some(_) => continue,
            };
            self.queue(cx, config, update);
            self.store(cx, *id, view.clone());
        }
        self.try_pending(cx);
    }

    /// Lines 39-53.
    pub(super) fn on_updates(&mut self, cx: &mut OmegaCx<'_>, config: &Config, list: &[Update]) {
        for update in list {
            let clk = self.known.get(&update.src).map(|view| view.clk);
            let fits = match clk {
                None => update.old_clk == 0,
                Some(clk) => update.old_clk == clk,
            };
            if fits {
                self.apply(cx, update);
                self.queue(cx, config, update.clone());
            } else if clk.is_none_or(|clk| update.old_clk > clk) {
                if !self.pending.contains(update) {
                    self.pending.push(update.clone());
                }
            } else if clk.is_some_and(|clk| update.new_clk > clk) {
                cx.emit(dropped(update));
            }
        }
        self.try_pending(cx);
    }

    /// Lines 54-65: one pass through the list, and applied updates are not forwarded (E21). Lines 60 and 64 read
    /// the clock of a node that may be unknown; such an update stays.
    fn try_pending(&mut self, cx: &mut OmegaCx<'_>) {
        for update in core::mem::take(&mut self.pending) {
            let clk = self.known.get(&update.src).map(|view| view.clk);
            let fits = match clk {
                None => update.old_clk == 0,
                Some(clk) => update.old_clk != 0 && update.old_clk == clk,
            };
            if fits {
                self.apply(cx, &update);
                cx.emit(Event::NotPassedOn(update.src));
            } else if clk.is_none_or(|clk| update.old_clk >= clk) {
                self.pending.push(update);
            } else if clk.is_some_and(|clk| update.new_clk > clk) {
                cx.emit(dropped(&update));
            }
        }
    }

    /// Lines 43, 48-49, 58, 61-62.
    fn apply(&mut self, cx: &mut OmegaCx<'_>, update: &Update) {
        let mut view = self.known.get(&update.src).cloned().unwrap_or_default();
        view.neigh.extend(&update.add);
        view.neigh.retain(|n| !update.rmv.contains(n));
        view.clk = update.new_clk;
        self.store(cx, update.src, view);
    }

    fn store(&mut self, cx: &mut OmegaCx<'_>, id: NodeId, view: View) {
        if id == self.me {
            cx.emit(Event::Overwritten);
        }
        Arc::make_mut(&mut self.known).insert(id, view);
    }
}

/// The event for a dropped update that contained news.
fn dropped(update: &Update) -> Event {
    match update.old_clk {
        0 => Event::DroppedWhole(update.src),
        _ => Event::DroppedGap(update.src),
    }
}
