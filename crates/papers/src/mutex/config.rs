//! Settings of the papers' locks.

use core::fmt;
use core::str::FromStr;
use core::time::Duration;

/// The protocol.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Mode {
    /// Ricart and Agrawala: every listed node has to agree; requests of others are not remembered.
    RicartAgrawala,
    /// Camera as published: answers name the requests that were answered before.
    CameraPaper,
    /// Camera with its local mistakes repaired; it still trusts the failure detector.
    CameraRepaired,
}

impl Mode {
    /// All modes.
    pub const ALL: [Mode; 3] = [
        Mode::RicartAgrawala,
        Mode::CameraPaper,
        Mode::CameraRepaired,
    ];

    /// Its name on command lines and in results.
    pub const fn name(self) -> &'static str {
        match self {
            Mode::RicartAgrawala => "ricart-agrawala",
            Mode::CameraPaper => "camera",
            Mode::CameraRepaired => "camera-repaired",
        }
    }
}

impl fmt::Display for Mode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// Why a text names no [`Mode`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("a lock of the papers is one of ricart-agrawala, camera, camera-repaired")]
pub struct ParseModeError;

impl FromStr for Mode {
    type Err = ParseModeError;

    fn from_str(s: &str) -> Result<Mode, ParseModeError> {
        Mode::ALL
            .into_iter()
            .find(|m| m.name() == s)
            .ok_or(ParseModeError)
    }
}

/// What a requester does if its list may not be a majority.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum SlowPath {
    /// A spanning tree of the membership graph, built level by level, with the requester as its root.
    Tree {
        /// How many simultaneous failures takeovers survive (f): `f + 1` levels are known below a node.
        failures: u8,
    },
    /// Answers name members that the requester has not asked; it asks them. Repaired mode only.
    Expand,
}

/// When an unanswered request is sent again.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Retry {
    /// Delay after the first transmission; each further delay is 1.5 times the previous one.
    pub first: Duration,
    /// The longest wait.
    pub cap: Duration,
}

/// Settings of a lock.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Config {
    /// The protocol.
    pub mode: Mode,
    /// What to do with a small list.
    pub slow_path: SlowPath,
    /// Whether an exit is announced. Ricart and Agrawala do not need it, but the thesis's runs of them included it
    /// (D1).
    pub release: bool,
    /// Whether nodes that once waited are answered again at every exit, as in the thesis's program (D2).
    pub deferred_stay: bool,
    /// Whether the requester repeats unanswered requests; `None` if the transport retransmits.
    pub retry: Option<Retry>,
}

impl Config {
    /// The published settings of a mode. The thesis does not say what f is.
    pub const fn new(mode: Mode) -> Config {
        let repaired = matches!(mode, Mode::CameraRepaired);
        Config {
            mode,
            slow_path: match repaired {
                true => SlowPath::Expand,
                false => SlowPath::Tree { failures: 2 },
            },
            release: !matches!(mode, Mode::RicartAgrawala),
            deferred_stay: false,
            retry: match repaired {
                true => Some(Retry {
                    first: Duration::from_millis(500),
                    cap: Duration::from_secs(4),
                }),
                false => None,
            },
        }
    }

    /// Levels of the tree that a node knows below itself.
    pub(super) fn levels(&self) -> usize {
        match self.slow_path {
            SlowPath::Tree { failures } => usize::from(failures) + 1,
            SlowPath::Expand => 0,
        }
    }

    pub(super) fn is_repaired(&self) -> bool {
        self.mode == Mode::CameraRepaired
    }

    /// Whether the slow path is a tree; as published it always is.
    pub(super) fn has_tree(&self) -> bool {
        !self.is_repaired() || matches!(self.slow_path, SlowPath::Tree { .. })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_read_back() {
        for mode in Mode::ALL {
            assert_eq!(mode.name().parse(), Ok(mode));
        }
        assert_eq!("maekawa".parse::<Mode>(), Err(ParseModeError));
    }
}
