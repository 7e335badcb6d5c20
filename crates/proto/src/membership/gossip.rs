//! What rides on a datagram: what its recipient must know of itself, rumors, and for far members
//! what is recent.

use super::Membership;
use super::member::Member;
use super::msg::Msg;
use super::record::{Accusation, Status};
use super::rumor::{Take, Urgency};
use super::suspicion::log_periods;
use crate::encoded::frame_len;
use crate::id::NodeId;
use crate::protocol::{Passenger, Ride};
use crate::time::Instant;

impl Passenger for Membership {
    /// Rumors, and first of all what is said of the receiver itself.
    fn piggyback(&mut self, mut ride: Ride, mut push: impl FnMut(Msg)) {
        let Ride { me, now, to, .. } = ride;
        let mut told = None;
        if let Some(member) = to.and_then(|id| self.table.get(id))
            && member.precedence.status != Status::Alive
        {
            // The recipient learns what is said of it, so that it can answer for itself.
            let msg = Msg::Accusation(member.accusation());
            if ride.take(frame_len(&msg)) {
                told = to;
                push(msg);
            }
        }
        if self.rumors.len() > 0 {
            self.offer_rumors(me, now, told, &mut ride, &mut push);
        }
        if !self.news.is_empty() {
            self.offer_news(now, to, ride, push);
        }
    }
}

impl Membership {
    fn offer_rumors(
        &mut self,
        me: NodeId,
        now: Instant,
        told: Option<NodeId>,
        room: &mut Ride,
        push: &mut impl FnMut(Msg),
    ) {
        let limit = self.rumor_limit();
        let most = usize::from(self.config.rumors_max);
        let own = self.own_record(me, now);
        let to = room.to.filter(|_| self.config.sync_periods > 0);
        let own_accusation = self.own_accusation(me);
        let table = &self.table;
        let mut misfits = 0;
        self.rumors.offer(most, limit, |rumor| {
            if told == Some(rumor.subject) {
                return Take::No;
            }
            let msg = if rumor.subject == me && own.precedence.status == Status::Alive {
                Msg::Record(own.clone())
            } else if rumor.subject == me {
                Msg::Accusation(own_accusation)
            } else {
                match table.get(rumor.subject) {
                    None => return Take::Gone,
                    // It knows that it is alive.
                    Some(m) if Some(m.id) == to && m.precedence.status == Status::Alive => {
                        return Take::No;
                    }
                    Some(m) if m.precedence.status == Status::Alive => Msg::Record(m.record(now)),
                    Some(m) => Msg::Accusation(Accusation {
                        accuser: rumor.accuser,
                        ..m.accusation()
                    }),
                }
            };
            if !room.take(frame_len(&msg)) {
                misfits += 1;
                return if misfits > 4 { Take::Full } else { Take::No };
            }
            push(msg);
            Take::Yes
        });
    }

    /// Starts to pass on news about `subject`.
    pub(super) fn spread(
        &mut self,
        now: Instant,
        subject: NodeId,
        accuser: NodeId,
        urgency: Urgency,
    ) {
        let max = self.rumors_max();
        self.rumors.replace(subject, accuser, urgency, max);
        if self.config.rumor_ring > 0 {
            self.news.retain(|n| n.1 != subject);
            self.news.push_back((now, subject));
            if self.news.len() > usize::from(self.config.rumor_ring) {
                self.news.pop_front();
            }
        }
    }

    /// Somebody still passes on an accusation that the member has answered: the answer is passed on again,
    /// to the one who spoke among others.
    pub(super) fn remind(&mut self, me: NodeId, subject: NodeId) {
        let often = self.config.rumor_reminders;
        let alive = |m: &Member| m.precedence.status == Status::Alive;
        if often > 0 && (subject == me || self.table.get(subject).is_some_and(alive)) {
            let (sent, max) = (self.rumor_limit().saturating_sub(often), self.rumors_max());
            self.rumors.remind(subject, sent, max);
        }
    }

    /// How often a rumor is passed on.
    pub(super) fn rumor_limit(&self) -> u32 {
        self.config.rumor_factor * log_periods(self.size())
    }

    /// Long links are rare under spatial probing: they carry what is recent, told before or not (E16).
    fn offer_news(
        &mut self,
        now: Instant,
        to: Option<NodeId>,
        mut room: Ride,
        mut push: impl FnMut(Msg),
    ) {
        let span = self.config.probe_period * (2 * self.rumor_limit());
        while self
            .news
            .front()
            .is_some_and(|&(at, _)| now.since(at) > span)
        {
            self.news.pop_front();
        }
        let far = to
            .and_then(|id| self.table.get(id))
            .is_some_and(|m| self.selector.is_far(m.distance));
        if !far {
            return;
        }
        for &(_, subject) in self.news.iter().rev() {
            let Some(member) = self.table.get(subject) else {
                continue;
            };
            let msg = match member.precedence.status {
                Status::Alive => Msg::Record(member.record(now)),
                _ => Msg::Accusation(member.accusation()),
            };
            if !room.take(frame_len(&msg)) {
                break;
            }
            push(msg);
        }
    }
}
