//! Churn-tolerant elections and churn estimation (doctoral thesis, chapters 5 to 7).
//!
//! Details that the thesis leaves open are fixed once, here: no spare nodes are asked (f = 0), which fits its
//! completion times; the initiator may ask itself; a drop rate applies to a message from end to end; sizes are
//! encoded sizes; every copy of a multicast is routed, and repeated each timeout until it arrives; the node of hash
//! rank h drops 1 + e^(-h/1.5) times as much; unhealth is the number of suspicions heard of, and of equals the
//! higher hash counts as worse; hashes are assigned to positions at random.

mod chapter5;
mod deployment;
mod desk;
mod estimate;
mod figures;
mod initiator;
mod live;
mod missing;
mod preference;
mod product;
mod safety;
mod sampling;

use crate::claim::Claim;

/// The claims of this source, in order.
pub fn claims() -> impl Iterator<Item = &'static Claim> {
    let groups: [&[Claim]; 9] = [
        chapter5::CLAIMS,
        preference::CLAIMS,
        figures::CLAIMS,
        deployment::CLAIMS,
        safety::CLAIMS,
        missing::CLAIMS,
        estimate::CLAIMS,
        sampling::CLAIMS,
        product::CLAIMS,
    ];
    groups.into_iter().flatten()
}
