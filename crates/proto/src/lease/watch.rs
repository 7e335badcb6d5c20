//! A watcher: what it recorded, to whom it promised, and when it refuses.

use super::Token;
use super::ablation::{Ablation, Rules};
use super::msg::{Refusal, Renew, Told, Why};
use super::set::{Holder, Rank, Set, Watcher};
use super::with_margin;
use crate::time::Instant;
use alloc::boxed::Box;
use alloc::vec::Vec;
use core::time::Duration;
use serde::{Deserialize, Serialize};

/// What a member knows for good of the leases of one election. Stored before the answer that rests on it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Record {
    /// The greatest token that was granted or closed for.
    pub token: Option<Token>,
    /// Whom it was granted to; nobody if it only was closed for.
    pub holder: Option<Holder>,
    /// The greatest set.
    pub set: Option<Set>,
    /// At least as long as any promise that may still run.
    pub span: Duration,
    /// Sets of lines below this token count no longer.
    pub closed: Option<Token>,
}

impl Record {
    /// The bytes that are stored.
    pub fn encode(&self) -> Vec<u8> {
        // Its lists are short: there is always room.
        postcard::to_allocvec(self).unwrap_or_default()
    }

    /// What [`Record::encode`] wrote; `None` if the bytes are something else.
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
    /// The greatest token it was renewed for.
    token: Token,
    until: Instant,
}

/// What a watcher does with a renewal.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Verdict {
    /// Acknowledge it.
    Ack {
        /// The record changed: store it first.
        store: bool,
    },
    /// Refuse it.
    Refuse {
        /// What to answer.
        refusal: Box<Refusal>,
        /// The holder that has to hear of the claim of whoever asks.
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
    /// The last lease that was released: renewals of it that come late count no longer.
    released: Option<(Holder, Token)>,
    /// Promises of the life before may run until then.
    quiet_until: Instant,
    /// Others may know of greater tokens and sets, and have not been asked since the start.
    uninformed: bool,
}

impl Watch {
    /// A member that has no record.
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

    /// A member that starts again with its record. It refuses everything until the promises of its life before are over
    /// and, with `exchange`, until [`Watch::on_informed`].
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

    /// What is to be stored.
    pub fn record(&self) -> &Record {
        &self.record
    }

    /// Whom a promise that still runs is to, and until when it runs.
    pub fn promised(&self, now: Instant) -> Option<(Holder, Instant)> {
        let running = self.promise.filter(|p| now < p.until);
        running.map(|p| (p.holder, p.until))
    }

    /// How long nobody else can be granted: until the promise is over, or what may be left of one of the life before.
    pub fn left(&self, now: Instant) -> Duration {
        let promised = self
            .promised(now)
            .map_or(Duration::ZERO, |p| p.1.since(now));
        promised.max(self.quiet_until.since(now))
    }

    /// Whether this member answers: it has finished its start.
    pub fn is_ready(&self, now: Instant) -> bool {
        now >= self.quiet_until && !self.uninformed
    }

    /// Somebody asks for a lease, or renews its own.
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
        // One token names one holder; a second one is refused like a smaller token.
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
            Why::Promised | Why::Starting => self.left(now),
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

    /// A holder says that it acts no longer by `token` and smaller ones. Returns whether a promise ended by that.
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

    /// A candidate wants all lines below its `token` closed; `set` is the greatest one it knows. `known` are token and
    /// set of a claim that this member holds besides its record. Returns whether the record has to be stored before the
    /// answer, which carries [`Record::span`].
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

    /// Another member tells what it recorded. Returns whether this record has to be stored.
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

    /// The members listed here have told what they recorded, and were told what this one did.
    pub fn on_informed(&mut self) {
        self.uninformed = false;
    }

    /// Whether [`Watch::on_informed`] is still to come.
    pub fn is_uninformed(&self) -> bool {
        self.uninformed
    }

    /// An operator gives up what was recorded.
    pub fn forget(&mut self) {
        *self = Watch::new(self.rules, self.me);
    }
}
