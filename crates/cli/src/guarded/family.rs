//! The descendants of a process, including those whose parents have ended.
//!
//! On Linux a process whose parent ends becomes a child of the nearest ancestor that asked for it ([`adopt_orphans`]),
//! so a process cannot hide by leaving the process group or the session (`setsid`, a double fork).

use rustix::process::{Pid, Signal, kill_process};

/// A process that has not ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Relative {
    pub(super) id: Pid,
    pub(super) group: Option<Pid>,
    parent: Option<Pid>,
}

/// Makes this process the parent of descendants whose own parent ends. If the system does not support this, a process
/// that leaves the process group of the command cannot be found.
pub(super) fn adopt_orphans() {
    #[cfg(target_os = "linux")]
    // Kernels before 3.4 do not support this.
    let _ = rustix::process::set_child_subreaper(Some(rustix::process::getpid()));
}

/// The descendants of `ancestor` that have not ended, without those of its children in `except`. Returns `None` if the
/// system does not tell.
pub(super) fn descendants(ancestor: Pid, except: &[Pid]) -> Option<Vec<Relative>> {
    let mut left = processes()?;
    let mut found = Vec::new();
    let mut parents = vec![ancestor];
    while let Some(parent) = parents.pop() {
        let is_child = |p: &Relative| p.parent == Some(parent) && !except.contains(&p.id);
        let children = left.extract_if(.., |p| is_child(p));
        found.extend(children.inspect(|child| parents.push(child.id)));
    }
    Some(found)
}

/// Sends a signal to each process. Returns whether one of them existed.
pub(super) fn signal(relatives: &[Relative], signal: Signal) -> bool {
    // This fails for a process that has ended in the meantime, or that runs as another user.
    let sent = relatives.iter().map(|r| kill_process(r.id, signal).is_ok());
    sent.fold(false, |any, sent| any | sent)
}

/// All processes that have not ended.
fn processes() -> Option<Vec<Relative>> {
    let entries = std::fs::read_dir("/proc").ok()?;
    let ids = entries.flatten().filter_map(|entry| {
        let id = entry.file_name().to_str()?.parse().ok()?;
        let stat = std::fs::read_to_string(entry.path().join("stat")).ok()?;
        relative(Pid::from_raw(id)?, &stat)
    });
    let all: Vec<Relative> = ids.collect();
    (!all.is_empty()).then_some(all)
}

/// Parses `/proc/ID/stat`. A process that has ended and was not waited for is ignored, and so is one that is just
/// ending: the system says -1 for its group.
fn relative(id: Pid, stat: &str) -> Option<Relative> {
    // The name, in parentheses, may contain anything. It is followed by the state, the parent and the group.
    let mut fields = stat.rsplit_once(')')?.1.split_whitespace();
    let state = fields.next()?;
    let mut pid = || {
        let raw: i32 = fields.next()?.parse().ok()?;
        (raw >= 0).then(|| Pid::from_raw(raw))
    };
    let (parent, group) = (pid()?, pid()?);
    (!matches!(state, "Z" | "X")).then_some(Relative { id, group, parent })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pid(id: i32) -> Pid {
        Pid::from_raw(id).unwrap()
    }

    #[test]
    fn the_line_of_a_process_is_read_whatever_its_name() {
        let read = relative(pid(7), "7 (a) b) (c) S 3 5 5 0 -1 4194560");
        let expected = Relative {
            id: pid(7),
            group: Some(pid(5)),
            parent: Some(pid(3)),
        };
        assert_eq!(read, Some(expected));
        assert_eq!(relative(pid(7), "7 (gone) Z 3 5 5 0 -1"), None);
        assert_eq!(relative(pid(7), "7 (short) S 3"), None);
        assert_eq!(relative(pid(7), "7 (ending) D 0 -1 -1 0 -1 4194560"), None);
        let init = relative(pid(1), "1 (init) S 0 1 1 0").unwrap();
        assert_eq!(init.parent, None, "the first process has no parent");
    }

    #[test]
    #[cfg(target_os = "linux")]
    fn children_are_found_and_those_excepted_are_not() {
        let mut child = std::process::Command::new("sleep")
            .arg("60")
            .spawn()
            .unwrap();
        let id = pid(child.id() as i32);
        let of = |except: &[Pid]| {
            let found = descendants(rustix::process::getpid(), except).unwrap();
            found.iter().any(|r| r.id == id)
        };
        let (all, excepted) = (of(&[]), of(&[id]));
        let _ = child.kill();
        child.wait().unwrap();
        assert!(all && !excepted && !of(&[]));
    }
}
