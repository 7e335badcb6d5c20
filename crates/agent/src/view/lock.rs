//! Bodies about locks.

use crate::api::{ContenderView, LockDefaultsView, LockView, ReadinessView, RequestView};
use consort::lock::{Bound, Contender, LockGuard, LockStatus, Mode, Readiness};
use std::time::Instant;

/// The state of a request whose lock is or was held.
pub(crate) fn request(event: &str, request: &str, guard: &LockGuard) -> RequestView {
    let left = guard
        .valid_until()
        .saturating_duration_since(Instant::now());
    let loss = guard.loss();
    RequestView {
        event: event.to_owned(),
        request: request.to_owned(),
        lock: guard.name().to_string(),
        slot: guard.name().slot,
        token: Some(guard.token().to_string()),
        valid_for_ms: match loss {
            None => left.as_millis() as u64,
            Some(_) => 0,
        },
        notice_ms: guard.notice().as_millis() as u64,
        stop_within_ms: loss.map(|_| {
            let left = guard.stop_by().saturating_duration_since(Instant::now());
            left.as_millis() as u64
        }),
        quorum: (event == "granted").then(|| guard.quorum().to_string()),
        reason: loss.map(|l| l.to_string()),
        ..RequestView::default()
    }
}

/// The progress of a node after its start.
pub(crate) fn readiness(r: Readiness) -> ReadinessView {
    ReadinessView {
        synced: r.synced,
        mature: r.mature,
        matures_in_ms: r.matures_in.as_millis() as u64,
        members: r.members,
        needed: r.needed,
        here: r.here,
        waits_for: r.obstacle(),
    }
}

fn contender(c: &Contender) -> ContenderView {
    ContenderView {
        name: c.name.clone(),
        id: c.id.to_string(),
        life: c.life.0,
        mode: match c.mode {
            Mode::Exclusive => "exclusive",
            Mode::Shared => "shared",
        }
        .to_owned(),
        held: c.held,
        token: c.token.to_string(),
        left_ms: c.left.as_millis() as u64,
        behind: c.behind,
        own_word: c.own_word,
        supporters: c.supporters,
        waited_ms: None,
    }
}

/// The holders and waiters of a lock.
pub(crate) fn lock(status: &LockStatus) -> LockView {
    LockView {
        name: status.lock.to_string(),
        id: status.lock.id.to_string(),
        held: status.holders().next().is_some(),
        waiting: status.waiting() as u64,
        contenders: status.contenders.iter().map(contender).collect(),
        slot: status.lock.slot,
        permits: status.permits,
        turns: Vec::new(),
    }
}

/// The defaults for lock requests.
pub(crate) fn lock_defaults(config: &consort::lock::Config) -> LockDefaultsView {
    LockDefaultsView {
        ttl_ms: config.ttl.as_millis() as u64,
        bound: match &config.bound {
            Bound::Members => "members".to_owned(),
            Bound::Available => "available".to_owned(),
            Bound::Floor(n) => format!("floor:{n}"),
            Bound::Voters(ids) => {
                let ids: Vec<String> = ids.iter().map(ToString::to_string).collect();
                format!("voters:{}", ids.join(","))
            }
        },
        memory_ms: config.remembered(config.ttl_max).as_millis() as u64,
    }
}
