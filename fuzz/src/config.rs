//! Configuration files: any text gives settings or an error, and settings that are accepted start a node.

use consort_agent::{Config, RawConfig};
use consort_proto::{Identity, Instant, Life, Node, NodeId, membership};
use std::fs;
use std::os::unix::fs::PermissionsExt;
use tempfile::NamedTempFile;

/// The text of a file. If its first line begins with `--set `, the rest of it is `PATH=VALUE` as on the command line.
pub fn config(data: &[u8]) {
    thread_local!(static FILE: NamedTempFile = file());
    let Ok(text) = core::str::from_utf8(data) else {
        return;
    };
    let (set, text) = match text.strip_prefix("--set ") {
        Some(text) => text.split_once('\n').unwrap_or((text, "")),
        None => ("", text),
    };
    let set = match set.split_once('=') {
        Some((path, value)) => match RawConfig::from_setting(path, value) {
            Ok(set) => set,
            Err(error) => return drop(error.to_string()),
        },
        None => RawConfig::default(),
    };
    let read = FILE.with(|file| {
        fs::write(file.path(), text).expect("a temporary file can be written");
        RawConfig::read(file.path())
    });
    let raw = match read {
        Ok(raw) => raw,
        Err(error) => return drop(error.to_string()),
    };
    match Config::try_from(set.over(raw)) {
        Ok(config) => begin(&config),
        Err(error) => drop(error.to_string()),
    }
}

fn file() -> NamedTempFile {
    let dir = ["/dev/shm", "/tmp"]
        .into_iter()
        .find(|d| fs::metadata(d).is_ok());
    let file = NamedTempFile::new_in(dir.unwrap_or(".")).expect("a temporary file can be made");
    let private = fs::Permissions::from_mode(0o600);
    fs::set_permissions(file.path(), private).expect("it is ours");
    file
}

/// What was checked is not refused later.
fn begin(config: &Config) {
    let life = Life::starting(1_700_000_000, 7, None);
    let identity = Identity {
        id: config.id.unwrap_or(NodeId(1)),
        life,
        addr: config.bind,
        meta: membership::Meta::named(config.name.clone()),
        memory: life,
        wall: None,
    };
    let node = Node::new(config.protocol.clone(), identity, 1, Instant::ZERO);
    let mut node = node.expect("settings that were checked are accepted");
    let now = node.poll_timeout().unwrap_or(Instant::ZERO);
    node.handle_timeout(now);
}
