//! The addresses of the HTTP interface: loopback TCP or a Unix socket.

use core::fmt;
use core::net::{Ipv4Addr, SocketAddr};
use core::str::FromStr;
use std::path::PathBuf;

/// The default TCP port of the HTTP interface.
pub const DEFAULT_HTTP_PORT: u16 = 7718;

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
}
