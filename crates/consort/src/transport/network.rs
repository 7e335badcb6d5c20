//! A network within one process.

use super::Transport;
use core::net::SocketAddr;
use core::task::{Context, Poll, Waker};
use std::collections::{BTreeMap, VecDeque};
use std::io::{self, ErrorKind};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

/// The number of datagrams that wait at an endpoint. Further ones are lost, as at a full socket.
const WAITING_MAX: usize = 1024;

/// A network within one process. Clones are the same network.
///
/// Datagrams arrive at once and in order. They are lost if nobody is attached at their destination, or if too many wait
/// there. [`Node::set_faults`](crate::Node::set_faults) makes the network worse.
#[derive(Clone, Debug, Default)]
pub struct Network {
    endpoints: Arc<Mutex<BTreeMap<SocketAddr, Weak<Mutex<Inbox>>>>>,
}

impl Network {
    /// A network without endpoints.
    pub fn new() -> Network {
        Network::default()
    }

    /// Attaches an endpoint under an address of the caller's choice. Dropping it detaches it. The address must not be in
    /// use, and must be one that members can be known by: neither unspecified nor multicast, and with a port.
    pub fn attach(&self, addr: SocketAddr) -> io::Result<Endpoint> {
        let ip = addr.ip();
        if ip.is_unspecified() || ip.is_multicast() || addr.port() == 0 {
            return Err(ErrorKind::AddrNotAvailable.into());
        }
        let mut endpoints = lock(&self.endpoints);
        if endpoints.get(&addr).is_some_and(|e| e.strong_count() > 0) {
            return Err(ErrorKind::AddrInUse.into());
        }
        let inbox = Arc::default();
        endpoints.insert(addr, Arc::downgrade(&inbox));
        let network = self.clone();
        Ok(Endpoint {
            network,
            addr,
            inbox,
        })
    }
}

/// What has arrived at an endpoint.
#[derive(Debug, Default)]
struct Inbox {
    waiting: VecDeque<(Vec<u8>, SocketAddr)>,
    reader: Option<Waker>,
}

/// One address of a [`Network`].
#[derive(Debug)]
pub struct Endpoint {
    network: Network,
    addr: SocketAddr,
    inbox: Arc<Mutex<Inbox>>,
}

impl Transport for Endpoint {
    fn local_addr(&self) -> io::Result<SocketAddr> {
        Ok(self.addr)
    }

    fn try_recv_from(&self, buffer: &mut [u8]) -> io::Result<(usize, SocketAddr)> {
        let next = lock(&self.inbox).waiting.pop_front();
        let (bytes, from) = next.ok_or(ErrorKind::WouldBlock)?;
        // What does not fit is cut off, as UDP does.
        let len = bytes.len().min(buffer.len());
        buffer[..len].copy_from_slice(&bytes[..len]);
        Ok((len, from))
    }

    fn try_send_to(&self, bytes: &[u8], to: SocketAddr) -> io::Result<()> {
        let there = lock(&self.network.endpoints)
            .get(&to)
            .and_then(Weak::upgrade);
        let Some(there) = there else { return Ok(()) };
        let mut there = lock(&there);
        if there.waiting.len() < WAITING_MAX {
            there.waiting.push_back((bytes.to_vec(), self.addr));
        }
        let reader = there.reader.take();
        drop(there);
        if let Some(reader) = reader {
            reader.wake();
        }
        Ok(())
    }

    fn poll_readable(&self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        let mut inbox = lock(&self.inbox);
        if !inbox.waiting.is_empty() {
            return Poll::Ready(Ok(()));
        }
        inbox.reader = Some(cx.waker().clone());
        Poll::Pending
    }
}

impl Drop for Endpoint {
    fn drop(&mut self) {
        lock(&self.network.endpoints).remove(&self.addr);
    }
}

/// A panic of another thread leaves whole datagrams, so the contents stay usable.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn addr(n: u8) -> SocketAddr {
        SocketAddr::from(([10, 0, 0, n], 1))
    }

    fn received(endpoint: &Endpoint) -> Option<(Vec<u8>, SocketAddr)> {
        let mut buffer = [0; 8];
        match endpoint.try_recv_from(&mut buffer) {
            Ok((len, from)) => Some((buffer[..len].to_vec(), from)),
            Err(error) => {
                assert_eq!(error.kind(), ErrorKind::WouldBlock);
                None
            }
        }
    }

    #[test]
    fn datagrams_arrive_in_order_and_whole() {
        let network = Network::new();
        let (a, b) = (
            network.attach(addr(1)).unwrap(),
            network.attach(addr(2)).unwrap(),
        );
        a.try_send_to(b"one", addr(2)).unwrap();
        a.try_send_to(b"longer than 8", addr(2)).unwrap();
        a.try_send_to(b"lost", addr(3)).unwrap();
        assert_eq!(received(&b), Some((b"one".to_vec(), addr(1))));
        assert_eq!(received(&b), Some((b"longer t".to_vec(), addr(1))));
        assert_eq!((received(&b), received(&a)), (None, None));
    }

    #[test]
    fn an_address_has_one_endpoint_at_a_time() {
        let network = Network::new();
        let first = network.attach(addr(1)).unwrap();
        let taken = network.clone().attach(addr(1)).unwrap_err();
        assert_eq!(taken.kind(), ErrorKind::AddrInUse);
        drop(first);
        assert!(network.attach(addr(1)).is_ok());
        for bad in ["0.0.0.0:1", "10.0.0.1:0", "224.0.0.1:1"] {
            let error = network.attach(bad.parse().unwrap()).unwrap_err();
            assert_eq!(error.kind(), ErrorKind::AddrNotAvailable, "{bad}");
        }
    }

    #[test]
    fn a_full_endpoint_loses_what_comes_after() {
        let network = Network::new();
        let (a, b) = (
            network.attach(addr(1)).unwrap(),
            network.attach(addr(2)).unwrap(),
        );
        for _ in 0..WAITING_MAX + 5 {
            a.try_send_to(b"x", addr(2)).unwrap();
        }
        let count = core::iter::from_fn(|| received(&b)).count();
        assert_eq!(count, WAITING_MAX);
    }
}
