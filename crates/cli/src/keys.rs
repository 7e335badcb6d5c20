//! `consort keys`.

mod revoke;

use crate::Answer;
use crate::client::{AgentAddr, block_on, path};
use crate::output::{self, Format, safe};
use clap::Subcommand;
use consort_agent::api::{InstallKeyRequest, KeyView, KeysView, MemberKeysView};
use core::time::Duration;
use std::io::{self, Write};
use std::path::PathBuf;
use std::time::Instant;

/// Show or change the keys of a running group
///
/// A group has up to four keys: one seals what members say, all of them open it. A change at one agent reaches the
/// others within seconds, and each stores it in its key file before using it. Nobody who still has a key of the group is
/// cut off: a member that was away returns under its old key and is given the new ones. Removing a key locks out
/// whoever has no other one.
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
    /// How to print: text, or JSON
    #[arg(long, value_enum, default_value_t)]
    format: Format,
}

#[derive(Debug, Subcommand)]
enum Change {
    /// List the keys by their fingerprints, and which members have them; exit code 1 if one has not
    List {
        #[command(flatten)]
        how: How,
    },
    /// Replace the key that seals: make a new one, install it, wait until all have it, use it
    ///
    /// The old key still opens, for members that are away. Remove it when all have returned, or at once (--remove) if a
    /// machine that has it is not to be let in again.
    Rotate {
        /// How long to wait for the members, as in 30s
        #[arg(long, value_name = "TIME", default_value = "60s", value_parser = humantime::parse_duration)]
        timeout: Duration,
        /// Remove the old key as well: failed members that have only that one are locked out
        #[arg(long)]
        remove: bool,
        #[command(flatten)]
        how: How,
    },
    /// Give all members one more key, which opens and does not seal yet
    Install {
        /// A key file, whose first key is taken [default: the agent makes a new key]
        #[arg(value_name = "FILE")]
        file: Option<PathBuf>,
        #[command(flatten)]
        how: How,
    },
    /// Have all members seal with a key that they have
    Use {
        /// As `consort keys` shows it
        fingerprint: String,
        /// Also if members that are alive may not have the newest keys
        #[arg(long)]
        force: bool,
        #[command(flatten)]
        how: How,
    },
    /// Evict a member of an identified group: its certificate no longer counts, now and after restarts
    Revoke(revoke::Args),
    /// Take a key from all members: whoever has no other one is locked out
    #[command(visible_alias = "rm")]
    Remove {
        /// As `consort keys` shows it
        fingerprint: String,
        /// Also if members, alive or failed, may not have the newest keys
        #[arg(long)]
        force: bool,
        #[command(flatten)]
        how: How,
    },
}

const EXAMPLES: &str = "\
Examples:
  consort keys
  consort keys rotate
  consort keys remove 1f0c2a77";

/// The agent asks all members, which takes up to 3 s, and longer in slow profiles.
const PATIENCE: Duration = Duration::from_secs(1800);

/// Time between two looks at who has the keys.
const LOOK_EVERY: Duration = Duration::from_millis(500);

pub(crate) fn run(args: &Args) -> anyhow::Result<Answer> {
    match &args.change {
        None => list(&args.how),
        Some(Change::List { how }) => list(how),
        Some(Change::Rotate {
            timeout,
            remove,
            how,
        }) => rotate(how, *timeout, *remove),
        Some(Change::Install { file, how }) => {
            let key = match file {
                Some(path) => Some(consort::key::GroupKey::read_first(path)?.to_hex()),
                None => None,
            };
            done(how, &install(how, key)?, "installed")
        }
        Some(Change::Use {
            fingerprint,
            force,
            how,
        }) => done(how, &use_key(how, fingerprint, *force)?, "seals"),
        Some(Change::Revoke(args)) => revoke::run(args),
        Some(Change::Remove {
            fingerprint,
            force,
            how,
        }) => done(how, &remove_key(how, fingerprint, *force)?, "removed"),
    }
}

fn keys(how: &How) -> anyhow::Result<KeysView> {
    block_on(async { Ok(how.agent.get_within("/v1/keys", PATIENCE).await?) })
}

fn install(how: &How, key: Option<String>) -> anyhow::Result<KeyView> {
    let request = InstallKeyRequest { key };
    block_on(async { Ok(how.agent.post("/v1/keys", &request, PATIENCE).await?) })
}

fn use_key(how: &How, fingerprint: &str, force: bool) -> anyhow::Result<KeyView> {
    let path = format!("{}?force={force}", path("keys", fingerprint, "/use"));
    block_on(async { Ok(how.agent.post(&path, &(), PATIENCE).await?) })
}

fn remove_key(how: &How, fingerprint: &str, force: bool) -> anyhow::Result<KeyView> {
    let path = format!("{}?force={force}", path("keys", fingerprint, ""));
    block_on(async { Ok(how.agent.delete(&path, PATIENCE).await?) })
}

fn done(how: &How, key: &KeyView, what: &str) -> anyhow::Result<Answer> {
    match how.format {
        Format::Json => output::line(&serde_json::to_string_pretty(key)?)?,
        Format::Text => output::line(&format!("key {}: {what}", safe(&key.fingerprint)))?,
    }
    Ok(Answer::Yes)
}

fn list(how: &How) -> anyhow::Result<Answer> {
    let view = keys(how)?;
    match how.format {
        Format::Json => output::line(&serde_json::to_string_pretty(&view)?)?,
        Format::Text => output::line(&text(&view))?,
    }
    match view.members.iter().all(|m| m.state == "current") {
        true => Ok(Answer::Yes),
        false => Ok(Answer::No),
    }
}

fn text(view: &KeysView) -> String {
    let mut lines = Vec::new();
    for key in &view.keys {
        let use_ = if key.seals { "seals" } else { "opens" };
        lines.push(format!("key {} {use_}", safe(&key.fingerprint)));
    }
    if !view.members.is_empty() {
        let rows: Vec<[String; 3]> = view.members.iter().map(row).collect();
        lines.push(String::new());
        lines.push(output::table(["NAME", "KEYS", "HEARD UNDER"], &rows));
    }
    if view.migrating {
        lines.push(String::new());
        lines.push(
            "members that do not seal yet are heard as well (security.migrate_until)".to_owned(),
        );
    }
    lines.join("\n")
}

fn row(member: &MemberKeysView) -> [String; 3] {
    let state = match (member.state.as_str(), member.version) {
        ("other", Some(version)) => format!("version {version}"),
        (state, _) => safe(state),
    };
    let under = member.heard_under.as_deref().unwrap_or("-");
    [name(member), state, safe(under)]
}

fn name(member: &MemberKeysView) -> String {
    match member.name.as_str() {
        "" => safe(&member.id),
        name => safe(name),
    }
}

fn rotate(how: &How, timeout: Duration, remove: bool) -> anyhow::Result<Answer> {
    let before = keys(how)?;
    let old = before.keys.iter().find(|key| key.seals);
    let old = old.map(|key| key.fingerprint.clone()).unwrap_or_default();
    let new = install(how, None)?.fingerprint;
    let new = safe(&new);
    say(&format!(
        "key {new} is installed; waiting until all members have it"
    ));
    if !all_have_it(how, timeout)? {
        say(&format!(
            "it does not seal yet. Wait for these members, or remove those that are gone (consort force-leave), then: \
             consort keys use {new}"
        ));
        return Ok(Answer::No);
    }
    use_key(how, &new, false)?;
    let everywhere = all_have_it(how, timeout)?;
    output::line(&format!("key {new} seals"))?;
    let failed: Vec<String> = keys(how)?
        .members
        .iter()
        .filter(|m| m.state == "failed")
        .map(name)
        .collect();
    if remove && everywhere {
        remove_key(how, &old, true)?;
        output::line(&format!("key {} is removed", safe(&old)))?;
        if !failed.is_empty() {
            say(&format!(
                "locked out until they get the new key: {}",
                failed.join(", ")
            ));
        }
        return Ok(Answer::Yes);
    }
    say(&format!(
        "key {} still opens, for members that are away{}; when all have returned: consort keys remove {}",
        safe(&old),
        match failed.is_empty() {
            true => String::new(),
            false => format!(" ({})", failed.join(", ")),
        },
        safe(&old)
    ));
    match everywhere {
        true => Ok(Answer::Yes),
        false => Ok(Answer::No),
    }
}

/// Waits until all members that are alive have the same keys as the agent, and says which have not.
fn all_have_it(how: &How, timeout: Duration) -> anyhow::Result<bool> {
    let start = Instant::now();
    loop {
        let view = keys(how)?;
        let alive = || view.members.iter().filter(|m| m.state != "failed");
        let late: Vec<String> = alive().filter(|m| m.state != "current").map(name).collect();
        if late.is_empty() {
            return Ok(true);
        }
        if start.elapsed() >= timeout {
            let all = alive().count();
            say(&format!(
                "{} of {all} members have it; not {}",
                all - late.len(),
                late.join(", ")
            ));
            return Ok(false);
        }
        std::thread::sleep(LOOK_EVERY);
    }
}

fn say(text: &str) {
    let _ = writeln!(io::stderr(), "{text}");
}
