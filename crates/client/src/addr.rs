//! The addresses of the HTTP interface: TCP, TCP with TLS, or a Unix socket.

use core::fmt;
use core::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use core::str::FromStr;
use std::net::UdpSocket;
use std::path::PathBuf;

/// The default TCP port of the HTTP interface.
pub const DEFAULT_HTTP_PORT: u16 = 7718;

/// An address of the HTTP interface: `127.0.0.1:7718`, `https://192.0.2.7:7718` or `unix:/run/consort.sock`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum HttpAddr {
    /// A TCP address. Addresses other than loopback require tokens.
    Tcp(SocketAddr),
    /// A TCP address at which TLS is spoken.
    Tls {
        /// The name or the numeric address that the certificate must have. A name is looked up when a client connects.
        host: String,
        /// The TCP port.
        port: u16,
    },
    /// A Unix socket that only this user can access.
    Unix(PathBuf),
}

impl HttpAddr {
    /// Whether only processes on this machine can reach it.
    pub fn is_local(&self) -> bool {
        match self {
            HttpAddr::Tcp(addr) => addr.ip().to_canonical().is_loopback(),
            HttpAddr::Tls { host, .. } => match host.parse::<IpAddr>() {
                Ok(ip) => ip.to_canonical().is_loopback(),
                Err(_) => host == "localhost",
            },
            HttpAddr::Unix(_) => true,
        }
    }

    /// Whether an agent there is on this machine, so that what it is sent crosses no network.
    pub fn is_here(&self) -> bool {
        match self {
            HttpAddr::Tcp(addr) => self.is_local() || addr.ip().is_unspecified() || is_own(*addr),
            HttpAddr::Tls { .. } | HttpAddr::Unix(_) => self.is_local(),
        }
    }

    /// The address at which programs on the agent's own machine reach it: loopback, where it listens on all addresses.
    #[must_use]
    pub fn from_here(&self) -> HttpAddr {
        let loopback = |ip: IpAddr| match ip {
            IpAddr::V4(ip) if ip.is_unspecified() => Ipv4Addr::LOCALHOST.into(),
            IpAddr::V6(ip) if ip.is_unspecified() => Ipv6Addr::LOCALHOST.into(),
            ip => ip,
        };
        match self {
            HttpAddr::Tcp(addr) => HttpAddr::Tcp((loopback(addr.ip()), addr.port()).into()),
            HttpAddr::Tls { host, port } => HttpAddr::Tls {
                host: match host.parse() {
                    Ok(ip) => loopback(ip).to_string(),
                    Err(_) => host.clone(),
                },
                port: *port,
            },
            HttpAddr::Unix(path) => HttpAddr::Unix(path.clone()),
        }
    }
}

/// Whether an address is one of this machine: the system then sends to it from that same address. Nothing is sent to find
/// out.
fn is_own(addr: SocketAddr) -> bool {
    let any: IpAddr = match addr.is_ipv4() {
        true => Ipv4Addr::UNSPECIFIED.into(),
        false => Ipv6Addr::UNSPECIFIED.into(),
    };
    let from = || {
        let socket = UdpSocket::bind((any, 0))?;
        socket.connect(addr)?;
        socket.local_addr()
    };
    from().is_ok_and(|from| from.ip() == addr.ip())
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
            HttpAddr::Tls { host, port } if host.contains(':') => {
                write!(f, "https://[{host}]:{port}")
            }
            HttpAddr::Tls { host, port } => write!(f, "https://{host}:{port}"),
            HttpAddr::Unix(path) => write!(f, "unix:{}", path.display()),
        }
    }
}

/// The error for a text that is not of the form `IP:PORT`, `https://HOST:PORT` or `unix:PATH`.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "`{0}` is no address for HTTP; write IP:PORT, as in 127.0.0.1:7718, https://HOST:PORT or unix:PATH"
)]
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
        if let Some(place) = text.strip_prefix("https://") {
            return tls(place).ok_or_else(error);
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

/// `HOST:PORT` of an address with TLS, with a slash after it or not.
fn tls(place: &str) -> Option<HttpAddr> {
    let place = place.strip_suffix('/').unwrap_or(place);
    let (host, port) = place.rsplit_once(':')?;
    let port = port.parse().ok()?;
    let inner = host.strip_prefix('[').and_then(|h| h.strip_suffix(']'));
    let good = match inner {
        Some(ip) => ip.parse::<Ipv6Addr>().is_ok(),
        None => {
            let plain = |b: u8| b.is_ascii_alphanumeric() || b == b'-' || b == b'.';
            (1..=253).contains(&host.len()) && host.bytes().all(plain)
        }
    };
    let host = inner.unwrap_or(host).to_owned();
    good.then_some(HttpAddr::Tls { host, port })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_read_back_what_they_print() {
        for text in [
            "127.0.0.1:7718",
            "[::1]:80",
            "unix:/run/consort.sock",
            "https://192.0.2.7:7718",
            "https://[2001:db8::7]:7718",
            "https://gate.example:443",
        ] {
            let addr: HttpAddr = text.parse().unwrap();
            assert_eq!(addr.to_string(), text);
        }
        let lenient: HttpAddr = "http://localhost:7718/".parse().unwrap();
        assert_eq!(lenient, HttpAddr::default());
        let local = [
            "https://localhost:1",
            "https://127.0.0.1:1",
            "https://[::1]:1",
        ];
        assert!(
            local
                .iter()
                .all(|a| a.parse::<HttpAddr>().unwrap().is_local())
        );
        assert!(
            !"https://192.0.2.7:1"
                .parse::<HttpAddr>()
                .unwrap()
                .is_local()
        );
        for bad in [
            "",
            "unix:",
            "7718",
            "example.com:80",
            "127.0.0.1",
            "https://",
            "https://host",
            "https://[host]:1",
            "https://a b:1",
            "https://host:99999",
        ] {
            assert!(bad.parse::<HttpAddr>().is_err(), "{bad}");
        }
    }
    #[test]
    fn what_is_said_to_own_addresses_crosses_no_network() {
        let at = |text: &str| text.parse::<HttpAddr>().unwrap();
        for here in [
            "127.0.0.2:1",
            "0.0.0.0:1",
            "[::]:1",
            "unix:/x",
            "https://[::1]:1",
        ] {
            assert!(at(here).is_here(), "{here}");
        }
        // Addresses for documentation: no machine has one.
        for there in ["192.0.2.7:1", "[2001:db8::7]:1", "https://192.0.2.7:1"] {
            assert!(!at(there).is_here(), "{there}");
        }
        assert!(is_own("127.0.0.1:9".parse().unwrap()));
    }

    #[test]
    fn an_agent_at_all_addresses_is_reached_by_loopback() {
        for (listens, reached) in [
            ("0.0.0.0:7718", "127.0.0.1:7718"),
            ("[::]:7718", "[::1]:7718"),
            ("https://0.0.0.0:7718", "https://127.0.0.1:7718"),
            ("https://[::]:7718", "https://[::1]:7718"),
            ("192.0.2.7:7718", "192.0.2.7:7718"),
            ("https://gate.example:443", "https://gate.example:443"),
            ("unix:/run/consort.sock", "unix:/run/consort.sock"),
        ] {
            let listens: HttpAddr = listens.parse().unwrap();
            assert_eq!(listens.from_here().to_string(), reached);
        }
    }
}
