//! `consort watch`, and `--watch` and `--record` of the simulator.

use crate::{Answer, up};
use anyhow::{Context, bail};
use clap::Args as ClapArgs;
use consort_agent::watch::{Source, serve};
use consort_sim::recording::{self, BYTES_MAX, Recording};
use core::net::SocketAddr;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use tokio::net::TcpListener;
use tokio::runtime::Runtime;
use tokio::signal::unix::{SignalKind, signal};

/// How many recordings can be shown side by side.
const SIDES: usize = 2;

/// The largest file. This program never writes a larger recording, except for its last chunk.
const FILE_MAX: u64 = 2 * BYTES_MAX as u64;

const EXAMPLES: &str = "\
Examples:
  consort sim membership --protocol swim --record swim.rec
  consort sim membership --protocol medley --record medley.rec
  consort watch swim.rec medley.rec          both in one clock
  consort watch --open swim.rec              and opens a browser";

/// Show recorded simulations in the browser
///
/// Serves a page on this machine that plays one recording, or two side by side with a common clock, until Ctrl-C.
#[derive(Debug, ClapArgs)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    /// File that `consort sim ... --record FILE` wrote
    #[arg(required = true, num_args = 1..=2, value_name = "FILE")]
    files: Vec<PathBuf>,
    /// Address on which the page is served
    #[arg(long, value_name = "IP:PORT", default_value = "127.0.0.1:0")]
    http: SocketAddr,
    /// Open the page in a browser
    #[arg(long)]
    open: bool,
}

/// The options for recording and watching a simulation.
#[derive(Debug, ClapArgs)]
pub(crate) struct WatchArgs {
    /// Watch the (first) run in the browser, while it runs and afterwards, until Ctrl-C
    #[arg(long)]
    watch: bool,
    /// Write a recording of the (first) run, for `consort watch FILE`
    #[arg(long, value_name = "FILE")]
    record: Option<PathBuf>,
    /// Address on which --watch serves the page
    #[arg(
        long,
        value_name = "IP:PORT",
        default_value = "127.0.0.1:0",
        requires = "watch"
    )]
    watch_http: SocketAddr,
    /// Open the page of --watch in a browser
    #[arg(long, requires = "watch")]
    open: bool,
}

/// A recording that was read from a file.
struct File {
    title: String,
    bytes: Vec<u8>,
}

impl Source for File {
    fn title(&self) -> String {
        self.title.clone()
    }

    fn read(&self, from: usize) -> Option<Vec<u8>> {
        let to = self.bytes.len().min(from.saturating_add(256 << 10));
        let bytes = self.bytes.get(from..to)?;
        (!bytes.is_empty()).then(|| bytes.to_vec())
    }
}

/// A run that is being recorded, and possibly watched at the same time.
struct Run(Recording);

impl Source for Run {
    fn title(&self) -> String {
        self.0.title()
    }

    fn read(&self, from: usize) -> Option<Vec<u8>> {
        self.0.read(from)
    }
}

/// Runs `consort watch`.
pub(crate) fn run(args: &Args) -> anyhow::Result<Answer> {
    let files = args.files.iter().map(|path| open(path));
    let files: Vec<Arc<dyn Source>> = files.collect::<anyhow::Result<_>>()?;
    let theater = Theater::open(args.http, files)?;
    theater.stay(|| theater.announce(args.open))?;
    Ok(Answer::Yes)
}

fn open(path: &Path) -> anyhow::Result<Arc<dyn Source>> {
    let name = path.display();
    let read = || -> std::io::Result<Result<Vec<u8>, u64>> {
        let size = std::fs::metadata(path)?.len();
        match size > FILE_MAX {
            true => Ok(Err(size)),
            false => std::fs::read(path).map(Ok),
        }
    };
    let bytes = match read().with_context(|| format!("cannot read {name}"))? {
        Ok(bytes) => bytes,
        Err(size) => bail!("{name} has {size} bytes; recordings have at most {FILE_MAX}"),
    };
    recording::read(&bytes).with_context(|| format!("{name}"))?;
    let title = path.file_stem().unwrap_or(path.as_os_str());
    let title = title.to_string_lossy().into_owned();
    Ok(Arc::new(File { title, bytes }))
}

/// A page that is being served.
struct Theater {
    runtime: Runtime,
    page: String,
}

impl Theater {
    fn open(http: SocketAddr, sources: Vec<Arc<dyn Source>>) -> anyhow::Result<Theater> {
        let runtime = Runtime::new().context("cannot start threads")?;
        let listener = runtime
            .block_on(TcpListener::bind(http))
            .with_context(|| format!("cannot listen on {http}; choose another address"))?;
        let page = format!("http://{}/", listener.local_addr()?);
        runtime.spawn(serve(listener, sources));
        Ok(Theater { runtime, page })
    }

    /// Prints the page's address, and opens it in a browser if requested.
    fn announce(&self, browser: bool) -> anyhow::Result<()> {
        let page = &self.page;
        writeln!(std::io::stderr(), "Watch at {page}")?;
        if browser && !up::browse(page) {
            writeln!(
                std::io::stderr(),
                "no browser could be opened; open {page} by hand"
            )?;
        }
        Ok(())
    }

    /// Serves until Ctrl-C or SIGTERM. Calls `ready` once these signals end the program cleanly.
    fn stay(&self, ready: impl FnOnce() -> anyhow::Result<()>) -> anyhow::Result<()> {
        self.runtime.block_on(async {
            let mut terminated = signal(SignalKind::terminate())?;
            let mut interrupted = signal(SignalKind::interrupt())?;
            ready()?;
            writeln!(std::io::stderr(), "Serving {} until Ctrl-C", self.page)?;
            tokio::select! {
                _ = interrupted.recv() => {}
                _ = terminated.recv() => {}
            }
            Ok(())
        })
    }
}

/// The recordings of a simulation, and whether they are watched.
pub(crate) struct Watching {
    recordings: Vec<Recording>,
    files: Vec<PathBuf>,
    theater: Option<Theater>,
}

impl WatchArgs {
    /// Whether anything is recorded.
    pub(crate) fn wanted(&self) -> bool {
        self.watch || self.record.is_some()
    }

    /// Starts a recording for each title, or for the first two. `option` chooses others.
    pub(crate) fn begin(&self, titles: &[String], option: &str) -> anyhow::Result<Watching> {
        let mut watching = Watching {
            recordings: Vec::new(),
            files: Vec::new(),
            theater: None,
        };
        if !self.wanted() {
            return Ok(watching);
        }
        let (shown, rest) = titles.split_at(titles.len().min(SIDES));
        if !rest.is_empty() {
            let shown = shown.join(" and ");
            writeln!(
                std::io::stderr(),
                "shown: {shown}; choose one or two others with {option}"
            )?;
        }
        let titles = shown;
        let command = command();
        let recording = |title: &String| Recording::new(title, &command, BYTES_MAX);
        watching.recordings = titles.iter().map(recording).collect();
        if let Some(path) = &self.record {
            // Problems are detected before the work is done, not after it.
            let mut files = titles.iter().map(|title| named(path, title, titles.len()));
            watching.files = files.by_ref().collect();
            for file in &watching.files {
                std::fs::write(file, b"")
                    .with_context(|| format!("cannot write {}", file.display()))?;
            }
        }
        if self.watch {
            let sources = watching.recordings.iter();
            let sources = sources.map(|r| Arc::new(Run(r.clone())) as Arc<dyn Source>);
            let theater = Theater::open(self.watch_http, sources.collect())?;
            theater.announce(self.open)?;
            watching.theater = Some(theater);
        }
        Ok(watching)
    }
}

impl Watching {
    /// The recordings, in the order of their titles.
    pub(crate) fn recordings(&self) -> &[Recording] {
        &self.recordings
    }

    /// The recording of a simulation, if there is one.
    pub(crate) fn recording(&self, number: usize) -> Option<&Recording> {
        self.recordings.get(number)
    }

    /// Ends the recordings: writes files, and serves the page until Ctrl-C.
    pub(crate) fn finish(self) -> anyhow::Result<()> {
        for (recording, path) in self.recordings.iter().zip(&self.files) {
            // A simulation that failed early still has a recording.
            recording.end(recording.now(), "");
            let (bytes, name) = (recording.bytes(), path.display());
            std::fs::write(path, &bytes).with_context(|| format!("cannot write {name}"))?;
            let kilobytes = bytes.len().div_ceil(1000);
            writeln!(
                std::io::stderr(),
                "recorded {name} ({kilobytes} kB); consort watch {name}"
            )?;
        }
        match self.theater {
            Some(theater) => theater.stay(|| Ok(())),
            None => Ok(()),
        }
    }
}

/// The file of one of several recordings: `run.rec` becomes `run-cel.rec`.
fn named(path: &Path, title: &str, count: usize) -> PathBuf {
    if count < 2 {
        return path.to_owned();
    }
    let word = |c: char| {
        if c.is_ascii_alphanumeric() || c == '.' {
            c
        } else {
            '-'
        }
    };
    // Of `CEL (cel-1)` the name on the command line.
    let inner = title
        .split_once('(')
        .and_then(|(_, rest)| rest.strip_suffix(')'));
    let title: String = inner.unwrap_or(title).chars().map(word).collect();
    let stem = path.file_stem().unwrap_or_default().to_string_lossy();
    let extension = path.extension().map(|e| e.to_string_lossy());
    let extension = extension.map_or(String::new(), |e| format!(".{e}"));
    path.with_file_name(format!("{stem}-{title}{extension}"))
}

/// The command line without the options for watching.
fn command() -> String {
    let mut words = vec!["consort".to_owned()];
    let mut args = std::env::args().skip(1);
    while let Some(arg) = args.next() {
        match arg.as_str() {
            "--watch" | "--open" => {}
            "--record" | "--watch-http" => {
                args.next();
            }
            arg if arg.starts_with("--record=") || arg.starts_with("--watch-http=") => {}
            arg => words.push(arg.to_owned()),
        }
    }
    words.join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn two_recordings_have_files_of_their_own() {
        let path = Path::new("/tmp/run.rec");
        assert_eq!(named(path, "cel-1", 1), path);
        assert_eq!(named(path, "cel-0.5", 2), Path::new("/tmp/run-cel-0.5.rec"));
        assert_eq!(named(Path::new("run"), "a/b", 2), Path::new("run-a-b"));
        let titled = named(path, "CEL (cel-0.5)", 2);
        assert_eq!(titled, Path::new("/tmp/run-cel-0.5.rec"));
    }

    #[test]
    fn other_files_are_refused_with_a_reason() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("notes.txt");
        std::fs::write(&path, "hello, this is text").unwrap();
        let error = format!("{:#}", open(&path).err().unwrap());
        assert!(
            error.contains("notes.txt") && error.contains("not a recording"),
            "{error}"
        );
        let error = format!("{:#}", open(&directory.path().join("none")).err().unwrap());
        assert!(error.contains("cannot read"), "{error}");
    }
}
