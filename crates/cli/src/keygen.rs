//! `consort keygen`.

use crate::{Answer, output};
use consort::key::{GroupKey, SecretKey};
use std::path::PathBuf;

/// Create a group key, or a secret of a member or operator, and write it to a new file that only its owner can read
///
/// Without options it is a group key: copy the file to every member over a channel that you trust, and start their agents with
/// --key-file. Everybody who has the key is a member, unless the group is identified: then a member also needs a secret of its
/// own (--identity), which never leaves its machine, and a certificate for it (consort certify). What is printed reveals
/// nothing about the secret: the fingerprint of a group key, to compare between machines, or the public half of a secret.
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Examples:\n  consort keygen group.key\n  consort keygen --operator operator.key\n  consort keygen --identity kitchen.key"
)]
pub(crate) struct Args {
    /// The secret of an operator, who makes certificates; the public key that is printed goes to every member
    #[arg(long, conflicts_with = "identity")]
    operator: bool,
    /// The secret of a member of an identified group
    #[arg(long)]
    identity: bool,
    /// The new file; an existing file is not overwritten
    #[arg(value_name = "FILE")]
    file: PathBuf,
}

pub(crate) fn run(args: &Args) -> anyhow::Result<Answer> {
    let file = args.file.display();
    anyhow::ensure!(
        !args.file.exists(),
        "{file} exists and is left as it is: whoever uses its key would be locked out; name another file, or give a running \
         group a new key with `consort keys rotate`"
    );
    let whose = match (args.operator, args.identity) {
        (true, _) => "an operator",
        (_, true) => "a member",
        _ => {
            let key = GroupKey::generate()?;
            key.write_new(&args.file)?;
            output::line(&format!("{file}: key {}", key.fingerprint()))?;
            return Ok(Answer::Yes);
        }
    };
    let secret = SecretKey::generate()?;
    secret.write_new(&args.file, whose)?;
    output::line(&secret.public().to_string())?;
    Ok(Answer::Yes)
}
