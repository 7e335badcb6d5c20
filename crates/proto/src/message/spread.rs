//! Passing messages on: rounds of gossip in separate datagrams, and copies in the free space of pings.

use super::io::Timer;
use super::msg::{Msg, Post};
use super::{Audience, Messages, MessagesCx};
use crate::encoded::frame_len;
use crate::id::NodeId;
use crate::protocol::{Passenger, Ride, To};
use crate::time::{Instant, micros};
use alloc::vec::Vec;
use core::time::Duration;

/// A message that this node passes on.
#[derive(Clone, Debug)]
pub(super) struct Passing {
    pub(super) post: Post,
    pub(super) own: bool,
    /// The node that this node received it from.
    from: NodeId,
    /// The time at which it stops travelling.
    until: Instant,
    /// The number of copies sent, including those that were not needed because the drawn member knows the message.
    sent: u32,
    /// The value of `sent` when the round began.
    before: u32,
}

impl Messages {
    /// Starts to pass a message on. An own message is sent at once, unless a round is scheduled anyway.
    pub(super) fn pass_on(
        &mut self,
        cx: &mut MessagesCx<'_>,
        view: &dyn Audience,
        from: NodeId,
        post: Post,
        until: Instant,
    ) {
        let own = post.origin == cx.me;
        self.passing.push(Passing {
            post,
            own,
            from,
            until,
            sent: 0,
            before: 0,
        });
        if self.passing.len() > usize::from(self.config.posts_max) {
            let most = |(_, p): &(usize, &Passing)| (p.sent, p.own);
            if let Some((at, _)) = self.passing.iter().enumerate().rev().max_by_key(most) {
                self.passing.remove(at);
                self.stats.evicted += 1;
            }
        }
        if self.round_at.is_some() || self.config.gossip_fanout == 0 {
            return;
        }
        if own {
            return self.on_round(cx, view);
        }
        let wait = cx.rng.below64(micros(self.config.gossip_every));
        self.plan_round(cx, Duration::from_micros(wait));
    }

    fn plan_round(&mut self, cx: &mut MessagesCx<'_>, wait: Duration) {
        let at = cx.now + wait;
        self.round_at = Some(at);
        cx.set_timer(Timer::Round, at);
    }

    /// The number of copies of a message that a node sends.
    fn copies_max(&self, members: usize) -> u32 {
        let rounds = libm::ceil(libm::log(members as f64 + 2.0)) as u32;
        rounds.max(u32::from(self.config.rounds_min)) * u32::from(self.config.gossip_fanout).max(3)
    }

    /// Passes messages on to a few members drawn at random, with one datagram each.
    pub(super) fn on_round(&mut self, cx: &mut MessagesCx<'_>, view: &dyn Audience) {
        self.round_at = None;
        let copies_max = self.copies_max(view.live());
        self.passing
            .retain(|p| p.until > cx.now && p.sent < copies_max);
        if self.passing.is_empty() {
            return;
        }
        let fanout = usize::from(self.config.gossip_fanout);
        for passing in &mut self.passing {
            passing.before = passing.sent;
        }
        let targets = self.draw_targets(cx, view, fanout);
        for &target in &targets {
            let room = self.frames_max;
            self.offer(cx.now, target, copies_max, room, |post| {
                cx.send(To::Node(target), Msg::Post(post));
            });
        }
        // If there are fewer members than datagrams, the round still counts in full.
        let missing = fanout.saturating_sub(targets.len()) as u32;
        for passing in self.passing.iter_mut().filter(|p| p.sent > p.before) {
            passing.sent += missing;
        }
        self.plan_round(cx, self.config.gossip_every);
    }

    fn draw_targets(
        &mut self,
        cx: &mut MessagesCx<'_>,
        view: &dyn Audience,
        most: usize,
    ) -> Vec<NodeId> {
        let live = view.live();
        let mut positions: Vec<usize> = Vec::with_capacity(most);
        if live <= most {
            positions.extend(0..live);
        }
        while positions.len() < most.min(live) {
            let at = cx.rng.below(live as u32) as usize;
            if !positions.contains(&at) {
                positions.push(at);
            }
        }
        let id = |at| view.live_at(at).map(|(id, _)| id);
        positions.into_iter().filter_map(id).collect()
    }

    /// Fills a datagram to `to` with messages, those sent least often first.
    fn offer(
        &mut self,
        now: Instant,
        to: NodeId,
        copies_max: u32,
        mut room: usize,
        mut push: impl FnMut(Post),
    ) {
        self.passing.sort_by_key(|p| p.sent);
        for passing in self.passing.iter_mut().filter(|p| p.sent < copies_max) {
            let left = passing.until.since(now);
            if passing.post.origin == to || passing.from == to {
                passing.sent += 1;
                continue;
            }
            let mut post = passing.post.clone();
            post.left_ms = u32::try_from(left.as_millis()).unwrap_or(u32::MAX);
            let len = frame_len(&Msg::Post(post.clone()));
            if len > room {
                continue;
            }
            room -= len;
            passing.sent += 1;
            self.stats.copies_sent += 1;
            push(post);
        }
    }
}

impl Passenger for Messages {
    /// Messages of applications, for pings and acknowledgements.
    fn piggyback(&mut self, ride: Ride, mut push: impl FnMut(Msg)) {
        let Some(to) = ride.to.filter(|_| !self.passing.is_empty()) else {
            return;
        };
        let (now, copies_max) = (ride.now, self.copies_max(ride.members));
        self.passing
            .retain(|p| p.until > now && p.sent < copies_max);
        self.offer(now, to, copies_max, ride.bytes, |post| {
            push(Msg::Post(post))
        });
    }
}
