//! The criteria by which candidates of one class are compared, and their order.

use serde::{Deserialize, Serialize};

/// A criterion by which candidates are compared. The smallest value is the best.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Criterion {
    /// The configured value: see [`Candidacy::attribute`](super::Candidacy::attribute).
    Attribute,
    /// How near the candidate is to the other nodes of its component, as it announces: see
    /// [`Omega::centrality`](crate::omega::Omega::centrality).
    Centrality,
    /// How rarely the candidate fails, as the queried members report; its own opinion does not count. See
    /// [`crate::reliability`].
    Reliability,
}

impl Criterion {
    /// All criteria.
    pub const ALL: [Criterion; 3] = [
        Criterion::Attribute,
        Criterion::Centrality,
        Criterion::Reliability,
    ];
}

/// The criteria of an election, most important first, each at most once. The class precedes them; the hash and the id
/// follow them, so the order is always total.
///
/// The initiator of a round decides by its own ranking, so configure it equally on all nodes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(try_from = "u8", into = "u8")]
pub struct Ranking([Option<Criterion>; 3]);

/// A criterion is named twice.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("each criterion counts once")]
pub struct RankingError;

impl Ranking {
    /// By centrality, then by attribute: the order in which components choose.
    pub(super) const MIDDLE: Ranking = Ranking([
        Some(Criterion::Centrality),
        Some(Criterion::Attribute),
        None,
    ]);

    /// Creates a ranking by these criteria, most important first. Without criteria the hash decides within a class.
    pub fn new(criteria: &[Criterion]) -> Result<Ranking, RankingError> {
        let mut ranking = Ranking([None; 3]);
        for (n, criterion) in criteria.iter().enumerate() {
            if ranking.has(*criterion) {
                return Err(RankingError);
            }
            // There are three distinct criteria, so there is room.
            ranking.0[n] = Some(*criterion);
        }
        Ok(ranking)
    }

    /// The criteria, most important first.
    pub fn iter(&self) -> impl Iterator<Item = Criterion> {
        self.0.into_iter().flatten()
    }

    /// Whether `criterion` is one of the criteria.
    pub fn has(&self, criterion: Criterion) -> bool {
        self.0.contains(&Some(criterion))
    }

    /// The ranking without the criteria that members judge differently. By the remaining ones all members that list the
    /// same candidates agree.
    pub(super) fn announced(self) -> Ranking {
        let mut ranking = Ranking([None; 3]);
        let kept = self.iter().filter(|c| *c != Criterion::Reliability);
        for (slot, criterion) in ranking.0.iter_mut().zip(kept) {
            *slot = Some(criterion);
        }
        ranking
    }
}

/// The default is to compare by attribute only.
impl Default for Ranking {
    fn default() -> Ranking {
        Ranking([Some(Criterion::Attribute), None, None])
    }
}

/// Each criterion takes two bits, the most important one in the lowest bits.
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
        // Only the canonical encoding is accepted: no gaps and no extra bits.
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
