//! Messages between members that carry application messages.

use crate::id::{Life, NodeId};
use crate::membership::Meta;
use alloc::string::{String, ToString};
use alloc::vec::Vec;
use core::fmt;
use serde::de::{Error, Visitor};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// The greatest length of a message's name, in bytes.
pub const NAME_MAX: usize = 64;

/// The greatest number of names, and of tags, in a filter.
pub const FILTER_MAX: usize = 16;

/// The content of a message, which only applications interpret.
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

/// Selects the members that a query addresses. An empty filter selects all members.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Filter {
    /// Members with one of these names or ids; all members if empty.
    pub names: Vec<String>,
    /// Members that have all of these tags, with this value if one is given.
    pub tags: Vec<(String, Option<String>)>,
}

impl Filter {
    /// Whether the filter selects a member.
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

/// The purpose of a message.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Purpose {
    /// It is delivered to every application.
    Event,
    /// It is answered by the applications on the selected members.
    Query(Filter),
    /// It is answered by the selected nodes themselves, in order to see which are reachable.
    Ping(Filter),
}

/// A message on its way to all members.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Post {
    /// The node that sent it.
    pub origin: NodeId,
    /// The life of the sender.
    pub life: Life,
    /// The number of the message in this life, from 1.
    pub seq: u32,
    /// How long it may still travel or be answered, in milliseconds.
    pub left_ms: u32,
    /// Its purpose.
    pub purpose: Purpose,
    /// Its name; empty for a ping.
    pub name: String,
    /// Its content.
    pub payload: Payload,
}

/// The reaction of a member to a query.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Verdict {
    /// The answer.
    Answer(Payload),
    /// There will be no answer, because no application there knows the query.
    Declined,
}

/// The answer to a query, sent directly to its asker.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Reply {
    /// The life in which it was asked.
    pub life: Life,
    /// The number of the query.
    pub seq: u32,
    /// The answer, or that the member declined.
    pub verdict: Verdict,
}

/// A frame of this layer.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Msg {
    /// A message that a node passes on.
    Post(Post),
    /// A query that its asker repeats because it received no answer. A member that has answered answers again.
    Again(Post),
    /// An answer.
    Reply(Reply),
}
