//! About a minute of random faults: real agents keep their promises about locks and leaders.
//!
//! `CONSORT_FAULTS_SECS` makes it longer, `CONSORT_FAULTS_SEED` repeats one.

use std::path::Path;
use std::process::Command;

#[test]
fn real_agents_keep_their_promises_under_random_faults() {
    if !cfg!(target_os = "linux") {
        eprintln!("SKIPPED: processes are found and frozen through /proc and signals of Linux");
        return;
    }
    let setting = |key: &str| std::env::var(key).ok();
    let seed = setting("CONSORT_FAULTS_SEED").unwrap_or(std::process::id().to_string());
    let secs = setting("CONSORT_FAULTS_SECS").unwrap_or("60".to_owned());
    println!("CONSORT_FAULTS_SEED={seed} CONSORT_FAULTS_SECS={secs}");
    let testbed = env!("CARGO_BIN_EXE_consort-testbed");
    let consort = Path::new(testbed).with_file_name("consort");
    assert!(
        consort.exists(),
        "{} is missing: build it with `cargo build -p consort-cli`",
        consort.display()
    );
    let status = Command::new(testbed)
        .args(["--seed", &seed, "--secs", &secs])
        .arg("--consort")
        .arg(consort)
        .status()
        .unwrap();
    assert_eq!(status.code(), Some(0), "see above");
}
