//! `consort query`.

use crate::Answer;
use crate::client::{AgentAddr, block_on};
use crate::output::{self, Format, safe};
use consort_agent::api::{QueryRequest, QueryUpdateView, SilentView};
use core::time::Duration;
use std::io::{self, Write};

/// Query members and gather their answers
///
/// Members answer through event handlers (on = "query:NAME"; the output of the command is the answer) or programs that
/// use the library. Ends when all selected members have answered or declined, or after --timeout. Exit code 1 if nobody
/// answered. An answer has up to 1024 bytes.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    /// Name of the query
    name: String,
    /// Content of the query
    #[arg(default_value = "", hide_default_value = true)]
    payload: String,
    /// Ask only this member, by name or id; repeat for more
    #[arg(long = "node", value_name = "MEMBER")]
    nodes: Vec<String>,
    /// Ask only members with this tag, with this value if one is given; with several, members need all of them
    #[arg(long = "tag", value_name = "KEY[=VALUE]")]
    tags: Vec<String>,
    /// How long to wait for answers, as in 500ms or 10s [default: 3s, longer in slower profiles]
    #[arg(long, value_name = "TIME", value_parser = humantime::parse_duration)]
    timeout: Option<Duration>,
    #[command(flatten)]
    agent: AgentAddr,
    /// How to print: a line for each answer, or one JSON object per line
    #[arg(long, value_enum, default_value_t)]
    format: Format,
}

const EXAMPLES: &str = "\
Examples:
  consort query load
  consort query load --tag role=gateway --timeout 1s
  consort query version --node attic --format json | jq -r .payload";

pub(crate) fn run(args: &Args) -> anyhow::Result<Answer> {
    let request = QueryRequest {
        name: args.name.clone(),
        payload: args.payload.clone(),
        nodes: args.nodes.clone(),
        tags: args.tags.clone(),
        timeout_ms: args.timeout.map(|t| t.as_millis() as u64),
        stream: true,
    };
    block_on(async {
        let mut updates = args
            .agent
            .take::<QueryUpdateView>("/v1/query", &request)
            .await?;
        let mut tally = Tally::default();
        while let Some(update) = updates.next().await? {
            tally.take(&update);
            match args.format {
                Format::Json => output::line(&serde_json::to_string(&update)?)?,
                Format::Text if update.update == "answer" => output::line(&answer(&update))?,
                Format::Text => {}
            }
        }
        if args.format == Format::Text {
            // Nobody may be reading it.
            let _ = writeln!(io::stderr(), "{}", tally.text());
        }
        match tally.answers {
            0 => Ok(Answer::No),
            _ => Ok(Answer::Yes),
        }
    })
}

fn answer(update: &QueryUpdateView) -> String {
    let id = update.id.as_deref().unwrap_or_default();
    let name = match update.name.as_deref() {
        None | Some("") => id,
        Some(name) => name,
    };
    let payload = update.payload.as_deref().unwrap_or_default();
    format!("{}: {}", safe(name), safe(payload))
}

/// The names of members, for people.
pub(crate) fn names(members: &[SilentView]) -> String {
    let name = |m: &SilentView| match m.name.as_str() {
        "" => safe(&m.id),
        name => safe(name),
    };
    members.iter().map(name).collect::<Vec<_>>().join(", ")
}

#[derive(Debug, Default)]
struct Tally {
    answers: usize,
    declined: usize,
    silent: Vec<SilentView>,
}

impl Tally {
    fn take(&mut self, update: &QueryUpdateView) {
        match update.update.as_str() {
            "answer" => self.answers += 1,
            "declined" => self.declined += 1,
            _ => self.silent = update.silent.clone().unwrap_or_default(),
        }
    }

    fn text(&self) -> String {
        if self.answers + self.declined + self.silent.len() == 0 {
            return "nobody was asked: no member matches (consort members lists names and tags)"
                .to_owned();
        }
        let mut text = match self.answers {
            1 => "1 answer".to_owned(),
            n => format!("{n} answers"),
        };
        if self.declined > 0 {
            text.push_str(&format!(", {} without a handler for it", self.declined));
        }
        if !self.silent.is_empty() {
            text.push_str(&format!(", silent: {}", names(&self.silent)));
        }
        text
    }
}
