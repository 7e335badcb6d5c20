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
        Seat::run_with(columns, lines, args, &[])
    }

    fn run_with(columns: u16, lines: u16, args: &[&str], env: &[(&str, &str)]) -> Seat {
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
        for (name, value) in env {
            command.env(name, value);
        }
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

    /// Makes the terminal as large as this.
    fn resize(&self, columns: u16, lines: u16) {
        let sides = [lines, columns].map(|n| NonZero::new(n).unwrap());
        let mut shown = self.shown.lock().unwrap();
        shown.0.screen_mut().set_size(sides[0], sides[1]);
        let size = PtySize {
            rows: lines,
            cols: columns,
            ..PtySize::default()
        };
        self.master.resize(size).unwrap();
    }

    /// Everything that was written to the terminal.
    fn bytes(&self) -> Vec<u8> {
        self.shown.lock().unwrap().1.clone()
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

/// Each caption is shown when its event is on the screen already: in the table, not only in the list of events.
#[test]
fn up_tells_a_scene_after_its_events_and_a_signal_ends_it() {
    let mut args = vec!["up", "--scene", "failover"];
    args.extend(ANYWHERE);
    let mut up = Seat::run(200, 50, &args);
    up.shows("Five nodes and no server");
    let text = up.shows("Now its process is killed.");
    assert!(
        text.contains("ADDRESS") && leader(&text).is_some(),
        "{text}"
    );
    let text = up.shows("killed node-");
    let killed = text.split("killed node-").nth(1).unwrap();
    let victim = format!("node-{}", &killed[..1]);
    let text = up.shows("The others notice");
    assert!(text.contains(&format!("{victim} is suspected")), "{text}");
    let state = row(&text, &victim);
    assert!(
        state.contains("suspect") || state.contains("failed"),
        "{text}"
    );
    let text = up.shows("is declared failed");
    assert!(row(&text, &victim).contains("failed"), "{text}");
    let text = up.shows("Another one leads by now");
    assert!(leader(&text).is_some_and(|l| l != victim), "{text}");
    let text = up.shows("It is a member like the others.");
    assert!(row(&text, &victim).contains("alive"), "{text}");
    up.signal("-TERM");
    assert_eq!(up.ends(), 0);
    up.assert_given_back();
}

#[test]
fn up_obeys_every_key_and_follows_the_size_of_the_terminal() {
    let mut args = vec!["up", "--nodes", "4"];
    args.extend(ANYWHERE);
    let mut up = Seat::run(200, 50, &args);
    up.until("a leader", |t| {
        leader(t).is_some() && t.contains("All 4 members are here and agree.")
    });
    // Node 4 is the last row.
    up.press(&"\u{1b}[B".repeat(3));
    up.shows("▶ node-4");
    up.press("s");
    up.shows("datagrams of node-4 are 200 ms late");
    up.until("it is slow", |t| row(t, "node-4").contains("200 ms late"));
    up.press("s");
    up.shows("datagrams of node-4 are 0 ms late");
    up.press("d");
    up.shows("node-4 loses 30 % of its datagrams");
    up.until("it loses", |t| row(t, "node-4").contains("loses 30 %"));
    up.press("d");
    up.shows("node-4 loses 0 % of its datagrams");
    up.press("p");
    up.shows("paused node-4");
    up.until("it is paused", |t| row(t, "node-4").contains("frozen"));
    up.press("p");
    up.shows("resumed node-4");
    up.press("i");
    up.shows("isolated node-4");
    up.until("a verdict", |t| row(t, "node-4").contains("failed"));
    up.press("h");
    up.shows("All 4 members are here and agree.");
    up.press("c");
    up.until("its candidacy has changed", |t| {
        t.contains("node-4 no longer stands") || t.contains("node-4 stops leading")
    });
    up.press("a");
    up.shows("added node-5");
    up.press("g");
    up.shows("node-4 has said goodbye");
    up.press("?");
    up.shows("as if its process were frozen");
    up.press("?");
    up.until("no help", |t| !t.contains("as if its process were frozen"));

    up.resize(80, 24);
    let text = up.until("a small screen", |t| {
        !t.contains("ADDRESS") && t.contains("q quit")
    });
    assert!(text.lines().all(|l| l.chars().count() <= 80), "{text}");
    assert!(text.contains("node-1") && text.contains("node-5"), "{text}");
    // Smaller than any terminal that is used: it must survive that.
    let before = up.bytes().len();
    up.resize(20, 6);
    up.until("drawn anew", |_| up.bytes().len() > before);
    up.resize(200, 50);
    up.shows("ADDRESS");
    up.press("q");
    assert_eq!(up.ends(), 0);
    up.assert_given_back();
}

#[test]
fn up_without_colours_and_without_letters_beyond_ascii_says_the_same() {
    let mut args = vec!["up", "--nodes", "2"];
    args.extend(ANYWHERE);
    let plain = [("NO_COLOR", "1"), ("LC_ALL", "C")];
    for (columns, lines) in [(80, 24), (200, 50)] {
        let mut up = Seat::run_with(columns, lines, &args, &plain);
        up.shows("All 2 members are here and agree.");
        let text = up.until("a leader", |t| t.contains("L gateway"));
        assert!(
            text.contains("* alive") && text.contains("> node-1"),
            "{text}"
        );
        assert!(text.is_ascii(), "{text}");
        up.press("q");
        assert_eq!(up.ends(), 0);
        // Foreground and background colours: 30 to 37, 40 to 47, 90 to 97, or by number.
        let bytes = up.bytes();
        let text = String::from_utf8_lossy(&bytes);
        for code in text.split("\u{1b}[").skip(1) {
            let Some((numbers, _)) = code.split_once('m') else {
                continue;
            };
            let coloured = |n: &str| {
                let n: u16 = n.parse().unwrap_or(0);
                (30..=38).contains(&n) || (40..=48).contains(&n) || (90..=107).contains(&n)
            };
            let digits = numbers.bytes().all(|b| b.is_ascii_digit() || b == b';');
            assert!(!digits || !numbers.split(';').any(coloured), "{numbers:?}");
        }
    }
}
