//! Facts that could not be stored, and the schedule for trying again.

use super::Driver;
use crate::builder;
use crate::state::StateError;
use consort_proto::Fact;
use core::time::Duration;
use tokio::time::Instant;

/// The delay before storing is tried again: the first one, and the longest one.
const RETRY_FIRST: Duration = Duration::from_millis(500);
const RETRY_MAX: Duration = Duration::from_secs(15);

/// Whether facts can be stored.
#[derive(Debug, Default)]
pub(super) struct Storage {
    failure: Option<Failure>,
    /// The facts that are not on the disk, only the latest one of each kind.
    unstored: Vec<Fact>,
}

#[derive(Debug)]
struct Failure {
    error: String,
    retry_at: Instant,
    wait: Duration,
}

impl Storage {
    /// The reason why facts cannot be stored.
    pub(super) fn error(&self) -> Option<String> {
        self.failure.as_ref().map(|f| f.error.clone())
    }

    /// The time at which storing is tried again.
    pub(super) fn retry_at(&self) -> Option<Instant> {
        self.failure.as_ref().map(|f| f.retry_at)
    }

    /// Keeps a fact for a later attempt, in place of an earlier one of the same kind.
    fn keep(&mut self, fact: Fact) {
        let replaces = |old: &Fact| match (old, &fact) {
            (Fact::Term(a, _), Fact::Term(b, _)) | (Fact::Lease(a, _), Fact::Lease(b, _)) => a == b,
            (a, b) => core::mem::discriminant(a) == core::mem::discriminant(b),
        };
        self.unstored.retain(|old| !replaces(old));
        self.unstored.push(fact);
    }
}

impl Driver {
    /// Stores the facts of the core, or tells the core that this failed. A failure is logged once, and only
    /// [`Driver::retry_storage`] tries again, because a failing disk may take long to report an error.
    pub(super) async fn store_facts(&mut self) {
        while let Some(fact) = self.node.poll_fact() {
            if self.storage.failure.is_none() {
                let id = self.node.id();
                let Err(error) = builder::store(self.state.as_ref(), id, fact.clone()).await else {
                    continue;
                };
                self.note_failure(&error);
            }
            self.storage.keep(fact);
            self.node.handle_storage_failure(self.clock.now());
        }
    }

    fn note_failure(&mut self, error: &StateError) {
        self.stats.store_errors += 1;
        tracing::error!(
            %error,
            "state cannot be stored: this node holds no elections and asks for no locks until it can be"
        );
        self.storage.failure = Some(Failure {
            error: error.to_string(),
            retry_at: Instant::now() + RETRY_FIRST,
            wait: RETRY_FIRST,
        });
    }

    /// Handles the result of storing hints for the next start. Nothing depends on them, but if the disk fails here it
    /// may also fail for facts, so this is checked before a fact has to be stored.
    pub(super) async fn note_hints(&mut self, stored: Result<(), StateError>) {
        let Err(error) = stored else {
            self.hints_failed = false;
            return;
        };
        self.stats.store_errors += 1;
        if core::mem::replace(&mut self.hints_failed, true) || self.storage.failure.is_some() {
            return;
        }
        tracing::warn!(%error, "hints for the next start could not be stored");
        let fact = Fact::Life(self.node.membership().life());
        if let Err(error) = builder::store(self.state.as_ref(), self.node.id(), fact.clone()).await
        {
            self.note_failure(&error);
            self.storage.keep(fact);
            self.node.handle_storage_failure(self.clock.now());
            self.carry_out().await;
        }
    }

    /// Tries again to store failed facts, if that is due.
    pub(super) async fn retry_storage(&mut self) {
        let Some(due) = self.storage.retry_at() else {
            return;
        };
        if due > Instant::now() {
            return;
        }
        while let Some(fact) = self.storage.unstored.first().cloned() {
            let id = self.node.id();
            if let Err(error) = builder::store(self.state.as_ref(), id, fact.clone()).await {
                self.stats.store_errors += 1;
                if let Some(failure) = &mut self.storage.failure {
                    failure.error = error.to_string();
                    failure.wait = (failure.wait * 2).min(RETRY_MAX);
                    failure.retry_at = Instant::now() + failure.wait;
                }
                return;
            }
            self.storage.unstored.remove(0);
            if self.storage.unstored.is_empty() {
                self.storage.failure = None;
                tracing::info!("state can be stored again");
            }
            self.node.handle_stored(self.clock.now(), fact);
            self.carry_out().await;
        }
    }
}
