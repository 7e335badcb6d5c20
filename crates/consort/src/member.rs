//! The member list as an application sees it.

use crate::identity::Role;
use crate::keys::fingerprint;
use consort_proto::membership::{self, Meta, Phase};
use consort_proto::{Incarnation, Instant, Life, NodeId};
use core::fmt;
use core::net::SocketAddr;
use core::time::Duration;
use std::collections::BTreeMap;
use std::sync::Arc;

/// The status of a member, as this node sees it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum Status {
    /// It is running.
    Alive,
    /// It may have failed; it is still a member.
    Suspect,
    /// It was declared failed, because it did not answer.
    Failed,
    /// It said goodbye.
    Left,
}

impl Status {
    /// The word that the command line and the HTTP interface use for it.
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

/// One member, at the time of the call.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Member {
    /// The stable identity of the device.
    pub id: NodeId,
    /// Its status, as this node sees it.
    pub status: Status,
    /// The address on which it listens.
    pub addr: SocketAddr,
    /// The life of its process, greater after every restart.
    pub life: Life,
    /// The number of accusations that it refuted in this life.
    pub incarnation: Incarnation,
    /// The name and tags that it announced. They are empty until its record has arrived.
    pub meta: Arc<Meta>,
    /// The smoothed round-trip time of this node's own probes, if there were any.
    pub rtt: Option<Duration>,
    /// Its recent health in percent: every suspicion lowers it, and the effect fades with time.
    pub health_percent: u8,
    /// The number of times that it was suspected since this node has known it.
    pub suspicions: u32,
    /// The number of times that it refuted a suspicion.
    pub refutations: u32,
    /// The member that accuses it, while it is suspect or failed, or that removed it on behalf of an operator.
    pub accuser: Option<NodeId>,
    /// How rarely it fails, as this node and others observed. A node knows only the rank of itself.
    pub reliability: Reliability,
    /// The time since this node heard from it directly; `None` for the node itself.
    pub heard: Option<Duration>,
    /// The time since it failed or left.
    pub departed: Option<Duration>,
    /// Its network coordinate or position, if it is known.
    pub place: Option<Place>,
    /// The fingerprint of the group's key under which it was last heard, or with which this node seals; `None` in a group
    /// without a key, and for members that were not heard.
    pub key: Option<String>,
    /// The serial number of its certificate, in a group whose members prove who they are; `None` as long as this node has not
    /// seen it.
    pub certificate: Option<u32>,
    /// What that certificate allows, as far as it is not limited to certain elections or realms; `None` without one.
    pub roles: Option<Vec<Role>>,
    /// Whether this is the node that was asked.
    pub is_self: bool,
}

impl Member {
    /// A healthy member in its first life of which nothing else is known, for the tests of programs that follow members.
    pub fn new(id: NodeId, name: impl Into<String>, addr: SocketAddr) -> Member {
        Member {
            id,
            status: Status::Alive,
            addr,
            life: Life(1),
            incarnation: Incarnation(0),
            meta: Arc::new(Meta::named(name)),
            rtt: None,
            health_percent: 100,
            suspicions: 0,
            refutations: 0,
            accuser: None,
            reliability: Reliability::default(),
            heard: None,
            departed: None,
            place: None,
            key: None,
            certificate: None,
            roles: None,
            is_self: false,
        }
    }
}

/// A point whose distance to others predicts the round-trip time to them, in microseconds; or in millimetres if members
/// announce their positions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Place {
    /// The position along three axes.
    pub position: [i64; 3],
    /// The height, which models the member's access link. The heights of both ends are part of every distance.
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

/// The reliability of a member: how rarely it fails.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Reliability {
    /// The rank from 0, the best, to 15. Each rank has twice the failure rate of the one before; rank 4 covers rates of
    /// one to two failures per week.
    pub bucket: u8,
    /// The expected number of failures in a week of operation, in thousandths.
    pub per_week_milli: u64,
    /// The number of observed failures, in thousandths; old ones have less weight.
    pub failures_milli: u64,
    /// The time for which it was observed running; old times have less weight.
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
    /// The announced name, which need not be unique.
    pub fn name(&self) -> &str {
        &self.meta.name
    }

    /// The announced tags.
    pub fn tags(&self) -> &BTreeMap<String, String> {
        &self.meta.tags
    }
}

impl Member {
    /// The view of `node` on a member.
    pub(crate) fn listed(
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
            key: node.key_of(member.id).map(fingerprint),
            certificate: node.certificate_of(member.id).map(|c| c.serial),
            roles: node.certificate_of(member.id).map(Role::of),
            is_self: false,
        }
    }
}

impl Member {
    /// A member of which only its id and life are known.
    pub(crate) fn forgotten(id: NodeId, life: Life) -> Member {
        Member {
            id,
            status: Status::Failed,
            addr: ([0, 0, 0, 0], 0).into(),
            life,
            incarnation: Incarnation::default(),
            meta: Arc::default(),
            rtt: None,
            health_percent: 0,
            suspicions: 0,
            refutations: 0,
            accuser: None,
            reliability: Reliability::default(),
            heard: None,
            departed: None,
            place: None,
            key: None,
            certificate: None,
            roles: None,
            is_self: false,
        }
    }
}

/// The node itself, as a member.
pub(crate) fn itself(node: &consort_proto::Node) -> Member {
    use membership::JoinState;
    let own = node.membership();
    let sealing = node.key_ring().and_then(|r| Some(r.keys.first()?.name()));
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
        key: sealing.map(fingerprint),
        certificate: node.certificate_of(node.id()).map(|c| c.serial),
        roles: node.certificate_of(node.id()).map(Role::of),
        is_self: true,
    }
}

/// All known members including this node, ordered by id.
pub(crate) fn everybody(node: &consort_proto::Node, now: Instant) -> Vec<Member> {
    let mut members: Vec<Member> = node
        .membership()
        .table()
        .iter()
        // A departed node without an address was never a member here: only its tombstone is kept.
        .filter(|m| m.phase != Phase::Down || m.addr().port() != 0)
        .map(|m| Member::listed(node, m, now))
        .chain([itself(node)])
        .collect();
    members.sort_unstable_by_key(|m| m.id);
    members
}
