//! The shape of every protocol: handlers that read their input and write effects.

use crate::coordinate::Coordinate;
use crate::id::{ElectionId, Incarnation, Life, NodeId, Term};
use crate::lease::Record;
use crate::rng::Rng;
use crate::time::Instant;
use alloc::boxed::Box;
use alloc::vec::Vec;
use core::fmt::Debug;
use core::net::SocketAddr;

/// What every protocol implements. Reads of lower layers flow down through `View`, events flow up
/// through [`Effect::Emit`], nothing flows sideways.
pub trait Protocol: Sized {
    /// Commands, and changes reported by the layer below.
    type Input;
    /// Body of this protocol's frames.
    type Msg: Debug;
    /// A key has one deadline; setting it again moves it.
    type Timer: Copy + Eq + Debug;
    /// What it reports upwards.
    type Event: Debug;
    /// What it may read of the layers below.
    type View<'a>: Copy;

    /// Handles a command or a report of the layer below.
    fn on_input(&mut self, cx: &mut Cx<'_, Self>, view: Self::View<'_>, input: Self::Input);
    /// Handles one frame of a peer.
    fn on_msg(&mut self, cx: &mut Cx<'_, Self>, view: Self::View<'_>, from: Sender, msg: Self::Msg);
    /// Handles a deadline. `cx.now` may be later than the deadline, never earlier.
    fn on_timer(&mut self, cx: &mut Cx<'_, Self>, view: Self::View<'_>, timer: Self::Timer);
}

/// Who sent a datagram, as its header says, and from where it came.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Sender {
    /// The sender's identity.
    pub id: NodeId,
    /// The life it is in.
    pub life: Life,
    /// Its refutation counter.
    pub incarnation: Incarnation,
    /// The address the datagram came from; answers go there.
    pub addr: SocketAddr,
    /// The sender is leaving the group: what it says of itself is a goodbye.
    pub leaving: bool,
    /// The sender is probed too rarely.
    pub unlucky: bool,
    /// The sender had heard nobody for a while: its verdicts are its own.
    pub isolated: bool,
    /// Digest of the sender's member list.
    pub digest: u32,
    /// Where the sender is.
    pub coordinate: Option<Coordinate>,
}

impl Sender {
    /// A sender that says nothing about itself but who it is and where.
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

    /// Where to answer.
    pub const fn reply_to(&self) -> To {
        To::At(self.id, self.addr)
    }
}

/// Where a message goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum To {
    /// A member, at the address membership has for it.
    Node(NodeId),
    /// A node at an address of its own telling: answers go where the question came from.
    At(NodeId, SocketAddr),
    /// An address whose owner is not known yet.
    Addr(SocketAddr),
    /// Whoever hears it: one broadcast on every link, not passed on by any router.
    Neighbors,
}

/// Where a datagram goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Destination {
    /// To one address.
    Addr(SocketAddr),
    /// To whoever hears it on any link.
    Neighbors,
}

/// A fact that the driver stores. What depends on it is not sent before [`Node::poll_fact`](crate::Node::poll_fact) is
/// asked for the next.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Fact {
    /// The life this node is in: the floor of its next one.
    Life(Life),
    /// The greatest term of an election that this node has seen: later ones are greater.
    Term(ElectionId, Term),
    /// Up to where the clock of locks may have got: later tokens are greater.
    Fence(u64),
    /// What this node recorded of leases in an election.
    Lease(ElectionId, Box<Record>),
}

/// What a handler wants done, as plain data.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Effect<M, T, E> {
    /// Send a message. All messages of one step to one destination share datagrams.
    Send(To, M),
    /// Set or move a deadline.
    SetTimer(T, Instant),
    /// Forget a deadline.
    CancelTimer(T),
    /// Report upwards.
    Emit(E),
    /// Store before sending.
    Persist(Fact),
}

/// The effects of protocol `P`.
pub type EffectOf<P> = Effect<<P as Protocol>::Msg, <P as Protocol>::Timer, <P as Protocol>::Event>;

/// All that a handler may touch besides its own state.
pub struct Cx<'a, P: Protocol> {
    /// This node.
    pub me: NodeId,
    /// The time of this step.
    pub now: Instant,
    /// This protocol's own random stream.
    pub rng: &'a mut Rng,
    /// Drained after the step and reused: no allocation once warm.
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

    /// Forgets the deadline of `timer`.
    pub fn cancel_timer(&mut self, timer: P::Timer) {
        self.effects.push(Effect::CancelTimer(timer));
    }

    /// Reports `event` upwards.
    pub fn emit(&mut self, event: P::Event) {
        self.effects.push(Effect::Emit(event));
    }

    /// Asks for `fact` to be stored. A fact that others must not see before it is stored is used when that is
    /// confirmed, in a later step.
    pub fn persist(&mut self, fact: Fact) {
        self.effects.push(Effect::Persist(fact));
    }
}
