//! The member list: who is known, dense and ordered, with a digest kept up to date.

use super::member::{Member, Phase};
use super::msg::BUCKETS;
use super::record::{Record, Status};
use crate::hash::{hash_pair, mix};
use crate::id::{Incarnation, Life, NodeId};
use crate::time::Instant;
use alloc::collections::VecDeque;
use alloc::vec::Vec;
use core::net::SocketAddr;
use core::time::Duration;
use hashbrown::HashTable;

/// Addresses of members long gone that are tried now and then.
const CONTACTS: usize = 64;

/// What a member adds to the digest of a list.
pub(crate) fn digest_key(id: NodeId, life: Life, incarnation: Incarnation) -> u64 {
    hash_pair(id.0, hash_pair(life.0, u64::from(incarnation.0)))
}

/// What this node itself adds, kept: every datagram needs it, and it seldom changes.
#[derive(Clone, Copy, Debug)]
pub(super) struct OwnKey {
    of: (NodeId, Life, Incarnation),
    key: u64,
}

impl OwnKey {
    pub(super) fn new(id: NodeId, life: Life, incarnation: Incarnation) -> OwnKey {
        OwnKey {
            of: (id, life, incarnation),
            key: digest_key(id, life, incarnation),
        }
    }

    /// The key, if it was kept for this claim.
    pub(super) fn get(&self, id: NodeId, life: Life, incarnation: Incarnation) -> Option<u64> {
        (self.of == (id, life, incarnation)).then_some(self.key)
    }
}

/// In which part of the list a member is compared.
pub(crate) fn bucket_of(id: NodeId) -> usize {
    mix(id.0) as usize % BUCKETS
}

/// The member list without this node itself (I3).
#[derive(Clone, Debug, Default)]
pub struct Table {
    /// Slots in order of id: for iteration.
    index: Vec<u32>,
    /// Slots by id: for look-up. Never iterated, so its order does not matter.
    by_id: HashTable<u32>,
    slots: Vec<Member>,
    /// Slots of members that are up or suspected.
    pingable: Vec<u32>,
    /// Departed members with their expiry, oldest first. An entry whose member came back or departed
    /// again no longer matches its expiry and is skipped.
    departed: VecDeque<(Instant, NodeId)>,
    contacts: VecDeque<SocketAddr>,
    digest: u64,
    version: u64,
    live_version: u64,
}

impl Table {
    /// How many members are up or suspected (K).
    pub fn live(&self) -> usize {
        self.pingable.len()
    }

    /// How many records are held, with those of departed members.
    pub fn len(&self) -> usize {
        self.slots.len()
    }

    /// Whether no record is held.
    pub fn is_empty(&self) -> bool {
        self.slots.is_empty()
    }

    /// Changes whenever a record or verdict does.
    pub fn version(&self) -> u64 {
        self.version
    }

    /// Changes whenever a member comes, goes or restarts.
    pub fn live_version(&self) -> u64 {
        self.live_version
    }

    /// The member with that id, also when it is down.
    pub fn get(&self, id: NodeId) -> Option<&Member> {
        self.slot(id).map(|s| &self.slots[s])
    }

    /// All records in order of id, with those of departed members.
    pub fn iter(&self) -> impl Iterator<Item = &Member> {
        self.iter_after(None)
    }

    /// Records with ids above `after`, in order of id.
    pub fn iter_after(&self, after: Option<NodeId>) -> impl Iterator<Item = &Member> {
        let member = |&slot: &u32| &self.slots[slot as usize];
        let start = after.map_or(0, |after| {
            self.index.partition_point(|slot| member(slot).id <= after)
        });
        self.index[start..].iter().map(member)
    }

    /// The member at `position` of `live()` pingable ones, in no particular order.
    pub fn pingable(&self, position: usize) -> Option<&Member> {
        self.pingable
            .get(position)
            .map(|&slot| &self.slots[slot as usize])
    }

    /// Members that are up or suspected, in the order of their positions.
    pub(crate) fn iter_live(&self) -> impl Iterator<Item = &Member> {
        self.pingable.iter().map(|&slot| &self.slots[slot as usize])
    }

    /// XOR over the records that are not terminal.
    pub fn digest(&self) -> u64 {
        self.digest
    }

    /// The same, by bucket.
    pub fn bucket_digests(&self) -> [u32; BUCKETS] {
        let mut buckets = [0; BUCKETS];
        for member in self
            .slots
            .iter()
            .filter(|m| !m.precedence.status.is_terminal())
        {
            buckets[bucket_of(member.id)] ^= member.key() as u32;
        }
        buckets
    }

    fn slot(&self, id: NodeId) -> Option<usize> {
        let slots = &self.slots;
        let slot = self
            .by_id
            .find(mix(id.0), |&s| slots[s as usize].id == id)?;
        Some(*slot as usize)
    }

    /// Where `id` is in the index, or would be.
    fn rank(&self, id: NodeId) -> Result<usize, usize> {
        let id_at = |&slot: &u32| self.slots[slot as usize].id;
        // A list that is stored or told in order is taken in order.
        match self.index.last() {
            Some(last) if id_at(last) < id => Err(self.index.len()),
            _ => self.index.binary_search_by_key(&id, id_at),
        }
    }

    /// Changes a member through `change`; keeps digest, phase lists and version true.
    pub(crate) fn update<R>(
        &mut self,
        id: NodeId,
        change: impl FnOnce(&mut Member) -> R,
    ) -> Option<R> {
        let slot = self.slot(id)?;
        let member = &mut self.slots[slot];
        let (precedence, phase) = (member.precedence, member.phase);
        let key = member.key();
        let result = change(member);
        let (new_precedence, new_phase) = (member.precedence, member.phase);
        let new_key = member.key();
        if precedence != new_precedence {
            if !precedence.status.is_terminal() {
                self.digest ^= key;
            }
            if !new_precedence.status.is_terminal() {
                self.digest ^= new_key;
            }
            self.version += 1;
            self.live_version += u64::from(precedence.life != new_precedence.life);
        }
        if phase != new_phase {
            self.version += 1;
            if new_phase == Phase::Down {
                self.unlist(slot);
            } else if phase == Phase::Down {
                self.list(slot);
            }
        }
        Some(result)
    }

    /// Touches what digest and phase lists do not depend on: cheaper than [`Table::update`].
    pub(crate) fn touch(&mut self, id: NodeId) -> Option<&mut Member> {
        let slot = self.slot(id)?;
        Some(&mut self.slots[slot])
    }

    /// Touches every member that is up or suspected.
    pub(crate) fn touch_live(&mut self, mut touch: impl FnMut(&mut Member)) {
        for &slot in &self.pingable {
            touch(&mut self.slots[slot as usize]);
        }
    }

    /// Adds a member whose id is not in the table.
    pub(crate) fn insert(&mut self, record: Record, phase: Phase, now: Instant) {
        let (id, terminal) = (record.id, record.precedence.status.is_terminal());
        let Err(at) = self.rank(id) else {
            return;
        };
        let slot = self.slots.len();
        if slot == self.slots.capacity() {
            // Doubling would leave half of it empty.
            self.slots.reserve_exact(slot / 8 + 8);
        }
        self.slots.push(Member::new(record, phase, now));
        self.index.insert(at, slot as u32);
        let slots = &self.slots;
        let rehash = |&s: &u32| mix(slots[s as usize].id.0);
        self.by_id.insert_unique(mix(id.0), slot as u32, rehash);
        if !terminal {
            self.digest ^= self.slots[slot].key();
        }
        if phase != Phase::Down {
            self.list(slot);
        }
        self.version += 1;
    }

    fn list(&mut self, slot: usize) {
        self.live_version += 1;
        self.pingable.push(slot as u32);
    }

    fn unlist(&mut self, slot: usize) {
        self.live_version += 1;
        if let Some(position) = self.position(slot) {
            self.pingable.swap_remove(position);
        }
    }

    /// Where a slot is among the pingable ones. Departures are rare: a search costs less than a
    /// number in every record.
    fn position(&self, slot: usize) -> Option<usize> {
        self.pingable.iter().position(|&s| s == slot as u32)
    }

    /// Keeps the record of a member that went `ago` for `keep` from then on, and at most `max` such records: those of
    /// members that left go first, then the oldest. Returns whom that drops.
    pub(crate) fn bury(
        &mut self,
        id: NodeId,
        now: Instant,
        keep: Duration,
        ago: Duration,
        max: usize,
    ) -> Vec<NodeId> {
        let expires = now + keep.saturating_sub(ago);
        if let Some(member) = self.touch(id) {
            member.set_expires(expires, keep);
            let at = self.departed.partition_point(|&(at, _)| at <= expires);
            self.departed.insert(at, (expires, id));
        }
        let mut gone = Vec::new();
        if self.departed.len() > max {
            let mut departed = core::mem::take(&mut self.departed);
            departed.retain(|&entry| self.is_departed(entry).is_some());
            self.departed = departed;
        }
        while self.departed.len() > max {
            gone.extend(self.evict());
        }
        gone
    }

    /// Drops the records of departed members that have expired. Returns whose.
    pub(crate) fn expire(&mut self, now: Instant) -> Vec<NodeId> {
        let mut gone = Vec::new();
        while self.departed.front().is_some_and(|&(at, _)| at <= now) {
            gone.extend(self.forget(0));
        }
        gone
    }

    /// Whether there may be records of departed members.
    pub(crate) fn has_departed(&self) -> bool {
        !self.departed.is_empty()
    }

    /// Drops the record of one departed member: the oldest that left, or the oldest. Returns whose.
    pub(crate) fn evict(&mut self) -> Option<NodeId> {
        let left = |&entry: &(Instant, NodeId)| {
            let member = self.is_departed(entry);
            member.is_none_or(|m| m.precedence.status == Status::Left)
        };
        let at = self.departed.iter().position(left).unwrap_or(0);
        self.forget(at)
    }

    /// Where members listened whose records have expired, the latest last: a few addresses that
    /// outlast any partition.
    pub(crate) fn contacts(&self) -> &VecDeque<SocketAddr> {
        &self.contacts
    }

    /// Members that are down, the oldest first.
    pub(crate) fn departed(&self) -> impl DoubleEndedIterator<Item = &Member> {
        let departed = self.departed.iter();
        departed.filter_map(|&entry| self.is_departed(entry))
    }

    /// Members that failed and can be looked for, the oldest first.
    pub(crate) fn failed(&self) -> impl DoubleEndedIterator<Item = &Member> {
        let known = |m: &&Member| m.has_failed() && m.addr().port() != 0;
        self.departed().filter(known)
    }

    /// The member of an entry that is in force.
    fn is_departed(&self, (expires, id): (Instant, NodeId)) -> Option<&Member> {
        self.get(id)
            .filter(|m| m.phase == Phase::Down && m.expires() == expires)
    }

    /// Drops an entry of the departed, and the record if it is in force.
    fn forget(&mut self, at: usize) -> Option<NodeId> {
        let (expires, id) = self.departed.remove(at)?;
        let slot = self.slot(id)?;
        let member = &self.slots[slot];
        if member.phase == Phase::Down && member.expires() == expires {
            self.remove(slot);
            return Some(id);
        }
        None
    }

    /// Removes a member that is down. The last record takes its slot.
    fn remove(&mut self, slot: usize) {
        let (id, last) = (self.slots[slot].id, self.slots.len() - 1);
        debug_assert!(self.position(slot).is_none(), "only departed members go");
        if let Ok(at) = self.rank(id) {
            self.index.remove(at);
        }
        if let Ok(found) = self.by_id.find_entry(mix(id.0), |&s| s == slot as u32) {
            found.remove();
        }
        if slot != last {
            self.renumber(last, slot);
        }
        let gone = self.slots.swap_remove(slot);
        if !gone.precedence.status.is_terminal() {
            self.digest ^= gone.key();
        }
        let addr = gone.addr();
        if gone.precedence.status != Status::Left && addr.port() != 0 {
            self.contacts.retain(|&a| a != addr);
            self.contacts.push_back(addr);
            if self.contacts.len() > CONTACTS {
                self.contacts.pop_front();
            }
        }
        self.version += 1;
    }

    /// Has everything that points to the record in slot `from` point to slot `to`.
    fn renumber(&mut self, from: usize, to: usize) {
        let id = self.slots[from].id;
        if let Ok(at) = self.rank(id) {
            self.index[at] = to as u32;
        }
        if let Some(found) = self.by_id.find_mut(mix(id.0), |&s| s == from as u32) {
            *found = to as u32;
        }
        if let Some(position) = self.position(from) {
            self.pingable[position] = to as u32;
        }
    }
}
