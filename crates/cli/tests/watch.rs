//! Recordings of simulations: written, served, refused.

mod common;

use common::{Process, consort, run};
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::process::Stdio;

/// What a program serves: the process, and `IP:PORT`.
fn served(args: &[&str]) -> (Process, String) {
    let mut command = consort(args);
    command.stderr(Stdio::piped()).stdout(Stdio::null());
    let mut process = Process(command.spawn().unwrap(), "-TERM");
    let mut lines = BufReader::new(process.0.stderr.take().unwrap()).lines();
    let address = lines.find_map(|line| {
        let line = line.unwrap();
        let address = line.strip_prefix("Watch at http://")?;
        Some(address.trim_end_matches('/').to_owned())
    });
    // What is said later must not fill the pipe.
    std::thread::spawn(move || lines.for_each(drop));
    (process, address.expect("it says where"))
}

fn ask(address: &str, path: &str, host: &str) -> (String, Vec<u8>) {
    let mut stream = TcpStream::connect(address).unwrap();
    write!(stream, "GET {path} HTTP/1.0\r\nhost: {host}\r\n\r\n").unwrap();
    let mut answer = Vec::new();
    stream.read_to_end(&mut answer).unwrap();
    let end = answer.windows(4).position(|w| w == b"\r\n\r\n").unwrap();
    let head = String::from_utf8(answer[..end].to_vec()).unwrap();
    (head, answer[end + 4..].to_vec())
}

const SMALL: [&str; 8] = [
    "sim",
    "membership",
    "--nodes",
    "9",
    "--duration",
    "200",
    "--warmup",
    "100",
];

#[test]
fn a_recording_is_served_as_it_was_written_to_local_pages_only() {
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("run.rec");
    let name = file.to_str().unwrap();
    let plain = run(&SMALL);
    let recorded = run(&[&SMALL[..], &["--record", name]].concat());
    assert_eq!(plain.stdout, recorded.stdout, "recording changes nothing");
    assert!(recorded.status.success());
    let (mut process, address) = served(&["watch", name]);
    let (head, page) = ask(&address, "/", &address);
    assert!(
        head.contains("content-security-policy: default-src 'none'"),
        "{head}"
    );
    assert!(String::from_utf8(page).unwrap().contains("watch.js"));
    let (_, titles) = ask(&address, "/recordings.json", &address);
    assert_eq!(titles, br#"["run"]"#);
    let (_, bytes) = ask(&address, "/recordings/0", &address);
    assert!(bytes == std::fs::read(&file).unwrap() && !bytes.is_empty());
    let (head, _) = ask(&address, "/recordings/1", &address);
    assert!(head.contains("404"), "{head}");
    let (head, body) = ask(&address, "/recordings/0", "evil.example");
    assert!(head.contains("403") && body.len() < 1000, "{head}");
    common::signal(&process.0, "-TERM");
    assert!(process.0.wait().unwrap().success());
}

#[test]
fn a_run_is_watched_while_it_is_recorded() {
    let (_process, address) = served(&[&SMALL[..], &["--watch"]].concat());
    // The answer ends when the recording does.
    let (_, bytes) = ask(&address, "/recordings/0", &address);
    assert!(bytes.starts_with(b"CONSREC\x01"));
}

/// Every simulation can be recorded, the first two of several protocols without a choice.
#[test]
fn every_simulation_is_recorded() {
    let directory = tempfile::tempdir().unwrap();
    let path = |name: &str| directory.path().join(name);
    let file = path("run.rec");
    let name = file.to_str().unwrap();
    for (args, option, titles) in [
        (
            &["mutex", "--nodes", "16"][..],
            "--lock",
            ["ricart-agrawala", "camera"],
        ),
        (
            &["election", "--nodes", "9", "--warmup", "100"],
            "--variant",
            ["base", "optimistic"],
        ),
        (&["bandit", "--requests", "20"], "--policy", ["dle", "rle"]),
        (
            &["omega", "--nodes", "9", "--side", "150", "--duration", "5"],
            "--core",
            ["ta-closeness", "cel-1"],
        ),
    ] {
        let plain = run(&[&["sim"], args].concat());
        let recorded = run(&[&["sim"], args, &["--record", name]].concat());
        assert_eq!(
            plain.stdout, recorded.stdout,
            "{args:?}: recording changes nothing"
        );
        let said = String::from_utf8(recorded.stderr).unwrap();
        assert!(
            said.contains(&format!("choose one or two others with {option}")),
            "{said}"
        );
        for title in titles {
            let file = path(&format!("run-{title}.rec"));
            let bytes =
                std::fs::read(&file).unwrap_or_else(|_| panic!("{}: {said}", file.display()));
            assert!(bytes.starts_with(b"CONSREC"), "{title}");
            std::fs::remove_file(file).unwrap();
        }
    }
}

#[test]
fn what_cannot_be_watched_is_refused_with_a_reason() {
    let said = |args: &[&str]| {
        let output = run(args);
        assert_eq!(output.status.code(), Some(2), "{args:?}");
        String::from_utf8(output.stderr).unwrap()
    };
    let error = said(&["sim", "chaos", "--watch"]);
    assert!(error.contains("--seeds 0"), "{error}");
    let error = said(&["watch", env!("CARGO_MANIFEST_DIR")]);
    assert!(error.contains("cannot read"), "{error}");
    let error = said(&[&SMALL[..], &["--record", "/nowhere/run.rec"]].concat());
    assert!(error.contains("cannot write /nowhere/run.rec"), "{error}");
}
