//! The format of two files in the state directory: the node's lease records by election, and its memory, that is the
//! life in which the directory was created.

use crate::state::with_check;
use consort_proto::lease::Record;
use consort_proto::{ElectionId, Life};
use core::fmt::Write;
use std::collections::BTreeMap;

const LEASES_MAGIC: &str = "consort-leases 1";
const MEMORY_MAGIC: &str = "consort-memory 1";

/// The number of elections whose leases are kept. Tokens start from the time of day, so the smallest are the oldest.
const LEASES_MAX: usize = 1024;

/// The lease record of each election.
pub(crate) type Leases = BTreeMap<ElectionId, Record>;

/// Inserts a record. If there is no room, the oldest records are removed.
pub(crate) fn insert(leases: &mut Leases, election: ElectionId, record: Record) {
    leases.insert(election, record);
    while leases.len() > LEASES_MAX
        && let Some((&oldest, _)) = leases.iter().min_by_key(|(_, r)| r.token.map(|t| t.term))
    {
        leases.remove(&oldest);
    }
}

pub(crate) fn format(leases: &Leases) -> String {
    let mut body = format!("{LEASES_MAGIC}\n");
    for (id, record) in leases {
        let _ = write!(body, "{id:?} ");
        for byte in record.encode() {
            let _ = write!(body, "{byte:02x}");
        }
        body.push('\n');
    }
    with_check(body)
}

pub(crate) fn parse(bytes: &[u8]) -> Option<Leases> {
    let text = str::from_utf8(bytes).ok()?;
    let body = text.strip_prefix(LEASES_MAGIC)?.strip_prefix('\n')?;
    let lines = body.lines().take_while(|line| !line.starts_with("check "));
    let leases = lines.map(|line| {
        let (id, hex) = line.split_once(' ')?;
        let id = ElectionId(u32::from_str_radix(id, 16).ok()?);
        let digits = |at: usize| hex.get(at..at + 2);
        let bytes = (0..hex.len()).step_by(2).map(|at| {
            let digits = digits(at)?;
            u8::from_str_radix(digits, 16).ok()
        });
        let bytes = bytes.collect::<Option<Vec<u8>>>()?;
        Some((id, Record::decode(&bytes)?))
    });
    let leases = leases.collect::<Option<Leases>>()?;
    (format(&leases) == text).then_some(leases)
}

pub(crate) fn format_memory(memory: Life) -> String {
    with_check(format!("{MEMORY_MAGIC}\nlife {}\n", memory.0))
}

pub(crate) fn parse_memory(bytes: &[u8]) -> Option<Life> {
    let text = str::from_utf8(bytes).ok()?;
    let rest = text.strip_prefix(MEMORY_MAGIC)?.strip_prefix("\nlife ")?;
    let memory = Life(rest.split_once('\n')?.0.parse().ok()?);
    (format_memory(memory) == text).then_some(memory)
}

#[cfg(test)]
mod tests {
    use super::*;
    use consort_proto::election::Token;
    use consort_proto::lease::{Holder, Set, Watcher};
    use consort_proto::{NodeId, Term};
    use core::time::Duration;

    fn record(term: u64) -> Record {
        let token = Token {
            term: Term(term),
            initiator: NodeId(7),
            life: Life(9),
            revision: 2,
        };
        let watcher = |node| Watcher {
            node: NodeId(node),
            memory: Life(3),
        };
        Record {
            token: Some(token),
            holder: Some(Holder {
                node: NodeId(1),
                life: Life(5),
            }),
            set: Some(Set::first(
                token,
                [watcher(1), watcher(2)].into_iter().collect(),
            )),
            span: Duration::from_millis(800),
            closed: None,
        }
    }

    #[test]
    fn leases_and_memory_are_read_back_and_damage_is_noticed() {
        let mut leases = Leases::new();
        insert(&mut leases, ElectionId(0xbeef), record(41));
        insert(&mut leases, ElectionId(1), Record::default());
        let text = format(&leases);
        assert_eq!(parse(text.as_bytes()), Some(leases));
        assert_eq!(parse(text.replace("beef", "beee").as_bytes()), None);
        assert_eq!(parse(&text.as_bytes()[..text.len() - 3]), None);
        let memory = format_memory(Life(77));
        assert_eq!(parse_memory(memory.as_bytes()), Some(Life(77)));
        assert_eq!(parse_memory(memory.replace("77", "78").as_bytes()), None);
    }

    #[test]
    fn the_oldest_election_makes_room() {
        let mut leases = Leases::new();
        for n in 0..=LEASES_MAX as u32 {
            insert(&mut leases, ElectionId(n), record(u64::from(n) + 1));
        }
        assert_eq!(leases.len(), LEASES_MAX);
        assert!(!leases.contains_key(&ElectionId(0)));
    }
}
