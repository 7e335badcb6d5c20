//! One other node, as this one knows it.
//!
//! A list of thousands is mostly records of members that are well: what only the others have (an
//! accuser, a nap, a history, an address of the longer family) is kept apart, in a box.

use super::rare::Rare;
use super::record::{Accusation, Precedence, Record, SharedMeta, Status};
use super::rtt::Rtt;
use super::suspicion::Suspicion;
use super::table::digest_key;
use crate::coordinate::Coordinate;
use crate::id::NodeId;
use crate::time::{Instant, micros};
use alloc::boxed::Box;
use core::net::{Ipv4Addr, SocketAddr, SocketAddrV4};
use core::time::Duration;

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

/// One other node, as this one knows it. Three half cache lines, what every datagram touches in the
/// first: in a simulation of thousands, looking up a record is what takes the time.
#[derive(Clone, Debug)]
#[repr(C, align(32))]
pub struct Member {
    /// The node's id.
    pub id: NodeId,
    /// The best claim heard.
    pub precedence: Precedence,
    /// When this node last heard from it directly.
    pub last_contact: Instant,
    /// Round-trip time of direct probes.
    pub rtt: Rtt,
    /// How far it is by the configured source; 0 when that is not known.
    pub distance: f32,
    /// Where it listens, unless the address is in `rare`.
    ip: Ipv4Addr,
    port: u16,
    /// This node's verdict.
    pub phase: Phase,
    flags: u8,
    /// Meaningless without `LOCATED`.
    coordinate: Coordinate,
    /// What it says of itself.
    pub meta: SharedMeta,
    rare: Option<Box<Rare>>,
}

/// Flag of a member: within one hop, when the routing below says so.
const NEIGHBOR: u8 = 1;
/// Flag of a member: address and meta are those of the precedence, not of an older one.
const CURRENT: u8 = 2;
/// Flag of a member: it has said where it is.
const LOCATED: u8 = 4;
/// Flag of a member: it answered from its address in its life.
const PROVEN: u8 = 8;
/// Flag of a member: it says that it knows this node's address.
const HOLDS: u8 = 16;
/// The other bits: which version of this node's coordinate it was told.
const TOLD_PLACE: u32 = 5;

impl Member {
    pub(super) fn new(record: Record, phase: Phase, now: Instant) -> Member {
        let mut member = Member {
            id: record.id,
            precedence: record.precedence,
            last_contact: now,
            rtt: Rtt::default(),
            distance: 0.0,
            ip: Ipv4Addr::UNSPECIFIED,
            port: 0,
            phase,
            flags: 0,
            coordinate: Coordinate::default(),
            meta: record.meta,
            rare: None,
        };
        member.set_addr(record.addr);
        member.set_accuser(record.accuser);
        member.set_current(record.current);
        if let Some(place) = record.coordinate.filter(Coordinate::is_sane) {
            member.locate(place);
        }
        member
    }

    fn rare_mut(&mut self) -> &mut Rare {
        self.rare.get_or_insert_with(|| Rare::none(self.id))
    }

    fn set_flag(&mut self, flag: u8, on: bool) {
        self.flags = if on {
            self.flags | flag
        } else {
            self.flags & !flag
        };
    }

    /// The record, as pages carry it.
    pub fn record(&self, now: Instant) -> Record {
        let nap = match self.phase {
            Phase::Down => Duration::ZERO,
            Phase::Up | Phase::Suspected => self.naps_until().since(now),
        };
        Record {
            id: self.id,
            precedence: self.precedence,
            accuser: self.accuser(),
            addr: self.addr(),
            meta: self.meta.clone(),
            coordinate: self.coordinate(),
            nap_ms: (micros(nap) / 1000).min(u64::from(u32::MAX)) as u32,
            current: self.is_current(),
        }
    }

    /// The address at which the member receives datagrams.
    pub fn addr(&self) -> SocketAddr {
        match self.rare.as_ref().and_then(|r| r.addr) {
            Some(long) => SocketAddr::V6(long),
            None => SocketAddr::V4(SocketAddrV4::new(self.ip, self.port)),
        }
    }

    pub(crate) fn set_addr(&mut self, addr: SocketAddr) {
        if addr != self.addr() {
            self.set_proven(false);
        }
        match addr {
            SocketAddr::V4(short) => {
                (self.ip, self.port) = (*short.ip(), short.port());
                if let Some(rare) = &mut self.rare {
                    rare.addr = None;
                }
            }
            SocketAddr::V6(long) => self.rare_mut().addr = Some(long),
        }
    }

    /// Where it is, when it says so.
    pub fn coordinate(&self) -> Option<Coordinate> {
        (self.flags & LOCATED != 0).then_some(self.coordinate)
    }

    /// A datagram of its own came, which may say where it is.
    pub(super) fn hear(&mut self, now: Instant, place: Option<Coordinate>) {
        self.last_contact = now;
        if let Some(place) = place {
            self.locate(place);
        }
    }

    pub(crate) fn locate(&mut self, place: Coordinate) {
        self.coordinate = place;
        self.set_flag(LOCATED, true);
    }

    /// Whether it is within one hop, when the routing below says so.
    pub fn is_neighbor(&self) -> bool {
        self.flags & NEIGHBOR != 0
    }

    pub(crate) fn set_neighbor(&mut self, on: bool) {
        self.set_flag(NEIGHBOR, on);
    }

    /// Whether address and meta are those of the precedence, not of an older one.
    pub fn is_current(&self) -> bool {
        self.flags & CURRENT != 0
    }

    pub(crate) fn set_current(&mut self, on: bool) {
        self.set_flag(CURRENT, on);
    }

    /// Whether it is known to be at its address, in its life.
    pub fn is_proven(&self) -> bool {
        self.flags & PROVEN != 0
    }

    pub(crate) fn set_proven(&mut self, on: bool) {
        self.set_flag(PROVEN, on);
    }

    /// Whether it says that it knows this node's address.
    pub(crate) fn holds_this(&self) -> bool {
        self.flags & HOLDS != 0
    }

    pub(crate) fn set_holds(&mut self, on: bool) {
        self.set_flag(HOLDS, on);
    }

    /// Which version of this node's coordinate it was told; 0 if none.
    pub(super) fn told_place(&self) -> u8 {
        self.flags >> TOLD_PLACE
    }

    pub(super) fn set_told_place(&mut self, version: u8) {
        self.flags = self.flags & !(u8::MAX << TOLD_PLACE) | version << TOLD_PLACE;
    }

    /// It has begun another life: whatever was proven was of the earlier one, and so was what it was told.
    pub(crate) fn forget_meeting(&mut self) {
        self.set_flag(PROVEN | HOLDS, false);
        self.set_told_place(0);
    }

    /// The first to accuse it of what it is accused of; itself when nobody does, or it left; who removed it, if an
    /// operator did.
    pub fn accuser(&self) -> NodeId {
        self.rare.as_ref().map_or(self.id, |r| r.accuser)
    }

    pub(crate) fn set_accuser(&mut self, by: NodeId) {
        if by != self.accuser() {
            self.rare_mut().accuser = by;
        }
    }

    pub(crate) fn suspicion(&self) -> Option<&Suspicion> {
        self.rare.as_ref()?.suspicion.as_deref()
    }

    pub(crate) fn suspicion_mut(&mut self) -> Option<&mut Suspicion> {
        self.rare.as_mut()?.suspicion.as_deref_mut()
    }

    pub(crate) fn set_suspicion(&mut self, suspicion: Suspicion) {
        self.rare_mut().suspicion = Some(Box::new(suspicion));
    }

    /// Ends the suspicion; says whether one was open.
    pub(crate) fn end_suspicion(&mut self) -> bool {
        let open = self.rare.as_mut().and_then(|r| r.suspicion.take());
        open.is_some()
    }

    fn naps_until(&self) -> Instant {
        self.rare.as_ref().map_or(Instant::ZERO, |r| r.naps_until)
    }

    /// Whether it is silent on purpose.
    pub fn is_napping(&self, now: Instant) -> bool {
        self.naps_until() > now
    }

    /// It is silent on purpose until then. A time that is not after `now` wakes it.
    pub(crate) fn nap_until(&mut self, until: Instant, now: Instant) {
        if until > now || self.is_napping(now) {
            self.rare_mut().naps_until = until;
        }
    }

    /// Whether this node may send it an unasked-for ping; if so, not again before `next`.
    pub(crate) fn pursue(&mut self, now: Instant, next: Instant) -> bool {
        let rare = self.rare_mut();
        let due = now >= rare.pursue_after;
        if due {
            rare.pursue_after = next;
        }
        due
    }

    /// When the record of a member that is down goes.
    pub fn forgotten_at(&self) -> Option<Instant> {
        (self.phase == Phase::Down).then(|| self.expires())
    }

    /// For how long it has been down, as far as this node knows.
    pub fn departed_for(&self, now: Instant) -> Option<Duration> {
        let rare = self.rare.as_ref().filter(|_| self.phase == Phase::Down)?;
        Some(rare.kept.saturating_sub(rare.expires.since(now)))
    }

    /// Whether it said goodbye, or was removed.
    pub fn has_left(&self) -> bool {
        self.phase == Phase::Down && self.precedence.status == Status::Left
    }

    /// Whether it is down and did not leave.
    pub fn has_failed(&self) -> bool {
        self.phase == Phase::Down && self.precedence.status != Status::Left
    }

    pub(super) fn expires(&self) -> Instant {
        self.rare.as_ref().map_or(Instant::MAX, |r| r.expires)
    }

    /// Keeps the record until `at`, which is `kept` after the member went.
    pub(super) fn set_expires(&mut self, at: Instant, kept: Duration) {
        let rare = self.rare_mut();
        (rare.expires, rare.kept) = (at, kept);
    }

    /// How often it was suspected, in any life.
    pub fn suspicion_count(&self) -> u32 {
        self.rare.as_ref().map_or(0, |r| r.suspicion_count)
    }

    /// How often it answered for itself.
    pub fn refutation_count(&self) -> u32 {
        self.rare.as_ref().map_or(0, |r| r.refutation_count)
    }

    /// The recent trouble with it: the number of suspicions, each counting half after every
    /// `half_life`. 0 is healthy.
    pub fn trouble(&self, now: Instant, half_life: Duration) -> f32 {
        let rare = self.rare.as_ref();
        rare.map_or(0.0, |r| r.faded(now, half_life) as f32 / 256.0)
    }

    /// The same in 256ths.
    pub(crate) fn trouble_256(&self, now: Instant, half_life: Duration) -> u32 {
        self.rare.as_ref().map_or(0, |r| r.faded(now, half_life))
    }

    /// Counts a suspicion.
    pub(crate) fn note_suspicion(&mut self, now: Instant, half_life: Duration) {
        self.rare_mut().note_suspicion(now, half_life);
    }

    /// Counts an answer for itself.
    pub(crate) fn note_refutation(&mut self) {
        self.rare_mut().refutation_count += 1;
    }

    /// Takes a claim that says nothing of address and meta.
    pub(crate) fn raise(&mut self, to: Precedence) {
        if self.precedence.with(to.status) != to {
            self.set_current(false);
        }
        if self.precedence.life != to.life {
            self.forget_meeting();
        }
        self.precedence = to;
    }

    pub(crate) fn accusation(&self) -> Accusation {
        Accusation {
            id: self.id,
            precedence: self.precedence,
            accuser: self.accuser(),
        }
    }

    /// What it adds to the digest of the list.
    pub(super) fn key(&self) -> u64 {
        digest_key(self.id, self.precedence.life, self.precedence.incarnation)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::id::{Incarnation, Life};

    fn member(addr: SocketAddr) -> Member {
        let record = Record {
            id: NodeId(1),
            precedence: Precedence::alive(Life(1), Incarnation(0)),
            accuser: NodeId(1),
            addr,
            meta: SharedMeta::default(),
            coordinate: None,
            nap_ms: 0,
            current: true,
        };
        Member::new(record, Phase::Up, Instant::ZERO)
    }

    const SHORT: &str = "10.0.0.1:7000";
    const LONG: &str = "[fe80::1%4]:7000";

    #[test]
    fn a_member_that_is_well_takes_three_half_cache_lines() {
        assert_eq!(size_of::<Member>(), 96);
        let mut member = member(SHORT.parse().unwrap());
        // What every healthy member is told of writes nothing down.
        member.set_accuser(NodeId(1));
        member.nap_until(Instant::ZERO, Instant::ZERO);
        member.locate(Coordinate::at([1.0; 3]));
        assert!(!member.end_suspicion());
        assert!(member.rare.is_none());
    }

    #[test]
    fn an_address_of_either_family_is_kept_whole() {
        for first in [SHORT, LONG] {
            let first: SocketAddr = first.parse().unwrap();
            let mut member = member(first);
            assert_eq!(member.addr(), first);
            for next in [LONG, SHORT, LONG] {
                let next: SocketAddr = next.parse().unwrap();
                member.set_addr(next);
                assert_eq!(member.addr(), next);
                assert_eq!(member.record(Instant::ZERO).addr, next);
            }
        }
    }

    #[test]
    fn flags_do_not_disturb_each_other() {
        let mut member = member(SHORT.parse().unwrap());
        assert_eq!(member.coordinate(), None);
        member.set_neighbor(true);
        member.locate(Coordinate::default());
        member.set_current(false);
        assert!(member.is_neighbor() && !member.is_current());
        assert_eq!(member.coordinate(), Some(Coordinate::default()));
        member.set_current(true);
        member.set_neighbor(false);
        assert!(!member.is_neighbor() && member.is_current());
    }

    #[test]
    fn a_nap_ends_by_its_time_or_by_word() {
        let at = |s: u64| Instant::from_micros(s * 1_000_000);
        let mut member = member(SHORT.parse().unwrap());
        member.nap_until(at(9), at(1));
        assert_eq!(member.record(at(2)).nap_ms, 7000);
        assert!(member.is_napping(at(8)) && !member.is_napping(at(9)));
        member.nap_until(at(3), at(3));
        assert!(!member.is_napping(at(3)));
    }

    #[test]
    fn trouble_counts_suspicions_and_fades() {
        let half = Duration::from_secs(64);
        let at = |s: u64| Instant::from_micros(s * 1_000_000);
        let mut member = member(SHORT.parse().unwrap());
        assert_eq!(member.trouble(at(5), half), 0.0);
        member.note_suspicion(at(10), half);
        member.note_suspicion(at(20), half);
        assert_eq!(member.trouble(at(20), half), 2.0);
        assert_eq!(member.trouble(at(70), half), 1.0);
        assert_eq!(member.trouble(at(100_000), half), 0.0);
        assert_eq!(member.suspicion_count(), 2);
    }
}
