//! What the model checker needs: states that are comparable and do not depend on counters.

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
    /// Creates the election layer outside of a node, without elections.
    pub fn alone(config: Config, now: Instant) -> Election {
        Election::new(config, 0, 1150, now)
    }
}
