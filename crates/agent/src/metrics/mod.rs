//! `/metrics`: all counters and the current state, in OpenMetrics text.
//!
//! Counters of the node are taken from its [`Stats`] by their names, so a counter that is added there shows up here.
//! `help.rs` has the meaning of each; `docs/MONITORING.md` is generated from the same table.

mod help;
mod process;

pub(crate) use help::reference;

use crate::api::HealthView;
use crate::view::HEALTH_CODES;
use consort::election::ElectionStatus;
use consort::lock::Readiness;
use consort::{Member, Stats, Status};
use core::fmt;
use core::sync::atomic::{AtomicU64, Ordering};
use core::time::Duration;
use prometheus_client::collector::Collector;
use prometheus_client::encoding::text::encode;
use prometheus_client::encoding::{DescriptorEncoder, EncodeMetric};
use prometheus_client::metrics::counter::ConstCounter;
use prometheus_client::metrics::gauge::ConstGauge;
use prometheus_client::metrics::{MetricType, TypedMetric};
use prometheus_client::registry::Registry;
use std::collections::BTreeMap;
use std::sync::Arc;

/// The media type of the answer.
pub(crate) const CONTENT_TYPE: &str = "application/openmetrics-text; version=1.0.0; charset=utf-8";

/// The greatest number of elections with their own series; further ones are only counted.
const ELECTIONS_MAX: usize = 64;

/// Counters of the agent itself.
#[derive(Debug, Default)]
pub(crate) struct Meters {
    /// The number of answers by class of status, 1xx to 5xx.
    answers: [AtomicU64; 5],
    /// The number of commands that event handlers ran, of those that failed, and of events that handlers missed.
    handler_runs: AtomicU64,
    handler_failures: AtomicU64,
    handler_missed: AtomicU64,
    /// The number of open connections of the HTTP interface, of refused ones, and of those closed to make room for
    /// others.
    connections: AtomicU64,
    connections_refused: AtomicU64,
    connections_evicted: AtomicU64,
    /// The number of streams and of requests for locks by plain calls that were refused because there were too many, of
    /// queries that handlers declined for the same reason, and of lines of the log that slow readers missed.
    streams_refused: AtomicU64,
    calls_refused: AtomicU64,
    queries_declined: AtomicU64,
    log_lines_missed: AtomicU64,
}

impl Meters {
    /// Counts a command of an event handler.
    pub(crate) fn handler_ran(&self, good: bool) {
        self.handler_runs.fetch_add(1, Ordering::Relaxed);
        if !good {
            self.handler_failures.fetch_add(1, Ordering::Relaxed);
        }
    }

    /// Counts events that a handler missed because it was too slow.
    pub(crate) fn handler_missed(&self, events: u64) {
        self.handler_missed.fetch_add(events, Ordering::Relaxed);
    }

    /// Counts a connection that was opened.
    pub(crate) fn connection_opened(&self) {
        self.connections.fetch_add(1, Ordering::Relaxed);
    }

    /// Counts a connection that ended.
    pub(crate) fn connection_closed(&self) {
        self.connections.fetch_sub(1, Ordering::Relaxed);
    }

    /// Counts a connection that was refused because there was no room.
    pub(crate) fn connection_refused(&self) {
        self.connections_refused.fetch_add(1, Ordering::Relaxed);
    }

    /// Counts an idle connection that was closed to make room for another.
    pub(crate) fn connection_evicted(&self) {
        self.connections_evicted.fetch_add(1, Ordering::Relaxed);
    }

    /// Counts a stream that was refused because there were as many as there may be.
    pub(crate) fn stream_refused(&self) {
        self.streams_refused.fetch_add(1, Ordering::Relaxed);
    }

    /// Counts a request for a lock by plain calls that was refused because there were too many.
    pub(crate) fn call_refused(&self) {
        self.calls_refused.fetch_add(1, Ordering::Relaxed);
    }

    /// Counts a query that was declined because too many others were being answered.
    pub(crate) fn query_declined(&self) {
        self.queries_declined.fetch_add(1, Ordering::Relaxed);
    }

    /// Counts lines of the log that a slow reader missed.
    pub(crate) fn log_missed(&self, lines: u64) {
        self.log_lines_missed.fetch_add(lines, Ordering::Relaxed);
    }

    /// Counts an answer.
    pub(crate) fn answered(&self, status: u16) {
        let class = usize::from(status / 100).clamp(1, 5) - 1;
        self.answers[class].fetch_add(1, Ordering::Relaxed);
    }
}

/// The input of one scrape.
#[derive(Debug)]
pub(crate) struct Snapshot {
    pub(crate) stats: Stats,
    pub(crate) members: Vec<Member>,
    pub(crate) elections: Vec<ElectionStatus>,
    pub(crate) locks: Readiness,
    pub(crate) locks_held: usize,
    pub(crate) health: HealthView,
    pub(crate) uptime: Duration,
    pub(crate) group: String,
    /// The number of events since the start, by name.
    pub(crate) events: BTreeMap<String, u64>,
    /// The number of events that slow readers missed.
    pub(crate) events_missed: u64,
    pub(crate) event_readers: usize,
    pub(crate) meters: Arc<Meters>,
}

impl Snapshot {
    /// Formats the metrics as text.
    pub(crate) fn text(self) -> Result<String, fmt::Error> {
        let mut registry = Registry::with_prefix("consort");
        registry.register_collector(Box::new(self));
        let mut text = String::with_capacity(16 << 10);
        let mut process = Registry::default();
        process.register_collector(Box::new(process::Process));
        prometheus_client::encoding::text::encode_registry(&mut text, &registry)?;
        encode(&mut text, &process)?;
        Ok(text)
    }

    fn members(&self, status: Status) -> u64 {
        let with = self.members.iter().filter(|m| m.status == status);
        with.count() as u64
    }
}

impl Collector for Snapshot {
    fn encode(&self, encoder: DescriptorEncoder<'_>) -> Result<(), fmt::Error> {
        let mut out = Out(encoder);
        for (name, value) in counters(&self.stats) {
            out.counter(&name, value)?;
        }
        let statuses = [Status::Alive, Status::Suspect, Status::Failed, Status::Left];
        let counts = statuses.map(|s| (s.to_string(), self.members(s)));
        out.gauges("members", "status", &counts)?;
        let mut rtts: Vec<f64> = self
            .members
            .iter()
            .filter_map(|m| m.rtt)
            .map(|d| d.as_secs_f64())
            .collect();
        rtts.sort_unstable_by(f64::total_cmp);
        if let (Some(&max), Some(&median)) = (rtts.last(), rtts.get(rtts.len() / 2)) {
            let rtts = [("median".to_owned(), median), ("max".to_owned(), max)];
            out.gauges("rtt_seconds", "of", &rtts)?;
        }
        if let Some(own) = self.members.iter().find(|m| m.is_self) {
            out.gauge("incarnation", u64::from(own.incarnation.0))?;
            let id = own.id.to_string();
            let labels = [
                ("id", id.as_str()),
                ("name", own.name()),
                ("group", self.group.as_str()),
            ];
            out.info("node", &labels)?;
        }
        out.info("build", &[("version", env!("CARGO_PKG_VERSION"))])?;
        out.gauge("uptime_seconds", self.uptime.as_secs_f64())?;
        out.gauge("healthy", u64::from(self.health.reasons.is_empty()))?;
        let why = HEALTH_CODES.map(|code| {
            let holds = self.health.reasons.iter().any(|r| r.code == code);
            (code.to_owned(), u64::from(holds))
        });
        out.gauges("unhealthy", "reason", &why)?;
        self.elections(&mut out)?;
        out.gauge("lock_ready", u64::from(self.locks.synced))?;
        out.gauge("lock_witness", u64::from(self.locks.mature))?;
        out.gauge("lock_http_holders", self.locks_held as u64)?;
        let events: Vec<(String, u64)> = self.events.clone().into_iter().collect();
        out.counters("events", "event", &events)?;
        out.counter("events_missed", self.events_missed)?;
        out.gauge("event_readers", self.event_readers as u64)?;
        let meter = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
        out.counter("handler_runs", meter(&self.meters.handler_runs))?;
        out.counter("handler_failures", meter(&self.meters.handler_failures))?;
        out.counter("handler_events_missed", meter(&self.meters.handler_missed))?;
        out.gauge("http_connections", meter(&self.meters.connections))?;
        let refused = meter(&self.meters.connections_refused);
        out.counter("http_connections_refused", refused)?;
        let evicted = meter(&self.meters.connections_evicted);
        out.counter("http_connections_evicted", evicted)?;
        let meters = &self.meters;
        out.counter("http_streams_refused", meter(&meters.streams_refused))?;
        out.counter("http_calls_refused", meter(&meters.calls_refused))?;
        out.counter("handler_queries_declined", meter(&meters.queries_declined))?;
        out.counter("log_lines_missed", meter(&meters.log_lines_missed))?;
        let classes = ["1xx", "2xx", "3xx", "4xx", "5xx"];
        let answers = classes.iter().zip(&self.meters.answers);
        let answers: Vec<(String, u64)> = answers
            .map(|(class, n)| ((*class).to_owned(), n.load(Ordering::Relaxed)))
            .collect();
        out.counters("http_requests", "status", &answers)
    }
}

impl Snapshot {
    fn elections(&self, out: &mut Out<'_>) -> Result<(), fmt::Error> {
        let shown = &self.elections[..self.elections.len().min(ELECTIONS_MAX)];
        let each = |value: &dyn Fn(&ElectionStatus) -> u64| -> Vec<(String, u64)> {
            let values = shown.iter().map(|e| (e.election.to_string(), value(e)));
            values.collect()
        };
        out.gauge("elections_known", self.elections.len() as u64)?;
        out.gauges(
            "election_has_leader",
            "election",
            &each(&|e| u64::from(e.leader.is_some())),
        )?;
        out.gauges(
            "election_leading",
            "election",
            &each(&|e| u64::from(e.acting.is_some())),
        )?;
        let term = |e: &ElectionStatus| e.leader.as_ref().map_or(0, |l| l.token.term.0);
        out.gauges("election_term", "election", &each(&term))?;
        out.gauges(
            "election_candidates",
            "election",
            &each(&|e| e.candidates.len() as u64),
        )
    }
}

/// The counters of a node, by the names of their fields. Those of locks and of the topology layer use the words that
/// users know.
fn counters(stats: &Stats) -> Vec<(String, u64)> {
    let mut found = Vec::new();
    // Plain data always serialises.
    let value = serde_json::to_value(stats).unwrap_or_default();
    walk("", &value, &mut found);
    found
}

fn walk(prefix: &str, value: &serde_json::Value, found: &mut Vec<(String, u64)>) {
    for (key, value) in value.as_object().into_iter().flatten() {
        let word = match (prefix, key.as_str()) {
            ("", "mutex") => "lock",
            ("", "omega") => "topology",
            (_, key) => key,
        };
        let name = match prefix {
            "" => word.to_owned(),
            prefix => format!("{prefix}_{word}"),
        };
        match value.as_u64() {
            Some(count) => found.push((name, count)),
            None => walk(&name, value, found),
        }
    }
}

/// Writes metrics with their help texts.
struct Out<'a>(DescriptorEncoder<'a>);

impl Out<'_> {
    fn counter(&mut self, name: &str, value: u64) -> Result<(), fmt::Error> {
        let counter = ConstCounter::new(value);
        let encoder =
            self.0
                .encode_descriptor(name, help::of(name), None, counter.metric_type())?;
        counter.encode(encoder)
    }

    fn gauge<N>(&mut self, name: &str, value: N) -> Result<(), fmt::Error>
    where
        ConstGauge<N>: EncodeMetric,
    {
        let gauge = ConstGauge::new(value);
        let encoder = self
            .0
            .encode_descriptor(name, help::of(name), None, gauge.metric_type())?;
        gauge.encode(encoder)
    }

    fn gauges<N: Copy>(
        &mut self,
        name: &str,
        label: &'static str,
        values: &[(String, N)],
    ) -> Result<(), fmt::Error>
    where
        ConstGauge<N>: EncodeMetric,
    {
        let mut family = self
            .0
            .encode_descriptor(name, help::of(name), None, MetricType::Gauge)?;
        for (value, number) in values {
            let labels = [(label, value.as_str())];
            ConstGauge::new(*number).encode(family.encode_family(&labels)?)?;
        }
        Ok(())
    }

    fn counters(
        &mut self,
        name: &str,
        label: &'static str,
        values: &[(String, u64)],
    ) -> Result<(), fmt::Error> {
        let kind = ConstCounter::<u64>::TYPE;
        let mut family = self.0.encode_descriptor(name, help::of(name), None, kind)?;
        for (value, number) in values {
            let labels = [(label, value.as_str())];
            ConstCounter::new(*number).encode(family.encode_family(&labels)?)?;
        }
        Ok(())
    }

    fn info(&mut self, name: &str, labels: &[(&str, &str)]) -> Result<(), fmt::Error> {
        let mut encoder = self
            .0
            .encode_descriptor(name, help::of(name), None, MetricType::Info)?;
        encoder.encode_info(&labels)
    }
}
