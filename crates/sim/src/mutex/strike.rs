//! Applies faults, and lets nodes notice them.

use super::actor::{self, Actor};
use super::params::Bound;
use super::run::{Item, Run};
use super::trouble::{Fault, notice};
use crate::recording::{Change, HostIs};
use crate::world::id_of;
use consort_proto::{Instant, Life};
use core::time::Duration;

impl<A: Actor, F: Fn(Instant, usize, Life) -> A> Run<'_, A, F> {
    pub(super) fn set_listed(&mut self, at: usize, of: usize, there: bool) {
        let life = Life(self.hosts[of].life);
        let (id, host) = (id_of(of), &mut self.hosts[at]);
        if at == of {
            return;
        }
        let change = match (host.list.binary_search(&id), there) {
            (Err(place), true) => {
                host.list.insert(place, id);
                actor::Change::Added(id, life)
            }
            (Ok(place), false) => {
                host.list.remove(place);
                actor::Change::Removed(id, life)
            }
            _ => return,
        };
        let up = host.up;
        self.record_listed(at, of, there);
        if up {
            self.step(at, |a, cx, view| a.change(cx, view, change));
        }
    }

    pub(super) fn strike(&mut self, fault: Fault) {
        match fault {
            Fault::Crash(node) => self.crash(node),
            Fault::CrashHolder => match self.inside.keys().next() {
                Some(&node) => self.crash(node),
                None => self.push(Duration::from_millis(50), Item::Strike(fault)),
            },
            Fault::CrashShare(share) => {
                for node in self.outsiders(share) {
                    self.crash(node);
                }
            }
            Fault::Start(node) => self.start(node),
            Fault::RestartShare(share) => {
                for node in self.outsiders(share) {
                    self.stop(node);
                    self.start(node);
                }
            }
            Fault::Unlist(at, of) => self.set_listed(at, of, false),
            Fault::List(at, of) => self.set_listed(at, of, true),
            Fault::Cut(cut) => {
                self.cut = Some(cut);
                self.record_cut(cut);
                self.tell_across(cut, false);
            }
            Fault::Heal => {
                if let Some(cut) = self.cut.take() {
                    self.record(&Change::Heal);
                    self.tell_across(cut, true);
                }
            }
        }
    }

    /// A share of the nodes that are not inside, in thousandths.
    fn outsiders(&mut self, share: u16) -> Vec<usize> {
        let inside = |i: &usize| self.inside.contains_key(i);
        let mut nodes: Vec<usize> = (0..self.hosts.len())
            .filter(|i| self.hosts[*i].up && !inside(i))
            .collect();
        self.faults.shuffle(&mut nodes);
        nodes.truncate(self.hosts.len() * usize::from(share) / 1000);
        nodes
    }

    fn stop(&mut self, node: usize) {
        let host = &mut self.hosts[node];
        self.alive -= u32::from(core::mem::replace(&mut host.up, false));
        host.open.clear();
        host.queue.clear();
        host.timers.clear();
        self.inside.remove(&node);
        self.record(&Change::Host(node as u32, HostIs::Crashed));
        self.record_claim(node);
    }

    fn crash(&mut self, node: usize) {
        if self.hosts[node].up {
            self.stop(node);
            self.tell(node, false);
        }
    }

    fn start(&mut self, node: usize) {
        if self.hosts[node].up {
            return;
        }
        self.alive += 1;
        let life = self.hosts[node].life + 1;
        let core = (self.make)(self.now, node, Life(life));
        let host = &mut self.hosts[node];
        (host.core, host.life, host.up) = (core, life, true);
        self.record(&Change::Restart(node as u32));
        self.begin(node);
        self.tell(node, true);
    }

    /// All nodes notice soon, unless lists are those of a live group; the bound on their number follows at once if
    /// it does.
    fn tell(&mut self, of: usize, there: bool) {
        let nodes = if self.live { 0 } else { self.hosts.len() };
        for at in (0..nodes).filter(|&at| at != of) {
            let after = notice(&mut self.faults);
            self.push(after, Item::Notice { at, of, there });
        }
        if self.params.bound == Bound::Alive {
            for at in 0..self.hosts.len() {
                if self.hosts[at].up {
                    self.step(at, |a, cx, view| a.change(cx, view, actor::Change::Size));
                }
            }
        }
    }

    fn tell_across(&mut self, cut: usize, there: bool) {
        if self.live {
            return;
        }
        for at in 0..self.hosts.len() {
            for of in (0..self.hosts.len()).filter(|&of| (at < cut) != (of < cut)) {
                let after = notice(&mut self.faults);
                self.push(after, Item::Notice { at, of, there });
            }
        }
    }
}
