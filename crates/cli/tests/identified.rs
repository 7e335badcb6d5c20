//! Groups whose members prove who they are, with agents as processes.

mod common;

use common::{Agent, run, until};
use serde_json::Value;
use std::fs;
use std::io::{Read, Write};
use std::os::unix::net::UnixStream;
use std::path::Path;

/// What a command prints.
fn prints(args: &[&str]) -> String {
    let output = run(args);
    assert!(output.status.success(), "{args:?}: {output:?}");
    String::from_utf8(output.stdout).unwrap().trim().to_owned()
}

/// A directory with a group key, an operator and certified members.
fn prepare(dir: &Path, members: &[&str]) -> String {
    let file = |name: &str| dir.join(name).display().to_string();
    prints(&["keygen", &file("group.key")]);
    let operator = prints(&["keygen", "--operator", &file("operator.key")]);
    for name in members {
        let key = file(&format!("{name}.key"));
        prints(&["keygen", "--identity", &key]);
        prints(&["certify", &key, "--by", &file("operator.key")]);
    }
    operator
}

fn start(dir: &Path, name: &str, operator: &str, join: Option<&Agent>) -> Agent {
    let file = |name: &str| dir.join(name).display().to_string();
    let (key, own) = (file("group.key"), file(&format!("{name}.key")));
    let identified = [
        "--key-file",
        &key,
        "--identity",
        &own,
        "--operator",
        operator,
    ];
    Agent::start(dir, name, join, &identified)
}

/// The answer to a request without a body.
fn post(agent: &Agent, path: &str) -> String {
    ask(agent, "POST", path)
}

fn get(agent: &Agent, path: &str) -> String {
    ask(agent, "GET", path)
}

fn ask(agent: &Agent, method: &str, path: &str) -> String {
    let socket = agent.http.strip_prefix("unix:").unwrap();
    let mut stream = UnixStream::connect(socket).unwrap();
    let head = format!(
        "{method} {path} HTTP/1.1\r\nHost: localhost\r\nContent-Length: 0\r\nConnection: close\r\n\r\n"
    );
    stream.write_all(head.as_bytes()).unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    answer
}

fn alive(agent: &Agent) -> u64 {
    agent.info()["members"]["alive"].as_u64().unwrap()
}

#[test]
fn an_identified_group_elects_locks_and_lets_in_whom_an_operator_has_certified() {
    let dir = tempfile::tempdir().unwrap();
    let operator = prepare(dir.path(), &["a", "b", "c"]);
    let a = start(dir.path(), "a", &operator, None);
    let b = start(dir.path(), "b", &operator, Some(&a));
    let c = start(dir.path(), "c", &operator, Some(&a));
    let all = [&a, &b, &c];
    until("all are there", || {
        all.iter().all(|agent| alive(agent) == 3).then_some(())
    });
    until("all are listed with their certificates", || {
        let json = prints(&["members", "--format", "json", "--http", &a.http]);
        let members: Value = serde_json::from_str(&json).unwrap();
        let certified = |m: &Value| m["certificate"].as_u64().is_some();
        members.as_array()?.iter().all(certified).then_some(())
    });
    let table = prints(&["members", "--http", &a.http]);
    assert!(table.contains("CERTIFICATE"), "{table}");
    let locked = run(&["lock", "kitchen/oven", "--http", &b.http, "--", "true"]);
    assert!(locked.status.success(), "{locked:?}");
    let led = run(&["elect", "boss", "--http", &c.http, "--", "true"]);
    assert!(led.status.success(), "{led:?}");

    // With the key alone nobody gets in, and neither with a certificate of somebody else.
    let key = dir.path().join("group.key").display().to_string();
    let thief = Agent::start(dir.path(), "thief", None, &["--key-file", &key]);
    let elsewhere = tempfile::tempdir().unwrap();
    let other = prepare(elsewhere.path(), &["d"]);
    fs::copy(&key, elsewhere.path().join("group.key")).unwrap();
    let foreign = start(elsewhere.path(), "d", &other, None);
    let seed = a.info()["address"].as_str().unwrap().to_owned();
    for stranger in [&thief, &foreign] {
        let refused = run(&["join", &seed, "--http", &stranger.http]);
        assert!(!refused.status.success(), "{refused:?}");
        assert_eq!((alive(stranger), alive(&a)), (1, 3));
    }

    // A member that restarts is let in again.
    drop(b);
    let b = start(dir.path(), "b", &operator, Some(&c));
    until("it is back", || {
        (alive(&a) == 3 && alive(&b) == 3).then_some(())
    });
}

#[test]
fn a_member_does_what_its_certificate_allows_and_no_more() {
    let dir = tempfile::tempdir().unwrap();
    let operator = prepare(dir.path(), &["a", "b", "c"]);
    let file = |name: &str| dir.path().join(name).display().to_string();
    // The others may do everything.
    let certify = |more: &[&str]| {
        let (key, by) = (file("c.key"), file("operator.key"));
        run(&[&["certify", &key, "--by", &by], more].concat())
    };
    for (wrong, word) in [
        (&["--may", "lock", "--election", "boss"][..], "campaign"),
        (&["--realm", "kitchen/oven"], "realm"),
        (&["--election", "site-*"], "whole name"),
        (&["--may", "none,lock"], "alone"),
        (&["--may", "everything"], "everything"),
    ] {
        let output = certify(wrong);
        assert!(!output.status.success(), "{wrong:?}");
        let error = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(error.contains(word), "{wrong:?}: {error}");
    }
    let limits = [
        "--may",
        "campaign,lock",
        "--election",
        "cook",
        "--realm",
        "kitchen",
    ];
    let output = certify(&limits);
    assert!(output.status.success(), "{output:?}");
    let a = start(dir.path(), "a", &operator, None);
    let b = start(dir.path(), "b", &operator, Some(&a));
    let c = start(dir.path(), "c", &operator, Some(&a));
    until("all are there", || {
        [&a, &b, &c]
            .iter()
            .all(|agent| alive(agent) == 3)
            .then_some(())
    });
    let may = |agent: &Agent| {
        let json = prints(&["members", "--format", "json", "--http", &agent.http]);
        let members: Value = serde_json::from_str(&json).unwrap();
        let members = members.as_array().unwrap();
        let c = members.iter().find(|m| m["name"] == "c").unwrap();
        c["roles"].clone()
    };
    until("the others see what it may do", || {
        (may(&a) == serde_json::json!(["campaign", "lock"])).then_some(())
    });
    let at = |agent: &Agent, args: &[&str]| {
        let (verb, rest) = args.split_first().unwrap();
        let output = run(&[&[*verb, "--http", &agent.http], rest].concat());
        let error = String::from_utf8_lossy(&output.stderr).into_owned();
        (output.status.success(), error)
    };
    let refused = |args: &[&str]| {
        let (done, error) = at(&c, args);
        assert!(!done && error.contains("certificate"), "{args:?}: {error}");
    };
    refused(&["elect", "boss", "--", "true"]);
    refused(&["lock", "attic/door", "--", "true"]);
    for args in [
        &["elect", "cook", "--", "true"][..],
        &["lock", "kitchen/oven", "--", "true"],
    ] {
        let (done, error) = at(&c, args);
        assert!(done, "{args:?}: {error}");
    }
    let (done, error) = at(&b, &["lock", "attic/door", "--", "true"]);
    assert!(done, "{error}");
    let path = "/v1/locks/kitchen%2Foven/break";
    assert!(post(&c, path).starts_with("HTTP/1.1 403"));
    assert!(post(&b, path).starts_with("HTTP/1.1 200"));
    // One that is told in its settings to campaign does not start.
    let (key, own) = (file("group.key"), file("c.key"));
    let bind = ["agent", "--bind", "127.0.0.1:0", "--http", "127.0.0.1:0"];
    let identity = [
        "--key-file",
        &key,
        "--identity",
        &own,
        "--operator",
        &operator,
    ];
    let output = run(&[&bind[..], &identity, &["--campaign", "boss"]].concat());
    let error = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(2), "{error}");
    assert!(
        error.contains("boss") && error.contains("certificate"),
        "{error}"
    );
}

#[test]
fn an_identity_that_cannot_be_used_is_refused_with_the_remedy() {
    let dir = tempfile::tempdir().unwrap();
    let operator = prepare(dir.path(), &["a", "b"]);
    let file = |name: &str| dir.path().join(name).display().to_string();
    let (key, own) = (file("group.key"), file("a.key"));
    let refused = |args: &[&str], word: &str| {
        let fixed = ["agent", "--bind", "127.0.0.1:0", "--http", "127.0.0.1:0"];
        let output = run(&[&fixed, args].concat());
        let error = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(2), "{args:?}: {error}");
        assert!(error.contains(word), "{args:?}: {error}");
    };
    let identity = ["--identity", &own];
    refused(&identity, "security.key_file");
    let keyed = [&identity[..], &["--key-file", &key]].concat();
    refused(&keyed, "security.operators");
    let named = [&keyed[..], &["--operator", &operator]].concat();
    let with = |more: &[&str], word| refused(&[&named[..], more].concat(), word);
    with(&["--migrate-until", "2999-01-01"], "migrate_until");
    with(&["--group", "others"], "has signed the certificate");
    with(
        &["--certificate", &file("b.cert")],
        "not for this identity's key",
    );
    with(&["--certificate", &key], "consort certify");
    with(&["--set", "id=77"], "not for this node's id");
    refused(&["--operator", &operator], "security.identity");
    let again = run(&[
        "certify",
        &operator,
        "--by",
        &file("operator.key"),
        "--out",
        &file("x"),
    ]);
    assert!(!again.status.success());
}

#[test]
fn a_member_is_evicted_and_stays_so_over_restarts() {
    let dir = tempfile::tempdir().unwrap();
    let operator = prepare(dir.path(), &["a", "b", "c", "d"]);
    let file = |name: &str| dir.path().join(name).display().to_string();
    let a = start(dir.path(), "a", &operator, None);
    let b = start(dir.path(), "b", &operator, Some(&a));
    let c = start(dir.path(), "c", &operator, Some(&a));
    let d = start(dir.path(), "d", &operator, Some(&a));
    until("all are there", || {
        [&a, &b, &c, &d]
            .iter()
            .all(|agent| alive(agent) == 4)
            .then_some(())
    });
    until("c has proven itself", || {
        let json = prints(&["members", "--format", "json", "--http", &a.http]);
        let members: Value = serde_json::from_str(&json).unwrap();
        let proven = |m: &&Value| m["certificate"].as_u64().is_some();
        (members.as_array()?.iter().filter(proven).count() == 4).then_some(())
    });
    // One member is away for the whole eviction.
    drop(d);
    let seed = a.info()["address"].as_str().unwrap().to_owned();
    prints(&[
        "keys",
        "revoke",
        &file("c.cert"),
        "--by",
        &file("operator.key"),
        "--http",
        &a.http,
    ]);
    until("the others go on without it", || {
        (alive(&a) == 2 && alive(&b) == 2).then_some(())
    });
    assert!(fs::read_to_string(dir.path().join("b.revoked")).is_ok());
    // It is asked for a certificate, so it hears something, but nobody lists it.
    run(&["join", &seed, "--http", &c.http]);
    assert_eq!((alive(&a), alive(&b)), (2, 2));
    let d = start(dir.path(), "d", &operator, Some(&b));
    until("who was away is let in", || {
        (alive(&a) == 3 && alive(&d) == 3).then_some(())
    });
    // Nobody needs to remember but on the disk.
    drop(b);
    let b = start(dir.path(), "b", &operator, None);
    let seed = b.info()["address"].as_str().unwrap().to_owned();
    let refused = run(&["join", &seed, "--http", &c.http]);
    assert!(!refused.status.success(), "{refused:?}");
    // Whoever is no operator evicts nobody.
    let other = run(&["keygen", "--operator", &file("other.key")]);
    assert!(other.status.success());
    let failed = run(&[
        "keys",
        "revoke",
        "b",
        "--by",
        &file("other.key"),
        "--http",
        &a.http,
    ]);
    assert_eq!(failed.status.code(), Some(2), "{failed:?}");
    let said = String::from_utf8_lossy(&failed.stderr);
    assert!(said.contains("not signed by this operator"), "{said}");
    // An agent that keeps the list to itself takes nothing back: the operator remembers it.
    drop(d);
    fs::remove_file(dir.path().join("d.revoked")).unwrap();
    let d = start(dir.path(), "d", &operator, None);
    let asked = |path: &str| -> Value {
        let answer = get(&d, path);
        serde_json::from_str(answer.split("\r\n\r\n").nth(1).unwrap()).unwrap()
    };
    assert_eq!(asked("/v1/revocations")["version"], 0);
    let json = prints(&[
        "keys",
        "revoke",
        "ffffffff",
        "--by",
        &file("operator.key"),
        "--format",
        "json",
        "--http",
        &d.http,
    ]);
    let list: Value = serde_json::from_str(&json).unwrap();
    assert_eq!(list["version"], 2, "{list}");
    assert_eq!(list["revoked"].as_array().unwrap().len(), 2, "{list}");
    // The device is found again.
    drop(c);
    prints(&[
        "certify",
        &file("c.key"),
        "--by",
        &file("operator.key"),
        "--serial",
        "4000000000",
    ]);
    let c = start(dir.path(), "c", &operator, Some(&a));
    // The others may find each other again meanwhile, or not: they were started without an address to join.
    until("it is back", || {
        let json = prints(&["members", "--format", "json", "--http", &a.http]);
        let members: Value = serde_json::from_str(&json).unwrap();
        let back = |m: &Value| m["certificate"] == 4_000_000_000_u64 && m["status"] == "alive";
        (members.as_array()?.iter().any(back) && alive(&c) >= 2).then_some(())
    });
}
