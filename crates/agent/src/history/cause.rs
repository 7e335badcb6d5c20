//! The earlier event that caused an event, along the chain of suspicion, verdict, vacancy and new leader.

use crate::api::EventView;
use std::collections::BTreeMap;

/// How long an order of the lab explains what happens to a member, in milliseconds.
const ORDER_COUNTS_MS: u64 = 120_000;

/// How long an order that brings members back explains what the sides have to settle when they meet, in milliseconds.
const MEETING_COUNTS_MS: u64 = 10_000;

/// The events that may have consequences.
#[derive(Debug, Default)]
pub(super) struct Causes {
    members: BTreeMap<String, Trouble>,
    /// Orders of the lab that concerned no single member.
    orders: Orders,
    seats: BTreeMap<String, Seat>,
    /// The last end of a turn, by lock.
    released: BTreeMap<String, u64>,
}

/// The numbers of the latest events about a member.
#[derive(Debug, Default)]
struct Trouble {
    orders: Orders,
    suspected: Option<u64>,
    down: Option<u64>,
    /// It led an election and did not renew its lease, the first sign of what is wrong with it.
    silent: Option<u64>,
}

/// The latest orders of the lab, each with its number and time.
#[derive(Clone, Copy, Debug, Default)]
struct Orders {
    /// An order that makes members look failed.
    harm: Option<(u64, u64)>,
    /// An order that brings members back.
    mend: Option<(u64, u64)>,
    /// An order that changes the leader.
    office: Option<(u64, u64)>,
    /// An order that requests or releases a lock.
    lock: Option<(u64, u64)>,
}

impl Orders {
    fn take(&mut self, event: &EventView) {
        let order = Some((event.seq, event.at_ms));
        let deed = event.reason.as_deref().unwrap_or_default();
        match deed.split(' ').next().unwrap_or_default() {
            "kill" | "pause" | "isolate" | "partition" | "lose" | "slow" | "goodbye" => {
                self.harm = order;
            }
            "revive" | "resume" | "heal" | "add" => {
                self.harm = None;
                self.mend = order;
            }
            "campaign" | "withdraw" | "resign" => self.office = order,
            "lock" | "unlock" => self.lock = order,
            _ => {}
        }
    }

    fn latest(&self) -> Option<u64> {
        let all = [self.harm, self.mend, self.office, self.lock];
        all.into_iter().flatten().map(|o| o.0).max()
    }
}

/// The latest events about an election.
#[derive(Debug, Default)]
struct Seat {
    leader: Option<String>,
    token: Option<String>,
    changed: Option<u64>,
    vacant: Option<u64>,
    stepped: Option<u64>,
}

impl Causes {
    /// The number of the event that caused this one. The event itself is recorded too.
    pub(super) fn of(&mut self, event: &EventView) -> Option<u64> {
        match event.event.as_str() {
            "lab" => {
                match &event.member {
                    Some(member) => self.trouble(&member.id).orders.take(event),
                    None => {
                        self.orders.take(event);
                        if self.orders.harm.is_none() {
                            // The order repairs all earlier harm.
                            self.members.values_mut().for_each(|t| t.orders.harm = None);
                        }
                    }
                }
                None
            }
            "suspected" | "down" | "up" => self.of_member(event),
            "self_accused" => self.met(event),
            "leader_changed" | "leader_vacant" | "became_leader" | "stepped_down" => {
                self.of_election(event)
            }
            "lock_granted" => {
                let released = self.released.remove(event.lock.as_deref()?);
                released.or_else(|| self.order(event, |o| o.lock))
            }
            "lock_released" => {
                let lock = event.lock.clone()?;
                self.released.insert(lock, event.seq);
                match event.reason.as_deref() {
                    Some("failed") => self.members.get(&event.member.as_ref()?.id)?.down,
                    _ => self.order(event, |o| o.lock),
                }
            }
            _ => None,
        }
    }

    fn trouble(&mut self, member: &str) -> &mut Trouble {
        self.members.entry(member.to_owned()).or_default()
    }

    /// The latest order to the event's member, or to all members, that may explain it.
    fn order(
        &self,
        event: &EventView,
        kind: impl Fn(&Orders) -> Option<(u64, u64)>,
    ) -> Option<u64> {
        let member = event.member.as_ref().and_then(|m| self.members.get(&m.id));
        let order = kind(&self.orders).max(member.and_then(|t| kind(&t.orders)))?;
        (event.at_ms.saturating_sub(order.1) < ORDER_COUNTS_MS).then_some(order.0)
    }

    /// The order that made sides of the group meet a moment ago.
    fn met(&self, event: &EventView) -> Option<u64> {
        let (order, at_ms) = self.orders.mend?;
        (event.at_ms.saturating_sub(at_ms) < MEETING_COUNTS_MS).then_some(order)
    }

    fn of_member(&mut self, event: &EventView) -> Option<u64> {
        let met = self.met(event);
        let harm = self.order(event, |o| o.harm);
        let mend = self.order(event, |o| o.mend);
        let trouble = self.trouble(&event.member.as_ref()?.id);
        match event.event.as_str() {
            "suspected" => {
                // Of several accusers only the first is reported.
                trouble.suspected = Some(event.seq);
                harm.or(trouble.silent).or(met)
            }
            "down" => {
                let cause = match event.reason.as_deref() {
                    Some("failed") => trouble.suspected.or(harm),
                    Some("left") => harm,
                    _ => mend,
                };
                trouble.down = Some(event.seq);
                cause
            }
            _ => {
                trouble.silent = None;
                let suspected = trouble.suspected.take();
                let down = trouble.down.take();
                match event.reason.as_deref() {
                    Some("refuted") => suspected,
                    // An order after the failure brought the member back.
                    Some("returned") => mend.max(down),
                    _ => mend,
                }
            }
        }
    }

    fn of_election(&mut self, event: &EventView) -> Option<u64> {
        let met = self.met(event);
        let seat = self.seats.entry(event.election_id.clone()?).or_default();
        let went = |members: &BTreeMap<String, Trouble>, seat: &Seat| {
            let trouble = members.get(seat.leader.as_ref()?)?;
            // News of a new leader may arrive before this node's own verdict on the former one.
            let gone = trouble.down.max(trouble.suspected)?;
            // Events before it became the leader are not a cause.
            Some(gone).filter(|gone| Some(*gone) > seat.changed)
        };
        let ordered = |members: &BTreeMap<String, Trouble>, seat: &Seat| {
            let order = members.get(seat.leader.as_ref()?)?.orders.office?.0;
            Some(order).filter(|order| Some(*order) > seat.changed)
        };
        // Its lease ended before anybody suspected it.
        let all = self.orders.harm;
        let harmed = |members: &BTreeMap<String, Trouble>, seat: &Seat| {
            let member = members.get(seat.leader.as_ref()?);
            let order = member.and_then(|t| t.orders.harm).max(all)?;
            let late = event.at_ms.saturating_sub(order.1) >= ORDER_COUNTS_MS;
            Some(order.0).filter(|order| !late && Some(*order) > seat.changed)
        };
        match event.event.as_str() {
            "leader_vacant" => {
                seat.vacant = Some(event.seq);
                let cause = went(&self.members, seat)
                    .or_else(|| ordered(&self.members, seat))
                    .or_else(|| harmed(&self.members, seat))
                    .or(seat.stepped.take());
                if event.reason.as_deref() == Some("silent")
                    && let Some(former) = &event.member
                {
                    self.trouble(&former.id).silent = Some(event.seq);
                }
                cause
            }
            "leader_changed" => {
                let leader = event.leader.as_ref()?;
                let cause = match seat.token.as_ref() == Some(&leader.token) {
                    // The same leader was confirmed.
                    true => seat.changed,
                    false => seat
                        .vacant
                        .take()
                        .or_else(|| went(&self.members, seat))
                        .or_else(|| ordered(&self.members, seat))
                        .or(seat.stepped.take())
                        .or(met),
                };
                *seat = Seat {
                    leader: Some(leader.id.clone()),
                    token: Some(leader.token.clone()),
                    changed: Some(event.seq),
                    ..Seat::default()
                };
                cause
            }
            "became_leader" => seat.changed.filter(|_| seat.token == event.token),
            _ => {
                seat.stepped = Some(event.seq);
                ordered(&self.members, seat).or(seat.vacant)
            }
        }
    }

    /// Forgets events that are older than the oldest one kept.
    pub(super) fn forget(&mut self, oldest: u64) {
        self.members.retain(|_, t| {
            let seen = t.suspected.max(t.down).max(t.silent);
            let latest = t.orders.latest().max(seen);
            latest >= Some(oldest)
        });
        self.released.retain(|_, seq| *seq >= oldest);
        self.seats
            .retain(|_, s| s.changed.max(s.vacant).max(s.stepped) >= Some(oldest));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::{Value, json};

    fn event(seq: u64, mut fields: Value) -> EventView {
        fields["seq"] = seq.into();
        fields["at_ms"] = (1000 * seq).into();
        serde_json::from_value(fields).unwrap()
    }

    fn member(id: &str, status: &str) -> Value {
        json!({"name": id, "id": id, "status": status, "address": "127.0.0.1:1", "life": 1, "incarnation": 0,
            "tags": {}, "rtt_us": null, "health_percent": 100, "suspicions": 0, "refutations": 0,
            "accuser": null, "self": false})
    }

    fn leads(id: &str, token: &str) -> Value {
        json!({"event": "leader_changed", "election": "e", "election_id": "1", "leader": {"name": id, "id": id,
            "address": null, "life": 1, "token": token, "term": 1, "stage": "confirmed", "degraded": false,
            "self": false}})
    }

    #[test]
    fn a_failover_is_one_chain() {
        let mut causes = Causes::default();
        let mut all = Vec::new();
        let story = [
            leads("b", "t1"),
            json!({"event": "lab", "reason": "kill", "member": member("b", "alive")}),
            json!({"event": "suspected", "member": member("b", "suspect")}),
            json!({"event": "down", "reason": "failed", "member": member("b", "failed")}),
            json!({"event": "leader_vacant", "election": "e", "election_id": "1"}),
            leads("c", "t2"),
            leads("c", "t2"),
            json!({"event": "became_leader", "election": "e", "election_id": "1", "token": "t2"}),
            json!({"event": "up", "reason": "returned", "member": member("b", "alive")}),
            json!({"event": "suspected", "member": member("c", "suspect")}),
            json!({"event": "up", "reason": "refuted", "member": member("c", "alive")}),
        ];
        for (i, fields) in story.into_iter().enumerate() {
            all.push(causes.of(&event(i as u64 + 1, fields)));
        }
        let chain = [
            None,
            None,
            Some(2),
            Some(3),
            Some(4),
            Some(5),
            Some(6),
            Some(7),
            Some(4),
            None,
            Some(10),
        ];
        assert_eq!(all, chain);
        causes.forget(100);
        assert!(causes.members.is_empty() && causes.seats.is_empty());
    }

    #[test]
    fn a_lease_that_ends_before_the_suspicion_is_the_first_sign() {
        let silent = json!({"event": "leader_vacant", "election": "e", "election_id": "1", "reason": "silent",
            "member": member("b", "alive")});
        let story = [
            leads("b", "t1"),
            silent.clone(),
            leads("c", "t2"),
            json!({"event": "suspected", "member": member("b", "suspect")}),
            json!({"event": "down", "reason": "failed", "member": member("b", "failed")}),
            json!({"event": "up", "reason": "returned", "member": member("b", "alive")}),
            json!({"event": "suspected", "member": member("b", "suspect")}),
        ];
        let chain_of = |story: &[Value]| {
            let mut causes = Causes::default();
            let told = story.iter().enumerate();
            told.map(|(i, fields)| causes.of(&event(i as u64 + 1, fields.clone())))
                .collect::<Vec<_>>()
        };
        let chain = [None, None, Some(2), Some(2), Some(4), Some(5), None];
        assert_eq!(chain_of(&story), chain);
        // In the lab all of it follows from the order.
        let mut story = story.to_vec();
        let order = json!({"event": "lab", "reason": "pause", "member": member("b", "alive")});
        story.insert(1, order);
        let chain = [None, None, Some(2), Some(3), Some(2), Some(5), Some(6)];
        assert_eq!(chain_of(&story)[..7], chain);
    }

    #[test]
    fn what_sides_settle_when_they_meet_follows_from_the_order_to_heal() {
        let mut causes = Causes::default();
        let heal = json!({"event": "lab", "reason": "heal"});
        assert_eq!(causes.of(&event(1, heal)), None);
        let suspected = json!({"event": "suspected", "member": member("b", "suspect")});
        assert_eq!(causes.of(&event(2, suspected.clone())), Some(1));
        assert_eq!(
            causes.of(&event(3, json!({"event": "self_accused"}))),
            Some(1)
        );
        assert_eq!(causes.of(&event(4, leads("b", "t1"))), Some(1));
        assert_eq!(causes.of(&event(12, leads("c", "t2"))), None);
        assert_eq!(causes.of(&event(13, suspected)), None);
    }

    #[test]
    fn an_old_order_explains_nothing() {
        let mut causes = Causes::default();
        causes.of(&event(1, json!({"event": "lab", "reason": "partition"})));
        let suspected = json!({"event": "suspected", "member": member("b", "suspect")});
        assert_eq!(causes.of(&event(2, suspected.clone())), Some(1));
        assert_eq!(causes.of(&event(999, suspected)), None);
    }
}
