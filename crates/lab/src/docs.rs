//! Numbers in documents: blocks that are filled from the record, so that nobody types them.
//!
//! A block begins with `<!-- claims: NAME -->` and ends with `<!-- /claims -->`. `consort reproduce docs` fills them.

use crate::LabError;
use crate::claim::{Claim, Verdict};
use crate::output;
use crate::record::Record;
use alloc::collections::BTreeMap;

/// The documents that have blocks, from the root of the repository.
pub const FILES: [&str; 3] = ["README.md", "docs/RESULTS.md", "docs/REPRODUCE.md"];

const BEGIN: &str = "<!-- claims: ";
const END: &str = "<!-- /claims -->";

/// The text with all its blocks filled. Refuses a block without an end or of an unknown name.
pub fn filled(text: &str, claims: &[&Claim], record: &Record) -> Result<String, LabError> {
    let (mut out, mut rest) = (String::new(), text);
    while let Some(at) = rest.find(BEGIN) {
        let (before, block) = rest.split_at(at);
        let wrong = || LabError::Block(block.lines().next().unwrap_or_default().into());
        let (name, inside) = block[BEGIN.len()..].split_once(" -->").ok_or_else(wrong)?;
        let (_, after) = inside.split_once(END).ok_or_else(wrong)?;
        let content = content(name, claims, record).ok_or_else(wrong)?;
        out += &format!("{before}{BEGIN}{name} -->{content}{END}");
        rest = after;
    }
    Ok(out + rest)
}

fn content(name: &str, claims: &[&Claim], record: &Record) -> Option<String> {
    Some(match name {
        "counts" => output::counts(claims.iter().map(|c| record.verdict(c))),
        "table" => format!(
            "\n\n{}\n",
            output::record_table(&measured(claims, record), record)
        ),
        "causes" => format!("\n\n{}\n", causes(claims, record)),
        "cost" => format!("\n\n{}\n", cost(claims, record)),
        _ => return None,
    })
}

fn measured<'a>(claims: &[&'a Claim], record: &Record) -> Vec<&'a Claim> {
    let all = claims.iter().copied();
    all.filter(|c| record.verdict(c) != Verdict::NotMeasured)
        .collect()
}

/// Why claims differ, in a statement or in a size.
fn causes(claims: &[&Claim], record: &Record) -> String {
    let told = |c: &&&Claim| {
        let verdict = record.verdict(c);
        matches!(verdict, Verdict::Differs | Verdict::Refuted)
            || verdict == Verdict::Direction && c.cause.is_some()
    };
    let line = |c: &&Claim| {
        let cause = c.cause.unwrap_or("The text of the claim says why.");
        format!("- `{}` ({}): {cause}\n", c.id, record.verdict(c).name())
    };
    claims.iter().filter(told).map(line).collect()
}

/// Claims and processor time by source.
fn cost(claims: &[&Claim], record: &Record) -> String {
    let mut by_source: BTreeMap<&str, (usize, usize, f64)> = BTreeMap::new();
    for claim in claims {
        let source = claim.id.split('.').next().unwrap_or(claim.id);
        let row = by_source.entry(source).or_default();
        row.0 += 1;
        row.1 += usize::from(record.verdict(claim) != Verdict::NotMeasured);
        row.2 += record.lines(claim).iter().map(|l| l.seconds).sum::<f64>();
    }
    let mut out =
        String::from("| source | claims | measured | processor time, s |\n|---|--:|--:|--:|\n");
    for (source, (all, measured, seconds)) in by_source {
        out += &format!("| {source} | {all} | {measured} | {seconds:.0} |\n");
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::registry;

    /// `consort reproduce docs` fills them.
    #[test]
    fn documents_say_what_is_on_record() {
        let root = concat!(env!("CARGO_MANIFEST_DIR"), "/../..");
        for file in FILES {
            let text = std::fs::read_to_string(format!("{root}/{file}")).unwrap();
            let now = filled(&text, &registry::all(), Record::of_this_version()).unwrap();
            assert!(now.contains(BEGIN), "{file} has no block");
            let differs = text.lines().zip(now.lines()).find(|(a, b)| a != b);
            assert!(
                text == now,
                "{file}: {differs:?}; run `consort reproduce docs`"
            );
        }
    }

    #[test]
    fn blocks_are_filled_and_the_rest_is_kept() {
        let claims = registry::all();
        let none = Record::default();
        let fill = |text: &str| filled(text, &claims, &none);
        let filled = fill("a <!-- claims: counts -->old<!-- /claims --> b").unwrap();
        let count = claims.len();
        let expected = format!(
            "a <!-- claims: counts -->{count} claims: {count} not measured<!-- /claims --> b"
        );
        assert_eq!(filled, expected);
        assert_eq!(fill(&filled).unwrap(), filled);
        assert_eq!(fill("none").unwrap(), "none");
        for bad in [
            "<!-- claims: counts -->",
            "<!-- claims: x --><!-- /claims -->",
            "<!-- claims: ",
        ] {
            assert!(matches!(fill(bad), Err(LabError::Block(_))), "{bad}");
        }
    }
}
