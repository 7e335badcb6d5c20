//! The state of the group in one sentence: the worst fact first, then the rest, then what to do.

use super::model::Model;
use super::text::{NAME_MAX, calm, cut, list, plural, span};
use super::theme::Tone;
use consort_agent::api::MemberView;
use core::time::Duration;
use std::collections::BTreeSet;
use std::time::Instant;

/// How long a failure is reported as recent.
const FRESH: Duration = Duration::from_secs(60);

/// The state of the group.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Health {
    pub(crate) tone: Tone,
    pub(crate) head: String,
    pub(crate) rest: String,
}

/// The state of the group, as far as the agent knows.
pub(crate) fn of(model: &Model, now: Instant) -> Health {
    let mut clauses: Vec<(Tone, String)> = Vec::new();
    let far = far_side(model);
    if !far.is_empty() {
        let near = model.count("alive") + model.count("suspect");
        let near = plural(near, "member", "members");
        let text = format!(
            "The group is split: {near} on this side, {} on the other.",
            far.len()
        );
        clauses.push((Tone::Failed, text));
    } else if let Some(n) = fell_silent_together(model, now) {
        let text = format!("{n} members fell silent together: a split rather than {n} failures.");
        clauses.push((Tone::Failed, text));
    }
    for election in &model.elections {
        if let Some(vacant) = model.vacant_for(election, now) {
            let stand = election.candidates.len();
            let stand = plural(stand, "candidate stands", "candidates stand");
            let name = cut(&election.name, NAME_MAX);
            let text = format!("Nobody leads {name} for {}; {stand}.", calm(vacant));
            clauses.push((Tone::Failed, text));
        }
    }
    let failed: Vec<(&MemberView, Duration)> = model
        .members
        .iter()
        .filter(|m| m.status == "failed" && !far.contains(&m.id))
        .filter_map(|m| Some((m, model.since(m, now)?)))
        .filter(|(_, since)| *since < FRESH)
        .collect();
    if let Some(last) = failed.iter().map(|(_, since)| *since).min() {
        let names: Vec<String> = failed.iter().map(|(m, _)| model.name_of(&m.id)).collect();
        let text = format!("{} failed {} ago.", list(&names), calm(last));
        clauses.push((Tone::Suspect, text + &successors(model, &failed)));
    }
    let suspects: Vec<&MemberView> = with_status(model, "suspect").collect();
    for member in suspects.iter().take(2) {
        let by = member.accuser.as_deref().map(|id| model.name_of(id));
        let by = by.map_or_else(String::new, |by| format!(" by {by}"));
        let text = format!("{} is suspected{by}.", model.name_of(&member.id));
        clauses.push((Tone::Suspect, text));
    }
    if suspects.len() > 2 {
        let text = format!("{} more are suspected.", suspects.len() - 2);
        clauses.push((Tone::Suspect, text));
    }
    clauses.extend(blocked(model, now).map(|text| (Tone::Suspect, text)));
    let differ = if far.is_empty() {
        differing(model)
    } else {
        Vec::new()
    };
    if !differ.is_empty() {
        let does = if differ.len() == 1 { "does" } else { "do" };
        let text = format!(
            "Lists differ: {} {does} not count the same members yet.",
            list(&differ)
        );
        clauses.push((Tone::Suspect, text));
    }
    match clauses.is_empty() {
        false => troubled(model, clauses, !far.is_empty(), !failed.is_empty()),
        true => calm_group(model),
    }
}

fn troubled(model: &Model, clauses: Vec<(Tone, String)>, split: bool, failed: bool) -> Health {
    let mut clauses = clauses.into_iter();
    let (tone, head) = clauses.next().unwrap_or((Tone::Plain, String::new()));
    let mut rest: Vec<String> = clauses.map(|(_, text)| text).collect();
    if rest.is_empty() && !split {
        let (alive, all) = (
            model.count("alive"),
            model.members.len() - model.count("left"),
        );
        rest.push(format!("{alive} of {all} members are alive."));
    }
    let vacant = model.elections.iter().any(|e| e.leader.is_none());
    rest.push(
        match (split, vacant, failed) {
            (true, ..) => "Both sides go on alone until the network is healed.",
            (_, true, _) => "An election takes a moment.",
            (.., true) => "Who failed is remembered in case it comes back.",
            _ => "",
        }
        .to_owned(),
    );
    let rest = rest.join(" ").trim_end().to_owned();
    Health { tone, head, rest }
}

fn calm_group(model: &Model) -> Health {
    let (alive, failed) = (model.count("alive"), model.count("failed"));
    let leaders: Vec<String> = model
        .elections
        .iter()
        .filter_map(|e| Some((e, e.leader.as_ref()?)))
        .map(|(e, l)| format!("{} leads {}", model.name_of(&l.id), cut(&e.name, NAME_MAX)))
        .collect();
    let mut rest = Vec::new();
    if !leaders.is_empty() {
        rest.push(format!("{}.", list(&leaders)));
    }
    let waited: Vec<String> = model
        .held_locks()
        .iter()
        .filter(|l| l.waiting > 0)
        .map(|l| cut(&l.name, NAME_MAX))
        .collect();
    if !waited.is_empty() {
        let is = if waited.len() == 1 { "is" } else { "are" };
        rest.push(format!("{} {is} waited for.", list(&waited)));
    }
    if alive == 1 && failed == 0 {
        let name = model.this.as_ref().map(|t| model.name_of(&t.member.id));
        let name = name.unwrap_or_else(|| "This agent".to_owned());
        return Health {
            tone: Tone::Plain,
            head: format!("{name} is alone so far."),
            rest: "No other node has joined.".to_owned(),
        };
    }
    rest.push("Nothing to do.".to_owned());
    let head = match (failed, model.lab.is_some()) {
        (0, true) => format!("All {alive} members are here and agree."),
        (0, false) => format!("All {alive} members are here."),
        (1, _) => format!("{alive} members are here; 1 is gone."),
        _ => format!("{alive} members are here; {failed} are gone."),
    };
    Health {
        tone: Tone::Alive,
        head,
        rest: rest.join(" "),
    }
}

fn with_status<'a>(model: &'a Model, status: &'a str) -> impl Iterator<Item = &'a MemberView> {
    model.members.iter().filter(move |m| m.status == status)
}

/// The nodes that took over from failed ones.
fn successors(model: &Model, failed: &[(&MemberView, Duration)]) -> String {
    let mut said = String::new();
    for election in &model.elections {
        let (Some(leader), [.., before, _]) = (&election.leader, election.terms.as_slice()) else {
            continue;
        };
        let went = before.ended.as_deref() == Some("failed");
        if went && failed.iter().any(|(m, _)| m.id == before.id) {
            let (name, election) = (model.name_of(&leader.id), cut(&election.name, NAME_MAX));
            said.push_str(&format!(" {name} took over {election}."));
        }
    }
    said
}

/// The locks whose holder failed, so that others wait until the lease ends.
fn blocked(model: &Model, now: Instant) -> impl Iterator<Item = String> {
    let failed: BTreeSet<&str> = with_status(model, "failed")
        .map(|m| m.id.as_str())
        .collect();
    let locks = model.held_locks().iter();
    locks.filter_map(move |lock| {
        let mut holders = lock.contenders.iter().filter(|c| c.held);
        let holder = holders.find(|c| failed.contains(c.id.as_str()))?;
        let (lock, name) = (cut(&lock.name, NAME_MAX), model.name_of(&holder.id));
        let left = span(model.lease_left(holder, now));
        Some(format!(
            "{lock} stays with {name}, which failed, until its lease ends in {left}."
        ))
    })
}

/// The nodes on the other side of a partition, if all nodes can be asked: those that are not connected with the
/// answering node through nodes that list each other as alive.
fn far_side(model: &Model) -> BTreeSet<String> {
    let asked = || {
        let nodes = model.lab.iter().flatten();
        nodes.filter_map(|n| Some((n, n.sees.as_ref()?)))
    };
    let own = model.this.as_ref().map(|t| t.member.id.as_str());
    let Some((own, _)) = asked().find(|(n, _)| Some(n.id.as_str()) == own) else {
        return BTreeSet::new();
    };
    let mut near: BTreeSet<&str> = [own.id.as_str()].into();
    loop {
        let joins = asked().find(|(a, a_sees)| {
            let linked = asked().any(|(b, b_sees)| {
                near.contains(b.id.as_str()) && b_sees.contains(&a.id) && a_sees.contains(&b.id)
            });
            !near.contains(a.id.as_str()) && linked
        });
        match joins {
            Some((node, _)) => near.insert(&node.id),
            None => break,
        };
    }
    let far = asked().filter(|(n, _)| !near.contains(n.id.as_str()));
    // A node that was just added or revived does not count as a side.
    far.filter(|(n, sees)| sees.len() > 1 || n.far || n.isolated)
        .map(|(n, _)| n.id.clone())
        .collect()
}

/// If many nodes fail together, these are rarely separate failures.
fn fell_silent_together(model: &Model, now: Instant) -> Option<usize> {
    let mut failed: Vec<Duration> = with_status(model, "failed")
        .filter_map(|m| model.since(m, now))
        .collect();
    failed.sort_unstable();
    let window = Duration::from_secs(8);
    let together = |i: usize| {
        let first = failed[i];
        failed[i..]
            .iter()
            .take_while(|s| **s - first < window)
            .count()
    };
    let most = (0..failed.len()).map(together).max().unwrap_or(0);
    let all = model.members.len() - model.count("left");
    (most >= 4 && most * 4 > all).then_some(most)
}

/// The nodes that list other members as alive than the answering one, if all nodes can be asked.
fn differing(model: &Model) -> Vec<String> {
    let own = model.this.as_ref().map(|t| t.member.id.as_str());
    let set = |ids: &[String]| ids.iter().cloned().collect::<BTreeSet<String>>();
    let asked = || {
        let nodes = model.lab.iter().flatten();
        nodes.filter_map(|n| Some((n, set(n.sees.as_ref()?))))
    };
    let Some((_, own)) = asked().find(|(n, _)| Some(n.id.as_str()) == own) else {
        return Vec::new();
    };
    let differ = asked().filter(|(_, sees)| *sees != own);
    differ.map(|(n, _)| n.name.clone()).collect()
}

#[cfg(test)]
mod tests {
    use super::super::model::LabNode;
    use super::super::tests::{five, member, take};
    use super::*;

    fn status(model: &mut Model, n: usize, status: &str) {
        model.members[n - 1] = take(member(n, &format!("node-{n}"), status));
    }

    #[test]
    fn the_worst_that_is_true_comes_first() {
        let (mut model, now) = five();
        let head = |model: &Model| of(model, now).head;
        assert_eq!(
            head(&model),
            "node-5 failed 1 s ago. node-2 took over leader."
        );
        status(&mut model, 3, "suspect");
        assert_eq!(
            head(&model),
            "node-5 failed 1 s ago. node-2 took over leader."
        );
        assert!(
            of(&model, now)
                .rest
                .starts_with("node-3 is suspected by node-4.")
        );
        status(&mut model, 5, "alive");
        assert_eq!(head(&model), "node-3 is suspected by node-4.");
        status(&mut model, 3, "alive");
        let calm = of(&model, now);
        assert_eq!(calm.head, "All 5 members are here.");
        assert_eq!(
            calm.rest,
            "node-2 leads leader. demo is waited for. Nothing to do."
        );
        status(&mut model, 4, "failed");
        assert!(
            of(&model, now)
                .rest
                .contains("demo stays with node-4, which failed, until its lease ends in 7.4 s.")
        );
        let election = &mut model.elections[0];
        election.leader = None;
        election.terms[1].until_ms = Some(u64::MAX);
        assert_eq!(
            head(&model),
            "Nobody leads leader for 0 s; 1 candidate stands."
        );
        for n in 2..=5 {
            status(&mut model, n, "failed");
        }
        assert_eq!(
            head(&model),
            "4 members fell silent together: a split rather than 4 failures."
        );
        model.members.truncate(1);
        model.elections.clear();
        assert_eq!(head(&model), "node-1 is alone so far.");
    }

    #[test]
    fn where_all_can_be_asked_sides_and_lists_are_known() {
        let (mut model, now) = five();
        let node = |n: usize, sees: &[usize]| LabNode {
            number: n,
            name: format!("node-{n}"),
            id: format!("{n:016x}"),
            sees: Some(sees.iter().map(|s| format!("{s:016x}")).collect()),
            ..LabNode::default()
        };
        let (near, far) = ([1, 2, 3], [4, 5]);
        status(&mut model, 4, "failed");
        model.lab = Some(vec![
            node(1, &near),
            node(2, &near),
            node(3, &near),
            node(4, &far),
            node(5, &far),
        ]);
        let split = "The group is split: 3 members on this side, 2 on the other.";
        assert_eq!(of(&model, now).head, split);
        for n in [4, 5] {
            status(&mut model, n, "alive");
        }
        let all = [1, 2, 3, 4, 5];
        let mut nodes: Vec<LabNode> = all.iter().map(|n| node(*n, &all)).collect();
        model.lab = Some(nodes.clone());
        assert_eq!(of(&model, now).head, "All 5 members are here and agree.");
        nodes[4] = node(5, &[1, 2, 3, 5]);
        model.lab = Some(nodes);
        let differ = "Lists differ: node-5 does not count the same members yet.";
        assert_eq!(of(&model, now).head, differ);
    }
}
