//! The addresses of the HTTP interface: loopback TCP or a Unix socket.

use core::fmt;
use core::net::{Ipv4Addr, SocketAddr};
use core::str::FromStr;
use socket2::{Domain, SockAddr, Socket, Type};
use std::io;
use std::os::unix::fs::{FileTypeExt, PermissionsExt};
use std::path::{Path, PathBuf};
use tokio::net::{TcpListener, UnixListener};

/// The default TCP port of the HTTP interface.
pub const DEFAULT_HTTP_PORT: u16 = 7718;

/// The number of connections that may wait to be accepted at a Unix socket.
const BACKLOG: i32 = 128;

/// An address of the HTTP interface: `127.0.0.1:7718` or `unix:/run/consort.sock`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum HttpAddr {
    /// A TCP address. Addresses other than loopback require tokens.
    Tcp(SocketAddr),
    /// A Unix socket that only this user can access.
    Unix(PathBuf),
}

impl HttpAddr {
    /// Whether only processes on this machine can reach it.
    pub fn is_local(&self) -> bool {
        match self {
            HttpAddr::Tcp(addr) => addr.ip().to_canonical().is_loopback(),
            HttpAddr::Unix(_) => true,
        }
    }
}

impl Default for HttpAddr {
    fn default() -> Self {
        HttpAddr::Tcp((Ipv4Addr::LOCALHOST, DEFAULT_HTTP_PORT).into())
    }
}

impl fmt::Display for HttpAddr {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            HttpAddr::Tcp(addr) => addr.fmt(f),
            HttpAddr::Unix(path) => write!(f, "unix:{}", path.display()),
        }
    }
}

/// The error for a text that is not of the form `IP:PORT` or `unix:PATH`.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is no address for HTTP; write IP:PORT, as in 127.0.0.1:7718, or unix:PATH")]
pub struct HttpAddrError(String);

impl FromStr for HttpAddr {
    type Err = HttpAddrError;

    fn from_str(text: &str) -> Result<Self, HttpAddrError> {
        let error = || HttpAddrError(text.to_owned());
        if let Some(path) = text.strip_prefix("unix:") {
            return match path.is_empty() {
                true => Err(error()),
                false => Ok(HttpAddr::Unix(path.into())),
            };
        }
        let text = text.strip_prefix("http://").unwrap_or(text);
        let text = text.strip_suffix('/').unwrap_or(text);
        let tcp = match text.strip_prefix("localhost:") {
            Some(port) => format!("127.0.0.1:{port}").parse(),
            None => text.parse(),
        };
        tcp.map(HttpAddr::Tcp).map_err(|_| error())
    }
}

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

    #[test]
    fn addresses_read_back_what_they_print() {
        for text in ["127.0.0.1:7718", "[::1]:80", "unix:/run/consort.sock"] {
            let addr: HttpAddr = text.parse().unwrap();
            assert_eq!(addr.to_string(), text);
        }
        let lenient: HttpAddr = "http://localhost:7718/".parse().unwrap();
        assert_eq!(lenient, HttpAddr::default());
        for bad in ["", "unix:", "7718", "example.com:80", "127.0.0.1"] {
            assert!(bad.parse::<HttpAddr>().is_err(), "{bad}");
        }
    }

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
