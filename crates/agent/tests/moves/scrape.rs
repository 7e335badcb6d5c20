//! Agents, requests to them, and what their metrics do over time.

use super::of_scenario;
use consort_agent::{Agent, Config, HttpAddr, RawConfig, RawElection, RawLocks, RawMembership};
use core::net::SocketAddr;
use core::time::Duration;
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};
use std::time::Instant;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::task::JoinHandle;

/// How long anything here may take.
pub(crate) const PATIENCE: Duration = Duration::from_secs(25);

const PAUSE: Duration = Duration::from_millis(40);

/// Settings of an agent with short periods.
pub(crate) fn raw(name: &str, join: Option<&Agent>) -> RawConfig {
    RawConfig {
        name: Some(name.into()),
        bind: Some("127.0.0.1:0".into()),
        http: Some("127.0.0.1:0".into()),
        join: join
            .iter()
            .map(|a| a.node().local_addr().to_string())
            .collect(),
        membership: RawMembership {
            probe_period: Some(Duration::from_millis(80)),
            ..RawMembership::default()
        },
        lock: RawLocks {
            ttl: Some(Duration::from_secs(1)),
            retry: Some(Duration::from_millis(100)),
            ..RawLocks::default()
        },
        ..RawConfig::default()
    }
}

pub(crate) fn standing_in(election: &str) -> Vec<RawElection> {
    vec![RawElection {
        name: election.into(),
        ..RawElection::default()
    }]
}

pub(crate) async fn start(raw: RawConfig) -> Agent {
    start_with(raw, |_| ()).await
}

/// Starts an agent with limits that no settings reach.
pub(crate) async fn start_with(raw: RawConfig, tune: impl FnOnce(&mut Config)) -> Agent {
    let mut config = Config::try_from(raw).unwrap();
    tune(&mut config);
    Agent::start(config).await.unwrap()
}

pub(crate) fn http(agent: &Agent) -> SocketAddr {
    match *agent.http() {
        HttpAddr::Tcp(addr) => addr,
        HttpAddr::Tls { .. } | HttpAddr::Unix(_) => panic!("not plain TCP"),
    }
}

/// Sends a request, and returns the connection.
pub(crate) async fn send(addr: SocketAddr, request: &str) -> TcpStream {
    let mut stream = TcpStream::connect(addr).await.unwrap();
    let request = format!("{request} HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n");
    let request = format!("{request}content-length: 0\r\n\r\n");
    stream.write_all(request.as_bytes()).await.unwrap();
    stream
}

/// All that is sent until the connection is closed.
pub(crate) async fn rest(stream: &mut TcpStream) -> String {
    let mut answer = Vec::new();
    let read = tokio::time::timeout(PATIENCE, stream.read_to_end(&mut answer)).await;
    // A reset is an end too.
    let _ = read.expect("the connection stays open");
    String::from_utf8_lossy(&answer).into_owned()
}

/// Sends a request like `GET /v1/self`, and returns the status and the body.
pub(crate) async fn ask(addr: SocketAddr, request: &str) -> (u16, String) {
    let mut stream = send(addr, request).await;
    let answer = rest(&mut stream).await;
    let status = answer.split(' ').nth(1).and_then(|s| s.parse().ok());
    let body = answer.split_once("\r\n\r\n").map_or("", |(_, body)| body);
    (status.unwrap_or(0), body.to_owned())
}

pub(crate) async fn eventually(what: &str, condition: impl AsyncFn() -> bool) {
    let start = Instant::now();
    while !condition().await {
        assert!(start.elapsed() < PATIENCE, "not in time: {what}");
        tokio::time::sleep(PAUSE).await;
    }
}

/// A series of one agent: its smallest and its greatest value. One that appears later was 0 before.
type Seen = BTreeMap<(SocketAddr, String), (f64, f64)>;

/// Reads the metrics of agents again and again.
pub(crate) struct Moves {
    scenario: &'static str,
    seen: Arc<Mutex<Seen>>,
    tasks: Vec<JoinHandle<()>>,
}

impl Drop for Moves {
    fn drop(&mut self) {
        self.tasks.iter().for_each(JoinHandle::abort);
    }
}

impl Moves {
    /// Watches the agents of a scenario.
    pub(crate) async fn of(scenario: &'static str, agents: &[&Agent]) -> Moves {
        let seen = Arc::<Mutex<Seen>>::default();
        let mut tasks = Vec::new();
        for addr in agents.iter().map(|a| http(a)) {
            look(&seen, addr, true).await;
            let seen = Arc::clone(&seen);
            tasks.push(tokio::spawn(async move {
                loop {
                    tokio::time::sleep(PAUSE).await;
                    look(&seen, addr, false).await;
                }
            }));
        }
        Moves {
            scenario,
            seen,
            tasks,
        }
    }

    /// The metrics of the scenario that have not moved yet.
    fn still(&self) -> Vec<&'static str> {
        let seen = self.seen.lock().unwrap();
        let moved = |metric: &str| {
            let mut series = seen.iter().filter(|((_, s), _)| name(s) == metric);
            series.any(|((_, s), (least, most))| match metric.ends_with("_info") {
                // It tells words, which stay.
                true => *most == 1.0 && !s.contains("=\"\""),
                false => most > least,
            })
        };
        let metrics = of_scenario(self.scenario).iter().copied();
        metrics.filter(|metric| !moved(metric)).collect()
    }

    pub(crate) fn has_moved(&self, metric: &str) -> bool {
        assert!(of_scenario(self.scenario).contains(&metric), "{metric}");
        !self.still().contains(&metric)
    }

    pub(crate) async fn wait_for(&self, metric: &str) {
        eventually(metric, async || self.has_moved(metric)).await;
    }

    /// Waits until all metrics of the scenario have moved.
    pub(crate) async fn all(&self) {
        let start = Instant::now();
        loop {
            let still = self.still();
            if still.is_empty() {
                return;
            }
            let late = start.elapsed() > PATIENCE;
            assert!(!late, "{} does not move {still:?}", self.scenario);
            tokio::time::sleep(PAUSE).await;
        }
    }
}

fn name(series: &str) -> &str {
    series.split('{').next().unwrap_or_default()
}

/// Reads the metrics once, if there is an answer.
async fn look(seen: &Mutex<Seen>, addr: SocketAddr, first: bool) {
    let Ok(mut stream) = TcpStream::connect(addr).await else {
        return;
    };
    let request = "GET /metrics HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\r\n";
    let mut answer = String::new();
    let exchange = async {
        stream.write_all(request.as_bytes()).await?;
        stream.read_to_string(&mut answer).await
    };
    let read = tokio::time::timeout(Duration::from_secs(2), exchange).await;
    if !matches!(read, Ok(Ok(_))) || !answer.starts_with("HTTP/1.1 200") {
        return;
    }
    let mut seen = seen.lock().unwrap();
    for line in answer.lines().skip_while(|l| !l.starts_with('#')) {
        let Some((series, value)) = line.rsplit_once(' ').filter(|_| !line.starts_with('#')) else {
            continue;
        };
        let Ok(value) = value.parse::<f64>() else {
            continue;
        };
        let before = if first { value } else { 0.0 };
        let entry = seen
            .entry((addr, series.to_owned()))
            .or_insert((before, before));
        entry.0 = entry.0.min(value);
        entry.1 = entry.1.max(value);
    }
}
