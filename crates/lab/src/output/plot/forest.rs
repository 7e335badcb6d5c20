//! Published numbers and ours, one below the other, on one scale: ours over the published.

use super::axis::Axis;
use super::{LEFT, Picture, RIGHT, WIDTH, diamond, escape, mark, put};
use crate::check::{Basis, Bound, Check};
use crate::claim::Outcome;
use crate::stat::number;

/// Height of a row: its name, and below it the interval.
const ROW: f64 = 34.0;
/// Ratios beyond this are shown at the edge.
const MOST: f64 = 2.5;

/// The numbers that a paper prints with ours; `None` if there are none to compare.
pub(in crate::output) fn forest(outcome: &Outcome) -> Option<Picture> {
    let rows: Vec<(&Check, f64, (f64, f64))> = outcome.checks.iter().filter_map(row).collect();
    let ratios = rows
        .iter()
        .map(|(c, p, _)| (c.measured.value / p).clamp(0.0, MOST));
    let ends = ratios.chain([0.7, 1.3]);
    if rows.is_empty() {
        return None;
    }
    let x = Axis::around(ends, false, LEFT, WIDTH - RIGHT)?;
    let mut out = String::from(
        "<text x=\"4\" y=\"14\">ours over the published; shaded: within the tolerance</text>",
    );
    let top = 22.0;
    let bottom = top + ROW * rows.len() as f64;
    for tick in x.ticks() {
        let at = x.at(tick);
        put(
            &mut out,
            format_args!(
                "<path d=\"M{at:.1} {top}V{bottom}\" stroke=\"var(--line)\"/><text x=\"{at:.1}\" y=\"{}\" \
                 text-anchor=\"middle\">{}</text>",
                bottom + 15.0,
                super::label(tick)
            ),
        );
    }
    for (n, (check, published, (low, high))) in rows.iter().enumerate() {
        let y = top + ROW * n as f64;
        let center = y + 24.0;
        let name: String = check.what.chars().take(56).collect();
        let numbers = format!("{} | {}", check.published, number(check.measured.value));
        let band = [low, high].map(|b| x.clamped(b / published));
        let (left, right) = (band[0].min(band[1]), band[0].max(band[1]));
        put(
            &mut out,
            format_args!(
                "<text x=\"4\" y=\"{:.1}\">{}</text><text x=\"{}\" y=\"{:.1}\" text-anchor=\"end\" opacity=\".75\">{}</text>\
                 <rect x=\"{left:.1}\" y=\"{:.1}\" width=\"{:.1}\" height=\"12\" fill=\"currentColor\" opacity=\".12\"/>",
                y + 12.0,
                escape(&name),
                WIDTH - RIGHT,
                y + 12.0,
                escape(&numbers),
                center - 6.0,
                right - left,
            ),
        );
        out += &diamond(x.at(1.0), center);
        let (from, to) = check.measured.interval();
        let at = x.clamped(check.measured.value / published);
        let ends = [from, to].map(|v| x.clamped(v / published));
        let line = match ends.iter().all(|e| e.is_finite()) {
            true => format!(
                "<path d=\"M{:.1} {center:.1}H{:.1}\" stroke=\"currentColor\" stroke-width=\"1.8\"/>",
                ends[0], ends[1]
            ),
            false => String::new(),
        };
        let dot = mark(0, at, center);
        put(
            &mut out,
            format_args!("<g style=\"color:var(--c0)\">{line}{dot}</g>"),
        );
    }
    Some(Picture {
        inner: out,
        height: bottom + 22.0,
        legend: Vec::new(),
        published: true,
    })
}

/// A check with a printed number, that number, and the band around it.
fn row(check: &Check) -> Option<(&Check, f64, (f64, f64))> {
    let (low, high) = match check.bound {
        Bound::Within(low, high) => (low, high),
        Bound::Exactly(x) => (x, x),
        _ => return None,
    };
    let published = (low + high) / 2.0;
    let comparable = check.basis == Basis::Value && published.is_finite() && published.abs() > 1e-9;
    (comparable && check.measured.value.is_finite()).then_some((check, published, (low, high)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::stat::Estimate;

    #[test]
    fn only_printed_numbers_are_rows_and_far_ones_stay_in_the_picture() {
        let far = |value| Estimate {
            value,
            se: 3.0,
            n: 40,
        };
        let checks = [
            Check::near("size", 100.0, far(1e9)),
            Check::near("change", -35.2, far(-37.7)),
            Check::exactly("count", 7.0, Estimate::exact(7.0)),
            Check::below("order", "below 1", far(0.5), 1.0),
            Check::near("zero", 0.0, far(0.5)),
            Check::near("own", 3.0, far(3.0)).own("our pre-study"),
            Check::near("none", 3.0, far(f64::NAN)),
        ];
        let mut out = Outcome::default();
        assert!(forest(&out).is_none());
        out.checks.extend(checks);
        let page = forest(&out).unwrap().inline("");
        for (name, there) in [
            ("size", true),
            ("change", true),
            ("count", true),
            ("order", false),
            ("zero", false),
            ("own", false),
            ("none", false),
        ] {
            assert_eq!(page.contains(&format!(">{name}<")), there, "{name}");
        }
        assert!(!page.contains("NaN") && !page.contains("inf"), "{page}");
    }
}
