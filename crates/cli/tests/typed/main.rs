//! What the pages tell to type is typed: every command of README.md and docs/*.md runs against real agents.
//!
//! A block of commands is indented by four spaces, or fenced as `sh`; blocks fenced as `toml` are settings that an agent
//! has to accept. Each line is given to a shell as it stands, but for places that belong to a machine ([`Machine::place`]).
//! It has to succeed. A comment right before the block says what is different about it:
//!
//! - `<!-- not typed: WHY -->`: the block is skipped.
//! - `<!-- typed until TEXT -->`: a line that prints TEXT is interrupted and the next one typed; one line has to print it.
//! - `<!-- typed for a moment: WHY -->`: a line that still runs after a second has been taken, and is interrupted.
//! - `<!-- typed elsewhere -->`, `<!-- typed in the lab -->`, `<!-- typed in a group of five -->`: on a machine where no agent
//!   runs, where `consort up` does, or where one of five agents has failed.
//! - `<!-- typed in a terminal until TEXT -->`: with a terminal.
//!
//! These can be combined in this order: place, terminal, and for how long.
#![allow(
    clippy::std_instead_of_alloc,
    reason = "tests need std; naming alloc would tell nothing"
)]

#[path = "../common/mod.rs"]
mod common;
mod machine;
mod page;

use machine::Machine;
use page::{Block, blocks};
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Mutex;

/// Pages that are typed at a time, each on machines of its own.
const WORKERS: usize = 4;

fn pages() -> Vec<PathBuf> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let docs = fs::read_dir(root.join("docs")).unwrap();
    let mut pages: Vec<PathBuf> = docs
        .map(|f| f.unwrap().path())
        .filter(|p| p.extension().is_some_and(|e| e == "md"))
        .collect();
    pages.push(root.join("README.md"));
    pages.sort();
    pages
}

/// Types the blocks of a page, in order, in one directory. Says what went wrong.
fn type_page(name: &str, blocks: &[Block]) -> Vec<String> {
    let machine = Machine::new();
    let here = blocks
        .iter()
        .any(|b| !b.elsewhere && !b.lab && !b.five && !b.settings);
    let group = here.then(|| machine.group());
    let mut wrong = Vec::new();
    for block in blocks {
        let typed = if block.settings {
            machine.check_settings(block)
        } else {
            let other = match (block.lab, block.five) {
                (true, _) => Some(machine.lab()),
                (_, true) => Some(machine.five()),
                _ => None,
            };
            machine.type_block(block, other.as_ref().or(group.as_ref()))
        };
        if let Err(why) = typed {
            wrong.push(format!("{name}:{}: {why}", block.line));
        }
    }
    wrong
}

#[test]
fn every_command_of_the_pages_works_as_printed() {
    let mut todo = Vec::new();
    let mut commands = 0;
    for page in pages() {
        let text = fs::read_to_string(&page).unwrap();
        let name = page.file_name().unwrap().to_str().unwrap().to_owned();
        let typed: Vec<Block> = blocks(&text).into_iter().filter(|b| !b.skip).collect();
        commands += typed.iter().map(|b| b.lines.len()).sum::<usize>();
        if !typed.is_empty() {
            todo.push((name, typed));
        }
    }
    assert!(commands > 40, "only {commands} commands were found");
    // The longest first, so that none is left over at the end.
    todo.sort_by_key(|(_, blocks)| blocks.iter().map(|b| b.lines.len()).sum::<usize>());
    let todo = Mutex::new(todo);
    let wrong = Mutex::new(Vec::new());
    std::thread::scope(|scope| {
        for _ in 0..WORKERS {
            scope.spawn(|| {
                loop {
                    let next = todo.lock().unwrap().pop();
                    let Some((name, blocks)) = next else { break };
                    let found = type_page(&name, &blocks);
                    wrong.lock().unwrap().extend(found);
                }
            });
        }
    });
    let wrong = wrong.into_inner().unwrap();
    assert!(wrong.is_empty(), "{}", wrong.join("\n\n"));
}
