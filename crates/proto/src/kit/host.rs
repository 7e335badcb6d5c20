//! One protocol, hosted.

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
    let mut cx = Cx {
        me,
        now,
        rng,
        effects: &mut effects,
    };
    handler(core, &mut cx);
    effects
}

/// How a node appears to others where addresses do not matter.
pub const fn sender(id: NodeId, life: Life) -> Sender {
    let addr = SocketAddr::new(IpAddr::V4(Ipv4Addr::new(10, 0, 0, 1)), 1);
    Sender::new(id, life, addr)
}

/// A protocol with what it needs around it.
#[derive(Clone, Debug)]
pub struct Host<P: Protocol> {
    /// Its name.
    pub me: NodeId,
    /// The life it is in.
    pub life: Life,
    /// The protocol.
    pub core: P,
    /// What its clock shows.
    pub now: Instant,
    /// Its random stream.
    pub rng: Rng,
    /// Its deadlines.
    pub timers: TimerQueue<P::Timer>,
}

impl<P: Protocol> Host<P> {
    /// A host in its first life, at the beginning of time.
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

    /// Runs one handler. Deadlines are set and forgotten; all other effects are appended to `rest`, in program order.
    pub fn step(
        &mut self,
        rest: &mut Vec<EffectOf<P>>,
        handler: impl FnOnce(&mut P, &mut Cx<'_, P>),
    ) {
        let first = rest.len();
        let mut cx = Cx {
            me: self.me,
            now: self.now,
            rng: &mut self.rng,
            effects: rest,
        };
        handler(&mut self.core, &mut cx);
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
