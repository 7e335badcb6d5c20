//! The shape of every protocol: handlers that take an input and produce effects.
//!
//! The protocols of a node are tied together in these ways, and in no other:
//!
//! - *Down:* a handler reads the layers below through [`Protocol::View`].
//! - *Up:* a handler reports through [`Effect::Emit`], and the node passes it on as an input.
//! - *Across:* what a layer asks of another one (elections ask membership to probe a member), or publishes for it (the
//!   topology's measure of how central this node is), goes through the node as well. `relay` in `node/step.rs` is the
//!   whole list. It runs after every step until nothing is left to pass on.
//! - *Headers:* the lowest layer learns from the header of every datagram ([`Headers`]).
//! - *Rides:* some protocols add messages to datagrams that other messages cause ([`Passenger`]). `fill` in
//!   `node/output.rs` decides about their order.

use crate::coordinate::Coordinate;
use crate::id::{ElectionId, Incarnation, Life, NodeId, Term};
use crate::lease::{Holder, Record};
use crate::rng::Rng;
use crate::time::Instant;
use alloc::boxed::Box;
use alloc::vec::Vec;
use core::fmt::Debug;
use core::net::SocketAddr;

/// The interface that every protocol implements.
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

/// What the lowest layer does with the headers of datagrams. A header is a claim of its sender: that it runs, in which
/// life, and what it thinks of itself.
pub(crate) trait Headers: Protocol {
    /// Handles the header of a datagram, before its frames.
    fn on_sender(&mut self, cx: &mut Cx<'_, Self>, from: Sender);
    /// Handles the header again after the frames; `answered` tells whether the sender is sent an answer anyway.
    fn after_sender(&mut self, cx: &mut Cx<'_, Self>, from: Sender, answered: bool);
    /// Handles a header with this node's own id, which another process uses.
    fn on_own_id(&mut self, cx: &mut Cx<'_, Self>, from: Sender);
}

/// What a protocol adds to datagrams that other messages cause.
pub(crate) trait Passenger: Protocol {
    /// A message for all pings and acknowledgements, by which the receiver notices that it lacks something.
    fn beacon(&self) -> Option<Self::Msg> {
        None
    }

    /// Passes messages for one datagram to `push`, as far as there is room.
    fn piggyback(&mut self, ride: Ride, push: impl FnMut(Self::Msg)) {
        let _ = (ride, push);
    }
}

/// A datagram that is about to be sent.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Ride {
    /// This node.
    pub(crate) me: NodeId,
    /// The time of this step.
    pub(crate) now: Instant,
    /// The receiver, if it is known.
    pub(crate) to: Option<NodeId>,
    /// The number of live members, without this node.
    pub(crate) members: usize,
    /// The number of bytes that are left.
    pub(crate) bytes: usize,
    /// The number of frames that are left.
    pub(crate) frames: usize,
}

impl Ride {
    /// Reserves room for a frame of `len` bytes. Returns whether it fits.
    pub(crate) fn take(&mut self, len: usize) -> bool {
        let fits = len <= self.bytes && self.frames > 0;
        if fits {
            self.bytes -= len;
            self.frames -= 1;
        }
        fits
    }
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

    /// The sender, as one that holds a lease or asks for it.
    pub(crate) const fn holder(&self) -> Holder {
        Holder {
            node: self.id,
            life: self.life,
        }
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
