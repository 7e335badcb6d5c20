//! The shape of every protocol: handlers that take an input and produce effects.

use crate::coordinate::Coordinate;
use crate::id::{ElectionId, Incarnation, Life, NodeId, Term};
use crate::lease::Record;
use crate::rng::Rng;
use crate::time::Instant;
use alloc::boxed::Box;
use alloc::vec::Vec;
use core::fmt::Debug;
use core::net::SocketAddr;

/// The interface that every protocol implements. Reads from lower layers go through `View`, events go to upper layers
/// through [`Effect::Emit`], and nothing else connects protocols.
pub trait Protocol: Sized {
    /// Commands, and changes reported by the layer below.
    type Input;
    /// The body of this protocol's frames.
    type Msg: Debug;
    /// The key of a timer. A key has one deadline; setting it again moves it.
    type Timer: Copy + Eq + Debug;
    /// What the protocol reports to the layers above.
    type Event: Debug;
    /// What the protocol may read from the layers below.
    type View<'a>: Copy;

    /// Handles a command, or a report of the layer below.
    fn on_input(&mut self, cx: &mut Cx<'_, Self>, view: Self::View<'_>, input: Self::Input);
    /// Handles one frame from a peer.
    fn on_msg(&mut self, cx: &mut Cx<'_, Self>, view: Self::View<'_>, from: Sender, msg: Self::Msg);
    /// Handles a timer. `cx.now` may be later than the deadline, but never earlier.
    fn on_timer(&mut self, cx: &mut Cx<'_, Self>, view: Self::View<'_>, timer: Self::Timer);
}

/// The sender of a datagram according to its header, and the source address.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Sender {
    /// The sender's identity.
    pub id: NodeId,
    /// The life of the sender.
    pub life: Life,
    /// Its incarnation, which counts refutations.
    pub incarnation: Incarnation,
    /// The source address of the datagram, to which answers are sent.
    pub addr: SocketAddr,
    /// Whether the sender is leaving the group, so that its datagram is a goodbye.
    pub leaving: bool,
    /// Whether the sender is probed too rarely.
    pub unlucky: bool,
    /// Whether the sender has heard nobody for a while. Its verdicts do not count for others.
    pub isolated: bool,
    /// The digest of the sender's member list.
    pub digest: u32,
    /// The network coordinate or position of the sender.
    pub coordinate: Option<Coordinate>,
}

impl Sender {
    /// A sender of which only the identity and the address are known.
    pub const fn new(id: NodeId, life: Life, addr: SocketAddr) -> Sender {
        Sender {
            id,
            life,
            incarnation: Incarnation(0),
            addr,
            leaving: false,
            unlucky: false,
            isolated: false,
            digest: 0,
            coordinate: None,
        }
    }

    /// The destination of an answer.
    pub const fn reply_to(&self) -> To {
        To::At(self.id, self.addr)
    }
}

/// The destination of a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum To {
    /// A member, at the address that membership knows.
    Node(NodeId),
    /// A node at a given address; used for answers, which go to the source of the question.
    At(NodeId, SocketAddr),
    /// An address whose owner is not known yet.
    Addr(SocketAddr),
    /// All nodes that hear it: one broadcast on every link, which routers do not forward.
    Neighbors,
}

/// The destination of a datagram.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Destination {
    /// One address.
    Addr(SocketAddr),
    /// All nodes that hear it on any link.
    Neighbors,
}

/// A fact that the driver stores. Messages that depend on it are not sent before the next call of
/// [`Node::poll_fact`](crate::Node::poll_fact).
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Fact {
    /// The life of this node, which is a lower limit for its next life.
    Life(Life),
    /// The greatest term of an election that this node has seen. Later terms are greater.
    Term(ElectionId, Term),
    /// An upper limit of the lock clock so far. Later tokens are greater.
    Fence(u64),
    /// This node's record of leases in an election.
    Lease(ElectionId, Box<Record>),
}

/// An effect that a handler requests, as plain data.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Effect<M, T, E> {
    /// Send a message. All messages of one step to one destination share datagrams.
    Send(To, M),
    /// Set or move a deadline.
    SetTimer(T, Instant),
    /// Cancel a deadline.
    CancelTimer(T),
    /// Report an event to the layers above.
    Emit(E),
    /// Store a fact before anything that depends on it is sent.
    Persist(Fact),
}

/// The effects of protocol `P`.
pub type EffectOf<P> = Effect<<P as Protocol>::Msg, <P as Protocol>::Timer, <P as Protocol>::Event>;

/// Everything that a handler may access besides its own state.
pub struct Cx<'a, P: Protocol> {
    /// This node.
    pub me: NodeId,
    /// The time of this step.
    pub now: Instant,
    /// This protocol's own random stream.
    pub rng: &'a mut Rng,
    /// Drained after the step and reused, so that no allocation is needed once warm.
    pub effects: &'a mut Vec<EffectOf<P>>,
}

impl<P: Protocol> Cx<'_, P> {
    /// Sends `msg`.
    pub fn send(&mut self, to: To, msg: P::Msg) {
        self.effects.push(Effect::Send(to, msg));
    }

    /// Sets or moves the deadline of `timer`.
    pub fn set_timer(&mut self, timer: P::Timer, at: Instant) {
        self.effects.push(Effect::SetTimer(timer, at));
    }

    /// Cancels the deadline of `timer`.
    pub fn cancel_timer(&mut self, timer: P::Timer) {
        self.effects.push(Effect::CancelTimer(timer));
    }

    /// Reports `event` to the layers above.
    pub fn emit(&mut self, event: P::Event) {
        self.effects.push(Effect::Emit(event));
    }

    /// Requests that `fact` is stored. If other nodes must not see a value before it is stored, use it only after the
    /// confirmation, which arrives in a later step.
    pub fn persist(&mut self, fact: Fact) {
        self.effects.push(Effect::Persist(fact));
    }
}
