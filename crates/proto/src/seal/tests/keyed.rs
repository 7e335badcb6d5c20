//! Groups with a key: nobody without it reads, forges, redirects or repeats anything.

use super::*;
use crate::seal::{self, Clear, Secret};
use alloc::collections::BTreeSet;
use alloc::string::String;

pub(super) fn key(n: u8) -> Secret {
    Secret([n; 32])
}

pub(super) fn keyed(keys: Vec<Secret>) -> Config {
    let mut config = Config::default();
    config.seal_with(keys);
    config
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|b| alloc::format!("{b:02x}")).collect()
}

/// What a group looks like to its members.
fn view(net: &Net) -> Vec<Vec<(NodeId, Precedence)>> {
    let members = |node: &Node| {
        let table = node.membership().table();
        table.iter().map(|m| (m.id, m.precedence)).collect()
    };
    net.nodes.iter().map(members).collect()
}

/// Three members that have met.
pub(super) fn group() -> Net {
    let mut net = Net::with(3, keyed(vec![key(1)]));
    for n in [2, 3] {
        net.join(n, 1);
    }
    net.pass(Duration::from_secs(20));
    assert_eq!(net.lists(), [2; 3]);
    net
}

/// The values were made by another implementation.
#[test]
fn derived_values_and_a_sealed_datagram_are_pinned() {
    let mut secret = Secret::default();
    for (n, byte) in secret.0.iter_mut().enumerate() {
        *byte = n as u8;
    }
    let sender = NodeId(0x1122_3344_5566_7788);
    assert_eq!(seal::kid(&secret), 112);
    assert_eq!(hex(&secret.check()), "41af6ca686bdfd40b1adee0b4bac5727");
    let salt = seal::salt(&[7; 32], Life(500 << 16));
    assert_eq!(salt, 0xe254_28e0_c0c5_6ba1);
    let key = seal::session_key(&secret, "robots", sender, salt);
    let expected = "faf8e770fda6a584e4938cf1c4fbd6fe936b70ead0cebd6f5a670ca8b85afbc1";
    assert_eq!(hex(&key), expected);
    let clear = Clear {
        directed: true,
        paired: false,
        kid: 112,
        sender,
        salt,
        counter: 0x01_0203_0405,
    };
    let mut bytes = clear.encode().to_vec();
    let start = bytes.len();
    bytes.extend_from_slice(b"hello, group");
    seal::seal(&key, &clear, Some(NodeId(9)), &mut bytes, start);
    assert_eq!(
        hex(&bytes),
        concat!(
            "31708877665544332211a16bc5c0e02854e20504030201",
            "41e8e02ef993a600fc925bc52bd590971e340a34182876e02e5e3ed1"
        )
    );
    assert_eq!(Clear::decode(&bytes), Some(clear));
    let mut plain = Vec::new();
    assert!(seal::open(
        &key,
        &clear,
        Some(NodeId(9)),
        &bytes,
        &mut plain
    ));
    assert_eq!(plain, b"hello, group");
    // Shown to another member, or to all.
    assert!(!seal::open(
        &key,
        &clear,
        Some(NodeId(8)),
        &bytes,
        &mut plain
    ));
    assert!(!seal::open(&key, &clear, None, &bytes, &mut plain));
}

#[test]
fn a_group_with_a_key_meets_and_hides_what_it_says() {
    let mut config = keyed(vec![key(1)]);
    config.group = "a group of robots".into();
    let mut net = Net::with(2, config);
    net.nodes[0].handle_command(
        Instant::ZERO,
        crate::command::Command::SetMeta(Meta::named("very-secret-name")),
    );
    net.join(1, 2);
    net.settle();
    assert_eq!(net.lists(), [1, 1]);
    let shows = |text: &str| {
        let text = text.as_bytes();
        let has = |b: &Vec<u8>| b.windows(text.len()).any(|w| w == text);
        net.recorded.iter().any(|r| has(&r.2))
    };
    assert!(!shows("very-secret-name") && !shows("robots"));
}

#[test]
fn no_nonce_is_used_twice() {
    let mut net = group();
    // A life is repaired, and a process begins anew.
    net.restart(2, Life(400 << 16), 1);
    net.pass(Duration::from_secs(10));
    net.restart(3, Life(900 << 16), 1);
    net.pass(Duration::from_secs(10));
    let nonce = |b: &Vec<u8>| {
        let clear = Clear::decode(b).unwrap();
        (clear.sender, clear.salt, clear.counter)
    };
    let nonces: BTreeSet<_> = net.recorded.iter().map(|r| nonce(&r.2)).collect();
    assert_eq!(nonces.len(), net.recorded.len());
    let salts: BTreeSet<_> = nonces.iter().map(|n| (n.0, n.1)).collect();
    assert!(salts.len() >= 5, "{salts:?}");
}

#[test]
fn a_datagram_that_is_altered_anywhere_says_nothing() {
    let mut net = group();
    let before = view(&net);
    let (from, to, good) = net.recorded.last().unwrap().clone();
    let n = (1..=3).find(|&n| addr(n) == to).unwrap() as usize - 1;
    let refused = |net: &Net| {
        let stats = net.nodes[n].stats();
        stats.seal.tag_failed
            + stats.seal.key_unknown
            + stats.datagrams_malformed
            + stats.seal.unsealed
    };
    let start = refused(&net);
    for at in 0..good.len() {
        let mut bad = good.clone();
        bad[at] ^= 0x10;
        net.nodes[n].handle_bytes(net.now, from, &bad);
    }
    assert_eq!(refused(&net) - start, good.len() as u64);
    for len in 0..good.len() {
        net.nodes[n].handle_bytes(net.now, from, &good[..len]);
    }
    assert_eq!(view(&net), before);
}

#[test]
fn who_has_another_key_or_none_or_another_group_is_nobody() {
    let mut net = group();
    let before = view(&net);
    let other_group = Config {
        group: "others".into(),
        ..keyed(vec![key(1)])
    };
    for config in [keyed(vec![key(2)]), Config::default(), other_group] {
        let mut stranger = Node::new(config, identity(9), 1, net.now).unwrap();
        let join = crate::command::Command::Join(vec![addr(1)]);
        stranger.handle_command(net.now, join);
        while stranger.poll_fact().is_some() {}
        let mut out = Datagram::default();
        while stranger.poll_transmit(&mut out).is_some() {
            let mut bytes = Vec::new();
            stranger.encode(&out, &mut bytes);
            net.nodes[0].handle_bytes(net.now, addr(9), &bytes);
            // Nothing goes back: a stranger does not even learn that somebody is there.
            assert_eq!(sent_count(&mut net.nodes[0]), 0);
        }
    }
    let stats = net.nodes[0].stats().seal;
    assert_eq!(
        (stats.key_unknown, stats.unsealed, stats.tag_failed),
        (1, 1, 1)
    );
    assert_eq!(view(&net), before);
}

fn sent_count(node: &mut Node) -> usize {
    let mut out = Datagram::default();
    core::iter::from_fn(|| node.poll_transmit(&mut out)).count()
}

#[test]
fn what_was_recorded_counts_nowhere_again() {
    let mut net = group();
    let record = net.recorded.clone();
    let before = view(&net);
    let came = |net: &Net| -> u64 { net.nodes.iter().map(|n| n.stats().datagrams_in).sum() };
    let taken = came(&net);
    // To its receiver, to another member, and back to its sender.
    for (from, to, bytes) in &record {
        for n in 1..=3 {
            net.nodes[n as usize - 1].handle_bytes(net.now, *from, bytes);
            if addr(n) != *to {
                net.nodes[n as usize - 1].handle_bytes(net.now, *to, bytes);
            }
        }
    }
    // Not a single one counts but those that anybody may be shown: joins, whose answers go where they did before.
    assert!(came(&net) - taken <= 4, "{}", came(&net) - taken);
    assert_eq!(view(&net), before);
    assert!(net.nodes[0].stats().seal.replayed > 0);
    net.settle();
    // To a receiver that began a new life: it knows none of the sessions, and what it challenges does not echo.
    let identity = Identity {
        life: Life(900 << 16),
        ..identity(2)
    };
    net.nodes[1] = Node::new(net.config.clone(), identity, 1, net.now).unwrap();
    for (from, _, bytes) in &record {
        net.nodes[1].handle_bytes(net.now, *from, bytes);
    }
    assert_eq!(net.nodes[1].stats().datagrams_in, 0);
    assert_eq!(net.nodes[1].membership().table().len(), 0);
    assert!(net.nodes[1].stats().seal.unproven > 0);
}

#[test]
fn a_recorded_echo_opens_no_session_of_an_earlier_life() {
    let mut net = group();
    let record = net.recorded.clone();
    // Number 2 begins a later life, and the others know it.
    net.restart(2, Life(900 << 16), 1);
    net.pass(Duration::from_secs(5));
    let known = |net: &Net| {
        net.nodes[0]
            .membership()
            .table()
            .get(NodeId(2))
            .unwrap()
            .precedence
    };
    let (before, taken) = (known(&net), net.nodes[0].stats().datagrams_in);
    for (from, _, bytes) in record.iter().filter(|r| r.1 == addr(1)) {
        if *from == addr(2) {
            net.nodes[0].handle_bytes(net.now, *from, bytes);
        }
    }
    assert_eq!(net.nodes[0].stats().datagrams_in, taken);
    assert_eq!(known(&net), before);
}

#[test]
fn two_keyed_nodes_that_restart_at_once_meet_again_in_spite_of_loss() {
    let mut net = group();
    net.loss_percent = 30;
    for n in 1..=3 {
        net.restart(n, Life(900 << 16), if n == 1 { 2 } else { 1 });
    }
    // A join is repeated every other period, and takes four datagrams.
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
fn keys_are_changed_one_node_at_a_time() {
    let mut net = group();
    // All accept the new one, then all send it, then nobody accepts the old one.
    for (keys, life) in [
        (vec![key(1), key(2)], 600),
        (vec![key(2), key(1)], 700),
        (vec![key(2)], 800),
    ] {
        net.config = keyed(keys);
        for n in 1..=3 {
            net.restart(n, Life(life << 16), if n == 1 { 2 } else { 1 });
            net.pass(Duration::from_secs(10));
            assert_eq!(net.lists(), [2; 3], "{life} {n}");
        }
    }
    let stats = net.nodes.iter().map(|n| n.stats().seal);
    assert_eq!(stats.map(|s| s.key_unknown + s.tag_failed).sum::<u64>(), 0);
}

#[test]
fn the_toy_of_simulations_does_what_the_cipher_does() {
    let run = |suite: Suite| {
        let mut config = keyed(vec![key(1)]);
        config.seal.suite = suite;
        let mut net = Net::with(4, config);
        net.loss_percent = 20;
        for n in 2..=4 {
            net.join(n, 1);
        }
        net.pass(Duration::from_secs(20));
        net.restart(3, Life(900 << 16), 1);
        net.pass(Duration::from_secs(20));
        let stats: Vec<_> = net.nodes.iter().map(|n| n.stats()).collect();
        (view(&net), stats, net.carried)
    };
    assert_eq!(run(Suite::Toy(7)), run(Suite::Keyed(vec![key(1)].into())));
}

#[test]
fn a_toy_datagram_that_is_shown_to_another_or_altered_says_nothing() {
    let mut config = Config::default();
    config.seal.suite = Suite::Toy(7);
    let mut net = Net::with(3, config);
    net.join(1, 2);
    let mut out = Datagram::default();
    while net.nodes[0].poll_fact().is_some() {}
    net.nodes[0].poll_transmit(&mut out).unwrap();
    let mut directed = out.clone();
    // A join is for anybody; make it look like one for number 2.
    directed.envelope.as_mut().unwrap().to = Some(NodeId(2));
    let mut counted = out.clone();
    counted.envelope.as_mut().unwrap().counter += 1;
    let mut open = out.clone();
    open.envelope = None;
    for mut bad in [directed, counted, open] {
        net.nodes[1].handle_datagram(net.now, addr(1), &mut bad);
    }
    assert_eq!(net.nodes[1].stats().seal.tag_failed, 3);
    assert_eq!(net.nodes[1].stats().seal.challenges_sent, 0);
}

#[test]
fn where_datagrams_are_small_names_are_shorter() {
    let mut config = Config::from(crate::config::Profile::Lora);
    config.seal_with(vec![key(1)]);
    assert_eq!(config.check(), Ok(()));
    assert_eq!(config.membership.meta_max, 37);
    let error = Err(crate::config::ConfigError::Keys);
    assert_eq!(keyed(vec![]).check(), error);
    assert_eq!(keyed(vec![key(1); 5]).check(), error);
}

/// What a node sends to a seed that it has not tried yet, sealed.
fn say(node: &mut Node, now: Instant, seed: u64) -> Vec<Vec<u8>> {
    node.handle_command(now, Command::Join(vec![addr(seed)]));
    while node.poll_fact().is_some() {}
    let (mut out, mut said) = (Datagram::default(), Vec::new());
    while node.poll_transmit(&mut out).is_some() {
        let mut bytes = Vec::new();
        node.encode(&out, &mut bytes);
        said.push(bytes);
    }
    said
}

/// Two datagrams of one salt and one counter would be sealed with the same numbers.
fn numbers(said: &[Vec<u8>]) -> BTreeSet<Vec<u8>> {
    said.iter().map(|bytes| bytes[2..23].to_vec()).collect()
}

/// A copy of a running process has its keys, its counters and its random streams. Who hears the other seals nothing more
/// until it has other randomness, and goes on in another life.
#[test]
fn a_copy_of_a_running_process_is_noticed_and_no_number_is_used_twice_after_that() {
    let now = Instant::ZERO;
    let new = || Node::new(keyed(vec![key(1)]), identity(1), 1, now).unwrap();
    let (mut ours, mut copy) = (new(), new());
    let clones = |node: &Node| node.stats().seal.clones_seen;
    let before = say(&mut ours, now, 50);
    let theirs = [50, 51, 52].map(|seed| say(&mut copy, now, seed));
    assert_eq!(
        numbers(&before),
        numbers(&theirs[0]),
        "as it is until it is noticed"
    );
    // What this node sent itself comes back, or is shown to it by others: nothing.
    ours.handle_bytes(now, addr(9), &before[0]);
    ours.handle_bytes(now, addr(9), &theirs[0][0]);
    assert_eq!(clones(&ours), 0);
    ours.handle_bytes(now, addr(9), &theirs[2][0]);
    assert_eq!(ours.stats().seal.clones_seen, 1);
    let events: Vec<Event> = core::iter::from_fn(|| ours.poll_event()).collect();
    assert!(events.contains(&Event::Cloned));
    assert_eq!(say(&mut ours, now, 53), [[0; 0]; 0]);
    assert!(ours.stats().seal.unsealable > 0);
    let life = ours.membership().life();
    ours.handle_command(now, Command::Reseed(key(77)));
    assert_eq!(ours.membership().life(), life, "it is not stored yet");
    let after = [54, 55].map(|seed| say(&mut ours, now, seed));
    assert!(ours.membership().life() > life && !after[1].is_empty());
    let theirs = [53, 54, 55, 56].map(|seed| say(&mut copy, now, seed));
    for (ours, theirs) in after.iter().zip(&theirs) {
        assert!(numbers(ours).is_disjoint(&numbers(theirs)));
    }
    // What the copy says now is of another session, so this node is not stopped again.
    ours.handle_bytes(now, addr(9), &theirs[3][0]);
    assert_eq!(clones(&ours), 1);
}

/// A process that starts again and again on a device without randomness, with a state directory.
#[test]
fn salts_of_a_million_restarts_with_constant_randomness_differ() {
    let mut seen = BTreeSet::new();
    let mut life = LIFE;
    for _ in 0..1_000_000 {
        // What `Node::new` derives from the randomness, the id and the first life.
        let own = NodeId(1).0.to_le_bytes();
        let boot = seal::derive(&[0; 32], "consort3 boot", &[&own, &life.0.to_le_bytes()]);
        assert!(seen.insert(seal::salt(&boot, life)));
        // The clock stands still: the stored life alone moves on.
        life = Life::starting(500, 7, Some(life));
    }
}

#[test]
fn nothing_is_sealed_beyond_the_last_counter() {
    let now = Instant::ZERO;
    let mut node = Node::new(keyed(vec![key(1)]), identity(1), 1, now).unwrap();
    say(&mut node, now, 50);
    // Before counters are used up, a later life is asked for; its disk fails.
    node.set_counter(seal::COUNTER_END - 1);
    node.handle_command(now, Command::Join(vec![addr(51)]));
    assert!(node.poll_transmit(&mut Datagram::default()).is_some());
    node.handle_timeout(now);
    node.handle_command(now, Command::Join(vec![addr(52)]));
    let fact = node.poll_fact().expect("a life to store");
    node.handle_storage_failure(now);
    assert!(!say(&mut node, now, 53).is_empty());
    node.set_counter(seal::COUNTER_LAST - 1);
    assert_eq!(say(&mut node, now, 54).len(), 1);
    assert_eq!(say(&mut node, now, 55), [[0; 0]; 0]);
    assert!(node.stats().seal.unsealable > 0);
    node.handle_stored(now, fact);
    assert!(node.membership().life() > LIFE);
    let said = say(&mut node, now, 56);
    assert_eq!(
        said[0][18..23],
        [1, 0, 0, 0, 0],
        "a salt with counters of its own"
    );
}

/// A datagram that any member can read can be shown to any member, so most of it does not count.
#[test]
fn a_broadcast_says_who_hears_whom_and_no_more() {
    let mut net = group();
    let mut out = Datagram::default();
    let shown = loop {
        net.now = net.now + Duration::from_millis(100);
        net.nodes[1].handle_timeout(net.now);
        let mut sent = core::iter::from_fn(|| {
            while net.nodes[1].poll_fact().is_some() {}
            while net.nodes[1].poll_event().is_some() {}
            net.nodes[1].poll_transmit(&mut out)?;
            Some(out.clone())
        });
        if let Some(datagram) = sent.find(|d| !d.frames.is_empty()) {
            break datagram;
        }
    };
    let mut broadcast = shown.clone();
    broadcast.envelope.as_mut().unwrap().to = None;
    let mut bytes = Vec::new();
    net.nodes[1].encode(&broadcast, &mut bytes);
    net.nodes[0].handle_bytes(net.now, addr(2), &bytes);
    let stats = net.nodes[0].stats().seal;
    assert_eq!(stats.undirected, shown.frames.len() as u64);
}
