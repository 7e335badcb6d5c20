//! Estimates from the observations of initiators (Alg. 7).

use super::bounded;

/// How the Feedback formula treats its limit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mode {
    /// As printed: when every initiator saw several candidates, all N nodes are taken as missing, and the estimate
    /// diverges (ER-23).
    Literal,
    /// At least half an initiator is counted as having seen a single candidate. Nothing above `N (1 -
    /// (2I)^(-1/(c+1)))` can be reported, which is too low for large groups (ER-24).
    Clamped,
}

/// The estimate of c from the `initiators` of a round: `several` of them saw more than one candidate among the `c +
/// 1` answers, where c is the previous estimate. `None` without initiators.
pub fn feedback(nodes: u32, c: f64, initiators: u32, several: u32, mode: Mode) -> Option<f64> {
    if initiators == 0 {
        return None;
    }
    let several = several.min(initiators);
    // 2 - d, the share that saw one candidate.
    let mut single = 1.0 - f64::from(several) / f64::from(initiators);
    if mode == Mode::Clamped {
        single = single.max(0.5 / f64::from(initiators));
    }
    let miss = 1.0 - libm::pow(single, 1.0 / (c.max(0.0) + 1.0));
    let estimate = f64::from(nodes) * miss;
    Some(match mode {
        Mode::Literal => estimate,
        Mode::Clamped => bounded(estimate, nodes),
    })
}

/// The same from counts: of `answers` in all elections of a round, `lacking` did not have the leader. It has no
/// saturation and no threshold.
pub fn count_feedback(nodes: u32, answers: u32, lacking: u32) -> Option<f64> {
    (answers > 0).then(|| {
        let share = f64::from(lacking.min(answers)) / f64::from(answers);
        bounded(f64::from(nodes) * share, nodes)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// E1: d = 1, d = 2, one initiator, two nodes, absurd input.
    #[test]
    fn the_formula_has_no_holes() {
        for mode in [Mode::Literal, Mode::Clamped] {
            for nodes in [0, 1, 2, 128] {
                for c in [-1.0, 0.0, 13.0, 1e9] {
                    for several in 0..=6 {
                        let c = feedback(nodes, c, 5, several, mode).unwrap();
                        assert!(
                            (0.0..=f64::from(nodes)).contains(&c),
                            "{mode:?} {nodes} {c}"
                        );
                    }
                }
            }
            assert_eq!(feedback(128, 3.0, 1, 0, mode), Some(0.0));
            assert_eq!(feedback(128, 3.0, 0, 0, mode), None);
        }
        assert_eq!(feedback(128, 13.0, 1, 1, Mode::Literal), Some(128.0));
        assert_eq!(count_feedback(2, 0, 0), None);
        assert_eq!(count_feedback(2, 1, 9), Some(1.0));
    }

    /// ER-24: the largest value that five initiators can report, at its fixed point, is near
    /// sqrt(N ln 10).
    #[test]
    fn the_clamp_bounds_what_can_be_reported() {
        let mut c = 1.0;
        for _ in 0..2_000 {
            c = feedback(1024, c, 5, 5, Mode::Clamped).unwrap();
        }
        let expected = libm::sqrt(1024.0 * libm::log(10.0));
        assert!((c / expected - 1.0).abs() < 0.05, "{c} {expected}");
    }
}
