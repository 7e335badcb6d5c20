//! `consort leader`.

use crate::Answer;
use crate::client::{AgentAddr, block_on, election_path};
use crate::output::{self, Format, safe};
use crate::topology;
use consort_agent::api::{ElectionView, LeaderView};
use std::io::{self, Write};

/// Show who leads an election, as an agent sees it
///
/// Exit code 1 when nobody does. Any member can be asked, also one that does not stand. The token grows
/// with every later leader; compare it as text. In an election by component there is one leader for every
/// connected component, and tokens of two components cannot be compared.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Name of the election
    #[arg(value_name = "NAME")]
    election: String,
    #[command(flatten)]
    agent: AgentAddr,
    /// How to print
    #[arg(long, value_enum, default_value_t)]
    format: Format,
}

pub(crate) fn run(args: &Args) -> anyhow::Result<Answer> {
    let path = election_path(&args.election, "");
    let view: ElectionView = block_on(async { Ok(args.agent.get(&path).await?) })?;
    if args.format == Format::Json {
        output::line(&serde_json::to_string_pretty(&view)?)?;
    }
    match &view.leader {
        Some(leader) => {
            if args.format == Format::Text {
                output::line(&text(&view, leader))?;
            }
            Ok(Answer::Yes)
        }
        None => {
            let name = safe(&view.name);
            let why = match view.candidates.len() {
                0 => "nobody stands in it (consort elect does, or [[election]] of an agent)",
                _ => "an election should follow",
            };
            let _ = writeln!(io::stderr(), "nobody leads election {name}: {why}");
            Ok(Answer::No)
        }
    }
}

fn text(view: &ElectionView, leader: &LeaderView) -> String {
    let mut remarks = vec![leader.stage.clone()];
    if leader.degraded {
        remarks.push("degraded: fewer lists were read than the quorum asks for".to_owned());
    }
    if leader.handed_over {
        remarks.push("handed over".to_owned());
    }
    let this = match (leader.is_self, &view.acting) {
        (true, Some(_)) => format!("leads, for at least {} ms more", view.valid_for_ms),
        (true, None) => "leads, and may not act yet".to_owned(),
        (false, _) => view.role.clone(),
    };
    let scope = match &view.scope {
        None => "the group".to_owned(),
        Some(scope) => {
            let settled = if scope.settled { "" } else { ", not settled" };
            let nodes = if scope.size == 1 { "node" } else { "nodes" };
            let (size, share) = (scope.size, scope.share_percent);
            let span = topology::span(scope.since_ms);
            format!("a component of {size} {nodes}, {share} % of the members, for {span}{settled}")
        }
    };
    let candidates = view.candidates.iter().map(|c| match c.name.as_str() {
        "" => c.id.clone(),
        name => name.to_owned(),
    });
    [
        ("leader", name(leader)),
        ("id", leader.id.clone()),
        (
            "address",
            leader.address.clone().unwrap_or("unknown".to_owned()),
        ),
        ("token", leader.token.clone()),
        ("term", leader.term.to_string()),
        ("stage", remarks.join(", ")),
        ("leads", scope),
        ("candidates", candidates.collect::<Vec<_>>().join(" ")),
        ("this node", this),
    ]
    .map(|(key, value)| format!("{key:12} {}", safe(&value)))
    .join("\n")
}

/// What people call a leader.
pub(crate) fn name(leader: &LeaderView) -> String {
    safe(match leader.name.as_str() {
        "" => &leader.id,
        name => name,
    })
}
