//! Elections by agents as processes, and commands that run only while their node leads.

mod common;

use common::{Agent, PATIENCE, Process, consort, run, signal, until};
use core::time::Duration;
use serde_json::Value;
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Output, Stdio};
use std::sync::mpsc;
use std::time::Instant;

/// What only this test asks of an agent.
trait Elects {
    fn leader(&self, election: &str) -> Value;
    fn elect(&self, dir: &Path) -> Process;
}

impl Elects for Agent {
    /// How the election stands here; the exit code tells whether somebody leads.
    fn leader(&self, election: &str) -> Value {
        let output = run(&["leader", election, "--http", &self.http, "--format", "json"]);
        let view: Value = serde_json::from_slice(&output.stdout).unwrap();
        let cut_off = view["leader"]["self"] == true && view["acting"].is_null();
        let code = i32::from(view["leader"].is_null() || cut_off);
        assert_eq!(output.status.code(), Some(code), "{view}");
        view
    }

    /// Runs a command while this agent's node leads.
    fn elect(&self, dir: &Path) -> Process {
        let mut command = consort(&[
            "elect", "demo", "--http", &self.http, "--", "sh", "-c", TICK,
        ]);
        command.env("DIR", dir).stderr(Stdio::null());
        Process(command.spawn().unwrap(), "-TERM")
    }
}

/// Writes its token again and again; ends by itself when the test is over.
const TICK: &str =
    r#"while [ -d "$DIR" ]; do echo "$CONSORT_TOKEN" >> "$DIR/log"; sleep 0.02; done"#;

/// The tokens that were used, in the order of time; one that is used again after a later one fails.
fn tokens(dir: &Path) -> Vec<String> {
    let log = std::fs::read_to_string(dir.join("log")).unwrap_or_default();
    let mut tokens: Vec<String> = Vec::new();
    for token in log.lines() {
        if tokens.last().is_none_or(|last| last != token) {
            tokens.push(token.to_owned());
        }
    }
    assert!(tokens.is_sorted(), "two led at a time: {tokens:#?}");
    tokens
}

/// Three agents with a command each, and which of them leads by which token.
fn group(dir: &Path) -> (Vec<Agent>, Vec<Process>, usize, String) {
    let mut agents: Vec<Agent> = Vec::new();
    for name in ["a", "b", "c"] {
        agents.push(Agent::start(dir, name, agents.first(), &[]));
    }
    let elects: Vec<Process> = agents.iter().map(|a| a.elect(dir)).collect();
    until("the command runs", || tokens(dir).first().cloned());
    // The first may be followed by a better one, before all have heard of each other.
    let (leader, token) = until("all follow one that acts", || {
        let views: Vec<Value> = agents.iter().map(|a| a.leader("demo")).collect();
        let token = views[0]["leader"]["token"].as_str()?;
        let agreed = views.iter().all(|v| v["leader"]["token"] == token);
        let acting = views.iter().position(|v| v["acting"] == token)?;
        let works = tokens(dir).last().is_some_and(|last| last == token);
        (agreed && works).then(|| (acting, token.to_owned()))
    });
    (agents, elects, leader, token)
}

/// Why one leads is shown by any agent: what each candidate is judged by, and what decides.
#[test]
fn a_leader_is_explained() {
    let dir = tempfile::tempdir().unwrap();
    let dir = dir.path();
    let mut agents: Vec<Agent> = Vec::new();
    let mut elects = Vec::new();
    for (name, attribute) in [("a", "2"), ("b", "1"), ("c", "2")] {
        let agent = Agent::start(dir, name, agents.first(), &[]);
        let score = ["--score", "reliability,attribute", "--attribute", attribute];
        let args = [&["elect", "demo", "--http", &agent.http][..], &score].concat();
        let mut command = consort(&args);
        command.stdout(Stdio::null()).stderr(Stdio::null());
        elects.push(Process(command.spawn().unwrap(), "-TERM"));
        agents.push(agent);
    }
    let view = until("somebody leads, and all stand", || {
        let view = agents[2].leader("demo");
        let listed = view["candidates"].as_array()?.len();
        (listed == 3 && !view["leader"].is_null()).then_some(view)
    });
    assert_eq!(
        view["score"],
        serde_json::json!(["reliability", "attribute"])
    );
    let leader = view["leader"]["name"].as_str().unwrap();
    for candidate in view["candidates"].as_array().unwrap() {
        let leads = candidate["name"] == leader;
        assert_eq!(candidate["compared"] == "leads", leads, "{candidate}");
        assert_eq!(candidate["by"].is_null(), leads, "{candidate}");
    }
    let output = run(&["leader", "demo", "--explain", "--http", &agents[0].http]);
    let text = String::from_utf8(output.stdout).unwrap();
    assert!(
        text.contains("class, reliability, attribute, hash"),
        "{text}"
    );
    let row = |name: &str| text.lines().find(|l| l.starts_with(&format!("{name}  ")));
    assert!(row(leader).is_some_and(|l| l.contains("leads")), "{text}");
    assert!(
        row("b").is_some_and(|l| l.contains("attribute 1")),
        "{text}"
    );
}

#[test]
fn when_the_leaders_agent_is_killed_its_command_ends_before_another_starts() {
    let dir = tempfile::tempdir().unwrap();
    let dir = dir.path();
    let (mut agents, elects, leader, token) = group(dir);
    drop(agents.remove(leader));
    let next = until("another works", || tokens(dir).pop().filter(|t| *t > token));
    until("the others follow it", || {
        let views = agents.iter().map(|a| a.leader("demo"));
        views
            .map(|v| v["leader"]["token"] == *next)
            .reduce(|a, b| a && b)
            .filter(|&all| all)
    });
    drop(elects);
    let used = tokens(dir);
    assert_eq!(used.last(), Some(&next), "stopped with its elect");
}

#[test]
fn a_frozen_leaders_command_ends_before_another_starts_and_it_learns_of_it() {
    let dir = tempfile::tempdir().unwrap();
    let dir = dir.path();
    let (agents, _elects, leader, token) = group(dir);
    signal(&agents[leader].process.0, "-STOP");
    let next = until("another works", || tokens(dir).pop().filter(|t| *t > token));
    signal(&agents[leader].process.0, "-CONT");
    until("the frozen one follows", || {
        let view = agents[leader].leader("demo");
        assert!(
            view["acting"] != *token,
            "the old token is not used again: {view}"
        );
        (view["leader"]["token"].as_str()? >= next.as_str()).then_some(())
    });
    // Whoever leads now, no token was used after a later one.
    assert!(tokens(dir).contains(&next));
}

/// A client that is killed or frozen: its command is stopped by the watchdog, its agent stands no longer, and another
/// works about as soon as if it had held a lock.
#[test]
fn a_killed_or_frozen_client_is_followed_by_another_soon() {
    for how in ["-KILL", "-STOP"] {
        let dir = tempfile::tempdir().unwrap();
        let dir = dir.path();
        let (_agents, elects, leader, token) = group(dir);
        let start = Instant::now();
        signal(&elects[leader].0, how);
        until("another works", || tokens(dir).pop().filter(|t| *t > token));
        let took = start.elapsed();
        println!("{how}: {took:?}");
        assert!(took < Duration::from_secs(10), "{how}: {took:?}");
        signal(&elects[leader].0, "-CONT");
    }
}

/// Appends a line when it begins and every 20 ms, and ignores SIGTERM.
const MARK: &str = r#"trap '' TERM; n=0
    while [ -d "$DIR" ]; do echo "$$ $CONSORT_TOKEN" >> "$DIR/marks"; sleep 0.02; done"#;

/// The commands that wrote, in order: process and token. A process that writes again after a later one fails.
fn marks(dir: &Path) -> Vec<(String, String)> {
    let log = std::fs::read_to_string(dir.join("marks")).unwrap_or_default();
    let mut commands: Vec<(String, String)> = Vec::new();
    for line in log.lines() {
        let (process, token) = line.split_once(' ').unwrap();
        let command = (process.to_owned(), token.to_owned());
        if commands.last() != Some(&command) {
            assert!(
                !commands.contains(&command),
                "two commands ran at the same time: {line} in {commands:?}"
            );
            commands.push(command);
        }
    }
    commands
}

fn elect_marks(agent: &Agent, dir: &Path) -> std::process::Command {
    let mut command = consort(&[
        "elect",
        "demo",
        "--http",
        &agent.http,
        "--",
        "sh",
        "-c",
        MARK,
    ]);
    command.env("DIR", dir).stderr(Stdio::null());
    command
}

/// A supervisor that restarts a killed `elect` at once: the command of the new one starts after the former command has
/// ended, with a greater token.
#[test]
fn an_elect_that_is_killed_and_restarted_at_once_waits_for_its_former_command() {
    let dir = tempfile::tempdir().unwrap();
    let dir = dir.path();
    let agent = Agent::start(dir, "a", None, &[]);
    let start = || Process(elect_marks(&agent, dir).spawn().unwrap(), "-TERM");
    let mut elect = start();
    for round in 1..=3 {
        until("its command runs", || {
            (marks(dir).len() == round).then_some(())
        });
        signal(&elect.0, "-KILL");
        elect.0.wait().unwrap();
        elect = start();
    }
    until("the last command runs", || {
        (marks(dir).len() == 4).then_some(())
    });
    let used = marks(dir);
    let greater = |pair: &[(String, String)]| pair[0].1 < pair[1].1;
    assert!(used.windows(2).all(greater), "{used:?}");
}

/// Two that live campaign through one agent: the second takes the place of the first, which is refused. They do not
/// depose each other in turns.
#[test]
fn of_two_elects_at_one_agent_the_first_ends_and_the_second_leads_on() {
    let dir = tempfile::tempdir().unwrap();
    let dir = dir.path();
    let agent = Agent::start(dir, "a", None, &[]);
    let mut first = elect_marks(&agent, dir);
    let first = first.stderr(Stdio::piped()).spawn().unwrap();
    until("the first leads", || marks(dir).first().cloned());
    let mut second = Process(elect_marks(&agent, dir).spawn().unwrap(), "-TERM");
    let first = first.wait_with_output().unwrap();
    assert_eq!(first.status.code(), Some(2), "{first:?}");
    let said = String::from_utf8(first.stderr).unwrap();
    assert!(
        said.contains("another program took over") && said.contains("its own agent"),
        "{said}"
    );
    let token = until("the second leads", || Some(marks(dir).get(1)?.1.clone()));
    // Long enough for many polls, and for the lease of the first candidacy to end.
    let since = Instant::now();
    while since.elapsed() < Duration::from_secs(4) {
        assert_eq!(agent.leader("demo")["acting"], *token, "it leads on");
        std::thread::sleep(Duration::from_millis(100));
    }
    assert_eq!(marks(dir).len(), 2);
    assert!(second.0.try_wait().unwrap().is_none());
    // When nobody campaigns any more, anybody may.
    drop(second);
    let third = Process(elect_marks(&agent, dir).spawn().unwrap(), "-TERM");
    until("the third leads", || marks(dir).get(2).cloned());
    drop(third);
}

/// A strict election of three, all of which watch: two lose their disks. Nobody leads until an operator gives them up.
#[test]
fn a_strict_election_that_lost_its_watchers_goes_on_when_they_are_given_up() {
    let dir = tempfile::tempdir().unwrap();
    let dir = dir.path();
    let state = |name: &str| dir.join(format!("{name}.state"));
    let start = |name: &str, join: Option<&Agent>, campaign: &[&str]| {
        let state = state(name);
        let strict = [
            "--state",
            state.to_str().unwrap(),
            "--set",
            "elections.floor=3",
        ];
        Agent::start(dir, name, join, &[&strict[..], campaign].concat())
    };
    let stands = ["--campaign", "demo"];
    let a = start("a", None, &stands);
    let others = ["b", "c"].map(|name| start(name, Some(&a), &stands));
    let acting = |agents: &[&Agent]| {
        let views: Vec<Value> = agents.iter().map(|a| a.leader("demo")).collect();
        let acting = |v: &Value| v["acting"].is_string();
        views.into_iter().find(acting)
    };
    let led = until("somebody leads, and all stand", || {
        let view = acting(&[&a, &others[0], &others[1]])?;
        (view["candidates"].as_array()?.len() == 3).then_some(view)
    });
    // Long enough for the last change of watchers.
    std::thread::sleep(Duration::from_secs(3));
    drop(others);
    for name in ["b", "c"] {
        std::fs::remove_dir_all(state(name)).unwrap();
    }
    let others = ["b", "c"].map(|name| start(name, Some(&a), &[]));
    let agents = [&a, &others[0], &others[1]];
    until("all have met, and the lost ones are given up", || {
        let members = &a.info()["members"];
        (members["alive"] == 3 && members["suspect"] == 0).then_some(())
    });
    std::thread::sleep(Duration::from_secs(3));
    let since = Instant::now();
    while since.elapsed() < Duration::from_secs(5) {
        let led = acting(&agents);
        assert!(led.is_none(), "a majority of the watchers is lost: {led:?}");
        std::thread::sleep(Duration::from_millis(50));
    }
    let output = run(&["election", "forget", "demo", "--http", &a.http]);
    assert_eq!(output.status.code(), Some(0), "{output:?}");
    let next = until("somebody leads", || acting(&agents));
    assert_eq!(next["leader"]["degraded"], true, "{next}");
    assert!(
        next["acting"].as_str() > led["acting"].as_str(),
        "{led} then {next}"
    );
}

/// Runs a command by an elect that ends by itself.
fn elect_ends(agent: &Agent, election: &str, command: &[&str]) -> Output {
    let mut elect = consort(&["elect", election, "--http", &agent.http, "--"]);
    elect
        .args(command)
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    let mut elect = elect.spawn().unwrap();
    let start = Instant::now();
    while elect.try_wait().unwrap().is_none() {
        if start.elapsed() > PATIENCE {
            signal(&elect, "-TERM");
            panic!("elect does not end: {:?}", elect.wait_with_output());
        }
        std::thread::sleep(Duration::from_millis(20));
    }
    elect.wait_with_output().unwrap()
}

#[test]
fn the_exit_code_of_the_command_is_passed_on_and_leadership_given_up() {
    let dir = tempfile::tempdir().unwrap();
    let agent = Agent::start(dir.path(), "a", None, &[]);
    let none = run(&["leader", "demo", "--http", &agent.http]);
    assert_eq!(none.status.code(), Some(1));
    let said = String::from_utf8(none.stderr).unwrap();
    assert!(said.contains("nobody leads election demo"), "{said}");

    let script = "echo $CONSORT_ELECTION $CONSORT_TERM $CONSORT_NODE $CONSORT_NAME; exit 7";
    let output = elect_ends(&agent, "demo", &["sh", "-c", script]);
    assert_eq!(output.status.code(), Some(7), "{output:?}");
    let said = String::from_utf8(output.stdout).unwrap();
    let words: Vec<&str> = said.split_whitespace().collect();
    let id = agent.info()["id"].as_str().unwrap().to_owned();
    assert_eq!(
        (words[0], words[2], words[3]),
        ("demo", id.as_str(), "a"),
        "{said}"
    );
    assert!(words[1].parse::<u64>().unwrap() > 0);
    assert_eq!(agent.leader("demo")["role"], "member");

    let output = elect_ends(&agent, "demo", &["/no/such/program"]);
    let said = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(2), "{said}");
    assert!(said.contains("/no/such/program"), "{said}");
    assert_eq!(
        agent.leader("other")["role"],
        "member",
        "nobody leads in vain"
    );
}

#[test]
fn leadership_is_handed_over_and_tokens_grow_across_a_restart_of_all() {
    let dir = tempfile::tempdir().unwrap();
    let mut last = String::new();
    for round in 0..2 {
        let mut agents: Vec<Agent> = Vec::new();
        for name in ["a", "b", "c"] {
            let state = dir.path().join(format!("{name}.state"));
            let state = state.to_str().unwrap();
            let more = [
                "--state",
                state,
                "--campaign",
                "demo",
                "--campaign",
                "other",
            ];
            agents.push(Agent::start(dir.path(), name, agents.first(), &more));
        }
        let all_follow = |election: &str, after: &str| {
            until("all follow one that acts", || {
                let views: Vec<Value> = agents.iter().map(|a| a.leader(election)).collect();
                let token = views[0]["leader"]["token"].as_str()?;
                let agreed = views.iter().all(|v| v["leader"]["token"] == token);
                let listed = views
                    .iter()
                    .all(|v| v["candidates"].as_array().unwrap().len() == 3);
                let acting = views.iter().position(|v| v["acting"] == token)?;
                (agreed && listed && token > after).then(|| (acting, token.to_owned()))
            })
        };
        let (leader, token) = all_follow("demo", &last);
        assert!(token > last, "round {round}");
        let (_, other) = all_follow("other", "");
        let (heir, http) = (&agents[(leader + 1) % 3], &agents[leader].http);
        let no = run(&["resign", "demo", "--http", &heir.http]);
        assert_eq!(no.status.code(), Some(1), "{no:?}");
        let error = run(&["resign", "demo", "--to", "zoe", "--http", http]);
        assert_eq!(error.status.code(), Some(2), "{error:?}");
        let to = heir.info()["name"].as_str().unwrap().to_owned();
        let yes = run(&["resign", "demo", "--to", &to, "--http", http]);
        assert_eq!(yes.status.code(), Some(0), "{yes:?}");
        let (next, token) = all_follow("demo", &token);
        assert_eq!(next, (leader + 1) % 3, "the named one leads");
        assert_eq!(
            all_follow("other", "").1,
            other,
            "the other election goes on"
        );
        let churn = run(&["churn", "--http", http]);
        let churn = String::from_utf8(churn.stdout).unwrap();
        assert!(
            churn.starts_with("ELECTION") && churn.contains("demo"),
            "{churn}"
        );
        last = token;
    }
}

#[test]
fn changes_are_printed_by_those_who_listen() {
    let dir = tempfile::tempdir().unwrap();
    let agent = Agent::start(dir.path(), "a", None, &[]);
    let args = [
        "elect",
        "demo",
        "--listen",
        "--format",
        "json",
        "--http",
        &agent.http,
    ];
    let mut listener = consort(&args).stdout(Stdio::piped()).spawn().unwrap();
    let lines = BufReader::new(listener.stdout.take().unwrap()).lines();
    let _listener = Process(listener, "-KILL");
    let candidate = consort(&["elect", "demo", "--http", &agent.http])
        .stdout(Stdio::null())
        .spawn();
    let mut candidate = Process(candidate.unwrap(), "-TERM");
    let (views, views_out) = mpsc::channel::<Value>();
    std::thread::spawn(move || {
        for line in lines.map_while(Result::ok) {
            let _ = views.send(serde_json::from_str(&line).unwrap());
        }
    });
    let find = |what: &str, condition: &dyn Fn(&Value) -> bool| loop {
        match views_out.recv_timeout(PATIENCE) {
            Ok(view) if condition(&view) => return view,
            Ok(_) => {}
            Err(error) => panic!("{what}: {error}"),
        }
    };
    let led = find("it leads", &|v| v["acting"].is_string());
    assert_eq!(led["leader"]["name"], "a");
    signal(&candidate.0, "-INT");
    assert!(candidate.0.wait().unwrap().success());
    find("who stops withdraws", &|v| v["vacant"] == true);
}
