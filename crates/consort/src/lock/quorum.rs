//! The quorum that a grant is based on, in words.

use consort_proto::mutex::{self, Bound, Source};
use core::fmt;
use core::time::Duration;
use std::sync::Arc;

/// The quorum that a grant is based on: how many nodes there may be, the source of that number, and how many support
/// the grant.
///
/// More than half of [`at_most`](Quorum::at_most) nodes support every grant, so two grants that exclude each other
/// share a witness, as long as there are no more nodes than that. What the number means in a partition depends on the
/// bound: see [`Bound`].
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Quorum {
    /// The greatest possible number of nodes.
    pub at_most: u32,
    /// The source of that number.
    pub source: Source,
    /// The number of nodes that support the grant.
    pub counted: u32,
    /// The bound that the request was made with.
    pub bound: Bound,
    /// How long a node has to be gone until it is no longer counted.
    pub memory: Duration,
}

impl Quorum {
    pub(crate) fn new(
        core: mutex::Quorum,
        bound: Option<&Bound>,
        config: &Arc<mutex::Config>,
    ) -> Quorum {
        Quorum {
            at_most: core.bound,
            source: core.source,
            counted: core.counted,
            bound: bound.unwrap_or(&config.bound).clone(),
            memory: config.remembered(config.ttl_max),
        }
    }

    /// What the bound means when the group is partitioned.
    pub fn in_a_partition(&self) -> String {
        match &self.bound {
            Bound::Members => format!(
                "in a partition only a side with at least {} of the {} members locks, failed ones counted",
                self.at_most / 2 + 1,
                self.at_most
            ),
            Bound::Available => format!(
                "in a partition each side may lock once the other has been gone for {}",
                seconds(self.memory)
            ),
            Bound::Floor(n) => format!("in a partition a side of at most {} never locks", n / 2),
            Bound::Voters(voters) => format!(
                "in a partition a side with fewer than {} of the {} voters never locks",
                voters.len() / 2 + 1,
                voters.len()
            ),
        }
    }
}

/// `3 of at most 5 nodes support it (members; in a partition …)`
impl fmt::Display for Quorum {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let bound = match &self.bound {
            Bound::Members => "members",
            Bound::Available => "available",
            Bound::Floor(_) => "floor",
            Bound::Voters(_) => "voters",
        };
        let source = match self.source {
            Source::Told => ", told by a member",
            Source::Walks => ", by random walks",
            Source::Observed | Source::Floor | Source::Voters => "",
        };
        let nodes = match self.source {
            Source::Voters => "voters",
            _ => "nodes",
        };
        let Quorum {
            counted, at_most, ..
        } = self;
        let meaning = self.in_a_partition();
        write!(
            f,
            "{counted} of at most {at_most} {nodes} support it ({bound}{source}; {meaning})"
        )
    }
}

/// The duration in seconds, with one decimal place unless that is zero.
pub(crate) fn seconds(span: Duration) -> String {
    let tenths = span.as_millis() / 100;
    match (tenths / 10, tenths % 10) {
        (whole, 0) => format!("{whole} s"),
        (whole, tenth) => format!("{whole}.{tenth} s"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use consort_proto::NodeId;

    #[test]
    fn each_bound_says_what_it_means() {
        let config = Arc::new(mutex::Config::default());
        let said = |bound: Bound, source| {
            let core = mutex::Quorum {
                bound: 5,
                source,
                counted: 3,
            };
            Quorum::new(core, Some(&bound), &config).to_string()
        };
        assert_eq!(
            said(Bound::Available, Source::Observed),
            "3 of at most 5 nodes support it (available; in a partition each side may lock once the \
             other has been gone for 10.2 s)"
        );
        assert_eq!(
            said(Bound::Members, Source::Told),
            "3 of at most 5 nodes support it (members, told by a member; in a partition only a side with at \
             least 3 of the 5 members locks, failed ones counted)"
        );
        let floor = said(Bound::Floor(5), Source::Floor);
        assert!(floor.ends_with("(floor; in a partition a side of at most 2 never locks)"));
        let voters = Bound::Voters((1..=5).map(NodeId).collect());
        let voters = said(voters, Source::Voters);
        assert!(voters.starts_with("3 of at most 5 voters support it (voters;"));
        assert!(voters.contains("fewer than 3 of the 5 voters never locks"));
    }
}
