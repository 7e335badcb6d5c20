//! How long it takes to get a lock and to give it back, alone and among eight that all want it, on loopback:
//! five nodes of ours in this process, and beside them in the same run five agents over HTTP and etcd, when their
//! addresses are given.
//!
//!     cargo bench -p consort --bench locks
//!     crates/consort/benches/beside-etcd

use consort::lock::Lock;
use consort::{Node, Status};
use core::fmt::Display;
use core::time::Duration;
use std::time::Instant;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

const NODES: usize = 5;
const CONTENDERS: usize = 8;
const ALONE_ROUNDS: usize = 1000;
const CROWD_ROUNDS: usize = 100;

type Result<T> = core::result::Result<T, Box<dyn core::error::Error + Send + Sync>>;

/// How long each grant took, and all of them together.
struct Run {
    spans: Vec<Duration>,
    wall: Duration,
}

#[tokio::main(flavor = "multi_thread", worker_threads = 2)]
async fn main() -> Result<()> {
    // `cargo bench` adds flags of its own.
    let after = |flag: &str| std::env::args().skip_while(|a| a != flag).nth(1);
    let (agents, etcd) = (after("--agents"), after("--etcd"));
    println!(
        "{:<28}{:>12}{:>12}{:>12}",
        "acquire + release", "median", "99 %", "grants/s"
    );
    let group = start().await?;
    let locks: Vec<Lock> = (0..CONTENDERS)
        .map(|n| group[n % NODES].lock("bench"))
        .collect();
    report("consort, alone", ours(&locks[..1], ALONE_ROUNDS).await?);
    report("consort, 8 contenders", ours(&locks, CROWD_ROUNDS).await?);
    // Without passing it on among those of one node first.
    let locks: Vec<Lock> = locks.into_iter().map(|lock| lock.cohort(0)).collect();
    report(
        "the same in strict turns",
        ours(&locks, CROWD_ROUNDS).await?,
    );
    if let Some(addrs) = agents {
        let addrs: Vec<&str> = addrs.split(',').collect();
        report("agents, alone", asked(&addrs, 1, ALONE_ROUNDS).await?);
        report(
            "agents, 8 contenders",
            asked(&addrs, CONTENDERS, CROWD_ROUNDS).await?,
        );
    }
    if let Some(addr) = etcd {
        report("etcd, alone", theirs(&addr, 1, ALONE_ROUNDS).await?);
        report(
            "etcd, 8 contenders",
            theirs(&addr, CONTENDERS, CROWD_ROUNDS).await?,
        );
    }
    Ok(())
}

async fn start() -> Result<Vec<Node>> {
    let mut group: Vec<Node> = Vec::new();
    for _ in 0..NODES {
        let node = Node::builder().bind(([127, 0, 0, 1], 0)).bootstrap(true);
        let node = node.join(group.first().map(|n| n.local_addr()));
        group.push(node.start().await?);
    }
    for node in &group {
        while node
            .members()
            .await?
            .iter()
            .filter(|m| m.status == Status::Alive)
            .count()
            < NODES
        {
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
        // The first lock wakes everybody up.
        node.lock("warm").acquire().await?.release().await;
    }
    Ok(group)
}

/// Every contender takes the lock and gives it back, so many times. How long each time took.
async fn ours(locks: &[Lock], rounds: usize) -> Result<Run> {
    let tasks = locks.iter().cloned().map(|lock| async move {
        let mut spans = Vec::new();
        for _ in 0..rounds {
            let start = Instant::now();
            lock.acquire().await?.release().await;
            spans.push(start.elapsed());
        }
        Result::Ok(spans)
    });
    together(tasks).await
}

/// The same by agents: a stream takes the lock, and a second connection gives it back.
async fn asked(addrs: &[&str], contenders: usize, rounds: usize) -> Result<Run> {
    let tasks = (0..contenders).map(|n| {
        let addr = addrs[n % addrs.len()].to_owned();
        async move {
            let mut holds = Http::connect(&addr).await?;
            let mut gives_back = Http::connect(&addr).await?;
            let mut spans = Vec::new();
            for _ in 0..rounds {
                let start = Instant::now();
                holds.send("POST", "/v1/locks/bench", "").await?;
                let events = holds.read_until("event: granted").await?;
                let request = text_of(&events, "request")?;
                let path = format!("/v1/locks/bench/{request}");
                gives_back.send("DELETE", &path, "").await?;
                gives_back.read_until("\"done\":true").await?;
                spans.push(start.elapsed());
                // The stream ends, and its connection takes the next request.
                holds.read_until("\r\n0\r\n\r\n").await?;
            }
            Result::Ok(spans)
        }
    });
    together(tasks).await
}

async fn theirs(addr: &str, contenders: usize, rounds: usize) -> Result<Run> {
    let tasks = (0..contenders).map(|_| {
        let addr = addr.to_owned();
        async move {
            let mut etcd = Http::connect(&addr).await?;
            let lease = etcd.call("/v3/lease/grant", r#"{"TTL":60}"#, "ID").await?;
            let wish = format!(r#"{{"name":"YmVuY2g=","lease":"{lease}"}}"#);
            let mut spans = Vec::new();
            for _ in 0..rounds {
                let start = Instant::now();
                let key = etcd.call("/v3/lock/lock", &wish, "key").await?;
                etcd.call(
                    "/v3/lock/unlock",
                    &format!(r#"{{"key":"{key}"}}"#),
                    "revision",
                )
                .await?;
                spans.push(start.elapsed());
            }
            Result::Ok(spans)
        }
    });
    together(tasks).await
}

async fn together(
    tasks: impl Iterator<Item = impl Future<Output = Result<Vec<Duration>>> + Send + 'static>,
) -> Result<Run> {
    let start = Instant::now();
    let tasks: Vec<_> = tasks.map(tokio::spawn).collect();
    let mut spans = Vec::new();
    for task in tasks {
        spans.extend(task.await??);
    }
    let wall = start.elapsed();
    Ok(Run { spans, wall })
}

fn report(what: impl Display, run: Run) {
    let Run { mut spans, wall } = run;
    spans.sort();
    let at = |percent: usize| spans[(spans.len() - 1) * percent / 100].as_secs_f64() * 1e3;
    let rate = spans.len() as f64 / wall.as_secs_f64();
    println!("{what:<28}{:>9.3} ms{:>9.3} ms{rate:>12.0}", at(50), at(99));
}

/// One connection to an HTTP server.
struct Http {
    stream: TcpStream,
    addr: String,
    /// What was read and not taken yet.
    rest: Vec<u8>,
}

impl Http {
    async fn connect(addr: &str) -> Result<Http> {
        let stream = TcpStream::connect(addr).await?;
        stream.set_nodelay(true)?;
        Ok(Http {
            stream,
            addr: addr.to_owned(),
            rest: Vec::new(),
        })
    }

    async fn send(&mut self, method: &str, path: &str, body: &str) -> Result<()> {
        let (len, host) = (body.len(), &self.addr);
        let request = format!(
            "{method} {path} HTTP/1.1\r\nHost: {host}\r\nContent-Length: {len}\r\n\r\n{body}"
        );
        Ok(self.stream.write_all(request.as_bytes()).await?)
    }

    /// Reads up to the line that has `mark` and the next, and takes it.
    async fn read_until(&mut self, mark: &str) -> Result<String> {
        loop {
            let text = String::from_utf8_lossy(&self.rest).into_owned();
            let whole = |at: usize| {
                mark.ends_with('\n') || mark.ends_with("true") || text[at..].contains("\n\n")
            };
            if text.find(mark).is_some_and(whole) {
                self.rest.clear();
                return Ok(text);
            }
            if self.stream.read_buf(&mut self.rest).await? == 0 {
                return Err(format!("{} closed the connection: {text}", self.addr).into());
            }
        }
    }

    /// Makes a call and gives the text of the field `field` of its answer.
    async fn call(&mut self, path: &str, body: &str, field: &str) -> Result<String> {
        self.send("POST", path, body).await?;
        loop {
            if self.stream.read_buf(&mut self.rest).await? == 0 {
                return Err("etcd closed the connection".into());
            }
            let text = String::from_utf8_lossy(&self.rest).into_owned();
            if let Some((head, body)) = text.split_once("\r\n\r\n") {
                let length = head.lines().find_map(|l| {
                    l.to_lowercase()
                        .strip_prefix("content-length: ")?
                        .parse()
                        .ok()
                });
                if length.is_none_or(|length: usize| body.len() >= length) {
                    self.rest.clear();
                    return text_of(body, field);
                }
            }
        }
    }
}

/// The text of a field in JSON, the last if there are several.
fn text_of(json: &str, field: &str) -> Result<String> {
    let value = json
        .rsplit_once(&format!("\"{field}\":\""))
        .and_then(|(_, v)| v.split_once('"'));
    value
        .map(|v| v.0.to_owned())
        .ok_or_else(|| format!("no {field} in {json}").into())
}
