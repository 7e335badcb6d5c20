//! `consort keygen`.

use crate::{Answer, output};
use consort::key::GroupKey;
use std::path::PathBuf;

/// Create a group key, and write it to a new file that only its owner can read
///
/// Copy the file to every member over a channel that you trust, and start their agents with --key-file. Everybody who
/// has the key is a member. The fingerprint that is printed reveals nothing about the key: compare it between machines.
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Examples:\n  consort keygen group.key\n  consort agent --key-file group.key --bind 0.0.0.0:7717"
)]
pub(crate) struct Args {
    /// The new file; an existing file is not overwritten
    #[arg(value_name = "FILE")]
    file: PathBuf,
}

pub(crate) fn run(args: &Args) -> anyhow::Result<Answer> {
    let key = GroupKey::generate()?;
    key.write_new(&args.file)?;
    output::line(&format!(
        "{}: key {}",
        args.file.display(),
        key.fingerprint()
    ))?;
    Ok(Answer::Yes)
}
