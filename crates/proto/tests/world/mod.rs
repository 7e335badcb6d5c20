//! A small group whose datagrams are passed on as bytes, without delay or loss.
#![allow(dead_code)]

use alloc::collections::VecDeque;
use consort_proto::seal::Secret;
use consort_proto::wire::Datagram;
use consort_proto::{Command, Config, Destination, Identity, Instant, Life, Node, NodeId};
use core::net::SocketAddr;
use core::time::Duration;

/// A datagram under way: sender, receiver, bytes.
type Flying = (usize, usize, Vec<u8>);

pub(crate) struct World {
    pub(crate) nodes: Vec<Node>,
    now: Instant,
    queue: VecDeque<Flying>,
    /// Buffers that are used again.
    spare: Vec<Vec<u8>>,
    out: Datagram,
    pub(crate) datagrams: u64,
    pub(crate) bytes: u64,
    /// The first bytes of the last datagram: version, flags and the name of the key.
    pub(crate) start: [u8; 2],
}

fn addr(n: usize) -> SocketAddr {
    SocketAddr::from(([10, 0, 0, n as u8 + 1], 7717))
}

/// What a driver does to send the next datagram. Returns its receiver.
#[inline(never)]
pub(crate) fn charged_send(
    node: &mut Node,
    out: &mut Datagram,
    bytes: &mut Vec<u8>,
) -> Option<SocketAddr> {
    let (to, _) = node.poll_transmit(out)?;
    node.encode(out, bytes);
    match to {
        Destination::Addr(to) => Some(to),
        Destination::Neighbors => panic!("nobody broadcasts here"),
    }
}

/// What a driver does with a datagram.
#[inline(never)]
pub(crate) fn charged_receive(node: &mut Node, now: Instant, from: SocketAddr, bytes: &[u8]) {
    node.handle_bytes(now, from, bytes);
}

/// What a driver does when time has passed.
#[inline(never)]
pub(crate) fn charged_timeout(node: &mut Node, now: Instant) {
    node.handle_timeout(now);
}

impl World {
    /// `n` nodes that all join through the first, sealed or open.
    pub(crate) fn new(n: usize, sealed: bool) -> World {
        let node = |n: usize| {
            let mut config = Config::default();
            if sealed {
                config.seal_with(vec![Secret([7; 32])]);
            }
            let life = Life((500 + n as u64) << 16);
            let identity = Identity {
                id: NodeId(n as u64 + 1),
                life,
                addr: addr(n),
                meta: Default::default(),
                memory: life,
                wall: None,
            };
            let mut node = Node::new(config, identity, n as u64, Instant::ZERO).unwrap();
            if n > 0 {
                node.handle_command(Instant::ZERO, Command::Join(vec![addr(0)]));
            }
            node
        };
        let mut world = World {
            nodes: (0..n).map(node).collect(),
            now: Instant::ZERO,
            queue: VecDeque::new(),
            spare: Vec::new(),
            out: Datagram::default(),
            datagrams: 0,
            bytes: 0,
            start: [0; 2],
        };
        for n in 0..n {
            world.drain(n);
        }
        world
    }

    fn drain(&mut self, n: usize) {
        let node = &mut self.nodes[n];
        while node.poll_fact().is_some() {}
        while node.poll_event().is_some() {}
        loop {
            let mut bytes = self.spare.pop().unwrap_or_else(|| Vec::with_capacity(2048));
            bytes.clear();
            let Some(to) = charged_send(node, &mut self.out, &mut bytes) else {
                self.spare.push(bytes);
                return;
            };
            let SocketAddr::V4(to) = to else {
                panic!("there are no such addresses");
            };
            self.datagrams += 1;
            self.bytes += bytes.len() as u64;
            self.start.copy_from_slice(&bytes[..2]);
            let to = usize::from(to.ip().octets()[3]) - 1;
            self.queue.push_back((n, to, bytes));
        }
    }

    /// Lets time pass.
    pub(crate) fn pass(&mut self, span: Duration) {
        let end = self.now + span;
        loop {
            while let Some((from, to, bytes)) = self.queue.pop_front() {
                charged_receive(&mut self.nodes[to], self.now, addr(from), &bytes);
                self.spare.push(bytes);
                self.drain(to);
            }
            let next = self.nodes.iter().filter_map(Node::poll_timeout).min();
            let Some(next) = next.filter(|next| *next <= end) else {
                self.now = end;
                return;
            };
            self.now = self.now.max(next);
            for n in 0..self.nodes.len() {
                if self.nodes[n]
                    .poll_timeout()
                    .is_some_and(|at| at <= self.now)
                {
                    charged_timeout(&mut self.nodes[n], self.now);
                    self.drain(n);
                }
            }
        }
    }

    /// Forgets what was counted.
    #[inline(never)]
    pub(crate) fn reset_counts(&mut self) {
        (self.datagrams, self.bytes) = (0, 0);
    }
}
