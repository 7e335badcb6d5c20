//! Bodies about elections.

use super::{ScopeView, TermView, is_false};
use consort::{
    AttributeTag, Candidate, Churn, Criterion, Decider, ElectionMode, ElectionStatus, Leader,
    Preempt, Ranking, Stage,
};
use core::time::Duration;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// Who leads.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct LeaderView {
    /// Announced name; empty while its record is not known.
    pub name: String,
    /// 16 hexadecimal digits.
    pub id: String,
    /// Where it listens (UDP), `null` while it is not listed.
    pub address: Option<String>,
    /// Its process life: a restarted leader no longer leads.
    pub life: u64,
    /// The fencing token. Of two leaders the later one has the greater text.
    pub token: String,
    /// Number of the round, the first part of the token.
    pub term: u64,
    /// `tentative` while a better one may follow in a moment, else `confirmed`.
    pub stage: String,
    /// Fewer lists were read than the quorum asks for.
    pub degraded: bool,
    /// The leader before chose it.
    #[serde(default, skip_serializing_if = "is_false")]
    pub handed_over: bool,
    /// For whom it was chosen, in an election by component.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub scope: Option<ScopeView>,
    /// Whether it is the node that answers.
    #[serde(rename = "self")]
    pub is_self: bool,
}

impl From<&Leader> for LeaderView {
    fn from(leader: &Leader) -> LeaderView {
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
            scope: leader.scope.as_ref().map(ScopeView::from),
            is_self: leader.is_self,
        }
    }
}

/// How an election stands at the answering node.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct ElectionView {
    /// Its name, or `id` where the node was never told the name.
    pub name: String,
    /// What members call it on the wire: 8 hexadecimal digits.
    pub id: String,
    /// Who leads, `null` while nobody does.
    pub leader: Option<LeaderView>,
    /// Nobody leads, as far as this node knows.
    pub vacant: bool,
    /// For whom a leader is chosen, in an election by component; `null` is the whole group.
    #[serde(default)]
    pub scope: Option<ScopeView>,
    /// What this node is in it: `leader`, `candidate` or `member`.
    pub role: String,
    /// Token by which this node leads and may act, `null` when it may not.
    pub acting: Option<String>,
    /// How long it may act from now on without hearing from anybody. Count from before the request.
    pub valid_for_ms: u64,
    /// How long after a leadership ends others wait, at least, before they act: work must end in it.
    pub grace_ms: u64,
    /// This node holds an election just now.
    pub electing: bool,
    /// How well member lists agree, and what follows.
    pub churn: Option<ChurnView>,
    /// Candidates as this node lists them, the best first.
    pub candidates: Vec<CandidateView>,
    /// What candidates of one class are compared by, the weightiest first; then a hash decides.
    #[serde(default)]
    pub score: Vec<String>,
    /// Who led since the agent runs, the oldest first; at most 64.
    #[serde(default)]
    pub terms: Vec<TermView>,
    /// Id of the answering node.
    pub node: String,
    /// Its name.
    pub node_name: String,
}

/// A candidate.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct CandidateView {
    /// Announced name.
    pub name: String,
    /// 16 hexadecimal digits.
    pub id: String,
    /// Operators' preference: the smallest wins.
    pub class: u8,
    /// Decides among equals in class: the smallest wins.
    pub attribute: u32,
    /// How central its place is, as it says where that counts: 0 is the middle, 15 worst or unknown.
    #[serde(default)]
    pub centrality: u8,
    /// How rarely it fails, as the answering node finds: 0 is best, 15 worst.
    #[serde(default)]
    pub reliability: u8,
    /// `leads`, or `better` or `worse` than the leader; `null` while none is listed.
    #[serde(default)]
    pub compared: Option<String>,
    /// What decides between it and the leader: `newcomer`, `class`, one of `score`, or `hash`.
    #[serde(default)]
    pub by: Option<String>,
    /// It has been there for a while; others come after those.
    pub settled: bool,
    /// It may be gone.
    pub suspect: bool,
}

impl CandidateView {
    fn new(c: &Candidate, leader: Option<&Leader>) -> CandidateView {
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
}

impl ElectionView {
    /// Of the election called `name`, at the node `node`; `status` is `None` when it never heard of it.
    pub(crate) fn new(
        name: &str,
        status: Option<&ElectionStatus>,
        node: &consort::Node,
    ) -> ElectionView {
        let id = consort::ElectionId::of(name);
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
            view.leader = status.leader.as_ref().map(LeaderView::from);
            view.vacant = status.leader.is_none();
            view.scope = status.scope.as_ref().map(ScopeView::from);
            view.role = match &status.leader {
                Some(leader) if leader.is_self => "leader",
                _ if status.campaigns => "candidate",
                _ => "member",
            }
            .to_owned();
            view.acting = status.acting.map(|t| t.to_string());
            view.valid_for_ms = status.valid_for.as_millis() as u64;
            view.grace_ms = status.grace.as_millis() as u64;
            view.electing = status.electing;
            view.churn = Some(ChurnView::new(name, &status.churn));
            let leader = status.leader.as_ref();
            let candidates = status.candidates.iter();
            view.candidates = candidates.map(|c| CandidateView::new(c, leader)).collect();
            view.score = status.ranking.iter().map(|c| word(c).to_owned()).collect();
        }
        view
    }
}

/// How well member lists agree about the best candidates of an election, and what follows.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct ChurnView {
    /// The election.
    pub election: String,
    /// Expected number of lists that lack a good candidate (c).
    pub missing: f64,
    /// The same as a share of the lists.
    pub missing_rate: f64,
    /// Outcomes that the estimate rests on, the prior's ten included.
    pub trials: f64,
    /// Lists that the next election reads.
    pub quorum: u64,
    /// Members it asks beyond that.
    pub hedge: u64,
    /// Lists read beyond c + 1; negative where a sample of a large group is enough.
    pub margin: i64,
    /// Chance that none of the lists names the best candidate.
    pub miss_chance: f64,
    /// Members asked that did not answer, in thousandths.
    pub silent_per_mille: u16,
    /// Members known, the answering node included.
    pub known: u64,
}

impl ChurnView {
    pub(crate) fn new(election: &str, churn: &Churn) -> ChurnView {
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
}

/// Asks to stand in an election. All is optional; see [`consort::ElectionOptions`].
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields, default)]
pub struct CampaignRequest {
    /// The smallest wins, 255 never leads.
    pub class: u8,
    /// The smallest wins among equals in class.
    pub attribute: u32,
    /// A tag of this node with a number, in place of `attribute`. The candidacy follows it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub attribute_tag: Option<String>,
    /// Whether the `highest` or the `lowest` value of the tag wins. Default `highest`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub attribute_order: Option<String>,
    /// Smallest value of the tag that makes a difference. Default 0.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub attribute_min: Option<f64>,
    /// Largest value of the tag that makes a difference. Default 100.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub attribute_max: Option<f64>,
    /// Avoid unhealthy candidates.
    pub health: bool,
    /// Name the best candidate so far at once.
    pub stream: bool,
    /// Replace an unhealthy leader.
    pub replace_unhealthy: bool,
    /// `never`, `margin` or `strict`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub preempt: Option<String>,
    /// `group` or `component`. Default `group`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub mode: Option<String>,
    /// `attribute`, `centrality` or `reliability`, or several, the weightiest first. Default `attribute`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub score: Option<Words>,
    /// With `margin`: least difference of the first of `score` that differs. Default 1.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub delta: Option<u32>,
    /// With `margin` and `strict`: for how long. Default 60000.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub hold_ms: Option<u64>,
    /// Withdraw after so long unless asked again, as when the asking program is killed. Default: never.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub lease_ms: Option<u64>,
    /// How long the work takes to stop. The lease lasts at least four times as long. Default: a quarter of the lease.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub grace_ms: Option<u64>,
    /// Tells programs apart: another one than before gets another token, when the work of the one before is over.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub client: Option<String>,
}

/// Says that the work by a token has ended.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields, default)]
pub struct EndedRequest {
    /// The token.
    pub token: String,
}

/// The tag that a candidacy follows, if any. `given` tells that an attribute was given as a number too.
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

/// Asks a leader to stop leading.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields, default)]
pub struct ResignRequest {
    /// Who shall lead: an id, or a name that only one member has.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub to: Option<String>,
}

/// One word, or several.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(untagged)]
pub enum Words {
    /// One.
    One(String),
    /// Several, in order.
    Many(Vec<String>),
}

fn word(criterion: Criterion) -> &'static str {
    match criterion {
        Criterion::Attribute => "attribute",
        Criterion::Centrality => "centrality",
        Criterion::Reliability => "reliability",
    }
}

/// Reads `group` or `component`, and what candidates are compared by.
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

/// How long a better candidate has to stay better, unless told otherwise.
const HOLD: Duration = Duration::from_secs(60);

/// Reads `never`, `margin` or `strict` with what belongs to it.
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
