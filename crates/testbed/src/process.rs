//! Processes of a run, found by the directory that all of them have on their command line.

use rustix::process::{Pid, Signal, kill_process};
use std::path::Path;

/// A process as `/proc` shows it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Process {
    /// Its id.
    pub pid: u32,
    /// Id of the process that started it.
    pub parent: u32,
    /// Program and arguments.
    pub command: Vec<String>,
}

impl Process {
    /// Whether it is a guarded command, or was started by one.
    pub fn is_work(&self) -> bool {
        self.is_command() || self.command.get(1).is_some_and(|word| word == "kin")
    }

    /// Whether it is a guarded command.
    pub fn is_command(&self) -> bool {
        self.command.get(1).is_some_and(|word| word == "work")
    }
}

/// Sends a signal; returns false if the process has ended.
pub fn signal(pid: u32, signal: Signal) -> bool {
    let pid = i32::try_from(pid).ok().and_then(Pid::from_raw);
    pid.is_some_and(|pid| kill_process(pid, signal).is_ok())
}

/// All live processes other than this one that have `dir` on their command line.
pub fn of_run(dir: &Path) -> Vec<Process> {
    let dir = dir.to_string_lossy();
    let mut found = Vec::new();
    let Ok(entries) = std::fs::read_dir("/proc") else {
        return found;
    };
    for entry in entries.flatten() {
        let name = entry.file_name();
        let Some(pid) = name.to_str().and_then(|n| n.parse::<u32>().ok()) else {
            continue;
        };
        // Empty for a process that has ended and waits for its parent.
        let Ok(line) = std::fs::read_to_string(entry.path().join("cmdline")) else {
            continue;
        };
        if pid == std::process::id() || !line.contains(&*dir) {
            continue;
        }
        let Ok(stat) = std::fs::read_to_string(entry.path().join("stat")) else {
            continue;
        };
        // The name, in parentheses, may contain anything. State and parent follow it.
        let after_name = stat.rsplit_once(')').map_or("", |(_, rest)| rest);
        let parent = after_name.split_whitespace().nth(1);
        let command = line.split('\0').filter(|w| !w.is_empty());
        found.push(Process {
            pid,
            parent: parent.and_then(|p| p.parse().ok()).unwrap_or(0),
            command: command.map(str::to_owned).collect(),
        });
    }
    found
}

/// Ids of `pid` and of all processes it started, directly or indirectly, without guarded commands.
pub fn guards_of(all: &[Process], pid: u32) -> Vec<u32> {
    let mut found = vec![pid];
    let mut at = 0;
    while let Some(&parent) = found.get(at) {
        let children = all.iter().filter(|p| p.parent == parent && !p.is_work());
        found.extend(children.map(|p| p.pid));
        at += 1;
    }
    found
}

/// Kills all processes of a run, repeatedly until none is left.
pub fn kill_run(dir: &Path) {
    for _ in 0..50 {
        let left = of_run(dir);
        if left.is_empty() {
            return;
        }
        for process in left {
            signal(process.pid, Signal::KILL);
        }
        std::thread::sleep(core::time::Duration::from_millis(20));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn guards_are_all_below_a_client_except_works() {
        let process = |pid, parent, verb: &str| Process {
            pid,
            parent,
            command: vec!["program".to_owned(), verb.to_owned()],
        };
        let all = [
            process(10, 1, "lock"),
            process(11, 10, "__watchdog"),
            process(12, 11, "work"),
            process(14, 11, "kin"),
            process(13, 11, "__guard"),
            process(20, 1, "lock"),
        ];
        assert_eq!(guards_of(&all, 10), [10, 11, 13]);
    }
}
