//! A product node that runs one election after the other in a group of random lists.
//!
//! The node is a real one with a full member list; the answers of the members it asks are drawn: each lists any
//! candidate with the same probability, and itself. The node's own list always lacks the best candidate, since
//! otherwise it cannot be missed: the share of elections that miss it is counted among these, and multiplied by the
//! probability that a list lacks it.

use crate::sample::Values;
use consort_proto::churn::hedge;
use consort_proto::election::{Entry, Msg, Order, Policy, Query, Quorum, Ranking, Response, Score};
use consort_proto::membership::{
    self, Accusation, Campaign, Meta, Phase, Precedence, Record, SharedMeta, Status,
};
use consort_proto::wire::{Datagram, Frame, Header};
use consort_proto::{
    Command, Config, Destination, ElectionId, Identity, Incarnation, Instant, Life, Node, NodeId,
    Rng,
};
use consort_sim::world::{RESTORE_CHUNK, addr_of, id_of, index_at};

/// Elections before the first that counts: the estimate forgets a tenth with each.
pub(super) const WARM_UP: u32 = 50;
/// Elections that count.
pub(super) const ELECTIONS: u32 = 250;

const ELECTION: ElectionId = ElectionId::of("gateway");
const LIFE: Life = Life(10);
/// Share of silent members, in thousandths, that a node assumes until it has observed silence, and the most members
/// that it asks beyond its quorum.
const SILENT: u16 = 100;
const HEDGE_MAX: usize = 16;

/// An initiator and the lists around it.
struct Bench {
    node: Node,
    group: u32,
    nodes: usize,
    /// All candidates, best first.
    ranking: Vec<Entry>,
    /// Probability that a list lacks a candidate.
    lacks: f64,
    rng: Rng,
    datagram: Datagram,
}

/// One election.
struct Held {
    /// Lists read, including its own.
    quorum: usize,
    asked: usize,
    messages: usize,
    leader: Option<NodeId>,
}

/// Runs elections among `args[0]` nodes, where a list lacks a candidate with probability `args[1]`, and the best
/// may be missed with probability `args[2]`.
pub(super) fn elections(args: &[f64], seed: u64) -> Values {
    let mut bench = Bench::new(args[0] as usize, args[1], args[2], seed);
    let best = bench.ranking[0].id;
    for _ in 0..WARM_UP {
        bench.elect();
    }
    let (mut quorums, mut most, mut messages, mut missed) = (0, 0, 0, 0_u32);
    let mut exact = true;
    for _ in 0..ELECTIONS {
        let held = bench.elect();
        quorums += held.quorum;
        most = most.max(held.quorum);
        messages += held.messages;
        missed += u32::from(held.leader != Some(best));
        let others = held.quorum - 1;
        let asked = others + hedge(others, SILENT, HEDGE_MAX);
        exact &=
            held.asked == asked && (held.messages == 2 * asked + 2 || held.leader != Some(best));
    }
    let mean = |sum: usize| sum as f64 / f64::from(ELECTIONS);
    let share = f64::from(missed) / f64::from(ELECTIONS);
    Values::from([
        ("r".into(), mean(quorums)),
        ("r-max".into(), most as f64),
        ("messages".into(), mean(messages)),
        ("missed".into(), share * args[1]),
        ("seen".into(), f64::from(missed)),
        ("exact".into(), f64::from(u8::from(exact))),
    ])
}

impl Bench {
    fn new(nodes: usize, lacks: f64, epsilon: f64, seed: u64) -> Bench {
        let mut config = Config::default();
        config.election.quorum = Quorum::Posterior { epsilon };
        config.membership.members_max = nodes as u32;
        // A verdict counts at once: time does not pass here.
        config.membership.confirm_grace_periods = 0;
        let group = config.group_tag();
        let campaign = Campaign {
            election: ELECTION,
            class: 0,
            attribute: 0,
            centrality: 0,
            settled: true,
        };
        let meta = SharedMeta::from(Meta {
            campaigns: vec![campaign],
            ..Meta::default()
        });
        let record = |index: usize| Record {
            id: id_of(index),
            precedence: Precedence::alive(LIFE, Incarnation(0)),
            accuser: id_of(index),
            addr: addr_of(index),
            meta: meta.clone(),
            coordinate: None,
            nap_ms: 0,
            current: true,
        };
        let identity = Identity {
            id: id_of(0),
            life: LIFE,
            addr: addr_of(0),
            meta: Meta::default(),
            memory: LIFE,
            wall: None,
        };
        let entry = |index| Entry::new(id_of(index), LIFE, &campaign);
        let mut ranking: Vec<Entry> = (1..nodes).map(entry).collect();
        ranking.sort_by_key(|e| Score::of(group, ELECTION, Ranking::default(), e));
        let mut bench = Bench {
            node: Node::new(config, identity, seed, Instant::ZERO).expect("the defaults work"),
            group,
            nodes,
            ranking,
            lacks,
            rng: Rng::seed(seed, 1),
            datagram: Datagram::default(),
        };
        let records: Vec<Record> = (1..nodes).map(record).collect();
        for chunk in records.chunks(RESTORE_CHUNK) {
            bench.order(Command::Restore(chunk.to_vec()));
        }
        bench.order(Command::Election(Order::Open(ELECTION, Policy::default())));
        bench.lose_best();
        bench
    }

    /// Another member reports that the best candidate is gone.
    fn lose_best(&mut self) {
        let (best, from) = (self.ranking[0].id, self.ranking[1].id);
        let accusation = Accusation {
            id: best,
            precedence: Precedence::alive(LIFE, Incarnation(0)).with(Status::Dead),
            accuser: from,
        };
        self.hear(
            from,
            Frame::Membership(membership::Msg::Accusation(accusation)),
        );
        while self.node.poll_transmit(&mut self.datagram).is_some() {}
    }

    fn lacks_best(&self) -> bool {
        let best = self.node.membership().table().get(self.ranking[0].id);
        best.is_some_and(|m| m.phase == Phase::Down)
    }

    fn order(&mut self, command: Command) {
        self.node.handle_command(Instant::ZERO, command);
        self.drain();
    }

    fn hear(&mut self, from: NodeId, frame: Frame) {
        let header = Header {
            group: self.group,
            id: from,
            life: LIFE,
            digest: self.node.membership().digest(self.node.id()),
            ..Header::default()
        };
        let frames = vec![frame];
        let mut datagram = Datagram {
            header,
            frames,
            ..Datagram::default()
        };
        let addr = addr_of(from.0 as usize - 1);
        self.node
            .handle_datagram(Instant::ZERO, addr, &mut datagram);
        self.drain();
    }

    fn drain(&mut self) {
        while self.node.poll_event().is_some() {}
        while self.node.poll_fact().is_some() {}
    }

    /// The node's messages about the election, in order.
    fn sent(&mut self) -> Vec<(NodeId, Msg)> {
        let mut sent = Vec::new();
        while let Some((addr, _)) = self.node.poll_transmit(&mut self.datagram) {
            let Destination::Addr(addr) = addr else {
                continue;
            };
            let Some(to) = index_at(addr, self.nodes).map(id_of) else {
                continue;
            };
            for frame in self.datagram.frames.drain(..) {
                if let Frame::Election(msg @ (Msg::Query(_) | Msg::Notify { .. })) = frame {
                    sent.push((to, msg));
                }
            }
        }
        sent
    }

    /// Runs an election. The answers arrive one by one, and the chosen node accepts before any answer beyond the
    /// quorum is read.
    fn elect(&mut self) -> Held {
        assert!(self.lacks_best(), "the initiator's list has the best");
        self.order(Command::Election(Order::Hold(ELECTION)));
        let queries = self.sent();
        let mut held = Held {
            quorum: 1,
            asked: queries.len(),
            messages: 2 * queries.len(),
            leader: None,
        };
        for (from, msg) in queries {
            let Msg::Query(query) = msg else { continue };
            let response = self.response(from, &query);
            self.hear(from, Frame::Election(Msg::Response(response)));
            if held.leader.is_some() {
                continue;
            }
            held.quorum += 1;
            for (to, msg) in self.sent() {
                held.messages += 1;
                if let Msg::Notify { claim, .. } = msg {
                    held.leader = Some(to);
                    held.messages += 1;
                    let entry = self.ranking.iter().find(|e| e.id == to);
                    let accept = Msg::Accept {
                        election: ELECTION,
                        key: claim.key,
                        entry: *entry.expect("only candidates are told"),
                    };
                    self.hear(to, Frame::Election(accept));
                }
            }
        }
        self.sent();
        held
    }

    /// The answer of `from`: the best candidates that it lists.
    fn response(&mut self, from: NodeId, query: &Query) -> Response {
        let mut best = Vec::new();
        for entry in &self.ranking {
            if best.len() >= usize::from(query.best) {
                break;
            }
            if entry.id == from || !self.rng.chance(self.lacks) {
                best.push(*entry);
            }
        }
        Response {
            election: ELECTION,
            term: query.term,
            attempt: query.attempt,
            best,
            favoured: Vec::new(),
            worst: Vec::new(),
            truncated: true,
            incumbent_seen: false,
            size: self.nodes as u32,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_that_all_lack_the_best_miss_it_and_full_lists_do_not() {
        let never = elections(&[64.0, 0.0, 1e-3], 1);
        assert_eq!((never["seen"], never["exact"]), (0.0, 1.0));
        let mostly = elections(&[64.0, 0.9, 1e-2], 1);
        assert!(mostly["seen"] > 0.0, "{mostly:?}");
        assert!(mostly["r"] > never["r"], "{mostly:?}");
    }

    #[test]
    fn the_same_seed_holds_the_same_elections() {
        let args = [256.0, 0.4, 1e-6];
        assert_eq!(elections(&args, 3), elections(&args, 3));
        assert_ne!(elections(&args, 3), elections(&args, 4));
    }
}
