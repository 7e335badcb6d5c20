//! The options of a candidacy, and of the rounds that the node runs.

use super::tag::AttributeTag;
use consort_proto::election::{Candidacy, Criterion, Mode, Policy, Preempt, Ranking};
use core::time::Duration;

/// The options of a candidacy in an election. The defaults suit a group of equal nodes.
///
/// ```
/// use consort::election::{ElectionOptions, Preempt};
/// use std::time::Duration;
///
/// let hold = Duration::from_secs(60);
/// let options = ElectionOptions::new().class(1).attribute(3).preempt(Preempt::Margin { delta: 2, hold });
/// # let _ = options;
/// ```
#[derive(Clone, Debug, Default, PartialEq)]
#[must_use = "options do nothing until they are given to an election"]
pub struct ElectionOptions {
    pub(crate) policy: Policy,
    pub(crate) candidacy: Candidacy,
    /// Determines the attribute, now and whenever the node's tags change.
    pub(crate) attribute_tag: Option<AttributeTag>,
}

impl ElectionOptions {
    /// The defaults.
    pub fn new() -> ElectionOptions {
        ElectionOptions::default()
    }

    /// The preference of operators: the smallest class wins, and 255 never leads. Default: 0.
    pub fn class(mut self, class: u8) -> Self {
        self.candidacy.class = class;
        self
    }

    /// Decides between candidates of one class: the smallest attribute wins. Use few different values (about 16), so
    /// that small changes do not replace a leader. Default: 0; equal candidates are ordered by a hash of their ids.
    pub fn attribute(mut self, attribute: u32) -> Self {
        self.candidacy.attribute = attribute;
        self.attribute_tag = None;
        self
    }

    /// Takes the attribute from a tag of this node: when the tag changes, the candidacy changes too. Such a tag can
    /// only be set to numbers and cannot be removed. Replaces [`attribute`](Self::attribute).
    pub fn attribute_tag(mut self, tag: AttributeTag) -> Self {
        self.attribute_tag = Some(tag);
        self
    }

    /// Whether a leader is chosen for the group, or for every connected component of it. All members have to use the
    /// same mode. Default: [`Mode::Group`]. By component, only [`class`](Self::class) and
    /// [`attribute`](Self::attribute) of the other options apply, and the latter only between equally central nodes.
    pub fn mode(mut self, mode: Mode) -> Self {
        self.policy.mode = mode;
        self
    }

    /// The criteria that decide between candidates of one class, most important first: the attribute; the centrality in
    /// the component (in 16 levels; a node announces a new level after it has lasted for 5 s, at most every 10 s); and
    /// the reliability, by the median of what the queried members report. Default: by attribute. All members should use
    /// the same ranking, because the initiator of a round decides by its own.
    ///
    /// ```
    /// use consort::election::{Criterion, ElectionOptions, Ranking};
    ///
    /// let ranking = Ranking::new(&[Criterion::Reliability, Criterion::Attribute])?;
    /// let options = ElectionOptions::new().attribute(3).ranking(ranking);
    /// # let _ = options;
    /// # Ok::<(), consort::election::RankingError>(())
    /// ```
    pub fn ranking(mut self, ranking: Ranking) -> Self {
        self.policy.ranking = ranking;
        self
    }

    /// Whether these options need a node that knows its neighbours.
    pub(crate) fn needs_topology(&self) -> bool {
        self.policy.mode == Mode::Component || self.policy.ranking.has(Criterion::Centrality)
    }

    /// Whether to notify the best candidate so far at once and to correct it later. A leader is found sooner, at the
    /// price of more changes. Default: false.
    pub fn stream(mut self, on: bool) -> Self {
        self.policy.stream = on;
        self
    }

    /// Whether to avoid candidates that members recently found unhealthy. Default: false.
    pub fn health(mut self, on: bool) -> Self {
        self.policy.health = on;
        self
    }

    /// Whether to replace a leader that stays unhealthy for five suspicion timeouts; enables [`health`](Self::health).
    /// Default: false.
    pub fn replace_unhealthy(mut self, on: bool) -> Self {
        self.policy.replace_unhealthy = on;
        self.policy.health |= on;
        self
    }

    /// How long this node's work needs to stop. A leader's lease lasts at least four times as long, so with a longer
    /// grace it takes longer to replace a dead leader. Default: a quarter of the lease.
    pub fn grace(mut self, grace: Duration) -> Self {
        self.policy.grace = grace;
        self
    }

    /// When a better candidate replaces a working leader. Default: never.
    pub fn preempt(mut self, preempt: Preempt) -> Self {
        self.policy.preempt = preempt;
        self
    }
}
