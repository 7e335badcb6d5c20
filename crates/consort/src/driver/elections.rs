//! Orders about elections.

use super::Driver;
use crate::election::{Board, ElectionName, ElectionOptions, ElectionStatus};
use crate::error::{CampaignError, ElectionError, ResignError};
use consort_proto::election::{CLASS_NEVER, Mode, Order, Policy};
use consort_proto::{Command, ElectionId, Instant, NodeId};
use std::sync::Arc;

impl Driver {
    /// Follows the election `name` from now on, and returns its board.
    pub(super) fn watch(&mut self, name: &Arc<str>) -> Result<&Board, ElectionError> {
        let id = ElectionId::of(name);
        let at = match self.boards.iter().position(|b| b.id() == id) {
            Some(at) => at,
            None if self.boards.len() >= usize::from(self.elections_max) => {
                let max = self.elections_max;
                return Err(ElectionError::TooMany { max });
            }
            None => {
                let mut board = Board::new(Arc::clone(name));
                board.refresh(&self.node, self.clock, self.clock.now());
                self.boards.push(board);
                self.boards.len() - 1
            }
        };
        Ok(&self.boards[at])
    }

    /// Publishes the state of the followed elections at `now`.
    pub(super) fn refresh_boards(&mut self, now: Instant) {
        for board in &mut self.boards {
            board.refresh(&self.node, self.clock, now);
        }
    }

    /// Takes part, without campaigning, in followed elections that other nodes hold by component, so that changes of
    /// their leaders are reported.
    pub(super) async fn follow_components(&mut self) {
        let now = (self.node.omega().digest(), self.boards.len());
        if self.radio.is_none() || now == self.followed {
            return;
        }
        self.followed = now;
        let ids: Vec<ElectionId> = self.boards.iter().map(Board::id).collect();
        for id in ids {
            if self.node.is_by_component(id) && !self.node.omega().holds(id) {
                let policy = Policy {
                    mode: Mode::Component,
                    ..Policy::default()
                };
                self.command(Command::Election(Order::Open(id, policy)))
                    .await;
            }
        }
    }

    pub(super) async fn campaign(
        &mut self,
        name: &Arc<str>,
        mut options: ElectionOptions,
    ) -> Result<(), CampaignError> {
        if self.node.membership().meta().observer {
            return Err(CampaignError::Observer);
        }
        if self.node.election().is_leaving() {
            return Err(CampaignError::Leaving);
        }
        if !self.node.may_campaign(ElectionId::of(name)) {
            return Err(CampaignError::Role);
        }
        if options.needs_topology() && self.radio.is_none() {
            return Err(CampaignError::NoTopology);
        }
        if let Some(tag) = &options.attribute_tag {
            let tags = &self.node.membership().meta().tags;
            options.candidacy.attribute = tag.attribute(tags)?;
        }
        let max = self.elections_max;
        let id = ElectionId::of(name);
        self.watch(name)
            .map_err(|_| CampaignError::TooMany { max })?;
        let open = Order::Open(id, options.policy);
        if options.policy.mode == Mode::Component {
            self.command(Command::Election(open)).await;
            if !self.node.omega().holds(id) {
                let max = self.node.omega().config().elections_max.into();
                return Err(CampaignError::TooMany { max });
            }
            let campaign = Order::Campaign(id, options.candidacy);
            self.command(Command::Election(campaign)).await;
            self.follow_tag(name, &options);
            return Ok(());
        }
        // This happens before the node can start a round, so that it repeats no term of an earlier life.
        if let Some(term) = self.state.as_ref().and_then(|s| s.term(id)) {
            self.command(Command::Election(Order::RestoreTerm(id, term)))
                .await;
        }
        self.command(Command::Election(open)).await;
        if self.node.standing(self.clock.now(), id).is_none() {
            return Err(CampaignError::TooMany { max });
        }
        let campaign = Order::Campaign(id, options.candidacy);
        self.command(Command::Election(campaign)).await;
        // A candidacy that does not fit into a datagram is not announced.
        if self.node.membership().meta().campaign(id).is_none() {
            self.unfollow_tag(name);
            self.command(Command::Election(Order::Withdraw(id))).await;
            let max = self.meta_max;
            return Err(CampaignError::NoRoom { max });
        }
        self.follow_tag(name, &options);
        Ok(())
    }

    pub(super) async fn resign(
        &mut self,
        name: &str,
        to: Option<NodeId>,
    ) -> Result<(), ResignError> {
        let id = ElectionId::of(name);
        let now = self.clock.now();
        let claim = self.node.standing(now, id).and_then(|s| s.claim);
        let (me, life) = (self.node.id(), self.node.membership().life());
        if !claim.is_some_and(|c| c.names(me, life)) {
            return Err(ResignError::NotLeading);
        }
        if to.is_some() && self.node.is_by_component(id) {
            return Err(ResignError::ByComponent);
        }
        if let Some(to) = to {
            let candidates = self.node.candidates(now, id);
            if to == me
                || candidates
                    .iter()
                    .all(|e| e.id != to || e.class == CLASS_NEVER)
            {
                return Err(ResignError::NoCandidate { to });
            }
        }
        self.command(Command::Election(Order::Resign(id, to))).await;
        Ok(())
    }

    pub(super) fn election_status(&self, election: ElectionName) -> Option<ElectionStatus> {
        let board = self.boards.iter().find(|b| b.id() == election.id);
        let acting = board.and_then(Board::acting);
        ElectionStatus::new(&self.node, self.clock, election, acting)
    }

    /// All known elections, ordered by id.
    pub(super) fn elections(&self) -> Vec<ElectionStatus> {
        let ids = self.node.elections().into_iter();
        let named = ids.map(|id| named(&self.boards, id));
        named
            .filter_map(|name| self.election_status(name))
            .collect()
    }
}

/// The election with its name, if the name is known here.
pub(super) fn named(boards: &[Board], id: ElectionId) -> ElectionName {
    let board = boards.iter().find(|b| b.id() == id);
    ElectionName {
        id,
        name: board.map(|b| Arc::clone(b.name())),
    }
}
