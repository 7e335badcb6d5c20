//! `consort info`.

use crate::Answer;
use crate::client::{AgentAddr, block_on};
use crate::output::{self, Format, safe};
use consort_agent::api::{InfoView, SelfView};

/// Show one agent: its identity, its group, the number of members by status, its versions and features
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
    let (this, info): (SelfView, InfoView) = block_on(async {
        Ok((
            args.agent.get("/v1/self").await?,
            args.agent.get("/v1/info").await?,
        ))
    })?;
    output::line(&match args.format {
        Format::Json => serde_json::to_string_pretty(&Both { this, info })?,
        Format::Text => text(&this, &info),
    })?;
    Ok(Answer::Yes)
}

/// What `GET /v1/self` tells, and in `info` what `GET /v1/info` tells.
#[derive(serde::Serialize)]
struct Both {
    #[serde(flatten)]
    this: SelfView,
    info: InfoView,
}

fn text(this: &SelfView, info: &InfoView) -> String {
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
        ("network", info.profile.clone()),
        ("detection", info.detection.clone()),
        ("features", info.features.join(" ")),
        (
            "version",
            format!("{}, datagrams {}", info.version, info.wire),
        ),
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

/// Whether the node can support locks as a witness.
fn locks(this: &SelfView) -> String {
    let left = this.locks.matures_in_ms.div_ceil(1000);
    match (this.locks.mature, this.locks.synced) {
        (true, true) => "ready".to_owned(),
        (true, false) => "has not read the group's clock yet".to_owned(),
        (false, _) => format!("has just started, counts as a witness in {left} s"),
    }
}
