//! Names of elections.

use consort_proto::ElectionId;
use consort_proto::text::is_clean;
use core::fmt;
use std::sync::Arc;

/// The longest name, in bytes.
const NAME_MAX: usize = 64;

/// The id of an election and its name, if this node knows it. Members identify elections by a hash of their names, so a
/// node can hold the outcome of an election whose name it does not know.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ElectionName {
    /// The id of the election on the wire.
    pub id: ElectionId,
    /// The name, if this node knows it.
    pub name: Option<Arc<str>>,
}

/// Displays the name, or eight hexadecimal digits.
impl fmt::Display for ElectionName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.name {
            Some(name) => f.pad(name),
            None => write!(f, "{:?}", self.id),
        }
    }
}

/// The error for a text that cannot name an election.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "an election's name has 1 to {NAME_MAX} bytes and no control characters, nor ones that hide or reorder text"
)]
pub struct ElectionNameError;

/// Checks the name of an election.
pub(crate) fn check(name: &str) -> Result<(), ElectionNameError> {
    let fits = (1..=NAME_MAX).contains(&name.len());
    match fits && is_clean(name) {
        true => Ok(()),
        false => Err(ElectionNameError),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_short_and_harmless_and_unknown_ones_shown_by_id() {
        for good in ["a", "gateway", "Größe 7", &"x".repeat(64)] {
            assert_eq!(check(good), Ok(()), "{good}");
        }
        for bad in ["", "a\nb", "\u{1b}[2J", &"x".repeat(65)] {
            assert_eq!(check(bad), Err(ElectionNameError), "{bad:?}");
        }
        let mut name = ElectionName {
            id: ElectionId(0xc0ffee),
            name: None,
        };
        assert_eq!(name.to_string(), "00c0ffee");
        name.name = Some("gateway".into());
        assert_eq!(name.to_string(), "gateway");
    }
}
