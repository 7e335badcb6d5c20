//! The member list: who is known, dense and ordered, with a digest kept up to date.

use super::distance::Coordinate;
use super::msg::BUCKETS;
use super::record::{Accusation, Meta, Precedence, Record, Status};
use super::suspicion::Suspicion;
use crate::hash::{hash_pair, mix};
use crate::id::{Incarnation, Life, NodeId};
use crate::time::{Instant, micros};
use alloc::boxed::Box;
use alloc::collections::VecDeque;
use alloc::sync::Arc;
use alloc::vec::Vec;
use core::net::SocketAddr;
use core::time::Duration;
use hashbrown::HashTable;

/// This node's verdict about a member: what the application is told.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Phase {
    /// It is here.
    Up,
    /// It may be gone; it is still a member.
    Suspected,
    /// It is gone; the record stays for a while against stale rumors.
    Down,
}

/// A smoothed round-trip time and its variation, as TCP keeps them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Rtt {
    /// Smoothed round-trip time; 0 without a sample.
    pub srtt_us: u32,
    /// Smoothed deviation.
    pub var_us: u32,
    /// The two samples before the last.
    recent: [u32; 2],
}

impl Rtt {
    /// Takes a sample; returns the median of the last three, for those whom one outlier harms.
    pub(crate) fn sample(&mut self, us: u64) -> u32 {
        let us = us.clamp(1, 1 << 30) as u32;
        let [a, b] = self.recent;
        let median = if b == 0 {
            us
        } else {
            a.max(b).min(us.max(a.min(b)))
        };
        self.recent = [us, a];
        if self.srtt_us == 0 {
            (self.srtt_us, self.var_us) = (us, us / 2);
        } else {
            self.var_us = (3 * (self.var_us / 4)).saturating_add(self.srtt_us.abs_diff(us) / 4);
            self.srtt_us = ((u64::from(self.srtt_us) * 7 + u64::from(us)) / 8).max(1) as u32;
        }
        median
    }

    /// Whether at least three samples were taken.
    pub(crate) fn is_settled(&self) -> bool {
        self.recent[1] != 0
    }
}

/// One other node, as this one knows it. What every datagram touches shares the first cache line:
/// in a simulation of thousands, looking up a record is what takes the time.
#[derive(Clone, Debug)]
#[repr(C, align(64))]
pub struct Member {
    /// Who.
    pub id: NodeId,
    /// The best claim heard.
    pub precedence: Precedence,
    /// When this node last heard from it directly.
    pub last_contact: Instant,
    /// Round-trip time of direct probes.
    pub rtt: Rtt,
    /// How far it is by the configured source; 0 when that is not known.
    pub distance: f32,
    /// Position among the pingable members, `NOWHERE` when it is down.
    position: u32,
    /// This node's verdict.
    pub phase: Phase,
    /// Within one hop, when the routing below says so.
    pub neighbor: bool,
    /// Address and meta are those of the precedence, not of an older one.
    pub(crate) current: bool,
    /// Where it listens.
    pub addr: SocketAddr,
    /// Where it is, when it says so.
    pub coordinate: Option<Coordinate>,
    /// What it says of itself.
    pub meta: Arc<Meta>,
    /// The first to accuse it of what it is accused of; itself when nobody does, or it left.
    pub accuser: NodeId,
    pub(crate) suspicion: Option<Box<Suspicion>>,
    /// It is silent on purpose until then.
    pub(crate) naps_until: Instant,
    /// When this node may send it an unasked-for ping again.
    pub(crate) pursue_after: Instant,
    /// When a record of a departed member may go.
    expires: Instant,
    /// How often it was suspected, in any life.
    pub suspicion_count: u32,
    /// How often it answered for itself.
    pub refutation_count: u32,
    /// Suspicions, each fading with time, in 256ths, as of `trouble_at`.
    trouble: u32,
    trouble_at: Instant,
}

const NOWHERE: u32 = u32::MAX;

/// Addresses of members long gone that are tried now and then.
const CONTACTS: usize = 64;

impl Member {
    /// The record, as pages carry it.
    pub fn record(&self, now: Instant) -> Record {
        Record {
            id: self.id,
            precedence: self.precedence,
            accuser: self.accuser,
            addr: self.addr,
            meta: Arc::clone(&self.meta),
            coordinate: self.coordinate,
            nap_ms: (micros(self.naps_until.since(now)) / 1000).min(u64::from(u32::MAX)) as u32,
            current: self.current,
        }
    }

    /// When the record of a member that is down goes.
    pub fn forgotten_at(&self) -> Option<Instant> {
        (self.phase == Phase::Down).then_some(self.expires)
    }

    /// Whether it is silent on purpose.
    pub fn is_napping(&self, now: Instant) -> bool {
        self.naps_until > now
    }

    /// How troubled it was of late: the number of suspicions, each counting half after every
    /// `half_life`. 0 is healthy.
    pub fn trouble(&self, now: Instant, half_life: Duration) -> f32 {
        self.faded(now, half_life) as f32 / 256.0
    }

    fn faded(&self, now: Instant, half_life: Duration) -> u32 {
        let age = micros(now.since(self.trouble_at)) / micros(half_life).max(1);
        self.trouble.checked_shr(age.min(64) as u32).unwrap_or(0)
    }

    /// Counts a suspicion.
    pub(crate) fn note_suspicion(&mut self, now: Instant, half_life: Duration) {
        self.suspicion_count = self.suspicion_count.saturating_add(1);
        let halvings = micros(now.since(self.trouble_at)) / micros(half_life).max(1);
        self.trouble = self.faded(now, half_life).saturating_add(256);
        // Only whole half-lives were taken off: what is left of the last one is kept.
        let kept = half_life * halvings.min(64) as u32;
        self.trouble_at = if halvings > 64 {
            now
        } else {
            self.trouble_at + kept
        };
    }

    /// Takes a claim that says nothing of address and meta.
    pub(crate) fn raise(&mut self, to: Precedence) {
        self.current &= self.precedence.with(to.status) == to;
        self.precedence = to;
    }

    pub(crate) fn accusation(&self) -> Accusation {
        Accusation {
            id: self.id,
            precedence: self.precedence,
            accuser: self.accuser,
        }
    }

    fn key(&self) -> u64 {
        digest_key(self.id, self.precedence.life, self.precedence.incarnation)
    }
}

/// What a member adds to the digest of a list.
pub(crate) fn digest_key(id: NodeId, life: Life, incarnation: Incarnation) -> u64 {
    hash_pair(id.0, hash_pair(life.0, u64::from(incarnation.0)))
}

/// In which part of the list a member is compared.
pub(crate) fn bucket_of(id: NodeId) -> usize {
    mix(id.0) as usize % BUCKETS
}

/// The member list without this node itself (I3).
#[derive(Clone, Debug, Default)]
pub struct Table {
    /// Ids in order, with the slot of each: for iteration.
    index: Vec<(NodeId, u32)>,
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
        self.index
            .iter()
            .map(|&(_, slot)| &self.slots[slot as usize])
    }

    /// Records with ids above `after`, in order of id.
    pub fn iter_after(&self, after: Option<NodeId>) -> impl Iterator<Item = &Member> {
        let start = after.map_or(0, |after| self.index.partition_point(|e| e.0 <= after));
        self.index[start..]
            .iter()
            .map(|&(_, slot)| &self.slots[slot as usize])
    }

    /// The member at `position` of `live()` pingable ones, in no particular order.
    pub fn pingable(&self, position: usize) -> Option<&Member> {
        self.pingable
            .get(position)
            .map(|&slot| &self.slots[slot as usize])
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

    /// Has `id` found at `slot`.
    fn point_to(&mut self, id: NodeId, slot: usize) {
        if let Ok(at) = self.index.binary_search_by_key(&id, |e| e.0) {
            let was = self.index[at].1;
            self.index[at].1 = slot as u32;
            if let Some(found) = self.by_id.find_mut(mix(id.0), |&s| s == was) {
                *found = slot as u32;
            }
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
        let Err(at) = self.index.binary_search_by_key(&record.id, |e| e.0) else {
            return;
        };
        let slot = self.slots.len();
        self.index.insert(at, (record.id, slot as u32));
        self.slots.push(Member {
            id: record.id,
            precedence: record.precedence,
            addr: record.addr,
            meta: record.meta,
            accuser: record.accuser,
            phase,
            last_contact: now,
            rtt: Rtt::default(),
            coordinate: record.coordinate.filter(Coordinate::is_sane),
            distance: 0.0,
            neighbor: false,
            suspicion_count: 0,
            refutation_count: 0,
            trouble: 0,
            trouble_at: now,
            current: record.current,
            suspicion: None,
            naps_until: Instant::ZERO,
            pursue_after: Instant::ZERO,
            expires: Instant::MAX,
            position: NOWHERE,
        });
        let slots = &self.slots;
        let rehash = |&s: &u32| mix(slots[s as usize].id.0);
        self.by_id
            .insert_unique(mix(record.id.0), slot as u32, rehash);
        if !record.precedence.status.is_terminal() {
            self.digest ^= self.slots[slot].key();
        }
        if phase != Phase::Down {
            self.list(slot);
        }
        self.version += 1;
    }

    fn list(&mut self, slot: usize) {
        self.live_version += 1;
        self.slots[slot].position = self.pingable.len() as u32;
        self.pingable.push(slot as u32);
    }

    fn unlist(&mut self, slot: usize) {
        self.live_version += 1;
        let position = self.slots[slot].position as usize;
        self.slots[slot].position = NOWHERE;
        self.pingable.swap_remove(position);
        if let Some(&moved) = self.pingable.get(position) {
            self.slots[moved as usize].position = position as u32;
        }
    }

    /// Keeps the record of a member that is down until `expires`, and at most `max` such records.
    pub(crate) fn bury(&mut self, id: NodeId, expires: Instant, max: usize) {
        if let Some(member) = self.touch(id) {
            member.expires = expires;
            self.departed.push_back((expires, id));
        }
        while self.departed.len() > max {
            self.forget_oldest();
        }
    }

    /// Drops the records of departed members that have expired.
    pub(crate) fn expire(&mut self, now: Instant) {
        while self.departed.front().is_some_and(|&(at, _)| at <= now) {
            self.forget_oldest();
        }
    }

    /// Where members listened whose records have expired, the latest last: a few addresses that
    /// outlast any partition.
    pub(crate) fn contacts(&self) -> &VecDeque<SocketAddr> {
        &self.contacts
    }

    /// A departed member: the `n`th of [`Table::departed_len`].
    pub(crate) fn departed(&self, n: usize) -> Option<&Member> {
        let &(expires, id) = self.departed.get(n)?;
        self.get(id)
            .filter(|m| m.phase == Phase::Down && m.expires == expires)
    }

    pub(crate) fn departed_len(&self) -> usize {
        self.departed.len()
    }

    fn forget_oldest(&mut self) {
        let Some((expires, id)) = self.departed.pop_front() else {
            return;
        };
        let Some(slot) = self.slot(id) else { return };
        let member = &self.slots[slot];
        if member.phase == Phase::Down && member.expires == expires {
            self.remove(slot);
        }
    }

    /// Removes a member that is down.
    fn remove(&mut self, slot: usize) {
        let id = self.slots[slot].id;
        if let Ok(found) = self.by_id.find_entry(mix(id.0), |&s| s == slot as u32) {
            found.remove();
        }
        let gone = self.slots.swap_remove(slot);
        debug_assert!(
            gone.position == NOWHERE,
            "only departed members are removed"
        );
        if !gone.precedence.status.is_terminal() {
            self.digest ^= gone.key();
        }
        if gone.precedence.status != Status::Left && gone.addr.port() != 0 {
            self.contacts.retain(|&a| a != gone.addr);
            self.contacts.push_back(gone.addr);
            if self.contacts.len() > CONTACTS {
                self.contacts.pop_front();
            }
        }
        if let Ok(at) = self.index.binary_search_by_key(&gone.id, |e| e.0) {
            self.index.remove(at);
        }
        if let Some(moved) = self.slots.get(slot) {
            let (id, position) = (moved.id, moved.position);
            self.point_to(id, slot);
            if position != NOWHERE {
                self.pingable[position as usize] = slot as u32;
            }
        }
        self.version += 1;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::collections::BTreeMap;
    use proptest::prelude::*;

    fn record(id: u64, inc: u32) -> Record {
        Record {
            id: NodeId(id),
            precedence: Precedence::alive(Life(1), Incarnation(inc)),
            accuser: NodeId(id),
            addr: SocketAddr::from(([10, 0, 0, id as u8], 1)),
            meta: Arc::default(),
            coordinate: None,
            nap_ms: 0,
            current: true,
        }
    }

    #[test]
    fn a_record_takes_three_cache_lines() {
        assert_eq!(size_of::<Member>(), 192);
    }

    #[test]
    fn trouble_counts_suspicions_and_fades() {
        let mut table = Table::default();
        table.insert(record(1, 0), Phase::Up, Instant::ZERO);
        let half = Duration::from_secs(64);
        let at = |s: u64| Instant::from_micros(s * 1_000_000);
        let member = table.touch(NodeId(1)).unwrap();
        assert_eq!(member.trouble(at(5), half), 0.0);
        member.note_suspicion(at(10), half);
        member.note_suspicion(at(20), half);
        assert_eq!(member.trouble(at(20), half), 2.0);
        assert_eq!(member.trouble(at(70), half), 1.0);
        assert_eq!(member.trouble(at(100_000), half), 0.0);
        assert_eq!(member.suspicion_count, 2);
    }

    #[derive(Clone, Debug)]
    enum Op {
        Insert(u64),
        Down(u64),
        Up(u64, u32),
        Expire(u64),
    }

    fn op() -> impl Strategy<Value = Op> {
        prop_oneof![
            (0..12_u64).prop_map(Op::Insert),
            (0..12_u64).prop_map(Op::Down),
            (0..12_u64, 0..9_u32).prop_map(|(id, inc)| Op::Up(id, inc)),
            (0..200_u64).prop_map(Op::Expire),
        ]
    }

    proptest! {
        /// The index, the pingable list and the digest agree with a plain map after any history.
        #[test]
        fn the_table_agrees_with_a_plain_map(ops in proptest::collection::vec(op(), 0..80)) {
            let mut table = Table::default();
            let mut model: BTreeMap<u64, (u32, Phase, Instant)> = BTreeMap::new();
            for (n, op) in ops.into_iter().enumerate() {
                let now = Instant::from_micros(n as u64);
                match op {
                    Op::Insert(id) => {
                        table.insert(record(id, 0), Phase::Up, now);
                        model.entry(id).or_insert((0, Phase::Up, Instant::MAX));
                    }
                    Op::Down(id) => {
                        let expires = now + core::time::Duration::from_micros(50);
                        table.update(NodeId(id), |m| {
                            m.phase = Phase::Down;
                            m.precedence.status = Status::Dead;
                        });
                        table.bury(NodeId(id), expires, 100);
                        if let Some(entry) = model.get_mut(&id) {
                            (entry.1, entry.2) = (Phase::Down, expires);
                        }
                    }
                    Op::Up(id, inc) => {
                        table.update(NodeId(id), |m| {
                            m.phase = Phase::Up;
                            m.precedence = Precedence::alive(Life(1), Incarnation(inc));
                        });
                        if let Some(entry) = model.get_mut(&id) {
                            (entry.0, entry.1) = (inc, Phase::Up);
                        }
                    }
                    Op::Expire(us) => {
                        let now = Instant::from_micros(us);
                        table.expire(now);
                        model.retain(|_, e| e.1 != Phase::Down || e.2 > now);
                    }
                }
                let ids: Vec<u64> = table.iter().map(|m| m.id.0).collect();
                let expected: Vec<u64> = model.keys().copied().collect();
                prop_assert_eq!(ids, expected);
                let live: Vec<_> = model.iter().filter(|(_, e)| e.1 != Phase::Down).collect();
                prop_assert_eq!(table.live(), live.len());
                let mut listed: Vec<u64> =
                    (0..table.live()).map(|i| table.pingable(i).unwrap().id.0).collect();
                listed.sort_unstable();
                prop_assert_eq!(listed, live.iter().map(|(id, _)| **id).collect::<Vec<_>>());
                let digest = live.iter().fold(0, |d, (id, e)| {
                    d ^ digest_key(NodeId(**id), Life(1), Incarnation(e.0))
                });
                prop_assert_eq!(table.digest(), digest);
                let by_bucket = table.bucket_digests().iter().fold(0, |d, b| d ^ b);
                prop_assert_eq!(by_bucket, digest as u32);
            }
        }
    }
}
