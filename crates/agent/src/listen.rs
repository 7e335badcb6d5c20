//! The addresses of the HTTP interface: loopback TCP or a Unix socket.

use consort_client::HttpAddr;
use socket2::{Domain, SockAddr, Socket, Type};
use std::io;
use std::os::unix::fs::{FileTypeExt, PermissionsExt};
use std::path::{Path, PathBuf};
use tokio::net::{TcpListener, UnixListener};

/// The number of connections that may wait to be accepted at a Unix socket.
const BACKLOG: i32 = 128;

/// Why the HTTP interface cannot listen.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ListenError {
    /// Stop the other process, or choose another address.
    #[error(
        "cannot serve HTTP on {addr}: another process listens there; stop it or choose another \
         address with http (port 0 lets the system choose)"
    )]
    Occupied {
        /// The address to listen on.
        addr: HttpAddr,
    },
    /// Move the file away, or choose another path.
    #[error("cannot serve HTTP on {addr}: there is a file that is no socket; choose another path")]
    NotASocket {
        /// The address to listen on.
        addr: HttpAddr,
    },
    /// Choose an address of this machine or a path this user may write to.
    #[error("cannot serve HTTP on {addr}: {source}; choose another address with http")]
    Io {
        /// The address to listen on.
        addr: HttpAddr,
        /// The error of the system.
        source: io::Error,
    },
}

/// An open listener.
pub(crate) enum Listener {
    Tcp(TcpListener),
    Unix {
        listener: UnixListener,
        /// Removes the socket file together with the listener.
        _file: SocketFile,
    },
}

/// Removes the socket file when it is dropped.
#[derive(Debug)]
pub(crate) struct SocketFile(PathBuf);

impl Drop for SocketFile {
    fn drop(&mut self) {
        // The file may already have been removed.
        let _ = std::fs::remove_file(&self.0);
    }
}

/// Opens `addr`. Returns the listener and the address with its actual port.
pub(crate) async fn listen(addr: &HttpAddr) -> Result<(Listener, HttpAddr), ListenError> {
    let opened = match addr {
        HttpAddr::Tcp(tcp) => match TcpListener::bind(tcp).await {
            Ok(listener) => listener
                .local_addr()
                .map(|bound| (Listener::Tcp(listener), HttpAddr::Tcp(bound))),
            Err(e) => Err(e),
        },
        // `api.tls_cert` makes an address one with TLS; the settings refuse this form.
        HttpAddr::Tls { .. } => Err(io::ErrorKind::Unsupported.into()),
        HttpAddr::Unix(path) => {
            clear_stale(path, addr)?;
            open_unix(path).map(|listener| (listener, addr.clone()))
        }
    };
    opened.map_err(|source| match source.kind() {
        io::ErrorKind::AddrInUse => ListenError::Occupied { addr: addr.clone() },
        _ => ListenError::Io {
            addr: addr.clone(),
            source,
        },
    })
}

fn open_unix(path: &Path) -> io::Result<Listener> {
    let socket = Socket::new(Domain::UNIX, Type::STREAM, None)?;
    socket.bind(&SockAddr::unix(path)?)?;
    let file = SocketFile(path.to_owned());
    // The permissions are set before the socket listens, so that nobody else connects in between.
    std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o600))?;
    socket.listen(BACKLOG)?;
    socket.set_nonblocking(true)?;
    let listener = UnixListener::from_std(std::os::unix::net::UnixListener::from(
        std::os::fd::OwnedFd::from(socket),
    ))?;
    Ok(Listener::Unix {
        listener,
        _file: file,
    })
}

/// Removes the socket file of an agent that is gone, that is, a socket without a listener.
fn clear_stale(path: &Path, addr: &HttpAddr) -> Result<(), ListenError> {
    let addr = addr.clone();
    let found = match std::fs::symlink_metadata(path) {
        Ok(found) => found,
        Err(e) if e.kind() == io::ErrorKind::NotFound => return Ok(()),
        Err(source) => return Err(ListenError::Io { addr, source }),
    };
    if !found.file_type().is_socket() {
        return Err(ListenError::NotASocket { addr });
    }
    match std::os::unix::net::UnixStream::connect(path) {
        Err(e) if e.kind() == io::ErrorKind::ConnectionRefused => {
            std::fs::remove_file(path).map_err(|source| ListenError::Io { addr, source })
        }
        // An agent listens there, or it cannot be asked; do not remove the file.
        _ => Err(ListenError::Occupied { addr }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn only_a_socket_that_nobody_listens_at_is_replaced() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("s");
        let addr = HttpAddr::Unix(path.clone());
        let first = listen(&addr).await.unwrap();
        let occupied = listen(&addr).await;
        assert!(matches!(occupied, Err(ListenError::Occupied { .. })));
        drop(first);
        assert!(!path.exists(), "removed at exit");

        // A process that was killed leaves the file behind.
        drop(std::os::unix::net::UnixListener::bind(&path).unwrap());
        assert!(path.exists());
        drop(listen(&addr).await.unwrap());

        std::fs::write(&path, "precious").unwrap();
        let refused = listen(&addr).await;
        assert!(matches!(refused, Err(ListenError::NotASocket { .. })));
        assert_eq!(std::fs::read(&path).unwrap(), b"precious");
    }
}
