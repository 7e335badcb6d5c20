//! Requests to an agent over HTTP, by TCP or a Unix socket.

use anyhow::Context;
use clap::Args;
use consort_agent::api::ErrorBody;
use consort_agent::{HttpAddr, read_secret};
use core::time::Duration;
use http_body_util::{BodyExt, Full, Limited};
use hyper::body::{Bytes, Incoming};
use hyper::client::conn::http1;
use hyper::{Method, Request, Response, StatusCode, header};
use hyper_util::rt::TokioIo;
use serde::Serialize;
use serde::de::DeserializeOwned;
use std::io;
use std::path::PathBuf;
use tokio::net::{TcpStream, UnixStream};
use tokio::time::timeout;

/// The longest line of a stream.
const LINE_MAX: usize = 1 << 20;

/// The longest answer that is read.
const ANSWER_MAX: usize = 64 << 20;

const CONNECT_PATIENCE: Duration = Duration::from_secs(3);

/// The agent to ask.
#[derive(Clone, Debug, Args)]
pub(crate) struct AgentAddr {
    /// Address of the agent's HTTP interface.
    #[arg(
        long,
        env = "CONSORT_HTTP",
        value_name = "ADDR|unix:PATH",
        default_value = "127.0.0.1:7718"
    )]
    http: HttpAddr,
    /// File with the token to present to the agent; if it has several, the first one is used
    #[arg(long, env = "CONSORT_TOKEN_FILE", value_name = "FILE")]
    token_file: Option<PathBuf>,
}

/// Why there is no answer.
#[derive(Debug, thiserror::Error)]
pub(crate) enum ClientError {
    /// Start an agent, or name the right address.
    #[error(
        "no agent answers at {addr} ({source}); start one with `consort up` or `consort agent`, \
         or name another with --http or CONSORT_HTTP"
    )]
    NoAgent { addr: HttpAddr, source: io::Error },
    /// The message of the agent says what to do.
    #[error("{}", .0.message)]
    Refused(ErrorBody),
    /// Correct the file, or name another.
    #[error("{0}")]
    Token(String),
    /// Something other than an agent listens there.
    #[error("{addr} does not answer as an agent of Consort does: {what}; check --http")]
    Strange { addr: HttpAddr, what: String },
    /// The agent is overloaded or paused.
    #[error("the agent at {addr} took too long to answer; it may be paused or overloaded")]
    Slow { addr: HttpAddr },
}

impl ClientError {
    /// The problem in a few words.
    pub(crate) fn brief(&self) -> String {
        match self {
            ClientError::NoAgent { source, .. } => source.to_string(),
            ClientError::Refused(error) => error.message.clone(),
            ClientError::Token(what) => what.clone(),
            ClientError::Strange { what, .. } => format!("not an answer of an agent: {what}"),
            ClientError::Slow { .. } => "it took too long to answer".to_owned(),
        }
    }
}

impl AgentAddr {
    /// The agent at this address.
    pub(crate) fn of(http: HttpAddr) -> AgentAddr {
        AgentAddr {
            http,
            token_file: None,
        }
    }

    /// The address of the agent, for people.
    pub(crate) fn shown(&self) -> String {
        match &self.http {
            HttpAddr::Tcp(addr) => format!("http://{addr}"),
            HttpAddr::Unix(_) => self.http.to_string(),
        }
    }

    /// Sends a GET request for `path`.
    pub(crate) async fn get<T: DeserializeOwned>(&self, path: &str) -> Result<T, ClientError> {
        let patience = Duration::from_secs(10);
        self.call(Method::GET, path, Bytes::new(), patience).await
    }

    /// Sends a GET request for `path`, and waits for at most `patience`.
    pub(crate) async fn get_within<T: DeserializeOwned>(
        &self,
        path: &str,
        patience: Duration,
    ) -> Result<T, ClientError> {
        self.call(Method::GET, path, Bytes::new(), patience).await
    }

    /// Sends a POST request that may take `patience`.
    pub(crate) async fn post<T: DeserializeOwned>(
        &self,
        path: &str,
        body: &impl Serialize,
        patience: Duration,
    ) -> Result<T, ClientError> {
        let body = serde_json::to_vec(body).map_err(|e| self.strange(e))?;
        self.call(Method::POST, path, body.into(), patience).await
    }

    /// Sends a PATCH request.
    pub(crate) async fn patch<T: DeserializeOwned>(
        &self,
        path: &str,
        body: &impl Serialize,
    ) -> Result<T, ClientError> {
        let body = serde_json::to_vec(body).map_err(|e| self.strange(e))?;
        let patience = Duration::from_secs(10);
        self.call(Method::PATCH, path, body.into(), patience).await
    }

    /// Sends a DELETE request.
    pub(crate) async fn delete<T: DeserializeOwned>(
        &self,
        path: &str,
        patience: Duration,
    ) -> Result<T, ClientError> {
        self.call(Method::DELETE, path, Bytes::new(), patience)
            .await
    }

    /// Sends a POST request whose effect lasts for as long as the stream of its answer is read.
    pub(crate) async fn take(
        &self,
        path: &str,
        body: &impl Serialize,
    ) -> Result<SseStream, ClientError> {
        let body = serde_json::to_vec(body).map_err(|e| self.strange(e))?;
        let answer = self.send(Method::POST, path, body.into()).await?;
        Ok(SseStream {
            body: answer.into_body(),
            rest: Vec::new(),
        })
    }

    /// Follows a stream of events.
    pub(crate) async fn follow(&self, path: &str) -> Result<SseStream, ClientError> {
        let body = self.stream(path).await?;
        let rest = Vec::new();
        Ok(SseStream { body, rest })
    }

    async fn call<T: DeserializeOwned>(
        &self,
        method: Method,
        path: &str,
        body: Bytes,
        patience: Duration,
    ) -> Result<T, ClientError> {
        let exchange = async {
            let answer = self.send(method, path, body).await?;
            let body = Limited::new(answer.into_body(), ANSWER_MAX);
            let body = body.collect().await.map_err(|e| self.strange(e))?;
            serde_json::from_slice(&body.to_bytes()).map_err(|e| self.strange(e))
        };
        match timeout(patience, exchange).await {
            Ok(answer) => answer,
            Err(_) => Err(ClientError::Slow {
                addr: self.http.clone(),
            }),
        }
    }

    /// Opens a stream that ends when the agent stops.
    pub(crate) async fn stream(&self, path: &str) -> Result<Incoming, ClientError> {
        let answer = self.send(Method::GET, path, Bytes::new()).await?;
        Ok(answer.into_body())
    }

    async fn send(
        &self,
        method: Method,
        path: &str,
        body: Bytes,
    ) -> Result<Response<Incoming>, ClientError> {
        let no_agent = |source| ClientError::NoAgent {
            addr: self.http.clone(),
            source,
        };
        let connect = async {
            Ok(match &self.http {
                HttpAddr::Tcp(addr) => shake_hands(TcpStream::connect(addr).await?).await,
                HttpAddr::Unix(path) => shake_hands(UnixStream::connect(path).await?).await,
            })
        };
        let mut sender = match timeout(CONNECT_PATIENCE, connect).await {
            Ok(Ok(handshake)) => handshake.map_err(|e| self.strange(e))?,
            Ok(Err(source)) => return Err(no_agent(source)),
            Err(_) => return Err(no_agent(io::ErrorKind::TimedOut.into())),
        };
        let host = match &self.http {
            HttpAddr::Tcp(addr) => addr.to_string(),
            HttpAddr::Unix(_) => "localhost".to_owned(),
        };
        let request = Request::builder()
            .method(method)
            .uri(path)
            .header(header::HOST, host)
            .header(header::CONTENT_TYPE, "application/json");
        let request = match self.token()? {
            Some(token) => request.header(header::AUTHORIZATION, format!("Bearer {token}")),
            None => request,
        };
        let request = request.body(Full::new(body)).map_err(|e| self.strange(e))?;
        let answer = sender
            .send_request(request)
            .await
            .map_err(|e| self.strange(e))?;
        if answer.status() == StatusCode::OK {
            return Ok(answer);
        }
        let status = answer.status();
        let body = Limited::new(answer.into_body(), ANSWER_MAX);
        let body = body.collect().await.map_err(|e| self.strange(e))?;
        match serde_json::from_slice(&body.to_bytes()) {
            Ok(error) => Err(ClientError::Refused(error)),
            Err(_) => Err(self.strange(format!("status {status}"))),
        }
    }

    /// The token to present: the first one of the file.
    fn token(&self) -> Result<Option<String>, ClientError> {
        // A variable that is set to an empty value names no file.
        let named = self.token_file.as_ref();
        let Some(path) = named.filter(|path| !path.as_os_str().is_empty()) else {
            return Ok(None);
        };
        let text = read_secret(path).map_err(|e| ClientError::Token(format!("token: {e}")))?;
        let mut lines = text.lines().map(str::trim);
        let line = lines.find(|line| !line.is_empty() && !line.starts_with('#'));
        let token = line.and_then(|line| line.split_whitespace().last());
        match token {
            Some(token) => Ok(Some(token.to_owned())),
            None => Err(ClientError::Token(format!(
                "token: {} has none; write one line with it",
                path.display()
            ))),
        }
    }

    pub(crate) fn strange(&self, what: impl ToString) -> ClientError {
        ClientError::Strange {
            addr: self.http.clone(),
            what: what.to_string(),
        }
    }
}

async fn shake_hands<S>(stream: S) -> hyper::Result<http1::SendRequest<Full<Bytes>>>
where
    S: tokio::io::AsyncRead + tokio::io::AsyncWrite + Unpin + Send + 'static,
{
    let (sender, connection) = http1::handshake(TokioIo::new(stream)).await?;
    // Its errors also reach the waiting request.
    tokio::spawn(connection);
    Ok(sender)
}

/// A stream of server-sent events.
pub(crate) struct SseStream {
    body: Incoming,
    rest: Vec<u8>,
}

impl SseStream {
    /// Waits for the next event; `None` at the end. This is cancel safe: dropping the future loses nothing.
    pub(crate) async fn next<T: DeserializeOwned>(&mut self) -> anyhow::Result<Option<T>> {
        Ok(match self.next_json().await? {
            Some(json) => Some(serde_json::from_str(&json)?),
            None => None,
        })
    }

    /// The same, as it was sent.
    pub(crate) async fn next_json(&mut self) -> anyhow::Result<Option<String>> {
        loop {
            while let Some(end) = self.rest.iter().position(|&b| b == b'\n') {
                let line: Vec<u8> = self.rest.drain(..=end).collect();
                if let Some(json) = line.strip_prefix(b"data: ") {
                    let json = str::from_utf8(json.trim_ascii_end());
                    return Ok(Some(json.context("the stream is not UTF-8")?.to_owned()));
                }
            }
            anyhow::ensure!(
                self.rest.len() <= LINE_MAX,
                "a line of the stream is too long"
            );
            match self.body.frame().await {
                Some(frame) => {
                    let frame = frame.context("the agent has gone without finishing its stream")?;
                    if let Some(data) = frame.data_ref() {
                        self.rest.extend_from_slice(data);
                    }
                }
                None => return Ok(None),
            }
        }
    }
}

/// The path of an election at the agent; `verb` is empty or starts with a slash.
pub(crate) fn election_path(name: &str, verb: &str) -> String {
    path("elections", name, verb)
}

/// The path of one of `things` by its name; `verb` is empty or starts with a slash.
pub(crate) fn path(things: &str, name: &str, verb: &str) -> String {
    format!("/v1/{things}/{}{verb}", encoded(name))
}

/// Encodes text as a part of a URL path.
pub(crate) fn encoded(text: &str) -> String {
    let plain = |b: u8| b.is_ascii_alphanumeric() || b"-._~".contains(&b);
    let encoded = text.bytes().map(|b| match plain(b) {
        true => char::from(b).to_string(),
        false => format!("%{b:02X}"),
    });
    encoded.collect()
}

/// Runs a client command.
pub(crate) fn block_on<T>(future: impl Future<Output = anyhow::Result<T>>) -> anyhow::Result<T> {
    tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()?
        .block_on(future)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn any_name_makes_one_segment_of_a_path() {
        assert_eq!(election_path("gateway-7", ""), "/v1/elections/gateway-7");
        assert_eq!(
            election_path("a/b?c ü", "/resign"),
            "/v1/elections/a%2Fb%3Fc%20%C3%BC/resign"
        );
    }
}
