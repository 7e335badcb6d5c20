//! The nodes that observations are about: looked up by id, iterated in the order of ids.

use super::tally::{ONE, Tally};
use super::{Counted, Report};
use crate::hash::mix;
use crate::id::{Life, NodeId};
use crate::time::Instant;
use alloc::vec::Vec;
use hashbrown::HashTable;

/// Whether a node is running, as far as is known.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Presence {
    /// It was never heard directly.
    Unheard,
    /// It is running in the life last heard.
    Runs,
    /// It was declared failed, or said goodbye.
    Gone,
}

/// The record of one node. A large group has one for every member, so the representation is packed.
#[derive(Clone, Debug)]
pub(super) struct Subject {
    pub(super) id: NodeId,
    pub(super) tally: Tally,
    /// The life last heard and the time. Both are meaningless while the node is unheard.
    pub(super) life: Life,
    pub(super) at: Instant,
    /// The observed time at which the rank was last computed.
    pub(super) ranked_ms: u64,
    /// The time step up to which the tally has lost weight.
    step: u32,
    pub(super) bucket: u8,
    pub(super) presence: Presence,
}

impl Subject {
    /// A node about which nothing is known.
    pub(super) fn new(id: NodeId, me: NodeId, step: u32, bucket: u8) -> Subject {
        Subject {
            id,
            tally: Tally::new(me),
            life: Life(0),
            at: Instant::ZERO,
            ranked_ms: 0,
            step,
            bucket,
            presence: Presence::Unheard,
        }
    }

    /// Reduces the weights up to the time step `to`.
    pub(super) fn fade(&mut self, to: u32) {
        if to > self.step {
            self.tally.fade(to - self.step);
            self.step = to;
        }
    }

    /// The tally with the weights of the time step `to`.
    pub(super) fn faded(&self, to: u32) -> Tally {
        let mut tally = self.tally;
        tally.fade(to.saturating_sub(self.step));
        tally
    }

    /// The report in the time step `to`.
    pub(super) fn report(&self, to: u32) -> Report {
        let tally = self.faded(to);
        Report {
            id: self.id,
            counted: tally.counted,
            failures: tally.failures,
            exposure_ms: tally.exposure_ms,
        }
    }

    /// Adds time for which the node was seen running.
    pub(super) fn observe(&mut self, ms: u64, most_ms: u64, me: NodeId) {
        self.tally.exposure_ms = (self.tally.exposure_ms + ms).min(most_ms);
        self.tally.reporter = me;
    }

    /// Counts a failure, once for each life and incarnation.
    pub(super) fn fail(&mut self, counted: Counted, me: NodeId) {
        if counted > self.tally.counted {
            self.tally.counted = counted;
            self.tally.failures += ONE;
            self.tally.reporter = me;
        }
    }

    /// Records a contact: the life, the time, and whether the node runs.
    pub(super) fn note(&mut self, life: Life, at: Instant, presence: Presence) {
        (self.life, self.at, self.presence) = (life, at, presence);
    }
}

/// Nodes by id. A record keeps its place when others are added.
#[derive(Clone, Debug, Default)]
pub(super) struct Subjects {
    places: Vec<Subject>,
    /// Places ordered by id, for iteration.
    order: Vec<u32>,
    /// Places by id, for lookup. It is never iterated, so its order does not matter.
    by_id: HashTable<u32>,
}

impl Subjects {
    pub(super) fn len(&self) -> usize {
        self.places.len()
    }

    /// The place of a node.
    pub(super) fn find(&self, id: NodeId) -> Option<usize> {
        let is = |&place: &u32| self.places[place as usize].id == id;
        self.by_id.find(mix(id.0), is).map(|&place| place as usize)
    }

    pub(super) fn get(&self, id: NodeId) -> Option<&Subject> {
        self.find(id).map(|place| &self.places[place])
    }

    /// The record number `n` in the order of ids; `n` must be below [`Subjects::len`].
    pub(super) fn nth(&self, n: usize) -> &Subject {
        &self.places[self.order[n] as usize]
    }

    /// All records, ordered by id.
    pub(super) fn iter(&self) -> impl Iterator<Item = &Subject> {
        self.order.iter().map(|&place| &self.places[place as usize])
    }

    /// Adds a node that is not present. Returns its place.
    pub(super) fn insert(&mut self, subject: Subject) -> usize {
        let place = self.places.len();
        if place == self.places.capacity() {
            // Growing by an eighth wastes less memory than doubling.
            self.places.reserve_exact(place / 8 + 8);
        }
        self.places.push(subject);
        self.enter(place);
        place
    }

    /// Replaces the record at `place` with one of a node that is not present.
    pub(super) fn replace(&mut self, place: usize, subject: Subject) {
        let old = self.places[place].id;
        if let Ok(found) = self.by_id.find_entry(mix(old.0), |&p| p == place as u32) {
            found.remove();
        }
        self.order.retain(|&p| p != place as u32);
        self.places[place] = subject;
        self.enter(place);
    }

    fn enter(&mut self, place: usize) {
        let Subjects {
            places,
            order,
            by_id,
        } = self;
        let id_of = |&place: &u32| places[place as usize].id;
        let id = places[place].id;
        order.insert(order.partition_point(|p| id_of(p) < id), place as u32);
        by_id.insert_unique(mix(id.0), place as u32, |p| mix(id_of(p).0));
    }
}

impl core::ops::Index<usize> for Subjects {
    type Output = Subject;

    fn index(&self, place: usize) -> &Subject {
        &self.places[place]
    }
}

impl core::ops::IndexMut<usize> for Subjects {
    fn index_mut(&mut self, place: usize) -> &mut Subject {
        &mut self.places[place]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn subject(id: u64) -> Subject {
        Subject::new(NodeId(id), NodeId(1), 0, id as u8)
    }

    #[test]
    fn a_subject_takes_no_more_than_it_has_to() {
        assert_eq!(size_of::<Subject>(), 80);
    }

    #[test]
    fn places_stay_while_others_come_and_one_takes_the_place_of_another() {
        let mut subjects = Subjects::default();
        for (place, id) in [5, 2, 9].into_iter().enumerate() {
            assert_eq!(subjects.insert(subject(id)), place);
        }
        assert_eq!(subjects.find(NodeId(5)), Some(0));
        assert_eq!(subjects.find(NodeId(3)), None);
        subjects.replace(1, subject(7));
        assert_eq!(subjects.find(NodeId(2)), None);
        assert_eq!(subjects.find(NodeId(7)), Some(1));
        let all = subjects.iter().map(|s| (s.id.0, s.bucket));
        assert_eq!(all.collect::<Vec<_>>(), [(5, 5), (7, 7), (9, 9)]);
        assert_eq!(subjects.nth(1).id, NodeId(7));
        assert_eq!(subjects.len(), 3);
    }
}
