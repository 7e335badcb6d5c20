//! `consort leader`.

use crate::Answer;
use crate::client::{self, AgentAddr, block_on, election_path};
use crate::output::{self, Format, safe};
use crate::topology;
use consort_agent::api::{CandidateView, ElectionView, LeaderView, PreemptView};
use core::time::Duration;
use std::io::{self, Write};

/// Show the leader of an election, as an agent sees it
///
/// Exit code 1 if nobody leads, or if this agent's own node is named but may not act: it has not taken over yet, or is
/// cut off from the others. Any member can be asked, even one that does not campaign. The token grows with every later
/// leader; compare it as text. In an election by component there is one leader for every connected component, and
/// tokens of two components cannot be compared.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Name of the election
    #[arg(value_name = "NAME", value_parser = client::name)]
    election: String,
    /// Show every candidate, its properties, and what decides between it and the leader
    #[arg(long)]
    explain: bool,
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
                if args.explain {
                    output::line(&format!("\n{}", explanation(&view, leader)))?;
                }
            }
            match leader.is_self && view.acting.is_none() {
                true => Ok(Answer::No),
                false => Ok(Answer::Yes),
            }
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
        (true, None) => {
            "leads, but may not act: it has not taken over yet, or has heard from nobody for too long".to_owned()
        }
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

/// Explains why this leader leads: all candidates, best first, and what decides.
pub(crate) fn explanation(view: &ElectionView, leader: &LeaderView) -> String {
    let row = |c: &CandidateView| {
        let values = view.score.iter().map(|criterion| match criterion.as_str() {
            "attribute" => format!("attribute {}", c.attribute),
            "centrality" => format!("centrality {}", c.centrality),
            _ => format!("reliability {}", c.reliability),
        });
        let mut state = vec![];
        if !c.settled {
            state.push("newcomer");
        }
        if c.suspect {
            state.push("suspected");
        }
        let verdict = match (c.compared.as_deref(), c.by.as_deref()) {
            (Some("leads"), _) => "leads".to_owned(),
            (Some(compared), Some(by)) => format!("{compared} by {by}"),
            _ => "-".to_owned(),
        };
        [
            safe(if c.name.is_empty() { &c.id } else { &c.name }),
            c.class.to_string(),
            values.collect::<Vec<_>>().join(", "),
            verdict,
            state.join(", "),
        ]
    };
    let rows: Vec<[String; 5]> = view.candidates.iter().map(row).collect();
    let order: Vec<&str> = view.score.iter().map(String::as_str).collect();
    let order = [&["newcomers last", "class"][..], &order, &["hash"]].concat();
    let head = ["CANDIDATE", "CLASS", "JUDGED BY", "THAN THE LEADER", ""];
    let mut lines = vec![
        format!(
            "order        {}; of each the smallest wins",
            order.join(", ")
        ),
        String::new(),
        output::table(head, &rows),
    ];
    let better = |c: &&CandidateView| c.compared.as_deref() == Some("better");
    if leader.handed_over {
        lines.push("\nThe leader before chose this one.".to_owned());
    } else if view.candidates.iter().any(|c| better(&c)) {
        lines.push(format!(
            "\nA better candidate does not lead: {}; and who held the election may have known of others, or found \
             them otherwise.",
            preempted(view.preempt.as_ref())
        ));
    }
    lines.join("\n")
}

/// When a better candidate replaces the leader, in words.
fn preempted(preempt: Option<&PreemptView>) -> String {
    let Some(preempt) = preempt else {
        return "leaders stay until they go, unless the election preempts".to_owned();
    };
    let hold = Duration::from_millis(preempt.hold_ms.unwrap_or_default());
    let hold = humantime::format_duration(hold);
    match (preempt.when.as_str(), preempt.delta) {
        ("never", _) => "leaders stay until they go (preempt = never)".to_owned(),
        (when, Some(delta)) => {
            format!(
                "it takes over once it has been better by {delta} for {hold} (preempt = {when})"
            )
        }
        (when, None) => {
            format!("it takes over once it has been better for {hold} (preempt = {when})")
        }
    }
}

/// The name of a leader for people.
pub(crate) fn name(leader: &LeaderView) -> String {
    safe(match leader.name.as_str() {
        "" => &leader.id,
        name => name,
    })
}
