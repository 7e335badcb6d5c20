//! L5: in a group that is not partitioned, no two nodes may act as the leader at the same time.

use super::{Oracle, Verdict, violated};
use crate::world::World;
use consort_proto::{ElectionId, Event, election};

/// Searches for two nodes that may act, whenever one begins to and periodically. For worlds in which every running
/// process can reach every other.
#[derive(Debug, Default)]
pub struct Exclusive;

impl Exclusive {
    /// Hosts whose process may act, also while it is paused: work that it started continues.
    fn acting(world: &World, election: ElectionId) -> impl Iterator<Item = usize> + '_ {
        use crate::world::HostState::{Paused, Up};
        (0..world.hosts().len()).filter(move |&host| {
            let host = world.host(host);
            let standing = host.node().standing(world.now(), election);
            matches!(host.state(), Up | Paused)
                && standing.is_some_and(|s| s.acting.is_some() && world.now() < s.end)
        })
    }

    fn check(world: &World, election: ElectionId) -> Verdict {
        let acting: Vec<usize> = Exclusive::acting(world, election).collect();
        match acting[..] {
            [] | [_] => Ok(()),
            [first, ..] => violated("L5", world, first, format!("{acting:?} all may act")),
        }
    }
}

impl Oracle for Exclusive {
    fn on_event(&mut self, world: &World, _host: usize, event: &Event) -> Verdict {
        match event {
            Event::Election(election::Event::BecameLeader { election, .. }) => {
                Exclusive::check(world, *election)
            }
            _ => Ok(()),
        }
    }

    fn sample(&mut self, world: &World) -> Verdict {
        let elections = world.elections().iter();
        elections
            .map(|e| e.0)
            .try_for_each(|id| Exclusive::check(world, id))
    }
}
