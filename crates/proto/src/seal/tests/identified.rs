//! Groups whose members prove who they are: the group's key alone makes nobody a member, and no member speaks for another.

use super::keyed::{key, keyed};
use super::*;
use crate::seal::{
    self, Cert, CertMsg, Clear, Curve, Identified, PublicKey, Refusal, Roles, Scope, Secret,
};
use alloc::sync::Arc;
use alloc::vec;

fn secret(n: u64) -> Secret {
    let mut secret = Secret([7; 32]);
    secret.0[..8].copy_from_slice(&n.to_le_bytes());
    secret
}

fn operator(n: u8) -> Secret {
    Secret([n; 32])
}

/// Certificates of the first operator for node `n`.
pub(super) fn cert(curve: Curve, n: u64, serial: u32) -> Cert {
    Cert {
        id: NodeId(n),
        key: curve.public(&secret(n)),
        serial,
        not_after: 0,
        roles: Roles::ALL,
        scopes: Vec::new(),
        operator: 0,
        signature: [0; 64],
    }
    .sign(curve, &operator(200), "consort")
}

/// The settings of node `n` with a certificate.
fn certified(suite: Suite, n: u64, certificate: Cert) -> Config {
    let mut config = keyed(vec![key(1)]);
    config.seal.suite = suite;
    config.seal.identity = Some(Identified {
        secret: secret(n),
        certificate,
        operators: vec![config.seal.curve().public(&operator(200))],
        verify_per_second: 500,
    });
    config
}

pub(super) fn identified(n: u64) -> Config {
    let suite = Suite::Keyed(vec![key(1)].into());
    certified(suite, n, cert(Curve::Real, n, 1))
}

/// Members that have met.
fn group(count: u64) -> Net {
    let mut net = Net::each(count, identified);
    for n in 2..=count {
        net.join(n as usize, 1);
    }
    net.pass(Duration::from_secs(20));
    assert_eq!(net.lists(), vec![count as usize - 1; count as usize]);
    net
}

fn view(net: &Net) -> Vec<Vec<(NodeId, Precedence)>> {
    let members = |node: &Node| {
        let table = node.membership().table();
        table.iter().map(|m| (m.id, m.precedence)).collect()
    };
    net.nodes.iter().map(members).collect()
}

fn came(net: &Net) -> u64 {
    net.nodes.iter().map(|n| n.stats().datagrams_in).sum()
}

/// What a node has to send, encoded.
fn drain(node: &mut Node) -> Vec<(SocketAddr, Vec<u8>)> {
    while node.poll_fact().is_some() {}
    while node.poll_event().is_some() {}
    let (mut out, mut all) = (Datagram::default(), Vec::new());
    while let Some((Destination::Addr(to), len)) = node.poll_transmit(&mut out) {
        let mut bytes = Vec::new();
        node.encode(&out, &mut bytes);
        assert_eq!(bytes.len(), len, "{out:?}");
        all.push((to, bytes));
    }
    all
}

/// A datagram as somebody seals it that has the group's key, in the name of `sender`.
fn forge(sender: u64, salt: u64, counter: u64, to: Option<u64>, inner: &Datagram) -> Vec<u8> {
    forge_under(
        seal::session_key(&key(1), "consort", NodeId(sender), salt),
        Clear {
            directed: to.is_some(),
            paired: false,
            kid: seal::kid(&key(1)),
            sender: NodeId(sender),
            salt,
            counter,
        },
        to,
        inner,
    )
}

fn forge_under(session: [u8; 32], clear: Clear, to: Option<u64>, inner: &Datagram) -> Vec<u8> {
    let mut bytes = clear.encode().to_vec();
    let start = bytes.len();
    inner.encode_inner(&mut bytes);
    seal::seal(&session, &clear, to.map(NodeId), &mut bytes, start);
    bytes
}

/// The salt and the last counter of a node.
fn last_of(net: &Net, n: u64) -> (u64, u64) {
    let sent = net.recorded.iter().rev().find(|r| r.0 == addr(n));
    let clear = Clear::decode(&sent.unwrap().2).unwrap();
    (clear.salt, clear.counter)
}

#[test]
fn an_identified_group_meets_and_members_know_each_others_certificates() {
    let net = group(3);
    for node in &net.nodes {
        for n in 1..=3 {
            assert_eq!(node.certificate_of(NodeId(n)).unwrap().serial, 1);
        }
        let stats = node.stats().seal;
        assert_eq!((stats.certs_refused, stats.tag_failed), (0, 0), "{stats:?}");
    }
    // Once they have met, all is said in pairs.
    let clear = |b: &Vec<u8>| Clear::decode(b).unwrap();
    let late = net.recorded.iter().rev().take(20);
    assert!(late.map(|r| clear(&r.2)).all(|c| c.paired && c.directed));
}

#[test]
fn the_groups_key_alone_makes_nobody_a_member() {
    let mut net = group(3);
    let before = view(&net);
    let suite = || Suite::Keyed(vec![key(1)].into());
    // One has the key alone, one another operator's certificate, one another member's.
    let others = cert(Curve::Real, 9, 1).sign(Curve::Real, &operator(201), "consort");
    let mut foreign = certified(suite(), 9, others);
    let own = foreign.seal.identity.as_mut().unwrap();
    own.operators = vec![Curve::Real.public(&operator(201))];
    for config in [keyed(vec![key(1)]), foreign] {
        let mut thief = Node::new(config, identity(9), 1, net.now).unwrap();
        thief.handle_command(net.now, Command::Join(vec![addr(1)]));
        for _ in 0..20 {
            net.now = net.now + Duration::from_secs(1);
            let now = net.now;
            thief.handle_timeout(now);
            for (to, bytes) in drain(&mut thief) {
                assert_eq!(to, addr(1));
                net.nodes[0].handle_bytes(now, addr(9), &bytes);
            }
            for (to, bytes) in drain(&mut net.nodes[0]) {
                if to == addr(9) {
                    thief.handle_bytes(now, addr(1), &bytes);
                }
            }
        }
        assert_eq!(thief.membership().table().live(), 0);
    }
    assert_eq!(view(&net)[0], before[0]);
    assert!(net.nodes[0].sealer_knows(NodeId(9)).is_none());
    assert!(net.nodes[0].stats().seal.certs_refused > 0);
}

#[test]
fn the_groups_key_moves_no_window_and_makes_nobody_leave() {
    let mut net = group(3);
    let (salt, counter) = last_of(&net, 2);
    let before = view(&net);
    let taken = came(&net);
    let dead = || frame(Msg::Record(record(3, Status::Dead, LIFE)));
    let mut inner = datagram(2, vec![dead(), frame(Msg::Ack { seq: 1 })]);
    inner.header.leaving = true;
    inner.header.incarnation = Incarnation(9);
    inner.header.life = net.nodes[1].membership().life();
    for to in [None, Some(1)] {
        let bytes = forge(2, salt, counter + 100_000, to, &inner);
        net.nodes[0].handle_bytes(net.now, addr(2), &bytes);
    }
    assert_eq!(net.nodes[0].stats().seal.unpaired, 3);
    assert_eq!(view(&net), before);
    assert_eq!(came(&net), taken);
    // What number 2 says itself counts as before.
    let was = net.nodes[0].stats().seal.replayed;
    net.pass(Duration::from_secs(5));
    assert_eq!(net.nodes[0].stats().seal.replayed, was);
    assert!(net.nodes[0].stats().datagrams_in > 0 && came(&net) > taken);
    assert_eq!(net.lists(), [2; 3]);
}

/// A datagram of a member's own session with a counter that it has not used is a copy's in a keyed group. Here it may be
/// anybody's, and must not stop the member.
#[test]
fn the_groups_key_stops_nobody_as_if_a_copy_of_it_ran() {
    let mut net = group(2);
    let (salt, counter) = last_of(&net, 1);
    let mut inner = datagram(1, vec![frame(Msg::Join)]);
    inner.header.life = net.nodes[0].membership().life();
    let own = net.nodes[0].stats().datagrams_own_id;
    for to in [None, Some(1)] {
        let bytes = forge(1, salt, counter + 1000, to, &inner);
        net.nodes[0].handle_bytes(net.now, addr(9), &bytes);
    }
    let stats = net.nodes[0].stats();
    assert_eq!(stats.datagrams_own_id, own + 2);
    assert_eq!(stats.seal.clones_seen, 0);
    let carried = net.carried;
    net.pass(Duration::from_secs(10));
    assert!(net.carried > carried);
    assert_eq!(net.nodes[0].stats().seal.unsealable, 0);
}

#[test]
fn no_member_speaks_for_another() {
    let mut net = group(3);
    let (salt, counter) = last_of(&net, 2);
    let before = view(&net);
    let mut inner = datagram(2, vec![frame(Msg::Ack { seq: 1 })]);
    inner.header.life = net.nodes[1].membership().life();
    inner.header.leaving = true;
    // Number 3 has the group's key, its own secret, and all certificates.
    let public = |n| Curve::Real.public(&secret(n));
    let session = seal::session_key(&key(1), "consort", NodeId(2), salt);
    for other in [1, 2] {
        let shared = Curve::Real.shared(&secret(3), &public(other)).unwrap();
        let clear = Clear {
            directed: true,
            paired: true,
            kid: seal::kid(&key(1)),
            sender: NodeId(2),
            salt,
            counter: counter + 1,
        };
        let bytes = forge_under(seal::pair_key(&session, &shared), clear, Some(1), &inner);
        net.nodes[0].handle_bytes(net.now, addr(2), &bytes);
    }
    assert_eq!(net.nodes[0].stats().seal.tag_failed, 2);
    assert_eq!(view(&net), before);
}

#[test]
fn identified_nodes_that_restart_at_once_meet_again_in_spite_of_loss() {
    let mut net = group(3);
    net.loss_percent = 30;
    for n in 1..=3 {
        let seed = if n == 1 { 2 } else { 1 };
        net.restart_with(n, Life(900 << 16), seed, identified(n));
    }
    net.pass(Duration::from_secs(120));
    for (n, node) in (1..).zip(&net.nodes) {
        for other in (1..=3).filter(|other| *other != n) {
            let known = node.membership().table().get(NodeId(other)).unwrap();
            let reborn = known.precedence.life == Life(900 << 16);
            assert!(reborn && known.is_proven(), "{n} {other}: {known:?}");
        }
    }
}

#[test]
fn one_that_restarts_is_let_in_although_it_forgot_all_certificates() {
    let mut net = group(4);
    let (accused, carried) = (accusations(&net), net.carried);
    net.restart_with(3, Life(900 << 16), 1, identified(3));
    net.pass(Duration::from_secs(10));
    assert_eq!(net.lists(), [3; 4]);
    assert_eq!(accusations(&net), accused);
    let minute = net.carried - carried;
    assert!(minute < 400, "{minute}");
    assert!(net.nodes[2].stats().seal.certs_unknown > 0);
}

fn accusations(net: &Net) -> u64 {
    net.nodes
        .iter()
        .map(|n| n.stats().membership.accusations)
        .sum()
}

#[test]
fn what_was_recorded_in_an_identified_group_counts_nowhere_again() {
    let mut net = group(3);
    let record = net.recorded.clone();
    let (before, taken) = (view(&net), came(&net));
    for (from, to, bytes) in &record {
        for n in 1..=3 {
            net.nodes[n as usize - 1].handle_bytes(net.now, *from, bytes);
            if addr(n) != *to {
                net.nodes[n as usize - 1].handle_bytes(net.now, *to, bytes);
            }
        }
    }
    assert_eq!(came(&net), taken);
    assert_eq!(view(&net), before);
    assert!(net.nodes[0].stats().seal.replayed > 0);
    // Nor at a receiver that began a new life.
    let identity = Identity {
        life: Life(900 << 16),
        ..identity(2)
    };
    net.nodes[1] = Node::new(identified(2), identity, 1, net.now).unwrap();
    for (from, _, bytes) in &record {
        net.nodes[1].handle_bytes(net.now, *from, bytes);
    }
    assert_eq!(net.nodes[1].stats().datagrams_in, 0);
    assert_eq!(net.nodes[1].membership().table().len(), 0);
}

#[test]
fn no_nonce_is_used_twice_in_an_identified_group() {
    let mut net = group(3);
    net.restart_with(3, Life(900 << 16), 1, identified(3));
    net.pass(Duration::from_secs(10));
    let nonce = |b: &Vec<u8>| {
        let clear = Clear::decode(b).unwrap();
        (clear.sender, clear.salt, clear.counter)
    };
    let nonces: alloc::collections::BTreeSet<_> =
        net.recorded.iter().map(|r| nonce(&r.2)).collect();
    assert_eq!(nonces.len(), net.recorded.len());
}

#[test]
fn the_toy_of_an_identified_group_does_what_the_curve_does() {
    let run = |suite: Suite| {
        let curve = match suite {
            Suite::Toy(_) => Curve::Toy,
            _ => Curve::Real,
        };
        let mut net = Net::each(4, |n| certified(suite.clone(), n, cert(curve, n, 1)));
        net.loss_percent = 20;
        for n in 2..=4 {
            net.join(n, 1);
        }
        net.pass(Duration::from_secs(20));
        let config = certified(suite.clone(), 3, cert(curve, 3, 1));
        net.restart_with(3, Life(900 << 16), 1, config);
        net.pass(Duration::from_secs(20));
        let stats: Vec<_> = net.nodes.iter().map(|n| n.stats()).collect();
        (view(&net), stats, net.carried)
    };
    assert_eq!(run(Suite::Toy(7)), run(Suite::Keyed(vec![key(1)].into())));
}

#[test]
fn a_toy_datagram_for_a_pair_says_nothing_to_another() {
    let suite = Suite::Toy(7);
    let mut net = Net::each(3, |n| certified(suite.clone(), n, cert(Curve::Toy, n, 1)));
    for n in [2, 3] {
        net.join(n, 1);
    }
    net.pass(Duration::from_secs(10));
    let mut out = Datagram::default();
    let sent = (1..100).find_map(|n| {
        net.nodes[0].handle_timeout(net.now + Duration::from_millis(20) * n);
        net.nodes[0].poll_transmit(&mut out)
    });
    assert!(sent.is_some() && out.envelope.unwrap().paired);
    let mut aloud = out.clone();
    aloud.envelope.as_mut().unwrap().paired = false;
    let other = if out.envelope.unwrap().to == Some(NodeId(2)) {
        3
    } else {
        2
    };
    let taken = came(&net);
    for mut bad in [aloud, out] {
        net.nodes[other - 1].handle_datagram(net.now, addr(1), &mut bad);
    }
    assert_eq!(net.nodes[other - 1].stats().seal.tag_failed, 2);
    assert_eq!(came(&net), taken);
}

#[test]
fn a_greater_serial_replaces_a_key_and_a_smaller_one_is_refused() {
    let mut net = group(2);
    // The device of number 2 was stolen; another one gets its id.
    let fresh = Secret([99; 32]);
    let mut replaced = cert(Curve::Real, 2, 2);
    replaced.key = Curve::Real.public(&fresh);
    let replaced = replaced.sign(Curve::Real, &operator(200), "consort");
    let mut config = identified(2);
    let own = config.seal.identity.as_mut().unwrap();
    (own.secret, own.certificate) = (fresh, replaced);
    net.restart_with(2, Life(600 << 16), 1, config);
    net.pass(Duration::from_secs(10));
    assert_eq!(net.lists(), [1, 1]);
    let known = |net: &Net| net.nodes[0].certificate_of(NodeId(2)).unwrap().serial;
    assert_eq!(known(&net), 2);
    // The thief comes back with the old one.
    let refused = net.nodes[0].stats().seal.certs_refused;
    let mut thief = Node::new(
        identified(2),
        Identity {
            life: Life(900 << 16),
            ..identity(2)
        },
        1,
        net.now,
    )
    .unwrap();
    thief.handle_command(net.now, Command::Join(vec![addr(1)]));
    for (_, bytes) in drain(&mut thief) {
        net.nodes[0].handle_bytes(net.now, addr(66), &bytes);
    }
    assert_eq!(known(&net), 2);
    assert_eq!(net.nodes[0].stats().seal.certs_refused, refused + 1);
    assert_eq!(net.lists(), [1, 1]);
}

/// A node at a wall clock, which meets one whose certificate ends in an hour of 1980.
fn meets_at(wall: Option<u64>) -> (Net, Option<Refusal>) {
    let until = 10 * 365 * 24;
    let mut short = cert(Curve::Real, 2, 1);
    short.not_after = until;
    let short = short.sign(Curve::Real, &operator(200), "consort");
    let suite = || Suite::Keyed(vec![key(1)].into());
    let mut net = Net::each(2, |n| match n {
        2 => certified(suite(), n, short.clone()),
        n => identified(n),
    });
    let clocked = Identity {
        wall,
        ..identity(1)
    };
    net.nodes[0] = Node::new(identified(1), clocked, 1, net.now).unwrap();
    net.join(2, 1);
    let mut why = None;
    for _ in 0..5 {
        net.now = net.now + Duration::from_secs(1);
        for (to, bytes) in drain(&mut net.nodes[1]) {
            assert_eq!(to, addr(1));
            net.nodes[0].handle_bytes(net.now, addr(2), &bytes);
        }
        while let Some(event) = net.nodes[0].poll_event() {
            if let Event::Refused { why: w, .. } = event {
                why = Some(w);
            }
        }
        net.settle();
        net.nodes[1].handle_timeout(net.now);
    }
    (net, why)
}

#[test]
fn a_certificate_ends_where_a_clock_says_so_and_nowhere_else() {
    let end = (10 * 365 * 24 + 1) * 3600;
    let (net, why) = meets_at(Some(end));
    assert_eq!((net.lists(), why), (vec![0, 0], Some(Refusal::Expired)));
    // A device without a clock, or at 1970, does not judge.
    for wall in [None, Some(0), Some(end - 60)] {
        let (net, why) = meets_at(wall);
        assert_eq!((net.lists(), why), (vec![1, 1], None), "{wall:?}");
    }
}

#[test]
fn a_session_ends_with_its_certificate() {
    let (mut net, _) = meets_at(Some((10 * 365 * 24 + 1) * 3600 - 60));
    net.pass(Duration::from_secs(30));
    assert_eq!(net.lists(), [1, 1]);
    net.pass(Duration::from_secs(300));
    assert!(net.nodes[0].certificate_of(NodeId(2)).is_none());
    assert_eq!(net.lists()[0], 0);
}

#[test]
fn a_certificate_is_good_for_its_owner_alone() {
    let mut net = group(2);
    let cert = Arc::new(cert(Curve::Real, 5, 1));
    let inner = datagram(9, vec![Frame::Cert(CertMsg::Show(cert))]);
    let bytes = forge(9, 77, 1, Some(1), &inner);
    net.nodes[0].handle_bytes(net.now, addr(9), &bytes);
    assert_eq!(net.nodes[0].stats().seal.certs_refused, 1);
    assert!(net.nodes[0].certificate_of(NodeId(5)).is_none());
}

#[test]
fn verifying_is_limited_and_a_known_certificate_is_not_verified_again() {
    let suite = Suite::Keyed(vec![key(1)].into());
    let mut config = certified(suite, 1, cert(Curve::Real, 1, 1));
    config.seal.identity.as_mut().unwrap().verify_per_second = 2;
    let mut node = Node::new(config, identity(1), 1, Instant::ZERO).unwrap();
    let show = |n: u64, counter: u64| {
        let cert = Arc::new(cert(Curve::Real, n, 1));
        let inner = datagram(n, vec![Frame::Cert(CertMsg::Show(cert))]);
        forge(n, 77, counter, Some(1), &inner)
    };
    for n in 10..20 {
        for again in 1..5 {
            node.handle_bytes(Instant::ZERO, addr(n), &show(n, again));
        }
    }
    let known = (10..20).filter(|&n| node.certificate_of(NodeId(n)).is_some());
    assert_eq!(known.count(), 2);
    assert_eq!(node.stats().seal.certs_refused, 8 * 4);
}

#[test]
fn whoever_has_the_key_alone_draws_less_than_three_times_its_bytes() {
    let cert = Arc::new(cert(Curve::Real, 9, 1).sign(Curve::Real, &operator(201), "consort"));
    let show = || Frame::Cert(CertMsg::Show(Arc::clone(&cert)));
    let ask = || Frame::Cert(CertMsg::Ask);
    let challenge = || Frame::Session(seal::Msg::Challenge(super::super::Cookie(1)));
    let all = [
        (None, vec![]),
        (None, vec![frame(Msg::Join)]),
        (None, vec![frame(Msg::Join), show()]),
        (Some(1), vec![ask()]),
        (Some(1), vec![ask(); 90]),
        (Some(1), vec![ask(), challenge()]),
        (Some(1), vec![show()]),
        (Some(1), vec![show(), ask(), challenge()]),
        (Some(1), vec![challenge()]),
        (Some(1), vec![frame(Msg::Pull { after: NodeId(0) })]),
    ];
    for (to, frames) in all {
        // A stranger, and a member whose session is known.
        for sender in [9, 2] {
            let mut net = group(2);
            let mut inner = datagram(sender, frames.clone());
            inner.header.life = Life(600 << 16);
            let bytes = forge(sender, 78, 1, to, &inner);
            net.nodes[0].handle_bytes(net.now, addr(77), &bytes);
            let went = drain(&mut net.nodes[0]);
            let drawn: usize = went.iter().map(|s| s.1.len()).sum();
            assert!(went.iter().all(|s| s.0 == addr(77)), "{frames:?}");
            assert!(drawn <= 3 * bytes.len(), "{frames:?}: {drawn}");
        }
    }
}

#[test]
fn two_that_do_not_accept_each_other_do_not_talk_without_end() {
    let suite = || Suite::Keyed(vec![key(1)].into());
    let other = cert(Curve::Real, 2, 1).sign(Curve::Real, &operator(201), "consort");
    let mut foreign = certified(suite(), 2, other);
    foreign.seal.identity.as_mut().unwrap().operators = vec![
        Curve::Real.public(&operator(201)),
        Curve::Real.public(&operator(200)),
    ];
    let mut net = Net::each(2, |n| match n {
        2 => foreign.clone(),
        n => identified(n),
    });
    net.join(2, 1);
    net.pass(Duration::from_secs(60));
    assert_eq!(net.lists(), [0, 0]);
    assert!(net.carried < 300, "{}", net.carried);
}

#[test]
fn what_cannot_be_is_refused_with_the_reason() {
    use crate::config::{ConfigError, Profile};
    type Break = fn(&mut Config);
    let breaks: [(Break, ConfigError); 6] = [
        (
            |c| c.seal.suite = Suite::Open,
            ConfigError::IdentityWithoutKey,
        ),
        (
            |c| c.seal.migrate = Duration::from_secs(9),
            ConfigError::IdentityWithoutKey,
        ),
        (
            |c| c.seal.identity.as_mut().unwrap().operators.clear(),
            ConfigError::Operators,
        ),
        (
            |c| c.seal.identity.as_mut().unwrap().operators = vec![PublicKey([9; 32])],
            ConfigError::CertificateUnsigned,
        ),
        (
            |c| c.seal.identity.as_mut().unwrap().secret = Secret([1; 32]),
            ConfigError::CertificateKey,
        ),
        (
            |c| c.group = "others".into(),
            ConfigError::CertificateUnsigned,
        ),
    ];
    for (breaks, error) in breaks {
        let mut config = identified(1);
        breaks(&mut config);
        assert_eq!(config.check(), Err(error));
    }
    let other = Node::new(identified(1), identity(2), 1, Instant::ZERO);
    assert_eq!(other.err(), Some(ConfigError::CertificateId));
    // A slow radio has room for a certificate with few scopes.
    let lora = |scopes: u32| {
        let mut certificate = cert(Curve::Real, 1, 1);
        certificate.scopes = (0..scopes).map(Scope::Election).collect();
        let certificate = certificate.sign(Curve::Real, &operator(200), "consort");
        let mut config = Config::from(Profile::Lora);
        config.seal_with(vec![key(1)]);
        config.seal.identity = identified(1).seal.identity;
        config.seal.identity.as_mut().unwrap().certificate = certificate;
        config.check()
    };
    assert_eq!(lora(4), Ok(()));
    let error = ConfigError::CertificateSize {
        least: 236,
        max: 222,
    };
    assert_eq!(lora(8), Err(error));
}
