//! Probing: ping a member, ask helpers when it is silent, accuse it when they are too.

use super::config::ProbeTimeout;
use super::fast::{ASKED_WITHIN, Fast};
use super::member::{Member, Phase};
use super::msg::Msg;
use super::record::{Precedence, Status};
use super::relay::Relay;
use super::rtt::Rtt;
use super::{Membership, MembershipCx, Timer};
use crate::id::{Incarnation, Life, NodeId};
use crate::protocol::{Sender, To};
use crate::time::{Instant, micros};
use alloc::collections::VecDeque;
use alloc::vec::Vec;

/// Probes under way besides the regular one.
const EXTRA_PROBES: usize = 8;

/// An answer has so long at least, where the period allows it.
const TIMEOUT_MIN_US: u64 = 20_000;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Stage {
    Direct,
    Indirect,
}

/// Why a member is probed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Purpose {
    /// It is its turn.
    Regular,
    /// Somebody doubts it.
    Extra,
    /// The first accuser of a suspect asks this node for its own try, without helpers.
    Asked,
}

/// A probe under way. Its failure is an accusation.
#[derive(Clone, Debug)]
pub(crate) struct Probe {
    /// That of its first ping.
    seq: u32,
    target: NodeId,
    /// The claim being tested: a later one ends the probe without a verdict.
    precedence: Precedence,
    sent_at: Instant,
    /// Its pings. Each has a number of its own, so that an answer tells how long it took.
    pings: [(u32, Instant); Fast::PINGS_MAX],
    pinged: u8,
    end: Instant,
    stage: Stage,
    /// The one probe of the period: its outcome tells how well this node itself does.
    regular: bool,
    /// No helpers are asked: another accuser has asked this node.
    alone: bool,
    asked: u8,
    asked_at: Instant,
    nacks: u8,
    /// When its timer is set to fire.
    due: Instant,
}

impl Probe {
    /// When the ping with this number was sent.
    fn ping(&self, seq: u32) -> Option<Instant> {
        let mut pings = self.pings[..usize::from(self.pinged)].iter();
        pings.find(|p| p.0 == seq).map(|p| p.1)
    }

    /// Attempts so far, in halves of a ping: a helper that was asked counts half.
    fn attempts(&self) -> u32 {
        2 * u32::from(self.pinged) + u32::from(self.asked)
    }

    /// When the last ping was sent.
    fn last_ping(&self) -> Instant {
        self.pings[usize::from(self.pinged) - 1].1
    }
}

/// Probes under way, for this node and for others.
#[derive(Clone, Debug, Default)]
pub(crate) struct Probes {
    own: Vec<Probe>,
    pub(super) relays: VecDeque<Relay>,
    last_seq: u32,
}

impl Probes {
    pub(crate) fn next_seq(&mut self) -> u32 {
        self.last_seq = self.last_seq.wrapping_add(1);
        self.last_seq
    }

    /// Target of the latest regular probe under way.
    pub(crate) fn regular(&self) -> Option<NodeId> {
        let regular = self.own.iter().filter(|p| p.regular);
        regular.max_by_key(|p| p.sent_at).map(|p| p.target)
    }
}

impl Membership {
    /// The tick's own probe.
    pub(super) fn probe_regular(&mut self, cx: &mut MembershipCx<'_>, end: Instant) {
        if self.selector.wants_plan(&self.table) {
            self.refresh_distances();
        }
        let target = match self.neglected(cx) {
            Some(id) => Some(id),
            None => self.selector.target(&self.table, cx.now, cx.rng),
        };
        if let Some(target) = target {
            self.probe(cx, target, end, Purpose::Regular);
        }
    }

    /// Checks a suspicion this node heard of.
    pub(super) fn on_witness_due(&mut self, cx: &mut MembershipCx<'_>, id: NodeId) {
        let suspected = |m: &&Member| m.phase == Phase::Suspected;
        let Some(member) = self.table.get(id).filter(suspected) else {
            return;
        };
        let purpose = match member.suspicion() {
            Some(open) if open.tried => return,
            Some(open) if open.asked => Purpose::Asked,
            _ => Purpose::Extra,
        };
        self.probe_extra(cx, id, purpose);
    }

    /// Checks a member that a layer above doubts.
    pub(super) fn probe_on_request(&mut self, cx: &mut MembershipCx<'_>, id: NodeId) {
        if self.table.get(id).is_some_and(|m| m.phase != Phase::Down) {
            self.probe_extra(cx, id, Purpose::Extra);
        }
    }

    /// Checks a silent member near a suspect.
    pub(super) fn on_sweep_due(&mut self, cx: &mut MembershipCx<'_>, id: NodeId) {
        let quiet = self.config.probe_period * 2;
        let silent = |m: &Member| m.phase == Phase::Up && cx.now.since(m.last_contact) > quiet;
        if self.table.get(id).is_some_and(silent) {
            self.probe_extra(cx, id, Purpose::Extra);
        }
    }

    /// Probes a member besides the regular one, unless it is being probed or too many are.
    fn probe_extra(&mut self, cx: &mut MembershipCx<'_>, id: NodeId, purpose: Purpose) {
        let busy = self.probes.own.iter().any(|p| p.target == id);
        if !busy && self.probes.own.len() <= EXTRA_PROBES {
            self.probe(cx, id, cx.now + self.period(), purpose);
        }
    }

    /// The probe of this node's turn. Whether there is one: a member that naps is let sleep.
    pub(super) fn probe_in_turn(&mut self, cx: &mut MembershipCx<'_>, target: NodeId) -> bool {
        self.probe(cx, target, cx.now + self.period(), Purpose::Regular)
    }

    fn probe(
        &mut self,
        cx: &mut MembershipCx<'_>,
        target: NodeId,
        end: Instant,
        why: Purpose,
    ) -> bool {
        let regular = why == Purpose::Regular;
        let Some(member) = self.table.get(target) else {
            return false;
        };
        if regular && member.is_napping(cx.now) {
            return false;
        }
        let (precedence, want_record) = (member.precedence, !member.is_current());
        let timeout = self.direct_timeout_us(member.rtt);
        let seq = self.probes.next_seq();
        let due = cx.now.after_us(timeout).min(end);
        self.probes.own.push(Probe {
            seq,
            target,
            precedence,
            sent_at: cx.now,
            pings: [(seq, cx.now); Fast::PINGS_MAX],
            pinged: 1,
            end,
            stage: Stage::Direct,
            regular,
            alone: why == Purpose::Asked,
            asked: 0,
            asked_at: cx.now,
            nacks: 0,
            due,
        });
        self.stats.probes += u64::from(regular);
        cx.send(To::Node(target), Msg::Ping { seq, want_record });
        cx.set_timer(Timer::Probe(seq), due);
        true
    }

    /// How long the target has to answer a ping, in microseconds.
    fn direct_timeout_us(&self, rtt: Rtt) -> u64 {
        let third = self.period_us() / 3;
        match self.config.probe_timeout {
            ProbeTimeout::Fixed(t) => micros(t),
            ProbeTimeout::Adaptive if rtt.srtt_us == 0 => self.period_us() / 4,
            ProbeTimeout::Adaptive => {
                let wait = u64::from(rtt.srtt_us) + 4 * u64::from(rtt.var_us);
                wait.clamp(TIMEOUT_MIN_US.min(third), third)
            }
        }
    }

    /// A probe's direct or final deadline.
    pub(super) fn on_probe_due(&mut self, cx: &mut MembershipCx<'_>, seq: u32) {
        let Some(at) = self.probes.own.iter().position(|p| p.seq == seq) else {
            return;
        };
        if self.is_late(cx, self.probes.own[at].due) {
            return;
        }
        let (stage, end) = (self.probes.own[at].stage, self.probes.own[at].end);
        let target = self.table.get(self.probes.own[at].target);
        if target.is_none_or(|m| m.phase == Phase::Down) {
            // It went down meanwhile: there is nothing left to find out, and nobody to ask about it.
            self.probes.own.swap_remove(at);
            return;
        }
        if stage == Stage::Direct && end > cx.now {
            match self.time_for_another_ping(cx.now, at) {
                Some(until) => {
                    self.ping_again(cx, at);
                    self.look_again(cx, at, until);
                }
                None => self.ask_helpers(cx, at),
            }
        } else if end > cx.now && !self.has_evidence(cx.now, at) {
            self.ping_again(cx, at);
            self.look_again(cx, at, self.next_quick_ping(cx.now, at));
        } else {
            let probe = self.probes.own.swap_remove(at);
            self.close_unanswered(cx, &probe);
        }
    }

    /// How long a silent target has to answer one more ping, twice as long as the last one, before helpers
    /// are asked: most of the period is theirs. A lost ping or answer is likelier than a crash, and one more
    /// ping cheaper than helpers.
    fn time_for_another_ping(&self, now: Instant, at: usize) -> Option<Instant> {
        let probe = &self.probes.own[at];
        let rtt = self.table.get(probe.target)?.rtt;
        let until = now.after_us(
            self.direct_timeout_us(rtt)
                .saturating_mul(1 << probe.pinged),
        );
        // The last one goes with the requests for help.
        let more = probe.pinged < self.config.probe_retries;
        (more && until <= probe.sent_at + self.period() / 3).then_some(until)
    }

    fn ping_again(&mut self, cx: &mut MembershipCx<'_>, at: usize) {
        let seq = self.probes.next_seq();
        let probe = &mut self.probes.own[at];
        let member = self.table.get(probe.target);
        let want_record = member.is_some_and(|m| !m.is_current());
        let Some(ping) = probe.pings.get_mut(usize::from(probe.pinged)) else {
            return;
        };
        *ping = (seq, cx.now);
        probe.pinged += 1;
        let target = probe.target;
        cx.send(To::Node(target), Msg::Ping { seq, want_record });
    }

    fn ask_helpers(&mut self, cx: &mut MembershipCx<'_>, at: usize) {
        if self.probes.own[at].pinged <= self.config.probe_retries {
            self.ping_again(cx, at);
        }
        let probe = &mut self.probes.own[at];
        probe.stage = Stage::Indirect;
        let (seq, target, end, alone) = (probe.seq, probe.target, probe.end, probe.alone);
        probe.asked_at = cx.now;
        self.look_again(cx, at, self.next_quick_ping(cx.now, at));
        if alone {
            return;
        }
        let Some((life, addr)) = self
            .table
            .get(target)
            .map(|m| (m.precedence.life, m.addr()))
        else {
            return;
        };
        let k = usize::from(self.config.probe_helpers);
        let helpers = self.selector.helpers(&self.table, cx.rng, target, k);
        self.probes.own[at].asked = helpers.len() as u8;
        self.stats.probes_indirect += 1;
        let budget = match self.config.fast {
            // So that refusals come in time.
            Some(fast) => fast.early.min(end.since(cx.now)),
            None => end.since(cx.now),
        };
        let budget_ms = (micros(budget) / 1000).min(u64::from(u32::MAX)) as u32;
        for helper in helpers {
            let msg = Msg::PingReq {
                seq,
                target,
                life,
                addr,
                budget_ms,
            };
            cx.send(To::Node(helper), msg);
        }
    }

    /// Sets the time at which a probe is looked at again.
    fn look_again(&mut self, cx: &mut MembershipCx<'_>, at: usize, due: Instant) {
        let probe = &mut self.probes.own[at];
        probe.due = due;
        cx.set_timer(Timer::Probe(probe.seq), due);
    }

    /// When a target that stays silent is pinged once more, or given up on at the end.
    fn next_quick_ping(&self, now: Instant, at: usize) -> Instant {
        let probe = &self.probes.own[at];
        let Some(fast) = self.config.fast else {
            return probe.end;
        };
        let rtt = self.table.get(probe.target).map(|m| m.rtt);
        let rtt = rtt.unwrap_or_default();
        let pace = fast.pace_us(rtt).max(self.direct_timeout_us(rtt));
        now.after_us(pace).min(probe.end)
    }

    /// Whether a probe can end before its period does: enough attempts failed for the loss that is measured, those
    /// who were asked had their time, and this node is heard by somebody.
    fn has_evidence(&self, now: Instant, at: usize) -> bool {
        let probe = &self.probes.own[at];
        let Some(fast) = self.config.fast else {
            return false;
        };
        let rtt = self.table.get(probe.target).map(|m| m.rtt);
        let timeout = self.direct_timeout_us(rtt.unwrap_or_default());
        let helped = probe.nacks == probe.asked || now >= probe.asked_at + fast.early;
        probe.stage == Stage::Indirect
            && now >= probe.sent_at + fast.early
            && now >= probe.last_ping().after_us(timeout)
            && helped
            && probe.attempts() >= self.loss.attempts_needed()
            && self.has_heard_during(probe)
    }

    /// Whether anybody was heard since a probe began.
    fn has_heard_during(&self, probe: &Probe) -> bool {
        // Whoever was asked to check has heard the accuser a moment ago.
        let since = match probe.alone {
            true => probe.sent_at - 2 * ASKED_WITHIN,
            false => probe.sent_at,
        };
        self.last_heard > since
    }

    fn close_unanswered(&mut self, cx: &mut MembershipCx<'_>, probe: &Probe) {
        self.stats.probes_failed += 1;
        if probe.regular {
            // A silent target tells nothing about this node; silent helpers do.
            let silent = probe.asked.saturating_sub(probe.nacks);
            self.raise_health(if probe.asked == 0 { 1 } else { silent });
        }
        // Who heard nobody at all during a whole probe accuses nobody: it may be the one that is cut off, as after a longer
        // silence. Of two members nobody can tell.
        let may_be_cut_off =
            self.config.fast.is_some() && self.config.isolation && self.table.live() >= 2;
        if may_be_cut_off && !self.is_isolated() && !self.has_heard_during(probe) {
            self.stats.probes_deaf += 1;
            return;
        }
        if self.anybody_clears() {
            if !self.is_seen_since(probe.target, probe.sent_at) {
                self.accuse(cx, probe.target);
            }
            return;
        }
        // I16: no verdict about a claim that was renewed during the probe.
        if self
            .table
            .get(probe.target)
            .is_some_and(|m| m.precedence == probe.precedence)
            || self.still_same_claim(probe)
        {
            self.accuse(cx, probe.target);
        }
    }

    /// Being suspected by others during the probe does not renew a claim.
    fn still_same_claim(&self, probe: &Probe) -> bool {
        self.table.get(probe.target).is_some_and(|m| {
            m.precedence.status == Status::Suspect
                && m.precedence.with(Status::Alive) == probe.precedence.with(Status::Alive)
        })
    }

    /// A ping reached this node.
    pub(super) fn on_ping(
        &mut self,
        cx: &mut MembershipCx<'_>,
        from: Sender,
        seq: u32,
        want: bool,
    ) {
        self.note_probed(cx.now);
        cx.send(from.reply_to(), Msg::Ack { seq });
        if want {
            cx.send(from.reply_to(), Msg::Record(self.own_record(cx.me, cx.now)));
        }
    }

    /// An answer to one of this node's pings, for itself or for another.
    pub(super) fn on_ack(&mut self, cx: &mut MembershipCx<'_>, from: Sender, seq: u32) {
        self.on_leave_acked(cx, from.id);
        if self.on_relay_ack(cx, from, seq) {
            return;
        }
        self.answered(cx, seq, from.id, from.life, true);
    }

    /// A helper reached the target.
    pub(super) fn on_indirect_ack(
        &mut self,
        cx: &mut MembershipCx<'_>,
        seq: u32,
        target: NodeId,
        life: Life,
        incarnation: Incarnation,
    ) {
        // The helper repeats what the target's own answer said of itself.
        self.merge_alive(cx, target, life, incarnation, None);
        self.bear_witness(cx, target, life);
        self.answered(cx, seq, target, life, false);
    }

    /// A helper did not reach the target, but does answer.
    pub(super) fn on_nack(&mut self, cx: &mut MembershipCx<'_>, seq: u32) {
        let Some(at) = self.probes.own.iter().position(|p| p.seq == seq) else {
            return;
        };
        let probe = &mut self.probes.own[at];
        probe.nacks = probe.nacks.saturating_add(1).min(probe.asked);
        if self.has_evidence(cx.now, at) {
            let probe = self.probes.own.swap_remove(at);
            cx.cancel_timer(Timer::Probe(seq));
            self.close_unanswered(cx, &probe);
        }
    }

    fn answered(
        &mut self,
        cx: &mut MembershipCx<'_>,
        seq: u32,
        who: NodeId,
        life: Life,
        direct: bool,
    ) {
        let own = self.probes.own.iter().enumerate();
        let mut answered = own.filter(|(_, p)| p.target == who && life >= p.precedence.life);
        let Some((at, sent_at)) = answered.find_map(|(at, p)| Some((at, p.ping(seq)?))) else {
            return;
        };
        let probe = self.probes.own.swap_remove(at);
        cx.cancel_timer(Timer::Probe(probe.seq));
        if direct {
            self.note_rtt(cx, who, micros(cx.now.since(sent_at)));
        }
        if probe.regular {
            self.lower_health();
            self.measure_loss(cx.now, &probe, direct.then_some(seq));
        }
    }

    /// What the pings of an answered probe tell about loss: those before the answered one are lost, later ones are
    /// still under way. When a helper reached the target, those whose time is over are lost.
    fn measure_loss(&mut self, now: Instant, probe: &Probe, answered: Option<u32>) {
        if self.config.fast.is_none() {
            return;
        }
        let rtt = self.table.get(probe.target).map(|m| m.rtt);
        let timeout = self.direct_timeout_us(rtt.unwrap_or_default());
        for &(seq, sent_at) in &probe.pings[..usize::from(probe.pinged)] {
            match answered {
                Some(one) if one == seq => return self.loss.sample(false),
                None if sent_at.after_us(timeout) > now => return,
                _ => self.loss.sample(true),
            }
        }
    }

    /// Pings a node outside the regular schedule, at most once a period. The ping tells it what is
    /// said of it, so its answer is its defence; without an answer nothing happens.
    pub(super) fn pursue(&mut self, cx: &mut MembershipCx<'_>, id: NodeId) {
        if !self.may_pursue(cx, id) {
            return;
        }
        let seq = self.probes.next_seq();
        self.stats.pursuits += 1;
        cx.send(
            To::Node(id),
            Msg::Ping {
                seq,

                want_record: false,
            },
        );
    }

    /// Whether an unasked-for message to `id` is due; counts as sent.
    pub(super) fn may_pursue(&mut self, cx: &MembershipCx<'_>, id: NodeId) -> bool {
        let next = cx.now + self.config.probe_period;
        let member = self.table.touch(id);
        member.is_some_and(|m| m.pursue(cx.now, next))
    }

    /// Drops every probe under way without a verdict.
    pub(super) fn drop_probes(&mut self, cx: &mut MembershipCx<'_>) {
        for probe in self.probes.own.drain(..) {
            cx.cancel_timer(Timer::Probe(probe.seq));
        }
    }
}

#[cfg(test)]
impl Probes {
    /// The number of the last ping.
    pub(super) fn last_seq_sent(&self) -> u32 {
        self.last_seq
    }
}

#[cfg(test)]
impl Membership {
    /// When a probe that is under way is looked at next.
    pub(super) fn probe_due(&self, seq: u32) -> Option<Instant> {
        let own = self.probes.own.iter().find(|p| p.seq == seq);
        own.map(|p| p.due)
    }
}
