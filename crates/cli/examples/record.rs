//! Records a program at a terminal of 80 by 24 as an animated SVG.
//!
//!     cargo run --example record -p consort-cli -- docs/failover.svg 56 \
//!         "$PWD/target/debug/consort" up --scene failover
//!
//! plays the program for 56 seconds and presses q at the end. Text that stays where it is is written once, with the
//! times between which it is seen.
#![allow(
    clippy::std_instead_of_alloc,
    reason = "a program needs std; naming alloc would tell nothing"
)]

use core::error::Error;
use core::fmt::Write as _;
use core::num::NonZero;
use core::time::Duration;
use portable_pty::{CommandBuilder, PtySize, native_pty_system};
use std::collections::BTreeMap;
use std::io::{Read, Write};
use std::sync::{Arc, Mutex};
use std::time::Instant;
use vt100::{Color, Parser};

const COLUMNS: u16 = 80;
const LINES: u16 = 24;

/// Size of a character and of the margin, in units of the picture.
const WIDTH: f64 = 8.4;
const HEIGHT: f64 = 18.0;
const MARGIN: f64 = 12.0;

/// Time between two looks.
const LOOK: Duration = Duration::from_millis(250);

/// How long the last look stays before the recording starts again.
const REST: f64 = 4.0;

/// Text of one style at one place.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Piece {
    line: u16,
    column: u16,
    text: String,
    class: String,
}

/// When the terminal was looked at, in seconds, and what was seen.
type Look = (f64, Vec<Piece>);

fn main() -> Result<(), Box<dyn Error>> {
    let mut args = std::env::args().skip(1);
    let usage = "usage: record FILE SECONDS PROGRAM [ARGUMENT ...]";
    let file = args.next().ok_or(usage)?;
    let seconds: f64 = args.next().ok_or(usage)?.parse()?;
    let program = args.next().ok_or(usage)?;
    let looks = record(&program, args, seconds)?;
    let picture = draw(&looks, seconds);
    std::fs::write(&file, &picture)?;
    println!("{file}: {} looks, {} kB", looks.len(), picture.len() / 1000);
    Ok(())
}

/// What the terminal showed, look by look.
fn record(
    program: &str,
    args: impl Iterator<Item = String>,
    seconds: f64,
) -> Result<Vec<Look>, Box<dyn Error>> {
    let size = PtySize {
        rows: LINES,
        cols: COLUMNS,
        ..PtySize::default()
    };
    let pair = native_pty_system().openpty(size)?;
    let mut command = CommandBuilder::new(program);
    command.args(args);
    command.cwd(std::env::current_dir()?);
    command.env("TERM", "xterm-256color");
    command.env("LC_ALL", "C.UTF-8");
    let mut child = pair.slave.spawn_command(command)?;
    let mut keys = pair.master.take_writer()?;
    let mut output = pair.master.try_clone_reader()?;
    let [lines, columns] = [LINES, COLUMNS].map(|n| NonZero::new(n).unwrap_or(NonZero::<u16>::MIN));
    let parser = Arc::new(Mutex::new(Parser::new(lines, columns, 0)));
    let writes = Arc::clone(&parser);
    std::thread::spawn(move || {
        let mut some = [0; 4096];
        while let Ok(n @ 1..) = output.read(&mut some) {
            if let Ok(mut parser) = writes.lock() {
                parser.process(&some[..n]);
            }
        }
    });
    let start = Instant::now();
    let mut looks = Vec::new();
    while start.elapsed().as_secs_f64() < seconds {
        std::thread::sleep(LOOK);
        let at = start.elapsed().as_secs_f64();
        let seen = pieces(parser.lock().map_err(|_| "the reader failed")?.screen());
        looks.push((at, seen));
    }
    keys.write_all(b"q")?;
    keys.flush()?;
    child.wait()?;
    Ok(looks)
}

/// The screen cut into pieces: where the style changes, and at two spaces, so that a number that
/// changes takes nothing else with it.
fn pieces(screen: &vt100::Screen) -> Vec<Piece> {
    let mut pieces: Vec<Piece> = Vec::new();
    for line in 0..LINES {
        let mut open: Option<Piece> = None;
        let mut blank = 0;
        for column in 0..COLUMNS {
            let Some(cell) = screen
                .cell(line, column)
                .filter(|c| !c.is_wide_continuation())
            else {
                continue;
            };
            let symbol = if cell.has_contents() {
                cell.contents()
            } else {
                " "
            };
            let class = class(cell);
            let plain = symbol == " " && !cell.inverse();
            blank = if plain { blank + 1 } else { 0 };
            let ends = open.as_ref().is_some_and(|p| p.class != class) || blank >= 2;
            if ends {
                pieces.extend(open.take().map(trimmed));
            }
            match &mut open {
                Some(piece) => piece.text.push_str(symbol),
                None if plain => {}
                None => {
                    open = Some(Piece {
                        line,
                        column,
                        text: symbol.to_owned(),
                        class,
                    });
                }
            }
        }
        pieces.extend(open.map(trimmed));
    }
    pieces
}

/// Without spaces at the end that cannot be seen.
fn trimmed(mut piece: Piece) -> Piece {
    if !piece.class.contains('v') {
        piece.text.truncate(piece.text.trim_end().len());
    }
    piece
}

fn class(cell: &vt100::Cell) -> String {
    let mut class = String::new();
    if let Color::Idx(n @ 1..=6) = cell.fgcolor() {
        let _ = write!(class, "c{n} ");
    }
    for (so, name) in [
        (cell.bold(), "b "),
        (cell.dim(), "d "),
        (cell.inverse(), "v "),
    ] {
        if so {
            class.push_str(name);
        }
    }
    class.trim_end().to_owned()
}

const STYLE: &str = "\
text{font:14px 'DejaVu Sans Mono',Menlo,'Liberation Mono',Consolas,monospace;fill:#d7dbe3;white-space:pre}\
.b{font-weight:700}.d{fill:#8b93a3}.c1{fill:#ff8087}.c2{fill:#45cb9d}.c3{fill:#f2b84b}.c4{fill:#8db0ff}\
.c5{fill:#bda3ff}.c6{fill:#72bdf7}.h{fill:#2c3442}";

fn draw(looks: &[Look], seconds: f64) -> String {
    // When each piece is seen: from, until.
    let mut seen: BTreeMap<&Piece, Vec<(f64, f64)>> = BTreeMap::new();
    for (i, (at, pieces)) in looks.iter().enumerate() {
        let until = looks.get(i + 1).map_or(seconds + REST, |(next, _)| *next);
        for piece in pieces {
            let times = seen.entry(piece).or_default();
            match times.last_mut() {
                Some((_, end)) if *end == *at => *end = until,
                _ => times.push((*at, until)),
            }
        }
    }
    let width = f64::from(COLUMNS) * WIDTH + 2.0 * MARGIN;
    let height = f64::from(LINES) * HEIGHT + 2.0 * MARGIN;
    let all = seconds + REST;
    let mut svg = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {width} {height}\" role=\"img\" \
         aria-label=\"consort up in a terminal\"><style>{STYLE}</style>\
         <rect width=\"100%\" height=\"100%\" rx=\"8\" fill=\"#151920\">\
         <animate id=\"m\" attributeName=\"x\" from=\"0\" to=\"0\" dur=\"{all:.2}s\" begin=\"0s;m.end\"/></rect>\n"
    );
    for (piece, times) in seen {
        let x = MARGIN + f64::from(piece.column) * WIDTH;
        let y = MARGIN + f64::from(piece.line) * HEIGHT;
        let columns = piece.text.chars().count() as f64;
        // Text keeps its columns whatever the font is.
        let length = match columns > 2.0 {
            true => format!(" textLength=\"{:.1}\"", columns * WIDTH),
            false => String::new(),
        };
        let begins: Vec<String> = times
            .iter()
            .map(|(from, _)| format!("m.begin+{from:.2}s"))
            .collect();
        let still = times.len() == 1 && times[0].0 <= looks[0].0 && times[0].1 >= all;
        let (hidden, shows) = match still {
            true => ("", String::new()),
            false => {
                // All spans of one piece need not last equally long: one element each.
                let each = begins.iter().zip(times).map(|(begin, (from, until))| {
                    format!(
                        "<set attributeName=\"visibility\" to=\"visible\" begin=\"{begin}\" dur=\"{:.2}s\"/>",
                        until - from
                    )
                });
                (" visibility=\"hidden\"", each.collect())
            }
        };
        let inverse = piece.class.contains('v');
        let class = match piece.class.is_empty() {
            true => String::new(),
            false => format!(" class=\"{}\"", piece.class),
        };
        let behind = match inverse {
            true => format!(
                "<rect class=\"h\" x=\"{x:.1}\" y=\"{y:.1}\" width=\"{:.1}\" height=\"{HEIGHT}\"{hidden}>{shows}</rect>",
                columns * WIDTH
            ),
            false => String::new(),
        };
        let _ = writeln!(
            svg,
            "{behind}<text x=\"{x:.1}\" y=\"{:.1}\"{length}{class}{hidden}>{}{shows}</text>",
            y + 13.5,
            escaped(&piece.text)
        );
    }
    svg.push_str("</svg>\n");
    svg
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;")
        .replace('<', "&lt;")
        .replace('>', "&gt;")
}
