//! Changing the keys of a running group, with agents as processes.

mod common;

use common::{Agent, run, until};
use serde_json::Value;
use std::fs;
use std::path::Path;

fn start(dir: &Path, name: &str, join: Option<&Agent>) -> Agent {
    let file = |what: &str| dir.join(format!("{name}.{what}")).display().to_string();
    let (key, state) = (file("key"), file("state"));
    Agent::start(dir, name, join, &["--key-file", &key, "--state", &state])
}

fn keys(agent: &Agent, more: &[&str]) -> (Option<i32>, String, String) {
    let args = [&["keys"], more, &["--http", &agent.http]].concat();
    let output = run(&args);
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    (
        output.status.code(),
        text(&output.stdout),
        text(&output.stderr),
    )
}

fn listed(agent: &Agent) -> Value {
    serde_json::from_str(&keys(agent, &["list", "--format", "json"]).1).unwrap()
}

fn fingerprint(agent: &Agent, n: usize) -> String {
    let view = listed(agent);
    view["keys"][n]["fingerprint"].as_str().unwrap().to_owned()
}

fn alive(agent: &Agent) -> u64 {
    agent.info()["members"]["alive"].as_u64().unwrap()
}

#[test]
fn a_key_is_replaced_while_a_member_is_away() {
    let dir = tempfile::tempdir().unwrap();
    let first = dir.path().join("a.key").display().to_string();
    assert!(run(&["keygen", &first]).status.success());
    for name in ["b", "c", "late"] {
        fs::copy(&first, dir.path().join(format!("{name}.key"))).unwrap();
    }
    let a = start(dir.path(), "a", None);
    let b = start(dir.path(), "b", Some(&a));
    let c = start(dir.path(), "c", Some(&a));
    until("all are there", || {
        (alive(&a) == 3 && alive(&b) == 3).then_some(())
    });
    let old = fingerprint(&a, 0);
    until("members are listed with the key", || {
        let table = run(&["members", "--http", &a.http]).stdout;
        let table = String::from_utf8(table).unwrap();
        (table.contains("KEY") && table.matches(&old).count() == 3).then_some(())
    });
    drop(c);
    until("it has failed", || {
        (alive(&a) == 2 && alive(&b) == 2).then_some(())
    });

    let (code, out, err) = keys(&a, &["rotate"]);
    assert_eq!(code, Some(0), "{out} {err}");
    assert!(err.contains(&format!("keys remove {old}")), "{err}");
    let new = fingerprint(&a, 0);
    assert_ne!(new, old);
    assert_eq!(out, format!("key {new} seals\n"));
    assert_eq!(
        (fingerprint(&b, 0), fingerprint(&b, 1)),
        (new.clone(), old.clone())
    );
    // It is stored at both, and one that is away may not be locked out by mistake.
    let stored = |name: &str| fs::read_to_string(dir.path().join(format!("{name}.key"))).unwrap();
    assert!(stored("a").contains("version 2") && stored("a") == stored("b"));
    let (code, _, err) = keys(&a, &["remove", &old]);
    assert_eq!(code, Some(2));
    assert!(err.contains("c would be locked out"), "{err}");

    // It returns with the old key alone, is let in, and gets the new one.
    assert!(!stored("c").contains("version"));
    let c = start(dir.path(), "c", Some(&b));
    until("it is back", || {
        (alive(&a) == 3 && alive(&c) == 3).then_some(())
    });
    until("it has the new key", || {
        (stored("c") == stored("a")).then_some(())
    });
    until("all have it", || (keys(&a, &[]).0 == Some(0)).then_some(()));
    let (code, out, err) = keys(&b, &["remove", &old]);
    assert_eq!(code, Some(0), "{out} {err}");
    until("all have one", || {
        [&a, &b, &c]
            .iter()
            .all(|agent| {
                listed(agent)["keys"]
                    .as_array()
                    .is_some_and(|k| k.len() == 1)
            })
            .then_some(())
    });
    assert_eq!(alive(&b), 3);

    // Whoever has the old key alone stays outside now.
    let late = start(dir.path(), "late", Some(&a));
    let seed = a.info()["address"].as_str().unwrap().to_owned();
    let refused = run(&["join", &seed, "--http", &late.http]);
    assert!(!refused.status.success(), "{refused:?}");
    assert_eq!((alive(&late), alive(&a)), (1, 3));
}

#[test]
fn what_cannot_be_done_is_refused_with_the_remedy() {
    let dir = tempfile::tempdir().unwrap();
    let open = Agent::start(dir.path(), "open", None, &[]);
    let (code, _, err) = keys(&open, &[]);
    assert_eq!(code, Some(2));
    assert!(err.contains("no key"), "{err}");

    let file = dir.path().join("a.key").display().to_string();
    assert!(run(&["keygen", &file]).status.success());
    let a = start(dir.path(), "a", None);
    let only = fingerprint(&a, 0);
    let refused = |args: &[&str], why: &str| {
        let (code, _, err) = keys(&a, args);
        assert_eq!(code, Some(2), "{args:?}");
        assert!(err.contains(why), "{args:?}: {err}");
    };
    refused(&["remove", &only], "use another one first");
    refused(&["use", "00000000"], "no key has this fingerprint");
    refused(&["use", "nonsense"], "no key has this fingerprint");
    refused(&["install", &file], "installed already");
    // A key that cannot be stored is not used.
    let keep = fs::read_to_string(&file).unwrap();
    fs::remove_file(&file).unwrap();
    fs::create_dir(&file).unwrap();
    refused(&["install"], "could not be stored");
    assert_eq!(listed(&a)["version"], 0);
    fs::remove_dir(&file).unwrap();
    fs::write(&file, keep).unwrap();
    let (code, out, _) = keys(&a, &["install"]);
    assert_eq!(code, Some(0));
    assert!(out.contains("installed"), "{out}");
    assert_eq!(listed(&a)["version"], 1);
}

/// Starts an agent of a group that gets a key, with that key or still without.
fn start_migrating(dir: &Path, name: &str, join: Option<&Agent>, key: bool) -> Agent {
    let file = |what: &str| dir.join(format!("{name}.{what}")).display().to_string();
    let (own, state) = (file("key"), file("state"));
    let sealing = ["--key-file", &own, "--migrate-until", "2999-01-01"];
    let state = ["--state", &state];
    match key {
        true => Agent::start(dir, name, join, &[&sealing[..], &state].concat()),
        false => Agent::start(dir, name, join, &state),
    }
}

#[test]
fn an_open_group_gets_a_key_member_by_member() {
    let dir = tempfile::tempdir().unwrap();
    let first = dir.path().join("a.key").display().to_string();
    assert!(run(&["keygen", &first]).status.success());
    for name in ["b", "c", "strict"] {
        fs::copy(&first, dir.path().join(format!("{name}.key"))).unwrap();
    }
    let a = start_migrating(dir.path(), "a", None, false);
    let b = start_migrating(dir.path(), "b", Some(&a), false);
    let c = start_migrating(dir.path(), "c", Some(&a), false);
    let whole = |agents: &[&Agent]| {
        until("all are there", || {
            agents.iter().all(|a| alive(a) == 3).then_some(())
        });
    };
    whole(&[&a, &b, &c]);

    // One after the other is restarted, and all see all in between.
    drop(b);
    let b = start_migrating(dir.path(), "b", Some(&a), true);
    whole(&[&a, &b, &c]);
    drop(c);
    let c = start_migrating(dir.path(), "c", Some(&a), true);
    whole(&[&a, &b, &c]);
    until("two of them seal", || {
        let view = listed(&b);
        let seals = |name: &str, under: bool| {
            let members = view["members"].as_array().unwrap();
            let member = members.iter().find(|m| m["name"] == name).unwrap();
            member["heard_under"].is_string() == under
        };
        (seals("c", true) && seals("a", false)).then_some(())
    });
    drop(a);
    let a = start_migrating(dir.path(), "a", Some(&b), true);
    whole(&[&a, &b, &c]);
    until("all seal", || {
        let all = |agent: &Agent| keys(agent, &["list"]).0 == Some(0);
        [&a, &b, &c].into_iter().all(all).then_some(())
    });
    let (_, text, _) = keys(&a, &["list"]);
    assert!(
        text.contains("members that do not seal yet are heard as well"),
        "{text}"
    );
    assert_eq!(listed(&a)["migrating"], true);

    // One that hears only what is sealed is no stranger to them.
    let strict = start(dir.path(), "strict", Some(&a));
    until("it is let in", || {
        (alive(&a) == 4 && alive(&strict) == 4).then_some(())
    });
    assert_eq!(listed(&strict)["migrating"], false);
}
