//! The true state: which nodes run, which can hear each other, which links were noticed; and who should lead.

use core::cmp::Reverse;

/// Most nodes of a world.
pub const MAX: usize = 5;

/// A set of nodes, a bit each.
pub type Set = u8;

/// The nodes of a set.
pub fn members(set: Set) -> impl Iterator<Item = usize> {
    (0..MAX).filter(move |n| set & 1 << n != 0)
}

/// The world around the nodes.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Scene {
    /// The number of nodes.
    pub nodes: usize,
    /// For each node, the nodes it can hear if both run.
    pub air: [Set; MAX],
    /// Nodes that run.
    pub up: Set,
    /// For each node, how often it restarted.
    pub boots: [u8; MAX],
    /// For each node, the neighbours its detector was told of.
    pub sees: [Set; MAX],
}

impl Scene {
    /// Nodes without links.
    pub fn new(nodes: usize) -> Scene {
        assert!(nodes <= MAX, "a world of at most {MAX}");
        Scene {
            nodes,
            air: [0; MAX],
            up: (1 << nodes) - 1,
            boots: [0; MAX],
            sees: [0; MAX],
        }
    }

    /// Whether a node runs.
    pub fn runs(&self, node: usize) -> bool {
        self.up & 1 << node != 0
    }

    /// The nodes that a node hears.
    pub fn hears(&self, node: usize) -> Set {
        match self.runs(node) {
            true => self.air[node] & self.up & !(1 << node),
            false => 0,
        }
    }

    /// The nodes that a node hears and that hear it.
    pub fn links(&self, node: usize) -> Set {
        let both = |other: &usize| self.hears(*other) & 1 << node != 0;
        members(self.hears(node)).filter(both).map(|n| 1 << n).sum()
    }

    /// Neighbours whose appearance or loss a node has not noticed yet.
    pub fn unnoticed(&self, node: usize) -> Set {
        match self.runs(node) {
            true => self.hears(node) ^ self.sees[node],
            false => 0,
        }
    }

    /// The component of a node that runs.
    pub fn component(&self, node: usize) -> Set {
        let mut found = 1 << node;
        loop {
            let more = members(found).fold(found, |all, n| all | self.links(n));
            if more == found {
                return found;
            }
            found = more;
        }
    }

    /// The sum of hop distances from a node to all in its component.
    pub fn farness(&self, node: usize) -> u32 {
        let (mut ball, mut hops, mut far) = (1 << node, 0, 0);
        loop {
            let next = members(ball).fold(ball, |all, n| all | self.links(n));
            if next == ball {
                return far;
            }
            hops += 1;
            far += hops * (next ^ ball).count_ones();
            ball = next;
        }
    }

    /// The correct leader of a node: the smallest sum of distances, then the highest number.
    pub fn leader(&self, node: usize) -> usize {
        let order = |n: &usize| (Reverse(self.farness(*n)), *n);
        members(self.component(node))
            .max_by_key(order)
            .unwrap_or(node)
    }

    /// The smallest sum of distances in the component of a node.
    pub fn farness_min(&self, node: usize) -> u32 {
        self.farness(self.leader(node))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_middle_of_a_path_leads_and_one_way_is_no_link() {
        let mut scene = Scene::new(5);
        for (a, b) in [(4, 0), (0, 2), (2, 1)] {
            scene.air[a] |= 1 << b;
            scene.air[b] |= 1 << a;
        }
        scene.air[3] |= 1 << 4;
        assert_eq!(scene.component(1), 0b10111);
        assert_eq!([0, 2, 4].map(|n| scene.farness(n)), [4, 4, 6]);
        assert_eq!(scene.leader(4), 2);
        assert_eq!((scene.component(3), scene.hears(3)), (0b01000, 0b10000));
        scene.up &= !(1 << 2);
        assert_eq!([0, 1, 4].map(|n| scene.leader(n)), [4, 1, 4]);
    }
}
