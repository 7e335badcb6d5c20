//! Requests to an agent over HTTP, by TCP or a Unix socket.

use crate::addr::HttpAddr;
use crate::api::ErrorBody;
use crate::stream::EventStream;
use crate::tls::{Trust, TrustError};
use core::fmt;
use core::time::Duration;
use http_body_util::{BodyExt, Full, Limited};
use hyper::body::{Bytes, Incoming};
use hyper::client::conn::http1;
use hyper::header::HeaderValue;
use hyper::{Method, Request, Response, StatusCode, header};
use hyper_util::rt::TokioIo;
use serde::Serialize;
use serde::de::DeserializeOwned;
use std::io;
use tokio::net::TcpStream;
#[cfg(unix)]
use tokio::net::UnixStream;
use tokio::time::timeout;

/// The longest answer that is read.
const ANSWER_MAX: usize = 64 << 20;

/// How long a connection may take.
const CONNECT_PATIENCE: Duration = Duration::from_secs(3);

/// How long an answer may take unless a call says otherwise.
pub(crate) const PATIENCE: Duration = Duration::from_secs(10);

/// A client of one agent.
#[derive(Clone)]
pub struct Client {
    addr: HttpAddr,
    token: Option<String>,
    trust: Option<Trust>,
    in_clear: bool,
}

impl fmt::Debug for Client {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // The token is a secret.
        let mut client = f.debug_struct("Client");
        client.field("addr", &self.addr).finish_non_exhaustive()
    }
}

/// Why there is no answer.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ClientError {
    /// Start an agent, or name the right address.
    #[error(
        "no agent answers at {addr} ({source}); start one with `consort up` or `consort agent`, \
         or name another address"
    )]
    NoAgent {
        /// The address.
        addr: HttpAddr,
        /// The error of the system.
        source: io::Error,
    },
    /// The message of the agent says what to do.
    #[error("{}", .0.message)]
    Refused(ErrorBody),
    /// Present another token. The text says what is wrong with this one.
    #[error("{0}")]
    Token(String),
    /// Use TLS, or a tunnel, or accept the risk with [`Client::send_token_in_clear`].
    #[error(
        "the token for {addr} would cross the network in the clear, where others can read it; serve TLS there \
         (api.tls_cert) and ask https://, or accept the risk (--token-in-clear)"
    )]
    InClear {
        /// The address.
        addr: HttpAddr,
    },
    /// Name the right certificate. The text says what is wrong with it.
    #[error("{0}")]
    Trust(#[from] TrustError),
    /// Check the certificate on both sides, and the address.
    #[error(
        "{addr} is not trusted: {source}; check its certificate (--tls-ca) and that it names this address"
    )]
    Untrusted {
        /// The address.
        addr: HttpAddr,
        /// The error of the handshake.
        source: io::Error,
    },
    /// Something other than an agent listens there.
    #[error("{addr} does not answer as an agent of Consort does: {what}; check the address")]
    Strange {
        /// The address.
        addr: HttpAddr,
        /// What was strange about the answer.
        what: String,
    },
    /// The agent is overloaded or paused.
    #[error("the agent at {addr} took too long to answer; it may be paused or overloaded")]
    Slow {
        /// The address.
        addr: HttpAddr,
    },
}

impl ClientError {
    /// The problem in a few words.
    pub fn brief(&self) -> String {
        match self {
            ClientError::NoAgent { source, .. } => source.to_string(),
            ClientError::Refused(error) => error.message.clone(),
            ClientError::Token(what) => what.clone(),
            ClientError::InClear { .. } => "the token would be sent in the clear".to_owned(),
            ClientError::Trust(error) => error.to_string(),
            ClientError::Untrusted { source, .. } => format!("not trusted: {source}"),
            ClientError::Strange { what, .. } => format!("not an answer of an agent: {what}"),
            ClientError::Slow { .. } => "it took too long to answer".to_owned(),
        }
    }
}

impl Client {
    /// A client of the agent at `addr`. It connects when a request is sent.
    pub fn new(addr: HttpAddr) -> Client {
        Client {
            addr,
            token: None,
            trust: None,
            in_clear: false,
        }
    }

    /// Presents `token` with every request, for an agent that has a file of tokens.
    #[must_use]
    pub fn with_token(mut self, token: impl Into<String>) -> Client {
        self.token = Some(token.into());
        self
    }

    /// Trusts the agents whose certificate is in `pem`, or is signed by one of those. An `https://` address needs this: the
    /// system's list of authorities is not used.
    pub fn with_tls_ca(mut self, pem: &[u8]) -> Result<Client, ClientError> {
        self.trust = Some(Trust::new(pem)?);
        Ok(self)
    }

    /// Sends the token also without TLS to agents that are not on this machine. Whoever can read the network there can
    /// then use it.
    #[must_use]
    pub fn send_token_in_clear(mut self) -> Client {
        self.in_clear = true;
        self
    }

    /// The address of the agent.
    pub fn addr(&self) -> &HttpAddr {
        &self.addr
    }

    /// Sends a GET request for `path`.
    pub async fn get<T: DeserializeOwned>(&self, path: &str) -> Result<T, ClientError> {
        self.call(Method::GET, path, Bytes::new(), PATIENCE).await
    }

    /// Sends a GET request for `path`, and waits for at most `patience`.
    pub async fn get_within<T: DeserializeOwned>(
        &self,
        path: &str,
        patience: Duration,
    ) -> Result<T, ClientError> {
        self.call(Method::GET, path, Bytes::new(), patience).await
    }

    /// Sends a POST request that may take `patience`.
    pub async fn post<T: DeserializeOwned>(
        &self,
        path: &str,
        body: &impl Serialize,
        patience: Duration,
    ) -> Result<T, ClientError> {
        let body = serde_json::to_vec(body).map_err(|e| self.strange(e))?;
        self.call(Method::POST, path, body.into(), patience).await
    }

    /// Sends a PATCH request.
    pub async fn patch<T: DeserializeOwned>(
        &self,
        path: &str,
        body: &impl Serialize,
    ) -> Result<T, ClientError> {
        let body = serde_json::to_vec(body).map_err(|e| self.strange(e))?;
        self.call(Method::PATCH, path, body.into(), PATIENCE).await
    }

    /// Sends a DELETE request.
    pub async fn delete<T: DeserializeOwned>(
        &self,
        path: &str,
        patience: Duration,
    ) -> Result<T, ClientError> {
        self.call(Method::DELETE, path, Bytes::new(), patience)
            .await
    }

    /// Sends a POST request whose effect lasts for as long as the stream of its answer is read.
    pub async fn take<T: DeserializeOwned>(
        &self,
        path: &str,
        body: &impl Serialize,
    ) -> Result<EventStream<T>, ClientError> {
        let body = serde_json::to_vec(body).map_err(|e| self.strange(e))?;
        let answer = self.send(Method::POST, path, body.into()).await?;
        Ok(EventStream::new(answer.into_body()))
    }

    /// Follows a stream of events.
    pub async fn follow<T: DeserializeOwned>(
        &self,
        path: &str,
    ) -> Result<EventStream<T>, ClientError> {
        let answer = self.send(Method::GET, path, Bytes::new()).await?;
        Ok(EventStream::new(answer.into_body()))
    }

    async fn call<T: DeserializeOwned>(
        &self,
        method: Method,
        path: &str,
        body: Bytes,
        patience: Duration,
    ) -> Result<T, ClientError> {
        let call = async {
            let answer = self.send(method, path, body).await?;
            let body = self.body(answer).await?;
            serde_json::from_slice(&body).map_err(|e| self.strange(e))
        };
        self.within(patience, call).await
    }

    /// Sends a GET request whose answer has the same form with the status 503 as with 200.
    pub(crate) async fn get_any<T: DeserializeOwned>(&self, path: &str) -> Result<T, ClientError> {
        let call = async {
            let answer = self.exchange(Method::GET, path, Bytes::new()).await?;
            let body = self.body(answer).await?;
            match serde_json::from_slice(&body) {
                Ok(answer) => Ok(answer),
                Err(strange) => Err(match serde_json::from_slice(&body) {
                    Ok(error) => ClientError::Refused(error),
                    Err(_) => self.strange(strange),
                }),
            }
        };
        self.within(PATIENCE, call).await
    }

    async fn within<T>(
        &self,
        patience: Duration,
        call: impl Future<Output = Result<T, ClientError>>,
    ) -> Result<T, ClientError> {
        match timeout(patience, call).await {
            Ok(answer) => answer,
            Err(_) => Err(ClientError::Slow {
                addr: self.addr.clone(),
            }),
        }
    }

    /// Sends a request, and returns its answer if it succeeded.
    async fn send(
        &self,
        method: Method,
        path: &str,
        body: Bytes,
    ) -> Result<Response<Incoming>, ClientError> {
        let answer = self.exchange(method, path, body).await?;
        if answer.status() == StatusCode::OK {
            return Ok(answer);
        }
        let status = answer.status();
        match serde_json::from_slice(&self.body(answer).await?) {
            Ok(error) => Err(ClientError::Refused(error)),
            Err(_) => Err(self.strange(format!("status {status}"))),
        }
    }

    /// Whether the token would cross a network in the clear.
    fn would_expose_token(&self) -> bool {
        let clear = matches!(self.addr, HttpAddr::Tcp(_)) && !self.addr.is_here();
        clear && self.token.is_some() && !self.in_clear
    }

    /// Sends a request, and returns its answer with any status.
    async fn exchange(
        &self,
        method: Method,
        path: &str,
        body: Bytes,
    ) -> Result<Response<Incoming>, ClientError> {
        let no_agent = |source| ClientError::NoAgent {
            addr: self.addr.clone(),
            source,
        };
        if self.would_expose_token() {
            let addr = self.addr.clone();
            return Err(ClientError::InClear { addr });
        }
        let trust = match (&self.addr, &self.trust) {
            (HttpAddr::Tls { .. }, None) => return Err(TrustError::Missing.into()),
            (_, trust) => trust.as_ref(),
        };
        let connect = async {
            Ok(match &self.addr {
                HttpAddr::Tls { host, port } => {
                    let tcp = TcpStream::connect((host.as_str(), *port)).await?;
                    match trust {
                        Some(trust) => shake_hands(trust.connect(host, tcp).await?).await,
                        None => return Err(io::ErrorKind::Unsupported.into()),
                    }
                }
                HttpAddr::Tcp(addr) => shake_hands(TcpStream::connect(addr).await?).await,
                #[cfg(not(unix))]
                HttpAddr::Unix(_) => return Err(io::ErrorKind::Unsupported.into()),
                #[cfg(unix)]
                HttpAddr::Unix(path) => shake_hands(UnixStream::connect(path).await?).await,
            })
        };
        let mut sender = match timeout(CONNECT_PATIENCE, connect).await {
            Ok(Ok(handshake)) => handshake.map_err(|e| self.strange(e))?,
            Ok(Err(source)) if crate::tls::is_refusal(&source) => {
                let addr = self.addr.clone();
                return Err(ClientError::Untrusted { addr, source });
            }
            Ok(Err(source)) => return Err(no_agent(source)),
            Err(_) => return Err(no_agent(io::ErrorKind::TimedOut.into())),
        };
        let host = match &self.addr {
            HttpAddr::Tcp(addr) => addr.to_string(),
            HttpAddr::Tls { .. } => {
                let text = self.addr.to_string();
                text.trim_start_matches("https://").to_owned()
            }
            HttpAddr::Unix(_) => "localhost".to_owned(),
        };
        let request = Request::builder()
            .method(method)
            .uri(path)
            .header(header::HOST, host)
            .header(header::CONTENT_TYPE, "application/json");
        let request = match &self.token {
            Some(token) => {
                let value = HeaderValue::try_from(format!("Bearer {token}"));
                let value = value.map_err(|_| {
                    ClientError::Token("the token has characters that cannot be sent".to_owned())
                })?;
                request.header(header::AUTHORIZATION, value)
            }
            None => request,
        };
        let request = request.body(Full::new(body)).map_err(|e| self.strange(e))?;
        let sent = sender.send_request(request).await;
        sent.map_err(|e| self.strange(e))
    }

    async fn body(&self, answer: Response<Incoming>) -> Result<Bytes, ClientError> {
        let body = Limited::new(answer.into_body(), ANSWER_MAX);
        let body = body.collect().await.map_err(|e| self.strange(e))?;
        Ok(body.to_bytes())
    }

    /// The error for an answer that cannot be understood.
    pub fn strange(&self, what: impl ToString) -> ClientError {
        ClientError::Strange {
            addr: self.addr.clone(),
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

/// The path of one of `things` (`elections`, `locks`, ...) by its name; `verb` is empty or starts with a slash.
pub fn path(things: &str, name: &str, verb: &str) -> String {
    format!("/v1/{things}/{}{verb}", encoded(name))
}

/// Encodes text as a part of a URL path.
pub fn encoded(text: &str) -> String {
    let plain = |b: u8| b.is_ascii_alphanumeric() || b"-._~".contains(&b);
    let encoded = text.bytes().map(|b| match plain(b) {
        true => char::from(b).to_string(),
        false => format!("%{b:02X}"),
    });
    encoded.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn any_name_makes_one_segment_of_a_path() {
        assert_eq!(
            path("elections", "gateway-7", ""),
            "/v1/elections/gateway-7"
        );
        assert_eq!(
            path("elections", "a/b?c ü", "/resign"),
            "/v1/elections/a%2Fb%3Fc%20%C3%BC/resign"
        );
    }
    #[test]
    fn a_token_goes_to_another_machine_in_the_clear_only_if_told_to() {
        let at = |addr: &str| Client::new(addr.parse().unwrap());
        let far = || at("192.0.2.7:9").with_token("secret");
        assert!(far().would_expose_token());
        assert!(!far().send_token_in_clear().would_expose_token());
        assert!(!at("192.0.2.7:9").would_expose_token());
        for safe in [
            "https://192.0.2.7:9",
            "127.0.0.1:9",
            "0.0.0.0:9",
            "unix:/run/consort.sock",
        ] {
            assert!(
                !at(safe).with_token("secret").would_expose_token(),
                "{safe}"
            );
        }
    }
}
