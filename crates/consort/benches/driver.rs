//! What a node's task costs per datagram: pings of a real member over loopback, in bursts of 32 as after a moment in
//! which the task did not run, while handles follow eight elections.
//!
//!     cargo bench -p consort --bench driver
//!
//! Time on a busy machine says little. Instructions are counted by running twice with different numbers of bursts, on
//! one thread, and dividing the difference:
//!
//!     valgrind --tool=callgrind --callgrind-out-file=/dev/null target/release/deps/driver-HASH --bursts 200

use consort::Node;
use consort_proto::membership::Meta;
use consort_proto::wire::{DATAGRAM_MAX, Datagram};
use consort_proto::{Command, Config, Destination, Identity, Instant, Life, NodeId};
use core::time::Duration;
use std::net::UdpSocket;

const ELECTIONS: usize = 8;
const BURST: usize = 32;

type Result<T> = core::result::Result<T, Box<dyn core::error::Error>>;

/// A member whose protocol core runs only while it joins. Afterwards it repeats one ping.
struct Pinger {
    node: consort_proto::Node,
    socket: UdpSocket,
    start: std::time::Instant,
    buffer: Vec<u8>,
}

impl Pinger {
    fn join(seed: std::net::SocketAddr) -> Result<Pinger> {
        let socket = UdpSocket::bind("127.0.0.1:0")?;
        socket.set_nonblocking(true)?;
        let identity = Identity {
            id: NodeId(7),
            life: Life(1 << 30),
            addr: socket.local_addr()?,
            meta: Meta::named("pinger"),
            memory: Life(1 << 30),
            wall: None,
        };
        let mut node = consort_proto::Node::new(Config::default(), identity, 1, Instant::ZERO)?;
        node.handle_command(Instant::ZERO, Command::Join(vec![seed]));
        Ok(Pinger {
            node,
            socket,
            start: std::time::Instant::now(),
            buffer: vec![0; DATAGRAM_MAX],
        })
    }

    fn now(&self) -> Instant {
        Instant::from_micros(self.start.elapsed().as_micros() as u64)
    }

    /// Takes what has arrived and sends the answers. Returns the last ping that was sent.
    fn turn(&mut self) -> Result<Option<Vec<u8>>> {
        while let Ok((len, from)) = self.socket.recv_from(&mut self.buffer) {
            let now = self.now();
            self.node.handle_bytes(now, from, &self.buffer[..len]);
        }
        if self.node.poll_timeout().is_some_and(|at| at <= self.now()) {
            self.node.handle_timeout(self.now());
        }
        while self.node.poll_fact().is_some() {}
        while self.node.poll_event().is_some() {}
        let mut ping = None;
        let mut out = Datagram::default();
        while let Some((to, _)) = self.node.poll_transmit(&mut out) {
            let Destination::Addr(to) = to else { continue };
            let mut bytes = Vec::new();
            self.node.encode(&out, &mut bytes);
            self.socket.send_to(&bytes, to)?;
            let pings = out
                .frames
                .iter()
                .any(|f| format!("{f:?}").contains("Ping {"));
            if pings && self.node.membership().table().live() > 0 {
                ping = Some(bytes);
            }
        }
        Ok(ping)
    }
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<()> {
    // `cargo bench` adds flags of its own.
    let mut args = std::env::args().skip_while(|a| a != "--bursts").skip(1);
    let bursts: usize = args.next().map_or(Ok(2000), |n| n.parse())?;
    let node = Node::builder().bind(([127, 0, 0, 1], 0)).start().await?;
    let mut followed = Vec::new();
    for n in 0..ELECTIONS {
        followed.push(node.election(&format!("election-{n}")).await?);
    }
    let mut pinger = Pinger::join(node.local_addr())?;
    let ping = loop {
        tokio::time::sleep(Duration::from_millis(10)).await;
        if let Some(ping) = pinger.turn()? {
            break ping;
        }
    };
    tokio::time::sleep(Duration::from_millis(50)).await;
    pinger.turn()?;
    let (before, start) = (node.stats().await?, std::time::Instant::now());
    for _ in 0..bursts {
        for _ in 0..BURST {
            pinger.socket.send_to(&ping, node.local_addr())?;
        }
        let mut answers = 0;
        let burst = std::time::Instant::now();
        while answers < BURST && burst.elapsed() < Duration::from_millis(200) {
            tokio::task::yield_now().await;
            while pinger.socket.recv_from(&mut pinger.buffer).is_ok() {
                answers += 1;
            }
        }
    }
    let spent = start.elapsed();
    let after = node.stats().await?;
    let taken = after.core.datagrams_in - before.core.datagrams_in;
    let answered = after.core.datagrams_out - before.core.datagrams_out;
    println!(
        "{taken} pings, {answered} datagrams sent: {:.2} us per ping",
        spent.as_secs_f64() * 1e6 / taken.max(1) as f64
    );
    drop(followed);
    node.shutdown().await;
    Ok(())
}
