//! Links other than UDP: what carries datagrams between nodes.
//!
//! A node sends and receives through a [`Transport`]. Without another one it uses a UDP socket. A program can bring its
//! own, for example a serial line or a radio modem, and name it with [`Builder::transport`](crate::Builder::transport).
//! [`Network`] is a transport within one process, for tests and for programs that run several nodes:
//!
//! ```
//! use consort::Node;
//! use consort::transport::Network;
//! use std::net::SocketAddr;
//!
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let network = Network::new();
//! let addr = |n: u8| SocketAddr::from(([10, 0, 0, n], 7717));
//! let a = Node::builder().name("a").transport(network.attach(addr(1))?).start().await?;
//! let mut events = a.subscribe();
//! let b = Node::builder().name("b").transport(network.attach(addr(2))?).join([addr(1)]).start().await?;
//! let first = events.next().await?;
//! assert!(matches!(first, consort::Event::Up { member, .. } if member.id == b.id()));
//! # Ok(())
//! # }
//! ```
//!
//! Members are known by socket addresses on every transport. A link with addresses of its own maps them, for example a
//! modem with 16-bit addresses to `10.0.x.y`.

mod network;

pub use network::{Endpoint, Network};

use core::fmt::Debug;
use core::net::SocketAddr;
use core::task::{Context, Poll};
use std::io;
use tokio::net::UdpSocket;

/// A link that carries datagrams. Like UDP, it may lose, repeat and reorder them, and delivers each whole or not at all.
///
/// Errors other than [`WouldBlock`](io::ErrorKind::WouldBlock) are counted as loss. If they last, the node reports
/// [`port_error`](crate::Node::port_error).
pub trait Transport: Debug + Send + Sync + 'static {
    /// The address at which other nodes reach this one.
    fn local_addr(&self) -> io::Result<SocketAddr>;

    /// Takes a datagram that has arrived. Writes it to `buffer`, and returns its length and the sender's address, to
    /// which answers are sent. `WouldBlock` means that none has arrived.
    fn try_recv_from(&self, buffer: &mut [u8]) -> io::Result<(usize, SocketAddr)>;

    /// Sends a datagram. `WouldBlock` means that there is no room at the moment; the node then waits for up to 20 ms until
    /// [`poll_writable`](Transport::poll_writable) is ready.
    fn try_send_to(&self, bytes: &[u8], to: SocketAddr) -> io::Result<()>;

    /// Whether a datagram has arrived. If not, the task is woken when one does. It may be ready without reason.
    fn poll_readable(&self, cx: &mut Context<'_>) -> Poll<io::Result<()>>;

    /// Whether there is room for sending. If not, the task is woken when there is.
    fn poll_writable(&self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        let _ = cx;
        Poll::Ready(Ok(()))
    }
}

impl Transport for UdpSocket {
    fn local_addr(&self) -> io::Result<SocketAddr> {
        UdpSocket::local_addr(self)
    }

    fn try_recv_from(&self, buffer: &mut [u8]) -> io::Result<(usize, SocketAddr)> {
        UdpSocket::try_recv_from(self, buffer)
    }

    fn try_send_to(&self, bytes: &[u8], to: SocketAddr) -> io::Result<()> {
        UdpSocket::try_send_to(self, bytes, to).map(drop)
    }

    fn poll_readable(&self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.poll_recv_ready(cx)
    }

    fn poll_writable(&self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.poll_send_ready(cx)
    }
}

/// The link of a running node.
#[derive(Debug)]
pub(crate) enum Link {
    Udp(UdpSocket),
    Other(std::sync::Arc<dyn Transport>),
}

impl Link {
    fn transport(&self) -> &dyn Transport {
        match self {
            Link::Udp(socket) => socket,
            Link::Other(transport) => &**transport,
        }
    }

    /// The UDP socket, which broadcasts need.
    pub(crate) fn udp(&self) -> Option<&UdpSocket> {
        match self {
            Link::Udp(socket) => Some(socket),
            Link::Other(_) => None,
        }
    }

    pub(crate) fn try_recv_from(&self, buffer: &mut [u8]) -> io::Result<(usize, SocketAddr)> {
        self.transport().try_recv_from(buffer)
    }

    pub(crate) fn try_send_to(&self, bytes: &[u8], to: SocketAddr) -> io::Result<()> {
        self.transport().try_send_to(bytes, to)
    }

    /// Waits until a datagram has arrived.
    pub(crate) async fn readable(&self) -> io::Result<()> {
        core::future::poll_fn(|cx| self.transport().poll_readable(cx)).await
    }

    /// Waits until there is room for sending.
    pub(crate) async fn writable(&self) -> io::Result<()> {
        core::future::poll_fn(|cx| self.transport().poll_writable(cx)).await
    }
}
