//! Elections with lists given by hand and messages delivered at once, in the order in which they are sent.

use consort_papers::election::{Config, Event, Input, Listed, Msg, PaperElection, View, desk};
use consort_proto::kit::{Host, sender};
use consort_proto::{Effect, EffectOf, Life, NodeId, Protocol, Rng, To};

/// A group whose node n has the list `views[n]`, in order of id, including itself.
pub(super) type Desk<'a> = desk::Desk<&'a [Listed]>;

/// Runs only the initiator's part of an election, with draws from `rng`, and returns the node it notifies in the end.
/// Node n answers from the list `views[n]`.
pub(super) fn choose(
    config: Config,
    views: &[&[Listed]],
    initiator: u64,
    rng: &mut Rng,
) -> Option<u64> {
    let own = views[initiator as usize];
    choose_from(config, own, initiator, rng, |_, to| views[to as usize])
}

/// The same, with a function that gives the list a node answers from, by the nodes asked first and the node.
pub(super) fn choose_from<'a>(
    config: Config,
    own: &[Listed],
    initiator: u64,
    rng: &mut Rng,
    mut list: impl FnMut(&[u64], u64) -> &'a [Listed],
) -> Option<u64> {
    let mut host = Host::new(NodeId(initiator), PaperElection::new(config), rng.clone());
    let mut effects = Vec::new();
    host.step(&mut effects, |e, cx| {
        e.on_input(cx, View(own), Input::Start)
    });
    let query = |effect: &EffectOf<PaperElection>| match effect {
        Effect::Send(To::Node(to), Msg::Query(_)) => Some(to.0),
        _ => None,
    };
    let mut asked: Vec<u64> = effects.iter().filter_map(query).collect();
    asked.sort_unstable();
    let (mut next, mut notified) = (0, None);
    while let Some(effect) = effects.get(next).cloned() {
        next += 1;
        match effect {
            Effect::Send(To::Node(to), Msg::Query(ask)) => {
                let answer = View(list(&asked, to.0)).answer(to, ask);
                host.step(&mut effects, |e, cx| {
                    e.on_msg(cx, View(own), sender(to, Life(1)), answer);
                });
            }
            Effect::Emit(Event::Notified(id)) => notified = Some(id.0),
            _ => {}
        }
    }
    *rng = host.rng;
    notified
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
