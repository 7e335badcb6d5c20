//! `consort config`.

use crate::Answer;
use crate::output;
use anyhow::bail;
use clap::Subcommand;
use consort_agent::{Config, ConfigError, RawConfig, config_example, config_reference};
use std::io::{self, Write};
use std::path::PathBuf;

/// Print a configuration file to start with, or check one
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    /// Print a file with every setting, its meaning and its default, commented out
    #[arg(long)]
    example: bool,
    /// Print the reference of all settings in Markdown
    #[arg(long, conflicts_with = "example")]
    reference: bool,
    #[command(subcommand)]
    verb: Option<Verb>,
}

#[derive(Debug, Subcommand)]
enum Verb {
    /// Check a file; exit code 1 if an agent would refuse it
    Check {
        /// The file
        #[arg(value_name = "FILE")]
        file: PathBuf,
    },
}

const EXAMPLES: &str = "\
Examples:
  consort config --example > consort.toml
  consort config check consort.toml";

pub(crate) fn run(args: &Args) -> anyhow::Result<Answer> {
    match &args.verb {
        Some(Verb::Check { file }) => {
            let checked = RawConfig::read(file).and_then(Config::try_from);
            match checked {
                Ok(_) => {
                    output::line(&format!("{} is a valid configuration", file.display()))?;
                    Ok(Answer::Yes)
                }
                Err(error @ ConfigError::Read { .. }) => Err(error.into()),
                Err(error) => {
                    let _ = writeln!(io::stderr(), "{error}");
                    Ok(Answer::No)
                }
            }
        }
        None if args.example => print(&config_example()),
        None if args.reference => print(&config_reference()),
        None => bail!("say what to do: consort config --example, or consort config check FILE"),
    }
}

fn print(text: &str) -> anyhow::Result<Answer> {
    output::line(text.trim_end())?;
    Ok(Answer::Yes)
}
