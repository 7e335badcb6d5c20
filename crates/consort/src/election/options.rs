//! How a node stands in an election, and how it holds one.

use super::tag::AttributeTag;
use consort_proto::election::{Candidacy, Criterion, Mode, Policy, Preempt, Ranking};
use core::time::Duration;

/// How a node stands in an election. The defaults suit a group of equals.
///
/// ```
/// use consort::{ElectionOptions, Preempt};
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
    /// Sets the attribute, now and whenever the node's tags change.
    pub(crate) attribute_tag: Option<AttributeTag>,
}

impl ElectionOptions {
    /// The defaults.
    pub fn new() -> ElectionOptions {
        ElectionOptions::default()
    }

    /// Operators' preference: the smallest wins, 255 never leads. Default 0.
    pub fn class(mut self, class: u8) -> Self {
        self.candidacy.class = class;
        self
    }

    /// Decides among equals in class: the smallest wins. Few different values (16 or so) keep leaders
    /// from changing with every small drift. Default 0; equals are ordered by a hash of their ids.
    pub fn attribute(mut self, attribute: u32) -> Self {
        self.candidacy.attribute = attribute;
        self.attribute_tag = None;
        self
    }

    /// Takes the attribute from a tag of this node, and follows it: when the tag changes, so does the candidacy.
    /// A tag that is followed can only be set to numbers, and cannot be removed. Replaces
    /// [`attribute`](Self::attribute).
    pub fn attribute_tag(mut self, tag: AttributeTag) -> Self {
        self.attribute_tag = Some(tag);
        self
    }

    /// Among whom a leader is chosen: the group, or every connected component of it. Members have to use the
    /// same. Default [`Mode::Group`]; by component, of the other options only [`class`](Self::class) and
    /// [`attribute`](Self::attribute) count, and the latter only between equally central nodes.
    pub fn mode(mut self, mode: Mode) -> Self {
        self.policy.mode = mode;
        self
    }

    /// What decides among equals in class, the weightiest first: the attribute, how central each is in its
    /// component (in 16 levels; a node tells another when it has been so for 5 s, at most every 10 s), and
    /// how rarely each fails, by the median of what the members say that an election asks. Default by
    /// attribute. Members should use the same: who holds an election decides by its own.
    ///
    /// ```
    /// use consort::{Criterion, ElectionOptions, Ranking};
    ///
    /// let ranking = Ranking::new(&[Criterion::Reliability, Criterion::Attribute])?;
    /// let options = ElectionOptions::new().attribute(3).ranking(ranking);
    /// # let _ = options;
    /// # Ok::<(), consort::RankingError>(())
    /// ```
    pub fn ranking(mut self, ranking: Ranking) -> Self {
        self.policy.ranking = ranking;
        self
    }

    /// Whether a node has to know its neighbours for it.
    pub(crate) fn needs_topology(&self) -> bool {
        self.policy.mode == Mode::Component || self.policy.ranking.has(Criterion::Centrality)
    }

    /// Name the best candidate so far at once and correct it later: sooner, at the price of more
    /// changes. Default off.
    pub fn stream(mut self, on: bool) -> Self {
        self.policy.stream = on;
        self
    }

    /// Avoid candidates that members found unhealthy of late. Default off.
    pub fn health(mut self, on: bool) -> Self {
        self.policy.health = on;
        self
    }

    /// Replace a leader that stays unhealthy for five suspicion timeouts; turns
    /// [`health`](Self::health) on. Default off.
    pub fn replace_unhealthy(mut self, on: bool) -> Self {
        self.policy.replace_unhealthy = on;
        self.policy.health |= on;
        self
    }

    /// How long this node's work takes to stop. A leader's lease lasts at least four times as long, so a longer grace
    /// makes it take longer until a dead leader is replaced. Default: a quarter of the lease.
    pub fn grace(mut self, grace: Duration) -> Self {
        self.policy.grace = grace;
        self
    }

    /// When a better candidate replaces a leader that does its work. Default never.
    pub fn preempt(mut self, preempt: Preempt) -> Self {
        self.policy.preempt = preempt;
        self
    }
}
