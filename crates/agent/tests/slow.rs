//! Clients that are slow, silent or many, against a running agent.

use consort_agent::{Agent, Config, HttpAddr, RawApi, RawConfig};
use core::net::SocketAddr;
use core::time::Duration;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::time::timeout;

/// Nothing here takes as long unless it hangs.
const PATIENCE: Duration = Duration::from_secs(20);

async fn start(api: RawApi) -> (Agent, SocketAddr) {
    let raw = RawConfig {
        name: Some("a".into()),
        bind: Some("127.0.0.1:0".into()),
        http: Some("127.0.0.1:0".into()),
        api,
        ..RawConfig::default()
    };
    let agent = Agent::start(Config::try_from(raw).unwrap()).await.unwrap();
    let HttpAddr::Tcp(addr) = *agent.http() else {
        panic!("not TCP")
    };
    (agent, addr)
}

/// All that is sent until the connection is closed.
async fn rest(stream: &mut TcpStream) -> String {
    let mut answer = Vec::new();
    let read = timeout(PATIENCE, stream.read_to_end(&mut answer)).await;
    // A reset is an end too.
    let _ = read.expect("the connection stays open");
    String::from_utf8(answer).unwrap()
}

async fn get(addr: SocketAddr, path: &str) -> String {
    let mut stream = TcpStream::connect(addr).await.unwrap();
    let request = format!("GET {path} HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\r\n");
    stream.write_all(request.as_bytes()).await.unwrap();
    rest(&mut stream).await
}

/// A number from `/metrics`.
async fn metric(addr: SocketAddr, name: &str) -> u64 {
    let text = get(addr, "/metrics").await;
    let line = text.lines().find(|l| l.starts_with(&format!("{name} ")));
    line.unwrap().rsplit(' ').next().unwrap().parse().unwrap()
}

#[tokio::test]
async fn idle_connections_do_not_keep_others_out() {
    let (agent, addr) = start(RawApi::default()).await;
    let mut idle = Vec::new();
    for n in 0..300 {
        let mut stream = TcpStream::connect(addr).await.unwrap();
        // Some have begun a request.
        if n % 2 == 0 {
            stream.write_all(b"GET /v1/self HTT").await.unwrap();
        }
        idle.push(stream);
    }
    let answer = get(addr, "/v1/self").await;
    assert!(answer.starts_with("HTTP/1.1 200"), "{answer}");
    assert!(metric(addr, "consort_http_connections").await <= 256);
    assert!(metric(addr, "consort_http_connections_evicted_total").await >= 44);
    // The oldest went first.
    assert_eq!(rest(&mut idle[0]).await, "");
    let mut last = idle.pop().unwrap();
    let request = b"GET /v1/self HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\r\n";
    last.write_all(request).await.unwrap();
    assert!(rest(&mut last).await.starts_with("HTTP/1.1 200"));
    agent.kill().await;
}

#[tokio::test]
async fn a_request_that_does_not_arrive_is_given_up() {
    let (agent, addr) = start(RawApi {
        timeout: Some(Duration::from_millis(300)),
        ..RawApi::default()
    })
    .await;
    // Nothing at all; a head without its end; and one that is fed byte by byte for ever.
    let mut silent = TcpStream::connect(addr).await.unwrap();
    let mut torn = TcpStream::connect(addr).await.unwrap();
    torn.write_all(b"GET /v1/self HTTP/1.1\r\nhost: lo")
        .await
        .unwrap();
    let slow = TcpStream::connect(addr).await.unwrap();
    let (mut slow, mut feed) = slow.into_split();
    feed.write_all(b"GET /v1/self HTTP/1.1\r\nx: ")
        .await
        .unwrap();
    let fed = tokio::spawn(async move {
        while feed.write_all(b"x").await.is_ok() {
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    });
    for stream in [&mut silent, &mut torn] {
        let said = rest(stream).await;
        assert!(!said.contains("200"), "{said}");
    }
    timeout(PATIENCE, fed)
        .await
        .expect("it is still fed")
        .unwrap();
    let _ = slow.read(&mut [0; 64]).await;

    // A body that does not arrive has an answer.
    let mut body = TcpStream::connect(addr).await.unwrap();
    let head = "POST /v1/join HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\n\
                content-length: 40\r\n\r\n{";
    body.write_all(head.as_bytes()).await.unwrap();
    let said = rest(&mut body).await;
    assert!(
        said.starts_with("HTTP/1.1 408") && said.contains("body_too_slow"),
        "{said}"
    );

    // A connection whose request was answered may be idle for as long.
    let mut kept = TcpStream::connect(addr).await.unwrap();
    let request = b"GET /v1/self HTTP/1.1\r\nhost: localhost\r\n\r\n";
    kept.write_all(request).await.unwrap();
    let said = rest(&mut kept).await;
    assert!(said.starts_with("HTTP/1.1 200"), "{said}");
    agent.kill().await;
}

#[tokio::test]
async fn streams_stay_and_are_bounded() {
    let (agent, addr) = start(RawApi {
        timeout: Some(Duration::from_millis(200)),
        connections_max: Some(4),
        streams_max: Some(2),
        ..RawApi::default()
    })
    .await;
    let mut streams = Vec::new();
    for _ in 0..2 {
        let mut stream = TcpStream::connect(addr).await.unwrap();
        let request = b"GET /v1/events HTTP/1.1\r\nhost: localhost\r\n\r\n";
        stream.write_all(request).await.unwrap();
        let mut start = [0; 12];
        stream.read_exact(&mut start).await.unwrap();
        assert_eq!(&start, b"HTTP/1.1 200");
        streams.push(stream);
    }
    let third = get(addr, "/v1/events").await;
    assert!(third.starts_with("HTTP/1.1 429") && third.contains("too_many_streams"));
    // Streams are no idle connections: others make room, and the timeout is not theirs.
    let mut idle = Vec::new();
    for _ in 0..8 {
        idle.push(TcpStream::connect(addr).await.unwrap());
    }
    for mut stream in idle {
        assert_eq!(rest(&mut stream).await, "");
    }
    agent.remark("tested", None);
    for stream in &mut streams {
        let mut said = String::new();
        while !said.contains("tested") {
            let mut part = [0; 4096];
            let read = timeout(PATIENCE, stream.read(&mut part)).await.unwrap();
            let read = read.unwrap();
            assert!(read > 0, "a stream was closed: {said}");
            said.push_str(str::from_utf8(&part[..read]).unwrap());
        }
    }
    // A stream that is closed makes room for another.
    drop(streams.pop());
    let again = async {
        loop {
            let mut stream = TcpStream::connect(addr).await.unwrap();
            let request = b"GET /v1/events HTTP/1.1\r\nhost: localhost\r\n\r\n";
            stream.write_all(request).await.unwrap();
            let mut start = [0; 12];
            stream.read_exact(&mut start).await.unwrap();
            if &start == b"HTTP/1.1 200" {
                return;
            }
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    };
    timeout(PATIENCE, again)
        .await
        .expect("no room for a stream");
    agent.kill().await;
}
