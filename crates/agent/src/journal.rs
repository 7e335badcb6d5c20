//! The log of an agent, which describes in words what happens in the group.

use consort::election::Vacancy;
use consort::membership::{Arrival, Departure};
use consort::text::shown;
use consort::{Event, EventError, Events, Member, Node, NodeId};
use core::net::SocketAddr;
use core::time::Duration;
use std::collections::{BTreeMap, BTreeSet};
use tokio::time::{Instant, sleep, sleep_until};

/// The delay before the first line about silent seeds, and the longest delay between two such lines.
const SEED_PATIENCE: Duration = Duration::from_secs(5);
const SEED_PATIENCE_MAX: Duration = Duration::from_secs(600);

/// The number of members whose attributes are remembered, in order to log what changed.
const KNOWN_MAX: usize = 16_384;

/// Log targets below `consort::event::` that are not the name of an event.
const NO_EVENTS: [&str; 3] = ["seeds_silent", "may_act", "may_not_act"];

/// Whether a log line with this target reports what an event reports as well.
pub fn repeats_event(target: &str) -> bool {
    let kind = target.strip_prefix("consort::event::");
    kind.is_some_and(|kind| !NO_EVENTS.contains(&kind))
}

/// Logs events until the node stops. While none of the `seeds` answers, it logs that too, at growing intervals.
pub async fn journal(node: Node, mut events: Events, seeds: Vec<String>) {
    let mut journal = Journal::new(node.clone()).await;
    let own = [node.local_addr(), node.advertised_addr()];
    let is_own = |seed: &String| {
        seed.parse::<SocketAddr>()
            .is_ok_and(|addr| own.contains(&addr))
    };
    let seeds: Vec<String> = seeds.into_iter().filter(|s| !is_own(s)).collect();
    let mut pause = SEED_PATIENCE;
    let mut complain_at = (!seeds.is_empty()).then(|| Instant::now() + pause);
    loop {
        tokio::select! {
            event = events.next() => match event {
                Ok(event) => {
                    if matches!(event, Event::Joined) {
                        complain_at = None;
                    }
                    journal.log(&event);
                }
                Err(EventError::Lagged { missed }) => {
                    tracing::warn!("{missed} events are missing from this log");
                }
                Err(_) => return,
            },
            () = sleep_until(complain_at.unwrap_or_else(Instant::now)), if complain_at.is_some() => {
                tracing::warn!(
                    target: "consort::event::seeds_silent",
                    "no answer from {}; check that a node of the same group runs there and that UDP gets through (still \
                     trying)", seeds.join(", ")
                );
                pause = (pause * 2).min(SEED_PATIENCE_MAX);
                complain_at = Some(Instant::now() + pause);
            }
        }
    }
}

/// The announced attributes of a member that are of interest to people.
pub(crate) struct Known {
    name: String,
    addr: SocketAddr,
    tags: BTreeMap<String, String>,
}

/// What members announce, in order to tell what changed.
#[derive(Default)]
pub(crate) struct Described(BTreeMap<NodeId, Known>);

impl Described {
    /// Remembers what a member announces. Returns the former value.
    pub(crate) fn learn(&mut self, member: &Member) -> Option<Known> {
        if self.0.len() >= KNOWN_MAX && !self.0.contains_key(&member.id) {
            return None;
        }
        let known = Known {
            name: shown(member.name()).into_owned(),
            addr: member.addr,
            tags: member.tags().clone(),
        };
        self.0.insert(member.id, known)
    }

    /// Remembers what an event tells, and returns what changed, in words; `None` for other events and changes.
    pub(crate) fn follow(&mut self, event: &Event) -> Option<String> {
        match event {
            Event::Up { member, .. } => {
                self.learn(member);
                None
            }
            Event::Updated { member } => {
                let before = self.learn(member)?;
                Some(changes(&before, member)).filter(|text| !text.is_empty())
            }
            _ => None,
        }
    }
}

struct Journal {
    node: Node,
    known: Described,
    /// The elections that this node has led.
    led: BTreeSet<String>,
}

impl Journal {
    async fn new(node: Node) -> Journal {
        let mut journal = Journal {
            known: Described::default(),
            led: BTreeSet::new(),
            node,
        };
        // The node has stopped, so there is nothing to log.
        for member in journal.node.members().await.unwrap_or_default() {
            journal.known.learn(&member);
        }
        journal
    }

    /// The name of a node for people.
    fn name(&self, id: NodeId) -> String {
        match self.known.0.get(&id).map(|k| k.name.as_str()) {
            None | Some("") => id.to_string(),
            Some(name) => name.to_owned(),
        }
    }

    fn log(&mut self, event: &Event) {
        let name = |m: &Member| match m.name() {
            "" => m.id.to_string(),
            name => format!("{} ({})", shown(name), m.addr),
        };
        match event {
            Event::Up { member, how, .. } => {
                self.known.learn(member);
                match how {
                    Arrival::Joined => {
                        tracing::info!(target: "consort::event::up", "{} is up", name(member))
                    }
                    Arrival::Refuted => {
                        tracing::info!(target: "consort::event::up", "{} answered for itself", name(member))
                    }
                    Arrival::Returned => {
                        tracing::warn!(target: "consort::event::up", "{} is back, it had not failed", name(member))
                    }
                }
            }
            Event::Suspected { member, by, .. } => {
                tracing::warn!(target: "consort::event::suspected", "{} is suspected by {}", name(member), self.name(*by));
            }
            Event::Down { member, why, .. } => match why {
                Departure::Failed => {
                    tracing::warn!(target: "consort::event::down", "{} has failed", name(member))
                }
                Departure::Left => {
                    tracing::info!(target: "consort::event::down", "{} has left", name(member))
                }
                Departure::Restarted => {
                    tracing::info!(target: "consort::event::down", "{} has restarted", name(member))
                }
            },
            Event::Updated { member } => match self.known.learn(member) {
                Some(before) => match changes(&before, member).as_str() {
                    // Other changes, such as candidacies and naps.
                    "" => {
                        tracing::debug!(target: "consort::event::updated", "{} announces other candidacies", name(member))
                    }
                    changes => {
                        tracing::info!(target: "consort::event::updated", "{} changed {changes}", name(member))
                    }
                },
                None => {
                    tracing::debug!(target: "consort::event::updated", "{} announces itself", name(member))
                }
            },
            Event::SelfAccused { by, was_dead } => {
                tracing::warn!(target: "consort::event::self_accused", was_dead,
                    "this node was accused by {} and has refuted",
                    self.name(*by)
                );
            }
            Event::Joined => {
                tracing::info!(target: "consort::event::joined", "this node has joined its group")
            }
            Event::Departed => {
                tracing::info!(target: "consort::event::departed", "this node has left its group")
            }
            Event::IdentityConflict => {
                tracing::error!(target: "consort::event::identity_conflict", "another process uses this node's id; give one of them another with id"
                );
            }
            Event::IdentityTaken => {
                tracing::error!(target: "consort::event::identity_taken", "a process that was started earlier uses this node's id");
            }
            Event::OptionsDiffer { id } => {
                tracing::warn!(target: "consort::event::options_differ", "{} runs with another probe_period; set the same everywhere",
                    self.name(*id)
                );
            }
            Event::LeaderChanged { election, leader } => {
                let term = leader.token.term.0;
                let who = match leader.name.as_str() {
                    "" => leader.id.to_string(),
                    name => name.to_owned(),
                };
                tracing::info!(target: "consort::event::leader_changed", "{who} leads election {election} (term {term})");
            }
            Event::LeaderVacant {
                election,
                why,
                former,
            } => {
                let former = former
                    .as_ref()
                    .map_or("the leader".to_owned(), |l| self.name(l.id));
                let why = match why {
                    Vacancy::New => "nobody has led it so far".to_owned(),
                    Vacancy::Resigned => "the leader resigned".to_owned(),
                    Vacancy::Left => format!("{former} left"),
                    Vacancy::Failed => format!("{former} failed"),
                    _ => format!("{former} did not renew its lease"),
                };
                tracing::warn!(target: "consort::event::leader_vacant", "nobody leads election {election}: {why}")
            }
            Event::BecameLeader { election, token } => {
                tracing::info!(target: "consort::event::became_leader", "this node leads election {election}, token {token}");
                if let Some(name) = &election.name
                    && self.led.insert(name.to_string())
                {
                    tokio::spawn(watch_leadership(self.node.clone(), name.to_string()));
                }
            }
            Event::SteppedDown { election, .. } => {
                tracing::info!(target: "consort::event::stepped_down", "this node no longer leads election {election}");
            }
            Event::LockLost { lock, why, .. } => {
                tracing::warn!(target: "consort::event::lock_lost", "lock {lock} is lost: {why}")
            }
            Event::Message { message } => {
                let payload = String::from_utf8_lossy(&message.payload);
                tracing::info!(target: "consort::event::message", "{} told `{}`: {}", self.name(message.from), message.name,
                    payload.escape_debug()
                );
            }
            Event::Query { query } => {
                tracing::info!(target: "consort::event::query", "{} asks `{}`", self.name(query.from), query.name);
            }
            Event::LockWitness => {
                tracing::info!(target: "consort::event::lock_witness", "this node counts as a witness of locks")
            }
            Event::TokensFromClock => {
                tracing::warn!(target: "consort::event::tokens_from_clock", "too few members remember the clock of lock tokens: that they still grow rests on state \
                     directories and clocks"
                );
            }
            Event::LinkUp { id } => {
                tracing::info!(target: "consort::event::link_up", "{} and this node hear each other", self.name(*id))
            }
            Event::LinkDown { id } => {
                tracing::warn!(target: "consort::event::link_down", "{} and this node no longer hear each other", self.name(*id));
            }
            other => tracing::info!(target: "consort::event::other", "{other:?}"),
        }
    }
}

/// The differences between two announcements of a member.
fn changes(before: &Known, now: &Member) -> String {
    let mut changes = Vec::new();
    if before.name != now.name() {
        changes.push(format!(
            "its name from `{}` to `{}`",
            before.name,
            shown(now.name())
        ));
    }
    if before.addr != now.addr {
        changes.push(format!("its address from {} to {}", before.addr, now.addr));
    }
    for (key, value) in now.tags() {
        match before.tags.get(key) {
            Some(old) if old == value => {}
            Some(old) => changes.push(format!(
                "tag {} from `{}` to `{}`",
                shown(key),
                shown(old),
                shown(value)
            )),
            None => changes.push(format!(
                "tag {} to `{}`, it had none",
                shown(key),
                shown(value)
            )),
        }
    }
    let gone = before
        .tags
        .keys()
        .filter(|key| !now.tags().contains_key(*key));
    changes.extend(gone.map(|key| format!("tag {}: it has none any longer", shown(key))));
    changes.join(", ")
}

/// Logs when this node leads but may not act, for example because it is cut off, and when it may act again.
async fn watch_leadership(node: Node, name: String) {
    let Ok(election) = node.election(&name).await else {
        return;
    };
    drop(node);
    let mut stalled = false;
    loop {
        let Ok(leadership) = election.lead().await else {
            return;
        };
        if stalled {
            tracing::info!(target: "consort::event::may_act", "this node may act again as the leader of election {name}");
        }
        leadership.lost().await;
        tokio::select! {
            () = election.stopped() => return,
            () = sleep(Duration::from_millis(50)) => {}
        }
        stalled = election.leader().is_some_and(|l| l.is_self) && election.leadership().is_none();
        if stalled {
            tracing::warn!(
                target: "consort::event::may_not_act",
                "this node may not act as the leader of election {name}: it has heard from nobody for too long, or its \
                 leadership is being checked"
            );
        }
    }
}
