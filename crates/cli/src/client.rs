//! The agent to ask, as the command line names it.

use clap::Args;
use consort_agent::read_secret;
use consort_client::Client;
pub(crate) use consort_client::{ClientError, EventStream, HttpAddr, encoded, path};
use core::time::Duration;
use serde::Serialize;
use serde::de::DeserializeOwned;
use std::path::PathBuf;

/// The agent to ask.
#[derive(Clone, Debug, Args)]
pub(crate) struct AgentAddr {
    /// Address of the agent's HTTP interface, with https:// if it speaks TLS.
    #[arg(
        long,
        env = "CONSORT_HTTP",
        value_name = "ADDR|https://HOST:PORT|unix:PATH",
        default_value = "127.0.0.1:7718"
    )]
    http: HttpAddr,
    /// File with the token to present to the agent; if it has several, the first one is used
    #[arg(long, env = "CONSORT_TOKEN_FILE", value_name = "FILE")]
    token_file: Option<PathBuf>,
    /// File with the certificate to trust at an https:// address: the agent's own, or that of the authority that signed it
    #[arg(long, env = "CONSORT_TLS_CA", value_name = "FILE")]
    tls_ca: Option<PathBuf>,
    /// Send the token without TLS to an agent on another machine: whoever reads the network there can use it
    #[arg(long)]
    token_in_clear: bool,
}

impl AgentAddr {
    /// The agent at this address.
    pub(crate) fn of(http: HttpAddr) -> AgentAddr {
        AgentAddr {
            http,
            token_file: None,
            tls_ca: None,
            token_in_clear: false,
        }
    }

    /// The address of the agent, for people.
    pub(crate) fn shown(&self) -> String {
        match &self.http {
            HttpAddr::Tcp(addr) => format!("http://{addr}"),
            HttpAddr::Tls { .. } | HttpAddr::Unix(_) => self.http.to_string(),
        }
    }

    /// A client with the token that the file has now, so that a command that runs for long notices a new one.
    pub(crate) fn client(&self) -> Result<Client, ClientError> {
        let mut client = Client::new(self.http.clone());
        if self.token_in_clear {
            client = client.send_token_in_clear();
        }
        let ca = self.tls_ca.as_ref();
        if let Some(path) = ca.filter(|path| !path.as_os_str().is_empty()) {
            let pem = std::fs::read(path).map_err(|e| {
                let path = path.display();
                ClientError::Token(format!("--tls-ca: cannot read {path}: {e}; check the path"))
            })?;
            client = client.with_tls_ca(&pem)?;
        }
        Ok(match self.token()? {
            Some(token) => client.with_token(token),
            None => client,
        })
    }

    /// Sends a GET request for `path`.
    pub(crate) async fn get<T: DeserializeOwned>(&self, path: &str) -> Result<T, ClientError> {
        self.client()?.get(path).await
    }

    /// Sends a GET request for `path`, and waits for at most `patience`.
    pub(crate) async fn get_within<T: DeserializeOwned>(
        &self,
        path: &str,
        patience: Duration,
    ) -> Result<T, ClientError> {
        self.client()?.get_within(path, patience).await
    }

    /// Sends a POST request that may take `patience`.
    pub(crate) async fn post<T: DeserializeOwned>(
        &self,
        path: &str,
        body: &impl Serialize,
        patience: Duration,
    ) -> Result<T, ClientError> {
        self.client()?.post(path, body, patience).await
    }

    /// Sends a PATCH request.
    pub(crate) async fn patch<T: DeserializeOwned>(
        &self,
        path: &str,
        body: &impl Serialize,
    ) -> Result<T, ClientError> {
        self.client()?.patch(path, body).await
    }

    /// Sends a DELETE request.
    pub(crate) async fn delete<T: DeserializeOwned>(
        &self,
        path: &str,
        patience: Duration,
    ) -> Result<T, ClientError> {
        self.client()?.delete(path, patience).await
    }

    /// Sends a POST request whose effect lasts for as long as the stream of its answer is read.
    pub(crate) async fn take<T: DeserializeOwned>(
        &self,
        path: &str,
        body: &impl Serialize,
    ) -> Result<EventStream<T>, ClientError> {
        self.client()?.take(path, body).await
    }

    /// Follows a stream of events.
    pub(crate) async fn follow<T: DeserializeOwned>(
        &self,
        path: &str,
    ) -> Result<EventStream<T>, ClientError> {
        self.client()?.follow(path).await
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

    /// The error for an answer that cannot be understood.
    pub(crate) fn strange(&self, what: impl ToString) -> ClientError {
        Client::new(self.http.clone()).strange(what)
    }
}

/// The path of an election at the agent; `verb` is empty or starts with a slash.
pub(crate) fn election_path(name: &str, verb: &str) -> String {
    path("elections", name, verb)
}

/// What to add to an error for users of the command line.
pub(crate) fn hint(error: &anyhow::Error) -> Option<&'static str> {
    match error.downcast_ref::<ClientError>()? {
        ClientError::NoAgent { .. } | ClientError::Strange { .. } => {
            Some("--http or CONSORT_HTTP names the agent to ask")
        }
        _ => None,
    }
}

/// A name on the command line: of an election or a lock.
pub(crate) fn name(text: &str) -> Result<String, &'static str> {
    match text.len() {
        1..=64 => Ok(text.to_owned()),
        _ => Err("a name has 1 to 64 bytes, as in gateway"),
    }
}

/// Runs a client command.
pub(crate) fn block_on<T>(future: impl Future<Output = anyhow::Result<T>>) -> anyhow::Result<T> {
    tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()?
        .block_on(future)
}
