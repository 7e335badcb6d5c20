//! Bodies about locks.

use super::{TurnView, is_false};
use consort::{Bound, Contender, LockGuard, LockStatus, Mode, Readiness};
use serde::{Deserialize, Serialize};
use std::time::Instant;
use utoipa::ToSchema;

/// Asks for a lock. All is optional; see [`consort::Lock`].
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields, default)]
pub struct LockRequest {
    /// Do not wait for anybody who has it.
    #[serde(skip_serializing_if = "is_false", rename = "try")]
    pub try_only: bool,
    /// Wait for at most so long. Default: for ever.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub timeout_ms: Option<u64>,
    /// Lease. Default: the agent's.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ttl_ms: Option<u64>,
    /// Beside others that share it.
    #[serde(skip_serializing_if = "is_false")]
    pub shared: bool,
    /// A semaphore with so many slots.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub permits: Option<u16>,
    /// How many nodes there may be: `members`, `available`, `floor:N` or `voters:ID,ID,…`. Default: the agent's.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub bound: Option<String>,
    /// The longest that it is held.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub hold_max_ms: Option<u64>,
    /// Serve waiting nodes along their places in space.
    #[serde(skip_serializing_if = "is_false")]
    pub elevator: bool,
    /// How many waiters of one node may follow one another.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cohort: Option<u8>,
    /// The holder will ask how its request stands, at least once in a lease. Once it has not asked for as long as it
    /// was told that it holds the lock, it stands still or is gone, and the lease is not renewed any more. Without
    /// this the lock is held for as long as the stream is open.
    #[serde(skip_serializing_if = "is_false")]
    pub attended: bool,
}

/// How a request for a lock stands: each event of its stream, and the answer to
/// `GET /v1/locks/NAME/REQUEST`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct RequestView {
    /// `waiting`, `granted`, `renewed`, `lost` (stop the work, then release), `refused` or `released`.
    pub event: String,
    /// Names the request: to ask how it stands, and to release.
    pub request: String,
    /// The lock's name, with the slot's number behind a `#`.
    pub lock: String,
    /// The slot of a semaphore, from 0. A resource behind one keeps the greatest token of each slot.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub slot: Option<u16>,
    /// While it is held: the fencing token, 32 hexadecimal digits. Of two exclusive holders the later one
    /// has the greater text.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub token: Option<String>,
    /// For how long the lock is held for certain, counted from before the question. In an event it may have
    /// travelled for long: ask.
    #[serde(default)]
    pub valid_for_ms: u64,
    /// How long after that nobody else has the lock yet: work must end in it.
    #[serde(default)]
    pub notice_ms: u64,
    /// `lost`: how long nobody else has the lock yet, unless it is released earlier. Work must end in it, also where
    /// more was promised before.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stop_within_ms: Option<u64>,
    /// `granted`: what the grant stands on, in words.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub grounds: Option<String>,
    /// `lost`, `refused`: why, in words.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// `refused`: `busy`, `timeout`, `not_ready`, `stopped`, or `refused` for other reasons.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub code: Option<String>,
    /// `waiting`: how far the agent is, and what stands in the way. The event is repeated when that changes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub readiness: Option<ReadinessView>,
}

impl RequestView {
    pub(crate) fn of_guard(event: &str, request: &str, guard: &LockGuard) -> RequestView {
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
            grounds: (event == "granted").then(|| guard.grounds().to_string()),
            reason: loss.map(|l| l.to_string()),
            ..RequestView::default()
        }
    }
}

/// How far a node is that has just started.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct ReadinessView {
    /// It may ask for locks; before, requests wait.
    pub synced: bool,
    /// It counts as a witness.
    pub mature: bool,
    /// When it will, at the earliest.
    pub matures_in_ms: u64,
    /// How many nodes there may be, by the bound.
    #[serde(default)]
    pub members: u32,
    /// How many of them a lock takes: more than half.
    #[serde(default)]
    pub needed: u32,
    /// How many of them are here, the answering node included.
    #[serde(default)]
    pub here: u32,
    /// What stands in the way of every request, and what can be done about it; absent if nothing does.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub waits_for: Option<String>,
}

impl From<Readiness> for ReadinessView {
    fn from(r: Readiness) -> ReadinessView {
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
}

/// A node that holds a lock or waits for it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct ContenderView {
    /// Announced name; empty if it is not listed.
    pub name: String,
    /// 16 hexadecimal digits.
    pub id: String,
    /// Its process life.
    pub life: u64,
    /// `exclusive` or `shared`.
    pub mode: String,
    /// Whether it holds the lock.
    pub held: bool,
    /// By which token it holds the lock, or would.
    pub token: String,
    /// How long its lease lasts unless it is renewed.
    pub left_ms: u64,
    /// How many more requests of that node wait behind it.
    pub behind: u16,
    /// It said so itself; otherwise its witnesses did.
    pub own_word: bool,
    /// How long it has been seen to wait, by answers like this one; `null` for holders and when it is news.
    #[serde(default)]
    pub waited_ms: Option<u64>,
}

impl From<&Contender> for ContenderView {
    fn from(c: &Contender) -> ContenderView {
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
            waited_ms: None,
        }
    }
}

/// Who holds a lock and who waits for it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct LockView {
    /// Its name, with the number of a semaphore's slot behind a `#`, or `id` where nobody told the name.
    pub name: String,
    /// What members call it on the wire: 32 hexadecimal digits.
    pub id: String,
    /// Somebody holds it.
    pub held: bool,
    /// How many requests wait.
    pub waiting: u64,
    /// Holders first, then those who wait.
    pub contenders: Vec<ContenderView>,
    /// Who held it since the agent runs and somebody asked, the oldest first; at most 64.
    #[serde(default)]
    pub turns: Vec<TurnView>,
}

impl From<&LockStatus> for LockView {
    fn from(status: &LockStatus) -> LockView {
        LockView {
            name: status.lock.to_string(),
            id: status.lock.id.to_string(),
            held: status.holders().next().is_some(),
            waiting: status.waiting() as u64,
            contenders: status.contenders.iter().map(ContenderView::from).collect(),
            turns: Vec::new(),
        }
    }
}

/// All locks that members know of.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct LocksView {
    /// In order of name.
    pub locks: Vec<LockView>,
    /// How far the answering node is.
    pub readiness: ReadinessView,
    /// How the agent asks for locks unless a request says otherwise.
    #[serde(default)]
    pub defaults: LockDefaultsView,
    /// Locks that nobody holds or waits for any more, and whose turns the agent remembers.
    #[serde(default)]
    pub idle: Vec<LockView>,
}

/// How an agent asks for locks unless a request says otherwise.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct LockDefaultsView {
    /// Lease.
    pub ttl_ms: u64,
    /// How many nodes there may be: `members`, `available`, `floor:N` or `voters:ID,ID,…`.
    pub bound: String,
    /// For how long a node has to be gone until it is no longer counted, where the bound is `available`.
    pub memory_ms: u64,
}

impl From<&consort::mutex::Config> for LockDefaultsView {
    fn from(config: &consort::mutex::Config) -> LockDefaultsView {
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
}

/// Asks to break a lock.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields, default)]
pub struct BreakRequest {
    /// It is a semaphore with so many slots: all are broken.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub permits: Option<u16>,
}
