//! What the model checker needs: states that can be copied and compared, and random draws that the model chooses.

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
            // The effects are empty between steps.
            effects: Vec::new(),
        }
    }
}

impl Node {
    /// Makes membership draw its random numbers from this seed from now on.
    pub fn reseed_membership(&mut self, seed: u64) {
        self.membership.rng = Rng::seed(seed, 1);
    }

    /// Mutable access to membership, so that the model checker can inject faults.
    pub fn membership_mut(&mut self) -> &mut Membership {
        &mut self.membership.state
    }

    /// Writes the state that determines the next steps of membership: its own state and the timers.
    pub fn write_membership(&self, out: &mut impl fmt::Write) -> fmt::Result {
        self.membership.state.write_state(out)?;
        let mut timers = self.io.timers.clone();
        while let Some(timer) = timers.pop_due(Instant::MAX) {
            write!(out, "{timer:?}")?;
        }
        Ok(())
    }
}
