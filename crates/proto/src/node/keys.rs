//! Agreeing on the group's keys: who has which ring, and who is given a newer one. [`crate::seal`] has the reasons.

use super::Node;
use crate::event::Event;
use crate::id::NodeId;
use crate::protocol::Sender;
#[cfg(test)]
use crate::protocol::To;
use crate::seal::{KeyMsg, KeyRing};
use crate::time::Instant;
use crate::wire::Frame;
use core::time::Duration;

/// The least time between two requests for a newer ring, and the time for which an answer is taken.
const ASK_EVERY: Duration = Duration::from_secs(1);
const ASKED_FOR: Duration = Duration::from_secs(10);

impl Node {
    /// The keys of the group; `None` in a group without any.
    pub fn key_ring(&self) -> Option<&KeyRing> {
        self.sealer.ring()
    }

    /// The name of the key under which a member was last heard, as [`Secret::name`](crate::seal::Secret::name) has it.
    pub fn key_of(&self, id: NodeId) -> Option<u32> {
        self.sealer.key_of(id)
    }

    /// Uses another ring from now on. It has to be stored, and valid; another one is ignored.
    pub(super) fn set_keys(&mut self, ring: KeyRing) {
        if ring.is_valid() && self.sealer.set_ring(self.io.me, ring) {
            self.note_ring();
        }
    }

    /// Has this node answer with the name of its ring when it is asked whether it is there.
    pub(super) fn note_ring(&mut self) {
        if let Some(stamp) = self.sealer.stamp() {
            let mut pong = [0; 8];
            pong[..4].copy_from_slice(&stamp.version.to_le_bytes());
            pong[4..].copy_from_slice(&stamp.hash.to_le_bytes());
            self.message.state.set_pong(&pong);
        }
    }

    #[cfg(test)]
    pub(crate) fn say_keys(&mut self, to: NodeId, msg: KeyMsg) {
        self.io.sends.push((To::Node(to), Frame::Keys(msg)));
        self.flush(self.io.now);
    }

    /// Takes a message about keys from a member.
    pub(super) fn on_key_msg(&mut self, now: Instant, from: Sender, msg: KeyMsg) {
        let Some(own) = self.sealer.stamp() else {
            return;
        };
        let answer = match msg {
            KeyMsg::Have(theirs) if theirs == own => {
                // It may not know that this node has the same.
                let news = self.sealer.sessions.agree(from.id);
                news.then_some(KeyMsg::Have(own))
            }
            KeyMsg::Have(theirs) => {
                let due = self
                    .sealer
                    .asked
                    .is_none_or(|at| now.since(at) >= ASK_EVERY);
                let asks = theirs > own && due;
                if asks {
                    self.sealer.asked = Some(now);
                }
                asks.then_some(KeyMsg::Ask)
            }
            KeyMsg::Ask => {
                let may = self.sealer.gives.take(now);
                let ring = self.sealer.ring().filter(|_| may);
                ring.cloned().map(KeyMsg::Give)
            }
            KeyMsg::Give(theirs) => {
                let asked = self.sealer.asked;
                let wanted = asked.is_some_and(|at| now.since(at) <= ASKED_FOR);
                let ring = self.sealer.ring().filter(|_| wanted);
                if ring.is_some_and(|ring| ring.gives_way_to(&theirs)) {
                    self.io.events.push_back(Event::Keys(theirs));
                } else if theirs.stamp() > own {
                    self.io.stats.seal.rings_refused += 1;
                }
                None
            }
        };
        if let Some(msg) = answer {
            self.io.sends.push((from.reply_to(), Frame::Keys(msg)));
        }
    }
}
