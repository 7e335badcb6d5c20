//! Reports the state of the agent to systemd: `Type=notify` and `WatchdogSec=` in a unit.
//!
//! Nothing is sent if the program was not started by a supervisor that listens (`NOTIFY_SOCKET`).

use consort::Node;
use core::time::Duration;
use std::ffi::OsString;
use std::io;
use std::os::unix::net::UnixDatagram;

/// The socket of the supervisor, and how often it expects a message.
#[derive(Debug, Default)]
pub(crate) struct Notify {
    socket: Option<OsString>,
    watchdog: Option<Duration>,
}

impl Notify {
    /// Reads the settings of the supervisor from the environment.
    pub(crate) fn from_env() -> Notify {
        let text = |key| std::env::var(key).ok();
        let mine = text("WATCHDOG_PID").is_none_or(|pid| pid == std::process::id().to_string());
        let period = text("WATCHDOG_USEC").and_then(|us| us.parse().ok());
        let period = period.filter(|&us| mine && us > 0);
        Notify {
            socket: std::env::var_os("NOTIFY_SOCKET").filter(|path| !path.is_empty()),
            watchdog: period.map(Duration::from_micros),
        }
    }

    /// Reports that the agent is ready; `systemctl status` shows `status`.
    pub(crate) fn ready(&self, status: &str) {
        self.tell(&format!("READY=1\nSTATUS={status}\n"));
    }

    /// Reports that the agent is stopping.
    pub(crate) fn stopping(&self) {
        self.tell("STOPPING=1\n");
    }

    /// Notifies the watchdog twice within its time, for as long as the node answers. If the node no longer answers in
    /// that time, the supervisor restarts the agent.
    pub(crate) async fn keep_alive(&self, node: &Node) {
        let Some(period) = self.watchdog else {
            return core::future::pending().await;
        };
        loop {
            if let Ok(answer) = tokio::time::timeout(period / 4, node.this()).await {
                if answer.is_err() {
                    return core::future::pending().await;
                }
                self.tell("WATCHDOG=1\n");
            }
            tokio::time::sleep(period / 4).await;
        }
    }

    fn tell(&self, words: &str) {
        if let Some(socket) = &self.socket
            && let Err(error) = send(socket, words)
        {
            tracing::warn!(
                "the supervisor cannot be told ({error}): {}",
                words.trim_end()
            );
        }
    }
}

fn send(socket: &OsString, words: &str) -> io::Result<()> {
    let sender = UnixDatagram::unbound()?;
    // A supervisor that does not read must not block the agent.
    sender.set_nonblocking(true)?;
    #[cfg(target_os = "linux")]
    if let Some(name) = socket.as_encoded_bytes().strip_prefix(b"@") {
        use std::os::linux::net::SocketAddrExt;
        let addr = std::os::unix::net::SocketAddr::from_abstract_name(name)?;
        return sender.send_to_addr(words.as_bytes(), &addr).map(drop);
    }
    sender.send_to(words.as_bytes(), socket).map(drop)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_supervisor_is_told_and_one_that_is_gone_does_no_harm() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("notify");
        let supervisor = UnixDatagram::bind(&path).unwrap();
        let notify = Notify {
            socket: Some(path.clone().into()),
            watchdog: None,
        };
        notify.ready("attic at 10.0.0.7:7717");
        let mut told = [0; 256];
        let len = supervisor.recv(&mut told).unwrap();
        assert_eq!(&told[..len], b"READY=1\nSTATUS=attic at 10.0.0.7:7717\n");
        drop(supervisor);
        notify.stopping();
        Notify::default().ready("nobody listens");
    }
}
