//! Sockets and addresses: where to listen, which address to advertise, and how seed addresses are resolved.

use crate::error::{ResolveError, StartError};
use core::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use core::time::Duration;
use socket2::{Domain, Protocol, Socket, Type};
use std::io;
use tokio::net::UdpSocket;

/// The port that nodes listen on by default.
pub const DEFAULT_PORT: u16 = 7717;

/// The size of the receive buffer, for bursts while the task waits for a processor. The system may grant less.
const RECEIVE_BUFFER: usize = 1 << 20;

/// How long the resolution of a name may take.
const LOOKUP_PATIENCE: Duration = Duration::from_secs(5);

/// A seed address, as it was given and as it was resolved.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Seed {
    pub(crate) text: String,
    pub(crate) addr: SocketAddr,
}

/// Opens the socket. This needs a Tokio runtime.
pub(crate) fn listen(addr: SocketAddr) -> Result<(UdpSocket, SocketAddr), StartError> {
    let open = || {
        let socket = Socket::new(Domain::for_address(addr), Type::DGRAM, Some(Protocol::UDP))?;
        if addr.is_ipv6() {
            // A node uses one address family: with mapped addresses one sender would look like two.
            socket.set_only_v6(true)?;
        }
        // A smaller buffer works too, but loses more datagrams under load.
        let _ = socket.set_recv_buffer_size(RECEIVE_BUFFER);
        socket.set_nonblocking(true)?;
        socket.bind(&addr.into())?;
        let socket = UdpSocket::from_std(socket.into())?;
        let bound = socket.local_addr()?;
        Ok((socket, bound))
    };
    open().map_err(|source: io::Error| match source.kind() {
        io::ErrorKind::AddrInUse => StartError::PortOccupied { addr },
        _ => StartError::Bind { addr, source },
    })
}

/// The address of this machine on the interface `name`: its IPv4 address or, if there is none, an IPv6 address that is
/// valid beyond its link. Linux only.
///
/// This asks the system for the source address that it would use on that interface. Nothing is sent.
#[cfg(target_os = "linux")]
pub fn interface_ip(name: &str) -> io::Result<IpAddr> {
    // For any other target the system would choose a source address of another interface.
    if name == "lo" {
        return Ok(Ipv4Addr::LOCALHOST.into());
    }
    let source_on = |target: SocketAddr| {
        let socket = Socket::new(
            Domain::for_address(target),
            Type::DGRAM,
            Some(Protocol::UDP),
        )?;
        socket.bind_device(Some(name.as_bytes()))?;
        socket.connect(&target.into())?;
        let from = socket.local_addr()?.as_socket().map(|addr| addr.ip());
        let good = from.filter(|ip| !ip.is_unspecified());
        good.ok_or_else(|| io::Error::other("the interface has no address"))
    };
    let v4 = source_on(SocketAddr::new(ANYWHERE_V4.into(), 9));
    match v4 {
        Err(error) if error.raw_os_error().is_none() || is_no_route(&error) => {
            source_on(SocketAddr::new(ANYWHERE_V6.into(), 9)).map_err(|_| error)
        }
        found => found,
    }
}

/// The address of this machine on the interface `name`. Linux only.
#[cfg(not(target_os = "linux"))]
pub fn interface_ip(_: &str) -> io::Result<IpAddr> {
    Err(io::ErrorKind::Unsupported.into())
}

#[cfg(target_os = "linux")]
fn is_no_route(error: &io::Error) -> bool {
    use io::ErrorKind::{AddrNotAvailable, HostUnreachable, NetworkDown, NetworkUnreachable};
    let kinds = [
        AddrNotAvailable,
        HostUnreachable,
        NetworkDown,
        NetworkUnreachable,
    ];
    kinds.contains(&error.kind())
}

/// Addresses that are reserved for documentation: they are routed like any other, but nobody owns them.
const ANYWHERE_V4: Ipv4Addr = Ipv4Addr::new(192, 0, 2, 1);
const ANYWHERE_V6: Ipv6Addr = Ipv6Addr::new(0x2001, 0xdb8, 0, 0, 0, 0, 0, 1);

/// The address that is advertised to other nodes: the requested one, otherwise the bound one, otherwise the source
/// address that this machine would use towards `seed`. Nothing is sent.
pub(crate) fn advertised(
    asked: Option<SocketAddr>,
    bound: SocketAddr,
    seed: Option<SocketAddr>,
) -> Result<SocketAddr, StartError> {
    if let Some(addr) = asked {
        let port = if addr.port() == 0 {
            bound.port()
        } else {
            addr.port()
        };
        let ip = addr.ip();
        if ip.is_unspecified() || ip.is_multicast() || ip.is_ipv4() != bound.is_ipv4() {
            return Err(StartError::Advertise { addr });
        }
        return Ok(SocketAddr::new(ip, port));
    }
    if !bound.ip().is_unspecified() {
        return Ok(bound);
    }
    let source_towards = |target: SocketAddr| {
        let any = match target {
            SocketAddr::V4(_) => IpAddr::from(Ipv4Addr::UNSPECIFIED),
            SocketAddr::V6(_) => IpAddr::from(Ipv6Addr::UNSPECIFIED),
        };
        let socket = std::net::UdpSocket::bind((any, 0))?;
        socket.connect(target)?;
        let ip = socket.local_addr()?.ip();
        if ip.is_unspecified() {
            return Err(io::Error::other("no route to other machines"));
        }
        Ok(SocketAddr::new(ip, bound.port()))
    };
    let anywhere: IpAddr = match bound.is_ipv4() {
        true => ANYWHERE_V4.into(),
        false => ANYWHERE_V6.into(),
    };
    let towards_seed = seed.and_then(|seed| source_towards(seed).ok());
    match towards_seed {
        Some(addr) => Ok(addr),
        None => source_towards(SocketAddr::new(anywhere, 9))
            .map_err(|source| StartError::NoAddress { source }),
    }
}

/// Resolves a seed given as `host:port`, `host` or an address. The result has the address family of `like`.
pub(crate) async fn resolve(seed: &str, like: SocketAddr) -> Result<Seed, ResolveError> {
    let text = seed.trim();
    let syntax = || ResolveError::Syntax { seed: seed.into() };
    let found = match text.parse::<SocketAddr>() {
        Ok(addr) => vec![addr],
        Err(_) => match text.parse::<IpAddr>() {
            Ok(ip) => vec![SocketAddr::new(ip, DEFAULT_PORT)],
            Err(_) => {
                let (host, port) = match text.rsplit_once(':') {
                    Some((host, port)) => (host, port.parse().map_err(|_| syntax())?),
                    None => (text, DEFAULT_PORT),
                };
                if host.is_empty() || host.contains([':', ' ', '/', '[', ']']) {
                    return Err(syntax());
                }
                look_up(seed, host, port).await?
            }
        },
    };
    let family = if like.is_ipv4() { "IPv4" } else { "IPv6" };
    let addr = found
        .into_iter()
        .find(|a| a.is_ipv4() == like.is_ipv4())
        .ok_or_else(|| ResolveError::Family {
            seed: seed.into(),
            family,
        })?;
    if addr.port() == 0 || addr.ip().is_unspecified() {
        return Err(syntax());
    }
    let text = text.to_owned();
    Ok(Seed { text, addr })
}

async fn look_up(seed: &str, host: &str, port: u16) -> Result<Vec<SocketAddr>, ResolveError> {
    let looked_up = tokio::time::timeout(LOOKUP_PATIENCE, tokio::net::lookup_host((host, port)));
    let found = match looked_up.await {
        Ok(Ok(found)) => Ok(found.collect()),
        Ok(Err(source)) => Err(source),
        Err(_) => Err(io::Error::from(io::ErrorKind::TimedOut)),
    };
    found.map_err(|source| ResolveError::Lookup {
        seed: seed.into(),
        source,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[cfg(target_os = "linux")]
    #[test]
    fn an_interface_has_the_address_from_which_the_system_sends_on_it() {
        assert_eq!(
            interface_ip("lo").unwrap(),
            IpAddr::from(Ipv4Addr::LOCALHOST)
        );
        assert!(interface_ip("no-such-iface").is_err());
    }

    fn at(text: &str) -> SocketAddr {
        text.parse().unwrap()
    }

    #[test]
    fn what_others_are_told() {
        let bound = at("127.0.0.1:4000");
        assert_eq!(advertised(None, bound, None).unwrap(), bound);
        let asked = advertised(Some(at("10.1.2.3:0")), at("0.0.0.0:4000"), None);
        assert_eq!(asked.unwrap(), at("10.1.2.3:4000"));
        for bad in ["0.0.0.0:1", "224.0.0.1:1", "[::1]:1"] {
            let refused = advertised(Some(at(bad)), bound, None);
            assert!(matches!(refused, Err(StartError::Advertise { .. })));
        }
        let near_seed = advertised(None, at("0.0.0.0:4000"), Some(at("127.0.0.1:9")));
        assert_eq!(near_seed.unwrap(), at("127.0.0.1:4000"));
    }

    #[tokio::test]
    async fn seeds_may_leave_out_the_port_and_mistakes_are_named() {
        let v4 = at("127.0.0.1:1");
        let found = resolve("10.0.0.5", v4).await.unwrap();
        assert_eq!(found.addr, at("10.0.0.5:7717"));
        let found = resolve(" 10.0.0.5:99 ", v4).await.unwrap();
        assert_eq!(
            (found.addr, &*found.text),
            (at("10.0.0.5:99"), "10.0.0.5:99")
        );
        for bad in [
            "",
            ":7717",
            "host:port",
            "http://x",
            "10.0.0.5:0",
            "0.0.0.0:7",
            "[::1:5",
        ] {
            let error = resolve(bad, v4).await.unwrap_err();
            assert!(
                matches!(error, ResolveError::Syntax { .. }),
                "{bad}: {error}"
            );
        }
        let error = resolve("[::1]:5", v4).await.unwrap_err();
        assert!(error.to_string().contains("IPv4"), "{error}");
    }
}
