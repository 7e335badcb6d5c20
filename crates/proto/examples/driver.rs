//! A driver of the protocol core in one file: a UDP socket and a clock of the standard library, no async. Nodes with
//! different drivers can be in one group: this program joins a group of agents, too.
//!
//!     cargo run --release -p consort-proto --example driver -- 127.0.0.1:7801
//!     cargo run --release -p consort-proto --example driver -- 127.0.0.1:7802 127.0.0.1:7801
//!
//! It campaigns in the election `gateway`, prints what happens, and says goodbye when its standard input ends. It stores
//! nothing, so after a restart it is a new device as far as leases and locks are concerned.

use consort_proto::election::{self, Candidacy, Policy};
use consort_proto::wire::{DATAGRAM_MAX, Datagram};
use consort_proto::{Command, Config, Destination, ElectionId, Event, Identity, Instant, Life};
use consort_proto::{Node, NodeId, hash_bytes, membership};
use core::error::Error;
use core::net::SocketAddr;
use core::time::Duration;
use std::io::{self, ErrorKind, Read};
use std::net::UdpSocket;
use std::sync::mpsc;
use std::time::{SystemTime, UNIX_EPOCH};

/// How long the driver waits for a datagram before it looks whether its standard input has ended.
const WAIT_MAX: Duration = Duration::from_millis(100);

struct Driver {
    node: Node,
    socket: UdpSocket,
    start: std::time::Instant,
    /// Reused for every datagram that is sent.
    datagram: Datagram,
    bytes: Vec<u8>,
    departed: bool,
}

impl Driver {
    /// The core's time: microseconds since the start of this program.
    fn now(&self) -> Instant {
        Instant::from_micros(self.start.elapsed().as_micros() as u64)
    }

    fn command(&mut self, command: Command) {
        self.node.handle_command(self.now(), command);
        self.carry_out();
    }

    /// Waits for a datagram or the next deadline, and passes it on.
    fn turn(&mut self, buffer: &mut [u8]) -> io::Result<()> {
        let now = self.now();
        let due = self.node.poll_timeout().unwrap_or(Instant::MAX);
        if due > now {
            // A timeout of zero would mean to wait for ever.
            let wait = due.since(now).clamp(Duration::from_micros(1), WAIT_MAX);
            self.socket.set_read_timeout(Some(wait))?;
            match self.socket.recv_from(buffer) {
                Ok((len, from)) => {
                    let now = self.now();
                    self.node.handle_bytes(now, from, &buffer[..len]);
                }
                Err(e) if matches!(e.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut) => {}
                // A former datagram found no listener: for the protocol this is loss.
                Err(e) if e.kind() == ErrorKind::ConnectionReset => {}
                Err(e) => return Err(e),
            }
        } else {
            self.node.handle_timeout(now);
        }
        self.carry_out();
        Ok(())
    }

    /// Carries out what the core wants done. The order matters: facts first, then events, then datagrams.
    fn carry_out(&mut self) {
        // A driver with a disk stores the fact here. The next call confirms that it is stored.
        while let Some(_fact) = self.node.poll_fact() {}
        while let Some(event) = self.node.poll_event() {
            self.tell(&event);
        }
        while let Some((to, _)) = self.node.poll_transmit(&mut self.datagram) {
            // Broadcasts to neighbours need a socket on each interface; see `consort::topology`.
            if let Destination::Addr(to) = to {
                self.bytes.clear();
                self.node.encode(&self.datagram, &mut self.bytes);
                // A datagram that cannot be sent is lost, which the protocols expect.
                let _ = self.socket.send_to(&self.bytes, to);
            }
        }
    }

    fn tell(&mut self, event: &Event) {
        let table = self.node.membership().table();
        let name = |id| match table.get(id) {
            Some(member) if !member.meta.name.is_empty() => member.meta.name.clone(),
            _ if id == self.node.id() => self.node.membership().meta().name.clone(),
            _ => id.to_string(),
        };
        match event {
            Event::Membership(membership::Event::Up { id, .. }) => println!("{} is up", name(*id)),
            Event::Membership(membership::Event::Updated { id }) => {
                println!("{} introduced itself", name(*id));
            }
            Event::Membership(membership::Event::Down { id, why, .. }) => {
                println!("{} is down: {why:?}", name(*id));
            }
            Event::Membership(membership::Event::Departed) => self.departed = true,
            Event::Election(election::Event::Changed { claim, .. }) if !claim.is_vacant() => {
                println!("{} leads", name(claim.leader));
            }
            Event::Election(election::Event::BecameLeader { token, .. }) => {
                println!("this node may act with token {token}");
            }
            _ => {}
        }
    }
}

fn main() -> Result<(), Box<dyn Error>> {
    let mut args = std::env::args().skip(1);
    let addr = args.next().ok_or("usage: driver ADDRESS [SEED]")?;
    let seeds: Vec<SocketAddr> = args.map(|seed| seed.parse()).collect::<Result<_, _>>()?;
    let socket = UdpSocket::bind(&addr)?;
    let addr = socket.local_addr()?;

    let wall = SystemTime::now().duration_since(UNIX_EPOCH)?;
    let life = Life::starting(wall.as_secs(), wall.subsec_micros() as u16, None);
    let identity = Identity {
        id: NodeId(hash_bytes(addr.to_string().as_bytes())),
        life,
        addr,
        meta: membership::Meta::named(format!("driver-{}", addr.port())),
        memory: life,
        wall: Some(wall.as_secs()),
    };
    let seed = u64::from(wall.subsec_nanos()) ^ life.0;
    let node = Node::new(Config::default(), identity, seed, Instant::ZERO)?;
    println!("node {} listens on {addr}", node.id());

    let mut driver = Driver {
        node,
        socket,
        start: std::time::Instant::now(),
        datagram: Datagram::default(),
        bytes: Vec::new(),
        departed: false,
    };
    driver.command(Command::Join(seeds));
    let gateway = ElectionId::of("gateway");
    for order in [
        election::Order::Open(gateway, Policy::default()),
        election::Order::Campaign(gateway, Candidacy::default()),
    ] {
        driver.command(Command::Election(order));
    }

    let (ended, input) = mpsc::channel();
    std::thread::spawn(move || {
        let _ = io::stdin().read_to_end(&mut Vec::new());
        let _ = ended.send(());
    });
    let mut buffer = vec![0; DATAGRAM_MAX];
    while !driver.departed {
        driver.turn(&mut buffer)?;
        if input.try_recv().is_ok() {
            driver.command(Command::Leave);
        }
    }
    Ok(())
}
