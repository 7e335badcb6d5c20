//! The documentation hangs together: links lead somewhere, the book has every page, commands exist.
#![allow(
    clippy::std_instead_of_alloc,
    reason = "tests need std; naming alloc would tell nothing"
)]

mod common;

use common::run;
use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

fn pages() -> Vec<PathBuf> {
    let folders = [root(), root().join("docs")];
    let files = folders.iter().flat_map(|f| fs::read_dir(f).unwrap());
    let paths = files.map(|f| f.unwrap().path());
    paths
        .filter(|p| p.extension().is_some_and(|e| e == "md"))
        .collect()
}

/// Where the links of a page lead, without anchors; other sites are left out.
fn links(text: &str) -> Vec<String> {
    let ends = text
        .split("](")
        .skip(1)
        .filter_map(|rest| rest.split_once(')'));
    ends.map(|(link, _)| link.split('#').next().unwrap_or_default().to_owned())
        .filter(|link| !link.is_empty() && !link.contains("://"))
        .collect()
}

#[test]
fn every_link_leads_to_a_file() {
    let mut broken = Vec::new();
    let mut seen = 0;
    for page in pages() {
        let text = fs::read_to_string(&page).unwrap();
        for link in links(&text) {
            seen += 1;
            if !page.parent().unwrap().join(&link).exists() {
                broken.push(format!("{}: {link}", page.display()));
            }
        }
    }
    assert!(seen > 100, "only {seen} links were found");
    assert!(broken.is_empty(), "{broken:#?}");
}

/// The book has only what is in docs/; pages from above it are included there.
#[test]
fn links_stay_within_the_book() {
    let book = fs::read_to_string(root().join("docs/book.toml")).unwrap();
    let mut broken = Vec::new();
    let mut included = 0;
    for page in pages() {
        if !page.parent().unwrap().ends_with("docs") {
            continue;
        }
        let text = fs::read_to_string(&page).unwrap();
        let outside = links(&text).into_iter().filter(|l| l.starts_with(".."));
        broken.extend(outside.map(|l| format!("{}: {l}", page.display())));
        let Some(above) = text.strip_prefix("{{#include ../") else {
            continue;
        };
        included += 1;
        let above = root().join(above.trim_end().trim_end_matches('}'));
        for link in links(&fs::read_to_string(above).unwrap()) {
            let html = link.replace(".md", ".html");
            if !book.contains(&format!("\"/{html}\" = ")) {
                broken.push(format!("{}: no redirect of {link}", page.display()));
            }
        }
    }
    assert_eq!(included, 3, "pages from above docs/");
    assert!(broken.is_empty(), "{broken:#?}");
}

#[test]
fn the_book_has_every_page() {
    let summary = fs::read_to_string(root().join("docs/SUMMARY.md")).unwrap();
    let listed: BTreeSet<String> = links(&summary).into_iter().collect();
    let docs = pages()
        .into_iter()
        .filter(|p| p.parent().unwrap().ends_with("docs"));
    for page in docs {
        let name = page.file_name().unwrap().to_str().unwrap().to_owned();
        assert!(
            name == "SUMMARY.md" || listed.contains(&name),
            "SUMMARY.md lacks {name}"
        );
    }
}

/// Every `consort VERB` of the pages is a command, and every long option behind it one of its options.
#[test]
fn commands_on_the_pages_exist() {
    let mut wrong = Vec::new();
    let mut helps = std::collections::BTreeMap::new();
    // The commands of a command that has some.
    let mut parts = std::collections::BTreeMap::new();
    let texts: Vec<(PathBuf, String)> = pages()
        .into_iter()
        .map(|page| (page.clone(), fs::read_to_string(page).unwrap()))
        .collect();
    for (page, text) in &texts {
        if page.ends_with("CHANGELOG.md") {
            continue;
        }
        let lines = text.lines().filter_map(|l| l.strip_prefix("    consort "));
        for line in lines {
            // What follows ` -- ` or a pipe is another program's.
            let ours = line.split(" -- ").next().unwrap_or(line);
            let ours = ours.split(" | ").next().unwrap_or(ours);
            let ours = ours.split("  ").next().unwrap_or(ours);
            let words: Vec<&str> = ours.split_whitespace().take_while(|w| *w != "#").collect();
            let Some(&verb) = words.first().filter(|v| !v.starts_with('-')) else {
                continue;
            };
            let parts = parts.entry(verb).or_insert_with(|| {
                let output = run(&[verb, "--help"]);
                verbs(&String::from_utf8(output.stdout).unwrap())
            });
            let part = words.get(1).filter(|w| parts.iter().any(|p| p == *w));
            let verbs: Vec<&str> = [verb].into_iter().chain(part.copied()).collect();
            let help = helps.entry(verbs.join(" ")).or_insert_with(|| {
                let mut args = verbs.clone();
                args.push("--help");
                let output = run(&args);
                output
                    .status
                    .success()
                    .then(|| String::from_utf8(output.stdout).unwrap())
            });
            let Some(help) = help else {
                wrong.push(format!("{}: consort {line}", page.display()));
                continue;
            };
            let options = words.iter().filter(|w| w.starts_with("--"));
            for option in options {
                let name = option.split('=').next().unwrap_or(option);
                if !help.contains(name) {
                    wrong.push(format!("{}: {name} in consort {line}", page.display()));
                }
            }
        }
    }
    assert!(helps.len() > 10, "only {} commands were found", helps.len());
    assert!(wrong.is_empty(), "{wrong:#?}");
}

/// The names of the commands in a help text.
fn verbs(help: &str) -> Vec<String> {
    let listed = help.lines().skip_while(|l| *l != "Commands:").skip(1);
    let names = listed.take_while(|l| !l.is_empty()).filter_map(|line| {
        // Deeper lines go on with a text.
        let name = line.strip_prefix("  ").filter(|l| !l.starts_with(' '))?;
        name.split_whitespace().next()
    });
    names.filter(|n| *n != "help").map(str::to_owned).collect()
}

#[test]
fn the_page_of_the_command_line_has_every_command() {
    let page = fs::read_to_string(root().join("docs/CLI.md")).unwrap();
    let help =
        |path: &[&str]| String::from_utf8(run(&[path, &["--help"]].concat()).stdout).unwrap();
    let mut seen = 0;
    for verb in verbs(&help(&[])) {
        let mut names = vec![verb.clone()];
        names.extend(verbs(&help(&[&verb])).iter().map(|v| format!("{verb} {v}")));
        for name in names {
            seen += 1;
            assert!(
                page.contains(&format!("`{name}")),
                "docs/CLI.md lacks {name}"
            );
        }
    }
    assert!(seen > 30, "only {seen} commands were found");
}

/// The pictures are of this version: they name the election of `consort up`.
#[test]
fn the_recording_of_the_terminal_shows_the_election_of_today() {
    let picture = fs::read_to_string(root().join("docs/failover.svg")).unwrap();
    let group = fs::read_to_string(root().join("crates/cli/src/up/group.rs")).unwrap();
    let name = group.split("ELECTION: &str = \"").nth(1).unwrap();
    let name = name.split('"').next().unwrap();
    let (shown, remedy) = (format!("♛ {name}"), "npm run picture terminal (in web/)");
    assert!(
        picture.contains(&shown),
        "no “{shown}” in docs/failover.svg: {remedy}"
    );
    for file in ["dashboard.png", "watch.png"] {
        let size = fs::metadata(root().join("docs").join(file)).unwrap().len();
        assert!(size < 300_000, "docs/{file} has {size} bytes");
    }
}
