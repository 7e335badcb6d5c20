//! Runs the examples as processes: what they accept, what they refuse, and what remains in the end.

use core::time::Duration;
use serde_json::Value;
use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::sync::mpsc;

const T7: &str = "00000000000000000000000000000007";
const T8: &str = "00000000000000000000000000000008";

/// The built example. Cargo builds the examples of a package with its tests.
fn example(name: &str) -> Command {
    let test = std::env::current_exe().unwrap();
    let profile = test.ancestors().nth(2).unwrap();
    let file = format!("{name}{}", std::env::consts::EXE_SUFFIX);
    let path: PathBuf = profile.join("examples").join(file);
    assert!(path.exists(), "build the examples: {}", path.display());
    let mut command = Command::new(path);
    command.env_remove("CONSORT_LOCK_TOKEN");
    command
}

fn append(file: &Path, token: &str, text: &str) -> Output {
    let mut command = example("file");
    command.arg(file).arg(text).env("CONSORT_LOCK_TOKEN", token);
    command.output().unwrap()
}

/// Asserts the exit code and returns the output.
fn exits(output: Output, code: i32) -> String {
    let said = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(code), "{said}");
    said
}

#[test]
fn a_file_refuses_the_stale_writer_and_keeps_its_lines() {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("journal");
    exits(append(&file, T7, "one"), 0);
    exits(append(&file, T7, "two"), 0);
    exits(append(&file, T8, "three"), 0);
    let said = exits(append(&file, T7, "late"), 1);
    assert!(said.contains(T7) && said.contains(T8), "{said}");
    exits(append(&file, T8, "four"), 0);
    let text = fs::read_to_string(&file).unwrap();
    assert_eq!(text, format!("{T7} one\n{T7} two\n{T8} three\n{T8} four\n"));
}

#[test]
fn a_line_cut_off_by_a_crash_is_replaced() {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("journal");
    for torn in ["0", &T8[..31], T8, &format!("{T8} a longer line, cut o")] {
        fs::write(&file, format!("{T8} one\n{torn}")).unwrap();
        exits(append(&file, T7, "late"), 1);
        exits(append(&file, T8, "two"), 0);
        let text = fs::read_to_string(&file).unwrap();
        assert_eq!(text, format!("{T8} one\n{T8} two\n"));
    }
}

#[test]
fn the_token_is_found_behind_lines_of_any_length() {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("journal");
    let longest = "x".repeat(4096 - 32 - 2);
    for _ in 0..3 {
        exits(append(&file, T8, &longest), 0);
        exits(append(&file, T7, "late"), 1);
    }
    fs::OpenOptions::new()
        .append(true)
        .open(&file)
        .and_then(|mut f| f.write_all(format!("{T8} {}", &longest[1..]).as_bytes()))
        .unwrap();
    exits(append(&file, T7, "late"), 1);
    exits(append(&file, T8, ""), 0);
    assert_eq!(fs::metadata(&file).unwrap().len(), 3 * 4096 + 34);
    let said = exits(append(&file, T8, &format!("{longest}x")), 2);
    assert!(said.contains("4096"), "{said}");
}

#[test]
fn files_of_others_and_bad_tokens_are_errors_and_change_nothing() {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("hosts");
    for text in [
        "127.0.0.1 localhost\n",
        "hello",
        T8,
        "7 short\n",
        &"y".repeat(9000),
    ] {
        fs::write(&file, text).unwrap();
        let said = exits(append(&file, T8, "mine"), 2);
        assert!(said.contains("has no line with a token"), "{said}");
        assert_eq!(fs::read_to_string(&file).unwrap(), text);
    }
    let none = dir.path().join("none");
    let said = exits(append(&none, "7", "short"), 2);
    assert!(said.contains("CONSORT_LOCK_TOKEN: a token is 32"), "{said}");
    exits(append(&none, T8, "two\nlines"), 2);
    let said = exits(example("file").arg(&none).output().unwrap(), 2);
    assert!(said.contains("CONSORT_LOCK_TOKEN is not set"), "{said}");
    assert!(!none.exists());
}

#[test]
fn a_writer_waits_for_another_and_checks_only_then() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("journal");
    exits(append(&path, T7, "one"), 0);
    let mut file = fs::OpenOptions::new().append(true).open(&path).unwrap();
    file.lock().unwrap();
    let (tell, told) = mpsc::channel();
    let late = path.clone();
    std::thread::spawn(move || tell.send(append(&late, T7, "late")));
    // Without the lock it would end within a few milliseconds.
    let early = told.recv_timeout(Duration::from_millis(300));
    assert!(early.is_err(), "{early:?}");
    file.write_all(format!("{T8} two\n").as_bytes()).unwrap();
    file.unlock().unwrap();
    exits(told.recv().unwrap(), 1);
    let text = fs::read_to_string(&path).unwrap();
    assert_eq!(text, format!("{T7} one\n{T8} two\n"));
}

/// The server; it ends with the test.
struct Server(Child, String);

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

impl Server {
    fn start() -> Server {
        let mut command = example("http");
        command.arg("127.0.0.1:0").stdout(Stdio::piped());
        let mut child = command.stderr(Stdio::null()).spawn().unwrap();
        let mut line = String::new();
        let stdout = child.stdout.take().unwrap();
        BufReader::new(stdout).read_line(&mut line).unwrap();
        let addr = line.trim_end().strip_prefix("listening on http://");
        Server(child, addr.unwrap().to_owned())
    }

    fn ask(&self, method: &str, token: Option<&str>, body: &str) -> (u16, String) {
        let mut stream = TcpStream::connect(&self.1).unwrap();
        let token = token.map_or(String::new(), |t| format!("consort-token: {t}\r\n"));
        let len = body.len();
        write!(
            stream,
            "{method} /value HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\
             content-length: {len}\r\n{token}\r\n{body}"
        )
        .unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).unwrap();
        let (head, body) = answer.split_once("\r\n\r\n").unwrap();
        let status = head.split(' ').nth(1).unwrap().parse().unwrap();
        (status, body.to_owned())
    }

    /// Asserts an error with this status and code.
    fn refuses(&self, method: &str, token: Option<&str>, status: u16, code: &str) {
        let (found, body) = self.ask(method, token, "refused");
        assert_eq!(found, status, "{body}");
        let body: Value = serde_json::from_str(&body).unwrap();
        assert_eq!(body["code"], code);
        assert!(body["message"].is_string() && body["request_id"].is_string());
        assert_eq!(body.as_object().unwrap().len(), 3, "{body}");
    }
}

#[test]
fn an_endpoint_refuses_stale_tokens_with_409() {
    let server = Server::start();
    let put = |token, body| server.ask("PUT", Some(token), body).0;
    assert_eq!(put(T7, "red"), 204);
    assert_eq!(server.ask("GET", Some(T7), ""), (200, "red".into()));
    assert_eq!(put(T8, "green"), 204);
    server.refuses("PUT", Some(T7), 409, "token_stale");
    server.refuses("GET", Some(T7), 409, "token_stale");
    server.refuses("PUT", None, 428, "token_missing");
    server.refuses("PUT", Some("7"), 400, "token_malformed");
    assert_eq!(put(T8, "blue"), 204);
    assert_eq!(server.ask("GET", None, ""), (200, "blue".into()));
}
