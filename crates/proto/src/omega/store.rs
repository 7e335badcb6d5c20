//! The known records, and which of them form this node's component.

use super::graph::Graph;
use super::record::{Record, Version};
use crate::id::NodeId;
use crate::time::Instant;
use alloc::vec;
use alloc::vec::Vec;
use core::time::Duration;

/// The number of senders of a version that are remembered.
const SENDERS_MAX: usize = 8;

/// A record, and what this node has yet to do with it.
#[derive(Clone, Debug)]
pub(super) struct Entry {
    pub(super) record: Record,
    /// Whether the node is in this node's component, that is, reachable over links that both ends list.
    pub(super) member: bool,
    /// The sum of its distances to the rest of the component, when last computed.
    pub(super) farness: u32,
    /// Whether neighbours may lack this record.
    pub(super) dirty: bool,
    /// Whether a neighbour is known to lack it, even if it is not of this component.
    pub(super) owed: bool,
    /// The neighbours that sent this version.
    senders: Vec<NodeId>,
    /// The time since which the node is unreachable.
    apart_since: Instant,
}

/// The result of merging a record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Merged {
    Newer,
    Same,
    Older,
    /// There is no room for another node.
    Full,
}

/// All records, ordered by id.
#[derive(Clone, Debug, Default)]
pub(super) struct Store {
    entries: Vec<Entry>,
    digest: u64,
    size: usize,
    /// Whether the component has to be computed again.
    stale: bool,
}

impl Store {
    pub(super) fn digest(&self) -> u64 {
        self.digest
    }

    pub(super) fn size(&self) -> usize {
        self.size
    }

    pub(super) fn is_stale(&self) -> bool {
        self.stale
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = &Entry> {
        self.entries.iter()
    }

    pub(super) fn iter_mut(&mut self) -> impl Iterator<Item = &mut Entry> {
        self.entries.iter_mut()
    }

    pub(super) fn members(&self) -> impl Iterator<Item = &Entry> + Clone {
        self.entries.iter().filter(|e| e.member)
    }

    fn find(&self, id: NodeId) -> Result<usize, usize> {
        self.entries.binary_search_by_key(&id, |e| e.record.id)
    }

    pub(super) fn get(&self, id: NodeId) -> Option<&Entry> {
        self.find(id).ok().map(|at| &self.entries[at])
    }

    pub(super) fn version(&self, id: NodeId) -> Option<Version> {
        self.get(id).map(|e| e.record.version)
    }

    pub(super) fn is_member(&self, id: NodeId) -> bool {
        self.get(id).is_some_and(|e| e.member)
    }

    /// Keeps the later of two records. `from` is the sender, or `None` for this node's own record.
    pub(super) fn merge(
        &mut self,
        record: Record,
        from: Option<NodeId>,
        now: Instant,
        max: u16,
    ) -> Merged {
        let senders = from.into_iter().collect();
        match self.find(record.id) {
            Ok(at) => {
                let entry = &mut self.entries[at];
                if record.version < entry.record.version {
                    return Merged::Older;
                }
                if record.version == entry.record.version {
                    let room = entry.senders.len() < SENDERS_MAX;
                    entry.senders.extend(from.filter(|_| room));
                    return Merged::Same;
                }
                self.stale = true;
                entry.record = record;
                entry.senders = senders;
                entry.dirty = true;
            }
            Err(_) => {
                if self.entries.len() >= usize::from(max) && !self.make_room() {
                    return Merged::Full;
                }
                let at = self.entries.partition_point(|e| e.record.id < record.id);
                self.stale = true;
                self.entries.insert(
                    at,
                    Entry {
                        record,
                        member: false,
                        farness: 0,
                        dirty: true,
                        owed: false,
                        senders,
                        apart_since: now,
                    },
                );
            }
        }
        Merged::Newer
    }

    /// Forgets the node that has been unreachable for longest. Returns whether there was one.
    fn make_room(&mut self) -> bool {
        let apart = self.entries.iter().enumerate().filter(|(_, e)| !e.member);
        match apart.min_by_key(|(_, e)| e.apart_since).map(|(at, _)| at) {
            Some(at) => {
                self.entries.remove(at);
                true
            }
            None => false,
        }
    }

    /// Forgets nodes that have been unreachable for `after`. No node advertises them, so they do not come back.
    pub(super) fn forget(&mut self, now: Instant, after: Duration) {
        self.entries
            .retain(|e| e.member || now.since(e.apart_since) < after);
    }

    /// Marks a record that a neighbour lacks.
    pub(super) fn owe(&mut self, id: NodeId) {
        if let Ok(at) = self.find(id) {
            self.entries[at].owed = true;
        }
    }

    /// Whether all `neighbours` have received `entry` from the nodes that sent it.
    fn is_covered(&self, entry: &Entry, neighbours: impl Iterator<Item = NodeId>) -> bool {
        let mut neighbours = neighbours;
        let heard = |n: NodeId, s: NodeId| {
            s == n || self.get(s).is_some_and(|sender| sender.record.lists(n))
        };
        neighbours.all(|n| entry.senders.iter().any(|&s| heard(n, s)))
    }

    /// Records that a neighbour sent a known record, so that others need not receive it again.
    pub(super) fn relieve(&mut self, id: NodeId, neighbours: impl Iterator<Item = NodeId>) {
        let Ok(at) = self.find(id) else { return };
        let covered = self.is_covered(&self.entries[at], neighbours);
        let entry = &mut self.entries[at];
        entry.owed = false;
        entry.dirty &= !covered;
    }

    /// Computes the component of `me`. Records that enter it have to be sent, unless all `neighbours` have received
    /// them.
    pub(super) fn find_component(
        &mut self,
        me: NodeId,
        now: Instant,
        neighbours: impl Iterator<Item = NodeId> + Clone,
    ) {
        self.stale = false;
        let (_, reached) = self.reach(me);
        for (at, reached) in reached.into_iter().enumerate() {
            let entry = &mut self.entries[at];
            let enters = reached && !entry.member;
            if entry.member && !reached {
                entry.apart_since = now;
            }
            if enters {
                // Its centrality is not computed yet, so it must not be the best.
                entry.farness = u32::MAX;
            }
            entry.member = reached;
            entry.dirty = entry.member && (entry.dirty || enters);
            if entry.dirty && entry.record.id != me {
                let covered = self.is_covered(&self.entries[at], neighbours.clone());
                self.entries[at].dirty = !covered;
            }
        }
        self.size = self.members().count();
        self.digest = self.members().fold(0, |d, e| d ^ e.record.hash());
    }

    /// The links that both ends list, as indices of entries, and which entries can be reached from `me`.
    fn reach(&self, me: NodeId) -> (Vec<Vec<u32>>, Vec<bool>) {
        let mut reached = vec![false; self.entries.len()];
        let mut links = vec![Vec::new(); self.entries.len()];
        let Ok(start) = self.find(me) else {
            return (links, reached);
        };
        reached[start] = true;
        let mut queue = vec![start];
        while let Some(at) = queue.pop() {
            let record = &self.entries[at].record;
            for &id in &record.neighbours {
                let Ok(other) = self.find(id) else { continue };
                if !self.entries[other].record.lists(record.id) {
                    continue;
                }
                links[at].push(other as u32);
                if !reached[other] {
                    reached[other] = true;
                    queue.push(other);
                }
            }
        }
        (links, reached)
    }

    /// The component as a graph, with its nodes ordered by id.
    pub(super) fn graph(&self, me: NodeId) -> (Vec<NodeId>, Graph) {
        let (links, reached) = self.reach(me);
        let mut number = vec![0_u32; links.len()];
        let mut ids = Vec::new();
        for (at, _) in reached.iter().enumerate().filter(|(_, r)| **r) {
            number[at] = ids.len() as u32;
            ids.push(self.entries[at].record.id);
        }
        let lists = links.iter().zip(&reached).filter(|(_, r)| **r);
        let graph = Graph::new(lists.map(|(l, _)| l.iter().map(|&at| number[at as usize])));
        (ids, graph)
    }

    /// Computes the sum of distances of every node in the component.
    pub(super) fn judge(&mut self, me: NodeId) {
        let (_, graph) = self.graph(me);
        let members = self.entries.iter_mut().filter(|e| e.member);
        for (entry, farness) in members.zip(graph.farness()) {
            entry.farness = farness;
        }
    }
}
