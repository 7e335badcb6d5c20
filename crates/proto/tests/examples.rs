//! Runs the driver of the examples as two processes that form a group.

use core::time::Duration;
use std::io::{BufRead, BufReader};
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::sync::mpsc;
use std::time::Instant;

const PATIENCE: Duration = Duration::from_secs(30);

/// A running process of the example. It is killed at the end.
struct Running {
    child: Child,
    lines: mpsc::Receiver<String>,
}

impl Running {
    /// Starts the built example. Cargo builds the examples of a package with its tests.
    fn start(args: &[&str]) -> Running {
        let test = std::env::current_exe().unwrap();
        let profile = test.ancestors().nth(2).unwrap();
        let file = format!("driver{}", std::env::consts::EXE_SUFFIX);
        let path: PathBuf = profile.join("examples").join(file);
        assert!(path.exists(), "build the examples: {}", path.display());
        let mut child = Command::new(path)
            .args(args)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let (said, lines) = mpsc::channel();
        let stdout = BufReader::new(child.stdout.take().unwrap());
        std::thread::spawn(move || {
            for line in stdout.lines().map_while(Result::ok) {
                let _ = said.send(line);
            }
        });
        Running { child, lines }
    }

    /// Waits for a line that contains all of `words`.
    fn says(&self, words: &[&str]) -> String {
        let start = Instant::now();
        let mut heard = Vec::new();
        while let Some(left) = PATIENCE.checked_sub(start.elapsed()) {
            match self.lines.recv_timeout(left) {
                Ok(line) if words.iter().all(|word| line.contains(word)) => return line,
                Ok(line) => heard.push(line),
                Err(_) => break,
            }
        }
        panic!("it does not say {words:?}, but {heard:#?}");
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

#[test]
fn two_drivers_find_each_other_elect_a_leader_and_say_goodbye() {
    let first = Running::start(&["127.0.0.1:0"]);
    let line = first.says(&["listens on"]);
    let addr = line.rsplit(' ').next().unwrap().to_string();
    let mut second = Running::start(&["127.0.0.1:0", &addr]);
    let line = second.says(&["listens on"]);
    let port = line.rsplit(':').next().unwrap();
    let name = format!("driver-{port}");
    first.says(&[&name]);
    first.says(&["leads"]);
    second.says(&["leads"]);
    drop(second.child.stdin.take());
    first.says(&[&name, "is down: Left"]);
    let start = Instant::now();
    while second.child.try_wait().unwrap().is_none() {
        assert!(start.elapsed() < PATIENCE, "it has left and goes on");
        std::thread::sleep(Duration::from_millis(20));
    }
    assert!(second.child.wait().unwrap().success());
}
