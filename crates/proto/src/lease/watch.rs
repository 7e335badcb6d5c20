//! The watcher's side of a lease: what it recorded, whom it promised, and when it refuses.

use super::Token;
use super::ablation::{Ablation, Rules};
use super::msg::{Extend, Refusal, Renew, Told, Why};
use super::set::{Holder, Rank, Set, Watcher};
use super::with_margin;
use crate::time::Instant;
use alloc::boxed::Box;
use alloc::vec::Vec;
use core::time::Duration;
use serde::{Deserialize, Serialize};

/// The lasting knowledge of a member about the leases of one election. It is stored before any answer that depends on
/// it is sent.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Record {
    /// The greatest token that was granted or closed for.
    pub token: Option<Token>,
    /// The process that the token was granted to, or `None` if lines were only closed for it.
    pub holder: Option<Holder>,
    /// The greatest known set of watchers.
    pub set: Option<Set>,
    /// At least the length of any promise that may still be valid.
    pub span: Duration,
    /// Sets of lines below this token no longer count.
    pub closed: Option<Token>,
}

impl Record {
    /// Encodes the record for storage.
    pub fn encode(&self) -> Vec<u8> {
        // The record has a small bounded size, so the encoding cannot fail.
        postcard::to_allocvec(self).unwrap_or_default()
    }

    /// Decodes the output of [`Record::encode`]. Returns `None` for any other bytes.
    pub fn decode(bytes: &[u8]) -> Option<Record> {
        let (record, rest) = postcard::take_from_bytes(bytes).ok()?;
        rest.is_empty().then_some(record)
    }

    fn rank(&self) -> Option<Rank> {
        self.set.map(|s| s.rank)
    }
}

/// A promise to grant nobody else.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct Promise {
    holder: Holder,
    /// The greatest token that the holder used in a renewal.
    token: Token,
    /// The duration that the last renewal asked for.
    span: Duration,
    until: Instant,
}

/// How a watcher answers a renewal.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Verdict {
    /// Acknowledge it.
    Ack {
        /// Whether the record changed and must be stored before the answer is sent.
        store: bool,
    },
    /// Refuse it.
    Refuse {
        /// The answer.
        refusal: Box<Refusal>,
        /// The current holder, if it has to be told about the claim of the requester.
        tell: Option<Holder>,
    },
}

/// One member as a watcher of one election.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Watch {
    rules: Rules,
    me: Watcher,
    record: Record,
    promise: Option<Promise>,
    /// The last lease that was released. Late renewals of it are refused.
    released: Option<(Holder, Token)>,
    /// Promises of the former life may be valid until this time.
    quiet_until: Instant,
    /// Whether other members may know greater tokens and sets and were not asked since the start.
    uninformed: bool,
}

impl Watch {
    /// A watcher without a record.
    pub fn new(rules: Rules, me: Watcher) -> Watch {
        Watch {
            rules,
            me,
            record: Record::default(),
            promise: None,
            released: None,
            quiet_until: Instant::ZERO,
            uninformed: false,
        }
    }

    /// A watcher that restarts with its stored record. It refuses everything until the promises of its former life have
    /// expired and, with `exchange`, until [`Watch::on_informed`] is called.
    pub fn restore(
        rules: Rules,
        me: Watcher,
        record: Record,
        now: Instant,
        exchange: bool,
    ) -> Watch {
        let forgets = rules.lack(Ablation::Stored);
        let record = if forgets { Record::default() } else { record };
        let quiet = !rules.lack(Ablation::Restart);
        let span = if quiet {
            with_margin(&rules, record.span)
        } else {
            Duration::ZERO
        };
        Watch {
            record,
            quiet_until: now + span,
            uninformed: exchange && !rules.lack(Ablation::Exchange),
            ..Watch::new(rules, me)
        }
    }

    /// This member, as a watcher.
    pub fn me(&self) -> Watcher {
        self.me
    }

    /// The record that has to be stored.
    pub fn record(&self) -> &Record {
        &self.record
    }

    /// The holder of a valid promise, and the time at which the promise expires.
    pub fn promised(&self, now: Instant) -> Option<(Holder, Instant)> {
        let running = self.promise.filter(|p| now < p.until);
        running.map(|p| (p.holder, p.until))
    }

    /// How long nobody else can be granted: the rest of the promise, or of the promises that the former life may have
    /// made.
    pub fn left(&self, now: Instant) -> Duration {
        let promised = self
            .promised(now)
            .map_or(Duration::ZERO, |p| p.1.since(now));
        promised.max(self.quiet_until.since(now))
    }

    /// Whether this watcher has completed its start and answers requests.
    pub fn is_ready(&self, now: Instant) -> bool {
        now >= self.quiet_until && !self.uninformed
    }

    /// The whole renewal that a short one stands for: what this watcher promised this holder last. Refused if the sum
    /// does not say that the holder means exactly this.
    pub fn expand(&self, now: Instant, extend: &Extend) -> Result<Renew, Box<Refusal>> {
        let &Extend { holder, sum, seq } = extend;
        let promise = self.promise.filter(|p| p.holder == holder);
        let renew = promise.zip(self.record.set).map(|(promise, set)| Renew {
            token: promise.token,
            holder,
            set,
            span: promise.span,
            seq,
        });
        let why = match self.is_ready(now) {
            true => Why::Unknown,
            false => Why::Starting,
        };
        renew
            .filter(|r| r.sum() == sum)
            .ok_or_else(|| self.refusal(now, why))
    }

    /// Handles a request for a lease or its renewal.
    pub fn on_renew(&mut self, now: Instant, renew: &Renew) -> Verdict {
        let promised = self.promised(now).map(|p| p.0);
        let other = promised.filter(|h| !self.is_same(*h, renew.holder));
        let Some(why) = self.objection(now, renew, other.is_some()) else {
            return self.grant(now, renew);
        };
        let greater = self.record.token.is_none_or(|t| renew.token > t);
        let tells = why == Why::Promised && greater && !self.rules.lack(Ablation::TellHolder);
        Verdict::Refuse {
            refusal: self.refusal(now, why),
            tell: other.filter(|_| tells),
        }
    }

    fn objection(&self, now: Instant, renew: &Renew, promised: bool) -> Option<Why> {
        let Renew {
            token, holder, set, ..
        } = renew;
        if !self.is_ready(now) {
            Some(Why::Starting)
        } else if !set.names(self.me) {
            Some(Why::Stranger)
        } else if promised && !self.rules.lack(Ablation::Wait) {
            Some(Why::Promised)
        } else if self.is_below(*token, *holder) {
            Some(Why::Token)
        } else if self.is_outdated(set) {
            Some(Why::Set)
        } else {
            let over = |(h, t): (Holder, Token)| h == *holder && *token <= t;
            self.released.is_some_and(over).then_some(Why::Released)
        }
    }

    fn is_same(&self, a: Holder, b: Holder) -> bool {
        a == b || self.rules.lack(Ablation::HolderLife) && a.node == b.node
    }

    fn is_below(&self, token: Token, holder: Holder) -> bool {
        if self.rules.lack(Ablation::LowerToken) {
            return false;
        }
        let Record {
            token: known,
            holder: granted,
            ..
        } = self.record;
        // One token belongs to one holder; a second holder is refused as if its token were smaller.
        let forged = known == Some(token) && granted.is_some_and(|h| h != holder);
        known.is_some_and(|k| token < k) || forged
    }

    fn is_outdated(&self, set: &Set) -> bool {
        let closed = self
            .record
            .closed
            .filter(|_| !self.rules.lack(Ablation::CloseLine));
        let by_token = self.rules.lack(Ablation::SetOrder);
        let below = |known: Rank| match by_token {
            true => set.rank.by < known.by,
            false => set.rank < known,
        };
        closed.is_some_and(|c| set.rank.line < c) || self.record.rank().is_some_and(below)
    }

    fn refusal(&self, now: Instant, why: Why) -> Box<Refusal> {
        let left = match why {
            Why::Promised | Why::Starting | Why::Unknown => self.left(now),
            _ => Duration::ZERO,
        };
        Box::new(Refusal {
            why,
            left,
            token: self.record.token,
            set: self.record.set,
            closed: self.record.closed,
            span: self.record.span,
        })
    }

    fn grant(&mut self, now: Instant, renew: &Renew) -> Verdict {
        let Renew {
            token,
            holder,
            set,
            span,
            ..
        } = *renew;
        let running = self.promised(now).filter(|p| p.0 == holder);
        let before = self.record;
        if !self.rules.lack(Ablation::Promise) {
            let until = now + with_margin(&self.rules, span);
            let until = running.map_or(until, |p| until.max(p.1));
            let greatest = self.promise.filter(|p| p.holder == holder);
            self.promise = Some(Promise {
                holder,
                token: greatest.map_or(token, |p| p.token.max(token)),
                span,
                until,
            });
        }
        self.record.token = self.record.token.max(Some(token));
        self.record.holder = Some(holder);
        self.record.set = Some(set);
        self.record.span = match running {
            Some(_) => self.record.span.max(span),
            None => span,
        };
        Verdict::Ack {
            store: self.record != before,
        }
    }

    /// Handles a release: the holder no longer acts by `token` or any smaller one. Returns whether this ended a valid
    /// promise.
    pub fn on_release(&mut self, now: Instant, holder: Holder, token: Token) -> bool {
        let later = |(h, t): (Holder, Token)| h == holder && t >= token;
        if !self.released.is_some_and(later) {
            self.released = Some((holder, token));
        }
        let ends = |p: &Promise| p.holder == holder && p.token <= token && now < p.until;
        let ended = self.promise.as_ref().is_some_and(ends);
        if ended {
            self.promise = None;
        }
        ended
    }

    /// Handles the request of a candidate to close all lines below its `token`; `set` is the greatest one that the
    /// candidate knows. `known` is the token and set of a claim that this member holds in addition to its record.
    /// Returns whether the record has to be stored before the answer, which carries [`Record::span`].
    pub fn on_close(
        &mut self,
        now: Instant,
        token: Token,
        set: Option<Rank>,
        known: Option<(Token, Option<Rank>)>,
    ) -> Result<bool, Box<Refusal>> {
        let (held, held_set) = known.map_or((None, None), |(t, s)| (Some(t), s));
        let why = if !self.is_ready(now) {
            Some(Why::Starting)
        } else if self.record.token.max(held) > Some(token) {
            Some(Why::Token)
        } else if self.record.rank().max(held_set) > set {
            Some(Why::Set)
        } else {
            None
        };
        if let Some(why) = why {
            return Err(self.refusal(now, why));
        }
        let before = self.record;
        if self.record.token < Some(token) {
            self.record.token = Some(token);
            self.record.holder = None;
        }
        self.record.closed = self.record.closed.max(Some(token));
        Ok(self.record != before)
    }

    /// Merges the record of another member. Returns whether this record changed and has to be stored.
    pub fn on_told(&mut self, told: &Told) -> bool {
        let before = self.record;
        if told.token > self.record.token {
            self.record.token = told.token;
            self.record.holder = None;
        }
        if told.set.map(|s| s.rank) > self.record.rank() {
            self.record.set = told.set;
            self.record.span = self.record.span.max(told.span);
        }
        self.record.closed = self.record.closed.max(told.closed);
        self.record != before
    }

    /// Records are exchanged: the listed members sent theirs and received this one.
    pub fn on_informed(&mut self) {
        self.uninformed = false;
    }

    /// Whether this watcher still waits for [`Watch::on_informed`].
    pub fn is_uninformed(&self) -> bool {
        self.uninformed
    }

    /// Discards the record on behalf of an operator.
    pub fn forget(&mut self) {
        *self = Watch::new(self.rules, self.me);
    }
}
