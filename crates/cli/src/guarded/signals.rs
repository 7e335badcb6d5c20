//! Signals that ask a program to end.

use core::future::poll_fn;
use core::task::Poll;
use tokio::signal::unix::{Signal, SignalKind, signal};

/// The signals that people and supervisors send to end a program and that end it by default: HUP, INT, QUIT, USR1, USR2
/// and TERM. For a program that runs a command they all mean: stop the command, release the lock or leadership it ran
/// under, and end.
pub(crate) struct Signals(Vec<Signal>);

impl Signals {
    /// Listens from now on. A signal that the parent set to be ignored, as `nohup` does, stays ignored.
    pub(crate) fn listen() -> anyhow::Result<Signals> {
        let ignored = ignored();
        let kinds = [
            SignalKind::hangup(),
            SignalKind::interrupt(),
            SignalKind::quit(),
            SignalKind::user_defined1(),
            SignalKind::user_defined2(),
            SignalKind::terminate(),
        ];
        let heeded = kinds.into_iter().filter(|kind| {
            let bit = kind.as_raw_value() - 1;
            ignored >> bit & 1 == 0
        });
        let listening = heeded.map(signal).collect::<Result<_, _>>()?;
        Ok(Signals(listening))
    }

    /// Waits for one of them. This is cancel safe: dropping the future loses nothing.
    pub(crate) async fn next(&mut self) {
        poll_fn(|cx| {
            let came = |signal: &mut Signal| signal.poll_recv(cx).is_ready();
            match self.0.iter_mut().any(came) {
                true => Poll::Ready(()),
                false => Poll::Pending,
            }
        })
        .await;
    }
}

/// The signals that this process ignores, one bit each from signal 1 on; none if the system does not tell.
fn ignored() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let mask = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    mask.and_then(|m| u64::from_str_radix(m.trim(), 16).ok())
        .unwrap_or_default()
}
