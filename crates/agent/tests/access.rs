//! Tokens and roles, against a running agent.

use consort_agent::{Agent, AgentError, Config, HttpAddr, RawApi, RawConfig};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

const READ: &str = "0123456789abcdef-read";
const OPERATE: &str = "0123456789abcdef-operate";
const ADMIN: &str = "0123456789abcdef-admin";

fn config(http: &str, token_file: Option<PathBuf>) -> Config {
    let raw = RawConfig {
        name: Some("a".into()),
        bind: Some("127.0.0.1:0".into()),
        http: Some(http.into()),
        api: RawApi {
            token_file,
            ..RawApi::default()
        },
        ..RawConfig::default()
    };
    Config::try_from(raw).unwrap()
}

fn tokens(dir: &Path) -> PathBuf {
    let path = dir.join("tokens");
    let text = format!("# for tests\nread {READ}\noperate {OPERATE}\nadmin {ADMIN}\n");
    std::fs::write(&path, text).unwrap();
    std::fs::set_permissions(&path, PermissionsExt::from_mode(0o600)).unwrap();
    path
}

async fn ask(agent: &Agent, method: &str, path: &str, token: Option<&str>) -> (u16, String) {
    let HttpAddr::Tcp(mut addr) = *agent.http() else {
        panic!("not TCP")
    };
    if addr.ip().is_unspecified() {
        addr.set_ip([127, 0, 0, 1].into());
    }
    let token = token.map_or(String::new(), |t| format!("authorization: Bearer {t}\r\n"));
    let request = format!(
        "{method} {path} HTTP/1.1\r\nhost: robot.example\r\nconnection: close\r\n{token}\
         content-type: application/json\r\ncontent-length: 2\r\n\r\n{{}}"
    );
    let mut stream = TcpStream::connect(addr).await.unwrap();
    stream.write_all(request.as_bytes()).await.unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).await.unwrap();
    let status = answer.split(' ').nth(1).unwrap().parse().unwrap();
    (status, answer)
}

/// Method and path of every request that the interface's document describes.
fn requests() -> Vec<(String, String)> {
    let api: serde_json::Value = serde_json::from_str(&consort_agent::openapi()).unwrap();
    let paths = api["paths"].as_object().unwrap().iter();
    let each = paths.flat_map(|(path, item)| {
        let methods = item.as_object().unwrap().keys();
        let path = path.replace(['{', '}'], "");
        methods.map(move |method| (method.to_uppercase(), path.clone()))
    });
    each.collect()
}

#[tokio::test]
async fn beyond_this_machine_tokens_are_required() {
    for addr in ["0.0.0.0:0", "[::]:0"] {
        let refused = Agent::start(config(addr, None)).await.unwrap_err();
        assert!(matches!(refused, AgentError::NoTokens { .. }), "{refused}");
        let said = refused.to_string();
        assert!(
            said.contains("--token-file") && said.contains("--http 127.0.0.1"),
            "{said}"
        );
    }
    let dir = tempfile::tempdir().unwrap();
    let agent = Agent::start(config("0.0.0.0:0", Some(tokens(dir.path()))))
        .await
        .unwrap();
    assert_eq!(ask(&agent, "GET", "/v1/self", None).await.0, 401);
    assert_eq!(ask(&agent, "GET", "/v1/self", Some(READ)).await.0, 200);
    agent.kill().await;
    for local in ["127.0.0.1:0", "[::1]:0", "127.9.9.9:0"] {
        Agent::start(config(local, None))
            .await
            .unwrap()
            .kill()
            .await;
    }
}

#[tokio::test]
async fn a_file_of_tokens_that_others_may_read_stops_the_start() {
    let dir = tempfile::tempdir().unwrap();
    let path = tokens(dir.path());
    std::fs::set_permissions(&path, PermissionsExt::from_mode(0o644)).unwrap();
    let refused = Agent::start(config("127.0.0.1:0", Some(path)))
        .await
        .unwrap_err();
    assert!(refused.to_string().contains("chmod 600"), "{refused}");
}

#[tokio::test]
async fn no_request_is_answered_without_its_role() {
    let dir = tempfile::tempdir().unwrap();
    let agent = Agent::start(config("127.0.0.1:0", Some(tokens(dir.path()))))
        .await
        .unwrap();
    let requests = requests();
    assert!(requests.len() > 30, "{}", requests.len());
    for (method, path) in &requests {
        for token in [None, Some("0123456789abcdef-wrong")] {
            let (status, answer) = ask(&agent, method, path, token).await;
            assert_eq!(status, 401, "{method} {path}");
            assert!(answer.contains("www-authenticate: Bearer"), "{answer}");
        }
        if method != "GET" {
            let (status, answer) = ask(&agent, method, path, Some(READ)).await;
            assert_eq!(status, 403, "{method} {path}");
            assert!(answer.contains("\"forbidden\""), "{answer}");
        }
    }
    for path in ["/v1/leave", "/v1/force-leave", "/v1/locks/x/break"] {
        assert_eq!(
            ask(&agent, "POST", path, Some(OPERATE)).await.0,
            403,
            "{path}"
        );
    }
    assert_eq!(ask(&agent, "GET", "/v1/nonsense", None).await.0, 401);
    assert_eq!(ask(&agent, "GET", "/v1/openapi.json", None).await.0, 401);
    assert_eq!(ask(&agent, "PATCH", "/v1/tags", Some(OPERATE)).await.0, 200);
    // The page itself tells nothing.
    assert_eq!(ask(&agent, "GET", "/", None).await.0, 200);
    assert_eq!(ask(&agent, "GET", "/app.js", None).await.0, 200);
    assert_eq!(ask(&agent, "POST", "/v1/leave", Some(ADMIN)).await.0, 200);
    agent.close().await;
}
