//! The log of an agent: what happens to the group, in words.

use consort::{Arrival, Departure, Event, EventError, Events, JoinError, Member, Node};
use core::time::Duration;

/// When to say for the first time that no seed answers.
const SEED_PATIENCE: Duration = Duration::from_secs(5);

/// Logs events until the node stops, and says so when none of `seeds` answers.
pub async fn journal(node: Node, mut events: Events, seeds: Vec<String>) {
    let watch_seeds = async {
        if !seeds.is_empty() {
            match node.join_and_wait(&seeds, SEED_PATIENCE).await {
                Ok(()) | Err(JoinError::Stopped(_) | JoinError::NoSeed) => {}
                Err(error) => tracing::warn!("{error}"),
            }
        }
    };
    let watch_events = async {
        loop {
            match events.next().await {
                Ok(event) => log(&event),
                Err(EventError::Lagged { missed }) => {
                    tracing::warn!("{missed} events are missing from this log");
                }
                Err(EventError::Stopped) => break,
            }
        }
    };
    tokio::join!(watch_seeds, watch_events);
}

fn log(event: &Event) {
    let name = |m: &Member| match m.name() {
        "" => m.id.to_string(),
        name => format!("{name} ({})", m.addr),
    };
    match event {
        Event::Up { member, how, .. } => match how {
            Arrival::Joined => tracing::info!("{} is up", name(member)),
            Arrival::Refuted => tracing::info!("{} answered for itself", name(member)),
            Arrival::Returned => tracing::warn!("{} is back, it had not failed", name(member)),
        },
        Event::Suspected { member, by, .. } => {
            tracing::warn!("{} is suspected by {by}", name(member));
        }
        Event::Down { member, why, .. } => match why {
            Departure::Failed => tracing::warn!("{} has failed", name(member)),
            Departure::Left => tracing::info!("{} has left", name(member)),
            Departure::Restarted => tracing::info!("{} has restarted", name(member)),
        },
        Event::Updated { member } => tracing::info!("{} has other attributes", name(member)),
        Event::SelfAccused { by, was_dead } => {
            tracing::warn!(was_dead, "this node was accused by {by} and has refuted");
        }
        Event::Joined => tracing::info!("this node has joined its group"),
        Event::Departed => tracing::info!("this node has left its group"),
        Event::IdentityConflict => {
            tracing::error!(
                "another process uses this node's id; give one of them another with id"
            );
        }
        Event::IdentityTaken => {
            tracing::error!("a process that was started earlier uses this node's id");
        }
        Event::OptionsDiffer { id } => {
            tracing::warn!("node {id} runs with another probe_period; set the same everywhere");
        }
        Event::LeaderChanged { election, leader } => {
            let term = leader.token.term.0;
            let who = match leader.name.as_str() {
                "" => leader.id.to_string(),
                name => name.to_owned(),
            };
            tracing::info!("{who} leads election {election} (term {term})");
        }
        Event::LeaderVacant { election } => tracing::warn!("nobody leads election {election}"),
        Event::BecameLeader { election, token } => {
            tracing::info!("this node leads election {election}, token {token}");
        }
        Event::SteppedDown { election, .. } => {
            tracing::info!("this node leads election {election} no more");
        }
        Event::LockLost { lock, why, .. } => tracing::warn!("lock {lock} is lost: {why}"),
        Event::LockWitness => tracing::info!("this node counts as a witness of locks"),
        Event::TokensFromClock => {
            tracing::warn!(
                "too few members remember the clock of lock tokens: that they still grow rests on \
                 state directories and clocks"
            );
        }
        Event::LinkUp { id } => tracing::info!("node {id} and this one hear each other"),
        Event::LinkDown { id } => tracing::warn!("node {id} and this one hear each other no more"),
        other => tracing::info!("{other:?}"),
    }
}
