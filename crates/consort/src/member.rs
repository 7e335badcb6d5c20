//! The member list as an application sees it.

use consort_proto::membership::{self, Meta, Phase};
use consort_proto::{Incarnation, Instant, Life, NodeId};
use core::fmt;
use core::net::SocketAddr;
use core::time::Duration;
use std::collections::BTreeMap;
use std::sync::Arc;

/// What this node holds a member to be.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Status {
    /// It is here.
    Alive,
    /// It may be gone; it is still a member.
    Suspect,
    /// Nobody could reach it.
    Failed,
    /// It said goodbye.
    Left,
}

impl Status {
    /// The word for it, as the command line and the HTTP interface write it.
    pub const fn as_str(self) -> &'static str {
        match self {
            Status::Alive => "alive",
            Status::Suspect => "suspect",
            Status::Failed => "failed",
            Status::Left => "left",
        }
    }
}

impl fmt::Display for Status {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}

/// One member, at the moment it was asked for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Member {
    /// Stable identity of the device.
    pub id: NodeId,
    /// This node's verdict.
    pub status: Status,
    /// Where it listens.
    pub addr: SocketAddr,
    /// Its process life: larger after every restart.
    pub life: Life,
    /// How often it had to refute an accusation in this life.
    pub incarnation: Incarnation,
    /// Name and tags it announced. Empty until its record has arrived.
    pub meta: Arc<Meta>,
    /// Smoothed round-trip time of this node's own probes, when there was one.
    pub rtt: Option<Duration>,
    /// How healthy it was of late, in percent: every suspicion lowers it and fades with time.
    pub health_percent: u8,
    /// How often it was suspected since this node knows it.
    pub suspicions: u32,
    /// How often it answered for itself.
    pub refutations: u32,
    /// Who accuses it, while it is suspect or failed; who removed it, if an operator did.
    pub accuser: Option<NodeId>,
    /// How rarely it fails, by what this node and others have seen. Of itself a node knows the rank only.
    pub reliability: Reliability,
    /// How long ago this node heard from it directly; `None` of itself.
    pub heard: Option<Duration>,
    /// For how long it has been failed, or has left.
    pub departed: Option<Duration>,
    /// Where it is, when that is known.
    pub place: Option<Place>,
    /// Whether this is the node that was asked.
    pub is_self: bool,
}

/// A point whose distance to others predicts the round-trip time to them: in microseconds, or in
/// millimetres where members announce their positions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Place {
    /// Along three axes.
    pub position: [i64; 3],
    /// Of the member's own access link; twice it is part of every distance.
    pub height: i64,
}

impl Place {
    fn of(coordinate: membership::Coordinate) -> Place {
        let milli = |x: f32| (f64::from(x) * 1e3).round() as i64;
        Place {
            position: coordinate.position.map(milli),
            height: milli(coordinate.height),
        }
    }
}

/// How rarely a member fails.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Reliability {
    /// Rank from 0, the best, to 15: each is twice the rate of the one before, 4 is up to two in a week.
    pub bucket: u8,
    /// Failures expected in a week of running, in thousandths.
    pub per_week_milli: u64,
    /// Failures seen, in thousandths; old ones count less.
    pub failures_milli: u64,
    /// For how long it was seen to run; old times count less.
    pub observed: Duration,
}

impl Reliability {
    fn of(node: &consort_proto::Node, now: Instant, id: NodeId) -> Reliability {
        let ledger = node.reliability();
        let bucket = ledger.bucket(id);
        match ledger.reliability(now, id) {
            Some(known) => Reliability {
                bucket,
                per_week_milli: (known.per_week * 1e3).round() as u64,
                failures_milli: (known.failures * 1e3).round() as u64,
                observed: known.exposure,
            },
            None => Reliability {
                bucket,
                ..Reliability::default()
            },
        }
    }
}

impl Member {
    /// The announced name; need not be unique.
    pub fn name(&self) -> &str {
        &self.meta.name
    }

    /// The announced tags.
    pub fn tags(&self) -> &BTreeMap<String, String> {
        &self.meta.tags
    }
}

impl Member {
    /// What `node` knows of a member.
    pub(crate) fn new(
        node: &consort_proto::Node,
        member: &membership::Member,
        now: Instant,
    ) -> Member {
        let status = match member.phase {
            Phase::Up => Status::Alive,
            Phase::Suspected => Status::Suspect,
            Phase::Down if member.precedence.status == membership::Status::Left => Status::Left,
            Phase::Down => Status::Failed,
        };
        let srtt = member.rtt.srtt_us;
        Member {
            id: member.id,
            status,
            addr: member.addr(),
            life: member.precedence.life,
            incarnation: member.precedence.incarnation,
            meta: member.meta.clone().into(),
            rtt: (srtt > 0).then(|| Duration::from_micros(u64::from(srtt))),
            health_percent: node.membership().health_percent(member, now),
            suspicions: member.suspicion_count(),
            refutations: member.refutation_count(),
            accuser: Some(member.accuser()).filter(|&by| by != member.id),
            reliability: Reliability::of(node, now, member.id),
            heard: Some(now.since(member.last_contact)),
            departed: member.departed_for(now),
            place: member.coordinate().map(Place::of),
            is_self: false,
        }
    }
}

/// The node itself, as a member.
pub(crate) fn itself(node: &consort_proto::Node) -> Member {
    use membership::JoinState;
    let own = node.membership();
    let gone = matches!(own.join_state(), JoinState::Leaving | JoinState::Left);
    Member {
        id: node.id(),
        status: if gone { Status::Left } else { Status::Alive },
        addr: own.addr(),
        life: own.life(),
        incarnation: own.incarnation(),
        meta: own.meta().clone().into(),
        rtt: None,
        health_percent: 100,
        suspicions: 0,
        refutations: 0,
        accuser: None,
        reliability: Reliability {
            bucket: node.reliability().bucket(node.id()),
            ..Reliability::default()
        },
        heard: None,
        departed: None,
        place: own.coordinate().map(Place::of),
        is_self: true,
    }
}

/// Everybody, this node included, in order of id.
pub(crate) fn everybody(node: &consort_proto::Node, now: Instant) -> Vec<Member> {
    let mut members: Vec<Member> = node
        .membership()
        .table()
        .iter()
        // A departed node without an address was never a member here: only its epitaph is kept.
        .filter(|m| m.phase != Phase::Down || m.addr().port() != 0)
        .map(|m| Member::new(node, m, now))
        .chain([itself(node)])
        .collect();
    members.sort_unstable_by_key(|m| m.id);
    members
}
