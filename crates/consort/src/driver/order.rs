//! Orders of handles to the task, and joins that callers wait for.

use super::messages::Updates;
use super::{Driver, KeyChange, LockOrder, TagChange, Tags};
use crate::address::Seed;
use crate::case::Case;
use crate::election::{Board, ElectionName, ElectionOptions, ElectionStatus, Seat};
use crate::error::RevokeError;
use crate::error::{
    CampaignError, ChangeKeysError, ElectionError, ForceLeaveError, ResignError, SendError,
    SetTagsError,
};
use crate::farewell::{Farewell, Leaving};
use crate::member::{self, Member, Status};
use crate::stats::Stats;
use crate::talk::Asked;
use crate::topology::TopologyStatus;
use consort_proto::membership::JoinState;
use consort_proto::seal::{KeyRing, Revoked};
use consort_proto::{Command, ElectionId, NodeId, election, message};
use core::net::SocketAddr;
use core::time::Duration;
use std::sync::Arc;
use tokio::sync::{mpsc, oneshot, watch};

/// An order of a handle to the task, with the channel for the answer.
#[derive(Debug)]
pub(crate) enum Order {
    Members(oneshot::Sender<Vec<Member>>),
    This(oneshot::Sender<Member>),
    Case(NodeId, oneshot::Sender<Option<Case>>),
    Stats(oneshot::Sender<Stats>),
    StorageError(oneshot::Sender<Option<String>>),
    PortError(oneshot::Sender<Option<String>>),
    IsIsolated(oneshot::Sender<bool>),
    Carry(Command, oneshot::Sender<()>),
    Tags(TagChange, oneshot::Sender<Result<Tags, SetTagsError>>),
    /// The keys, and whether unsealed datagrams still count.
    Keys(oneshot::Sender<(Option<KeyRing>, bool)>),
    /// The list of revoked certificates.
    Revoked(oneshot::Sender<Option<Revoked>>),
    Revoke(Revoked, oneshot::Sender<Result<(), RevokeError>>),
    ChangeKeys(KeyChange, oneshot::Sender<Result<KeyRing, ChangeKeysError>>),
    Join(Vec<Seed>, oneshot::Sender<()>),
    JoinAndWait(Vec<Seed>, Duration, JoinReply),
    Leave(oneshot::Sender<Farewell>),
    ForceLeave(NodeId, oneshot::Sender<Result<(), ForceLeaveError>>),
    Watch(
        Arc<str>,
        oneshot::Sender<Result<watch::Receiver<Seat>, ElectionError>>,
    ),
    Campaign(
        Arc<str>,
        ElectionOptions,
        oneshot::Sender<Result<(), CampaignError>>,
    ),
    Withdraw(Arc<str>, oneshot::Sender<()>),
    /// An order to the core about a known election.
    Elect(election::Order, oneshot::Sender<()>),
    Resign(
        Arc<str>,
        Option<NodeId>,
        oneshot::Sender<Result<(), ResignError>>,
    ),
    ElectionStatus(Arc<str>, oneshot::Sender<Option<ElectionStatus>>),
    Elections(oneshot::Sender<Vec<ElectionStatus>>),
    Topology(oneshot::Sender<Option<TopologyStatus>>),
    Lock(LockOrder),
    /// An order about messages, with the channel for updates of a query.
    Message(
        message::Order,
        Option<Updates>,
        oneshot::Sender<Result<u32, SendError>>,
    ),
    /// Sets the reader of other nodes' queries.
    TakeQueries(mpsc::Sender<Asked>, oneshot::Sender<()>),
}

/// Success, or the seeds that did not answer.
type JoinReply = oneshot::Sender<Result<(), Vec<String>>>;

/// A join that a caller waits for.
pub(super) struct Waiting {
    pub(super) seeds: Vec<(Seed, bool)>,
    pub(super) until: tokio::time::Instant,
    pub(super) reply: JoinReply,
}

impl Driver {
    pub(super) async fn obey(&mut self, order: Order) {
        match order {
            Order::Members(reply) => {
                let _ = reply.send(member::everybody(&self.node, self.clock.now()));
            }
            Order::This(reply) => {
                let _ = reply.send(member::itself(&self.node));
            }
            Order::Case(id, reply) => {
                let _ = reply.send(Case::of(self.clock.now(), &self.node, id));
            }
            Order::Stats(reply) => {
                let _ = reply.send(self.stats());
            }
            Order::StorageError(reply) => {
                let _ = reply.send(self.storage.error());
            }
            Order::PortError(reply) => {
                let _ = reply.send(self.port.error());
            }
            Order::IsIsolated(reply) => {
                let _ = reply.send(self.node.membership().is_isolated());
            }
            Order::Carry(command, reply) => {
                self.command(command).await;
                let _ = reply.send(());
            }
            Order::Tags(change, reply) => {
                let _ = reply.send(self.change_tags(change).await);
            }
            Order::Keys(reply) => {
                let ring = self.node.key_ring().cloned();
                let _ = reply.send((ring, self.node.is_migrating()));
            }
            Order::Revoked(reply) => {
                let _ = reply.send(self.node.revoked().cloned());
            }
            Order::Revoke(list, reply) => {
                let _ = reply.send(self.revoke(list).await);
            }
            Order::ChangeKeys(change, reply) => {
                let _ = reply.send(self.change_keys(change).await);
            }
            Order::Join(seeds, reply) => {
                self.command(Command::Join(addresses(&seeds))).await;
                let _ = reply.send(());
            }
            Order::JoinAndWait(seeds, patience, reply) => {
                let command = Command::Join(addresses(&seeds));
                let seeds = seeds.into_iter().map(|s| (s, false)).collect();
                self.waiting.push(Waiting {
                    seeds,
                    until: tokio::time::Instant::now() + patience.min(Duration::from_secs(86_400)),
                    reply,
                });
                self.command(command).await;
            }
            Order::Leave(reply) => {
                let leaving = self.leaving.get_or_insert_with(Leaving::start);
                leaving.tell(reply);
                self.command(Command::Leave).await;
                if let Some(by) = self.node.mutex().stopped_by() {
                    let left = by.since(self.clock.now()).as_secs_f64();
                    tracing::info!(
                        "leaves when the holders of its locks have stopped, in {left:.1} s at the latest"
                    );
                }
            }
            Order::ForceLeave(id, reply) => {
                let _ = reply.send(self.force_leave(id).await);
            }
            Order::Watch(name, reply) => {
                let _ = reply.send(self.watch(&name).map(Board::subscribe));
            }
            Order::Campaign(name, options, reply) => {
                let done = self.campaign(&name, options).await;
                let _ = reply.send(done);
            }
            Order::Withdraw(name, reply) => {
                self.unfollow_tag(&name);
                let id = ElectionId::of(&name);
                if self.node.standing(self.clock.now(), id).is_some() {
                    let order = election::Order::Withdraw(id);
                    self.command(Command::Election(order)).await;
                }
                let _ = reply.send(());
            }
            Order::Elect(order, reply) => {
                self.command(Command::Election(order)).await;
                let _ = reply.send(());
            }
            Order::Resign(name, to, reply) => {
                let done = self.resign(&name, to).await;
                let _ = reply.send(done);
            }
            Order::ElectionStatus(name, reply) => {
                let election = ElectionName {
                    id: ElectionId::of(&name),
                    name: Some(name),
                };
                let _ = reply.send(self.election_status(election));
            }
            Order::Elections(reply) => {
                let _ = reply.send(self.elections());
            }
            Order::Topology(reply) => {
                let status = |radio| TopologyStatus::new(&self.node, radio, self.clock.now());
                let _ = reply.send(self.radio.as_ref().map(status));
            }
            Order::Lock(order) => self.obey_lock(order).await,
            Order::Message(order, updates, reply) => {
                let _ = reply.send(self.send_message(order, updates).await);
            }
            Order::TakeQueries(reader, reply) => {
                self.take_queries(reader);
                let _ = reply.send(());
            }
        }
    }

    async fn force_leave(&mut self, id: NodeId) -> Result<(), ForceLeaveError> {
        let member = self.node.membership().table().get(id);
        match member.map(|m| Member::listed(&self.node, m, self.clock.now())) {
            _ if id == self.node.id() => return Err(ForceLeaveError::Itself),
            None => return Err(ForceLeaveError::Unknown),
            Some(member) => match member.status {
                Status::Failed => {}
                Status::Left => return Ok(()),
                status => return Err(ForceLeaveError::Alive { status }),
            },
        }
        self.command(Command::ForceLeave(id)).await;
        Ok(())
    }

    /// Answers the callers whose seed has answered with its list.
    pub(super) fn answer_waiting(&mut self) {
        if self.waiting.is_empty() || self.node.membership().join_state() != JoinState::Joined {
            return;
        }
        let (answered, waiting) = self
            .waiting
            .drain(..)
            .partition(|w| w.seeds.iter().any(|(_, heard)| *heard));
        self.waiting = waiting;
        let answered: Vec<Waiting> = answered;
        for waiting in answered {
            let _ = waiting.reply.send(Ok(()));
        }
    }

    /// Answers the callers that have waited long enough, with the seeds that did not answer.
    pub(super) fn give_up_waiting(&mut self) {
        let now = tokio::time::Instant::now();
        while let Some(at) = self.waiting.iter().position(|w| w.until <= now) {
            let waiting = self.waiting.swap_remove(at);
            let members = member::everybody(&self.node, self.clock.now());
            let is_member = |addr: SocketAddr| {
                let mut alive = members.iter().filter(|m| m.status == Status::Alive);
                alive.any(|m| m.addr == addr)
            };
            let silent: Vec<String> = waiting
                .seeds
                .iter()
                .filter(|(seed, heard)| !heard && !is_member(seed.addr))
                .map(|(seed, _)| seed.text.clone())
                .collect();
            let all_silent = silent.len() == waiting.seeds.len();
            let _ = waiting
                .reply
                .send(if all_silent { Err(silent) } else { Ok(()) });
        }
    }
}

pub(super) fn addresses(seeds: &[Seed]) -> Vec<SocketAddr> {
    seeds.iter().map(|s| s.addr).collect()
}
