//! Metrics of this process from the system, with the names that Prometheus clients use. Linux only; other systems
//! report nothing.

use super::help;
use core::fmt;
use prometheus_client::collector::Collector;
use prometheus_client::encoding::{DescriptorEncoder, EncodeMetric};
use prometheus_client::metrics::counter::ConstCounter;
use prometheus_client::metrics::gauge::ConstGauge;

/// The number of clock ticks per second in which Linux reports processor time.
const TICKS: f64 = 100.0;

/// Reads `/proc/self` at every scrape.
#[derive(Debug)]
pub(super) struct Process;

impl Collector for Process {
    fn encode(&self, mut encoder: DescriptorEncoder<'_>) -> Result<(), fmt::Error> {
        if let Some(seconds) = cpu_seconds() {
            let (name, metric) = ("process_cpu_seconds", ConstCounter::new(seconds));
            let out =
                encoder.encode_descriptor(name, help::of(name), None, metric.metric_type())?;
            metric.encode(out)?;
        }
        let gauges = [
            ("process_resident_memory_bytes", resident_bytes()),
            ("process_open_fds", open_files()),
        ];
        for (name, value) in gauges {
            let Some(value) = value else { continue };
            let metric = ConstGauge::new(value);
            let out =
                encoder.encode_descriptor(name, help::of(name), None, metric.metric_type())?;
            metric.encode(out)?;
        }
        Ok(())
    }
}

/// The processor time of all threads.
fn cpu_seconds() -> Option<f64> {
    let stat = std::fs::read_to_string("/proc/self/stat").ok()?;
    // The name of the program, in parentheses, may contain anything.
    let fields: Vec<&str> = stat.rsplit_once(')')?.1.split_whitespace().collect();
    let ticks = |at: usize| fields.get(at)?.parse::<u64>().ok();
    Some((ticks(11)? + ticks(12)?) as f64 / TICKS)
}

fn resident_bytes() -> Option<u64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find_map(|l| l.strip_prefix("VmRSS:"))?;
    let kib: u64 = line.trim().strip_suffix(" kB")?.parse().ok()?;
    Some(kib << 10)
}

fn open_files() -> Option<u64> {
    Some(std::fs::read_dir("/proc/self/fd").ok()?.count() as u64)
}
