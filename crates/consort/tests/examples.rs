//! Runs the examples as processes, in the group of a node of this test.

use consort::{Node, NodeId, Status};
use core::time::Duration;
use std::io::{BufRead, BufReader};
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::sync::mpsc;

mod common;
use common::{eventually, local};

const PATIENCE: Duration = Duration::from_secs(30);

/// An example that runs. It is killed at the end.
struct Running {
    child: Child,
    lines: mpsc::Receiver<String>,
}

impl Running {
    /// Starts a built example. Cargo builds the examples of a package with its tests.
    fn start(name: &str, args: &[&str]) -> Running {
        let test = std::env::current_exe().unwrap();
        let profile = test.ancestors().nth(2).unwrap();
        let file = format!("{name}{}", std::env::consts::EXE_SUFFIX);
        let path: PathBuf = profile.join("examples").join(file);
        assert!(path.exists(), "build the examples: {}", path.display());
        let mut child = Command::new(path)
            .args(args)
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

    /// Waits for a line that contains `words`.
    async fn says(&self, words: &str) -> String {
        let start = std::time::Instant::now();
        let mut heard = Vec::new();
        loop {
            match self.lines.try_recv() {
                Ok(line) if line.contains(words) => return line,
                Ok(line) => heard.push(line),
                Err(mpsc::TryRecvError::Empty) if start.elapsed() < PATIENCE => {
                    tokio::time::sleep(Duration::from_millis(20)).await;
                }
                Err(_) => panic!("it does not say {words:?}, but {heard:#?}"),
            }
        }
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// A node of this test, and its address for an example.
async fn seed(name: &str) -> (Node, String) {
    let node = local(name).bootstrap(true).start().await.unwrap();
    let addr = node.local_addr().to_string();
    (node, addr)
}

async fn member(node: &Node, name: &str) -> NodeId {
    let find = async || {
        let members = node.members().await.unwrap();
        let alive = |m: &&consort::Member| m.name() == name && m.status == Status::Alive;
        members.iter().find(alive).map(|m| m.id)
    };
    eventually(PATIENCE, "the example is a member", async || {
        find().await.is_some()
    })
    .await;
    find().await.unwrap()
}

#[tokio::test]
async fn watch_lists_the_members_and_tells_what_happens() {
    let (node, addr) = seed("first").await;
    let example = Running::start("watch", &[&addr]);
    example.says("watcher is Alive at").await;
    example.says("name: \"first\"").await;
    let guest = local("guest").join([&addr]).start().await.unwrap();
    example.says("name: \"guest\"").await;
    guest.leave().await.unwrap();
    example.says("why: Left").await;
    node.shutdown().await;
}

#[tokio::test]
async fn leader_leads_and_its_token_is_that_of_the_group() {
    let (node, addr) = seed("voter").await;
    let example = Running::start("leader", &[&addr]);
    let worker = member(&node, "worker").await;
    let line = example.says("leading with token").await;
    let token = line.rsplit(' ').next().unwrap();
    let election = node.election("gateway").await.unwrap();
    eventually(PATIENCE, "the seed knows the leader", async || {
        let leader = election.leader();
        leader.is_some_and(|l| l.id == worker && l.token.to_string() == token)
    })
    .await;
}

#[tokio::test]
async fn lock_counts_only_while_it_holds_the_lock() {
    let (node, addr) = seed("witness").await;
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("counter");
    let example = Running::start("lock", &[&addr, file.to_str().unwrap()]);
    let count = || {
        let text = std::fs::read_to_string(&file).unwrap_or_default();
        text.trim().parse::<u64>().unwrap_or(0)
    };
    eventually(PATIENCE, "it counts", async || count() >= 2).await;
    // While this test holds the lock, the number stays.
    let guard = node.lock("counter").acquire().await.unwrap();
    let before = count();
    tokio::time::sleep(Duration::from_millis(600)).await;
    assert_eq!(count(), before);
    guard.release().await;
    eventually(PATIENCE, "it counts again", async || count() > before).await;
    drop(example);
}
