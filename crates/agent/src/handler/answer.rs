//! Handlers that answer queries.

use super::{About, obtain};
use crate::api::EventView;
use crate::config::HandlerConfig;
use crate::metrics::Meters;
use crate::view;
use consort::Node;
use consort::message::IncomingQuery;
use std::sync::Arc;
use std::time::Instant;
use tokio::task::JoinSet;

/// The greatest number of commands that answer queries at a time. Further queries are declined.
const COMMANDS_MAX: usize = 8;

/// What is needed to answer queries.
pub(super) struct Answering {
    pub(super) handlers: Vec<HandlerConfig>,
    pub(super) about: About,
    pub(super) meters: Arc<Meters>,
}

impl Answering {
    /// Answers queries until the node stops. Queries that no handler names are declined.
    pub(super) async fn run(self, node: Node) {
        let Ok(mut queries) = node.queries().await else {
            return;
        };
        drop(node);
        let answering = Arc::new(self);
        // Dropped together with this task, which ends the commands.
        let mut running = JoinSet::new();
        loop {
            tokio::select! {
                query = queries.next() => {
                    let Some(query) = query else { return };
                    let answering = Arc::clone(&answering);
                    let handler = answering.handlers.iter().position(|h| h.answers(query.name()));
                    match handler {
                        Some(_) if running.len() >= COMMANDS_MAX => {
                            answering.meters.query_declined();
                            tracing::warn!("query `{}` is declined: {COMMANDS_MAX} others are being answered", query.name());
                        }
                        Some(at) => drop(running.spawn(answering.answer(at, query))),
                        None => {}
                    }
                }
                Some(_) = running.join_next() => {}
            }
        }
    }

    async fn answer(self: Arc<Self>, handler: usize, query: IncomingQuery) {
        let handler = &self.handlers[handler];
        let left = query.until().saturating_duration_since(Instant::now());
        let event = described(&query);
        let said = obtain(handler, &self.about, &event, left.min(handler.timeout)).await;
        self.meters.handler_ran(said.is_some());
        let Some(said) = said else {
            return;
        };
        let name = query.name().to_owned();
        if let Err(error) = query.answer(said.trim_ascii_end()).await {
            tracing::warn!("handler `{}` for query `{name}`: {error}", handler.run);
        }
    }
}

/// The query, in the form of the event stream.
fn described(query: &IncomingQuery) -> EventView {
    let from = view::stub(&query.from().to_string(), query.from_name());
    EventView {
        member: Some(from),
        message: Some(view::message(query.name(), query.payload(), query.seq())),
        ..view::named("query")
    }
}
