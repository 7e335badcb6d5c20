//! `consort members`.

use crate::Answer;
use crate::client::{AgentAddr, block_on};
use crate::output::{self, Format};
use consort_agent::api::MemberView;
use std::io::{self, Write};

/// List the members of the group, as an agent sees them
///
/// Members that failed stay listed for a day, or until `consort force-leave` removes them; members that left are shown
/// with --all. With --status, --tag or --name only members that match all of them are listed, and the exit code is 1 if
/// there is none.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    #[command(flatten)]
    agent: AgentAddr,
    /// How to print: a table, or a JSON array of objects
    #[arg(long, value_enum, default_value_t)]
    format: Format,
    /// Also show members that left
    #[arg(long, short, conflicts_with = "status")]
    all: bool,
    /// Only members with this status; repeat for more
    #[arg(long, value_parser = ["alive", "suspect", "failed", "left"])]
    status: Vec<String>,
    /// Only members with this tag, with this value if one is given; repeat for more
    #[arg(long = "tag", value_name = "KEY[=VALUE]")]
    tags: Vec<String>,
    /// Only members whose name matches; * stands for any text
    #[arg(long, value_name = "PATTERN")]
    name: Option<String>,
    /// Show how rarely each member fails, most reliable first
    #[arg(long)]
    reliability: bool,
}

pub(crate) fn run(args: &Args) -> anyhow::Result<Answer> {
    let mut members: Vec<MemberView> =
        block_on(async { Ok(args.agent.get("/v1/members").await?) })?;
    let all = members.len();
    members.retain(|m| args.wants(m));
    output::sort_members(&mut members);
    if args.reliability {
        let rank = |m: &MemberView| (m.reliability.bucket, m.reliability.per_week_milli);
        members.sort_by_key(rank);
    }
    output::line(&match args.format {
        Format::Text if args.reliability => output::reliability_table(&members),
        Format::Text => output::members_table(&members),
        Format::Json => serde_json::to_string_pretty(&members)?,
    })?;
    match members.is_empty() && all > 0 {
        true => {
            if args.format == Format::Text {
                let hint = match &args.name {
                    Some(name) if !name.contains('*') => "; * stands for any text in --name",
                    _ => "",
                };
                let _ = writeln!(io::stderr(), "none of {all} members matches{hint}");
            }
            Ok(Answer::No)
        }
        false => Ok(Answer::Yes),
    }
}

impl Args {
    fn wants(&self, member: &MemberView) -> bool {
        let tagged = |tag: &String| match tag.split_once('=') {
            Some((key, value)) => member.tags.get(key).is_some_and(|v| v == value),
            None => member.tags.contains_key(tag),
        };
        let shown = match self.status.is_empty() {
            true => self.all || member.status != "left",
            false => self.status.contains(&member.status),
        };
        shown
            && self.tags.iter().all(tagged)
            && self
                .name
                .as_ref()
                .is_none_or(|pattern| matches(pattern, &member.name))
    }
}

/// Whether a text matches a pattern in which `*` stands for any text.
fn matches(pattern: &str, text: &str) -> bool {
    let Some((head, mut rest)) = pattern.split_once('*') else {
        return pattern == text;
    };
    let Some(mut text) = text.strip_prefix(head) else {
        return false;
    };
    while let Some((part, next)) = rest.split_once('*') {
        let Some(at) = text.find(part) else {
            return false;
        };
        text = &text[at + part.len()..];
        rest = next;
    }
    text.ends_with(rest)
}

#[cfg(test)]
mod tests {
    use super::matches;

    #[test]
    fn patterns_match_whole_names() {
        for (pattern, text) in [
            ("", ""),
            ("*", "x"),
            ("*", ""),
            ("cam-*", "cam-7"),
            ("*-7", "cam-7"),
            ("c*m*7", "cam-m-77"),
        ] {
            assert!(matches(pattern, text), "{pattern} {text}");
        }
        for (pattern, text) in [
            ("", "x"),
            ("cam", "cam-7"),
            ("cam-*", "a-cam-7"),
            ("*7", "cam-78"),
            ("a*ab", "ab"),
        ] {
            assert!(!matches(pattern, text), "{pattern} {text}");
        }
    }
}
