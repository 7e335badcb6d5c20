use super::*;
use alloc::vec;
use consort_proto::Rng;
use consort_proto::kit::{Host, Net, Scene};

/// The list of each node.
struct Lists(Vec<Vec<NodeId>>);

impl Scene<PaperChurn> for Lists {
    fn view(&self, at: u64) -> View<'_> {
        View(&self.0[at as usize])
    }

    fn multicast(event: &Event) -> Option<Msg> {
        match event {
            Event::Multicast(msg) => Some(msg.clone()),
            Event::Estimated(_) => None,
        }
    }
}

type Group = Net<PaperChurn, Lists>;

fn config(method: Method, form: Form, nodes: u32, sample: u16) -> Config {
    Config {
        method,
        form,
        nodes,
        sample,
        alpha: 0.5,
        start: 3.0,
        wait: Duration::from_secs(1),
    }
}

/// Nodes that list all others, except for `lacks`: (owner of the list, node that it lacks).
fn group(config: Config, lacks: &[(u64, u64)]) -> Group {
    let n = u64::from(config.nodes);
    let list = |at: u64| {
        let listed = (0..n).filter(|id| *id != at && !lacks.contains(&(at, *id)));
        listed.map(NodeId).collect()
    };
    let host = |at| Host::new(NodeId(at), PaperChurn::new(config), Rng::seed(at, 1));
    Net::new((0..n).map(host), Lists((0..n).map(list).collect()))
}

fn estimates(net: &Group) -> Vec<f64> {
    net.hosts.values().map(|host| host.core.c()).collect()
}

fn elected(candidates: u16, answers: u16, lacking: u16) -> Input {
    Input::Elected {
        leader: NodeId(0),
        candidates,
        answers,
        lacking,
    }
}

/// ER-18: nobody lacks anybody, and as printed 200 of 128 lists lack a node.
#[test]
fn as_printed_a_perfect_group_is_told_an_estimate_above_its_size() {
    let mut net = group(config(Method::ZScore, Form::Printed, 128, 50), &[]);
    net.input(0, Input::Sample);
    net.settle();
    assert!(net.fire());
    net.settle();
    // The least frequent nodes are those that were asked: a list does not name its owner.
    let printed = f64::from(128 - 49) * 128.0 / 50.0;
    assert_eq!(estimates(&net), vec![printed; 128]);
    let mut net = group(config(Method::ZScore, Form::Repaired, 128, 50), &[]);
    net.input(0, Input::Sample);
    net.settle();
    assert!(net.fire());
    net.settle();
    assert_eq!(estimates(&net), vec![0.0; 128]);
}

/// All lists but its own: the estimate is the number of lists that lack the node.
#[test]
fn a_full_sample_counts_the_lists_that_lack_a_node() {
    let lacks = [(1, 5), (2, 5), (3, 5), (4, 6), (0, 5)];
    let mut net = group(config(Method::ZScore, Form::Repaired, 8, 7), &lacks);
    net.input(0, Input::Sample);
    assert_eq!(net.flights.len(), 6, "the leader does not list 5");
    net.settle();
    net.fire();
    net.settle();
    // Of the six that were asked, three lack node 5, which nobody that was asked or listed: it does not count.
    assert_eq!(net.hosts[&1].core.c(), 2.0, "node 6, by one list of five");
    let mut net = group(config(Method::ZScore, Form::Repaired, 8, 7), &lacks[..4]);
    net.input(0, Input::Sample);
    net.settle();
    net.fire();
    net.settle();
    assert_eq!(net.hosts[&1].core.c(), 4.0, "node 5, by three lists of six");
}

#[test]
fn lost_answers_count_as_missing_entries_as_printed_only() {
    for (form, expected) in [(Form::Printed, [14.0, 24.0]), (Form::Repaired, [0.0; 2])] {
        for (lost, expected) in [0, 5].into_iter().zip(expected) {
            let mut net = group(config(Method::ZScore, form, 16, 8), &[]);
            net.input(0, Input::Sample);
            let asked: Vec<u64> = net.flights.iter().map(|f| f.to).collect();
            net.lose(|f| asked[..lost].contains(&f.to));
            net.settle();
            net.fire();
            let c = net.hosts[&0].core.c();
            assert!((c - expected).abs() < 5.0, "{form:?}, {lost} lost: {c}");
        }
    }
}

#[test]
fn late_answers_and_old_estimates_count_as_printed_only() {
    for (form, counts) in [(Form::Printed, true), (Form::Repaired, false)] {
        let mut net = group(config(Method::ZScore, form, 16, 8), &[]);
        net.input(0, Input::Sample);
        net.fire();
        net.input(0, Input::Sample);
        net.say(
            9,
            0,
            Msg::Response {
                round: 1,
                list: vec![NodeId(1)],
            },
        );
        let open = net.hosts[&0].core.open.as_ref().expect("a round");
        assert_eq!(open.lists.len(), usize::from(counts), "{form:?}");
        for (round, milli) in [(7, 7_000), (6, 6_000)] {
            net.say(0, 3, Msg::Estimate { round, milli });
        }
        let c = net.hosts[&3].core.c();
        assert_eq!(c, if counts { 6.0 } else { 7.0 }, "{form:?}");
    }
}

#[test]
fn initiators_tell_the_leader_what_they_saw_and_everybody_learns_the_estimate() {
    // Two of four initiators saw several candidates: d = 1.5, c = N (1 - 0.5^(1/4)), averaged with 3.
    let printed = 16.0 * (1.0 - libm::pow(0.5, 0.25));
    // Three of sixteen answers lacked the leader.
    for (form, new) in [(Form::Printed, printed), (Form::Repaired, 3.0)] {
        let mut net = group(config(Method::Feedback, form, 16, 8), &[]);
        for (at, candidates, lacking) in [(0, 2, 1), (4, 1, 0), (5, 3, 2), (6, 1, 0)] {
            net.input(at, elected(candidates, 4, lacking));
        }
        net.settle();
        net.fire();
        net.settle();
        for c in estimates(&net) {
            assert!((c - (1.5 + new / 2.0)).abs() < 1e-3, "{form:?}: {c}");
        }
    }
}

/// ER-23: several candidates at every initiator make the printed estimate N.
#[test]
fn as_printed_one_initiator_that_saw_several_candidates_takes_all_lists_for_incomplete() {
    let mut one = config(Method::Feedback, Form::Printed, 16, 8);
    one.alpha = 1.0;
    let mut net = group(one, &[]);
    net.input(4, elected(2, 4, 1));
    net.settle();
    net.fire();
    assert_eq!(net.hosts[&0].core.c(), 16.0);
}

#[test]
fn nothing_from_the_network_fills_a_leader_up_or_ends_it() {
    for form in [Form::Printed, Form::Repaired] {
        for method in [Method::ZScore, Method::Window, Method::Feedback] {
            let mut net = group(config(method, form, 4, 3), &[]);
            net.input(0, Input::Sample);
            for n in 0..100 {
                let list = vec![NodeId(n); n as usize % 9];
                net.say(n % 3 + 1, 0, Msg::Response { round: 1, list });
                net.say(1, 0, Msg::Value(n as u8));
                let (answers, lacking) = (u16::MAX, u16::MAX);
                net.say(1, 0, Msg::Count { answers, lacking });
            }
            let open = net.hosts[&0].core.open.as_ref().expect("a round");
            assert!(open.lists.len() <= 4 && open.values.len() <= 4);
            net.fire();
            let c = net.hosts[&0].core.c();
            assert!(c.is_finite() && c >= 0.0, "{method:?} {form:?}: {c}");
        }
    }
}

#[test]
fn long_lists_take_several_datagrams() {
    let list = |n| Msg::Response {
        round: 1,
        list: (0..n).map(NodeId).collect(),
    };
    assert_eq!(list(10).datagrams(), 1);
    assert_eq!(list(1000).datagrams(), 6);
    let sizes = [10, 1000].map(|n| list(n).encoded_len());
    assert!(sizes[1] > 60 * sizes[0], "{sizes:?}");
}
