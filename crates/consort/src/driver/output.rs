//! Carries out the outputs of a node: facts and members are stored, events reported, datagrams sent.

use super::{Driver, elections};
use crate::builder;
use crate::event::Event;
use crate::fault::Fate;
use crate::state::Known;
use crate::topology::Radio;
use consort_proto::membership::{Member, Meta, Phase};
use consort_proto::seal::Secret;
use consort_proto::{Command, Destination, Instant};
use core::net::SocketAddr;
use core::sync::atomic::Ordering;
use core::time::Duration;
use std::io;
use tokio::time::timeout;

/// The least time between two writes of the member list.
const STORE_EVERY: Duration = Duration::from_secs(2);

/// The greatest number of elections of which is remembered that nobody leads them.
const VACANT_MAX: usize = 1024;

/// How long to wait for space in the socket's send buffer before a datagram counts as lost.
const SEND_PATIENCE: Duration = Duration::from_millis(20);

impl Driver {
    /// Gives the node randomness that a copy of this process does not have. Without it nothing is sealed any more.
    fn reseed(&mut self) {
        tracing::error!(
            "a copy of this process runs, as after a snapshot of its machine was resumed; this one goes on in a new life, and \
             one of the two has to stop"
        );
        let mut secret = Secret::default();
        match getrandom::fill(&mut secret.0) {
            Ok(()) => {
                let now = self.clock.now();
                self.node.handle_command(now, Command::Reseed(secret));
            }
            Err(error) => {
                tracing::error!(
                    "the system gives no random numbers, so nothing is sent any more: {error}"
                );
            }
        }
    }

    /// Drains every output of the core, in the order that keeps its guarantees.
    pub(super) async fn carry_out(&mut self) {
        self.store_facts().await;
        let now = self.clock.now();
        // This happens before anything is sent: a node that stops leading knows it before others can take over.
        self.refresh_boards(now);
        for event in self.poll_events(now) {
            let named = |id| elections::named(&self.boards, id);
            let event = match event {
                consort_proto::Event::Lock(event) => self.locks.take(event, self.clock),
                consort_proto::Event::Message(event) => self.take_message(event, self.clock),
                consort_proto::Event::Keys(ring) => {
                    self.keys.offered = Some(ring);
                    None
                }
                consort_proto::Event::Cloned => {
                    self.reseed();
                    None
                }
                consort_proto::Event::Revoked(list) => {
                    self.keys.revoked = Some(list);
                    None
                }
                consort_proto::Event::Refused { id, addr, why } => {
                    self.strangers.refuse(id, addr, why);
                    None
                }
                consort_proto::Event::OnlySealed => {
                    tracing::info!(
                        "from now on this node hears nobody that does not seal: the migration is over"
                    );
                    None
                }
                event => Event::from_core(event, &self.node, self.clock, now, named),
            };
            let Some(event) = event else {
                continue;
            };
            if event == Event::Joined && core::mem::replace(&mut self.joined, true) {
                // It was told before: this node joins again by further seeds, or after it was alone.
                continue;
            }
            if self.repeats_vacancy(&event) {
                continue;
            }
            tracing::debug!(?event);
            self.departed |= event == Event::Departed;
            if event == Event::IdentityTaken {
                // The node stops without a goodbye, because the goodbye would count for the other process.
                self.departed = true;
                self.taken.store(true, Ordering::Relaxed);
            }
            // There may be no subscribers.
            let _ = self.events.send(event);
        }
        self.locks.tell(self.node.mutex().changes());
        while let Some((to, _)) = self.node.poll_transmit(&mut self.out) {
            self.out_bytes.clear();
            self.node.encode(&self.out, &mut self.out_bytes);
            match to {
                Destination::Addr(to) => {
                    if self.may_go(to) {
                        let sent = self.send(to).await;
                        // A broadcast fails wherever an interface has none, which says little about the port.
                        self.port.sent(&sent);
                        self.note_sent(to, sent);
                    }
                }
                Destination::Neighbors => self.broadcast().await,
            }
        }
        self.answer_waiting();
        if let Some(leaving) = &mut self.leaving {
            leaving.note(&self.node);
        }
    }

    /// Whether it tells again that nobody leads, as further claims without a leader do.
    fn repeats_vacancy(&mut self, event: &Event) -> bool {
        match event {
            Event::LeaderVacant { election, .. } => {
                if self.vacant.len() >= VACANT_MAX {
                    self.vacant.pop_first();
                }
                !self.vacant.insert(election.id)
            }
            Event::LeaderChanged { election, .. } => {
                self.vacant.remove(&election.id);
                false
            }
            _ => false,
        }
    }

    /// Takes the events of the core; an arrival waits until the member's record is known.
    fn poll_events(&mut self, now: Instant) -> Vec<consort_proto::Event> {
        let mut told = Vec::new();
        while let Some(event) = self.node.poll_event() {
            let table = self.node.membership().table();
            let is_described = |id| table.get(id).is_none_or(is_described);
            self.arrivals.take(now, event, is_described, &mut told);
        }
        let table = self.node.membership().table();
        let is_described = |id| table.get(id).is_none_or(is_described);
        self.arrivals.due(now, is_described, &mut told);
        told
    }

    /// Sends the encoded datagram as a broadcast.
    async fn broadcast(&mut self) {
        let targets = self.radio.as_ref().map_or_else(Vec::new, Radio::targets);
        for target in targets {
            if !self.may_go(target.addr) {
                continue;
            }
            self.stats.broadcasts_sent += 1;
            let Some(socket) = self.link.udp() else {
                return;
            };
            let sent = match target.aim(socket) {
                Ok(()) => self.send(target.addr).await,
                Err(error) => Err(error),
            };
            self.note_sent(target.addr, sent);
        }
    }

    /// Whether the encoded datagram is sent to `to` now. Injected faults may drop or delay it.
    fn may_go(&mut self, to: SocketAddr) -> bool {
        match self.weather.fate(to) {
            Fate::Goes => return true,
            Fate::Lost => self.stats.lost_by_order += 1,
            Fate::Late(until) => self.weather.keep(until, to, self.out_bytes.clone()),
        }
        false
    }

    /// Sends delayed datagrams that are due. The system chooses the interface of broadcasts.
    pub(super) async fn send_late(&mut self) {
        while let Some((to, bytes)) = self.weather.due() {
            self.out_bytes = bytes;
            let sent = self.send(to).await;
            self.note_sent(to, sent);
        }
    }

    fn note_sent(&mut self, to: SocketAddr, sent: io::Result<()>) {
        if let Err(error) = sent {
            self.stats.send_errors += 1;
            tracing::trace!(%error, %to, "not sent");
        }
    }

    async fn send(&self, to: SocketAddr) -> io::Result<()> {
        match self.link.try_send_to(&self.out_bytes, to) {
            Err(e) if e.kind() == io::ErrorKind::WouldBlock => {
                timeout(SEND_PATIENCE, self.link.writable()).await??;
                self.link.try_send_to(&self.out_bytes, to)
            }
            sent => sent,
        }
    }

    /// Stores the member list with failed members, and the addresses of some members, if they changed and enough time
    /// has passed.
    pub(super) async fn store_members(&mut self) {
        let Some(state) = self.state.clone() else {
            return;
        };
        let table = self.node.membership().table();
        let (version, at) = self.stored;
        let failed = table.iter().filter(|m| m.has_failed()).count();
        let now = (table.live_version(), failed);
        if now == version || at.elapsed() < STORE_EVERY {
            return;
        }
        let known = self.known_members();
        let live = (0..table.live()).filter_map(|i| table.pingable(i));
        let addrs: Vec<SocketAddr> = live.map(|m| m.addr()).collect();
        self.stored = (now, tokio::time::Instant::now());
        let mut stored = builder::store_group(&state, self.group_tag, known).await;
        if stored.is_ok() && !addrs.is_empty() {
            stored = builder::store_members(&state, addrs).await;
        }
        self.note_hints(stored).await;
    }

    /// The members to store: all except those that left.
    fn known_members(&self) -> Vec<Known> {
        let (now, unix) = (self.clock.now(), builder::unix_secs());
        let table = self.node.membership().table();
        let stays =
            |m: &&Member| m.addr().port() != 0 && (m.phase != Phase::Down || m.has_failed());
        let known = table.iter().filter(stays).map(|m| Known {
            id: m.id,
            life: m.precedence.life,
            incarnation: m.precedence.incarnation,
            addr: m.addr(),
            failed: m
                .departed_for(now)
                .map(|ago| unix.saturating_sub(ago.as_secs())),
            name: m.meta.name.clone(),
        });
        known.collect()
    }

    /// Stores the record of members' failures at regular intervals.
    pub(super) async fn store_reliability(&mut self) {
        let Some(state) = &self.state else { return };
        let every = self.node.reliability().config().half_life / 64;
        if self.evidence_stored.elapsed() < every {
            return;
        }
        self.evidence_stored = tokio::time::Instant::now();
        let reports = self.node.reliability().reports(self.clock.now());
        let stored = builder::store_reliability(state, reports).await;
        self.note_hints(stored).await;
    }
}

/// Whether it is known what a member announces.
fn is_described(member: &Member) -> bool {
    member.is_current() || *member.meta != Meta::default()
}
