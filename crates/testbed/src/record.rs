//! Lines of the work log: what guarded commands and HTTP holders did, with times.
//!
//! Each line is one `write` to a file opened for appending, so lines of several processes do not mix.

use crate::clock::Ns;
use core::fmt;
use std::fs::{File, OpenOptions};
use std::io::{self, Write};
use std::path::Path;

/// A process of a client.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct RunId {
    /// Number of the client.
    pub client: usize,
    /// Counts the processes that were started for the client.
    pub number: u32,
}

impl fmt::Display for RunId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "c{}.{}", self.client, self.number)
    }
}

impl core::str::FromStr for RunId {
    type Err = ();

    fn from_str(text: &str) -> Result<RunId, ()> {
        let (client, number) = text
            .strip_prefix('c')
            .and_then(|t| t.split_once('.'))
            .ok_or(())?;
        Ok(RunId {
            client: client.parse().map_err(drop)?,
            number: number.parse().map_err(drop)?,
        })
    }
}

/// Identifies one command: process id and start time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct WorkId {
    /// The process; that of the testbed for an HTTP holder.
    pub pid: u32,
    /// The time at which the command began.
    pub enter: Ns,
}

/// What a command logs when it begins.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Entry {
    /// The client's process that the command belongs to.
    pub run: RunId,
    /// Name of the lock or election.
    pub resource: String,
    /// Fencing token, empty if none was given.
    pub token: String,
    /// Slot of a semaphore, if the command was given one.
    pub slot: Option<u16>,
}

/// Event in the life of a command.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Verb {
    /// It began.
    Enter(Entry),
    /// It was working.
    Tick,
    /// It was told to stop.
    Term,
    /// It ended on its own.
    Exit,
    /// A process that it started in a separate session was working.
    Kin,
}

/// One line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Record {
    /// Time of the event.
    pub at: Ns,
    /// The command.
    pub work: WorkId,
    /// The event.
    pub verb: Verb,
}

impl fmt::Display for Record {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let WorkId { pid, enter } = self.work;
        let word = match &self.verb {
            Verb::Enter(_) => "enter",
            Verb::Tick => "tick",
            Verb::Term => "term",
            Verb::Exit => "exit",
            Verb::Kin => "kin",
        };
        write!(f, "{} {pid} {enter} {word}", self.at)?;
        if let Verb::Enter(entry) = &self.verb {
            let token = if entry.token.is_empty() {
                "-"
            } else {
                &entry.token
            };
            let slot = entry.slot.map_or("-".to_owned(), |s| s.to_string());
            write!(f, " {} {} {token} {slot}", entry.run, entry.resource)?;
        }
        Ok(())
    }
}

/// Parses a line that [`Record`]'s `Display` wrote.
pub fn parse(line: &str) -> Option<Record> {
    let mut words = line.split(' ');
    let at = words.next()?.parse().ok()?;
    let pid = words.next()?.parse().ok()?;
    let enter = words.next()?.parse().ok()?;
    let verb = match words.next()? {
        "enter" => Verb::Enter(Entry {
            run: words.next()?.parse().ok()?,
            resource: words.next()?.to_owned(),
            token: words.next().map(|t| t.trim_matches('-').to_owned())?,
            slot: match words.next()? {
                "-" => None,
                slot => Some(slot.parse().ok()?),
            },
        }),
        "tick" => Verb::Tick,
        "term" => Verb::Term,
        "exit" => Verb::Exit,
        "kin" => Verb::Kin,
        _ => return None,
    };
    let work = WorkId { pid, enter };
    words.next().is_none().then_some(Record { at, work, verb })
}

/// Writer that appends to the log.
#[derive(Debug)]
pub struct Writer(File);

impl Writer {
    /// Opens the log and creates it if necessary.
    pub fn open(path: &Path) -> io::Result<Writer> {
        let file = OpenOptions::new().create(true).append(true).open(path)?;
        Ok(Writer(file))
    }

    /// Appends a line.
    pub fn write(&mut self, record: &Record) -> io::Result<()> {
        self.0.write_all(format!("{record}\n").as_bytes())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_is_read() {
        let work = WorkId { pid: 77, enter: 5 };
        let entry = |slot, token: &str| Entry {
            run: RunId {
                client: 3,
                number: 14,
            },
            resource: "db".to_owned(),
            token: token.to_owned(),
            slot,
        };
        for verb in [
            Verb::Enter(entry(Some(1), "00ff")),
            Verb::Enter(entry(None, "")),
            Verb::Enter(entry(None, "12-0000ab-3")),
            Verb::Tick,
            Verb::Term,
            Verb::Exit,
            Verb::Kin,
        ] {
            let record = Record { at: 9, work, verb };
            assert_eq!(parse(&record.to_string()), Some(record));
        }
        for bad in [
            "",
            "1 2",
            "1 2 3 dance",
            "1 2 3 tick 4",
            "1 2 3 enter c1.1 db - x",
        ] {
            assert_eq!(parse(bad), None, "{bad}");
        }
    }
}
