//! The certificates that a node of an identified group knows, and what it shares with their holders.
//!
//! Only certificates that hold are in here: an operator has signed them, they have not expired, and none with a greater
//! serial is known for their id. A node keeps them as long as its process runs.

use super::cert::{Cert, Roles, Scope};
use super::curve::{Curve, PublicKey};
use super::revoked::Revoked;
use super::ring::RingStamp;
use super::secret::Secret;
use crate::bucket::Bucket;
use crate::hash::mix;
use crate::id::NodeId;
use crate::time::Instant;
use alloc::collections::VecDeque;
use alloc::sync::Arc;
use alloc::vec::Vec;
use core::time::Duration;
use hashbrown::HashTable;
use serde::{Deserialize, Serialize};
use zeroize::Zeroize;

/// Most certificates that are known at a time.
pub(crate) const CERTS_MAX: usize = 4096;

/// The least time between two requests to the same node for its certificate, and how many requests are remembered.
const ASK_EVERY: Duration = Duration::from_millis(500);
const ASKED_MAX: usize = 64;

/// How many lists of revoked certificates are given to others in a second.
const GIVES_PER_SECOND: u32 = 64;

/// How members of an identified group prove who they are.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Identified {
    /// This node's secret.
    pub secret: Secret,
    /// This node's certificate, for the public half of the secret.
    pub certificate: Cert,
    /// The public keys of those whose certificates hold, 1 to [`OPERATORS_MAX`](super::OPERATORS_MAX).
    pub operators: Vec<PublicKey>,
    /// How many certificates of others are verified in a second. Default 500, and 2 where bytes are dear.
    pub verify_per_second: u32,
    /// The newest stored list of certificates that no longer count.
    pub revoked: Option<Revoked>,
}

/// What nodes say about who they are.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum CertMsg {
    /// The sender's certificate; in an answer to [`CertMsg::AskFor`], that of another member.
    Show(Arc<Cert>),
    /// The sender does not know the receiver's certificate.
    Ask,
    /// The sender does not know the certificate of a third member, whom the receiver has named as a leader. Answered by
    /// [`CertMsg::Show`].
    AskFor(NodeId),
    /// The sender has this list of revoked certificates.
    Have(RingStamp),
    /// The sender wants the receiver's list.
    Want,
    /// The sender's list.
    Give(Arc<Revoked>),
}

/// Why a certificate is not taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Refusal {
    /// No operator that this node trusts has signed it for this group.
    Unsigned,
    /// Its time is over.
    Expired,
    /// An operator has revoked it.
    Revoked,
    /// It is for another node than the one that shows it.
    Foreign,
    /// Another one with the same serial, or a greater one, is known for its id.
    Superseded,
    /// Too many were shown lately, or are known.
    Busy,
    /// The certificate holds, but not for what its holder asks for.
    Role,
}

/// What became of a certificate that somebody showed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Shown {
    /// It was known.
    Known,
    /// It holds from now on; whether it replaces another one.
    New {
        replaces: bool,
    },
    Refused(Refusal),
}

#[derive(Clone, Debug)]
struct Known {
    cert: Arc<Cert>,
    /// What this node shares with the holder.
    shared: [u8; 32],
}

impl Drop for Known {
    fn drop(&mut self) {
        self.shared.zeroize();
    }
}

/// Whose certificates hold.
#[derive(Clone, Debug)]
pub(crate) struct Certs {
    curve: Curve,
    secret: Secret,
    group: alloc::string::String,
    own: Arc<Cert>,
    operators: Vec<PublicKey>,
    known: HashTable<Known>,
    verifies: Bucket,
    /// Whom this node has asked lately.
    asked: VecDeque<(NodeId, Instant)>,
    /// The start, and the wall clock then, in seconds since 1970.
    clock: Option<(Instant, u64)>,
    next_look: Instant,
    revoked: Option<(RingStamp, Arc<Revoked>)>,
    /// Limits how often a list of revoked certificates is given to others, and how often one of theirs is verified.
    gives: Bucket,
    takes: Bucket,
}

impl Certs {
    pub(crate) fn new(
        curve: Curve,
        config: Identified,
        group: &str,
        now: Instant,
        wall: Option<u64>,
    ) -> Certs {
        let mut certs = Certs {
            curve,
            group: group.into(),
            own: Arc::new(config.certificate),
            operators: config.operators,
            known: HashTable::new(),
            verifies: Bucket::new(config.verify_per_second),
            asked: VecDeque::with_capacity(ASKED_MAX),
            clock: wall.map(|secs| (now, secs)),
            secret: config.secret,
            next_look: now,
            revoked: None,
            gives: Bucket::new(GIVES_PER_SECOND),
            takes: Bucket::new(config.verify_per_second),
        };
        if let Some(list) = config.revoked.filter(|list| certs.is_signed(list)) {
            certs.revoked = Some((list.stamp(), Arc::new(list)));
        }
        // A second process with this identity is recognized like any other.
        let own = Arc::clone(&certs.own);
        if let Some(shared) = certs.curve.shared(&certs.secret, &own.key) {
            certs.insert(Known { cert: own, shared });
        }
        certs
    }

    /// This node's own certificate.
    pub(crate) fn own(&self) -> &Arc<Cert> {
        &self.own
    }

    pub(crate) fn get(&self, id: NodeId) -> Option<&Arc<Cert>> {
        self.find(id).map(|known| &known.cert)
    }

    /// Whether a node has a role there; `None` if its certificate is not known.
    pub(crate) fn may(&self, id: NodeId, role: Roles, there: Scope) -> Option<bool> {
        self.get(id).map(|cert| cert.may_in(role, there))
    }

    /// What this node shares with the holder of the certificate for `id`.
    pub(crate) fn shared(&self, id: NodeId) -> Option<&[u8; 32]> {
        self.find(id).map(|known| &known.shared)
    }

    fn find(&self, id: NodeId) -> Option<&Known> {
        self.known.find(mix(id.0), |k| k.cert.id == id)
    }

    fn insert(&mut self, known: Known) {
        let (id, hash) = (known.cert.id, mix(known.cert.id.0));
        match self.known.find_mut(hash, |k| k.cert.id == id) {
            Some(old) => *old = known,
            None => drop(self.known.insert_unique(hash, known, |k| mix(k.cert.id.0))),
        }
    }

    /// Takes a certificate that `from` shows, if it holds. `stays` says whose certificates are kept when there is no more
    /// room.
    pub(crate) fn take(
        &mut self,
        now: Instant,
        from: NodeId,
        cert: &Arc<Cert>,
        stays: impl Fn(NodeId) -> bool,
    ) -> Shown {
        if cert.id != from {
            return Shown::Refused(Refusal::Foreign);
        }
        let old = self.find(from).map(|known| &known.cert);
        if old == Some(cert) {
            return Shown::Known;
        }
        let replaces = old.is_some();
        if old.is_some_and(|old| old.serial >= cert.serial) {
            return Shown::Refused(Refusal::Superseded);
        }
        if self.revoked().is_some_and(|list| list.has(cert)) {
            return Shown::Refused(Refusal::Revoked);
        }
        if self.is_over(now, cert) {
            return Shown::Refused(Refusal::Expired);
        }
        if !replaces && self.known.len() >= CERTS_MAX {
            let own = self.own.id;
            self.known.retain(|k| k.cert.id == own || stays(k.cert.id));
        }
        if !replaces && self.known.len() >= CERTS_MAX || !self.verifies.take(now) {
            return Shown::Refused(Refusal::Busy);
        }
        let shared = self.curve.shared(&self.secret, &cert.key);
        let signed = || cert.is_signed(self.curve, &self.operators, &self.group);
        let Some(shared) = shared.filter(|_| signed()) else {
            return Shown::Refused(Refusal::Unsigned);
        };
        let cert = Arc::clone(cert);
        self.insert(Known { cert, shared });
        Shown::New { replaces }
    }

    /// Whether a certificate's time is over. A node without a clock, or with one in 1970, does not judge.
    fn is_over(&self, now: Instant, cert: &Cert) -> bool {
        let Some((start, secs)) = self.clock else {
            return false;
        };
        let hour = (secs + now.since(start).as_secs()) / 3600;
        cert.not_after > 0 && hour > u64::from(cert.not_after)
    }

    /// Forgets certificates whose time is over, but not this node's own one. Whose.
    pub(crate) fn expire(&mut self, now: Instant) -> Vec<NodeId> {
        let over = |k: &&Known| k.cert.id != self.own.id && self.is_over(now, &k.cert);
        let mut ids: Vec<NodeId> = self.known.iter().filter(over).map(|k| k.cert.id).collect();
        ids.sort_unstable();
        for &id in &ids {
            self.forget(id);
        }
        ids
    }

    fn is_signed(&self, list: &Revoked) -> bool {
        list.is_signed(self.curve, &self.operators, &self.group)
    }

    /// The list of certificates that no longer count.
    pub(crate) fn revoked(&self) -> Option<&Arc<Revoked>> {
        self.revoked.as_ref().map(|(_, list)| list)
    }

    /// Names the list.
    pub(crate) fn stamp(&self) -> Option<RingStamp> {
        self.revoked.as_ref().map(|(stamp, _)| *stamp)
    }

    /// Whether a list is newer than the known one, and an operator has signed it.
    pub(crate) fn takes(&self, list: &Revoked) -> bool {
        Some(list.stamp()) > self.stamp() && self.is_signed(list)
    }

    /// Like [`Certs::takes`], for a list of another member: as often as certificates are verified, but whoever shows many
    /// of those does not use that up.
    pub(crate) fn takes_from_others(&mut self, now: Instant, list: &Revoked) -> bool {
        Some(list.stamp()) > self.stamp() && self.takes.take(now) && self.takes(list)
    }

    /// The list for another member, unless too many were given lately.
    pub(crate) fn give(&mut self, now: Instant) -> Option<Arc<Revoked>> {
        let list = self.revoked().map(Arc::clone)?;
        self.gives.take(now).then_some(list)
    }

    /// Uses another list, and forgets the certificates on it, but not this node's own one. Whose.
    pub(crate) fn revoke(&mut self, list: Revoked) -> Vec<NodeId> {
        let gone = |k: &&Known| k.cert.id != self.own.id && list.has(&k.cert);
        let mut ids: Vec<NodeId> = self.known.iter().filter(gone).map(|k| k.cert.id).collect();
        ids.sort_unstable();
        for &id in &ids {
            self.forget(id);
        }
        self.revoked = Some((list.stamp(), Arc::new(list)));
        ids
    }

    /// Whether it is time to look whose time is over.
    pub(crate) fn is_due(&mut self, now: Instant, every: Duration) -> bool {
        let due = now >= self.next_look;
        if due {
            self.next_look = now + every;
        }
        due
    }

    fn forget(&mut self, id: NodeId) {
        if let Ok(entry) = self.known.find_entry(mix(id.0), |k| k.cert.id == id) {
            entry.remove();
        }
    }

    /// Whether a node may be asked for its certificate now.
    pub(crate) fn may_ask(&mut self, now: Instant, id: NodeId) -> bool {
        self.asked.retain(|(_, at)| now.since(*at) < ASK_EVERY);
        if self.asked.len() >= ASKED_MAX || self.asked.iter().any(|(who, _)| *who == id) {
            return false;
        }
        self.asked.push_back((id, now));
        true
    }
}
