//! Whom a query is for, and how long it waits.

use consort_proto::message::Filter;
use core::time::Duration;

/// Whom to ask, and for how long to wait. By default everybody, for three seconds (longer in slower profiles).
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct QueryOptions {
    pub(crate) timeout: Option<Duration>,
    names: Vec<String>,
    tags: Vec<(String, Option<String>)>,
}

impl QueryOptions {
    /// Waits for so long at most.
    pub fn timeout(mut self, timeout: Duration) -> QueryOptions {
        self.timeout = Some(timeout);
        self
    }

    /// Asks only members of this name or id, besides others that are named so.
    pub fn node(mut self, name: impl Into<String>) -> QueryOptions {
        self.names.push(name.into());
        self
    }

    /// Asks only members that have this tag, of any value or of this one; with several, all of them.
    pub fn tag(mut self, key: impl Into<String>, value: Option<String>) -> QueryOptions {
        self.tags.push((key.into(), value));
        self
    }

    pub(crate) fn filter(self) -> Filter {
        Filter {
            names: self.names,
            tags: self.tags,
        }
    }
}
