//! What operators set at the start, with agents as processes.

mod common;

use common::{Agent, consort, run, until};

#[test]
fn an_interface_can_be_named_to_listen_on() {
    let dir = tempfile::tempdir().unwrap();
    let a = Agent::run(dir.path(), "a", consort(&["agent", "--bind", "lo:0"]));
    let address = a.info()["address"].as_str().unwrap().to_owned();
    assert!(address.starts_with("127.0.0.1:"), "{address}");
    let refused = run(&["agent", "--bind", "no-such0:0", "--http", "127.0.0.1:0"]);
    assert_eq!(refused.status.code(), Some(2));
    let text = String::from_utf8_lossy(&refused.stderr).into_owned();
    assert!(
        text.contains("`no-such0`") && text.contains("interface"),
        "{text}"
    );
}

#[test]
fn a_new_group_of_known_size_can_lock_at_once() {
    let dir = tempfile::tempdir().unwrap();
    let state = |name: &str| {
        dir.path()
            .join(format!("{name}-state"))
            .display()
            .to_string()
    };
    let start = |name: &str, join: Option<&Agent>| {
        let more = ["--expect", "3", "--state", &state(name)];
        Agent::start(dir.path(), name, join, &more)
    };
    let a = start("a", None);
    assert_eq!(a.info()["locks"]["mature"], true);
    // Alone it is one of three: no majority.
    let alone = run(&[
        "lock",
        "nightly",
        "--timeout",
        "500ms",
        "--http",
        &a.http,
        "--",
        "true",
    ]);
    assert!(!alone.status.success(), "{alone:?}");
    let b = start("b", Some(&a));
    until("both know each other", || {
        let alive = b.info()["members"]["alive"].as_u64()?;
        (alive == 2).then_some(())
    });
    let granted = run(&["lock", "nightly", "--http", &b.http, "--", "true"]);
    assert!(granted.status.success(), "{granted:?}");
    // Without it a new node waits for longer than any lease.
    let other = Agent::start(dir.path(), "other", None, &[]);
    assert_eq!(other.info()["locks"]["mature"], false);
    let refused = run(&["agent", "--expect", "3"]);
    assert_eq!(refused.status.code(), Some(2));
}

#[test]
fn agents_find_their_group_by_multicast_dns() {
    let dir = tempfile::tempdir().unwrap();
    // Other tests, and other programs of the machine, announce on the same network.
    let group = format!("mdns-{}", std::process::id());
    let start = |name: &str, group: &str| {
        Agent::start(dir.path(), name, None, &["--mdns", "--group", group])
    };
    let a = start("a", &group);
    let other = start("other", &format!("{group}-other"));
    let b = start("b", &group);
    let alive = |agent: &Agent| agent.info()["members"]["alive"].as_u64();
    until("both know each other", || {
        (alive(&a)? == 2 && alive(&b)? == 2).then_some(())
    });
    assert_eq!(alive(&other), Some(1));
    let features = a.info()["info"]["features"].to_string();
    assert!(features.contains("mdns"), "{features}");
}
