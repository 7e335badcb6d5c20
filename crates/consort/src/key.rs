//! Keys of a group, identities of members, and the files that hold them.

pub use crate::error::{ChangeKeysError, RevokeError};
pub use crate::identity::{
    Certificate, CertificateRequest, Identity, IssueError, ParsePublicIdError, PublicId, Role,
    SecretKey,
};
pub use crate::keys::{KeyState, KeysStatus, MemberKeys};
pub use crate::revocation::{Revocations, TooManyRevoked};

use crate::keys::fingerprint;
use crate::state;
use consort_proto::seal::{KEYS_MAX, KeyRing, Secret};
use std::fs::{self, File, OpenOptions};
use std::io::{self, Read, Write};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

/// Most bytes of a key file that are read.
const FILE_MAX: u64 = 16 * 1024;

/// The secret that all members of a group have. Whoever has it is a member.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GroupKey(pub(crate) Secret);

/// Why there are no keys.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum KeyError {
    /// Check the path.
    #[error("cannot read the key file {path}: {source}")]
    Read {
        /// The file.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// Others could read the key: take the permission from them, and replace the key if they may have.
    #[error("the key file {path} can be read by others (mode {mode:o}); chmod 600 {path}")]
    Exposed {
        /// The file.
        path: PathBuf,
        /// Its permissions.
        mode: u32,
    },
    /// Make a key with `consort keygen`; passphrases are refused, because they can be guessed.
    #[error("{path}, line {line}: a key is 64 hexadecimal digits; make one with consort keygen")]
    NotAKey {
        /// The file.
        path: PathBuf,
        /// Counted from 1.
        line: usize,
    },
    /// Correct the line, or remove it if no command has changed the keys.
    #[error("{path}, line {line}: write `version` and a number")]
    Version {
        /// The file.
        path: PathBuf,
        /// Counted from 1.
        line: usize,
    },
    /// Leave the keys that are in use, the one that seals first.
    #[error("the key file {path} has {count} keys; 1 to {KEYS_MAX} are allowed")]
    Count {
        /// The file.
        path: PathBuf,
        /// How many there are.
        count: usize,
    },
    /// Name the file that `consort certify` has made for this member.
    #[error("{path} holds no certificate; make one with consort certify")]
    NotACertificate {
        /// The file.
        path: PathBuf,
    },
    /// Restore the file from a backup, or remove it: the node learns the list from others.
    #[error("{path} holds no list of revoked certificates; restore it, or remove it")]
    NotRevocations {
        /// The file.
        path: PathBuf,
    },
    /// For a new key choose another name, because a key that is in use must not be lost; to change keys while an agent runs,
    /// let it write to the file and its directory.
    #[error("cannot write the key file {path}: {source}")]
    Write {
        /// The file.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// The system gives no random numbers.
    #[error("the system gives no random numbers: {0}")]
    Randomness(getrandom::Error),
}

impl GroupKey {
    /// A new key, from the system's randomness.
    pub fn generate() -> Result<GroupKey, KeyError> {
        let mut secret = Secret::default();
        getrandom::fill(&mut secret.0).map_err(KeyError::Randomness)?;
        Ok(GroupKey(secret))
    }

    /// Names the key to people, as 8 hexadecimal digits. It tells nothing about the key.
    pub fn fingerprint(&self) -> String {
        fingerprint(self.0.name())
    }

    /// Parses 64 hexadecimal digits.
    pub fn parse(text: &str) -> Option<GroupKey> {
        if text.len() != 64 || !text.bytes().all(|b| b.is_ascii_hexdigit()) {
            return None;
        }
        let mut secret = Secret::default();
        for (byte, at) in secret.0.iter_mut().zip((0..64).step_by(2)) {
            *byte = u8::from_str_radix(&text[at..at + 2], 16).ok()?;
        }
        Some(GroupKey(secret))
    }

    /// Reads the first key of a file.
    pub fn read_first(path: &Path) -> Result<GroupKey, KeyError> {
        let mut ring = read(path)?;
        Ok(GroupKey(ring.keys.swap_remove(0)))
    }

    /// The key itself, as 64 hexadecimal digits: whoever sees them is a member.
    pub fn to_hex(&self) -> String {
        hex(&self.0.0)
    }

    /// Writes the key to a new file that only its owner can read.
    pub fn write_new(&self, path: &Path) -> Result<(), KeyError> {
        let text = format!(
            "# Key {} of a Consort group. Whoever has it is a member.\n{}\n",
            self.fingerprint(),
            hex(&self.0.0)
        );
        write_new(path, &text, 0o600)
    }
}

/// Writes a new file with these permissions; one that is there stays as it is.
pub(crate) fn write_new(path: &Path, text: &str, mode: u32) -> Result<(), KeyError> {
    let fault = |source| KeyError::Write {
        path: path.to_owned(),
        source,
    };
    let mut file: File = OpenOptions::new()
        .write(true)
        .create_new(true)
        .mode(mode)
        .open(path)
        .map_err(fault)?;
    file.write_all(text.as_bytes()).map_err(fault)?;
    file.sync_all().map_err(fault)
}

pub(crate) fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|b| format!("{b:02x}")).collect()
}

/// The bytes that pairs of hexadecimal digits stand for.
pub(crate) fn unhex(text: &str) -> Option<Vec<u8>> {
    let digits = text.bytes().all(|b| b.is_ascii_hexdigit()) && text.len().is_multiple_of(2);
    let pairs = (0..text.len()).step_by(2).filter(|_| digits);
    let bytes: Option<Vec<u8>> = pairs
        .map(|at| u8::from_str_radix(&text[at..at + 2], 16).ok())
        .collect();
    bytes.filter(|_| digits)
}

/// Reads the keys of a file: a key a line, of which the first one seals and all open, `version N` once a command has
/// changed them; `#` begins a remark.
pub(crate) fn read(path: &Path) -> Result<KeyRing, KeyError> {
    let fault = |source| KeyError::Read {
        path: path.to_owned(),
        source,
    };
    // A link is resolved first. What is opened then is checked itself, so that nobody can put a pipe or a link there in
    // between.
    let target = fs::canonicalize(path).map_err(fault)?;
    let file = state::open_regular(OpenOptions::new().read(true), &target).map_err(fault)?;
    let about = file.metadata().map_err(fault)?;
    let mode = about.mode() & 0o777;
    if mode & 0o077 != 0 {
        let path = path.to_owned();
        return Err(KeyError::Exposed { path, mode });
    }
    let mut text = String::new();
    file.take(FILE_MAX)
        .read_to_string(&mut text)
        .map_err(fault)?;
    let mut ring = KeyRing::default();
    for (n, line) in text.lines().enumerate() {
        let line = line.split('#').next().unwrap_or_default().trim();
        let (path, n) = (|| path.to_owned(), n + 1);
        if line.is_empty() {
            continue;
        }
        if let Some(version) = line.strip_prefix("version ") {
            let wrong = |_| KeyError::Version {
                path: path(),
                line: n,
            };
            ring.version = version.trim().parse().map_err(wrong)?;
            continue;
        }
        let key = GroupKey::parse(line).ok_or_else(|| KeyError::NotAKey {
            path: path(),
            line: n,
        })?;
        if !ring.keys.contains(&key.0) {
            ring.keys.push(key.0);
        }
    }
    if !ring.is_valid() {
        return Err(KeyError::Count {
            path: path.to_owned(),
            count: ring.keys.len(),
        });
    }
    Ok(ring)
}

/// Replaces the keys of a file, all at once.
pub(crate) fn store(path: &Path, ring: &KeyRing) -> Result<(), KeyError> {
    let mut text = format!(
        "# Keys of a Consort group; whoever has one is a member. The first one seals, all open.\n\
         # Changed by `consort keys`; after an edit by hand, raise the version and restart.\n\
         version {}\n",
        ring.version
    );
    for key in &ring.keys {
        text += &format!("{} # {}\n", hex(&key.0), fingerprint(key.name()));
    }
    let replace = || {
        let path = fs::canonicalize(path)?;
        let dir = path.parent().ok_or(io::ErrorKind::NotFound)?;
        // Several agents of one machine may share a file.
        let mut beside = path.clone().into_os_string();
        beside.push(format!(".{}.new", std::process::id()));
        state::replace(dir, Path::new(&beside), &path, &text)
    };
    replace().map_err(|source| KeyError::Write {
        path: path.to_owned(),
        source,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs::Permissions;
    use std::os::unix::fs::PermissionsExt;

    #[test]
    fn a_key_is_read_back_and_never_overwritten() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("group.key");
        let key = GroupKey::generate().unwrap();
        key.write_new(&path).unwrap();
        assert_eq!(read(&path).unwrap().keys, core::slice::from_ref(&key.0));
        assert_eq!(fs::metadata(&path).unwrap().mode() & 0o777, 0o600);
        let again = GroupKey::generate().unwrap().write_new(&path);
        assert!(matches!(again, Err(KeyError::Write { .. })));
        assert_ne!(GroupKey::generate().unwrap(), key);
        assert!(!format!("{key:?}").contains(&hex(&key.0.0[..2])));
    }

    #[test]
    fn bad_key_files_are_refused_with_the_remedy() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("k");
        let write = |text: &str, mode: u32| {
            let _ = fs::remove_file(&path);
            fs::write(&path, text).unwrap();
            fs::set_permissions(&path, Permissions::from_mode(mode)).unwrap();
            read(&path).map(|ring| ring.keys.len())
        };
        let (key, other) = ("0f".repeat(32), "0e".repeat(32));
        assert_eq!(
            write(&format!("# two\n{key}\n\n{other} # x\n{key}\n"), 0o600).unwrap(),
            2
        );
        let error = write(&key, 0o644).unwrap_err().to_string();
        assert!(error.contains("chmod 600"), "{error}");
        let error = write("correct horse battery staple", 0o600).unwrap_err();
        assert!(error.to_string().contains("consort keygen"), "{error}");
        assert!(matches!(
            write("", 0o600),
            Err(KeyError::Count { count: 0, .. })
        ));
        let error = write(&format!("version x\n{key}"), 0o600).unwrap_err();
        assert!(error.to_string().contains("line 1"), "{error}");
        let five: String = (0..5).map(|n| format!("0{n}").repeat(32) + "\n").collect();
        assert!(matches!(
            write(&five, 0o600),
            Err(KeyError::Count { count: 5, .. })
        ));
        let missing = read(&dir.path().join("none"));
        assert!(matches!(missing, Err(KeyError::Read { .. })));
        assert!(matches!(read(dir.path()), Err(KeyError::Read { .. })));
        let pipe = dir.path().join("pipe");
        let made = std::process::Command::new("mkfifo").arg(&pipe).status();
        assert!(made.unwrap().success());
        let error = read(&pipe).unwrap_err().to_string();
        assert!(error.contains("not a regular file"), "{error}");
    }

    #[test]
    fn changed_keys_are_read_back_through_a_link_and_only_their_owner_may_read_them() {
        let dir = tempfile::tempdir().unwrap();
        let (path, link) = (dir.path().join("group.key"), dir.path().join("link"));
        GroupKey::generate().unwrap().write_new(&path).unwrap();
        std::os::unix::fs::symlink(&path, &link).unwrap();
        let ring = read(&path).unwrap();
        let next = ring.install(&Secret([7; 32])).unwrap();
        store(&link, &next).unwrap();
        assert_eq!(read(&path).unwrap(), next);
        assert_eq!(read(&link).unwrap(), next);
        assert_eq!(fs::metadata(&path).unwrap().mode() & 0o777, 0o600);
        assert!(fs::symlink_metadata(&link).unwrap().is_symlink());
        let missing = store(&dir.path().join("none"), &next);
        assert!(matches!(missing, Err(KeyError::Write { .. })));
    }
}
