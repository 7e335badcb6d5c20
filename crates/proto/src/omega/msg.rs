//! Messages between neighbours. Each message is useful by itself, so long ones are split and never have to be
//! reassembled.

use super::record::{Record, Seat, Version};
use crate::encoded::{body_len, frame_len};
use crate::id::{Life, NodeId};
use alloc::vec::Vec;
use serde::{Deserialize, Serialize};

/// The periodic beacon of a node.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Hello {
    /// The number of the hello in this life.
    pub beat: u16,
    /// The longest time until the next hello, in milliseconds.
    pub period_ms: u32,
    /// The version of the sender's record.
    pub version: Version,
    /// The digest of the records of the sender's component.
    #[serde(with = "postcard::fixint::le")]
    pub digest: u64,
    /// The range of ids for which `heard` is complete; `None` if it is complete for all ids.
    pub range: Option<(NodeId, NodeId)>,
    /// The nodes that the sender hears, ordered by id.
    pub heard: Vec<NodeId>,
}

impl Hello {
    /// Whether the sender hears `id`; `None` if this page does not cover that id.
    pub fn hears(&self, id: NodeId) -> Option<bool> {
        let told = self.range.is_none_or(|(lo, hi)| (lo..=hi).contains(&id));
        told.then(|| self.heard.binary_search(&id).is_ok())
    }
}

/// A record whose node ids are indices into the list of its [`Delta`].
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Packed {
    pub(crate) id: u16,
    pub(crate) life: Life,
    pub(crate) seq: u32,
    pub(crate) leaving: bool,
    pub(crate) seats: Vec<Seat>,
    pub(crate) neighbours: Vec<u16>,
}

/// A message with some records, in which every node id occurs once.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Delta {
    pub(crate) ids: Vec<NodeId>,
    pub(crate) records: Vec<Packed>,
}

impl Delta {
    /// Packs records into as few messages as possible, none longer than `frames_max`. A record that does not fit into a
    /// message of its own is left out.
    pub fn pack<'a>(
        records: impl IntoIterator<Item = &'a Record>,
        frames_max: usize,
    ) -> Vec<Delta> {
        let mut deltas = Vec::new();
        let mut open = Delta::default();
        let mut len = frame_len(&open);
        for record in records {
            let mut cost = open.add(record);
            // Two more bytes, because the length prefixes of both lists may grow.
            if len + cost + 2 > frames_max {
                open.undo();
                if !open.records.is_empty() {
                    deltas.push(core::mem::take(&mut open));
                }
                len = frame_len(&open);
                cost = open.add(record);
                if len + cost + 2 > frames_max {
                    open = Delta::default();
                    continue;
                }
            }
            len += cost;
        }
        if !open.records.is_empty() {
            deltas.push(open);
        }
        deltas
    }

    /// Adds a record. Returns the number of bytes that it takes.
    fn add(&mut self, record: &Record) -> usize {
        let before = self.ids.len();
        let id = self.number(record.id);
        let neighbours = record.neighbours.iter().map(|&n| self.number(n)).collect();
        let packed = Packed {
            id,
            life: record.version.life,
            seq: record.version.seq,
            leaving: record.leaving,
            seats: record.seats.clone(),
            neighbours,
        };
        let cost = (self.ids.len() - before) * 8 + body_len(&packed);
        self.records.push(packed);
        cost
    }

    /// Removes the last record. Ids that only it uses are at the end of the list.
    fn undo(&mut self) {
        self.records.pop();
        let used = self
            .records
            .iter()
            .flat_map(|r| r.neighbours.iter().chain([&r.id]))
            .map(|&n| usize::from(n) + 1);
        let used = used.max().unwrap_or(0);
        self.ids.truncate(used);
    }

    fn number(&mut self, id: NodeId) -> u16 {
        let at = self.ids.iter().position(|&known| known == id);
        at.unwrap_or_else(|| {
            self.ids.push(id);
            self.ids.len() - 1
        }) as u16
    }

    /// The records; `None` for one that violates the format.
    pub fn unpack(&self) -> impl Iterator<Item = Option<Record>> + '_ {
        self.records.iter().map(|packed| {
            let id = |n: &u16| self.ids.get(usize::from(*n)).copied();
            let neighbours: Option<Vec<NodeId>> = packed.neighbours.iter().map(id).collect();
            let record = Record {
                id: id(&packed.id)?,
                version: Version {
                    life: packed.life,
                    seq: packed.seq,
                },
                leaving: packed.leaving,
                seats: packed.seats.clone(),
                neighbours: neighbours?,
            };
            record.is_sane().then_some(record)
        })
    }
}

/// The versions of the records that the sender has of its component, for a range of ids.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Summary {
    /// The first id of the range.
    pub first: NodeId,
    /// The last id of the range.
    pub last: NodeId,
    /// The digest of the records of the sender's whole component.
    #[serde(with = "postcard::fixint::le")]
    pub digest: u64,
    /// Ordered by id.
    pub versions: Vec<(NodeId, Version)>,
}

/// A message of this layer.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Msg {
    /// A beacon.
    Hello(Hello),
    /// Some records.
    Delta(Delta),
    /// A summary of the records that the sender has.
    Summary(Summary),
    /// Asks for the records of these nodes.
    Want(Vec<NodeId>),
    /// Asks whether the receiver is there.
    Ping,
    /// The answer to a ping.
    Pong,
}

impl Msg {
    /// Whether it is a beacon, which is sent before all other messages.
    pub fn is_hello(&self) -> bool {
        matches!(self, Msg::Hello(_))
    }

    /// The length of a frame with this message, in bytes.
    pub fn encoded_len(&self) -> usize {
        frame_len(self)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::id::ElectionId;

    fn record(id: u64, neighbours: impl IntoIterator<Item = u64>) -> Record {
        Record {
            id: NodeId(id),
            version: Version {
                life: Life(id << 20),
                seq: id as u32,
            },
            leaving: false,
            seats: alloc::vec![Seat {
                election: ElectionId(7),
                class: 1,
                attribute: 300,
                claim: Some(9),
            }],
            neighbours: neighbours.into_iter().map(NodeId).collect(),
        }
    }

    #[test]
    fn packed_records_fit_and_come_out_as_they_went_in() {
        let near = |id: u64| (id.saturating_sub(6)..id + 7).filter(move |&n| n != id);
        let records: Vec<Record> = (1..=200).map(|id| record(id, near(id))).collect();
        for frames_max in [172, 600, 1150] {
            let deltas = Delta::pack(&records, frames_max);
            let unpacked: Vec<_> = deltas.iter().flat_map(Delta::unpack).flatten().collect();
            assert_eq!(unpacked, records);
            for delta in &deltas {
                assert!(Msg::Delta(delta.clone()).encoded_len() <= frames_max);
            }
            assert!(deltas.len() > 1);
        }
    }

    #[test]
    fn a_record_that_fits_nowhere_is_left_out() {
        let records = [record(1, 2..100), record(200, [1]), record(300, 1..90)];
        let deltas = Delta::pack(&records, 172);
        let unpacked: Vec<_> = deltas.iter().flat_map(Delta::unpack).flatten().collect();
        assert_eq!(unpacked, [record(200, [1])]);
    }

    #[test]
    fn records_that_nobody_writes_are_refused() {
        let unsorted = record(1, [3, 2]);
        let own = record(1, [1]);
        let gone = Record {
            leaving: true,
            ..record(1, [2])
        };
        let twice = record(1, [2, 2]);
        for bad in [unsorted, own, gone, twice] {
            let mut delta = Delta::default();
            delta.add(&bad);
            assert_eq!(delta.unpack().next(), Some(None), "{bad:?}");
        }
        let mut beyond = Delta::default();
        beyond.add(&record(1, [2]));
        beyond.ids.pop();
        assert_eq!(beyond.unpack().next(), Some(None));
    }

    #[test]
    fn a_page_tells_only_about_its_range() {
        let hello = Hello {
            beat: 0,
            period_ms: 500,
            version: Version::default(),
            digest: 0,
            range: Some((NodeId(5), NodeId(9))),
            heard: alloc::vec![NodeId(6)],
        };
        let hears = [4, 5, 6, 10].map(|id| hello.hears(NodeId(id)));
        assert_eq!(hears, [None, Some(false), Some(true), None]);
    }
}
