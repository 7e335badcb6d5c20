//! The interface of the dashboard to the group: orders by HTTP, and the state of the group.

use super::group::{ELECTION, Group};
use super::order::Order;
use consort::{Node, Status};
use consort_agent::LabOrder;
use core::time::Duration;
use serde::Serialize;
use serde_json::{Value, json};

/// How long a node may take to report its view; a frozen node reports nothing.
const PATIENCE: Duration = Duration::from_millis(200);

/// A node of the group, as the user sees it.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct NodeState {
    pub(crate) number: usize,
    pub(crate) name: String,
    pub(crate) id: String,
    pub(crate) http: String,
    /// `running`, `paused` or `stopped`.
    pub(crate) state: &'static str,
    pub(crate) isolated: bool,
    /// On the side of a partition that was cut off.
    pub(crate) far: bool,
    pub(crate) loss_percent: u8,
    pub(crate) delay_ms: u16,
    /// The locks that it was told to take: the name, and whether it holds the lock.
    pub(crate) locks: Vec<(String, bool)>,
    /// The ids of the nodes that it lists as alive; `null` if it does not answer.
    pub(crate) sees: Option<Vec<String>>,
    /// The leader that it follows in the election.
    pub(crate) leader: Option<String>,
    /// Whether it campaigns in the election.
    pub(crate) stands: Option<bool>,
    #[serde(skip)]
    pub(crate) node: Option<Node>,
}

impl NodeState {
    pub(crate) fn new(number: usize, name: &str, id: String, http: String) -> NodeState {
        NodeState {
            number,
            name: name.to_owned(),
            id,
            http,
            state: "stopped",
            isolated: false,
            far: false,
            loss_percent: 0,
            delay_ms: 0,
            locks: Vec::new(),
            sees: None,
            leader: None,
            stands: None,
            node: None,
        }
    }

    async fn ask(&mut self) {
        let Some(node) = self.node.take().filter(|_| self.state == "running") else {
            return;
        };
        let asked = async {
            let members = node.members().await.ok()?;
            let election = node.election_status(ELECTION).await.ok()?;
            Some((members, election))
        };
        let Ok(Some((members, election))) = tokio::time::timeout(PATIENCE, asked).await else {
            return;
        };
        let alive = members.iter().filter(|m| m.status == Status::Alive);
        self.sees = Some(alive.map(|m| m.id.to_string()).collect());
        self.stands = election.as_ref().map(|e| e.campaigns);
        self.leader = election.and_then(|e| Some(e.leader?.id.to_string()));
    }
}

/// Parses an order; `None` asks for the state of the group.
pub(crate) fn read(order: &Value) -> Result<Option<Order>, String> {
    if order.is_null() {
        return Ok(None);
    }
    let order = serde_json::from_value(order.clone());
    order.map(Some).map_err(|e| format!("not understood: {e}"))
}

/// Asks every node for its view.
pub(crate) async fn ask_all(mut nodes: Vec<NodeState>) -> Vec<NodeState> {
    for node in &mut nodes {
        node.ask().await;
    }
    nodes
}

/// Answers with the state of the group, without delaying it.
pub(crate) fn tell(group: &Group, caption: Option<String>, asked: LabOrder) {
    let (nodes, period) = (group.states(), group.period());
    tokio::spawn(async move {
        let nodes = ask_all(nodes).await;
        let answer = json!({
            "election": ELECTION,
            "period_ms": period.as_millis() as u64,
            "nodes": nodes,
            // The caption of the scene that is being played.
            "caption": caption,
        });
        // The requester may be gone.
        let _ = asked.reply.send(Ok(answer));
    });
}
