//! This node's own record, its reaction to records of it that others hold, and its goodbye.

use super::race::Race;
use super::store::Merged;
use super::{Delta, Event, Msg, NEIGHBOURS_MAX, Omega, OmegaCx, Record, Timer, Version};
use crate::id::{Life, NodeId};
use crate::protocol::To;
use alloc::vec::Vec;
use core::time::Duration;

/// The number of goodbyes that a node sends when it leaves, and the time between them.
const GOODBYES: u8 = 3;
const GOODBYE_EVERY: Duration = Duration::from_millis(50);

impl Omega {
    /// Publishes this node's record if its content changed.
    pub(super) fn publish(&mut self, cx: &mut OmegaCx<'_>) {
        let record = self.own_content(cx.me);
        let held = self.store.get(cx.me).map(|e| &e.record);
        let same = held.is_some_and(|held| {
            held.leaving == record.leaving
                && held.seats == record.seats
                && held.neighbours == record.neighbours
        });
        if same && !self.refute {
            return;
        }
        let due = self.published_at.map(|at| at + self.config.publish_every);
        if let Some(due) = due
            && due > cx.now
            && !self.refute
            && !record.leaving
        {
            cx.set_timer(Timer::Publish, due);
            return;
        }
        self.refute = false;
        self.published_at = Some(cx.now);
        match self.seq.checked_add(1) {
            Some(seq) => self.seq = seq,
            None => return self.outlive(cx, self.life),
        }
        let version = Version {
            life: self.life,
            seq: self.seq,
        };
        let record = Record { version, ..record };
        // There is always room, because this node's own record is the first.
        self.store.merge(record, None, cx.now, u16::MAX);
    }

    /// The current content of this node's record.
    fn own_content(&mut self, me: NodeId) -> Record {
        let leaving = self.goodbyes.is_some();
        let mut record = Record {
            id: me,
            version: Version::default(),
            leaving,
            seats: Vec::new(),
            neighbours: Vec::new(),
        };
        if !leaving {
            record.seats = self.races.iter().filter_map(Race::seat).collect();
            record.neighbours = self.links.two_way().collect();
            // An id takes eight bytes and its index up to two. The rest of a record and of its message takes at most
            // 64, and a seat 16.
            let room = self.frames_max.saturating_sub(64 + record.seats.len() * 16) / 10;
            let fit = room.min(NEIGHBOURS_MAX);
            if record.neighbours.len() > fit {
                self.stats.neighbours_unnamed += (record.neighbours.len() - fit) as u64;
                record.neighbours.truncate(fit);
            }
        }
        record
    }

    /// Asks for a life above `said`. Nothing is published before [`Input::Life`] brings it, since it has to be stored.
    fn outlive(&mut self, cx: &mut OmegaCx<'_>, said: Life) {
        if self.awaited.is_none_or(|awaited| awaited <= said) {
            let life = said.next(cx.rng.bits32() as u16);
            self.awaited = Some(life);
            cx.emit(Event::Outlived(life));
        }
    }

    /// Reacts to a record of this node that it did not write: of an earlier life, or of another node with the same id.
    /// The content of that record does not count (E7); this node publishes a greater version.
    pub(super) fn refute(&mut self, cx: &mut OmegaCx<'_>, said: Version) {
        self.stats.refutations += 1;
        if said.life > self.life {
            self.outlive(cx, said.life);
        } else {
            self.refute = true;
            self.seq = self.seq.max(said.seq);
        }
    }

    pub(super) fn on_record(&mut self, cx: &mut OmegaCx<'_>, from: NodeId, record: Record) {
        if record.id == cx.me {
            let held = self.store.get(cx.me).map(|e| &e.record);
            match held {
                Some(held) if record.version < held.version => self.store.owe(cx.me),
                Some(held) if *held == record => {}
                _ => self.refute(cx, record.version),
            }
            return;
        }
        if !self.believes_claims(cx.now, &record) {
            self.stats.claims_refused += 1;
            return;
        }
        let id = record.id;
        let max = self.config.records_max;
        match self.store.merge(record, Some(from), cx.now, max) {
            Merged::Newer => {}
            Merged::Same => self.store.relieve(id, self.links.two_way()),
            Merged::Older => self.store.owe(id),
            Merged::Full => self.stats.records_dropped += 1,
        }
    }

    pub(super) fn leave(&mut self, cx: &mut OmegaCx<'_>) {
        self.goodbyes = Some(GOODBYES);
        self.stop_leading(cx);
        self.publish(cx);
        for timer in [
            Timer::Hello,
            Timer::Links,
            Timer::Publish,
            Timer::Flush,
            Timer::Judge,
            Timer::Race,
        ] {
            cx.cancel_timer(timer);
        }
        self.say_goodbye(cx);
    }

    pub(super) fn say_goodbye(&mut self, cx: &mut OmegaCx<'_>) {
        let Some(left) = self.goodbyes.filter(|&left| left > 0) else {
            return;
        };
        self.goodbyes = Some(left - 1);
        let own = self.own_record(cx.me);
        for delta in Delta::pack(own, self.frames_max) {
            cx.send(To::Neighbors, Msg::Delta(delta));
            self.stats.deltas += 1;
        }
        cx.set_timer(Timer::Goodbye, cx.now + GOODBYE_EVERY);
    }
}
