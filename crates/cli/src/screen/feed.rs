//! Asks an agent for what the screen shows, and notices when it does not answer.

use super::model::Model;
use super::text::clean;
use crate::client::{AgentAddr, ClientError};
use consort_agent::api::{ElectionView, EventView, LocksView, MemberView, SelfView};
use core::time::Duration;
use serde::de::DeserializeOwned;
use serde_json::Value;
use std::sync::Arc;
use std::time::Instant;
use tokio::sync::{Notify, mpsc};
use tokio::task::JoinHandle;
use tokio::time::{sleep, timeout};

/// How often the agent is asked if nothing happens.
const EVERY: Duration = Duration::from_secs(1);

/// The same for locks while there are none, because each answer asks all members.
const LOCKS_SELDOM: Duration = Duration::from_secs(3);

/// The least time between two requests when much happens.
const BREATH: Duration = Duration::from_millis(150);

/// How long an answer may take.
const PATIENCE: Duration = Duration::from_secs(3);

/// The longest time until the next attempt.
const AGAIN_MAX: Duration = Duration::from_secs(5);

/// What was learned from the agent.
#[derive(Debug)]
pub(crate) enum Update {
    This(Box<SelfView>),
    Members(Vec<MemberView>),
    Elections(Vec<ElectionView>),
    Locks(LocksView),
    Event(Box<EventView>),
    /// The agent was restarted, so its events are numbered from 1 again.
    NewRun,
    /// The agent does not answer; carries the reason and the time until the next attempt.
    Away(String, Duration),
}

impl Update {
    pub(crate) fn apply(self, model: &mut Model) {
        let now = Instant::now();
        match self {
            Update::This(this) => model.take_this(*this, now),
            Update::Members(members) => model.take_members(members, now),
            Update::Elections(elections) => model.take_elections(elections, now),
            Update::Locks(locks) => model.take_locks(locks, now),
            Update::Event(event) => model.take_event(&event),
            Update::NewRun => model.forget_events(),
            Update::Away(why, again) => model.lose(why, again, now),
        }
    }
}

/// Asks one agent until it is dropped.
pub(crate) struct Feed {
    task: JoinHandle<()>,
    news: Arc<News>,
    pub(crate) updates: mpsc::Receiver<Update>,
}

impl Drop for Feed {
    fn drop(&mut self) {
        self.task.abort();
    }
}

impl Feed {
    /// Starts to ask; events are followed if `events` is set.
    pub(crate) fn start(agent: AgentAddr, events: bool) -> Feed {
        let (updates, updates_out) = mpsc::channel(256);
        let news = Arc::new(News::default());
        let heard = Arc::clone(&news);
        let task = tokio::spawn(async move {
            let asker = Asker {
                agent,
                updates,
                news: heard,
                named: Notify::new(),
            };
            let follow = async {
                match events {
                    true => asker.follow().await,
                    false => core::future::pending().await,
                }
            };
            // Each of them ends when nobody listens.
            tokio::select! {
                () = asker.ask() => {}
                () = asker.ask_locks() => {}
                () = follow => {}
            }
        });
        Feed {
            task,
            news,
            updates: updates_out,
        }
    }

    /// Something has happened: the agent is asked as soon as it may be.
    pub(crate) fn hasten(&self) {
        self.news.spread();
    }
}

/// Notified when something happened, so that lists are outdated. Both keep it in mind while a request is under way.
#[derive(Debug, Default)]
struct News {
    lists: Notify,
    locks: Notify,
}

impl News {
    fn spread(&self) {
        self.lists.notify_one();
        self.locks.notify_one();
    }
}

struct Asker {
    agent: AgentAddr,
    updates: mpsc::Sender<Update>,
    news: Arc<News>,
    /// Notified once the members were reported, so that events have names.
    named: Notify,
}

impl Asker {
    /// An answer without anything that controls a terminal.
    async fn get<T: DeserializeOwned>(&self, path: &str) -> Result<T, ClientError> {
        let mut answer: Value = self.agent.get_within(path, PATIENCE).await?;
        clean(&mut answer);
        serde_json::from_value(answer).map_err(|e| self.agent.strange(e))
    }

    async fn lists(&self) -> Result<[Update; 3], ClientError> {
        Ok([
            Update::This(Box::new(self.get("/v1/self").await?)),
            Update::Elections(self.get("/v1/elections").await?),
            Update::Members(self.get("/v1/members").await?),
        ])
    }

    async fn ask(&self) {
        let mut again = EVERY;
        loop {
            match self.lists().await {
                Ok(lists) => {
                    again = EVERY;
                    for update in lists {
                        if self.updates.send(update).await.is_err() {
                            return;
                        }
                    }
                    self.named.notify_one();
                    let _ = timeout(EVERY, self.news.lists.notified()).await;
                    sleep(BREATH).await;
                }
                Err(error) => {
                    let why = crate::output::safe(&error.brief());
                    if self.updates.send(Update::Away(why, again)).await.is_err() {
                        return;
                    }
                    sleep(again).await;
                    again = (again * 2).min(AGAIN_MAX);
                }
            }
        }
    }

    async fn ask_locks(&self) {
        loop {
            let pause = match self.get::<LocksView>("/v1/locks").await {
                Ok(locks) => {
                    let some = !locks.locks.is_empty();
                    if self.updates.send(Update::Locks(locks)).await.is_err() {
                        return;
                    }
                    if some { EVERY } else { LOCKS_SELDOM }
                }
                // The other requests report whether the agent answers.
                Err(_) => LOCKS_SELDOM,
            };
            let _ = timeout(pause, self.news.locks.notified()).await;
            sleep(BREATH).await;
        }
    }

    /// Follows the events, and continues after the last one if the stream breaks.
    async fn follow(&self) {
        self.named.notified().await;
        let (mut run, mut last) = (None::<String>, 0);
        loop {
            let path = format!("/v1/events?since={last}");
            if let Ok(mut stream) = self.agent.follow::<Value>(&path).await {
                while let Ok(Some(mut value)) = stream.next().await {
                    clean(&mut value);
                    let Ok(event) = serde_json::from_value::<EventView>(value) else {
                        continue;
                    };
                    if event.event == "subscribed" {
                        let other = run.is_some() && run != event.run;
                        run = event.run;
                        if other {
                            last = 0;
                            if self.updates.send(Update::NewRun).await.is_err() {
                                return;
                            }
                            // Start again from its first event.
                            break;
                        }
                        continue;
                    }
                    last = last.max(event.seq);
                    self.news.spread();
                    if self
                        .updates
                        .send(Update::Event(Box::new(event)))
                        .await
                        .is_err()
                    {
                        return;
                    }
                }
            }
            sleep(EVERY).await;
        }
    }
}
