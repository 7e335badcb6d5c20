//! Finished runs in a directory, so that a run that was ended continues where it stopped.
//!
//! `runs.jsonl` has a head with version, build and seed, and a line for each finished run, appended as it finishes.
//! `order.json` says what was asked for; `merge` reads both. A line that is cut off, because the program was killed
//! while it wrote, is skipped, and its run is made again.

use super::{create, file_error, json, write};
use crate::LabError;
use crate::plan::{Order, Unit, Units};
use serde::{Deserialize, Serialize};
use std::fs::{File, OpenOptions};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

const RUNS: &str = "runs.jsonl";
const ORDER: &str = "order.json";

/// What all runs of a file have in common.
#[derive(Debug, PartialEq, Serialize, Deserialize)]
struct Head {
    version: String,
    build: String,
    seed: u64,
}

/// A file of finished runs, open for more.
#[derive(Debug)]
pub struct Store {
    path: PathBuf,
    file: Mutex<File>,
}

impl Store {
    /// Opens the runs in `dir` or starts the file, and returns those that are there. `build` tells programs of the
    /// same version apart. Refuses runs of another program or seed, and leaves them as they are.
    pub fn open(dir: &Path, order: &Order, build: &str) -> Result<(Store, Units), LabError> {
        create(dir)?;
        let path = dir.join(RUNS);
        let error = |e: std::io::Error| file_error(&path, &e);
        let head = Head {
            version: order.version.clone(),
            build: build.into(),
            seed: order.seed,
        };
        let mut units = Units::default();
        let text = match std::fs::read_to_string(&path) {
            Ok(text) => text,
            Err(e) if e.kind() == std::io::ErrorKind::NotFound => String::new(),
            Err(e) => return Err(error(e)),
        };
        if !text.is_empty() {
            let (there, read) = parse(&path, &text)?;
            if there != head {
                let path = path.display().to_string();
                return Err(LabError::OtherRuns { path });
            }
            units = read;
        }
        write(&dir.join(ORDER), &json(order))?;
        let file = OpenOptions::new().create(true).append(true).open(&path);
        let mut file = file.map_err(error)?;
        if text.is_empty() {
            file.write_all(&line(&head)).map_err(error)?;
        } else if !text.ends_with('\n') {
            file.write_all(b"\n").map_err(error)?;
        }
        let file = Mutex::new(file);
        Ok((Store { path, file }, units))
    }

    /// Appends a finished run.
    pub fn add(&self, unit: &Unit) -> Result<(), LabError> {
        let line = line(unit);
        let mut file = self.file.lock().unwrap_or_else(PoisonError::into_inner);
        let written = file.write_all(&line);
        written.map_err(|e| file_error(&self.path, &e))
    }
}

/// The order and the finished runs of a directory, and the build that made them.
pub fn read_share(dir: &Path) -> Result<(Order, String, Units), LabError> {
    let path = dir.join(ORDER);
    let bytes = std::fs::read(&path).map_err(|e| file_error(&path, &e))?;
    let order: Order = serde_json::from_slice(&bytes).map_err(|e| file_error(&path, &e))?;
    let path = dir.join(RUNS);
    let text = std::fs::read_to_string(&path).map_err(|e| file_error(&path, &e))?;
    let (head, units) = parse(&path, &text)?;
    if (&head.version, head.seed) != (&order.version, order.seed) {
        return Err(LabError::OtherOrder);
    }
    Ok((order, head.build, units))
}

fn parse(path: &Path, text: &str) -> Result<(Head, Units), LabError> {
    let mut lines = text.lines();
    let head = serde_json::from_str(lines.next().unwrap_or_default());
    let head: Head = head.map_err(|e| file_error(path, &e))?;
    let mut units = Units::default();
    lines
        .filter_map(|line| serde_json::from_str::<Unit>(line).ok())
        .for_each(|unit| units.add(unit));
    Ok((head, units))
}

fn line(value: &impl Serialize) -> Vec<u8> {
    let mut line = json(value);
    line.push(b'\n');
    line
}
