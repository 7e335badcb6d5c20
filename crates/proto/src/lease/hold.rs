//! The holder's side of a lease: when the lease ends, which watchers to ask next, how watchers are changed, and how the
//! lease is given up.

use super::Token;
use super::ablation::{Ablation, Rules};
use super::msg::{Ack, Extend, Refusal, Renew, Why};
use super::peer::Peer;
use super::set::{Holder, Rank, Set, Watcher, Watchers};
use super::without_margin;
use crate::id::NodeId;
use crate::time::Instant;
use alloc::vec::Vec;
use core::time::Duration;

/// What the host of a lease has to do, or has to know.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Output {
    /// Send this renewal to a watcher, which may be this node itself.
    Renew(NodeId, Renew),
    /// Send this renewal in its short form to a watcher, which is another node.
    Extend(NodeId, Extend),
    /// Tell a watcher that the holder no longer acts by this token or any smaller one.
    Release(NodeId, Token),
    /// Work may start or continue with this token and must have ended at `end`.
    Granted {
        /// The fencing token that accompanies all actions of the work.
        token: Token,
        /// The end of the lease.
        end: Instant,
    },
    /// The set of watchers changed; announce it together with the claim.
    Set,
    /// A watcher knows this greater token.
    Outranked(Token),
    /// A watcher knows this set of a greater line, which another leader began.
    OtherLine(Set),
    /// The lease expired, or no watcher was heard for a whole span, and the lease was given up. Do not campaign during
    /// this time.
    Lapsed(Duration),
}

/// The phase of a lease.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Phase {
    /// The holder asks for the lease or renews it.
    Open,
    /// The work was told to stop and may continue until the lease ends.
    Stopping,
    /// The lease was given up.
    Over,
}

/// The lease of one holder in one election, from the first renewal to the release.
///
/// Call [`Lease::on_timer`] after every input: renewals are sent only there.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Lease {
    rules: Rules,
    holder: Holder,
    token: Token,
    set: Set,
    /// Whether this holder began the change of watchers that is in progress.
    own_change: bool,
    span: Duration,
    seq: u64,
    peers: Vec<Peer>,
    /// The latest end that was announced to the work.
    end: Option<Instant>,
    /// The greatest token that a quorum acknowledged.
    acting: Option<Token>,
    phase: Phase,
    heard_at: Instant,
    round_began: Instant,
    round_at: Instant,
}

impl Lease {
    /// Starts to ask the watchers of `set` for a lease with `token`. `seq` is the last sequence number that the holder
    /// used in this life, that is [`Lease::seq`] of its former lease.
    pub fn new(
        rules: Rules,
        holder: Holder,
        token: Token,
        set: Set,
        span: Duration,
        seq: u64,
        now: Instant,
    ) -> Lease {
        let mut lease = Lease {
            rules,
            holder,
            token,
            set,
            own_change: false,
            span,
            seq,
            peers: Vec::new(),
            end: None,
            acting: None,
            phase: Phase::Open,
            heard_at: now,
            round_began: now,
            round_at: now,
        };
        lease.renew_peers();
        lease
    }

    /// The token that the holder asks for or acts by.
    pub fn token(&self) -> Token {
        self.token
    }

    /// The current set of watchers.
    pub fn set(&self) -> &Set {
        &self.set
    }

    /// The duration that each renewal asks for.
    pub fn span(&self) -> Duration {
        self.span
    }

    /// The last sequence number used.
    pub fn seq(&self) -> u64 {
        self.seq
    }

    /// The token by which the holder may act, and the end of the lease. Returns `None` while the work is being stopped.
    pub fn valid(&self, now: Instant) -> Option<(Token, Instant)> {
        let end = self
            .end
            .filter(|end| now < *end && self.phase == Phase::Open)?;
        self.acting.map(|token| (token, end))
    }

    /// The latest end that was announced to the work.
    pub fn end(&self) -> Option<Instant> {
        self.end
    }

    /// Whether the lease was given up.
    pub fn is_over(&self) -> bool {
        self.phase == Phase::Over
    }

    /// Whether the work was told to stop and may still run.
    pub fn is_stopping(&self) -> bool {
        self.phase == Phase::Stopping
    }

    /// Whether a quorum is impossible: too many watchers are down, have lost their memory, or closed this line.
    pub fn is_lost(&self, down: impl Fn(NodeId) -> bool) -> bool {
        let lost = |w: &Watcher| {
            let mut peers = self.peers.iter();
            peers.any(|p| p.watcher == *w && (p.closed || p.gone))
        };
        self.set.lost(|w| down(w.node) || lost(w))
    }

    /// Whether a watcher closed this line.
    pub fn is_closed(&self) -> bool {
        self.peers.iter().any(|p| p.closed)
    }

    /// Another watcher answered. The holder's own record does not show that the holder can receive.
    fn note_heard(&mut self, now: Instant, from: Watcher) {
        if from.node != self.holder.node {
            self.heard_at = now;
        }
    }

    /// Marks the watchers of this node that have another memory as gone, because the node now answers with the memory
    /// in `from`.
    fn note_memory(&mut self, from: Watcher) {
        let same = |p: &&mut Peer| p.watcher.node == from.node;
        for peer in self.peers.iter_mut().filter(same) {
            peer.gone = peer.watcher.memory != from.memory;
        }
    }

    /// Whether `watcher` is known to be gone.
    pub fn is_gone(&self, watcher: Watcher) -> bool {
        self.peers.iter().any(|p| p.watcher == watcher && p.gone)
    }

    /// Handles the acknowledgement of a watcher, which is a promise.
    pub fn on_ack(&mut self, now: Instant, from: Watcher, ack: Ack, out: &mut Vec<Output>) {
        if ack.life != self.holder.life {
            return;
        }
        self.note_memory(from);
        let Some(peer) = self.peers.iter_mut().find(|p| p.watcher == from) else {
            return;
        };
        if self.phase == Phase::Over {
            out.push(Output::Release(from.node, self.token));
            return;
        }
        let counted_from = match self.rules.lack(Ablation::FromSending) {
            true => Some(now + without_margin(&self.rules, self.span)),
            false => None,
        };
        if peer.acknowledge(ack.seq, counted_from, self.round_began) {
            self.note_heard(now, from);
            self.count(now, out);
        }
    }

    /// Handles the refusal of a watcher, which tells what the watcher knows.
    pub fn on_refusal(
        &mut self,
        now: Instant,
        from: Watcher,
        refusal: &Refusal,
        out: &mut Vec<Output>,
    ) {
        if self.phase != Phase::Open {
            return;
        }
        self.note_memory(from);
        let closed = refusal.closed.is_some_and(|c| self.set.rank.line < c);
        if self.peers.iter().any(|p| p.watcher == from) {
            self.note_heard(now, from);
        }
        if let Some(peer) = self.peers.iter_mut().find(|p| p.watcher == from) {
            peer.closed = closed;
            if refusal.why == Why::Promised {
                // Ask again when its promise to the other holder has expired.
                let wait = refusal.left.clamp(self.span / 16, self.span / 3);
                peer.again_at = Some(now + wait);
            }
            if refusal.why == Why::Unknown && peer.forget_recorded() {
                peer.again_at = Some(now);
            }
        }
        if let Some(set) = refusal.set {
            self.on_set(now, set, out);
        }
        if let Some(token) = refusal.token.filter(|t| *t > self.token) {
            out.push(Output::Outranked(token));
        }
    }

    /// Handles a set that another node knows. A leader with a valid lease renumbers its own set above an unfinished
    /// change of another leader; a holder without a valid lease adopts the greater set.
    pub fn on_set(&mut self, now: Instant, set: Set, out: &mut Vec<Output>) {
        let by_token = self.rules.lack(Ablation::SetOrder);
        let greater = match by_token {
            true => set.rank.by > self.set.rank.by,
            false => set.rank > self.set.rank,
        };
        if self.phase != Phase::Open || !greater {
            return;
        }
        let in_office = self.valid(now).is_some();
        if in_office && set.rank.line > self.set.rank.line {
            out.push(Output::OtherLine(set));
        } else if in_office && set.is_changing() {
            self.number_above(set.rank.number, now, out);
        } else {
            self.own_change = false;
            self.set = set;
            self.replaced(now, out);
            self.count(now, out);
        }
    }

    fn number_above(&mut self, number: u32, now: Instant, out: &mut Vec<Output>) -> bool {
        let Some(number) = number.checked_add(1) else {
            return false;
        };
        self.set.rank = Rank {
            number,
            by: self.token,
            ..self.set.rank
        };
        self.replaced(now, out);
        true
    }

    /// Updates the peers after a change of the set and asks all of them at once.
    fn replaced(&mut self, now: Instant, out: &mut Vec<Output>) {
        self.renew_peers();
        self.round_at = now;
        out.push(Output::Set);
    }

    fn renew_peers(&mut self) {
        let Lease { peers, set, .. } = self;
        peers.retain(|p| set.names(p.watcher));
        for watcher in set.all() {
            if peers.iter().all(|p| p.watcher != watcher) {
                peers.push(Peer::new(watcher));
            }
        }
        peers.sort_unstable_by_key(|p| p.watcher);
    }

    /// Changes the watchers, or the duration that renewals ask for. Only a leader with a valid lease and no change in
    /// progress can do so. Returns whether the change was started.
    pub fn change(
        &mut self,
        now: Instant,
        watchers: Watchers,
        span: Duration,
        out: &mut Vec<Output>,
    ) -> bool {
        let same = watchers == self.set.watchers && span == self.span;
        if self.valid(now).is_none() || self.set.is_changing() || watchers.is_empty() || same {
            return false;
        }
        if watchers != self.set.watchers {
            if self.set.rank.number == u32::MAX {
                return false;
            }
            self.set.former = self.set.watchers;
            self.set.watchers = watchers;
            self.own_change = true;
        }
        self.span = span;
        self.number_above(self.set.rank.number, now, out)
    }

    /// The same holder claims again with a greater token. Running work continues with the former token; new work uses
    /// the new token once a quorum acknowledged it.
    pub fn claim_again(&mut self, now: Instant, token: Token) {
        if token > self.token && self.phase == Phase::Open {
            self.token = token;
            self.round_at = now;
            if self.rules.lack(Ablation::TokenQuorum) {
                self.acting = self.acting.map(|_| token);
            }
        }
    }

    /// The latest time for which a majority of `watchers` promised, counting only watchers that recorded at least
    /// `token`.
    fn end_by(&self, watchers: &Watchers, token: Option<Token>) -> Option<Instant> {
        let mut ends: Vec<Instant> = Vec::with_capacity(watchers.len());
        for peer in &self.peers {
            if watchers.contains(&peer.watcher) && peer.token >= token {
                ends.extend(peer.until);
            }
        }
        ends.sort_unstable();
        let needed = match self.rules.lack(Ablation::Majority) {
            true => 1,
            false => watchers.majority(),
        };
        let at = ends.len().checked_sub(needed)?;
        Some(ends[at])
    }

    fn quorum_end(&self, token: Option<Token>) -> Option<Instant> {
        let Set {
            watchers, former, ..
        } = &self.set;
        if !self.set.is_changing() {
            self.end_by(watchers, token)
        } else if self.own_change {
            match self.rules.lack(Ablation::FormerCounts) {
                true => self.end_by(watchers, token),
                false => self.end_by(former, token),
            }
        } else if self.rules.lack(Ablation::BothMajorities) {
            self.end_by(watchers, token)
        } else {
            self.end_by(watchers, token).min(self.end_by(former, token))
        }
    }

    /// Recomputes the end of the lease and the acting token from the acknowledgements.
    fn count(&mut self, now: Instant, out: &mut Vec<Output>) {
        if self.phase != Phase::Open {
            return;
        }
        let before = (self.acting, self.end);
        // A promise is made to the holder and does not depend on the token.
        self.end = self.end.max(self.quorum_end(None));
        if self.quorum_end(Some(self.token)) > Some(now) {
            self.acting = Some(self.token);
        }
        if before != (self.acting, self.end)
            && let Some((token, end)) = self.valid(now)
        {
            out.push(Output::Granted { token, end });
        }
        self.finish_change(now, out);
    }

    /// Drops the former watchers once both quorums recorded the change and the promises of the new watchers alone reach
    /// the end that was announced to the work.
    fn finish_change(&mut self, now: Instant, out: &mut Vec<Output>) {
        if !self.set.is_changing() || self.valid(now).is_none() {
            return;
        }
        let rank = Some(self.set.rank);
        let recorded = |w: &Watcher| self.peers.iter().any(|p| p.watcher == *w && p.rank >= rank);
        let covered = self.end_by(&self.set.watchers, None) >= self.end
            || self.rules.lack(Ablation::DropLate);
        if self.set.has_quorum(recorded) && covered && self.set.rank.number < u32::MAX {
            self.set.former = Watchers::NONE;
            self.own_change = false;
            self.number_above(self.set.rank.number, now, out);
        }
    }

    /// The leader gives up. The host has told the work to stop; the lease is released by [`Lease::on_stopped`], or when
    /// it ends.
    pub fn stop(&mut self, now: Instant, out: &mut Vec<Output>) {
        if self.phase == Phase::Open {
            let works = self.valid(now).is_some() && !self.rules.lack(Ablation::StopFirst);
            self.phase = Phase::Stopping;
            if !works {
                self.release(out);
            }
        }
    }

    /// The work has ended, so the lease is released.
    pub fn on_stopped(&mut self, out: &mut Vec<Output>) {
        if self.phase == Phase::Stopping {
            self.release(out);
        }
    }

    fn release(&mut self, out: &mut Vec<Output>) {
        self.phase = Phase::Over;
        let release = |p: &Peer| Output::Release(p.watcher.node, self.token);
        out.extend(self.peers.iter().map(release));
    }

    /// The time at which [`Lease::on_timer`] has to be called.
    pub fn next_at(&self) -> Option<Instant> {
        let again = self.peers.iter().filter_map(|p| p.again_at).min();
        let limit = match self.acting {
            Some(_) if self.rules.lack(Ablation::Lapse) => None,
            None if self.rules.lack(Ablation::DeafCandidate) => None,
            Some(_) => self.end,
            None => Some(self.heard_at + self.span),
        };
        match self.phase {
            Phase::Open => [Some(self.round_at), again, limit]
                .into_iter()
                .flatten()
                .min(),
            Phase::Stopping => self.end,
            Phase::Over => None,
        }
    }

    /// Sends what is due. A renewal that is not acknowledged is sent again after `rto`.
    pub fn on_timer(&mut self, now: Instant, rto: Duration, out: &mut Vec<Output>) {
        match self.phase {
            Phase::Stopping if self.end.is_none_or(|end| end <= now) => self.release(out),
            Phase::Open if self.lapses(now) => {
                let span = self.span * if self.acting.is_some() { 1 } else { 2 };
                self.release(out);
                out.push(Output::Lapsed(span));
            }
            Phase::Open => self.send_due(now, rto, out),
            Phase::Stopping | Phase::Over => {}
        }
    }

    /// Whether a leader's lease has ended, or a candidate has heard no watcher for a whole span.
    fn lapses(&self, now: Instant) -> bool {
        match self.acting {
            Some(_) => self.end.is_none_or(|end| end <= now) && !self.rules.lack(Ablation::Lapse),
            None => {
                now.since(self.heard_at) >= self.span && !self.rules.lack(Ablation::DeafCandidate)
            }
        }
    }

    fn send_due(&mut self, now: Instant, rto: Duration, out: &mut Vec<Output>) {
        let round = now >= self.round_at;
        if round {
            self.round_began = now;
            self.round_at = now + self.span / 3;
        }
        let again = now + rto.max(self.span / 8);
        for at in 0..self.peers.len() {
            let peer = &mut self.peers[at];
            let repeats = peer.again_at.is_some_and(|t| t <= now);
            if !round && !repeats {
                continue;
            }
            peer.again_at = Some(again);
            if round || !self.rules.lack(Ablation::FreshSeq) {
                self.seq += 1;
                peer.seq = self.seq;
            }
            let until = now + without_margin(&self.rules, self.span);
            let renew = Renew {
                token: self.token,
                holder: self.holder,
                set: self.set,
                span: self.span,
                seq: peer.seq,
            };
            let node = peer.watcher.node;
            let short = peer.note_sent(now, until, &renew) && node != self.holder.node;
            out.push(match short {
                true => Output::Extend(node, renew.extend()),
                false => Output::Renew(node, renew),
            });
        }
    }
}
