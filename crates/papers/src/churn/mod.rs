//! The thesis's churn estimators (chapter 7) and those they are compared with: how many lists lack a node (c), from
//! a sample of lists or from the observations of elections. They reproduce its figures; users get another estimate.
//! [`talk`] has them as protocols, with their messages.
//!
//! Every estimate except those called literal is between 0 and N - 1, and none is NaN, for any input (E1).

mod feedback;
mod health;
mod sample;
mod size;
pub mod talk;

pub use feedback::{Mode, count_feedback, feedback};
pub use health::{responses_for_all, responses_for_one};
pub use sample::{
    Missing, Sampled, missing, shrunken_maximum, stratified, z_score, z_score_literal,
};
pub use size::{quantile, sample_size, sample_size_literal, within_population};

/// The moving average that Sample-Window and Feedback keep: `alpha` times the new value plus the rest of the old.
pub fn moving_average(alpha: f64, new: f64, old: f64) -> f64 {
    alpha * new + (1.0 - alpha) * old
}

/// An estimate for `nodes` nodes: never negative, never more than all others, never NaN.
fn bounded(estimate: f64, nodes: u32) -> f64 {
    let most = f64::from(nodes.saturating_sub(1));
    // `max` returns the number if the other operand is NaN.
    estimate.max(0.0).min(most)
}
