//! Three nodes in one process, the datagrams between them, and what must hold after every step.

use consort_proto::election::{self, Candidacy, Policy, Token};
use consort_proto::message::{self, MessageId, Payload};
use consort_proto::mutex::{self, Acquire, Bound, Fence, LockId, Mode, Ticket, Wait};
use consort_proto::seal::Secret;
use consort_proto::wire::{Datagram, Header};
use consort_proto::{
    Command, Config, Destination, ElectionId, Event, Fact, Identity, Incarnation, Instant, Life,
    Node, NodeId, Term, lease, membership,
};
use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

/// The number of nodes.
pub const NODES: usize = 3;

/// The wall clock at the start, in seconds.
pub const BIRTH_SECS: u64 = 1_700_000_000;

/// The most that one step may send or report. Answers to one datagram take 4 datagrams, and what goes to others is
/// bounded by the number of members that were heard of.
pub const SENT_MAX: usize = 600;
pub const EVENTS_MAX: usize = 600;

/// The most datagrams under way; more are lost.
const FLYING_MAX: usize = 256;

/// How often due timers are fired in one step. A timer that is due again at once would never let a driver rest.
const FIRED_MAX: usize = 200;

pub const ELECTION: ElectionId = ElectionId::of("leader");
pub const BY_COMPONENT: ElectionId = ElectionId::of("gateway");
pub const LOCKS: [&str; 2] = ["one", "two"];

/// The address of the node with this number; there are more addresses than nodes.
pub fn addr(n: usize) -> SocketAddr {
    SocketAddr::from(([10, 0, 0, n as u8 + 1], 7000))
}

/// The id of the node with this number.
pub fn id(n: usize) -> NodeId {
    NodeId(n as u64 + 1)
}

/// Settings of all nodes, in a group with a key or without.
pub fn config(sealed: bool) -> Config {
    let mut config = Config::default();
    config.mutex.bound = Bound::Floor(NODES as u16);
    config.mutex.bootstrap = true;
    config.omega.enabled = true;
    if sealed {
        config.seal_with(vec![Secret([7; 32])]);
    }
    config
}

/// What a node has stored.
#[derive(Clone, Debug)]
pub struct Disk {
    pub life: Life,
    pub memory: Life,
    pub fence: Option<u64>,
    pub terms: BTreeMap<ElectionId, Term>,
    pub leases: BTreeMap<ElectionId, lease::Record>,
}

impl Disk {
    fn store(&mut self, fact: Fact) {
        match fact {
            Fact::Life(life) => self.life = life,
            Fact::Term(id, term) => drop(self.terms.insert(id, term)),
            Fact::Fence(seq) => self.fence = Some(seq),
            Fact::Lease(id, record) => drop(self.leases.insert(id, *record)),
        }
    }
}

/// A node and its process.
#[derive(Clone, Debug)]
pub struct Host {
    pub node: Node,
    /// Whether the process has ended.
    pub gone: bool,
    pub disk: Disk,
    /// Facts that could not be stored, while the disk fails.
    unstored: Option<Vec<Fact>>,
    /// The greatest claim about itself that the node has made.
    claim: (Life, Incarnation),
    /// The last query that it was asked, and the last token by which it led.
    asked: Option<MessageId>,
    led: Option<Token>,
}

impl Host {
    /// The node, and the greatest claim about itself that it has made.
    fn claimed(&self) -> (NodeId, (Life, Incarnation)) {
        let own = self.node.membership();
        let now = (own.life(), own.incarnation());
        (self.node.id(), now.max(self.claim))
    }
}

/// A datagram under way.
#[derive(Clone, Debug)]
pub struct Flight {
    pub from: SocketAddr,
    pub to: usize,
    pub bytes: Vec<u8>,
}

/// Work under a lock.
#[derive(Clone, Debug)]
struct Work {
    host: usize,
    lock: LockId,
    ticket: Ticket,
    mode: Mode,
    until: Instant,
}

/// All nodes and their network.
#[derive(Clone, Debug)]
pub struct Net {
    pub now: Instant,
    pub hosts: Vec<Host>,
    pub flying: Vec<Flight>,
    /// Every datagram that was sent, if they are recorded.
    pub recorded: Option<Vec<Flight>>,
    /// Whether all that nodes were told is true, so that what they promise each other holds.
    pub trusted: bool,
    config: Config,
    works: Vec<Work>,
    /// By lock: the greatest token that was used exclusively.
    used: BTreeMap<LockId, Fence>,
    tickets: u64,
}

fn start(config: &Config, n: usize, life: Life, memory: Life, now: Instant) -> Node {
    let identity = Identity {
        id: id(n),
        life,
        addr: addr(n),
        meta: membership::Meta::named(format!("node-{n}")),
        memory,
        wall: Some(BIRTH_SECS + now.as_micros() / 1_000_000),
    };
    Node::new(config.clone(), identity, n as u64, now).expect("the settings are good")
}

impl Net {
    /// Nodes that have just started, and know nobody.
    pub fn new(sealed: bool) -> Net {
        let config = config(sealed);
        let hosts = (0..NODES).map(|n| {
            let life = Life::starting(BIRTH_SECS, n as u16, None);
            let disk = Disk {
                life,
                memory: life,
                fence: None,
                terms: BTreeMap::new(),
                leases: BTreeMap::new(),
            };
            Host {
                node: start(&config, n, life, life, Instant::ZERO),
                gone: false,
                disk,
                unstored: None,
                claim: (life, Incarnation(0)),
                asked: None,
                led: None,
            }
        });
        let mut net = Net {
            now: Instant::ZERO,
            hosts: hosts.collect(),
            flying: Vec::new(),
            recorded: None,
            trusted: true,
            config,
            works: Vec::new(),
            used: BTreeMap::new(),
            tickets: 0,
        };
        for n in 0..NODES {
            net.drain(n);
        }
        net
    }

    /// Nodes that know each other, with an election, locks and messages under way.
    pub fn warm(sealed: bool, recorded: bool) -> Net {
        let mut net = Net::new(sealed);
        net.recorded = recorded.then(Vec::new);
        for n in 1..NODES {
            net.command(n, Command::Join(vec![addr(0)]));
        }
        net.pass(Duration::from_secs(10));
        for n in 0..NODES {
            net.campaign(n, ELECTION, 0);
        }
        net.campaign(0, BY_COMPONENT, 1);
        net.acquire(0, 0, Mode::Exclusive, Wait::Forever);
        net.acquire(1, 0, Mode::Exclusive, Wait::Forever);
        net.acquire(0, 1, Mode::Shared, Wait::Forever);
        net.acquire(2, 1, Mode::Shared, Wait::Forever);
        net.tell(1, 0);
        net.pass(Duration::from_secs(40));
        // A query is open, and an own request waits.
        net.tell(0, 1);
        net.acquire(0, 0, Mode::Shared, Wait::Forever);
        for n in 0..NODES {
            let table = net.hosts[n].node.membership().table();
            assert_eq!(table.live(), NODES - 1, "they have met");
        }
        net
    }

    /// Begins to take part in an election, by component if `how` is odd.
    pub fn campaign(&mut self, n: usize, election: ElectionId, how: u8) {
        let policy = Policy {
            mode: match how & 1 {
                0 => election::Mode::Group,
                _ => election::Mode::Component,
            },
            stream: how & 2 != 0,
            health: how & 4 != 0,
            ..Policy::default()
        };
        let candidacy = Candidacy {
            class: how >> 4,
            attribute: u32::from(how >> 3),
        };
        let orders = [
            election::Order::Open(election, policy),
            election::Order::Campaign(election, candidacy),
        ];
        for order in orders {
            self.command(n, Command::Election(order));
        }
    }

    /// Requests a lock.
    pub fn acquire(&mut self, n: usize, lock: usize, mode: Mode, wait: Wait) {
        self.tickets += 1;
        let acquire = Acquire {
            name: LOCKS[lock % LOCKS.len()].into(),
            ticket: Ticket(self.tickets),
            mode,
            wait,
            policy: Arc::default(),
        };
        self.command(n, Command::Lock(mutex::Order::Acquire(acquire)));
    }

    /// Releases a lock: the request that holds it, or else one that waits.
    pub fn release(&mut self, n: usize, lock: usize, abandon: bool) {
        let lock = LockId::of(LOCKS[lock % LOCKS.len()]);
        let locks = self.hosts[n].node.mutex();
        let held = locks.holders(lock).next();
        let stopping = locks.stopping(lock).next().map(|s| s.0);
        let Some(ticket) = held.or(stopping).or(locks.waiting(lock).next()) else {
            return;
        };
        let order = match abandon {
            true => mutex::Order::Abandon(lock, ticket),
            false => {
                let ends = |w: &Work| w.host == n && w.lock == lock && w.ticket == ticket;
                self.works.retain(|w| !ends(w));
                mutex::Order::Release(lock, ticket)
            }
        };
        self.command(n, Command::Lock(order));
    }

    /// Sends an event, a query, an answer, or stops waiting for answers.
    pub fn tell(&mut self, n: usize, what: u8) {
        let (name, payload) = ("deploy".to_owned(), Payload(vec![what; 9]));
        let order = match what % 4 {
            0 => message::Order::Event { name, payload },
            1 => message::Order::Query {
                ticket: 1,
                name,
                payload,
                filter: message::Filter::default(),
                timeout: Some(Duration::from_secs(u64::from(what))),
            },
            2 => match self.hosts[n].asked {
                Some(id) => message::Order::Answer(id, message::Verdict::Answer(payload)),
                None => return,
            },
            _ => message::Order::Cancel(1),
        };
        self.command(n, Command::Message(order));
    }

    /// Resigns, withdraws, or says that work as a leader has ended.
    pub fn step_down(&mut self, n: usize, election: ElectionId, how: u8) {
        let order = match (how % 4, self.hosts[n].led) {
            (0, Some(token)) => election::Order::Stopped(election, token),
            (1, _) => election::Order::Withdraw(election),
            (2, _) => election::Order::Resign(election, Some(id(usize::from(how >> 2) % NODES))),
            _ => election::Order::Resign(election, None),
        };
        self.command(n, Command::Election(order));
    }

    pub fn command(&mut self, n: usize, command: Command) {
        if self.hosts[n].gone {
            return;
        }
        // An operator who breaks a lock, or says that a member is gone for good, takes over what they promise.
        let breaks = matches!(command, Command::Lock(mutex::Order::Break(_)));
        self.trusted &= !breaks && !matches!(command, Command::ForceLeave(_));
        self.hosts[n].node.handle_command(self.now, command);
        self.drain(n);
    }

    /// Hands bytes to a node.
    pub fn receive(&mut self, n: usize, from: SocketAddr, bytes: &[u8]) {
        if !self.hosts[n].gone {
            self.hosts[n].node.handle_bytes(self.now, from, bytes);
            self.drain(n);
        }
    }

    /// Delivers a datagram that is under way.
    pub fn deliver(&mut self, at: usize) {
        let Flight { from, to, bytes } = self.flying.remove(at);
        self.receive(to, from, &bytes);
    }

    /// Fires the timers of a node that are due.
    pub fn fire(&mut self, n: usize) {
        if self.hosts[n].gone {
            return;
        }
        let mut fired = 0;
        while self.due(n).is_some_and(|at| at <= self.now) {
            fired += 1;
            assert!(fired <= FIRED_MAX, "a timer is due again and again");
            self.hosts[n].node.handle_timeout(self.now);
            self.drain(n);
        }
    }

    fn due(&self, n: usize) -> Option<Instant> {
        let host = &self.hosts[n];
        host.node.poll_timeout().filter(|_| !host.gone)
    }

    /// Lets time pass on a network that loses nothing.
    pub fn pass(&mut self, span: Duration) {
        let end = self.now + span;
        loop {
            for _ in 0..4 * FLYING_MAX {
                if self.flying.is_empty() {
                    break;
                }
                self.deliver(0);
            }
            let next = (0..NODES).filter_map(|n| self.due(n)).min();
            let Some(next) = next.filter(|at| *at <= end) else {
                break;
            };
            self.now = self.now.max(next);
            for n in 0..NODES {
                self.fire(n);
            }
        }
        self.now = end;
    }

    /// Lets a disk fail, or repairs it.
    pub fn break_disk(&mut self, n: usize) {
        let Some(unstored) = self.hosts[n].unstored.take() else {
            self.hosts[n].unstored = Some(Vec::new());
            return;
        };
        for fact in unstored {
            let host = &mut self.hosts[n];
            host.disk.store(fact.clone());
            if !host.gone {
                host.node.handle_stored(self.now, fact);
                self.drain(n);
            }
        }
    }

    /// Ends the process of a node, and starts another one with what is stored.
    pub fn restart(&mut self, n: usize, with_list: bool) {
        let host = &mut self.hosts[n];
        let secs = BIRTH_SECS + self.now.as_micros() / 1_000_000;
        let life = Life::starting(secs, n as u16, Some(host.disk.life));
        let table = host.node.membership().table();
        let list = table.iter().map(|m| m.record(self.now)).collect();
        // It has forgotten what it witnessed: this is no first start.
        self.config.mutex.bootstrap = false;
        host.node = start(&self.config, n, life, host.disk.memory, self.now);
        if host.unstored.take().is_some() {
            // A life that is not stored was never announced.
            host.claim = (life, Incarnation(0));
        }
        host.gone = false;
        (host.asked, host.led) = (None, None);
        self.works.retain(|w| w.host != n);
        let disk = host.disk.clone();
        for (id, record) in disk.leases {
            let order = election::Order::RestoreLease(id, Box::new(record));
            self.command(n, Command::Election(order));
        }
        for (id, term) in disk.terms {
            let order = election::Order::RestoreTerm(id, term);
            self.command(n, Command::Election(order));
        }
        if let Some(seq) = disk.fence {
            let order = mutex::Order::RestoreFence(seq);
            self.command(n, Command::Lock(order));
        }
        if with_list {
            self.command(n, Command::Restore(list));
        }
        self.command(n, Command::Join((0..NODES).map(addr).collect()));
    }

    /// The header of a node's datagrams.
    pub fn header(&self, n: usize) -> Header {
        let node = &self.hosts[n].node;
        Header {
            group: self.config.group_tag(),
            id: id(n),
            life: node.membership().life(),
            incarnation: node.membership().incarnation(),
            digest: node.membership().digest(id(n)),
            holds: true,
            ..Header::default()
        }
    }

    /// Takes everything out of a node after a step.
    fn drain(&mut self, n: usize) {
        let host = &mut self.hosts[n];
        while let Some(fact) = host.node.poll_fact() {
            match &mut host.unstored {
                None => host.disk.store(fact),
                Some(unstored) => {
                    unstored.push(fact);
                    host.node.handle_storage_failure(self.now);
                }
            }
        }
        let mut events = 0;
        while let Some(event) = self.hosts[n].node.poll_event() {
            events += 1;
            self.on_event(n, event);
        }
        let (mut sent, mut out) = (0, Datagram::default());
        let host = &mut self.hosts[n];
        while let Some((to, len)) = host.node.poll_transmit(&mut out) {
            sent += 1;
            let mut bytes = Vec::new();
            host.node.encode(&out, &mut bytes);
            assert_eq!(bytes.len(), len, "it is as long as was said");
            assert!(len <= usize::from(self.config.datagram_max), "{len} bytes");
            let heard = (0..NODES).filter(|&other| match to {
                Destination::Addr(at) => at == addr(other),
                Destination::Neighbors => other != n,
            });
            for to in heard {
                let flight = Flight {
                    from: addr(n),
                    to,
                    bytes: bytes.clone(),
                };
                if let Some(recorded) = &mut self.recorded {
                    recorded.push(flight.clone());
                }
                if self.flying.len() < FLYING_MAX {
                    self.flying.push(flight);
                }
            }
        }
        assert!(sent <= SENT_MAX, "{sent} datagrams in one step");
        assert!(events <= EVENTS_MAX, "{events} events in one step");
        self.check(n);
    }

    fn on_event(&mut self, n: usize, event: Event) {
        use membership::Event::{Departed, IdentityTaken};
        let host = &mut self.hosts[n];
        match event {
            Event::Membership(Departed | IdentityTaken) => host.gone = true,
            Event::Message(message::Event::Asked { id, .. }) => host.asked = Some(id),
            Event::Election(election::Event::BecameLeader { token, .. }) => host.led = Some(token),
            Event::Lock(mutex::Event::Granted {
                lock,
                ticket,
                mode,
                token,
                valid_until,
                ..
            }) => self.begin(n, lock, ticket, mode, token, valid_until),
            Event::Lock(mutex::Event::Renewed { lock, valid_until }) => {
                let until = self.promised(valid_until);
                let held: Vec<Ticket> = self.hosts[n].node.mutex().holders(lock).collect();
                let holds =
                    |w: &&mut Work| w.host == n && w.lock == lock && held.contains(&w.ticket);
                for work in self.works.iter_mut().filter(holds) {
                    work.until = work.until.max(until);
                }
            }
            _ => {}
        }
    }

    /// The validity that a holder is told, plus the notice.
    fn promised(&self, valid_until: Instant) -> Instant {
        valid_until + self.config.mutex.notice(self.config.mutex.ttl)
    }

    /// Work under a lock begins. Work of others has ended, unless all share, and tokens grow (I10).
    fn begin(
        &mut self,
        host: usize,
        lock: LockId,
        ticket: Ticket,
        mode: Mode,
        token: Fence,
        valid_until: Instant,
    ) {
        self.works.retain(|w| w.until > self.now);
        let shares = |w: &Work| (w.mode, mode) == (Mode::Shared, Mode::Shared);
        let other = self.works.iter().find(|w| w.lock == lock && !shares(w));
        let used = self.used.entry(lock).or_default();
        if self.trusted {
            assert!(other.is_none(), "node {host} has it beside {other:?}");
            assert!(token >= *used, "{token:?} is used after {used:?}");
        }
        if mode == Mode::Exclusive {
            *used = token.max(*used);
        }
        let until = self.promised(valid_until);
        self.works.push(Work {
            host,
            lock,
            ticket,
            mode,
            until,
        });
    }

    /// What holds for a node after every step.
    fn check(&mut self, n: usize) {
        let known: Vec<_> = self.hosts.iter().map(Host::claimed).collect();
        let host = &mut self.hosts[n];
        let own = host.node.membership();
        let claim = (own.life(), own.incarnation());
        assert!(claim >= host.claim, "I2: {claim:?} after {:?}", host.claim);
        host.claim = claim;
        let table = own.table();
        assert!(table.get(id(n)).is_none(), "I3: it lists itself");
        let max = self.config.membership.members_max as usize;
        assert!(table.len() <= max, "I14: {} records", table.len());
        assert!(own.health() <= self.config.membership.health_max, "I16");
        if !self.trusted {
            return;
        }
        for member in table.iter() {
            let held = (member.precedence.life, member.precedence.incarnation);
            let best = known.iter().find(|k| k.0 == member.id).map(|k| k.1);
            let best = best.expect("I2: only nodes that exist are listed");
            assert!(held <= best, "I2: {held:?} of {}, not {best:?}", member.id);
        }
    }
}
