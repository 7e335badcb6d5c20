//! `/metrics` is OpenMetrics, shows what is documented, and moves.
#![allow(
    clippy::std_instead_of_alloc,
    reason = "tests need std; naming alloc would tell nothing"
)]

use consort_agent::{
    Agent, Config, HttpAddr, RawConfig, RawElection, RawMembership, metrics_reference,
};
use core::time::Duration;
use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;
use std::time::Instant;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

async fn start(name: &str, join: Option<&Agent>) -> Agent {
    let raw = RawConfig {
        name: Some(name.into()),
        bind: Some("127.0.0.1:0".into()),
        http: Some("127.0.0.1:0".into()),
        join: join
            .iter()
            .map(|a| a.node().local_addr().to_string())
            .collect(),
        election: vec![RawElection {
            name: "gate\"way\\".into(),
            ..RawElection::default()
        }],
        membership: RawMembership {
            probe_period: Some(Duration::from_millis(100)),
            ..RawMembership::default()
        },
        ..RawConfig::default()
    };
    Agent::start(Config::try_from(raw).unwrap()).await.unwrap()
}

async fn get(agent: &Agent, path: &str) -> (String, String) {
    let HttpAddr::Tcp(addr) = agent.http() else {
        panic!("not TCP");
    };
    let mut stream = TcpStream::connect(addr).await.unwrap();
    let request = format!("GET {path} HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\r\n");
    stream.write_all(request.as_bytes()).await.unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).await.unwrap();
    let (head, body) = answer.split_once("\r\n\r\n").unwrap();
    (head.to_owned(), body.to_owned())
}

/// A scrape, taken apart by the rules of the format.
#[derive(Debug, Default)]
struct Scrape {
    kinds: BTreeMap<String, String>,
    samples: BTreeMap<String, f64>,
}

impl Scrape {
    fn parse(text: &str) -> Scrape {
        let mut scrape = Scrape::default();
        let body = text.strip_suffix("# EOF\n").expect("ends with EOF");
        let mut family = String::new();
        for line in body.lines() {
            if let Some(rest) = line.strip_prefix("# ") {
                let mut words = rest.splitn(3, ' ');
                let (keyword, name) = (words.next().unwrap(), words.next().unwrap());
                let rest = words.next().expect(line);
                match keyword {
                    "HELP" => {
                        let new = !scrape.kinds.contains_key(name);
                        assert!(new, "{name} is told in one piece");
                        assert!(
                            rest.len() > 3 && rest != "A counter of this node.",
                            "{line}"
                        );
                    }
                    "TYPE" => {
                        family = name.to_owned();
                        scrape.kinds.insert(family.clone(), rest.to_owned());
                    }
                    _ => panic!("{line}"),
                }
                continue;
            }
            let (series, value) = line.rsplit_once(' ').expect(line);
            let name = series.split('{').next().unwrap();
            let suffix = match scrape.kinds[&family].as_str() {
                "counter" => "_total",
                "gauge" => "",
                "info" => "_info",
                kind => panic!("{kind}"),
            };
            assert_eq!(name, format!("{family}{suffix}"), "{line}");
            assert!(name.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_'));
            let value: f64 = value.parse().expect(line);
            assert!(value >= 0.0, "{line}");
            let before = scrape.samples.insert(series.to_owned(), value);
            assert_eq!(before, None, "{line}");
        }
        scrape
    }

    async fn of(agent: &Agent) -> Scrape {
        let (head, body) = get(agent, "/metrics").await;
        assert!(head.starts_with("HTTP/1.1 200"), "{head}");
        assert!(
            head.contains("application/openmetrics-text; version=1.0.0"),
            "{head}"
        );
        Scrape::parse(&body)
    }

    fn names(&self) -> BTreeSet<&str> {
        let series = self.samples.keys();
        series.map(|s| s.split('{').next().unwrap()).collect()
    }
}

fn docs(file: &str) -> (PathBuf, String) {
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR"))
        .join("../../docs")
        .join(file);
    let text = std::fs::read_to_string(&path).unwrap();
    (path, text)
}

/// `UPDATE_DOCS=1 cargo test -p consort-agent --test metrics` writes the reference anew.
#[test]
fn the_reference_of_metrics_is_current() {
    let (path, text) = docs("MONITORING.md");
    let (begin, end) = ("<!-- metrics: generated -->\n", "<!-- end -->");
    let start = text.find(begin).unwrap() + begin.len();
    let stop = start + text[start..].find(end).unwrap();
    let reference = metrics_reference();
    if std::env::var_os("UPDATE_DOCS").is_some() {
        let new = format!("{}{reference}{}", &text[..start], &text[stop..]);
        std::fs::write(path, new).unwrap();
        return;
    }
    assert!(
        text[start..stop] == reference,
        "docs/MONITORING.md is not current: UPDATE_DOCS=1 cargo test -p consort-agent --test metrics"
    );
}

fn documented() -> BTreeSet<String> {
    let reference = metrics_reference();
    let names = reference
        .lines()
        .skip(2)
        .map(|l| l.split('`').nth(1).unwrap());
    names.map(str::to_owned).collect()
}

/// Names in alerts and the dashboard are names of metrics.
#[test]
fn alerts_and_dashboard_ask_for_metrics_that_exist() {
    let known = documented();
    for file in ["alerts.yml", "grafana.json"] {
        let (_, text) = docs(file);
        let words = text.split(|c: char| !(c.is_ascii_alphanumeric() || c == '_'));
        let asked: BTreeSet<&str> = words
            .filter(|w| w.starts_with("consort_") || w.starts_with("process_"))
            .collect();
        assert!(asked.len() > 5, "{file}");
        for name in asked {
            assert!(known.contains(name), "{file} asks for {name}");
        }
    }
    serde_json::from_str::<serde_json::Value>(&docs("grafana.json").1).unwrap();
}

#[tokio::test]
async fn what_is_documented_is_shown_and_moves() {
    let a = start("a", None).await;
    let first = Scrape::of(&a).await;
    let b = start("b\"\\", Some(&a)).await;
    let until = Instant::now() + Duration::from_secs(15);
    let scrape = loop {
        let scrape = Scrape::of(&a).await;
        let alive = scrape.samples[r#"consort_members{status="alive"}"#];
        let leader = scrape.samples.iter().any(|(series, value)| {
            series.starts_with("consort_election_has_leader") && *value == 1.0
        });
        let rtt = scrape
            .samples
            .contains_key(r#"consort_rtt_seconds{of="max"}"#);
        if alive == 2.0 && leader && rtt {
            break scrape;
        }
        assert!(Instant::now() < until, "{scrape:?}");
        tokio::time::sleep(Duration::from_millis(50)).await;
    };
    let documented = documented();
    let documented: BTreeSet<&str> = documented.iter().map(String::as_str).collect();
    let shown = scrape.names();
    let undocumented: Vec<_> = shown.difference(&documented).collect();
    assert!(
        undocumented.is_empty(),
        "add to metrics/help.rs: {undocumented:?}"
    );
    let missing: Vec<_> = documented.difference(&shown).collect();
    assert!(
        missing.is_empty() || cfg!(not(target_os = "linux")),
        "{missing:?}"
    );

    let election = r#"{election="gate\"way\\"}"#;
    assert!(
        scrape
            .samples
            .contains_key(&format!("consort_election_term{election}")),
        "{scrape:?}"
    );
    for series in [
        "consort_datagrams_in_total",
        "consort_datagrams_out_total",
        "consort_bytes_out_total",
        "consort_driver_datagrams_received_total",
        "consort_driver_bytes_received_total",
        "consort_membership_probes_total",
        r#"consort_events_total{event="up"}"#,
        r#"consort_http_requests_total{status="2xx"}"#,
        "consort_uptime_seconds",
    ] {
        let before = first.samples.get(series).copied().unwrap_or(0.0);
        assert!(
            scrape.samples[series] > before,
            "{series} does not move: {scrape:?}"
        );
    }
    assert_eq!(scrape.samples["consort_healthy"], 1.0);
    let (head, body) = get(&a, "/v1/health").await;
    assert!(head.starts_with("HTTP/1.1 200"), "{head}");
    assert!(body.contains(r#""reasons":[]"#), "{body}");
    b.kill().await;
    a.kill().await;
}

/// A node that hears none of those it knows says so.
#[tokio::test]
async fn an_isolated_node_is_not_healthy() {
    let a = start("a", None).await;
    let b = start("b", Some(&a)).await;
    let c = start("c", Some(&a)).await;
    let until = Instant::now() + Duration::from_secs(20);
    while Scrape::of(&a).await.samples[r#"consort_members{status="alive"}"#] < 3.0 {
        assert!(Instant::now() < until, "no group");
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    b.kill().await;
    c.kill().await;
    loop {
        let (head, body) = get(&a, "/v1/health").await;
        if head.starts_with("HTTP/1.1 503") {
            let health: serde_json::Value = serde_json::from_str(&body).unwrap();
            assert_eq!(health["status"], "isolated", "{body}");
            assert_eq!(health["reasons"][0]["code"], "isolated", "{body}");
            let scrape = Scrape::of(&a).await;
            assert_eq!(
                scrape.samples[r#"consort_unhealthy{reason="isolated"}"#],
                1.0
            );
            break;
        }
        assert!(Instant::now() < until, "healthy: {body}");
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    a.kill().await;
}
