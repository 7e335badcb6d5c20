//! The screens of `top` and `up` through a pseudo terminal.
#![allow(
    clippy::std_instead_of_alloc,
    reason = "tests need std; naming alloc would tell nothing"
)]

mod common;

use common::{Agent, PATIENCE, run};
use core::num::NonZero;
use core::time::Duration;
use portable_pty::{Child, CommandBuilder, MasterPty, PtySize, native_pty_system};
use std::io::{Read, Write};
use std::sync::{Arc, Mutex};
use std::time::Instant;

/// A program at a terminal, and what the terminal shows.
struct Seat {
    child: Box<dyn Child + Send + Sync>,
    keys: Box<dyn Write + Send>,
    master: Box<dyn MasterPty + Send>,
    shown: Arc<Mutex<(vt100::Parser, Vec<u8>)>>,
}

impl Drop for Seat {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl Seat {
    fn run(columns: u16, lines: u16, args: &[&str]) -> Seat {
        let size = PtySize {
            rows: lines,
            cols: columns,
            ..PtySize::default()
        };
        let pair = native_pty_system().openpty(size).unwrap();
        let mut command = CommandBuilder::new(env!("CARGO_BIN_EXE_consort"));
        command.args(args);
        command.env_remove("CONSORT_HTTP");
        command.env_remove("NO_COLOR");
        command.env("TERM", "xterm-256color");
        command.env("LC_ALL", "C.UTF-8");
        let child = pair.slave.spawn_command(command).unwrap();
        let keys = pair.master.take_writer().unwrap();
        let mut output = pair.master.try_clone_reader().unwrap();
        let sides = [lines, columns].map(|n| NonZero::new(n).unwrap());
        let parser = vt100::Parser::new(sides[0], sides[1], 0);
        let shown = Arc::new(Mutex::new((parser, Vec::new())));
        let writes = Arc::clone(&shown);
        std::thread::spawn(move || {
            let mut some = [0; 4096];
            while let Ok(n @ 1..) = output.read(&mut some) {
                let mut shown = writes.lock().unwrap();
                shown.0.process(&some[..n]);
                shown.1.extend_from_slice(&some[..n]);
            }
        });
        Seat {
            child,
            keys,
            master: pair.master,
            shown,
        }
    }

    fn text(&self) -> String {
        self.shown.lock().unwrap().0.screen().contents()
    }

    /// Waits until the screen is as wanted.
    fn until(&self, what: &str, wanted: impl Fn(&str) -> bool) -> String {
        let start = Instant::now();
        loop {
            let text = self.text();
            if wanted(&text) {
                return text;
            }
            assert!(start.elapsed() < PATIENCE, "{what} is not shown:\n{text}");
            std::thread::sleep(Duration::from_millis(20));
        }
    }

    fn shows(&self, what: &str) -> String {
        self.until(what, |text| text.contains(what))
    }

    fn press(&mut self, keys: &str) {
        self.keys.write_all(keys.as_bytes()).unwrap();
        self.keys.flush().unwrap();
    }

    /// Waits for the end; the code it ended with.
    fn ends(&mut self) -> u32 {
        let start = Instant::now();
        loop {
            if let Some(status) = self.child.try_wait().unwrap() {
                return status.exit_code();
            }
            assert!(
                start.elapsed() < PATIENCE,
                "it does not end:\n{}",
                self.text()
            );
            std::thread::sleep(Duration::from_millis(20));
        }
    }

    fn has_taken_the_terminal(&self) -> bool {
        let shown = self.shown.lock().unwrap();
        let screen = shown.0.screen();
        let modes = format!("{:?}", self.master.get_termios().unwrap().local_flags);
        screen.alternate_screen() && screen.hide_cursor() && !modes.contains("ICANON")
    }

    /// The terminal is as it was before: the usual screen, a cursor, lines that are edited.
    fn assert_given_back(&self) {
        // What was written last may still be on its way.
        self.until("the usual screen", |_| {
            let shown = self.shown.lock().unwrap();
            let screen = shown.0.screen();
            !screen.alternate_screen() && !screen.hide_cursor()
        });
        #[cfg(unix)]
        {
            let modes = format!("{:?}", self.master.get_termios().unwrap().local_flags);
            assert!(
                modes.contains("ICANON") && modes.contains("ECHO"),
                "{modes}"
            );
        }
    }

    fn signal(&self, name: &str) {
        let id = self.child.process_id().unwrap().to_string();
        let sent = std::process::Command::new("kill")
            .args([name, &id])
            .status();
        assert!(sent.unwrap().success());
    }
}

#[test]
fn top_shows_a_group_finds_it_again_and_gives_the_terminal_back() {
    let dir = tempfile::tempdir().unwrap();
    let hostile = ["--tag", "note=gone", "--campaign", "cron"];
    let first = Agent::start(dir.path(), "robot-1", None, &hostile);
    let second = Agent::start(dir.path(), "robot-2", Some(&first), &["--campaign", "cron"]);
    let mut top = Seat::run(80, 24, &["top", "--http", &second.http]);
    top.shows("All 2 members are here.");
    let text = top.until("a leader", |t| t.contains("leads cron"));
    assert!(
        text.contains("robot-1") && text.contains("robot-2"),
        "{text}"
    );
    assert!(text.lines().count() <= 24);

    // Details of the first member: its tag is text.
    top.press("\r");
    top.shows("note=");
    top.press("\u{1b}");
    top.until("no details", |t| !t.contains("incarnation"));
    top.press("2");
    top.shows("cron  robot-");
    top.press("1/robot-2\r");
    top.until("a filter", |t| {
        t.contains("1 of 2") && !t.contains("robot-1  ●")
    });
    top.press("\u{1b}");

    // The agent goes without a word and comes back.
    drop(second);
    let text = top.shows("No answer from the agent for");
    assert!(text.contains("robot-1"), "what was known stays: {text}");
    let _second = Agent::start(dir.path(), "robot-2", Some(&first), &["--campaign", "cron"]);
    // It stores nothing, so it is another member now, and its former self failed.
    top.shows("2 of 3 members are alive");

    top.press("q");
    assert_eq!(top.ends(), 0);
    top.assert_given_back();
}

#[test]
fn top_uses_a_large_terminal_and_a_signal_gives_it_back() {
    let dir = tempfile::tempdir().unwrap();
    let agent = Agent::start(dir.path(), "robot-1", None, &["--tag", "zone=yard"]);
    for signal in ["-TERM", "-HUP", "-INT"] {
        let mut top = Seat::run(200, 50, &["top", "--http", &agent.http]);
        let text = top.until("wide columns", |t| t.contains("zone=yard"));
        assert!(
            text.contains("ADDRESS") && text.contains("events"),
            "{text}"
        );
        assert!(
            top.has_taken_the_terminal(),
            "else giving it back shows nothing"
        );
        top.signal(signal);
        assert_eq!(top.ends(), 0, "{signal}");
        top.assert_given_back();
    }
}

#[test]
fn top_without_a_terminal_or_an_agent_says_what_to_do() {
    let output = run(&["top", "--http", "127.0.0.1:1"]);
    let error = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(2));
    assert!(error.contains("top needs a terminal"), "{error}");
    let mut top = Seat::run(80, 24, &["top", "--http", "127.0.0.1:1"]);
    assert_eq!(top.ends(), 2);
    top.shows("no agent answers at 127.0.0.1:1");
    top.assert_given_back();
}

/// The name of who leads, in the table of members.
fn leader(text: &str) -> Option<String> {
    let row = text.lines().find(|l| l.contains("♛ gateway"))?;
    let name = row.split_whitespace().find(|w| w.starts_with("node-"))?;
    Some(name.to_owned())
}

fn row(text: &str, name: &str) -> String {
    let mut rows = text
        .lines()
        .filter(|l| l.trim_start_matches(['▶', ' ', 'x']).starts_with(name));
    rows.next().unwrap_or_default().to_owned()
}

const ANYWHERE: [&str; 6] = [
    "--period",
    "100ms",
    "--http",
    "127.0.0.1:0",
    "--bind",
    "127.0.0.1:0",
];

#[test]
fn up_is_a_screen_that_obeys_keys() {
    let mut args = vec!["up", "--nodes", "3"];
    args.extend(ANYWHERE);
    let mut up = Seat::run(80, 24, &args);
    let text = up.until("a leader", |t| {
        leader(t).is_some() && t.contains("All 3 members are here and agree.")
    });
    assert!(text.contains("http://127.0.0.1:"), "{text}");
    assert!(text.contains("k kill") && text.contains("q quit"), "{text}");
    let first = leader(&text).unwrap();

    // Down to the leader, which is killed.
    let number: usize = first["node-".len()..].parse().unwrap();
    up.press(&"\u{1b}[B".repeat(number - 1));
    up.until("the leader is chosen", |t| {
        t.contains(&format!("▶ {first}"))
    });
    up.press("k");
    up.shows(&format!("killed {first}"));
    let text = up.until("another leader", |t| leader(t).is_some_and(|l| l != first));
    up.until("a verdict", |t| row(t, &first).contains("failed"));
    assert!(
        text.contains("took over gateway") || text.contains("failed"),
        "{text}"
    );
    up.press("r");
    up.until("it is back", |t| {
        row(t, &first).contains("alive") && t.contains("All 3 members")
    });

    up.press("l");
    up.until("a lock", |t| row(t, &first).contains("holds demo"));
    up.press("l");
    up.until("no lock", |t| !row(t, &first).contains("holds demo"));
    up.press("x");
    up.shows("The group is split:");
    up.press("h");
    up.shows("All 3 members are here and agree.");
    up.press("q");
    assert_eq!(up.ends(), 0);
    up.assert_given_back();
    up.shows("Next: consort up --scene failover");
}

#[test]
fn up_tells_a_scene_on_a_large_terminal_and_a_signal_ends_it() {
    let mut args = vec!["up", "--scene", "failover"];
    args.extend(ANYWHERE);
    let mut up = Seat::run(200, 50, &args);
    up.shows("Five nodes and no server.");
    up.shows("Now its process is killed.");
    let text = up.shows("✕ failed");
    assert!(text.contains("ADDRESS"), "{text}");
    up.signal("-TERM");
    assert_eq!(up.ends(), 0);
    up.assert_given_back();
}
