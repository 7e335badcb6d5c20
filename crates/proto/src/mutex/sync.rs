//! The start of a node: it reads the group's clock from more than half of the group, and counts as a witness only when
//! all leases that an earlier life may have witnessed have expired (H9).

use super::ablation::Ablation;
use super::census::Count;
use super::event::Event;
use super::fence::Fence;
use super::msg::Msg;
use super::{Bound, Mutex, MutexCx, Peers, Timer};
use crate::id::NodeId;
use crate::protocol::{Sender, To};
use alloc::vec::Vec;

/// The least number of members that are asked for their clock at a time.
const SYNCS_MIN: usize = 16;
/// The divisor for the share of members that is asked at a time.
const SYNCS_SHARE: usize = 8;

/// The factor by which the wait is longer before members that answered are asked again.
const REPEAT: u32 = 8;

/// What a member told about itself when this node started.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct Told {
    pub(super) mature: bool,
    /// Whether it belonged to the group before it started.
    pub(super) settled: bool,
    pub(super) count: Count,
}

/// The number of nodes, including this one, that told their clock.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Tally {
    all: u32,
    mature: u32,
    settled: u32,
}

impl Tally {
    fn add(&mut self, mature: bool, settled: bool) {
        self.all += 1;
        self.mature += u32::from(mature);
        self.settled += u32::from(mature || settled);
    }

    /// Whether these nodes may read the clock together, in a group of `upper` nodes of which no majority is mature.
    /// Newcomers are admitted by more than half of the nodes that belonged to the group before; otherwise enough
    /// newcomers could join both sides of a partition. If no node belonged to it, more than half of all begin a new
    /// group.
    fn suffices(self, upper: u32) -> bool {
        let newcomers = self.all - self.settled;
        match self.settled {
            0 => 2 * self.all > upper,
            settled => 2 * settled > upper.saturating_sub(newcomers),
        }
    }
}

impl Mutex {
    /// Starts the lock layer at the first message or order about locks in this life. Until then it causes no traffic.
    pub(super) fn activate(&mut self, cx: &mut MutexCx<'_>, peers: &dyn Peers) {
        let sh = &mut self.shared;
        if core::mem::replace(&mut sh.active, true) {
            return;
        }
        let keep = sh.config.maturity();
        cx.set_timer(Timer::Tidy, cx.now + keep);
        cx.set_timer(Timer::Mature, (sh.started + keep).max(cx.now));
        if sh.config.walks {
            cx.set_timer(Timer::Walk, cx.now);
        }
        self.on_sync_timer(cx, peers);
    }

    /// Asks some of the members for their clock that have not told it.
    pub(super) fn on_sync_timer(&mut self, cx: &mut MutexCx<'_>, peers: &dyn Peers) {
        self.try_sync(cx, peers);
        if self.shared.synced {
            return;
        }
        let sh = &self.shared;
        let missing = sh.census.present().filter(|id| !sh.told.contains_key(id));
        let mut missing: Vec<NodeId> = missing.collect();
        let mut wait = sh.rto();
        if missing.is_empty() {
            // All members answered and that does not suffice. Their answers change when members return or are
            // forgotten.
            missing.extend(sh.census.present());
            wait *= REPEAT;
        }
        if missing.len() > SYNCS_MIN {
            cx.rng.shuffle(&mut missing);
            missing.truncate(SYNCS_MIN.max(missing.len() / SYNCS_SHARE));
        }
        for id in missing {
            self.ask_clock(cx, id);
        }
        cx.set_timer(Timer::Sync, cx.now + wait);
    }

    pub(super) fn ask_clock(&mut self, cx: &mut MutexCx<'_>, id: NodeId) {
        self.clock_asked.entry(id).or_insert(cx.now);
        cx.send(To::Node(id), Msg::Sync { nonce: self.nonce });
    }

    pub(super) fn on_sync(&mut self, cx: &mut MutexCx<'_>, from: &Sender, nonce: u32) {
        let count = self.shared.window(cx.now);
        let synced = Msg::Synced {
            nonce,
            clock: self.shared.clock,
            mature: self.shared.mature,
            settled: self.shared.settled,
            window: count.recent,
            failed: count.members - count.recent,
        };
        cx.send(from.reply_to(), synced);
    }

    pub(super) fn on_synced(
        &mut self,
        cx: &mut MutexCx<'_>,
        peers: &dyn Peers,
        from: &Sender,
        told: Told,
    ) {
        // These are the first known round trips. A time longer than any lease means that the member was not present.
        let trip = self.clock_asked.remove(&from.id);
        let trip = trip.map(|at| cx.now.since(at));
        if let Some(trip) = trip.filter(|t| *t < self.shared.config.ttl_max) {
            self.shared.note_round_trip(trip);
        }
        if self.shared.synced {
            return;
        }
        self.shared.told.insert(from.id, told);
        self.try_sync(cx, peers);
    }

    /// Checks whether enough members have told their clock.
    pub(super) fn try_sync(&mut self, cx: &mut MutexCx<'_>, peers: &dyn Peers) {
        let sh = &mut self.shared;
        if sh.synced || !sh.active {
            return;
        }
        let seen = sh.window(cx.now);
        let told = sh.told.values().map(|t| t.count);
        let told = told.fold(Count::default(), Count::max);
        let (upper, _) = sh.config.bound.upper(seen, told, sh.walked());
        let able = |id: NodeId| sh.config.bound.admits(id);
        let voices = sh.told.iter().filter(|(id, _)| able(**id));
        let mut tally = Tally::default();
        voices.for_each(|(_, told)| tally.add(told.mature, told.settled));
        if able(sh.me) {
            tally.add(sh.mature, sh.settled);
        }
        let late = cx.now >= sh.started + sh.config.maturity();
        let majority = 2 * tally.mature > upper;
        // A node that sees nobody else may not have looked for long enough.
        let strict = sh.config.bound == Bound::Members;
        let alone = upper == 1 && (strict || sh.config.bound == Bound::Available);
        if !majority || alone {
            // All leases of earlier lives have expired by now, so exclusion holds. Whether tokens grow depends on
            // clocks.
            let enough = match strict {
                true => tally.suffices(upper) && !(alone && peers.seeks()),
                false => 2 * tally.all > upper,
            };
            if !(late && enough) {
                return;
            }
            if !majority {
                let wall = sh.wall(cx.now);
                sh.see(cx.now, wall);
                cx.emit(Event::FloorFromClock);
            }
        }
        if !core::mem::replace(&mut sh.settled, true) {
            // Store it, so that the next life knows.
            sh.advance(cx, sh.clock);
        }
        sh.synced = true;
        if !sh.lacks(Ablation::FloorSync) {
            sh.floor = sh.floor.max(Fence::end_of(sh.clock));
        }
        sh.told.clear();
        cx.cancel_timer(Timer::Sync);
        if late {
            self.mature(cx);
        }
        self.each_lock(cx, peers, |lock, cx, sh, peers| {
            lock.raise_floor(sh.floor);
            lock.next(cx, sh, peers);
        });
    }

    pub(super) fn on_mature_timer(&mut self, cx: &mut MutexCx<'_>, peers: &dyn Peers) {
        self.clock_asked.clear();
        self.try_sync(cx, peers);
        if self.shared.synced {
            self.mature(cx);
            self.each_lock(cx, peers, |lock, cx, sh, peers| lock.check(cx, sh, peers));
        }
    }

    pub(super) fn mature(&mut self, cx: &mut MutexCx<'_>) {
        if !self.shared.mature {
            self.shared.mature = true;
            cx.emit(Event::Mature);
        }
    }
}
