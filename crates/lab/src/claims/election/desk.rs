//! Elections at a desk: lists by hand, messages delivered in the order in which they are sent.

use consort_papers::election::{Config, Listed, Msg, PaperElection, View, desk};
use consort_proto::{NodeId, Rng};

/// A group whose node n has the list `views[n]`, in order of id, itself included.
pub(super) type Desk<'a> = desk::Desk<&'a [Listed]>;

/// Only an initiator's part of a new election, with draws from `rng`: whom it notifies in the end. Answers come from the
/// lists.
pub(super) fn choose(
    desk: &mut Desk<'_>,
    config: Config,
    initiator: u64,
    rng: &mut Rng,
) -> Option<u64> {
    let host = desk.hosts.get_mut(&initiator)?;
    host.core = PaperElection::new(config);
    core::mem::swap(&mut host.rng, rng);
    desk.events.clear();
    desk.start(initiator);
    while !desk.flights.is_empty() {
        let flight = desk.flights.remove(0);
        if let Msg::Query(ask) = flight.msg {
            let list = desk.scene.0[flight.to as usize];
            let answer = View(list).answer(NodeId(flight.to), ask);
            desk.say(flight.to, initiator, answer);
        }
    }
    core::mem::swap(&mut desk.hosts.get_mut(&initiator)?.rng, rng);
    desk.notified(initiator).last().copied()
}

/// A list: ids with their unhealth.
pub(super) fn list(entries: &[(u64, u32)]) -> Vec<Listed> {
    let listed = |&(id, unhealth): &(u64, u32)| Listed {
        id: NodeId(id),
        unhealth,
    };
    let mut list: Vec<Listed> = entries.iter().map(listed).collect();
    list.sort_by_key(|m| m.id);
    list
}
