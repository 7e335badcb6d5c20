//! What nodes tell about themselves: a query that every node answers without its application.

use super::query::{Answers, QueryUpdate};
use consort_proto::NodeId;
use core::time::Duration;

/// The name of the query. Its answer is text, so that `consort query consort.summary` shows it.
pub(crate) const QUERY: &str = "consort.summary";

/// The longest version that is taken from another node.
const VERSION_MAX: usize = 32;

/// The state and the counters of a node, as it tells them itself.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Summary {
    /// The version of the library that it runs.
    pub version: String,
    /// How long it has been running.
    pub uptime: Duration,
    /// The number of members that it lists as alive or suspect, including itself.
    pub members: u32,
    /// A hash of the ids of these members: nodes with equal hashes list the same members.
    pub members_hash: u64,
    /// Datagrams that it accepted.
    pub datagrams_in: u64,
    /// Datagrams that it sent.
    pub datagrams_out: u64,
    /// Bytes of the datagrams that it read.
    pub bytes_in: u64,
    /// Bytes of the datagrams that it sent.
    pub bytes_out: u64,
    /// Datagrams that it read and refused: see [`Stats::datagrams_dropped`](crate::Stats::datagrams_dropped).
    pub dropped: u64,
    /// Members that it probed.
    pub probes: u64,
    /// Probes that nobody answered.
    pub probes_failed: u64,
    /// Accusations that it made.
    pub accusations: u64,
    /// Accusations against it that it refuted: false suspicions.
    pub refutations: u64,
}

impl Summary {
    /// The numbers, with their names on the wire.
    fn numbers(&mut self) -> [(&'static str, &mut u64); 10] {
        [
            ("list", &mut self.members_hash),
            ("datagrams_in", &mut self.datagrams_in),
            ("datagrams_out", &mut self.datagrams_out),
            ("bytes_in", &mut self.bytes_in),
            ("bytes_out", &mut self.bytes_out),
            ("dropped", &mut self.dropped),
            ("probes", &mut self.probes),
            ("probes_failed", &mut self.probes_failed),
            ("accusations", &mut self.accusations),
            ("refutations", &mut self.refutations),
        ]
    }

    /// As a list of words `name=number`, at most 400 bytes.
    pub(crate) fn write(mut self) -> Vec<u8> {
        let (uptime, members) = (self.uptime.as_millis(), self.members);
        let mut text = format!(
            "version={} uptime_ms={uptime} members={members}",
            self.version
        );
        for (name, number) in self.numbers() {
            text.push_str(&format!(" {name}={number}"));
        }
        text.into_bytes()
    }

    /// Reads what another node wrote. Words that a later version added are ignored; `None` if the answer is not a
    /// summary.
    pub(crate) fn read(bytes: &[u8]) -> Option<Summary> {
        let text = core::str::from_utf8(bytes).ok()?;
        let mut summary = Summary::default();
        for word in text.split(' ') {
            let (name, value) = word.split_once('=')?;
            match name {
                "version" => value.clone_into(&mut summary.version),
                "uptime_ms" => summary.uptime = Duration::from_millis(value.parse().ok()?),
                "members" => summary.members = value.parse().ok()?,
                _ => {
                    let mut numbers = summary.numbers().into_iter();
                    if let Some((_, number)) = numbers.find(|(known, _)| *known == name) {
                        *number = value.parse().ok()?;
                    }
                }
            }
        }
        let version = &summary.version;
        let plain = !version.is_empty() && version.chars().all(|c| c.is_ascii_graphic());
        (plain && version.len() <= VERSION_MAX).then_some(summary)
    }
}

/// A hash of node ids in ascending order, by FNV-1a.
pub(crate) fn hash(ids: impl Iterator<Item = NodeId>) -> u64 {
    let mut hash = 0xcbf2_9ce4_8422_2325_u64;
    for byte in ids.flat_map(|id| id.0.to_be_bytes()) {
        hash = (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
    }
    hash
}

/// The summary of one member.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct MemberSummary {
    /// The member.
    pub id: NodeId,
    /// Its announced name; empty if this node does not know it.
    pub name: String,
    /// The time between the question and its answer.
    pub after: Duration,
    /// Its answer.
    pub summary: Summary,
}

/// The summaries of members: see [`Node::summaries`](crate::Node::summaries).
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Summaries {
    /// The members that answered, quickest first.
    pub summaries: Vec<MemberSummary>,
    /// The members that did not answer in time, with their names, ordered by id.
    pub silent: Vec<(NodeId, String)>,
    /// The members whose version does not give summaries, or gives others.
    pub unknown: Vec<(NodeId, String)>,
}

impl Summaries {
    pub(super) async fn gather(mut answers: Answers) -> Summaries {
        let mut gathered = Summaries::default();
        while let Some(update) = answers.next().await {
            match update {
                QueryUpdate::Answer {
                    from: id,
                    from_name: name,
                    payload,
                    after,
                } => match Summary::read(&payload) {
                    Some(summary) => gathered.summaries.push(MemberSummary {
                        id,
                        name,
                        after,
                        summary,
                    }),
                    None => gathered.unknown.push((id, name)),
                },
                QueryUpdate::Declined { from, from_name } => {
                    gathered.unknown.push((from, from_name));
                }
                QueryUpdate::Finished { silent } => gathered.silent = silent,
            }
        }
        gathered
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn largest() -> Summary {
        let mut summary = Summary {
            version: "100.100.100-alpha.1".into(),
            uptime: Duration::from_millis(u64::MAX),
            members: u32::MAX,
            ..Summary::default()
        };
        for (i, (_, number)) in summary.numbers().into_iter().enumerate() {
            *number = u64::MAX - i as u64;
        }
        summary
    }

    #[test]
    fn a_summary_is_read_as_it_was_written_and_fits_an_answer() {
        for summary in [
            largest(),
            Summary {
                version: "0".into(),
                ..Summary::default()
            },
        ] {
            let bytes = summary.clone().write();
            assert!(bytes.len() <= 512, "{}", bytes.len());
            assert_eq!(Summary::read(&bytes), Some(summary));
        }
    }

    #[test]
    fn later_words_are_ignored_and_other_answers_are_refused() {
        let read = |text: &str| Summary::read(text.as_bytes());
        let later = read("version=2 members=3 mood=fine bytes_out=7").unwrap();
        assert_eq!((later.members, later.bytes_out), (3, 7));
        for other in [
            "",
            "0.31 0.22 0.18",
            "members=3",
            "version=",
            "version=1 members=-3",
            "version=1 bytes_out=18446744073709551616",
            "version=\u{1b}[2J",
            "version=1.0.0-a-version-that-goes-on-and-on",
        ] {
            assert_eq!(read(other), None, "{other}");
        }
        assert_eq!(Summary::read(&[0xff, 0xfe]), None);
    }

    #[test]
    fn lists_with_other_members_have_other_hashes() {
        let of = |ids: &[u64]| hash(ids.iter().map(|id| NodeId(*id)));
        let lists = [of(&[]), of(&[1]), of(&[1, 2]), of(&[1, 3]), of(&[256])];
        let distinct: std::collections::BTreeSet<u64> = lists.into();
        assert_eq!(distinct.len(), lists.len());
        assert_eq!(of(&[1, 2]), of(&[1, 2]));
    }
}
