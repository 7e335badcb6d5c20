//! I9: when faults have stopped, all lists become equal, and equal to the set of running nodes.

use super::{Oracle, Verdict, violated};
use crate::world::{HostState, World, id_of};
use consort_proto::membership::Phase;

/// Checks at the end that all nodes agree on the running nodes.
#[derive(Debug, Default)]
pub struct Convergence;

impl Oracle for Convergence {
    fn end(&mut self, world: &World) -> Verdict {
        match converged(world) {
            Ok(()) => Ok(()),
            Err((host, text)) => violated("I9", world, host, text),
        }
    }
}

/// Checks that every running node lists exactly the running ones, as up and by their latest claim; otherwise
/// returns where it does not, and how.
pub fn converged(world: &World) -> Result<(), (usize, String)> {
    let running = |i: usize| world.host(i).state() == HostState::Up;
    let mut digest = None;
    for host in world.up() {
        let node = world.host(host).node();
        let table = node.membership().table();
        for other in (0..world.hosts().len()).filter(|&o| o != host) {
            let own = world.host(other).node().membership();
            let held = table.get(id_of(other)).filter(|m| m.phase != Phase::Down);
            match held {
                None if running(other) => {
                    return Err((host, format!("does not list {}", id_of(other))));
                }
                Some(m) if !running(other) => {
                    let text = format!("lists {} {:?}, which is gone", m.id, m.phase);
                    return Err((host, text));
                }
                Some(m)
                    if m.phase != Phase::Up
                        || m.precedence.life != own.life()
                        || m.precedence.incarnation != own.incarnation() =>
                {
                    let text = format!("holds {} {:?} at {:?}", m.id, m.phase, m.precedence);
                    return Err((host, text));
                }
                _ => {}
            }
        }
        let own = node.membership().digest(node.id());
        if *digest.get_or_insert(own) != own {
            return Err((host, "its digest differs".into()));
        }
    }
    Ok(())
}
