//! Reading files that a user names: settings and secrets.

use rustix::fs::OFlags;
use std::fs::{File, OpenOptions};
use std::io::{self, Read};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

/// The greatest size of a file, in bytes.
const FILE_MAX: u64 = 1 << 20;

/// Why a file cannot be read.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum FileError {
    /// Check the path and its permissions.
    #[error("cannot read {path}: {source}; check the path")]
    Io {
        /// The file.
        path: PathBuf,
        /// The error of the system.
        source: io::Error,
    },
    /// Name a regular file.
    #[error("cannot read {path}: it is no regular file")]
    NotRegular {
        /// The file.
        path: PathBuf,
    },
    /// Name another file.
    #[error("cannot read {path}: it has more than {FILE_MAX} bytes")]
    TooLarge {
        /// The file.
        path: PathBuf,
    },
    /// Remove the permissions of others.
    #[error(
        "{path} has secrets, and others may read or change it (mode {mode:03o}); chmod 600 {path}"
    )]
    Open {
        /// The file.
        path: PathBuf,
        /// Its permissions.
        mode: u32,
    },
}

/// The text of a file with secrets. The file is refused if anybody except its owner and its group may read it, or
/// anybody except its owner may write it.
pub fn read_secret(path: &Path) -> Result<String, FileError> {
    let (text, mode) = read(path)?;
    match mode & 0o027 {
        0 => Ok(text),
        _ => Err(FileError::Open {
            path: path.to_owned(),
            mode,
        }),
    }
}

/// The text of a file with settings, and whether everybody may change it.
pub(crate) fn read_settings(path: &Path) -> Result<(String, bool), FileError> {
    let (text, mode) = read(path)?;
    Ok((text, mode & 0o002 != 0))
}

/// The text and the permissions of a regular file. Links are followed, because a user who names a file trusts its
/// directory.
fn read(path: &Path) -> Result<(String, u32), FileError> {
    let failed = |source| FileError::Io {
        path: path.to_owned(),
        source,
    };
    // Opening a pipe without a writer would block.
    let flags = OFlags::NONBLOCK | OFlags::NOCTTY;
    let mut options = OpenOptions::new();
    options.read(true).custom_flags(flags.bits().cast_signed());
    let file: File = options.open(path).map_err(failed)?;
    let found = file.metadata().map_err(failed)?;
    if !found.is_file() {
        return Err(FileError::NotRegular {
            path: path.to_owned(),
        });
    }
    let mut text = String::new();
    let read = file.take(FILE_MAX + 1).read_to_string(&mut text);
    read.map_err(failed)?;
    if text.len() as u64 > FILE_MAX {
        return Err(FileError::TooLarge {
            path: path.to_owned(),
        });
    }
    Ok((text, found.mode() & 0o777))
}

/// Writes a file that only its owner may read.
#[cfg(test)]
pub(crate) fn write_private(path: &Path, text: &str) {
    use std::os::unix::fs::PermissionsExt;
    std::fs::write(path, text).unwrap();
    std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o600)).unwrap();
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::PermissionsExt;

    #[test]
    fn secrets_that_others_may_read_are_refused() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("secret");
        write_private(&path, "psst");
        for (mode, good) in [
            (0o600, true),
            (0o400, true),
            (0o640, true),
            (0o660, false),
            (0o604, false),
            (0o644, false),
            (0o602, false),
        ] {
            std::fs::set_permissions(&path, std::fs::Permissions::from_mode(mode)).unwrap();
            let read = read_secret(&path);
            assert_eq!(read.is_ok(), good, "{mode:o}");
            if let Err(error) = read {
                assert!(error.to_string().contains("chmod 600"), "{error}");
            }
        }
        let (_, open) = read_settings(&path).unwrap();
        assert!(open, "everybody may write it");
    }

    #[test]
    fn pipes_directories_and_endless_files_are_refused() {
        let dir = tempfile::tempdir().unwrap();
        let pipe = dir.path().join("pipe");
        let made = std::process::Command::new("mkfifo").arg(&pipe).status();
        assert!(made.unwrap().success());
        for path in [&pipe, dir.path(), Path::new("/dev/zero")] {
            let refused = read_secret(path);
            assert!(
                matches!(refused, Err(FileError::NotRegular { .. })),
                "{path:?}"
            );
        }
        let long = dir.path().join("long");
        write_private(&long, &"x".repeat((1 << 20) + 1));
        assert!(matches!(
            read_secret(&long),
            Err(FileError::TooLarge { .. })
        ));
        let missing = read_secret(&dir.path().join("missing"));
        assert!(matches!(missing, Err(FileError::Io { .. })));
    }
}
