//! Writing: a recording that grows while others read it.

use super::{Change, MAGIC, State, put, put_text};
use crate::topology::Layout;
use alloc::sync::Arc;
use consort_proto::Instant;
use serde::Serialize;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// Most bytes of a recording. Three quarters of them may be datagrams; then these are left out, and at the limit the
/// recording ends. What was left out is said at its end.
pub const BYTES_MAX: usize = 64 << 20;

/// A chunk is closed after this time, or this many bytes, but not before it is as long as its keyframe.
const CHUNK_US: u64 = 5_000_000;
const CHUNK_BYTES: usize = 128 << 10;
/// Longest note.
const NOTE_MAX: usize = 2_000;

/// Blocks of a recording.
pub(super) const CHUNK: u8 = 1;
pub(super) const END: u8 = 2;
/// Flags of the end.
pub(super) const DATAGRAMS_LEFT_OUT: u64 = 1;
pub(super) const CUT_SHORT: u64 = 2;

/// What does not change during a run.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Stage {
    /// The experiment, such as `membership`.
    pub experiment: &'static str,
    /// The number of nodes.
    pub nodes: usize,
    /// Radio range in metres.
    pub range: f64,
    /// Everybody hears everybody: positions mean nothing.
    pub full: bool,
    /// By node: where it is when (seconds, metres, metres); straight lines in between.
    pub ways: Vec<Vec<[f64; 3]>>,
    /// Nodes that hear each other, where that does not change.
    pub links: Vec<[u32; 2]>,
    /// Whether links change: then keyframes have them.
    pub moving: bool,
    /// Names of the elections.
    pub elections: Vec<String>,
    /// Names of the locks.
    pub locks: Vec<String>,
    /// When the run is to end, in microseconds; 0 when that depends on the run.
    pub until_us: u64,
}

impl Stage {
    /// Nodes that stay where they are.
    pub fn of_layout(experiment: &'static str, layout: &Layout) -> Stage {
        let place = |p: &crate::topology::Point| vec![[0.0, round(p.x), round(p.y)]];
        let links = (0..layout.len()).flat_map(|a| {
            let beyond = layout.neighbours(a).iter();
            beyond.map(move |&(b, _)| [a as u32, b])
        });
        Stage {
            experiment,
            nodes: layout.len(),
            range: layout.range,
            full: layout.full,
            ways: layout.points.iter().map(place).collect(),
            links: links.filter(|[a, b]| a < b).collect(),
            ..Stage::default()
        }
    }
}

/// Centimetres are enough to draw.
pub(super) fn round(metres: f64) -> f64 {
    (metres * 100.0).round() / 100.0
}

#[derive(Serialize)]
struct Header<'a> {
    title: &'a str,
    command: &'a str,
    /// As text: scripts have no numbers of 64 bits.
    seed: String,
    version: &'static str,
    #[serde(flatten)]
    stage: &'a Stage,
}

/// A recording. Clones are the same one: the run writes while others read.
#[derive(Clone, Debug)]
pub struct Recording(Arc<Mutex<Tape>>);

#[derive(Debug)]
struct Tape {
    title: String,
    command: String,
    bytes: Vec<u8>,
    limit: usize,
    state: State,
    /// The open chunk: its keyframe and records.
    chunk: Vec<u8>,
    keyframe: usize,
    chunk_at: Instant,
    now: Instant,
    flags: u64,
    begun: bool,
    done: bool,
}

impl Recording {
    /// An empty recording with a title, the command that makes it again, and a limit in bytes.
    pub fn new(title: &str, command: &str, limit: usize) -> Recording {
        Recording(Arc::new(Mutex::new(Tape {
            title: title.into(),
            command: command.into(),
            bytes: Vec::new(),
            limit,
            state: State::default(),
            chunk: Vec::new(),
            keyframe: 0,
            chunk_at: Instant::ZERO,
            now: Instant::ZERO,
            flags: 0,
            begun: false,
            done: false,
        })))
    }

    fn tape(&self) -> MutexGuard<'_, Tape> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Writes the header. Only the first call counts.
    pub fn begin(&self, stage: &Stage, seed: u64) {
        let tape = &mut *self.tape();
        if core::mem::replace(&mut tape.begun, true) {
            return;
        }
        let header = Header {
            title: &tape.title,
            command: &tape.command,
            seed: seed.to_string(),
            version: env!("CARGO_PKG_VERSION"),
            stage,
        };
        let header = serde_json::to_string(&header).expect("numbers and texts are JSON");
        tape.bytes.extend_from_slice(&MAGIC);
        put_text(&mut tape.bytes, &header);
        tape.state = State::new(stage.nodes);
        tape.open();
    }

    /// Writes a change, unless it is none. Times must not go back.
    pub fn push(&self, at: Instant, change: &Change<'_>) {
        self.tape().push(at, change);
    }

    /// Ends the recording with a line on how the run ended. Only the first call counts.
    pub fn end(&self, at: Instant, outcome: &str) {
        self.tape().end(at, outcome);
    }

    /// When the last change was, or the end.
    pub fn now(&self) -> Instant {
        self.tape().now
    }

    /// Its title.
    pub fn title(&self) -> String {
        self.tape().title.clone()
    }

    /// What was written after the first `from` bytes, up to 256 kB; `None` at the end of a recording that ended.
    pub fn read(&self, from: usize) -> Option<Vec<u8>> {
        let tape = self.tape();
        let to = tape.bytes.len().min(from.saturating_add(256 << 10));
        match tape.bytes.get(from..to) {
            Some(bytes) if !bytes.is_empty() => Some(bytes.to_vec()),
            _ if tape.done => None,
            _ => Some(Vec::new()),
        }
    }

    /// All of it.
    pub fn bytes(&self) -> Vec<u8> {
        self.tape().bytes.clone()
    }
}

impl Tape {
    fn push(&mut self, at: Instant, change: &Change<'_>) {
        if !self.begun || self.done || self.flags & CUT_SHORT != 0 {
            return;
        }
        if matches!(change, Change::Datagram(..) | Change::Broadcast(..))
            && self.bytes.len() >= self.limit / 4 * 3
        {
            self.flags |= DATAGRAMS_LEFT_OUT;
            return;
        }
        self.pass(at);
        if !self.state.apply(change) {
            return;
        }
        put(&mut self.chunk, at.since(self.now).as_micros() as u64);
        self.now = at;
        match *change {
            Change::Note(text) => Change::Note(cut(text)).encode(&mut self.chunk),
            _ => change.encode(&mut self.chunk),
        }
        if self.bytes.len() + self.chunk.len() >= self.limit {
            self.flags |= CUT_SHORT;
        }
    }

    /// Closes the chunk when it is long enough.
    fn pass(&mut self, at: Instant) {
        let records = self.chunk.len() - self.keyframe;
        let long = at.since(self.chunk_at).as_micros() as u64 >= CHUNK_US || records >= CHUNK_BYTES;
        if long && records >= self.keyframe {
            self.close();
            self.now = at;
            self.open();
        }
    }

    fn open(&mut self) {
        self.chunk.clear();
        self.chunk_at = self.now;
        put(&mut self.chunk, self.now.as_micros());
        self.state.encode(&mut self.chunk);
        self.keyframe = self.chunk.len();
    }

    fn close(&mut self) {
        self.bytes.push(CHUNK);
        put(&mut self.bytes, self.chunk.len() as u64);
        self.bytes.extend_from_slice(&self.chunk);
    }

    fn end(&mut self, at: Instant, outcome: &str) {
        if !self.begun || core::mem::replace(&mut self.done, true) {
            self.done = true;
            return;
        }
        self.close();
        self.now = self.now.max(at);
        let mut body = Vec::new();
        put(&mut body, self.now.as_micros());
        put(&mut body, self.flags);
        put_text(&mut body, cut(outcome));
        self.bytes.push(END);
        put(&mut self.bytes, body.len() as u64);
        self.bytes.extend_from_slice(&body);
    }
}

/// The first part of a long text.
fn cut(text: &str) -> &str {
    let end = (0..=NOTE_MAX.min(text.len())).rev();
    let end = end.into_iter().find(|&n| text.is_char_boundary(n));
    &text[..end.unwrap_or(0)]
}
