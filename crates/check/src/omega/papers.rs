//! The papers' protocols in a world: links and deadlines are chosen by the world, and mistakes of their rules are
//! classified.

use super::flaws::Flaws;
use super::scene::{Scene, members};
use super::world::{Core, World, id, ids};
use alloc::collections::BTreeSet;
use consort_papers::omega::{Config, Event, Input, Map, Mode, Msg, PaperOmega, View};
use consort_proto::{Life, NodeId};
use core::hash::Hash;
use core::time::Duration;
use std::hash::DefaultHasher;

impl Core for PaperOmega {
    type Settings = Config;

    const PATIENCE: Option<Duration> = None;

    fn boot(settings: &Config, me: NodeId, _: Life) -> PaperOmega {
        PaperOmega::new(*settings, me)
    }

    fn first() -> Vec<Input> {
        Vec::new()
    }

    fn notice(id: NodeId, up: bool) -> Option<Input> {
        Some(match up {
            true => Input::LinkUp(id),
            false => Input::LinkDown(id),
        })
    }

    fn leader(&self) -> Option<NodeId> {
        Some(PaperOmega::leader(self))
    }

    fn component(&self) -> BTreeSet<NodeId> {
        PaperOmega::component(self)
    }

    /// Its own clock; in CEL any node raises the clocks of others.
    fn versions(&self, me: NodeId) -> Vec<(NodeId, (u64, u32))> {
        let own = known(self).get(&me).map_or(0, |view| view.clk);
        vec![(me, (0, own))]
    }

    /// Views with the same clock differ all the time.
    fn contradicts(&self, _: &PaperOmega) -> bool {
        false
    }

    /// Checked at the end, as E9.
    fn parts(&self, _: &PaperOmega) -> bool {
        false
    }

    fn fingerprint(&self, hasher: &mut DefaultHasher) {
        self.hash(hasher);
    }

    fn blame(&self, me: usize, event: &Event, scene: &Scene) -> Flaws {
        match event {
            Event::United(of) => {
                let of = of.0 as usize;
                let told = if of == me { Flaws::TOLD } else { Flaws::NONE };
                let links = ids(scene.links(of) | 1 << of);
                let phantom = !view(self, of).neigh.is_subset(&links);
                match (phantom, scene.runs(of), scene.boots[of]) {
                    (false, ..) => told,
                    (true, false, _) => Flaws::E4,
                    (true, true, 0) => Flaws::E1,
                    (true, true, _) => Flaws::E7,
                }
            }
            Event::Overwritten => {
                let own = view(self, me).neigh;
                let forgets = !ids(scene.sees[me]).is_subset(&own);
                let invents = !own.is_subset(&ids(scene.hears(me) | 1 << me));
                match (forgets || invents, scene.boots[me]) {
                    (false, _) => Flaws::TOLD,
                    (true, 0) => Flaws::E2,
                    (true, _) => reborn(self),
                }
            }
            Event::Pruned => Flaws::PRUNED,
            Event::Withheld => Flaws::WITHHELD,
            Event::DroppedWhole(_) => Flaws::E19,
            Event::DroppedGap(_) => Flaws::E20,
            Event::NotPassedOn(_) => Flaws::E21,
            Event::LinkUp(_) | Event::LinkDown(_) => Flaws::NONE,
        }
    }

    fn blame_at_rest(world: &World<PaperOmega>) -> Flaws {
        let mut flaws = world.flaws;
        let mut all_same = true;
        for (i, j) in pairs(world) {
            let (a, b) = (&world.nodes[i].core, &world.nodes[j].core);
            let (from_a, from_b) = (a.component(), b.component());
            let relevant: BTreeSet<NodeId> = from_a.union(&from_b).copied().collect();
            let same = relevant
                .iter()
                .all(|id| known(a).get(id) == known(b).get(id));
            if same && from_a != from_b && from_a.contains(&id(j)) {
                flaws |= Flaws::E9;
            }
            if world.scene.component(i) & 1 << j == 0 {
                continue;
            }
            all_same &= same;
            if a.pending() > 0 {
                flaws |= Flaws::E21;
            }
            // Others remember a former life, or the new life has not heard of something.
            if !same && world.scene.boots[j] > 0 {
                flaws |= reborn(a);
            }
        }
        for node in members(world.scene.up) {
            let one_way = world.scene.sees[node] & !world.scene.links(node) != 0;
            if one_way && !flaws.has(Flaws::E9) {
                flaws |= Flaws::ONE_WAY;
            }
            // It was told of a link before it noticed it, and then there was nothing to miss.
            let own = view(&world.nodes[node].core, node).neigh;
            let explained = flaws.any(Flaws::E1 | Flaws::E4 | Flaws::E7 | Flaws::E22);
            if flaws.has(Flaws::TOLD)
                && own != ids(world.scene.sees[node] | 1 << node)
                && !explained
            {
                flaws |= Flaws::E2;
            }
        }
        flaws.at_rest(all_same)
    }

    fn verdict(world: &World<PaperOmega>) -> Result<(), String> {
        for node in members(world.scene.up) {
            let core = &world.nodes[node].core;
            let (leader, should) = (PaperOmega::leader(core), id(world.scene.leader(node)));
            if leader != should {
                return Err(format!("{node} follows {leader:?}, not {should:?}"));
            }
            let (sees, should) = (core.component(), ids(world.scene.component(node)));
            if sees != should {
                return Err(format!("{node} sees {sees:?}, not {should:?}"));
            }
        }
        Ok(())
    }

    fn is_beacon(msg: &Msg) -> bool {
        msg.is_beacon()
    }
}

/// The flaw shown by a restart.
fn reborn(core: &PaperOmega) -> Flaws {
    match core.mode() {
        Mode::Cel => Flaws::E7,
        _ => Flaws::E22,
    }
}

fn known(core: &PaperOmega) -> &Map {
    core.known().expect("views")
}

fn view(core: &PaperOmega, of: usize) -> View {
    known(core).get(&id(of)).cloned().unwrap_or_default()
}

/// Pairs of running nodes.
fn pairs(world: &World<PaperOmega>) -> impl Iterator<Item = (usize, usize)> {
    let up = world.scene.up;
    members(up).flat_map(move |i| members(up & !(1 << i)).map(move |j| (i, j)))
}
