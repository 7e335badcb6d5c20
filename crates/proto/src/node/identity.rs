//! Who is who in an identified group: whose certificate holds, and what goes to those who do not know this node's yet.
//!
//! | a datagram | is read by | what counts of it |
//! |---|---|---|
//! | to all | whoever has the group's key | who hears whom, from proven addresses; certificates; that somebody wants to join draws a challenge |
//! | to one member | whoever has the group's key | certificates, requests for one, challenges |
//! | to one member, paired | its receiver alone | everything, by the rules of [`super::meeting`] |
//!
//! So the group's key alone opens no session and moves no window of one: a datagram that counts takes the secret of a
//! certificate that holds here. A node shows its certificate to whoever may not know it, and asks for those it needs; what
//! it wanted to say meanwhile is kept for two seconds, and said when it can be.

use super::meeting::{Greeting, is_greeting};
use super::sealing::{Hearing, Opened};
use super::{Node, Outgoing};
use crate::event::Event;
use crate::id::NodeId;
use crate::membership::Msg;
use crate::protocol::{Destination, Protocol, Sender, To};
use crate::seal::{self, Cert, CertMsg, Counter, Form, Revoked, Shown};
use crate::time::Instant;
use crate::wire::{FRAMES_MAX, Frame};
use alloc::sync::Arc;
use alloc::vec::Vec;
use core::net::SocketAddr;
use core::time::Duration;

/// How often certificates are looked at whose time may be over.
const LOOK_EVERY: Duration = Duration::from_secs(10);

impl Node {
    /// The certificate of a node, if it holds; `None` in a group whose members do not prove who they are.
    pub fn certificate_of(&self, id: NodeId) -> Option<&Cert> {
        let certs = self.sealer.certs.as_ref()?;
        certs.get(id).map(|cert| &**cert)
    }

    /// The list of certificates that no longer count, if there is one.
    pub fn revoked(&self) -> Option<&Revoked> {
        let certs = self.sealer.certs.as_ref()?;
        certs.revoked().map(|list| &**list)
    }

    /// Whether a list of revoked certificates is newer than the known one, and an operator has signed it.
    pub fn takes_revoked(&self, list: &Revoked) -> bool {
        let certs = self.sealer.certs.as_ref();
        certs.is_some_and(|certs| certs.takes(list)) && self.has_room_for(list)
    }

    /// Whether a list of revoked certificates can be told to others: it has to fit into a datagram.
    pub fn has_room_for(&self, list: &Revoked) -> bool {
        let give = Frame::Cert(CertMsg::Give(Arc::new(list.clone())));
        give.encoded_len() <= self.io.frames_max
    }

    /// Whether this node's own certificate has been revoked.
    pub fn is_revoked(&self) -> bool {
        let certs = self.sealer.certs.as_ref();
        certs.is_some_and(|certs| certs.revoked().is_some_and(|list| list.has(certs.own())))
    }

    /// Uses another list from now on. It has to be stored.
    pub(super) fn set_revoked(&mut self, list: Revoked) {
        if !self.takes_revoked(&list) {
            return;
        }
        let Some(certs) = &mut self.sealer.certs else {
            return;
        };
        for id in certs.revoke(list) {
            self.io.stats.seal.revoked += u64::from(self.sealer.sessions.get(id).is_some());
            self.sealer.sessions.end(id);
        }
        self.sealer.sessions.change_revoked();
    }

    /// Takes a message about certificates that a member says in a pair.
    pub(super) fn on_cert_msg(&mut self, now: Instant, from: Sender, msg: CertMsg) {
        let Some(certs) = &mut self.sealer.certs else {
            return;
        };
        let Some(talk) = self.sealer.sessions.lists(from.id) else {
            return;
        };
        let own = certs.stamp();
        let answer = match msg {
            // A member's own one goes to those who do not know it yet, who read nothing else.
            CertMsg::Ask => None,
            CertMsg::AskFor(id) => certs.get(id).map(|cert| CertMsg::Show(Arc::clone(cert))),
            CertMsg::Show(cert) => {
                self.take_cert(now, cert.id, &cert);
                None
            }
            CertMsg::Have(theirs) if Some(theirs) == own => {
                // It may not know that this node has the same.
                let news = talk.agree();
                news.then_some(CertMsg::Have(theirs))
            }
            CertMsg::Have(theirs) => {
                let wants = Some(theirs) > own && talk.want(now);
                wants.then_some(CertMsg::Want)
            }
            CertMsg::Want => match talk.give(now) {
                true => certs.give(now).map(CertMsg::Give),
                false => None,
            },
            CertMsg::Give(list) => {
                if talk.is_wanted(now) && certs.takes_from_others(now, &list) {
                    self.io.events.push_back(Event::Revoked(list));
                }
                None
            }
        };
        if let Some(msg) = answer {
            self.io.sends.push((from.reply_to(), Frame::Cert(msg)));
        }
    }

    /// Whether members of the group prove who they are.
    pub fn is_identified(&self) -> bool {
        self.sealer.is_identified()
    }

    /// The session that is known of a node, for tests.
    #[cfg(test)]
    pub(crate) fn sealer_knows(&self, id: NodeId) -> Option<u64> {
        self.sealer.sessions.get(id).map(|s| s.salt)
    }

    /// Says something to another member, as a hostile member would.
    #[cfg(test)]
    pub(crate) fn say_to(&mut self, to: NodeId, frame: Frame) {
        self.io.sends.push((To::Node(to), frame));
        self.flush(self.io.now);
    }

    /// Asks a member for its certificate, where the member list has it: the datagram that needs it may be anybody's.
    pub(super) fn ask_cert(&mut self, now: Instant, id: NodeId, addr: SocketAddr) {
        let member = self.membership.state.table().get(id);
        if member.is_some_and(|m| m.addr() == addr) {
            self.sealer.hearing = None;
            self.ask(now, id, To::At(id, addr));
            self.flush(now);
        }
    }

    /// Takes what counts of a datagram that whoever has the group's key could have made. Whether it is of a session and from
    /// an address that the named sender has proven.
    pub(super) fn hear_aloud(
        &mut self,
        now: Instant,
        from: Sender,
        opened: &Opened,
        frames: &mut Vec<Frame>,
    ) -> bool {
        let sessions = &mut self.sealer.sessions;
        let counter = match opened.directed {
            true => Counter::Fresh,
            false => sessions.judge_aloud(from.id, opened.salt, opened.counter),
        };
        if counter == Counter::Replayed {
            self.io.stats.seal.replayed += 1;
            return false;
        }
        if !sessions.allow(now, from.id, opened.salt) {
            self.io.stats.seal.rate_dropped_members += 1;
            return false;
        }
        let of_session = sessions.get(from.id).is_some_and(|s| s.salt == opened.salt);
        let met = of_session && self.is_at(from.id, from.addr, Some(from.life));
        if met && !opened.directed {
            self.sealer.sessions.see_aloud(from.id, opened.counter);
        }
        let Greeting {
            challenge, hello, ..
        } = Greeting::read(frames);
        let challenge = challenge.filter(|_| opened.directed);
        let (mut shows, mut asks, mut joins, mut news) = (false, false, false, false);
        let mut dropped = 0;
        for frame in frames.drain(..) {
            match frame {
                Frame::Cert(CertMsg::Show(_)) if shows => dropped += 1,
                Frame::Cert(CertMsg::Show(cert)) => {
                    shows = true;
                    match self.take_cert(now, from.id, &cert) {
                        Shown::Known => {}
                        Shown::New { .. } => news = true,
                        Shown::Refused(why) => self.io.events.push_back(Event::Refused {
                            id: from.id,
                            addr: from.addr,
                            why,
                        }),
                    }
                }
                Frame::Cert(CertMsg::Ask) => asks = opened.directed,
                Frame::Session(seal::Msg::Challenge(_)) if opened.directed => {}
                Frame::Omega(_) if opened.directed => dropped += 1,
                Frame::Omega(msg) if met => {
                    self.step_omega(now, |o, cx| o.on_msg(cx, (), from, msg));
                }
                Frame::Omega(_) => {}
                Frame::Membership(Msg::Join) if !opened.directed => joins = true,
                // It comes again when the sender has proven who it is.
                Frame::Membership(Msg::Record(_)) if !opened.directed => {}
                _ => dropped += 1,
            }
        }
        self.io.stats.seal.unpaired += dropped;
        // A request comes with a certificate or a challenge, so that it draws less than three times its bytes.
        asks &= shows || challenge.is_some();
        let knows = !self.sealer.lacks_cert(from.id);
        self.sealer.hearing = Some((from.id, Hearing::Aloud { shows, asks }));
        if asks {
            self.show(from.reply_to());
        }
        match challenge {
            // It cannot read an echo yet.
            Some(_) if asks && !shows && knows => self.challenge(now, from, opened.salt),
            Some(cookie) if knows => {
                if self.io.doorkeeper.may_echo(now) {
                    self.note_holds(from.id, false);
                    self.say(from, seal::Msg::Echo(cookie));
                    if !met {
                        self.challenge(now, from, opened.salt);
                    }
                    self.repeat(now, from);
                }
            }
            Some(_) if !shows => {
                if self.ask(now, from.id, from.reply_to()) {
                    self.challenge(now, from, opened.salt);
                }
            }
            Some(_) => {}
            None => {
                if news {
                    self.repeat(now, from);
                }
                let stranger = !met && (!hello || self.is_drawn());
                let due = match opened.directed {
                    true => asks && !met,
                    false => joins || stranger,
                };
                if due {
                    self.io.stats.seal.unproven += 1;
                    self.challenge(now, from, opened.salt);
                }
            }
        }
        met
    }

    /// Takes a certificate of `holder`, if it holds.
    fn take_cert(&mut self, now: Instant, holder: NodeId, cert: &Arc<Cert>) -> Shown {
        let (sessions, table) = (&self.sealer.sessions, self.membership.state.table());
        let stays = |id| sessions.get(id).is_some() || table.get(id).is_some();
        let Some(certs) = &mut self.sealer.certs else {
            return Shown::Known;
        };
        let shown = certs.take(now, holder, cert, stays);
        match shown {
            Shown::New { replaces: true } => self.sealer.sessions.end(holder),
            Shown::Refused(_) => self.io.stats.seal.certs_refused += 1,
            _ => {}
        }
        shown
    }

    fn show(&mut self, to: To) {
        if let Some(certs) = &self.sealer.certs {
            let own = Arc::clone(certs.own());
            self.io.sends.push((to, Frame::Cert(CertMsg::Show(own))));
        }
    }

    /// Asks for a certificate, unless that was done a moment ago. Whether it was.
    fn ask(&mut self, now: Instant, id: NodeId, to: To) -> bool {
        let certs = self.sealer.certs.as_mut();
        let may = certs.is_some_and(|certs| certs.may_ask(now, id));
        if may {
            self.io.sends.push((to, Frame::Cert(CertMsg::Ask)));
        }
        may
    }

    /// Seals the datagrams of a step for their receivers alone, as far as these know this node's certificate and this node
    /// theirs. What cannot be said yet is kept, and certificates go instead.
    pub(super) fn introduce(&mut self, now: Instant, first: usize) {
        let mut at = first;
        while self.sealer.is_identified() && at < self.io.outbox.len() {
            let before = match self.io.outbox[at].to {
                None => self.introduce_to_all(at),
                Some(id) => self.introduce_to(now, first, at, id),
            };
            if let Some(before) = before {
                self.io.outbox.insert(at, before);
                at += 1;
            }
            match self.io.outbox[at].frames.is_empty() {
                true => drop(self.io.outbox.remove(at)),
                false => at += 1,
            }
        }
    }

    /// Shows this node's certificate to those it wants to join.
    fn introduce_to_all(&mut self, at: usize) -> Option<Outgoing> {
        let certs = self.sealer.certs.as_ref()?;
        let outgoing = &mut self.io.outbox[at];
        let is_join = |f: &Frame| matches!(f, Frame::Membership(Msg::Join));
        if !outgoing.frames.iter().any(is_join) {
            return None;
        }
        let show = Frame::Cert(CertMsg::Show(Arc::clone(certs.own())));
        let len = show.encoded_len();
        if outgoing.len + len <= self.io.frames_max && outgoing.frames.len() < FRAMES_MAX {
            outgoing.len += len;
            outgoing.frames.push(show);
            return None;
        }
        Some(self.introduction(at, show))
    }

    /// A datagram with a certificate alone, to where another one goes.
    fn introduction(&self, at: usize, show: Frame) -> Outgoing {
        let outgoing = &self.io.outbox[at];
        Outgoing {
            dest: outgoing.dest,
            to: outgoing.to,
            form: Form::Sealed,
            paired: false,
            bare: true,
            known: false,
            len: show.encoded_len(),
            frames: alloc::vec![show],
        }
    }

    fn introduce_to(
        &mut self,
        now: Instant,
        first: usize,
        at: usize,
        id: NodeId,
    ) -> Option<Outgoing> {
        let certs = self.sealer.certs.as_mut()?;
        let heard = self.sealer.hearing.filter(|(who, _)| *who == id);
        let heard = heard.map(|(_, hearing)| hearing);
        let met = match heard {
            Some(Hearing::Paired) => true,
            Some(Hearing::Aloud { .. }) => false,
            None => self.sealer.sessions.get(id).is_some(),
        };
        let (shows, asks) = match heard {
            Some(Hearing::Aloud { shows, asks }) => (shows, asks),
            _ => (false, false),
        };
        let knows = certs.get(id).is_some();
        let is_show = |f: &Frame| matches!(f, Frame::Cert(CertMsg::Show(_)));
        let outgoing = &mut self.io.outbox[at];
        let only_greets = outgoing.frames.iter().all(may_be_aloud);
        if knows && (met || !only_greets) {
            outgoing.paired = true;
            let has_met = met || heard.is_some() && !asks;
            // What goes before may have said it already.
            let earlier = self.io.outbox.range(first..at);
            let mut earlier = earlier.filter(|o| o.to == Some(id) && !o.paired);
            if has_met || earlier.any(|o| o.frames.iter().any(is_show)) {
                return None;
            }
            let certs = self.sealer.certs.as_ref()?;
            let show = Frame::Cert(CertMsg::Show(Arc::clone(certs.own())));
            let outgoing = &mut self.io.outbox[at];
            outgoing.frames.retain(|f| !is_show(f));
            outgoing.len = outgoing.frames.iter().map(Frame::encoded_len).sum();
            return Some(self.introduction(at, show));
        }
        if !only_greets {
            if let Destination::Addr(addr) = outgoing.dest {
                self.io.kept.keep(now, addr, &outgoing.frames);
            }
            outgoing.frames.retain(may_be_aloud);
        }
        let is_ask = |f: &Frame| matches!(f, Frame::Cert(CertMsg::Ask));
        // Whoever has just shown a certificate that does not hold has no other one.
        let mut asked = outgoing.frames.iter().any(is_ask);
        if !knows && !shows && !asked && certs.may_ask(now, id) {
            outgoing.frames.push(Frame::Cert(CertMsg::Ask));
            asked = true;
        }
        // A stranger's greeting draws less than three times its bytes.
        let may_show = heard.is_none() || shows || asks;
        let shown = outgoing.frames.iter().any(is_show);
        if !shown && may_show && (asked || !outgoing.frames.is_empty()) {
            let own = Arc::clone(certs.own());
            outgoing.frames.push(Frame::Cert(CertMsg::Show(own)));
        }
        outgoing.len = outgoing.frames.iter().map(Frame::encoded_len).sum();
        None
    }

    /// Ends the sessions of those whose certificates no longer hold.
    pub(super) fn check_certs(&mut self, now: Instant) {
        let Some(certs) = &mut self.sealer.certs else {
            return;
        };
        if !certs.is_due(now, LOOK_EVERY) {
            return;
        }
        for id in certs.expire(now) {
            self.sealer.sessions.end(id);
        }
    }
}

/// Whether a message counts in a datagram that is not paired.
fn may_be_aloud(frame: &Frame) -> bool {
    is_greeting(frame) && !matches!(frame, Frame::Session(seal::Msg::Echo(_)))
}
