//! Our node behind bytes.

use super::{News, Output, Peer};
use consort_proto::membership::{
    Departure, Event as Change, Meta, Precedence, Proximity, Record, SharedMeta,
};
use consort_proto::wire::Datagram;
use consort_proto::{
    Command, Config, Destination, Event, Identity, Incarnation, Instant, Life, Node, NodeId, Rng,
    hash_pair,
};
use consort_sim::stream;
use consort_sim::world::{BIRTH_SECS, RESTORE_CHUNK, addr_of, id_of, index_at};

#[derive(Debug)]
pub(crate) struct Ours {
    node: Node,
    hosts: usize,
    outgoing: Datagram,
}

/// Lives of all hosts, as the simulator draws them.
pub(crate) fn lives(hosts: usize, seed: u64) -> Vec<Life> {
    let mut rng = Rng::seed(seed, stream::HOSTS);
    let life = |_| Life::starting(BIRTH_SECS, rng.bits32() as u16, None);
    (0..hosts).map(life).collect()
}

impl Ours {
    /// A node that knows all others.
    pub(crate) fn warm(config: Config, seed: u64, index: usize, lives: &[Life]) -> Ours {
        let life = lives[index];
        let identity = Identity {
            id: id_of(index),
            life,
            addr: addr_of(index),
            meta: Meta::default(),
            memory: life,
            wall: None,
        };
        let seed = hash_pair(seed, life.0);
        let mut node = Node::new(config, identity, seed, Instant::ZERO).expect("a valid config");
        let records: Vec<Record> = (0..lives.len()).map(|i| record(i, lives[i])).collect();
        for chunk in records.chunks(RESTORE_CHUNK) {
            node.handle_command(Instant::ZERO, Command::Restore(chunk.to_vec()));
            while node.poll_event().is_some() {}
        }
        while node.poll_fact().is_some() {}
        Ours {
            node,
            hosts: lives.len(),
            outgoing: Datagram::default(),
        }
    }

    /// Sets the distances to the others.
    pub(crate) fn set_proximity(&mut self, proximities: Vec<Proximity>) {
        let command = Command::SetProximity(proximities);
        self.node.handle_command(Instant::ZERO, command);
    }

    /// Sets its position.
    pub(crate) fn set_position(&mut self, position: [f32; 3]) {
        let command = Command::SetPosition(position);
        self.node.handle_command(Instant::ZERO, command);
    }

    fn drain(&mut self, out: &mut Output) {
        while self.node.poll_fact().is_some() {}
        while let Some(Event::Membership(change)) = self.node.poll_event() {
            let host = |id: NodeId| id.0 as usize - 1;
            match change {
                Change::Up { id, .. } => out.tell(News::Up(host(id))),
                Change::Down {
                    id,
                    why: Departure::Failed,
                    ..
                } => out.tell(News::Down(host(id))),
                _ => {}
            }
        }
        while let Some((Destination::Addr(addr), _)) = self.node.poll_transmit(&mut self.outgoing) {
            let to = index_at(addr, self.hosts).expect("addresses of hosts only");
            out.send(to, |buffer| self.outgoing.encode(buffer));
        }
    }
}

/// A member's own claim. Each node has its own copy of everything, as if it had arrived as bytes.
fn record(index: usize, life: Life) -> Record {
    Record {
        id: id_of(index),
        precedence: Precedence::alive(life, Incarnation(0)),
        accuser: id_of(index),
        addr: addr_of(index),
        meta: SharedMeta::default(),
        coordinate: None,
        nap_ms: 0,
        current: true,
    }
}

impl Peer for Ours {
    fn on_bytes(&mut self, now: Instant, from: usize, bytes: &[u8], out: &mut Output) {
        self.node.handle_bytes(now, addr_of(from), bytes);
        self.drain(out);
    }

    fn on_timeout(&mut self, now: Instant, out: &mut Output) {
        self.node.handle_timeout(now);
        self.drain(out);
    }

    fn due(&self) -> Option<Instant> {
        self.node.poll_timeout()
    }
}
