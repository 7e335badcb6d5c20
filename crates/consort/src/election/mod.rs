//! Elections: handles, candidacies, leaders and their tokens.

mod name;
mod options;
mod seat;
mod status;
mod tag;

pub use name::{ElectionName, ElectionNameError};
pub use options::ElectionOptions;
pub use seat::Leadership;
pub use status::{Candidate, Churn, Comparison, ElectionStatus, Leader, Vacancy};

pub use tag::{AttributeTag, TagRangeError, TagValueError};

pub use crate::error::{CampaignError, ElectionError, ResignError};
pub use consort_proto::election::{
    Config, Criterion, Decider, Mode as ElectionMode, ParseTokenError, Preempt, Quorum, Ranking,
    RankingError, Stage, Token,
};
pub use consort_proto::{ElectionId, Term};

pub(crate) use name::check;
pub(crate) use seat::{Board, Seat};
pub(crate) use status::{leader, vacancy};

use crate::driver::Order;
use crate::error::Stopped;
use crate::handle::Node;
use consort_proto::NodeId;
use futures_util::stream::{Stream, unfold};
use std::sync::Arc;
use tokio::sync::watch;

/// A handle to one election of a group. Clones are handles to the same election.
///
/// Members that [`campaign`](Election::campaign) are its candidates, and run rounds when nobody leads. Every member,
/// including this one, can follow it.
///
/// ```
/// use consort::Node;
/// use consort::election::ElectionOptions;
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// # let period = std::time::Duration::from_millis(20);
/// let node = Node::builder().bind(([127, 0, 0, 1], 0));
/// # let node = node.probe_period(period);
/// let node = node.start().await?;
/// let gateway = node.election("gateway").await?;
/// gateway.campaign(ElectionOptions::new()).await?;
/// let leadership = gateway.lead().await?;
/// println!("leading with token {}", leadership.token());
/// gateway.withdraw().await?;
/// leadership.lost().await;
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Debug)]
pub struct Election {
    node: Node,
    name: Arc<str>,
    seat: watch::Receiver<Seat>,
}

impl Election {
    pub(crate) fn new(node: Node, name: Arc<str>, seat: watch::Receiver<Seat>) -> Election {
        Election { node, name, seat }
    }

    /// The name of the election.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Campaigns in the election from now on, or changes the options of the candidacy.
    pub async fn campaign(&self, options: ElectionOptions) -> Result<(), CampaignError> {
        let name = Arc::clone(&self.name);
        self.node
            .ask(|reply| Order::Campaign(name, options, reply))
            .await?
    }

    /// Stops campaigning in the election; a leader resigns. The handle keeps following the election.
    pub async fn withdraw(&self) -> Result<(), Stopped> {
        let name = Arc::clone(&self.name);
        self.node.ask(|reply| Order::Withdraw(name, reply)).await
    }

    /// Stops leading, and campaigns again once another node leads. With `to`, that member is asked to lead; if it
    /// declines, a round decides.
    pub async fn resign(&self, to: Option<NodeId>) -> Result<(), ResignError> {
        let name = Arc::clone(&self.name);
        self.node
            .ask(|reply| Order::Resign(name, to, reply))
            .await?
    }

    /// Reports that the work under `token` has ended after this node gave up its leadership, so that others may act at
    /// once. Otherwise they wait until the end of the lease. While this node leads with `token`, the call has no
    /// effect, because more work may follow.
    pub async fn work_ended(&self, token: Token) -> Result<(), Stopped> {
        let order = consort_proto::election::Order::Stopped(ElectionId::of(&self.name), token);
        self.node.ask(|reply| Order::Elect(order, reply)).await
    }

    /// Gives up watchers of a strict election that are lost for good together with their disks. A majority of the
    /// configured number of nodes may then start again. The promises of the lost watchers become void, so make sure
    /// that no former leader is still running.
    pub async fn forget(&self) -> Result<(), Stopped> {
        let order = consort_proto::election::Order::Forget(ElectionId::of(&self.name));
        self.node.ask(|reply| Order::Elect(order, reply)).await
    }

    /// The leader, as far as this node knows.
    pub fn leader(&self) -> Option<Leader> {
        self.seat.borrow().leader.clone()
    }

    /// Whether this node leads and may act now.
    pub fn is_leader(&self) -> bool {
        self.leadership().is_some()
    }

    /// The leadership of this node, if it leads and may act now.
    pub fn leadership(&self) -> Option<Leadership> {
        let token = self.seat.borrow().acting?.token;
        let seat = self.seat.clone();
        Some(Leadership { token, seat }).filter(Leadership::is_valid)
    }

    /// Waits until this node leads and may act.
    pub async fn lead(&self) -> Result<Leadership, Stopped> {
        let mut seat = self.seat.clone();
        loop {
            seat.borrow_and_update();
            if let Some(leadership) = self.leadership() {
                return Ok(leadership);
            }
            seat.changed().await.map_err(|_| Stopped)?;
        }
    }

    /// Follows changes of the leader, starting with the current one.
    pub fn observe(&self) -> Leaders {
        let mut seat = self.seat.clone();
        seat.mark_changed();
        Leaders { seat, told: None }
    }

    /// Waits until the node has stopped, for any reason.
    pub async fn stopped(&self) {
        self.node.stopped().await;
    }

    /// The state of the election, as this node sees it.
    pub async fn status(&self) -> Result<Option<ElectionStatus>, Stopped> {
        self.node.election_status(&self.name).await
    }
}

/// Whether both are the same leadership, regardless of changes in the component.
pub(crate) fn is_same(a: &Option<Leader>, b: &Option<Leader>) -> bool {
    match (a, b) {
        (Some(a), Some(b)) => a.is_same(b),
        _ => a.is_none() && b.is_none(),
    }
}

/// Follows changes of the leader; see [`Election::observe`]. A slow caller sees the latest state and misses
/// intermediate ones.
#[derive(Debug)]
pub struct Leaders {
    seat: watch::Receiver<Seat>,
    told: Option<Option<Leader>>,
}

impl Leaders {
    /// Waits for the next change; the first call returns the current state at once. `None` means that nobody leads.
    /// This is cancel safe: dropping the future loses nothing.
    pub async fn next(&mut self) -> Result<Option<Leader>, Stopped> {
        loop {
            self.seat.changed().await.map_err(|_| Stopped)?;
            let leader = self.seat.borrow_and_update().leader.clone();
            if !self
                .told
                .as_ref()
                .is_some_and(|told| is_same(told, &leader))
            {
                self.told = Some(leader.clone());
                return Ok(leader);
            }
        }
    }

    /// The leaders as a stream, which ends when the node stops.
    pub fn into_stream(self) -> impl Stream<Item = Option<Leader>> + Send + Unpin {
        Box::pin(unfold(self, async |mut leaders| {
            let leader = leaders.next().await.ok()?;
            Some((leader, leaders))
        }))
    }
}
