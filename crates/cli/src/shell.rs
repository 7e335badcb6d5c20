//! `consort completions` and `consort man`, made from the definition of the command line.

use crate::{Answer, Cli};
use anyhow::Context;
use clap::CommandFactory;
use clap_complete::{Shell, generate};
use std::io::{self, Write};
use std::path::PathBuf;

/// Print completions for a shell
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Completions {
    /// The shell
    #[arg(value_enum)]
    shell: Shell,
}

const EXAMPLES: &str = "\
Examples:
  consort completions bash > /etc/bash_completion.d/consort
  consort completions zsh > ~/.zfunc/_consort
  consort completions fish > ~/.config/fish/completions/consort.fish";

/// Print the manual page, or write one for every command into a directory
#[derive(Debug, clap::Args)]
pub(crate) struct Man {
    /// Directory to write consort.1, consort-agent.1 and so on into; it is made if it does not exist
    #[arg(value_name = "DIR")]
    dir: Option<PathBuf>,
}

pub(crate) fn completions(args: &Completions) -> anyhow::Result<Answer> {
    let mut script = Vec::new();
    generate(args.shell, &mut Cli::command(), "consort", &mut script);
    io::stdout().lock().write_all(&script)?;
    Ok(Answer::Yes)
}

pub(crate) fn man(args: &Man) -> anyhow::Result<Answer> {
    match &args.dir {
        Some(dir) => std::fs::create_dir_all(dir)
            .and_then(|()| clap_mangen::generate_to(Cli::command(), dir))
            .with_context(|| format!("cannot write manual pages into {}", dir.display()))?,
        None => clap_mangen::Man::new(Cli::command()).render(&mut io::stdout().lock())?,
    }
    Ok(Answer::Yes)
}
