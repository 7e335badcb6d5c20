//! Queries of others: what was asked, and what was answered, for as long as it may be asked again.

use super::face::{Event, MessageId};
use super::msg::{Msg, Post, Reply, Verdict};
use super::{Audience, Messages, MessagesCx};
use crate::protocol::To;
use crate::time::Instant;

/// A query that came.
#[derive(Clone, Debug)]
pub(super) struct Asked {
    id: MessageId,
    until: Instant,
    verdict: Option<Verdict>,
}

impl Messages {
    /// A query came for the first time that this node is meant to answer.
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

    /// The asker repeats a query: it is answered again, if it was.
    pub(super) fn on_again(&mut self, cx: &mut MessagesCx<'_>, view: &dyn Audience, id: MessageId) {
        let asked = self.asked.iter().find(|a| a.id == id);
        if let Some(verdict) = asked.and_then(|a| a.verdict.clone()) {
            self.reply(cx, view, id, verdict);
        }
    }

    /// The application answers. Nothing happens when the query is over, or was answered.
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

    /// Sends an answer; one to this node itself takes no way.
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
