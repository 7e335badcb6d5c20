//! The modules of the core depend on each other in one direction: no cycles.
//!
//! `cargo test -p consort-proto --test modules -- --nocapture` prints who uses whom.

extern crate alloc;

use alloc::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

type Graph = BTreeMap<String, BTreeSet<String>>;

/// Source files below `dir` without those that only tests see.
fn files(dir: &Path, out: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(dir).expect("the source is there") {
        let path = entry.expect("an entry").path();
        let name = path.file_name().and_then(|n| n.to_str()).unwrap_or("");
        if path.is_dir() {
            if name != "tests" {
                files(&path, out);
            }
        } else if name.ends_with(".rs") && name != "tests.rs" {
            out.push(path);
        }
    }
}

/// Code without comments and without the tests at the end of a file.
fn code(text: &str) -> String {
    let end = text.find("#[cfg(test)]\nmod tests {").unwrap_or(text.len());
    let lines = text[..end].lines();
    let code = lines.filter(|l| !l.trim_start().starts_with("//"));
    code.collect::<Vec<_>>().join("\n")
}

fn word(text: &str) -> &str {
    let end = text.find(|c: char| c != '_' && !c.is_ascii_alphanumeric());
    &text[..end.unwrap_or(text.len())]
}

/// First segments of all paths that begin with `crate::`, alone or in braces.
fn segments(code: &str) -> Vec<String> {
    let mut found = Vec::new();
    for (at, prefix) in code.match_indices("crate::") {
        let rest = &code[at + prefix.len()..];
        let Some(list) = rest.strip_prefix('{') else {
            found.push(word(rest).to_owned());
            continue;
        };
        let (mut depth, mut first) = (0, true);
        for (i, c) in list.char_indices() {
            match c {
                '{' => depth += 1,
                '}' if depth == 0 => break,
                '}' => depth -= 1,
                ',' if depth == 0 => first = true,
                c if first && depth == 0 && !c.is_whitespace() => {
                    found.push(word(&list[i..]).to_owned());
                    first = false;
                }
                _ => {}
            }
        }
    }
    found
}

/// Which module each name at the root of the crate comes from.
fn root(lib: &str) -> BTreeMap<String, String> {
    let mut names = BTreeMap::new();
    for statement in code(lib).split(';') {
        let statement = statement.trim();
        let Some((_, path)) = statement.split_once("pub use ") else {
            continue;
        };
        let Some((module, items)) = path.split_once("::") else {
            continue;
        };
        let items = items.trim_matches(|c| c == '{' || c == '}');
        for item in items.split(',') {
            names.insert(item.trim().to_owned(), module.to_owned());
        }
    }
    names
}

fn graph(src: &Path) -> Graph {
    let lib = fs::read_to_string(src.join("lib.rs")).expect("lib.rs");
    let names = root(&lib);
    let modules: BTreeSet<String> = code(&lib)
        .split("mod ")
        .skip(1)
        .map(|rest| word(rest).to_owned())
        .collect();
    let mut graph = Graph::new();
    for module in &modules {
        let mut sources = Vec::new();
        let (file, dir) = (src.join(format!("{module}.rs")), src.join(module));
        sources.extend(file.is_file().then_some(file));
        if dir.is_dir() {
            files(&dir, &mut sources);
        }
        assert!(!sources.is_empty(), "no source of {module}");
        let used = graph.entry(module.clone()).or_default();
        for source in sources {
            let text = fs::read_to_string(&source).expect("source");
            for segment in segments(&code(&text)) {
                let target = names.get(&segment).unwrap_or(&segment);
                if target != module && modules.contains(target) {
                    used.insert(target.clone());
                }
            }
        }
    }
    graph
}

/// Modules that lead back to themselves.
fn cycles(graph: &Graph) -> Vec<&String> {
    let back = |start: &&String| {
        let (mut seen, mut open) = (BTreeSet::new(), vec![*start]);
        while let Some(module) = open.pop() {
            open.extend(graph[module].iter().filter(|m| seen.insert(*m)));
        }
        seen.contains(start)
    };
    graph.keys().filter(back).collect()
}

#[test]
fn modules_have_no_cycles() {
    let graph = graph(&Path::new(env!("CARGO_MANIFEST_DIR")).join("src"));
    for (module, used) in &graph {
        let used: Vec<&str> = used.iter().map(String::as_str).collect();
        println!("{module} -> {}", used.join(", "));
    }
    // What this test reads has the modules and arrows that everybody can see.
    assert!(graph["node"].contains("membership") && graph["wire"].contains("mutex"));
    assert!(graph["rng"].contains("hash"));
    let cycles = cycles(&graph);
    assert!(
        cycles.is_empty(),
        "modules that need themselves: {cycles:?}"
    );
}

#[test]
fn a_cycle_is_found_however_it_is_written() {
    let mut graph = Graph::new();
    for (module, text) in [
        ("a", "use crate::{\n    b::{X, Y},\n    c,\n};"),
        (
            "b",
            "// crate::a is only mentioned\nfn f(x: crate::c::Z) {}",
        ),
        ("c", "#[cfg(test)]\nmod tests {\n    use crate::a;\n}"),
    ] {
        let used = segments(&code(text)).into_iter().collect();
        graph.insert(module.into(), used);
    }
    assert_eq!(graph["a"], ["b", "c"].map(String::from).into());
    assert!(cycles(&graph).is_empty());
    graph.entry("c".into()).or_default().insert("a".into());
    assert_eq!(cycles(&graph).len(), 3);
}
