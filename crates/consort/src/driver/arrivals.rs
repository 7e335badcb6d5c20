//! Members are announced once they have a name.
//!
//! A node counts as a member as soon as its address is proven, which may be one datagram before its record arrives. Its
//! arrival is told to applications when the record is there, so that no handler of a join sees a member without name and
//! tags, or at the latest after [`PATIENCE`].

use consort_proto::Event;
use consort_proto::membership::{self, Arrival};
use consort_proto::{Instant, NodeId};
use core::time::Duration;

/// Records are asked for at once; one that has not come by now is not waited for.
const PATIENCE: Duration = Duration::from_secs(2);

/// An arrival that was not told yet.
#[derive(Debug)]
struct Untold {
    id: NodeId,
    since: Instant,
    event: membership::Event,
}

/// Arrivals of members whose record is on its way.
#[derive(Debug, Default)]
pub(super) struct Arrivals {
    /// Few at a time, and never more than there are members.
    untold: Vec<Untold>,
}

impl Arrivals {
    /// Takes an event of the core and adds what is to be told now to `told`, in order.
    pub(super) fn take(
        &mut self,
        now: Instant,
        event: Event,
        is_described: impl Fn(NodeId) -> bool,
        told: &mut Vec<Event>,
    ) {
        let Event::Membership(event) = event else {
            return told.push(event);
        };
        let id = match event {
            membership::Event::Up { id, how, .. } => {
                self.untold.retain(|u| u.id != id);
                if how == Arrival::Joined && !is_described(id) {
                    let since = now;
                    return self.untold.push(Untold { id, since, event });
                }
                id
            }
            membership::Event::Updated { id } => {
                if let Some(arrival) = self.remove(id) {
                    // It tells all that the update would.
                    return told.push(arrival);
                }
                id
            }
            membership::Event::Suspected { id, .. } | membership::Event::Down { id, .. } => id,
            _ => return told.push(Event::Membership(event)),
        };
        told.extend(self.remove(id));
        told.push(Event::Membership(event));
    }

    /// Arrivals whose record has come without any other event, or has not come in time.
    pub(super) fn due(
        &mut self,
        now: Instant,
        is_described: impl Fn(NodeId) -> bool,
        told: &mut Vec<Event>,
    ) {
        let ready = |u: &mut Untold| is_described(u.id) || now.since(u.since) >= PATIENCE;
        told.extend(
            self.untold
                .extract_if(.., ready)
                .map(|u| Event::Membership(u.event)),
        );
    }

    fn remove(&mut self, id: NodeId) -> Option<Event> {
        let at = self.untold.iter().position(|u| u.id == id)?;
        Some(Event::Membership(self.untold.remove(at).event))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use consort_proto::Life;
    use consort_proto::membership::Departure;

    const ID: NodeId = NodeId(7);

    fn up() -> Event {
        Event::Membership(membership::Event::Up {
            id: ID,
            life: Life(1),
            how: Arrival::Joined,
        })
    }

    fn updated() -> Event {
        Event::Membership(membership::Event::Updated { id: ID })
    }

    fn down() -> Event {
        Event::Membership(membership::Event::Down {
            id: ID,
            life: Life(1),
            why: Departure::Failed,
            by: NodeId(1),
        })
    }

    /// What is told after each of these events of a member that is described from the start, or never.
    fn told(events: &[Event], described: bool) -> Vec<Event> {
        let (mut arrivals, mut told) = (Arrivals::default(), Vec::new());
        for event in events {
            arrivals.take(Instant::ZERO, event.clone(), |_| described, &mut told);
        }
        told
    }

    #[test]
    fn an_arrival_is_told_with_the_record_or_before_the_end() {
        assert_eq!(told(&[up()], true), [up()]);
        assert_eq!(told(&[up()], false), []);
        assert_eq!(told(&[up(), updated()], false), [up()]);
        assert_eq!(
            told(&[up(), updated(), updated()], false),
            [up(), updated()]
        );
        assert_eq!(told(&[up(), down()], false), [up(), down()]);
    }

    #[test]
    fn a_record_that_does_not_come_or_says_nothing_is_not_waited_for() {
        for described in [false, true] {
            let (mut arrivals, mut told) = (Arrivals::default(), Vec::new());
            arrivals.take(Instant::ZERO, up(), |_| false, &mut told);
            arrivals.due(Instant::ZERO, |_| described, &mut told);
            assert_eq!(told.len(), usize::from(described));
            arrivals.due(Instant::ZERO + PATIENCE, |_| false, &mut told);
            assert_eq!(told, [up()]);
        }
    }
}
