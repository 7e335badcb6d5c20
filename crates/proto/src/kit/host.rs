//! A single protocol with its surroundings.

use crate::id::{Life, NodeId};
use crate::protocol::{Cx, Effect, EffectOf, Protocol, Sender};
use crate::rng::Rng;
use crate::time::Instant;
use crate::timer::TimerQueue;
use alloc::vec::Vec;
use core::net::{IpAddr, Ipv4Addr, SocketAddr};

/// Runs one handler of `core` and returns its effects, in program order.
pub fn effects<P: Protocol>(
    core: &mut P,
    me: NodeId,
    now: Instant,
    rng: &mut Rng,
    handler: impl FnOnce(&mut P, &mut Cx<'_, P>),
) -> Vec<EffectOf<P>> {
    let mut effects = Vec::new();
    handle(core, me, now, rng, &mut effects, handler);
    effects
}

/// Runs one handler of `core` and appends its effects to `effects`, in program order.
pub fn handle<P: Protocol>(
    core: &mut P,
    me: NodeId,
    now: Instant,
    rng: &mut Rng,
    effects: &mut Vec<EffectOf<P>>,
    handler: impl FnOnce(&mut P, &mut Cx<'_, P>),
) {
    let mut cx = Cx {
        me,
        now,
        rng,
        effects,
    };
    handler(core, &mut cx);
}

/// The sender data of a node, with an arbitrary address.
pub const fn sender(id: NodeId, life: Life) -> Sender {
    let addr = SocketAddr::new(IpAddr::V4(Ipv4Addr::new(10, 0, 0, 1)), 1);
    Sender::new(id, life, addr)
}

/// A protocol with its clock, random stream and timers.
#[derive(Clone, Debug)]
pub struct Host<P: Protocol> {
    /// The id of its node.
    pub me: NodeId,
    /// The life of its node.
    pub life: Life,
    /// The protocol.
    pub core: P,
    /// The time of the next step.
    pub now: Instant,
    /// Its random stream.
    pub rng: Rng,
    /// The timers that it has set.
    pub timers: TimerQueue<P::Timer>,
}

impl<P: Protocol> Host<P> {
    /// Creates a host in its first life, at time zero.
    pub fn new(me: NodeId, core: P, rng: Rng) -> Host<P> {
        Host {
            me,
            life: Life(1),
            core,
            now: Instant::ZERO,
            rng,
            timers: TimerQueue::default(),
        }
    }

    /// Runs one handler and carries out its effects on timers. All other effects are appended to `rest`, in program order.
    pub fn step(
        &mut self,
        rest: &mut Vec<EffectOf<P>>,
        handler: impl FnOnce(&mut P, &mut Cx<'_, P>),
    ) {
        let first = rest.len();
        handle(
            &mut self.core,
            self.me,
            self.now,
            &mut self.rng,
            rest,
            handler,
        );
        let timers = &mut self.timers;
        let mut at = 0;
        rest.retain(|effect| {
            at += 1;
            match *effect {
                _ if at <= first => true,
                Effect::SetTimer(timer, due) => {
                    timers.set(timer, due);
                    false
                }
                Effect::CancelTimer(timer) => {
                    timers.cancel(timer);
                    false
                }
                _ => true,
            }
        });
    }
}
