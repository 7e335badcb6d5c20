//! The parsers of state files for the fuzz targets.

use super::{
    group, leases, parse, parse_fence, parse_members, parse_reports, parse_terms, with_check,
};
use consort_proto::election::Order;
use consort_proto::{Command, Life, mutex};

/// The names of the files.
pub const FILES: [&str; 8] = [
    "state",
    "terms",
    "fence",
    "leases",
    "memory",
    "group",
    "members",
    "reliability",
];

/// What a node is told of a file when it starts.
#[derive(Clone, Debug, Default)]
pub struct Told {
    /// The last life, of the file `state`.
    pub life: Option<Life>,
    /// The life in which the directory was created, of the file `memory`.
    pub memory: Option<Life>,
    /// The commands to the node.
    pub commands: Vec<Command>,
}

/// Parses the contents of a file, in the second `now` of the wall clock. `None` if the file counts as damaged.
pub fn told(name: &str, bytes: &[u8], now: u64) -> Option<Told> {
    let text = || String::from_utf8(bytes.to_vec()).unwrap_or_default();
    let mut told = Told::default();
    match name {
        "state" => told.life = Some(parse(bytes)?.life),
        "memory" => told.memory = Some(leases::parse_memory(bytes)?),
        "terms" => {
            let orders = parse_terms(bytes)?.into_iter();
            let orders = orders.map(|(id, term)| Order::RestoreTerm(id, term));
            told.commands.extend(orders.map(Command::Election));
        }
        "fence" => {
            let order = mutex::Order::RestoreFence(parse_fence(bytes)?);
            told.commands.push(Command::Lock(order));
        }
        "leases" => {
            let orders = leases::parse(bytes)?.into_iter();
            let orders = orders.map(|(id, record)| Order::RestoreLease(id, Box::new(record)));
            told.commands.extend(orders.map(Command::Election));
        }
        "group" => {
            let (_, members) = group::parse(bytes)?;
            let records = members.iter().map(|m| m.record(now)).collect();
            told.commands.push(Command::Restore(records));
        }
        "members" => told.commands.push(Command::Join(parse_members(&text()))),
        _ => {
            let reports = parse_reports(&text());
            told.commands.push(Command::RestoreReliability(reports));
        }
    }
    Some(told)
}

/// A file whose last line is the right checksum.
pub fn checked(body: &str) -> String {
    with_check(body.to_owned())
}
