//! Repeats an experiment with derived seeds.

use consort_proto::hash_pair;
use rayon::prelude::*;

/// The seed of run number `run`; the first is `seed` itself.
pub fn run_seed(seed: u64, run: u64) -> u64 {
    if run == 0 { seed } else { hash_pair(seed, run) }
}

/// Does `runs` runs in parallel, each with a seed derived from `seed` and its number. Reports are in order of number, so the
/// result does not depend on the number of threads.
pub(crate) fn repeat<R: Send, E: Send>(
    seed: u64,
    runs: usize,
    one: impl Fn(u64, u64) -> Result<R, E> + Sync,
) -> Result<Vec<R>, E> {
    let runs = (0..runs as u64).into_par_iter();
    runs.map(|n| one(run_seed(seed, n), n)).collect()
}
