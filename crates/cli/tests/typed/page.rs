//! Blocks of commands and of settings on a page.

/// Lines that belong together.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Block {
    /// Where it begins, counted from 1.
    pub(crate) line: usize,
    pub(crate) lines: Vec<String>,
    /// Settings of an agent, not commands.
    pub(crate) settings: bool,
    pub(crate) skip: bool,
    /// On a machine where no agent runs.
    pub(crate) elsewhere: bool,
    /// On a machine where `consort up` runs.
    pub(crate) lab: bool,
    /// In a group of five of which the third has failed.
    pub(crate) five: bool,
    /// In a terminal.
    pub(crate) terminal: bool,
    pub(crate) until: Option<String>,
    /// It is interrupted soon after it began.
    pub(crate) moment: bool,
}

/// What a comment right before a block says about it.
fn mark(line: &str) -> Option<Block> {
    let text = line.strip_prefix("<!-- ")?.strip_suffix(" -->")?;
    if text.starts_with("not typed: ") {
        return Some(Block {
            skip: true,
            ..Block::default()
        });
    }
    let mut rest = text.strip_prefix("typed")?;
    let mut says = |words: &str| match rest.strip_prefix(words) {
        Some(after) => {
            rest = after;
            true
        }
        None => false,
    };
    let elsewhere = says(" elsewhere");
    let lab = says(" in the lab");
    let five = says(" in a group of five");
    let terminal = says(" in a terminal");
    let moment = says(" for a moment: ");
    let until = rest.strip_prefix(" until ").map(str::to_owned);
    let understood = moment && !rest.is_empty() || until.is_some() || rest.is_empty();
    assert!(understood, "not understood: {line}");
    Some(Block {
        elsewhere,
        lab,
        five,
        terminal,
        until,
        moment,
        ..Block::default()
    })
}

/// All blocks of a page, those that are not typed included.
pub(crate) fn blocks(page: &str) -> Vec<Block> {
    let mut found = Vec::new();
    let mut block: Option<Block> = None;
    let mut marked: Option<Block> = None;
    // The language of the fence that is open, and whether an indented line would begin a block.
    let mut fence: Option<&str> = None;
    let mut blank = true;
    for (index, line) in page.lines().enumerate() {
        if let Some(language) = fence {
            if line.trim() == "```" {
                fence = None;
                found.extend(block.take());
            } else if matches!(language, "sh" | "toml") {
                let block = block.get_or_insert_with(|| Block {
                    line: index + 1,
                    settings: language == "toml",
                    ..marked.take().unwrap_or_default()
                });
                block.lines.push(line.to_owned());
            }
            continue;
        }
        if let Some(language) = line.strip_prefix("```") {
            fence = Some(language);
            continue;
        }
        match line.strip_prefix("    ") {
            Some(text) if blank || block.is_some() => {
                let block = block.get_or_insert_with(|| Block {
                    line: index + 1,
                    ..marked.take().unwrap_or_default()
                });
                block.lines.push(text.to_owned());
                continue;
            }
            _ => found.extend(block.take()),
        }
        blank = line.is_empty();
        if !blank {
            // A comment counts for the block that follows, with nothing but empty lines between.
            marked = mark(line);
        }
    }
    found.extend(block);
    found
}

#[test]
fn blocks_are_found_with_what_is_said_about_them() {
    let page = "\
Text:

    consort members
    consort leader gateway

<!-- typed elsewhere until others join -->

    consort agent

<!-- not typed: another machine -->

Text between.

    consort locks

<!-- not typed: a reason -->

```sh
consort up
```

- a list
    that goes on

```toml
[lock]
```";
    let found = blocks(page);
    let told: Vec<_> = found
        .iter()
        .map(|b| (b.line, b.lines.len(), b.skip, b.elsewhere, b.settings))
        .collect();
    assert_eq!(
        told,
        [
            (3, 2, false, false, false),
            (8, 1, false, true, false),
            (14, 1, false, false, false),
            (19, 1, true, false, false),
            (26, 1, false, false, true),
        ]
    );
    assert_eq!(found[1].until.as_deref(), Some("others join"));
}
