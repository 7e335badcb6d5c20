//! Faults between a node and the network, for tests and demonstrations.

use core::net::SocketAddr;
use core::time::Duration;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use tokio::sync::watch;
use tokio::time::Instant;

/// The greatest number of delayed datagrams. Further ones are lost.
const LATE_MAX: usize = 4096;

/// Faults that affect the datagrams of a node. For tests and demonstrations: see
/// [`Node::set_faults`](crate::Node::set_faults).
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Faults {
    /// The addresses with which the node can exchange datagrams at all.
    pub reach: Reach,
    /// The probability that a datagram, sent or received, is lost; in thousandths.
    pub loss_per_mille: u16,
    /// The delay of each datagram that the node sends.
    pub delay: Duration,
}

impl Faults {
    /// Limits the addresses with which the node can exchange datagrams.
    #[must_use]
    pub fn reach(mut self, reach: Reach) -> Faults {
        self.reach = reach;
        self
    }

    /// Loses datagrams, sent or received, with this probability in thousandths.
    #[must_use]
    pub fn loss_per_mille(mut self, loss: u16) -> Faults {
        self.loss_per_mille = loss;
        self
    }

    /// Delays each datagram that the node sends.
    #[must_use]
    pub fn delay(mut self, delay: Duration) -> Faults {
        self.delay = delay;
        self
    }
}

/// The addresses with which a node can exchange datagrams.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Reach {
    /// All addresses.
    #[default]
    All,
    /// Only these addresses; an empty set isolates the node.
    Only(BTreeSet<SocketAddr>),
    /// All addresses except these.
    AllBut(BTreeSet<SocketAddr>),
}

impl Reach {
    fn has(&self, addr: SocketAddr) -> bool {
        match self {
            Reach::All => true,
            Reach::Only(those) => those.contains(&addr),
            Reach::AllBut(those) => !those.contains(&addr),
        }
    }
}

/// What happens to a datagram that is to be sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Fate {
    Goes,
    Lost,
    /// It is sent at this time.
    Late(Instant),
}

/// The faults that are active at a node.
#[derive(Debug)]
pub(crate) struct Weather {
    ordered: watch::Receiver<Arc<Faults>>,
    faults: Arc<Faults>,
    random: u64,
    late: BTreeMap<(Instant, u64), (SocketAddr, Vec<u8>)>,
    kept: u64,
}

impl Weather {
    pub(crate) fn new(ordered: watch::Receiver<Arc<Faults>>, random: u64) -> Weather {
        Weather {
            ordered,
            faults: Arc::default(),
            random,
            late: BTreeMap::new(),
            kept: 0,
        }
    }

    /// Updates to the faults that were set last.
    fn look(&mut self) {
        if self.ordered.has_changed().unwrap_or(false) {
            self.faults = Arc::clone(&self.ordered.borrow_and_update());
        }
    }

    /// Whether a datagram from `from` is received.
    pub(crate) fn hears(&mut self, from: SocketAddr) -> bool {
        self.look();
        self.faults.reach.has(from) && !self.draw()
    }

    /// What happens to a datagram to `to`.
    pub(crate) fn fate(&mut self, to: SocketAddr) -> Fate {
        self.look();
        if !self.faults.reach.has(to) || self.draw() {
            return Fate::Lost;
        }
        match self.faults.delay {
            Duration::ZERO => Fate::Goes,
            _ if self.late.len() >= LATE_MAX => Fate::Lost,
            delay => Fate::Late(Instant::now() + delay),
        }
    }

    /// Whether a datagram is lost by chance. Nothing is drawn if the loss is 0.
    fn draw(&mut self) -> bool {
        if self.faults.loss_per_mille == 0 {
            return false;
        }
        // SplitMix64.
        self.random = self.random.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.random;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (z ^ (z >> 31)) % 1000 < u64::from(self.faults.loss_per_mille)
    }

    /// Keeps a datagram until it is due.
    pub(crate) fn keep(&mut self, until: Instant, to: SocketAddr, bytes: Vec<u8>) {
        self.kept += 1;
        self.late.insert((until, self.kept), (to, bytes));
    }

    /// The time at which the next delayed datagram is due.
    pub(crate) fn next_due(&self) -> Option<Instant> {
        self.late.keys().next().map(|key| key.0)
    }

    /// Takes a delayed datagram that is due.
    pub(crate) fn due(&mut self) -> Option<(SocketAddr, Vec<u8>)> {
        let first = self.late.first_entry()?;
        (first.key().0 <= Instant::now()).then(|| first.remove())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn reach_loss_and_delay_are_as_ordered() {
        let [a, b] = [1, 2].map(|port| SocketAddr::from(([127, 0, 0, 1], port)));
        let (order, ordered) = watch::channel(Arc::default());
        let mut weather = Weather::new(ordered, 7);
        let set = |faults: Faults| order.send(Arc::new(faults)).unwrap();
        assert_eq!((weather.fate(a), weather.hears(b)), (Fate::Goes, true));

        set(Faults {
            reach: Reach::Only([a].into()),
            ..Faults::default()
        });
        assert_eq!((weather.fate(a), weather.fate(b)), (Fate::Goes, Fate::Lost));
        assert!(weather.hears(a) && !weather.hears(b));
        set(Faults {
            reach: Reach::AllBut([a].into()),
            ..Faults::default()
        });
        assert_eq!((weather.fate(a), weather.fate(b)), (Fate::Lost, Fate::Goes));

        set(Faults {
            loss_per_mille: 300,
            ..Faults::default()
        });
        let lost = (0..10_000).filter(|_| !weather.hears(a)).count();
        assert!((2_800..3_200).contains(&lost), "{lost} of 10000");

        let delay = Duration::from_millis(200);
        set(Faults {
            delay,
            ..Faults::default()
        });
        let Fate::Late(until) = weather.fate(a) else {
            panic!("it should be late");
        };
        weather.keep(until, a, vec![1]);
        assert_eq!((weather.next_due(), weather.due()), (Some(until), None));
        tokio::time::advance(delay).await;
        assert_eq!(weather.due(), Some((a, vec![1])));
        assert_eq!(weather.next_due(), None);
    }
}
