//! Oracles: they watch a world and report the first broken invariant. Each examines the history (every event,
//! datagram and step), not only the end.

mod accuracy;
mod bag;
mod claims;
mod convergence;
mod detection;
mod exclusive;
mod finality;
mod gap;
mod isolation;
mod leadership;
mod limits;
mod locks;
mod messages;
mod ownership;
mod precedence;
mod refutation;
mod sides;
mod talk;
mod witnesses;
mod work;

pub use accuracy::Accuracy;
pub use bag::Bag;
pub use claims::Claims;
pub use convergence::{Convergence, converged};
pub use detection::Detection;
pub use exclusive::Exclusive;
pub use finality::Finality;
pub use gap::Gap;
pub use isolation::Isolation;
pub use leadership::{Leadership, agreed};
pub use limits::Limits;
pub use locks::Locks;
pub use messages::Messages;
pub use ownership::Ownership;
pub use precedence::Monotony;
pub use refutation::Refutation;
pub use sides::Sides;
pub use talk::Talk;
pub use witnesses::Witnesses;
pub use work::Work;

use crate::fault::Fault;
use crate::world::World;
use consort_proto::wire::Datagram;
use consort_proto::{Command, Event, Instant};
use core::fmt;

/// A broken invariant.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Violation {
    /// The invariant, by its name in docs/RULES.md, such as `I2`.
    pub invariant: &'static str,
    /// Virtual time of the observation.
    pub at: Instant,
    /// The host it was observed at; `None` if it concerns the whole group.
    pub host: Option<usize>,
    /// A description of what was observed.
    pub text: String,
    /// A command that reproduces it.
    pub rerun: String,
}

impl fmt::Display for Violation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} violated at {}", self.invariant, self.at)?;
        if let Some(host) = self.host {
            write!(f, " at node {host}")?;
        }
        write!(f, ": {}", self.text)?;
        if !self.rerun.is_empty() {
            write!(f, "\nrerun: {}", self.rerun)?;
        }
        Ok(())
    }
}

impl core::error::Error for Violation {}

/// A verdict of an oracle.
pub type Verdict = Result<(), Violation>;

/// Watches a world. Every hook may stop the run with a violation.
pub trait Oracle {
    /// A node reported an event.
    fn on_event(&mut self, _world: &World, _host: usize, _event: &Event) -> Verdict {
        Ok(())
    }
    /// The application of a running node gives it an order.
    fn on_command(&mut self, _world: &World, _host: usize, _command: &Command) -> Verdict {
        Ok(())
    }
    /// A node sends a datagram of that many bytes.
    fn on_send(&mut self, _: &World, _host: usize, _: &Datagram, _bytes: usize) -> Verdict {
        Ok(())
    }
    /// A datagram is on its way to a host; `delay_us` is `None` when it is lost.
    fn on_dispatch(
        &mut self,
        _: &World,
        _from: usize,
        _to: usize,
        _: &Datagram,
        _delay_us: Option<u64>,
    ) {
    }
    /// A datagram arrives at a node, which has not seen it yet.
    fn on_deliver(&mut self, _: &World, _from: usize, _to: usize, _: &Datagram) -> Verdict {
        Ok(())
    }
    /// A node has handled an input, and its outputs are drained.
    fn after_step(&mut self, _world: &World, _host: usize) -> Verdict {
        Ok(())
    }
    /// A fault is about to occur.
    fn on_fault(&mut self, _world: &World, _fault: &Fault) -> Verdict {
        Ok(())
    }
    /// A host has a new process.
    fn on_restart(&mut self, _world: &World, _host: usize) -> Verdict {
        Ok(())
    }
    /// A periodic sample of the whole world.
    fn sample(&mut self, _world: &World) -> Verdict {
        Ok(())
    }
    /// The run is over.
    fn end(&mut self, _world: &World) -> Verdict {
        Ok(())
    }
}

/// No checks.
impl Oracle for () {}

/// Several oracles.
#[derive(Default)]
pub struct Panel(pub Vec<Box<dyn Oracle + Send>>);

impl Panel {
    /// The safety invariants of membership, which hold under every fault.
    pub fn safety() -> Panel {
        Panel(vec![
            Box::new(Monotony::default()),
            Box::new(Ownership::default()),
            Box::new(Finality::default()),
            Box::new(Messages::default()),
            Box::new(Limits::default()),
            Box::new(Gap::default()),
            Box::new(Bag::default()),
            Box::new(Refutation::default()),
            Box::new(Isolation::default()),
        ])
    }

    /// The same panel with one more oracle.
    pub fn with(mut self, oracle: impl Oracle + Send + 'static) -> Panel {
        self.0.push(Box::new(oracle));
        self
    }
}

impl fmt::Debug for Panel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Panel({})", self.0.len())
    }
}

impl Oracle for Panel {
    fn on_event(&mut self, world: &World, host: usize, event: &Event) -> Verdict {
        self.0
            .iter_mut()
            .try_for_each(|o| o.on_event(world, host, event))
    }
    fn on_command(&mut self, world: &World, host: usize, command: &Command) -> Verdict {
        self.0
            .iter_mut()
            .try_for_each(|o| o.on_command(world, host, command))
    }
    fn on_send(&mut self, world: &World, host: usize, d: &Datagram, bytes: usize) -> Verdict {
        self.0
            .iter_mut()
            .try_for_each(|o| o.on_send(world, host, d, bytes))
    }
    fn on_dispatch(
        &mut self,
        world: &World,
        from: usize,
        to: usize,
        d: &Datagram,
        delay_us: Option<u64>,
    ) {
        for oracle in &mut self.0 {
            oracle.on_dispatch(world, from, to, d, delay_us);
        }
    }
    fn on_deliver(&mut self, world: &World, from: usize, to: usize, d: &Datagram) -> Verdict {
        self.0
            .iter_mut()
            .try_for_each(|o| o.on_deliver(world, from, to, d))
    }
    fn after_step(&mut self, world: &World, host: usize) -> Verdict {
        self.0
            .iter_mut()
            .try_for_each(|o| o.after_step(world, host))
    }
    fn on_fault(&mut self, world: &World, fault: &Fault) -> Verdict {
        self.0.iter_mut().try_for_each(|o| o.on_fault(world, fault))
    }
    fn on_restart(&mut self, world: &World, host: usize) -> Verdict {
        self.0
            .iter_mut()
            .try_for_each(|o| o.on_restart(world, host))
    }
    fn sample(&mut self, world: &World) -> Verdict {
        self.0.iter_mut().try_for_each(|o| o.sample(world))
    }
    fn end(&mut self, world: &World) -> Verdict {
        self.0.iter_mut().try_for_each(|o| o.end(world))
    }
}

/// A violation observed now.
pub(crate) fn violated(
    invariant: &'static str,
    world: &World,
    host: impl Into<Option<usize>>,
    text: String,
) -> Verdict {
    Err(Violation {
        invariant,
        at: world.now(),
        host: host.into(),
        text,
        rerun: String::new(),
    })
}

/// Grows a list so that it contains `index`.
pub(crate) fn slot<T: Default>(list: &mut Vec<T>, index: usize) -> &mut T {
    if list.len() <= index {
        list.resize_with(index + 1, T::default);
    }
    &mut list[index]
}

#[cfg(test)]
mod tests;
