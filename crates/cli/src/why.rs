//! `consort why`: the events that led to the current state, as an agent saw them.

use crate::Answer;
use crate::client::{self, AgentAddr, block_on, election_path, path};
use crate::events::{clock, text};
use crate::output::{self, Format, safe};
use crate::{leader, why_down};
use clap::Subcommand;
use consort_agent::api::{
    ElectionView, EventView, LocksView, MemberHistoryView, MemberView, TermView, TurnView,
};
use std::collections::BTreeMap;
use std::io::{self, Write};

/// The number of earlier events, terms or turns that are shown.
const SHOWN: usize = 12;

/// Explain the current state of a member, a leader or a lock
///
/// Based on what the agent remembers of its own run. Times are UTC.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    #[command(subcommand)]
    what: What,
}

#[derive(Debug, Subcommand)]
enum What {
    /// Show what happened to a member, and who reports that it is down
    Member {
        /// Name or id of the member
        member: String,
        #[command(flatten)]
        how: How,
    },
    /// Show the former leaders of an election, how their terms ended, and why the leader leads
    Leader {
        /// Name of the election
        #[arg(value_parser = client::name)]
        election: String,
        #[command(flatten)]
        how: How,
    },
    /// Show the holder of a lock, its waiters, and its former holders
    Lock {
        /// Name of the lock
        #[arg(value_parser = client::name)]
        lock: String,
        #[command(flatten)]
        how: How,
    },
}

#[derive(Debug, clap::Args)]
struct How {
    #[command(flatten)]
    agent: AgentAddr,
    /// How to print
    #[arg(long, value_enum, default_value_t)]
    format: Format,
}

const EXAMPLES: &str = "\
Examples:
  consort why member attic
  consort why leader gateway
  consort why lock nightly";

pub(crate) fn run(args: &Args) -> anyhow::Result<Answer> {
    match &args.what {
        What::Member { member, how } => of_member(member, how),
        What::Leader { election, how } => of_leader(election, how),
        What::Lock { lock, how } => of_lock(lock, how),
    }
}

fn of_member(member: &str, how: &How) -> anyhow::Result<Answer> {
    let history: MemberHistoryView =
        block_on(async { Ok(how.agent.get(&path("members", member, "/history")).await?) })?;
    if how.format == Format::Json {
        output::line(&serde_json::to_string_pretty(&history)?)?;
        return Ok(Answer::Yes);
    }
    if history.member.status == "alive" {
        let name = if history.member.name.is_empty() {
            &history.member.id
        } else {
            &history.member.name
        };
        output::line(&format!("{} is alive", safe(name)))?;
    } else if !history.member.is_self {
        output::line(&why_down::of(&how.agent, member)?)?;
    }
    let names = print_chain("member", &history.member.id, how)?;
    let events = &history.events[history.events.len().saturating_sub(SHOWN)..];
    if !events.is_empty() {
        output::line("\nwhat the agent saw:")?;
    }
    for event in events {
        let because = match event.cause {
            Some(cause) => format!("  (#{}, because of #{cause})", event.seq),
            None => format!("  (#{})", event.seq),
        };
        output::line(&format!(
            "  {}  {}{because}",
            clock(event.at_ms),
            text(event, &names)
        ))?;
    }
    Ok(Answer::Yes)
}

/// Prints the latest event and what led to it. Returns the names of members.
fn print_chain(about: &str, name: &str, how: &How) -> anyhow::Result<BTreeMap<String, String>> {
    let (chain, members): (Vec<EventView>, Vec<MemberView>) = block_on(async {
        let chain = path(&format!("why/{about}"), name, "");
        let chain = how.agent.get(&chain).await?;
        Ok((chain, how.agent.get("/v1/members").await?))
    })?;
    let names = members.into_iter().map(|m| (m.id, m.name)).collect();
    if !chain.is_empty() {
        output::line(&format!("\n{}", chain_text(&chain, &names)))?;
    }
    Ok(names)
}

/// A chain of causes, the effect first and each cause below it, one step further in.
fn chain_text(chain: &[EventView], names: &BTreeMap<String, String>) -> String {
    let lines = chain.iter().enumerate().map(|(depth, event)| {
        let because = if depth == 0 { "" } else { "because " };
        let indent = "  ".repeat(depth);
        let (at, told) = (clock(event.at_ms), text(event, names));
        format!("{at}  {indent}{because}{told}")
    });
    lines.collect::<Vec<_>>().join("\n")
}

fn of_leader(election: &str, how: &How) -> anyhow::Result<Answer> {
    let view: ElectionView =
        block_on(async { Ok(how.agent.get(&election_path(election, "")).await?) })?;
    if how.format == Format::Json {
        output::line(&serde_json::to_string_pretty(&view)?)?;
    } else {
        for term in &view.terms[view.terms.len().saturating_sub(SHOWN)..] {
            output::line(&term_line(term))?;
        }
        print_chain("leader", &view.name, how)?;
        if let Some(leader) = &view.leader {
            output::line(&format!("\n{} leads.", leader::name(leader)))?;
            output::line(&leader::explanation(&view, leader))?;
        }
    }
    if view.leader.is_none() {
        let _ = writeln!(io::stderr(), "nobody leads election {}", safe(&view.name));
        return Ok(Answer::No);
    }
    Ok(Answer::Yes)
}

fn term_line(term: &TermView) -> String {
    let name = safe(if term.name.is_empty() {
        &term.id
    } else {
        &term.name
    });
    let end = match (term.until_ms, term.ended.as_deref()) {
        (Some(until), Some("failed")) => format!("until {}, when it had failed", clock(until)),
        (Some(until), Some("silent")) => {
            format!("until {}, when it did not renew its lease", clock(until))
        }
        (Some(until), Some("resigned")) => format!("until {}, when it resigned", clock(until)),
        (Some(until), Some("left")) => format!("until {}, when it left", clock(until)),
        (Some(until), Some("restarted")) => format!("until {}, when it restarted", clock(until)),
        (Some(until), Some("handed_over")) => {
            format!("until {}, when it handed over", clock(until))
        }
        (Some(until), Some("replaced")) => {
            format!("until {}, when another took over", clock(until))
        }
        (Some(until), Some("renewed")) => {
            format!("until {}, and leads on by a later token", clock(until))
        }
        (Some(until), Some(how)) => format!("until {} ({})", clock(until), safe(how)),
        (Some(until), None) => format!("until {}", clock(until)),
        (None, _) => String::new(),
    };
    let from = if term.partly { "before " } else { "" };
    if term.until_ms.is_none() {
        let since = clock(term.from_ms);
        return format!("{from}{since}  {name} leads since then, term {}", term.term);
    }
    format!(
        "{from}{}  {name} led, term {}, {end}",
        clock(term.from_ms),
        term.term
    )
}

fn of_lock(lock: &str, how: &How) -> anyhow::Result<Answer> {
    let view: LocksView = block_on(async { Ok(how.agent.get(&path("locks", lock, "")).await?) })?;
    if how.format == Format::Json {
        output::line(&serde_json::to_string_pretty(&view)?)?;
    } else {
        for lock in &view.locks {
            for turn in &lock.turns[lock.turns.len().saturating_sub(SHOWN)..] {
                output::line(&turn_line(turn))?;
            }
            print_chain("lock", &lock.name, how)?;
            for c in &lock.contenders {
                let name = safe(if c.name.is_empty() { &c.id } else { &c.name });
                let waited = c
                    .waited_ms
                    .map(|ms| format!(" for {}.{} s", ms / 1000, ms % 1000 / 100));
                output::line(&match c.held {
                    true => format!(
                        "{name} holds {}, token {}",
                        safe(&lock.name),
                        safe(&c.token)
                    ),
                    false => format!(
                        "{name} waits for {}{}",
                        safe(&lock.name),
                        waited.unwrap_or_default()
                    ),
                })?;
            }
        }
        if !view.readiness.synced || !view.readiness.mature {
            let left = view.readiness.matures_in_ms.div_ceil(1000);
            let _ = writeln!(
                io::stderr(),
                "this node has just started: it may not ask for locks yet, or counts as a witness in {left} s"
            );
        }
    }
    if !view.locks.iter().any(|l| l.held) {
        let _ = writeln!(io::stderr(), "nobody holds {}", safe(lock));
        return Ok(Answer::No);
    }
    Ok(Answer::Yes)
}

fn turn_line(turn: &TurnView) -> String {
    let name = safe(if turn.name.is_empty() {
        &turn.id
    } else {
        &turn.name
    });
    let end = match (turn.until_ms, turn.ended.as_deref()) {
        (Some(until), Some("failed")) => format!("until {}, when it had failed", clock(until)),
        (Some(until), _) => format!("until {}", clock(until)),
        (None, _) => "since then".to_owned(),
    };
    format!("{}  {name} held it {end}", clock(turn.from_ms))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::{Value, json};

    fn event(fields: Value) -> EventView {
        serde_json::from_value(fields).unwrap()
    }

    fn member(id: &str) -> Value {
        json!({"name": "", "id": id, "status": "failed", "address": "127.0.0.1:1", "life": 1, "incarnation": 0,
            "tags": {}, "rtt_us": null, "health_percent": 100, "suspicions": 0, "refutations": 0, "accuser": null,
            "self": false})
    }

    #[test]
    fn a_chain_is_indented_and_has_names_for_ids() {
        let names = BTreeMap::from([
            ("a1".to_owned(), "attic".to_owned()),
            ("b2".to_owned(), "barn".to_owned()),
        ]);
        let chain = [
            event(json!({"event": "leader_vacant", "at_ms": 3000, "election": "gateway"})),
            event(
                json!({"event": "down", "reason": "failed", "at_ms": 2000, "member": member("a1")}),
            ),
            event(json!({"event": "suspected", "by": "b2", "at_ms": 1000, "member": member("a1")})),
        ];
        assert_eq!(
            chain_text(&chain, &names),
            "00:00:03.000Z  nobody leads gateway\n\
             00:00:02.000Z    because attic has failed\n\
             00:00:01.000Z      because attic is suspected by barn"
        );
    }
}
