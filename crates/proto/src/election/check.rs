//! What model checking needs: states that can be told apart, whatever was counted on the way.

use super::{Config, Election};
use crate::time::Instant;

impl core::hash::Hash for Election {
    fn hash<H: core::hash::Hasher>(&self, state: &mut H) {
        (&self.races, self.started, self.cursor, self.centrality).hash(state);
    }
}

impl PartialEq for Election {
    fn eq(&self, other: &Election) -> bool {
        let state = |e: &Election| (e.started, e.cursor, e.centrality);
        self.races == other.races && state(self) == state(other)
    }
}

impl Election {
    /// No elections yet, outside of a node.
    pub fn alone(config: Config, now: Instant) -> Election {
        Election::new(config, 0, 1150, now)
    }
}
