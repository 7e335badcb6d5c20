//! What a node stores across restarts: its id and its last life, the terms of elections, the lock clock, lease records,
//! the member list with failed members, and addresses of members.
//!
//! The state is one small text file that ends with a checksum and is replaced atomically: a new file is written and
//! synced, then renamed, then the directory is synced. Only the owner can read the files, and only regular files are
//! read. A damaged file is reported and left in place, because it may be the only record of this node's identity.
//! Terms, the lock clock, lease records and the member list are stored in the same way in separate files. The addresses
//! of members are only hints, so unreadable lines of that file are skipped. A file lock keeps two processes from using
//! the same directory.

#[cfg(feature = "_fuzz")]
pub mod fuzz;
mod group;

pub(crate) use group::Known;

use crate::leases::{self, Leases};
use consort_proto::lease::Record;
use consort_proto::mutex::SEQ_MAX;
use consort_proto::reliability::{Counted, Report};
use consort_proto::{ElectionId, Incarnation, Life, NodeId, Term, hash_bytes};
use core::net::SocketAddr;
use std::collections::BTreeMap;
use std::fs::{self, File, OpenOptions, TryLockError};
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

const MAGIC: &str = "consort-state 1";
const TERMS_MAGIC: &str = "consort-terms 1";
const FENCE_MAGIC: &str = "consort-fence 1";

/// The number of elections whose terms are kept. Terms start from the time of day, so the smallest are the oldest.
const TERMS_MAX: usize = 1024;

/// The number of addresses kept, which is enough that one of them is likely to answer.
const MEMBERS_MAX: usize = 16;

/// The greatest number of bytes that are read from a file.
const FILE_MAX: u64 = 1 << 20;

/// The number of members whose failures are stored.
const REPORTS_MAX: usize = 4096;

/// The identity that a node stores.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Remembered {
    pub(crate) id: NodeId,
    pub(crate) life: Life,
}

/// Why the state directory cannot be used. The files in it are unchanged.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum StateError {
    /// Choose a directory this user may write to.
    #[error("cannot use {path} for state: {source}; choose a directory this user may write to")]
    Io {
        /// The file or directory.
        path: PathBuf,
        /// The error of the system.
        source: io::Error,
    },
    /// Restore the file from a backup, or remove it to start as if for the first time.
    #[error(
        "state file {path} is damaged; restore it, or remove it to start afresh (without a \
         configured id the node may then get another id)"
    )]
    Damaged {
        /// The file.
        path: PathBuf,
    },
    /// Restore the file from a backup, or remove it.
    #[error(
        "file of terms {path} is damaged; restore it, or remove it (a leader could then get a smaller \
         token than one before, should all members have lost theirs)"
    )]
    TermsDamaged {
        /// The file.
        path: PathBuf,
    },
    /// Restore the file from a backup, or remove it.
    #[error(
        "file of lock tokens {path} is damaged; restore it, or remove it (a holder could then get a \
         smaller token than one before, should all members have lost theirs and clocks gone back)"
    )]
    FenceDamaged {
        /// The file.
        path: PathBuf,
    },
    /// Restore the file from a backup. If there is none, take another name for the group.
    #[error(
        "file of lock tokens {path} is at the end of their range: no token is greater. Restore the file from a backup \
         if a damaged clock or disk caused it; otherwise use locks in a group with another name, and reset what \
         resources remember of tokens. Do not just remove it: tokens would start again from the wall clock, below those \
         that were used"
    )]
    FenceExhausted {
        /// The file.
        path: PathBuf,
    },
    /// Restore the file from a backup, or remove it together with the file `memory` beside it.
    #[error(
        "file of leases {path} is damaged; restore it, or remove it together with the file `memory` beside it (this \
         node then counts as another watcher)"
    )]
    LeasesDamaged {
        /// The file.
        path: PathBuf,
    },
    /// Restore the file from a backup, or remove it.
    #[error(
        "file of members {path} is damaged; restore it, or remove it (failed members are then not counted for \
         locks, unless other members remember them)"
    )]
    GroupDamaged {
        /// The file.
        path: PathBuf,
    },
    /// Remove the write permission of others, or choose another directory.
    #[error(
        "everybody may write to {path}, and so replace what is stored there; chmod 700 {path}, or choose another directory"
    )]
    OpenToAll {
        /// The directory.
        path: PathBuf,
    },
    /// Stop the other process, or give this one its own directory.
    #[error("{path} is in use by another process; stop it or choose another state directory")]
    InUse {
        /// The directory.
        path: PathBuf,
    },
}

/// An open state directory. Closing it releases the lock.
#[derive(Debug)]
pub(crate) struct StateDir {
    dir: PathBuf,
    terms: Mutex<Terms>,
    fence: Mutex<Option<u64>>,
    leases: Mutex<Leases>,
    memory: Option<Life>,
    group: Option<(u32, Vec<Known>)>,
    _lock: File,
}

/// The greatest term of each election.
type Terms = BTreeMap<ElectionId, Term>;

impl StateDir {
    /// Creates or opens `dir`, and reads its files.
    pub(crate) fn open(dir: &Path) -> Result<(StateDir, Option<Remembered>), StateError> {
        let failed = |path: &Path| {
            let path = path.to_owned();
            move |source| StateError::Io { path, source }
        };
        let mut make = fs::DirBuilder::new();
        owner_only_dir(&mut make);
        let is_new = !dir.exists();
        make.recursive(true).create(dir).map_err(failed(dir))?;
        if is_new && let Some(parent) = dir.parent().filter(|p| !p.as_os_str().is_empty()) {
            sync_dir(parent).map_err(failed(parent))?;
        }
        if is_open_to_all(dir).map_err(failed(dir))? {
            return Err(StateError::OpenToAll { path: dir.into() });
        }
        let lock_path = dir.join("lock");
        let lock = open_lock(&lock_path).map_err(failed(&lock_path))?;
        match lock.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => {
                return Err(StateError::InUse { path: dir.into() });
            }
            Err(TryLockError::Error(source)) => return Err(failed(&lock_path)(source)),
        }
        let path = dir.join("state");
        let remembered = match read(&path) {
            Ok(bytes) => Some(parse(&bytes).ok_or(StateError::Damaged { path })?),
            Err(e) if e.kind() == io::ErrorKind::NotFound => None,
            Err(source) => return Err(failed(&path)(source)),
        };
        let path = dir.join("terms");
        let terms = match read(&path) {
            Ok(bytes) => parse_terms(&bytes).ok_or(StateError::TermsDamaged { path })?,
            Err(e) if e.kind() == io::ErrorKind::NotFound => Terms::new(),
            Err(source) => return Err(failed(&path)(source)),
        };
        let path = dir.join("fence");
        let fence = match read(&path) {
            Ok(bytes) => match parse_fence(&bytes) {
                None => return Err(StateError::FenceDamaged { path }),
                Some(SEQ_MAX..) => return Err(StateError::FenceExhausted { path }),
                Some(seq) => Some(seq),
            },
            Err(e) if e.kind() == io::ErrorKind::NotFound => None,
            Err(source) => return Err(failed(&path)(source)),
        };
        let path = dir.join("leases");
        let leases = match read(&path) {
            Ok(bytes) => leases::parse(&bytes).ok_or(StateError::LeasesDamaged { path })?,
            Err(e) if e.kind() == io::ErrorKind::NotFound => Leases::new(),
            Err(source) => return Err(failed(&path)(source)),
        };
        let path = dir.join("memory");
        let memory = match read(&path) {
            Ok(bytes) => Some(leases::parse_memory(&bytes).ok_or(StateError::Damaged { path })?),
            Err(e) if e.kind() == io::ErrorKind::NotFound => None,
            Err(source) => return Err(failed(&path)(source)),
        };
        let path = dir.join("group");
        let group = match read(&path) {
            Ok(bytes) => Some(group::parse(&bytes).ok_or(StateError::GroupDamaged { path })?),
            Err(e) if e.kind() == io::ErrorKind::NotFound => None,
            Err(source) => return Err(failed(&path)(source)),
        };
        let state = StateDir {
            leases: Mutex::new(leases),
            memory,
            dir: dir.to_owned(),
            terms: Mutex::new(terms),
            fence: Mutex::new(fence),
            group,
            _lock: lock,
        };
        Ok((state, remembered))
    }

    /// Stores a term, unless a greater one is stored. It is on the disk when this returns.
    pub(crate) fn store_term(&self, election: ElectionId, term: Term) -> Result<(), StateError> {
        let mut terms = self.terms.lock().unwrap_or_else(PoisonError::into_inner);
        let mut raised = terms.clone();
        if raise(&mut raised, election, term) {
            self.replace("terms", &format_terms(&raised))?;
            *terms = raised;
        }
        Ok(())
    }

    /// The greatest stored term of an election.
    pub(crate) fn term(&self, election: ElectionId) -> Option<Term> {
        let terms = self.terms.lock().unwrap_or_else(PoisonError::into_inner);
        terms.get(&election).copied()
    }

    /// The life in which this directory was created, which is `life` if it is new. It is on the disk when this returns.
    pub(crate) fn memory(&self, life: Life) -> Result<Life, StateError> {
        match self.memory {
            Some(memory) => Ok(memory),
            None => {
                self.replace("memory", &leases::format_memory(life))?;
                Ok(life)
            }
        }
    }

    /// The lease records of the latest `most` elections.
    pub(crate) fn leases(&self, most: usize) -> Vec<(ElectionId, Record)> {
        let leases = self.leases.lock().unwrap_or_else(PoisonError::into_inner);
        let mut all: Vec<_> = leases.iter().map(|(&id, &record)| (id, record)).collect();
        all.sort_by_key(|(_, r)| core::cmp::Reverse(r.token.map(|t| t.term)));
        all.truncate(most);
        all
    }

    /// Stores the lease record of an election. It is on the disk when this returns.
    pub(crate) fn store_lease(&self, id: ElectionId, record: Record) -> Result<(), StateError> {
        let mut leases = self.leases.lock().unwrap_or_else(PoisonError::into_inner);
        leases::insert(&mut leases, id, record);
        self.replace("leases", &leases::format(&leases))
    }

    /// The stored upper limit of the lock clock.
    pub(crate) fn fence(&self) -> Option<u64> {
        *self.fence.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Stores an upper limit of the lock clock, unless a greater one is stored. It is on the disk when this returns.
    pub(crate) fn store_fence(&self, seq: u64) -> Result<(), StateError> {
        let mut fence = self.fence.lock().unwrap_or_else(PoisonError::into_inner);
        if fence.is_some_and(|stored| stored >= seq) {
            return Ok(());
        }
        self.replace("fence", &format_fence(seq))?;
        *fence = Some(seq);
        Ok(())
    }

    /// The members of the group with this tag that were stored before this process started.
    pub(crate) fn group(&self, tag: u32) -> &[Known] {
        match &self.group {
            Some((stored, members)) if *stored == tag => members,
            _ => &[],
        }
    }

    /// Replaces the member list.
    pub(crate) fn store_group(&self, tag: u32, members: &[Known]) -> Result<(), StateError> {
        self.replace("group", &group::format(tag, members))
    }

    /// The stored addresses of members.
    pub(crate) fn members(&self) -> Vec<SocketAddr> {
        parse_members(&self.hints("members"))
    }

    /// Replaces the addresses of members; only the first few are kept.
    pub(crate) fn store_members(&self, addrs: &[SocketAddr]) -> Result<(), StateError> {
        let lines = addrs.iter().take(MEMBERS_MAX).map(|a| format!("{a}\n"));
        self.replace("members", &lines.collect::<String>())
    }

    /// The stored record of members' failures. Unreadable lines are skipped: other members have their own observations.
    pub(crate) fn reliability(&self) -> Vec<Report> {
        parse_reports(&self.hints("reliability"))
    }

    /// Replaces the record of members' failures.
    pub(crate) fn store_reliability(&self, reports: &[Report]) -> Result<(), StateError> {
        let lines = reports.iter().take(REPORTS_MAX).map(format_report);
        self.replace("reliability", &lines.collect::<String>())
    }

    /// Replaces the identity. It is on the disk when this returns.
    pub(crate) fn store(&self, remembered: Remembered) -> Result<(), StateError> {
        self.replace("state", &format(remembered))
    }

    /// The text of a file that is optional for a node.
    fn hints(&self, name: &str) -> String {
        let bytes = read(&self.dir.join(name)).unwrap_or_default();
        String::from_utf8(bytes).unwrap_or_default()
    }

    fn replace(&self, name: &str, text: &str) -> Result<(), StateError> {
        let beside = self.dir.join(format!("{name}.new"));
        let replaced = replace(&self.dir, &beside, &self.dir.join(name), text);
        replaced.map_err(|source| StateError::Io {
            path: beside,
            source,
        })
    }
}

/// Replaces the text of a file at once: it is written beside, in the same directory, and renamed.
pub(crate) fn replace(dir: &Path, beside: &Path, path: &Path, text: &str) -> io::Result<()> {
    // A leftover of an interrupted write, or of another process, is removed instead of overwritten.
    match fs::remove_file(beside) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
        _ => {}
    }
    let mut options = OpenOptions::new();
    owner_only(options.write(true).create_new(true));
    let mut file = options.open(beside)?;
    file.write_all(text.as_bytes())?;
    file.sync_all()?;
    fs::rename(beside, path)?;
    sync_dir(dir)
}

/// Reads a whole regular file. Links are not followed, and pipes are not waited for.
fn read(path: &Path) -> io::Result<Vec<u8>> {
    let file = open_regular(OpenOptions::new().read(true), path)?;
    let mut bytes = Vec::new();
    file.take(FILE_MAX + 1).read_to_end(&mut bytes)?;
    match bytes.len() as u64 > FILE_MAX {
        true => Err(io::ErrorKind::FileTooLarge.into()),
        false => Ok(bytes),
    }
}

fn open_lock(path: &Path) -> io::Result<File> {
    let mut options = OpenOptions::new();
    owner_only(options.write(true).create(true).truncate(false));
    open_regular(&mut options, path)
}

/// Opens a path that must be a regular file itself, not a link to one. The open file is checked, so nobody can replace
/// it in between.
pub(crate) fn open_regular(options: &mut OpenOptions, path: &Path) -> io::Result<File> {
    #[cfg(unix)]
    {
        use rustix::fs::OFlags;
        // Opening a pipe for reading would otherwise wait for a writer.
        let flags = OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::NOCTTY;
        std::os::unix::fs::OpenOptionsExt::custom_flags(options, flags.bits().cast_signed());
    }
    let file = match options.open(path) {
        // The path is a link, or a pipe without a reader.
        #[cfg(unix)]
        Err(error) if is_no_file(&error) => return Err(not_regular()),
        opened => opened?,
    };
    match file.metadata()?.is_file() {
        true => Ok(file),
        false => Err(not_regular()),
    }
}

#[cfg(unix)]
fn is_no_file(error: &io::Error) -> bool {
    use rustix::io::Errno;
    let links = [Errno::LOOP, Errno::NXIO, Errno::MLINK];
    let code = error.raw_os_error();
    links.iter().any(|errno| code == Some(errno.raw_os_error()))
}

fn not_regular() -> io::Error {
    io::Error::new(
        io::ErrorKind::InvalidInput,
        "it is not a regular file; remove it",
    )
}

/// Whether everybody may create files in a directory.
fn is_open_to_all(dir: &Path) -> io::Result<bool> {
    let found = fs::metadata(dir)?;
    #[cfg(unix)]
    let open = std::os::unix::fs::MetadataExt::mode(&found) & 0o002 != 0;
    #[cfg(not(unix))]
    let open = !found.is_dir();
    Ok(open)
}

/// Makes sure that files created in or renamed into a directory are on the disk.
fn sync_dir(dir: &Path) -> io::Result<()> {
    File::open(dir)?.sync_all()
}

/// Restricts new files to their owner.
fn owner_only(options: &mut OpenOptions) {
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(options, 0o600);
    #[cfg(not(unix))]
    let _ = options;
}

/// Restricts new directories to their owner. An existing directory keeps its mode.
fn owner_only_dir(options: &mut fs::DirBuilder) {
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(options, 0o700);
    #[cfg(not(unix))]
    let _ = options;
}

fn format(Remembered { id, life }: Remembered) -> String {
    with_check(format!("{MAGIC}\nid {id}\nlife {}\n", life.0))
}

/// Raises a term, unless a greater one is known. If there is no room, the smallest terms are removed.
fn raise(terms: &mut Terms, election: ElectionId, term: Term) -> bool {
    let stored = terms.get(&election);
    if stored.is_some_and(|&stored| stored >= term) {
        return false;
    }
    terms.insert(election, term);
    while terms.len() > TERMS_MAX
        && let Some((&oldest, _)) = terms.iter().min_by_key(|&(_, &term)| term)
    {
        terms.remove(&oldest);
    }
    true
}

fn format_terms(terms: &Terms) -> String {
    let lines = terms
        .iter()
        .map(|(id, term)| format!("{id:?} {}\n", term.0));
    with_check(format!("{TERMS_MAGIC}\n{}", lines.collect::<String>()))
}

fn format_fence(seq: u64) -> String {
    with_check(format!("{FENCE_MAGIC}\nseq {seq}\n"))
}

fn parse_fence(bytes: &[u8]) -> Option<u64> {
    let text = str::from_utf8(bytes).ok()?;
    let rest = text.strip_prefix(FENCE_MAGIC)?.strip_prefix("\nseq ")?;
    let seq = rest.split_once('\n')?.0.parse().ok()?;
    (format_fence(seq) == text).then_some(seq)
}

pub(crate) fn with_check(body: String) -> String {
    let check = hash_bytes(body.as_bytes());
    format!("{body}check {check:016x}\n")
}

fn parse_terms(bytes: &[u8]) -> Option<Terms> {
    let text = str::from_utf8(bytes).ok()?;
    let body = text.strip_prefix(TERMS_MAGIC)?.strip_prefix('\n')?;
    let lines = body.lines().take_while(|line| !line.starts_with("check "));
    let terms = lines.map(|line| {
        let (id, term) = line.split_once(' ')?;
        let id = ElectionId(u32::from_str_radix(id, 16).ok()?);
        Some((id, Term(term.parse().ok()?)))
    });
    let terms: Terms = terms.collect::<Option<Terms>>()?;
    (format_terms(&terms) == text).then_some(terms)
}

fn parse(bytes: &[u8]) -> Option<Remembered> {
    let text = str::from_utf8(bytes).ok()?;
    let rest = text.strip_prefix(MAGIC)?.strip_prefix("\nid ")?;
    let (id, rest) = rest.split_once("\nlife ")?;
    let (life, _) = rest.split_once('\n')?;
    let remembered = Remembered {
        id: id.parse().ok()?,
        life: Life(life.parse().ok()?),
    };
    // There is only one valid encoding, so any difference means damage.
    (format(remembered) == text).then_some(remembered)
}

fn format_report(report: &Report) -> String {
    let Report {
        id,
        counted,
        failures,
        exposure_ms,
    } = report;
    let (life, incarnation) = (counted.life.0, counted.incarnation.0);
    format!("{id} {life} {incarnation} {failures} {exposure_ms}\n")
}

fn parse_members(text: &str) -> Vec<SocketAddr> {
    let addrs = text.lines().filter_map(|line| line.trim().parse().ok());
    addrs.take(MEMBERS_MAX).collect()
}

fn parse_reports(text: &str) -> Vec<Report> {
    let reports = text.lines().filter_map(parse_report);
    reports.take(REPORTS_MAX).collect()
}

fn parse_report(line: &str) -> Option<Report> {
    let mut words = line.split_whitespace();
    let id = words.next()?.parse().ok()?;
    let mut number = || words.next()?.parse::<u64>().ok();
    let report = Report {
        id,
        counted: Counted {
            life: Life(number()?),
            incarnation: Incarnation(number()?.try_into().ok()?),
        },
        failures: number()?,
        exposure_ms: number()?,
    };
    words.next().is_none().then_some(report)
}

#[cfg(test)]
mod tests {
    use super::*;

    const SOME: Remembered = Remembered {
        id: NodeId(0xc0ffee),
        life: Life(77),
    };

    #[test]
    fn what_is_stored_is_read_back_and_a_second_process_is_kept_out() {
        let dir = tempfile::tempdir().unwrap();
        let (state, nothing) = StateDir::open(dir.path()).unwrap();
        assert_eq!(nothing, None);
        state.store(SOME).unwrap();
        let second = StateDir::open(dir.path());
        assert!(matches!(second, Err(StateError::InUse { .. })));
        drop(state);
        assert_eq!(StateDir::open(dir.path()).unwrap().1, Some(SOME));
    }

    #[test]
    fn terms_never_go_back_and_damage_is_noticed() {
        let dir = tempfile::tempdir().unwrap();
        let (a, b) = (ElectionId(0xa), ElectionId(0xb));
        let state = StateDir::open(dir.path()).unwrap().0;
        assert_eq!(state.term(a), None);
        for (id, term) in [(a, 7), (b, 3), (a, 9), (a, 8)] {
            state.store_term(id, Term(term)).unwrap();
        }
        drop(state);
        let state = StateDir::open(dir.path()).unwrap().0;
        assert_eq!(
            (state.term(a), state.term(b)),
            (Some(Term(9)), Some(Term(3)))
        );
        drop(state);

        let path = dir.path().join("terms");
        let good = format_terms(&[(a, Term(9)), (b, Term(3))].into()).into_bytes();
        for n in 0..good.len() {
            let mut flipped = good.clone();
            flipped[n] ^= 1;
            for bytes in [&flipped[..], &good[..n]] {
                fs::write(&path, bytes).unwrap();
                let opened = StateDir::open(dir.path());
                assert!(matches!(opened, Err(StateError::TermsDamaged { .. })));
            }
        }
        fs::write(&path, &good).unwrap();
        assert_eq!(StateDir::open(dir.path()).unwrap().0.term(a), Some(Term(9)));
    }

    #[test]
    fn the_clock_of_tokens_never_goes_back_and_damage_is_noticed() {
        let dir = tempfile::tempdir().unwrap();
        let state = StateDir::open(dir.path()).unwrap().0;
        assert_eq!(state.fence(), None);
        for seq in [7, 1 << 40, 9] {
            state.store_fence(seq).unwrap();
        }
        drop(state);
        assert_eq!(StateDir::open(dir.path()).unwrap().0.fence(), Some(1 << 40));

        let path = dir.path().join("fence");
        let good = format_fence(1 << 40).into_bytes();
        for n in 0..good.len() {
            let mut flipped = good.clone();
            flipped[n] ^= 1;
            for bytes in [&flipped[..], &good[..n]] {
                fs::write(&path, bytes).unwrap();
                let opened = StateDir::open(dir.path());
                assert!(matches!(opened, Err(StateError::FenceDamaged { .. })));
            }
        }
    }

    #[test]
    fn a_clock_of_tokens_at_its_end_is_refused_with_a_remedy() {
        let dir = tempfile::tempdir().unwrap();
        drop(StateDir::open(dir.path()).unwrap());
        let path = dir.path().join("fence");
        for (seq, fits) in [(SEQ_MAX - 1, true), (SEQ_MAX, false), (u64::MAX, false)] {
            fs::write(&path, format_fence(seq)).unwrap();
            match StateDir::open(dir.path()) {
                Ok((state, _)) => assert!(fits && state.fence() == Some(seq)),
                Err(error) => {
                    assert!(!fits && error.to_string().contains("Do not just remove it"));
                }
            }
        }
    }

    #[test]
    fn what_could_not_be_stored_is_stored_when_it_can_be() {
        let dir = tempfile::tempdir().unwrap();
        let state = StateDir::open(dir.path()).unwrap().0;
        let a = ElectionId(0xa);
        let store = || {
            let terms = state.store_term(a, Term(9));
            let fence = state.store_fence(7);
            let life = state.store(SOME);
            (terms.is_ok(), fence.is_ok(), life.is_ok())
        };
        // A directory in its place: no file can be written there, not even by the superuser.
        for name in ["terms", "fence", "state"] {
            fs::create_dir(dir.path().join(format!("{name}.new"))).unwrap();
        }
        assert_eq!(store(), (false, false, false));
        assert_eq!(store(), (false, false, false), "not stored, still");
        for name in ["terms", "fence", "state"] {
            fs::remove_dir(dir.path().join(format!("{name}.new"))).unwrap();
        }
        assert_eq!(store(), (true, true, true));
        drop(state);
        let (state, remembered) = StateDir::open(dir.path()).unwrap();
        let stored = (state.term(a), state.fence(), remembered);
        assert_eq!(stored, (Some(Term(9)), Some(7), Some(SOME)));
    }

    #[test]
    #[cfg(unix)]
    fn only_regular_files_are_used_and_only_their_owner_may_read_them() {
        use std::os::unix::fs::{PermissionsExt, symlink};
        let outer = tempfile::tempdir().unwrap();
        let dir = outer.path().join("new");
        let state = StateDir::open(&dir).unwrap().0;
        state.store(SOME).unwrap();
        let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
        assert_eq!(mode(&dir), 0o700);
        for name in ["lock", "state"] {
            assert_eq!(mode(&dir.join(name)), 0o600, "{name}");
        }
        drop(state);
        let elsewhere = outer.path().join("elsewhere");
        for name in [
            "state", "terms", "fence", "leases", "memory", "group", "lock",
        ] {
            let (path, kept) = (dir.join(name), dir.join("kept"));
            let _ = fs::rename(&path, &kept);
            let made = std::process::Command::new("mkfifo").arg(&path).status();
            assert!(made.unwrap().success());
            assert!(StateDir::open(&dir).is_err(), "a pipe as {name}");
            fs::remove_file(&path).unwrap();
            fs::write(&elsewhere, "precious").unwrap();
            symlink(&elsewhere, &path).unwrap();
            assert!(StateDir::open(&dir).is_err(), "a link as {name}");
            assert_eq!(fs::read(&elsewhere).unwrap(), b"precious");
            fs::remove_file(&path).unwrap();
            let _ = fs::rename(&kept, &path);
        }
        // Hints are done without.
        let mut mkfifo = std::process::Command::new("mkfifo");
        let made = mkfifo.arg(dir.join("members")).status();
        assert!(made.unwrap().success());
        let (state, remembered) = StateDir::open(&dir).unwrap();
        assert_eq!((state.members(), remembered), (Vec::new(), Some(SOME)));
        // A link in the place of the file that is written beside is replaced, not followed.
        symlink(&elsewhere, dir.join("state.new")).unwrap();
        state.store(SOME).unwrap();
        assert_eq!(fs::read(&elsewhere).unwrap(), b"precious");
    }

    #[test]
    #[cfg(unix)]
    fn a_directory_that_everybody_may_write_to_is_refused() {
        use std::os::unix::fs::PermissionsExt;
        let dir = tempfile::tempdir().unwrap();
        for (mode, good) in [
            (0o700, true),
            (0o755, true),
            (0o777, false),
            (0o1777, false),
        ] {
            fs::set_permissions(dir.path(), fs::Permissions::from_mode(mode)).unwrap();
            let opened = StateDir::open(dir.path());
            assert_eq!(opened.is_ok(), good, "{mode:o}");
            if let Err(error) = opened {
                assert!(matches!(error, StateError::OpenToAll { .. }), "{error}");
                assert!(error.to_string().contains("chmod 700"), "{error}");
            }
        }
    }

    #[test]
    fn a_file_that_is_too_long_is_not_read_in_part() {
        let dir = tempfile::tempdir().unwrap();
        fs::write(dir.path().join("state"), vec![b'x'; FILE_MAX as usize + 1]).unwrap();
        let opened = StateDir::open(dir.path());
        assert!(matches!(opened, Err(StateError::Io { .. })));
    }

    #[test]
    fn the_oldest_terms_make_room() {
        let mut terms = Terms::new();
        for n in 0..=TERMS_MAX as u32 {
            assert!(raise(&mut terms, ElectionId(n), Term(500 + u64::from(n))));
        }
        assert_eq!(terms.len(), TERMS_MAX);
        assert!(!terms.contains_key(&ElectionId(0)) && terms.contains_key(&ElectionId(1)));
    }

    #[test]
    fn every_damaged_byte_is_noticed_and_the_file_left_alone() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("state");
        let good = format(SOME).into_bytes();
        let mut damaged: Vec<Vec<u8>> = (0..good.len()).map(|n| good[..n].to_vec()).collect();
        damaged.extend((0..good.len()).map(|n| {
            let mut bytes = good.clone();
            bytes[n] ^= 1;
            bytes
        }));
        for bytes in damaged {
            fs::write(&path, &bytes).unwrap();
            let opened = StateDir::open(dir.path());
            assert!(matches!(opened, Err(StateError::Damaged { .. })));
            assert_eq!(fs::read(&path).unwrap(), bytes);
        }
    }

    #[test]
    fn evidence_about_failures_comes_back_and_rubbish_in_it_is_skipped() {
        let dir = tempfile::tempdir().unwrap();
        let state = StateDir::open(dir.path()).unwrap().0;
        assert_eq!(state.reliability(), []);
        let report = |id| Report {
            id: NodeId(id),
            counted: Counted {
                life: Life(77),
                incarnation: Incarnation(2),
            },
            failures: 3 << 15,
            exposure_ms: 1_000_000,
        };
        state.store_reliability(&[report(1), report(2)]).unwrap();
        assert_eq!(state.reliability(), [report(1), report(2)]);
        let path = dir.path().join("reliability");
        let text = fs::read_to_string(&path).unwrap();
        let damaged = format!("x\n{text}3 1 2\n4 1 99999999999 1 1\n5 1 1 1 1 1\n");
        fs::write(&path, damaged).unwrap();
        assert_eq!(state.reliability(), [report(1), report(2)]);
    }
}
