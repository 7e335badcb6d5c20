//! Comments and reports cite rules by short names (`ER-4`); docs/RULES.md defines every name for the folder that uses it.

extern crate alloc;

use alloc::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

/// Prefixes that only names of rules have: these mean the same in every folder.
const PREFIXES: [&str; 5] = ["ER-", "B-", "LL-", "SEC-", "FD-"];

/// Percentiles look like names of rules and are none.
const PERCENTILES: [&str; 4] = ["P50", "P90", "P95", "P99"];

/// Folders whose string literals report the names of rules to people.
const REPORTING: [&str; 3] = [
    "crates/sim/src/oracle",
    "crates/sim/src/chaos",
    "crates/check/src",
];

/// The names defined on the page, each with the folders its definitions apply to; an empty folder is everywhere.
type Rules = BTreeMap<String, BTreeSet<String>>;

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// Whether a word has the form of a rule's name: a capital letter or a prefix, up to two digits, at most one letter.
fn is_name(word: &str) -> bool {
    let prefix = PREFIXES.iter().find_map(|p| word.strip_prefix(p));
    let rest = prefix.or_else(|| word.strip_prefix(|c: char| c.is_ascii_uppercase()));
    let Some(rest) = rest else { return false };
    let digits = rest.trim_start_matches(|c: char| c.is_ascii_digit());
    let count = rest.len() - digits.len();
    let letter = digits.len() == 1 && digits.starts_with(|c: char| c.is_ascii_lowercase());
    (1..=2).contains(&count) && (digits.is_empty() || letter) && !PERCENTILES.contains(&word)
}

fn names(text: &str) -> impl Iterator<Item = &str> {
    let words = text.split(|c: char| c != '-' && c != '_' && !c.is_alphanumeric());
    words.filter(|w| is_name(w))
}

fn rules(page: &str) -> Rules {
    let mut rules = Rules::new();
    for section in page.split("\n## ").skip(1) {
        let used = section.lines().find_map(|l| l.strip_prefix("Used "));
        let Some(used) = used else { continue };
        let folders: BTreeSet<String> = if used.starts_with("everywhere") {
            [String::new()].into()
        } else {
            used.split('`')
                .skip(1)
                .step_by(2)
                .map(str::to_owned)
                .collect()
        };
        assert!(!folders.is_empty(), "no folder in: {used}");
        for row in section.lines().filter_map(|l| l.strip_prefix("| ")) {
            let (name, text) = row.split_once(" | ").expect("a row has two cells");
            if is_name(name) {
                assert!(
                    text.len() > 20 && text.ends_with(". |"),
                    "{name} is not a sentence: {text}"
                );
                rules
                    .entry(name.to_owned())
                    .or_default()
                    .extend(folders.iter().cloned());
            }
        }
    }
    rules
}

fn files(dir: &Path, out: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(dir).expect("the source is there") {
        let path = entry.expect("an entry").path();
        if path.is_dir() {
            files(&path, out);
        } else if path.extension().is_some_and(|e| e == "rs") {
            out.push(path);
        }
    }
}

#[test]
fn every_rule_that_is_cited_is_defined() {
    let page = fs::read_to_string(root().join("docs/RULES.md")).expect("docs/RULES.md");
    let rules = rules(&page);
    assert!(rules.len() > 150, "only {} rules were found", rules.len());

    let mut sources = Vec::new();
    files(&root().join("crates"), &mut sources);
    let (mut cited, mut unknown) = (0, Vec::new());
    for source in sources {
        let text = fs::read_to_string(&source).expect("a source file");
        let path = source.strip_prefix(root()).expect("below the root");
        for (i, line) in text.lines().enumerate() {
            let comment = line.split_once("//").map_or("", |(_, comment)| comment);
            let literals = line.split('"').skip(1).step_by(2);
            let reported =
                literals.filter(|l| REPORTING.iter().any(|f| path.starts_with(f)) && is_name(l));
            for name in names(comment).chain(reported) {
                cited += 1;
                let folders = rules.get(name);
                if !folders.is_some_and(|f| f.iter().any(|f| path.starts_with(f))) {
                    unknown.push(format!("{}:{}: {name}", path.display(), i + 1));
                }
            }
        }
    }
    assert!(cited > 300, "only {cited} names were found");
    assert!(
        unknown.is_empty(),
        "not defined in docs/RULES.md for this folder: {unknown:#?}"
    );
}

#[test]
fn names_of_rules_are_told_from_other_words() {
    let text =
        "S8b, (ER-15) and LL-1a, but not Cortex-M4, X25519, P99, IPv4, H_1, A123, 0xE0 or B-side.";
    assert_eq!(names(text).collect::<Vec<_>>(), ["S8b", "ER-15", "LL-1a"]);
}
