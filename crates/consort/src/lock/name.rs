//! Names of locks.

use consort_proto::mutex::LockId;
use consort_proto::text::is_clean;
use core::fmt;
use std::sync::Arc;

/// The longest name, in bytes.
const NAME_MAX: usize = 64;

/// Separates the name of a semaphore from the number of a slot. Names cannot contain it.
const SLOT: char = '\u{1f}';

/// The id of a lock and its name, if this node knows it. Members identify locks by a hash of their names, so a node can
/// witness requests for a lock whose name it does not know.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct LockName {
    /// The id of the lock on the wire.
    pub id: LockId,
    /// The name, if this node knows it.
    pub name: Option<Arc<str>>,
    /// The number of the slot, if it is one of a semaphore.
    pub slot: Option<u16>,
}

impl LockName {
    /// The name of the lock with this full name. The full name of a slot contains its number.
    pub(crate) fn of_full(id: LockId, full: Option<&str>) -> LockName {
        let Some(full) = full else {
            return LockName {
                id,
                name: None,
                slot: None,
            };
        };
        let mut parts = full.split(SLOT);
        LockName {
            id,
            name: parts.next().map(Arc::from),
            slot: parts.next().and_then(|slot| slot.parse().ok()),
        }
    }
}

/// Displays the name, with the slot's number after a `#`, or 32 hexadecimal digits.
impl fmt::Display for LockName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (&self.name, self.slot) {
            (Some(name), None) => f.pad(name),
            (Some(name), Some(slot)) => write!(f, "{name}#{slot}"),
            (None, _) => write!(f, "{}", self.id),
        }
    }
}

/// The error for a text that cannot name a lock.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "a lock's name has 1 to {NAME_MAX} bytes and no control characters, nor ones that hide or reorder text"
)]
pub struct LockNameError;

/// Checks the name of a lock.
pub(crate) fn check(name: &str) -> Result<(), LockNameError> {
    let fits = (1..=NAME_MAX).contains(&name.len());
    match fits && is_clean(name) {
        true => Ok(()),
        false => Err(LockNameError),
    }
}

/// The number of permits that a contender adds to the full name of a slot.
pub(crate) fn permits(announced: &str) -> Option<u16> {
    announced.split(SLOT).nth(2)?.parse().ok()
}

/// The full name of a slot of the semaphore called `name`.
pub(crate) fn slot(name: &str, slot: u16) -> Arc<str> {
    format!("{name}{SLOT}{slot}").into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_short_and_harmless_and_slots_cannot_be_mistaken_for_them() {
        for good in ["a", "nightly", "Größe 7", "a#1", &"x".repeat(64)] {
            assert_eq!(check(good), Ok(()), "{good}");
        }
        for bad in [
            "",
            "a\nb",
            "a\u{202e}b",
            "a\u{200b}",
            &slot("a", 1),
            &"x".repeat(65),
        ] {
            assert_eq!(check(bad), Err(LockNameError), "{bad:?}");
        }
        let shown = |full: Option<&str>| LockName::of_full(LockId(0xc0ffee), full).to_string();
        assert_eq!(shown(Some("nightly")), "nightly");
        assert_eq!(shown(Some(&slot("nightly", 3))), "nightly#3");
        let announced = format!("{}\u{1f}5", slot("nightly", 3));
        assert_eq!(shown(Some(&announced)), "nightly#3");
        assert_eq!(permits(&announced), Some(5));
        assert_eq!(permits(&slot("nightly", 3)), None);
        assert_eq!(shown(None), "00000000000000000000000000c0ffee");
        assert_ne!(LockId::of("a#1"), LockId::of(&slot("a", 1)));
    }
}
