//! The HTTP interface with TLS, against a running agent and a certificate of the test.

use consort_agent::{Agent, AgentError, Config, HttpAddr, RawApi, RawConfig, TlsError};
use consort_client::{Client, ClientError};
use core::time::Duration;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::time::Instant;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

const TOKEN: &str = "0123456789abcdef-admin";

/// Writes a certificate for these names and its key. Returns the certificate.
fn certify(dir: &Path, names: &[&str]) -> String {
    let names: Vec<String> = names.iter().map(|n| (*n).to_owned()).collect();
    let made = rcgen::generate_simple_self_signed(names).unwrap();
    std::fs::write(dir.join("crt"), made.cert.pem()).unwrap();
    let key = dir.join("key");
    std::fs::write(&key, made.signing_key.serialize_pem()).unwrap();
    std::fs::set_permissions(&key, PermissionsExt::from_mode(0o600)).unwrap();
    made.cert.pem()
}

fn config(dir: &Path, http: &str) -> Result<Config, consort_agent::ConfigError> {
    let tokens = dir.join("tokens");
    std::fs::write(&tokens, format!("{TOKEN}\n")).unwrap();
    std::fs::set_permissions(&tokens, PermissionsExt::from_mode(0o600)).unwrap();
    Config::try_from(RawConfig {
        name: Some("a".into()),
        bind: Some("127.0.0.1:0".into()),
        http: Some(http.into()),
        api: RawApi {
            token_file: Some(tokens),
            tls_cert: Some(dir.join("crt")),
            tls_key: Some(dir.join("key")),
            timeout: Some(Duration::from_millis(500)),
            connections_max: Some(2),
            ..RawApi::default()
        },
        ..RawConfig::default()
    })
}

fn client(agent: &Agent, pem: &str) -> Client {
    let client = Client::new(agent.http().clone()).with_token(TOKEN);
    client.with_tls_ca(pem.as_bytes()).unwrap()
}

async fn asks(client: &Client) -> Result<String, ClientError> {
    let about: serde_json::Value = client.get("/v1/self").await?;
    Ok(about["name"].as_str().unwrap().to_owned())
}

#[tokio::test]
async fn who_trusts_the_certificate_is_served_and_others_are_not() {
    let dir = tempfile::tempdir().unwrap();
    let pem = certify(dir.path(), &["127.0.0.1", "localhost"]);
    let config = config(dir.path(), "127.0.0.1:0").unwrap();
    let mut agent = Agent::start(config.clone()).await.unwrap();
    let HttpAddr::Tls { host, port } = agent.http().clone() else {
        panic!("{:?}", agent.http());
    };
    assert_eq!(host, "127.0.0.1");
    assert_eq!(asks(&client(&agent, &pem)).await.unwrap(), "a");
    let events: Result<consort_client::EventStream<serde_json::Value>, _> =
        client(&agent, &pem).follow("/v1/events?since=0").await;
    events
        .unwrap()
        .next()
        .await
        .unwrap()
        .expect("an event by TLS");
    let named = Client::new(format!("https://localhost:{port}").parse().unwrap());
    let named = named.with_token(TOKEN).with_tls_ca(pem.as_bytes()).unwrap();
    assert_eq!(asks(&named).await.unwrap(), "a");

    // Another certificate, a name that is not in it, no certificate at all, and no TLS.
    let other = certify(tempfile::tempdir().unwrap().path(), &["127.0.0.1"]);
    let strange = asks(&client(&agent, &other)).await.unwrap_err();
    assert!(
        matches!(strange, ClientError::Untrusted { .. }),
        "{strange}"
    );
    let elsewhere = Client::new(format!("https://127.0.0.2:{port}").parse().unwrap());
    let elsewhere = elsewhere.with_tls_ca(pem.as_bytes()).unwrap();
    let refused = asks(&elsewhere).await.unwrap_err();
    let gone = matches!(refused, ClientError::NoAgent { .. });
    assert!(
        gone || matches!(refused, ClientError::Untrusted { .. }),
        "{refused}"
    );
    let blind = asks(&Client::new(agent.http().clone())).await.unwrap_err();
    assert!(matches!(blind, ClientError::Trust(_)), "{blind}");
    let plain = Client::new(format!("127.0.0.1:{port}").parse().unwrap());
    assert!(asks(&plain.with_token(TOKEN)).await.is_err());

    // The files are read again: a new certificate counts at once, a broken one does not.
    let renewed = certify(dir.path(), &["127.0.0.1"]);
    agent.reload(config.clone()).await.unwrap();
    assert_eq!(asks(&client(&agent, &renewed)).await.unwrap(), "a");
    assert!(asks(&client(&agent, &pem)).await.is_err());
    std::fs::write(dir.path().join("crt"), "none").unwrap();
    assert!(agent.reload(config).await.is_err());
    assert_eq!(asks(&client(&agent, &renewed)).await.unwrap(), "a");
    agent.kill().await;
}

/// Those who open connections and say nothing, or nonsense, keep nobody out.
#[tokio::test]
async fn handshakes_that_do_not_end_are_ended() {
    let dir = tempfile::tempdir().unwrap();
    let pem = certify(dir.path(), &["127.0.0.1"]);
    let config = config(dir.path(), "127.0.0.1:0").unwrap();
    let agent = Agent::start(config).await.unwrap();
    let HttpAddr::Tls { port, .. } = *agent.http() else {
        panic!("{:?}", agent.http());
    };
    let open = || TcpStream::connect(("127.0.0.1", port));
    let begun = Instant::now();
    let mut silent = open().await.unwrap();
    assert_eq!(silent.read(&mut [0; 9]).await.unwrap_or(0), 0);
    let took = begun.elapsed();
    assert!(
        (Duration::from_millis(400)..Duration::from_secs(30)).contains(&took),
        "{took:?}"
    );
    let mut talker = open().await.unwrap();
    talker.write_all(b"GET / HTTP/1.1\r\n\r\n").await.unwrap();
    let mut said = Vec::new();
    let _ = talker.read_to_end(&mut said).await;
    assert!(!said.starts_with(b"HTTP"), "nothing is served without TLS");
    // All seats are taken by handshakes; one makes room.
    let _silent = [open().await.unwrap(), open().await.unwrap()];
    assert_eq!(asks(&client(&agent, &pem)).await.unwrap(), "a");
    agent.kill().await;
}

#[tokio::test]
async fn what_cannot_be_served_is_refused_with_a_remedy() {
    let dir = tempfile::tempdir().unwrap();
    certify(dir.path(), &["127.0.0.1"]);
    for http in ["unix:/tmp/x", "https://127.0.0.1:0"] {
        let error = config(dir.path(), http).unwrap_err().to_string();
        assert!(error.contains("api.tls_cert"), "{error}");
    }
    let half = RawConfig {
        api: RawApi {
            tls_cert: Some(dir.path().join("crt")),
            ..RawApi::default()
        },
        ..RawConfig::default()
    };
    let error = Config::try_from(half).unwrap_err().to_string();
    assert!(error.contains("api.tls_key"), "{error}");
    let start = || Agent::start(config(dir.path(), "127.0.0.1:0").unwrap());
    let key = dir.path().join("key");
    std::fs::set_permissions(&key, PermissionsExt::from_mode(0o644)).unwrap();
    let open = start().await.unwrap_err();
    assert!(matches!(open, AgentError::Tls(TlsError::File(_))), "{open}");
    std::fs::set_permissions(&key, PermissionsExt::from_mode(0o600)).unwrap();
    std::fs::write(&key, "no key").unwrap();
    let none = start().await.unwrap_err();
    assert!(
        matches!(none, AgentError::Tls(TlsError::NoKey { .. })),
        "{none}"
    );
    let other: PathBuf = tempfile::tempdir().unwrap().keep();
    certify(&other, &["127.0.0.1"]);
    std::fs::copy(other.join("key"), &key).unwrap();
    let wrong = start().await.unwrap_err();
    assert!(
        matches!(wrong, AgentError::Tls(TlsError::Unusable { .. })),
        "{wrong}"
    );
    std::fs::remove_dir_all(other).unwrap();
}

/// A token is not sent where others can read it.
#[tokio::test]
async fn a_token_leaves_this_machine_only_by_tls() {
    let at = |addr: &str| Client::new(addr.parse().unwrap()).with_token(TOKEN);
    let asks = async |client: Client| asks(&client).await.unwrap_err();
    // Nothing is sent there: the refusal comes first.
    let refused = asks(at("192.0.2.7:9")).await;
    assert!(matches!(refused, ClientError::InClear { .. }), "{refused}");
    let tried = asks(at("0.0.0.0:9")).await;
    assert!(!matches!(tried, ClientError::InClear { .. }), "{tried}");
}
