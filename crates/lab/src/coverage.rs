//! Every figure, table, theorem, lemma and numbered statement of the five papers, with its claims or the reason why
//! it has none.

use crate::claim::Claim;
use serde::Serialize;

/// A figure, table or statement of a paper.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct Item {
    /// The paper.
    pub paper: &'static str,
    /// Its number there.
    pub item: &'static str,
    /// What it shows or states.
    pub what: &'static str,
    /// The claims that compare it.
    pub claims: &'static [&'static str],
    /// Parts that no claim compares, and why; empty if all are compared.
    pub missing: &'static str,
}

/// "Medley: A Membership Service for IoT Networks" (2019).
const MEDLEY: &str = "Medley";
/// "Churn-Tolerant Leader Election Protocols", with Medley-F.
const THESIS: &str = "Churn-tolerant election";
/// "Camera: Churn-Tolerant Mutual Exclusion for the Edge".
const CAMERA: &str = "Camera";
/// "Eventual leader election in dynamic networks".
const OMEGA: &str = "Eventual leaders";
/// "Learning Node Characteristics for Reliable Leader Election".
const BANDIT: &str = "Bandit election";

const fn item(
    paper: &'static str,
    item: &'static str,
    what: &'static str,
    claims: &'static [&'static str],
    missing: &'static str,
) -> Item {
    Item {
        paper,
        item,
        what,
        claims,
        missing,
    }
}

const DRAWING: &str = "a drawing: nothing to measure";
const DEFINITION: &str = "a definition";
const BACKGROUND: &str = "background, of other works";

/// The list, one line per item.
#[rustfmt::skip]
pub const ITEMS: &[Item] = &[
    item(MEDLEY, "Fig. 1", "a round of SWIM", &[], DRAWING),
    item(MEDLEY, "Fig. 2", "shares of three members", &["medley.fig2"], ""),
    item(MEDLEY, "Alg. 1, Fig. 3", "a super-round of the bag", &["medley.fig3"], ""),
    item(MEDLEY, "Theorem 1 (i)", "completeness", &[], "an eventual property, which no finite run refutes; that every member gets probes follows from medley.thm3"),
    item(MEDLEY, "Theorem 1 (ii)", "the best exponent", &["medley.tab1", "medley.thm1"], ""),
    item(MEDLEY, "Table 1", "probes over communication by exponent", &["medley.tab1", "medley.tab1-rows"], ""),
    item(MEDLEY, "Theorem 2", "O(1) detection where probing is symmetric", &["medley.thm2"], ""),
    item(MEDLEY, "Theorem 3", "the bag bounds detection", &["medley.thm3", "medley.random"], ""),
    item(MEDLEY, "Section 5", "three distance metrics", &["medley.sec5", "medley.fig4", "medley.fig11"], ""),
    item(MEDLEY, "Fig. 4", "detection by exponent and topology", &["medley.fig4"], ""),
    item(MEDLEY, "Fig. 5", "simultaneous failures", &["medley.fig5"], ""),
    item(MEDLEY, "Fig. 6", "domain failures", &["medley.fig6"], ""),
    item(MEDLEY, "Fig. 7", "distance of the first detector", &["medley.fig7"], ""),
    item(MEDLEY, "Fig. 8", "traffic by distance", &["medley.fig8"], ""),
    item(MEDLEY, "Fig. 9", "detection times communication", &["medley.fig9"], ""),
    item(MEDLEY, "Table 2", "wrong verdicts under loss", &["medley.tab2", "product.loss"], ""),
    item(MEDLEY, "Fig. 10", "places of seven devices", &[], "a drawing; the places are not printed, and a row of our own stands for them"),
    item(MEDLEY, "Fig. 11", "seven devices: detection, dissemination", &["medley.fig11"], ""),
    item(MEDLEY, "Fig. 12", "seven devices: bandwidth over time", &["medley.fig12"], "no claim yet: the rise while nodes join"),
    item(MEDLEY, "Fig. 13", "passes and random draws: bandwidth and its spectrum", &["medley.fig13"], ""),
    item(THESIS, "Definitions 1 to 5", "liveness, safety, preference", &[], DEFINITION),
    item(THESIS, "Fig. 3.1", "Medley's detection by exponent", &["medley.fig4"], "the figure of the earlier paper; \"exponentially\" is not compared"),
    item(THESIS, "Alg. 1", "active feedback", &["medley-f.fig4.1", "medley-f.alg1"], "no claim yet: forwarded messages as contact (passive feedback)"),
    item(THESIS, "Fig. 4.1", "feedback shortens detection and dissemination", &["medley-f.fig4.1"], ""),
    item(THESIS, "Fig. 4.2", "half of the nodes crash", &["medley-f.fig4.2"], "no claim yet: active and passive alone, exponents other than 0 and 3"),
    item(THESIS, "Fig. 4.3", "a cluster crashes", &["medley-f.fig4.3", "product.sweep"], ""),
    item(THESIS, "Fig. 4.4", "hops of messages", &["medley-f.fig4.4"], ""),
    item(THESIS, "Fig. 4.5", "detection times communication", &["medley-f.fig4.5", "product.stride"], "no claim yet: feedback balances beyond m=3"),
    item(THESIS, "Fig. 4.6", "larger groups", &["medley-f.fig4.6", "product.scale"], "no claim yet: active feedback; which share never heard"),
    item(THESIS, "Fig. 4.7", "nodes that moved", &["medley-f.fig4.7"], ""),
    item(THESIS, "Fig. 4.8", "places of sixteen devices", &[], "a drawing; random places stand for them"),
    item(THESIS, "Fig. 4.9", "sixteen devices: detection, dissemination", &["medley-f.fig4.9"], ""),
    item(THESIS, "Table 5.1", "how large c is", &["election.tab5.1"], ""),
    item(THESIS, "Alg. 2, Fig. 5.1", "Base by example", &["election.fig5.1"], ""),
    item(THESIS, "Alg. 3", "Optimistic", &["election.fig6.1", "election.sec6.1.2"], "the thesis prints no example of it"),
    item(THESIS, "Alg. 4", "Preferred", &["election.fig6.8"], "the thesis prints no example of it"),
    item(THESIS, "Alg. 5, Fig. 5.2", "Hybrid by example", &["election.fig5.2"], ""),
    item(THESIS, "Theorem 1", "Base and Optimistic are safe", &["election.thm1", "election.adversary", "election.missing"], ""),
    item(THESIS, "Theorem 2", "all four are live", &["election.thm2"], ""),
    item(THESIS, "Lemma 1", "messages of Base", &["election.fig5.1"], ""),
    item(THESIS, "Theorem 3", "Base is optimal in messages", &["election.adversary"], "the lower bound is over all protocols: no run of one protocol shows it"),
    item(THESIS, "Theorem 4", "preference with a logarithmic number of answers", &["election.thm4", "election.tab5.2"], ""),
    item(THESIS, "Table 5.2", "p, r and c + 1", &["election.tab5.2"], "no claim yet: p does not depend on topology and drop rate"),
    item(THESIS, "Fig. 6.1", "bandwidth by topology", &["election.fig6.1"], ""),
    item(THESIS, "Fig. 6.2", "bandwidth by drop rate", &["election.fig6.2"], ""),
    item(THESIS, "Fig. 6.3", "bandwidth by size", &["election.fig6.3"], ""),
    item(THESIS, "Fig. 6.4", "completion by topology", &["election.fig6.4"], ""),
    item(THESIS, "Fig. 6.5", "completion by drop rate", &["election.fig6.5"], ""),
    item(THESIS, "Fig. 6.6", "completion by size", &["election.fig6.6"], ""),
    item(THESIS, "Section 6.1.2", "mean reductions of completion", &["election.sec6.1.2", "election.sensitivity-f"], ""),
    item(THESIS, "Fig. 6.7", "leader changes", &["election.fig6.7"], ""),
    item(THESIS, "Fig. 6.8", "health of leaders", &["election.fig6.8"], ""),
    item(THESIS, "Fig. 6.9", "hash rank of leaders", &["election.fig6.9"], ""),
    item(THESIS, "Fig. 6.10", "places of sixteen devices", &[], "a drawing; a lattice of the laboratory's own proves nothing about it"),
    item(THESIS, "Fig. 6.11", "sixteen devices: completion", &["election.fig6.11"], ""),
    item(THESIS, "Fig. 6.12", "sixteen devices: leader changes", &["election.fig6.12"], "Optimistic's changes are laid to losses of the devices"),
    item(THESIS, "Fig. 6.13", "memory beside ZooKeeper", &["election.fig6.13"], "no experiment yet"),
    item(THESIS, "Fig. 6.14", "processor time beside ZooKeeper", &["election.fig6.14"], "no experiment yet"),
    item(THESIS, "Fig. 6.15", "traffic beside ZooKeeper", &["election.fig6.15"], "no experiment yet"),
    item(THESIS, "Alg. 6, Alg. 7", "churn estimators", &["election.alg6", "election.sec7.3", "election.fig7.3"], ""),
    item(THESIS, "Table 7.1", "sample sizes", &["election.tab7.1"], ""),
    item(THESIS, "Fig. 7.1", "an underestimated c", &["election.fig7.1"], ""),
    item(THESIS, "Fig. 7.2", "an underestimated c, by initiators", &["election.fig7.2"], ""),
    item(THESIS, "Fig. 7.3", "accuracy of the estimators", &["election.fig7.3"], ""),
    item(THESIS, "Fig. 7.4", "Feedback follows c", &["election.fig7.4"], ""),
    item(THESIS, "Fig. 7.5", "Feedback converges", &["election.fig7.5"], ""),
    item(CAMERA, "Definitions 1 to 5", "safety, deadlock, starvation, mutual friends, causality", &[], DEFINITION),
    item(CAMERA, "Theorem 1, Lemma 10", "a strongly connected graph is necessary", &[], "a bound over all algorithms: no run of one algorithm shows it"),
    item(CAMERA, "Lemma 2", "lists of more than half have a mutual friend", &["mutex.fig2.1"], "two majorities of one set meet; measured is whether lists are majorities"),
    item(CAMERA, "Fig. 2.1", "sizes of member lists", &["mutex.fig2.1"], ""),
    item(CAMERA, "Alg. 1, Fig. 3.1", "Ricart-Agrawala with full lists", &["mutex.diagrams"], ""),
    item(CAMERA, "Theorem 3, Figs. 3.2, 3.3", "Ricart-Agrawala with unknown nodes", &["mutex.diagrams"], ""),
    item(CAMERA, "Alg. 2, Figs. 4.1, 4.2", "Camera with unknown nodes", &["mutex.diagrams", "mutex.equal"], ""),
    item(CAMERA, "Lemma 4", "dropped releases do no harm", &["mutex.lemma4"], ""),
    item(CAMERA, "Theorem 5", "Camera is safe", &["mutex.new-1", "mutex.new-2"], ""),
    item(CAMERA, "Corollary 5.1, section 4.4", "safe with arbitrary failures", &["mutex.new-3"], ""),
    item(CAMERA, "Theorem 6", "no deadlock", &["mutex.thm6"], ""),
    item(CAMERA, "Theorem 7", "no starvation", &["mutex.thm6"], ""),
    item(CAMERA, "Fig. 4.3", "causality violated", &["mutex.diagrams"], ""),
    item(CAMERA, "Section 4.3, messages", "2(N-1) messages for an entry", &["mutex.messages"], ""),
    item(CAMERA, "Section 4.3, delays", "0.5, 2 and at most N-1 round trips between two entries", &["mutex.sec4.3-delays"], "no claim yet: the chain of caches behind N-1, which the thesis calls artificial"),
    item(CAMERA, "Section 4.3, memory", "one cached answer for each node", &[], "no claim yet"),
    item(CAMERA, "Fig. 4.4", "loss of a message", &["mutex.fig4.4"], ""),
    item(CAMERA, "Fig. 4.5", "expected delay of a message", &["mutex.fig4.5"], ""),
    item(CAMERA, "Alg. 3, Lemma 8, Theorem 9", "the slow path is safe", &[], "no claim yet: checked by the model checker for small trees"),
    item(CAMERA, "Fig. 4.6", "failures on the slow path", &["mutex.diagrams"], ""),
    item(CAMERA, "Table 5", "default parameters", &[], DEFINITION),
    item(CAMERA, "Fig. 5.1a", "waits by requesters", &["mutex.fig5.1a"], ""),
    item(CAMERA, "Fig. 5.1b", "waits by few requesters", &["mutex.fig5.1b"], ""),
    item(CAMERA, "Fig. 5.2", "bandwidth by requesters", &["mutex.fig5.2"], ""),
    item(CAMERA, "Fig. 5.3", "waits by size", &["mutex.fig5.3"], ""),
    item(CAMERA, "Fig. 5.4", "bandwidth by size", &["mutex.fig5.4"], ""),
    item(CAMERA, "Fig. 5.5", "waits by loss", &["mutex.fig5.5", "mutex.tab5.9"], "no claim yet: slightly faster than the analysis of section 4.3"),
    item(CAMERA, "Fig. 5.6", "bandwidth by loss", &["mutex.fig5.6"], ""),
    item(CAMERA, "Fig. 5.7a", "waits by arrival rate", &["mutex.fig5.7a"], "\"linearly\" is not compared"),
    item(CAMERA, "Fig. 5.7b", "messages by arrival rate", &["mutex.fig5.7b"], ""),
    item(CAMERA, "Fig. 5.8a", "waits of a stream by loss", &["mutex.fig5.8a"], ""),
    item(CAMERA, "Fig. 5.8b", "messages of a stream by loss", &["mutex.fig5.8b"], ""),
    item(CAMERA, "Fig. 5.9a", "waits of a stream by size", &["mutex.fig5.9a"], ""),
    item(CAMERA, "Fig. 5.9b", "messages of a stream by size", &["mutex.fig5.9b"], "no claim yet: Zipf needs more, which the thesis lays to its program"),
    item(OMEGA, "Figs. 1.1, 2.1 to 2.8, 3.1", "models and topologies", &[], BACKGROUND),
    item(OMEGA, "Tables 2.2 to 2.4, 3.1", "failure modes, channels, related algorithms", &[], BACKGROUND),
    item(OMEGA, "Alg. 1, Figs. 4.1 to 4.9", "two components meet", &["omega.fig4.9"], ""),
    item(OMEGA, "Figs. 4.10, 4.12, 4.13", "a screenshot and mobility models", &[], DRAWING),
    item(OMEGA, "Fig. 4.11", "how long updates are collected", &["omega.fig4.11"], ""),
    item(OMEGA, "Fig. 4.14", "instability, waypoints", &["omega.fig4.14"], ""),
    item(OMEGA, "Fig. 4.15", "instability, point of interest", &["omega.fig4.15"], ""),
    item(OMEGA, "Fig. 4.16", "instability over time, waypoints", &["omega.fig4.16"], ""),
    item(OMEGA, "Fig. 4.17", "instability over time, point of interest", &["omega.fig4.17"], ""),
    item(OMEGA, "Fig. 4.18", "messages, waypoints", &["omega.fig4.18"], "no claim yet: about half of Flooding Degree, which the plot shows and the text does not say"),
    item(OMEGA, "Fig. 4.19", "messages, point of interest", &["omega.fig4.19"], ""),
    item(OMEGA, "Table 4.1", "sizes of messages", &["omega.tab4.1"], "sizes of a virtual machine's objects are not compared"),
    item(OMEGA, "Fig. 4.20", "ways to the leader, waypoints", &["omega.fig4.20"], ""),
    item(OMEGA, "Fig. 4.21", "ways to the leader, point of interest", &["omega.fig4.21"], ""),
    item(OMEGA, "Table 4.2", "election time after a crash", &["omega.tab4.2"], "means over 10 to 200 m; compared from 150 m on"),
    item(OMEGA, "Alg. 2, section 5.2", "nodes of a component come to know the same", &["omega.new-4"], ""),
    item(OMEGA, "Figs. 5.1 to 5.3", "a screenshot and mobility models", &[], DRAWING),
    item(OMEGA, "Fig. 5.4", "messages, random walk", &["omega.fig5.4", "omega.new-2"], "no claim yet: sizes of 4.56 to 6.58 and 263 to 1323 bytes"),
    item(OMEGA, "Fig. 5.5", "messages, Lévy walk", &["omega.fig5.5"], ""),
    item(OMEGA, "Fig. 5.6", "ways to the leader, random walk", &["omega.fig5.6"], ""),
    item(OMEGA, "Fig. 5.7", "ways to the leader, Lévy walk", &["omega.fig5.7"], ""),
    item(OMEGA, "Fig. 5.8", "instability, random walk", &["omega.fig5.8", "omega.new-1", "omega.new-3"], "no claim yet: no significant difference between the forms of CEL"),
    item(OMEGA, "Fig. 5.9", "instability, Lévy walk", &["omega.fig5.9"], ""),
    item(OMEGA, "Fig. 5.10", "instability over time, random walk", &["omega.fig5.10"], "no claim yet: CEL settles after about 430 s"),
    item(OMEGA, "Fig. 5.11", "instability over time, Lévy walk", &["omega.fig5.11"], ""),
    item(OMEGA, "Table 5.1", "Topology Aware and CEL, random walk", &["omega.tab5.1"], ""),
    item(OMEGA, "Table 5.2", "Topology Aware and CEL, Lévy walk", &["omega.tab5.2"], ""),
    item(OMEGA, "Fig. A.1", "energy, random walk", &["omega.figa.1"], ""),
    item(OMEGA, "Fig. A.2", "energy, Lévy walk", &["omega.figa.2"], ""),
    item(BANDIT, "Definition 1", "failure rate", &[], DEFINITION),
    item(BANDIT, "Equations 1, 2", "UCB, and whom to ping", &["bandit.new-4"], "the text's reading of equation 2 stands beside the program's"),
    item(BANDIT, "Section 5.2", "f + 1 nodes agree on a leader", &["bandit.new-2"], ""),
    item(BANDIT, "Fig. 1", "messages of a round", &["bandit.fig1"], ""),
    item(BANDIT, "Table 1", "types of machines", &["bandit.tab1"], ""),
    item(BANDIT, "Fig. 2", "rounds by policy and nodes", &["bandit.fig2", "bandit.text", "bandit.new-1"], ""),
    item(BANDIT, "Fig. 3", "rounds by requests", &["bandit.fig3"], ""),
    item(BANDIT, "Fig. 4", "failed rounds in a row", &["bandit.fig4"], ""),
    item(BANDIT, "Fig. 5a", "who leads over time", &["bandit.fig5a"], ""),
    item(BANDIT, "Fig. 5b", "elections over time", &["bandit.fig5b"], ""),
    item(BANDIT, "Fig. 5c", "elections in vain over time", &["bandit.fig5c"], ""),
    item(BANDIT, "Fig. 6", "rounds where nodes change", &["bandit.fig6", "bandit.sec6.4"], ""),
    item(BANDIT, "Fig. 7", "estimates", &["bandit.fig7"], ""),
    item(BANDIT, "Fig. 8", "who leads among five", &["bandit.fig8"], ""),
    item(BANDIT, "Lemma 7.1, equation 3", "messages of elections", &["bandit.sec7.1"], ""),
    item(BANDIT, "Section 7.2", "liveness", &[], "no claim yet"),
];

/// Claims of this project that belong to no item of a paper.
pub const OWN: &[&str] = &[
    "product.suspicion",
    "product.flap",
    "product.retry",
    "product.tenure",
    "election.new-1",
    "election.new-2",
    "election.new-3",
    "bandit.new-3",
];

/// An item with its recorded verdicts.
#[derive(Serialize)]
struct Covered<'a> {
    #[serde(flatten)]
    item: &'a Item,
    recorded: Vec<&'static str>,
}

fn recorded(item: &Item, claims: &[&Claim]) -> Vec<&'static str> {
    let of = |id: &&str| claims.iter().find(|c| c.id == *id);
    let found = item.claims.iter().filter_map(of);
    found.map(|c| c.recorded().name()).collect()
}

/// The list as JSON.
pub fn json(claims: &[&Claim]) -> String {
    let all: Vec<Covered<'_>> = ITEMS
        .iter()
        .map(|item| Covered {
            item,
            recorded: recorded(item, claims),
        })
        .collect();
    serde_json::to_string_pretty(&all).expect("plain data can be written as JSON")
}

/// The list as text.
pub fn table(claims: &[&Claim]) -> String {
    let mut out = String::new();
    let mut paper = "";
    for item in ITEMS {
        if item.paper != paper {
            paper = item.paper;
            out += &format!("{paper}\n");
        }
        out += &format!("  {:<28} {}\n", item.item, item.what);
        let verdicts = recorded(item, claims);
        for (id, verdict) in item.claims.iter().zip(verdicts) {
            out += &format!("  {:<28}   {id}: {verdict}\n", "");
        }
        if !item.missing.is_empty() {
            out += &format!("  {:<28}   {}\n", "", item.missing);
        }
    }
    let with = ITEMS.iter().filter(|i| !i.claims.is_empty()).count();
    let gaps = ITEMS.iter().filter(|i| i.missing.contains("no claim yet"));
    out += &format!(
        "{} items, {with} with a claim, {} with something that no claim compares yet; {} claims of our own beside them\n{}\n",
        ITEMS.len(),
        gaps.count(),
        OWN.len(),
        crate::output::counts(claims.iter().map(|c| c.recorded())),
    );
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::registry;
    use alloc::collections::BTreeSet;

    #[test]
    fn every_claim_is_listed_and_every_listed_claim_exists() {
        let listed: BTreeSet<&str> = ITEMS
            .iter()
            .flat_map(|i| i.claims)
            .chain(OWN)
            .copied()
            .collect();
        let known: BTreeSet<&str> = registry::all().iter().map(|c| c.id).collect();
        let unknown: Vec<_> = listed.difference(&known).collect();
        let unlisted: Vec<_> = known.difference(&listed).collect();
        assert!(unknown.is_empty(), "there is no claim {unknown:?}");
        assert!(unlisted.is_empty(), "no item names {unlisted:?}");
    }

    #[test]
    fn the_list_ends_with_the_number_of_claims_of_each_verdict() {
        let claims = registry::all();
        let text = table(&claims);
        let last = text.lines().last().unwrap();
        assert!(last.starts_with(&format!("{} claims: ", claims.len())));
        let counted = last.split_once(": ").unwrap().1.split(", ");
        let number = |part: &str| part.split(' ').next()?.parse::<usize>().ok();
        assert_eq!(counted.filter_map(number).sum::<usize>(), claims.len());
    }

    #[test]
    fn an_item_without_a_claim_says_why_and_none_is_there_twice() {
        let mut seen = BTreeSet::new();
        for item in ITEMS {
            assert!(
                !item.claims.is_empty() || !item.missing.is_empty(),
                "{item:?}"
            );
            assert!(seen.insert((item.paper, item.item)), "{item:?} twice");
        }
    }
}
