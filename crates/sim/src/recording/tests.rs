use super::*;
use crate::chaos::{ChaosParams, chaos, chaos_recorded};
use crate::membership::{self, Failures, Params};
use crate::mobility::Model;
use crate::omega;
use crate::units::tu;
use crate::{bandit, election, mutex};
use consort_papers::election::Config;
use consort_papers::omega::Mode;
use consort_proto::Instant;
use core::time::Duration;
use proptest::prelude::*;

fn small() -> Params {
    Params {
        nodes: 25,
        duration: 1_200.0,
        warmup: 300.0,
        failures: Failures::Nodes(2),
        ..Params::default()
    }
}

fn empty() -> Recording {
    Recording::new("test", "consort test", BYTES_MAX)
}

#[test]
fn recording_changes_nothing_and_has_the_crash_and_all_verdicts() {
    let recording = empty();
    let plain = membership::run(&small(), 7).unwrap();
    let recorded = membership::run_recorded(&small(), 7, Some(&recording)).unwrap();
    assert_eq!(plain, recorded);
    let tape = read(&recording.bytes()).unwrap();
    assert_eq!(tape.end_us, Some(60_000_000));
    assert!(tape.chunks > 5, "{} chunks", tape.chunks);
    assert_eq!(tape.datagrams, plain.counts.messages);
    for &host in &plain.crashed {
        assert_eq!(tape.state.hosts[host], HostIs::Crashed);
        let of = |opinion: &Opinion| *opinion == Opinion::Failed;
        let mut about = tape.state.opinions.iter();
        let known = about
            .clone()
            .filter(|((s, _), _)| *s == host as u32)
            .count();
        assert_eq!(known, 23, "every node that runs has a verdict on {host}");
        assert!(about.all(|(_, opinion)| of(opinion)));
    }
}

#[test]
fn storms_are_the_same_with_and_without() {
    for (params, seed) in [
        (ChaosParams::default(), 3),
        (ChaosParams::elections(), 5),
        (ChaosParams::locks(), 6),
    ] {
        let params = ChaosParams {
            storm: Duration::from_secs(40),
            ..params
        };
        let recording = empty();
        let plain = chaos(seed, &params).unwrap();
        assert_eq!(chaos_recorded(seed, &params, &recording).unwrap(), plain);
        let tape = read(&recording.bytes()).unwrap();
        assert!(tape.outcome.starts_with("no violation"), "{}", tape.outcome);
        assert_eq!(tape.state.acts.is_empty(), !params.elections);
        assert!(tape.datagrams > 0 && tape.state.opinions.values().all(|o| *o != Opinion::Suspect));
    }
}

#[test]
fn moving_networks_are_the_same_with_and_without() {
    let params = omega::Params {
        duration: Duration::from_secs(20),
        nodes: 20,
        side: 200.0,
        ..omega::Params::chapter5(Mode::Cel, Model::Walk, 80.0)
    };
    let recording = empty();
    let plain = omega::run(&params, 3).unwrap();
    let recorded = omega::run_recorded(&params, 3, Some(&recording)).unwrap();
    assert_eq!(plain.trace_hash, recorded.trace_hash);
    let tape = read(&recording.bytes()).unwrap();
    assert!(!tape.state.links.is_empty() && tape.state.follows.len() == 20);
    let wrong = tape.state.follows.iter();
    let wrong = wrong
        .filter(|((_, n), l)| tape.state.ought[n] != **l)
        .count();
    assert!(wrong < 10, "{wrong} of 20 follow another than they should");
}

#[test]
fn locks_are_the_same_with_and_without() {
    for (lock, trouble) in [
        (mutex::Lock::Witness(Box::default()), mutex::Trouble::None),
        (
            mutex::Params::default().lock,
            mutex::Trouble::HolderCrashes(vec![0.5]),
        ),
    ] {
        let crashes = trouble != mutex::Trouble::None;
        let params = mutex::Params {
            nodes: 25,
            lock,
            trouble,
            limit: Duration::from_secs(60),
            ..mutex::Params::default()
        };
        let recording = empty();
        let plain = mutex::run(&params, 3).unwrap();
        let recorded = mutex::run_recorded(&params, 3, Some(&recording)).unwrap();
        // Means of nothing are no numbers, and equal nothing.
        assert_eq!(format!("{plain:?}"), format!("{recorded:?}"));
        let tape = read(&recording.bytes()).unwrap();
        let granted = format!("{} of 10 requests were granted", plain.entries);
        assert!(tape.outcome.starts_with(&granted), "{}", tape.outcome);
        let crashed = tape.state.hosts.iter().filter(|h| **h == HostIs::Crashed);
        assert_eq!(crashed.count(), usize::from(crashes));
        // Nobody holds the lock at the end; who waits for a crashed node still does.
        let all = tape.state.locks.values();
        assert!(all.clone().all(|claim| *claim == Claim::Waits));
        assert_eq!(all.count() as u64, plain.blocked);
        assert!(tape.datagrams >= plain.messages);
    }
}

#[test]
fn elections_are_the_same_with_and_without() {
    let lane = |name: &str| Config::paper(name.parse().unwrap(), 2, tu(1.0));
    let params = election::Params {
        nodes: 16,
        warmup: 200.0,
        lanes: vec![lane("base"), lane("hybrid")],
        ..election::Params::default()
    };
    let recordings = [empty(), empty()];
    let plain = election::run_many(&params, None, 3, 1).unwrap();
    let recorded = election::run_many_recorded(&params, None, 3, 1, &recordings).unwrap();
    assert_eq!(format!("{plain:?}"), format!("{recorded:?}"));
    for (recording, outcome) in recordings.iter().zip(&plain[0].outcomes) {
        let tape = read(&recording.bytes()).unwrap();
        let leader = outcome.leader.unwrap() as u32;
        assert_eq!(tape.state.follows.len(), 16);
        assert!(tape.state.follows.values().all(|l| *l == leader));
        assert_eq!(tape.state.acts, [(0, leader)].into());
        assert!(tape.outcome.contains(&format!("all follow node {leader}")));
        assert!(tape.datagrams >= outcome.unicasts);
    }
}

#[test]
fn learning_elections_are_the_same_with_and_without() {
    let params = bandit::Params::stationary("dle".parse().unwrap(), 5, 40);
    let recording = empty();
    let plain = bandit::run_many(&params, 3, 1).unwrap();
    let recorded = bandit::run_many_recorded(&params, 3, 1, Some(&recording)).unwrap();
    assert_eq!(plain[0].trace_hash, recorded[0].trace_hash);
    let tape = read(&recording.bytes()).unwrap();
    let rounds = tape.notes.iter().filter(|n| n.1.contains("asks all nodes"));
    assert_eq!(rounds.count() as u32, plain[0].rounds);
    assert!(plain[0].rounds > 0 && tape.datagrams > 0);
    assert!(tape.state.acts.len() <= 1, "the last winner, if it runs");
}

#[test]
fn a_violation_is_the_last_note() {
    let recording = empty();
    // Nobody can agree within no time.
    let params = ChaosParams {
        storm: Duration::from_secs(20),
        calm: Duration::ZERO,
        ..ChaosParams::default()
    };
    let mut seeds = (0..20).map(|seed| (seed, chaos(seed, &params)));
    let (seed, plain) = seeds.find(|(_, r)| r.is_err()).unwrap();
    let broken = chaos_recorded(seed, &params, &recording).unwrap_err();
    assert_eq!(plain.unwrap_err(), broken);
    let tape = read(&recording.bytes()).unwrap();
    let (at, text) = tape.notes.last().unwrap();
    assert!(text.contains(broken.invariant) && *at == broken.at.as_micros());
}

#[test]
fn a_full_recording_first_leaves_out_datagrams_and_then_ends() {
    let at = Instant::from_micros;
    let recording = Recording::new("", "", 4_000);
    let stage = Stage {
        nodes: 3,
        ..Stage::default()
    };
    recording.begin(&stage, 1);
    for n in 0..500_000 {
        let datagram = Change::Datagram(0, 1, Some(5), Kind::Ping);
        recording.push(at(n * 100_000), &datagram);
    }
    assert!(
        recording.bytes().len() < 3_300,
        "datagrams take three quarters"
    );
    let is = |n: u64| [HostIs::Up, HostIs::Paused][n as usize % 2];
    for n in 1..500_000 {
        let when = at((500_000 + n) * 100_000);
        recording.push(when, &Change::Host(2, is(n)));
    }
    recording.end(at(100), "over");
    let bytes = recording.bytes();
    assert!(bytes.len() < 4_300, "{} bytes", bytes.len());
    let tape = read(&bytes).unwrap();
    assert_eq!(tape.limited, (true, true));
    assert_eq!(recording.read(bytes.len()), None);
}

#[test]
fn what_does_not_change_takes_no_room() {
    let recording = empty();
    recording.begin(
        &Stage {
            nodes: 2,
            ..Stage::default()
        },
        1,
    );
    let push = |us, change: Change<'_>| recording.push(Instant::from_micros(us), &change);
    push(1, Change::Opinion(0, 1, Opinion::None));
    push(2, Change::Opinion(0, 1, Opinion::Suspect));
    push(3, Change::Opinion(0, 1, Opinion::Suspect));
    push(4, Change::Opinion(0, 1, Opinion::Failed));
    push(5, Change::Restart(0));
    recording.end(Instant::from_micros(6), "");
    let tape = read(&recording.bytes()).unwrap();
    assert_eq!(tape.state, State::new(2));
}

#[test]
fn other_files_are_told_from_recordings() {
    assert!(matches!(read(b"%PDF-1.7 and more"), Err(ReadError::Magic)));
    assert!(matches!(read(b""), Err(ReadError::Magic)));
    assert!(matches!(read(b"CONSREC\x09"), Err(ReadError::Version(9))));
}

proptest! {
    /// Whatever the bytes are, reading ends with a value.
    #[test]
    fn damaged_recordings_do_not_panic(at in 0_usize..4_000, to: u8, len in 0_usize..4_000) {
        let recording = empty();
        let params = Params { nodes: 9, duration: 60.0, warmup: 30.0, ..Params::default() };
        membership::run_recorded(&params, 1, Some(&recording)).unwrap();
        let mut bytes = recording.bytes();
        let at = at % bytes.len();
        bytes[at] = to;
        bytes.truncate(bytes.len() - len % bytes.len());
        let _ = read(&bytes);
    }
}
