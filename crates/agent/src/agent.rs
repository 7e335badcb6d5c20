//! One node and its HTTP interface, started and stopped together.

use crate::api::EventView;
use crate::config::Config;
use crate::handler::Handlers;
use crate::history::History;
use crate::listen::{HttpAddr, ListenError, Listener, listen};
use crate::metrics::Meters;
use crate::routes::{self, LabOrder};
use axum::serve::ListenerExt;
use consort::membership::DistanceSource;
use consort::{
    CampaignError, ElectionError, Events, Life, Node, NodeId, SetTagsError, StartError, Stopped,
};
use core::time::Duration;
use std::io;
use std::sync::Arc;
use tokio::sync::mpsc;
use tokio::task::JoinHandle;

/// How long open connections may finish after the node has stopped.
const CLOSE_PATIENCE: Duration = Duration::from_millis(500);

/// Why an agent did not start. Nothing is left behind.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum AgentError {
    /// See there.
    #[error(transparent)]
    Node(#[from] StartError),
    /// Correct the settings of the election it names.
    #[error("election `{name}`: {source}")]
    Election {
        /// Which.
        name: String,
        /// What is wrong.
        source: ElectionError,
    },
    /// See there.
    #[error(transparent)]
    Http(#[from] ListenError),
}

/// Why settings were not taken while the agent runs. What came before the error has been taken.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ReloadError {
    /// See there.
    #[error("tags: {0}")]
    Tags(#[from] SetTagsError),
    /// Correct the settings of the election it names.
    #[error("election `{name}`: {source}")]
    Election {
        /// Which.
        name: String,
        /// What is wrong.
        source: CampaignError,
    },
    /// Watch fewer elections.
    #[error(transparent)]
    Watch(#[from] ElectionError),
    /// Start the agent again.
    #[error(transparent)]
    Stopped(#[from] Stopped),
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
    meters: Arc<Meters>,
    server: JoinHandle<io::Result<()>>,
}

impl Agent {
    /// Starts the node and serves HTTP. Returns without waiting for seeds to answer.
    pub async fn start(config: Config) -> Result<Agent, AgentError> {
        Agent::start_after(config, None, None).await
    }

    /// Starts in a life later than `last`, for agents without a state directory that are started
    /// again by the same program. With `lab` it serves `/lab`, which takes orders to play with the group: for
    /// demonstrations, never for a group that is in use.
    pub async fn start_after(
        config: Config,
        last: Option<Life>,
        lab: Option<mpsc::Sender<LabOrder>>,
    ) -> Result<Agent, AgentError> {
        // First: a node that joins and vanishes again would look like a failure to the others.
        let (listener, http) = listen(&config.http).await?;
        let settings = config.clone();
        let source = config.protocol.membership.distance_source;
        let about = routes::About {
            group: config.protocol.group.clone(),
            positions: source == DistanceSource::Position,
            topology: config.topology.is_some(),
            unix: matches!(http, HttpAddr::Unix(_)),
            locks: (&config.protocol.mutex).into(),
        };
        let mut builder = Node::builder()
            .name(config.name)
            .bind(config.bind)
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
        let history = History::follow(&node);
        for name in watched {
            if let Err(source) = node.election(&name).await {
                node.shutdown().await;
                return Err(AgentError::Election { name, source });
            }
        }
        let meters = Arc::new(Meters::default());
        let handlers = Handlers::start(&settings.handlers, &history, &node, &http, &meters);
        let router = routes::router(
            node.clone(),
            about,
            history.clone(),
            Arc::clone(&meters),
            lab,
        );
        let stopped = {
            let node = node.clone();
            async move { node.stopped().await }
        };
        let server = match listener {
            Listener::Tcp(listener) => {
                // Events are small, and each waits for nobody.
                let listener = listener.tap_io(|tcp| {
                    if let Err(error) = tcp.set_nodelay(true) {
                        tracing::debug!("a connection may be slow: {error}");
                    }
                });
                let serve = axum::serve(listener, router).with_graceful_shutdown(stopped);
                tokio::spawn(async move { serve.await })
            }
            Listener::Unix(listener, file) => {
                let serve = axum::serve(listener, router).with_graceful_shutdown(stopped);
                tokio::spawn(async move {
                    let served = serve.await;
                    drop(file);
                    served
                })
            }
        };
        Ok(Agent {
            node,
            events: Some(events),
            http,
            history,
            config: settings,
            handlers,
            meters,
            server,
        })
    }

    /// The node.
    pub fn node(&self) -> &Node {
        &self.node
    }

    /// The subscription that misses no event since the start. There is one: later calls return
    /// what [`Node::subscribe`] does.
    pub fn events(&mut self) -> Events {
        let first = self.events.take();
        first.unwrap_or_else(|| self.node.subscribe())
    }

    /// Where HTTP is served.
    pub fn http(&self) -> &HttpAddr {
        &self.http
    }

    /// Adds to the agent's history that something was done by hand to the group, or to one member of it.
    pub fn remark(&self, deed: &str, member: Option<(NodeId, &str)>) {
        self.history.note(EventView::lab(deed, member));
    }

    /// Takes other settings while it runs: tags, elections and event handlers. Returns whether that was all that differs;
    /// the rest needs a start. Tags that were changed since the start stay unless the settings have others than before.
    pub async fn reload(&mut self, config: Config) -> Result<bool, ReloadError> {
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
            // The old ones end first: no event is handled twice.
            self.handlers = Handlers::default();
            self.handlers = Handlers::start(
                &config.handlers,
                &self.history,
                &self.node,
                &self.http,
                &self.meters,
            );
            self.config.handlers = config.handlers.clone();
        }
        Ok(config == self.config)
    }

    /// Says goodbye and stops.
    pub async fn leave(self) -> Result<(), Stopped> {
        let left = self.node.leave().await;
        self.close().await;
        left
    }

    /// Stops at once without a goodbye, as a crash would. Ports are free when this returns.
    pub async fn kill(self) {
        self.node.shutdown().await;
        self.close().await;
    }

    /// Ends the HTTP interface of a stopped node, once open connections are done or time is up.
    pub async fn close(mut self) {
        self.node.shutdown().await;
        let closed = tokio::time::timeout(CLOSE_PATIENCE, &mut self.server).await;
        if closed.is_err() {
            self.server.abort();
            let _ = self.server.await;
        }
    }
}
