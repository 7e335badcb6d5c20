//! The network between agents: one proxy per agent inside this process that loses, delays and cuts.
//!
//! Agent `i` listens on its own port and advertises the port of its proxy. A datagram from `j` to `i` arrives at
//! the proxy of `i`, which recognises the sender by its port, and leaves through the socket of the proxy of `j`, so
//! that it appears to come from the address that `j` advertises. Each direction of each pair is a separate link.
//! This needs neither root nor network namespaces.

use crate::clock::{MS, Ns, now};
use consort_proto::Rng;
use core::net::SocketAddr;
use core::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use core::time::Duration;
use std::collections::BinaryHeap;
use std::io;
use std::net::UdpSocket;
use std::sync::{Arc, Mutex, PoisonError, RwLock};

/// Number of an agent.
pub type AgentNo = usize;

/// A disturbance of the network. Several may be in force at a time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rule {
    /// The agent can neither send nor receive.
    Isolate(AgentNo),
    /// All datagrams that the agent sends are lost.
    Mute(AgentNo),
    /// All datagrams to the agent are lost.
    Deaf(AgentNo),
    /// All datagrams from the first agent to the second are lost.
    OneWay(AgentNo, AgentNo),
    /// Agents whose bit is set are separated from the others.
    Partition(u32),
    /// This percentage of all datagrams is lost, on every link.
    Loss(u8),
    /// Each datagram is delayed by up to this many milliseconds.
    Delay(u16),
}

/// State of a link.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Link {
    cut: bool,
    loss_percent: u8,
    delay_ms: u16,
}

impl Link {
    fn between(rules: &[(u32, Rule)], from: AgentNo, to: AgentNo) -> Link {
        let mut link = Link::default();
        for (_, rule) in rules {
            match *rule {
                Rule::Isolate(a) => link.cut |= a == from || a == to,
                Rule::Mute(a) => link.cut |= a == from,
                Rule::Deaf(a) => link.cut |= a == to,
                Rule::OneWay(a, b) => link.cut |= (a, b) == (from, to),
                Rule::Partition(side) => link.cut |= (side >> from & 1) != (side >> to & 1),
                Rule::Loss(percent) => link.loss_percent = link.loss_percent.max(percent),
                Rule::Delay(ms) => link.delay_ms = link.delay_ms.max(ms),
            }
        }
        link
    }
}

/// A datagram that waits for its delivery time.
#[derive(PartialEq, Eq, PartialOrd, Ord)]
struct Late {
    due: core::cmp::Reverse<Ns>,
    from: AgentNo,
    to: AgentNo,
    bytes: Vec<u8>,
}

struct Shared {
    /// Addresses on which the agents listen.
    inner: Vec<SocketAddr>,
    sockets: Vec<UdpSocket>,
    links: RwLock<Vec<Vec<Link>>>,
    late: Mutex<BinaryHeap<Late>>,
    over: AtomicBool,
    passed: AtomicU64,
    lost: AtomicU64,
}

/// All proxies. They stop when this is dropped.
pub struct Net {
    shared: Arc<Shared>,
    rules: Vec<(u32, Rule)>,
    last: u32,
}

impl Net {
    /// Opens a proxy for each of `agents` agents, with losses drawn from `seed`.
    pub fn open(agents: usize, seed: u64) -> io::Result<Net> {
        let loopback = "127.0.0.1:0";
        let sockets = (0..agents)
            .map(|_| UdpSocket::bind(loopback))
            .collect::<io::Result<Vec<_>>>()?;
        // Free at this moment, and kept across restarts of the agents.
        let free = (0..agents)
            .map(|_| UdpSocket::bind(loopback))
            .collect::<io::Result<Vec<_>>>()?;
        let inner = free
            .iter()
            .map(UdpSocket::local_addr)
            .collect::<io::Result<Vec<_>>>()?;
        for socket in &sockets {
            socket.set_read_timeout(Some(Duration::from_millis(50)))?;
        }
        let shared = Arc::new(Shared {
            inner,
            sockets,
            links: RwLock::new(vec![vec![Link::default(); agents]; agents]),
            late: Mutex::default(),
            over: AtomicBool::new(false),
            passed: AtomicU64::new(0),
            lost: AtomicU64::new(0),
        });
        for to in 0..agents {
            let (shared, rng) = (Arc::clone(&shared), Rng::seed(seed, 100 + to as u64));
            std::thread::spawn(move || shared.carry(to, rng));
        }
        let late = Arc::clone(&shared);
        std::thread::spawn(move || late.deliver_late());
        let (rules, last) = (Vec::new(), 0);
        Ok(Net {
            shared,
            rules,
            last,
        })
    }

    /// The address on which the agent listens.
    pub fn inner(&self, agent: AgentNo) -> SocketAddr {
        self.shared.inner[agent]
    }

    /// The address at which others reach the agent.
    pub fn outer(&self, agent: AgentNo) -> io::Result<SocketAddr> {
        self.shared.sockets[agent].local_addr()
    }

    /// Puts a rule in force and returns the number by which it can be removed.
    pub fn add(&mut self, rule: Rule) -> u32 {
        self.last += 1;
        self.rules.push((self.last, rule));
        self.apply();
        self.last
    }

    /// Removes a rule.
    pub fn remove(&mut self, number: u32) {
        self.rules.retain(|(n, _)| *n != number);
        self.apply();
    }

    /// Removes all rules.
    pub fn heal(&mut self) {
        self.rules.clear();
        self.apply();
    }

    /// Number of datagrams that were forwarded and lost.
    pub fn counts(&self) -> (u64, u64) {
        let read = |n: &AtomicU64| n.load(Ordering::Relaxed);
        (read(&self.shared.passed), read(&self.shared.lost))
    }

    fn apply(&self) {
        let mut links = self
            .shared
            .links
            .write()
            .unwrap_or_else(PoisonError::into_inner);
        for (from, row) in links.iter_mut().enumerate() {
            for (to, link) in row.iter_mut().enumerate() {
                *link = Link::between(&self.rules, from, to);
            }
        }
    }
}

impl Drop for Net {
    fn drop(&mut self) {
        self.shared.over.store(true, Ordering::Relaxed);
    }
}

impl Shared {
    /// Forwards datagrams to one agent.
    fn carry(&self, to: AgentNo, mut rng: Rng) {
        let mut bytes = vec![0; 65_536];
        while !self.over.load(Ordering::Relaxed) {
            let Ok((len, source)) = self.sockets[to].recv_from(&mut bytes) else {
                continue;
            };
            let Some(from) = self.inner.iter().position(|a| *a == source) else {
                continue;
            };
            let link = self.links.read().unwrap_or_else(PoisonError::into_inner)[from][to];
            let unlucky = rng.below(100) < u32::from(link.loss_percent);
            if link.cut || unlucky {
                self.lost.fetch_add(1, Ordering::Relaxed);
            } else if link.delay_ms > 0 {
                let wait = u64::from(rng.below(u32::from(link.delay_ms))) * MS;
                let due = core::cmp::Reverse(now() + wait);
                let bytes = bytes[..len].to_vec();
                let mut late = self.late.lock().unwrap_or_else(PoisonError::into_inner);
                late.push(Late {
                    due,
                    from,
                    to,
                    bytes,
                });
            } else {
                self.pass(from, to, &bytes[..len]);
            }
        }
    }

    fn pass(&self, from: AgentNo, to: AgentNo, bytes: &[u8]) {
        // An agent that is down has no open port, which counts as a loss.
        let sent = self.sockets[from].send_to(bytes, self.inner[to]);
        let count = if sent.is_ok() {
            &self.passed
        } else {
            &self.lost
        };
        count.fetch_add(1, Ordering::Relaxed);
    }

    fn deliver_late(&self) {
        while !self.over.load(Ordering::Relaxed) {
            let next = {
                let mut late = self.late.lock().unwrap_or_else(PoisonError::into_inner);
                let due = late.peek().is_some_and(|l| l.due.0 <= now());
                due.then(|| late.pop()).flatten()
            };
            match next {
                Some(l) => self.pass(l.from, l.to, &l.bytes),
                None => std::thread::sleep(Duration::from_millis(1)),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cut(rules: &[Rule], from: AgentNo, to: AgentNo) -> bool {
        let rules: Vec<_> = rules.iter().map(|r| (0, *r)).collect();
        Link::between(&rules, from, to).cut
    }

    #[test]
    fn rules_cut_the_links_they_name_and_no_others() {
        assert!(cut(&[Rule::Mute(1)], 1, 2) && !cut(&[Rule::Mute(1)], 2, 1));
        assert!(cut(&[Rule::Deaf(1)], 2, 1) && !cut(&[Rule::Deaf(1)], 1, 2));
        assert!(cut(&[Rule::Isolate(1)], 2, 1) && cut(&[Rule::Isolate(1)], 1, 2));
        assert!(!cut(&[Rule::Isolate(1)], 0, 2));
        assert!(cut(&[Rule::OneWay(1, 2)], 1, 2) && !cut(&[Rule::OneWay(1, 2)], 2, 1));
        let halves = [Rule::Partition(0b011)];
        assert!(cut(&halves, 0, 2) && cut(&halves, 2, 1));
        assert!(!cut(&halves, 0, 1) && !cut(&halves, 2, 3));
    }

    #[test]
    fn a_datagram_seems_to_come_from_the_proxy_of_its_sender_and_cuts_hold() {
        let mut net = Net::open(2, 1).unwrap();
        let agents = [0, 1].map(|a| UdpSocket::bind(net.inner(a)).unwrap());
        for agent in &agents {
            let patience = Some(Duration::from_millis(500));
            agent.set_read_timeout(patience).unwrap();
        }
        let mut bytes = [0; 9];
        agents[0].send_to(b"one", net.outer(1).unwrap()).unwrap();
        let (len, from) = agents[1].recv_from(&mut bytes).unwrap();
        assert_eq!((&bytes[..len], from), (&b"one"[..], net.outer(0).unwrap()));
        let rule = net.add(Rule::Mute(0));
        agents[0].send_to(b"two", net.outer(1).unwrap()).unwrap();
        agents[1].send_to(b"back", net.outer(0).unwrap()).unwrap();
        assert_eq!(agents[0].recv_from(&mut bytes).unwrap().0, 4);
        // The lost datagram was handled by now, or will be while the next one is delivered.
        while net.counts().1 == 0 {
            std::thread::yield_now();
        }
        net.remove(rule);
        net.add(Rule::Delay(30));
        agents[0].send_to(b"three", net.outer(1).unwrap()).unwrap();
        let (len, _) = agents[1].recv_from(&mut bytes).unwrap();
        assert_eq!(&bytes[..len], b"three");
    }
}
