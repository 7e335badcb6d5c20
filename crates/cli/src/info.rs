//! `consort info`.

use crate::Answer;
use crate::client::{AgentAddr, block_on};
use crate::output::{self, Format, safe};
use consort_agent::api::SelfView;

/// Show one agent: who it is, and how many members it counts
#[derive(Debug, clap::Args)]
#[command(visible_alias = "self")]
pub(crate) struct Args {
    #[command(flatten)]
    agent: AgentAddr,
    /// How to print
    #[arg(long, value_enum, default_value_t)]
    format: Format,
}

pub(crate) fn run(args: &Args) -> anyhow::Result<Answer> {
    let this: SelfView = block_on(async { Ok(args.agent.get("/v1/self").await?) })?;
    output::line(&match args.format {
        Format::Json => serde_json::to_string_pretty(&this)?,
        Format::Text => text(&this),
    })?;
    Ok(Answer::Yes)
}

fn text(this: &SelfView) -> String {
    let tags: Vec<String> = this
        .member
        .tags
        .iter()
        .map(|(k, v)| format!("{k}={v}"))
        .collect();
    let counts: Vec<String> = this
        .members
        .iter()
        .map(|(s, n)| format!("{n} {s}"))
        .collect();
    [
        ("name", this.member.name.clone()),
        ("id", this.member.id.clone()),
        ("group", this.group.clone()),
        ("status", this.member.status.clone()),
        ("address", this.member.address.clone()),
        ("life", this.member.life.to_string()),
        ("incarnation", this.member.incarnation.to_string()),
        ("tags", tags.join(" ")),
        ("members", counts.join(", ")),
        ("locks", locks(this)),
        ("storage", storage(this)),
        ("version", this.version.clone()),
    ]
    .map(|(key, value)| format!("{key:12} {}", safe(&value)))
    .join("\n")
}

fn storage(this: &SelfView) -> String {
    match &this.storage_error {
        None => "ok".to_owned(),
        Some(why) => format!("fails, so it holds no elections and asks for no locks: {why}"),
    }
}

/// Whether the node can stand behind locks.
fn locks(this: &SelfView) -> String {
    let left = this.locks.matures_in_ms.div_ceil(1000);
    match (this.locks.mature, this.locks.synced) {
        (true, true) => "ready".to_owned(),
        (true, false) => "has not read the group's clock yet".to_owned(),
        (false, _) => format!("has just started, counts as a witness in {left} s"),
    }
}
