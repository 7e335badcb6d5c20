//! Evicting members of an identified group: the operator's side of the list of revoked certificates.
//!
//! The agent that is asked may be the very one that an attacker has. So nothing that it says is signed unseen: its list
//! counts only with an operator's signature, what this operator has revoked before stays on the list, and serials do not
//! come from it.

use super::{How, PATIENCE};
use crate::Answer;
use crate::client::block_on;
use crate::output::{self, Format, safe};
use anyhow::{Context, bail};
use consort::NodeId;
use consort::key::{Certificate, PublicId, Revocations, SecretKey};
use consort_agent::api::{MemberView, RevocationsView, RevokeRequest, SelfView};
use std::fs;
use std::path::{Path, PathBuf};
use std::time::{SystemTime, UNIX_EPOCH};

/// Evict a member of an identified group: its certificate no longer counts, now and after restarts
///
/// The list of revoked certificates is signed here, with the operator's secret, and spreads from the agent to all members.
/// A device that is found again gets a new certificate.
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Examples:\n  consort keys revoke kitchen.cert --by operator.key\n  consort keys revoke kitchen --by operator.key"
)]
pub(super) struct Args {
    /// The file of the member's certificate, or its id, or its name as the agent knows it
    #[arg(value_name = "FILE|ID|NAME")]
    member: String,
    /// File of the operator's secret; what it has revoked is remembered beside it, with the ending `revoked`
    #[arg(long, value_name = "FILE")]
    by: PathBuf,
    /// Public key of another operator, whose list may be continued
    #[arg(long, value_name = "KEY")]
    operator: Vec<PublicId>,
    /// Id of a member to take off the list, because its certificates have ended
    #[arg(long, value_name = "ID")]
    forget: Vec<NodeId>,
    #[command(flatten)]
    how: How,
}

pub(super) fn run(args: &Args) -> anyhow::Result<Answer> {
    let agent = &args.how.agent;
    let operator = SecretKey::read(&args.by)?;
    let (members, this, told): (Vec<MemberView>, SelfView, RevocationsView) = block_on(async {
        anyhow::Ok((
            agent.get("/v1/members").await?,
            agent.get("/v1/self").await?,
            agent.get("/v1/revocations").await?,
        ))
    })?;
    let mut operators = vec![operator.public()];
    operators.extend(&args.operator);
    let known = |list: &str| Revocations::read(list, &operators, &this.group);
    let memory = args.by.with_extension("revoked");
    let mut list = match fs::read_to_string(&memory) {
        Ok(text) => known(&text).with_context(|| {
            let (path, group) = (memory.display(), safe(&this.group));
            format!("{path} is no list of this operator for the group {group}; use another copy of the operator's secret for each group")
        })?,
        Err(e) if e.kind() == std::io::ErrorKind::NotFound => Revocations::default(),
        Err(e) => bail!("cannot read {}: {e}; check its permissions", memory.display()),
    };
    if let Some(told) = &told.list {
        let told = known(told).context(
            "the agent's list is not signed by this operator; if it is another one's, name that one's public key (--operator)",
        )?;
        list = list.and(&told);
    }
    list.entries.retain(|(id, _)| !args.forget.contains(id));
    let (id, serial) = named(&args.member, &members)?;
    let signed = list.revoke(&operator, &this.group, id, serial)?;
    remember(&memory, &signed)
        .with_context(|| format!("cannot write {}; nothing is revoked", memory.display()))?;
    let request = RevokeRequest { list: signed };
    let path = "/v1/revocations";
    let view: RevocationsView =
        block_on(async { Ok(agent.post(path, &request, PATIENCE).await?) })?;
    match args.how.format {
        Format::Json => output::line(&serde_json::to_string_pretty(&view)?)?,
        Format::Text => output::line(&format!(
            "{} ({id}): certificates up to serial {serial} no longer count",
            safe(&args.member)
        ))?,
    }
    Ok(Answer::Yes)
}

fn remember(memory: &Path, signed: &str) -> std::io::Result<()> {
    let beside = memory.with_extension("revoked.new");
    fs::write(&beside, format!("{signed}\n"))?;
    fs::rename(beside, memory)
}

/// Who is to be evicted, and the serial up to which its certificates no longer count: all up to now, because serials are
/// times unless an operator has chosen others.
fn named(member: &str, members: &[MemberView]) -> anyhow::Result<(NodeId, u32)> {
    let now = SystemTime::now().duration_since(UNIX_EPOCH);
    let now = now.map_or(0, |t| t.as_secs() as u32);
    let file = Path::new(member);
    if file.is_file() {
        let cert = Certificate::read(file)?;
        return Ok((cert.id(), cert.serial().max(now)));
    }
    let mut found = members
        .iter()
        .filter(|m| m.name == member || m.id == member);
    let id = match (found.next(), found.next()) {
        (Some(found), None) => found.id.parse()?,
        (Some(_), Some(_)) => bail!(
            "several members are called {}; name one by its id",
            safe(member)
        ),
        (None, _) => member.parse().with_context(|| {
            format!(
                "no member is called {}, and it is no id and no file",
                safe(member)
            )
        })?,
    };
    Ok((id, now))
}
