//! `consort reproduce` as a user meets it: output, errors, exit codes.

use std::path::PathBuf;
use std::process::{Command, Output, Stdio};

fn consort(args: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_consort"));
    command.arg("reproduce").args(args);
    command.output().expect("the binary runs")
}

fn stdout(output: &Output) -> String {
    String::from_utf8_lossy(&output.stdout).into_owned()
}

fn stderr(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

/// A directory of its own; gone when dropped.
struct Dir(PathBuf);

impl Dir {
    fn new(name: &str) -> Dir {
        Dir(std::env::temp_dir().join(format!("consort-{}-{name}", std::process::id())))
    }

    fn path(&self, part: &str) -> String {
        self.0.join(part).to_str().expect("the path is text").into()
    }
}

impl Drop for Dir {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

#[test]
fn the_list_is_json_with_a_rule_for_every_claim() {
    let output = consort(&["--list", "--format", "json"]);
    assert!(output.status.success(), "{}", stderr(&output));
    let list: serde_json::Value = serde_json::from_str(&stdout(&output)).expect("json");
    let claims = list.as_array().expect("an array");
    assert!(claims.len() >= 20);
    for claim in claims {
        for key in [
            "id", "source", "title", "metric", "rule", "foil", "recorded",
        ] {
            assert!(
                claim[key].as_str().is_some_and(|s| !s.is_empty()),
                "{claim}"
            );
        }
        assert!(claim["recorded"] != "differs" || claim["cause"].is_string());
    }
    let table = stdout(&consort(&["--list"]));
    assert_eq!(table.lines().count(), claims.len() + 2);
    let counts = format!("{} claims: ", claims.len());
    assert!(table.lines().last().is_some_and(|l| l.starts_with(&counts)));
}

#[test]
fn the_coverage_names_every_claim_and_says_what_is_missing() {
    let table = consort(&["--coverage"]);
    assert!(table.status.success(), "{}", stderr(&table));
    assert!(stdout(&table).contains("no claim yet"));
    let output = consort(&["--coverage", "--format", "json"]);
    let items: serde_json::Value = serde_json::from_str(&stdout(&output)).expect("json");
    for item in items.as_array().expect("an array") {
        let claims = item["claims"].as_array().expect("ids");
        assert!(!claims.is_empty() || item["missing"] != "", "{item}");
        assert_eq!(
            claims.len(),
            item["recorded"].as_array().expect("verdicts").len()
        );
    }
}

#[test]
fn undecided_claims_get_more_runs_within_the_limit() {
    let run = |more: &[&str]| {
        let output = consort(&[&["election.thm1", "--format", "json"], more].concat());
        assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
        stdout(&output)
    };
    assert_eq!(
        run(&[]),
        run(&["--until-decided"]),
        "what is decided runs once"
    );
    let limit = consort(&["election.thm1", "--until-decided=1"]);
    assert_eq!(limit.status.code(), Some(2), "{}", stdout(&limit));
}

#[test]
fn errors_say_what_to_do() {
    let dir = Dir::new("errors");
    let out = dir.path("out");
    for (args, expected) in [
        (vec!["medley.fig44"], "near: medley.fig4"),
        (vec!["fig9"], "medley.fig9"),
        (vec![], "--all"),
        (vec!["medley.fig3", "--shard", "1/2"], "--out"),
        (vec!["medley.fig3", "--shard", "3/2", "--out", &out], "I/N"),
        (vec!["medley.fig3", "--shard", "x", "--out", &out], "I/N"),
        (vec!["medley.fig3", "--threads", "0"], "--threads"),
        (vec!["medley.fig3", "--quick", "--full"], "cannot be used"),
        (vec!["medley.fig3", "--all"], "cannot be used"),
        (vec!["merge"], "<DIR>"),
        (vec!["merge", "/nonexistent"], "order.json"),
    ] {
        let output = consort(&args);
        let text = stderr(&output);
        assert_eq!(output.status.code(), Some(2), "{args:?}: {text}");
        assert!(text.contains(expected), "{args:?}: {text}");
        assert!(!text.contains("panicked"), "{args:?}: {text}");
    }
}

#[test]
fn shares_merge_to_the_whole_and_leave_a_report() {
    let dir = Dir::new("shares");
    let ids = ["medley.fig3", "medley.thm1", "medley.fig12"];
    let whole = consort(&[&ids[..], &["--out", &dir.path("whole")]].concat());
    assert_eq!(whole.status.code(), Some(0), "{}", stderr(&whole));
    assert!(stdout(&whole).contains("medley.fig3        magnitude"));
    assert!(stdout(&whole).contains("medley.thm1        refuted"));
    assert_eq!(stderr(&whole), "", "no progress bar where nobody looks");
    for share in ["1/2", "2/2"] {
        let to = dir.path(&share.replace('/', "-"));
        let output = consort(&[&ids[..], &["--shard", share, "--out", &to]].concat());
        assert!(output.status.success(), "{}", stderr(&output));
    }
    let parts = [dir.path("1-2"), dir.path("2-2")];
    let merged = consort(&["merge", &parts[0], &parts[1], "--out", &dir.path("merged")]);
    assert!(merged.status.success(), "{}", stderr(&merged));
    assert_eq!(stdout(&merged), stdout(&whole));
    for file in [
        "results.json",
        "report.html",
        "medley.fig12.csv",
        "medley.fig12.svg",
    ] {
        let read = |part: &str| std::fs::read_to_string(dir.path(part)).expect(file);
        let (a, b) = (
            read(&format!("whole/{file}")),
            read(&format!("merged/{file}")),
        );
        match file {
            // Processor time is measured anew.
            "results.json" => assert_eq!(untimed(&a), untimed(&b)),
            _ => assert_eq!(a, b, "{file}"),
        }
        assert!(!a.contains("http://") || file.ends_with("svg") || a.contains("www.w3.org"));
    }
    let missing = consort(&["merge", &parts[0]]);
    assert_eq!(missing.status.code(), Some(2));
    assert!(stderr(&missing).contains("missing"), "{}", stderr(&missing));
}

/// Results without the processor time.
fn untimed(results: &str) -> serde_json::Value {
    let mut all: serde_json::Value = serde_json::from_str(results).expect("json");
    for line in all["summary"].as_array_mut().expect("lines") {
        let seconds = line.as_object_mut().expect("a line").remove("seconds");
        assert!(seconds.is_some_and(|s| s.as_f64() >= Some(0.0)));
    }
    all
}

#[test]
fn three_seeds_put_a_verdict_on_record() {
    let dir = Dir::new("record");
    let run = |seed: &str| {
        let to = dir.path(seed);
        let args = ["medley.fig3", "medley.thm1", "--seed", seed, "--out", &to];
        let output = consort(&args);
        assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
        to
    };
    let seeds = ["7", "8", "9"].map(run);
    let (file, data) = (dir.path("record.json"), dir.path("data"));
    let record = |dirs: &[String]| {
        let dirs: Vec<&str> = dirs.iter().map(String::as_str).collect();
        consort(&[&["record", "--into", &file, "--data", &data], &dirs[..]].concat())
    };
    let none = record(&seeds);
    assert_eq!(none.status.code(), Some(2), "there is no such file");
    std::fs::write(&file, "[]").expect("a file");
    let two = stdout(&record(&seeds[..2]));
    assert!(!two.contains("magnitude"), "two seeds are too few: {two}");
    let three = stdout(&record(&seeds[2..]));
    assert!(three.contains("1 magnitude, 1 refuted"), "{three}");
    let kept = std::fs::read_to_string(&file).expect("a record");
    assert_eq!(kept.matches("medley.thm1").count(), 3, "{kept}");
    let text = std::fs::read_to_string(dir.path("data/medley.fig3.json")).expect("data");
    let data: serde_json::Value = serde_json::from_str(&text).expect("json");
    for (n, seed) in [7, 8, 9].into_iter().enumerate() {
        assert_eq!(data[n]["seed"], seed);
        assert_eq!(data[n]["checks"][0]["value"], 100.0);
    }
    let broken = consort(&["record", "--into", &file, &dir.path("nowhere")]);
    assert_eq!(broken.status.code(), Some(2));
    assert_eq!(std::fs::read_to_string(&file).expect("a record"), kept);
}

#[test]
fn a_closed_pipe_is_success() {
    let mut child = Command::new(env!("CARGO_BIN_EXE_consort"))
        .args(["reproduce", "--list", "--format", "json"])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("the binary runs");
    drop(child.stdout.take());
    let output = child.wait_with_output().expect("it ends");
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    assert_eq!(stderr(&output), "");
}
