//! Carries out the effects of cores: sends messages, sets timers, grants requests.

use super::actor::{Actor, Happened};
use super::params::Transport;
use super::run::{Item, Run, Trip, index};
use super::trouble::notice;
use crate::net::survive;
use consort_proto::{Effect, EffectOf, Instant, Life, To};
use core::time::Duration;

/// Longest delay before a source retransmits a lost message, in milliseconds, plus one.
const RESEND_MS: u32 = 500;

impl<A: Actor, F: Fn(Instant, usize, Life) -> A> Run<'_, A, F> {
    pub(super) fn carry_out(&mut self, node: usize, effect: EffectOf<A>) {
        match effect {
            Effect::Send(To::Node(id) | To::At(id, _), msg) => {
                let to = index(id);
                let extra = self.params.phantom_hop && A::takes_phantom_hop(&msg);
                let hops = self.paths.hops(node, to);
                self.sums.hops += u64::from(hops);
                let hops = hops + u16::from(extra);
                self.report.messages += 1;
                self.report.sends_expected += self.expected(hops);
                self.send(Trip {
                    from: node,
                    life: Life(self.hosts[node].life),
                    to,
                    hops,
                    bytes: A::encoded_len(&msg) as u64,
                    msg,
                });
            }
            Effect::SetTimer(timer, due) => {
                self.hosts[node].timers.retain(|t| t.0 != timer);
                self.hosts[node].timers.push((timer, due));
                self.push(due.since(self.now), Item::Timer(node, timer));
            }
            Effect::CancelTimer(timer) => self.hosts[node].timers.retain(|t| t.0 != timer),
            Effect::Emit(event) => match A::happened(&event) {
                Happened::Entered { ticket, token } => self.entered(node, ticket, token),
                Happened::Lost(ticket) => {
                    // The work stops at once, and the application reports it.
                    if self.inside.get(&node) == Some(&ticket) {
                        self.inside.remove(&node);
                        self.report.lost += 1;
                    }
                    self.hosts[node].open.remove(&ticket);
                    self.record_claim(node);
                    self.push(Duration::ZERO, Item::Stopped(node, ticket));
                }
                Happened::Refused(ticket) => {
                    self.hosts[node].open.remove(&ticket);
                    self.record_claim(node);
                    self.report.refused += 1;
                }
                Happened::Hint(id) if !self.live => {
                    let after = notice(&mut self.faults);
                    let (at, of) = (node, index(id));
                    let there = true;
                    self.push(after, Item::Notice { at, of, there });
                }
                Happened::Slow => self.report.slow += 1,
                Happened::Hint(_) | Happened::Nothing => {}
            },
            Effect::Send(To::Addr(_) | To::Neighbors, _) | Effect::Persist(_) => {}
        }
    }

    fn entered(&mut self, node: usize, ticket: Option<u64>, token: u128) {
        let open = &self.hosts[node].open;
        let ticket = ticket.or_else(|| open.keys().next().copied());
        let Some((ticket, open)) = ticket.and_then(|t| Some((t, *open.get(&t)?))) else {
            return;
        };
        self.report.entries += 1;
        self.report.last = self.now.since(Instant::ZERO).as_secs_f64();
        let client = self.now.since(open.arrived);
        self.sums.wait += self.now.since(open.asked);
        self.sums.wait_client += client;
        self.report.wait_max = self.report.wait_max.max(client.as_secs_f64());
        self.report.overlaps += u64::from(!self.inside.is_empty());
        self.record_overlap(node);
        self.report.regressions += u64::from(self.report.entries > 1 && token <= self.token);
        self.token = self.token.max(token);
        if let Some(exit) = self.last_exit.filter(|&exit| exit > open.asked) {
            self.sums.gap += self.now.since(exit);
            self.sums.gaps += 1;
        }
        self.inside.insert(node, ticket);
        self.record_claim(node);
        self.push(self.params.hold, Item::Exit(node, ticket));
    }

    fn expected(&mut self, hops: u16) -> f64 {
        while self.sends_by_hops.len() <= usize::from(hops) {
            let last = self.sends_by_hops.last().copied().unwrap_or(1.0);
            self.sends_by_hops.push(last / (1.0 - self.params.drop));
        }
        self.sends_by_hops[usize::from(hops)]
    }

    /// Sends a message, and again when it is lost (D5), some time after the moment of the loss: counted from its
    /// transmission instead, requests among 1024 nodes would wait 11 s, where the thesis has 18. If nothing else
    /// can happen to a message, all of this is drawn at once.
    pub(super) fn send(&mut self, trip: Trip<A::Msg>) {
        let mut after = Duration::ZERO;
        loop {
            let apart = self.cut.is_some_and(|c| (trip.from < c) != (trip.to < c));
            let (travelled, arrives) = match apart {
                true => (1, false),
                false => survive(trip.hops, self.params.drop, self.net.unit()),
            };
            self.report.sends += 1;
            self.report.hops += u64::from(travelled);
            self.report.bytes += trip.bytes;
            self.report.byte_hops += trip.bytes * u64::from(travelled);
            let most = self.params.hop_delay_ms;
            let hop = |_| u64::from(self.delay.below(most));
            after += Duration::from_millis((0..travelled).map(hop).sum());
            self.record_datagram(trip.from, trip.to, arrives.then_some(after));
            if arrives {
                let Trip {
                    from,
                    life,
                    to,
                    msg,
                    ..
                } = trip;
                let deliver = Item::Deliver {
                    from,
                    life,
                    to,
                    msg,
                };
                return self.push(after, deliver);
            }
            if self.params.transport == Transport::BestEffort {
                return;
            }
            after += Duration::from_millis(self.delay.below(RESEND_MS).into());
            if self.faulty {
                return self.push(after, Item::Again(trip));
            }
        }
    }
}
