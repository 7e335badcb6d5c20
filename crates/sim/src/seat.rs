//! A host in a queue of events: woken when its next timer is due.

use consort_proto::kit::{Agenda, Host};
use consort_proto::{Cx, EffectOf, Instant, NodeId, Protocol, Rng};

/// A host, and the earliest of its entries in the queue.
pub(crate) struct Seat<P: Protocol> {
    pub(crate) host: Host<P>,
    wake_at: Instant,
}

impl<P: Protocol> Seat<P> {
    pub(crate) fn new(me: NodeId, core: P, rng: Rng) -> Seat<P> {
        Seat {
            host: Host::new(me, core, rng),
            wake_at: Instant::MAX,
        }
    }

    /// Runs one handler. Effects other than timers are appended to `rest`.
    pub(crate) fn step(
        &mut self,
        now: Instant,
        rest: &mut Vec<EffectOf<P>>,
        f: impl FnOnce(&mut P, &mut Cx<'_, P>),
    ) {
        self.host.now = now;
        self.host.step(rest, f);
    }

    /// Whether an entry of this time wakes the host. If not, an earlier entry replaced it.
    pub(crate) fn wakes(&mut self, now: Instant) -> bool {
        let wakes = self.wake_at == now;
        if wakes {
            self.wake_at = Instant::MAX;
        }
        wakes
    }

    /// Ensures that the host is woken at its next deadline or before, by this item.
    pub(crate) fn schedule<T>(&mut self, agenda: &mut Agenda<T>, item: T) {
        if let Some(due) = self.host.timers.next()
            && due < self.wake_at
        {
            self.wake_at = due;
            agenda.push(due, item);
        }
    }
}
