//! How a request evaluates the answers it gets (H3).

use super::ablation::Ablation;
use super::census::Count;
use super::event::Refusal;
use super::lock::{Lock, finish};
use super::msg::{Name, Reply, ReqId};
use super::pieces::assemble;
use super::request::{Done, Own, Resolution, Sent, Testimony, Wait, listed};
use super::shared::Shared;
use super::{MutexCx, Peers};
use crate::id::NodeId;
use crate::protocol::Sender;
use crate::time::Instant;
use alloc::vec::Vec;
use core::net::SocketAddr;

impl Lock {
    /// Handles an answer (H3).
    pub(super) fn on_reply(
        &mut self,
        cx: &mut MutexCx<'_>,
        sh: &mut Shared,
        peers: &dyn Peers,
        from: &Sender,
        mut reply: Reply,
    ) {
        let now = cx.now;
        let mine = |own: &&mut Own| {
            own.ctr == reply.ctr && reply.life == sh.life && own.stopping().is_none()
        };
        let Some(own) = self.own.as_mut().filter(mine) else {
            return;
        };
        let waits = own.waits();
        let latest = reply.names.iter().map(|n| n.seq).max().unwrap_or(0);
        if !sh.see(cx.now, reply.floor.seq()) || !sh.see(cx.now, latest) {
            return;
        }
        if waits {
            self.floor = self.floor.max(reply.floor);
        }
        let Some(peer) = own.asked.get_mut(&from.id) else {
            return;
        };
        let last = peer.sends.last().map_or(0, |s| s.attempt);
        let counts = reply.attempt >= peer.attempt_min;
        let mut sent = peer.sent(reply.attempt).filter(|_| counts).copied();
        if sh.lacks(Ablation::Attempts) {
            sent = Some(Sent {
                attempt: reply.attempt,
                at: now,
                valid_until: now + sh.config.usable(own.ttl),
                answered: false,
            });
        }
        let Some(sent) = sent.filter(|s| s.valid_until > now) else {
            sh.stats.replies_stale += 1;
            return;
        };
        let valid_until = sent.valid_until;
        if !sent.answered {
            // Only the first answer to a question measures the round trip; later ones report changes.
            let trip = now.since(sent.at);
            sh.note_round_trip(trip);
            if reply.attempt == last {
                sh.note_quick(trip);
            }
            peer.trip = Some(trip);
            if let Some(sent) = peer.sent(reply.attempt) {
                sent.answered = true;
            }
        }
        if reply.consent {
            let better = peer.consent.is_none_or(|c| c.0 <= reply.attempt);
            if better {
                let forever = sh.lacks(Ablation::ConsentLease).then_some(Instant::MAX);
                peer.consent = Some((reply.attempt, forever.unwrap_or(valid_until)));
            }
        }
        let told = core::mem::take(&mut reply.extra);
        // The floor and the consent count at once; the names count when all pieces have arrived.
        if !assemble(&mut peer.pieces, &mut reply) {
            self.ask_told(cx, sh, &told);
            return self.check(cx, sh, peers);
        }
        reply.names.sort_unstable_by_key(Name::prio);
        // A young witness will soon count, so it is asked again as if it had not answered.
        if reply.mature && reply.attempt == last {
            peer.rto = sh.rto();
            peer.next_at = sent.at + own.ttl / 3;
        }
        // If the sender had an earlier request than ours and no longer names it, that request is over: the sender heard
        // of our request only after it had made its own.
        let over = own.contenders.get(&from.id).filter(|n| {
            let listed = reply.names.iter().any(|l| l.req == n.req);
            n.req.life == from.life && n.prio() < own.prio && !listed
        });
        if let Some(ctr) = over.map(|n| n.req.ctr) {
            own.settle(from.id, from.life, ctr);
            self.finish(sh, now, from.id, from.life, ctr);
        }
        let named: Vec<(NodeId, Option<SocketAddr>)> =
            reply.names.iter().map(|n| (n.req.node, n.addr)).collect();
        let blocked = !reply.consent;
        self.take_wit(sh, now, from, reply, valid_until);
        self.ask(cx, sh, &named);
        self.ask_told(cx, sh, &told);
        let trying = |own: &Own| own.waits() && own.waiters.iter().any(|w| w.wait == Wait::Try);
        if blocked && self.own.as_ref().is_some_and(trying) {
            return self.give_up(cx, sh, peers, Refusal::Busy);
        }
        self.check(cx, sh, peers);
    }

    /// Asks members that an answer pointed out.
    fn ask_told(&mut self, cx: &mut MutexCx<'_>, sh: &mut Shared, told: &[(NodeId, SocketAddr)]) {
        let told: Vec<_> = told.iter().map(|(id, addr)| (*id, Some(*addr))).collect();
        self.ask(cx, sh, &told);
    }

    /// Records the answer of a witness.
    fn take_wit(
        &mut self,
        sh: &Shared,
        now: Instant,
        from: &Sender,
        reply: Reply,
        valid_until: Instant,
    ) {
        let Some(own) = &mut self.own else {
            return;
        };
        for name in &reply.names {
            self.heard = self.heard.max(name.prio());
            let known = own.contenders.entry(name.req.node).or_insert(*name);
            if (known.req.life, known.req.ctr) < (name.req.life, name.req.ctr) {
                *known = *name;
            }
        }
        let Some(peer) = own.asked.get_mut(&from.id) else {
            return;
        };
        let old = match peer.testimony.take() {
            Some(old) if old.life == from.life => {
                let same = entry_no(reply.grant_no) == entry_no(old.grant_no);
                if reply.attempt < old.attempt || reply.attempt == old.attempt && !same {
                    peer.testimony = Some(old);
                    return;
                }
                Some(old)
            }
            _ => None,
        };
        // After a contender disappeared, all names count, including those that came after us.
        let outdated =
            |o: &Testimony| o.attempt < own.fresh_from && own.fresh_from <= reply.attempt;
        let old = old.filter(|o| !outdated(o));
        let same = |o: &Testimony| entry_no(o.grant_no) == entry_no(reply.grant_no);
        let same_entry = old.as_ref().is_some_and(same);
        let forgot = old.as_ref().is_none_or(|o| o.forgotten != reply.forgotten);
        let later = old.as_ref().is_some_and(|o| o.attempt < reply.attempt);
        let mut names = reply.names;
        let over = |d: &Done, n: &Name| d.life == n.req.life && n.req.ctr <= d.ctr;
        names.retain(|n| !self.done.get(&n.req.node).is_some_and(|d| over(d, n)));
        let mut gone = Vec::new();
        if let Some(old) = old {
            let missing = old.names.iter().filter(|n| listed(&names, n).is_none());
            gone = missing.copied().collect();
            if same_entry {
                // Contenders that came after us were told about us and are not in our way.
                names.retain(|n| old.named(n).is_some());
            }
        }
        peer.testimony = Some(Testimony {
            life: from.life,
            attempt: reply.attempt,
            grant_no: reply.grant_no,
            forgotten: reply.forgotten,
            stamp: reply.stamp,
            mature: reply.mature,
            count: Count {
                recent: reply.window,
                members: reply.window.saturating_add(reply.failed),
            },
            valid_until,
            names,
        });
        if !same_entry || forgot {
            // The witness may just have forgotten them. If they counted on it, its floor covers the tokens they used.
            return;
        }
        gone.retain(|n| own.resolution(sh, &self.done, n) == Resolution::No);
        if later {
            // The witness was told that they are over; its floor covers the tokens they used.
            for name in gone {
                let ReqId { node, life, ctr } = name.req;
                own.settle(node, life, ctr);
                finish(&mut self.done, sh, now, node, life, ctr);
            }
        } else if let Some(testimony) = own
            .asked
            .get_mut(&from.id)
            .and_then(|p| p.testimony.as_mut())
        {
            // Two answers to one attempt may have been reordered, so these contenders may still be in our way.
            testimony.names.append(&mut gone);
            testimony.names.sort_unstable_by_key(Name::prio);
        }
    }
}

/// The number of the witness's entry that an answer refers to.
fn entry_no(grant_no: u32) -> u32 {
    grant_no >> u8::BITS
}
