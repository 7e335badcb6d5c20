//! What members say to each other about application messages.

use crate::id::{Life, NodeId};
use crate::membership::Meta;
use alloc::string::{String, ToString};
use alloc::vec::Vec;
use core::fmt;
use serde::de::{Error, Visitor};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// Longest name of a message, in bytes.
pub const NAME_MAX: usize = 64;

/// Most names, and most tags, in a filter.
pub const FILTER_MAX: usize = 16;

/// Bytes of an application.
#[derive(Clone, Default, PartialEq, Eq, Hash)]
pub struct Payload(pub Vec<u8>);

impl fmt::Debug for Payload {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} bytes", self.0.len())
    }
}

impl Serialize for Payload {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_bytes(&self.0)
    }
}

impl<'de> Deserialize<'de> for Payload {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Payload, D::Error> {
        struct Bytes;
        impl Visitor<'_> for Bytes {
            type Value = Payload;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("bytes")
            }

            fn visit_bytes<E: Error>(self, bytes: &[u8]) -> Result<Payload, E> {
                Ok(Payload(bytes.to_vec()))
            }
        }
        deserializer.deserialize_bytes(Bytes)
    }
}

/// Whom a query is for. An empty one is for everybody.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Filter {
    /// Members of one of these names or ids; any when empty.
    pub names: Vec<String>,
    /// Members that have all of these tags, of any value or of this one.
    pub tags: Vec<(String, Option<String>)>,
}

impl Filter {
    /// Whether a member is meant.
    pub fn matches(&self, id: NodeId, meta: &Meta) -> bool {
        let named = |name: &String| *name == meta.name || *name == id.to_string();
        let tagged = |(key, value): &(String, Option<String>)| match (meta.tags.get(key), value) {
            (Some(has), Some(wanted)) => has == wanted,
            (has, None) => has.is_some(),
            (None, Some(_)) => false,
        };
        (self.names.is_empty() || self.names.iter().any(named)) && self.tags.iter().all(tagged)
    }
}

/// What a message is there for.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Purpose {
    /// To be told to every application.
    Event,
    /// To be answered by the applications that are meant.
    Query(Filter),
    /// To be answered by the nodes themselves: who can be reached.
    Ping(Filter),
}

/// A message on its way to everybody.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Post {
    /// Who sent it.
    pub origin: NodeId,
    /// In which life.
    pub life: Life,
    /// Its number among the messages of this life, from 1.
    pub seq: u32,
    /// For how long it may travel, or be answered, from now on.
    pub left_ms: u32,
    /// What it is there for.
    pub purpose: Purpose,
    /// Name; empty for a ping.
    pub name: String,
    /// Content.
    pub payload: Payload,
}

/// What becomes of a query at a member.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Verdict {
    /// The answer.
    Answer(Payload),
    /// There will be none: nobody there knows the query.
    Declined,
}

/// The answer to a query, straight to its asker.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Reply {
    /// The life in which it was asked.
    pub life: Life,
    /// Number of the query.
    pub seq: u32,
    /// What it is.
    pub verdict: Verdict,
}

/// A frame of this layer.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Msg {
    /// A message that is passed on.
    Post(Post),
    /// A query that its asker repeats because no answer came: who has answered answers again.
    Again(Post),
    /// An answer.
    Reply(Reply),
}
