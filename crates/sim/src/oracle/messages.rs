//! I10, and the part of I16 about small groups: what a node may send.

use super::{Oracle, Verdict, slot, violated};
use crate::world::World;
use consort_proto::membership::{Fast, Msg};
use consort_proto::wire::{Datagram, Frame};

/// Probes of others' suspects that may be under way besides the regular one.
const WITNESS_PROBES: u64 = 8;
/// Datagrams that one request for records may draw: its pages, and one for rounding.
const ANSWER_MAX: u64 = 5;

/// Counts what each process receives and sends, and compares the two.
#[derive(Debug, Default)]
pub struct Messages {
    counts: Vec<Count>,
}

#[derive(Debug, Default)]
struct Count {
    pings_in: u64,
    requests_in: u64,
    lists_in: u64,
    datagrams_in: u64,
    acks_out: u64,
    answers_out: u64,
    requests_out: u64,
    news_out: u64,
    datagrams_out: u64,
    probes_itself: bool,
    /// Members before the step under way.
    live: usize,
}

impl Oracle for Messages {
    fn on_deliver(&mut self, _: &World, _: usize, to: usize, datagram: &Datagram) -> Verdict {
        let count = slot(&mut self.counts, to);
        count.datagrams_in += 1;
        for frame in &datagram.frames {
            let Frame::Membership(msg) = frame else {
                continue;
            };
            match msg {
                Msg::Ping { .. } => count.pings_in += 1,
                Msg::PingReq { .. } => count.requests_in += 1,
                Msg::Join | Msg::Pull { .. } | Msg::Page { .. } | Msg::Digest { .. } => {
                    count.lists_in += 1;
                }
                _ => {}
            }
        }
        Ok(())
    }

    fn on_send(&mut self, world: &World, host: usize, d: &Datagram, bytes: usize) -> Verdict {
        let max = usize::from(world.node_config().datagram_max);
        let exact = d.encoded_len();
        if bytes > max || bytes != exact {
            let text = format!("datagram of {exact} bytes, called {bytes}, at most {max}");
            return violated("I10", world, host, text);
        }
        let live = world.host(host).node().membership().table().live();
        let count = slot(&mut self.counts, host);
        // A step may lose members after it asked them.
        let live = live.max(count.live);
        // What elections and locks send of themselves is not bounded by what membership receives.
        let of_membership = matches!(d.frames.first(), Some(Frame::Membership(_)) | None);
        count.datagrams_out += u64::from(of_membership);
        for frame in &d.frames {
            let Frame::Membership(msg) = frame else {
                continue;
            };
            match msg {
                Msg::Ack { .. } => count.acks_out += 1,
                Msg::IndirectAck { .. } | Msg::Nack { .. } => count.answers_out += 1,
                Msg::News | Msg::Check(_) => count.news_out += 1,
                Msg::PingReq { .. } => {
                    count.requests_out += 1;
                    if live <= 1 {
                        let text = format!("asks for help in a group of {}", live + 1);
                        return violated("I16", world, host, text);
                    }
                }
                _ => {}
            }
        }
        Ok(())
    }

    fn on_dispatch(&mut self, _: &World, from: usize, to: usize, d: &Datagram, _: Option<u64>) {
        let ping = |f: &Frame| matches!(f, Frame::Membership(Msg::Ping { .. }));
        if from == to && d.frames.iter().any(ping) {
            slot(&mut self.counts, from).probes_itself = true;
        }
    }

    fn after_step(&mut self, world: &World, host: usize) -> Verdict {
        let count = slot(&mut self.counts, host);
        if count.probes_itself {
            return violated("I3", world, host, "probes itself".into());
        }
        count.live = world.host(host).node().membership().table().live();
        let config = &world.node_config().membership;
        let stats = world.host(host).node().stats().membership;
        let age = world.now().since(world.host(host).started());
        let periods =
            2 + age.as_micros() as u64 * 10 / (config.probe_period.as_micros() as u64 * 9);
        let helpers = u64::from(config.probe_helpers);
        let pings = 1 + u64::from(config.probe_retries);
        let regular = pings * (1 + WITNESS_PROBES) + u64::from(config.pursuits);
        // Fast detection: more pings of a probe, frequent pings of suspects, and a budget for the rest.
        let (regular, news) = match config.fast {
            None => (regular, 0),
            Some(fast) => {
                let probes = Fast::PINGS_MAX as u64 * (1 + WITNESS_PROBES);
                let often = config.probe_period.as_micros() / fast.quick.as_micros().max(1) + 1;
                let chases = Fast::CHASES_MAX as u64 * often as u64;
                let pursuits = u64::from(config.pursuits);
                (
                    probes + chases + pursuits,
                    u64::from(Fast::NEWS_MAX) + periods,
                )
            }
        };
        let checks = [
            ("probes", stats.probes, periods),
            ("acks", count.acks_out, count.pings_in),
            ("answers for others", count.answers_out, count.requests_in),
            (
                "requests",
                count.requests_out,
                helpers * periods * (1 + WITNESS_PROBES),
            ),
            ("news", count.news_out, news),
            (
                "datagrams",
                count.datagrams_out,
                // Its own probes and their helpers, goodbyes, one try to heal, and answers; every
                // datagram may also draw a pursuit or a comparison of lists.
                news + periods * (regular + helpers * (1 + WITNESS_PROBES) + 2 * helpers + 2)
                    + 2 * count.datagrams_in
                    + count.requests_in
                    + ANSWER_MAX * count.lists_in,
            ),
        ];
        for (what, sent, allowed) in checks {
            if sent > allowed {
                let text = format!("{sent} {what} in {age:?}, at most {allowed} are allowed");
                return violated("I10", world, host, text);
            }
        }
        Ok(())
    }

    fn on_restart(&mut self, _world: &World, host: usize) -> Verdict {
        *slot(&mut self.counts, host) = Count::default();
        Ok(())
    }
}
