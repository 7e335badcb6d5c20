//! The screen on a terminal in memory, at the sizes that people have.

use super::feed::Update;
use super::text::clean;
use super::*;
use core::time::Duration;
use ratatui::Terminal;
use ratatui::backend::TestBackend;
use ratatui::crossterm::event::{KeyCode, KeyEvent, KeyModifiers};
use ratatui::style::Modifier;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};
use std::time::Instant;

const THEME: Theme = Theme {
    colour: true,
    ascii: false,
};

pub(super) fn take<T: DeserializeOwned>(mut value: Value) -> T {
    clean(&mut value);
    serde_json::from_value(value).unwrap()
}

pub(super) fn member(n: usize, name: &str, status: &str) -> Value {
    json!({
        "name": name, "id": format!("{n:016x}"), "status": status, "address": format!("10.0.0.{n}:7717"),
        "life": 1, "incarnation": 0, "tags": {"zone": "yard"}, "rtt_us": 140, "health_percent": 100,
        "suspicions": 0, "refutations": 0, "accuser": (status != "alive").then(|| format!("{:016x}", 4)),
        "since_ms": if status == "failed" { 1200 } else { 31_000 }, "self": n == 1,
    })
}

fn leader(n: usize) -> Value {
    json!({
        "name": "", "id": format!("{n:016x}"), "address": null, "life": 1, "token": "7", "term": 7,
        "stage": "confirmed", "degraded": false, "self": false,
    })
}

/// Five members: the second leads, the fourth holds a lock that two wait for, the fifth has failed.
pub(super) fn five() -> (Model, Instant) {
    let now = Instant::now();
    let mut model = Model::new("http://127.0.0.1:7718".to_owned(), now);
    let names = ["node-1", "node-2", "node-3", "node-4", "node-5"];
    let members = names
        .iter()
        .enumerate()
        .map(|(i, name)| member(i + 1, name, if i == 4 { "failed" } else { "alive" }));
    let members: Value = members.collect();
    let mut this = members[0].clone();
    this["group"] = json!("yard-fleet");
    this["members"] = json!({});
    this["version"] = json!("0.1.0");
    this["uptime_ms"] = json!(31_000);
    model.take_this(take(this), now);
    let term = |n: usize, until: Option<u64>, ended: Option<&str>| {
        json!({
            "name": "", "id": format!("{n:016x}"), "token": "7", "term": 7, "from_ms": 1, "until_ms": until,
            "ended": ended, "partly": false,
        })
    };
    let election = json!([{
        "name": "leader", "id": "00000001", "leader": leader(2), "vacant": false, "role": "member", "acting": null,
        "valid_for_ms": 0, "grace_ms": 0, "electing": false, "churn": null,
        "candidates": [{
            "name": "node-2", "id": format!("{:016x}", 2), "class": 0, "attribute": 0, "compared": "leads",
            "settled": true, "suspect": false,
        }],
        "terms": [term(5, Some(2), Some("failed")), term(2, None, None)], "node": "1", "node_name": "node-1",
    }]);
    model.take_elections(take(election), now);
    let contender = |n: usize, held: bool| {
        json!({
            "name": "", "id": format!("{n:016x}"), "life": 1, "mode": "exclusive", "held": held, "token": "00ab",
            "left_ms": 7400, "behind": 0, "own_word": true, "waited_ms": (!held).then_some(3000),
        })
    };
    let locks = json!({
        "locks": [{
            "name": "demo", "id": "1", "held": true, "waiting": 2,
            "contenders": [contender(4, true), contender(2, false), contender(3, false)],
        }],
        "readiness": {"synced": true, "mature": true, "matures_in_ms": 0},
        "defaults": {"ttl_ms": 10_000, "bound": "observed", "memory_ms": 0},
    });
    model.take_locks(take(locks), now);
    model.take_members(take(members), now);
    for (seq, cause, at, event, reason) in [
        (1, None, 1000, "suspected", ""),
        (2, Some(1), 3000, "down", "failed"),
        (3, Some(2), 3200, "leader_changed", ""),
    ] {
        let view = json!({
            "seq": seq, "cause": cause, "at_ms": at, "event": event, "reason": reason, "election": "leader",
            "member": member(5, "node-5", "failed"), "by": format!("{:016x}", 4), "leader": leader(2),
        });
        model.take_event(&take(view));
    }
    (model, now)
}

fn shown(model: &Model, ui: &Ui, columns: u16, lines: u16, now: Instant) -> Terminal<TestBackend> {
    let mut terminal = Terminal::new(TestBackend::new(columns, lines)).unwrap();
    let drawn = terminal.draw(|frame| draw(frame, model, ui, &[], now));
    drawn.unwrap();
    terminal
}

fn lines(terminal: &Terminal<TestBackend>) -> Vec<String> {
    let buffer = terminal.backend().buffer();
    let rows = buffer.content().chunks(buffer.area().width.into());
    rows.map(|row| {
        row.iter()
            .map(|cell| cell.symbol())
            .collect::<String>()
            .trim_end()
            .to_owned()
    })
    .collect()
}

fn screen(model: &Model, ui: &Ui, columns: u16, height: u16, now: Instant) -> Vec<String> {
    lines(&shown(model, ui, columns, height, now))
}

fn press(ui: &mut Ui, model: &Model, code: KeyCode) -> Reaction {
    ui.key(
        KeyEvent::new(code, KeyModifiers::NONE),
        model,
        Instant::now(),
    )
}

#[test]
fn eighty_columns_show_all_that_matters() {
    let (model, now) = five();
    let ui = Ui::new(THEME, Sort::Trouble);
    let text = screen(&model, &ui, 80, 24, now);
    assert_eq!(text.len(), 24);
    let expected =
        [" yard-fleet  http://127.0.0.1:7718           ● 4 alive  ▲ 0 suspect  ✕ 1 failed  0:31"];
    assert_eq!(
        text[0].split_whitespace().collect::<Vec<_>>(),
        expected[0].split_whitespace().collect::<Vec<_>>()
    );
    assert_eq!(
        text[1],
        " ▲ node-5 failed 1 s ago. node-2 took over leader."
    );
    assert!(
        text[4].contains("NODE") && text[4].contains("LOCKS"),
        "{text:#?}"
    );
    assert_eq!(
        text[5],
        " ▶ node-5  ✕ failed       0:01         -            by node-4"
    );
    let row = |name: &str| {
        text.iter()
            .find(|l| l.trim_start().starts_with(name))
            .unwrap()
            .clone()
    };
    assert!(
        row("node-2").contains("♛ leader  waits demo, 1st"),
        "{text:#?}"
    );
    assert!(row("node-3").contains("waits demo, 2nd"), "{text:#?}");
    assert!(
        row("node-4").contains("holds demo ██████│█░░ 7.4 s"),
        "{text:#?}"
    );
    let story: Vec<&String> = text.iter().filter(|l| l.starts_with(" 00:00:0")).collect();
    assert_eq!(*story[0], " 00:00:01.0  ▲ node-5 suspected by node-4");
    assert!(
        story[1].starts_with(" 00:00:03.0  └─ ✕ node-5 failed"),
        "{text:#?}"
    );
    assert!(story[1].ends_with("+2.0 s"), "{text:#?}");
    assert!(
        story[2].starts_with(" 00:00:03.2     └─ ♛ node-2 leads leader"),
        "{text:#?}"
    );
    assert!(
        text[22].contains("q quit") || text[23].contains("q quit"),
        "{text:#?}"
    );
}

#[test]
fn two_hundred_columns_have_addresses_tags_and_events_beside() {
    let (model, now) = five();
    let text = screen(&model, &Ui::new(THEME, Sort::Name), 200, 50, now);
    assert!(
        text[4].contains("ADDRESS") && text[4].contains("TAGS"),
        "{text:#?}"
    );
    assert!(text[4].contains("──events"), "{text:#?}");
    let row = &text[5];
    assert!(
        row.contains("10.0.0.1:7717") && row.contains("zone=yard"),
        "{text:#?}"
    );
    assert!(row.contains("node-5 suspected by node-4"), "{text:#?}");
    assert!(text[0].contains("as node-1 sees it"), "{text:#?}");
}

#[test]
fn every_view_is_drawn_at_any_size() {
    let (mut model, now) = five();
    for _ in 0..80 {
        let more = member(model.members.len() + 1, &"長い名前".repeat(40), "suspect");
        model.members.push(take(more));
    }
    let mut ui = Ui::new(THEME, Sort::Trouble);
    for (help, details) in [(false, false), (true, false), (false, true)] {
        for view in ['1', '2', '3', '4'] {
            press(&mut ui, &model, KeyCode::Char(view));
            (ui.help, ui.details) = (help, details);
            for (columns, height) in [
                (1, 1),
                (39, 24),
                (40, 10),
                (80, 24),
                (81, 11),
                (119, 30),
                (120, 12),
                (200, 50),
            ] {
                screen(&model, &ui, columns, height, now);
            }
        }
    }
}

#[test]
fn a_help_that_does_not_fit_is_scrolled() {
    let (model, now) = five();
    let mut ui = Ui::new(THEME, Sort::Trouble);
    press(&mut ui, &model, KeyCode::Char('?'));
    let text = |ui: &Ui| screen(&model, ui, 80, 12, now).join("\n");
    assert!(text(&ui).contains("more") && !text(&ui).contains("closes this"));
    press(&mut ui, &model, KeyCode::End);
    assert!(text(&ui).contains("closes this") && !text(&ui).contains(" more"));
    press(&mut ui, &model, KeyCode::Char('2'));
    assert!(!ui.help, "a view is looked at");
}

#[test]
fn names_of_strangers_are_text() {
    let (mut model, now) = five();
    let hostile = "\u{1b}[2J\u{1b}]0;x\u{7}\u{202e}evil\n";
    let members = json!([member(1, "node-1", "alive"), member(2, hostile, "alive")]);
    Update::Members(take(members)).apply(&mut model);
    let long = json!([member(3, &"m".repeat(512), "alive")]);
    model.members.extend(take::<Vec<_>>(long));
    let text = screen(&model, &Ui::new(THEME, Sort::Name), 80, 24, now).join("\n");
    assert!(
        text.contains("\u{fffd}[2J\u{fffd}]0;x\u{fffd}\u{fffd}evil"),
        "{text}"
    );
    let steering = |c: char| c.is_control() && c != '\n' || c == '\u{202e}';
    assert!(!text.contains(steering), "{text}");
    assert!(text.contains("mmm…mmm"), "{text}");
}

#[test]
fn a_silent_agent_is_told_of_and_what_it_said_stays() {
    let (mut model, now) = five();
    let later = now + Duration::from_secs(7);
    model.lose(
        "connection refused".to_owned(),
        Duration::from_secs(2),
        later,
    );
    let text = screen(&model, &Ui::new(THEME, Sort::Name), 80, 24, later);
    assert_eq!(
        text[1],
        " ▲ No answer from the agent for 7 s: connection refused."
    );
    assert_eq!(text[2], "   Below is what it said last. Next try in 2 s.");
    let row = text.iter().find(|l| l.contains("node-4 ")).unwrap();
    assert!(row.contains("7.4 s"), "leases stand still: {row}");
    Update::Members(Vec::new()).apply(&mut model);
    assert!(!model.is_away());
}

#[test]
fn keys_choose_filter_order_and_quit() {
    let (model, now) = five();
    let mut ui = Ui::new(THEME, Sort::Name);
    let names = |ui: &Ui| -> Vec<String> {
        ui.rows(&model, now)
            .iter()
            .map(|m| m.name.clone())
            .collect()
    };
    assert_eq!(names(&ui)[0], "node-1");
    press(&mut ui, &model, KeyCode::Down);
    press(&mut ui, &model, KeyCode::Down);
    let chosen = |ui: &Ui| ui.chosen(&ui.rows(&model, now)).unwrap().1.name.clone();
    assert_eq!(chosen(&ui), "node-3");
    for _ in 0..3 {
        press(&mut ui, &model, KeyCode::Char('o'));
    }
    assert_eq!(ui.sort, Sort::Trouble);
    assert_eq!(names(&ui)[0], "node-5");
    assert_eq!(chosen(&ui), "node-3", "it stays chosen");
    press(&mut ui, &model, KeyCode::Char('/'));
    for c in "q5".chars() {
        assert_eq!(
            press(&mut ui, &model, KeyCode::Char(c)),
            Reaction::Done,
            "typed, not obeyed"
        );
    }
    assert!(names(&ui).is_empty());
    press(&mut ui, &model, KeyCode::Esc);
    assert_eq!(names(&ui).len(), 5);
    press(&mut ui, &model, KeyCode::Char('/'));
    press(&mut ui, &model, KeyCode::Char('5'));
    press(&mut ui, &model, KeyCode::Enter);
    assert_eq!(
        chosen(&ui),
        "node-5",
        "the chosen one is hidden: the first is"
    );
    assert_eq!(
        press(&mut ui, &model, KeyCode::Char('k')),
        Reaction::Unused('k')
    );
    assert_eq!(press(&mut ui, &model, KeyCode::Char('q')), Reaction::Quit);
    let control_c = KeyEvent::new(KeyCode::Char('c'), KeyModifiers::CONTROL);
    assert_eq!(ui.key(control_c, &model, now), Reaction::Quit);
    let control_k = KeyEvent::new(KeyCode::Char('k'), KeyModifiers::CONTROL);
    assert_eq!(ui.key(control_k, &model, now), Reaction::Done, "not k");
}

#[test]
fn a_long_list_scrolls_with_the_chosen_member_in_sight() {
    let (mut model, now) = five();
    let many: Value = (1..=300)
        .map(|n| member(n, &format!("robot-{n}"), "alive"))
        .collect();
    model.take_members(take(many), now);
    let mut ui = Ui::new(THEME, Sort::Name);
    press(&mut ui, &model, KeyCode::End);
    let drawn = shown(&model, &ui, 80, 24, now);
    let row = lines(&drawn)
        .iter()
        .position(|l| l.contains("robot-300 "))
        .unwrap();
    let cell = &drawn.backend().buffer()[(4, row as u16)];
    assert!(cell.modifier.contains(Modifier::REVERSED));
    assert!(lines(&drawn).iter().any(|l| l.contains("more (")));
}
