//! What members of an identified group may do: campaign, hold locks, and force their release, as their certificates say.
//!
//! Members enforce this against each other: what a node asks for without the role is neither done nor answered, and a claim
//! that names a leader without the role is not adopted. A claim whose leader's certificate is not known waits until the
//! member that told it has shown the certificate.

use super::Node;
use crate::election::{self, Entry};
use crate::event::Event;
use crate::id::{ElectionId, NodeId};
use crate::mutex::{self, LockId};
use crate::protocol::Sender;
use crate::seal::{CertMsg, Refusal, Roles, Scope};
use crate::time::Instant;
use crate::wire::Frame;

fn realm(lock: LockId) -> Scope {
    Scope::Realm(lock.realm().0)
}

impl Node {
    /// Whether this node's certificate allows it to campaign in an election. Without certificates all may do all.
    pub fn may_campaign(&self, election: ElectionId) -> bool {
        self.may(self.io.me, Roles::CAMPAIGN, Scope::Election(election.0))
    }

    /// Whether this node's certificate allows it to hold a lock.
    pub fn may_lock(&self, lock: LockId) -> bool {
        self.may(self.io.me, Roles::LOCK, realm(lock))
    }

    /// Whether this node's certificate allows it to force the release of a lock.
    pub fn may_break(&self, lock: LockId) -> bool {
        self.may(self.io.me, Roles::BREAK, realm(lock))
    }

    /// Whether a node may do something. One whose certificate is not known may not.
    fn may(&self, id: NodeId, role: Roles, there: Scope) -> bool {
        let certs = self.sealer.certs.as_ref();
        certs.is_none_or(|certs| certs.may(id, role, there).unwrap_or(false))
    }

    /// Like [`Node::may`] for the sender of a message; counts and reports one that may not.
    fn may_ask(&mut self, from: Sender, role: Roles, there: Scope) -> bool {
        let may = self.may(from.id, role, there);
        if !may {
            self.io.stats.seal.roles_refused += 1;
            self.io.events.push_back(Event::Refused {
                id: from.id,
                addr: from.addr,
                why: Refusal::Role,
            });
        }
        may
    }

    /// Whether what a message about locks asks for may be done.
    pub(super) fn allows_mutex(&mut self, from: Sender, msg: &mutex::Msg) -> bool {
        if self.sealer.certs.is_none() {
            return true;
        }
        match msg {
            mutex::Msg::Request(r) => self.may_ask(from, Roles::LOCK, realm(r.lock)),
            mutex::Msg::Release { lock, .. } => self.may_ask(from, Roles::LOCK, realm(*lock)),
            mutex::Msg::Break { lock, .. } => self.may_ask(from, Roles::BREAK, realm(*lock)),
            _ => true,
        }
    }

    /// What counts of a message about an election.
    pub(super) fn allowed_election(
        &mut self,
        now: Instant,
        from: Sender,
        mut msg: election::Msg,
    ) -> Option<election::Msg> {
        use crate::election::{Msg, Refusal as Declined};
        let Some(id) = msg.election().filter(|_| self.sealer.certs.is_some()) else {
            return Some(msg);
        };
        let there = Scope::Election(id.0);
        let leads = matches!(
            msg,
            Msg::Renew { .. } | Msg::Extend { .. } | Msg::Close { .. } | Msg::Accept { .. }
        );
        if leads && !self.may_ask(from, Roles::CAMPAIGN, there) {
            let Msg::Accept { election, key, .. } = msg else {
                return None;
            };
            let why = Declined::NoCandidate;
            return Some(Msg::Decline { election, key, why });
        }
        match &mut msg {
            Msg::Claim(_, claim) | Msg::Leader(_, claim) | Msg::Notify { claim, .. } => {
                let leader = claim.leader;
                if !self.may_be_followed(now, from, leader, there) {
                    return None;
                }
            }
            Msg::Query(query) => {
                if let Some(claim) = query.claim
                    && !self.may_be_followed(now, from, claim.leader, there)
                {
                    query.claim = None;
                }
            }
            Msg::Response(response) => {
                let stays = |e: &Entry| self.may_be_candidate(e.id, there);
                response.best.retain(stays);
                response.favoured.retain(stays);
            }
            Msg::Decline {
                why: Declined::Better(list),
                ..
            } => list.retain(|e| self.may_be_candidate(e.id, there)),
            _ => {}
        }
        Some(msg)
    }

    /// Whether a node that others name may be proposed: its certificate is known at the latest when it accepts.
    fn may_be_candidate(&self, id: NodeId, there: Scope) -> bool {
        let certs = self.sealer.certs.as_ref();
        let known = certs.and_then(|certs| certs.may(id, Roles::CAMPAIGN, there));
        known.unwrap_or(true)
    }

    /// Whether a claim that names `leader` counts. If its certificate is not known, `from`, who follows it, is asked for it.
    fn may_be_followed(
        &mut self,
        now: Instant,
        from: Sender,
        leader: NodeId,
        there: Scope,
    ) -> bool {
        let Some(certs) = &mut self.sealer.certs else {
            return true;
        };
        match certs.may(leader, Roles::CAMPAIGN, there) {
            Some(may) => {
                self.io.stats.seal.roles_refused += u64::from(!may);
                may
            }
            None => {
                if certs.may_ask(now, leader) {
                    let ask = Frame::Cert(CertMsg::AskFor(leader));
                    self.io.sends.push((from.reply_to(), ask));
                }
                false
            }
        }
    }

    /// Whether this node may carry out an order about an election.
    pub(super) fn allows_election_order(&self, order: &election::Order) -> bool {
        match order {
            election::Order::Campaign(id, _) => self.may_campaign(*id),
            _ => true,
        }
    }

    /// The order about locks, if this node may carry it out; a request is refused otherwise.
    pub(super) fn allowed_lock_order(&mut self, order: mutex::Order) -> Option<mutex::Order> {
        match &order {
            mutex::Order::Acquire(acquire) => {
                let lock = LockId::of(&acquire.name);
                if !self.may_lock(lock) {
                    let (ticket, why) = (acquire.ticket, mutex::Refusal::Role);
                    let refused = mutex::Event::Refused { lock, ticket, why };
                    self.io.events.push_back(Event::Lock(refused));
                    return None;
                }
            }
            mutex::Order::Break(lock) if !self.may_break(*lock) => return None,
            _ => {}
        }
        Some(order)
    }
}
