//! `consort sim bandit` as a user meets it: output, errors, exit codes.

use std::process::{Command, Output};

fn consort(args: &str) -> Output {
    let binary = env!("CARGO_BIN_EXE_consort");
    let mut command = Command::new(binary);
    command
        .args(["sim", "bandit"])
        .args(args.split_whitespace());
    command.output().expect("the binary runs")
}

fn stdout(output: &Output) -> String {
    String::from_utf8_lossy(&output.stdout).into_owned()
}

fn stderr(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

fn json(args: &str) -> serde_json::Value {
    let output = consort(&format!("{args} --format json"));
    assert!(output.status.success(), "{}", stderr(&output));
    serde_json::from_str(&stdout(&output)).expect("one object")
}

#[test]
fn all_policies_run_and_the_output_does_not_depend_on_threads() {
    let names = "dle,rle,e-greedy,ucb,e-greedy-buffer,ucb-buffer,d-ucb-60,sw-ucb-180,thompson-beta-600,hazard,\
                 availability,r-first,r-mean,r-thompson-beta,r-thompson-hazard,rs-hazard,product,r-truth,truth";
    let args = format!("--policy {names} --requests 100 --runs 3 --seed 7");
    let (one, two) = (
        json(&format!("{args} --threads 1")),
        json(&format!("{args} --threads 2")),
    );
    assert_eq!(one, two);
    let rows = one["policies"].as_array().expect("a row for each");
    let found: Vec<&str> = rows.iter().filter_map(|r| r["policy"].as_str()).collect();
    assert_eq!(found, names.split(',').collect::<Vec<&str>>());
    for row in rows {
        for key in [
            "rounds", "failed", "dual", "outage", "seconds", "messages", "pings",
        ] {
            assert!(row[key]["mean"].is_f64(), "{key}: {row}");
        }
        assert_eq!(row["unfinished"], 0, "{row}");
        assert_eq!(row["out_of_bounds"], 0, "{row}");
    }
}

#[test]
fn worlds_are_chosen_by_flags() {
    let trace = |args: &str| {
        let output = json(&format!("--policy product --requests 200 --runs 1 {args}"));
        let hash = output["policies"][0]["trace_hash"].as_str();
        hash.expect("a hash").to_owned()
    };
    let base = trace("");
    for args in [
        "--nodes 11",
        "--rates machines --nodes 11",
        "--rates hardware --every 180",
        "--rates repeating",
        "--failures async",
        "--failures scaled",
        "--text",
        "--loss 0.05 --delay 10,900",
    ] {
        assert_ne!(trace(args), base, "{args}");
    }
}

#[test]
fn people_get_a_table() {
    let output = consort("--policy dle,product --requests 50 --runs 2");
    assert!(output.status.success(), "{}", stderr(&output));
    let text = stdout(&output);
    assert!(text.starts_with("5 nodes, 50 requests in about"), "{text}");
    assert!(text.contains("POLICY") && text.contains("ROUNDS"), "{text}");
    assert!(text.lines().any(|l| l.starts_with("product")), "{text}");
}

#[test]
fn nonsense_is_refused_with_what_to_do() {
    for (args, words) in [
        ("--policy egreedy", "a policy is one of"),
        ("--nodes 2", "two nodes tolerate no failure"),
        ("--nodes 24", "published rates of 23 nodes"),
        ("--nodes 7 --rates repeating", "published rates of 5 nodes"),
        ("--every 60", "--every goes with --rates"),
        ("--delay 10", "two numbers"),
        ("--delay 10,5", "a smaller to a larger"),
        ("--loss 1", "between 0 and 0.9"),
        ("--requests 0", "1 to 1000000 requests"),
        ("--failures never", "slot, repair, scaled, async"),
        ("--runs 0", "--runs must be between 1 and 10000"),
    ] {
        let output = consort(args);
        assert_eq!(output.status.code(), Some(2), "{args}");
        let said = stderr(&output);
        assert!(said.contains(words), "{args}: {said}");
    }
}
