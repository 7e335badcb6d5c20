//! Merging: what each claim about a member does to the list.

use super::event::{Arrival, Departure, Event};
use super::join::JoinState;
use super::member::{Member, Phase};
use super::msg::Msg;
use super::record::{Accusation, Precedence, Record, SharedMeta, Status};
use super::rumor::Urgency;
use super::{Membership, MembershipCx};
use crate::id::{Incarnation, Life, NodeId};
use crate::protocol::{Fact, Headers, Sender, To};
use core::net::SocketAddr;
use core::time::Duration;

/// How often a process that may have this node's identity is shown that this one was there before.
pub(super) const WARNINGS: u8 = 3;

impl Headers for Membership {
    fn on_sender(&mut self, cx: &mut MembershipCx<'_>, from: Sender) {
        self.notice_pause(cx);
        let claim = Precedence::alive(from.life, from.incarnation);
        let is_known = |m: &&mut Member| !from.leaving && claim <= m.precedence;
        if let Some(member) = self.table.touch(from.id).filter(is_known) {
            // Nearly always: one look at the list is enough.
            member.hear(cx.now, from.coordinate);
        } else {
            if from.leaving {
                self.merge_left(cx, from.id, from.life, from.incarnation, from.id);
            } else {
                self.merge_alive(cx, from.id, from.life, from.incarnation, Some(from.addr));
            }
            if let Some(member) = self.table.touch(from.id) {
                member.hear(cx.now, from.coordinate);
            }
        }
        self.bear_witness(cx, from.id, from.life);
        self.last_heard = cx.now;
        if self.is_isolated() {
            self.end_isolation(cx, from);
        } else {
            self.consider_sync(cx, from);
        }
        if from.unlucky {
            self.on_unlucky(cx, from);
        }
    }

    /// A sender that does not know what is said of it is told, and one whose record is missing is asked for it. An answer
    /// already tells.
    fn after_sender(&mut self, cx: &mut MembershipCx<'_>, from: Sender, answered: bool) {
        let claim = Precedence::alive(from.life, from.incarnation);
        let Some(member) = self.table.get(from.id) else {
            return;
        };
        let known = member.precedence;
        let witnessed = self.anybody_clears() && known.status == Status::Alive;
        if from.leaving || witnessed || known == claim && member.is_current() {
            return;
        }
        if known == claim && self.may_pursue(cx, from.id) {
            let (seq, want_record) = (self.probes.next_seq(), true);
            cx.send(from.reply_to(), super::Msg::Ping { seq, want_record });
        } else if known.life > from.life {
            // A process of an earlier life, or one whose clock went backwards: it must know.
            let record = self.table.get(from.id).map(|m| m.record(cx.now));
            if let Some(record) = record.filter(|_| self.may_pursue(cx, from.id)) {
                cx.send(from.reply_to(), super::Msg::Record(record));
            }
        } else if known > claim && !answered {
            self.pursue(cx, from.id);
        }
    }

    fn on_own_id(&mut self, cx: &mut MembershipCx<'_>, from: Sender) {
        if from.life < self.born {
            // This process never used that life, and the other one would have to be gone if this were its successor.
            cx.emit(Event::IdentityTaken);
        } else if from.life != self.life {
            let said = Precedence::alive(from.life, from.incarnation);
            self.defend(cx, said, from.id, Some(from.addr));
        }
    }
}

impl Membership {
    /// Whether a claim about `id` can be true: its life and incarnation are not far ahead of what is known. One that
    /// cannot is counted, and to be ignored.
    pub(crate) fn believes(&mut self, me: NodeId, id: NodeId, said: Precedence) -> bool {
        let known = match id == me {
            true => Some(self.own_precedence()),
            false => self.table.get(id).map(|m| m.precedence),
        };
        let same = known.filter(|k| k.life == said.life);
        let plain = said.life.may_follow(known.map(|k| k.life))
            && same.is_none_or(|k| said.incarnation.may_follow(k.incarnation));
        self.stats.numbers_refused += u64::from(!plain);
        plain
    }

    /// A header, or a helper's word about the target's answer: alive, no attributes.
    pub(super) fn merge_alive(
        &mut self,
        cx: &mut MembershipCx<'_>,
        id: NodeId,
        life: Life,
        incarnation: Incarnation,
        addr: Option<SocketAddr>,
    ) {
        let precedence = Precedence::alive(life, incarnation);
        if id == cx.me {
            return;
        }
        match self.table.get(id) {
            Some(member) if precedence > member.precedence => {
                // A known life keeps the address it announced until its record says otherwise.
                let moved = life > member.precedence.life || member.phase == Phase::Down;
                let addr = addr.filter(|_| moved);
                self.revive(cx, id, precedence, addr, None);
            }
            Some(_) => {}
            None => {
                if let Some(addr) = addr {
                    let meta = SharedMeta::default();
                    let (coordinate, nap_ms, current) = (None, 0, false);
                    self.admit(
                        cx,
                        Record {
                            id,
                            precedence,
                            accuser: id,
                            addr,
                            meta,
                            coordinate,
                            nap_ms,
                            current,
                        },
                    );
                }
            }
        }
    }

    /// A full record of a member.
    pub(super) fn on_record(&mut self, cx: &mut MembershipCx<'_>, from: Sender, record: Record) {
        if record
            .meta
            .check(usize::from(self.config.meta_max))
            .is_err()
        {
            self.stats.meta_refused += 1;
            return;
        }
        let (id, precedence) = (record.id, record.precedence);
        if !self.believes(cx.me, id, precedence) {
            return;
        }
        if id == cx.me {
            self.defend(cx, precedence, record.accuser, Some(record.addr));
            return;
        }
        if !self.may_tell(cx, from, id) {
            return;
        }
        let nap = Duration::from_millis(u64::from(record.nap_ms));
        let tells_nap = record.current && precedence.status == Status::Alive;
        match precedence.status {
            Status::Alive => match self.table.get(id) {
                None => self.admit(cx, record),
                Some(m) if precedence > m.precedence => {
                    let fresh = record.current || precedence.life > m.precedence.life;
                    let addr = fresh.then_some(record.addr);
                    let meta = record.current.then_some(record.meta);
                    self.revive(cx, id, precedence, addr, meta);
                }
                Some(m)
                    if record.current
                        && !m.is_current()
                        && m.precedence.with(Status::Alive) == precedence =>
                {
                    self.adopt(cx, record);
                }
                Some(_) => {}
            },
            Status::Suspect => {
                if self.table.get(id).is_none() {
                    let alive = precedence.with(Status::Alive);
                    let accuser = record.accuser;
                    self.admit(
                        cx,
                        Record {
                            precedence: alive,
                            ..record
                        },
                    );
                    self.merge_suspect(cx, id, precedence, accuser);
                } else {
                    self.merge_suspect(cx, id, precedence, record.accuser);
                }
            }
            Status::Dead => self.merge_dead(cx, record),
            Status::Left => {
                if self.believes_goodbye(cx, from, id, precedence.life) {
                    let (life, incarnation) = (precedence.life, precedence.incarnation);
                    self.merge_left(cx, id, life, incarnation, record.accuser);
                }
            }
        }
        if tells_nap {
            self.note_nap(cx, id, precedence, nap);
        }
    }

    /// A member said, with the claim in force, how long it will be silent.
    fn note_nap(&mut self, cx: &MembershipCx<'_>, id: NodeId, said: Precedence, nap: Duration) {
        if nap > self.config.nap_max {
            self.stats.naps_refused += 1;
            return;
        }
        // Awake again, it has the time of a suspect to be heard.
        let until = match nap.is_zero() {
            true => cx.now,
            false => cx.now + nap + self.config.suspicion_min(self.size()),
        };
        if let Some(member) = self.table.touch(id)
            && member.precedence == said
        {
            member.nap_until(until, cx.now);
        }
    }

    /// A suspicion, verdict or goodbye in short form.
    pub(super) fn on_accusation(
        &mut self,
        cx: &mut MembershipCx<'_>,
        from: Sender,
        accusation: Accusation,
    ) {
        let Accusation {
            id,
            precedence,
            accuser,
        } = accusation;
        if !self.believes(cx.me, id, precedence) {
            return;
        }
        if id == cx.me {
            self.defend(cx, precedence, accuser, None);
            return;
        }
        match precedence.status {
            // Not sent in short form.
            Status::Alive => {}
            Status::Suspect => self.merge_suspect(cx, id, precedence, accuser),
            Status::Dead if !self.may_tell(cx, from, id) => {}
            Status::Dead => {
                self.merge_dead(cx, unaddressed(id, precedence, accuser));
            }
            Status::Left => {
                if self.may_tell(cx, from, id)
                    && self.believes_goodbye(cx, from, id, precedence.life)
                {
                    self.merge_left(cx, id, precedence.life, precedence.incarnation, accuser);
                }
            }
        }
    }

    /// Whether `from` may tell of `id`: of those that are known, of itself, and of so many others a minute.
    fn may_tell(&mut self, cx: &MembershipCx<'_>, from: Sender, id: NodeId) -> bool {
        let may = id == from.id
            || self.table.get(id).is_some()
            || self.told.may_tell(cx.now, from.addr, self.config.told_max);
        self.stats.told_refused += u64::from(!may);
        may
    }

    /// Whether the word of `from` is enough that `id` said goodbye in `life`.
    ///
    /// Of the life that is known it is: a member that is there after all learns of it and takes a later one. A goodbye
    /// of a later life than the known one counts once this node itself finds the member silent, and until then has it
    /// looked for: otherwise one forged message could take a member that is well out of the group, in a life that it
    /// has never had.
    fn believes_goodbye(
        &mut self,
        cx: &mut MembershipCx<'_>,
        from: Sender,
        id: NodeId,
        life: Life,
    ) -> bool {
        let Some(member) = self.table.get(id) else {
            return true;
        };
        let plain = from.id == id || life <= member.precedence.life || member.phase != Phase::Up;
        if !plain {
            self.stats.goodbyes_doubted += 1;
            self.probe_on_request(cx, id);
        }
        plain
    }

    fn merge_suspect(
        &mut self,
        cx: &mut MembershipCx<'_>,
        id: NodeId,
        precedence: Precedence,
        by: NodeId,
    ) {
        let Some(member) = self.table.get(id) else {
            // Without an address there is nobody to probe; comparison of lists brings the record.
            self.stats.accusations_unknown += 1;
            return;
        };
        if precedence < member.precedence {
            return self.remind(cx.me, id);
        }
        let renewed = precedence.life > member.precedence.life || member.phase == Phase::Down;
        if renewed {
            // It spoke after what this node last heard of it, and was suspected again.
            self.revive(cx, id, precedence.with(Status::Alive), None, None);
        }
        self.suspect(cx, id, precedence, by);
    }

    fn merge_dead(&mut self, cx: &mut MembershipCx<'_>, record: Record) {
        let (id, precedence, by) = (record.id, record.precedence, record.accuser);
        match self.table.get(id).map(|m| (m.precedence, m.phase)) {
            None => self.inter(cx, record),
            Some((known, _)) if precedence < known => self.remind(cx.me, id),
            Some((known, _)) if precedence == known => {}
            Some((known, Phase::Down)) => {
                self.table.update(id, |m| {
                    m.raise(precedence);
                    m.set_accuser(by);
                });
                if known.life != precedence.life || known.status == Status::Left {
                    self.note_departure(cx, id, by);
                    self.bury(cx, id, Departure::Failed, by);
                    self.note_missing(cx, id, precedence.life);
                }
            }
            Some((known, _)) if known.life < precedence.life => {
                // It died in a life this node never saw; the old one is gone in any case.
                self.table.update(id, |m| {
                    m.raise(precedence);
                    m.set_accuser(by);
                });
                self.note_departure(cx, id, by);
                self.bury_as(cx, id, known.life, Departure::Failed, by);
            }
            Some(_) => self.condemn(cx, id, precedence, by),
        }
    }

    /// A goodbye of the member itself, or the order of an operator at `by` to take it for gone.
    pub(super) fn merge_left(
        &mut self,
        cx: &mut MembershipCx<'_>,
        id: NodeId,
        life: Life,
        incarnation: Incarnation,
        by: NodeId,
    ) {
        let precedence = Precedence {
            life,
            incarnation,
            status: Status::Left,
        };
        match self.table.get(id).map(|m| (m.precedence, m.phase)) {
            None => self.inter(cx, unaddressed(id, precedence, by)),
            Some((known, _)) if precedence <= known => {}
            Some((known, phase)) => {
                self.table.update(id, |m| {
                    m.raise(precedence);
                    m.set_accuser(by);
                });
                self.note_departure(cx, id, by);
                self.hurry(cx);
                if phase != Phase::Down {
                    self.bury_as(cx, id, known.life, Departure::Left, by);
                } else if known.status != Status::Left {
                    self.note_forgotten(cx, id);
                }
            }
        }
    }

    /// An operator removes a member that failed. Everybody takes it for one that left; if it is alive, it learns that
    /// and begins a new life.
    pub(super) fn remove(&mut self, cx: &mut MembershipCx<'_>, id: NodeId) {
        let failed = self.table.get(id).filter(|m| m.has_failed());
        if let Some(claim) = failed.map(|m| m.precedence) {
            self.merge_left(cx, id, claim.life, claim.incarnation, cx.me);
        }
    }

    /// Tells again of a member that was removed here: who was away then still counts it as failed, and comparisons of
    /// lists do not show it.
    pub(super) fn remind_of_removed(&mut self, cx: &mut MembershipCx<'_>) {
        let removed = |m: &&Member| m.has_left() && m.accuser() == cx.me;
        let count = self.table.departed().filter(removed).count();
        if count > 0 {
            let pick = cx.rng.below(count as u32) as usize;
            let id = self
                .table
                .departed()
                .filter(removed)
                .nth(pick)
                .map(|m| m.id);
            if let Some(id) = id {
                self.note_departure(cx, id, cx.me);
            }
        }
    }

    fn note_departure(&mut self, cx: &MembershipCx<'_>, id: NodeId, by: NodeId) {
        self.spread(cx.now, id, by, Urgency::Departure);
    }

    /// Buries a member that the application knows in `life`.
    fn bury_as(
        &mut self,
        cx: &mut MembershipCx<'_>,
        id: NodeId,
        life: Life,
        why: Departure,
        by: NodeId,
    ) {
        self.report(cx, Event::Down { id, life, why, by });
        self.table.update(id, |m| m.phase = Phase::Down);
        self.bury(cx, id, why, by);
    }

    /// A departed node that this one never knew: only its record is kept, against stale rumors.
    fn inter(&mut self, cx: &mut MembershipCx<'_>, record: Record) {
        if self.table.len() >= self.config.members_max as usize {
            self.stats.members_dropped += 1;
            return;
        }
        let (id, by) = (record.id, record.accuser);
        if self.inter_quietly(cx, record) {
            self.note_departure(cx, id, by);
        }
    }

    /// The same, and nobody is told. Whether it is kept: not if it went too long ago.
    pub(super) fn inter_quietly(&mut self, cx: &mut MembershipCx<'_>, record: Record) -> bool {
        let ago = Duration::from_millis(u64::from(record.nap_ms));
        if ago >= self.departed_keep() {
            return false;
        }
        let Record {
            id,
            precedence,
            accuser,
            ..
        } = record;
        self.table.insert(record, Phase::Down, cx.now);
        self.bury_after(cx, id, Departure::Failed, accuser, ago);
        if precedence.status != Status::Left {
            self.note_missing(cx, id, precedence.life);
        }
        true
    }

    /// Tells of a failed member that was not told of before. Where they are not kept nobody counts them.
    fn note_missing(&self, cx: &mut MembershipCx<'_>, id: NodeId, life: Life) {
        if !self.config.departed_keep.is_zero() {
            cx.emit(Event::Missing { id, life });
        }
    }

    /// Tells that a member is listed as failed no longer.
    pub(super) fn note_forgotten(&mut self, cx: &mut MembershipCx<'_>, id: NodeId) {
        self.log.forget(id);
        if !self.config.departed_keep.is_zero() {
            cx.emit(Event::Forgotten { id });
        }
    }

    /// Whether there is room for one more member. The record of a departed one makes room.
    fn make_room(&mut self, cx: &mut MembershipCx<'_>) -> bool {
        if self.table.len() < self.config.members_max as usize {
            return true;
        }
        while self.table.has_departed() {
            if let Some(id) = self.table.evict() {
                self.note_forgotten(cx, id);
                return true;
            }
        }
        self.stats.members_dropped += 1;
        false
    }

    fn admit(&mut self, cx: &mut MembershipCx<'_>, record: Record) {
        if !self.make_room(cx) {
            return;
        }
        let (id, life) = (record.id, record.precedence.life);
        self.table.insert(record, Phase::Up, cx.now);
        let how = Arrival::Joined;
        self.report(cx, Event::Up { id, life, how });
        self.spread(cx.now, id, id, Urgency::Arrival);
        // A newcomer that reads pages tells nobody anything new.
        if self.joining.state != JoinState::Joining {
            self.hurry(cx);
        }
    }

    /// A higher claim of being alive: ends suspicions, brings members back.
    pub(super) fn revive(
        &mut self,
        cx: &mut MembershipCx<'_>,
        id: NodeId,
        precedence: Precedence,
        addr: Option<SocketAddr>,
        meta: Option<SharedMeta>,
    ) {
        let Some(member) = self.table.get(id) else {
            return;
        };
        let (old, phase) = (member.precedence, member.phase);
        let restarted = precedence.life > old.life;
        let current = meta.is_some();
        let changed = addr.is_some_and(|a| a != member.addr())
            || meta.as_ref().is_some_and(|m| *m != member.meta);
        self.forget_suspicion(cx, id);
        self.table.update(id, |m| {
            m.precedence = precedence;
            m.set_accuser(id);
            if !restarted && m.phase != Phase::Up {
                m.note_refutation();
            }
            m.phase = Phase::Up;
            m.set_current(current);
            if let Some(addr) = addr {
                m.set_addr(addr);
            }
            if let Some(meta) = meta {
                m.meta = meta;
            }
            if restarted {
                m.rtt = super::Rtt::default();
                m.forget_meeting();
            }
        });
        let life = precedence.life;
        if restarted && phase != Phase::Down {
            let event = Event::Down {
                id,
                life: old.life,
                why: Departure::Restarted,
                by: id,
            };
            self.report(cx, event);
        }
        if restarted {
            let event = Event::Up {
                id,
                life,
                how: Arrival::Joined,
            };
            self.report(cx, event);
        } else if phase == Phase::Down {
            let event = Event::Up {
                id,
                life,
                how: Arrival::Returned,
            };
            self.report(cx, event);
        } else if phase == Phase::Suspected {
            let event = Event::Up {
                id,
                life,
                how: Arrival::Refuted,
            };
            self.report(cx, event);
        }
        if changed && !restarted {
            cx.emit(Event::Updated { id });
        }
        let urgency = if restarted || phase == Phase::Up {
            Urgency::Arrival
        } else {
            Urgency::Refutation
        };
        self.spread(cx.now, id, id, urgency);
        if restarted || phase != Phase::Up || self.loss.is_high() {
            self.hurry(cx);
        }
    }

    /// The attributes of a claim that is known already.
    fn adopt(&mut self, cx: &mut MembershipCx<'_>, record: Record) {
        let id = record.id;
        let Some(member) = self.table.touch(id) else {
            return;
        };
        let changed = member.addr() != record.addr || member.meta != record.meta;
        member.set_current(true);
        member.set_addr(record.addr);
        member.meta = record.meta;
        if changed {
            cx.emit(Event::Updated { id });
        }
        if member.precedence.status == Status::Alive {
            self.spread(cx.now, id, id, Urgency::Arrival);
        }
    }

    /// Something is said of this node itself, as being at `addr`. What is above its own claim is outbid.
    fn defend(
        &mut self,
        cx: &mut MembershipCx<'_>,
        said: Precedence,
        by: NodeId,
        addr: Option<SocketAddr>,
    ) {
        if matches!(self.joining.state, JoinState::Leaving | JoinState::Left) {
            return;
        }
        if self.take_witness(said) {
            return;
        }
        let own = self.own_precedence();
        if said < own && said.status != Status::Alive {
            return self.remind(cx.me, cx.me);
        }
        if said <= own {
            return;
        }
        if said.life > own.life || said.status == Status::Left {
            // A goodbye is final for its life.
            if self.next_life.is_some_and(|next| next > said.life) {
                // The life that comes after it is only not stored yet.
                return;
            }
            if !self.warn_rival(cx, said, addr) {
                self.repair_life(cx, said);
            }
            return;
        }
        self.incarnation = said.incarnation;
        self.raise_incarnation(cx);
        self.stamp_own(cx.now);
        self.stats.refutations += 1;
        self.raise_health(1);
        if said.status != Status::Alive {
            cx.emit(Event::SelfAccused {
                by,
                was_dead: said.status == Status::Dead,
            });
        }
        self.spread(cx.now, cx.me, cx.me, Urgency::Refutation);
        if said.status != Status::Alive {
            self.tell_one(cx, by);
        }
        self.hurry(cx);
    }

    /// Shows itself, in its present life, to a later life of this node at another address. If a process is there, it
    /// was started later with the same identity, and learns from the earlier life that it has to stop. Whether it was
    /// done: after a few times there is nobody, or it does not heed it.
    fn warn_rival(
        &mut self,
        cx: &mut MembershipCx<'_>,
        said: Precedence,
        addr: Option<SocketAddr>,
    ) -> bool {
        let elsewhere = addr.filter(|addr| *addr != self.addr && addr.port() != 0);
        let Some(addr) = elsewhere.filter(|_| said.status == Status::Alive) else {
            return false;
        };
        if self.warned.0 != said.life {
            self.warned = (said.life, 0);
        }
        if self.warned.1 >= WARNINGS {
            return false;
        }
        self.warned.1 += 1;
        cx.send(To::At(cx.me, addr), Msg::Ack { seq: 0 });
        true
    }

    /// Takes a life above `said`: the clock went backwards, or another process has this id.
    fn repair_life(&mut self, cx: &mut MembershipCx<'_>, said: Precedence) {
        let window = self.config.probe_period * 16;
        let recent = |at: &Option<_>| at.is_some_and(|at| cx.now.since(at) < window);
        if said.status == Status::Alive && self.repairs.iter().all(recent) {
            // Somebody keeps outbidding: stop, and let the operator decide.
            cx.emit(Event::IdentityConflict);
            return;
        }
        self.repairs.rotate_left(1);
        self.repairs[2] = Some(cx.now);
        let random = cx.rng.bits32() as u16;
        self.begin_life(cx, said.life.next(random));
    }

    /// Takes a later life that another layer asks for.
    pub(super) fn outlive(&mut self, cx: &mut MembershipCx<'_>, life: Life) {
        self.begin_life(cx, life);
    }

    /// Stores a later life, which begins in [`Membership::on_life_stored`]. Until then this node goes on in its present
    /// life, even if others no longer accept it: a disk that fails must not silence a member (SEC-7).
    fn begin_life(&mut self, cx: &mut MembershipCx<'_>, life: Life) {
        if life <= self.next_life.unwrap_or(self.life) {
            // At the end of their range no later life exists.
            self.stats.lives_exhausted += u64::from(life.secs() >= Life::END);
            return;
        }
        self.next_life = Some(life);
        cx.persist(Fact::Life(life));
    }

    /// Begins the life that has been stored.
    pub(crate) fn on_life_stored(&mut self, cx: &mut MembershipCx<'_>, life: Life) {
        if self.next_life != Some(life) {
            return;
        }
        self.next_life = None;
        self.stats.life_repairs += 1;
        self.life = life;
        self.incarnation = Incarnation(0);
        self.spread(cx.now, cx.me, cx.me, Urgency::Arrival);
    }

    /// Raises this node's claim by one. When incarnations are used up, the next life takes their place.
    pub(super) fn raise_incarnation(&mut self, cx: &mut MembershipCx<'_>) {
        match self.incarnation.next() {
            Some(next) => self.incarnation = next,
            None if self.next_life.is_some() => {}
            None => {
                let random = cx.rng.bits32() as u16;
                self.begin_life(cx, self.life.next(random));
            }
        }
    }

    /// Announces changed attributes.
    pub(super) fn announce(&mut self, cx: &mut MembershipCx<'_>) {
        if self.is_leaving() {
            // What comes after a goodbye would take it back (I4).
            return;
        }
        self.raise_incarnation(cx);
        self.spread(cx.now, cx.me, cx.me, Urgency::Arrival);
    }
}

/// The record of a departed node of which nothing else is known.
fn unaddressed(id: NodeId, precedence: Precedence, accuser: NodeId) -> Record {
    let addr = SocketAddr::from(([0; 16], 0));
    let meta = SharedMeta::default();
    Record {
        id,
        precedence,
        accuser,
        addr,
        meta,
        coordinate: None,
        nap_ms: 0,
        current: false,
    }
}
