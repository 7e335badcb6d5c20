//! Appends a line to a file that refuses stale lock tokens. Run it under a lock:
//!
//!     consort lock demo -- fenced-append journal.txt 'what happened'
//!
//! where `fenced-append` is this program, and the token arrives as `CONSORT_LOCK_TOKEN`. By hand:
//!
//!     export CONSORT_LOCK_TOKEN=00000000000000000000000000000007
//!     cargo run -p consort-fence --example file -- journal.txt 'what happened'
//!
//! Every line begins with the token of its writer, so the highest token is stored with the data: it is that of the
//! last line. The file is locked from the check to the end of the write, which makes them one step. Exit codes: 0
//! appended, 1 refused, 2 error.

use consort_fence::{Fence, Stale, Token};
use std::fs::{File, OpenOptions};
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::process::ExitCode;

/// Most bytes of a line, with its token and its newline. At most twice as many are read from the end of a file.
const LINE_MAX: usize = 4096;

fn main() -> ExitCode {
    let args: Vec<String> = std::env::args().skip(1).collect();
    match run(&args) {
        Ok(Ok(())) => ExitCode::SUCCESS,
        Ok(Err(stale)) => {
            eprintln!("refused: {stale}");
            ExitCode::from(1)
        }
        Err(error) => {
            eprintln!("error: {error}");
            ExitCode::from(2)
        }
    }
}

fn run(args: &[String]) -> Result<Result<(), Stale>, Box<dyn core::error::Error>> {
    let [path, words @ ..] = args else {
        return Err("usage: fenced-append FILE [TEXT]...".into());
    };
    let token = std::env::var("CONSORT_LOCK_TOKEN")
        .map_err(|_| "CONSORT_LOCK_TOKEN is not set: run this under `consort lock`")?;
    let token: Token = token
        .parse()
        .map_err(|error| format!("CONSORT_LOCK_TOKEN: {error}"))?;
    let line = format!("{token} {}\n", words.join(" "));
    if line.len() > LINE_MAX || line.matches('\n').count() > 1 {
        return Err(format!("the text must be one line of up to {LINE_MAX} bytes").into());
    }
    let mut file = OpenOptions::new()
        .read(true)
        .write(true)
        .create(true)
        .truncate(false)
        .open(path)?;
    file.lock()?; // until `file` is dropped
    append(&mut file, token, &line).map_err(|error| format!("{path}: {error}").into())
}

/// Checks and writes. The caller holds the lock of the file.
fn append(file: &mut File, token: Token, line: &str) -> io::Result<Result<(), Stale>> {
    let (highest, end) = last(file)?;
    if let Err(stale) = Fence::restore(highest).admit(token) {
        return Ok(Err(stale));
    }
    file.set_len(end)?; // a line that a crash truncated was never acknowledged
    file.seek(SeekFrom::Start(end))?;
    file.write_all(line.as_bytes())?;
    file.sync_data()?;
    Ok(Ok(()))
}

/// The token of the last complete line, and where that line ends.
fn last(file: &mut File) -> io::Result<(Token, u64)> {
    let len = file.metadata()?.len();
    if len == 0 {
        return Ok((Token::default(), 0));
    }
    let start = len.saturating_sub(2 * LINE_MAX as u64);
    file.seek(SeekFrom::Start(start))?;
    let mut tail = Vec::new();
    file.take(2 * LINE_MAX as u64).read_to_end(&mut tail)?;

    let end = tail.iter().rposition(|&b| b == b'\n').unwrap_or(0);
    let line = tail[..end].rsplit(|&b| b == b'\n').next();
    let token = line.and_then(|line| str::from_utf8(line.get(..32)?).ok()?.parse().ok());
    // The file was not written by this program, or a crash truncated its very first line: do not modify it.
    let foreign = || io::Error::new(io::ErrorKind::InvalidData, "has no line with a token");
    Ok((token.ok_or_else(foreign)?, start + end as u64 + 1))
}
