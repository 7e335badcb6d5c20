//! `consort tags`.

use crate::Answer;
use crate::agent::tag;
use crate::client::{AgentAddr, block_on};
use crate::output::{self, Format, safe};
use clap::Subcommand;
use clap::builder::ValueParser;
use std::collections::BTreeMap;
use std::io::{self, Write};

/// Show or change the tags of a running agent
///
/// Every member can read the tags of every other member. The name and the tags of a node take up to 512 bytes together,
/// and contain no control characters. A change reaches the others within seconds and lasts until the agent stops; the
/// configuration has the initial tags. Elections whose attribute_tag names a tag follow it; such a tag can only be set
/// to numbers and cannot be deleted.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES, args_conflicts_with_subcommands = true)]
pub(crate) struct Args {
    #[command(subcommand)]
    change: Option<Change>,
    #[command(flatten)]
    how: How,
}

#[derive(Debug, clap::Args)]
struct How {
    #[command(flatten)]
    agent: AgentAddr,
    /// How to print: KEY=VALUE per line, or a JSON object
    #[arg(long, value_enum, default_value_t)]
    format: Format,
}

#[derive(Debug, Subcommand)]
enum Change {
    /// Set tags; the other tags are kept
    Set {
        /// The tags to set
        #[arg(value_name = "KEY=VALUE", required = true, value_parser = ValueParser::new(tag))]
        tags: Vec<(String, String)>,
        #[command(flatten)]
        how: How,
    },
    /// Delete tags; exit code 1 if the agent has none of these
    #[command(visible_alias = "rm")]
    Delete {
        /// The keys of the tags to delete
        #[arg(value_name = "KEY", required = true)]
        keys: Vec<String>,
        #[command(flatten)]
        how: How,
    },
}

const EXAMPLES: &str = "\
Examples:
  consort tags
  consort tags set battery=12 role=gateway
  consort tags delete role
  consort tags --format json | jq -r .battery";

type Tags = BTreeMap<String, String>;

pub(crate) fn run(args: &Args) -> anyhow::Result<Answer> {
    let (how, changes) = match &args.change {
        None => {
            let tags = block_on(async { Ok(args.how.agent.get::<Tags>("/v1/tags").await?) })?;
            return show(&tags, args.how.format).map(|()| Answer::Yes);
        }
        Some(Change::Set { tags, how }) => {
            let changes = tags.iter().cloned().map(|(key, value)| (key, Some(value)));
            (how, changes.collect::<BTreeMap<_, _>>())
        }
        Some(Change::Delete { keys, how }) => {
            let before = block_on(async { Ok(how.agent.get::<Tags>("/v1/tags").await?) })?;
            if !keys.iter().any(|key| before.contains_key(key)) {
                let _ = writeln!(io::stderr(), "the agent has no such tag");
                return Ok(Answer::No);
            }
            (how, keys.iter().map(|key| (key.clone(), None)).collect())
        }
    };
    let tags = block_on(async { Ok(how.agent.patch::<Tags>("/v1/tags", &changes).await?) })?;
    show(&tags, how.format).map(|()| Answer::Yes)
}

fn show(tags: &Tags, format: Format) -> anyhow::Result<()> {
    match format {
        Format::Json => output::line(&serde_json::to_string_pretty(tags)?)?,
        Format::Text => {
            for (key, value) in tags {
                output::line(&format!("{}={}", safe(key), safe(value)))?;
            }
        }
    }
    Ok(())
}
