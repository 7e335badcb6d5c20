//! Handler tests of the thesis's examples, counts and mistakes. Messages are delivered by hand.

mod counts;
mod examples;
mod mistakes;

use super::desk::Desk;
use super::*;
use alloc::vec;
use consort_proto::{Rng, kit};
use core::time::Duration;

const TIMEOUT: Duration = Duration::from_secs(25);

fn config(variant: Variant, c: u16) -> Config {
    let config = Config::paper(Method::Tolerant(variant), c, Duration::from_millis(50));
    assert_eq!(config.timeout, TIMEOUT);
    config
}

type Net = Desk<Vec<Listed>>;
type Flight = kit::Flight<Msg>;

/// Nodes that all list each other.
fn group(nodes: u64, config: Config, seed: u64) -> Net {
    let all: Vec<Listed> = (0..nodes).map(|i| listed(i, 0)).collect();
    Desk::new(config, vec![all; nodes as usize], &Rng::seed(seed, 1))
}

impl Net {
    fn unlist(&mut self, at: u64, id: u64) {
        self.scene.0[at as usize].retain(|m| m.id != NodeId(id));
    }

    fn unhealth(&mut self, at: u64, id: u64, unhealth: u32) {
        let of = |m: &&mut Listed| m.id == NodeId(id);
        let found = self.scene.0[at as usize].iter_mut().find(of);
        found.expect("it is listed").unhealth = unhealth;
    }

    fn node(&self, at: u64) -> &PaperElection {
        &self.hosts[&at].core
    }

    fn is_at_rest(&self) -> bool {
        self.hosts.values().all(|host| host.timers.is_empty())
    }

    fn restarts(&self) -> usize {
        let restart = |e: &&(u64, Event)| matches!(e.1, Event::Restarted(_));
        self.events.iter().filter(restart).count()
    }
}

fn listed(id: u64, unhealth: u32) -> Listed {
    let id = NodeId(id);
    Listed { id, unhealth }
}

fn is_query(f: &Flight) -> bool {
    matches!(f.msg, Msg::Query(_))
}

fn is_response(f: &Flight) -> bool {
    matches!(f.msg, Msg::Response { .. })
}

fn is_leader(f: &Flight) -> bool {
    matches!(f.msg, Msg::Leader(_))
}

/// The first seed with which an initiator asks exactly these others, and possibly itself.
fn asking(make: impl Fn(u64) -> Net, initiator: u64, others: &[u64]) -> Net {
    (0..10_000)
        .map(|seed| {
            let mut net = make(seed);
            net.start(initiator);
            net
        })
        .find(|net| net.asked() == others)
        .expect("some seed asks them")
}
