//! `consort sim omega` as a user meets it: output, files, errors, exit codes.

use std::process::{Command, Output};

fn consort(args: &str) -> Output {
    let binary = env!("CARGO_BIN_EXE_consort");
    let mut command = Command::new(binary);
    command.args(["sim", "omega"]).args(args.split_whitespace());
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
fn all_cores_run_and_the_output_does_not_depend_on_threads() {
    let args = "--core ta-closeness,ta-degree,cel,fd-tick,fd-event,gc,omega --nodes 20 --duration 10 --runs 2 \
                --seed 7";
    let (one, two) = (
        json(&format!("{args} --threads 1")),
        json(&format!("{args} --threads 2")),
    );
    assert_eq!(one, two);
    let cores = one["cores"].as_array().expect("a row for each core");
    let names: Vec<&str> = cores.iter().filter_map(|c| c["core"].as_str()).collect();
    assert_eq!(
        names,
        [
            "ta-closeness",
            "ta-degree",
            "cel-1",
            "fd-tick",
            "fd-event",
            "gc",
            "omega"
        ]
    );
    for core in cores {
        for key in [
            "instability",
            "disagreement",
            "excess",
            "floor",
            "messages",
            "airtime",
            "energy",
            "components",
        ] {
            assert!(core[key]["mean"].is_f64(), "{key}: {core}");
        }
        let wrong = core["instability"]["mean"].as_f64().expect("a share");
        assert!((0.0..=1.0).contains(&wrong));
        // All meet the same ways.
        assert_eq!(core["components"], cores[0]["components"]);
        assert_eq!(core["trace_hash"].as_str().map(str::len), Some(16));
    }
}

#[test]
fn options_reach_the_simulation() {
    let base = "--core cel --nodes 30 --duration 15 --range 100 --seed 3";
    let of = |args: &str, key: &str| {
        json(&format!("{base} {args}"))["cores"][0][key]["mean"]
            .as_f64()
            .unwrap()
    };
    let airtime = of("", "airtime");
    assert!(of("--rate 6", "airtime") > airtime * 1.1);
    assert!(of("--rho 0", "messages") < of("", "messages"));
    assert!(of("--loss 0.5", "instability") > of("", "instability"));
    assert_eq!(of("--medium ideal", "airtime"), 0.0);
    assert_eq!(of("--mobility static --side 50", "components"), 1.0);
    assert_ne!(of("--shadowing 8", "components"), of("", "components"));
    assert_ne!(of("--sense 2", "instability"), of("", "instability"));
    let hasty = of("--loss-threshold 1", "messages");
    assert!(hasty > of("", "messages"), "{hasty}");
    let text = stdout(&consort(&format!(
        "{base} --core fd-event --crashes --mobility static"
    )));
    assert!(text.contains("cel-1") && text.contains("late)"), "{text}");
    let keen = json("--core omega --nodes 20 --duration 30 --range 120 --hysteresis 0");
    let lazy = json("--core omega --nodes 20 --duration 30 --range 120 --hysteresis 300");
    assert_ne!(
        keen["cores"][0]["trace_hash"],
        lazy["cores"][0]["trace_hash"]
    );
}

#[test]
fn ways_are_read_from_files_and_errors_name_file_and_line() {
    let directory = std::env::temp_dir();
    let path = |name: &str| directory.join(format!("consort-{}-{name}", std::process::id()));
    let (good, bad) = (path("good.movements"), path("bad.movements"));
    std::fs::write(&good, "0 0 0\n0 50 0 5 50 0 6 500 0\n")
        .expect("a temporary file can be written");
    std::fs::write(&bad, "0 0 0\n0 x 0\n").expect("a temporary file can be written");
    let value = json(&format!(
        "--trace {} --duration 10 --core omega",
        good.display()
    ));
    assert_eq!(value["nodes"], 2);
    let components = value["cores"][0]["components"]["mean"]
        .as_f64()
        .expect("a number");
    assert!((1.3..1.6).contains(&components), "{components}");
    let refused = consort(&format!("--trace {}", bad.display()));
    assert_eq!(refused.status.code(), Some(2));
    for part in ["bad.movements", "line 2", "coordinate"] {
        assert!(stderr(&refused).contains(part), "{}", stderr(&refused));
    }
    let missing = consort("--trace /nowhere/at.all");
    assert!(stderr(&missing).contains("cannot read /nowhere/at.all"));
    for file in [good, bad] {
        let _ = std::fs::remove_file(file);
    }
}

#[test]
fn bad_values_are_errors_that_say_what_to_do() {
    for (args, expected) in [
        ("--nodes 0", "between 1 and"),
        ("--nodes 99999", "between 1 and"),
        ("--range NaN", "range must be"),
        ("--range -5", "range must be"),
        ("--side 0", "side must be"),
        ("--rho 1.5", "--rho must be"),
        ("--rho NaN", "--rho must be"),
        ("--loss -0.1", "loss must be"),
        ("--loss-threshold 0.5", "--loss-threshold must be"),
        ("--sense 0.1", "carrier sensing"),
        ("--shadowing 50", "shadowing must be"),
        ("--runs 0", "--runs must be"),
        ("--duration 0", "0 is not in"),
        ("--core raft", "a core is one of"),
        ("--mobility fly", "invalid value"),
        ("--rate 11", "invalid value"),
        ("--trace x --mobility rw", "cannot be used with"),
    ] {
        let output = consort(args);
        assert_eq!(output.status.code(), Some(2), "{args}");
        assert!(
            stderr(&output).contains(expected),
            "{args}: {}",
            stderr(&output)
        );
        assert!(stdout(&output).is_empty(), "{args}");
    }
}
