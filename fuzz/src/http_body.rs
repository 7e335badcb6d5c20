//! Requests to the HTTP interface of an agent, without connections.
//!
//! The first line of an input is the method and the path, as in `POST /v1/tags`; the rest is the body.

use axum::Router;
use axum::body::{Body, to_bytes};
use axum::http::{Request, StatusCode};
use consort_agent::{Agent, Config, RawConfig};
use std::cell::RefCell;
use std::time::Duration;
use tokio::runtime::{Builder, Runtime};
use tower::ServiceExt;

/// How long an answer is waited for. Requests that wait for others are cut off.
const PATIENCE: Duration = Duration::from_millis(3);

/// Requests to one agent. A new one begins without what requests have left behind.
const REQUESTS_MAX: u32 = 256;

struct Served {
    runtime: Runtime,
    agent: Option<Agent>,
    router: Router,
    requests: u32,
}

impl Served {
    fn start() -> Served {
        let runtime = Builder::new_current_thread().enable_all().build();
        let runtime = runtime.expect("a runtime can be made");
        let raw = RawConfig {
            name: Some("fuzz".into()),
            bind: Some("127.0.0.1:0".into()),
            http: Some("127.0.0.1:0".into()),
            expect: None,
            ..RawConfig::default()
        };
        let config = Config::try_from(raw).expect("the settings are good");
        let agent = runtime.block_on(Agent::start(config));
        let agent = agent.expect("an agent can listen on loopback");
        Served {
            router: agent.router(),
            agent: Some(agent),
            runtime,
            requests: 0,
        }
    }

    fn end(mut self) {
        if let Some(agent) = self.agent.take() {
            drop(self.router);
            self.runtime.block_on(agent.kill());
        }
        self.runtime.shutdown_background();
    }
}

/// One request.
pub fn http_body(data: &[u8]) {
    thread_local!(static SERVED: RefCell<Option<Served>> = const { RefCell::new(None) });
    let line = data.iter().position(|b| *b == b'\n').unwrap_or(data.len());
    let (head, body) = data.split_at(line);
    let body = body.strip_prefix(b"\n").unwrap_or(body);
    let Some((method, path)) = core::str::from_utf8(head)
        .ok()
        .and_then(|h| h.split_once(' '))
    else {
        return;
    };
    let request = Request::builder()
        .method(method)
        .uri(path)
        .header("host", "127.0.0.1")
        .header("content-type", "application/json")
        .body(Body::from(body.to_vec()));
    let Ok(request) = request else {
        return;
    };
    // Leaving ends the agent.
    if request.uri().path() == "/v1/leave" {
        return;
    }
    SERVED.with_borrow_mut(|kept| {
        if kept.as_ref().is_some_and(|s| s.requests >= REQUESTS_MAX)
            && let Some(old) = kept.take()
        {
            old.end();
        }
        let served = kept.get_or_insert_with(Served::start);
        served.requests += 1;
        let router = served.router.clone();
        let answer = async move {
            let response = router.oneshot(request).await.expect("it has an answer");
            let status = response.status();
            // What a request causes is not an error of the agent. That others do not answer is another matter.
            assert_ne!(status, StatusCode::INTERNAL_SERVER_ERROR);
            // Streams do not end; what they say first is read.
            let body = to_bytes(response.into_body(), 4 << 20).await;
            if let (Ok(body), true) = (body, status.is_client_error()) {
                assert!(body.starts_with(b"{\"code\""), "errors have one form");
            }
        };
        served.runtime.block_on(async {
            let _ = tokio::time::timeout(PATIENCE, answer).await;
        });
    });
}
