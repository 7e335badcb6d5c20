//! What the certificate of a member allows is enforced by the others, whatever the member itself does.

use super::identified::{cert, certified, operator};
use super::keyed::key;
use super::*;
use crate::election::{self, Candidacy, Claim, Key, Policy, Remarks, Stage, Token};
use crate::id::{ElectionId, Term};
use crate::mutex::{self, Acquire, LockId, Realm, Ticket, Wait};
use crate::seal::{Curve, Roles, Scope};
use alloc::sync::Arc;

const BOSS: ElectionId = ElectionId(5);

/// The settings of node `n`, whose certificate allows it this much.
fn limited(n: u64, roles: Roles, scopes: &[Scope]) -> Config {
    let mut certificate = cert(Curve::Real, n, 1);
    (certificate.roles, certificate.scopes) = (roles, scopes.to_vec());
    let certificate = certificate.sign(Curve::Real, &operator(200), "consort");
    certified(Suite::Keyed(vec![key(1)].into()), n, certificate)
}

/// Members that have met. Number 2 may do what is given here, the others everything.
fn group(count: u64, roles: Roles, scopes: &[Scope]) -> Net {
    let config = |n| match n {
        2 => limited(2, roles, scopes),
        _ => limited(n, Roles::ALL, &[]),
    };
    let mut net = Net::each(count, config);
    for n in 2..=count {
        net.join(n as usize, 1);
    }
    net.pass(Duration::from_secs(20));
    assert_eq!(net.lists(), vec![count as usize - 1; count as usize]);
    net
}

fn order(net: &mut Net, n: usize, command: Command) {
    net.nodes[n - 1].handle_command(net.now, command);
}

fn campaign(net: &mut Net, n: usize, election: ElectionId) {
    let order_of = election::Order::Campaign(election, Candidacy::default());
    order(net, n, Command::Election(order_of));
}

fn open(net: &mut Net, election: ElectionId) {
    for n in 1..=net.nodes.len() {
        let open = election::Order::Open(election, Policy::default());
        order(net, n, Command::Election(open));
    }
}

fn leaders(net: &Net, election: ElectionId) -> Vec<Option<NodeId>> {
    let leader = |node: &Node| {
        let standing = node.standing(net.now, election)?;
        standing.claim.filter(|_| standing.has_leader)
    };
    net.nodes
        .iter()
        .map(|n| leader(n).map(|c| c.leader))
        .collect()
}

fn acquire(net: &mut Net, n: usize, name: &str, ticket: u64) {
    let acquire = Acquire {
        name: name.into(),
        ticket: Ticket(ticket),
        mode: mutex::Mode::Exclusive,
        wait: Wait::Forever,
        policy: Arc::default(),
    };
    order(net, n, Command::Lock(mutex::Order::Acquire(acquire)));
}

fn holds(net: &Net, n: usize, name: &str) -> bool {
    net.nodes[n - 1].mutex().held(LockId::of(name)).is_some()
}

fn refused(net: &Net, n: usize) -> u64 {
    net.nodes[n - 1].stats().seal.roles_refused
}

/// A claim of number 2 that it leads itself, greater than all others.
fn forged_claim(net: &Net, leader: u64) -> Claim {
    let life = net.nodes[1].membership().life();
    Claim {
        key: Key {
            token: Token {
                term: Term(1 << 31),
                initiator: NodeId(2),
                life,
                revision: 0,
            },
            stage: Stage::Confirmed,
        },
        leader: NodeId(leader),
        leader_life: net.nodes[leader as usize - 1].membership().life(),
        churn: crate::churn::Beta::PRIOR,
        remarks: Remarks::default(),
    }
}

#[test]
fn nobody_follows_a_member_that_may_not_campaign() {
    let mut net = group(4, Roles::LOCK, &[]);
    open(&mut net, BOSS);
    campaign(&mut net, 2, BOSS);
    net.pass(Duration::from_secs(60));
    assert_eq!(leaders(&net, BOSS), [None; 4]);
    campaign(&mut net, 3, BOSS);
    net.pass(Duration::from_secs(60));
    assert_eq!(leaders(&net, BOSS), [Some(NodeId(3)); 4]);
    // It says that it leads all the same, in every way there is.
    let claim = forged_claim(&net, 2);
    let before: Vec<u64> = (1..=4).map(|n| refused(&net, n)).collect();
    for to in [1, 3, 4] {
        for msg in [
            election::Msg::Claim(BOSS, claim),
            election::Msg::Leader(BOSS, claim),
        ] {
            net.nodes[1].say_to(NodeId(to), Frame::Election(msg));
        }
    }
    net.pass(Duration::from_secs(5));
    for n in [1, 3, 4] {
        assert!(refused(&net, n) >= before[n - 1] + 2, "{n}");
        let held = net.nodes[n - 1].election().claim(BOSS).unwrap();
        assert_eq!(held.leader, NodeId(3), "{n}");
    }
    // Nobody else gets it followed, either.
    let told = election::Msg::Claim(BOSS, claim);
    net.nodes[3].say_to(NodeId(1), Frame::Election(told));
    net.pass(Duration::from_secs(5));
    let held = net.nodes[0].election().claim(BOSS).unwrap();
    assert_eq!(held.leader, NodeId(3));
}

#[test]
fn a_role_holds_in_the_elections_that_the_certificate_names() {
    let scopes = [Scope::Election(7)];
    let mut net = group(3, Roles::CAMPAIGN, &scopes);
    for election in [BOSS, ElectionId(7)] {
        open(&mut net, election);
        campaign(&mut net, 2, election);
    }
    net.pass(Duration::from_secs(60));
    assert_eq!(leaders(&net, ElectionId(7)), [Some(NodeId(2)); 3]);
    assert_eq!(leaders(&net, BOSS), [None; 3]);
}

#[test]
fn a_leader_that_is_out_of_reach_is_followed_once_others_have_shown_its_certificate() {
    let mut net = group(4, Roles::ALL, &[]);
    open(&mut net, BOSS);
    campaign(&mut net, 2, BOSS);
    net.pass(Duration::from_secs(60));
    assert_eq!(leaders(&net, BOSS), [Some(NodeId(2)); 4]);
    // Number 4 comes anew, and never hears number 2.
    net.apart = Some((2, 4));
    let config = limited(4, Roles::ALL, &[]);
    net.restart_with(4, Life(900 << 16), 1, config);
    let open = election::Order::Open(BOSS, Policy::default());
    order(&mut net, 4, Command::Election(open));
    assert!(net.nodes[3].certificate_of(NodeId(2)).is_none());
    net.pass(Duration::from_secs(30));
    assert!(net.nodes[3].sealer_knows(NodeId(2)).is_none());
    let claim = net.nodes[3].election().claim(BOSS).unwrap();
    assert_eq!(claim.leader, NodeId(2));
    assert_eq!(net.nodes[3].certificate_of(NodeId(2)).unwrap().serial, 1);
}

#[test]
fn nobody_answers_a_member_that_may_not_hold_a_lock() {
    let scopes = [Scope::Realm(Realm::of("kitchen").0)];
    let mut net = group(4, Roles::LOCK, &scopes);
    acquire(&mut net, 2, "kitchen/oven", 1);
    acquire(&mut net, 2, "attic/door", 2);
    net.pass(Duration::from_secs(60));
    assert!(holds(&net, 2, "kitchen/oven"));
    assert!(!holds(&net, 2, "attic/door"));
    assert_eq!((1..=4).map(|n| refused(&net, n)).sum::<u64>(), 0);
    // It asks all the same.
    let request = mutex::Request {
        lock: LockId::of("attic/door"),
        ctr: 99,
        prio: 1,
        stamp: 1,
        place: 0,
        mode: mutex::Mode::Exclusive,
        held: false,
        attempt: 1,
        ttl_ms: 10_000,
        clock: 1,
        asked: None,
    };
    let sent = net.nodes[0].stats().datagrams_out;
    let msg = Frame::Mutex(mutex::Msg::Request(request));
    net.nodes[1].say_to(NodeId(1), msg);
    net.settle();
    assert_eq!(net.nodes[0].stats().seal.roles_refused, 1);
    assert_eq!(net.nodes[0].stats().datagrams_out, sent);
    assert_eq!(net.nodes[0].mutex().witnessed(LockId::of("attic/door")), 0);
}

#[test]
fn only_who_may_break_a_lock_takes_it_from_its_holder() {
    let scopes = [Scope::Realm(Realm::of("attic").0)];
    let mut net = group(4, Roles::LOCK.and(Roles::BREAK), &scopes);
    for (n, name) in [(1, "kitchen/oven"), (3, "attic/door")] {
        acquire(&mut net, n, name, 1);
    }
    net.pass(Duration::from_secs(60));
    assert!(holds(&net, 1, "kitchen/oven") && holds(&net, 3, "attic/door"));
    // Its own node does not do it, and the others do not hear it.
    let lock = LockId::of("kitchen/oven");
    order(&mut net, 2, Command::Lock(mutex::Order::Break(lock)));
    let floor = mutex::Fence::new(1 << 41, 0, NodeId(0));
    let msg = mutex::Msg::Break { lock, floor };
    for to in [1, 3, 4] {
        net.nodes[1].say_to(NodeId(to), Frame::Mutex(msg.clone()));
    }
    net.pass(Duration::from_secs(20));
    assert!(holds(&net, 1, "kitchen/oven"));
    assert_eq!(refused(&net, 1), 1);
    let lock = LockId::of("attic/door");
    order(&mut net, 2, Command::Lock(mutex::Order::Break(lock)));
    net.settle();
    assert!(!holds(&net, 3, "attic/door"));
}
