//! Probes that this node carries out for others.

use super::msg::Msg;
use super::{Membership, MembershipCx, Timer};
use crate::id::NodeId;
use crate::protocol::{Sender, To};
use core::time::Duration;

/// A probe carried out for another node.
#[derive(Clone, Copy, Debug)]
pub(super) struct Relay {
    seq: u32,
    origin: To,
    origin_id: NodeId,
    origin_seq: u32,
    target: NodeId,
}

impl Membership {
    /// Another node asks this one to ping `target`.
    pub(super) fn on_ping_req(
        &mut self,
        cx: &mut MembershipCx<'_>,
        from: Sender,
        origin_seq: u32,
        target: NodeId,
        budget: Duration,
    ) {
        let known = |r: &Relay| r.origin_id == from.id && r.origin_seq == origin_seq;
        if self.probes.relays.iter().any(known) {
            return;
        }
        if target == cx.me {
            // The asker's path here works, whatever it thinks.
            let (life, incarnation) = (self.life, self.incarnation);
            let msg = Msg::IndirectAck {
                seq: origin_seq,
                target,
                life,
                incarnation,
            };
            cx.send(from.reply_to(), msg);
            return;
        }
        if self.probes.relays.len() >= usize::from(self.config.relays_max) {
            self.stats.relays_dropped += 1;
            cx.send(from.reply_to(), Msg::Nack { seq: origin_seq });
            return;
        }
        // Only to where this node itself knows the target to be: others could have it send anywhere.
        if self.table.get(target).is_none_or(|m| m.addr().port() == 0) {
            cx.send(from.reply_to(), Msg::Nack { seq: origin_seq });
            return;
        }
        let seq = self.probes.next_seq();
        self.probes.relays.push_back(Relay {
            seq,
            origin: from.reply_to(),
            origin_id: from.id,
            origin_seq,
            target,
        });
        cx.send(
            To::Node(target),
            Msg::Ping {
                seq,

                want_record: false,
            },
        );
        let patience = budget.min(self.config.probe_period * 8) * 4 / 5;
        cx.set_timer(Timer::Relay(seq), cx.now + patience);
    }

    /// The target did not answer a probe carried out for another node.
    pub(super) fn on_relay_due(&mut self, cx: &mut MembershipCx<'_>, seq: u32) {
        if let Some(at) = self.probes.relays.iter().position(|r| r.seq == seq)
            && let Some(relay) = self.probes.relays.remove(at)
        {
            cx.send(
                relay.origin,
                Msg::Nack {
                    seq: relay.origin_seq,
                },
            );
        }
    }

    /// An answer to a ping. Whether it was one for another node.
    pub(super) fn on_relay_ack(
        &mut self,
        cx: &mut MembershipCx<'_>,
        from: Sender,
        seq: u32,
    ) -> bool {
        if let Some(at) = self.probes.relays.iter().position(|r| r.seq == seq) {
            // An answer of another node at that address does not count.
            if self.probes.relays[at].target == from.id
                && let Some(relay) = self.probes.relays.remove(at)
            {
                cx.cancel_timer(Timer::Relay(seq));
                cx.send(
                    relay.origin,
                    Msg::IndirectAck {
                        seq: relay.origin_seq,
                        target: from.id,
                        life: from.life,
                        incarnation: from.incarnation,
                    },
                );
            }
            return true;
        }
        false
    }
}
