//! As much of HTTP as the agent's interface takes, over a Unix socket, with a limit for every wait.

use anyhow::{Context, bail};
use consort_client::EventParser;
use core::time::Duration;
use serde_json::Value;
use std::io::{ErrorKind, Read, Write};
use std::os::unix::net::UnixStream;
use std::path::Path;

fn open(socket: &Path, method: &str, path: &str, body: &str) -> anyhow::Result<UnixStream> {
    let mut stream = UnixStream::connect(socket)?;
    stream.set_write_timeout(Some(Duration::from_millis(200)))?;
    let head = format!(
        "{method} {path} HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\
         content-type: application/json\r\ncontent-length: {}\r\n\r\n{body}",
        body.len()
    );
    stream.write_all(head.as_bytes())?;
    Ok(stream)
}

/// Sends a request and reads the answer, which has to come within `patience`.
pub fn call(
    socket: &Path,
    method: &str,
    path: &str,
    body: &str,
    patience: Duration,
) -> anyhow::Result<Value> {
    let mut stream = open(socket, method, path, body)?;
    let start = std::time::Instant::now();
    let mut bytes = Vec::new();
    let mut part = [0; 4096];
    loop {
        let left = patience.saturating_sub(start.elapsed());
        if left.is_zero() {
            bail!("no answer in time");
        }
        stream.set_read_timeout(Some(left))?;
        match stream.read(&mut part)? {
            0 => break,
            n => bytes.extend_from_slice(&part[..n]),
        }
    }
    let text = String::from_utf8_lossy(&bytes);
    let (head, body) = text.split_once("\r\n\r\n").context("no answer")?;
    if !head.starts_with("HTTP/1.1 200") {
        bail!("{body}");
    }
    Ok(serde_json::from_str(body)?)
}

/// Events that an agent sends for as long as the stream is open.
#[derive(Debug)]
pub struct Events {
    stream: UnixStream,
    parser: EventParser,
}

/// What a look at the stream gave.
#[derive(Debug)]
pub enum Next {
    /// An event.
    Event(Value),
    /// Nothing yet.
    Silence,
    /// The agent is gone, or ended the stream.
    End,
}

impl Events {
    /// Sends a request that is answered by events.
    pub fn post(socket: &Path, path: &str, body: &str) -> anyhow::Result<Events> {
        let stream = open(socket, "POST", path, body)?;
        let parser = EventParser::default();
        Ok(Events { stream, parser })
    }

    /// Waits for an event for at most `patience`.
    pub fn next(&mut self, patience: Duration) -> Next {
        let start = std::time::Instant::now();
        loop {
            // The head of the answer and the lengths of chunks are no fields of events, so they are skipped.
            loop {
                match self.parser.next_data() {
                    Ok(Some(json)) => {
                        if let Ok(value) = serde_json::from_str(&json) {
                            return Next::Event(value);
                        }
                    }
                    Ok(None) => break,
                    Err(_) => return Next::End,
                }
            }
            let left = patience.saturating_sub(start.elapsed());
            if left.is_zero() {
                return Next::Silence;
            }
            let mut part = [0; 4096];
            if self.stream.set_read_timeout(Some(left)).is_err() {
                return Next::End;
            }
            match self.stream.read(&mut part) {
                Ok(0) => return Next::End,
                Ok(n) => self.parser.push(&part[..n]),
                Err(e) if matches!(e.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut) => {
                    return Next::Silence;
                }
                Err(e) if e.kind() == ErrorKind::Interrupted => {}
                Err(_) => return Next::End,
            }
        }
    }
}
