//! `consort topology`.

use crate::Answer;
use crate::client::{AgentAddr, block_on};
use crate::output::{self, safe};
use clap::ValueEnum;
use consort_agent::api::{ComponentMemberView, TopologyView};
use core::time::Duration;
use std::collections::BTreeMap;

/// Show which nodes hear each other, as an agent sees it
///
/// Lists the agent's neighbours, and all nodes that can be reached over links, each with its distance from all others:
/// farness is the sum of its distances in hops, closeness the inverse of their mean. Needs an agent that was started
/// with --topology or --peer.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    #[command(flatten)]
    agent: AgentAddr,
    /// How to print
    #[arg(long, value_enum, default_value_t)]
    format: Format,
}

const EXAMPLES: &str = "\
Examples:
  consort topology
  consort topology --format dot | dot -Tsvg > map.svg";

/// The form of the output.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
enum Format {
    /// Tables for people
    #[default]
    #[value(alias = "table")]
    Text,
    /// For scripts: fields may be added, never removed
    Json,
    /// A graph for Graphviz, with leaders filled
    Dot,
}

pub(crate) fn run(args: &Args) -> anyhow::Result<Answer> {
    let view: TopologyView = block_on(async { Ok(args.agent.get("/v1/topology").await?) })?;
    output::line(&match args.format {
        Format::Text => text(&view),
        Format::Json => serde_json::to_string_pretty(&view)?,
        Format::Dot => dot(&view),
    })?;
    Ok(Answer::Yes)
}

fn text(view: &TopologyView) -> String {
    let names: BTreeMap<&str, &str> = (view.members.iter())
        .map(|m| (m.id.as_str(), m.name.as_str()))
        .collect();
    let neighbours: Vec<[String; 6]> = (view.neighbours.iter())
        .map(|n| {
            let state = match n.held_for_ms {
                Some(ms) => format!("{}, held down for {}", n.state, span(ms)),
                None => n.state.clone(),
            };
            [
                called(&n.name, &n.id),
                state,
                span(n.state_for_ms),
                format!("{} %", n.quality_percent),
                format!("{} ago", span(n.heard_ago_ms)),
                safe(&n.address),
            ]
        })
        .collect();
    let mut parts = Vec::new();
    parts.push(match neighbours.is_empty() {
        true => match [view.interfaces.as_slice(), &view.peers].concat() {
            none if none.is_empty() => "no neighbours: no interface is there yet".to_owned(),
            places => format!("no neighbours on {}", safe(&places.join(", "))),
        },
        false => output::table(
            ["NEIGHBOUR", "STATE", "FOR", "QUALITY", "HEARD", "ADDRESS"],
            &neighbours,
        ),
    });
    let members: Vec<[String; 5]> = (view.members.iter())
        .map(|m| {
            let near = m.neighbours.iter();
            let near = near.map(|id| called(names.get(id.as_str()).unwrap_or(&""), id));
            [
                called(&m.name, &m.id),
                m.farness.map_or("-".to_owned(), |f| f.to_string()),
                format!("{:.2}", m.closeness),
                near.collect::<Vec<_>>().join(" "),
                safe(&m.leads.join(" ")),
            ]
        })
        .collect();
    let head = ["NODE", "FARNESS", "CLOSENESS", "HEARS", "LEADS"];
    let count = view.members.len();
    parts.push(format!(
        "component {} of {count} node{}\n{}",
        safe(&view.component),
        if count == 1 { "" } else { "s" },
        output::table(head, &members)
    ));
    if !view.apart.is_empty() {
        let apart = view.apart.iter().map(|a| called(&a.name, &a.id));
        let apart: Vec<String> = apart.collect();
        parts.push(format!("members out of reach: {}", apart.join(" ")));
    }
    parts.join("\n\n")
}

fn dot(view: &TopologyView) -> String {
    let node = |m: &ComponentMemberView| {
        let mut label = called(&m.name, &m.id);
        if !m.leads.is_empty() {
            label = format!("{label}\nleads {}", safe(&m.leads.join(", ")));
        }
        let style = match m.leads.is_empty() {
            true => "",
            false => ", style=filled, fillcolor=gold",
        };
        format!("  {} [label={}{style}];", quoted(&m.id), quoted(&label))
    };
    let link = |[a, b]: &[String; 2]| format!("  {} -- {};", quoted(a), quoted(b));
    let apart = (view.apart.iter()).map(|a| {
        let label = quoted(&called(&a.name, &a.id));
        format!("  {} [label={label}, style=dashed];", quoted(&a.id))
    });
    let nodes = view.members.iter().map(node);
    let lines = nodes.chain(apart).chain(view.links.iter().map(link));
    let lines: Vec<String> = lines.collect();
    format!("graph consort {{\n{}\n}}", lines.join("\n"))
}

/// A string in the graph language.
fn quoted(text: &str) -> String {
    let mut quoted = String::from("\"");
    for c in text.chars() {
        match c {
            '"' | '\\' => quoted.extend(['\\', c]),
            '\n' => quoted.push_str("\\n"),
            c => quoted.push(c),
        }
    }
    quoted.push('"');
    quoted
}

/// The name of a node for people.
fn called(name: &str, id: &str) -> String {
    safe(if name.is_empty() { id } else { name })
}

/// A duration in words, with useful precision.
pub(crate) fn span(ms: u64) -> String {
    let exact = Duration::from_millis(ms);
    let rounded = match ms {
        0..10_000 => Duration::from_millis(ms / 10 * 10),
        _ => Duration::from_secs(exact.as_secs()),
    };
    humantime::format_duration(rounded).to_string()
}

#[cfg(test)]
mod tests {
    use super::*;
    use consort_agent::api::ApartView;

    fn view() -> TopologyView {
        let member = |id: &str, name: &str, farness, near: &[&str], leads: &[&str]| {
            let words = |words: &[&str]| words.iter().map(|w| (*w).to_owned()).collect();
            ComponentMemberView {
                name: name.to_owned(),
                id: id.to_owned(),
                farness,
                closeness: 2.0 / 3.0,
                neighbours: words(near),
                leads: words(leads),
            }
        };
        TopologyView {
            node: "01".into(),
            node_name: "a\"b".into(),
            interfaces: vec!["wlan0".into()],
            peers: Vec::new(),
            neighbours: Vec::new(),
            component: "01".into(),
            digest: "00".into(),
            members: vec![
                member("01", "a\"b", Some(3), &["02"], &[]),
                member("02", "", None, &["01"], &["hub"]),
            ],
            links: vec![["01".into(), "02".into()]],
            apart: vec![ApartView {
                name: "far\u{1b}".into(),
                id: "03".into(),
            }],
            centrality: 5,
            records_apart: 0,
            phantoms: 0,
            stats: serde_json::Value::Null,
        }
    }

    #[test]
    fn a_graph_quotes_what_others_chose_and_shows_the_leader() {
        assert_eq!(
            dot(&view()),
            "graph consort {\n  \
             \"01\" [label=\"a\\\"b\"];\n  \
             \"02\" [label=\"02\\nleads hub\", style=filled, fillcolor=gold];\n  \
             \"03\" [label=\"far\u{fffd}\", style=dashed];\n  \
             \"01\" -- \"02\";\n}"
        );
    }

    #[test]
    fn tables_name_nodes_and_say_who_is_out_of_reach() {
        let text = text(&view());
        assert!(text.starts_with("no neighbours on wlan0\n\ncomponent 01 of 2 nodes\n"));
        assert!(
            text.contains("a\"b   3        0.67       02     \n".trim_end()),
            "{text}"
        );
        assert!(
            text.ends_with("members out of reach: far\u{fffd}"),
            "{text}"
        );
        assert_eq!(span(1234), "1s 230ms");
        assert_eq!(span(61_999), "1m 1s");
    }
}
