//! The group as lines: the output at the start, and typed orders.

use super::group::ELECTION;
use super::{Args, Live, browse};
use crate::output;
use consort_agent::HttpAddr;
use std::io::{self, BufRead, IsTerminal, Read};
use tokio::sync::mpsc;

/// The longest order that is read, in bytes.
const LINE_MAX: u64 = 4096;

impl Live {
    pub(super) fn greet(&mut self, args: &Args) -> anyhow::Result<()> {
        let addresses = self.group.addresses();
        let first = addresses[0].clone();
        let period = humantime::format_duration(args.period);
        for remark in self.group.remarks.drain(..) {
            output::line(&format!("note: {remark}"))?;
        }
        let n = addresses.len();
        output::line(&format!(
            "A live group of {n} on loopback, probing every {period}\n"
        ))?;
        output::line(&output::table(["NODE", "UDP", "HTTP"], &addresses))?;
        if !first[2].starts_with("unix:") {
            let page = format!("http://{}/", first[2]);
            output::line(&format!("\nDashboard:  {page}"))?;
            if args.open && !browse(&page) {
                output::line("            (no browser could be opened; open it by hand)")?;
            }
        }
        let http = match args.http.is_none() && first[2] == HttpAddr::default().to_string() {
            true => String::new(),
            false => format!(" --http {}", first[2]),
        };
        let group = match &args.group {
            Some(group) => format!(" --group {group}"),
            None => String::new(),
        };
        output::line(&format!(
            "\nIn another terminal:  consort members{http}\n                      \
             consort leader {ELECTION}{http}\n                      \
             consort events{http}\n                      \
             consort lock demo{http} -- sleep 5\n                      \
             consort agent --name mine --bind 127.0.0.1:0 --http 127.0.0.1:0 \
             --period {period}{group} --join {}",
            first[1]
        ))?;
        let how = match io::stdin().is_terminal() {
            true => "Type and press Enter",
            false => "Commands on standard input",
        };
        output::line(&format!(
            "{how}:  k 3 kill node-3 · p 3 pause · r 3 revive · i 3 isolate · x 4 5 partition · \
             heal · a add · h help · q quit\n"
        ))?;
        Ok(())
    }
}

/// The lines of standard input, from a separate thread. The end of the input has no further effect.
pub(super) fn typed_lines() -> mpsc::Receiver<String> {
    let (lines, lines_out) = mpsc::channel(16);
    std::thread::spawn(move || {
        let mut input = io::stdin().lock();
        while let Ok(Some(line)) = next_line(&mut input) {
            if lines.blocking_send(line).is_err() {
                break;
            }
        }
    });
    lines_out
}

/// The next line; `None` at the end. Text without a line end is not a line.
fn next_line(input: &mut impl BufRead) -> io::Result<Option<String>> {
    let mut line = String::new();
    let read = input.take(LINE_MAX).read_line(&mut line)?;
    if read as u64 == LINE_MAX && !line.ends_with('\n') {
        return Err(io::ErrorKind::InvalidData.into());
    }
    Ok((read > 0).then(|| line.trim_end_matches(['\n', '\r']).to_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn orders_are_lines_and_what_has_no_end_is_none() {
        let mut input = io::Cursor::new("kill 1\r\n\nlast");
        let mut lines = Vec::new();
        while let Some(line) = next_line(&mut input).unwrap() {
            lines.push(line);
        }
        assert_eq!(lines, ["kill 1", "", "last"]);
        let longest = "x".repeat(LINE_MAX as usize - 1);
        let mut input = io::Cursor::new(format!("{longest}\nnext\n"));
        assert_eq!(next_line(&mut input).unwrap(), Some(longest));
        assert_eq!(next_line(&mut input).unwrap().as_deref(), Some("next"));
        let mut endless = io::BufReader::new(io::repeat(0));
        assert!(next_line(&mut endless).is_err());
    }
}
