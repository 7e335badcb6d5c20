//! A value that cannot be stored is not used: a single node whose disk fails and recovers.

use super::*;
use crate::command::Command;
use crate::election::{Candidacy, Policy};
use crate::id::{Incarnation, Term};
use crate::membership::{Precedence, Status};
use crate::mutex::{Acquire, Bound, Mode, Refusal, Ticket, Wait};
use crate::wire::Header;
use alloc::sync::Arc;
use core::time::Duration;

const E: ElectionId = ElectionId(7);
const LIFE: Life = Life(500 << 16);

/// A single node and its disk.
struct Alone {
    node: Node,
    now: Instant,
    /// Whether the disk fails.
    broken: bool,
    /// The facts that could not be stored.
    unstored: Vec<Fact>,
    stored: Vec<Fact>,
    events: Vec<Event>,
    sent: usize,
    /// The lives in which datagrams were sent.
    lives: Vec<Life>,
}

impl Alone {
    fn new() -> Alone {
        let mut config = Config::default();
        config.mutex.bound = Bound::Floor(1);
        config.mutex.bootstrap = true;
        // Datagrams are made by hand, without proof of their addresses.
        config.seal.challenge = false;
        let identity = Identity {
            id: NodeId(1),
            life: LIFE,
            addr: SocketAddr::from(([10, 0, 0, 1], 7000)),
            meta: Meta::default(),
            memory: LIFE,
            wall: None,
        };
        let mut alone = Alone {
            node: Node::new(config, identity, 1, Instant::ZERO).unwrap(),
            now: Instant::ZERO,
            broken: false,
            unstored: Vec::new(),
            stored: Vec::new(),
            events: Vec::new(),
            sent: 0,
            lives: Vec::new(),
        };
        alone.drain();
        alone
    }

    fn drain(&mut self) {
        while let Some(fact) = self.node.poll_fact() {
            if self.broken {
                self.unstored.push(fact);
                self.node.handle_storage_failure(self.now);
            } else {
                self.stored.push(fact.clone());
            }
        }
        while let Some(event) = self.node.poll_event() {
            self.events.push(event);
        }
        let mut out = Datagram::default();
        while self.node.poll_transmit(&mut out).is_some() {
            self.sent += 1;
            self.lives.push(out.header.life);
        }
    }

    fn command(&mut self, command: Command) {
        self.node.handle_command(self.now, command);
        self.drain();
    }

    /// Lets time pass.
    fn pass(&mut self, span: Duration) {
        let end = self.now + span;
        while let Some(at) = self.node.poll_timeout().filter(|at| *at <= end) {
            self.now = self.now.max(at);
            self.node.handle_timeout(self.now);
            self.drain();
        }
        self.now = end;
    }

    /// Repairs the disk, and stores the missing facts.
    fn repair(&mut self) {
        self.broken = false;
        for fact in core::mem::take(&mut self.unstored) {
            self.stored.push(fact.clone());
            self.node.handle_stored(self.now, fact);
            self.drain();
        }
    }

    fn stand(&mut self) {
        let (policy, how) = (Policy::default(), Candidacy::default());
        self.command(Command::Election(election::Order::Open(E, policy)));
        self.command(Command::Election(election::Order::Campaign(E, how)));
    }

    fn acting(&self) -> Option<Term> {
        let standing = self.node.standing(self.now, E)?;
        standing.acting.map(|token| token.term)
    }

    fn acquire(&mut self, ticket: u64, wait: Wait) {
        let acquire = Acquire {
            name: Arc::from("l"),
            ticket: Ticket(ticket),
            mode: Mode::Exclusive,
            wait,
            policy: Arc::default(),
        };
        self.command(Command::Lock(mutex::Order::Acquire(acquire)));
    }

    fn is_granted(&self, ticket: u64) -> bool {
        let granted = |e: &Event| matches!(e, Event::Lock(mutex::Event::Granted { ticket: t, .. }) if *t == Ticket(ticket));
        self.events.iter().any(granted)
    }

    /// Whether the stored clock covers the token.
    fn covers_fence(&self) -> bool {
        let stored = self.stored.iter().filter_map(|fact| match fact {
            Fact::Fence(seq) => Some(*seq),
            _ => None,
        });
        let stored = stored.max().unwrap_or(0);
        let tokens = self.events.iter().filter_map(|e| match e {
            Event::Lock(mutex::Event::Granted { token, .. }) => Some(token.seq()),
            _ => None,
        });
        tokens.max().is_some_and(|seq| seq < stored)
    }
}

#[test]
fn no_term_is_issued_that_is_not_stored_and_the_election_is_held_when_it_can_be() {
    let mut alone = Alone::new();
    alone.broken = true;
    alone.stand();
    alone.pass(Duration::from_secs(120));
    assert_eq!(alone.acting(), None);
    let told = |e: &&Event| matches!(e, Event::Election(election::Event::Changed { .. }));
    assert_eq!(alone.events.iter().find(told), None, "nothing was told");
    let attempts = alone.node.stats().election.elections;
    assert_eq!(attempts, 1, "it did not try again and again");

    alone.repair();
    alone.pass(Duration::from_secs(30));
    let term = alone.acting().expect("it leads once terms can be stored");
    assert!(alone.stored.contains(&Fact::Term(E, term)), "{term:?}");
}

#[test]
fn a_leader_whose_disk_fails_goes_on_leading() {
    let mut alone = Alone::new();
    alone.stand();
    alone.pass(Duration::from_secs(30));
    let term = alone.acting().expect("it leads");
    alone.broken = true;
    alone.acquire(1, Wait::Forever);
    alone.pass(Duration::from_secs(60));
    assert_eq!(alone.acting(), Some(term));
}

#[test]
fn no_token_of_a_lock_is_used_that_is_not_stored() {
    let mut alone = Alone::new();
    alone.pass(Duration::from_secs(1));
    alone.broken = true;
    alone.acquire(2, Wait::Try);
    alone.acquire(1, Wait::Forever);
    alone.pass(Duration::from_secs(60));
    assert!(!alone.is_granted(1) && !alone.is_granted(2));
    let refused = |e: &Event| {
        let why = Refusal::NotReady;
        matches!(e, Event::Lock(mutex::Event::Refused { ticket: Ticket(2), why: w, .. }) if *w == why)
    };
    assert!(alone.events.iter().any(refused), "it did not want to wait");

    alone.repair();
    assert!(alone.is_granted(1), "the one that waited has its turn");
    assert!(alone.covers_fence());
}

#[test]
fn what_is_held_is_kept_when_the_disk_fails() {
    let mut alone = Alone::new();
    alone.pass(Duration::from_secs(1));
    alone.acquire(1, Wait::Forever);
    alone.pass(Duration::from_secs(1));
    assert!(alone.is_granted(1) && alone.covers_fence());
    alone.broken = true;
    alone.stand();
    alone.pass(Duration::from_secs(60));
    let lost = |e: &Event| matches!(e, Event::Lock(mutex::Event::Lost { .. }));
    assert!(!alone.events.iter().any(lost));
    // The clock that was stored ahead covers more requests.
    let release = mutex::Order::Release(crate::mutex::LockId::of("l"), Ticket(1));
    alone.command(Command::Lock(release));
    alone.acquire(2, Wait::Forever);
    alone.pass(Duration::from_secs(1));
    assert!(alone.is_granted(2) && alone.covers_fence());
}

/// SEC-7: a `Left`, or a later life, told of a node whose disk is full must not silence it.
#[test]
fn a_node_whose_disk_fails_speaks_on_in_its_life_and_takes_the_next_once_it_is_stored() {
    let mut alone = Alone::new();
    alone.broken = true;
    let seed = SocketAddr::from(([10, 0, 0, 2], 7000));
    alone.command(Command::Join(Vec::from([seed])));
    let own = alone.node.membership().addr();
    let claims = [
        Precedence::alive(LIFE, Incarnation(0)).with(Status::Left),
        Precedence::alive(Life(600 << 16), Incarnation(0)),
    ];
    for said in claims {
        // Another node tells what it remembers of this one.
        let accusation = membership::Accusation {
            id: NodeId(1),
            precedence: said,
            accuser: NodeId(2),
        };
        let mut datagram = Datagram {
            header: Header {
                group: Config::default().group_tag(),
                id: NodeId(2),
                life: LIFE,
                ..Header::default()
            },
            frames: Vec::from([Frame::Membership(membership::Msg::Accusation(accusation))]),
            ..Datagram::default()
        };
        alone.node.handle_datagram(alone.now, seed, &mut datagram);
        alone.sent = 0;
        alone.drain();
        alone.pass(Duration::from_secs(10));
        assert!(alone.sent > 0, "it was silenced by {said:?}");
        assert_eq!(alone.node.membership().life(), LIFE);
        assert!(
            alone.lives.iter().all(|life| *life == LIFE),
            "{:?}",
            alone.lives
        );
    }
    let conflict = Event::Membership(membership::Event::IdentityConflict);
    assert!(!alone.events.contains(&conflict));

    alone.repair();
    alone.pass(Duration::from_secs(10));
    let life = alone.node.membership().life();
    assert!(life > Life(600 << 16) && alone.stored.contains(&Fact::Life(life)));
    assert_eq!(alone.lives.last(), Some(&life));
    assert_eq!(alone.node.membership().addr(), own);
}

/// Two nodes of a sealed group that have met.
fn sealed_pair() -> [Node; 2] {
    let addr = |n: u64| SocketAddr::from(([10, 0, 0, n as u8], 7000));
    let mut nodes = [1, 2].map(|n| {
        let mut config = Config::default();
        config.seal.suite = crate::seal::Suite::Toy(7);
        let identity = Identity {
            id: NodeId(n),
            life: LIFE,
            addr: addr(n),
            meta: Meta::default(),
            memory: LIFE,
            wall: None,
        };
        Node::new(config, identity, n, Instant::ZERO).unwrap()
    });
    nodes[1].handle_command(Instant::ZERO, Command::Join(alloc::vec![addr(1)]));
    let mut out = Datagram::default();
    for secs in 0..10 {
        let now = Instant::ZERO + Duration::from_secs(secs);
        nodes.iter_mut().for_each(|n| n.handle_timeout(now));
        for n in [0, 1, 0, 1, 0, 1, 0, 1, 0, 1] {
            while nodes[n].poll_fact().is_some() || nodes[n].poll_event().is_some() {}
            while nodes[n].poll_transmit(&mut out).is_some() {
                nodes[1 - n].handle_datagram(now, addr(n as u64 + 1), &mut out);
            }
        }
    }
    assert!(nodes.iter().all(|n| n.membership().table().live() == 1));
    nodes
}

#[test]
fn one_member_is_heard_so_often_a_second() {
    let [mut a, mut b] = sealed_pair();
    let before = a.stats();
    let now = Instant::ZERO + Duration::from_secs(100);
    for _ in 0..3000 {
        let mut datagram = Datagram {
            header: Header {
                group: a.io.group,
                id: NodeId(2),
                life: LIFE,
                incarnation: b.membership.state.incarnation(),
                ..Header::default()
            },
            envelope: b.envelop(Some(NodeId(1)), false),
            ..Datagram::default()
        };
        let from = SocketAddr::from(([10, 0, 0, 2], 7000));
        a.handle_datagram(now, from, &mut datagram);
    }
    let after = a.stats();
    assert_eq!(after.datagrams_in - before.datagrams_in, 2000);
    assert_eq!(after.seal.rate_dropped_members, 1000);
}
