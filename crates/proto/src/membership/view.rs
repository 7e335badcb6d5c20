//! What layers above and applications may read of membership.

use super::join::JoinState;
use super::member::Member;
use super::record::SharedMeta;
use super::table::{OwnKey, Table, digest_key};
use super::{Config, Membership, Stats};
use crate::id::{Incarnation, Life, NodeId};
use crate::time::Instant;
use core::net::SocketAddr;
use core::time::Duration;

/// How many bytes of a digest are compared, and sent.
pub(crate) const DIGEST_LEN: usize = 3;

impl Membership {
    /// The other members.
    pub fn table(&self) -> &Table {
        &self.table
    }

    /// The life this node is in.
    pub fn life(&self) -> Life {
        self.life
    }

    /// How often it had to raise its claim in this life.
    pub fn incarnation(&self) -> Incarnation {
        self.incarnation
    }

    /// Where this node says it listens.
    pub fn addr(&self) -> SocketAddr {
        self.addr
    }

    /// What this node says of itself.
    pub fn meta(&self) -> &SharedMeta {
        &self.meta
    }

    /// Where this node stands with its group.
    pub fn join_state(&self) -> JoinState {
        self.joining.state
    }

    /// How this node itself does: 0 is well, up to [`Config::health_max`].
    pub fn health(&self) -> u8 {
        self.health
    }

    /// Counts since start.
    pub fn stats(&self) -> &Stats {
        &self.stats
    }

    /// The recent health of a member in percent: 100 without a suspicion, 50 with one a moment ago.
    /// Suspicions fade with [`Config::trouble_periods`].
    pub fn health_percent(&self, member: &Member, now: Instant) -> u8 {
        let half_life = self.config.probe_period * self.config.trouble_periods;
        libm::roundf(100.0 / (1.0 + member.trouble(now, half_life))) as u8
    }

    /// Most ticks between two regular probes of a member that stays, under the plan in force (I6).
    /// `None` when the policy gives no such bound or does not know the member yet.
    pub fn probe_gap_bound(&self, id: NodeId) -> Option<u64> {
        self.selector.gap_bound(id)
    }

    /// Settings.
    pub fn config(&self) -> &Config {
        &self.config
    }

    /// The least time a suspect has to defend itself, in a group of this size, at members that could not reach
    /// it themselves. Fast detection may decide sooner: see `Membership::contact_fresh`.
    pub fn suspicion_min(&self) -> Duration {
        self.config.suspicion_min(self.size())
    }

    /// Contact this recent is proof of life: nobody is declared down sooner.
    pub(crate) fn contact_fresh(&self) -> Duration {
        let least = self.config.fast.map_or(Duration::MAX, |fast| fast.least);
        let floor = self.config.route_convergence * 2;
        least.max(floor).min(self.suspicion_min())
    }

    /// The plan in force: members with the life they are planned in, and how many of the sum of all
    /// probes each gets; 0 where draws are independent. Empty while nothing is planned.
    pub fn probe_plan(&self) -> impl Iterator<Item = (NodeId, Life, u64)> + '_ {
        self.selector.plan_entries()
    }

    /// Whom the regular probe under way is about.
    pub fn probing(&self) -> Option<NodeId> {
        self.probes.regular()
    }

    /// Digest of the list, this node included; equal lists have equal digests.
    pub fn digest(&self, me: NodeId) -> u32 {
        (self.table.digest() ^ self.own_key(me)) as u32 & ((1 << (8 * DIGEST_LEN)) - 1)
    }

    /// What this node adds to the digest.
    pub(super) fn own_key(&self, me: NodeId) -> u64 {
        let (life, incarnation) = (self.life, self.incarnation);
        let kept = self.own_key.get(me, life, incarnation);
        kept.unwrap_or_else(|| digest_key(me, life, incarnation))
    }

    /// Keeps it as of now.
    pub(super) fn keep_own_key(&mut self, me: NodeId) {
        let (life, incarnation) = (self.life, self.incarnation);
        if self.own_key.get(me, life, incarnation).is_none() {
            self.own_key = OwnKey::new(me, life, incarnation);
        }
    }
}
