//! Counters over time.

use crate::api::SampleView;
use crate::view::now_ms;
use consort::Stats;
use std::collections::VecDeque;

/// The number of samples in half an hour.
const SAMPLES_MAX: usize = 360;

#[derive(Debug, Default)]
pub(super) struct Traffic(VecDeque<SampleView>);

impl Traffic {
    pub(super) fn take(&mut self, stats: &Stats) {
        if self.0.len() == SAMPLES_MAX {
            self.0.pop_front();
        }
        self.0.push_back(SampleView {
            at_ms: now_ms(),
            bytes_in: stats.driver.bytes_received,
            bytes_out: stats.core.bytes_out,
            datagrams_in: stats.driver.datagrams_received,
            datagrams_out: stats.core.datagrams_out,
            probes: stats.core.membership.probes,
            probes_failed: stats.core.membership.probes_failed,
            accusations: stats.core.membership.accusations,
        });
    }

    pub(super) fn samples(&self) -> Vec<SampleView> {
        self.0.iter().cloned().collect()
    }
}
