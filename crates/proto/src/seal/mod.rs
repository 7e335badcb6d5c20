//! What holds against strangers, whatever they send: how many datagrams are looked at, by how well their sender is
//! known, that nothing counts of a node whose address is not proven, and, in groups with a key, that nobody without it can
//! read, forge, redirect or repeat a datagram. docs/SECURING.md says what each mode of a group
//! is worth, SECURITY.md what it is not.
//!
//! Nothing is kept per source here: addresses can be forged, and a limit per source would lock out whoever is imitated.

mod cert;
mod certs;
mod curve;
mod migration;
mod rates;
mod revoked;
mod ring;
mod sealing;
mod secret;
mod session;
#[cfg(test)]
mod tests;
mod window;

pub use cert::{Cert, OPERATORS_MAX, Roles, SCOPES_MAX, Scope};
pub use certs::{CertMsg, Identified, Refusal};
pub(crate) use certs::{Certs, Shown};
pub use curve::{Curve, PublicKey};
pub(crate) use migration::{Form, Migration};
pub use rates::Rates;
pub(crate) use rates::{Class, Gates};
pub use revoked::{REVOKED_MAX, Revoked};
pub use ring::{KeyMsg, KeyRing, RingError, RingStamp};
pub(crate) use sealing::{
    COUNTER_END, COUNTER_LAST, Clear, EXTRA_LEN, kid, open, pair_key, salt, seal, session_key,
    toy_tag,
};
pub use sealing::{Envelope, KEYS_MAX, Suite};
pub use secret::Secret;
pub(crate) use secret::derive;
pub use session::{Cookie, Msg};
pub(crate) use session::{Doorkeeper, Whereabouts};
pub(crate) use window::{Counter, Session, Sessions};

use core::time::Duration;
use serde::Serialize;

/// Settings of what holds against strangers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Config {
    /// How many datagrams a second are looked at.
    pub rates: Rates,
    /// Whether a node whose address is not proven is challenged before its word counts. Off in models of other protocols
    /// only. Default true.
    pub challenge: bool,
    /// How datagrams are protected. Default: not at all.
    pub suite: Suite,
    /// Who this node is, in a group whose members prove that by certificates. Default: nobody proves anything but that it
    /// has the group's key.
    pub identity: Option<Identified>,
    /// For how long after its start a node of a group with a key still takes part unsealed, for those that have no key yet.
    /// It ends sooner when all members have sealed for an hour. Default zero: never.
    pub migrate: Duration,
    /// Random bytes of this process, from which its cookies and salts are made: 32 from the system. Default zeros, for
    /// simulations.
    pub secret: Secret,
}

impl Default for Config {
    fn default() -> Self {
        Config {
            rates: Rates::default(),
            challenge: true,
            suite: Suite::Open,
            identity: None,
            migrate: Duration::ZERO,
            secret: Secret::default(),
        }
    }
}

impl Config {
    /// How signatures are made in this group.
    pub fn curve(&self) -> Curve {
        match self.suite {
            Suite::Toy(_) => Curve::Toy,
            Suite::Open | Suite::Keyed(_) => Curve::Real,
        }
    }
}

/// What was refused before any protocol saw it, counted since start.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Stats {
    /// Datagrams of members from their own address, beyond [`Rates::members`], or of one member beyond 2000 a second.
    pub rate_dropped_members: u64,
    /// Datagrams in the name of a member or from the address of one, beyond [`Rates::known`].
    pub rate_dropped_known: u64,
    /// Datagrams of others, beyond [`Rates::strangers`].
    pub rate_dropped_strangers: u64,
    /// Datagrams whose sender had not proven its address.
    pub unproven: u64,
    /// Sealed datagrams that were seen before, or are too old to tell.
    pub replayed: u64,
    /// Sealed datagrams under a key that this node does not have.
    pub key_unknown: u64,
    /// Sealed datagrams that were altered, are meant for another node or group, or are under another key.
    pub tag_failed: u64,
    /// Datagrams that are not sealed, in a group with a key; while it changes from open to sealed, those in the name of
    /// members that seal.
    pub unsealed: u64,
    /// Messages that do not count in a datagram that any member can read.
    pub undirected: u64,
    /// Messages of an identified group that do not count in a datagram that any member could have made.
    pub unpaired: u64,
    /// Datagrams of senders whose certificate this node does not know.
    pub certs_unknown: u64,
    /// Certificates that do not hold.
    pub certs_refused: u64,
    /// Messages that ask for more than the certificate of their sender allows, or that name a leader whose certificate does
    /// not allow it to lead.
    pub roles_refused: u64,
    /// Sessions that ended because a certificate was revoked.
    pub revoked: u64,
    /// Challenges to prove an address.
    pub challenges_sent: u64,
    /// Answers to challenges that this node did not make, or too long ago.
    pub echoes_bad: u64,
    /// Datagrams larger than any of this group.
    pub datagrams_oversize: u64,
    /// Datagrams with more frames than are read.
    pub datagrams_overfull: u64,
    /// Requests for lists beyond the first of each kind in a datagram.
    pub requests_dropped: u64,
    /// Lists of keys that another member gave and that this node does not take.
    pub rings_refused: u64,
    /// Messages that would have made the answer to one datagram too long.
    pub answers_cut: u64,
    /// Datagrams of this node's own session that it did not send: a copy of this process runs.
    pub clones_seen: u64,
    /// Datagrams that were not sent because nothing could be sealed: a copy of this process runs, or counters are used up.
    pub unsealable: u64,
}
