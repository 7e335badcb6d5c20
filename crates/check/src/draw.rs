//! Weighted random choices of walks.

use consort_proto::Rng;

/// Draws one of several choices with a probability proportional to its weight; `None` if all weights are zero.
pub(crate) fn by_weight<'a, T>(
    rng: &mut Rng,
    choices: &'a [T],
    weight: impl Fn(&T) -> u32,
) -> Option<&'a T> {
    let total: u32 = choices.iter().map(&weight).sum();
    if total == 0 {
        return None;
    }
    let mut at = rng.below(total);
    choices.iter().find(|choice| {
        let rest = at.checked_sub(weight(choice));
        at = rest.unwrap_or(at);
        rest.is_none()
    })
}

#[cfg(test)]
mod tests {
    use super::by_weight;
    use consort_proto::Rng;

    #[test]
    fn choices_come_as_often_as_they_weigh() {
        let mut rng = Rng::seed(3, 3);
        let weights = [1, 0, 3, 2];
        let mut drawn = [0u32; 4];
        for _ in 0..6000 {
            let at = *by_weight(&mut rng, &[0, 1, 2, 3], |n| weights[*n]).expect("one of them");
            drawn[at] += 1;
        }
        // 6000 draws with probabilities 1/6, 1/2 and 1/3; five standard deviations are at most 194.
        for (drawn, weight) in drawn.into_iter().zip(weights) {
            assert!(drawn.abs_diff(weight * 1000) < 194, "{drawn} at {weight}");
        }
        assert_eq!(by_weight(&mut rng, &[0, 1], |_| 0), None);
        assert_eq!(by_weight(&mut rng, &[] as &[u8], |_| 1), None);
    }
}
