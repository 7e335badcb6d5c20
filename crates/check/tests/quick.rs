//! All models, a few steps deep. `cargo run --release -p consort-check -- --depth 11` looks further.

use consort_check::{election, verdicts};
use stateright::{Checker, Model};

#[test]
fn no_interleaving_of_a_few_steps_breaks_an_election() {
    for (name, model) in election::models(4) {
        // A crash takes one step more to get over.
        let depth = if name == "the leader crashes" { 9 } else { 8 };
        let checker = model.checker().target_max_depth(depth).spawn_bfs().join();
        assert!(
            checker.unique_state_count() > 5_000,
            "{name}: too few states"
        );
        for (property, holds, path) in verdicts(&checker) {
            assert!(holds, "{name}: {property}\n{}", path.unwrap_or_default());
        }
    }
}
