//! The fencing token of leadership, which a leader presents with every action.

use crate::id::{Life, NodeId, Term};
use core::cmp::{Ordering, Reverse};
use core::fmt;
use core::str::FromStr;
use serde::{Deserialize, Serialize};

/// The fencing token of a leadership. A later leader has a greater token.
///
/// Its text form has the same order: of two tokens, the greater one is also the greater string.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Token {
    /// The number of the round.
    pub term: Term,
    /// The node that ran the round. Within one term the smaller id wins.
    pub initiator: NodeId,
    /// The life of the initiator.
    pub life: Life,
    /// The number of the proposal within the round.
    pub revision: u16,
}

impl Ord for Token {
    fn cmp(&self, other: &Token) -> Ordering {
        let key = |t: &Token| (t.term, Reverse(t.initiator), t.life, t.revision);
        key(self).cmp(&key(other))
    }
}

impl PartialOrd for Token {
    fn partial_cmp(&self, other: &Token) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl fmt::Display for Token {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Token {
            term,
            initiator,
            life,
            revision,
        } = self;
        let priority = !initiator.0;
        write!(
            f,
            "{:016x}-{priority:016x}-{:016x}-{revision:04x}",
            term.0, life.0
        )
    }
}

/// Why a text is not a [`Token`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("a token is four hexadecimal numbers of 16, 16, 16 and 4 digits, joined by dashes")]
pub struct ParseTokenError;

impl FromStr for Token {
    type Err = ParseTokenError;

    fn from_str(s: &str) -> Result<Token, ParseTokenError> {
        let mut parts = s.split('-');
        let mut next = |digits: usize| {
            let part = parts.next().filter(|p| p.len() == digits);
            let part = part.filter(|p| p.bytes().all(|b| b.is_ascii_hexdigit()));
            part.and_then(|p| u64::from_str_radix(p, 16).ok())
                .ok_or(ParseTokenError)
        };
        let (term, priority, life, revision) = (next(16)?, next(16)?, next(16)?, next(4)?);
        if parts.next().is_some() {
            return Err(ParseTokenError);
        }
        Ok(Token {
            term: Term(term),
            initiator: NodeId(!priority),
            life: Life(life),
            revision: revision as u16,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::string::ToString;
    use proptest::prelude::*;

    fn token() -> impl Strategy<Value = Token> {
        (0..3_u64, any::<u64>(), 0..3_u64, any::<u16>()).prop_map(|(t, i, l, revision)| Token {
            term: Term(t),
            initiator: NodeId(i),
            life: Life(l),
            revision,
        })
    }

    proptest! {
        #[test]
        fn the_text_of_tokens_keeps_their_order_and_reads_back(a in token(), b in token()) {
            prop_assert_eq!(a.cmp(&b), a.to_string().cmp(&b.to_string()));
            prop_assert_eq!(a.to_string().parse(), Ok(a));
        }
    }

    #[test]
    fn in_one_term_the_smaller_initiator_wins_then_the_later_life_and_revision() {
        let at = |initiator, life, revision| Token {
            term: Term(4),
            initiator: NodeId(initiator),
            life: Life(life),
            revision,
        };
        assert!(at(1, 0, 0) > at(2, 9, 9));
        assert!(at(1, 2, 0) > at(1, 1, 9));
        assert!(at(1, 1, 2) > at(1, 1, 1));
        for bad in ["", "1-2-3-4", "zzzzzzzzzzzzzzzz-0-0-0"] {
            assert_eq!(bad.parse::<Token>(), Err(ParseTokenError));
        }
    }
}
