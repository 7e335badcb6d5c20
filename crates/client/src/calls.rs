//! One method for each request of the interface.

use crate::api::{
    AttendRequest, BreakRequest, CampaignRequest, CaseView, ChurnView, Done, ElectionView,
    EventRequest, EventView, ForceLeaveRequest, ForceLeaveView, HealthView, InfoView,
    InstallKeyRequest, JoinRequest, KeyView, KeysView, LeaveView, LockRequest, LocksView, LogView,
    MemberHistoryView, MemberView, QueryRequest, QueryUpdateView, QueryView, ReachabilityView,
    RequestView, ResignRequest, SamplesView, SelfView, SentView, SummariesView, TopologyView,
};
use crate::client::{Client, ClientError, PATIENCE, encoded, path};
use crate::stream::EventStream;
use core::time::Duration;
use std::collections::BTreeMap;

/// How long a goodbye may take: the work under locks and as a leader has to stop first.
const LEAVE_PATIENCE: Duration = Duration::from_secs(120);

/// How long summaries may take if members are silent in a slow network.
const SUMMARIES_PATIENCE: Duration = Duration::from_secs(60);

/// How long the keys of a large group in a slow network may take.
const KEYS_PATIENCE: Duration = Duration::from_secs(1800);

/// The time that the agent itself waits for others, and as much again for its answer as other requests have.
fn beyond(timeout_ms: Option<u64>, default_ms: u64) -> Duration {
    PATIENCE.saturating_add(Duration::from_millis(timeout_ms.unwrap_or(default_ms)))
}

/// Members.
impl Client {
    /// The node that answers, its group and the number of members: `GET /v1/self`.
    pub async fn this_node(&self) -> Result<SelfView, ClientError> {
        self.get("/v1/self").await
    }

    /// All members that the node lists: `GET /v1/members`.
    pub async fn members(&self) -> Result<Vec<MemberView>, ClientError> {
        self.get("/v1/members").await
    }

    /// Why a member, given by id or name, is suspected or down: `GET /v1/members/MEMBER/why`.
    pub async fn why(&self, member: &str) -> Result<CaseView, ClientError> {
        self.get(&path("members", member, "/why")).await
    }

    /// The events that name a member: `GET /v1/members/MEMBER/history`.
    pub async fn member_history(&self, member: &str) -> Result<MemberHistoryView, ClientError> {
        self.get(&path("members", member, "/history")).await
    }

    /// Joins a group, and waits for a seed to answer: `POST /v1/join`.
    pub async fn join(&self, request: &JoinRequest) -> Result<Done, ClientError> {
        let patience = beyond(request.timeout_ms, 5000);
        self.post("/v1/join", request, patience).await
    }

    /// Leaves the group and stops the agent: `POST /v1/leave`.
    pub async fn leave(&self) -> Result<LeaveView, ClientError> {
        self.post("/v1/leave", &(), LEAVE_PATIENCE).await
    }

    /// Removes a failed member from the lists of all members: `POST /v1/force-leave`.
    pub async fn force_leave(
        &self,
        request: &ForceLeaveRequest,
    ) -> Result<ForceLeaveView, ClientError> {
        self.post("/v1/force-leave", request, PATIENCE).await
    }

    /// The tags of the node: `GET /v1/tags`.
    pub async fn tags(&self) -> Result<BTreeMap<String, String>, ClientError> {
        self.get("/v1/tags").await
    }

    /// Sets tags, removes those whose value is `None`, and returns all: `PATCH /v1/tags`.
    pub async fn change_tags(
        &self,
        changes: &BTreeMap<String, Option<String>>,
    ) -> Result<BTreeMap<String, String>, ClientError> {
        self.patch("/v1/tags", changes).await
    }
}

/// Elections.
impl Client {
    /// All elections that the node knows: `GET /v1/elections`.
    pub async fn elections(&self) -> Result<Vec<ElectionView>, ClientError> {
        self.get("/v1/elections").await
    }

    /// One election: `GET /v1/elections/NAME`.
    pub async fn election(&self, name: &str) -> Result<ElectionView, ClientError> {
        self.get(&path("elections", name, "")).await
    }

    /// Campaigns in an election: `POST /v1/elections/NAME/campaign`.
    pub async fn campaign(
        &self,
        name: &str,
        request: &CampaignRequest,
    ) -> Result<ElectionView, ClientError> {
        let path = path("elections", name, "/campaign");
        self.post(&path, request, PATIENCE).await
    }

    /// Stops campaigning: `POST /v1/elections/NAME/withdraw`.
    pub async fn withdraw(&self, name: &str) -> Result<ElectionView, ClientError> {
        let path = path("elections", name, "/withdraw");
        self.post(&path, &(), PATIENCE).await
    }

    /// Ends the candidacy of a client program when the stream is dropped or breaks: `POST /v1/elections/NAME/attend`.
    /// Without it, the candidacy of a program that is gone ends with its `lease_ms`.
    pub async fn attend(
        &self,
        name: &str,
        request: &AttendRequest,
    ) -> Result<EventStream<Done>, ClientError> {
        self.take(&path("elections", name, "/attend"), request)
            .await
    }

    /// Stops leading, if the node leads: `POST /v1/elections/NAME/resign`.
    pub async fn resign(&self, name: &str, request: &ResignRequest) -> Result<Done, ClientError> {
        let path = path("elections", name, "/resign");
        self.post(&path, request, PATIENCE).await
    }

    /// How consistent member lists are, for each election: `GET /v1/churn`.
    pub async fn churn(&self) -> Result<Vec<ChurnView>, ClientError> {
        self.get("/v1/churn").await
    }
}

/// Locks.
impl Client {
    /// The holders and waiters of all locks: `GET /v1/locks`.
    pub async fn locks(&self) -> Result<LocksView, ClientError> {
        self.get("/v1/locks").await
    }

    /// The holders and waiters of one lock, or of all slots of a semaphore: `GET /v1/locks/NAME`.
    pub async fn lock(&self, name: &str) -> Result<LocksView, ClientError> {
        self.get(&path("locks", name, "")).await
    }

    /// Requests a lock, which is held for as long as the stream is open: `POST /v1/locks/NAME`. Stop the work before the
    /// stream is dropped, and release the lock with [`release_lock`](Self::release_lock) so that nobody waits for the
    /// end of the lease.
    pub async fn take_lock(
        &self,
        name: &str,
        request: &LockRequest,
    ) -> Result<EventStream<RequestView>, ClientError> {
        self.take(&path("locks", name, ""), request).await
    }

    /// The state of a request that holds a lock: `GET /v1/locks/NAME/REQUEST`.
    pub async fn lock_request(
        &self,
        name: &str,
        request: &str,
    ) -> Result<RequestView, ClientError> {
        let verb = format!("/{}", encoded(request));
        self.get(&path("locks", name, &verb)).await
    }

    /// Releases a lock: `DELETE /v1/locks/NAME/REQUEST`.
    pub async fn release_lock(&self, name: &str, request: &str) -> Result<Done, ClientError> {
        let verb = format!("/{}", encoded(request));
        self.delete(&path("locks", name, &verb), PATIENCE).await
    }

    /// Takes a lock from its holder, which is safe only if resources check tokens: `POST /v1/locks/NAME/break`.
    pub async fn break_lock(
        &self,
        name: &str,
        request: &BreakRequest,
    ) -> Result<Done, ClientError> {
        let path = path("locks", name, "/break");
        self.post(&path, request, PATIENCE).await
    }
}

/// Events and messages of applications.
impl Client {
    /// Follows the events of the node: `GET /v1/events`. With `since`, events after that number come first, as far as
    /// the agent keeps them; 0 stands for all. Without it only new events are sent. Numbers start again when the agent
    /// does: [`Client::events_after`] continues a stream without mistaking one run for another.
    pub async fn events(&self, since: Option<u64>) -> Result<EventStream<EventView>, ClientError> {
        match since {
            Some(seq) => self.follow(&format!("/v1/events?since={seq}")).await,
            None => self.follow("/v1/events").await,
        }
    }

    /// Follows the events of the node after the one with this id: [`EventStream::last_id`] of an earlier stream. An event
    /// `lagged` comes first if some of them are no longer kept (`missed` says how many), or if the agent was restarted.
    pub async fn events_after(&self, id: &str) -> Result<EventStream<EventView>, ClientError> {
        self.follow(&format!("/v1/events?since={}", encoded(id)))
            .await
    }

    /// Sends an event of the application to all members: `POST /v1/event`.
    pub async fn send_event(&self, request: &EventRequest) -> Result<SentView, ClientError> {
        self.post("/v1/event", request, PATIENCE).await
    }

    /// Queries members, and waits for all answers: `POST /v1/query`.
    pub async fn query(&self, request: &QueryRequest) -> Result<QueryView, ClientError> {
        let patience = beyond(request.timeout_ms, 300_000);
        let whole = QueryRequest {
            stream: false,
            ..request.clone()
        };
        self.post("/v1/query", &whole, patience).await
    }

    /// Queries members, and returns each answer as it arrives: `POST /v1/query`.
    pub async fn query_updates(
        &self,
        request: &QueryRequest,
    ) -> Result<EventStream<QueryUpdateView>, ClientError> {
        let streamed = QueryRequest {
            stream: true,
            ..request.clone()
        };
        self.take("/v1/query", &streamed).await
    }

    /// Asks which members can be reached, for so long: `GET /v1/reachability`.
    pub async fn reachability(&self, wait: Duration) -> Result<ReachabilityView, ClientError> {
        let path = format!("/v1/reachability?timeout_ms={}", wait.as_millis());
        self.get_within(&path, PATIENCE.saturating_add(wait)).await
    }

    /// What the members tell about themselves: `GET /v1/summaries`.
    pub async fn summaries(&self) -> Result<SummariesView, ClientError> {
        self.get_within("/v1/summaries", SUMMARIES_PATIENCE).await
    }
}

/// Keys of the group.
impl Client {
    /// The keys of the node, and which members have the same: `GET /v1/keys`.
    pub async fn keys(&self) -> Result<KeysView, ClientError> {
        self.get_within("/v1/keys", KEYS_PATIENCE).await
    }

    /// Installs a key: `POST /v1/keys`.
    pub async fn install_key(&self, request: &InstallKeyRequest) -> Result<KeyView, ClientError> {
        self.post("/v1/keys", request, KEYS_PATIENCE).await
    }

    /// Seals with an installed key: `POST /v1/keys/FINGERPRINT/use`. With `force` also if members that are alive may not
    /// have the newest keys.
    pub async fn use_key(&self, fingerprint: &str, force: bool) -> Result<KeyView, ClientError> {
        let path = path("keys", fingerprint, &format!("/use?force={force}"));
        self.post(&path, &(), KEYS_PATIENCE).await
    }

    /// Removes a key: `DELETE /v1/keys/FINGERPRINT`. With `force` also if members may not have the newest keys.
    pub async fn remove_key(&self, fingerprint: &str, force: bool) -> Result<KeyView, ClientError> {
        let path = path("keys", fingerprint, &format!("?force={force}"));
        self.delete(&path, KEYS_PATIENCE).await
    }
}

/// Monitoring.
impl Client {
    /// What the agent is and can do: `GET /v1/info`.
    pub async fn info(&self) -> Result<InfoView, ClientError> {
        self.get("/v1/info").await
    }

    /// Whether the node is able to work, and the reasons if it is not: `GET /v1/health`.
    pub async fn health(&self) -> Result<HealthView, ClientError> {
        self.get_any("/v1/health").await
    }

    /// Counters of the last half hour: `GET /v1/stats/history`.
    pub async fn stats_history(&self) -> Result<SamplesView, ClientError> {
        self.get("/v1/stats/history").await
    }

    /// All counters by layer: `GET /v1/stats`.
    pub async fn stats(&self) -> Result<serde_json::Value, ClientError> {
        self.get("/v1/stats").await
    }

    /// Which nodes hear each other: `GET /v1/topology`.
    pub async fn topology(&self) -> Result<TopologyView, ClientError> {
        self.get("/v1/topology").await
    }

    /// Follows the agent's log up to a level (`error`, `warn`, `info`, `debug` or `trace`): `GET /v1/log`. With `since`,
    /// lines after that number come first, as far as the agent keeps them.
    pub async fn log(
        &self,
        level: &str,
        since: Option<u64>,
    ) -> Result<EventStream<LogView>, ClientError> {
        let since = since.map_or_else(String::new, |seq| format!("&since={seq}"));
        self.follow(&format!("/v1/log?level={}{since}", encoded(level)))
            .await
    }
}
