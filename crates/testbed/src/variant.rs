//! What differs between the groups of two seeds.

use core::fmt;

/// The kind of group that a run tests.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Variant {
    /// Locks are counted from a floor of all agents instead of from the members, which is the default.
    pub floor: bool,
    /// The election is strict.
    pub strict: bool,
    /// The group has a key.
    pub key: bool,
}

impl Variant {
    /// The variant of a seed: eight consecutive seeds have all of them.
    pub fn draw(seed: u64) -> Variant {
        Variant {
            floor: seed >> 2 & 1 == 1,
            strict: seed >> 1 & 1 == 1,
            key: seed & 1 == 1,
        }
    }

    /// The same with these words instead; what they do not mention stays.
    pub fn with(self, words: &[Word]) -> Variant {
        words.iter().fold(self, |variant, word| match *word {
            Word::Bound(floor) => Variant { floor, ..variant },
            Word::Election(strict) => Variant { strict, ..variant },
            Word::Seal(key) => Variant { key, ..variant },
        })
    }
}

impl fmt::Display for Variant {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let own = [
            Word::Bound(self.floor),
            Word::Election(self.strict),
            Word::Seal(self.key),
        ];
        let name = |word| WORDS.iter().find(|w| w.1 == word).map_or("?", |w| w.0);
        write!(f, "{},{},{}", name(own[0]), name(own[1]), name(own[2]))
    }
}

/// One property of a variant.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Word {
    /// Whether locks have a floor.
    Bound(bool),
    /// Whether the election is strict.
    Election(bool),
    /// Whether there is a key.
    Seal(bool),
}

const WORDS: [(&str, Word); 6] = [
    ("members", Word::Bound(false)),
    ("floor", Word::Bound(true)),
    ("default", Word::Election(false)),
    ("strict", Word::Election(true)),
    ("open", Word::Seal(false)),
    ("key", Word::Seal(true)),
];

impl Word {
    /// The property with that name.
    pub fn parse(name: &str) -> Result<Word, String> {
        let found = WORDS.iter().find(|(known, _)| *known == name);
        found.map(|(_, word)| *word).ok_or_else(|| {
            let names: Vec<&str> = WORDS.iter().map(|w| w.0).collect();
            format!("no such property; known: {}", names.join(", "))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn eight_seeds_have_all_variants_and_words_change_one() {
        let all: Vec<String> = (8..16)
            .map(|seed| Variant::draw(seed).to_string())
            .collect();
        let different = |at: usize| !all[..at].contains(&all[at]);
        assert!((0..8).all(different), "{all:?}");
        for text in all {
            let words: Vec<Word> = text.split(',').map(|w| Word::parse(w).unwrap()).collect();
            assert_eq!(Variant::draw(0).with(&words).to_string(), text);
        }
        let strict = Variant::draw(0).with(&[Word::Election(true)]);
        assert_eq!(strict.to_string(), "members,strict,open");
        assert!(Word::parse("lax").is_err());
    }
}
