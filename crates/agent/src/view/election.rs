//! Bodies about elections, and the words of requests for them.

use super::scope;
use crate::api::{CandidateView, ChurnView, ElectionView, LeaderView, PreemptView, Words};
use consort::election::{
    AttributeTag, Candidate, Churn, Criterion, Decider, ElectionMode, ElectionStatus, Leader,
    Preempt, Ranking, Stage,
};
use core::time::Duration;

/// A leader as this node knows it.
pub(crate) fn leader(leader: &Leader) -> LeaderView {
    LeaderView {
        name: leader.name.clone(),
        id: leader.id.to_string(),
        address: leader.addr.map(|a| a.to_string()),
        life: leader.life.0,
        token: leader.token.to_string(),
        term: leader.token.term.0,
        stage: match leader.stage {
            Stage::Tentative => "tentative",
            Stage::Confirmed => "confirmed",
        }
        .to_owned(),
        degraded: leader.degraded,
        handed_over: leader.handed_over,
        scope: leader.scope.as_ref().map(scope),
        is_self: leader.is_self,
    }
}

/// A candidate, compared with the leader if there is one.
fn candidate(c: &Candidate, leader: Option<&Leader>) -> CandidateView {
    let leads = leader.is_some_and(|l| l.id == c.id);
    let compared = c.compared.map(|with| match with.better {
        true => "better",
        false => "worse",
    });
    let by = c.compared.map(|with| match with.by {
        Decider::Newcomer => "newcomer",
        Decider::Class => "class",
        Decider::Criterion(criterion) => word(criterion),
        Decider::Hash => "hash",
    });
    CandidateView {
        name: c.name.clone(),
        id: c.id.to_string(),
        class: c.class,
        attribute: c.attribute,
        centrality: c.centrality,
        reliability: c.reliability,
        compared: compared.or(leads.then_some("leads")).map(str::to_owned),
        by: by.map(str::to_owned),
        settled: c.settled,
        suspect: c.suspect,
    }
}

/// The view of the election `name` at the node `node`; `status` is `None` if the node does not know it.
pub(crate) fn election(
    name: &str,
    status: Option<&ElectionStatus>,
    node: &consort::Node,
) -> ElectionView {
    let id = consort::election::ElectionId::of(name);
    let mut view = ElectionView {
        name: name.to_owned(),
        id: format!("{id:?}"),
        leader: None,
        vacant: true,
        scope: None,
        role: "member".to_owned(),
        acting: None,
        valid_for_ms: 0,
        grace_ms: 0,
        preempt: None,
        electing: false,
        churn: None,
        candidates: Vec::new(),
        score: Vec::new(),
        terms: Vec::new(),
        node: node.id().to_string(),
        node_name: node.name().to_owned(),
    };
    if let Some(status) = status {
        view.id = format!("{:?}", status.election.id);
        view.leader = status.leader.as_ref().map(leader);
        view.vacant = status.leader.is_none();
        view.scope = status.scope.as_ref().map(scope);
        view.role = match &status.leader {
            Some(leader) if leader.is_self => "leader",
            _ if status.campaigns => "candidate",
            _ => "member",
        }
        .to_owned();
        view.acting = status.acting.map(|t| t.to_string());
        view.valid_for_ms = status.valid_for.as_millis() as u64;
        view.grace_ms = status.grace.as_millis() as u64;
        view.preempt = status.preempt.map(preempt_view);
        view.electing = status.electing;
        view.churn = Some(churn(name, &status.churn));
        let leader = status.leader.as_ref();
        let candidates = status.candidates.iter();
        view.candidates = candidates.map(|c| candidate(c, leader)).collect();
        view.score = status.ranking.iter().map(|c| word(c).to_owned()).collect();
    }
    view
}

fn preempt_view(preempt: Preempt) -> PreemptView {
    let (when, delta, hold) = match preempt {
        Preempt::Never => ("never", None, None),
        Preempt::Margin { delta, hold } => ("margin", Some(delta), Some(hold)),
        Preempt::Strict { hold } => ("strict", None, Some(hold)),
    };
    PreemptView {
        when: when.to_owned(),
        delta,
        hold_ms: hold.map(|h| h.as_millis() as u64),
    }
}

/// How consistent member lists are about an election.
pub(crate) fn churn(election: &str, churn: &Churn) -> ChurnView {
    ChurnView {
        election: election.to_owned(),
        missing: churn.missing,
        missing_rate: churn.missing_rate,
        trials: churn.trials,
        quorum: churn.quorum as u64,
        hedge: churn.hedge as u64,
        margin: churn.margin(),
        miss_chance: churn.miss_chance,
        silent_per_mille: churn.silent_per_mille,
        known: churn.known as u64,
    }
}

/// The tag that a candidacy follows, if any. `given` says that an attribute was also given as a number.
pub(crate) fn attribute_tag(
    tag: Option<&str>,
    given: bool,
    order: Option<&str>,
    min: Option<f64>,
    max: Option<f64>,
) -> Result<Option<AttributeTag>, String> {
    let Some(tag) = tag else {
        return match order.is_some() || min.or(max).is_some() {
            true => Err("attribute_order, _min and _max need attribute_tag".to_owned()),
            false => Ok(None),
        };
    };
    if given {
        return Err("attribute and attribute_tag exclude each other".to_owned());
    }
    let tag = match order {
        None | Some("highest") => AttributeTag::highest(tag),
        Some("lowest") => AttributeTag::lowest(tag),
        Some(other) => {
            return Err(format!(
                "attribute_order = `{other}`: write highest or lowest"
            ));
        }
    };
    let tag = tag.between(min.unwrap_or(0.0), max.unwrap_or(100.0));
    Ok(Some(tag.map_err(|e| {
        format!("attribute_min, attribute_max: {e}")
    })?))
}

fn word(criterion: Criterion) -> &'static str {
    match criterion {
        Criterion::Attribute => "attribute",
        Criterion::Centrality => "centrality",
        Criterion::Reliability => "reliability",
    }
}

/// Parses the mode (`group` or `component`), and the criteria by which candidates are compared.
pub(crate) fn way(
    mode: Option<&str>,
    score: Option<&Words>,
) -> Result<(ElectionMode, Ranking), String> {
    let mode = match mode {
        None | Some("group") => ElectionMode::Group,
        Some("component") => ElectionMode::Component,
        Some(other) => return Err(format!("mode = `{other}`: write group or component")),
    };
    let words = match score {
        None => return Ok((mode, Ranking::default())),
        Some(Words::One(word)) => core::slice::from_ref(word),
        Some(Words::Many(words)) => words,
    };
    let criterion = |text: &String| {
        let named = Criterion::ALL.into_iter().find(|c| word(*c) == text);
        named.ok_or_else(|| {
            format!(
                "score = `{text}`: write attribute, centrality or reliability, or several of them"
            )
        })
    };
    let criteria = words.iter().map(criterion).collect::<Result<Vec<_>, _>>()?;
    let ranking = Ranking::new(&criteria).map_err(|e| format!("score: {e}"))?;
    if mode == ElectionMode::Component && ranking != Ranking::default() {
        return Err("a component is led by the middle of it anyway: leave out score".to_owned());
    }
    Ok((mode, ranking))
}

/// The default time for which a better candidate has to stay better.
const HOLD: Duration = Duration::from_secs(60);

/// Parses `never`, `margin` or `strict` with their options.
pub(crate) fn preempt(
    word: Option<&str>,
    delta: Option<u32>,
    hold: Option<Duration>,
) -> Result<Preempt, String> {
    let preempt = match word {
        None | Some("never") => Preempt::Never,
        Some("margin") => Preempt::Margin {
            delta: delta.unwrap_or(1),
            hold: hold.unwrap_or(HOLD),
        },
        Some("strict") => Preempt::Strict {
            hold: hold.unwrap_or(HOLD),
        },
        Some(other) => {
            return Err(format!(
                "preempt = `{other}`: write never, margin or strict"
            ));
        }
    };
    match preempt {
        Preempt::Never if delta.is_some() || hold.is_some() => {
            Err("delta and hold need preempt = margin or strict".to_owned())
        }
        Preempt::Strict { .. } if delta.is_some() => Err("delta needs preempt = margin".to_owned()),
        preempt => Ok(preempt),
    }
}
