//! What is being passed on, and how often it was. Contents are read from the table when a datagram
//! is filled, so that a rumor never says less than its carrier knows.

use crate::id::NodeId;
use alloc::vec::Vec;

/// How urgent a rumor is among those sent equally often.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Urgency {
    /// A verdict or a goodbye.
    Departure,
    /// A member answered for itself.
    Refutation,
    /// A member is suspected.
    Suspicion,
    /// A member is new or changed its attributes.
    Arrival,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Rumor {
    pub(crate) sent: u32,
    pub(crate) urgency: Urgency,
    pub(crate) subject: NodeId,
    /// Which of the accusers of a suspect this is about; the subject itself otherwise.
    pub(crate) accuser: NodeId,
}

/// Rumors, those sent least often first. At most one about a member, besides one for each accuser of
/// a suspect.
#[derive(Clone, Debug, Default)]
pub(crate) struct RumorBuffer {
    rumors: Vec<Rumor>,
}

impl RumorBuffer {
    pub(crate) fn len(&self) -> usize {
        self.rumors.len()
    }

    /// Starts to pass on news about `subject`; older news about it is dropped.
    pub(crate) fn replace(
        &mut self,
        subject: NodeId,
        accuser: NodeId,
        urgency: Urgency,
        max: usize,
    ) {
        self.rumors.retain(|r| r.subject != subject);
        self.add(subject, accuser, urgency, 0, max);
    }

    /// Starts to pass on one more accuser of `subject`.
    pub(crate) fn confirm(&mut self, subject: NodeId, accuser: NodeId, max: usize) {
        self.add(subject, accuser, Urgency::Suspicion, 0, max);
    }

    /// Passes on again, as if it had been sent `sent` times, that `subject` answered for itself, unless
    /// something is being passed on about it.
    pub(crate) fn remind(&mut self, subject: NodeId, sent: u32, max: usize) {
        if self.rumors.iter().all(|r| r.subject != subject) {
            self.add(subject, subject, Urgency::Refutation, sent, max);
        }
    }

    fn add(&mut self, subject: NodeId, accuser: NodeId, urgency: Urgency, sent: u32, max: usize) {
        let rumor = Rumor {
            sent,
            urgency,
            subject,
            accuser,
        };
        let order = |r: &Rumor| (r.sent, r.urgency);
        let at = self.rumors.partition_point(|r| order(r) <= order(&rumor));
        self.rumors.insert(at, rumor);
        // Over the cap, what has been sent most often goes.
        self.rumors.truncate(max);
    }

    /// A member holds the same list: it knows of everybody who is alive, as if it had been told. Of suspicions lists say
    /// nothing.
    pub(crate) fn count_known(&mut self, limit: u32) {
        let mut counted = false;
        for rumor in &mut self.rumors {
            if matches!(rumor.urgency, Urgency::Arrival | Urgency::Refutation) {
                rumor.sent += 1;
                counted = true;
            }
        }
        if counted {
            self.rumors.retain(|r| r.sent < limit);
            self.rumors.sort_by_key(|r| (r.sent, r.urgency));
        }
    }

    /// Offers rumors in order to `take`, which says whether it took one; `max` at most. What was
    /// taken counts as sent, and leaves when it was sent `limit` times.
    pub(crate) fn offer(&mut self, max: usize, limit: u32, mut take: impl FnMut(&Rumor) -> Take) {
        let mut taken = 0;
        for rumor in &mut self.rumors {
            if taken == max {
                break;
            }
            match take(rumor) {
                Take::Yes => {
                    rumor.sent += 1;
                    taken += 1;
                }
                Take::No => {}
                Take::Gone => rumor.sent = u32::MAX,
                Take::Full => break,
            }
        }
        self.rumors.retain(|r| r.sent < limit);
        if taken > 0 {
            self.rumors.sort_by_key(|r| (r.sent, r.urgency));
        }
    }
}

/// What became of an offered rumor.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Take {
    /// On its way.
    Yes,
    /// Not with this datagram.
    No,
    /// There is nothing left to say about its subject.
    Gone,
    /// No room for any more.
    Full,
}

#[cfg(test)]
mod tests {
    use super::*;

    fn taken(buffer: &mut RumorBuffer, max: usize, limit: u32) -> Vec<u64> {
        let mut out = Vec::new();
        buffer.offer(max, limit, |r| {
            out.push(r.subject.0);
            Take::Yes
        });
        out
    }

    #[test]
    fn least_sent_first_then_by_urgency_and_gone_at_the_limit() {
        let mut buffer = RumorBuffer::default();
        for (id, urgency) in [
            (1, Urgency::Arrival),
            (2, Urgency::Departure),
            (3, Urgency::Suspicion),
        ] {
            buffer.replace(NodeId(id), NodeId(id), urgency, 64);
        }
        assert_eq!(taken(&mut buffer, 2, 2), [2, 3]);
        assert_eq!(taken(&mut buffer, 2, 2), [1, 2]);
        assert_eq!(taken(&mut buffer, 9, 2), [3, 1]);
        assert_eq!(buffer.len(), 0);
    }

    #[test]
    fn a_member_with_the_same_list_counts_as_told_of_those_who_are_alive() {
        let mut buffer = RumorBuffer::default();
        for (id, urgency) in [
            (1, Urgency::Arrival),
            (2, Urgency::Departure),
            (3, Urgency::Suspicion),
            (4, Urgency::Refutation),
        ] {
            buffer.replace(NodeId(id), NodeId(id), urgency, 64);
        }
        buffer.count_known(3);
        assert_eq!(taken(&mut buffer, 9, 3), [2, 3, 4, 1]);
        buffer.count_known(3);
        assert_eq!(taken(&mut buffer, 9, 3), [2, 3]);
    }

    #[test]
    fn news_replaces_older_news_and_the_cap_evicts_the_most_told() {
        let mut buffer = RumorBuffer::default();
        buffer.replace(NodeId(1), NodeId(1), Urgency::Arrival, 2);
        taken(&mut buffer, 1, 9);
        buffer.replace(NodeId(2), NodeId(2), Urgency::Arrival, 2);
        buffer.replace(NodeId(3), NodeId(3), Urgency::Arrival, 2);
        assert_eq!(taken(&mut buffer, 9, 9), [2, 3]);
        buffer.replace(NodeId(2), NodeId(2), Urgency::Refutation, 2);
        assert_eq!(buffer.len(), 2);
        assert_eq!(taken(&mut buffer, 1, 9), [2]);
    }
}
