//! Recordings of runs, to be watched: where nodes are, what they send, whom they suspect, whom they follow, who holds
//! which lock.
//!
//! A recording is a header (JSON) and chunks. Each chunk starts with a keyframe, the whole state at that time, so that
//! a player can begin at any of them; changes and datagrams follow. The format is in `docs/RECORDINGS.md`. Recording
//! changes nothing in the run: it draws no random number and schedules nothing.

mod oracle;
mod read;
mod state;
mod tape;

pub use oracle::Recorder;
pub use read::{ReadError, Recorded, read};
pub use state::State;
pub use tape::{BYTES_MAX, Recording, Stage};

/// The first bytes of every recording; the last one is the version of the format.
pub const MAGIC: [u8; 8] = *b"CONSREC\x01";

/// How a node is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum HostIs {
    /// Its process runs.
    Up = 0,
    /// Its process is stopped and may go on.
    Paused = 1,
    /// It is gone.
    Crashed = 2,
    /// It left the group.
    Left = 3,
}

/// What a node takes another for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Opinion {
    /// Alive, or not listed.
    None = 0,
    /// It may be gone.
    Suspect = 1,
    /// It failed.
    Failed = 2,
    /// It said goodbye.
    Left = 3,
}

/// How a node stands to a lock.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Claim {
    /// It does not want it.
    None = 0,
    /// It waits for it.
    Waits = 1,
    /// It holds it.
    Holds = 2,
}

/// What a datagram is mainly about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Kind {
    /// A probe.
    Ping = 0,
    /// Its answer.
    Ack = 1,
    /// A probe through a helper, or the helper's answer.
    Indirect = 2,
    /// Member lists.
    List = 3,
    /// Elections.
    Election = 4,
    /// Locks.
    Lock = 5,
    /// Hellos of neighbours.
    Hello = 6,
    /// Anything else.
    Other = 7,
}

/// One thing that happened.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Change<'a> {
    /// A node is in another state.
    Host(u32, HostIs),
    /// A node has a new process, which knows nobody yet.
    Restart(u32),
    /// A node (first) takes another (second) for something else.
    Opinion(u32, u32, Opinion),
    /// Nodes hear only those with the same number.
    Split(&'a [u8]),
    /// A node's reception and sending are impaired: 1 hears nothing, 2 is not heard, 4 loses a part.
    Impaired(u32, u8),
    /// Splits and impairments are over.
    Heal,
    /// In an election a node follows another, or nobody.
    Follows(u32, u32, Option<u32>),
    /// In an election a node begins or ends to act as the leader.
    Acts(u32, u32, bool),
    /// A node stands otherwise to a lock.
    Lock(u32, u32, Claim),
    /// Two nodes begin or cease to hear each other.
    Link(u32, u32, bool),
    /// The node that a node should follow is another, by an oracle that sees everything.
    Ought(u32, u32),
    /// Something to read.
    Note(&'a str),
    /// A datagram: from, to, delay in microseconds or lost, kind.
    Datagram(u32, u32, Option<u64>, Kind),
    /// A broadcast by radio.
    Broadcast(u32, Kind),
}

/// Numbers of the records.
pub(crate) mod tag {
    pub(crate) const HOST: u8 = 1;
    pub(crate) const RESTART: u8 = 2;
    pub(crate) const OPINION: u8 = 3;
    pub(crate) const SPLIT: u8 = 4;
    pub(crate) const IMPAIRED: u8 = 5;
    pub(crate) const HEAL: u8 = 6;
    pub(crate) const FOLLOWS: u8 = 7;
    pub(crate) const ACTS: u8 = 8;
    pub(crate) const LOCK: u8 = 9;
    pub(crate) const LINK: u8 = 10;
    pub(crate) const OUGHT: u8 = 11;
    pub(crate) const NOTE: u8 = 12;
    /// And the kind.
    pub(crate) const DATAGRAM: u8 = 16;
    /// And the kind.
    pub(crate) const LOST: u8 = 24;
    /// And the kind.
    pub(crate) const BROADCAST: u8 = 32;
}

/// Appends a number in groups of seven bits, low ones first.
pub(crate) fn put(out: &mut Vec<u8>, mut value: u64) {
    while value >= 0x80 {
        out.push(value as u8 | 0x80);
        value >>= 7;
    }
    out.push(value as u8);
}

/// Appends a text with its length.
pub(crate) fn put_text(out: &mut Vec<u8>, text: &str) {
    put(out, text.len() as u64);
    out.extend_from_slice(text.as_bytes());
}

impl Change<'_> {
    /// Appends the record without its time.
    pub(crate) fn encode(&self, out: &mut Vec<u8>) {
        let mut record = |tag: u8, fields: &[u64]| {
            out.push(tag);
            fields.iter().for_each(|&f| put(out, f));
        };
        match *self {
            Change::Host(node, is) => record(tag::HOST, &[node.into(), is as u64]),
            Change::Restart(node) => record(tag::RESTART, &[node.into()]),
            Change::Opinion(a, b, is) => record(tag::OPINION, &[a.into(), b.into(), is as u64]),
            Change::Split(groups) => {
                record(tag::SPLIT, &[groups.len() as u64]);
                out.extend_from_slice(groups);
            }
            Change::Impaired(node, how) => record(tag::IMPAIRED, &[node.into(), how.into()]),
            Change::Heal => record(tag::HEAL, &[]),
            Change::Follows(election, node, leader) => {
                let leader = leader.map_or(0, |l| u64::from(l) + 1);
                record(tag::FOLLOWS, &[election.into(), node.into(), leader]);
            }
            Change::Acts(election, node, acts) => {
                record(tag::ACTS, &[election.into(), node.into(), acts.into()]);
            }
            Change::Lock(lock, node, is) => {
                record(tag::LOCK, &[lock.into(), node.into(), is as u64]);
            }
            Change::Link(a, b, up) => record(tag::LINK, &[a.into(), b.into(), up.into()]),
            Change::Ought(node, leader) => record(tag::OUGHT, &[node.into(), leader.into()]),
            Change::Note(text) => {
                record(tag::NOTE, &[]);
                put_text(out, text);
            }
            Change::Datagram(from, to, Some(delay), kind) => {
                record(tag::DATAGRAM + kind as u8, &[from.into(), to.into(), delay]);
            }
            Change::Datagram(from, to, None, kind) => {
                record(tag::LOST + kind as u8, &[from.into(), to.into()]);
            }
            Change::Broadcast(from, kind) => record(tag::BROADCAST + kind as u8, &[from.into()]),
        }
    }
}

#[cfg(test)]
mod tests;
