//! Queries of other nodes: the open queries and their answers, kept for as long as the asker may repeat them.

use super::io::{Event, MessageId};
use super::msg::{Msg, Post, Reply, Verdict};
use super::{Audience, Messages, MessagesCx};
use crate::protocol::To;
use crate::time::Instant;

/// A query that this node received.
#[derive(Clone, Debug)]
pub(super) struct Asked {
    id: MessageId,
    until: Instant,
    verdict: Option<Verdict>,
}

impl Messages {
    /// Handles a new query that this node is asked to answer.
    pub(super) fn on_query(
        &mut self,
        cx: &mut MessagesCx<'_>,
        view: &dyn Audience,
        id: MessageId,
        post: &Post,
        until: Instant,
    ) {
        self.stats.queries_received += 1;
        self.asked.retain(|a| a.until > cx.now);
        if self.asked.len() >= usize::from(self.config.queries_max) {
            self.stats.queries_dropped += 1;
            return self.reply(cx, view, id, Verdict::Declined);
        }
        self.asked.push(Asked {
            id,
            until,
            verdict: None,
        });
        cx.emit(Event::Asked {
            id,
            name: post.name.clone(),
            payload: post.payload.clone(),
            until,
        });
    }

    /// Handles the repetition of a query: the answer is sent again if there was one.
    pub(super) fn on_again(&mut self, cx: &mut MessagesCx<'_>, view: &dyn Audience, id: MessageId) {
        let asked = self.asked.iter().find(|a| a.id == id);
        if let Some(verdict) = asked.and_then(|a| a.verdict.clone()) {
            self.reply(cx, view, id, verdict);
        }
    }

    /// Handles the application's answer. It is ignored if the query is over or was already answered.
    pub(super) fn answer(
        &mut self,
        cx: &mut MessagesCx<'_>,
        view: &dyn Audience,
        id: MessageId,
        verdict: Verdict,
    ) {
        let now = cx.now;
        let open = |a: &&mut Asked| a.id == id && a.until > now && a.verdict.is_none();
        let Some(asked) = self.asked.iter_mut().find(open) else {
            return;
        };
        asked.verdict = Some(verdict.clone());
        self.reply(cx, view, id, verdict);
    }

    /// Sends an answer. An answer to this node's own query is delivered directly.
    pub(super) fn reply(
        &mut self,
        cx: &mut MessagesCx<'_>,
        view: &dyn Audience,
        id: MessageId,
        verdict: Verdict,
    ) {
        let reply = Reply {
            life: id.life,
            seq: id.seq,
            verdict,
        };
        if id.origin == cx.me {
            return self.on_reply(cx, view, cx.me, reply);
        }
        self.stats.answers_sent += 1;
        cx.send(To::Node(id.origin), Msg::Reply(reply));
    }
}
