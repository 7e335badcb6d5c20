//! An election: ballots, counting, confirmation.

use super::{
    CLIENT, Event, Leader, Method, Msg, NodeCx, PaperNode, Penalty, Round, Scratch, Timer,
};
use crate::bandit::{Ballot, Evidence, Score, Tally, approved, merge, responder, shared};
use alloc::vec::Vec;
use consort_proto::{Instant, NodeId, Sender, To};

/// Most ballots of one sender that accumulate if rounds do not separate them.
const PILE_MAX: usize = 16;

impl PaperNode {
    pub(super) fn end_election(&mut self, cx: &mut NodeCx<'_>) {
        if self.scratch != Scratch::default() {
            self.scratch = Scratch::default();
            cx.cancel_timer(Timer::Tally);
            cx.cancel_timer(Timer::Confirm);
        }
    }

    /// The client asked all nodes, and the leader has not announced the request.
    pub(super) fn miss_leader(&mut self, cx: &mut NodeCx<'_>) {
        let Round { request, attempt } = self.waiting;
        if self.served >= request || self.leader.id == self.id() {
            return;
        }
        let mut round = Round {
            request,
            attempt: attempt.max(1),
        };
        // It may be ahead of the client on its own.
        let again = self.scratch.round.request == request;
        if again && self.config.confirm_wait.is_some() {
            return;
        }
        if again && !self.config.rules.rounds {
            round.attempt = self.scratch.round.attempt + 1;
        } else if self.scratch.round >= round {
            return;
        }
        let leader = self.index(self.leader.id).unwrap_or(0);
        self.observe(cx.now, leader, None);
        if let Penalty::Leader(amount) = self.config.rules.penalty {
            self.book.penalise(leader, amount);
        }
        self.begin(cx, round);
    }

    /// No winner announced itself in time.
    pub(super) fn next_attempt(&mut self, cx: &mut NodeCx<'_>) {
        let Round { request, attempt } = self.scratch.round;
        let attempt = attempt + 1;
        self.begin(cx, Round { request, attempt });
    }

    fn begin(&mut self, cx: &mut NodeCx<'_>, round: Round) {
        // The same request, and still no leader: the winner must be down.
        let again = self.scratch.round.request == round.request;
        if let (Some(choice), true) = (self.scratch.choice, again)
            && let Penalty::Candidate(amount) = self.config.rules.penalty
        {
            self.book.penalise(choice, amount);
        }
        if self.config.method == Method::Next {
            return self.take_turn(cx, round);
        }
        let old = core::mem::take(&mut self.scratch.ballots);
        self.scratch = Scratch {
            round,
            joined: true,
            counted: false,
            choice: self.scratch.choice.filter(|_| again),
            ballots: old,
        };
        if self.config.rules.rounds {
            self.scratch.ballots.retain(|(_, of, _)| *of >= round);
        }
        let ballot = self.ballot(cx);
        self.send_all(
            cx,
            &Msg::Share {
                round,
                stamp: cx.now,
                ballot: ballot.clone(),
            },
        );
        self.keep(self.me, round, ballot);
        if let Some(wait) = self.config.confirm_wait {
            cx.set_timer(Timer::Confirm, cx.now + self.config.tally_wait + wait);
        }
        self.consider(cx);
    }

    /// DLE: the next node by id leads, and announces it if it is this one.
    fn take_turn(&mut self, cx: &mut NodeCx<'_>, round: Round) {
        self.turn = (self.turn + 1) % usize::from(self.config.nodes);
        self.scratch.round = round;
        self.scratch.choice = Some(self.turn);
        if self.turn == self.me {
            return self.win(cx, round);
        }
        if let Some(wait) = self.config.confirm_wait {
            self.scratch.joined = true;
            cx.set_timer(Timer::Confirm, cx.now + wait);
        }
    }

    /// The ballot of this node.
    fn ballot(&mut self, cx: &mut NodeCx<'_>) -> Ballot {
        let nodes = 0..self.book.len();
        match self.config.tally {
            Tally::Approval { .. } => {
                // As the text has it, a random election may draw the leader that is missed.
                let leader = self.index(self.leader.id).unwrap_or(0);
                let spared = self.config.rules.exclude_leader.then_some(leader);
                let count = self.config.candidates();
                let chosen = self
                    .chooser
                    .choose(&self.book, count, spared, cx.now, cx.rng);
                Ballot::List(chosen.into_iter().map(|n| n as u16).collect())
            }
            Tally::Responders => {
                let score = |n: usize| {
                    let score = self.chooser.score(&self.book, n, cx.now, cx.rng);
                    (n != self.me).then(|| Score::of(score))
                };
                Ballot::Scores(nodes.map(score).collect())
            }
            Tally::Shared => Ballot::Evidence(self.evidence(cx.now)),
        }
    }

    /// What this node shares about the others.
    pub(super) fn evidence(&self, now: Instant) -> Evidence {
        if self.config.tally != Tally::Shared {
            return Evidence::new();
        }
        let digest = |n: usize| match n == self.me {
            true => None,
            false => self.book.digest(n, now),
        };
        (0..self.book.len()).map(digest).collect()
    }

    /// Stores a ballot: the first of a sender in a round, or all that fit.
    fn keep(&mut self, node: usize, round: Round, ballot: Ballot) {
        let theirs = || self.scratch.ballots.iter().filter(|b| b.0 == node);
        let keeps = match self.config.rules.rounds {
            true => !theirs().any(|b| b.1 == round) && theirs().count() < PILE_MAX,
            false => theirs().count() < PILE_MAX,
        };
        if keeps {
            self.scratch.ballots.push((node, round, ballot));
        }
    }

    pub(super) fn on_share(
        &mut self,
        cx: &mut NodeCx<'_>,
        from: Sender,
        (round, stamp): (Round, Instant),
        ballot: Ballot,
    ) {
        let Some(node) = self.index(from.id) else {
            return;
        };
        self.observe(cx.now, node, Some(from.life));
        if self.config.method == Method::Next || node == self.me {
            return;
        }
        let rounds = self.config.rules.rounds;
        // From before the current leader: outdated.
        if rounds && (round < self.scratch.round || stamp <= self.leader.stamp) {
            return;
        }
        self.keep(node, round, ballot);
        if rounds && round > self.scratch.round {
            // Others are ahead: a node in the election follows at once, others once there are f (section 7.2).
            let there = self.scratch.ballots.iter().filter(|b| b.1 == round);
            if self.scratch.joined || there.count() >= self.config.failures() {
                self.begin(cx, round);
            }
            return;
        }
        self.consider(cx);
    }

    /// Waits for more ballots once there are enough.
    fn consider(&mut self, cx: &mut NodeCx<'_>) {
        let Scratch {
            joined, counted, ..
        } = self.scratch;
        if !joined || counted || self.others() < self.config.failures() {
            return;
        }
        self.scratch.counted = true;
        if self.config.tally_wait.is_zero() || self.config.nodes == 1 {
            self.count(cx);
        } else {
            cx.set_timer(Timer::Tally, cx.now + self.config.tally_wait);
        }
    }

    /// Number of ballots of other nodes that count.
    fn others(&self) -> usize {
        let counts = |b: &&(usize, Round, Ballot)| {
            b.0 != self.me && (!self.config.rules.rounds || b.1 == self.scratch.round)
        };
        self.scratch.ballots.iter().filter(counts).count()
    }

    pub(super) fn count(&mut self, cx: &mut NodeCx<'_>) {
        let round = self.scratch.round;
        let ballots = core::mem::take(&mut self.scratch.ballots);
        let rounds = self.config.rules.rounds;
        let held = ballots.iter().filter(|b| !rounds || b.1 == round);
        let held: Vec<(usize, &Ballot)> = held.map(|(n, _, b)| (*n, b)).collect();
        let nodes = self.book.len();
        // A group of one has only itself.
        let excluded = match self.config.rules.exclude_leader && nodes > 1 {
            true => self.index(self.leader.id),
            false => None,
        };
        let winner = match self.config.tally {
            Tally::Approval { tie, .. } => {
                approved(nodes, held.iter().map(|(_, b)| *b), excluded, tie)
            }
            Tally::Responders => responder(&held),
            Tally::Shared => {
                for (_, ballot) in &held {
                    if let Ballot::Evidence(evidence) = ballot {
                        merge(&mut self.book, cx.now, evidence);
                    }
                }
                shared(&held)
            }
        };
        self.scratch.ballots = ballots;
        self.scratch.choice = winner;
        // A late ballot makes the program count again (B-23).
        self.scratch.counted = rounds;
        cx.emit(Event::Counted(round, winner.map(|n| NodeId(n as u64))));
        if winner == Some(self.me) {
            self.win(cx, round);
        }
    }

    fn win(&mut self, cx: &mut NodeCx<'_>, round: Round) {
        let leader = Leader {
            stamp: cx.now,
            id: self.id(),
        };
        self.follow(cx, leader);
        cx.emit(Event::Elected(round));
        let to_client = self.config.method == Method::Next && self.config.rules.confirm_client_only;
        if !to_client {
            self.send_all(cx, &Msg::Confirm(leader));
        }
        cx.send(To::Node(CLIENT), Msg::Confirm(leader));
    }

    pub(super) fn on_confirm(&mut self, cx: &mut NodeCx<'_>, from: Sender, leader: Leader) {
        let Some(node) = self.index(from.id) else {
            return;
        };
        if self.config.rules.confirm_any || leader.stamp > self.leader.stamp {
            self.follow(cx, leader);
            self.observe(cx.now, node, Some(from.life));
        }
    }
}
