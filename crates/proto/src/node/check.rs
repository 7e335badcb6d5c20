//! What model checking needs: states that can be copied and told apart, and draws that the model makes.

use super::{Layer, Membership, Node};
use crate::protocol::Protocol;
use crate::rng::Rng;
use crate::time::Instant;
use alloc::vec::Vec;
use core::fmt;

impl<P: Protocol + Clone> Clone for Layer<P> {
    fn clone(&self) -> Self {
        Layer {
            state: self.state.clone(),
            rng: self.rng.clone(),
            // Empty between steps.
            effects: Vec::new(),
        }
    }
}

impl Node {
    /// Has membership draw its random numbers from this seed from now on.
    pub fn reseed_membership(&mut self, seed: u64) {
        self.membership.rng = Rng::seed(seed, 1);
    }

    /// Membership, to be tampered with.
    pub fn membership_mut(&mut self) -> &mut Membership {
        &mut self.membership.state
    }

    /// Writes what decides on the next steps of membership: its state and the timers.
    pub fn write_membership(&self, out: &mut impl fmt::Write) -> fmt::Result {
        self.membership.state.write_state(out)?;
        let mut timers = self.io.timers.clone();
        while let Some(timer) = timers.pop_due(Instant::MAX) {
            write!(out, "{timer:?}")?;
        }
        Ok(())
    }
}
