//! The winner of a round, by the ballots that one node holds.

use super::book::{Book, Score};
use super::timed::Digest;
use alloc::vec;
use alloc::vec::Vec;
use consort_proto::Instant;

/// The content of a ballot, and how ballots are counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Tally {
    /// The paper's: a list of candidates; the node on most lists wins.
    Approval {
        /// Number of candidates on a list (k); the number of nodes that may fail (f) if 0.
        candidates: u8,
        /// The winner among nodes on equally many lists.
        tie: Tie,
    },
    /// R: scores of all other nodes; the lowest median among the nodes that sent a ballot wins.
    Responders,
    /// RS: evidence; after merging it, the lowest score among the nodes that sent a ballot wins.
    Shared,
}

/// The winner among equals.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Tie {
    /// The smallest id, as in the text.
    Lowest,
    /// The largest id, as in the program (B-5).
    Highest,
}

/// Evidence by node.
pub type Evidence = Vec<Option<Digest>>;

/// What a node sends to all others in an election.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Ballot {
    /// Candidates. An empty list is an abstention.
    List(Vec<u16>),
    /// A score for every node except itself (B-8).
    Scores(Vec<Option<Score>>),
    /// Evidence about every node but itself.
    Evidence(Evidence),
}

/// The node with most approvals. Unknown ids are ignored.
pub fn approved<'a>(
    nodes: usize,
    ballots: impl Iterator<Item = &'a Ballot>,
    excluded: Option<usize>,
    tie: Tie,
) -> Option<usize> {
    let mut votes = vec![0_u32; nodes];
    for ballot in ballots {
        if let Ballot::List(list) = ballot {
            for id in list {
                if let Some(votes) = votes.get_mut(usize::from(*id)) {
                    *votes += 1;
                }
            }
        }
    }
    let candidates = (0..nodes).filter(|n| Some(*n) != excluded && votes[*n] > 0);
    // The last of equals is the greatest.
    match tie {
        Tie::Lowest => candidates.rev().max_by_key(|n| votes[*n]),
        Tie::Highest => candidates.max_by_key(|n| votes[*n]),
    }
}

/// The lowest median of scores among the nodes that sent a ballot; of equals the smallest id. A node without scores
/// ranks last.
pub fn responder(ballots: &[(usize, &Ballot)]) -> Option<usize> {
    let median = |node: usize| {
        let scores = ballots.iter().filter_map(|(_, ballot)| match ballot {
            Ballot::Scores(scores) => scores.get(node).copied().flatten(),
            _ => None,
        });
        let mut scores: Vec<Score> = scores.collect();
        scores.sort_unstable();
        match scores.len() {
            0 => Score(i64::MAX),
            n => scores[(n - 1) / 2],
        }
    };
    ballots
        .iter()
        .map(|(n, _)| *n)
        .min_by_key(|n| (median(*n), *n))
}

/// Merges what another node knows.
pub fn merge(book: &mut Book, now: Instant, evidence: &[Option<Digest>]) {
    for (node, digest) in evidence.iter().enumerate().take(book.len()) {
        if let Some(digest) = digest {
            book.import(node, now, *digest);
        }
    }
}

/// The lowest rate among the nodes that sent a ballot, by the best record that the ballots contain for each; of
/// equals the smallest id. Nodes with the same ballots find the same winner: observations since the node's own
/// ballot are ignored.
pub fn shared(ballots: &[(usize, &Ballot)]) -> Option<usize> {
    let rate = |node: usize| {
        let records = ballots.iter().filter_map(|(_, ballot)| match ballot {
            Ballot::Evidence(evidence) => evidence.get(node).copied().flatten(),
            _ => None,
        });
        let best = records.max_by_key(Digest::key).unwrap_or_default();
        Score::of(best.rate())
    };
    ballots
        .iter()
        .map(|(n, _)| *n)
        .min_by_key(|n| (rate(*n), *n))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn list(ids: &[u16]) -> Ballot {
        Ballot::List(ids.to_vec())
    }

    /// B-5: among candidates on which all agree, the id decides.
    #[test]
    fn ties_go_to_the_lowest_id_in_the_text_and_to_the_highest_in_the_program() {
        let ballots = [list(&[3, 1]), list(&[1, 3]), list(&[3, 1])];
        let winner = |tie| approved(5, ballots.iter(), None, tie);
        assert_eq!(winner(Tie::Lowest), Some(1));
        assert_eq!(winner(Tie::Highest), Some(3));
        assert_eq!(approved(5, ballots.iter(), Some(1), Tie::Lowest), Some(3));
    }

    #[test]
    fn abstentions_and_strangers_elect_nobody() {
        assert_eq!(
            approved(3, [list(&[]), list(&[7])].iter(), None, Tie::Lowest),
            None
        );
        assert_eq!(
            approved(3, [list(&[]), list(&[2])].iter(), None, Tie::Lowest),
            Some(2)
        );
    }

    #[test]
    fn only_who_answers_can_win_and_one_liar_moves_nothing() {
        let scores = |all: [Option<f64>; 4]| Ballot::Scores(all.map(|s| s.map(Score::of)).to_vec());
        let a = scores([None, Some(0.5), Some(0.2), Some(0.0)]);
        let b = scores([Some(0.9), None, Some(0.2), Some(0.0)]);
        let liar = scores([Some(0.1), Some(0.5), None, Some(0.0)]);
        // Node 3 would be best, but is not heard.
        assert_eq!(responder(&[(0, &a), (1, &b), (2, &liar)]), Some(0));
        let more = scores([Some(0.9), Some(0.5), Some(0.2), None]);
        let all = [(0, &a), (1, &b), (2, &liar), (3, &more)];
        assert_eq!(responder(&all), Some(3));
        let lost = [(0, &a), (1, &b), (2, &more)];
        assert_eq!(responder(&lost), Some(2));
        assert_eq!(responder(&[]), None);
    }
}
