//! Network faults that can be ordered, and locks that nodes take by order.

use consort::Node;
use consort::fault::{Faults, Reach};
use consort::lock::LockGuard;
use core::net::SocketAddr;
use core::sync::atomic::{AtomicBool, Ordering};
use core::time::Duration;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use tokio::sync::oneshot;

/// The network faults of one node.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Knobs {
    pub(crate) isolated: bool,
    pub(crate) percent: u8,
    pub(crate) ms: u16,
}

impl Knobs {
    /// The faults of a node; `far` says whether it is on the other side of a partition, with these addresses.
    pub(crate) fn faults(&self, far: bool, others: &BTreeSet<SocketAddr>) -> Faults {
        let reach = match (self.isolated, far) {
            (true, _) => Reach::Only(BTreeSet::new()),
            (_, true) => Reach::Only(others.clone()),
            // Agents of other programs stay on this side.
            (_, false) if !others.is_empty() => Reach::AllBut(others.clone()),
            _ => Reach::All,
        };
        Faults::default()
            .reach(reach)
            .loss_per_mille(u16::from(self.percent.min(100)) * 10)
            .delay(Duration::from_millis(u64::from(self.ms)))
    }
}

/// A lock that a node takes and holds until it is told to release it.
#[derive(Debug)]
struct Hold {
    end: oneshot::Sender<()>,
    held: Arc<AtomicBool>,
}

/// The locks that one node takes by order.
#[derive(Debug, Default)]
pub(crate) struct Holds(BTreeMap<String, Hold>);

impl Holds {
    /// Takes a lock. Returns `false` if that was already ordered.
    pub(crate) fn take(&mut self, node: &Node, name: &str) -> bool {
        self.prune();
        if self.0.contains_key(name) {
            return false;
        }
        let (end, ended) = oneshot::channel();
        let held = Arc::new(AtomicBool::new(false));
        let hold = Hold {
            end,
            held: Arc::clone(&held),
        };
        tokio::spawn(hold_lock(node.clone(), name.to_owned(), held, ended));
        self.0.insert(name.to_owned(), hold);
        true
    }

    /// Releases a lock. Returns `false` if it was not taken.
    pub(crate) fn give(&mut self, name: &str) -> bool {
        self.prune();
        let hold = self.0.remove(name);
        hold.is_some_and(|hold| hold.end.send(()).is_ok())
    }

    /// The names of the locks, and whether each is held.
    pub(crate) fn list(&self) -> Vec<(String, bool)> {
        let open = self.0.iter().filter(|(_, hold)| !hold.end.is_closed());
        open.map(|(name, hold)| (name.clone(), hold.held.load(Ordering::Relaxed)))
            .collect()
    }

    fn prune(&mut self) {
        self.0.retain(|_, hold| !hold.end.is_closed());
    }
}

/// Waits for a lock, and holds it until it is told to end, or the lock is lost.
async fn hold_lock(
    node: Node,
    name: String,
    held: Arc<AtomicBool>,
    mut ended: oneshot::Receiver<()>,
) {
    let lock = node.lock(&name);
    let guard: LockGuard = tokio::select! {
        guard = lock.acquire() => match guard {
            Ok(guard) => guard,
            Err(_) => return,
        },
        _ = &mut ended => return,
    };
    held.store(true, Ordering::Relaxed);
    tokio::select! {
        _ = guard.lost() => {}
        _ = &mut ended => guard.release().await,
    }
}
