//! What candidates of one class are compared by, and which of it counts more.

use serde::{Deserialize, Serialize};

/// One thing by which candidates are compared. Of each the smallest is best.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Criterion {
    /// What each was given: see [`Candidacy::attribute`](super::Candidacy::attribute).
    Attribute,
    /// How near each is to the other nodes of its component, as it announces: see
    /// [`Omega::centrality`](crate::omega::Omega::centrality).
    Centrality,
    /// How rarely each fails, as the members say that an election asks, never it itself: see
    /// [`crate::reliability`].
    Reliability,
}

impl Criterion {
    /// All of them.
    pub const ALL: [Criterion; 3] = [
        Criterion::Attribute,
        Criterion::Centrality,
        Criterion::Reliability,
    ];
}

/// The criteria of an election, the weightiest first, each at most once. Before them comes the class, and
/// after them the hash and the id, so that the order is total whatever is chosen.
///
/// Who holds an election decides by its own; give all nodes the same.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(try_from = "u8", into = "u8")]
pub struct Ranking([Option<Criterion>; 3]);

/// A criterion is named twice.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("each criterion counts once")]
pub struct RankingError;

impl Ranking {
    /// By the middle, then by attribute: how components choose.
    pub(super) const MIDDLE: Ranking = Ranking([
        Some(Criterion::Centrality),
        Some(Criterion::Attribute),
        None,
    ]);

    /// By these, the weightiest first; by none of them the hash decides within a class.
    pub fn new(criteria: &[Criterion]) -> Result<Ranking, RankingError> {
        let mut ranking = Ranking([None; 3]);
        for (n, criterion) in criteria.iter().enumerate() {
            if ranking.has(*criterion) {
                return Err(RankingError);
            }
            // There are three and none is there twice, so there is room.
            ranking.0[n] = Some(*criterion);
        }
        Ok(ranking)
    }

    /// The criteria, the weightiest first.
    pub fn iter(&self) -> impl Iterator<Item = Criterion> {
        self.0.into_iter().flatten()
    }

    /// Whether that is one of them.
    pub fn has(&self, criterion: Criterion) -> bool {
        self.0.contains(&Some(criterion))
    }

    /// Without what members judge differently: what is left is the same wherever lists are.
    pub(super) fn announced(self) -> Ranking {
        let mut ranking = Ranking([None; 3]);
        let kept = self.iter().filter(|c| *c != Criterion::Reliability);
        for (slot, criterion) in ranking.0.iter_mut().zip(kept) {
            *slot = Some(criterion);
        }
        ranking
    }
}

/// By attribute.
impl Default for Ranking {
    fn default() -> Ranking {
        Ranking([Some(Criterion::Attribute), None, None])
    }
}

/// Two bits for each, the weightiest lowest.
impl From<Ranking> for u8 {
    fn from(ranking: Ranking) -> u8 {
        let code =
            |c: Criterion| 1 + Criterion::ALL.iter().position(|o| *o == c).unwrap_or(0) as u8;
        let codes = ranking.iter().map(code).enumerate();
        codes.fold(0, |all, (n, code)| all | code << (2 * n))
    }
}

impl TryFrom<u8> for Ranking {
    type Error = RankingError;

    fn try_from(byte: u8) -> Result<Ranking, RankingError> {
        let codes = [byte & 3, byte >> 2 & 3, byte >> 4 & 3];
        let criteria = codes.map(|code| Criterion::ALL.get(usize::from(code).wrapping_sub(1)));
        let criteria: alloc::vec::Vec<Criterion> =
            criteria.into_iter().flatten().copied().collect();
        let ranking = Ranking::new(&criteria)?;
        // One byte for each: no gaps, nothing left over.
        (u8::from(ranking) == byte)
            .then_some(ranking)
            .ok_or(RankingError)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_order_has_one_byte_and_every_other_byte_is_refused() {
        let orders = (0..=255).filter_map(|byte| Some((byte, Ranking::try_from(byte).ok()?)));
        let orders: alloc::vec::Vec<(u8, Ranking)> = orders.collect();
        assert_eq!(orders.len(), 16, "none, 3 of one, 6 of two, 6 of three");
        for (byte, ranking) in orders {
            assert_eq!(u8::from(ranking), byte);
        }
        let twice = [Criterion::Centrality, Criterion::Centrality];
        assert_eq!(Ranking::new(&twice), Err(RankingError));
    }
}
