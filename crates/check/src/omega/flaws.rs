//! Flaws of the published protocols, by the ids of their errata (docs/RULES.md).

use core::fmt;
use core::ops::{BitOr, BitOrAssign};

/// The set of flaws that showed in a run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Flaws(u32);

macro_rules! flaws {
    ($($name:ident = $bit:expr, $text:expr, $about:expr;)*) => {
        impl Flaws {
            $(#[doc = $about] pub const $name: Flaws = Flaws(1 << $bit);)*
            /// All flaws, with names and descriptions.
            pub const ALL: &[(Flaws, &str, &str)] = &[$((Flaws::$name, $text, $about)),*];
        }
    };
}

flaws! {
    E1 = 0, "E1", "CEL: a union at equal clocks brings back a link that is gone";
    E2 = 1, "E2", "CEL: others overwrite what a node knows of itself";
    E4 = 2, "E4", "CEL: the witnesses of a crash undo each other's removals";
    E5 = 3, "E5", "a message was lost, and nothing repairs it";
    E6 = 4, "E6", "CEL: the coin kept news from others";
    E7 = 5, "E7", "CEL: a restarted node is its former self";
    E8 = 6, "E8", "CEL: a twin was expected to tell news";
    E9 = 7, "E9", "equal knowledge, different components";
    E19 = 8, "E19", "TA: a whole view was dropped because of an older one";
    E20 = 9, "E20", "TA: a change with a gap was dropped";
    E21 = 10, "E21", "TA: what had to wait was not passed on";
    E22 = 11, "E22", "TA: a restarted node is its former self";
    ONE_WAY = 12, "one-way", "a node that is heard but does not hear is taken for a neighbour";
    BACK = 13, "S3", "a version went back";
    TWOFOLD = 14, "S1", "one version says different things";
    PARTED = 15, "S6", "who knows the same sees different components";
    STRANGER = 16, "S5", "the leader is not in the component";
    LOST = 17, "lost", "something was lost on its way";
    PRUNED = 18, "pruned", "a node was silent because of a twin";
    WITHHELD = 19, "withheld", "a node was silent because of its coin";
    TOLD = 20, "told", "a node was told of itself";
}

impl Flaws {
    /// No flaw.
    pub const NONE: Flaws = Flaws(0);
    /// Signs that are no flaws by themselves.
    const SIGNS: Flaws = Flaws(
        Flaws::LOST.0
            | Flaws::PRUNED.0
            | Flaws::WITHHELD.0
            | Flaws::TOLD.0
            | Flaws::E19.0
            | Flaws::E20.0
            | Flaws::E21.0,
    );

    /// Violations that must never occur, whatever the final result.
    pub const ALWAYS: Flaws =
        Flaws(Flaws::BACK.0 | Flaws::TWOFOLD.0 | Flaws::PARTED.0 | Flaws::STRANGER.0);

    /// Whether it contains all of `other`.
    pub const fn has(self, other: Flaws) -> bool {
        self.0 & other.0 == other.0
    }

    /// Whether it contains some of `other`.
    pub const fn any(self, other: Flaws) -> bool {
        self.0 & other.0 != 0
    }

    /// The union.
    pub const fn or(self, other: Flaws) -> Flaws {
        Flaws(self.0 | other.0)
    }

    /// The intersection.
    pub const fn and(self, other: Flaws) -> Flaws {
        Flaws(self.0 & other.0)
    }

    /// The flaws of a world at rest: silence did no harm if all nodes have the same knowledge.
    pub fn at_rest(self, know_the_same: bool) -> Flaws {
        let mut flaws = Flaws(self.0 & !Flaws::SIGNS.0);
        if !know_the_same {
            flaws |= self.and(Flaws::E19 | Flaws::E20 | Flaws::E21);
            let names = [
                (Flaws::LOST, Flaws::E5),
                (Flaws::PRUNED, Flaws::E8),
                (Flaws::WITHHELD, Flaws::E6),
            ];
            let shown = names.into_iter().filter(|(sign, _)| self.has(*sign));
            shown.for_each(|(_, flaw)| flaws |= flaw);
        }
        flaws
    }
}

impl BitOr for Flaws {
    type Output = Flaws;
    fn bitor(self, other: Flaws) -> Flaws {
        self.or(other)
    }
}

impl BitOrAssign for Flaws {
    fn bitor_assign(&mut self, other: Flaws) {
        self.0 |= other.0;
    }
}

impl fmt::Display for Flaws {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names = Flaws::ALL.iter().filter(|(flaw, ..)| self.has(*flaw));
        let names: Vec<&str> = names.map(|(_, name, _)| *name).collect();
        f.write_str(if names.is_empty() {
            "nothing known"
        } else {
            ""
        })?;
        f.write_str(&names.join("+"))
    }
}
