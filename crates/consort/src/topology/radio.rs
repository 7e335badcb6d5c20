//! Broadcasts to all nodes on a link, and to named peers.
//!
//! A broadcast is sent from the socket that the node listens on, so answers to its source arrive. Another socket
//! receives the multicast group, whose port is the same at all nodes and is shared by all nodes of a host.
//!
//! A datagram that came through a router is not from a neighbour. On IPv6 the multicast address is link-local, and on
//! both families broadcasts are sent with a hop limit of 255, which every router lowers. On Linux the system drops
//! datagrams with another hop limit (RFC 5082); elsewhere the scope of the addresses has to suffice.

use super::interfaces::{self, Interface};
use super::{Interfaces, Topology};
use consort_proto::hash_bytes;
use core::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, SocketAddrV6};
use core::time::Duration;
use socket2::{Domain, Protocol, SockRef, Socket, Type};
use std::io;
use tokio::net::UdpSocket;
use tokio::time::Instant;

/// The interval between two checks for new or missing interfaces.
const LOOK_EVERY: Duration = Duration::from_secs(3);

/// The hop limit of broadcasts: the greatest one, so that it shows whether a router was on the way.
const HOPS: u32 = 255;

/// The means by which a node reaches its neighbours.
#[derive(Debug)]
pub(crate) struct Radio {
    group: IpAddr,
    port: u16,
    wanted: Interfaces,
    /// Receives the multicast group.
    socket: Option<UdpSocket>,
    joined: Vec<Interface>,
    peers: Vec<SocketAddr>,
    look_at: Instant,
    /// The problems found at the last check.
    troubles: Vec<String>,
    /// The number of failures to use an interface, including repeated ones.
    pub(crate) errors: u64,
}

/// One destination of a broadcast.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Target {
    pub(crate) addr: SocketAddr,
    /// The interface to send on; `None` if the address determines it.
    index: Option<u32>,
}

impl Radio {
    /// Opens the meeting point of the nodes of the group `name`, for a node that listens on `main`. What does not work
    /// yet is tried again later.
    pub(crate) fn open(
        topology: &Topology,
        peers: Vec<SocketAddr>,
        name: &str,
        main: &UdpSocket,
    ) -> io::Result<Radio> {
        let v6 = main.local_addr()?.is_ipv6();
        let options = SockRef::from(main);
        // Several nodes of one host have to hear each other.
        if v6 {
            options.set_multicast_hops_v6(HOPS)?;
            options.set_multicast_loop_v6(true)?;
        } else {
            options.set_multicast_ttl_v4(HOPS)?;
            options.set_multicast_loop_v4(true)?;
        }
        let mut radio = Radio {
            group: group(name, v6),
            port: topology.port,
            wanted: topology.interfaces.clone(),
            socket: None,
            joined: Vec::new(),
            peers,
            look_at: Instant::now(),
            troubles: Vec::new(),
            errors: 0,
        };
        radio.tend(main);
        Ok(radio)
    }

    /// The time of the next check of interfaces.
    pub(crate) fn look_at(&self) -> Instant {
        self.look_at
    }

    /// The names of the interfaces in use.
    pub(crate) fn interfaces(&self) -> impl Iterator<Item = &str> {
        self.joined.iter().map(|i| i.name.as_str())
    }

    pub(crate) fn peers(&self) -> &[SocketAddr] {
        &self.peers
    }

    /// Checks which interfaces exist: joins the multicast group on new ones, and forgets those that are gone.
    pub(crate) fn tend(&mut self, main: &UdpSocket) {
        self.look_at = Instant::now() + LOOK_EVERY;
        if matches!(&self.wanted, Interfaces::Named(names) if names.is_empty()) {
            return;
        }
        let mut troubles = Vec::new();
        if self.socket.is_none() {
            match self.listen() {
                Ok(socket) => self.socket = Some(socket),
                Err(error) => {
                    let at = SocketAddr::new(self.group, self.port);
                    troubles.push(format!("broadcasts to {at} cannot be heard: {error}"));
                }
            }
        }
        let (found, missing) = interfaces::find(&self.wanted, main, self.group.is_ipv6());
        troubles.extend(
            missing
                .iter()
                .map(|(name, error)| format!("{name}: {error}")),
        );
        let joined = core::mem::take(&mut self.joined);
        for gone in joined.iter().filter(|i| !found.contains(i)) {
            // The system may already have left the group.
            let _ = self.join(gone.index, false);
        }
        for interface in found {
            if !joined.contains(&interface)
                && let Err(error) = self.join(interface.index, true)
            {
                troubles.push(format!("{}: {error}", interface.name));
                continue;
            }
            self.joined.push(interface);
        }
        self.errors += troubles.len() as u64;
        if self.troubles != troubles {
            for trouble in &troubles {
                tracing::warn!("no neighbours by way of {trouble}; still trying");
            }
            self.troubles = troubles;
        }
    }

    /// Opens the socket that receives the multicast group.
    fn listen(&self) -> io::Result<UdpSocket> {
        let v6 = self.group.is_ipv6();
        let domain = if v6 { Domain::IPV6 } else { Domain::IPV4 };
        let socket = Socket::new(domain, Type::DGRAM, Some(Protocol::UDP))?;
        if v6 {
            socket.set_only_v6(true)?;
        }
        socket.set_reuse_address(true)?;
        #[cfg(all(unix, not(any(target_os = "linux", target_os = "solaris"))))]
        socket.set_reuse_port(true)?;
        restrict(&socket, v6);
        socket.set_nonblocking(true)?;
        // A link-local address cannot be bound to without naming a link.
        let addr: IpAddr = match self.group {
            IpAddr::V6(_) => Ipv6Addr::UNSPECIFIED.into(),
            IpAddr::V4(_) if cfg!(windows) => Ipv4Addr::UNSPECIFIED.into(),
            group => group,
        };
        socket.bind(&SocketAddr::new(addr, self.port).into())?;
        UdpSocket::from_std(socket.into())
    }

    /// Joins or leaves the multicast group on an interface.
    fn join(&self, index: u32, enter: bool) -> io::Result<()> {
        let Some(socket) = &self.socket else {
            return Err(io::ErrorKind::NotConnected.into());
        };
        let socket = SockRef::from(socket);
        let interface = socket2::InterfaceIndexOrAddress::Index(index);
        match (self.group, enter) {
            (IpAddr::V4(group), true) => socket.join_multicast_v4_n(&group, &interface),
            (IpAddr::V4(group), false) => socket.leave_multicast_v4_n(&group, &interface),
            (IpAddr::V6(group), true) => socket.join_multicast_v6(&group, index),
            (IpAddr::V6(group), false) => socket.leave_multicast_v6(&group, index),
        }
    }

    /// All destinations of a broadcast.
    pub(crate) fn targets(&self) -> Vec<Target> {
        let peers = self.peers.iter().map(|&addr| Target { addr, index: None });
        let links = self.joined.iter().map(|i| self.target(i.index));
        peers.chain(links).collect()
    }

    fn target(&self, index: u32) -> Target {
        match self.group {
            IpAddr::V4(group) => Target {
                addr: SocketAddr::new(group.into(), self.port),
                index: Some(index),
            },
            IpAddr::V6(group) => Target {
                addr: SocketAddrV6::new(group, self.port, 0, index).into(),
                index: None,
            },
        }
    }

    /// An address of this machine on one of its interfaces that nodes on other interfaces can use too.
    pub(crate) fn own_ip(&self) -> Option<IpAddr> {
        if self.group.is_ipv6() {
            return interfaces::routed_v6(&self.wanted).map(IpAddr::V6);
        }
        let target = self.target(self.joined.first()?.index);
        // Nothing is sent.
        let socket = std::net::UdpSocket::bind((Ipv4Addr::UNSPECIFIED, 0)).ok()?;
        target.aim(&socket).ok()?;
        socket.connect(target.addr).ok()?;
        let ip = socket.local_addr().ok()?.ip();
        (!ip.is_unspecified()).then_some(ip)
    }

    /// Waits until a broadcast arrives; never returns if none can be received.
    pub(crate) async fn readable(&self) {
        match &self.socket {
            // Errors show up when the socket is read.
            Some(socket) => drop(socket.readable().await),
            None => core::future::pending().await,
        }
    }

    /// Reads a broadcast.
    pub(crate) fn try_recv_from(&self, bytes: &mut [u8]) -> io::Result<(usize, SocketAddr)> {
        match &self.socket {
            Some(socket) => socket.try_recv_from(bytes),
            None => Err(io::ErrorKind::WouldBlock.into()),
        }
    }
}

impl Target {
    /// Makes the next broadcast through `socket` leave on the right interface.
    #[cfg(target_os = "linux")]
    pub(crate) fn aim(&self, socket: &impl std::os::fd::AsFd) -> io::Result<()> {
        let (Some(index), IpAddr::V4(group)) = (self.index, self.addr.ip()) else {
            return Ok(());
        };
        let any = Ipv4Addr::UNSPECIFIED;
        rustix::net::sockopt::set_ip_multicast_if_with_ifindex(socket, &group, &any, index)?;
        Ok(())
    }

    /// The system chooses the interface.
    #[cfg(not(target_os = "linux"))]
    pub(crate) fn aim<S>(&self, _: &S) -> io::Result<()> {
        Ok(())
    }
}

/// The multicast address of the group `name`: link-local (and transient) on IPv6, and of organisation scope on IPv4.
fn group(name: &str, v6: bool) -> IpAddr {
    let [a, b, c, d, e, f, g, h] = hash_bytes(name.as_bytes()).to_be_bytes();
    let pair = |high: u8, low: u8| u16::from_be_bytes([high, low]);
    match v6 {
        false => Ipv4Addr::new(239, 255, g, h).into(),
        true => {
            let low = [pair(a, b), pair(c, d), pair(e, f), pair(g, h)];
            Ipv6Addr::new(0xff12, 0, 0, 0, low[0], low[1], low[2], low[3]).into()
        }
    }
}

/// Makes the system drop datagrams that came through a router or arrived on interfaces that were not joined. If the
/// system cannot do this, a warning is logged.
#[cfg(target_os = "linux")]
fn restrict(socket: &Socket, v6: bool) {
    use socket2::SockFilter;
    // Instructions of the system's packet filter: load a byte, compare, return.
    const LOAD_BYTE: u16 = 0x30;
    const IF_EQUAL: u16 = 0x15;
    const RETURN: u16 = 0x06;
    /// The base for offsets from the start of the network header.
    const NETWORK_HEADER: u32 = 0xfff0_0000;
    let hop_limit = NETWORK_HEADER + if v6 { 7 } else { 8 };
    let program = [
        SockFilter::new(LOAD_BYTE, 0, 0, hop_limit),
        SockFilter::new(IF_EQUAL, 0, 1, HOPS),
        SockFilter::new(RETURN, 0, 0, u32::MAX),
        SockFilter::new(RETURN, 0, 0, 0),
    ];
    let elsewhere = match v6 {
        true => socket.set_multicast_all_v6(false),
        false => socket.set_multicast_all_v4(false),
    };
    if let Err(error) = socket.attach_filter(&program).and(elsewhere) {
        tracing::warn!(%error, "broadcasts from beyond a router cannot be told apart");
    }
}

#[cfg(not(target_os = "linux"))]
fn restrict(_: &Socket, _: bool) {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_group_has_an_address_of_its_own_that_stays_on_the_link() {
        let IpAddr::V6(yard) = group("yard", true) else {
            panic!("IPv6");
        };
        assert_eq!(yard.segments()[..4], [0xff12, 0, 0, 0]);
        assert_ne!(group("yard", true), group("barn", true));
        let IpAddr::V4(yard) = group("yard", false) else {
            panic!("IPv4");
        };
        assert_eq!(yard.octets()[..2], [239, 255]);
        assert_ne!(group("yard", false), group("barn", false));
    }

    /// Loopback, under a port of its own; `None` where the system has no multicast there.
    #[cfg(target_os = "linux")]
    async fn on_loopback(port: u16) -> Option<(UdpSocket, Radio)> {
        let main = UdpSocket::bind("127.0.0.1:0").await.unwrap();
        let topology = Topology::new().interface("lo").port(port);
        let radio = Radio::open(&topology, Vec::new(), "radio-test", &main).unwrap();
        if radio.troubles.is_empty() {
            return Some((main, radio));
        }
        eprintln!("SKIPPED, no multicast on loopback: {:?}", radio.troubles);
        None
    }

    #[cfg(target_os = "linux")]
    #[tokio::test]
    async fn what_a_router_passed_on_is_not_heard() {
        let Some((main, radio)) = on_loopback(47_719).await else {
            return;
        };
        let [target] = radio.targets()[..] else {
            panic!("one interface: {:?}", radio.targets());
        };
        target.aim(&main).unwrap();
        // As if one router had been on the way, then as it is sent.
        SockRef::from(&main).set_multicast_ttl_v4(254).unwrap();
        main.send_to(b"routed", target.addr).await.unwrap();
        SockRef::from(&main).set_multicast_ttl_v4(255).unwrap();
        main.send_to(b"near", target.addr).await.unwrap();
        let mut bytes = [0; 16];
        let (len, from) = loop {
            tokio::time::timeout(Duration::from_secs(10), radio.readable())
                .await
                .expect("a broadcast on loopback is heard");
            match radio.try_recv_from(&mut bytes) {
                Ok(read) => break read,
                Err(e) => assert_eq!(e.kind(), io::ErrorKind::WouldBlock),
            }
        };
        assert_eq!(&bytes[..len], b"near");
        assert_eq!(from, main.local_addr().unwrap(), "answers go to the node");
    }

    #[cfg(target_os = "linux")]
    #[tokio::test]
    async fn interfaces_that_are_not_there_are_counted_and_looked_for_again() {
        let main = UdpSocket::bind("127.0.0.1:0").await.unwrap();
        let topology = Topology::new().interface("nowhere7").port(47_720);
        let mut radio = Radio::open(&topology, Vec::new(), "radio-test", &main).unwrap();
        assert_eq!((radio.errors, radio.targets().len()), (1, 0));
        radio.tend(&main);
        assert_eq!(radio.errors, 2);
        assert!(radio.look_at() > Instant::now());
        // It comes.
        radio.wanted = Interfaces::Named(vec!["lo".into()]);
        radio.tend(&main);
        assert!(radio.troubles.is_empty() || radio.errors == 3);
        if radio.troubles.is_empty() {
            assert_eq!(radio.interfaces().collect::<Vec<_>>(), ["lo"]);
            // And goes.
            radio.wanted = Interfaces::Named(vec!["nowhere7".into()]);
            radio.tend(&main);
            assert_eq!(radio.targets(), []);
        }
    }
}
