//! What a keyframe has: everything that a player shows besides datagrams.

use super::{Change, Claim, HostIs, Opinion, put};
use alloc::collections::{BTreeMap, BTreeSet};

/// The state of a recorded run at a time.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct State {
    /// By node.
    pub hosts: Vec<HostIs>,
    /// By subject and observer: opinions that are not [`Opinion::None`].
    pub opinions: BTreeMap<(u32, u32), Opinion>,
    /// By node: its side of a partition.
    pub split: Option<Vec<u8>>,
    /// By node: the bits of [`Change::Impaired`], where there are any.
    pub impaired: BTreeMap<u32, u8>,
    /// By election and node: whom it follows.
    pub follows: BTreeMap<(u32, u32), u32>,
    /// Elections and nodes that act as leaders.
    pub acts: BTreeSet<(u32, u32)>,
    /// By lock and node, where it waits or holds.
    pub locks: BTreeMap<(u32, u32), Claim>,
    /// Nodes that hear each other, the smaller first. Only where links change; else they are in the header.
    pub links: BTreeSet<(u32, u32)>,
    /// By node: whom it should follow.
    pub ought: BTreeMap<u32, u32>,
}

impl State {
    /// All of `nodes` run and nothing else is known.
    pub fn new(nodes: usize) -> State {
        State {
            hosts: vec![HostIs::Up; nodes],
            ..State::default()
        }
    }

    /// Applies a change. False when it changes nothing that is kept, so that it need not be told.
    pub fn apply(&mut self, change: &Change<'_>) -> bool {
        match *change {
            Change::Host(node, is) => match self.hosts.get_mut(node as usize) {
                Some(host) => core::mem::replace(host, is) != is,
                None => false,
            },
            Change::Restart(node) => {
                if let Some(host) = self.hosts.get_mut(node as usize) {
                    *host = HostIs::Up;
                }
                self.opinions.retain(|&(_, observer), _| observer != node);
                self.follows.retain(|&(_, n), _| n != node);
                self.acts.retain(|&(_, n)| n != node);
                self.locks.retain(|&(_, n), _| n != node);
                true
            }
            Change::Opinion(observer, subject, is) => {
                set(&mut self.opinions, (subject, observer), is, Opinion::None)
            }
            Change::Split(groups) => {
                self.split = Some(groups.to_vec());
                true
            }
            Change::Impaired(node, how) => set(&mut self.impaired, node, how, 0),
            Change::Heal => {
                self.split = None;
                self.impaired.clear();
                true
            }
            Change::Follows(election, node, Some(leader)) => {
                self.follows.insert((election, node), leader) != Some(leader)
            }
            Change::Follows(election, node, None) => {
                self.follows.remove(&(election, node)).is_some()
            }
            Change::Acts(election, node, true) => self.acts.insert((election, node)),
            Change::Acts(election, node, false) => self.acts.remove(&(election, node)),
            Change::Lock(lock, node, is) => set(&mut self.locks, (lock, node), is, Claim::None),
            Change::Link(a, b, true) => self.links.insert((a.min(b), a.max(b))),
            Change::Link(a, b, false) => self.links.remove(&(a.min(b), a.max(b))),
            Change::Ought(node, leader) => self.ought.insert(node, leader) != Some(leader),
            Change::Note(_) | Change::Datagram(..) | Change::Broadcast(..) => true,
        }
    }

    /// Appends the keyframe: a list for each part, preceded by its length.
    pub(crate) fn encode(&self, out: &mut Vec<u8>) {
        let nodes = self.hosts.len() as u64;
        put(out, nodes);
        out.extend(self.hosts.iter().map(|&h| h as u8));
        put(out, self.opinions.len() as u64);
        let mut last = 0;
        for (&(subject, observer), &is) in &self.opinions {
            // As differences they take a byte mostly.
            let key = u64::from(subject) * nodes + u64::from(observer);
            put(out, key - last);
            last = key;
            out.push(is as u8);
        }
        match &self.split {
            None => put(out, 0),
            Some(groups) => {
                put(out, groups.len() as u64);
                out.extend_from_slice(groups);
            }
        }
        let mut list = |rows: &mut dyn ExactSizeIterator<Item = [u64; 3]>, width: usize| {
            put(out, rows.len() as u64);
            for row in rows {
                row[..width].iter().for_each(|&f| put(out, f));
            }
        };
        let impaired = self.impaired.iter();
        list(&mut impaired.map(|(&n, &h)| [n.into(), h.into(), 0]), 2);
        let follows = self.follows.iter();
        list(
            &mut follows.map(|(&(e, n), &l)| [e.into(), n.into(), l.into()]),
            3,
        );
        list(
            &mut self.acts.iter().map(|&(e, n)| [e.into(), n.into(), 0]),
            2,
        );
        let locks = self.locks.iter();
        list(
            &mut locks.map(|(&(l, n), &is)| [l.into(), n.into(), is as u64]),
            3,
        );
        let links = self.links.iter();
        list(&mut links.map(|&(a, b)| [a.into(), b.into(), 0]), 2);
        let ought = self.ought.iter();
        list(&mut ought.map(|(&n, &l)| [n.into(), l.into(), 0]), 2);
    }
}

/// Sets an entry of a table that leaves out what is usual; false when it was so already.
fn set<K: Ord, V: Copy + PartialEq>(
    table: &mut BTreeMap<K, V>,
    key: K,
    value: V,
    usual: V,
) -> bool {
    match value == usual {
        true => table.remove(&key).is_some(),
        false => table.insert(key, value) != Some(value),
    }
}
