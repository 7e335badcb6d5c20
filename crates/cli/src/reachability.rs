//! `consort reachability`.

use crate::Answer;
use crate::client::{AgentAddr, block_on};
use crate::output::{self, Format, safe};
use crate::query::names;
use consort_agent::api::ReachabilityView;
use core::time::Duration;

/// Show which members can be reached from an agent
///
/// Asks every member that is listed as alive or suspect, by gossip and then directly, and shows which ones answered,
/// quickest first. Exit code 1 if one did not answer. Possible reasons are a firewall that lets datagrams through in
/// one direction only, an address that others cannot use, or a member that has just failed.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    /// How long to wait for answers, as in 500ms or 10s [default: 3s, longer in slower profiles]
    #[arg(long, value_name = "TIME", value_parser = humantime::parse_duration)]
    timeout: Option<Duration>,
    #[command(flatten)]
    agent: AgentAddr,
    /// How to print: lines of text, or a JSON object
    #[arg(long, value_enum, default_value_t)]
    format: Format,
}

const EXAMPLES: &str = "\
Examples:
  consort reachability
  consort reachability --format json | jq -r '.silent[].name'";

pub(crate) fn run(args: &Args) -> anyhow::Result<Answer> {
    let (path, wait) = match args.timeout {
        Some(timeout) => (
            format!("/v1/reachability?timeout_ms={}", timeout.as_millis()),
            timeout,
        ),
        // Slow profiles wait for up to half an hour.
        None => ("/v1/reachability".to_owned(), Duration::from_secs(1800)),
    };
    let patience = wait.saturating_add(Duration::from_secs(10));
    let found: ReachabilityView =
        block_on(async { Ok(args.agent.get_within(&path, patience).await?) })?;
    output::line(&match args.format {
        Format::Json => serde_json::to_string_pretty(&found)?,
        Format::Text => text(&found),
    })?;
    match found.silent.is_empty() {
        true => Ok(Answer::Yes),
        false => Ok(Answer::No),
    }
}

fn text(found: &ReachabilityView) -> String {
    let mut lines = Vec::new();
    for reached in &found.reached {
        let name = match reached.name.as_str() {
            "" => &reached.id,
            name => name,
        };
        lines.push(format!(
            "{} answered after {} ms",
            safe(name),
            reached.after_ms
        ));
    }
    let (reached, all) = (
        found.reached.len(),
        found.reached.len() + found.silent.len(),
    );
    lines.push(match (found.silent.is_empty(), all) {
        (_, 0) => "there are no other members".to_owned(),
        (true, _) => format!("all {all} other members answered"),
        (false, _) => format!(
            "{reached} of {all} other members answered; no answer from {}",
            names(&found.silent)
        ),
    });
    lines.join("\n")
}
