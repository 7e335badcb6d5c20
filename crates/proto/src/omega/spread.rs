//! Spreading records: new records are forwarded, and neighbours with different digests compare theirs.

use super::links::LinkState;
use super::msg::{Delta, Hello, Msg, Summary};
use super::record::{Record, Version};
use super::{Omega, OmegaCx, Timer};
use crate::id::NodeId;
use crate::protocol::{Sender, To};
use crate::time::micros;
use alloc::vec::Vec;
use core::time::Duration;

/// If this node's component has not changed for this time, different digests mean that a record was missed.
const QUIET: Duration = Duration::from_millis(150);

/// The number of hellos with a different digest after which records are compared.
const MISMATCHES: u8 = 2;

/// The shortest time over which nodes that forward a record spread out.
const SPREAD_MIN: Duration = Duration::from_millis(5);

/// The greatest number of bytes of a version in a summary, and of an id in a request.
const VERSION_LEN: usize = 21;
const ID_LEN: usize = 8;

/// The number of other bytes in such a message.
const OVERHEAD: usize = 40;

impl Omega {
    /// Schedules the transmission of waiting records. A random delay lets neighbours with the same records go first.
    pub(super) fn schedule_flush(&mut self, cx: &mut OmegaCx<'_>) {
        let waits = self.store.iter().any(|e| e.dirty || e.owed);
        if waits && self.flush_at.is_none() {
            let share = self.config.airtime * 5 * (self.links.two_way().count() as u32 + 1);
            let spread = cx.rng.below64(micros(share.max(SPREAD_MIN)) + 1);
            let at = (cx.now + Duration::from_micros(spread)).max(self.bucket.ready_at());
            self.flush_at = Some(at);
            cx.set_timer(Timer::Flush, at);
        }
    }

    /// Sends waiting records, as far as the rate limit allows.
    pub(super) fn flush(&mut self, cx: &mut OmegaCx<'_>) {
        self.flush_at = None;
        let waiting = |e: &&super::store::Entry| e.dirty || e.owed;
        let records = self.store.iter().filter(waiting).map(|e| &e.record);
        let mut sent: Vec<NodeId> = Vec::new();
        for delta in Delta::pack(records, self.frames_max) {
            if !self.bucket.take(cx.now) {
                break;
            }
            sent.extend(delta.unpack().flatten().map(|r: Record| r.id));
            self.stats.deltas += 1;
            cx.send(To::Neighbors, Msg::Delta(delta));
        }
        for entry in self.store.iter_mut() {
            if sent.binary_search(&entry.record.id).is_ok() {
                (entry.dirty, entry.owed) = (false, false);
            }
        }
    }

    /// Compares records with a neighbour whose digest differs.
    pub(super) fn compare(&mut self, cx: &mut OmegaCx<'_>, from: Sender, hello: &Hello) {
        let same = hello.digest == self.digest();
        // Its current record does not name this node, so it is correctly in another component.
        let theirs = self.store.get(from.id).map(|e| &e.record);
        let apart = theirs.is_some_and(|r| r.version == hello.version && !r.lists(cx.me));
        let Some(link) = self.links.get_mut(from.id) else {
            return;
        };
        if same || apart || link.state != LinkState::TwoWay {
            link.mismatches = 0;
            link.fresh &= !same;
            return;
        }
        link.mismatches = link.mismatches.saturating_add(1);
        let fresh = link.fresh;
        let quiet = cx.now.since(self.changed_at) >= QUIET;
        if !fresh && (link.mismatches < MISMATCHES || !quiet) {
            return;
        }
        let every = self.config.summary_every;
        let recent = [self.summary_at, self.overheard_at].into_iter().flatten();
        if recent.max().is_some_and(|at| cx.now.since(at) < every) {
            return;
        }
        link.fresh = false;
        self.send_summary(cx);
    }

    fn send_summary(&mut self, cx: &mut OmegaCx<'_>) {
        let members = self.store.members();
        let versions: Vec<(NodeId, Version)> =
            members.map(|e| (e.record.id, e.record.version)).collect();
        let digest = self.digest();
        let fit = (self.frames_max.saturating_sub(OVERHEAD) / VERSION_LEN).max(1);
        let mut first = NodeId(0);
        let mut pages = versions.chunks(fit).peekable();
        while let Some(page) = pages.next() {
            if !self.bucket.take(cx.now) {
                break;
            }
            let next = pages.peek().map(|page| page[0].0);
            let last = next.map_or(NodeId(u64::MAX), |next| NodeId(next.0 - 1));
            let versions = page.to_vec();
            self.stats.summaries += 1;
            cx.send(
                To::Neighbors,
                Msg::Summary(Summary {
                    first,
                    last,
                    digest,
                    versions,
                }),
            );
            self.summary_at = Some(cx.now);
            first = NodeId(last.0.saturating_add(1));
        }
    }

    /// Schedules the records that the sender lacks, and asks for those that this node lacks.
    pub(super) fn on_summary(&mut self, cx: &mut OmegaCx<'_>, from: Sender, summary: &Summary) {
        if summary.digest == self.digest() {
            self.overheard_at = Some(cx.now);
            return;
        }
        let mut want = Vec::new();
        for &(id, version) in summary.versions.iter().filter(|v| v.1.is_sane()) {
            match self.store.version(id) {
                Some(held) if held > version => self.store.owe(id),
                Some(held) if held == version => {}
                _ if id == cx.me => self.refute(cx, version),
                _ => want.push(id),
            }
        }
        if self.store.is_member(from.id) {
            let named = |id| summary.versions.binary_search_by_key(&id, |v| v.0).is_ok();
            for entry in self.store.iter_mut().filter(|e| e.member) {
                let id = entry.record.id;
                entry.owed |= (summary.first..=summary.last).contains(&id) && !named(id);
            }
        }
        let fit = (self.frames_max.saturating_sub(OVERHEAD) / ID_LEN).max(1);
        for ids in want.chunks(fit) {
            if self.bucket.take(cx.now) {
                self.stats.wants += 1;
                cx.send(from.reply_to(), Msg::Want(ids.to_vec()));
            }
        }
    }
}
