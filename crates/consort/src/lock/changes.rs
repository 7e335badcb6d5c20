//! Following what a node knows about locks.

use crate::error::Stopped;
use tokio::sync::watch;

/// Tells when a request for a lock begins, is granted or ends, as far as a node knows; see
/// [`Node::observe_locks`](crate::Node::observe_locks).
#[derive(Clone, Debug)]
pub struct LockChanges(watch::Receiver<u64>);

impl LockChanges {
    pub(crate) fn new(changes: watch::Receiver<u64>) -> LockChanges {
        LockChanges(changes)
    }

    /// Waits for a change since the last call. Several changes in between count as one. This is cancel safe: dropping
    /// the future loses nothing.
    pub async fn next(&mut self) -> Result<(), Stopped> {
        self.0.changed().await.map_err(|_| Stopped)
    }
}
