//! Which members a query is sent to, and how long it waits.

use consort_proto::message::Filter;
use core::time::Duration;

/// The members to ask, and the time to wait. Default: all members, for three seconds (longer in slower profiles).
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct QueryOptions {
    pub(crate) timeout: Option<Duration>,
    names: Vec<String>,
    tags: Vec<(String, Option<String>)>,
}

impl QueryOptions {
    /// Waits for at most this time.
    pub fn timeout(mut self, timeout: Duration) -> QueryOptions {
        self.timeout = Some(timeout);
        self
    }

    /// Asks only members with this name or id. Several calls add further names.
    pub fn node(mut self, name: impl Into<String>) -> QueryOptions {
        self.names.push(name.into());
        self
    }

    /// Asks only members that have this tag, with this value if one is given. With several calls, members need all of
    /// the tags.
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
