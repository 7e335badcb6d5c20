//! One node of a model, and the effects of its steps.

use super::flaw::Flaw;
use super::oracle::Watched;
use consort_proto::membership::{Meta, Msg, Precedence, Record, SharedMeta};
use consort_proto::wire::{Datagram, Frame, Header};
use consort_proto::{
    Command, Config, Destination, Event, Identity, Incarnation, Instant, Life, Node, NodeId,
};
use core::fmt;
use core::hash::{Hash, Hasher};
use core::net::SocketAddr;
use std::hash::DefaultHasher;

/// A datagram in flight.
#[derive(Clone, PartialEq)]
pub struct Envelope {
    pub(super) from: usize,
    pub(super) to: usize,
    pub(super) datagram: Datagram,
    pub(super) hash: u64,
}

impl fmt::Debug for Envelope {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Header {
            life, incarnation, ..
        } = self.datagram.header;
        let leaving = if self.datagram.header.leaving {
            " leaving"
        } else {
            ""
        };
        let (from, to) = (self.from, self.to);
        write!(f, "{from}.{}.{}{leaving}→{to}", life.0, incarnation.0)?;
        for frame in &self.datagram.frames {
            let Frame::Membership(msg) = frame else {
                continue;
            };
            match msg {
                Msg::Ping { seq, .. } => write!(f, " Ping {seq}")?,
                Msg::Ack { seq } => write!(f, " Ack {seq}")?,
                Msg::Record(r) => write!(f, " {}", claim(r.id, r.precedence))?,
                Msg::Accusation(a) => write!(f, " {}", claim(a.id, a.precedence))?,
                Msg::PingReq { seq, target, .. } => {
                    write!(f, " PingReq {seq} of {}", target.0 - 1)?
                }
                Msg::IndirectAck { seq, .. } => write!(f, " IndirectAck {seq}")?,
                Msg::Digest { reply, .. } => write!(f, " Digest reply {reply}")?,
                other => write!(f, " {other:?}")?,
            }
        }
        Ok(())
    }
}

fn claim(of: NodeId, p: Precedence) -> String {
    format!(
        "[{}.{}.{} {:?}]",
        of.0 - 1,
        p.life.0,
        p.incarnation.0,
        p.status
    )
}

/// One node.
#[derive(Clone, Debug)]
pub(super) struct Host {
    pub(super) node: Node,
    /// Whether its process runs.
    pub(super) up: bool,
    /// Whether it was told to leave.
    pub(super) leaves: bool,
    pub(super) life: u64,
    pub(super) clock: Instant,
    /// Timers that fired so far.
    pub(super) fired: u16,
    pub(super) watched: Watched,
    pub(super) hash: u64,
}

/// Effects of a step beyond the node's own state.
#[derive(Debug, Default)]
pub(super) struct Done {
    pub(super) sent: Vec<(usize, Datagram)>,
    pub(super) events: Vec<Event>,
}

pub(super) fn id(host: usize) -> NodeId {
    NodeId(host as u64 + 1)
}

pub(super) fn addr(host: usize) -> SocketAddr {
    SocketAddr::from(([10, 0, 0, host as u8 + 1], 1))
}

fn index_of(addr: SocketAddr) -> usize {
    match addr {
        SocketAddr::V4(a) => usize::from(a.ip().octets()[3]) - 1,
        SocketAddr::V6(_) => unreachable!("all nodes listen at addresses of version 4"),
    }
}

/// The record that a node has of another at the start.
pub(super) fn record(host: usize, life: u64) -> Record {
    Record {
        id: id(host),
        precedence: Precedence::alive(Life(life), Incarnation(0)),
        accuser: id(host),
        addr: addr(host),
        meta: SharedMeta::default(),
        coordinate: None,
        nap_ms: 0,
        current: true,
    }
}

impl Host {
    /// Starts a process, and returns what it sends at once.
    pub(super) fn boot(
        config: &Config,
        n: usize,
        life: u64,
        clock: Instant,
        order: Command,
    ) -> (Host, Done) {
        let identity = Identity {
            id: id(n),
            life: Life(life),
            addr: addr(n),
            meta: Meta::default(),
            memory: Life(life),
            wall: None,
        };
        let node = Node::new(config.clone(), identity, 0, clock);
        let mut host = Host {
            node: node.expect("settings of a model are sound"),
            up: true,
            leaves: false,
            life,
            clock,
            fired: 0,
            watched: Watched::new(clock),
            hash: 0,
        };
        let done = host.step(0, |node, now| node.handle_command(now, order));
        (host, done)
    }

    /// Handles one input. `draw` determines random draws: equal steps have equal effects.
    pub(super) fn step(&mut self, draw: u64, f: impl FnOnce(&mut Node, Instant)) -> Done {
        self.node.reseed_membership(draw);
        f(&mut self.node, self.clock);
        let mut done = Done::default();
        while self.node.poll_fact().is_some() {}
        while let Some(event) = self.node.poll_event() {
            done.events.push(event);
        }
        let mut out = Datagram::default();
        while let Some((dest, _)) = self.node.poll_transmit(&mut out) {
            if let Destination::Addr(addr) = dest {
                let mut datagram = core::mem::take(&mut out);
                // Only membership is checked.
                let about_members = |f: &Frame| matches!(f, Frame::Membership(_));
                datagram.frames.retain(about_members);
                done.sent.push((index_of(addr), datagram));
            }
        }
        done
    }

    /// Updates the hash after a change.
    pub(super) fn seal(&mut self) {
        let mut hasher = DefaultHasher::new();
        let state = (self.up, self.leaves, self.life, self.clock, self.fired);
        state.hash(&mut hasher);
        self.watched.hash(&mut hasher);
        if self.up {
            let written = self.node.write_membership(&mut Digester(&mut hasher));
            written.expect("hashing does not fail");
        }
        self.hash = hasher.finish();
    }

    /// Whether the others should list it.
    pub(super) fn is_here(&self) -> bool {
        self.up && !self.leaves
    }

    /// When its next timer fires.
    pub(super) fn due(&self) -> Option<Instant> {
        self.node.poll_timeout().filter(|_| self.up)
    }

    /// The next timer fires.
    pub(super) fn fire(&mut self, draw: u64) -> Done {
        let at = self.due().unwrap_or(self.clock);
        self.clock = self.clock.max(at);
        self.step(draw, |node, now| node.handle_timeout(now))
    }

    /// A datagram arrives.
    pub(super) fn receive(&mut self, envelope: &Envelope, flaw: Option<Flaw>) -> Done {
        let mut datagram = envelope.datagram.clone();
        Flaw::before(flaw, &mut self.node, &datagram);
        let from = addr(envelope.from);
        let done = self.step(0, |node, now| {
            node.handle_datagram(now, from, &mut datagram)
        });
        Flaw::after(flaw, &mut self.node, &envelope.datagram);
        done
    }
}

/// Feeds text into a hash.
struct Digester<'a>(&'a mut DefaultHasher);

impl fmt::Write for Digester<'_> {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        self.0.write(text.as_bytes());
        Ok(())
    }
}

impl Envelope {
    pub(super) fn new(from: usize, to: usize, datagram: Datagram) -> Envelope {
        let mut hasher = DefaultHasher::new();
        (from, to).hash(&mut hasher);
        let written =
            fmt::Write::write_fmt(&mut Digester(&mut hasher), format_args!("{datagram:?}"));
        written.expect("hashing does not fail");
        Envelope {
            from,
            to,
            datagram,
            hash: hasher.finish(),
        }
    }
}
