//! Queries of this node: which members answered, which have to be asked again, and when the query ends.

use super::io::{Event, Timer};
use super::msg::{Msg, Post, Reply, Verdict};
use super::{Audience, Messages, MessagesCx};
use crate::id::NodeId;
use crate::protocol::To;
use crate::time::Instant;
use alloc::vec::Vec;
use core::time::Duration;

/// The number of members that are asked again at a time; the others follow one round later.
const AGAIN_AT_ONCE: usize = 8;

/// The number of answers accepted from members that were not known when the query began.
const LATECOMERS_MAX: usize = 64;

/// An active query.
#[derive(Clone, Debug)]
pub(super) struct Asking {
    pub(super) ticket: u64,
    post: Post,
    until: Instant,
    again_at: Instant,
    /// The position for asking again: the next member is the first silent one with a greater id.
    cursor: NodeId,
    /// The members that have not answered, ordered by id.
    silent: Vec<NodeId>,
    /// The members that have answered, ordered by id.
    answered: Vec<NodeId>,
    answers_max: usize,
}

impl Messages {
    /// Starts to wait for the answers of all addressed members.
    pub(super) fn await_answers(
        &mut self,
        cx: &mut MessagesCx<'_>,
        view: &dyn Audience,
        ticket: u64,
        post: &Post,
        until: Instant,
        silent: Vec<NodeId>,
    ) {
        // The time that a message takes to spread, and its answers to return.
        let patience = self.config.gossip_every * u32::from(self.config.rounds_min) * 2;
        let again_at = cx.now + patience.min(until.since(cx.now) / 4);
        self.asking.push(Asking {
            ticket,
            post: post.clone(),
            until,
            again_at,
            cursor: NodeId(0),
            answers_max: silent.len() + LATECOMERS_MAX,
            silent,
            answered: Vec::new(),
        });
        self.tend_queries(cx, view);
    }

    /// Handles an answer.
    pub(super) fn on_reply(
        &mut self,
        cx: &mut MessagesCx<'_>,
        view: &dyn Audience,
        from: NodeId,
        reply: Reply,
    ) {
        let is_it = |a: &&mut Asking| a.post.seq == reply.seq && a.post.life == reply.life;
        let too_long = match &reply.verdict {
            Verdict::Answer(payload) => payload.0.len() > self.answer_max(),
            Verdict::Declined => false,
        };
        let Some(asking) = self.asking.iter_mut().find(is_it).filter(|_| !too_long) else {
            self.stats.answers_dropped += 1;
            return;
        };
        let Err(at) = asking.answered.binary_search(&from) else {
            self.stats.answers_dropped += 1;
            return;
        };
        if asking.answered.len() >= asking.answers_max {
            self.stats.answers_dropped += 1;
            return;
        }
        asking.answered.insert(at, from);
        if let Ok(at) = asking.silent.binary_search(&from) {
            asking.silent.remove(at);
        }
        self.stats.answers_received += 1;
        cx.emit(Event::Answered {
            ticket: asking.ticket,
            from,
            verdict: reply.verdict,
        });
        self.tend_queries(cx, view);
    }

    /// Ends queries that all members answered or whose time is over, and repeats questions that are due.
    pub(super) fn tend_queries(&mut self, cx: &mut MessagesCx<'_>, view: &dyn Audience) {
        let now = cx.now;
        let is_over = |a: &Asking| a.silent.is_empty() || a.until <= now;
        while let Some(at) = self.asking.iter().position(is_over) {
            let asking = self.asking.remove(at);
            self.stop_passing(&asking.post);
            cx.emit(Event::Finished {
                ticket: asking.ticket,
                silent: asking.silent,
            });
        }
        for at in 0..self.asking.len() {
            if self.asking[at].again_at <= cx.now {
                self.ask_again(cx, view, at);
            }
        }
        let next = self.asking.iter().map(|a| a.until.min(a.again_at)).min();
        if next != self.queries_at {
            self.queries_at = next;
            match next {
                Some(at) => cx.set_timer(Timer::Queries, at),
                None => cx.cancel_timer(Timer::Queries),
            }
        }
    }

    /// Stops passing on an own query that is over.
    fn stop_passing(&mut self, post: &Post) {
        self.passing.retain(|p| !p.own || p.post.seq != post.seq);
    }

    /// Asks some of the silent members again, with one datagram each.
    fn ask_again(&mut self, cx: &mut MessagesCx<'_>, view: &dyn Audience, at: usize) {
        let (me, every) = (cx.me, self.config.gossip_every);
        let asking = &mut self.asking[at];
        let mut post = asking.post.clone();
        let left = asking.until.since(cx.now);
        post.left_ms = u32::try_from(left.as_millis()).unwrap_or(u32::MAX);
        let next = asking.silent.partition_point(|id| *id <= asking.cursor);
        let mut some = asking.silent[next..].iter().take(AGAIN_AT_ONCE);
        for &id in some.clone().filter(|id| **id != me && view.has(**id)) {
            self.stats.copies_sent += 1;
            cx.send(To::Node(id), Msg::Again(post.clone()));
        }
        let rest = next + AGAIN_AT_ONCE < asking.silent.len();
        asking.cursor = match some.next_back() {
            Some(last) if rest => *last,
            _ => NodeId(0),
        };
        let pause: Duration = match rest {
            true => every,
            false => every * u32::from(self.config.rounds_min) * 2,
        };
        asking.again_at = cx.now + pause.max(Duration::from_millis(1));
    }

    /// Ends a query because the application no longer waits for answers.
    pub(super) fn cancel(&mut self, cx: &mut MessagesCx<'_>, view: &dyn Audience, ticket: u64) {
        let Some(at) = self.asking.iter().position(|a| a.ticket == ticket) else {
            return;
        };
        let asking = self.asking.remove(at);
        self.stop_passing(&asking.post);
        self.tend_queries(cx, view);
    }

    /// The nodes that a query of this node addresses, as far as they are known, ordered by id.
    pub(super) fn meant(&self, me: NodeId, view: &dyn Audience, post: &Post) -> Vec<NodeId> {
        use super::msg::Purpose;
        let (filter, with_me) = match &post.purpose {
            Purpose::Event => return Vec::new(),
            Purpose::Query(filter) => (filter, true),
            Purpose::Ping(filter) => (filter, false),
        };
        let others = (0..view.live()).filter_map(|at| view.live_at(at));
        let mut meant: Vec<NodeId> = others
            .filter(|(id, meta)| filter.matches(*id, meta))
            .map(|(id, _)| id)
            .collect();
        if with_me && filter.matches(me, view.meta()) {
            meant.push(me);
        }
        meant.sort_unstable();
        meant
    }
}
