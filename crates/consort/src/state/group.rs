//! The stored member list of the last life, including failed members. After a restart of a whole side of a partition no
//! other node may remember them, and locks count failed members.

use super::with_check;
use consort_proto::membership::{Meta, Precedence, Record, Status};
use consort_proto::{Incarnation, Life, NodeId};
use core::net::SocketAddr;
use core::time::Duration;

const MAGIC: &str = "consort-group 1";

/// The greatest number of bytes of all lines together, which is less than the read limit.
const BYTES_MAX: usize = 960 << 10;

/// A stored member.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Known {
    pub(crate) id: NodeId,
    pub(crate) life: Life,
    pub(crate) incarnation: Incarnation,
    pub(crate) addr: SocketAddr,
    /// The time at which it failed, in seconds of the wall clock; `None` if it was running.
    pub(crate) failed: Option<u64>,
    pub(crate) name: String,
}

impl Known {
    /// The record to start with, at second `now` of the wall clock.
    pub(crate) fn record(&self, now: u64) -> Record {
        let claim = Precedence::alive(self.life, self.incarnation);
        let status = match self.failed {
            Some(_) => Status::Dead,
            None => Status::Alive,
        };
        let meta = Meta {
            name: self.name.clone(),
            ..Meta::default()
        };
        let mut record = Record {
            id: self.id,
            precedence: claim.with(status),
            accuser: self.id,
            addr: self.addr,
            meta: meta.into(),
            coordinate: None,
            nap_ms: 0,
            current: false,
        };
        if let Some(at) = self.failed {
            record.set_departed(Duration::from_secs(now.saturating_sub(at)));
        }
        record
    }
}

/// The list of the group with this tag, truncated to the size limit.
pub(super) fn format(tag: u32, members: &[Known]) -> String {
    let mut body = format!("{MAGIC}\ngroup {tag:08x}\n");
    for m in members {
        let failed = m.failed.map_or("-".to_owned(), |at| at.to_string());
        let (life, incarnation, addr) = (m.life.0, m.incarnation.0, m.addr);
        let name: String = m.name.bytes().map(|b| format!("{b:02x}")).collect();
        let line = format!("{} {life} {incarnation} {addr} {failed} {name}\n", m.id);
        if body.len() + line.len() > BYTES_MAX {
            break;
        }
        body.push_str(&line);
    }
    with_check(body)
}

pub(super) fn parse(bytes: &[u8]) -> Option<(u32, Vec<Known>)> {
    let text = str::from_utf8(bytes).ok()?;
    let rest = text.strip_prefix(MAGIC)?.strip_prefix("\ngroup ")?;
    let (tag, rest) = rest.split_once('\n')?;
    let tag = u32::from_str_radix(tag, 16).ok()?;
    let lines = rest.lines().take_while(|line| !line.starts_with("check "));
    let members = lines.map(line).collect::<Option<Vec<Known>>>()?;
    // There is only one valid encoding, so any difference means damage.
    (format(tag, &members) == text).then_some((tag, members))
}

fn line(line: &str) -> Option<Known> {
    let mut words = line.split(' ');
    Some(Known {
        id: words.next()?.parse().ok()?,
        life: Life(words.next()?.parse().ok()?),
        incarnation: Incarnation(words.next()?.parse().ok()?),
        addr: words.next()?.parse().ok()?,
        failed: match words.next()? {
            "-" => None,
            at => Some(at.parse().ok()?),
        },
        name: unhex(words.next()?)?,
    })
}

fn unhex(text: &str) -> Option<String> {
    let digits = text.as_bytes().chunks(2);
    let byte = |pair: &[u8]| u8::from_str_radix(str::from_utf8(pair).ok()?, 16).ok();
    String::from_utf8(digits.map(byte).collect::<Option<Vec<u8>>>()?).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn known(id: u64, failed: Option<u64>) -> Known {
        Known {
            id: NodeId(id),
            life: Life(id + 7),
            incarnation: Incarnation(3),
            addr: SocketAddr::from(([10, 0, 0, 1], 7000)),
            failed,
            name: "Müller's node".into(),
        }
    }

    #[test]
    fn what_is_written_is_read_back_and_damage_is_noticed() {
        let nameless = Known {
            name: String::new(),
            addr: "[fe80::1]:7".parse().unwrap(),
            ..known(2, Some(1000))
        };
        let members = vec![known(1, None), nameless];
        let good = format(9, &members).into_bytes();
        assert_eq!(parse(&good), Some((9, members)));
        for n in 0..good.len() {
            let mut flipped = good.clone();
            flipped[n] ^= 1;
            assert_eq!(parse(&flipped), None, "byte {n}");
            assert_eq!(parse(&good[..n]), None, "{n} bytes");
        }
    }

    #[test]
    fn a_long_list_is_cut_to_what_is_read_back() {
        let members: Vec<Known> = (0..20_000).map(|id| known(id, None)).collect();
        let text = format(1, &members);
        assert!(text.len() < 1 << 20);
        let (_, kept) = parse(text.as_bytes()).unwrap();
        assert!(kept.len() > 5000 && kept == members[..kept.len()]);
    }

    #[test]
    fn a_failed_member_begins_as_failed_as_long_ago_as_it_was() {
        let record = known(1, Some(1000)).record(1060);
        assert_eq!(record.precedence.status, Status::Dead);
        assert_eq!(record.nap_ms, 60_000);
        // A clock that went back.
        assert_eq!(known(1, Some(1000)).record(10).nap_ms, 0);
        let record = known(1, None).record(1060);
        assert_eq!(record.precedence.status, Status::Alive);
        assert!(!record.current && record.meta.name == "Müller's node");
    }
}
