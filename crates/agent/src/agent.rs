//! One node and its HTTP interface, started and stopped together.

use crate::access::{Access, TokenError};
use crate::config::Config;
use crate::handler::Handlers;
use crate::history::History;
use crate::listen::{ListenError, listen};
use crate::log::Log;
use crate::metrics::Meters;
use crate::routes::{self, LabOrder};
use crate::serve::{Limits, serve};
use crate::tls::{Tls, TlsError};
use crate::view;
use consort::election::{CampaignError, ElectionError};
use consort::membership::DistanceSource;
use consort::membership::{Farewell, Life, SetTagsError};
use consort::{Events, Node, NodeId, StartError, Stopped};
use consort_client::HttpAddr;
use core::net::SocketAddr;
use core::time::Duration;
use std::io;
use std::sync::Arc;
use tokio::sync::mpsc;
use tokio::task::JoinHandle;

/// How long open connections may take to finish after the node has stopped.
const CLOSE_PATIENCE: Duration = Duration::from_millis(500);

/// Why an agent did not start. Nothing is left behind.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum AgentError {
    /// See [`StartError`].
    #[error(transparent)]
    Node(#[from] StartError),
    /// Correct the settings of the election it names.
    #[error("election `{name}`: {source}")]
    Election {
        /// Name of the election.
        name: String,
        /// What is wrong with it.
        source: ElectionError,
    },
    /// See [`ListenError`].
    #[error(transparent)]
    Http(#[from] ListenError),
    /// See [`TokenError`].
    #[error(transparent)]
    Tokens(#[from] TokenError),
    /// See [`TlsError`].
    #[error(transparent)]
    Tls(#[from] TlsError),
    /// Create a key and give it to all members, or set `insecure` to accept that everybody who reaches the network may
    /// be a member.
    #[error(
        "the group has no key, and {bind} can be reached from other machines, where whoever reaches it is a member; make a key \
         with consort keygen and name it at every member (--key-file FILE, security.key_file), or accept that (--insecure)"
    )]
    NoKey {
        /// The address that the node was to listen on.
        bind: SocketAddr,
    },
    /// Stop what else uses UDP port 5353 without sharing it, or do without multicast DNS.
    #[cfg(feature = "mdns")]
    #[error("multicast DNS does not start: {source}")]
    Mdns {
        /// The error of the mDNS service.
        source: mdns_sd::Error,
    },
    /// Configure a file of tokens, or serve HTTP to this machine only.
    #[error(
        "HTTP on {addr} can be reached from other machines, and without tokens whoever reaches it controls this node; \
         either name a file of tokens (--token-file FILE, api.token_file), or serve this machine only \
         (--http 127.0.0.1:7718, --http unix:PATH)"
    )]
    NoTokens {
        /// The address that HTTP was to be served on.
        addr: HttpAddr,
    },
    /// Name another interface, or wait until it has an address.
    #[error("bind: `{name}` is neither IP:PORT nor an interface that can be used: {source}")]
    Interface {
        /// The name of the interface.
        name: String,
        /// What is wrong with it.
        source: io::Error,
    },
}

/// Why settings were not applied while the agent runs. The settings before the error have been applied.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ReloadError {
    /// See [`SetTagsError`].
    #[error("tags: {0}")]
    Tags(#[from] SetTagsError),
    /// Correct the settings of the election it names.
    #[error("election `{name}`: {source}")]
    Election {
        /// Name of the election.
        name: String,
        /// What is wrong with it.
        source: CampaignError,
    },
    /// Follow fewer elections.
    #[error(transparent)]
    Watch(#[from] ElectionError),
    /// See [`TokenError`]. The tokens remain unchanged.
    #[error(transparent)]
    Tokens(#[from] TokenError),
    /// See [`TlsError`]. The certificate remains unchanged.
    #[error(transparent)]
    Tls(#[from] TlsError),
    /// Start the agent again.
    #[error(transparent)]
    Stopped(#[from] Stopped),
}

/// What a program provides for an agent besides its settings.
#[derive(Debug, Default)]
pub struct Startup {
    /// Starts in a life later than this one, for agents without a state directory that the same program starts again.
    pub last: Option<Life>,
    /// Serves `/lab`, which accepts orders to experiment with the group. This is for demonstrations, never for a group in
    /// production.
    pub lab: Option<mpsc::Sender<LabOrder>>,
    /// Serves the log of the process at `/v1/log`.
    pub log: Option<Log>,
}

/// A running agent.
#[derive(Debug)]
pub struct Agent {
    node: Node,
    events: Option<Events>,
    http: HttpAddr,
    history: History,
    /// The settings it runs with.
    config: Config,
    handlers: Handlers,
    access: Access,
    tls: Option<Tls>,
    meters: Arc<Meters>,
    server: JoinHandle<()>,
    #[cfg(feature = "_fuzz")]
    router: axum::Router,
}

impl Agent {
    /// Starts the node and serves HTTP. Returns without waiting for an answer from seeds.
    pub async fn start(config: Config) -> Result<Agent, AgentError> {
        Agent::start_with(config, Startup::default()).await
    }

    /// Starts the node with objects that the program provides besides the settings.
    pub async fn start_with(config: Config, startup: Startup) -> Result<Agent, AgentError> {
        let Startup { last, lab, log } = startup;
        let access = Access::open(config.api.token_file.as_deref())?;
        let tls = match (&config.api.tls_cert, &config.api.tls_key) {
            (Some(cert), Some(key)) => Some(Tls::open(cert, key)?),
            _ => None,
        };
        if !config.http.is_local() && !access.is_closed() {
            return Err(AgentError::NoTokens { addr: config.http });
        }
        let mut bind = config.bind;
        if let Some(name) = config.bind_interface.clone() {
            let ip = consort::interface_ip(&name);
            bind.set_ip(ip.map_err(|source| AgentError::Interface { name, source })?);
        }
        if !bind.ip().is_loopback() && !config.security.may_listen_anywhere() {
            return Err(AgentError::NoKey { bind });
        }
        // This comes first: a node that joins and vanishes again would look like a failure to the others.
        let (listener, http) = listen(&config.http).await?;
        let http = match (http, &tls) {
            (HttpAddr::Tcp(addr), Some(_)) => HttpAddr::Tls {
                host: addr.ip().to_string(),
                port: addr.port(),
            },
            (http, _) => http,
        };
        let settings = config.clone();
        let source = config.protocol.membership.distance_source;
        let about = routes::About {
            group: config.protocol.group.clone(),
            positions: source == DistanceSource::Position,
            topology: config.topology.is_some(),
            unix: matches!(http, HttpAddr::Unix(_)),
            tls: tls.is_some(),
            timeout: config.api.timeout,
            streams_max: config.api.streams_max,
            locks: view::lock_defaults(&config.protocol.mutex),
            info: view::info(&config, log.is_some(), lab.is_some()),
        };
        let mut builder = Node::builder()
            .name(config.name)
            .bind(bind)
            .join(config.join)
            .config(config.protocol)
            .observer(config.observer);
        for (key, value) in config.tags {
            builder = builder.tag(key, value);
        }
        if let Some(addr) = config.advertise {
            builder = builder.advertise(addr);
        }
        if let Some(id) = config.id {
            builder = builder.id(id);
        }
        if let Some(topology) = config.topology {
            builder = builder.topology(topology);
        }
        if let Some(path) = config.security.key_file {
            builder = builder.key_file(path);
            if let Some(span) = config.security.migrate_for {
                let left = humantime_serde::re::humantime::format_duration(span);
                tracing::warn!(
                    "members that do not seal yet are heard as well, for {left} at most (security.migrate_until)"
                );
                builder = builder.migrate_for(span);
            }
        }
        if let Some(files) = config.security.identity {
            builder = builder.identity(files.read().map_err(StartError::from)?);
        }
        if let Some(dir) = config.state {
            builder = builder.state_dir(dir);
        }
        if let Some(last) = last {
            builder = builder.life_after(last);
        }
        let mut watched = Vec::new();
        for election in config.elections {
            match election.options {
                Some(options) => builder = builder.election(election.name, options),
                None => watched.push(election.name),
            }
        }
        let (node, events) = builder.start_subscribed().await?;
        if let Some(position) = config.position {
            // A node that has stopped already announces nothing; whoever waits for the agent learns of that.
            let _ = node.set_position(position).await;
        }
        let history = History::follow(&node);
        for name in watched {
            if let Err(source) = node.election(&name).await {
                node.shutdown().await;
                return Err(AgentError::Election { name, source });
            }
        }
        #[cfg(feature = "mdns")]
        if settings.mdns
            && let Err(source) = crate::mdns::start(&node, &settings.protocol.group)
        {
            node.shutdown().await;
            return Err(AgentError::Mdns { source });
        }
        let meters = Arc::new(Meters::default());
        let handlers = Handlers::start(&settings, &history, &node, &http, &meters);
        let router = routes::router(
            node.clone(),
            about,
            history.clone(),
            Arc::clone(&meters),
            access.clone(),
            lab,
            log,
        );
        #[cfg(feature = "_fuzz")]
        let routes = router.clone();
        let stopped = {
            let node = node.clone();
            async move { node.stopped().await }
        };
        let limits = Limits {
            connections: settings.api.connections_max,
            timeout: settings.api.timeout,
        };
        let shown = tls.clone();
        let serving = serve(
            listener,
            router,
            limits,
            shown,
            Arc::clone(&meters),
            stopped,
        );
        let server = tokio::spawn(serving);
        Ok(Agent {
            node,
            events: Some(events),
            http,
            history,
            config: settings,
            handlers,
            access,
            tls,
            meters,
            server,
            #[cfg(feature = "_fuzz")]
            router: routes,
        })
    }

    /// The node.
    pub fn node(&self) -> &Node {
        &self.node
    }

    /// The routes that are served, so that requests need no connection.
    #[cfg(feature = "_fuzz")]
    pub fn router(&self) -> axum::Router {
        self.router.clone()
    }

    /// The subscription that has missed no event since the start. There is only one: later calls return what
    /// [`Node::subscribe`] returns.
    pub fn events(&mut self) -> Events {
        let first = self.events.take();
        first.unwrap_or_else(|| self.node.subscribe())
    }

    /// The address on which HTTP is served.
    pub fn http(&self) -> &HttpAddr {
        &self.http
    }

    /// Adds a manual intervention in the group, or in one of its members, to the agent's history.
    pub fn remark(&self, deed: &str, member: Option<(NodeId, &str)>) {
        self.history.note(view::lab(deed, member));
    }

    /// Applies new settings while the agent runs: tags, elections and event handlers; also reads the tokens and the TLS certificate again.
    /// Returns whether these were all differences; the others need a restart. Tags that were changed since the start
    /// remain, unless the tags in the settings changed. What is logged is the program's part: see [`Config::log`].
    pub async fn reload(&mut self, config: Config) -> Result<bool, ReloadError> {
        self.access.reload()?;
        self.tls.as_ref().map_or(Ok(()), Tls::reload)?;
        if config.tags != self.config.tags {
            self.node.set_tags(config.tags.clone()).await?;
            self.config.tags = config.tags.clone();
        }
        for old in &self.config.elections {
            let stays = config
                .elections
                .iter()
                .any(|e| e.name == old.name && e.options.is_some());
            if old.options.is_some() && !stays {
                self.node.election(&old.name).await?.withdraw().await?;
            }
        }
        for new in &config.elections {
            let election = self.node.election(&new.name).await?;
            let options = new
                .options
                .clone()
                .filter(|_| !self.config.elections.contains(new));
            if let Some(options) = options {
                let stands = election.campaign(options).await;
                stands.map_err(|source| ReloadError::Election {
                    name: new.name.clone(),
                    source,
                })?;
            }
        }
        self.config.elections = config.elections.clone();
        if config.handlers != self.config.handlers {
            // The old handlers end first, so that no event is handled twice.
            self.handlers = Handlers::default();
            self.handlers =
                Handlers::start(&config, &self.history, &self.node, &self.http, &self.meters);
            self.config.handlers = config.handlers.clone();
        }
        self.config.log.clone_from(&config.log);
        Ok(config == self.config)
    }

    /// Says goodbye and stops. Returns what the node waited for.
    pub async fn leave(self) -> Result<Farewell, Stopped> {
        let left = self.node.leave().await;
        self.close().await;
        left
    }

    /// Stops at once without a goodbye, like a crash. Ports are free when this returns.
    pub async fn kill(self) {
        self.node.shutdown().await;
        self.close().await;
    }

    /// Stops the HTTP interface of a stopped node, once open connections are done or the time is up.
    pub async fn close(mut self) {
        self.node.shutdown().await;
        let closed = tokio::time::timeout(CLOSE_PATIENCE, &mut self.server).await;
        if closed.is_err() {
            self.server.abort();
            let _ = self.server.await;
        }
    }
}
