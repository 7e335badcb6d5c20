//! S3: a node leads only if the claim it holds names it. L1: when faults have stopped, all nodes hold one claim,
//! and its leader leads.

use super::{Oracle, Verdict, violated};
use crate::world::World;
use consort_proto::ElectionId;
use consort_proto::election::Claim;

/// Checks every node that may act as the leader. Events are not used: by the time they are read, a later frame of
/// the same datagram may have ended the leadership.
#[derive(Debug, Default)]
pub struct Leadership;

impl Leadership {
    fn check(world: &World, host: usize, election: ElectionId) -> Verdict {
        let node = world.host(host).node();
        let claim = node.election().claim(election);
        let life = node.membership().life();
        match claim {
            Some(claim) if claim.names(node.id(), life) => Ok(()),
            _ => violated("S3", world, host, format!("leads, but holds {claim:?}")),
        }
    }
}

impl Oracle for Leadership {
    fn after_step(&mut self, world: &World, host: usize) -> Verdict {
        let elections = world.host(host).node().election();
        for id in elections.elections() {
            if elections.acting(id).is_some() {
                Leadership::check(world, host, id)?;
            }
        }
        Ok(())
    }
}

/// Checks that every running node holds the same claim, whose leader runs and alone leads; otherwise returns where
/// it does not, and how.
pub fn agreed(world: &World, election: ElectionId) -> Result<Claim, (usize, String)> {
    let mut agreed: Option<Claim> = None;
    for host in world.up() {
        let elections = world.host(host).node().election();
        let Some(&claim) = elections.claim(election) else {
            return Err((host, "holds no claim".into()));
        };
        let first = agreed.get_or_insert(claim);
        if first.key != claim.key {
            let text = format!("holds {}, others {}", claim.key.token, first.key.token);
            return Err((host, text));
        }
        let node = world.host(host).node();
        let named = claim.names(node.id(), node.membership().life());
        let acts = elections.acting(election);
        if named && acts != Some(claim.key.token) {
            return Err((host, "is named, but does not lead".into()));
        }
        if !named && acts.is_some() {
            return Err((host, "leads, but is not named".into()));
        }
    }
    let Some(claim) = agreed else {
        return Err((0, "nobody runs".into()));
    };
    let leader = world.index_of(claim.leader);
    let runs = leader
        .filter(|&l| world.up().any(|up| up == l))
        .is_some_and(|l| world.host(l).node().membership().life() == claim.leader_life);
    match (runs, leader) {
        (true, _) => Ok(claim),
        (false, leader) => Err((leader.unwrap_or(0), "leads and does not run".into())),
    }
}
