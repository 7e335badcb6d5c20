//! Work under a lock, separate from the grant. It outlives a lost lock until its end is reported or the validity
//! that its holder was promised has passed; with its own process it also outlives the node.

use super::group::State;
use super::host::{Host, index};
use consort_proto::mutex::{Fence, Mode, ReqId, Ticket};

/// Work that began with a grant.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct Work {
    pub(super) host: usize,
    pub(super) req: ReqId,
    pub(super) ticket: Ticket,
    pub(super) mode: Mode,
    pub(super) token: Fence,
    /// Its lock is lost or its node is gone: its promised validity rests on these witnesses, in these lives, which
    /// remember its request for longer.
    pub(super) stands: Option<Vec<(usize, u64)>>,
}

impl Work {
    /// Whether it still matters what a witness, in this life or a former one, remembers of this work's request.
    pub(super) fn rests_on(&self, witness: usize) -> bool {
        let on = |s: &Vec<(usize, u64)>| s.iter().any(|w| w.0 == witness);
        self.stands.as_ref().is_some_and(on)
    }
}

/// The witnesses that the request of a host relies on.
pub(super) fn counted(host: &Host) -> Vec<(usize, u64)> {
    let answers = host.facts.own.iter().flat_map(|own| &own.answers);
    let said = answers.filter_map(|a| Some((index(a.from), a.witness.as_ref()?.0.0)));
    said.collect()
}

/// I10: one command runs, or several that share.
pub(super) fn is_exclusive(state: &State) -> bool {
    let shared = |w: &Work| w.mode == Mode::Shared;
    state.works.len() < 2 || state.works.iter().all(shared)
}
