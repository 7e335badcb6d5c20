//! Reading, for tests and to look at a file before it is shown.

use super::tape::{CHUNK, CUT_SHORT, DATAGRAMS_LEFT_OUT, END};
use super::{Change, Claim, HostIs, Kind, MAGIC, Opinion, State, tag};

/// Why bytes are not a recording.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ReadError {
    /// Another kind of file.
    #[error("this is not a recording of a simulation")]
    Magic,
    /// A recording of another version of this program.
    #[error("a recording of version {0} of the format; this program reads version {ours}", ours = MAGIC[7])]
    Version(u8),
    /// Something in it does not make sense.
    #[error("the recording is damaged at byte {0}")]
    Damaged(usize),
}

/// A recording that was read to its end.
#[derive(Clone, Debug, Default)]
pub struct Recorded {
    /// The header, JSON.
    pub header: String,
    /// The number of chunks.
    pub chunks: usize,
    /// The number of datagrams and broadcasts.
    pub datagrams: u64,
    /// All notes, with their times in microseconds.
    pub notes: Vec<(u64, String)>,
    /// When it ended, in microseconds; `None` when it breaks off.
    pub end_us: Option<u64>,
    /// Whether datagrams were left out towards the end, and whether it was cut short.
    pub limited: (bool, bool),
    /// How the run ended.
    pub outcome: String,
    /// The state at the end.
    pub state: State,
}

struct Reader<'a> {
    all: &'a [u8],
    at: usize,
}

impl<'a> Reader<'a> {
    fn damaged<T>(&self) -> Result<T, ReadError> {
        Err(ReadError::Damaged(self.at))
    }

    fn byte(&mut self) -> Result<u8, ReadError> {
        match self.all.get(self.at) {
            Some(&byte) => {
                self.at += 1;
                Ok(byte)
            }
            None => self.damaged(),
        }
    }

    fn number(&mut self) -> Result<u64, ReadError> {
        let mut value = 0;
        for shift in (0..63).step_by(7) {
            let byte = self.byte()?;
            value |= u64::from(byte & 0x7f) << shift;
            if byte < 0x80 {
                return Ok(value);
            }
        }
        self.damaged()
    }

    /// A number below `bound`.
    fn below(&mut self, bound: usize) -> Result<u32, ReadError> {
        match self.number()? {
            n if n < bound as u64 => Ok(n as u32),
            _ => self.damaged(),
        }
    }

    fn slice(&mut self, len: u64) -> Result<&'a [u8], ReadError> {
        let end = usize::try_from(len)
            .ok()
            .and_then(|n| self.at.checked_add(n));
        match end.and_then(|end| self.all.get(self.at..end)) {
            Some(bytes) => {
                self.at += bytes.len();
                Ok(bytes)
            }
            None => self.damaged(),
        }
    }

    fn text(&mut self) -> Result<&'a str, ReadError> {
        let len = self.number()?;
        let bytes = self.slice(len)?;
        core::str::from_utf8(bytes).or_else(|_| self.damaged())
    }

    fn pick<T: Copy>(&mut self, all: &[T]) -> Result<T, ReadError> {
        Ok(all[self.below(all.len())? as usize])
    }
}

const HOSTS: [HostIs; 4] = [HostIs::Up, HostIs::Paused, HostIs::Crashed, HostIs::Left];
const OPINIONS: [Opinion; 4] = [
    Opinion::None,
    Opinion::Suspect,
    Opinion::Failed,
    Opinion::Left,
];
const CLAIMS: [Claim; 3] = [Claim::None, Claim::Waits, Claim::Holds];
const KINDS: [Kind; 8] = [
    Kind::Ping,
    Kind::Ack,
    Kind::Indirect,
    Kind::List,
    Kind::Election,
    Kind::Lock,
    Kind::Hello,
    Kind::Other,
];
/// Elections and locks of one recording.
const NAMES_MAX: usize = 1024;

fn keyframe(r: &mut Reader<'_>) -> Result<State, ReadError> {
    let nodes = r.number()?;
    let hosts = r.slice(nodes)?;
    let n = hosts.len();
    let mut state = State::new(n);
    for (host, &is) in state.hosts.iter_mut().zip(hosts) {
        *host = match HOSTS.get(usize::from(is)) {
            Some(&is) => is,
            None => return r.damaged(),
        };
    }
    let mut key: u64 = 0;
    for _ in 0..r.number()? {
        let gap = r.number()?;
        key = match key.checked_add(gap) {
            Some(key) if key < nodes * nodes => key,
            _ => return r.damaged(),
        };
        let is = r.pick(&OPINIONS)?;
        let pair = ((key / nodes) as u32, (key % nodes) as u32);
        state.opinions.insert(pair, is);
    }
    let sides = r.number()?;
    if sides > 0 {
        state.split = Some(r.slice(sides)?.to_vec());
    }
    for _ in 0..r.number()? {
        let node = r.below(n)?;
        state.impaired.insert(node, r.below(8)? as u8);
    }
    for _ in 0..r.number()? {
        let key = (r.below(NAMES_MAX)?, r.below(n)?);
        state.follows.insert(key, r.below(n)?);
    }
    for _ in 0..r.number()? {
        state.acts.insert((r.below(NAMES_MAX)?, r.below(n)?));
    }
    for _ in 0..r.number()? {
        let key = (r.below(NAMES_MAX)?, r.below(n)?);
        state.locks.insert(key, r.pick(&CLAIMS)?);
    }
    for _ in 0..r.number()? {
        state.links.insert((r.below(n)?, r.below(n)?));
    }
    for _ in 0..r.number()? {
        let node = r.below(n)?;
        state.ought.insert(node, r.below(n)?);
    }
    Ok(state)
}

fn change<'a>(r: &mut Reader<'a>, n: usize) -> Result<Change<'a>, ReadError> {
    let tag = r.byte()?;
    Ok(match tag {
        tag::HOST => Change::Host(r.below(n)?, r.pick(&HOSTS)?),
        tag::RESTART => Change::Restart(r.below(n)?),
        tag::OPINION => Change::Opinion(r.below(n)?, r.below(n)?, r.pick(&OPINIONS)?),
        tag::SPLIT => {
            let sides = r.number()?;
            Change::Split(r.slice(sides)?)
        }
        tag::IMPAIRED => Change::Impaired(r.below(n)?, r.below(8)? as u8),
        tag::HEAL => Change::Heal,
        tag::FOLLOWS => {
            let (election, node) = (r.below(NAMES_MAX)?, r.below(n)?);
            Change::Follows(election, node, r.below(n + 1)?.checked_sub(1))
        }
        tag::ACTS => Change::Acts(r.below(NAMES_MAX)?, r.below(n)?, r.below(2)? == 1),
        tag::LOCK => Change::Lock(r.below(NAMES_MAX)?, r.below(n)?, r.pick(&CLAIMS)?),
        tag::LINK => Change::Link(r.below(n)?, r.below(n)?, r.below(2)? == 1),
        tag::OUGHT => Change::Ought(r.below(n)?, r.below(n)?),
        tag::NOTE => Change::Note(r.text()?),
        tag::DATAGRAM..tag::LOST => {
            let kind = KINDS[usize::from(tag - tag::DATAGRAM)];
            Change::Datagram(r.below(n)?, r.below(n)?, Some(r.number()?), kind)
        }
        tag::LOST..tag::BROADCAST => {
            let kind = KINDS[usize::from(tag - tag::LOST)];
            Change::Datagram(r.below(n)?, r.below(n)?, None, kind)
        }
        tag::BROADCAST..40 => {
            Change::Broadcast(r.below(n)?, KINDS[usize::from(tag - tag::BROADCAST)])
        }
        _ => return r.damaged(),
    })
}

/// Reads a recording. One that breaks off is read up to there; keyframes must be what the changes before lead to.
pub fn read(bytes: &[u8]) -> Result<Recorded, ReadError> {
    if bytes.len() < MAGIC.len() || bytes[..7] != MAGIC[..7] {
        return Err(ReadError::Magic);
    }
    if bytes[7] != MAGIC[7] {
        return Err(ReadError::Version(bytes[7]));
    }
    let mut r = Reader { all: bytes, at: 8 };
    let mut recorded = Recorded {
        header: r.text()?.into(),
        ..Recorded::default()
    };
    while r.at < bytes.len() {
        let (kind, len) = (r.byte()?, r.number()?);
        let Ok(body) = r.slice(len) else {
            // It was still being written.
            return Ok(recorded);
        };
        let mut r = Reader {
            all: &bytes[..r.at],
            at: r.at - body.len(),
        };
        match kind {
            CHUNK => chunk(&mut r, &mut recorded)?,
            END => {
                recorded.end_us = Some(r.number()?);
                let flags = r.number()?;
                recorded.limited = (flags & DATAGRAMS_LEFT_OUT != 0, flags & CUT_SHORT != 0);
                recorded.outcome = r.text()?.into();
            }
            _ => return r.damaged(),
        }
    }
    Ok(recorded)
}

fn chunk(r: &mut Reader<'_>, recorded: &mut Recorded) -> Result<(), ReadError> {
    let mut now = r.number()?;
    let state = keyframe(r)?;
    if recorded.chunks > 0 && state != recorded.state {
        return r.damaged();
    }
    recorded.state = state;
    recorded.chunks += 1;
    let n = recorded.state.hosts.len();
    while r.at < r.all.len() {
        now = now.saturating_add(r.number()?);
        let change = change(r, n)?;
        match change {
            Change::Datagram(..) | Change::Broadcast(..) => recorded.datagrams += 1,
            Change::Note(text) => recorded.notes.push((now, text.into())),
            _ => {}
        }
        recorded.state.apply(&change);
    }
    Ok(())
}
