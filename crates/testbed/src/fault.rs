//! Kinds of faults, and the order in which a seed draws them.

use consort_proto::Rng;

/// A kind of fault.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Kind {
    /// An agent is killed and restarted at once.
    KillAtOnce,
    /// An agent is killed and restarted later.
    KillLater,
    /// An agent is killed, loses its state directory, and is restarted.
    KillWipe,
    /// An agent is stopped (SIGSTOP) and resumed later.
    FreezeAgent,
    /// An agent gets SIGTERM and is restarted when it has ended.
    TermAgent,
    /// An agent is told to leave and is restarted when it has ended.
    LeaveAgent,
    /// An agent can neither send nor receive.
    Isolate,
    /// All datagrams that an agent sends are lost.
    Mute,
    /// All datagrams to an agent are lost.
    Deaf,
    /// All datagrams from one agent to another are lost.
    OneWay,
    /// 5 to 30 % of all datagrams are lost.
    Loss,
    /// Datagrams take up to 150 ms and overtake each other.
    Delay,
    /// Two or three agents are separated from the others.
    Partition,
    /// A client's process is killed and restarted at once.
    KillClient,
    /// A client's process is killed together with the guards of its command.
    KillTree,
    /// A client's process is stopped and resumed later.
    FreezeClient,
    /// A client gets SIGTERM and is restarted 0.3 s after its end.
    TermClient,
    /// The same for the leader's client while 15 % of all datagrams are lost.
    StandAgain,
    /// The leader resigns.
    Resign,
    /// An agent loses its state, starts alone, is killed, and joins with the state it stored.
    Lone,
}

/// Each kind, its name, and how many cards of it a deck contains.
const DECK: [(Kind, &str, u32); 20] = [
    (Kind::KillAtOnce, "kill-at-once", 3),
    (Kind::KillLater, "kill-later", 1),
    (Kind::KillWipe, "kill-wipe", 1),
    (Kind::FreezeAgent, "freeze-agent", 3),
    (Kind::TermAgent, "term-agent", 2),
    (Kind::LeaveAgent, "leave-agent", 2),
    (Kind::Isolate, "isolate", 2),
    (Kind::Mute, "mute", 3),
    (Kind::Deaf, "deaf", 2),
    (Kind::OneWay, "one-way", 1),
    (Kind::Loss, "loss", 2),
    (Kind::Delay, "delay", 1),
    (Kind::Partition, "partition", 1),
    (Kind::KillClient, "kill-client", 3),
    (Kind::KillTree, "kill-tree", 2),
    (Kind::FreezeClient, "freeze-client", 2),
    (Kind::TermClient, "term-client", 2),
    (Kind::StandAgain, "stand-again", 3),
    (Kind::Resign, "resign", 1),
    (Kind::Lone, "lone", 1),
];

impl Kind {
    /// Its name, as `--only` takes it.
    pub fn name(self) -> &'static str {
        DECK.iter()
            .find(|(kind, ..)| *kind == self)
            .map_or("?", |(_, name, _)| name)
    }

    /// The names of all kinds.
    pub fn names() -> impl Iterator<Item = &'static str> {
        DECK.iter().map(|(_, name, _)| *name)
    }

    /// The kind with that name.
    pub fn parse(name: &str) -> Result<Kind, String> {
        let found = DECK.iter().find(|(_, known, _)| *known == name);
        found.map(|(kind, ..)| *kind).ok_or_else(|| {
            let names: Vec<&str> = Kind::names().collect();
            format!("no such kind of fault; known: {}", names.join(", "))
        })
    }

    /// Whether it makes an agent unavailable to the others for a while.
    pub fn takes_agent(self) -> bool {
        !matches!(
            self,
            Kind::OneWay
                | Kind::Loss
                | Kind::Delay
                | Kind::KillClient
                | Kind::KillTree
                | Kind::FreezeClient
                | Kind::TermClient
                | Kind::StandAgain
                | Kind::Resign
        )
    }

    /// Whether it changes which agents can reach each other; at most one such fault is in force at a time.
    pub fn cuts(self) -> bool {
        matches!(
            self,
            Kind::Isolate | Kind::Mute | Kind::Deaf | Kind::OneWay | Kind::Partition | Kind::Lone
        )
    }
}

/// Draws kinds of faults from a shuffled deck: each kind as often as the deck contains it, then a new deck.
#[derive(Debug)]
pub struct Deck {
    only: Vec<Kind>,
    left: Vec<Kind>,
}

impl Deck {
    /// A deck of all kinds, or of the given ones.
    pub fn new(only: Vec<Kind>) -> Deck {
        let left = Vec::new();
        Deck { only, left }
    }

    /// Draws the next card that `fits`; skipped cards stay for later. `None` if no card of a whole deck fits.
    pub fn deal(&mut self, rng: &mut Rng, fits: impl Fn(Kind) -> bool) -> Option<Kind> {
        for _ in 0..2 {
            if let Some(at) = self.left.iter().rposition(|kind| fits(*kind)) {
                return Some(self.left.remove(at));
            }
            let only = &self.only;
            let wanted = |kind: Kind| only.is_empty() || only.contains(&kind);
            let mut fresh: Vec<Kind> = DECK
                .iter()
                .filter(|(kind, ..)| wanted(*kind))
                .flat_map(|(kind, _, cards)| (0..*cards).map(|_| *kind))
                .collect();
            rng.shuffle(&mut fresh);
            // Skipped cards are drawn first.
            fresh.append(&mut self.left);
            self.left = fresh;
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_deck_deals_every_kind_and_a_seed_repeats_it() {
        let deal = |seed| {
            let (mut deck, mut rng) = (Deck::new(Vec::new()), Rng::seed(seed, 2));
            let cards: u32 = DECK.iter().map(|(_, _, n)| n).sum();
            (0..cards)
                .map(|_| deck.deal(&mut rng, |_| true).unwrap())
                .collect::<Vec<_>>()
        };
        let first = deal(1);
        assert_eq!(first, deal(1));
        assert_ne!(first, deal(2));
        for (kind, name, cards) in DECK {
            let dealt = first.iter().filter(|k| **k == kind).count();
            assert_eq!(dealt as u32, cards, "{name}");
            assert_eq!(Kind::parse(name), Ok(kind));
        }
        assert!(Kind::parse("flood").is_err());
    }

    #[test]
    fn what_does_not_fit_is_dealt_later_and_nothing_fits_is_said() {
        let (mut deck, mut rng) = (Deck::new(vec![Kind::Mute, Kind::Loss]), Rng::seed(1, 2));
        for _ in 0..4 {
            let card = deck.deal(&mut rng, |k| k == Kind::Loss);
            assert_eq!(card, Some(Kind::Loss));
        }
        assert_eq!(deck.deal(&mut rng, |_| true), Some(Kind::Mute));
        assert_eq!(deck.deal(&mut rng, |k| k == Kind::Deaf), None);
    }
}
