//! `consort churn`.

use crate::Answer;
use crate::client::{AgentAddr, block_on, election_path};
use crate::output::{self, Format, safe};
use consort_agent::api::{ChurnView, ElectionView};
use std::io::{self, Write};

/// Show how consistent member lists are, and how many of them a round of an election reads
///
/// MISSING is the expected number of lists that lack a good candidate (c), out of KNOWN members. The next round reads
/// QUORUM lists and asks HEDGE more members, because some do not answer. MARGIN is the number of lists beyond c + 1; it
/// is negative in large groups, where a sample suffices. MISS is the probability that none of these lists contains the
/// best candidate. Exit code 1 if the agent does not know the election.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Name of the election [default: all]
    #[arg(value_name = "NAME")]
    election: Option<String>,
    #[command(flatten)]
    agent: AgentAddr,
    /// How to print: a table, or a JSON array of objects
    #[arg(long, value_enum, default_value_t)]
    format: Format,
}

pub(crate) fn run(args: &Args) -> anyhow::Result<Answer> {
    let all: Vec<ChurnView> = block_on(async {
        Ok(match &args.election {
            None => args.agent.get("/v1/churn").await?,
            Some(name) => {
                let view: ElectionView = args.agent.get(&election_path(name, "")).await?;
                view.churn.into_iter().collect()
            }
        })
    })?;
    if args.format == Format::Json {
        output::line(&serde_json::to_string_pretty(&all)?)?;
    } else if all.is_empty() {
        let which = match &args.election {
            Some(name) => format!("election {}", safe(name)),
            None => "any election".to_owned(),
        };
        let _ = writeln!(io::stderr(), "this agent does not know of {which} yet");
    } else {
        output::line(&table(&all))?;
    }
    Ok(match all.is_empty() {
        true => Answer::No,
        false => Answer::Yes,
    })
}

fn table(all: &[ChurnView]) -> String {
    let rows: Vec<[String; 8]> = all
        .iter()
        .map(|c| {
            [
                safe(&c.election),
                format!("{:.1}", c.missing),
                c.known.to_string(),
                c.quorum.to_string(),
                c.hedge.to_string(),
                c.margin.to_string(),
                match c.quorum >= c.known {
                    true => "all lists read".to_owned(),
                    false => format!("{:.0e}", c.miss_chance),
                },
                format!("{:.1} %", f64::from(c.silent_per_mille) / 10.0),
            ]
        })
        .collect();
    let head = [
        "ELECTION", "MISSING", "KNOWN", "QUORUM", "HEDGE", "MARGIN", "MISS", "SILENT",
    ];
    output::table(head, &rows)
}
