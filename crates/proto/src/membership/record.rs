//! What is said of a member, and which of two sayings wins.

use crate::coordinate::Coordinate;
use crate::id::{ElectionId, Incarnation, Life, NodeId};
use crate::text::is_clean;
use alloc::collections::BTreeMap;
use alloc::string::String;
use alloc::sync::Arc;
use alloc::vec::Vec;
use core::net::SocketAddr;
use core::ops::Deref;
use core::time::Duration;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// What the group holds a member to be. The order is the rank of a claim: at one life and
/// incarnation the later variant wins.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum Status {
    /// It speaks, or others say so.
    Alive,
    /// Somebody could not reach it.
    Suspect,
    /// Nobody defended it in time.
    Dead,
    /// It said goodbye.
    Left,
}

impl Status {
    /// Whether a record of this status is final for its life and incarnation.
    pub const fn is_terminal(self) -> bool {
        matches!(self, Status::Dead | Status::Left)
    }
}

/// Decides between two claims about one node: life, then incarnation, then rank of the status.
/// Being a maximum over a total order, merging is commutative, associative and idempotent.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Precedence {
    /// Process life of the subject.
    pub life: Life,
    /// Refutation counter of the subject in that life.
    pub incarnation: Incarnation,
    /// The status that the record claims.
    pub status: Status,
}

impl Precedence {
    /// The claim every datagram makes of its sender.
    pub const fn alive(life: Life, incarnation: Incarnation) -> Precedence {
        Precedence {
            life,
            incarnation,
            status: Status::Alive,
        }
    }

    /// The same life and incarnation with another status.
    pub const fn with(self, status: Status) -> Precedence {
        Precedence { status, ..self }
    }
}

/// What a node says of itself besides its address: a name and tags. Set by its owner only.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Meta {
    /// For people. Need not be unique.
    pub name: String,
    /// For programs.
    pub tags: BTreeMap<String, String>,
    /// It takes no part in elections: it neither leads nor is asked.
    pub observer: bool,
    /// The elections it stands in, in order of id. Set by the election layer, not by applications.
    pub campaigns: Vec<Campaign>,
}

/// Class of those that never lead.
pub const CLASS_NEVER: u8 = 255;

/// A member stands in an election, and says how it should be judged.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Campaign {
    /// In which.
    pub election: ElectionId,
    /// Operators' preference: the smallest wins, 255 never.
    pub class: u8,
    /// The smallest wins among equals in class.
    pub attribute: u32,
    /// How central its place in the network is, where that counts: the smallest is best.
    pub centrality: u8,
    /// It has been here for long enough that most members list it. Others come after those.
    pub settled: bool,
}

/// A [`Meta`] that many may hold. One that says nothing takes no memory.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SharedMeta(Option<Arc<Meta>>);

static NOTHING_SAID: Meta = Meta {
    name: String::new(),
    tags: BTreeMap::new(),
    observer: false,
    campaigns: Vec::new(),
};

impl From<Meta> for SharedMeta {
    fn from(meta: Meta) -> SharedMeta {
        SharedMeta((meta != NOTHING_SAID).then(|| Arc::new(meta)))
    }
}

impl From<SharedMeta> for Arc<Meta> {
    fn from(meta: SharedMeta) -> Arc<Meta> {
        meta.0.unwrap_or_default()
    }
}

impl Deref for SharedMeta {
    type Target = Meta;

    fn deref(&self) -> &Meta {
        self.0.as_deref().unwrap_or(&NOTHING_SAID)
    }
}

impl Serialize for SharedMeta {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        Meta::serialize(self, serializer)
    }
}

impl<'de> Deserialize<'de> for SharedMeta {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<SharedMeta, D::Error> {
        Meta::deserialize(deserializer).map(SharedMeta::from)
    }
}

/// Encoded size of a [`Campaign`], at most.
const CAMPAIGN_LEN: usize = 12;

/// Why a [`Meta`] is refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum MetaError {
    /// Shorten the name or drop tags; see [`Config::meta_max`](super::Config::meta_max).
    #[error("name and tags take {len} bytes, at most {max} are allowed")]
    TooLong {
        /// Encoded size.
        len: usize,
        /// Limit.
        max: usize,
    },
    /// Names and tags are shown on terminals and pages; see [`text`](crate::text).
    #[error(
        "names and tags must not contain control characters, nor ones that hide or reorder text"
    )]
    ControlCharacter,
    /// A tag needs a key.
    #[error("a tag's key must not be empty")]
    EmptyKey,
}

impl Meta {
    /// A name without tags.
    pub fn named(name: impl Into<String>) -> Meta {
        Meta {
            name: name.into(),
            ..Meta::default()
        }
    }

    /// What it says of its candidacy in `election`.
    pub fn campaign(&self, election: ElectionId) -> Option<&Campaign> {
        self.campaigns.iter().find(|c| c.election == election)
    }

    /// Whether this may be announced under a limit of `max` encoded bytes.
    pub fn check(&self, max: usize) -> Result<(), MetaError> {
        let texts = || {
            self.tags
                .iter()
                .flat_map(|(k, v)| [k, v])
                .chain([&self.name])
        };
        if !texts().all(|t| is_clean(t)) {
            return Err(MetaError::ControlCharacter);
        }
        if self.tags.contains_key("") {
            return Err(MetaError::EmptyKey);
        }
        // Each text costs its bytes and a length of at most two bytes; lists and flag three bytes more.
        let len =
            texts().map(|t| t.len() + 2).sum::<usize>() + 4 + self.campaigns.len() * CAMPAIGN_LEN;
        if len > max {
            return Err(MetaError::TooLong { len, max });
        }
        Ok(())
    }
}

/// All that is known of a member: what pages and joins carry, and rumors of live members.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Record {
    /// The subject.
    pub id: NodeId,
    /// What is claimed of it.
    pub precedence: Precedence,
    /// Who accused it; the subject itself when nobody did.
    pub accuser: NodeId,
    /// The address at which the member receives datagrams.
    pub addr: SocketAddr,
    /// What the member announces about itself: name, tags, candidacies.
    pub meta: SharedMeta,
    /// Where it is, as far as the teller knows.
    pub coordinate: Option<Coordinate>,
    /// How long it will be silent from now on, in milliseconds; 0 when it is awake. Of a member that is down: how
    /// long ago it went, 0 when that was lately.
    pub nap_ms: u32,
    /// Address and meta belong to this claim. Otherwise they are those of an earlier one, the best
    /// the teller has: good enough to reach the member and ask.
    pub current: bool,
}

impl Record {
    /// Says how long ago a member that is down went.
    pub fn set_departed(&mut self, ago: Duration) {
        self.nap_ms = ago.as_millis().min(u128::from(u32::MAX)) as u32;
    }
}

/// The short form of a suspicion, a verdict or a goodbye: no address, no meta.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Accusation {
    /// The subject.
    pub id: NodeId,
    /// What is claimed of it.
    pub precedence: Precedence,
    /// Who says so; the subject itself when it said goodbye.
    pub accuser: NodeId,
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn precedence() -> impl Strategy<Value = Precedence> {
        (0..4_u64, 0..4_u32, 0..4_u8).prop_map(|(life, inc, status)| Precedence {
            life: Life(life),
            incarnation: Incarnation(inc),
            status: [Status::Alive, Status::Suspect, Status::Dead, Status::Left][status as usize],
        })
    }

    proptest! {
        /// I1: keeping the larger precedence is a join.
        #[test]
        fn merging_is_commutative_associative_and_idempotent(
            a in precedence(), b in precedence(), c in precedence(),
        ) {
            prop_assert_eq!(a.max(b), b.max(a));
            prop_assert_eq!(a.max(b).max(c), a.max(b.max(c)));
            prop_assert_eq!(a.max(a), a);
        }
    }

    #[test]
    fn a_later_life_beats_every_claim_about_an_earlier_one() {
        let old = Precedence {
            life: Life(1),
            incarnation: Incarnation(9),
            status: Status::Left,
        };
        assert!(Precedence::alive(Life(2), Incarnation(0)) > old);
        assert!(old.with(Status::Suspect) < old.with(Status::Dead));
    }

    #[test]
    fn a_meta_that_says_nothing_takes_no_memory_and_reads_like_any() {
        assert_eq!(SharedMeta::from(Meta::default()), SharedMeta(None));
        assert_eq!(*SharedMeta::default(), Meta::default());
        let named = SharedMeta::from(Meta::named("robot-7"));
        assert_eq!(named.name, "robot-7");
        assert_eq!(size_of::<SharedMeta>(), size_of::<usize>());
        for meta in [SharedMeta::default(), named] {
            let bytes = postcard::to_allocvec(&meta).unwrap();
            assert_eq!(bytes, postcard::to_allocvec(&*meta).unwrap());
            assert_eq!(postcard::from_bytes::<SharedMeta>(&bytes), Ok(meta));
        }
    }

    #[test]
    fn meta_is_checked_for_length_and_terminal_safety() {
        assert_eq!(Meta::named("robot-7").check(64), Ok(()));
        for bad in ["\u{1b}[2J", "\u{202e}evil", "ad\u{200b}min", "a\nb"] {
            let refused = Err(MetaError::ControlCharacter);
            assert_eq!(Meta::named(bad).check(64), refused, "{bad:?}");
            for (key, value) in [(bad, "v"), ("k", bad)] {
                let mut tagged = Meta::named("a");
                tagged.tags.insert(key.into(), value.into());
                assert_eq!(tagged.check(64), refused, "{key:?} {value:?}");
            }
        }
        let long = Meta::named("x".repeat(100));
        assert_eq!(
            long.check(64),
            Err(MetaError::TooLong { len: 106, max: 64 })
        );
        let mut keyless = Meta::named("a");
        keyless.tags.insert(String::new(), "v".into());
        assert_eq!(keyless.check(64), Err(MetaError::EmptyKey));
    }
}
