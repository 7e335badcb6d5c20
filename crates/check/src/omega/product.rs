//! The product's layer in a world: it detects neighbours by its own hellos, each node by its own clock. Whatever
//! happened before, all nodes must be correct once links stop changing and some messages arrive.

use super::flaws::Flaws;
use super::scene::{Scene, members};
use super::world::{Core, World, id, ids};
use alloc::collections::BTreeSet;
use consort_proto::omega::{Config, Event, Input, Msg, Omega, Record};
use consort_proto::{ElectionId, Life, NodeId};
use core::hash::Hash;
use core::time::Duration;
use std::hash::DefaultHasher;

/// The election in which all nodes campaign.
const ELECTION: ElectionId = ElectionId(7);

/// Bytes that a datagram can hold besides its header.
const FRAMES_MAX: usize = 1150;

/// The product's settings with the given hysteresis.
pub fn settings(hysteresis: u32) -> Config {
    Config {
        enabled: true,
        hysteresis,
        ..Config::default()
    }
}

impl Core for Omega {
    type Settings = Config;

    /// A link that changed too often is held down for a minute.
    const PATIENCE: Option<Duration> = Some(Duration::from_secs(300));

    fn boot(settings: &Config, _: NodeId, life: Life) -> Omega {
        Omega::new(settings.clone(), FRAMES_MAX, life)
    }

    fn first() -> Vec<Input> {
        vec![
            Input::Start,
            Input::Open(ELECTION),
            Input::Campaign(ELECTION, 0, 0),
        ]
    }

    fn notice(_: NodeId, _: bool) -> Option<Input> {
        None
    }

    fn reply(event: &Event) -> Option<Input> {
        match event {
            Event::Outlived(life) => Some(Input::Life(*life)),
            _ => None,
        }
    }

    fn leader(&self) -> Option<NodeId> {
        Omega::leader(self, ELECTION).map(|chosen| chosen.id)
    }

    fn component(&self) -> BTreeSet<NodeId> {
        Omega::component(self).collect()
    }

    fn versions(&self, _: NodeId) -> Vec<(NodeId, (u64, u32))> {
        let version = |r: &Record| (r.id, (r.version.life.0, r.version.seq));
        self.records().map(|(record, _)| version(record)).collect()
    }

    fn contradicts(&self, other: &Omega) -> bool {
        let mut theirs = other.records().map(|(record, _)| record).peekable();
        self.records().any(|(mine, _)| {
            while theirs.next_if(|r| r.id < mine.id).is_some() {}
            let same = theirs.next_if(|r| r.id == mine.id);
            same.is_some_and(|r| r.version == mine.version && r != mine)
        })
    }

    fn parts(&self, other: &Omega) -> bool {
        let sees = |node: &Omega, one: NodeId| Omega::component(node).any(|id| id == one);
        let same = self.records().map(|r| r.0).eq(other.records().map(|r| r.0));
        // Lives are unique here and therefore identify records.
        let theirs = other
            .records()
            .find(|(r, _)| r.version.life == other.life());
        same && theirs.is_some_and(|(r, _)| sees(self, r.id))
            && !Omega::component(self).eq(Omega::component(other))
    }

    fn fingerprint(&self, hasher: &mut DefaultHasher) {
        format!("{self:?}").hash(hasher);
    }

    fn blame(&self, _: usize, _: &Event, _: &Scene) -> Flaws {
        Flaws::NONE
    }

    fn blame_at_rest(world: &World<Omega>) -> Flaws {
        world.flaws.and(Flaws::ALWAYS)
    }

    /// G1 to G4: all nodes see their true component, hold the same records of it, and follow the same leader, which
    /// is near enough to the middle. A node publishes of itself what it hears (S2).
    fn verdict(world: &World<Omega>) -> Result<(), String> {
        for node in members(world.scene.up) {
            let core = &world.nodes[node].core;
            let component = world.scene.component(node);
            let (sees, should) = (Core::component(core), ids(component));
            if sees != should {
                return Err(format!("{node} sees {sees:?}, not {should:?}"));
            }
            let record = core.own_record(id(node));
            let names = record.map(|r| r.neighbours.iter().copied().collect());
            let links = ids(world.scene.links(node));
            if names.as_ref() != Some(&links) {
                return Err(format!("{node} names {names:?}, not {links:?}"));
            }
            let Some(leader) = Core::leader(core) else {
                return Err(format!("{node} follows nobody"));
            };
            let far = u64::from(world.scene.farness(leader.0 as usize));
            let best = u64::from(world.scene.farness_min(node));
            let most = best * (100 + u64::from(core.config().hysteresis));
            if !should.contains(&leader) || far * 100 > most {
                return Err(format!("{node} follows {leader:?}"));
            }
            for other in members(component) {
                let theirs = &world.nodes[other].core;
                if theirs.digest() != core.digest() || Core::leader(theirs) != Some(leader) {
                    return Err(format!("{node} and {other} differ"));
                }
            }
        }
        Ok(())
    }

    fn is_beacon(msg: &Msg) -> bool {
        matches!(msg, Msg::Hello(_) | Msg::Ping | Msg::Pong)
    }
}
