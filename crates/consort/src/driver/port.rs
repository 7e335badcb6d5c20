//! Whether the node's socket still works: a port is lost when nothing can be sent or read for a while.

use crate::stats::DriverStats;
use core::time::Duration;
use std::io;
use tokio::time::Instant;

/// The number of failures in a row after which the port counts as lost, and the time that they have to last.
const FAILURES_MIN: u32 = 4;
const PATIENCE: Duration = Duration::from_secs(3);

/// The failures of the socket since something last succeeded.
#[derive(Debug, Default)]
pub(super) struct Port {
    sends: Failures,
    reads: Failures,
    /// Whether the loss was logged.
    logged: bool,
}

#[derive(Debug, Default)]
struct Failures {
    count: u32,
    since: Option<Instant>,
    last: String,
}

impl Failures {
    fn note(&mut self, result: Result<(), &io::Error>) {
        match result {
            Ok(()) => *self = Failures::default(),
            Err(error) => {
                self.count = self.count.saturating_add(1);
                self.since.get_or_insert_with(Instant::now);
                self.last = error.to_string();
            }
        }
    }

    fn lasting(&self) -> Option<Duration> {
        let lasts = self.since?.elapsed();
        (self.count >= FAILURES_MIN && lasts >= PATIENCE).then_some(lasts)
    }
}

impl Port {
    /// Notes whether a datagram to one address was sent.
    pub(super) fn sent(&mut self, result: &io::Result<()>) {
        self.sends.note(result.as_ref().copied());
        self.log();
    }

    /// Notes whether the socket could be read; an empty one could.
    pub(super) fn read(&mut self, result: Result<(), &io::Error>) {
        match result {
            // These report that an earlier datagram found no listener.
            Err(e) if is_of_a_peer(e.kind()) => {}
            result => self.reads.note(result),
        }
        self.log();
    }

    /// Counts a read that failed, and notes it.
    pub(super) fn read_failed(&mut self, error: &io::Error, stats: &mut DriverStats) {
        stats.receive_errors += 1;
        self.read(Err(error));
    }

    /// What fails, and for how long it has, if the port is lost.
    pub(super) fn error(&self) -> Option<String> {
        let told = |failures: &Failures, what: &str| {
            let lasts = failures.lasting()?.as_secs();
            Some(format!("{what} for {lasts} s: {}", failures.last))
        };
        told(&self.sends, "no datagram could be sent")
            .or_else(|| told(&self.reads, "no datagram could be read"))
    }

    fn log(&mut self) {
        let error = self.error();
        match &error {
            Some(error) if !self.logged => {
                tracing::error!("the port of this node is lost: {error}");
            }
            None if self.logged => tracing::info!("the port of this node works again"),
            _ => {}
        }
        self.logged = error.is_some();
    }
}

fn is_of_a_peer(kind: io::ErrorKind) -> bool {
    use io::ErrorKind::{ConnectionRefused, ConnectionReset, HostUnreachable, NetworkUnreachable};
    matches!(
        kind,
        ConnectionRefused | ConnectionReset | HostUnreachable | NetworkUnreachable
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn failed(kind: io::ErrorKind) -> io::Result<()> {
        Err(kind.into())
    }

    #[tokio::test(start_paused = true)]
    async fn a_port_is_lost_when_only_failures_are_seen_for_a_while() {
        let mut port = Port::default();
        let invalid = failed(io::ErrorKind::InvalidInput);
        for _ in 0..2 * FAILURES_MIN {
            port.sent(&invalid);
        }
        assert_eq!(port.error(), None, "too early to say");
        tokio::time::advance(PATIENCE).await;
        let error = port.error().unwrap();
        assert!(error.contains("sent for 3 s: invalid"), "{error}");
        port.sent(&Ok(()));
        assert_eq!(port.error(), None, "one address can be reached");
        port.sent(&invalid);
        tokio::time::advance(PATIENCE).await;
        assert_eq!(port.error(), None, "one failure is loss, as on any network");
    }

    #[tokio::test(start_paused = true)]
    async fn reads_that_report_a_closed_port_of_a_peer_do_not_count() {
        let (mut port, mut stats) = (Port::default(), DriverStats::default());
        let refused = io::Error::from(io::ErrorKind::ConnectionRefused);
        let broken = io::Error::from(io::ErrorKind::NetworkDown);
        for _ in 0..2 * FAILURES_MIN {
            port.read_failed(&refused, &mut stats);
        }
        tokio::time::advance(PATIENCE).await;
        assert_eq!(port.error(), None);
        for _ in 0..FAILURES_MIN {
            port.read_failed(&broken, &mut stats);
        }
        tokio::time::advance(PATIENCE).await;
        assert!(port.error().unwrap().contains("read for 3 s"));
        port.read(Ok(()));
        assert_eq!(port.error(), None);
        assert_eq!(stats.receive_errors, u64::from(3 * FAILURES_MIN));
    }
}
