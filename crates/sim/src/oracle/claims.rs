//! S1, S2, S7: claims only grow, one token names one leader, and terms grow one at a time.

use super::{Oracle, Verdict, slot, violated};
use crate::fault::{Fault, Keep};
use crate::world::{BIRTH_SECS, World};
use alloc::collections::BTreeMap;
use consort_proto::election::{Claim, Key, Msg, Token};
use consort_proto::wire::{Datagram, Frame};
use consort_proto::{ElectionId, Life, NodeId, Term};

/// Records every claim that any host held or sent.
#[derive(Debug, Default)]
pub struct Claims {
    /// The greatest key that the current process of each host held.
    held: Vec<BTreeMap<ElectionId, Key>>,
    /// The greatest term that each host has seen and not lost with its disk.
    floors: Vec<BTreeMap<ElectionId, Term>>,
    leaders: BTreeMap<(ElectionId, Token), (NodeId, Life)>,
    /// The greatest term of any claim.
    terms: BTreeMap<ElectionId, Term>,
}

impl Claims {
    fn note(&mut self, world: &World, host: usize, election: ElectionId, claim: &Claim) -> Verdict {
        let named = (claim.leader, claim.leader_life);
        let token = claim.key.token;
        let first = *self.leaders.entry((election, token)).or_insert(named);
        if first != named {
            let text = format!("token {token} names {first:?} and {named:?}");
            return violated("S2", world, host, text);
        }
        let term = self.terms.entry(election).or_default();
        *term = claim.term().max(*term);
        Ok(())
    }

    fn note_msg(&mut self, world: &World, host: usize, msg: &Msg) -> Verdict {
        match msg {
            Msg::Claim(election, claim) | Msg::Leader(election, claim) => {
                self.note(world, host, *election, claim)
            }
            Msg::Notify {
                election, claim, ..
            } => self.note(world, host, *election, claim),
            Msg::Query(query) => {
                // The term after the last, or the wall clock, which is at most a tenth fast.
                let wall = BIRTH_SECS + world.now().as_micros() / 1_000_000 * 11 / 10;
                let known = self.terms.get(&query.election).copied();
                let most = known.unwrap_or_default().max(Term(wall));
                if query.term.0 > most.0 + 1 {
                    let text =
                        format!("asks for term {} when {} is the last", query.term.0, most.0);
                    return violated("S7", world, host, text);
                }
                let node = world.host(host).node();
                let own = |c: &Claim| c.key.token.initiator == node.id();
                let streams = node.election().claim(query.election).is_some_and(own);
                let floor = slot(&mut self.floors, host).get(&query.election);
                if !streams && floor.is_some_and(|f| query.term <= *f) {
                    let text = format!("asks for term {} again", query.term.0);
                    return violated("S7", world, host, text);
                }
                Ok(())
            }
            _ => Ok(()),
        }
    }
}

impl Oracle for Claims {
    fn on_send(&mut self, world: &World, host: usize, datagram: &Datagram, _: usize) -> Verdict {
        for frame in &datagram.frames {
            if let Frame::Election(msg) = frame {
                self.note_msg(world, host, msg)?;
            }
        }
        Ok(())
    }

    fn after_step(&mut self, world: &World, host: usize) -> Verdict {
        let elections = world.host(host).node().election();
        for id in elections.elections() {
            let Some(claim) = elections.claim(id) else {
                continue;
            };
            let before = slot(&mut self.held, host).insert(id, claim.key);
            if before == Some(claim.key) {
                continue;
            }
            if before.is_some_and(|b| b > claim.key) {
                let text = format!("holds {} after {before:?}", claim.key.token);
                return violated("S1", world, host, text);
            }
            let floor = slot(&mut self.floors, host).entry(id).or_default();
            if claim.term() < *floor {
                // Also across lives: the token with which it led must not come after the claim it follows.
                let text = format!("holds term {} after {}", claim.term().0, floor.0);
                return violated("S1", world, host, text);
            }
            *floor = claim.term().max(*floor);
            let claim = *claim;
            self.note(world, host, id, &claim)?;
        }
        Ok(())
    }

    fn on_fault(&mut self, _world: &World, fault: &Fault) -> Verdict {
        if let Fault::Restart { host, keep } = fault {
            slot(&mut self.held, *host).clear();
            if *keep == Keep::Nothing {
                slot(&mut self.floors, *host).clear();
            }
        }
        Ok(())
    }
}
