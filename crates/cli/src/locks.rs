//! `consort locks`.

use crate::Answer;
use crate::client::{self, AgentAddr, block_on, path};
use crate::output::{self, Format, safe};
use consort_agent::api::{ContenderView, LockView, LocksView};
use std::io::{self, Write};

/// Show the holders and waiters of locks
///
/// Asks all members through an agent. A name in hexadecimal digits belongs to a lock that only witnesses report, for
/// example because its holder has died. Exit code 1 if a NAME is given and nobody holds that lock.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// One lock or semaphore
    #[arg(value_name = "NAME", value_parser = client::name)]
    name: Option<String>,
    #[command(flatten)]
    agent: AgentAddr,
    /// How to print
    #[arg(long, value_enum, default_value_t)]
    format: Format,
}

pub(crate) fn run(args: &Args) -> anyhow::Result<Answer> {
    let path = match &args.name {
        Some(name) => path("locks", name, ""),
        None => "/v1/locks".to_owned(),
    };
    let view: LocksView = block_on(async { Ok(args.agent.get(&path).await?) })?;
    match args.format {
        Format::Json => output::line(&serde_json::to_string_pretty(&view)?)?,
        Format::Text => {
            output::line(&table(&view.locks))?;
            if let Some(name) = args.name.as_ref().filter(|_| view.locks.is_empty()) {
                let name = safe(name);
                let _ = writeln!(io::stderr(), "nobody holds {name} or waits for it");
            }
            let left = view.readiness.matures_in_ms.div_ceil(1000);
            let note = match &view.readiness.waits_for {
                Some(what) => format!("requests of this node wait: {}", safe(what)),
                None if !view.readiness.mature => {
                    format!("this node has just started and supports locks in {left} s")
                }
                None => String::new(),
            };
            if !note.is_empty() {
                let _ = writeln!(io::stderr(), "{note}");
            }
        }
    }
    match args.name.is_some() && !view.locks.iter().any(|l| l.held) {
        true => Ok(Answer::No),
        false => Ok(Answer::Yes),
    }
}

fn table(locks: &[LockView]) -> String {
    let mut rows = Vec::new();
    for lock in locks {
        let holders: Vec<&ContenderView> = lock.contenders.iter().filter(|c| c.held).collect();
        let waiting = lock.waiting.to_string();
        for holder in &holders {
            rows.push([
                safe(&lock.name),
                who(holder),
                safe(&holder.mode),
                safe(&holder.token),
                format!(
                    "{}.{} s",
                    holder.left_ms / 1000,
                    holder.left_ms % 1000 / 100
                ),
                waiting.clone(),
            ]);
        }
        if holders.is_empty() {
            let none = || "-".to_owned();
            rows.push([safe(&lock.name), none(), none(), none(), none(), waiting]);
        }
    }
    let head = ["NAME", "HOLDER", "MODE", "TOKEN", "LEFT", "WAITING"];
    output::table(head, &rows)
}

/// The name of a contender for people.
pub(crate) fn who(contender: &ContenderView) -> String {
    safe(match contender.name.as_str() {
        "" => &contender.id,
        name => name,
    })
}
