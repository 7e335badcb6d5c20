//! `consort sim` as a user meets it: output, errors, exit codes.

use std::io::Read;
use std::process::{Command, Output, Stdio};

fn consort(args: &[&str]) -> Output {
    let binary = env!("CARGO_BIN_EXE_consort");
    let mut command = Command::new(binary);
    command.arg("sim").args(args);
    command.output().expect("the binary runs")
}

fn stdout(output: &Output) -> String {
    String::from_utf8_lossy(&output.stdout).into_owned()
}

fn stderr(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

/// Positions in a file of its own; gone when dropped.
struct File(std::path::PathBuf);

impl File {
    fn new(name: &str, text: &str) -> File {
        let path = std::env::temp_dir().join(format!("consort-{}-{name}", std::process::id()));
        std::fs::write(&path, text).expect("a temporary file can be written");
        File(path)
    }

    fn path(&self) -> &str {
        self.0.to_str().expect("the path is text")
    }
}

impl Drop for File {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.0);
    }
}

#[test]
fn json_is_the_same_twice_and_with_other_threads_and_has_its_keys() {
    let args = "membership --nodes 49 --topology random --seed 7 --runs 3 --format json";
    let args: Vec<&str> = args.split(' ').collect();
    let first = consort(&args);
    assert!(first.status.success(), "{}", stderr(&first));
    assert_eq!(stdout(&first), stdout(&consort(&args)));
    let threads = consort(&[&args[..], &["--threads", "1"]].concat());
    assert_eq!(stdout(&first), stdout(&threads));
    let value: serde_json::Value = serde_json::from_str(&stdout(&first)).expect("one object");
    for key in ["first_detection", "dissemination"] {
        for part in ["mean", "p50", "p95", "p99", "max"] {
            assert!(value[key][part].is_f64(), "{key}.{part}");
        }
    }
    for key in ["nodes", "runs", "seed", "messages", "hop_messages", "bytes"] {
        assert!(value[key].is_u64(), "{key}");
    }
    assert_eq!(value["false_positives"].as_u64(), Some(0));
    assert_eq!(value["undetected"].as_u64(), Some(0));
    assert_eq!(value["trace_hash"].as_str().map(str::len), Some(16));
}

#[test]
fn nothing_detected_is_null() {
    let args = "membership --failures 0 --duration 200 --format json";
    let args: Vec<&str> = args.split(' ').collect();
    let value: serde_json::Value = serde_json::from_str(&stdout(&consort(&args))).expect("json");
    assert!(value["first_detection"]["mean"].is_null());
}

#[test]
fn a_protocol_stands_for_its_settings() {
    let common = [
        "membership",
        "--nodes",
        "12",
        "--duration",
        "800",
        "--format",
        "json",
    ];
    let run = |more: &[&str]| {
        let output = consort(&[&common[..], more].concat());
        assert!(output.status.success(), "{}", stderr(&output));
        stdout(&output)
    };
    let paper = |more: &[&str]| run(&[&["--profile", "paper"], more].concat());
    let medley = run(&["--protocol", "medley"]);
    assert_eq!(medley, paper(&["--exponent", "3"]));
    assert_eq!(run(&["--protocol", "swim"]), paper(&["--exponent", "0"]));
    let both = ["--exponent", "3", "--feedback", "both"];
    assert_eq!(run(&["--protocol", "medley-f"]), paper(&both));
    // Without a choice it is what users deploy.
    assert_eq!(run(&["--protocol", "product"]), run(&[]));
    // What is given by itself counts.
    assert_eq!(medley, run(&["--protocol", "swim", "--exponent", "3"]));
    let twice = consort(&["membership", "--protocol", "swim", "--profile", "paper"]);
    assert_eq!(twice.status.code(), Some(2), "{}", stdout(&twice));
}

#[test]
fn lists_of_values_become_a_line_for_each_run() {
    let common = ["membership", "--nodes", "9", "--duration", "400"];
    let lists = [
        "--exponent",
        "0,inf",
        "--loss",
        "0,0.1",
        "--runs",
        "3",
        "--format",
        "csv",
    ];
    let output = consort(&[&common[..], &lists].concat());
    assert!(output.status.success(), "{}", stderr(&output));
    let threads = [&common[..], &lists, &["--threads", "1"]].concat();
    assert_eq!(stdout(&output), stdout(&consort(&threads)));
    let text = stdout(&output);
    let rows: Vec<Vec<&str>> = text.lines().map(|l| l.split(',').collect()).collect();
    assert_eq!(rows.len(), 1 + 2 * 2 * 3);
    let column = |name: &str| rows[0].iter().position(|c| *c == name).expect(name);
    assert!(rows.iter().all(|r| r.len() == rows[0].len()), "{text}");
    let (m, loss) = (column("exponent"), column("loss"));
    let points: Vec<(&str, &str)> = rows[1..].iter().map(|r| (r[m], r[loss])).collect();
    let expected = [("0", "0"), ("0", "0.1"), ("inf", "0"), ("inf", "0.1")];
    assert_eq!(points, expected.map(|p| [p; 3]).concat());
    // A run of the table is the run of that seed alone.
    let row = &rows[5];
    assert_eq!((row[column("loss")], row[column("run")]), ("0.1", "1"));
    let alone = ["--loss", "0.1", "--exponent", "0", "--format", "json"];
    let seed = ["--seed", row[column("seed")]];
    let alone = stdout(&consort(&[&common[..], &alone, &seed].concat()));
    let alone: serde_json::Value = serde_json::from_str(&alone).expect("json");
    let detection: f64 = row[column("detection")].parse().expect("a number");
    assert_eq!(alone["first_detection"]["mean"].as_f64(), Some(detection));
    let picture = File::new("sweep.svg", "");
    let draw = |column: &str| {
        let draw = ["--plot", picture.path(), "--plot-column", column];
        consort(&[&common[..], &lists, &draw].concat())
    };
    assert_eq!(
        stdout(&draw("byte_hops")),
        text,
        "the picture changes nothing"
    );
    let svg = std::fs::read_to_string(picture.path()).expect("a picture");
    assert!(
        svg.starts_with("<svg") && svg.contains("byte_hops over"),
        "{svg}"
    );
    let wrong = draw("speed");
    assert_eq!(wrong.status.code(), Some(2), "{}", stderr(&wrong));
    assert!(stderr(&wrong).contains("byte_hops"), "{}", stderr(&wrong));
    let single = consort(&[&common[..], &["--loss", "0,0.1"]].concat());
    assert_eq!(single.status.code(), Some(2));
    assert!(stderr(&single).contains("--format csv"));
    let bad = consort(&[&common[..], &["--loss", "0,7", "--format", "csv"]].concat());
    assert_eq!(bad.status.code(), Some(2));
    assert_eq!(stdout(&bad), "", "nothing runs if one combination cannot");
}

#[test]
fn an_infinite_exponent_is_spelled_out() {
    let args = "membership --exponent inf --nodes 9 --duration 200 --warmup 100 --format json";
    let args: Vec<&str> = args.split(' ').collect();
    let value: serde_json::Value = serde_json::from_str(&stdout(&consort(&args))).expect("json");
    assert_eq!(value["exponent"], "inf");
}

#[test]
fn positions_are_read_and_errors_name_file_and_line() {
    let good = File::new("good.csv", "0,0\n1,0\n2,0\n");
    let args = [
        "membership",
        "--positions",
        good.path(),
        "--range",
        "1",
        "--duration",
        "400",
    ];
    let output = consort(&args);
    assert!(output.status.success(), "{}", stderr(&output));
    assert!(stdout(&output).starts_with("3 nodes, positions"));

    let bad = File::new("bad.csv", "0,0\n1 0\n");
    let output = consort(&["membership", "--positions", bad.path()]);
    assert_eq!(output.status.code(), Some(2));
    assert!(stderr(&output).contains("bad.csv"), "{}", stderr(&output));
    assert!(stderr(&output).contains("line 2"), "{}", stderr(&output));

    let apart = consort(&["membership", "--positions", good.path(), "--range", "0.5"]);
    assert_eq!(apart.status.code(), Some(2));
    assert!(stderr(&apart).contains("raise the range"));
}

#[test]
fn bad_values_are_errors_that_say_what_to_do() {
    for (args, expected) in [
        ("membership --nodes 1", "between 2 and"),
        ("membership --nodes 0", "between 2 and"),
        (
            "membership --nodes 49 --failures 49",
            "below the number of nodes",
        ),
        ("membership --loss 1.5", "between 0 and 1"),
        ("membership --loss -0.1", "between 0 and 1"),
        ("membership --loss NaN", "between 0 and 1"),
        ("membership --range NaN", "range must be"),
        ("membership --side 0", "side must be"),
        ("membership --range 0.01", "raise the range"),
        ("membership --duration inf", "duration must be"),
        ("membership --duration -5", "must be above 0"),
        ("membership --runs 0", "at least 1"),
        ("membership --threads 0", "--threads"),
        (
            "membership --positions /nonexistent.csv",
            "cannot read positions",
        ),
        ("membership --bogus", "--bogus"),
        ("membership --topology ring", "possible values"),
        ("chaos --seeds 5..5", "is empty"),
        ("chaos --seeds x", "A..B"),
    ] {
        let output = consort(&args.split(' ').collect::<Vec<_>>());
        assert_eq!(output.status.code(), Some(2), "{args}: {}", stderr(&output));
        assert!(
            stderr(&output).contains(expected),
            "{args}: {}",
            stderr(&output)
        );
        assert!(!stderr(&output).contains("panicked"), "{args}");
    }
}

#[test]
fn chaos_reports_how_many_seeds_held() {
    let output = consort(&["chaos", "--seeds", "0..8", "--verbose"]);
    assert!(output.status.success(), "{}", stdout(&output));
    assert!(stdout(&output).contains("8 seeds, 0 violations"));
    assert_eq!(stdout(&output).lines().count(), 9);
}

#[test]
fn a_closed_pipe_is_success() {
    let mut child = Command::new(env!("CARGO_BIN_EXE_consort"))
        .args(["sim", "chaos", "--seeds", "0..200", "--verbose"])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("the binary runs");
    let mut first = [0; 4];
    let mut pipe = child.stdout.take().expect("a pipe");
    pipe.read_exact(&mut first).expect("some output");
    drop(pipe);
    let output = child.wait_with_output().expect("it ends");
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    assert_eq!(stderr(&output), "");
}

#[test]
fn elections_race_and_print_json() {
    let args = "election --nodes 25 --drop 0.1 --runs 3 --seed 7 --warmup 1000 --format json";
    let args: Vec<&str> = args.split(' ').collect();
    let first = consort(&args);
    assert!(first.status.success(), "{}", stderr(&first));
    assert_eq!(stdout(&first), stdout(&consort(&args)));
    let threads = consort(&[&args[..], &["--threads", "1"]].concat());
    assert_eq!(stdout(&first), stdout(&threads));
    let value: serde_json::Value = serde_json::from_str(&stdout(&first)).expect("one object");
    let rows = value["elections"].as_array().expect("rows");
    let names: Vec<_> = rows.iter().filter_map(|r| r["variant"].as_str()).collect();
    assert_eq!(names, ["base", "optimistic", "preferred", "hybrid"]);
    for row in rows {
        assert_eq!(row["agreed"], 3);
        for key in ["completion", "bytes", "changes", "hash_rank", "health_rank"] {
            assert!(row[key]["mean"].is_f64(), "{key}");
        }
    }
    let text = consort(&["election", "--nodes", "16", "--variant", "bully,ask-all"]);
    assert!(stdout(&text).contains("bully"), "{}", stdout(&text));
}

#[test]
fn a_recorded_trace_gives_the_same_election() {
    let file = File::new("trace.csv", "");
    let args = "election --nodes 25 --drop 0.15 --seed 3 --warmup 1000 --format json";
    let args: Vec<&str> = args.split(' ').collect();
    let live = consort(&[&args[..], &["--record-trace", file.path()]].concat());
    assert!(live.status.success(), "{}", stderr(&live));
    let args = "election --drop 0.15 --seed 3 --format json --trace";
    let args: Vec<&str> = args.split(' ').collect();
    let played = consort(&[&args[..], &[file.path()]].concat());
    assert!(played.status.success(), "{}", stderr(&played));
    assert_eq!(stdout(&live), stdout(&played));
}

#[test]
fn bad_elections_are_errors_that_say_what_to_do() {
    let bad = File::new("bad-trace.csv", "view,0,1,0,gone,0\n");
    let with = format!("election --trace {}", bad.path());
    for (args, expected) in [
        ("election --nodes 1", "between 2 and"),
        ("election --drop 0.7", "between 0 and 0.5"),
        ("election --drop NaN", "between 0 and"),
        ("election --runs 0", "--runs"),
        ("election --variant paxos", "base, optimistic"),
        ("election --c 60000", "c + f"),
        ("election --trace /nonexistent", "cannot read a trace"),
        ("election --warmup -1", "must be above 0"),
        (with.as_str(), "line 1"),
    ] {
        let output = consort(&args.split(' ').collect::<Vec<_>>());
        assert_eq!(output.status.code(), Some(2), "{args}: {}", stderr(&output));
        let text = stderr(&output);
        assert!(text.contains(expected), "{args}: {text}");
        assert!(!text.contains("panicked"), "{args}");
    }
}

#[test]
fn locks_are_compared_and_overlaps_are_an_answer() {
    let args =
        "mutex --nodes 32 --requests 40 --ratio 3 --lists 0.8 --runs 4 --seed 7 --format json";
    let args: Vec<&str> = args.split(' ').collect();
    let first = consort(&args);
    assert_eq!(first.status.code(), Some(1), "{}", stderr(&first));
    assert_eq!(stdout(&first), stdout(&consort(&args)));
    let threads = consort(&[&args[..], &["--threads", "1"]].concat());
    assert_eq!(stdout(&first), stdout(&threads));
    let value: serde_json::Value = serde_json::from_str(&stdout(&first)).expect("one object");
    let rows = value["locks"].as_array().expect("rows");
    let names: Vec<_> = rows.iter().filter_map(|r| r["lock"].as_str()).collect();
    let four = ["ricart-agrawala", "camera", "camera-repaired", "witness"];
    assert_eq!(names, four);
    let overlaps: Vec<_> = rows
        .iter()
        .map(|r| r["overlaps"].as_u64() > Some(0))
        .collect();
    assert_eq!(overlaps, [true, false, false, false]);
    assert_eq!(rows[3]["regressions"], 0);
    for row in rows {
        assert_eq!(row["entries"], 160);
        for key in ["wait", "wait_client", "gap", "sends", "hops", "bytes"] {
            assert!(row[key]["mean"].is_f64(), "{key}");
        }
    }
    let text = consort(&[
        "mutex",
        "--nodes",
        "16",
        "--requesters",
        "3",
        "--lock",
        "camera",
    ]);
    assert_eq!(text.status.code(), Some(0), "{}", stderr(&text));
    assert!(stdout(&text).contains("OVERLAPS"), "{}", stdout(&text));
}

#[test]
fn bad_locks_are_errors_that_say_what_to_do() {
    for (args, expected) in [
        ("mutex --nodes 1", "between 2 and"),
        ("mutex --drop 0.7", "between 0 and 0.6"),
        ("mutex --drop NaN", "between 0 and"),
        ("mutex --runs 0", "--runs"),
        ("mutex --lock paxos", "ricart-agrawala, camera"),
        ("mutex --nodes 8 --requesters 9", "fewer nodes"),
        ("mutex --requests 5 --ratio 0", "above 0"),
        ("mutex --lists 2", "between 0 and 1"),
        ("mutex --trouble churn --share 2", "--share"),
        ("mutex --requests 5 --gap weibull --shape 0", "--shape"),
        ("mutex --requests 5 --requesters 5", "cannot be used"),
    ] {
        let output = consort(&args.split(' ').collect::<Vec<_>>());
        assert_eq!(output.status.code(), Some(2), "{args}: {}", stderr(&output));
        let text = stderr(&output);
        assert!(text.contains(expected), "{args}: {text}");
        assert!(!text.contains("panicked"), "{args}");
    }
}

/// What the options of the witness lock are for shows in what comes out.
#[test]
fn options_of_our_lock_do_what_they_say() {
    let row = |args: &str| -> serde_json::Value {
        let args = format!("mutex --lock witness --format json {args}");
        let output = consort(&args.split(' ').collect::<Vec<_>>());
        assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
        let value: serde_json::Value = serde_json::from_str(&stdout(&output)).expect("one object");
        value["locks"][0].clone()
    };
    let mean = |args: &str, key: &str| row(args)[key]["mean"].as_f64().expect("a number");
    // Who comes after a holder that crashed waits until its lease is over.
    let crashes = "--nodes 16 --requests 40 --ratio 3 --trouble holder-crashes";
    let lease = |s: u8| mean(&format!("{crashes} --lease {s}"), "wait");
    assert!(lease(40) > 3.0 * lease(10), "{} {}", lease(40), lease(10));
    // A lease that is shorter than a round of answers is never held, unless it may grow.
    let lossy = "--nodes 16 --requests 10 --ratio 3 --drop 0.5 --lease 1 --limit 60";
    assert!(row(lossy)["blocked"].as_u64() > Some(0));
    assert_eq!(row(&format!("{lossy} --lease-max 30"))["blocked"], 0);
    // Neighbours hand over sooner than those far apart, and a node to itself the soonest.
    let many = "--nodes 64 --requesters 32";
    let along = mean(&format!("{many} --elevator"), "gap");
    assert!(2.0 * along < mean(many, "gap"), "{along}");
    let eager = "--nodes 16 --requests 60 --ratio 0.1 --spread zipf --exponent 3";
    let cohort = |n: u8| mean(&format!("{eager} --cohort {n}"), "gap");
    assert!(2.0 * cohort(8) < cohort(1), "{} {}", cohort(8), cohort(1));
}
