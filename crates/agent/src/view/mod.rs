//! The bodies of answers ([`crate::api`]), filled with what the library tells.

mod case;
mod election;
mod health;
mod info;
mod keys;
mod lock;
mod log;
mod message;
mod topology;

pub(crate) use case::case;
pub(crate) use election::{attribute_tag, churn, election, leader, preempt, way};
pub(crate) use health::{HEALTH_CODES, health};
pub(crate) use info::info;
pub(crate) use keys::keys;
pub(crate) use lock::{lock, lock_defaults, readiness, request};
pub(crate) use log::log_lagged;
pub(crate) use message::{message, of_message, query_update, silent};
pub(crate) use topology::{scope, topology};

use crate::api::{EventView, LeaveView, MemberView, ReliabilityView, SelfView};
use consort::election::{ElectionName, Token, Vacancy};
use consort::key::Role;
use consort::lock::Readiness;
use consort::membership::{Arrival, Departure, Farewell};
use consort::{Event, Member, NodeId, Status};
use core::time::Duration;
use std::collections::BTreeMap;
use std::time::{SystemTime, UNIX_EPOCH};

fn reliability(reliability: consort::membership::Reliability) -> ReliabilityView {
    ReliabilityView {
        bucket: reliability.bucket,
        per_week_milli: reliability.per_week_milli,
        failures_milli: reliability.failures_milli,
        observed_s: reliability.observed.as_secs(),
    }
}

/// A member as this node lists it.
pub(crate) fn member(member: &Member) -> MemberView {
    MemberView {
        name: member.name().to_owned(),
        id: member.id.to_string(),
        status: member.status.to_string(),
        address: member.addr.to_string(),
        life: member.life.0,
        incarnation: member.incarnation.0,
        tags: member.tags().clone(),
        rtt_us: member.rtt.map(|rtt| rtt.as_micros() as u64),
        health_percent: member.health_percent,
        suspicions: member.suspicions,
        refutations: member.refutations,
        accuser: member.accuser.map(|id| id.to_string()),
        reliability: reliability(member.reliability),
        heard_ms: member.heard.map(|d| d.as_millis() as u64),
        since_ms: member.departed.map(|d| d.as_millis() as u64),
        place: member.place.map(|p| {
            let [x, y, z] = p.position;
            [x, y, z, p.height]
        }),
        key: member.key.clone(),
        certificate: member.certificate,
        roles: member.roles.as_ref().map(|roles| words(roles)),
        is_self: member.is_self,
    }
}

fn words(roles: &[Role]) -> Vec<String> {
    roles.iter().map(|role| role.word().to_owned()).collect()
}

/// A member of which only the id and the name matter.
pub(crate) fn stub(id: &str, name: &str) -> MemberView {
    MemberView {
        name: name.to_owned(),
        id: id.to_owned(),
        status: String::new(),
        address: String::new(),
        life: 0,
        incarnation: 0,
        tags: BTreeMap::new(),
        rtt_us: None,
        health_percent: 0,
        suspicions: 0,
        refutations: 0,
        accuser: None,
        reliability: ReliabilityView::default(),
        heard_ms: None,
        since_ms: None,
        place: None,
        key: None,
        certificate: None,
        roles: None,
        is_self: false,
    }
}

/// The view of a node, computed from its member list.
pub(crate) fn own(members: &[Member], group: &str, locks: Readiness) -> Option<SelfView> {
    let own = members.iter().find(|m| m.is_self)?;
    let statuses = [Status::Alive, Status::Suspect, Status::Failed, Status::Left];
    let count = |status| members.iter().filter(|m| m.status == status).count();
    Some(SelfView {
        member: member(own),
        group: group.to_owned(),
        members: statuses.map(|s| (s.to_string(), count(s))).into(),
        version: env!("CARGO_PKG_VERSION").to_owned(),
        locks: readiness(locks),
        run: String::new(),
        uptime_ms: 0,
        positions: false,
        topology: false,
        lab: false,
        storage_error: None,
    })
}

/// What a node waited for when it left.
pub(crate) fn leave(farewell: &Farewell) -> LeaveView {
    let ms = |span: Duration| span.as_millis().min(u128::from(u64::MAX)) as u64;
    let count = |n: usize| n.min(u32::MAX as usize) as u32;
    LeaveView {
        done: true,
        locks_ms: ms(farewell.locks),
        leadership_ms: ms(farewell.leadership),
        members_ms: ms(farewell.members),
        told: count(farewell.told),
        silent: count(farewell.silent),
        text: farewell.to_string(),
    }
}

/// Milliseconds since 1970.
pub(crate) fn now_ms() -> u64 {
    let since_1970 = SystemTime::now().duration_since(UNIX_EPOCH);
    since_1970.map_or(0, |d| d.as_millis() as u64)
}

/// An event with this name at the current time.
pub(crate) fn named(event: &str) -> EventView {
    EventView {
        at_ms: now_ms(),
        event: event.to_owned(),
        ..EventView::default()
    }
}

/// An event about an election.
fn of_election(event: &str, election: &ElectionName, token: Option<&Token>) -> EventView {
    EventView {
        election: Some(election.to_string()),
        election_id: Some(format!("{:?}", election.id)),
        token: token.map(Token::to_string),
        ..named(event)
    }
}

/// The first event of a stream.
pub(crate) fn subscribed(run: &str) -> EventView {
    EventView {
        run: Some(run.to_owned()),
        ..named("subscribed")
    }
}

/// A manual intervention in an experimental group, or in one of its members.
pub(crate) fn lab(deed: &str, member: Option<(NodeId, &str)>) -> EventView {
    EventView {
        reason: Some(deed.to_owned()),
        member: member.map(|(id, name)| stub(&id.to_string(), name)),
        ..named("lab")
    }
}

/// The event that tells how many events were missed.
pub(crate) fn lagged(missed: Option<u64>) -> EventView {
    EventView {
        missed,
        ..named("lagged")
    }
}

/// An event of the library.
pub(crate) fn event(event: &Event) -> EventView {
    let by = |id: &NodeId| Some(id.to_string());
    let reason = |word: &str| Some(word.to_owned());
    match event {
        Event::Up { member, life, how } => EventView {
            member: Some(self::member(member)),
            life: Some(life.0),
            reason: reason(match how {
                Arrival::Joined => "joined",
                Arrival::Refuted => "refuted",
                Arrival::Returned => "returned",
            }),
            ..named("up")
        },
        Event::Suspected {
            member,
            life,
            by: id,
        } => EventView {
            member: Some(self::member(member)),
            life: Some(life.0),
            by: by(id),
            ..named("suspected")
        },
        Event::Down {
            member,
            life,
            why,
            by: id,
        } => EventView {
            member: Some(self::member(member)),
            life: Some(life.0),
            reason: reason(match why {
                Departure::Failed => "failed",
                Departure::Left => "left",
                Departure::Restarted => "restarted",
            }),
            by: by(id),
            ..named("down")
        },
        Event::Updated { member } => EventView {
            member: Some(self::member(member)),
            ..named("updated")
        },
        Event::SelfAccused { by: id, was_dead } => EventView {
            by: by(id),
            reason: reason(if *was_dead { "failed" } else { "suspected" }),
            ..named("self_accused")
        },
        Event::Joined => named("joined"),
        Event::Departed => named("departed"),
        Event::IdentityConflict => named("identity_conflict"),
        Event::IdentityTaken => named("identity_taken"),
        Event::OptionsDiffer { id } => EventView {
            by: by(id),
            ..named("options_differ")
        },
        Event::LeaderChanged { election, leader } => EventView {
            leader: Some(self::leader(leader)),
            ..of_election("leader_changed", election, None)
        },
        Event::LeaderVacant {
            election,
            why,
            former,
        } => EventView {
            member: former.as_ref().map(|l| stub(&l.id.to_string(), &l.name)),
            reason: reason(match why {
                Vacancy::New => "new",
                Vacancy::Resigned => "resigned",
                Vacancy::Left => "left",
                Vacancy::Failed => "failed",
                _ => "silent",
            }),
            ..of_election("leader_vacant", election, None)
        },
        Event::BecameLeader { election, token } => {
            of_election("became_leader", election, Some(token))
        }
        Event::SteppedDown { election, token } => {
            of_election("stepped_down", election, Some(token))
        }
        Event::LockLost { lock, token, why } => EventView {
            lock: Some(lock.to_string()),
            token: Some(token.to_string()),
            reason: Some(why.to_string()),
            ..named("lock_lost")
        },
        Event::Message { message } => of_message("message", message),
        Event::Query { query } => of_message("query", query),
        Event::LockWitness => named("lock_witness"),
        Event::TokensFromClock => named("tokens_from_clock"),
        Event::LinkUp { id } => EventView {
            by: by(id),
            ..named("link_up")
        },
        Event::LinkDown { id } => EventView {
            by: by(id),
            ..named("link_down")
        },
        // A newer library may have further events; their name is better than nothing.
        _ => named("unknown"),
    }
}
